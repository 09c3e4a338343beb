//! A real browser without a window: Chromium, driven by the DevTools protocol over a pipe.
//!
//! The protocol's messages are JSON texts with a NUL behind each, in and out by the file descriptors 3 and 4 of the browser;
//! a shell puts them there. What the page complains about and what it asks the network for is kept, so that a test can
//! say that there was neither.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const FLAGS: &str = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run \
                     --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars \
                     --remote-debugging-pipe";

/// One page of one browser. Dropped, the browser ends.
pub(crate) struct Browser {
    _child: Child,
    _folder: tempfile::TempDir,
    input: tokio::sync::Mutex<ChildStdin>,
    state: Arc<Mutex<State>>,
    session: String,
}

#[derive(Default)]
struct State {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    complaints: Vec<String>,
    requests: Vec<String>,
}

impl Browser {
    /// Starts a browser with an empty page. Downloads go to the folder.
    pub(crate) async fn open(downloads: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let script = format!(
            "exec chromium {FLAGS} --user-data-dir=\"$1\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, "sh"])
            .arg(folder.path())
            .env("HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("chromium; Debian's package is called so")?;
        let input = child.stdin.take().context("its input")?;
        let output = child.stdout.take().context("its output")?;
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(listen(output, state.clone()));
        let input = tokio::sync::Mutex::new(input);
        let mut browser = Self { _child: child, _folder: folder, input, state, session: String::new() };
        let made = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await?;
        let attached = json!({ "targetId": made["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attached).await?;
        browser.session = attached["sessionId"].as_str().context("a session")?.to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "DOM"] {
            browser.call(&format!("{domain}.enable"), json!({})).await?;
        }
        let to = json!({ "behavior": "allow", "downloadPath": downloads });
        browser.call("Browser.setDownloadBehavior", to).await?;
        Ok(browser)
    }

    /// Asks the browser, or its page once there is one.
    pub(crate) async fn call(&self, method: &str, parameters: Value) -> Result<Value> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut state = lock(&self.state);
            state.next += 1;
            let id = state.next;
            state.waiting.insert(id, sender);
            id
        };
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() && !method.starts_with("Browser.") {
            message["sessionId"] = self.session.clone().into();
        }
        let mut bytes = serde_json::to_vec(&message)?;
        bytes.push(0);
        self.input.lock().await.write_all(&bytes).await.context("the browser is gone")?;
        let answer =
            tokio::time::timeout(PATIENCE, answer).await.with_context(|| format!("{method}: no answer"))?;
        let mut answer = answer.with_context(|| format!("{method}: the browser is gone"))?;
        match answer.get("error") {
            Some(error) => Err(anyhow!("{method}: {error}")),
            None => Ok(answer["result"].take()),
        }
    }

    /// The value of an expression in the page; a promise is waited for.
    pub(crate) async fn eval(&self, expression: &str) -> Result<Value> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", asked).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            bail!("{expression}: {thrown}");
        }
        Ok(answer["result"]["value"].take())
    }

    pub(crate) async fn go(&self, address: &str) -> Result<()> {
        let gone = self.call("Page.navigate", json!({ "url": address })).await?;
        if let Some(error) = gone.get("errorText") {
            bail!("{address}: {error}");
        }
        self.until(&format!(
            "document.readyState === 'complete' && location.href.startsWith({})",
            json!(address)
        ))
        .await
    }

    /// Waits until an expression is true of the page, across its loading anew.
    pub(crate) async fn until(&self, condition: &str) -> Result<()> {
        let began = Instant::now();
        loop {
            // While a page is being changed for another there is nothing to ask.
            if self.eval(condition).await.is_ok_and(|value| value == true) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let text =
                    self.eval("location.href + '\\n' + document.body.innerText").await.unwrap_or_default();
                bail!("never came true: {condition}\n{}", text.as_str().unwrap_or_default());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Presses a key that writes nothing, or Enter.
    pub(crate) async fn press(&self, key: &str) -> Result<()> {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "/" => ("Slash", 191, "/"),
            "ArrowDown" => ("ArrowDown", 40, ""),
            _ => bail!("this key is not known here: {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event =
                json!({ "type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }

    pub(crate) async fn write(&self, text: &str) -> Result<()> {
        self.call("Input.insertText", json!({ "text": text })).await.map(drop)
    }

    /// Goes on by Tab until the element is reached that the expression says, of `e`.
    pub(crate) async fn tab_to(&self, wanted: &str) -> Result<()> {
        for _ in 0..400 {
            self.press("Tab").await?;
            let here = format!("(e => e && e !== document.body && ({wanted}))(document.activeElement)");
            if self.eval(&here).await? == true {
                return Ok(());
            }
        }
        bail!("the keyboard does not lead to {wanted}")
    }

    /// Gives files to the input that the selector finds, as the dialog would.
    pub(crate) async fn choose_file(&self, selector: &str, file: &Path) -> Result<()> {
        let asked = json!({ "expression": format!("document.querySelector({})", json!(selector)) });
        let found = self.call("Runtime.evaluate", asked).await?;
        let object = found["result"]["objectId"].as_str().with_context(|| format!("no {selector}"))?;
        self.call("DOM.setFileInputFiles", json!({ "files": [file], "objectId": object })).await.map(drop)
    }

    /// Drags a file from the desktop onto the element that the selector finds, and lets it go there.
    pub(crate) async fn drop_file(&self, selector: &str, file: &Path) -> Result<()> {
        let middle = format!(
            "(e => {{ e.scrollIntoView({{ block: 'center' }}); const r = e.getBoundingClientRect(); \
             return [r.x + r.width / 2, r.y + r.height / 2]; }})(document.querySelector({}))",
            json!(selector)
        );
        let middle = self.eval(&middle).await?;
        for kind in ["dragEnter", "dragOver", "drop"] {
            let data = json!({ "items": [], "files": [file], "dragOperationsMask": 1 });
            let event = json!({ "type": kind, "x": middle[0], "y": middle[1], "data": data });
            self.call("Input.dispatchDragEvent", event).await?;
        }
        Ok(())
    }

    /// Which language the browser's user reads.
    pub(crate) async fn reads(&self, language: &str) -> Result<()> {
        let headers = json!({ "headers": { "Accept-Language": language } });
        self.call("Network.setExtraHTTPHeaders", headers).await.map(drop)
    }

    /// How wide the page is, and whether it is dark.
    pub(crate) async fn look(&self, width: u32, height: u32, scheme: &str) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", size).await?;
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// A picture of the whole page.
    pub(crate) async fn picture(&self, file: &Path) -> Result<()> {
        let asked = json!({ "format": "png", "captureBeyondViewport": true });
        let shot = self.call("Page.captureScreenshot", asked).await?;
        let data = shot["data"].as_str().context("a picture")?;
        Ok(std::fs::write(file, BASE64_STANDARD.decode(data)?)?)
    }

    /// Errors of scripts, of the network and of the content security policy so far.
    pub(crate) fn complaints(&self) -> Vec<String> {
        lock(&self.state).complaints.clone()
    }

    /// Every address that pages asked for.
    pub(crate) fn requests(&self) -> Vec<String> {
        lock(&self.state).requests.clone()
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn listen(output: ChildStdout, state: Arc<Mutex<State>>) {
    let mut output = BufReader::new(output);
    let mut message = Vec::new();
    loop {
        message.clear();
        match output.read_until(0, &mut message).await {
            Ok(read) if read > 0 => {}
            _ => {
                lock(&state).waiting.clear();
                return;
            }
        }
        let Ok(message) = serde_json::from_slice::<Value>(message.strip_suffix(&[0]).unwrap_or(&message))
        else {
            continue;
        };
        let mut state = lock(&state);
        match message["id"].as_u64() {
            Some(id) => {
                if let Some(waiting) = state.waiting.remove(&id) {
                    // Whoever asked may have stopped waiting.
                    let _ = waiting.send(message);
                }
            }
            None => state.note(&message),
        }
    }
}

impl State {
    fn note(&mut self, event: &Value) {
        let told = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                self.requests.extend(told["request"]["url"].as_str().map(str::to_owned));
            }
            "Runtime.exceptionThrown" => self.complaints.push(told["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if matches!(told["type"].as_str(), Some("error" | "warning")) => {
                self.complaints.push(told["args"].to_string());
            }
            "Log.entryAdded" if told["entry"]["level"] == "error" => {
                self.complaints.push(told["entry"].to_string());
            }
            _ => {}
        }
    }
}
