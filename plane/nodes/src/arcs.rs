//! The arcs: where features join the path.

use graph::{ArcId, ArcRow};

/// IPv4 packets that came in, before they are looked up.
pub const IP4_IN: ArcId = ArcId::received(0);
/// IPv6 packets that came in, before they are looked up.
pub const IP6_IN: ArcId = ArcId::received(1);
/// Frames that leave, of all kinds; `Meta::l3` says where the network header is.
pub const OUT: ArcId = ArcId::transmitted(2);

/// Name of [`IP4_IN`].
pub const NAME_IP4_IN: &str = "ip4-in";
/// Name of [`IP6_IN`].
pub const NAME_IP6_IN: &str = "ip6-in";
/// Name of [`OUT`].
pub const NAME_OUT: &str = "out";

/// All arcs, with their features in their order.
#[must_use]
pub fn arcs() -> [ArcRow; 3] {
    [
        ArcRow {
            id: IP4_IN,
            name: NAME_IP4_IN,
            starts: &["ip4-input", "ip4-options"],
            features: &["ip4-urpf"],
            end: "ip4-lookup",
        },
        ArcRow {
            id: IP6_IN,
            name: NAME_IP6_IN,
            starts: &["ip6-input"],
            features: &["ip6-urpf"],
            end: "ip6-lookup",
        },
        ArcRow {
            id: OUT,
            name: NAME_OUT,
            starts: &[
                "ip4-lookup",
                "ip6-lookup",
                "ip4-fragment",
                "arp-input",
                "nd-input",
                "inject",
            ],
            features: &[],
            end: "interface-output",
        },
    ]
}
