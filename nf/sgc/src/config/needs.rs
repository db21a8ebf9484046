//! What the gateway needs of the machine and of who runs it.

use super::Sgc;
use config::need::{BPF, NET_ADMIN, NET_RAW, Need, Wanted};
use sctp_stack::Carrier;

/// There where the kernel has an SCTP of its own.
const KERNEL_SCTP: &str = "/proc/net/sctp";

impl Sgc {
    /// What the carrier of SCTP, and what the cluster tracks, needs.
    #[must_use]
    pub fn needs(&self) -> Vec<Wanted> {
        let mut needs = self.needs_of_sctp();
        if self.cluster.as_ref().is_some_and(|it| it.members().asks_gateways()) {
            let reason = "gateways are asked by raw sockets";
            needs.push(("cluster.track", Need::Capability(NET_RAW), reason));
        }
        needs
    }

    fn needs_of_sctp(&self) -> Vec<Wanted> {
        let Some(sctp) = &self.sctp else { return Vec::new() };
        let wanted = |need, reason| ("sctp.carrier", need, reason);
        let (packets, own) = ("SCTP goes as IP protocol 132", "SCTP is this function's own");
        let past = "SCTP goes past the kernel's IP (AF_XDP)";
        match sctp.carrier {
            Carrier::Udp => Vec::new(),
            Carrier::Ip => vec![
                wanted(Need::Capability(NET_RAW), packets),
                wanted(Need::KernelWithout(KERNEL_SCTP), own),
            ],
            Carrier::Xdp => {
                let rights = [NET_ADMIN, NET_RAW, BPF].map(Need::Capability);
                let mut needs: Vec<Wanted> = rights.map(|need| wanted(need, past)).into();
                needs.push(wanted(Need::KernelWithout(KERNEL_SCTP), own));
                needs
            }
            Carrier::Kernel => {
                vec![wanted(Need::Kernel(KERNEL_SCTP), "SCTP is the kernel's")]
            }
        }
    }
}
