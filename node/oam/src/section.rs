//! The `[oam]` section of a site file.

use config::Issue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Longest time to drain, seconds.
pub const DRAIN_S_MAX: u32 = 24 * 3600;

/// Operation and maintenance: API, console, metrics, logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// Where API, console and metrics are served (HTTP); loopback unless `allow_remote`.
    pub listen: String,
    /// Allow `listen` to be reachable from other machines. The connection is not encrypted: put
    /// a TLS proxy or a private network before it.
    pub allow_remote: bool,
    /// Names under which the API is reached beside `localhost` and IP addresses, as behind a TLS
    /// proxy or in DNS, without scheme, port or `*`: a request for any other host is refused (DNS
    /// rebinding).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// File with the access token, relative to the site's directory and made at the first start;
    /// absent: `token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// Serve `/metrics` without a token.
    pub metrics_open: bool,
    /// Longest time to finish running calls after SIGTERM, seconds.
    pub drain_s: u32,
    /// The log.
    pub log: Log,
}

/// What is logged and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Levels by target, as `info,ssc=debug`; can be changed at run time.
    pub filter: String,
    /// Text for people or JSON for machines.
    pub format: Format,
}

/// Form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One line for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Section {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            allow_remote: false,
            hosts: Vec::new(),
            token_file: None,
            metrics_open: false,
            drain_s: 30,
            log: Log::default(),
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self { filter: "info".into(), format: Format::Text }
    }
}

impl Section {
    /// The address of [`Section::listen`], if it is one.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listen.parse().ok()
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        match self.address() {
            None => {
                let what = format!("`{}` is not an IP address with a port", self.listen);
                issues.push(Issue::new("listen", what, "write 127.0.0.1:8080"));
            }
            Some(address) if !address.ip().is_loopback() && !self.allow_remote => {
                let what = format!("{} can be reached from other machines", address.ip());
                let hint = "listen on 127.0.0.1, or add `allow_remote = true` behind a TLS proxy";
                issues.push(Issue::new("listen", what, hint));
            }
            Some(_) => {}
        }
        for (n, name) in self.hosts.iter().enumerate().filter(|(_, name)| !is_host(name)) {
            let what = format!("`{name}` is no name of a host");
            let hint = "write a name without scheme, port or `*`, as `tandem.example`";
            issues.push(Issue::new(format!("hosts[{n}]"), what, hint));
        }
        if self.drain_s > DRAIN_S_MAX {
            let what = format!("{} is out of range", self.drain_s);
            issues.push(Issue::new("drain_s", what, format!("write 0 to {DRAIN_S_MAX}")));
        }
        if let Err(what) = crate::log::filter(&self.log.filter) {
            let hint = "write levels as in `info,ssc=debug`";
            issues.push(Issue::new("log.filter", what, hint));
        }
    }
}

/// Whether a name can stand in a `Host` header, without its port; upper case is lower case there.
fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !label.is_empty() && label.len() <= 63 && label.chars().all(fits)
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(section: &Section) -> Vec<(String, String)> {
        let mut issues = Vec::new();
        section.validate(&mut issues);
        issues.into_iter().map(|issue| (issue.path, issue.what)).collect()
    }

    #[test]
    fn an_address_beyond_loopback_needs_an_explicit_word() {
        assert_eq!(issues(&Section::default()), []);
        let open = Section { listen: "0.0.0.0:8080".into(), ..Section::default() };
        assert_eq!(issues(&open)[0].0, "listen");
        assert_eq!(issues(&Section { allow_remote: true, ..open }), []);
        let v6 = Section { listen: "[::1]:8080".into(), ..Section::default() };
        assert_eq!(issues(&v6), []);
    }

    #[test]
    fn a_host_is_a_name_without_scheme_port_or_star() {
        let section = |names: &[&str]| {
            let hosts = names.iter().map(|&name| name.to_owned()).collect();
            Section { hosts, ..Section::default() }
        };
        assert_eq!(issues(&section(&["tandem.example", "SBC-1", "192.0.2.1", "x_y.example"])), []);
        let wrong = ["*", "http://x.example", "Host:8080", "", "a..b", "*.example", "a/b", "[::1]"];
        let found: Vec<String> = issues(&section(&wrong)).into_iter().map(|it| it.0).collect();
        let expected: Vec<_> = (0..wrong.len()).map(|n| format!("hosts[{n}]")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn wrong_values_are_named() {
        let log = Log { filter: "ssc=loud".into(), ..Log::default() };
        let wrong = Section { listen: "here".into(), drain_s: u32::MAX, log, ..Section::default() };
        let paths: Vec<String> = issues(&wrong).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["listen", "drain_s", "log.filter"]);
    }
}
