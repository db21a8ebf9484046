//! The arcs: where features join the path.

use graph::{ArcId, ArcRow};

/// IPv4 packets that came in, before they are looked up.
pub const IP4_IN: ArcId = ArcId::received(0);
/// IPv6 packets that came in, before they are looked up.
pub const IP6_IN: ArcId = ArcId::received(1);
/// Frames that leave, of all kinds; `Meta::l3` says where the network header is.
pub const OUT: ArcId = ArcId::transmitted(2);

/// Frames of cross-connects that came in.
pub const CONNECT_IN: ArcId = ArcId::received(3);
/// Frames of bridge domains that came in by an interface.
pub const BRIDGE_IN: ArcId = ArcId::received(4);

/// Name of [`IP4_IN`].
pub const NAME_IP4_IN: &str = "ip4-in";
/// Name of [`IP6_IN`].
pub const NAME_IP6_IN: &str = "ip6-in";
/// Name of [`OUT`].
pub const NAME_OUT: &str = "out";

/// Name of [`CONNECT_IN`].
pub const NAME_CONNECT_IN: &str = "connect-in";
/// Name of [`BRIDGE_IN`].
pub const NAME_BRIDGE_IN: &str = "bridge-in";

/// All arcs, with their features in their order.
#[must_use]
pub fn arcs() -> [ArcRow; 5] {
    [
        ArcRow {
            id: IP4_IN,
            name: NAME_IP4_IN,
            starts: &["ip4-input", "ip4-options"],
            features: &["ip4-urpf", "sample", "classify", "ip4-filter", "policer-in"],
            end: "ip4-lookup",
        },
        ArcRow {
            id: IP6_IN,
            name: NAME_IP6_IN,
            starts: &["ip6-input", "ip6-options"],
            features: &["ip6-urpf", "sample", "classify", "ip6-filter", "policer-in"],
            end: "ip6-lookup",
        },
        ArcRow {
            id: OUT,
            name: NAME_OUT,
            starts: &[
                "ip4-lookup",
                "ip6-lookup",
                "ip4-redirect",
                "ip6-redirect",
                "ip4-fragment",
                "arp-input",
                "nd-input",
                "echo",
                "inject",
                "mpls-input",
                "cross-connect",
                "bridge-input",
            ],
            features: &["filter-out", "policer-out", "mark-out"],
            end: "interface-output",
        },
        ArcRow {
            id: CONNECT_IN,
            name: NAME_CONNECT_IN,
            starts: &["ethernet-input"],
            features: &["classify", "l2-filter", "policer-in"],
            end: "cross-connect",
        },
        ArcRow {
            id: BRIDGE_IN,
            name: NAME_BRIDGE_IN,
            starts: &["ethernet-input"],
            features: &["classify", "l2-filter", "policer-in"],
            end: "bridge-input",
        },
    ]
}
