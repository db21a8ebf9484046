//! Labels of prefixes: given, told, taken back (RFC 5036 §2.6, §A.1).

use super::{Out, Speaker};
use crate::bindings::Binding;
use crate::codec::{Body, Fec, LabelBody, LdpId, MessageType, Prefix, StatusCode};
use crate::discard::Discard;
use crate::settings::{Control, IMPLICIT_NULL, LabelHop, NextHop};
use machine::{Duration, Time};

/// Of all labels a peer may owe that part.
const OWED_PART: u32 = 4;
/// Time in which a peer gives some label back that is withdrawn.
const OWED_FOR: Duration = Duration::from_secs(300);

impl Speaker {
    /// A route is that one, or is no more.
    pub(super) fn route(&mut self, prefix: Prefix, hops: Option<Vec<NextHop>>, out: &mut Vec<Out>) {
        match hops {
            Some(hops) => {
                let binding = self.bindings.prefixes.entry(prefix).or_default();
                // What was our own is somebody else's now, or the other way round.
                let is_other =
                    binding.hops.is_empty() != hops.is_empty() && binding.label.is_some();
                self.bindings.lead(prefix, hops);
                if is_other {
                    self.unbind(prefix, out);
                }
            }
            None => {
                self.unbind(prefix, out);
                self.bindings.lead_nowhere(prefix);
                self.bindings.prefixes.remove(&prefix);
                return;
            }
        }
        self.refresh(prefix, out);
    }

    /// A label of ours is not held by a peer any more; with the last one it is free.
    pub(super) fn let_go(&mut self, label: u32) {
        self.bindings.let_go(label);
        self.free(label);
    }

    fn free(&mut self, label: u32) {
        let (first, last) = self.settings.labels;
        let is_bound = self.bound.contains(&label);
        if (first..=last).contains(&label) && !is_bound && !self.bindings.is_held(label) {
            self.labels.give_back(label);
        }
    }

    /// The label of a prefix goes: everybody shall give it back.
    fn unbind(&mut self, prefix: Prefix, out: &mut Vec<Out>) {
        self.bindings.lacking.remove(&prefix);
        let Some(binding) = self.bindings.prefixes.get_mut(&prefix) else { return };
        if binding.forwarded.take().is_some() {
            out.push(Out::Unlabelled(prefix));
        }
        let Some(label) = binding.label.take() else { return };
        self.bound.remove(&label);
        for session in self.sessions.values_mut() {
            let Some(told) = session.told.remove(&prefix) else { continue };
            let fecs = vec![Fec::Prefix(prefix)];
            let said = LabelBody { fecs, label: Some(told), ..LabelBody::default() };
            session.say(&Body::Label(MessageType::LabelWithdraw, said));
            if told == IMPLICIT_NULL || !session.releasing.insert(told) {
                self.bindings.let_go(told);
            }
        }
        self.free(label);
    }

    /// A session stands: it is told all labels that there are. What others were told stays.
    pub(super) fn tell_all(&mut self, peer: LdpId) {
        let Some(session) = self.sessions.get_mut(&peer) else { return };
        let mut held = Vec::new();
        for (prefix, binding) in &self.bindings.prefixes {
            let Some(label) = binding.label.filter(|_| !session.told.contains(prefix)) else {
                continue;
            };
            let request = session.waiting.remove(prefix);
            let fecs = vec![Fec::Prefix(*prefix)];
            let said = LabelBody { fecs, label: Some(label), request, ..LabelBody::default() };
            session.say(&Body::Label(MessageType::LabelMapping, said));
            session.told.insert(*prefix, label);
            held.push(label);
        }
        held.into_iter().for_each(|label| self.bindings.hold(label));
    }

    /// Gives labels that have come back to prefixes that lack one.
    pub(super) fn refresh_lacking(&mut self, out: &mut Vec<Out>) {
        while self.labels.is_there()
            && let Some(prefix) = self.bindings.lacking.pop_first()
        {
            self.refresh(prefix, out);
        }
    }

    /// Sessions whose peers owe too many labels, or have given none of them back for too long: with
    /// the session they have none any more.
    pub(super) fn end_debtors(&mut self, now: Time, out: &mut Vec<Out>) {
        let (first, last) = self.settings.labels;
        let most = ((last - first) / OWED_PART) as usize;
        let mut ends = Vec::new();
        for session in self.sessions.values_mut() {
            let owes_at = &mut session.timers.owes_at;
            if session.releasing.is_empty() {
                *owes_at = Time::MAX;
            } else if *owes_at == Time::MAX {
                *owes_at = now + OWED_FOR;
            }
            if session.releasing.len() > most || *owes_at <= now {
                ends.push(session.peer);
            }
        }
        for peer in ends {
            self.discard(Discard::Owed);
            self.end_session(now, peer, Some(StatusCode::Shutdown), out);
        }
    }

    /// Looks at what goes by gateways that are another peer's.
    pub(super) fn refresh_gateways(&mut self, out: &mut Vec<Out>) {
        if !self.bindings.changed.is_empty() {
            let changed = self.bindings.take_changed();
            changed.into_iter().for_each(|prefix| self.refresh(prefix, out));
        }
    }

    /// Ways out of a prefix, with the labels that their next hops have.
    fn labelled(&self, prefix: Prefix, binding: &Binding) -> Vec<LabelHop> {
        let labelled = |hop: &NextHop| LabelHop {
            interface: hop.interface,
            gateway: hop.gateway,
            label: self.advertised(prefix, hop),
        };
        binding.hops.iter().map(labelled).collect()
    }

    /// The label that a next hop has told for a prefix, in use or not. A next hop is the peer that
    /// is heard on that interface, of several the one that said the address first: what peers of
    /// other links say of it is nothing. One that is heard nowhere, and whose labels are kept until
    /// it is back (RFC 3478), is where it was.
    #[must_use]
    pub fn advertised(&self, prefix: Prefix, hop: &NextHop) -> Option<u32> {
        let counts = |peer: &LdpId| {
            let is_kept = || self.adjacencies.of_peer(*peer).next().is_none();
            self.adjacencies.has(*peer, hop.interface) || is_kept()
        };
        let peer = self.bindings.speakers(hop.gateway).find(counts)?;
        self.sessions.get(&peer)?.remote.get(&prefix)
    }

    /// Does what there is to do for a prefix, whatever has changed.
    pub(super) fn refresh(&mut self, prefix: Prefix, out: &mut Vec<Out>) {
        let Some(binding) = self.bindings.prefixes.get(&prefix) else { return };
        let is_own = binding.hops.is_empty();
        let hops = self.labelled(prefix, binding);
        let has_label = hops.iter().any(|hop| hop.label.is_some());
        let may_tell = is_own || has_label || self.settings.control == Control::Independent;
        if !may_tell {
            return self.unbind(prefix, out);
        }
        let Some(label) = self.own_label(prefix, is_own) else { return };
        self.tell(prefix, label);
        let Some(binding) = self.bindings.prefixes.get_mut(&prefix) else { return };
        let forwarded = (label, hops);
        if !is_own && binding.forwarded.as_ref() != Some(&forwarded) {
            let (label, hops) = forwarded.clone();
            binding.forwarded = Some(forwarded);
            out.push(Out::Forward { prefix, label, hops });
        }
    }

    /// The label of a prefix; none where there are none left.
    fn own_label(&mut self, prefix: Prefix, is_own: bool) -> Option<u32> {
        let binding = self.bindings.prefixes.get_mut(&prefix)?;
        if binding.label.is_none() {
            binding.label = if is_own { Some(IMPLICIT_NULL) } else { self.labels.take() };
            self.bound.extend(binding.label);
            if binding.label.is_none() {
                self.bindings.lacking.insert(prefix);
            }
        }
        binding.label
    }

    /// Tells everybody who was not told.
    fn tell(&mut self, prefix: Prefix, label: u32) {
        for session in self.sessions.values_mut().filter(|it| it.is_operational()) {
            let request = session.waiting.remove(&prefix);
            if session.told.contains(&prefix) && request.is_none() {
                continue;
            }
            let fecs = vec![Fec::Prefix(prefix)];
            let said = LabelBody { fecs, label: Some(label), request, ..LabelBody::default() };
            session.say(&Body::Label(MessageType::LabelMapping, said));
            if session.told.insert(prefix, label).is_none() {
                self.bindings.hold(label);
            }
        }
    }
}
