//! A flood of REGISTERs with forged sources: who can answer a challenge has a return path, and is
//! let through ([`sip::Challenger`]).
//!
//! ```text
//! phone ── REGISTER ──────────────────→ 401 (nothing is kept)
//! phone ── REGISTER, our nonce ───────→ proven; without that line to the core ─→ core
//! phone ←─ 401, stale=TRUE ←──────────────────────────────────────────── 401 ─── core
//! phone ── REGISTER, the core's nonce ─────────────────────────────────────────→ core
//! ```

use super::{REGISTER, kind};
use crate::facts::Fact;
use crate::{Arrived, Controller};
use machine::Time;
use machine::slots::Key;
use media_stack::Verdict;
use runtime::{Effects, Flow, Transport};
use sip::{Message, RequestHead, Unproved, Via, write_stale};
use sip_stack::realm::{RealmId, Side};

/// What the challenges of a flood leave behind.
#[derive(Debug)]
pub(crate) struct Challenges {
    pub(crate) challenger: sip::Challenger,
    /// A REGISTER without the Authorization that was ours, or an answer on its way.
    pub(crate) text: Vec<u8>,
    /// Whether the message that is dealt with came with such an Authorization.
    pub(crate) is_answered: bool,
}

impl Challenges {
    /// With secrets that nobody else knows.
    pub(crate) fn new(secrets: [u128; 2]) -> Self {
        let challenger = sip::Challenger::new(secrets);
        Self { challenger, text: Vec::new(), is_answered: false }
    }
}

impl Controller {
    /// A REGISTER of an unknown source in a flood: whether it proves its return path. If not, it
    /// is asked for a proof, as far as there is room for answers.
    pub(super) fn proves(
        &mut self,
        now: Time,
        flow: &Flow,
        realm: RealmId,
        bytes: &[u8],
        out: &mut Effects,
    ) -> bool {
        let challenger = &self.challenges.challenger;
        if challenger.proof(now, flow.remote, bytes).is_some() {
            self.policer.prove(now, flow.remote.ip());
            self.egress.facts.add(Fact::ShieldProven, 1);
            return true;
        }
        let is_access = self.border.realms.row(realm).side == Side::Access;
        let is_asked = is_access && self.policer.may_challenge(now);
        let fact = match is_asked.then(|| self.challenge(now, flow, bytes, out)).flatten() {
            Some(()) => Fact::ShieldChallenged,
            None => Fact::ShieldRegisters,
        };
        self.egress.facts.add(fact, 1);
        false
    }

    fn challenge(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) -> Option<()> {
        let peek = RequestHead::read(bytes).filter(|peek| !peek.is_tagged())?;
        let via = Via::parse(peek.via).ok()?;
        let tag = self.overload.refused.tag(self.overload.refused.name(&peek));
        let realm = self.config.shield.challenge_realm.as_deref();
        let challenges = &mut self.challenges;
        challenges.text.clear();
        let unproved = Unproved { head: &peek, via: &via, from: flow.remote, tag: &tag };
        let is_written = challenges.challenger.write(now, &unproved, realm, &mut challenges.text);
        is_written.then(|| {
            let to = sip_stack::upstream::answered_at(flow, &via);
            out.send(to, |answer| answer.extend_from_slice(&challenges.text));
            self.egress.facts.add(Fact::MessagesSent, 1);
        })
    }

    /// A message without the Authorization that answered a challenge of ours: nobody else knows
    /// its nonce. Written to `text`.
    pub(crate) fn without_proof<'a>(
        &mut self,
        now: Time,
        flow: &Flow,
        bytes: &'a [u8],
        text: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        self.challenges.is_answered = false;
        if kind(bytes) != REGISTER || flow.transport != Transport::Udp {
            return bytes;
        }
        let Some(line) = self.challenges.challenger.proof(now, flow.remote, bytes) else {
            return bytes;
        };
        self.challenges.is_answered = true;
        text.clear();
        text.extend_from_slice(&bytes[..line.start]);
        text.extend_from_slice(&bytes[line.end..]);
        text
    }

    /// The core challenges a REGISTER: its realm is learnt, and a phone that has answered our
    /// challenge is told to try again with the same credentials. `true` when it was told so here.
    pub(crate) fn challenged(
        &mut self,
        at: &Arrived<'_>,
        key: Key,
        pending: Key,
        out: &mut Effects,
    ) -> bool {
        let Some(record) = self.registrar.record(pending) else { return false };
        if let Some(domain) = record.domain() {
            self.challenges.challenger.learn(domain, at.message);
        }
        let is_answered = record.is_answered;
        let mut text = core::mem::take(&mut self.challenges.text);
        text.clear();
        let mut room = None;
        let stale = (is_answered && write_stale(at.message.raw(), &mut text))
            .then(|| Message::parse_in(&mut room, &text).ok())
            .flatten();
        let is_told = stale.is_some();
        if let Some(message) = stale {
            self.pass_back(&Arrived { message, ..*at }, key, (401, Verdict::Same), out);
        }
        self.challenges.text = text;
        is_told
    }
}
