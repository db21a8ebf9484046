//! What the plane is told: the only way its state changes. Numbers (interfaces, hops, filters,
//! bridges, policers) are chosen by the control process. A program that names a number again
//! replaces what it meant; [`Program::Remove`] takes it away.
//!
//! A control process that comes back says [`Program::Begin`], says all that it wants, and
//! [`Program::End`]: what it did not say again is removed, and forwarding never stops.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod advertisement;
mod handed;
pub mod ipc;
mod notice;
mod service;

pub use advertisement::{AdvertisedPrefix, Advertisement, Preference};
pub use handed::{CLASSES_FROM, PacketClass, hand_up};
pub use notice::{MacChange, MacLimit, MacNotice};
pub use service::AS_IT_IS;
pub use service::{
    Bridge, BridgeMember, Collector, Drops, Filter, FilterUse, LabelAction, Marking, Match, Meter,
    Policer, PolicerUse, Pseudowire, Push, Queue, Rule, Sampling, Scheduler, StaticMac, Tunnel,
    Verdict, Wred,
};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A MAC address as it stands on the wire.
pub type Mac = [u8; 6];

/// Hops that a control process numbers are below; the plane has its own above.
pub const HOPS_MAX: u32 = 1 << 20;
/// Interfaces are numbered from 1 to below this.
#[allow(clippy::cast_possible_truncation, reason = "asserted below")]
pub const INTERFACES_MAX: u32 = graph::INTERFACES_MAX as u32;
const _: () = assert!(INTERFACES_MAX as usize == graph::INTERFACES_MAX);
/// The port of an interface that has none ([`Mode::BridgeRouted`]).
pub const NO_PORT: u16 = u16::MAX;
/// Labels pushed at once at most.
pub const LABELS_MAX: usize = 4;
/// Members of a group of hops at most.
pub const MEMBERS_MAX: usize = 256;

/// One thing the plane is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Program {
    /// Everything is said again from here on.
    Begin {
        /// Which time; told back by the plane.
        generation: u64,
    },
    /// Everything was said: what was not said since `Begin` is removed.
    End {
        /// As in `Begin`.
        generation: u64,
    },
    /// A port.
    Port(Port),
    /// An interface.
    Interface(Interface),
    /// An address of an interface.
    Address(Address),
    /// A neighbour that is known without asking.
    Neighbour(Neighbour),
    /// A routing table; table 0 is always there.
    Vrf {
        /// Its number.
        vrf: u32,
    },
    /// A hop.
    Hop {
        /// Its number, 1 to [`HOPS_MAX`].
        id: u32,
        /// What it is.
        hop: Hop,
    },
    /// IPv4 routes: prefix, its length, hop (0: there is no such route any more).
    Routes4 {
        /// The routing table.
        vrf: u32,
        /// Any number of them.
        routes: Vec<(Ipv4Addr, u8, u32)>,
    },
    /// IPv6 routes.
    Routes6 {
        /// The routing table.
        vrf: u32,
        /// Any number of them.
        routes: Vec<(Ipv6Addr, u8, u32)>,
    },
    /// What becomes of packets with a label.
    Label {
        /// The label, 0 to 1,048,575.
        label: u32,
        /// What becomes of them.
        action: LabelAction,
    },
    /// A bridge domain.
    Bridge(Bridge),
    /// A pseudowire of a bridge domain.
    Pseudowire(Pseudowire),
    /// A configured MAC address of a bridge domain.
    StaticMac(StaticMac),
    /// A filter.
    Filter(Filter),
    /// Which filter packets of an interface pass.
    FilterUse(FilterUse),
    /// A policer.
    Policer(Policer),
    /// Which policer packets of an interface pass.
    PolicerUse(PolicerUse),
    /// How marks and classes go together at an interface.
    Marking(Marking),
    /// The queues of a port.
    Scheduler(Scheduler),
    /// Samples of an interface's packets.
    Sampling(Sampling),
    /// Who is told of samples.
    Collector(Collector),
    /// Router advertisements of an interface.
    Advertisement(Advertisement),
    /// The features of an interface on an arc: these and no others.
    Features {
        /// The arc, e.g. `ip4-in`.
        arc: String,
        /// The interface.
        interface: u32,
        /// Nodes of that arc.
        features: Vec<String>,
    },
    /// What the control plane accepts: all rows at once.
    Protection {
        /// The rows.
        rows: Vec<ProtectionRow>,
    },
    /// Something is taken away.
    Remove(Removed),
    /// Something of a feature, in its own words.
    Item(Item),
}

impl Program {
    /// The name of what is said, under which it is taken away. `None` where it has none, or the
    /// program alone does not tell it: routes have one each, of a filter's use the filter's family
    /// is a part.
    #[must_use]
    pub fn name(&self) -> Option<Removed> {
        Some(match self {
            Self::Port(port) => Removed::Port(port.port),
            Self::Interface(interface) => Removed::Interface(interface.index),
            Self::Address(said) => Removed::Address(said.interface, said.address, said.length),
            Self::Neighbour(said) => Removed::Neighbour(said.interface, said.address),
            Self::Vrf { vrf } => Removed::Vrf(*vrf),
            Self::Hop { id, .. } => Removed::Hop(*id),
            Self::Label { label, .. } => Removed::Label(*label),
            Self::Bridge(bridge) => Removed::Bridge(bridge.bridge),
            Self::Pseudowire(pseudowire) => Removed::Pseudowire(pseudowire.pseudowire),
            Self::Filter(filter) => Removed::Filter(filter.filter),
            Self::Policer(policer) => Removed::Policer(policer.policer),
            Self::PolicerUse(said) => {
                Removed::PolicerUse(said.interface, said.direction, said.class)
            }
            Self::Marking(marking) => Removed::Marking(marking.interface),
            Self::StaticMac(said) => Removed::StaticMac(said.bridge, said.mac),
            Self::Scheduler(scheduler) => Removed::Scheduler(scheduler.port),
            Self::Sampling(sampling) => Removed::Sampling(sampling.interface),
            Self::Advertisement(said) => Removed::Advertisement(said.interface),
            Self::Collector(_) => Removed::Collector,
            Self::Features { arc, interface, .. } => Removed::Features(arc.clone(), *interface),
            Self::Protection { .. } => Removed::Protection,
            Self::Item(item) => Removed::Item(item.feature.clone(), item.key.clone()),
            Self::Begin { .. }
            | Self::End { .. }
            | Self::Routes4 { .. }
            | Self::Routes6 { .. }
            | Self::FilterUse(_)
            | Self::Remove(_) => return None,
        })
    }
}

/// Something of a feature that has no words of its own here: the feature's crate says what its
/// octets mean. They may be keys: `Debug` shows how many they are.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The feature's name.
    pub feature: String,
    /// The name of the thing within the feature.
    pub key: Vec<u8>,
    /// What it is.
    pub value: Vec<u8>,
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("feature", &self.feature)
            .field("key_octets", &self.key.len())
            .field("value_octets", &self.value.len())
            .finish()
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Its number, below `graph::PORTS_MAX`.
    pub port: u16,
    /// Its name, e.g. `eth0`.
    pub name: String,
    /// Its MAC address.
    pub mac: Mac,
    /// Octets of the longest packet without the link-layer header.
    pub mtu: u16,
    /// Whether it has a carrier and is wanted.
    pub up: bool,
}

/// What becomes of packets of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// They are routed.
    Routed {
        /// In this table.
        vrf: u32,
    },
    /// They are bridged.
    Bridged {
        /// In this domain.
        bridge: u32,
        /// Members of one group (not 0) do not talk to each other.
        split_horizon: u8,
        /// MAC addresses behind it at most; 0: as many as the domain has.
        #[serde(default)]
        macs_max: u32,
    },
    /// It is the routed side of a bridge domain (integrated routing and bridging): a member of the
    /// domain, without a port, to which frames for its MAC address go.
    BridgeRouted {
        /// The domain; each has one such interface at most.
        bridge: u32,
        /// The routing table.
        vrf: u32,
    },
    /// They all go one way (VPWS).
    CrossConnect {
        /// This one.
        hop: u32,
    },
}

/// Whether a packet's source must be reachable (RFC 3704).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Urpf {
    /// Need not.
    #[default]
    Off,
    /// By any interface.
    Loose,
    /// By the interface it came by.
    Strict,
}

/// A (sub-)interface of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its number, 1 to `INTERFACES_MAX`.
    pub index: u32,
    /// Its port; [`NO_PORT`] of the routed side of a bridge.
    pub port: u16,
    /// The outer VLAN; `None`: packets without a tag.
    pub outer: Option<u16>,
    /// The inner VLAN of a pair.
    #[serde(default)]
    pub inner: Option<u16>,
    /// What becomes of packets that come in.
    pub mode: Mode,
    /// Octets of the longest IP packet that leaves; 0: the port's (1,500 without one).
    #[serde(default)]
    pub mtu: u16,
    /// Its MAC address; `None`: the port's.
    #[serde(default)]
    pub mac: Option<Mac>,
    /// Whether it takes packets with labels.
    #[serde(default)]
    pub mpls: bool,
    /// Whether those labels alone are taken that are swapped or come off with nothing below: none
    /// of a routing table, of a bridge or of another interface.
    #[serde(default)]
    pub transit_only: bool,
    /// Whether sources are checked.
    #[serde(default)]
    pub urpf: Urpf,
    /// Whether it answers for others' addresses (RFC 1027).
    #[serde(default)]
    pub proxy_arp: bool,
    /// Whether broadcasts to its subnets are sent on (RFC 2644).
    #[serde(default)]
    pub directed_broadcast: bool,
    /// Protocols of its link that are spoken there: those of [`Class::OF_LINKS`] go up from nowhere
    /// else, and take nothing of their class.
    #[serde(default)]
    pub speaks: Vec<Class>,
}

/// An address of an interface: packets to it are for this system, and its subnet is reachable
/// there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The interface.
    pub interface: u32,
    /// The address.
    pub address: IpAddr,
    /// Length of the subnet's prefix.
    pub length: u8,
}

/// A neighbour's MAC address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// Where it is.
    pub interface: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: Mac,
}

/// Why packets end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Discard {
    /// Silently.
    Blackhole,
    /// The sender hears that there is no way (ICMP host unreachable, no route).
    Unreachable,
    /// The sender hears that it may not (ICMP administratively prohibited).
    Prohibited,
}

/// Where packets go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hop {
    /// Nowhere.
    Drop {
        /// How.
        reason: Discard,
    },
    /// Here.
    Local,
    /// To a neighbour.
    Via {
        /// By this interface.
        interface: u32,
        /// To this neighbour; `None`: to the packet's own destination.
        gateway: Option<IpAddr>,
        /// Labels to push, the first is the outermost.
        #[serde(default)]
        labels: Vec<u32>,
    },
    /// One of several, by flow.
    Group {
        /// Hops and their weights.
        members: Vec<(u32, u32)>,
        /// A flow stays where it is while its member is there.
        #[serde(default)]
        resilient: bool,
    },
    /// Over another hop, behind labels: a tunnel, a VPN's route, a pseudowire.
    Push(Push),
    /// The first of two that works.
    Backup {
        /// As long as it works.
        primary: u32,
        /// Else.
        backup: u32,
    },
    /// Looked up again in another table.
    Vrf {
        /// That one.
        vrf: u32,
    },
    /// Into a bridge domain.
    Bridge {
        /// That one.
        bridge: u32,
    },
    /// Out of an interface as it is, with its VLAN tags (a cross-connect's end).
    Interface {
        /// That one.
        interface: u32,
    },
}

/// What a packet for this system is, to the control plane's protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Class {
    /// ARP and neighbour discovery.
    Neighbours,
    /// ICMP and ICMPv6, echoes among them.
    Icmp,
    /// BGP (TCP 179).
    Bgp,
    /// OSPF (protocol 89).
    Ospf,
    /// IS-IS (LLC, no IP).
    Isis,
    /// LDP (TCP and UDP 646).
    Ldp,
    /// BFD (UDP 3784, 3785, 4784).
    Bfd,
    /// Management (TCP 22, 830, UDP 161).
    Management,
    /// Packets that the plane hands up because it cannot do them: options, hop limits.
    Exceptions,
    /// Samples.
    Samples,
    /// All else.
    Other,
}

impl Class {
    /// Those that an interface has to speak.
    pub const OF_LINKS: [Self; 4] = [Self::Ospf, Self::Isis, Self::Ldp, Self::Bfd];

    /// All of them by their names, in their order.
    pub const ALL: [(&'static str, Self); 11] = [
        ("neighbours", Self::Neighbours),
        ("icmp", Self::Icmp),
        ("bgp", Self::Bgp),
        ("ospf", Self::Ospf),
        ("isis", Self::Isis),
        ("ldp", Self::Ldp),
        ("bfd", Self::Bfd),
        ("management", Self::Management),
        ("exceptions", Self::Exceptions),
        ("samples", Self::Samples),
        ("other", Self::Other),
    ];
}

/// What the control plane accepts of a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectionRow {
    /// The class.
    pub class: Class,
    /// Packets a second in all, of all workers together.
    pub rate_pps: u32,
    /// Packets at once in all, of all workers together.
    pub burst: u32,
    /// Packets a second of one source; 0: as many as in all.
    #[serde(default)]
    pub source_pps: u32,
}

/// The direction of packets at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    /// They come in.
    In,
    /// They leave.
    Out,
}

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Family {
    /// IPv4.
    Ip4,
    /// IPv6.
    Ip6,
    /// Frames that are not routed.
    Ethernet,
}

/// What is taken away; also the name under which a thing was said (mark and sweep).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Removed {
    /// A port, with nothing on it any more.
    Port(u16),
    /// An interface, its addresses and neighbours.
    Interface(u32),
    /// An address of an interface.
    Address(u32, IpAddr, u8),
    /// A static neighbour.
    Neighbour(u32, IpAddr),
    /// A routing table and its routes.
    Vrf(u32),
    /// A hop.
    Hop(u32),
    /// A route; those of many are better removed by `Routes4` with hop 0.
    Route4(u32, Ipv4Addr, u8),
    /// As [`Removed::Route4`].
    Route6(u32, Ipv6Addr, u8),
    /// A label.
    Label(u32),
    /// A bridge domain.
    Bridge(u32),
    /// A pseudowire.
    Pseudowire(u32),
    /// A configured MAC address of a bridge domain.
    StaticMac(u32, Mac),
    /// A filter.
    Filter(u32),
    /// The use of a filter.
    FilterUse(u32, Direction, Family),
    /// A policer.
    Policer(u32),
    /// The use of a policer, of one class or of all.
    PolicerUse(u32, Direction, Option<u8>),
    /// The maps of an interface.
    Marking(u32),
    /// The queues of a port.
    Scheduler(u16),
    /// Sampling on an interface.
    Sampling(u32),
    /// The collector: samples are handed up.
    Collector,
    /// Router advertisements of an interface.
    Advertisement(u32),
    /// The features of an interface on an arc.
    Features(String, u32),
    /// All protection rows: the defaults hold.
    Protection,
    /// Something of a feature: the feature's name, and its name there.
    Item(String, Vec<u8>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_of_a_feature_show_in_no_debug_output() {
        let item = Item { feature: "media".to_owned(), key: vec![17; 3], value: vec![201; 30] };
        let shown = format!("{:?}", Program::Item(item));
        assert_eq!(shown, "Item(Item { feature: \"media\", key_octets: 3, value_octets: 30 })");
    }
}
