//! The section of a site file by which a node is one of a cluster.

use crate::election::detect_min;
use crate::track;
use config::Issue;
use machine::Duration;
use runtime::{NODES_MAX, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// One of several nodes that serve groups for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Members {
    /// Number of the cluster, the same at all its nodes; one arbiter may serve many.
    #[serde(default = "one")]
    pub cluster: u32,
    /// Number of this node, 1 to 16.
    pub node: u8,
    /// Address and UDP port of this node for heartbeats and changes.
    pub listen: String,
    /// The other nodes. Changes while groups are served: nodes are added and left out one after the
    /// other, at every node.
    pub member: Vec<Member>,
    /// Whether this node only follows: it has no vote and serves nothing.
    #[serde(default)]
    pub observes: bool,
    /// UDP address of an arbiter, the third vote of a cluster of two nodes. Clusters of three and
    /// more need none: a majority of the nodes votes. Changes while groups are served: at both
    /// nodes, one after the other, while each hears the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<String>,
    /// File with the keys of the cluster, relative to the site's directory and readable for its
    /// owner only; the same at all nodes and at the arbiter. One key a line: the first one seals
    /// and encrypts, each of them opens. Absent: nothing is sealed, for which all addresses must
    /// be loopback ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Time between two heartbeats, milliseconds.
    #[serde(default = "heartbeat_ms")]
    pub heartbeat_ms: u32,
    /// Silence after which another node counts as dead, milliseconds; at least three heartbeats and
    /// more than twice the round trip.
    #[serde(default = "detect_ms")]
    pub detect_ms: u32,
    /// Mebioctets of changes of one group that wait for one standby. Beyond them it is given up,
    /// and told everything anew.
    #[serde(default = "log_mib_max")]
    pub log_mib_max: u32,
    /// What this node needs to serve: names of interfaces and addresses of gateways. When one
    /// fails, its groups go to nodes that lack nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub track: Vec<String>,
    /// How long all that is tracked must have been good, after one of it had failed, seconds.
    #[serde(default = "track_recover_s")]
    pub track_recover_s: u32,
}

/// Another node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its number.
    pub node: u8,
    /// Where it listens.
    pub address: String,
    /// Whether it only follows.
    #[serde(default)]
    pub observes: bool,
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
const fn log_mib_max() -> u32 {
    16
}
const fn track_recover_s() -> u32 {
    5
}

impl Members {
    /// Silence that counts as death.
    #[must_use]
    pub fn detect(&self) -> Duration {
        Duration::from_millis(self.detect_ms.into())
    }

    /// Time between two heartbeats.
    #[must_use]
    pub fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms.into())
    }

    /// Its nodes.
    #[must_use]
    pub fn roster(&self) -> crate::cluster::Roster {
        let own = (NodeId(self.node), self.observes);
        let others = self.member.iter().map(|it| (NodeId(it.node), it.observes));
        let all: Vec<(NodeId, bool)> = others.chain([own]).collect();
        let those = |observes| {
            all.iter().filter(move |(_, it)| *it == observes).map(|(node, _)| *node).collect()
        };
        let has_arbiter = self.arbiter.is_some();
        crate::cluster::Roster { voters: those(false), observers: those(true), has_arbiter }
    }

    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let own = [("listen".to_owned(), &self.listen)];
        let others = self.member.iter().enumerate();
        let others = others.map(|(n, it)| (format!("member[{n}].address"), &it.address));
        let arbiter = self.arbiter.iter().map(|it| ("arbiter".to_owned(), it));
        for (path, text) in own.into_iter().chain(others).chain(arbiter) {
            self.validate_address(&path, text, issues);
        }
        let numbers = self.member.iter().map(|it| it.node).collect::<Vec<_>>();
        for (n, node) in [self.node].iter().chain(&numbers).enumerate() {
            let path = if n == 0 { "node".to_owned() } else { format!("member[{}].node", n - 1) };
            if !(1..=NODES_MAX).contains(node) {
                issues.push(Issue::new(path, format!("{node} is out of range"), "use 1 to 16"));
            } else if n > 0 && (*node == self.node || numbers[..n - 1].contains(node)) {
                issues.push(Issue::new(path, format!("{node} stands twice"), "number them apart"));
            }
        }
        let voters = self.roster().voters.len();
        if self.arbiter.is_some() && voters != 2 {
            let what = format!("an arbiter votes for two nodes, not for {voters}");
            issues.push(Issue::new("arbiter", what, "leave it out"));
        }
        if !(1..=10_000).contains(&self.heartbeat_ms) {
            let what = format!("{} is out of range", self.heartbeat_ms);
            issues.push(Issue::new("heartbeat_ms", what, "use 1 to 10000"));
        }
        if self.detect() < detect_min(self.heartbeat()) || self.detect_ms > 60_000 {
            let what = format!("{} is out of range", self.detect_ms);
            issues.push(Issue::new("detect_ms", what, "use three times heartbeat_ms to 60000"));
        }
        if !(1..=1_024).contains(&self.log_mib_max) {
            let what = format!("{} is out of range", self.log_mib_max);
            issues.push(Issue::new("log_mib_max", what, "use 1 to 1024"));
        }
        track::validate(&self.track, self.track_recover_s, issues);
    }

    /// Whether gateways are tracked, for which raw sockets are needed.
    #[must_use]
    pub fn asks_gateways(&self) -> bool {
        track::asks_gateways(&self.track)
    }

    fn validate_address(&self, path: &str, text: &str, issues: &mut Vec<Issue>) {
        match text.parse::<SocketAddr>() {
            Ok(address) if self.key_file.is_none() && !address.ip().is_loopback() => {
                let what = format!(
                    "`{text}` is not on this machine, and without `key_file` whoever reaches the \
                     link may take the groups over"
                );
                let hint = "write `key_file = \"cluster.key\"` at all nodes: a line of `openssl \
                            rand -base64 32`, chmod 600";
                issues.push(Issue::new(path, what, hint));
            }
            Ok(_) => {}
            Err(_) => {
                let what = format!("`{text}` is not an IP address with a port");
                issues.push(Issue::new(path, what, "write 192.0.2.1:5999"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(text: &str) -> Vec<String> {
        let section: Members = serde_json::from_str(text).unwrap();
        let mut issues = Vec::new();
        section.validate(&mut issues);
        issues.into_iter().map(|issue| issue.path).collect()
    }

    #[test]
    fn nodes_are_numbered_apart_and_those_of_several_machines_have_a_key() {
        let good = r#"{"node": 1, "listen": "127.0.0.1:1", "key_file": "k", "member": [
            {"node": 2, "address": "192.0.2.2:1"}, {"node": 3, "address": "192.0.2.3:1"}]}"#;
        assert_eq!(issues(good), Vec::<String>::new());
        let bad = r#"{"node": 17, "listen": "127.0.0.1:1", "arbiter": "127.0.0.1:2", "member": [
            {"node": 2, "address": "192.0.2.2:1"}, {"node": 2, "address": "x"}],
            "detect_ms": 20, "track": [""], "log_mib_max": 0}"#;
        let expected = [
            "member[0].address",
            "member[1].address",
            "node",
            "member[1].node",
            "detect_ms",
            "log_mib_max",
            "track[0]",
        ];
        assert_eq!(issues(bad), expected);
        let three = good.replace("\"key_file\"", "\"arbiter\": \"192.0.2.9:1\", \"key_file\"");
        assert_eq!(issues(&three), ["arbiter"]);
    }
}
