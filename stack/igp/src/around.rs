//! What surrounds a router in its function: interfaces, routes of other kinds, its sections.

use crate::config::{BfdKeys, Isis, KeyChains, Ospf, Source};
use isis::Prefix;
use machine::Time;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A protocol that learns routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// OSPF.
    Ospf,
    /// IS-IS.
    Isis,
}

impl Protocol {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ospf, Self::Isis];

    /// Its name, as it stands in rows and notes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ospf => "ospf",
            Self::Isis => "isis",
        }
    }
}

/// An interface of the function's global table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its number in the plane.
    pub index: u32,
    /// Its first IPv4 address, and the length of that one's prefix.
    pub address: Option<(Ipv4Addr, u8)>,
    /// All its addresses with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Its MAC address, once that is known.
    pub mac: Option<[u8; 6]>,
    /// The VLAN tags of its frames, as they stand there.
    pub tags: Vec<u8>,
    /// Octets of the longest packet.
    pub mtu: u16,
    /// Whether packets come and go by it.
    pub is_up: bool,
    /// It costs the most: labels of who is there are not known yet (RFC 5443).
    pub is_dear: bool,
}

impl Link {
    /// Whether a prefix is a subnet of it, while it is up.
    pub(crate) fn connects(&self, prefix: Prefix) -> bool {
        let is_own = |(address, length): &(IpAddr, u8)| Prefix::new(*address, *length) == prefix;
        self.is_up && self.addresses.iter().any(is_own)
    }
}

/// How a link stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkState {
    /// Whether packets come and go by it.
    pub is_up: bool,
    /// Its MAC address, once that is known.
    pub mac: Option<[u8; 6]>,
}

/// A route of the function that others may be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Where to.
    pub prefix: Prefix,
    /// Of which kind it is.
    pub from: Source,
    /// Its preference: it is told by protocols whose own is higher.
    pub distance: u8,
    /// It holds while one of these interfaces is up; none: always.
    pub by: Vec<u32>,
}

/// What surrounds the router in its function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// All interfaces of the global table.
    pub links: Vec<Link>,
    /// Routes that others may be told of.
    pub externals: Vec<External>,
}

/// What a function's section says of routing protocols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sections {
    /// OSPF, and its keys by their files.
    pub ospf: Option<(Arc<Ospf>, KeyChains)>,
    /// IS-IS, and its keys by their files.
    pub isis: Option<(Arc<Isis>, KeyChains)>,
    /// The keys of BFD by their files.
    pub bfd: BfdKeys,
}

impl Sections {
    /// Whether a protocol is spoken.
    #[must_use]
    pub const fn has(&self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Ospf => self.ospf.is_some(),
            Protocol::Isis => self.isis.is_some(),
        }
    }

    /// Who a protocol is, for the next control to know whether the forwarder's routes are its own;
    /// none where neighbours are not to bear a restart.
    #[must_use]
    pub fn note(&self, protocol: Protocol) -> Option<String> {
        match protocol {
            Protocol::Ospf => {
                let ospf = self.ospf.as_ref().map(|(it, _)| it).filter(|it| it.restart_s > 0);
                ospf.map(|it| it.router_id.to_string())
            }
            Protocol::Isis => {
                let isis = self.isis.as_ref().map(|(it, _)| it).filter(|it| it.restart_s > 0);
                isis.map(|it| it.net.clone())
            }
        }
    }

    /// The classes of the packet channel, with their shares of its rings: databases come in bursts.
    #[must_use]
    pub fn classes(&self) -> Vec<(String, u16)> {
        let all = [("ospf", self.ospf.is_some()), ("isis", self.isis.is_some())];
        let spoken = all.into_iter().filter(|(_, is_spoken)| *is_spoken);
        spoken.map(|(name, _)| (name.to_owned(), 256)).collect()
    }
}

/// What a router is made with.
pub struct Start {
    /// The time.
    pub now: Time,
    /// Unpredictable octets.
    pub random: [u8; 32],
    /// The function's name.
    pub function: String,
    /// The forwarder went on by what a control before this one said: neighbours of these are asked
    /// for patience.
    pub restarts: Vec<Protocol>,
}
