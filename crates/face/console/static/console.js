// What pages do beyond being read: times in the reader's zone, parts that stay fresh, files sent by drag and drop.
"use strict";

const language = document.documentElement.lang;
const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) time.textContent = format.format(moment);
  }
}

// Parts with data-live are looked at again; what somebody is using at the moment is left alone.
function startRefreshing(everyMs) {
  let failures = 0;
  async function look() {
    if (document.hidden) return schedule();
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
      if (answer.redirected && new URL(answer.url).pathname.endsWith("/login")) return location.reload();
      if (answer.ok) {
        failures = 0;
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        localTimes(fresh);
        for (const old of document.querySelectorAll("[data-live][id]")) {
          const now = fresh.getElementById(old.id);
          const busy = old.contains(document.activeElement) || old.querySelector("details[open]");
          if (now && !busy && now.innerHTML !== old.innerHTML) old.innerHTML = now.innerHTML;
        }
        // A page that has come to rest is not asked for again.
        if (!fresh.body.dataset.refresh) return finish(fresh);
      } else failures += 1;
    } catch {
      failures += 1;
    }
    schedule();
  }
  // The last state may have brought parts that were not there, such as a list of errors.
  function finish(fresh) {
    const main = document.querySelector("main");
    if (!main.contains(document.activeElement) || document.activeElement === main) {
      main.innerHTML = fresh.querySelector("main").innerHTML;
      startUploads(main);
    }
  }
  function schedule() {
    setTimeout(look, Math.min(everyMs * 2 ** failures, 60000));
  }
  schedule();
}

function startUploads(root) {
  for (const zone of root.querySelectorAll("[data-upload]")) {
    const input = zone.querySelector("input[type=file]");
    const said = zone.querySelector(".said");
    const bar = zone.querySelector("progress");
    const send = (file) => {
      const into = encodeURIComponent(zone.querySelector("[name=namespace]").value);
      const dryRun = zone.querySelector("[name=dry_run]").checked;
      const request = new XMLHttpRequest();
      const question = new URLSearchParams({ name: file.name, dry_run: String(dryRun) });
      request.open("POST", `${zone.dataset.upload}/feeds/${into}/uploads?${question}`);
      request.setRequestHeader("x-csrf-token", document.body.dataset.csrf);
      request.setRequestHeader("content-type", "application/octet-stream");
      request.upload.onprogress = (event) => {
        if (event.lengthComputable) bar.value = event.loaded / event.total;
      };
      request.onload = () => {
        const answer = JSON.parse(request.responseText || "{}");
        if (request.status === 202) {
          said.textContent = zone.dataset.done;
          location.assign(answer.address);
        } else fail(answer.message || request.statusText);
      };
      request.onerror = () => fail(request.statusText);
      bar.hidden = false;
      bar.value = 0;
      said.textContent = file.name;
      request.send(file);
    };
    const fail = (message) => {
      bar.hidden = true;
      said.textContent = zone.dataset.failed + message;
    };
    input.addEventListener("change", () => input.files[0] && send(input.files[0]));
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer.files[0]) send(event.dataTransfer.files[0]);
    });
  }
}

// «/» goes to the box at the top, as people are used to.
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const find = document.getElementById("find");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && find) {
    event.preventDefault();
    find.focus();
  }
});

// A search that has found nothing yet goes on, part by part of a long list.
function searchOn() {
  const next = document.querySelector("a[data-search-on]");
  if (next) location.replace(next.href);
}

localTimes(document);
startUploads(document);
searchOn();
if (document.body.dataset.refresh) startRefreshing(Number(document.body.dataset.refresh));
