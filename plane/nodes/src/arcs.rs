//! The arcs: where features join the path.

use crate::feature::Join;
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

/// The arcs of packets that come in.
pub const RECEIVED: [&str; 4] = [NAME_IP4_IN, NAME_IP6_IN, NAME_CONNECT_IN, NAME_BRIDGE_IN];

/// In which order the features of an arc come. One that comes between two takes a number between
/// theirs.
pub mod rank {
    /// Whether a packet may come from where it says.
    pub const SOURCE: u8 = 10;
    /// Samples, before anything is refused.
    pub const SAMPLE: u8 = 20;
    /// Classes, before anything asks for them.
    pub const CLASSIFY: u8 = 30;
    /// Rules.
    pub const FILTER: u8 = 40;
    /// Rates of what the rules let pass.
    pub const POLICE: u8 = 50;
    /// Marks, last of all.
    pub const MARK: u8 = 60;
}

/// An arc without features: its number and name, the nodes that send along it whatever features
/// there are, and its end.
type Bare = (ArcId, &'static str, &'static [&'static str], &'static str);

const BARE: [Bare; 5] = [
    (IP4_IN, NAME_IP4_IN, &["ip4-input", "ip4-options"], "ip4-lookup"),
    (IP6_IN, NAME_IP6_IN, &["ip6-input", "ip6-options"], "ip6-lookup"),
    (OUT, NAME_OUT, SENDERS, "interface-output"),
    (CONNECT_IN, NAME_CONNECT_IN, &["ethernet-input"], "cross-connect"),
    (BRIDGE_IN, NAME_BRIDGE_IN, &["ethernet-input"], "bridge-input"),
];

const SENDERS: &[&str] = &[
    "ip4-lookup",
    "ip6-lookup",
    "ip4-redirect",
    "ip6-redirect",
    "ip4-fragment",
    "arp-input",
    "nd-input",
    "echo",
    "inject",
];

/// All arcs, with what features add to them in the order of their ranks.
#[must_use]
pub fn arcs(joins: &[Join]) -> Vec<ArcRow> {
    let arc = |(id, name, starts, end): Bare| {
        let mut on: Vec<(u8, &'static str)> = joins.iter().filter_map(|it| it.on(name)).collect();
        on.sort_by_key(|(rank, _)| *rank);
        let from = joins.iter().filter_map(|it| it.from(name));
        let starts = starts.iter().copied().chain(from).collect();
        ArcRow { id, name, starts, features: on.into_iter().map(|(_, node)| node).collect(), end }
    };
    BARE.into_iter().map(arc).collect()
}
