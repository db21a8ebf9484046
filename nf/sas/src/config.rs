//! The `[sas]` section of a site file.

use authentication::Password;
use config::Issue;
use runtime::SHARDS_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Addresses that one SAS may have.
pub const LISTEN_MAX: usize = 16;

/// The service assurance server: takes HEP3, keeps every message for a while, finds it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sas {
    /// Name of the function in lists, metrics and alarms.
    #[serde(default = "name")]
    pub name: String,
    /// Where HEP3 comes in, as `udp:127.0.0.1:9060` or `tcp:127.0.0.1:9060`.
    pub listen: Vec<String>,
    /// Where messages and index are kept; relative to the site's directory.
    #[serde(default = "directory")]
    pub directory: String,
    /// Messages older than this many hours are deleted, a partition at a time.
    #[serde(default = "age_max_h")]
    pub age_max_h: u32,
    /// Megabytes on disk, above which the oldest partition is deleted.
    #[serde(default = "size_max_mb")]
    pub size_max_mb: u64,
    /// Trails kept open in memory; above, the ones that were quiet longest are put on disk.
    #[serde(default = "live_max")]
    pub live_max: u32,
    /// Only packets with this HEP authentication key are taken; absent takes all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_key: Option<String>,
    /// The same from a file, relative to the site's directory and readable for its owner only: one
    /// key a line, each of which is taken. `capture_key_file` of a controller names the same file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth_key_file: Option<String>,
    /// The keys of that file.
    #[serde(skip)]
    pub auth_keys: Vec<Password>,
    /// What is kept of messages as it was captured and would else be replaced by how long it was:
    /// `credentials` (Authorization, Proxy-Authorization), `keys` (`a=crypto`, `a=key-mgmt`, `k=`;
    /// of MAP those of authentication and ciphering), `bodies` (of MESSAGE; short messages and USSD
    /// strings).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<Keep>,
    /// Agents (HEP3 chunk 12) that capture on trusted networks only: what X-CID, X-Call-ID,
    /// Session-ID and icid-value say joins the legs of a call. Of other agents it does only when
    /// the message comes from a host of that call. Messages with a correlation of their agent's own
    /// are joined by that alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<u32>,
    /// Threads. The first has the trails and the store, further ones receive, check and redact for
    /// it; changes with a restart of the site.
    #[serde(default = "shards")]
    pub shards: u16,
    /// CPU cores to pin the shards to, in order; empty leaves it to the kernel.
    #[serde(default)]
    pub cores: Vec<usize>,
}

/// What may be kept as it was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// Values of Authorization and Proxy-Authorization.
    Credentials,
    /// Keys of media in session descriptions, and of MAP.
    Keys,
    /// Bodies of MESSAGE, short messages, USSD strings.
    Bodies,
}

impl Keep {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Credentials, Self::Keys, Self::Bodies];
}

fn name() -> String {
    "sas".to_owned()
}

fn directory() -> String {
    "sas".to_owned()
}

const fn age_max_h() -> u32 {
    72
}

const fn size_max_mb() -> u64 {
    10_240
}

const fn live_max() -> u32 {
    200_000
}

const fn shards() -> u16 {
    1
}

impl Default for Sas {
    fn default() -> Self {
        Self {
            name: name(),
            listen: vec!["udp:127.0.0.1:9060".to_owned(), "tcp:127.0.0.1:9060".to_owned()],
            directory: directory(),
            age_max_h: age_max_h(),
            size_max_mb: size_max_mb(),
            live_max: live_max(),
            auth_key: None,
            auth_key_file: None,
            auth_keys: Vec::new(),
            keep: Vec::new(),
            joins: Vec::new(),
            shards: shards(),
            cores: Vec::new(),
        }
    }
}

impl Sas {
    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.listen.is_empty() || self.listen.len() > LISTEN_MAX {
            issues.push(Issue::new(
                "listen",
                format!("{} addresses to listen on", self.listen.len()),
                format!("give 1 to {LISTEN_MAX}, as in [\"udp:127.0.0.1:9060\"]"),
            ));
        }
        for (at, text) in self.listen.iter().enumerate() {
            if let Err(what) = address(text) {
                let hint = "write udp:ADDRESS:PORT or tcp:ADDRESS:PORT";
                issues.push(Issue::new(format!("listen[{at}]"), what, hint));
            }
        }
        if self.auth_key.is_some() && self.auth_key_file.is_some() {
            let what = "there is an `auth_key` already";
            issues.push(Issue::new("auth_key_file", what, "keep one of them"));
        }
        let mut limit = |path: &str, value: u64, least: u64, most: u64| {
            if !(least..=most).contains(&value) {
                let hint = format!("choose {least} to {most}");
                issues.push(Issue::new(path, format!("{value} is out of range"), hint));
            }
        };
        limit("age_max_h", u64::from(self.age_max_h), 1, 24 * 366);
        limit("size_max_mb", self.size_max_mb, 16, 64 << 20);
        limit("live_max", u64::from(self.live_max), 1_000, 4_000_000);
        limit("shards", u64::from(self.shards), 1, u64::from(SHARDS_MAX));
        if self.name.is_empty()
            || !self.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        {
            let hint = "use letters, digits and hyphens";
            issues.push(Issue::new("name", format!("`{}` is not a name", self.name), hint));
        }
    }

    /// Whether a packet with this key is taken. A configuration that names a file takes none
    /// before that was read.
    #[must_use]
    pub fn admits(&self, key: &[u8]) -> bool {
        let given = self.auth_key.as_ref().map(|text| authentication::same(text.as_bytes(), key));
        let is_any = |found, one: &Password| found | one.is(key);
        match (given, &self.auth_key_file) {
            (None, None) => true,
            (given, _) => self.auth_keys.iter().fold(given.unwrap_or(false), is_any),
        }
    }

    /// Every address that it listens on: whether it takes datagrams, and its address. Those that do
    /// not parse are left out; [`Sas::validate`] names them.
    #[must_use]
    pub fn listen_addresses(&self) -> Vec<(runtime::Transport, std::net::SocketAddr)> {
        self.listen.iter().filter_map(|text| address(text).ok()).collect()
    }
}

fn address(text: &str) -> Result<(runtime::Transport, std::net::SocketAddr), String> {
    let (transport, rest) = match text.split_once(':') {
        Some(("udp", rest)) => (runtime::Transport::Udp, rest),
        Some(("tcp", rest)) => (runtime::Transport::Tcp, rest),
        _ => return Err(format!("`{text}` does not begin with udp: or tcp:")),
    };
    let address = rest.parse().map_err(|_| format!("`{rest}` is not an IP address with a port"))?;
    Ok((transport, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_every_violation_is_named_with_its_path() {
        let mut issues = Vec::new();
        Sas::default().validate(&mut issues);
        assert_eq!(issues, []);
        let wrong = Sas {
            name: "s a s".into(),
            listen: vec!["udp:127.0.0.1:9060".into(), "tls:[::1]:1".into(), "tcp:here".into()],
            age_max_h: 0,
            size_max_mb: 1,
            live_max: 7,
            shards: 0,
            ..Sas::default()
        };
        wrong.validate(&mut issues);
        let paths: Vec<_> = issues.iter().map(|i| i.path.as_str()).collect();
        assert_eq!(
            paths,
            ["listen[1]", "listen[2]", "age_max_h", "size_max_mb", "live_max", "shards", "name"]
        );
        assert_eq!(wrong.listen_addresses().len(), 1);
    }
}
