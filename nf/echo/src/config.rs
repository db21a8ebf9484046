//! The `[[echo]]` section of a site file.

use config::Issue;
use runtime::{PortId, PortSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// What a datagram of UDP over IPv4 holds at most.
const DATAGRAM_OCTETS_MAX: u32 = 65_507;

/// A function that sends back what it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Name of the function in lists, metrics and alarms.
    pub name: String,
    /// Where datagrams come in, as `127.0.0.1:7`.
    pub listen: SocketAddr,
    /// Octets of a datagram that is answered at most.
    #[serde(default = "octets_max")]
    pub octets_max: u32,
    /// CPU cores to pin the shards to, in order; empty leaves it to the kernel. Changes with a
    /// restart of the site.
    #[serde(default)]
    pub cores: Vec<usize>,
}

const fn octets_max() -> u32 {
    DATAGRAM_OCTETS_MAX
}

impl Echo {
    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.octets_max > DATAGRAM_OCTETS_MAX {
            let what = format!("no datagram has {} octets", self.octets_max);
            issues.push(Issue::new("octets_max", what, format!("up to {DATAGRAM_OCTETS_MAX}")));
        }
    }

    /// Its port.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let name = "echo udp".to_owned();
        vec![PortSpec { id: PortId(0), name, listen: self.listen, ..PortSpec::default() }]
    }
}
