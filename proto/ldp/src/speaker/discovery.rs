//! Who is there (RFC 5036 §2.4): hellos come and go.

use super::{ALL_ROUTERS_IPV4, ALL_ROUTERS_IPV6, Interface, Out, Speaker};
use crate::adjacency::{Adjacency, Arrival, Place};
use crate::codec::{Body, CommonHello, HelloBody, LdpId, Pdu, StatusCode, write_pdus};
use crate::discard::Discard;
use crate::session::Session;
use crate::settings::InterfaceSettings;
use machine::{Duration, Time};
use std::net::IpAddr;

/// A hold time that never ends.
const FOREVER: u16 = u16::MAX;
/// Hold times of hellos that say none, seconds.
const LINK_HOLD_S: u16 = 15;
const TARGETED_HOLD_S: u16 = 45;

impl Speaker {
    pub(super) fn interface_up(&mut self, now: Time, settings: InterfaceSettings) {
        let index = settings.index;
        let was = self.interfaces.get(&index).map(|it| it.is_synchronized);
        let is_synchronized = was.unwrap_or(false);
        self.interfaces.insert(index, Interface { settings, hello_at: now, is_synchronized });
        self.tell_addresses();
    }

    pub(super) fn interface_down(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        let Some(it) = self.interfaces.remove(&index) else { return };
        if it.is_synchronized {
            out.push(Out::Synchronized(index, false));
        }
        self.withdraw_addresses(&it.settings.addresses);
        let gone: Vec<Place> = self.adjacencies.on(index).map(|it| *it.0).collect();
        self.lose_adjacencies(now, &gone, out);
    }

    pub(super) fn target_gone(&mut self, now: Time, target: IpAddr, out: &mut Vec<Out>) {
        if self.targets.remove(&target).is_some() {
            self.lose_adjacencies(now, &[Place::Targeted(target)], out);
        }
    }

    /// Adjacencies that were silent for too long.
    pub(super) fn end_adjacencies(&mut self, now: Time, out: &mut Vec<Out>) {
        let silent = self.adjacencies.iter().filter(|(_, it)| it.ends <= now);
        let silent: Vec<Place> = silent.map(|(place, _)| *place).collect();
        self.lose_adjacencies(now, &silent, out);
    }

    fn lose_adjacencies(&mut self, now: Time, places: &[Place], out: &mut Vec<Out>) {
        for place in places {
            let Some(it) = self.adjacencies.remove(place) else { continue };
            self.look_at_gateways(it.peer);
            // With its last adjacency a session ends (§2.5.5).
            if self.adjacencies.of_peer(it.peer).next().is_none() {
                self.end_session(now, it.peer, Some(StatusCode::HoldExpired), out);
            }
        }
    }

    /// A peer is heard where it was not, or not any more: its labels count there, or do not.
    fn look_at_gateways(&mut self, peer: LdpId) {
        let of = self.sessions.get(&peer).into_iter().flat_map(|it| &it.addresses);
        self.bindings.changed.extend(of.copied());
    }

    /// A datagram came.
    pub(super) fn datagram(
        &mut self,
        now: Time,
        from: &Arrival,
        octets: &[u8],
    ) -> Result<(), Discard> {
        let pdu = Pdu::read(octets).map_err(|_| Discard::Malformed)?;
        let message = pdu.messages.first().ok_or(Discard::Malformed)?;
        let body = Body::read(message).map_err(|_| Discard::Malformed)?;
        let Some(Body::Hello(hello)) = body else { return Err(Discard::Malformed) };
        let is_other = pdu.sender.router != self.settings.router && pdu.sender.space == 0;
        if !is_other || pdu.sender.router.is_unspecified() {
            return Err(Discard::Identifier);
        }
        let place = self.place(from, &hello)?;
        let transport = transport(from.source, &hello).ok_or(Discard::Transport)?;
        let peer = pdu.sender;
        self.check_claims(place, peer, transport)?;
        let limits = self.settings.limits;
        let was = self.adjacencies.of(&place);
        let of_link = || self.adjacencies.on(from.interface).count();
        let has_room = || {
            self.adjacencies.len() < limits.adjacencies && of_link() < limits.adjacencies_of_link
        };
        if was.is_none() && !has_room() {
            return Err(Discard::Adjacencies);
        }
        let says_gtsm = hello.common.has_gtsm && self.settings.has_gtsm;
        // The first hello of a place says it for all: none that is forged puts its neighbour's own
        // ones, with a hop limit of 1, out of the way, nor lets others in.
        let first = says_gtsm && !hello.common.is_targeted;
        let has_gtsm = was.map_or(first, |it| it.has_gtsm);
        // What a hello said before holds as long as it said: another one makes it longer alone.
        let ends = self.holds(now, &hello.common).max(was.map_or(now, |it| it.ends));
        let is_new = was.is_none();
        self.adjacencies.insert(place, Adjacency::new(peer, transport, ends, has_gtsm));
        if is_new {
            self.look_at_gateways(peer);
        }
        let known = self.sessions.entry(peer);
        let session = known.or_insert_with(|| Session::new(peer, transport));
        if session.connection.is_none() && (transport.is_ipv6() || session.transport.is_ipv4()) {
            // Where both families are there, IPv6 is preferred (RFC 7552 §6.1.1).
            session.transport = transport;
        }
        Ok(())
    }

    /// Hellos have no proof, so that the first one counts while it stands: a place has one peer, a
    /// peer's sessions end at one address of a family, and one peer's there.
    fn check_claims(&self, place: Place, peer: LdpId, transport: IpAddr) -> Result<(), Discard> {
        if self.adjacencies.of(&place).is_some_and(|it| it.peer != peer) {
            return Err(Discard::Identifier);
        }
        let is_other = |it: &IpAddr| it.is_ipv4() == transport.is_ipv4() && *it != transport;
        let mut own = self.adjacencies.of_peer(peer).map(|it| it.transport);
        let mut there = self.adjacencies.at(transport);
        if own.any(|it| is_other(&it)) || there.any(|it| it.peer != peer) {
            return Err(Discard::Transport);
        }
        Ok(())
    }

    /// Where a hello makes an adjacency.
    fn place(&self, from: &Arrival, hello: &HelloBody) -> Result<Place, Discard> {
        if hello.common.is_targeted {
            let is_target = self.targets.contains_key(&from.source) && !from.is_multicast;
            return is_target.then_some(Place::Targeted(from.source)).ok_or(Discard::Target);
        }
        let interface = self.interfaces.get(&from.interface).ok_or(Discard::Interface)?;
        let settings = &interface.settings;
        let carries = if from.source.is_ipv4() { settings.is_ipv4 } else { settings.is_ipv6 };
        if !carries || !from.is_multicast {
            return Err(Discard::Interface);
        }
        let place = Place::Link(from.interface, from.source);
        // IPv6 always has it (RFC 7552 §9), and who had it is held to it: a packet cannot say that
        // it is not to be looked at.
        let says_gtsm = hello.common.has_gtsm && self.settings.has_gtsm;
        let has_gtsm = self.adjacencies.of(&place).map_or(says_gtsm, |it| it.has_gtsm);
        if (has_gtsm || from.source.is_ipv6()) && from.hop_limit != 255 {
            return Err(Discard::HopLimit);
        }
        Ok(place)
    }

    /// Until when a hello holds: the shorter of both times (§3.5.2).
    fn holds(&self, now: Time, common: &CommonHello) -> Time {
        let (own, otherwise) = if common.is_targeted {
            (self.settings.targeted_hold_s, TARGETED_HOLD_S)
        } else {
            (self.settings.hold_s, LINK_HOLD_S)
        };
        let theirs = if common.hold_s == 0 { otherwise } else { common.hold_s };
        let hold_s = theirs.min(own);
        if hold_s == FOREVER { Time::MAX } else { now + Duration::from_secs(hold_s.into()) }
    }

    /// Hellos that are due leave.
    pub(super) fn send_hellos(&mut self, now: Time, out: &mut Vec<Out>) {
        let every = Duration::from_secs(self.settings.hold_s.into()) / 3;
        let due = self.interfaces.values_mut().filter(|it| it.hello_at <= now);
        let due = due.map(|it| {
            it.hello_at = now + every;
            (it.settings.index, it.settings.is_ipv4, it.settings.is_ipv6)
        });
        for (index, is_ipv4, is_ipv6) in due.collect::<Vec<_>>() {
            let groups = [
                (is_ipv4 && self.settings.ipv4.is_some(), IpAddr::V4(ALL_ROUTERS_IPV4)),
                (is_ipv6 && self.settings.ipv6.is_some(), IpAddr::V6(ALL_ROUTERS_IPV6)),
            ];
            for (_, group) in groups.into_iter().filter(|it| it.0) {
                self.send_hello(Some(index), group, out);
            }
        }
        let every = Duration::from_secs(self.settings.targeted_hold_s.into()) / 3;
        let due = self.targets.iter_mut().filter(|(_, at)| **at <= now);
        let due = due.map(|(target, at)| {
            *at = now + every;
            *target
        });
        for target in due.collect::<Vec<_>>() {
            self.send_hello(None, target, out);
        }
    }

    fn send_hello(&mut self, interface: Option<u32>, to: IpAddr, out: &mut Vec<Out>) {
        let settings = &self.settings;
        let is_targeted = interface.is_none();
        let has_gtsm = settings.has_gtsm && !is_targeted;
        let common = CommonHello {
            hold_s: if is_targeted { settings.targeted_hold_s } else { settings.hold_s },
            is_targeted,
            wants_targeted: is_targeted,
            // It is a bit of IPv4: IPv6 always has it.
            has_gtsm: has_gtsm && to.is_ipv4(),
        };
        let is_dual = settings.ipv4.is_some() && settings.ipv6.is_some();
        let hello = HelloBody {
            common,
            ipv4: settings.ipv4.filter(|_| to.is_ipv4()),
            ipv6: settings.ipv6.filter(|_| to.is_ipv6()),
            dual_stack: is_dual.then_some(6),
            configuration: None,
        };
        self.next_hello = self.next_hello.wrapping_add(1).max(1);
        let message = Body::Hello(hello).write(self.next_hello);
        let octets = write_pdus(self.own(), &[message], crate::codec::PDU_OCTETS_MAX);
        let hop_limit = match (is_targeted, has_gtsm || to.is_ipv6()) {
            (true, _) | (_, true) => 255,
            _ => 1,
        };
        out.push(Out::Datagram { interface, destination: to, hop_limit, octets });
    }

    /// Whether a peer is heard, and its sessions end at that address.
    pub(super) fn is_heard(&self, peer: LdpId, transport: IpAddr) -> bool {
        self.adjacencies.of_peer(peer).any(|it| it.transport == transport)
    }
}

/// Where the sender's sessions end: what it says, else where it sends from (§2.5.2).
fn transport(source: IpAddr, hello: &HelloBody) -> Option<IpAddr> {
    let said =
        if source.is_ipv4() { hello.ipv4.map(IpAddr::V4) } else { hello.ipv6.map(IpAddr::V6) };
    let is_usable = |it: &IpAddr| match it {
        IpAddr::V4(it) => !it.is_unspecified() && !it.is_multicast(),
        // A link-local address ends at the link (RFC 7552 §6.1).
        IpAddr::V6(it) => !it.is_unspecified() && !it.is_multicast() && !it.is_unicast_link_local(),
    };
    Some(said.unwrap_or(source)).filter(is_usable)
}
