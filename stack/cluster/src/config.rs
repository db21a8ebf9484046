//! The keys of a cluster: this node, the others, and how fast one that dies is noticed.

use authentication::Keys;
use config::Issue;
use replica::groups::{Member, Members};
use runtime::NODES_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Several nodes with one set of point codes, each with its own associations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Number of the cluster, the same at all its nodes; one arbiter may serve many.
    #[serde(default = "one")]
    pub cluster: u32,
    /// The number of this node, 1 to 16.
    pub node: u8,
    /// All nodes, this one too. They are the same at each. Nodes come and go one after the other,
    /// at every node, while dialogues go on.
    pub nodes: Vec<Node>,
    /// UDP address of an arbiter, the third vote of a cluster of two nodes. Clusters of three and
    /// more need none: a majority of the nodes votes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arbiter: Option<String>,
    /// File with the keys of the cluster, in the site's directory and its owner's alone; the same
    /// at all nodes, and at the arbiter. The first one seals and encrypts, each of them opens.
    /// Absent: nothing is sealed, for which all addresses must be loopback ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The keys of that file.
    #[serde(skip)]
    pub keys: Option<Keys>,
    /// Which dialogues the standby is told of: `standing`, from the first TC-CONTINUE on, or `all`,
    /// from their beginning.
    #[serde(default)]
    pub replicate: Replicate,
    /// Time between two heartbeats, milliseconds.
    #[serde(default = "heartbeat_ms")]
    pub heartbeat_ms: u32,
    /// Silence after which another node counts as dead, milliseconds; at least three heartbeats.
    #[serde(default = "detect_ms")]
    pub detect_ms: u32,
    /// Mebioctets of changes of one partition that wait for its standby. Beyond them that is given
    /// up, and told everything anew.
    #[serde(default = "log_mib_max")]
    pub log_mib_max: u32,
    /// How long a node must have been heard before it gets its share of the partitions back,
    /// seconds.
    #[serde(default = "rebalance_s")]
    pub rebalance_s: u32,
    /// What this node needs to serve: names of interfaces and addresses of gateways. When one
    /// fails, its partitions go to nodes that lack nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub track: Vec<String>,
    /// How long all that is tracked must have been good, after one of it had failed, seconds.
    #[serde(default = "track_recover_s")]
    pub track_recover_s: u32,
}

/// Which dialogues the standby is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Replicate {
    /// Those that stand.
    #[default]
    Standing,
    /// All.
    All,
}

/// A node of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its number, 1 to 16.
    pub number: u8,
    /// Its address and UDP port for the others: `192.0.2.1:5990`.
    pub address: String,
    /// Its share of the partitions, against those of the others; 0: it votes, and serves none.
    #[serde(default = "share")]
    pub weight: u8,
}

const fn one() -> u32 {
    1
}
const fn share() -> u8 {
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
const fn rebalance_s() -> u32 {
    10
}
const fn track_recover_s() -> u32 {
    5
}

impl Cluster {
    /// This node's address.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        let own = self.nodes.iter().find(|it| it.number == self.node)?;
        own.address.parse().ok()
    }

    /// The same as `node/replica` has it.
    #[must_use]
    pub fn members(&self) -> Members {
        let own = self.nodes.iter().find(|it| it.number == self.node);
        let others = self.nodes.iter().filter(|it| it.number != self.node);
        let member =
            |it: &Node| Member { node: it.number, address: it.address.clone(), observes: false };
        Members {
            cluster: self.cluster,
            node: self.node,
            listen: own.map(|it| it.address.clone()).unwrap_or_default(),
            member: others.map(member).collect(),
            observes: false,
            arbiter: self.arbiter.clone(),
            key_file: self.key_file.clone(),
            heartbeat_ms: self.heartbeat_ms,
            detect_ms: self.detect_ms,
            log_mib_max: self.log_mib_max,
            track: self.track.clone(),
            track_recover_s: self.track_recover_s,
        }
    }

    /// Pushes what the types alone cannot refuse.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let mut issue = |at: &str, what: String, hint: &str| {
            issues.push(Issue::new(format!("cluster.{at}"), what, hint));
        };
        if !(2..=usize::from(NODES_MAX)).contains(&self.nodes.len()) {
            let what = config::counted(self.nodes.len(), "node", "nodes");
            issue("nodes", what, "a cluster has 2 to 16");
        }
        if !self.nodes.iter().any(|it| it.number == self.node) {
            let what = format!("node {} is none of `nodes`", self.node);
            issue("node", what, "write the number of this node");
        }
        if self.nodes.iter().all(|it| it.weight == 0) && !self.nodes.is_empty() {
            let what = "no node has a share of the partitions".to_owned();
            issue("nodes", what, "leave `weight` out where a node shall serve");
        }
        self.validate_nodes(&mut issue);
        // What the link itself wants; its addresses were looked at above, where they stand.
        let mut of_link = Vec::new();
        self.members().validate(&mut of_link);
        let stands_above = ["listen", "node", "member"];
        let is_ours = |it: &Issue| stands_above.iter().all(|path| !it.path.starts_with(path));
        for it in of_link.into_iter().filter(is_ours) {
            issues.push(Issue { path: format!("cluster.{}", it.path), ..it });
        }
        if self.rebalance_s > 86_400 {
            let what = format!("{} is out of range", self.rebalance_s);
            issues.push(Issue::new("cluster.rebalance_s", what, "use 0 to 86400"));
        }
    }

    fn validate_nodes(&self, issue: &mut impl FnMut(&str, String, &str)) {
        for (n, it) in self.nodes.iter().enumerate() {
            let before = &self.nodes[..n];
            let is_twice = before.iter().any(|other| other.number == it.number);
            if !(1..=NODES_MAX).contains(&it.number) || is_twice {
                let what = format!("{} is no number for a node", it.number);
                issue(&format!("nodes[{n}].number"), what, "use 1 to 16, each once");
            }
            let at = format!("nodes[{n}].address");
            match it.address.parse::<SocketAddr>() {
                Err(_) => {
                    let what = format!("`{}` is not an IP address with a port", it.address);
                    issue(&at, what, "write 192.0.2.1:5990");
                }
                Ok(_) if before.iter().any(|other| other.address == it.address) => {
                    let what = format!("`{}` is another node's", it.address);
                    issue(&at, what, "each node has its own address");
                }
                Ok(address) if self.key_file.is_none() && !address.ip().is_loopback() => {
                    let what = format!(
                        "`{}` is not on this machine, and without `key_file` whoever reaches it \
                         may end or take over all dialogues",
                        it.address
                    );
                    let hint = "write `key_file = \"cluster.key\"` at all nodes: a line of \
                                `openssl rand -base64 32`, chmod 600";
                    issue(&at, what, hint);
                }
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(text: &str) -> Vec<String> {
        let cluster: Cluster = toml::from_str(text).expect("a section");
        let mut issues = Vec::new();
        cluster.validate(&mut issues);
        issues.into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn nodes_are_told_apart_and_beyond_this_machine_they_have_a_key() {
        let two = |first: &str, second: &str| {
            format!(
                "node = 1\n[[nodes]]\nnumber = 1\naddress = \"{first}\"\n\
                 [[nodes]]\nnumber = 2\naddress = \"{second}\""
            )
        };
        let near = two("127.0.0.1:5990", "127.0.0.2:5990");
        assert!(issues(&near).is_empty());
        assert_eq!(issues(&two("127.0.0.1:5990", "127.0.0.1:5990")), ["cluster.nodes[1].address"]);
        let far = two("192.0.2.1:5990", "192.0.2.2:5990");
        assert_eq!(issues(&far), ["cluster.nodes[0].address", "cluster.nodes[1].address"]);
        assert!(issues(&format!("key_file = \"cluster.key\"\n{far}")).is_empty());
        assert_eq!(issues(&format!("detect_ms = 20\n{near}")), ["cluster.detect_ms"]);
        assert_eq!(issues(&format!("arbiter = \"x\"\n{near}")), ["cluster.arbiter"]);
        assert_eq!(issues(&format!("rebalance_s = 90000\n{near}")), ["cluster.rebalance_s"]);
        assert_eq!(issues(&format!("track = [\"\"]\n{near}")), ["cluster.track[0]"]);
        let none = "nodes = []\nnode = 3";
        assert_eq!(issues(none), ["cluster.nodes", "cluster.node"]);
        let idle = near.replace("5990\"", "5990\"\nweight = 0");
        assert_eq!(issues(&idle), ["cluster.nodes"]);
        assert_eq!(issues(&near.replace("number = 2", "number = 17")), ["cluster.nodes[1].number"]);
    }
}
