//! What an endpoint needs of the machine and of who runs it.

use crate::config::{Carrier, Config};
use config::need::{BPF, NET_ADMIN, NET_RAW, Need, Wanted};

/// There where the kernel has an SCTP of its own.
const KERNEL_SCTP: &str = "/proc/net/sctp";

impl Config {
    /// What its carrier needs; `at` is the path of the key `carrier` in the function's section.
    #[must_use]
    pub fn needs(&self, at: &'static str) -> Vec<Wanted> {
        let wanted = |need, reason| (at, need, reason);
        let (packets, own) = ("SCTP goes as IP protocol 132", "SCTP is this function's own");
        let past = "SCTP goes past the kernel's IP (AF_XDP)";
        match self.carrier {
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
            Carrier::Kernel => vec![wanted(Need::Kernel(KERNEL_SCTP), "SCTP is the kernel's")],
        }
    }
}
