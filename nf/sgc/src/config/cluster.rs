//! The keys of a cluster: this node, the others, and how fast one that dies is noticed.

use super::Sgc;
use authentication::Keys;
use cluster::{NODES_MAX, NodeId};
use config::Issue;
use m3ua_stack::config::TCP_PORTS;
use machine::Duration;
use machine::identity::hash_combine;
use runtime::{Carrier, PortId, PortSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Where other nodes speak to this one: behind the places of applications.
pub(crate) const CLUSTER_PORT: PortId = PortId(TCP_PORTS + 1_010);

/// Several nodes with one set of point codes, each with its own associations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The number of this node, 1 to 16.
    pub node: u8,
    /// All nodes, this one too. They are the same at each; nodes come and go one at a time.
    pub nodes: Vec<Node>,
    /// File with the keys of the cluster, in the site's directory and its owner's alone; the same
    /// at all nodes. The first one seals and encrypts, each of them opens. Absent: nothing is
    /// sealed, for which all addresses must be loopback ones. Changes with a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// The keys of that file.
    #[serde(skip)]
    pub keys: Option<Keys>,
    /// Which dialogues the standby is told of: `standing`, from the first TC-CONTINUE on, or `all`,
    /// from their beginning.
    #[serde(default)]
    pub replicate: Replicate,
    /// This node's share of the dialogues, against those of the others; 0: it votes, and serves
    /// none.
    #[serde(default = "one")]
    pub weight: u8,
    /// Time between two heartbeats, milliseconds.
    #[serde(default = "heartbeat_ms")]
    pub heartbeat_ms: u32,
    /// Silence after which nodes elect another coordinator, milliseconds, at least three
    /// heartbeats. A node that is silent for twice as long is dead, and its standbys serve.
    #[serde(default = "detect_ms")]
    pub detect_ms: u32,
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
}

const fn one() -> u8 {
    1
}
const fn heartbeat_ms() -> u32 {
    10
}
const fn detect_ms() -> u32 {
    50
}

impl Cluster {
    /// The nodes that can be read, by their numbers.
    pub(crate) fn addresses(&self) -> BTreeMap<NodeId, SocketAddr> {
        let read = |it: &Node| Some((NodeId::new(it.number)?, it.address.parse().ok()?));
        self.nodes.iter().filter_map(read).collect()
    }

    /// This node's address.
    #[must_use]
    pub fn listen(&self) -> Option<SocketAddr> {
        self.addresses().get(&NodeId::new(self.node)?).copied()
    }

    /// What the machine is; none: the section was not checked.
    pub(crate) fn settings(&self, digest: u64, life: u64) -> Option<cluster::Settings> {
        let ms = |ms: u32| Duration::from_millis(ms.into());
        Some(cluster::Settings {
            own: NodeId::new(self.node)?,
            nodes: self.addresses().into_keys().collect(),
            weight: self.weight,
            heartbeat: ms(self.heartbeat_ms),
            detect: ms(self.detect_ms),
            digest,
            life,
        })
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        let mut issue = |at: String, what: String, hint: &str| {
            issues.push(Issue::new(format!("cluster.{at}"), what, hint));
        };
        if !(2..=usize::from(NODES_MAX)).contains(&self.nodes.len()) {
            let what = format!("{} nodes", self.nodes.len());
            issue("nodes".into(), what, "a cluster has 2 to 16");
        }
        if !self.nodes.iter().any(|it| it.number == self.node) {
            let what = format!("node {} is none of `nodes`", self.node);
            issue("node".into(), what, "write the number of this node");
        }
        for (n, it) in self.nodes.iter().enumerate() {
            let before = &self.nodes[..n];
            if NodeId::new(it.number).is_none() || before.iter().any(|o| o.number == it.number) {
                let what = format!("{} is no number for a node", it.number);
                issue(format!("nodes[{n}].number"), what, "use 1 to 16, each once");
            }
            let at = format!("nodes[{n}].address");
            match it.address.parse::<SocketAddr>() {
                Err(_) => {
                    let what = format!("`{}` is not an IP address with a port", it.address);
                    issue(at, what, "write 192.0.2.1:5990");
                }
                Ok(_) if before.iter().any(|o| o.address == it.address) => {
                    let what = format!("`{}` is another node's", it.address);
                    issue(at, what, "each node has its own address");
                }
                Ok(address) if self.key_file.is_none() && !address.ip().is_loopback() => {
                    let what = format!(
                        "`{}` is not on this machine, and without `key_file` whoever reaches it \
                         may end or take over all dialogues",
                        it.address
                    );
                    let hint = "write `key_file = \"cluster.key\"` at all nodes: a line of \
                                `openssl rand -base64 32`, chmod 600";
                    issue(at, what, hint);
                }
                Ok(_) => {}
            }
        }
        if !(1..=10_000).contains(&self.heartbeat_ms) {
            let what = format!("{} is out of range", self.heartbeat_ms);
            issue("heartbeat_ms".into(), what, "use 1 to 10000");
        }
        if self.detect_ms < self.heartbeat_ms.saturating_mul(3) || self.detect_ms > 60_000 {
            let what = format!("{} is out of range", self.detect_ms);
            issue("detect_ms".into(), what, "use three times heartbeat_ms to 60000");
        }
    }
}

impl Sgc {
    pub(super) fn validate_cluster(&self, issues: &mut Vec<Issue>) {
        let Some(cluster) = &self.cluster else { return };
        cluster.validate(issues);
        if self.shards != 1 {
            let what = "a node of a cluster has one shard";
            issues.push(Issue::new("shards", what, "set 1, and run more nodes"));
        }
    }

    /// The port for the other nodes.
    pub(super) fn cluster_port(&self) -> Option<PortSpec> {
        let listen = self.cluster.as_ref()?.listen()?;
        Some(PortSpec {
            id: CLUSTER_PORT,
            name: String::from("cluster"),
            listen,
            carrier: Carrier::Udp { whole: false, runs: false },
            ..PortSpec::default()
        })
    }

    /// A number for what has to be alike at all nodes: what they are to the network.
    pub(crate) fn cluster_digest(&self) -> u64 {
        let alike = (
            (&self.point_code_format, &self.point_codes, self.network_appearance),
            (&self.sccp, &self.tcap, &self.subsystem, &self.translation),
            self.application.iter().map(|it| (&it.name, &it.subsystem)).collect::<Vec<_>>(),
            self.cluster.as_ref().map(|it| (&it.nodes, it.replicate)),
        );
        // What cannot be written as text is none of these.
        hash_combine(0, &serde_json::to_vec(&alike).unwrap_or_default())
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
        assert!(issues(&two("127.0.0.1:5990", "127.0.0.2:5990")).is_empty());
        assert_eq!(issues(&two("127.0.0.1:5990", "127.0.0.1:5990")), ["cluster.nodes[1].address"]);
        let far = two("192.0.2.1:5990", "192.0.2.2:5990");
        assert_eq!(issues(&far).len(), 2);
        assert!(issues(&format!("key_file = \"cluster.key\"\n{far}")).is_empty());
        let slow = two("127.0.0.1:1", "127.0.0.1:2");
        assert_eq!(issues(&format!("detect_ms = 20\n{slow}")), ["cluster.detect_ms"]);
        let none = format!("nodes = []\n{}", "node = 3");
        assert_eq!(issues(&none), ["cluster.nodes", "cluster.node"]);
    }
}
