//! The `[ssc.replica]` section of a site file: this node's place in a pair.

use crate::election::{Name, detect_min};
use crate::freshness::fresh_max;
use crate::track;
use config::Issue;
use machine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Virtual addresses of one pair.
const ADDRESSES_MAX: usize = 64;

/// One of two nodes that stand in for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    /// Number of the pair, the same at both nodes; one arbiter may serve many pairs.
    #[serde(default = "one")]
    pub pair: u32,
    /// Which of the two this node is: `a` or `b`.
    pub node: Node,
    /// Address and UDP port of this node for heartbeats and deltas.
    pub listen: String,
    /// The same of the other node. Changes while calls stand.
    pub peer: String,
    /// UDP address of an arbiter (`[arbiter]` in the site file of a third machine). With it two
    /// nodes never speak at once, whatever is cut; without it a cut link makes both active until
    /// it heals. Changes while calls stand: at both nodes, one after the other, while each hears
    /// the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<String>,
    /// File with the keys of the pair, relative to the site's directory and readable for its owner
    /// only; the same at both nodes and at the arbiter. One key a line, of 16 characters and more:
    /// the first one seals and encrypts, each of them opens. Absent: nothing is sealed, for which
    /// all addresses must be loopback ones. Changes with a restart of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Who serves when both start at once: the higher. A node that comes back does not take over.
    #[serde(default)]
    pub priority: u8,
    /// Time between two heartbeats, milliseconds.
    #[serde(default = "heartbeat_ms")]
    pub heartbeat_ms: u32,
    /// Silence after which the other node counts as dead, milliseconds; at least three heartbeats
    /// and more than twice the round trip.
    #[serde(default = "detect_ms")]
    pub detect_ms: u32,
    /// Longest time that a planned switchover waits for requests under way, milliseconds. New
    /// calls are left unanswered meanwhile: their retransmission meets the other node.
    #[serde(default = "drain_ms")]
    pub drain_ms: u32,
    /// Addresses that the active node holds: `10.0.0.9/24@eth0`. Sockets on them are bound ahead.
    /// Changes while calls stand: those that stay are kept without a gap.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// What this node needs to serve: names of interfaces (`eth0`), which must be up and have a
    /// carrier, and addresses of gateways (`192.0.2.1`), which must answer echo requests. When one
    /// of them fails at the active node while the other node is heard, has everything and lacks
    /// nothing itself, that one takes over at once, as by a planned switchover. Changes while calls
    /// stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub track: Vec<String>,
    /// How long all that is tracked must have been good, after one of it had failed, before this
    /// node counts as one that may be given the calls, seconds. Changes while calls stand.
    #[serde(default = "track_recover_s")]
    pub track_recover_s: u32,
}

/// Which node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// The one.
    A,
    /// The other.
    B,
}

const fn one() -> u32 {
    1
}
const fn heartbeat_ms() -> u32 {
    10
}
const fn detect_ms() -> u32 {
    50
}
const fn drain_ms() -> u32 {
    5_000
}
const fn track_recover_s() -> u32 {
    5
}

/// An address of the active node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualAddress {
    /// The address.
    pub ip: IpAddr,
    /// Length of its prefix, bits.
    pub prefix: u8,
    /// The interface that gets it.
    pub interface: String,
}

impl VirtualAddress {
    /// Reads `10.0.0.9/24@eth0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, interface) = text.split_once('@')?;
        let (ip, prefix) = address.split_once('/')?;
        let (ip, prefix): (IpAddr, u8) = (ip.parse().ok()?, prefix.parse().ok()?);
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let fits = prefix <= most && !interface.is_empty();
        fits.then(|| Self { ip, prefix, interface: interface.to_owned() })
    }
}

impl Replica {
    /// The node's name in the pair.
    #[must_use]
    pub const fn name(&self) -> Name {
        match self.node {
            Node::A => Name::A,
            Node::B => Name::B,
        }
    }

    /// The addresses that the active node holds.
    #[must_use]
    pub fn addresses(&self) -> Vec<VirtualAddress> {
        self.addresses.iter().filter_map(|text| VirtualAddress::parse(text)).collect()
    }

    /// Whether `ip` is one of them.
    #[must_use]
    pub fn holds(&self, ip: IpAddr) -> bool {
        self.addresses().iter().any(|address| address.ip == ip)
    }

    /// Whether gateways are tracked, for which raw sockets are needed.
    #[must_use]
    pub fn asks_gateways(&self) -> bool {
        track::asks_gateways(&self.track)
    }

    /// Time between two heartbeats.
    #[must_use]
    pub fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms.into())
    }

    /// Silence that counts as death.
    #[must_use]
    pub fn detect(&self) -> Duration {
        Duration::from_millis(self.detect_ms.into())
    }

    /// Whether a takeover is noticed while what the standby holds is still of the last term: two
    /// heartbeats before the silence begins it was told last.
    #[must_use]
    pub fn stays_current(&self) -> bool {
        self.detect() + self.heartbeat() * 2 < fresh_max(self.heartbeat())
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let links = [("listen", Some(&self.listen)), ("peer", Some(&self.peer))];
        let links = links.into_iter().chain([("arbiter", self.arbiter.as_ref())]);
        for (key, text) in links.filter_map(|(key, text)| Some((key, text?))) {
            match text.parse::<SocketAddr>() {
                Ok(address) if self.key_file.is_none() && !address.ip().is_loopback() => {
                    let what = format!(
                        "`{text}` is not on this machine, and without `key_file` whoever reaches \
                         the link may end or take over all calls"
                    );
                    let hint = "write `key_file = \"pair.key\"` here and at the other node: a line \
                                of `openssl rand -base64 32`, chmod 600";
                    issues.push(Issue::new(key, what, hint));
                }
                Ok(_) => {}
                Err(_) => {
                    let what = format!("`{text}` is not an IP address with a port");
                    issues.push(Issue::new(key, what, "write 192.0.2.1:5999"));
                }
            }
        }
        if self.key_file.as_ref().is_some_and(String::is_empty) {
            issues.push(Issue::new("key_file", "the path is empty", "write a file's name"));
        }
        if !(1..=10_000).contains(&self.heartbeat_ms) {
            let what = format!("{} is out of range", self.heartbeat_ms);
            issues.push(Issue::new("heartbeat_ms", what, "use 1 to 10000"));
        }
        if self.detect() < detect_min(self.heartbeat()) || self.detect_ms > 60_000 {
            let what = format!("{} is out of range", self.detect_ms);
            let hint = "use three times heartbeat_ms to 60000";
            issues.push(Issue::new("detect_ms", what, hint));
        }
        if self.addresses.len() > ADDRESSES_MAX {
            issues.push(Issue::new("addresses", "more than 64 addresses", "use fewer"));
        }
        track::validate(&self.track, self.track_recover_s, issues);
        for (n, text) in self.addresses.iter().enumerate() {
            if VirtualAddress::parse(text).is_none() {
                let what = format!("`{text}` is no address of an interface");
                issues.push(Issue::new(format!("addresses[{n}]"), what, "write 192.0.2.9/24@eth0"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(more: &str) -> Vec<String> {
        let text = format!(r#"{{ "node": "a"{more} }}"#);
        let section: Replica = serde_json::from_str(&text).unwrap();
        let mut issues = Vec::new();
        section.validate(&mut issues);
        issues.into_iter().map(|issue| issue.path).collect()
    }

    #[test]
    fn what_is_tracked_is_an_interface_or_an_address_and_stands_once() {
        let here = r#", "listen": "127.0.0.1:5999", "peer": "[::1]:5999""#;
        let good = r#", "track": ["eth0", "192.0.2.1", "fe80::1"], "track_recover_s": 0"#;
        assert_eq!(issues(&format!("{here}{good}")), Vec::<String>::new());
        let bad = r#", "track": ["eth0", "", "eth0", "a/b"], "track_recover_s": 3601"#;
        let expected = ["track[1]", "track[2]", "track[3]", "track_recover_s"];
        assert_eq!(issues(&format!("{here}{bad}")), expected);
    }

    #[test]
    fn a_pair_without_a_key_stays_on_one_machine() {
        let here = r#", "listen": "127.0.0.1:5999", "peer": "[::1]:5999""#;
        let there = r#", "listen": "0.0.0.0:5999", "peer": "192.0.2.2:5999""#;
        let arbiter = r#", "arbiter": "192.0.2.3:5998""#;
        assert_eq!(issues(here), Vec::<String>::new());
        assert_eq!(issues(&format!("{here}{arbiter}")), ["arbiter"]);
        assert_eq!(issues(there), ["listen", "peer"]);
        let key = r#", "key_file": "pair.key""#;
        assert_eq!(issues(&format!("{there}{arbiter}{key}")), Vec::<String>::new());
        let empty = r#", "key_file": """#;
        assert_eq!(issues(&format!("{here}{empty}")), ["key_file"]);
    }
}
