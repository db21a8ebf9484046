//! The API's client: what is asked, and what a refusal means for the exit status.

use crate::exit::Exit;
use local::segment;
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use ureq::http::{Method, Request};

/// Longest answer that is read, octets.
const ANSWER_BYTES_MAX: u64 = 256 << 20;
/// Longest answer of JSON, octets: its values take many times as much memory.
const JSON_BYTES_MAX: usize = 32 << 20;
/// Where a site is asked that no control socket leads to.
pub const URL_DEFAULT: &str = "http://127.0.0.1:8080";

/// A way to a site's API.
#[derive(Debug)]
pub enum Target {
    /// HTTP, with a token.
    Api {
        /// `http://` and an address.
        url: String,
        /// Who asks.
        token: Option<String>,
    },
    /// The same at [`URL_DEFAULT`], since no site is known to run on this machine.
    Nobody {
        /// Who asks.
        token: Option<String>,
    },
    /// A control socket, whose site knows the caller by the kernel; a token may take rights away.
    Socket {
        /// The socket.
        path: PathBuf,
        /// Whose it must be.
        owner: Option<u32>,
        /// Who asks.
        token: Option<String>,
    },
}

/// A site's API.
pub struct Client {
    agent: ureq::Agent,
    url: String,
    /// Where that is, for people.
    at: String,
    token: Option<String>,
    timeout_s: u64,
}

/// An answer's body.
struct Answer {
    status: u16,
    body: Vec<u8>,
}

/// The only one of these functions.
///
/// # Errors
/// There are several.
pub fn only(functions: &[String]) -> Result<String, Exit> {
    match functions {
        [one] => Ok(one.clone()),
        many => Err(Exit::Usage(format!("name the function: there are {}", many.join(", ")))),
    }
}

fn words(body: Vec<u8>) -> String {
    String::from_utf8_lossy(&body).into_owned()
}

/// Whether the connection ended before the answer.
fn has_ended(error: &ureq::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error, ureq::Error::Io(io)
        if matches!(io.kind(), BrokenPipe | ConnectionReset | UnexpectedEof))
}

impl Client {
    /// The client of a site.
    pub fn of(target: Target, timeout_s: u64) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(timeout_s)))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        match target {
            Target::Api { url, token } => {
                let url = url.trim_end_matches('/').to_owned();
                Self { agent: config.into(), at: url.clone(), url, token, timeout_s }
            }
            Target::Nobody { token } => {
                let url = URL_DEFAULT.to_owned();
                let why = "what `tandem run` said last tells why";
                let at = format!("no site runs on this machine ({why}), and {url}");
                Self { agent: config.into(), at, url, token, timeout_s }
            }
            Target::Socket { path, owner, token } => Self {
                at: path.display().to_string(),
                agent: local::agent(config, path, owner),
                url: "http://127.0.0.1".into(),
                token,
                timeout_s,
            },
        }
    }

    /// Names and kinds of the site's functions.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn functions(&self) -> Result<Vec<(String, String)>, Exit> {
        let site = self.get("/api/v1/site")?;
        let word = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
        let rows = site["functions"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(rows.iter().filter_map(|row| Some((word(row, "name")?, word(row, "kind")?))).collect())
    }

    /// The function that is meant: the one that was named, or the only one of that kind.
    ///
    /// # Errors
    /// There is none, or there are several; and as [`Client::text`].
    pub fn function(&self, kind: &str, named: Option<String>) -> Result<String, Exit> {
        if let Some(name) = named {
            return Ok(name);
        }
        let all = self.functions()?.into_iter().filter(|(_, it)| it == kind);
        let own: Vec<String> = all.map(|(name, _)| name).collect();
        if own.is_empty() {
            return Err(Exit::Failed(format!("this site has no function of the kind {kind}")));
        }
        only(&own)
    }

    /// Names of the functions that can do what stands at `path` below a function, for those who do
    /// not name one.
    ///
    /// # Errors
    /// None can; and as [`Client::text`].
    pub fn able(&self, path: &str, named: Option<String>) -> Result<Vec<String>, Exit> {
        if let Some(name) = named {
            return Ok(vec![name]);
        }
        let mut able = Vec::new();
        for (name, _) in self.functions()? {
            let question = format!("/api/v1/functions/{}/{path}", segment(&name));
            // What is there is not asked, but told: it says so, and nothing else.
            if self.send(Method::GET, &question, "", "")?.status == 405 {
                able.push(name);
            }
        }
        let none = || Exit::Failed(format!("no function of this site has `{path}`"));
        if able.is_empty() { Err(none()) } else { Ok(able) }
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
        let mut answered = self.agent.run(request.clone());
        // What changes nothing is asked again over another connection (RFC 9110 §9.2.2).
        if request.method() == Method::GET && answered.as_ref().is_err_and(has_ended) {
            answered = self.agent.run(request);
        }
        let mut response = answered.map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let body = body.map_err(|error| self.unreachable(&error))?;
        Ok(Answer { status, body })
    }

    fn unreachable(&self, error: &ureq::Error) -> Exit {
        let url = &self.at;
        match error {
            ureq::Error::Timeout(_) => {
                Exit::TimedOut(format!("{url} has not answered within {} s", self.timeout_s))
            }
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::TimedOut => {
                Exit::TimedOut(format!("{url} has not answered within {} s", self.timeout_s))
            }
            ureq::Error::Io(io) if io.kind() == io::ErrorKind::ConnectionRefused => {
                Exit::Unreachable(format!("{url} cannot be reached: nobody listens there"))
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
        self.octets(path).map(words)
    }

    /// The octets of an answer.
    ///
    /// # Errors
    /// As [`Client::text`].
    pub fn octets(&self, path: &str) -> Result<Vec<u8>, Exit> {
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
        parsed(&words(self.checked(answer)?)).map(Some)
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
        parsed(&words(self.checked(answer)?))
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

    fn checked(&self, answer: Answer) -> Result<Vec<u8>, Exit> {
        if answer.status < 400 {
            return Ok(answer.body);
        }
        let body = parsed(&words(answer.body)).unwrap_or_default();
        let error = &body["error"];
        let message = match error["message"].as_str() {
            Some(message) => message.to_owned(),
            None => format!("{} answers {}", self.at, answer.status),
        };
        // What the API says of headers is nothing that is typed here.
        let message = match (answer.status, &self.token) {
            (401, None) => format!(
                "{} wants to know who asks: give a token (--token, TANDEM_TOKEN), or ask on its \
                 machine as the site's user or as root",
                self.at
            ),
            _ => message,
        };
        Err(match (answer.status, error["code"].as_str()) {
            (409, _) => Exit::Conflict(message),
            (422, Some("invalid")) => {
                Exit::Invalid(show::site::mistakes(&error["details"], &message))
            }
            (503, Some("unreachable")) => Exit::Unreachable(message),
            (504, _) => Exit::TimedOut(message),
            _ => Exit::Failed(message),
        })
    }
}

fn parsed(body: &str) -> Result<Value, Exit> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    if body.len() > JSON_BYTES_MAX {
        let what = format!("the answer has more than {JSON_BYTES_MAX} octets of JSON");
        return Err(Exit::Failed(what));
    }
    serde_json::from_str(body)
        .map_err(|error| Exit::Failed(format!("the answer is no JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_that_would_take_too_much_memory_is_not_read() {
        let padded = |length: usize| format!("[0]{}", " ".repeat(length - 3));
        assert_eq!(parsed(&padded(JSON_BYTES_MAX)).unwrap(), serde_json::json!([0]));
        assert!(matches!(parsed(&padded(JSON_BYTES_MAX + 1)), Err(Exit::Failed(_))));
    }
}
