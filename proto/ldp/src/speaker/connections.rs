//! Connections and the states of sessions (RFC 5036 §2.5).

use super::{Out, Speaker};
use crate::codec::{
    Body, FaultTolerance, Initialization, LdpId, Notification, PDU_OCTETS_MAX, Pdu, Prefix,
    StatusCode, pdu_octets, write_pdus,
};
use crate::discard::Discard;
use crate::session::{Pending, Session, SessionState};
use crate::settings::ConnectionId;
use machine::{Duration, Time};
use std::net::IpAddr;

/// Time that whoever connects has to say what the session shall be.
const PATIENCE: Duration = Duration::from_secs(15);
/// Failures after which the time between two tries grows no more.
const FAILURES_MAX: u32 = 3;
/// A connection that stood is tried again after that time.
const AGAIN: Duration = Duration::from_secs(1);
/// A session that stood for less than that is one that comes and goes.
const LASTS: Duration = Duration::from_secs(30);
/// Failures after which connections of its peer are not refused for longer.
const REFUSALS_MAX: u32 = 5;

impl Speaker {
    /// Our address for sessions of a family.
    fn local(&self, remote: IpAddr) -> Option<IpAddr> {
        match remote {
            IpAddr::V4(_) => self.settings.ipv4.map(IpAddr::V4),
            IpAddr::V6(_) => self.settings.ipv6.map(IpAddr::V6),
        }
    }

    /// Whether we connect: whose address is greater (§2.5.2).
    fn is_active(&self, session: &Session) -> bool {
        let is_heard = self.is_heard(session.peer, session.transport);
        is_heard && self.local(session.transport).is_some_and(|it| it > session.transport)
    }

    pub(super) fn session_due(&self, session: &Session) -> Time {
        let is_waiting = session.connection.is_none() && self.is_active(session);
        let due = session.due();
        let is_retry = session.connection.is_none() && due == session.timers.retry_at;
        if is_retry && !is_waiting {
            return session
                .timers
                .silent_at
                .min(session.timers.keepalive_at)
                .min(session.timers.stale_until);
        }
        due
    }

    /// Connections that are due are made.
    pub(super) fn connect_all(&mut self, now: Time, out: &mut Vec<Out>) {
        let waits = |it: &&Session| it.connection.is_none() && it.timers.retry_at <= now;
        let due = self.sessions.values().filter(waits).filter(|it| self.is_active(it));
        for peer in due.map(|it| it.peer).collect::<Vec<LdpId>>() {
            let number = self.next_connection;
            self.next_connection = self.next_connection.wrapping_add(1);
            let connection = ConnectionId { number, is_own: true };
            let Some(remote) = self.sessions.get(&peer).map(|it| it.transport) else { continue };
            let Some(local) = self.local(remote) else { continue };
            let has_gtsm = self.has_gtsm(remote);
            self.owners.insert(connection, peer);
            let Some(session) = self.sessions.get_mut(&peer) else { continue };
            session.connection = Some(connection);
            session.is_active = true;
            session.timers.silent_at = now + PATIENCE;
            out.push(Out::Connect { connection, local, remote, has_gtsm });
        }
    }

    pub(super) fn connected(&mut self, now: Time, connection: ConnectionId) {
        let Some(peer) = self.owners.get(&connection).copied() else { return };
        let said = self.initialization(peer);
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        if session.state == SessionState::NonExistent && session.is_active {
            session.state = SessionState::OpenSent;
            session.timers.silent_at = now + PATIENCE;
            session.say(&Body::Initialization(said));
        }
    }

    fn initialization(&self, receiver: LdpId) -> Initialization {
        let had_before = self.sessions.get(&receiver).is_some_and(|it| it.had_before);
        let millis =
            |time: Duration| machine::narrow::at_most(machine::narrow::millis(time), u32::MAX);
        let fault_tolerance = self.settings.restart.map(|(reconnect, recovery)| FaultTolerance {
            reconnect_ms: millis(reconnect),
            recovery_ms: if had_before { millis(recovery) } else { 0 },
        });
        Initialization {
            keepalive_s: self.settings.keepalive_s,
            is_on_demand: false,
            detects_loops: false,
            pdu_octets: 4_096,
            receiver,
            fault_tolerance,
            is_dynamic: false,
        }
    }

    pub(super) fn accepted(
        &mut self,
        now: Time,
        connection: ConnectionId,
        remote: IpAddr,
        out: &mut Vec<Out>,
    ) {
        let is_heard = self.adjacencies.at(remote).next().is_some();
        let of_remote = self.pending.values().filter(|it| it.remote == remote).count();
        let has_room = self.pending.len() < self.settings.limits.connections && of_remote < 4;
        if !is_heard || !has_room || connection.is_own {
            self.discard(Discard::NoHello);
            out.push(Out::Close(connection));
            return;
        }
        let until = now + PATIENCE;
        self.pending.insert(connection, Pending { remote, input: Vec::new(), until });
    }

    pub(super) fn closed(&mut self, now: Time, connection: ConnectionId, out: &mut Vec<Out>) {
        self.pending.remove(&connection);
        if let Some(peer) = self.owners.remove(&connection) {
            self.drop_session(now, peer, out);
        }
    }

    pub(super) fn shutdown(&mut self, now: Time, out: &mut Vec<Out>) {
        let peers: Vec<LdpId> = self.sessions.keys().copied().collect();
        for peer in peers {
            self.end_session(now, peer, Some(StatusCode::Shutdown), out);
        }
        self.adjacencies = crate::adjacency::Adjacencies::default();
        self.interfaces.clear();
        self.targets.clear();
    }

    /// A session ends by us; the peer is told why.
    pub(super) fn end_session(
        &mut self,
        now: Time,
        peer: LdpId,
        why: Option<StatusCode>,
        out: &mut Vec<Out>,
    ) {
        let own = self.own();
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        if let Some(connection) = session.connection {
            if let Some(why) = why.filter(|_| session.state > SessionState::NonExistent) {
                session.say(&Body::Notification(Notification::of(why, (0, 0))));
            }
            let messages = core::mem::take(&mut session.output);
            let octets = write_pdus(own, &messages, session.pdu_octets);
            if !octets.is_empty() && session.state > SessionState::NonExistent {
                out.push(Out::Write(connection, octets));
            }
            out.push(Out::Close(connection));
            self.owners.remove(&connection);
        }
        self.drop_session(now, peer, out);
    }

    /// A session is no more: its bindings go, unless it may come back (RFC 3478 §3.3).
    fn drop_session(&mut self, now: Time, peer: LdpId, out: &mut Vec<Out>) {
        let is_heard = self.adjacencies.of_peer(peer).next().is_some();
        let retry = self.settings.retry;
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let was = session.is_operational();
        let reconnect = session.reconnect.filter(|_| was);
        // One that comes and goes costs all labels each time.
        let has_stood = was && now.since(session.timers.stood_at) >= LASTS;
        session.failures = if has_stood { 0 } else { session.failures + 1 };
        let longer = retry * (1 << session.failures.min(FAILURES_MAX)) / 2;
        let wait = if has_stood || was && session.failures == 1 { AGAIN } else { longer };
        let kept = (core::mem::take(&mut session.remote), core::mem::take(&mut session.addresses));
        let held: Vec<u32> =
            session.told.labels().chain(session.releasing.iter().copied()).collect();
        let had: Vec<Prefix> = kept.0.prefixes().collect();
        let stale = (core::mem::take(&mut session.stale), session.timers.stale_until);
        let fresh = Session::new(peer, session.transport);
        let (failures, had_before) = (session.failures, session.had_before || was);
        *session = Session { failures, had_before, ..fresh };
        session.timers.retry_at = now + wait;
        if was && failures > 1 {
            session.timers.refuses_until = now + AGAIN * (1 << failures.min(REFUSALS_MAX));
        }
        let keeps = reconnect.or(Some(Duration::ZERO).filter(|_| stale.1 != Time::MAX));
        if let Some(wait) = keeps {
            session.stale = kept.0.prefixes().chain(stale.0).collect();
            (session.remote, session.addresses) = kept;
            session.timers.stale_until = if was { now + wait } else { stale.1 };
        } else {
            self.bindings.remote -= had.len();
            kept.1.into_iter().for_each(|it| self.bindings.disclaim(it, peer));
        }
        let is_kept = session.timers.stale_until != Time::MAX;
        if !is_heard && !is_kept {
            self.sessions.remove(&peer);
        }
        held.into_iter().for_each(|label| self.let_go(label));
        if was {
            out.push(Out::Session(peer, false));
            self.wires_lost(peer.router, out);
        }
        had.into_iter().for_each(|prefix| self.refresh(prefix, out));
    }

    /// Octets of a connection came.
    pub(super) fn octets(
        &mut self,
        now: Time,
        connection: ConnectionId,
        octets: &[u8],
        out: &mut Vec<Out>,
    ) {
        if let Some(pending) = self.pending.get_mut(&connection) {
            pending.input.extend_from_slice(octets);
            if let Err(why) = self.adopt(now, connection, out) {
                self.discard(Discard::NoHello);
                self.refuse(connection, why, out);
            }
            return;
        }
        let Some(peer) = self.owners.get(&connection).copied() else { return };
        if let Some(session) = self.sessions.get_mut(&peer) {
            session.input.extend_from_slice(octets);
        }
        self.read_session(now, peer, out);
    }

    /// A connection that came is closed, and told why.
    fn refuse(&mut self, connection: ConnectionId, why: StatusCode, out: &mut Vec<Out>) {
        self.pending.remove(&connection);
        let message = Body::Notification(Notification::of(why, (0, 0))).write(1);
        let octets = write_pdus(self.own(), &[message], PDU_OCTETS_MAX);
        out.push(Out::Write(connection, octets));
        out.push(Out::Close(connection));
    }

    /// Who a connection is of, once its first PDU is there (§2.5.3).
    fn adopt(
        &mut self,
        now: Time,
        connection: ConnectionId,
        out: &mut Vec<Out>,
    ) -> Result<(), StatusCode> {
        let Some(pending) = self.pending.get(&connection) else { return Ok(()) };
        let length = pdu_octets(&pending.input, PDU_OCTETS_MAX);
        let length = length.map_err(|_| StatusCode::BadPduLength)?;
        let Some(first) = length.and_then(|length| pending.input.get(..length)) else {
            return Ok(());
        };
        let sender = Pdu::read(first).map_err(|_| StatusCode::BadMessageLength)?.sender;
        if !self.is_heard(sender, pending.remote) {
            return Err(StatusCode::NoHello);
        }
        let remote = pending.remote;
        let session = self.sessions.get_mut(&sender).ok_or(StatusCode::NoHello)?;
        if session.connection.is_some() {
            // The one that stands is kept.
            return Err(StatusCode::TransportMismatch);
        }
        if session.timers.refuses_until > now {
            return Err(StatusCode::Shutdown);
        }
        let Some(pending) = self.pending.remove(&connection) else { return Ok(()) };
        session.connection = Some(connection);
        session.transport = remote;
        session.is_active = false;
        session.state = SessionState::Initialized;
        session.timers.silent_at = now + PATIENCE;
        session.input = pending.input;
        self.owners.insert(connection, sender);
        self.read_session(now, sender, out);
        Ok(())
    }

    /// Whole PDUs of a session are read; the rest waits.
    fn read_session(&mut self, now: Time, peer: LdpId, out: &mut Vec<Out>) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let (connection, input) = (session.connection, core::mem::take(&mut session.input));
        let mut rest = &input[..];
        loop {
            let Some(session) = self.sessions.get_mut(&peer) else { return };
            if session.connection != connection {
                return;
            }
            let whole = match pdu_octets(rest, session.pdu_octets) {
                Ok(length) => length.and_then(|length| rest.split_at_checked(length)),
                Err(why) => {
                    self.discard(Discard::Malformed);
                    let is_version = why.at == 0;
                    let code =
                        if is_version { StatusCode::BadVersion } else { StatusCode::BadPduLength };
                    return self.end_session(now, peer, Some(code), out);
                }
            };
            let Some((octets, after)) = whole else {
                session.input = rest.to_vec();
                return;
            };
            rest = after;
            if let Err(code) = self.pdu(now, peer, octets, out) {
                return self.end_session(now, peer, code, out);
            }
        }
    }

    /// What is due of connections and sessions.
    pub(super) fn tick_connections(&mut self, now: Time, out: &mut Vec<Out>) {
        let late = self.pending.iter().filter(|(_, it)| it.until <= now);
        for connection in late.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.refuse(connection, StatusCode::KeepAliveExpired, out);
        }
        let peers: Vec<LdpId> = self.sessions.keys().copied().collect();
        for peer in peers {
            let Some(session) = self.sessions.get_mut(&peer) else { continue };
            if session.timers.stale_until <= now {
                session.timers.stale_until = Time::MAX;
                let mut gone = core::mem::take(&mut session.stale);
                let before = session.remote.len();
                for prefix in &gone {
                    session.remote.remove(prefix);
                }
                if !session.is_operational() {
                    let addresses = core::mem::take(&mut session.addresses);
                    addresses.into_iter().for_each(|it| self.bindings.disclaim(it, peer));
                    gone.extend(core::mem::take(&mut session.remote).prefixes());
                }
                self.bindings.remote -= before - session.remote.len();
                gone.into_iter().for_each(|prefix| self.refresh(prefix, out));
            }
            let Some(session) = self.sessions.get_mut(&peer) else { continue };
            if session.timers.silent_at <= now {
                self.end_session(now, peer, Some(StatusCode::KeepAliveExpired), out);
                continue;
            }
            if session.timers.keepalive_at <= now {
                session.timers.keepalive_at = now + session.keepalive / 3;
                session.say(&Body::KeepAlive);
            }
            let is_heard = self.adjacencies.of_peer(peer).next().is_some();
            let session = self.sessions.get(&peer);
            let is_empty = session
                .is_some_and(|it| it.connection.is_none() && it.timers.stale_until == Time::MAX);
            if !is_heard && is_empty {
                self.sessions.remove(&peer);
            }
        }
    }

    /// A peer says what the session shall be (§3.5.3).
    pub(super) fn initialize(
        &mut self,
        now: Time,
        peer: LdpId,
        said: &Initialization,
    ) -> Result<(), StatusCode> {
        let own = self.initialization(peer);
        if said.receiver != self.own() {
            return Err(StatusCode::NoHello);
        }
        if said.keepalive_s == 0 {
            return Err(StatusCode::BadKeepAlive);
        }
        let session = self.sessions.get_mut(&peer).ok_or(StatusCode::NoHello)?;
        let said_octets = if said.pdu_octets <= 255 { 4_096 } else { said.pdu_octets };
        session.pdu_octets = usize::from(said_octets).min(PDU_OCTETS_MAX);
        session.keepalive = Duration::from_secs(said.keepalive_s.min(own.keepalive_s).into());
        session.timers.silent_at = now + session.keepalive;
        let theirs = said.fault_tolerance.filter(|_| own.fault_tolerance.is_some());
        let reconnect = theirs.map(|it| Duration::from_millis(it.reconnect_ms.into()));
        session.reconnect = reconnect.filter(|it| *it > Duration::ZERO);
        // What it kept, it says again within that time; else it kept nothing (RFC 3478 §3.3).
        if session.timers.stale_until != Time::MAX {
            let recovery_ms = theirs.map_or(0, |it| it.recovery_ms);
            session.timers.stale_until = now + Duration::from_millis(recovery_ms.into());
        }
        match session.state {
            SessionState::OpenSent => session.say(&Body::KeepAlive),
            _ => {
                session.say(&Body::Initialization(own));
                session.say(&Body::KeepAlive);
            }
        }
        session.state = SessionState::OpenReceived;
        session.timers.keepalive_at = now + session.keepalive / 3;
        Ok(())
    }
}
