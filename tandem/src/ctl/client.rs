//! The API's client: where the site is, who we are, and what a refusal means for the exit status.

use crate::cli::{Ctl, CtlCommand, Output};
use crate::exit::Exit;
use crate::run::ADDRESS;
use crate::site_text;
use config::Diagnostic;
use serde_json::Value;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;
use ureq::http::{Method, Request};

/// Longest answer that is read, octets.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// Seconds that an answer is waited for, unless told.
const TIMEOUT_S: u64 = 30;
const URL_DEFAULT: &str = "http://127.0.0.1:8080";

/// A site's API.
pub struct Client {
    agent: ureq::Agent,
    url: String,
    token: Option<String>,
    timeout_s: u64,
}

/// An answer's body.
struct Answer {
    status: u16,
    body: String,
}

impl Client {
    /// Finds address and token: the options, the environment, the site file and its directory.
    pub fn new(ctl: &Ctl) -> Result<Self, Exit> {
        let (mut url, mut token) = (ctl.url.clone(), ctl.token.clone());
        if let Some(file) = &ctl.site {
            let (found_url, found_token) = of_site(file)?;
            url = url.or(Some(found_url));
            token = token.or(found_token);
        }
        let timeout = Duration::from_secs(ctl.timeout);
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let url = url.unwrap_or_else(|| URL_DEFAULT.into());
        let url = url.trim_end_matches('/').to_owned();
        Ok(Self { agent: config.into(), url, token, timeout_s: ctl.timeout })
    }

    /// The API of the site that runs the site file `file`.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn of_site(file: &Path) -> Result<Self, Exit> {
        let site = Some(file.to_owned());
        let (url, token, output) = (None, None, Output::Table);
        let (timeout, command) = (TIMEOUT_S, CtlCommand::Site);
        Self::new(&Ctl { url, token, site, output, timeout, command })
    }

    fn send(&self, method: Method, path: &str, kind: &str, body: &str) -> Result<Answer, Exit> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if !body.is_empty() {
            request = request.header("content-type", kind);
        }
        let request = request
            .body(body.to_owned())
            .map_err(|error| Exit::Usage(format!("{}: {error}", self.url)))?;
        let mut response = self.agent.run(request).map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        let body = body.map_err(|error| self.unreachable(&error))?;
        Ok(Answer { status, body })
    }

    fn unreachable(&self, error: &ureq::Error) -> Exit {
        let url = &self.url;
        match error {
            ureq::Error::Timeout(_) => {
                Exit::TimedOut(format!("{url} has not answered within {} s", self.timeout_s))
            }
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::TimedOut => {
                Exit::TimedOut(format!("{url} has not answered within {} s", self.timeout_s))
            }
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => Exit::Usage(format!("{url}: {error}")),
            _ => Exit::Unreachable(format!("{url} cannot be reached: {error}")),
        }
    }

    /// The text of an answer.
    ///
    /// # Errors
    /// The exit status that the refusal means.
    pub fn text(&self, path: &str) -> Result<String, Exit> {
        self.checked(self.send(Method::GET, path, "", "")?)
    }

    /// The JSON of an answer.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn get(&self, path: &str) -> Result<Value, Exit> {
        parsed(&self.text(path)?)
    }

    /// The JSON of an answer; `None` when there is nothing of that path.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn find(&self, path: &str) -> Result<Option<Value>, Exit> {
        let answer = self.send(Method::GET, path, "", "")?;
        if answer.status == 404 {
            return Ok(None);
        }
        parsed(&self.checked(answer)?).map(Some)
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, Exit> {
        self.json(Method::POST, path, body)
    }

    /// Puts JSON.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn put(&self, path: &str, body: &Value) -> Result<Value, Exit> {
        self.json(Method::PUT, path, body)
    }

    fn json(&self, method: Method, path: &str, body: &Value) -> Result<Value, Exit> {
        let answer = self.send(method, path, "application/json", &body.to_string())?;
        parsed(&self.checked(answer)?)
    }

    /// Puts a site file's text.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn put_text(&self, path: &str, text: &str) -> Result<(), Exit> {
        self.checked(self.send(Method::PUT, path, "application/toml", text)?).map(drop)
    }

    /// Deletes.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn delete(&self, path: &str) -> Result<(), Exit> {
        self.checked(self.send(Method::DELETE, path, "", "")?).map(drop)
    }

    fn checked(&self, answer: Answer) -> Result<String, Exit> {
        if answer.status < 400 {
            return Ok(answer.body);
        }
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let error = &body["error"];
        let message = match error["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("{} answers {}", self.url, answer.status),
        };
        Err(match (answer.status, error["code"].as_str()) {
            (409, _) => Exit::Conflict(message),
            (422, Some("invalid")) => Exit::Invalid(mistakes(&error["details"], &message)),
            (503, Some("unreachable")) => Exit::Unreachable(message),
            (504, _) => Exit::TimedOut(message),
            _ => Exit::Failed(message),
        })
    }
}

/// Address and token of the site of a site file; the rest of it may be wrong, for who mends it asks
/// the site meanwhile.
fn of_site(file: &Path) -> Result<(String, Option<String>), Exit> {
    let site = site_text::mended(file)?;
    let directory = site.directory(file);
    let address = std::fs::read_to_string(directory.join(ADDRESS));
    let url = address.unwrap_or_else(|_| format!("http://{}", site.oam.listen));
    let token = std::fs::read_to_string(site.token_file(&directory)).ok();
    Ok((url.trim().to_owned(), token.map(|token| token.trim().to_owned())))
}

fn parsed(body: &str) -> Result<Value, Exit> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(body)
        .map_err(|error| Exit::Failed(format!("the answer is no JSON: {error}")))
}

/// The mistakes of a candidate for people; its text stands in the site, not here.
pub fn mistakes(details: &Value, message: &str) -> String {
    let rows = details.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = |row: &Value| serde_json::from_value::<Diagnostic>(row.clone()).ok();
    let mut out = String::new();
    for found in rows.iter().filter_map(read) {
        let _ = writeln!(out, "error: {}", found.what);
        let _ = writeln!(out, "  --> candidate:{}:{}", found.line, found.column);
        for (name, text) in [("at", &found.path), ("hint", &found.hint)] {
            if !text.is_empty() {
                let _ = writeln!(out, "   = {name}: {text}");
            }
        }
    }
    let _ = writeln!(out, "tandem: {message}");
    out
}

/// A segment of a path, percent-encoded (RFC 3986 §2.3).
#[must_use]
pub fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A query of the parameters that are set.
#[must_use]
pub fn query(parameters: &[(&str, Option<String>)]) -> String {
    let set = parameters.iter().filter_map(|(name, value)| {
        value.as_ref().map(|value| format!("{name}={}", segment(value)))
    });
    let joined = set.collect::<Vec<_>>().join("&");
    if joined.is_empty() { joined } else { format!("?{joined}") }
}
