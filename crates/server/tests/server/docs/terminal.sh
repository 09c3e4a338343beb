# The terminal of somebody who reads the docs and types what they say: the program of this build, free ports instead of
# the usual ones, folders below this one, and nothing outside of this machine. What goes on until Ctrl-C goes on beside,
# as in another terminal, until the next such command or the end.
set -euo pipefail
exec 2>&1
server=

dvor() {
  local words=("$@")
  words=("${words[@]//\/var\/lib\//$PWD/var/lib/}")
  words=("${words[@]//\/srv\/backups\//$PWD/srv/backups/}")
  # What is done with another store can be done with any.
  words=("${words[@]//postgres:\/\/dvor@db\//embedded:$PWD/db/}")
  if [ -n "${DVOR_DATA:-}" ]; then
    export DVOR_DATA="${DVOR_DATA/#\/var\/lib\//$PWD/var/lib/}"
  fi
  case "$1 ${2:-}" in
    serve* | demo*) start "${words[@]}" ;;
    "store copy")
      stop # «the server must not run»
      command dvor "${words[@]}"
      ;;
    *) command dvor "${words[@]}" ;;
  esac
}

start() {
  stop
  command dvor "$@" >said 2>log &
  server=$!
  local until=$((SECONDS + 60))
  set +x
  until told=$(find . -name dvor.json -exec grep -l "\"pid\": *$server\b" {} +) && [ -n "$told" ] &&
    { [ "$1" = serve ] || grep -q Ctrl-C said; }; do
    if ! kill -0 "$server" || [ "$SECONDS" -ge "$until" ]; then exit 1; fi
    sleep 0.1
  done
  http=$(port http) snippets=$(port snippets)
  set -x
}

# An address of the running server.
port() {
  sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$told"
}

stop() {
  if [ -n "$server" ]; then
    kill "$server"
    wait "$server"
    server=
  fi
}

curl() {
  local words=("$@")
  words=("${words[@]//127.0.0.1:7080/$http}")
  words=("${words[@]//localhost:7082/$snippets}")
  words=("${words[@]//https:\/\/shop.example/http:\/\/127.0.0.1:9}")
  command curl "${words[@]}"
  # Nobody looks for the photos of the example that was downloaded.
  sed -i 's#https://shop.example#http://127.0.0.1:9#' goods.xml
}

cargo() {
  case "$*" in
    "build --release") ;; # this is done: the tests have a program
    "run --release -- "*) shift 3 && dvor "$@" ;;
    *) echo "cargo $*" >>left-out ;;
  esac
}

trap 'code=$?; set +x; [ -z "$server" ] || { tail -n 20 log; kill -9 "$server"; }; exit $code' EXIT
set -x
