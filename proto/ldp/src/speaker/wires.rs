//! Labels of pseudowires (RFC 8077), and MAC addresses that are forgotten (RFC 4762 §6.2).

use super::{Out, Speaker};
use crate::codec::{
    Body, Fec, LabelBody, LdpId, MessageType, Notification, PseudowireFec, PseudowireId, StatusCode,
};
use crate::discard::Discard;
use crate::pseudowire::{Pseudowire, PseudowireSettings, PseudowireState, Said};
use std::net::Ipv4Addr;

/// Which pseudowire: the other router, and what it is called.
type Key = (Ipv4Addr, PseudowireId);

impl Speaker {
    pub(super) fn wire(&mut self, settings: PseudowireSettings, out: &mut Vec<Out>) {
        let key = (settings.peer, settings.id.clone());
        let said = self.wires.get(&key).and_then(|it| it.said.clone());
        let is_only_status = self.wires.get(&key).is_some_and(|it| {
            PseudowireSettings { status: settings.status, ..it.settings.clone() } == settings
        });
        if is_only_status {
            return self.own_status(&key, settings.status, out);
        }
        self.wire_gone(key.0, key.1.clone(), out);
        let Some(label) = self.labels.take() else { return };
        self.bound.insert(label);
        let state = PseudowireState::Unsaid;
        let early = self.take_early(&key);
        let wire = Pseudowire { settings, label, is_told: false, said: said.or(early), state };
        self.wires.insert(key.clone(), wire);
        self.tell_wire(&key);
        self.look_at(&key, out);
    }

    pub(super) fn wire_gone(&mut self, peer: Ipv4Addr, id: PseudowireId, out: &mut Vec<Out>) {
        let key = (peer, id);
        if !self.wires.contains_key(&key) {
            return;
        }
        self.withdraw_wire(&key);
        let Some(wire) = self.wires.remove(&key) else { return };
        self.bound.remove(&wire.label);
        self.let_go(wire.label);
        if matches!(wire.state, PseudowireState::Up { .. }) {
            out.push(Out::Pseudowire(key.0, key.1.clone(), PseudowireState::Unsaid));
        }
        if let Some(said) = wire.said {
            self.keep_early(key, said);
        }
    }

    /// What a peer says of a pseudowire that is not there yet is kept (liberal retention).
    fn keep_early(&mut self, key: Key, said: Said) {
        let limit = self.settings.limits.early;
        let its = self.early.entry(key.0).or_default();
        if its.len() < limit || its.contains_key(&key.1) {
            its.insert(key.1, said);
        } else {
            self.discard(Discard::Bindings);
        }
    }

    fn take_early(&mut self, key: &Key) -> Option<Said> {
        let its = self.early.get_mut(&key.0)?;
        let said = its.remove(&key.1);
        if its.is_empty() {
            self.early.remove(&key.0);
        }
        said
    }

    fn session_of(&mut self, peer: Ipv4Addr) -> Option<&mut crate::session::Session> {
        self.sessions.get_mut(&LdpId::of(peer)).filter(|it| it.is_operational())
    }

    fn tell_wire(&mut self, key: &Key) {
        let Some(wire) = self.wires.get(key).filter(|it| !it.is_told) else { return };
        let has_names = matches!(key.1, PseudowireId::Names { .. });
        let body = LabelBody {
            fecs: vec![wire.fec()],
            label: Some(wire.label),
            request: None,
            pw_status: Some(wire.settings.status),
            mtu: has_names.then_some(wire.settings.mtu),
        };
        let label = wire.label;
        let Some(session) = self.session_of(key.0) else { return };
        session.say(&Body::Label(MessageType::LabelMapping, body));
        if !self.bindings.is_held(label) {
            self.bindings.hold(label);
        }
        if let Some(wire) = self.wires.get_mut(key) {
            wire.is_told = true;
        }
    }

    fn withdraw_wire(&mut self, key: &Key) {
        let Some(wire) = self.wires.get_mut(key).filter(|it| it.is_told) else { return };
        wire.is_told = false;
        let (fecs, label) = (vec![wire.fec()], Some(wire.label));
        let body = LabelBody { fecs, label, ..LabelBody::default() };
        if let Some(session) = self.session_of(key.0) {
            session.say(&Body::Label(MessageType::LabelWithdraw, body));
        }
    }

    /// Its own state is another one (RFC 8077 §5.4).
    fn own_status(&mut self, key: &Key, status: u32, out: &mut Vec<Out>) {
        let Some(wire) = self.wires.get_mut(key) else { return };
        wire.settings.status = status;
        if wire.is_told {
            let notification = Notification {
                fecs: vec![wire.fec()],
                pw_status: Some(status),
                ..Notification::of(StatusCode::PwStatus, (0, 0))
            };
            if let Some(session) = self.session_of(key.0) {
                session.say(&Body::Notification(notification));
            }
        }
        self.look_at(key, out);
    }

    /// Tells what has become of a pseudowire.
    fn look_at(&mut self, key: &Key, out: &mut Vec<Out>) {
        let Some(wire) = self.wires.get_mut(key) else { return };
        let now = wire.now();
        if core::mem::replace(&mut wire.state, now) != now {
            out.push(Out::Pseudowire(key.0, key.1.clone(), now));
        }
    }

    /// A session stands.
    pub(super) fn wires_stand(&mut self, peer: Ipv4Addr, out: &mut Vec<Out>) {
        for key in self.keys(peer) {
            self.tell_wire(&key);
            self.look_at(&key, out);
        }
    }

    /// A session is no more.
    pub(super) fn wires_lost(&mut self, peer: Ipv4Addr, out: &mut Vec<Out>) {
        self.early.remove(&peer);
        for key in self.keys(peer) {
            if let Some(wire) = self.wires.get_mut(&key) {
                (wire.is_told, wire.said) = (false, None);
            }
            self.look_at(&key, out);
        }
    }

    fn keys(&self, peer: Ipv4Addr) -> Vec<Key> {
        self.wires.keys().filter(|it| it.0 == peer).cloned().collect()
    }

    /// Pseudowires that a FEC of a peer means: that one, or all of a group.
    fn meant(&self, peer: Ipv4Addr, fec: &PseudowireFec) -> Vec<Key> {
        match &fec.id {
            Some(id) => vec![(peer, id.reversed())],
            None => {
                let of = self.wires.iter().filter(|((to, _), wire)| {
                    let said = wire.said.as_ref().map(|it| &it.fec);
                    *to == peer && said.is_some_and(|it| it.group == fec.group)
                });
                of.map(|(key, _)| key.clone()).collect()
            }
        }
    }

    pub(super) fn wire_message(
        &mut self,
        peer: LdpId,
        kind: MessageType,
        fec: &PseudowireFec,
        it: &LabelBody,
        out: &mut Vec<Out>,
    ) {
        let keys = self.meant(peer.router, fec);
        for key in keys {
            match (kind, it.label) {
                (MessageType::LabelMapping, Some(label)) => {
                    let said = Said {
                        label,
                        mtu: fec.mtu.or(it.mtu),
                        status: it.pw_status.unwrap_or(0),
                        fec: fec.clone(),
                    };
                    self.wire_mapped(&key, said);
                }
                (MessageType::LabelWithdraw, _) => {
                    self.take_early(&key);
                    if let Some(wire) = self.wires.get_mut(&key) {
                        wire.said = None;
                    }
                }
                _ => {}
            }
            self.look_at(&key, out);
        }
        if kind == MessageType::LabelWithdraw
            && let Some(session) = self.session_of(peer.router)
        {
            let fecs = vec![Fec::Pseudowire(fec.clone())];
            let body = LabelBody { fecs, label: it.label, ..LabelBody::default() };
            session.say(&Body::Label(MessageType::LabelRelease, body));
        }
    }

    fn wire_mapped(&mut self, key: &Key, said: Said) {
        let Some(wire) = self.wires.get_mut(key) else {
            return self.keep_early(key.clone(), said);
        };
        let before = wire.has_control_word();
        let is_told = wire.is_told;
        if before && !said.fec.has_control_word && is_told {
            // It is said anew without a control word (RFC 8077 §7.2).
            self.withdraw_wire(key);
        }
        if let Some(wire) = self.wires.get_mut(key) {
            wire.said = Some(said);
        }
        self.tell_wire(key);
    }

    /// The other end's state is another one.
    pub(super) fn wire_status(
        &mut self,
        peer: Ipv4Addr,
        fecs: &[Fec],
        status: u32,
        out: &mut Vec<Out>,
    ) {
        for fec in fecs {
            let Fec::Pseudowire(fec) = fec else { continue };
            for key in self.meant(peer, fec) {
                if let Some(said) = self.wires.get_mut(&key).and_then(|it| it.said.as_mut()) {
                    said.status = status;
                }
                self.look_at(&key, out);
            }
        }
    }

    /// The other end shall forget addresses.
    pub(super) fn forget_macs(&mut self, peer: Ipv4Addr, id: PseudowireId, macs: Vec<[u8; 6]>) {
        let key = (peer, id);
        let Some(fec) = self.wires.get(&key).filter(|it| it.is_told).map(Pseudowire::fec) else {
            return;
        };
        if let Some(session) = self.session_of(peer) {
            let pieces: Vec<Vec<[u8; 6]>> = if macs.is_empty() {
                vec![Vec::new()]
            } else {
                macs.chunks(500).map(<[_]>::to_vec).collect()
            };
            for piece in pieces {
                session.say(&Body::MacWithdraw(vec![fec.clone()], piece));
            }
        }
    }

    pub(super) fn macs_withdrawn(
        &mut self,
        peer: LdpId,
        fecs: &[Fec],
        macs: &[[u8; 6]],
        out: &mut Vec<Out>,
    ) {
        for fec in fecs {
            let Fec::Pseudowire(fec) = fec else { continue };
            for key in self.meant(peer.router, fec) {
                if self.wires.contains_key(&key) {
                    out.push(Out::ForgetMacs(key.0, key.1, macs.to_vec()));
                }
            }
        }
    }
}
