//! SSNM: what is known of destinations, on both sides (RFC 4666 §3.4, §4.5).
//!
//! An ASP keeps a table for each Signalling Gateway. Its user is told MTP-PAUSE when no gateway
//! has a way any more, and MTP-RESUME when one has again, for just those parts of a range for
//! which that is so.

use super::complaint::Complaint;
use super::{MemberState, Network, Process};
use crate::codec::{
    Affected, ErrorCode, Message, MessageType, PointCode, RoutingContext, Tag, UserCause,
};
use crate::effects::{Cause, Indication};
use crate::id::{PeerId, ServerId};
use crate::metrics::Metric;
use crate::ranges::Ranges;
use crate::settings::{Role, Side};
use std::collections::BTreeSet;

/// Highest congestion level (RFC 4666 §3.4.4).
pub(super) const CONGESTION_LEVEL_MAX: u8 = 3;

/// Destinations of [`Gateway::parts`] at most.
const PARTS_MAX: usize = 256;

/// Whether a destination can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Availability {
    /// It can.
    Available,
    /// It can, but another way is better (DRST).
    Restricted,
    /// It cannot.
    Unavailable,
}

/// Which traffic a message is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Concerns<'a> {
    pub(super) network: Network,
    pub(super) contexts: &'a [RoutingContext],
}

/// A range, how it can be reached where that was told, and its level of congestion.
type Odd = (Affected, Option<Availability>, u8);

/// The ranges of a message: those that lie in others left out, and two halves of one as that one.
/// Each costs a walk over what is known and a look at what is served there.
fn joined(message: &Message<'_>) -> Vec<Affected> {
    let mut all: Vec<Affected> = message.affected().map(Affected::canonical).collect();
    if all.len() < 2 {
        return all;
    }
    let mut joined: Vec<Affected> = Vec::new();
    all.sort_unstable_by_key(|it| (it.point_code, core::cmp::Reverse(it.mask)));
    for range in all {
        if joined.last().is_some_and(|last| last.bounds().1 >= range.bounds().1) {
            continue;
        }
        joined.push(range);
        while let [.., before, last] = joined[..] {
            let both = Affected { mask: before.mask.saturating_add(1), ..before };
            let is_whole = before.mask == last.mask
                && both.canonical().point_code == before.point_code
                && both.bounds().1 == last.bounds().1;
            if !is_whole {
                break;
            }
            joined.truncate(joined.len() - 2);
            joined.push(both);
        }
    }
    joined
}

/// What is shown: what is odd, and what is well within a range that is not.
pub(super) fn shown<'a>(
    availability: &'a Ranges<Option<Availability>>,
    congestion: &'a Ranges<u8>,
) -> impl Iterator<Item = Odd> + 'a {
    let is_amiss = |it: Option<Availability>| it.is_some_and(|it| it != Availability::Available);
    let told = availability.all().map(|(range, told)| (range, told, congestion.value_of(range)));
    let shown = told.filter(move |(range, told, level)| {
        is_amiss(*told) || *level > 0 || is_amiss(availability.around(*range))
    });
    let others = congestion.odd().filter(|(range, _)| availability.value_of(*range).is_none());
    shown.chain(others.map(|(range, level)| (range, None, level)))
}

/// The SS7 network behind this process as an SGP.
#[derive(Debug)]
pub(super) struct Ss7Network {
    /// `None`: nothing was told.
    pub(super) availability: Ranges<Option<Availability>>,
    pub(super) congestion: Ranges<u8>,
    /// Its MTP3 restarts: nothing can be reached.
    pub(super) is_restarting: bool,
}

impl Ss7Network {
    pub(super) const fn new() -> Self {
        Self { availability: Ranges::new(), congestion: Ranges::new(), is_restarting: false }
    }
}

/// A Signalling Gateway as an ASP sees it.
#[derive(Debug)]
pub(super) struct Gateway {
    /// This process is active at one of its SGPs.
    pub(super) is_usable: bool,
    /// `None`: nothing was told, so it is available.
    pub(super) availability: Ranges<Option<Availability>>,
    pub(super) congestion: Ranges<u8>,
    /// Where a user part was told to be unavailable since the last audit.
    pub(super) parts: BTreeSet<PointCode>,
}

impl Gateway {
    const fn new() -> Self {
        Self {
            is_usable: false,
            availability: Ranges::new(),
            congestion: Ranges::new(),
            parts: BTreeSet::new(),
        }
    }

    fn status(&self, point_code: PointCode) -> Availability {
        match self.availability.value(point_code) {
            _ if !self.is_usable => Availability::Unavailable,
            told => told.unwrap_or(Availability::Available),
        }
    }

    /// The lower the better; `None` when there is no way to the destination.
    #[inline]
    pub(super) fn rank(&self, point_code: PointCode) -> Option<u8> {
        let status = self.status(point_code);
        (status != Availability::Unavailable).then_some(status as u8)
    }
}

impl Process {
    /// A gateway may have become usable, or be so no more, by a change in an Application Server
    /// of this process.
    pub(super) fn gateways_changed(&mut self, id: ServerId) {
        let Some(server) = self.servers.find(id) else { return };
        if server.settings.side != Side::Here {
            return;
        }
        let network = server.settings.key.network;
        let peers = server.members.iter().filter_map(|member| self.peers.find(member.peer));
        let sgps = peers.filter(|peer| peer.settings.role == Role::Asp);
        let mut numbers: Vec<u16> = sgps.map(|peer| peer.settings.gateway).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let is_usable = self.is_gateway_usable(network, number);
            let gateway = self.gateways.entry((network, number)).or_insert_with(Gateway::new);
            if gateway.is_usable != is_usable {
                self.gateway_changed(network, number, is_usable);
            }
        }
    }

    fn is_gateway_usable(&self, network: Network, number: u16) -> bool {
        self.servers.iter().any(|(_, server)| {
            let is_here = server.settings.side == Side::Here;
            is_here
                && server.settings.key.network == network
                && server.members.iter().any(|member| {
                    let peer = self.peers.find(member.peer);
                    let is_its = peer.is_some_and(|peer| {
                        peer.settings.role == Role::Asp && peer.settings.gateway == number
                    });
                    is_its && member.state == MemberState::Active
                })
        })
    }

    /// A gateway that is reached again is asked for what was known of it: meanwhile it counts as
    /// able (RFC 4666 §4.5.3).
    fn gateway_changed(&mut self, network: Network, number: u16, is_usable: bool) {
        if is_usable {
            let Some(gateway) = self.gateways.get_mut(&(network, number)) else { return };
            let mut doubtful: Vec<Affected> = gateway.availability.odd().map(|it| it.0).collect();
            doubtful.extend(gateway.congestion.odd().map(|it| it.0));
            doubtful.sort_unstable();
            doubtful.dedup();
            gateway.availability = Ranges::new();
            gateway.congestion = Ranges::new();
            self.tell_changes(network, number, Affected::ALL, Availability::Available);
            if let Some(gateway) = self.gateways.get_mut(&(network, number)) {
                gateway.is_usable = true;
            }
            self.audit_gateway(network, number, &doubtful);
        } else {
            self.tell_changes(network, number, Affected::ALL, Availability::Unavailable);
            if let Some(gateway) = self.gateways.get_mut(&(network, number)) {
                gateway.is_usable = false;
            }
        }
    }

    /// Tells the user what changes when the status of a range at one gateway becomes `next`. A
    /// range in which gateways differ is halved until they do not.
    fn tell_changes(&mut self, network: Network, number: u16, range: Affected, next: Availability) {
        let mut pieces = vec![range];
        while let Some(piece) = pieces.pop() {
            let gateways = || self.gateways.range((network, 0)..=(network, u16::MAX));
            let is_split =
                gateways().any(|(_, it)| it.is_usable && it.availability.is_split(piece));
            let (first, last) = piece.bounds();
            if is_split && piece.mask > 0 {
                let mask = piece.mask.min(Affected::ALL.mask) - 1;
                // The upper half lies below on the stack: the user hears of the lower one first.
                pieces.push(Affected { point_code: last, mask }.canonical());
                pieces.push(Affected { point_code: first, mask });
                continue;
            }
            let others = gateways().filter(|((_, other), _)| *other != number);
            let others = others.map(|(_, gateway)| gateway.status(first)).min();
            let was = self.gateways.get(&(network, number)).map(|gateway| gateway.status(first));
            let best = |one: Option<Availability>| one.into_iter().chain(others).min();
            let (was, is) = (best(was), best(Some(next)));
            if was != is {
                self.indicate(match is {
                    Some(Availability::Unavailable) => Indication::Pause(network, piece),
                    Some(Availability::Restricted) => Indication::Restrict(network, piece),
                    Some(Availability::Available) | None => Indication::Resume(network, piece),
                });
            }
        }
    }

    /// An Application Server of peers began or ended to be served.
    pub(super) fn key_served(&mut self, id: ServerId, is_served: bool) {
        let Some(server) = self.servers.find(id) else { return };
        let network = server.settings.key.network;
        let key = server.settings.key.destinations.iter();
        let mut destinations: Vec<PointCode> = key.map(|destination| destination.dpc).collect();
        destinations.dedup();
        for dpc in destinations {
            let affected = Affected::one(dpc);
            self.indicate(match is_served {
                true => Indication::Resume(network, affected),
                false => Indication::Pause(network, affected),
            });
        }
    }

    /// DUNA, DAVA, DRST, SCON, DUPU, DAUD.
    pub(super) fn on_ssnm(&mut self, peer: PeerId, message: &Message<'_>) -> Result<(), Complaint> {
        let Some(role) = self.role(peer) else { return Ok(()) };
        let is_asked = self.peers.find(peer).is_some_and(super::peer::Peer::is_asked);
        let fits = match message.kind {
            MessageType::Scon => true,
            MessageType::Daud => role != Role::Asp,
            _ => role != Role::Sgp,
        };
        if !fits {
            return Err(Complaint::unexpected(message));
        }
        let network = self.network_named(peer, is_asked, message)?;
        let servers = self.servers_of(peer, is_asked);
        if !servers.iter().any(|server| self.is_active(peer, *server)) {
            return if is_asked { Ok(()) } else { Err(Complaint::unexpected(message)) };
        }
        let next = match message.kind {
            MessageType::Daud => return self.answer_audit(peer, network, message),
            MessageType::Scon => return self.on_scon(peer, network, message),
            MessageType::Dupu => return self.on_dupu(peer, network, message),
            MessageType::Duna => Availability::Unavailable,
            MessageType::Drst => Availability::Restricted,
            _ => Availability::Available,
        };
        self.on_availability(role, peer, network, next, message);
        Ok(())
    }

    /// The network that a message is about (RFC 4666 §3.8.1: Invalid Network Appearance, Invalid
    /// Routing Context).
    fn network_named(
        &self,
        peer: PeerId,
        is_asked: bool,
        message: &Message<'_>,
    ) -> Result<Network, Complaint> {
        let (servers, unknown) = self.servers_named(peer, is_asked, message);
        if !unknown.is_empty() {
            return Err(Complaint::context(ErrorCode::InvalidRoutingContext, unknown));
        }
        let servers = servers.iter().filter_map(|server| self.servers.find(*server));
        let mut networks = servers.map(|server| server.settings.key.network);
        let named = message.word(Tag::NetworkAppearance).map(crate::codec::NetworkAppearance);
        match named {
            // As of DATA: no other than that of an Application Server. Each network has a table.
            Some(named) if networks.any(|network| network == Some(named)) => Ok(Some(named)),
            Some(named) => Err(Complaint::network(named)),
            None => Ok(networks.next().flatten()),
        }
    }

    fn on_availability(
        &mut self,
        role: Role,
        peer: PeerId,
        network: Network,
        next: Availability,
        message: &Message<'_>,
    ) {
        for affected in joined(message) {
            if role != Role::Asp {
                // Between IPSPs there is no gateway that another one could stand in for.
                let said = match next {
                    Availability::Unavailable => Indication::Pause(network, affected),
                    Availability::Restricted => Indication::Restrict(network, affected),
                    Availability::Available => Indication::Resume(network, affected),
                };
                self.indicate_said(peer, said);
                continue;
            }
            let Some(number) = self.peers.find(peer).map(|peer| peer.settings.gateway) else {
                return;
            };
            self.tell_changes(network, number, affected, next);
            let told = self.gateways.get_mut(&(network, number)).map(|gateway| {
                let value = (next != Availability::Available).then_some(next);
                gateway.availability.tell(affected, value)
            });
            if let Some(Err(_)) = told {
                self.count(Metric::DestinationsShed);
            }
        }
        self.arm_audit();
    }

    fn on_scon(
        &mut self,
        peer: PeerId,
        network: Network,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        // Three octets are reserved.
        let level = message.word(Tag::CongestionIndications).map(|word| word.to_be_bytes()[3]);
        if level.is_some_and(|level| level > CONGESTION_LEVEL_MAX) {
            return Err(Complaint::new(ErrorCode::InvalidParameterValue));
        }
        let concerned = message.word(Tag::ConcernedDestination).map(PointCode::truncated);
        let found = self.peers.find(peer).map(|peer| &peer.settings);
        let sgp = found.filter(|settings| settings.role == Role::Asp);
        let number = sgp.map(|settings| settings.gateway);
        for affected in joined(message) {
            let gateway = number.and_then(|number| self.gateways.get_mut(&(network, number)));
            let told = gateway.map(|it| it.congestion.tell(affected, level.unwrap_or(1)));
            if let Some(Err(_)) = told {
                self.count(Metric::DestinationsShed);
            }
            let cause = Cause::Congestion(level);
            self.indicate_said(peer, Indication::Status(network, affected, cause, concerned));
        }
        self.arm_audit();
        Ok(())
    }

    /// What a peer says is told as what it says, unless it is a gateway to the network itself.
    fn indicate_said(&mut self, peer: PeerId, what: Indication) {
        self.indicate(match self.role(peer) {
            Some(Role::Asp) => what,
            _ => Indication::Said(peer, Box::new(what)),
        });
    }

    fn on_dupu(
        &mut self,
        peer: PeerId,
        network: Network,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        let mut affected = message.affected();
        let (one, more) = (affected.next(), affected.next());
        let Some(one) = one.filter(|one| one.mask == 0 && more.is_none()) else {
            return Err(Complaint::new(ErrorCode::InvalidParameterValue));
        };
        let user = UserCause::of(message.word(Tag::UserCause).unwrap_or_default());
        let cause = Cause::UserPartUnavailable(user);
        self.indicate_said(peer, Indication::Status(network, one, cause, None));
        // Whether the destination itself can be reached is asked with the next audit.
        let settings = self.peers.find(peer).map(|peer| &peer.settings);
        let sgp = settings.filter(|it| it.role == Role::Asp).map(|it| it.gateway);
        let gateway = sgp.and_then(|number| self.gateways.get_mut(&(network, number)));
        if let Some(gateway) = gateway.filter(|it| it.parts.len() < PARTS_MAX) {
            gateway.parts.insert(one.point_code);
            self.arm_audit();
        }
        Ok(())
    }

    /// The transport below is congested: the user hears of it as of any congestion (RFC 4666
    /// §1.4.6).
    pub(super) fn transport_congested(&mut self, peer: PeerId, level: u8) {
        let Some(found) = self.peers.find_mut(peer) else { return self.count(Metric::Stray) };
        let level = level.min(CONGESTION_LEVEL_MAX);
        if core::mem::replace(&mut found.congestion, level) == level {
            return;
        }
        let cause = Cause::Congestion(Some(level));
        let mut told = Vec::new();
        for server in found.servers.iter().filter_map(|server| self.servers.find(*server)) {
            let key = &server.settings.key;
            match server.settings.side {
                Side::Here => told.push((key.network, Affected::ALL)),
                Side::There => {
                    let dpcs = key.destinations.iter().map(|it| Affected::one(it.dpc));
                    told.extend(dpcs.map(|affected| (key.network, affected)));
                }
            }
        }
        told.sort_unstable();
        told.dedup();
        for (network, affected) in told {
            self.indicate(Indication::Status(network, affected, cause, None));
        }
    }

    /// Tells the ASPs concerned: those active for traffic of the network, with the contexts they
    /// are active for (RFC 4666 §4.5.1).
    pub(super) fn tell_asps(
        &mut self,
        network: Network,
        kind: MessageType,
        affected: &[Affected],
        word: Option<(Tag, u32)>,
    ) {
        let mut told: Vec<(PeerId, Vec<RoutingContext>)> = Vec::new();
        for (_, server) in self.servers.iter() {
            if server.settings.side != Side::There || server.settings.key.network != network {
                continue;
            }
            let active = server.members.iter().filter(|it| it.state == MemberState::Active);
            for member in active {
                let peer = self.peers.find(member.peer);
                if peer.is_none_or(|peer| peer.settings.role != Role::Sgp) {
                    continue;
                }
                let context = member.routing_context;
                match told.iter_mut().find(|(peer, _)| *peer == member.peer) {
                    Some((_, contexts)) => contexts.extend(context),
                    None => told.push((member.peer, context.into_iter().collect())),
                }
            }
        }
        for (peer, contexts) in told {
            let concerns = Concerns { network, contexts: &contexts };
            self.send_ssnm(peer, kind, concerns, affected, word);
        }
    }

    pub(super) fn send_ssnm(
        &mut self,
        peer: PeerId,
        kind: MessageType,
        concerns: Concerns<'_>,
        affected: &[Affected],
        word: Option<(Tag, u32)>,
    ) {
        let Concerns { network, contexts } = concerns;
        self.send(peer, kind, |writer| {
            let writer = writer
                .optional(Tag::NetworkAppearance, network.map(|network| network.0))
                .routing_contexts(contexts.iter().copied())
                .affected(affected);
            match word {
                Some((tag, word)) => writer.word(tag, word).end(),
                None => writer.end(),
            }
        });
    }
}
