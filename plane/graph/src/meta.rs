//! What the nodes know of a packet: one cache line beside it.

use crate::pool::HEADROOM;

/// Traced: every node that sees the packet notes what it did.
pub const TRACED: u16 = 1;
/// Came by a link-layer broadcast or multicast.
pub const GROUP_ADDRESSED: u16 = 1 << 1;
/// Made by this system (ICMP errors, the control plane), not received.
pub const OWN: u16 = 1 << 2;
/// Of [`OWN`] packets: the kernel of this machine sent it, and hears of errors as any host does.
pub const HOSTED: u16 = 1 << 15;
/// [`Meta::hash`] is set.
pub const HASHED: u16 = 1 << 3;
/// Left the path for the control plane once already.
pub const PUNTED: u16 = 1 << 4;
/// Its source has a meaning on the link that it came by only.
pub const LINK_LOCAL: u16 = 1 << 5;
/// Its destination has a meaning on the link that it came by only, and is one that this system
/// listens to there (224.0.0.x, ff02::, fe80::): no table is asked where it goes.
pub const LINK_SCOPED: u16 = 1 << 6;

/// What is known of a packet. Fields that a node sets are valid for the nodes after it; all are
/// zero when a packet is received.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Meta {
    /// Where in its cell the packet starts, octets.
    pub offset: u16,
    /// Octets of the packet from there.
    pub length: u16,
    /// [`TRACED`] and the like.
    pub flags: u16,
    /// Where in the cell the network header starts (IPv4, IPv6, the first MPLS label).
    pub l3: u16,
    /// Where in the cell the transport header starts; 0 as long as nobody looked.
    pub l4: u16,
    /// The port (device) it came in by.
    pub port: u16,
    /// Forwarding class (queue), 0 to 7.
    pub class: u8,
    /// Colour: 0 green, 1 yellow, 2 red (RFC 2697).
    pub colour: u8,
    /// How often an edge led it back in the graph.
    pub passes: u8,
    /// IP protocol or next header of the payload, as soon as somebody looked.
    pub protocol: u8,
    /// The (sub-)interface it came in by.
    pub interface: u32,
    /// The (sub-)interface it leaves by.
    pub transmit: u32,
    /// The routing table in force; 0 is the global one.
    pub vrf: u32,
    /// Flow hash, where [`HASHED`] is set.
    pub hash: u32,
    /// The hop that a lookup found.
    pub hop: u32,
    /// Its place in the chain of features (`Chains`).
    pub cursor: u32,
    /// Bridge domain.
    pub bridge: u32,
    /// Free for a node and the one after it.
    pub words: [u32; 4],
}

/// A constant of 16 bits.
const fn narrow(octets: usize) -> u16 {
    assert!(octets <= u16::MAX as usize, "offsets have 16 bits");
    #[allow(clippy::cast_possible_truncation, reason = "asserted")]
    let octets = octets as u16;
    octets
}

impl Default for Meta {
    fn default() -> Self {
        Self {
            offset: const { narrow(HEADROOM) },
            length: 0,
            flags: 0,
            l3: 0,
            l4: 0,
            port: 0,
            class: 0,
            colour: 0,
            passes: 0,
            protocol: 0,
            interface: 0,
            transmit: 0,
            vrf: 0,
            hash: 0,
            hop: 0,
            cursor: 0,
            bridge: 0,
            words: [0; 4],
        }
    }
}

const _: () = assert!(size_of::<Meta>() == 64, "one cache line");
