//! What neighbours say: of those that were asked, of those that ask, and of those that announce
//! themselves (RFC 4861 §7.2.5, RFC 5227 §2.4).
//!
//! ```text
//!   Known ── another MAC address is claimed ──→ the old one is asked, twice in 400 ms
//!     ↑──────────────── it answers ────────────────┤
//!   the claimed one, to be confirmed ←── silence ──┘
//! ```
//! A claim never takes the place of a neighbour that answers, whether it says so or was "asked
//! for": neither ARP nor neighbour discovery proves who speaks.

use super::entries::{Class, Key, Reason, State};
use super::{DELAY, Plane, REACHABLE};
use machine::Time;
use nodes::{Out, Speech};
use program::Mac;
use std::time::Duration;

/// Questions to a neighbour whose address is claimed.
const CLAIM_TRIES_MAX: u8 = 2;
/// Between them.
pub(super) const CLAIM_RETRANSMIT: Duration = Duration::from_millis(200);
/// After a neighbour has answered, claims of its address are not looked at for so long.
const CLAIM_PAUSE: Duration = Duration::from_secs(1);

impl Plane {
    /// A neighbour spoke.
    pub(in super::super) fn neighbour_heard(
        &mut self,
        key: Key,
        mac: Mac,
        speech: Speech,
        out: &mut Vec<Out>,
    ) {
        if !self.is_expected(key, speech) {
            return self.neighbours.count(key.0, Reason::Unasked);
        }
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        if entry.state == State::Static {
            return;
        }
        let answers = matches!(speech, Speech::Answer { .. }) && self.now < entry.answers_until;
        match entry.mac {
            Some(known) if known != mac => self.claimed(key, mac, speech),
            Some(_) if answers => self.confirmed(key),
            Some(_) => {}
            None => self.learnt(key, mac, answers, out),
        }
    }

    /// Whether a neighbour is there, or may be made because it asks for us: it will want an answer
    /// to what comes next. An answer that nobody asked for makes none (RFC 6583 §6).
    fn is_expected(&mut self, key: Key, speech: Speech) -> bool {
        if !self.is_neighbourly(key) && !self.neighbours.entries.contains_key(&key) {
            return false;
        }
        self.neighbours.is_no_longer_silent(key);
        if self.neighbours.entries.contains_key(&key) {
            return true;
        }
        if speech != Speech::Question {
            return false;
        }
        match self.neighbour_entry(key, Some(Class::Heard)) {
            Ok(()) => true,
            Err(why) => {
                self.neighbours.count(key.0, why);
                false
            }
        }
    }

    /// The MAC address of one that had none.
    fn learnt(&mut self, key: Key, mac: Mac, answers: bool, out: &mut Vec<Out>) {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        let gives_way = entry.users == 0 && !answers;
        entry.confirmed = answers;
        entry.answers_until = Time::ZERO;
        if gives_way {
            let holder = (self.vrf_of(key.0).unwrap_or(0), key.0);
            while let Some((oldest, why)) = self.neighbours.over(holder, Class::Heard) {
                self.neighbours.count(key.0, why);
                if self.lost(oldest).is_err() {
                    return;
                }
            }
        }
        // What cannot be put into the tables is asked for again.
        if self.resolved(key, mac).is_err() {
            return;
        }
        self.neighbours.set(&key, State::Known);
        self.neighbours.schedule(&key, self.now + if answers { REACHABLE } else { DELAY });
        let (interface, address) = key;
        out.push(Out::Neighbour { interface, address, mac: Some(mac) });
        let entry = self.neighbours.entries.get_mut(&key);
        let held = entry.map(|entry| std::mem::take(&mut entry.held)).unwrap_or_default();
        out.extend(held.into_iter().map(|(vrf, packet)| Out::Route { vrf, packet }));
    }

    /// One that was asked is still where it was.
    fn confirmed(&mut self, key: Key) {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        entry.confirmed = true;
        entry.answers_until = Time::ZERO;
        entry.claims_from = self.now + CLAIM_PAUSE;
        if let Some(mac) = entry.mac {
            self.shared.admitted.known.note(key.0, key.1, mac);
        }
        if entry.claim.take().is_some() {
            self.neighbours.count(key.0, Reason::ClaimRefuted);
        }
        self.neighbours.set(&key, State::Known);
        self.neighbours.schedule(&key, self.now + REACHABLE);
    }

    /// Somebody says that a neighbour has another MAC address: it is asked where it was.
    fn claimed(&mut self, key: Key, mac: Mac, speech: Speech) {
        self.neighbours.count(key.0, Reason::Claimed);
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return };
        if self.now < entry.claims_from || entry.claim.is_some() {
            return;
        }
        let overrides = match speech {
            Speech::Answer { overrides } | Speech::Announcement { overrides } => overrides,
            Speech::Question => true,
        };
        if !overrides {
            // What is known stays, and is only doubted (RFC 4861 §7.2.5, I.c.).
            if entry.state == State::Known {
                self.neighbours.schedule(&key, self.now);
            }
            return;
        }
        entry.claim = Some(mac);
        self.neighbours.set(&key, State::Probed);
        self.neighbours.schedule(&key, self.now);
    }

    /// Takes a claim that the neighbour left unanswered; says whether it was one.
    pub(super) fn claim_due(&mut self, key: Key, out: &mut Vec<Out>) -> bool {
        let Some(entry) = self.neighbours.entries.get_mut(&key) else { return false };
        let Some(mac) = entry.claim.filter(|_| entry.tries >= CLAIM_TRIES_MAX) else {
            return false;
        };
        entry.claim = None;
        self.neighbours.count(key.0, Reason::ClaimTaken);
        self.learnt(key, mac, false, out);
        true
    }
}
