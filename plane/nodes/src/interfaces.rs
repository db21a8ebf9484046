//! Ports and interfaces as workers read them: from port and VLAN tags to the interface, and what
//! is known of it; replaced whole when one changes.

use crate::header::{ETHERNET, short};
use crate::program::{Class, Interface, Mac, Mode, Port, Urpf};
use machine::narrow::place;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// VLAN numbers.
const VLANS: usize = 4_096;
/// Says that an entry of a VLAN table is the number of a second table.
const PAIR: u32 = 1 << 31;
/// Where an entry of a VLAN table that is an interface has its [`Input`]: most frames need no
/// more of it.
const INPUT: u32 = 28;
const INTERFACE: u32 = (1 << INPUT) - 1;
const _: () = assert!(crate::program::INTERFACES_MAX <= INTERFACE);
/// Outer VLANs with pairs at most (16 KB each).
pub const PAIRS_MAX: usize = 8_192;
/// No interface.
pub const NONE: u32 = 0;
/// No port.
pub const NO_PORT: u16 = crate::program::NO_PORT;
/// Says that an interface's frames leave into its bridge domain.
pub const INTO_BRIDGE: u16 = u16::MAX - 1;
/// Octets of the longest packet that goes into a bridge domain, if nothing is said.
const BRIDGE_MTU: u16 = 1_500;

/// What becomes of an interface's packets, as a number of few bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Input {
    /// There is no such interface, or it is down.
    #[default]
    Nothing,
    /// Routed.
    Routed,
    /// Bridged.
    Bridged,
    /// All one way.
    CrossConnect,
}

/// An interface as workers read it: one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Row {
    /// What becomes of its packets.
    pub input: Input,
    /// Whether it takes labels.
    pub mpls: bool,
    /// Whether it takes none of services.
    pub transit_only: bool,
    /// Whether sources are checked.
    pub urpf: Urpf,
    /// Whether it answers for others' addresses.
    pub proxy_arp: bool,
    /// Whether broadcasts to its subnets are sent on.
    pub directed_broadcast: bool,
    /// Protocols of links that are spoken there, a bit for each class.
    pub speaks: u16,
    /// Its group of members that do not talk to each other.
    pub split_horizon: u8,
    /// Tags on its frames: 0, 1 or 2.
    pub tags: u8,
    /// Its MAC address.
    pub mac: Mac,
    /// The same as a number: the first octet is the lowest.
    pub address: u64,
    /// Its port.
    pub port: u16,
    /// Octets of the longest packet that leaves.
    pub mtu: u16,
    /// Outer and inner VLAN.
    pub vlans: [u16; 2],
    /// Its routing table.
    pub vrf: u32,
    /// Its bridge domain.
    pub bridge: u32,
    /// Where all its packets go.
    pub hop: u32,
    /// The other end of a cross-connect, if that is an interface.
    pub peer: u32,
}

/// How frames change from one interface's tags to another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swap {
    /// The interface that they leave by.
    pub to: u32,
    /// Tags that come off.
    pub gone: u8,
    /// Tags that go on.
    pub new: u8,
    /// Octets of the longest frame without tags.
    pub limit: u16,
    /// VLANs of the tags that go on.
    pub vlans: [u16; 2],
}

impl Row {
    /// Whether packets of a class go up from there, as far as the interface decides that.
    #[inline]
    #[must_use]
    pub fn speaks(&self, class: Class) -> bool {
        self.speaks & bit(class) != 0 || !Class::OF_LINKS.contains(&class)
    }
}

const fn bit(class: Class) -> u16 {
    1 << class as u16
}

impl Swap {
    /// From an interface with so many tags to `to`, whose row is `row`.
    #[inline]
    #[must_use]
    pub const fn new(gone: u8, to: u32, row: &Row) -> Self {
        let limit = row.mtu.saturating_add(short(ETHERNET));
        Self { to, gone, new: row.tags, limit, vlans: row.vlans }
    }
}

#[derive(Clone, Default)]
struct PortRow {
    mac: Mac,
    untagged: u32,
    /// Empty, or by outer VLAN: an interface, or a pair table.
    vlans: Vec<u32>,
}

/// All interfaces.
#[derive(Default)]
pub struct Interfaces {
    ports: Vec<PortRow>,
    pairs: Vec<Box<[u32]>>,
    rows: Vec<Row>,
    /// By interface: its port, or [`NO_PORT`]; small, because every packet that leaves asks.
    outs: Vec<u16>,
    /// By interface, of those that are connected to another one which is up; small, too.
    swaps: Vec<Swap>,
}

impl Interfaces {
    /// As the programs say; `hop` finds the table's number of a cross-connect's hop, and the
    /// interface that it is (0: none).
    #[must_use]
    pub fn of(
        ports: &BTreeMap<u16, Port>,
        interfaces: &BTreeMap<u32, Interface>,
        hop: impl Fn(u32) -> (u32, u32),
    ) -> Self {
        let mut made = Self::default();
        for port in ports.values().filter(|port| port.up) {
            let at = usize::from(port.port);
            made.ports.resize(made.ports.len().max(at + 1), PortRow::default());
            made.ports[at].mac = port.mac;
        }
        for interface in interfaces.values() {
            let Some(row) = Self::describe(interface, ports) else { continue };
            let at = interface.index as usize;
            made.rows.resize(made.rows.len().max(at + 1), Row::default());
            made.outs.resize(made.rows.len(), NO_PORT);
            made.outs[at] = row.port;
            if row.port != INTO_BRIDGE {
                made.place(interface);
            }
            let (hop, peer) = hop(row.hop);
            made.rows[at] = Row { hop, peer, ..row };
        }
        let swap = |row: &Row| match made.row(row.peer) {
            peer if peer.input == Input::Nothing => Swap::default(),
            peer => Swap::new(row.tags, row.peer, peer),
        };
        made.swaps = made.rows.iter().map(swap).collect();
        made
    }

    fn place(&mut self, interface: &Interface) {
        let port = &mut self.ports[usize::from(interface.port)];
        let Some(outer) = interface.outer else {
            port.untagged = interface.index;
            return;
        };
        port.vlans.resize(VLANS, NONE);
        let entry = &mut port.vlans[usize::from(outer) % VLANS];
        let said = interface.index | (input(&interface.mode) as u32) << INPUT;
        let Some(inner) = interface.inner else {
            if *entry & PAIR == 0 {
                *entry = said;
            } else {
                // Frames of this outer VLAN without an inner one.
                self.pairs[(*entry ^ PAIR) as usize][VLANS] = said;
            }
            return;
        };
        if *entry & PAIR == 0 {
            let mut pairs = vec![NONE; VLANS + 1].into_boxed_slice();
            pairs[VLANS] = *entry;
            *entry = PAIR | place(self.pairs.len());
            self.pairs.push(pairs);
        }
        self.pairs[(*entry ^ PAIR) as usize][usize::from(inner) % VLANS] = said;
    }

    /// An interface as workers read it; `None` while its port is down.
    #[must_use]
    pub fn describe(interface: &Interface, ports: &BTreeMap<u16, Port>) -> Option<Row> {
        let (port, mac, most) = match interface.mode {
            Mode::BridgeRouted { .. } => (INTO_BRIDGE, [0; 6], BRIDGE_MTU.max(interface.mtu)),
            _ => {
                let port = ports.get(&interface.port).filter(|port| port.up)?;
                (port.port, port.mac, port.mtu)
            }
        };
        let (vrf, bridge, hop, split_horizon) = match interface.mode {
            Mode::Routed { vrf } => (vrf, 0, 0, 0),
            Mode::Bridged { bridge, split_horizon, .. } => (0, bridge, 0, split_horizon),
            Mode::BridgeRouted { bridge, vrf } => (vrf, bridge, 0, 0),
            Mode::CrossConnect { hop } => (0, 0, hop, 0),
        };
        let mac = interface.mac.unwrap_or(mac);
        Some(Row {
            input: input(&interface.mode),
            mpls: interface.mpls,
            transit_only: interface.transit_only,
            urpf: interface.urpf,
            proxy_arp: interface.proxy_arp,
            directed_broadcast: interface.directed_broadcast,
            speaks: interface.speaks.iter().fold(0, |all, class| all | bit(*class)),
            split_horizon,
            tags: u8::from(interface.outer.is_some()) + u8::from(interface.inner.is_some()),
            mac,
            address: number(mac),
            port,
            mtu: if interface.mtu == 0 { most } else { interface.mtu.min(most) },
            vlans: [interface.outer.unwrap_or(0), interface.inner.unwrap_or(0)],
            vrf,
            bridge,
            hop,
            peer: 0,
        })
    }

    /// The interface of frames without a tag.
    #[inline]
    #[must_use]
    pub fn untagged(&self, port: u16) -> u32 {
        self.ports.get(usize::from(port)).map_or(NONE, |port| port.untagged)
    }

    /// By outer VLAN: what frames with this tag come by, for [`Interfaces::plain`]. Empty: the
    /// port has none.
    #[inline]
    #[must_use]
    pub fn vlans(&self, port: u16) -> &[u32] {
        self.ports.get(usize::from(port)).map(|port| port.vlans.as_slice()).unwrap_or_default()
    }

    /// The interface that an entry of [`Interfaces::vlans`] is, and what becomes of its packets;
    /// [`Input::Nothing`] if it takes a look at a second tag, or there is none.
    #[inline]
    #[must_use]
    pub const fn plain(entry: u32) -> (u32, Input) {
        const INPUTS: [Input; 4] =
            [Input::Nothing, Input::Routed, Input::Bridged, Input::CrossConnect];
        let input = if entry & PAIR == 0 { entry >> INPUT } else { 0 };
        (entry & INTERFACE, INPUTS[input as usize & 3])
    }

    /// The interface of frames with these tags, and how many of them it takes off: an outer VLAN
    /// without pairs carries whatever inner tags its users have.
    #[inline]
    #[must_use]
    pub fn tagged(&self, port: u16, outer: u16, inner: Option<u16>) -> (u32, u8) {
        let row = self.ports.get(usize::from(port));
        let vlan = row.and_then(|port| port.vlans.get(usize::from(outer) % VLANS));
        let Some(entry) = vlan else { return (NONE, 0) };
        if entry & PAIR == 0 {
            return (*entry & INTERFACE, 1);
        }
        let pairs = &self.pairs[(entry ^ PAIR) as usize];
        match inner {
            Some(inner) => (pairs[usize::from(inner) % VLANS] & INTERFACE, 2),
            None => (pairs[VLANS] & INTERFACE, 1),
        }
    }

    /// How frames of an interface go to the one that it is connected to; one whose `to` is
    /// [`NONE`] goes another way, or nowhere.
    #[inline]
    #[must_use]
    pub fn swap(&self, interface: u32) -> Swap {
        self.swaps.get(interface as usize).copied().unwrap_or_default()
    }

    /// The port by which an interface's frames leave, [`INTO_BRIDGE`], or [`NO_PORT`] if there is
    /// no such interface or it is down.
    #[inline]
    #[must_use]
    pub fn out(&self, interface: u32) -> u16 {
        self.outs.get(interface as usize).copied().unwrap_or(NO_PORT)
    }

    /// An interface; one that is not there has [`Input::Nothing`].
    #[inline]
    #[must_use]
    pub fn row(&self, interface: u32) -> &Row {
        static NOTHING: Row = Row {
            input: Input::Nothing,
            mpls: false,
            transit_only: false,
            urpf: Urpf::Off,
            proxy_arp: false,
            directed_broadcast: false,
            speaks: 0,
            split_horizon: 0,
            tags: 0,
            mac: [0; 6],
            address: 0,
            port: 0,
            mtu: 0,
            vlans: [0; 2],
            vrf: 0,
            bridge: 0,
            hop: 0,
            peer: 0,
        };
        self.rows.get(interface as usize).unwrap_or(&NOTHING)
    }
}

const fn input(mode: &Mode) -> Input {
    match mode {
        Mode::Routed { .. } | Mode::BridgeRouted { .. } => Input::Routed,
        Mode::Bridged { .. } => Input::Bridged,
        Mode::CrossConnect { .. } => Input::CrossConnect,
    }
}

/// A MAC address as a number: the first octet is the lowest.
#[must_use]
pub fn number(mac: Mac) -> u64 {
    let [a, b, c, d, e, f] = mac;
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
}

/// Counters of one worker by interface. One thread writes, others read.
pub struct InterfaceCounters {
    cells: Box<[Cells]>,
}

#[derive(Default)]
#[repr(align(32))]
struct Cells {
    received: [AtomicU64; 2],
    sent: [AtomicU64; 2],
}

/// What a worker has counted of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets that came in.
    pub received: u64,
    /// Their octets, from the Ethernet header.
    pub received_bytes: u64,
    /// Packets that left.
    pub sent: u64,
    /// Their octets.
    pub sent_bytes: u64,
}

impl Default for InterfaceCounters {
    fn default() -> Self {
        let count = crate::program::INTERFACES_MAX as usize;
        Self { cells: (0..count).map(|_| Cells::default()).collect() }
    }
}

impl InterfaceCounters {
    /// Counts what came in. Only the worker calls it.
    #[inline]
    pub fn received(&self, interface: u32, packets: u64, octets: u64) {
        if let Some(cells) = self.cells.get(interface as usize) {
            add(&cells.received, packets, octets);
        }
    }

    /// Counts what leaves. Only the worker calls it.
    #[inline]
    pub fn sent(&self, interface: u32, packets: u64, octets: u64) {
        if let Some(cells) = self.cells.get(interface as usize) {
            add(&cells.sent, packets, octets);
        }
    }

    /// What was counted.
    #[must_use]
    pub fn of(&self, interface: u32) -> Counted {
        let Some(cells) = self.cells.get(interface as usize) else { return Counted::default() };
        Counted {
            received: cells.received[0].load(Relaxed),
            received_bytes: cells.received[1].load(Relaxed),
            sent: cells.sent[0].load(Relaxed),
            sent_bytes: cells.sent[1].load(Relaxed),
        }
    }
}

/// One thread writes: a load and a store, no locked addition.
#[inline]
fn add(cells: &[AtomicU64; 2], packets: u64, octets: u64) {
    cells[0].store(cells[0].load(Relaxed).wrapping_add(packets), Relaxed);
    cells[1].store(cells[1].load(Relaxed).wrapping_add(octets), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(index: u32, outer: Option<u16>, inner: Option<u16>) -> Interface {
        Interface {
            index,
            port: 1,
            outer,
            inner,
            mode: Mode::Routed { vrf: 7 },
            mtu: 0,
            mac: None,
            mpls: false,
            transit_only: false,
            urpf: Urpf::Off,
            proxy_arp: false,
            directed_broadcast: false,
            speaks: Vec::new(),
        }
    }

    #[test]
    fn tags_find_the_interface_whatever_order_they_were_said_in() {
        let port = Port { port: 1, name: "a".into(), mac: [2; 6], mtu: 1_500, up: true };
        let ports = BTreeMap::from([(1, port)]);
        let rows = [
            interface(5, None, None),
            interface(6, Some(10), None),
            interface(7, Some(10), Some(20)),
            interface(8, Some(11), Some(20)),
            interface(9, Some(11), None),
        ];
        let rows = rows.into_iter().map(|row| (row.index, row)).collect();
        let interfaces = Interfaces::of(&ports, &rows, |hop| (hop, 0));
        assert_eq!((interfaces.untagged(1), interfaces.untagged(0)), (5, NONE));
        assert_eq!(interfaces.tagged(1, 10, None), (6, 1));
        assert_eq!(interfaces.tagged(1, 10, Some(20)), (7, 2));
        assert_eq!(interfaces.tagged(1, 10, Some(21)), (NONE, 2));
        assert_eq!(interfaces.tagged(1, 11, None), (9, 1));
        assert_eq!(interfaces.tagged(1, 12, None), (NONE, 1));
        assert_eq!(interfaces.row(7).vrf, 7);
        assert_eq!((interfaces.row(7).tags, interfaces.row(7).mtu), (2, 1_500));
        assert_eq!(interfaces.row(70).input, Input::Nothing);
    }
}
