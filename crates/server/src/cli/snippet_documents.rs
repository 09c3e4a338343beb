//! `dvor snippets put|get|delete`: documents, through the snippets' port of a running server.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use reqwest::{Method, header};

use super::backend::{self, Backend, segment};
use super::exit::{self, Failure};
use super::{Common, print};
use crate::access::LocalKey;
use crate::data::Running;

/// Which document, and where it is kept.
#[derive(Args)]
pub struct Document {
    /// The absolute name of a snippet or a group
    name: String,
    key: String,
    /// Only this language
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// The snippets' port of a server elsewhere (its access token: DVOR_TOKEN)
    #[arg(long, value_name = "http://HOST:PORT")]
    snippets_server: Option<String>,
}

/// What a document is made of.
#[derive(Args)]
pub struct Content {
    /// The file, or - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// What the content is: application/json, application/x-protobuf, text/plain
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    content_type: String,
}

impl Document {
    pub async fn put(&self, common: &Common, content: &Content) -> Result<()> {
        let mut bytes = Vec::new();
        if content.file.as_os_str() == "-" {
            std::io::stdin().read_to_end(&mut bytes)?;
        } else {
            bytes = std::fs::read(&content.file)
                .with_context(|| format!("{} cannot be read", content.file.display()))?;
        }
        let request = self.write(common, Method::PUT)?.header(header::CONTENT_TYPE, &content.content_type);
        self.answer(request.body(bytes)).await
    }

    pub async fn get(&self, common: &Common) -> Result<()> {
        self.answer(self.request(common, Method::GET, self.language.as_deref())?).await
    }

    pub async fn delete(&self, common: &Common) -> Result<()> {
        self.answer(self.write(common, Method::DELETE)?).await
    }

    /// Of a write, a header names the language; of a read, the path does.
    fn write(&self, common: &Common, method: Method) -> Result<reqwest::RequestBuilder> {
        let request = self.request(common, method, None)?;
        Ok(match &self.language {
            Some(language) => request.header(header::CONTENT_LANGUAGE, language),
            None => request,
        })
    }

    fn request(
        &self,
        common: &Common,
        method: Method,
        language: Option<&str>,
    ) -> Result<reqwest::RequestBuilder> {
        let (base, token) = self.server(common)?;
        let path: Vec<_> =
            self.name.split('/').chain([self.key.as_str()]).chain(language).map(segment).collect();
        let mut request = backend::client()?.request(method, format!("{base}/{}", path.join("/")));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Ok(request)
    }

    /// The address of the port, and the token to show there.
    fn server(&self, common: &Common) -> Result<(String, Option<String>)> {
        let token = backend::token();
        if let Some(server) = &self.snippets_server {
            return Ok((backend::base_of("--snippets-server", server)?, token));
        }
        if common.server.is_some() {
            let detail = "--server names the API's port; name the snippets' port with --snippets-server";
            return Err(Failure::of(exit::USAGE, detail));
        }
        let data = common.load()?.data;
        let Some(address) = Running::read(&data).and_then(|running| running.snippets) else {
            let detail = "no server with the role snippets is running: start one with `dvor serve`, or name its port \
                          with --snippets-server";
            return Err(Failure::of(exit::UNAVAILABLE, detail));
        };
        let key = std::fs::read_to_string(LocalKey::path(&data)).ok();
        Ok((format!("http://{}", backend::reachable(address)), token.or(key)))
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<()> {
        let answer = Backend::answer_of(request).await?;
        if answer.is_empty() {
            return Ok(());
        }
        match String::from_utf8(answer) {
            Ok(text) => print(&text),
            Err(bytes) => {
                use std::io::Write as _;
                let mut out = std::io::stdout().lock();
                out.write_all(bytes.as_bytes())?;
                Ok(out.flush()?)
            }
        }
    }
}
