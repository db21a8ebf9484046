//! What a protocol wants of the router that it is a part of, in order: packets that leave,
//! neighbours that are watched by BFD, and what repairs have to know.

use crate::config::Bfd;
use crate::route::Event;
use crate::watch::Id;
use runtime::PacketTo;
use std::net::Ipv4Addr;

/// The global table.
pub(crate) const GLOBAL: u32 = 0;

/// What is wanted.
#[derive(Default)]
pub(crate) struct Wishes {
    pub(crate) packets: Vec<(PacketTo, Vec<u8>)>,
    pub(crate) watches: Vec<Watched>,
    pub(crate) events: Vec<Event>,
}

/// A neighbour that shall be watched from an address with these times, or no more.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub(crate) id: Id,
    pub(crate) local: Option<Ipv4Addr>,
    pub(crate) times: Option<Bfd>,
}

impl Wishes {
    pub(crate) fn packet(&mut self, to: PacketTo, octets: Vec<u8>) {
        self.packets.push((to, octets));
    }

    pub(crate) fn watch(&mut self, id: Id, local: Option<Ipv4Addr>, times: Option<Bfd>) {
        self.watches.push(Watched { id, local, times });
    }
}
