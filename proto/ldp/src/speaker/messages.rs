//! What messages of a session do (RFC 5036 §3.5).

use super::{Out, Speaker};
use crate::codec::{
    Body, Fec, LabelBody, LdpId, Message, MessageType, Notification, Pdu, Prefix, StatusCode,
};
use crate::discard::Discard;
use crate::session::SessionState;
use crate::settings::IMPLICIT_NULL;
use machine::Time;
use std::net::IpAddr;

/// Labels below that mean something by themselves; of those, only some may be told (RFC 3032 §2.1).
const RESERVED: u32 = 16;

/// Why a session ends; none: the peer ended it.
type Ends = Option<StatusCode>;

impl Speaker {
    pub(super) fn pdu(
        &mut self,
        now: Time,
        peer: LdpId,
        octets: &[u8],
        out: &mut Vec<Out>,
    ) -> Result<(), Ends> {
        let pdu = Pdu::read(octets).map_err(|_| {
            self.discard(Discard::Malformed);
            StatusCode::BadMessageLength
        })?;
        if pdu.sender != peer {
            self.discard(Discard::Identifier);
            return Err(Some(StatusCode::BadLdpIdentifier));
        }
        for message in &pdu.messages {
            self.message(now, peer, message, out)?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        now: Time,
        peer: LdpId,
        message: &Message<'_>,
        out: &mut Vec<Out>,
    ) -> Result<(), Ends> {
        let body = Body::read(message).map_err(|_| {
            self.discard(Discard::Malformed);
            StatusCode::MalformedTlv
        })?;
        let meant = (message.id, message.number);
        let session = self.sessions.get_mut(&peer).ok_or(None)?;
        if session.is_operational() {
            session.timers.silent_at = now + session.keepalive;
        }
        let Some(body) = body else {
            self.discard(Discard::UnknownMessage);
            if !message.is_optional {
                self.refuse_message(peer, StatusCode::UnknownMessage, meant, Vec::new());
            }
            return Ok(());
        };
        match (session.state, body) {
            (_, Body::Notification(it)) => self.notified(peer, &it, out),
            (SessionState::Initialized | SessionState::OpenSent, Body::Initialization(it)) => {
                self.initialize(now, peer, &it).map_err(|code| {
                    self.discard(Discard::Parameters);
                    Some(code)
                })
            }
            (SessionState::OpenReceived, Body::KeepAlive) => {
                self.stands(now, peer, out);
                Ok(())
            }
            (SessionState::Operational, Body::KeepAlive | Body::Capability) => Ok(()),
            (SessionState::Operational, Body::Address(all)) => {
                self.addresses(peer, &all, true);
                Ok(())
            }
            (SessionState::Operational, Body::AddressWithdraw(all)) => {
                self.addresses(peer, &all, false);
                Ok(())
            }
            (SessionState::Operational, Body::MacWithdraw(fecs, macs)) => {
                self.macs_withdrawn(peer, &fecs, &macs, out);
                Ok(())
            }
            (SessionState::Operational, Body::Label(kind, it)) => {
                self.label_message(peer, kind, &it, meant, out);
                Ok(())
            }
            _ => {
                self.discard(Discard::State);
                Err(Some(StatusCode::Shutdown))
            }
        }
    }

    /// A message is refused; the session goes on.
    fn refuse_message(
        &mut self,
        peer: LdpId,
        code: StatusCode,
        message: (u32, u16),
        fecs: Vec<Fec>,
    ) {
        if let Some(session) = self.sessions.get_mut(&peer) {
            let said = Notification { fecs, ..Notification::of(code, message) };
            session.say(&Body::Notification(said));
        }
    }

    fn notified(&mut self, peer: LdpId, it: &Notification, out: &mut Vec<Out>) -> Result<(), Ends> {
        if it.is_fatal {
            return Err(None);
        }
        if it.code == StatusCode::PwStatus.number()
            && let Some(status) = it.pw_status
        {
            self.wire_status(peer.router, &it.fecs, status, out);
        }
        Ok(())
    }

    /// The session stands: addresses and labels are told.
    fn stands(&mut self, now: Time, peer: LdpId, out: &mut Vec<Out>) {
        let settle = self.settings.settle;
        let addresses = self.own_addresses();
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        session.state = SessionState::Operational;
        session.timers.stood_at = now;
        session.timers.settles_at = now + settle;
        session.timers.silent_at = now + session.keepalive;
        out.push(Out::Session(peer, true));
        for some in addresses.chunks(128) {
            session.say(&Body::Address(some.to_vec()));
        }
        self.tell_all(peer);
        self.wires_stand(peer.router, out);
    }

    pub(super) fn own_addresses(&self) -> Vec<IpAddr> {
        let all = self.interfaces.values().flat_map(|it| it.settings.addresses.iter().copied());
        let own = self.settings.ipv4.map(IpAddr::V4).into_iter();
        let own = own.chain(self.settings.ipv6.map(IpAddr::V6));
        let all: std::collections::BTreeSet<IpAddr> = all.chain(own).collect();
        all.into_iter().collect()
    }

    /// Own addresses are told again: some may be new.
    pub(super) fn tell_addresses(&mut self) {
        let addresses = self.own_addresses();
        for session in self.sessions.values_mut().filter(|it| it.is_operational()) {
            for some in addresses.chunks(128) {
                session.say(&Body::Address(some.to_vec()));
            }
        }
    }

    pub(super) fn withdraw_addresses(&mut self, gone: &[IpAddr]) {
        let still = self.own_addresses();
        let gone: Vec<IpAddr> = gone.iter().copied().filter(|it| !still.contains(it)).collect();
        for session in self.sessions.values_mut().filter(|it| it.is_operational()) {
            for some in gone.chunks(128) {
                session.say(&Body::AddressWithdraw(some.to_vec()));
            }
        }
    }

    fn addresses(&mut self, peer: LdpId, all: &[IpAddr], is_there: bool) {
        let limit = self.settings.limits.addresses;
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let mut dropped = 0;
        // What goes by an address is looked at once, at the step's end.
        for address in all {
            match is_there {
                false if session.addresses.remove(address) => {
                    self.bindings.disclaim(*address, peer);
                }
                true if session.addresses.contains(address) => {}
                true if session.addresses.len() < limit => {
                    session.addresses.insert(*address);
                    self.bindings.claim(*address, peer);
                }
                true => dropped += 1,
                false => {}
            }
        }
        (0..dropped).for_each(|_| self.discard(Discard::Bindings));
    }

    fn label_message(
        &mut self,
        peer: LdpId,
        kind: MessageType,
        it: &LabelBody,
        meant: (u32, u16),
        out: &mut Vec<Out>,
    ) {
        for fec in &it.fecs {
            match (fec, kind) {
                (Fec::Pseudowire(wire), _) => self.wire_message(peer, kind, wire, it, out),
                (Fec::Prefix(prefix), MessageType::LabelMapping) => {
                    self.mapped(peer, *prefix, it.label, meant, out);
                }
                (Fec::Prefix(prefix), MessageType::LabelRequest) => {
                    self.requested(peer, *prefix, meant);
                }
                (Fec::Prefix(prefix), MessageType::LabelWithdraw) => {
                    self.withdrawn(peer, *prefix, it.label, out);
                }
                (Fec::Prefix(prefix), MessageType::LabelRelease) => {
                    self.released(peer, Some(*prefix), it.label);
                }
                (Fec::Prefix(prefix), _) => self.aborted(peer, *prefix, it.request, meant),
                (Fec::Wildcard, MessageType::LabelWithdraw) => {
                    let session = self.sessions.get(&peer);
                    let meant = session.map(|session| session.remote.of_label(it.label));
                    for prefix in meant.unwrap_or_default() {
                        self.withdrawn(peer, prefix, it.label, out);
                    }
                }
                (Fec::Wildcard, MessageType::LabelRelease) => self.released(peer, None, it.label),
                (Fec::Wildcard, _) => {
                    let fecs = vec![Fec::Wildcard];
                    self.refuse_message(peer, StatusCode::UnknownFec, meant, fecs);
                }
            }
        }
    }

    fn mapped(
        &mut self,
        peer: LdpId,
        prefix: Prefix,
        label: Option<u32>,
        meant: (u32, u16),
        out: &mut Vec<Out>,
    ) {
        let Some(label) = label else {
            return self.refuse_message(peer, StatusCode::MissingParameters, meant, Vec::new());
        };
        let explicit = if prefix.address.is_ipv4() { 0 } else { 2 };
        let may = label >= RESERVED || [IMPLICIT_NULL, explicit].contains(&label);
        let limits = self.settings.limits;
        let left = limits.bindings_of_all.saturating_sub(self.bindings.remote);
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let limit = limits.bindings.min(left);
        let has_room = session.remote.contains(&prefix) || session.remote.len() < limit;
        if !may || !has_room {
            self.discard(if may { Discard::Bindings } else { Discard::Label });
            return self.release(peer, prefix, Some(label));
        }
        session.stale.remove(&prefix);
        self.bindings.remote += usize::from(session.remote.insert(prefix, label).is_none());
        self.refresh(prefix, out);
    }

    fn release(&mut self, peer: LdpId, prefix: Prefix, label: Option<u32>) {
        if let Some(session) = self.sessions.get_mut(&peer) {
            let fecs = vec![Fec::Prefix(prefix)];
            let said = LabelBody { fecs, label, ..LabelBody::default() };
            session.say(&Body::Label(MessageType::LabelRelease, said));
        }
    }

    fn withdrawn(&mut self, peer: LdpId, prefix: Prefix, label: Option<u32>, out: &mut Vec<Out>) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let is_it = session.remote.get(&prefix).is_some_and(|it| label.is_none_or(|l| l == it));
        if is_it {
            session.stale.remove(&prefix);
            session.remote.remove(&prefix);
            self.bindings.remote -= 1;
        }
        // It is acknowledged whatever it was (§3.5.10.1).
        self.release(peer, prefix, label);
        self.refresh(prefix, out);
    }

    /// A peer does not have a label any more.
    fn released(&mut self, peer: LdpId, prefix: Option<Prefix>, label: Option<u32>) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let gone = match prefix {
            Some(prefix) => {
                let told = session.told.get(&prefix);
                let is_it = told.is_some_and(|it| label.is_none_or(|label| label == it));
                if is_it { vec![prefix] } else { Vec::new() }
            }
            None => session.told.of_label(label),
        };
        let mut labels: Vec<u32> =
            gone.iter().filter_map(|prefix| session.told.remove(prefix)).collect();
        if let Some(label) = label.filter(|label| session.releasing.remove(label)) {
            session.timers.owes_at = Time::MAX;
            labels.push(label);
        }
        labels.into_iter().for_each(|label| self.let_go(label));
    }

    /// A label is asked for (§3.5.8): it is told, or will be once it may.
    fn requested(&mut self, peer: LdpId, prefix: Prefix, meant: (u32, u16)) {
        let binding = self.bindings.prefixes.get(&prefix);
        let label = binding.map(|it| it.label);
        let limit = self.settings.limits.connections;
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        match label {
            None => {
                let fecs = vec![Fec::Prefix(prefix)];
                self.refuse_message(peer, StatusCode::NoRoute, meant, fecs);
            }
            Some(None) if session.waiting.len() < limit => {
                session.waiting.insert(prefix, meant.0);
            }
            Some(None) => {
                let fecs = vec![Fec::Prefix(prefix)];
                self.refuse_message(peer, StatusCode::NoLabelResources, meant, fecs);
            }
            Some(Some(label)) => {
                let fecs = vec![Fec::Prefix(prefix)];
                let request = Some(meant.0);
                let said = LabelBody { fecs, label: Some(label), request, ..LabelBody::default() };
                session.say(&Body::Label(MessageType::LabelMapping, said));
                if session.told.insert(prefix, label).is_none() {
                    self.bindings.hold(label);
                }
            }
        }
    }

    /// A label is asked for no more (§3.5.9).
    fn aborted(&mut self, peer: LdpId, prefix: Prefix, request: Option<u32>, meant: (u32, u16)) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let waits = session.waiting.get(&prefix).copied().filter(|it| Some(*it) == request);
        if waits.is_some() {
            session.waiting.remove(&prefix);
            self.refuse_message(peer, StatusCode::RequestAborted, meant, Vec::new());
        }
    }
}
