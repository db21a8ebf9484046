//! A site that runs: the `tandem` binary with a site file, and its API.

use anyhow::Context;
use peers::{Member, Process, ProcessSpec, Usage};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

const READY_MAX: Duration = Duration::from_secs(15);
/// Longest time of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Trails of one page of a search.
const PAGE: usize = 500;
/// Pages of one search.
const PAGES_MAX: usize = 2_000;

/// `address` with the port that people expect there, or another free one.
///
/// # Errors
/// When no port is free.
pub fn address(address: IpAddr, preferred: u16) -> anyhow::Result<SocketAddr> {
    let wanted = SocketAddr::new(address, preferred);
    let free = UdpSocket::bind(wanted).is_ok() && TcpListener::bind(wanted).is_ok();
    if free { Ok(wanted) } else { peers::free_port(address) }
}

/// A running site. Dropping it stops it.
#[derive(Debug)]
pub struct Site {
    process: Process,
    directory: PathBuf,
    api: SocketAddr,
    token: String,
}

impl Site {
    /// How to start what `directory/site.toml` says.
    #[must_use]
    pub fn spec(binary: &Path, directory: &Path) -> ProcessSpec {
        ProcessSpec::new("tandem", binary, directory).with(["run", "site.toml"])
    }

    /// Writes the site file, starts it and waits until all functions run.
    ///
    /// # Errors
    /// When it does not come up; the end of its log is quoted.
    pub fn start(spec: &ProcessSpec, text: &str, api: SocketAddr) -> anyhow::Result<Self> {
        fs::write(spec.directory.join("site.toml"), text)?;
        let mut process = Process::start(spec)?;
        process.wait_until(READY_MAX, || is_ready(api))?;
        let file = spec.directory.join("var/token");
        let token =
            fs::read_to_string(&file).with_context(|| format!("no token in {}", file.display()))?;
        let directory = spec.directory.clone();
        Ok(Self { process, directory, api, token: token.trim().to_owned() })
    }

    /// The same, but waits for no more than that its API answers, as the functions of a node that
    /// stands by do not run.
    ///
    /// # Errors
    /// When it does not come up; the end of its log is quoted.
    pub fn start_node(spec: &ProcessSpec, text: &str, api: SocketAddr) -> anyhow::Result<Self> {
        fs::write(spec.directory.join("site.toml"), text)?;
        let mut process = Process::start(spec)?;
        process.wait_until(READY_MAX, || answers(api, "livez"))?;
        let token = fs::read_to_string(spec.directory.join("var/token")).context("no token")?;
        let directory = spec.directory.clone();
        Ok(Self { process, directory, api, token: token.trim().to_owned() })
    }

    /// The console, logged in.
    #[must_use]
    pub fn console(&self) -> String {
        format!("http://{}/#token={}", self.api, self.token)
    }

    /// The same, open at a page: `/metrics`.
    #[must_use]
    pub fn console_at(&self, page: &str) -> String {
        format!("{}&{page}", self.console())
    }

    /// Kills the process as a crash would: forwarders that it started go on until this is dropped.
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub fn crash(&mut self) -> anyhow::Result<()> {
        self.process.crash()
    }

    /// Kills it and its forwarders, as a machine that fails does.
    pub fn kill(&mut self) {
        let forwarders = self.forwarders();
        self.process.kill();
        for forwarder in forwarders {
            // It may have ended with it.
            let _ = forwarder.kill();
        }
    }

    /// Its process's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether its process has ended.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.process.ended()?.is_some())
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }

    /// What it has used so far, its forwarders left out.
    #[must_use]
    pub fn own_usage(&self) -> Usage {
        self.process.usage()
    }

    /// What it and its forwarders have used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage::of_all(&[self.process.members(), self.forwarders()].concat())
    }

    /// Its forwarders, which outlive its process.
    #[must_use]
    pub fn forwarders(&self) -> Vec<Member> {
        let mut found = Member::find(&format!("{}/var/", self.directory.display()));
        found.retain(|member| member.command.split(' ').nth(1) == Some("forwarder"));
        found
    }

    /// Asks the API.
    ///
    /// # Errors
    /// When it does not answer or refuses.
    pub fn get(&self, path: &str) -> anyhow::Result<Value> {
        let url = format!("http://{}/api/v1/{path}", self.api);
        let request = ureq::get(&url).config().timeout_global(Some(ANSWER_MAX)).build();
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        let mut answer = request.call().with_context(|| url.clone())?;
        let text = answer.body_mut().with_config().limit(256 << 20).read_to_string()?;
        serde_json::from_str(&text).with_context(|| url)
    }

    /// Has the API do something.
    ///
    /// # Errors
    /// When it does not answer or refuses.
    pub fn post(&self, path: &str) -> anyhow::Result<Value> {
        let url = format!("http://{}/api/v1/{path}", self.api);
        let request = ureq::post(&url).config().timeout_global(Some(ANSWER_MAX)).build();
        let request = request.header("Authorization", format!("Bearer {}", self.token));
        let mut answer = request.send_json(serde_json::json!({})).with_context(|| url.clone())?;
        let text = answer.body_mut().read_to_string()?;
        serde_json::from_str(&text).with_context(|| url)
    }

    /// The Call-IDs of every answered call in the SAS, read a page at a time.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn answered(&self) -> anyhow::Result<HashSet<String>> {
        let mut found = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let after = cursor.map(|c| format!("&cursor={}", escape(&c))).unwrap_or_default();
            let page = self.get(&format!("sas/trails?limit={PAGE}{after}"))?;
            let trails = page["trails"].as_array().into_iter().flatten();
            for trail in trails.filter(|trail| trail["outcome"] == "answered") {
                let ids = trail["call_ids"].as_array().into_iter().flatten();
                found.extend(ids.filter_map(Value::as_str).map(str::to_owned));
            }
            cursor = match &page["next"] {
                Value::String(next) => Some(next.clone()),
                Value::Number(next) => Some(next.to_string()),
                _ => return Ok(found),
            };
        }
        Ok(found)
    }

    /// A counter of a function, over all its shards; 0 when there is none of that name.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn counter(&self, name: &str) -> anyhow::Result<u64> {
        let rows = self.get("counters")?;
        let rows = rows.as_array().into_iter().flatten().filter(|row| row["name"] == name);
        Ok(rows.filter_map(|row| row["value"].as_u64()).sum())
    }

    /// The trail of one Call-ID.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn trail(&self, call_id: &str) -> anyhow::Result<Option<Value>> {
        let page = self.get(&format!("sas/trails?limit=2&call_id={}", escape(call_id)))?;
        Ok(page["trails"].get(0).cloned())
    }
}

/// Whether a site's API says that all functions run.
fn is_ready(api: SocketAddr) -> bool {
    answers(api, "readyz")
}

fn answers(api: SocketAddr, path: &str) -> bool {
    TcpStream::connect_timeout(&api, Duration::from_millis(200)).is_ok()
        && ureq::get(format!("http://{api}/{path}"))
            .config()
            .timeout_global(Some(READY_MAX))
            .build()
            .call()
            .is_ok()
}

/// Percent-encodes what a query may not hold (RFC 3986 §2.3).
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => escaped += &format!("%{other:02X}"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_escaped() {
        assert_eq!(escape("1-2@127.0.0.1"), "1-2%40127.0.0.1");
        assert_eq!(escape("a b&c"), "a%20b%26c");
    }

    #[test]
    fn a_taken_port_is_replaced() {
        let local = IpAddr::from([127, 0, 0, 1]);
        let taken = peers::free_port(local).unwrap();
        let held = UdpSocket::bind(taken).unwrap();
        assert_ne!(address(local, taken.port()).unwrap(), held.local_addr().unwrap());
    }
}
