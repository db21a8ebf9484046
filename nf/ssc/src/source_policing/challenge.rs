//! A flood of REGISTERs with forged sources: who can answer a challenge has a return path, and is
//! let through ([`sip::Challenger`]).
//!
//! ```text
//! phone ── REGISTER ──────────────────→ 401 (nothing is kept)
//! phone ── REGISTER, our nonce ───────→ proven; without that line to the core ─→ core
//! phone ←─ 401, stale=TRUE ←──────────────────────────────────────────── 401 ─── core
//! phone ── REGISTER, the core's nonce ─────────────────────────────────────────→ core
//! ```

use super::{Arriving, Context, REGISTER, SourcePolicer, kind};
use crate::metrics::Metric;
use machine::Time;
use runtime::{Effects, Flow, Transport};
use sip::{Message, RequestHead, Unproved, Via, write_stale};
use sip_stack::realm::Side;

/// What the challenges of a flood leave behind.
#[derive(Debug)]
pub(crate) struct Challenges {
    challenger: sip::Challenger,
    /// A REGISTER without the Authorization that was ours, or an answer on its way.
    text: Vec<u8>,
    /// Whether the message that is dealt with came with such an Authorization.
    is_answered: bool,
}

impl Challenges {
    /// With secrets that nobody else knows.
    pub(crate) fn new(secrets: [u128; 2]) -> Self {
        let challenger = sip::Challenger::new(secrets);
        Self { challenger, text: Vec::new(), is_answered: false }
    }
}

impl SourcePolicer {
    /// A REGISTER of an unknown source in a flood: whether it proves its return path. If not, it
    /// is asked for a proof, as far as there is room for answers.
    pub(super) fn proves(
        &mut self,
        arriving: &Arriving<'_>,
        by: &Context<'_>,
        out: &mut Effects,
    ) -> bool {
        let &Arriving { now, flow, realm, bytes } = arriving;
        let challenger = &self.challenges.challenger;
        if challenger.proof(now, flow.remote, bytes).is_some() {
            self.policer.prove(now, flow.remote.ip());
            by.metrics.add(Metric::ShieldProven, 1);
            return true;
        }
        let is_access = by.border.realms.row(realm).side == Side::Access;
        let is_asked = is_access && self.policer.may_challenge(now);
        let metric = match is_asked.then(|| self.challenge(arriving, by, out)).flatten() {
            Some(()) => Metric::ShieldChallenged,
            None => Metric::ShieldRegisters,
        };
        by.metrics.add(metric, 1);
        false
    }

    fn challenge(
        &mut self,
        arriving: &Arriving<'_>,
        by: &Context<'_>,
        out: &mut Effects,
    ) -> Option<()> {
        let &Arriving { now, flow, bytes, .. } = arriving;
        let peek = RequestHead::read(bytes).filter(|peek| !peek.is_tagged())?;
        let via = Via::parse(peek.via).ok()?;
        let tag = by.refused.tag(by.refused.name(&peek));
        let challenges = &mut self.challenges;
        challenges.text.clear();
        let unproved = Unproved { head: &peek, via: &via, from: flow.remote, tag: &tag };
        let is_written =
            challenges.challenger.write(now, &unproved, by.challenge_realm, &mut challenges.text);
        is_written.then(|| {
            let to = sip_stack::upstream::answered_at(flow, &via);
            out.send(to, |answer| answer.extend_from_slice(&challenges.text));
            by.metrics.add(Metric::MessagesSent, 1);
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

    /// Room for such a message; [`Self::reuse`] takes it back.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.challenges.text)
    }

    /// Takes room back.
    pub(crate) fn reuse(&mut self, text: Vec<u8>) {
        self.challenges.text = text;
    }

    /// Whether the message that is dealt with came with an answer to a challenge of ours.
    pub(crate) const fn is_answered(&self) -> bool {
        self.challenges.is_answered
    }

    /// The core challenges a REGISTER: its realm is learnt for the subscribers of `domain`; where
    /// our challenge was answered, the text of a challenge that says so.
    pub(crate) fn challenged(
        &mut self,
        message: &Message<'_>,
        domain: Option<&[u8]>,
        is_answered: bool,
    ) -> Option<Vec<u8>> {
        if let Some(domain) = domain {
            self.challenges.challenger.learn(domain, message);
        }
        let mut text = self.text();
        text.clear();
        if is_answered && write_stale(message.raw(), &mut text) {
            return Some(text);
        }
        self.reuse(text);
        None
    }
}
