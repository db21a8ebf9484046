//! The SGP's side of SSNM: the SS7 network tells, ASPs are told and ask (RFC 4666 §4.5.1, §4.5.3).

use super::complaint::Complaint;
use super::network::{Availability, CONGESTION_LEVEL_MAX, Concerns, Gateway, Ss7Network};
use super::{MemberState, Network, Process};
use crate::codec::{
    Affected, ErrorCode, Message, MessageType, PointCode, RoutingContext, Tag, UserCause,
};
use crate::effects::Cause;
use crate::id::PeerId;
use crate::metrics::Metric;
use crate::settings::Role;
use crate::timers::Timer;
use core::cmp::Reverse;

/// Ranges at most that are asked for again at one time, and in the answer to one audit beside
/// those that were asked for: what lies inside of a wide range and does not fit is not told.
const ANSWERS_MAX: usize = 1024;
/// Destinations in one message of an audit.
const AUDITED_MAX: usize = 256;

impl Process {
    fn ss7_availability(&mut self, network: Network, affected: Affected, status: Availability) {
        let table = self.ss7.entry(network).or_insert_with(Ss7Network::new);
        let is_restarting = table.is_restarting;
        if table.availability.tell(affected.canonical(), Some(status)).is_err() {
            self.count(Metric::DestinationsShed);
        }
        if !is_restarting {
            self.tell_asps(network, self.kind_of(status), &[affected], None);
        }
    }

    /// The network is isolated: ASPs are told that nothing can be reached (RFC 4666 §4.6).
    pub(super) fn restart_begins(&mut self, network: Network) {
        let table = self.ss7.entry(network).or_insert_with(Ss7Network::new);
        if !core::mem::replace(&mut table.is_restarting, true) {
            self.tell_asps(network, MessageType::Duna, &[Affected::ALL], None);
        }
    }

    /// The restart is complete: everything is available but for what was said to be not, the larger
    /// ranges first, and the congested is told too.
    pub(super) fn restart_ends(&mut self, network: Network) {
        let Some(table) = self.ss7.get_mut(&network) else { return };
        if !core::mem::take(&mut table.is_restarting) {
            return;
        }
        let told = table.availability.odd().filter_map(|(range, told)| Some((range, told?)));
        let mut told: Vec<(Affected, Availability)> = told.collect();
        let mut congested: Vec<(Affected, u8)> = table.congestion.odd().collect();
        let size = |range: &Affected| (Reverse(range.mask), range.point_code);
        told.sort_unstable_by_key(|(range, _)| size(range));
        congested.sort_unstable_by_key(|(range, level)| (size(range), *level));
        self.tell_asps(network, MessageType::Dava, &[Affected::ALL], None);
        for same in told.chunk_by(|one, next| one.1 == next.1) {
            let ranges: Vec<Affected> = same.iter().map(|told| told.0).collect();
            for some in ranges.chunks(AUDITED_MAX) {
                self.tell_asps(network, self.kind_of(same[0].1), some, None);
            }
        }
        for same in congested.chunk_by(|one, next| one.1 == next.1) {
            let ranges: Vec<Affected> = same.iter().map(|told| told.0).collect();
            let word = Some((Tag::CongestionIndications, u32::from(same[0].1)));
            for some in ranges.chunks(AUDITED_MAX) {
                self.tell_asps(network, MessageType::Scon, some, word);
            }
        }
    }

    pub(super) fn ss7_pause(&mut self, network: Network, affected: Affected) {
        self.ss7_availability(network, affected, Availability::Unavailable);
    }

    pub(super) fn ss7_resume(&mut self, network: Network, affected: Affected) {
        self.ss7_availability(network, affected, Availability::Available);
    }

    pub(super) fn ss7_restrict(&mut self, network: Network, affected: Affected) {
        self.ss7_availability(network, affected, Availability::Restricted);
    }

    pub(super) fn ss7_status(&mut self, network: Network, affected: Affected, cause: Cause) {
        match cause {
            Cause::Congestion(level) => {
                let level = level.map(|level| level.min(CONGESTION_LEVEL_MAX));
                let table = self.ss7.entry(network).or_insert_with(Ss7Network::new);
                let is_restarting = table.is_restarting;
                // Where there are no levels, nothing tells the end of it either.
                let told = level.map(|level| table.congestion.tell(affected.canonical(), level));
                if let Some(Err(_)) = told {
                    self.count(Metric::DestinationsShed);
                }
                if is_restarting {
                    return;
                }
                let word = level.map(|level| (Tag::CongestionIndications, u32::from(level)));
                self.tell_asps(network, MessageType::Scon, &[affected], word);
            }
            Cause::UserPartUnavailable(user) => {
                let affected = Affected::one(affected.point_code);
                let word = Some((Tag::UserCause, user.word()));
                self.tell_asps(network, MessageType::Dupu, &[affected], word);
            }
        }
    }

    const fn kind_of(&self, status: Availability) -> MessageType {
        match status {
            Availability::Unavailable => MessageType::Duna,
            Availability::Restricted if self.settings.parameters.sends_restricted => {
                MessageType::Drst
            }
            Availability::Restricted | Availability::Available => MessageType::Dava,
        }
    }

    /// Whether an MSU from an ASP can go on to its destination; the ASP is told when it cannot,
    /// or when it meets congestion there (RFC 4666 §3.4.1, §3.4.4).
    #[inline]
    pub(super) fn ss7_takes(&mut self, peer: PeerId, network: Network, dpc: PointCode) -> bool {
        let Some(table) = self.ss7.get(&network) else { return true };
        let status = table.availability.value(dpc);
        let level = table.congestion.value(dpc);
        let affected = [Affected::one(dpc)];
        if table.is_restarting || status == Some(Availability::Unavailable) {
            let contexts = self.active_contexts(peer, network, false);
            let concerns = Concerns { network, contexts: &contexts };
            self.send_ssnm(peer, MessageType::Duna, concerns, &affected, None);
            return false;
        }
        if level > 0 {
            let contexts = self.active_contexts(peer, network, false);
            let word = Some((Tag::CongestionIndications, u32::from(level)));
            let concerns = Concerns { network, contexts: &contexts };
            self.send_ssnm(peer, MessageType::Scon, concerns, &affected, word);
        }
        true
    }

    /// What an MSU met tells the ASP that sent it.
    pub(super) fn tell_unreachable(
        &mut self,
        peer: PeerId,
        network: Network,
        dpc: PointCode,
        user: Option<UserCause>,
    ) {
        if self.role(peer) != Some(Role::Sgp) {
            return self.count(Metric::Stray);
        }
        let contexts = self.active_contexts(peer, network, false);
        let (kind, word) = match user {
            Some(user) => (MessageType::Dupu, Some((Tag::UserCause, user.word()))),
            None => (MessageType::Duna, None),
        };
        let concerns = Concerns { network, contexts: &contexts };
        self.send_ssnm(peer, kind, concerns, &[Affected::one(dpc)], word);
    }

    fn active_contexts(
        &self,
        peer: PeerId,
        network: Network,
        is_asked: bool,
    ) -> Vec<RoutingContext> {
        let servers = self.servers_of(peer, is_asked);
        let servers = servers.iter().filter_map(|server| self.servers.find(*server));
        let servers = servers.filter(|server| server.settings.key.network == network);
        let members = servers.filter_map(|server| server.member(peer));
        let active = members.filter(|member| member.state == MemberState::Active);
        active.filter_map(|member| member.routing_context).collect()
    }

    /// DAUD: each destination is answered by DUNA, DRST or DAVA, after SCON when it is congested.
    pub(super) fn answer_audit(
        &mut self,
        peer: PeerId,
        network: Network,
        message: &Message<'_>,
    ) -> Result<(), Complaint> {
        self.count(Metric::Audits);
        let contexts: Vec<RoutingContext> = message.routing_contexts().collect();
        if self.settings.parameters.refuses_audits {
            let code = ErrorCode::DestinationStatusUnknown;
            let affected = message.affected().collect();
            return Err(Complaint { code, contexts, network, affected });
        }
        let mut answers: Vec<(MessageType, u8, Affected)> = Vec::new();
        let mut room = ANSWERS_MAX;
        for asked in message.affected().map(Affected::canonical) {
            let mut pieces = self.pieces_of(network, asked, room);
            room -= pieces.len();
            pieces.insert(0, asked);
            answers.extend(pieces.into_iter().map(|piece| {
                let (status, level) = self.status_of(network, piece);
                (self.kind_of(status), level, piece)
            }));
        }
        for same in answers.chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)) {
            let affected: Vec<Affected> = same.iter().map(|answer| answer.2).collect();
            let concerns = Concerns { network, contexts: &contexts };
            let (kind, level, _) = same[0];
            if level > 0 && kind != MessageType::Duna {
                let word = Some((Tag::CongestionIndications, u32::from(level)));
                self.send_ssnm(peer, MessageType::Scon, concerns, &affected, word);
            }
            self.send_ssnm(peer, kind, concerns, &affected, None);
        }
        Ok(())
    }

    const fn unknown(&self) -> Availability {
        match self.settings.parameters.takes_unknown_as_available {
            true => Availability::Available,
            false => Availability::Unavailable,
        }
    }

    /// What has a status of its own inside of a range: the larger before the smaller, which holds
    /// when it is told last. No more than there is room for.
    fn pieces_of(&self, network: Network, range: Affected, room: usize) -> Vec<Affected> {
        let table = self.ss7.get(&network).filter(|table| !table.is_restarting);
        let Some(table) = table else { return Vec::new() };
        let inner = table.availability.within(range).chain(table.congestion.within(range));
        let mut pieces: Vec<Affected> = inner.take(room).collect();
        pieces.sort_unstable_by_key(|piece| (Reverse(piece.mask), piece.point_code));
        pieces.dedup();
        pieces
    }

    /// What is known of destinations: by the SS7 network, or because one is ours.
    fn status_of(&self, network: Network, range: Affected) -> (Availability, u8) {
        let table = self.ss7.get(&network);
        let is_restarting = table.is_some_and(|table| table.is_restarting);
        let table = table.filter(|_| !is_restarting);
        let level = table.map_or(0, |table| table.congestion.value_of(range));
        if let Some(told) = table.and_then(|table| table.availability.value_of(range)) {
            return (told, level);
        }
        let one = Some(range.point_code).filter(|_| range.mask == 0);
        let Some(servers) = one.and_then(|dpc| self.servers.at(network, dpc)) else {
            let status = if is_restarting { Availability::Unavailable } else { self.unknown() };
            return (status, level);
        };
        let is_served = servers.iter().any(|server| self.servers.can_serve(*server));
        let status = if is_served { Availability::Available } else { Availability::Unavailable };
        (status, level)
    }

    /// This process asks as an ASP: In::Audit.
    pub(super) fn audit(&mut self, peer: PeerId, network: Network, affected: &[Affected]) {
        let contexts = self.active_contexts(peer, network, true);
        for some in affected.chunks(AUDITED_MAX) {
            let concerns = Concerns { network, contexts: &contexts };
            self.send_ssnm(peer, MessageType::Daud, concerns, some, None);
        }
    }

    /// Gateways are asked again as long as something is amiss with their destinations.
    pub(super) fn arm_audit(&mut self) {
        let is_amiss = |gateway: &Gateway| {
            let is_odd = gateway.availability.odd().next().is_some();
            let is_odd = is_odd || gateway.congestion.odd().next().is_some();
            gateway.is_usable && (is_odd || !gateway.parts.is_empty())
        };
        match self.settings.parameters.t_audit {
            None => self.timers.cancel(Timer::Audit),
            Some(_) if self.timers.is_armed(Timer::Audit) => {}
            Some(t_audit) if self.gateways.values().any(is_amiss) => {
                self.timers.arm(Timer::Audit, self.now + t_audit);
            }
            Some(_) => {}
        }
    }

    /// The time to ask again has come.
    pub(super) fn audit_again(&mut self) {
        let usable = self.gateways.iter_mut().filter(|(_, gateway)| gateway.is_usable);
        let doubtful = usable.map(|((network, number), gateway)| {
            let ranges = gateway.availability.odd().map(|it| it.0);
            let ranges = ranges.chain(gateway.congestion.odd().map(|it| it.0)).take(ANSWERS_MAX);
            let mut ranges: Vec<Affected> = ranges.collect();
            ranges.extend(core::mem::take(&mut gateway.parts).into_iter().map(Affected::one));
            ranges.sort_unstable();
            ranges.dedup();
            (*network, *number, ranges)
        });
        let doubtful: Vec<(Network, u16, Vec<Affected>)> = doubtful.collect();
        for (network, number, ranges) in doubtful {
            self.audit_gateway(network, number, &ranges);
        }
        self.arm_audit();
    }

    /// Asks an active SGP of a gateway.
    pub(super) fn audit_gateway(&mut self, network: Network, number: u16, doubtful: &[Affected]) {
        if doubtful.is_empty() {
            return;
        }
        let servers = self.servers.iter().filter(|(_, it)| it.settings.key.network == network);
        let members = servers.flat_map(|(_, server)| &server.members);
        let active = members.filter(|member| member.state == MemberState::Active);
        let sgp = active.map(|member| member.peer).find(|peer| {
            let peer = self.peers.find(*peer).map(|peer| &peer.settings);
            peer.is_some_and(|peer| peer.role == Role::Asp && peer.gateway == number)
        });
        if let Some(sgp) = sgp {
            self.audit(sgp, network, doubtful);
        }
    }
}
