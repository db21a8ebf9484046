//! What both halves of the plane read: the tables that a worker's nodes have views of, what
//! workers tell the writer ([`Heard`]), and what the writer wants done ([`Out`]). The nodes know no
//! writer, and the writer (`plane/control`) knows the nodes.

use crate::addresses::Addresses;
use crate::interfaces::{InterfaceCounters, Interfaces};
use crate::program::{Item, Mac, MacNotice};
use crate::protection::{Admitted, Protection};
use crate::qos::marking::Markings;
use crossbeam_queue::ArrayQueue;
use std::net::IpAddr;
use std::sync::Arc;
use table::epoch::Published;
use table::hop::HopLookups;
use table::vrf::VrfLookups;

/// What a worker may have told the plane and the plane not yet heard, at most.
pub const HEARD_MAX: usize = 1_024;

/// How a neighbour came to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// It says that it answers us.
    Answer {
        /// Whether what it says replaces what is known (RFC 4861 §4.4, Override).
        overrides: bool,
    },
    /// It asks for one of our addresses, or for routers.
    Question,
    /// It speaks of itself.
    Announcement {
        /// Whether what it says replaces what is known (RFC 4861 §4.4, Override).
        overrides: bool,
    },
}

/// What a system shows when it announces an address that it takes from another one: a number that
/// only the two of them know until then.
pub type Token = [u8; 16];

/// What a worker noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A neighbour said where it is.
    Neighbour {
        /// Where it was heard.
        interface: u32,
        /// Its address.
        address: IpAddr,
        /// Its MAC address.
        mac: Mac,
        /// How it came to speak.
        speech: Speech,
        /// What it showed with an announcement.
        token: Option<Token>,
    },
    /// A host asked for routers.
    RouterSolicited {
        /// Where.
        interface: u32,
        /// Its address and MAC address, if it said both.
        source: Option<(IpAddr, Mac)>,
    },
    /// A packet for a neighbour whose MAC address is not known.
    Unresolved {
        /// Where the neighbour is.
        interface: u32,
        /// The neighbour as the hop's line names it; 0: the packet's destination.
        neighbour: u32,
        /// The packet's destination.
        address: IpAddr,
        /// The routing table that led it there.
        vrf: u32,
        /// The packet, from its IP header.
        packet: Box<[u8]>,
    },
}

/// What the plane wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A frame leaves by an interface: push it to node `inject` with `Meta::transmit` set.
    Send {
        /// The interface.
        interface: u32,
        /// The whole frame, with its tags.
        frame: Vec<u8>,
    },
    /// A packet that was held is routed: push it to node `inject` with `Meta::vrf` set.
    Route {
        /// The routing table.
        vrf: u32,
        /// The packet, from its IP header.
        packet: Box<[u8]>,
    },
    /// A packet that was held for a neighbour who does not answer: push it to
    /// [`crate::error_entry`] with what [`crate::unreachable`] notes.
    Unreachable {
        /// Where the neighbour is not.
        interface: u32,
        /// The routing table.
        vrf: u32,
        /// The packet, from its IP header.
        packet: Box<[u8]>,
    },
    /// A MAC address of a bridge domain moved, froze, or was refused: the control process is told.
    Mac(MacNotice),
    /// A feature tells its own part of the control process something, in its own words. The
    /// feature bounds how much it tells.
    Item(Item),
    /// Another system says that an own address is its own, which this one gives up where nobody
    /// controls it ([`crate::feature::Feature::gives_way`]).
    Claimed {
        /// The interface.
        interface: u32,
        /// The address.
        address: IpAddr,
        /// That system's MAC address.
        mac: Mac,
        /// Whether it has shown what the one that takes this one's place shows; `None`: there is
        /// nothing to be shown ([`crate::feature::Feature::heir`]).
        is_proved: Option<bool>,
    },
    /// A neighbour was found, changed or lost (`mac: None`): the control process is told.
    Neighbour {
        /// Where.
        interface: u32,
        /// Its address.
        address: IpAddr,
        /// Its MAC address.
        mac: Option<Mac>,
    },
}

/// What all workers of a plane share; every node that needs some of it has a clone.
#[derive(Clone)]
pub struct Shared {
    /// Ports and interfaces.
    pub interfaces: Arc<Published<Interfaces>>,
    /// Own addresses.
    pub addresses: Arc<Published<Addresses>>,
    /// What the control plane accepts.
    pub protection: Arc<Published<Protection>>,
    /// What all workers have let through of that.
    pub admitted: Arc<Admitted>,
    /// Marks and classes of interfaces.
    pub markings: Arc<Published<Markings>>,
    /// Routes of all tables.
    pub routes: VrfLookups,
    /// Hops.
    pub hops: Arc<HopLookups>,
    /// The node that takes packets of BFD over one hop, if a feature does.
    pub bfd: Option<&'static str>,
    /// Seed of flow hashes.
    pub seed: u32,
    /// Key of the hashes by which sources share buckets.
    pub key: u64,
    /// The worker's own counters of interfaces.
    pub counters: Arc<InterfaceCounters>,
    /// Where the worker tells the plane what it noticed.
    pub heard: Arc<ArrayQueue<Heard>>,
}

impl Shared {
    /// Tells the plane what was noticed; false if its ring has no room, and it is lost. Packets
    /// that ask for neighbours leave room for what neighbours say, and what they say of themselves
    /// for answers.
    pub(crate) fn tell(&self, heard: Heard) -> bool {
        let most = match &heard {
            Heard::Unresolved { .. } => HEARD_MAX / 2,
            Heard::Neighbour { speech: Speech::Answer { .. }, .. } => HEARD_MAX,
            Heard::Neighbour { .. } | Heard::RouterSolicited { .. } => HEARD_MAX / 4 * 3,
        };
        self.heard.len() < most && self.heard.push(heard).is_ok()
    }
}
