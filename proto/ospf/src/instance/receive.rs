//! A packet arrives (RFC 2328 §8.2).

use super::{ALL_D_ROUTERS, ALL_SPF_ROUTERS, Instance, NeighbourId, Out};
use crate::discard::Discard;
use crate::doubt::{Doubt, Doubted};
use crate::interface::InterfaceState;
use crate::packet::{Body, Head, Means, PacketType, Proof};
use machine::Time;
use std::net::Ipv4Addr;

/// A packet whose header could be read.
struct Arrived<'a> {
    head: Head,
    /// As long as the header says.
    packet: &'a [u8],
    /// With what comes behind it.
    octets: &'a [u8],
}

impl Instance {
    /// A packet from one end to the other.
    pub(super) fn receive(
        &mut self,
        now: Time,
        index: u32,
        ends: [Ipv4Addr; 2],
        octets: &[u8],
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let (head, packet) = Head::read(octets).map_err(|_| Discard::Malformed)?;
        let arrived = Arrived { head, packet, octets };
        let done = self.believe(now, index, ends, &arrived, out);
        if arrived.head.kind == PacketType::Hello {
            self.note_hello((index, ends[0]), &arrived, now, done.err());
        }
        done
    }

    fn believe(
        &mut self,
        now: Time,
        index: u32,
        ends: [Ipv4Addr; 2],
        arrived: &Arrived<'_>,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let Arrived { head, packet, octets } = arrived;
        self.check(index, ends, head)?;
        let [source, _] = ends;
        let settings = &self.interfaces.get(&index).ok_or(Discard::Interface)?.settings;
        let verified = settings.authentication.verify(octets, packet);
        if let Some(proof) = verified.ok_or(Discard::Authentication)? {
            self.check_proof((index, source), head.router, proof)?;
        }
        let body = Body::read(head.kind, packet).map_err(|_| Discard::Malformed)?;
        let from = (index, source);
        match body {
            Body::Hello(hello) => self.hear(now, from, head.router, &hello, out)?,
            Body::Description(description) => self.described(now, from, &description, out)?,
            Body::Request(keys) => self.requested(now, from, &keys, out)?,
            Body::Update(lsas) => self.updated(now, from, lsas, out)?,
            Body::Acknowledgment(headers) => self.acknowledged(now, from, &headers)?,
        }
        Ok(())
    }

    /// Keeps of a hello what it was not believed for, or what is odd of one that was.
    fn note_hello(
        &mut self,
        from: NeighbourId,
        arrived: &Arrived<'_>,
        at: Time,
        discarded: Option<Discard>,
    ) {
        let (Arrived { head, packet, .. }, (index, source)) = (arrived, from);
        let Some(interface) = self.interfaces.get(&index) else { return };
        let settings = &interface.settings;
        let Ok(Body::Hello(hello)) = Body::read(head.kind, packet) else { return };
        let why = match discarded {
            Some(Discard::Interface) => return,
            Some(Discard::Area) => Some(Doubt::Area(head.area, settings.area)),
            Some(Discard::Authentication) => {
                let there = Means::of(packet);
                Some(Doubt::Authentication(there, settings.authentication.means(there)))
            }
            Some(Discard::Options) => Some(Doubt::Kind(hello.options, self.options(settings.area))),
            Some(why) => Some(Doubt::of_hello(&hello, settings, why)),
            None => interface.misunderstood(source, &hello),
        };
        if let Some(why) = why {
            return self.doubt(from, head.router, at, why);
        }
        // What a description says, hellos do not take back.
        let is_over = |it: &mut Doubted| it.source == source && !matches!(it.why, Doubt::Mtu(..));
        if let Some(interface) = self.interfaces.get_mut(&index) {
            interface.doubted.take_if(is_over);
        }
    }

    /// Keeps the last thing that cannot be; the one before goes.
    fn doubt(&mut self, from: NeighbourId, router: u32, at: Time, why: Doubt) {
        if let Some(interface) = self.interfaces.get_mut(&from.0) {
            interface.doubted = Some(Doubted { source: from.1, router, at, why });
        }
    }

    /// Keeps that a neighbour's MTU is another one, or is not any more.
    pub(super) fn doubt_mtu(&mut self, now: Time, from: NeighbourId, why: Option<Doubt>) {
        let Some(router) = self.neighbour(from).map(|it| it.router) else { return };
        if let Some(why) = why {
            return self.doubt(from, router, now, why);
        }
        let Some(interface) = self.interfaces.get_mut(&from.0) else { return };
        let is_that = |it: &mut Doubted| it.source == from.1 && matches!(it.why, Doubt::Mtu(..));
        interface.doubted.take_if(is_that);
    }

    /// What came last by an interface and was not believed, or is odd.
    #[must_use]
    pub fn doubted(&self, interface: u32) -> Option<Doubted> {
        self.interfaces.get(&interface)?.doubted
    }

    fn check(&self, index: u32, ends: [Ipv4Addr; 2], head: &Head) -> Result<(), Discard> {
        let interface = self.interfaces.get(&index).ok_or(Discard::Interface)?;
        let settings = &interface.settings;
        let is_chief = interface.state >= InterfaceState::Backup;
        let [source, destination] = ends;
        let is_for_us = match destination {
            ALL_SPF_ROUTERS => true,
            ALL_D_ROUTERS => is_chief,
            // Who is far away can write our address, and no group of the link: hellos, by which
            // neighbours are made, go to the group (§9.5). Much else that should on links of two
            // (§8.1) is sent to the neighbour alone: descriptions and requests by BIRD, direct
            // acknowledgments by FRR.
            other => other == settings.address && head.kind != PacketType::Hello,
        };
        let is_near = !interface.is_broadcast() || settings.prefix().has(source.into());
        match () {
            () if interface.state == InterfaceState::Down || settings.is_passive => {
                Err(Discard::Interface)
            }
            () if head.router == self.settings.router => Err(Discard::OwnRouterId),
            () if head.area != settings.area => Err(Discard::Area),
            () if !is_near || source == settings.address => Err(Discard::Source),
            () if !is_for_us => Err(Discard::Destination),
            () => Ok(()),
        }
    }

    /// A digest is right: whether it says something new, and of who is there.
    fn check_proof(&mut self, from: NeighbourId, router: u32, proof: Proof) -> Result<(), Discard> {
        let (index, source) = from;
        let interface = self.interfaces.get_mut(&index).ok_or(Discard::Interface)?;
        // The number first: whoever stands elsewhere by an old hello dies, since the router's own
        // packets make that a lower one.
        interface.numbers.take(router, proof)?;
        if interface.is_elsewhere(router, source) {
            interface.numbers.is_elsewhere(router);
            return Err(Discard::Elsewhere);
        }
        Ok(())
    }
}
