//! A packet arrives (RFC 2328 §8.2).

use super::{ALL_D_ROUTERS, ALL_SPF_ROUTERS, Instance, Out};
use crate::discard::Discard;
use crate::interface::InterfaceState;
use crate::packet::{Body, Head};
use machine::Time;
use std::net::Ipv4Addr;

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
        self.check(index, ends, &head)?;
        let [source, _] = ends;
        let settings = &self.interfaces.get(&index).ok_or(Discard::Interface)?.settings;
        let verified = settings.authentication.verify(octets, packet);
        let sequence = verified.ok_or(Discard::Authentication)?;
        self.check_sequence(index, source, sequence)?;
        let body = Body::read(head.kind, packet).map_err(|_| Discard::Malformed)?;
        let from = (index, source);
        match body {
            Body::Hello(hello) => self.hear(now, from, head.router, &hello, out)?,
            Body::Description(description) => self.described(now, from, &description, out)?,
            Body::Request(keys) => self.requested(now, from, &keys, out)?,
            Body::Update(lsas) => self.updated(now, from, lsas, out)?,
            Body::Acknowledgment(headers) => self.acknowledged(now, from, &headers)?,
        }
        // Hellos make the neighbour whose number is kept.
        if let Some(it) = self.neighbour_mut(from) {
            it.authenticated = sequence.or(it.authenticated);
        }
        Ok(())
    }

    fn check(&self, index: u32, ends: [Ipv4Addr; 2], head: &Head) -> Result<(), Discard> {
        let interface = self.interfaces.get(&index).ok_or(Discard::Interface)?;
        let settings = &interface.settings;
        let is_chief = interface.state >= InterfaceState::Backup;
        let [source, destination] = ends;
        let is_for_us = match destination {
            ALL_SPF_ROUTERS => true,
            ALL_D_ROUTERS => is_chief,
            other => other == settings.address,
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

    fn check_sequence(
        &self,
        index: u32,
        source: Ipv4Addr,
        sequence: Option<u32>,
    ) -> Result<(), Discard> {
        let neighbour = self.neighbour((index, source));
        let last = neighbour.and_then(|it| it.authenticated);
        match (last, sequence) {
            (Some(last), Some(sequence)) if sequence < last => Err(Discard::Replay),
            _ => Ok(()),
        }
    }
}
