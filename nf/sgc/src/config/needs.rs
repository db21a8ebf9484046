//! What the gateway needs of the machine and of who runs it.

use super::Sgc;
use config::need::{NET_RAW, Need, Wanted};

impl Sgc {
    /// What the carrier of SCTP, and what the cluster tracks, needs.
    #[must_use]
    pub fn needs(&self) -> Vec<Wanted> {
        let mut needs: Vec<Wanted> =
            self.sctp.iter().flat_map(|it| it.needs("sctp.carrier")).collect();
        if self.cluster.as_ref().is_some_and(|it| it.members().asks_gateways()) {
            let reason = "gateways are asked by raw sockets";
            needs.push(("cluster.track", Need::Capability(NET_RAW), reason));
        }
        needs
    }
}
