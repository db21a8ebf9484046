//! Calls: two legs and what is under way between them.
//!
//! ```text
//!  caller ── leg A ── Call ── leg B (and early forks) ── callee
//!            tag a           tag b, own Call-ID
//! ```
//! A [`Relay`] is one request on its way from one leg to the other, with all that its response
//! needs. Calls and relays live in [`machine::slots`]; a message inside a dialog names its call by
//! our own tag.

mod ack;
mod answer;
pub(crate) mod calls;
mod charging;
mod connections;
mod in_dialog;
mod lost;
mod media;
mod open;
pub(crate) mod pending_invite;
pub(crate) mod relay;
pub(crate) mod relays;
mod released;
mod remap;
mod source;
mod teardown;
mod transfer;

use admission::Grant;
use machine::KeyedHash;
use machine::Time;
use machine::identity::{Side, mix};
use machine::slots::{Key, Reuse};
use media::Moving;
use sip_stack::leg::Leg;
use transfer::Handed;

/// What a call record stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// A session begun by INVITE.
    #[default]
    Session,
    /// A subscription begun by SUBSCRIBE or REFER.
    Subscription,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// No final answer yet.
    #[default]
    Early,
    /// The 2xx went to the asking side; its ACK has not come.
    Answered,
    /// Both legs stand.
    Confirmed,
    /// A BYE is under way.
    Ending,
}

/// Two legs that belong together.
#[derive(Debug, Default)]
pub struct Call {
    /// Secret of this call; its tokens and its trail are made from it.
    pub secret: u128,
    /// What it stands for.
    pub kind: Kind,
    /// How far it is.
    pub state: State,
    /// The asking leg.
    pub a: Leg,
    /// The asked leg: the answered fork, or the first one.
    pub b: Leg,
    /// Early dialogs of further forks.
    pub forks: Vec<Leg>,
    /// Forks seen so far.
    pub forks_seen: u8,
    /// The INVITE under way: the first one, or a re-INVITE. It stays until its ACK.
    pub invite: Option<Key>,
    /// Side that the INVITE under way came from.
    pub invite_from: Side,
    /// The INVITE under way at the other node of a pair, as it told it.
    pub pending_invite: Option<Box<[u8]>>,
    /// The ACK that the asked leg got.
    pub ack: KeptAck,
    /// BYEs of our own that wait for their answer.
    pub byes: u8,
    /// Whether a subscription made by REFER inside the session still lives.
    pub refer_until: Time,
    /// Whom the names of one leg were handed to.
    pub handed: Handed,
    /// When the INVITE came.
    pub started: Time,
    /// When the 2xx went out; `Time::ZERO` before.
    pub answered: Time,
    /// When the session is over unless it is refreshed; `Time::MAX` is never.
    pub session_end: Time,
    /// When the call is over whatever happens; `Time::MAX` is never.
    pub call_end: Time,
    /// What it takes of the limits.
    pub grant: Grant,
    /// Its media.
    pub media: CallMedia,
}

/// An ACK, kept when it had more than a bare one.
#[derive(Debug, Default)]
pub struct KeptAck {
    /// As it was sent.
    pub text: Option<Box<[u8]>>,
    /// Until when it is kept; `Time::ZERO` is not known, for another node took it over.
    pub until: Time,
}

/// The media of a call.
#[derive(Debug, Default)]
pub struct CallMedia {
    /// Their name with the client of the media controllers, where they are anchored.
    pub key: Option<Key>,
    /// The way to another media controller, while they are on it.
    pub moving: Option<Box<Moving>>,
}

impl Reuse for Call {
    fn reuse(&mut self) {
        self.a.clear();
        self.b.clear();
        self.forks.clear();
        let (a, b) = (core::mem::take(&mut self.a), core::mem::take(&mut self.b));
        let forks = core::mem::take(&mut self.forks);
        *self = Self { a, b, forks, ..Self::default() };
    }
}

impl Call {
    /// The check that the tokens of one leg carry.
    pub fn check(&self, side: Side) -> u64 {
        check(self.secret, side)
    }

    /// Names the call's trail in the service assurance.
    pub fn trail(&self) -> u64 {
        trail(self.secret)
    }

    /// A leg; of several forks the answered or first one.
    pub const fn leg(&self, side: Side) -> &Leg {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// A leg, to change.
    pub const fn leg_mut(&mut self, side: Side) -> &mut Leg {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// The asked leg with that fork number.
    pub fn fork(&self, fork: u8) -> Option<&Leg> {
        core::iter::once(&self.b).chain(&self.forks).find(|leg| leg.stands() && leg.fork == fork)
    }

    /// Makes the fork the call's asked leg; the one it takes the place of stays among the forks.
    pub fn choose(&mut self, fork: u8) {
        if self.b.fork == fork {
            return;
        }
        if let Some(chosen) = self.forks.iter_mut().find(|leg| leg.fork == fork) {
            core::mem::swap(chosen, &mut self.b);
        }
    }

    /// When the call wants to be looked at.
    pub fn due(&self) -> Time {
        let refer = if self.refer_until == Time::ZERO { Time::MAX } else { self.refer_until };
        let ack = match self.ack.until {
            Time::ZERO => Time::MAX,
            until => until,
        };
        self.session_end.min(self.call_end).min(refer).min(ack)
    }
}

/// The check of one side's tokens. It stands in the clear in each of them, so that it must not lead
/// back to the call's secret, and from there to the other leg and the trail.
pub fn check(secret: u128, side: Side) -> u64 {
    KeyedHash::of_secret(secret).hash(match side {
        Side::A => b"leg A",
        Side::B => b"leg B",
    })
}

/// The trail of a call. Every message asks for it and no far end sees it: half of the secret is
/// enough, and the other half keeps the checks apart from whoever knows trails.
#[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
pub const fn trail(secret: u128) -> u64 {
    mix(secret as u64 ^ 0x7472_6169_6c5f_7472)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What SplitMix64's finaliser makes of a word, undone.
    fn unmix(word: u64) -> u64 {
        let word = word ^ (word >> 31) ^ (word >> 62);
        let word = word.wrapping_mul(0x3196_42b2_d24d_8ec3);
        let word = word ^ (word >> 27) ^ (word >> 54);
        let word = word.wrapping_mul(0x96de_1b17_3f11_9089);
        word ^ (word >> 30) ^ (word >> 60)
    }

    #[test]
    fn the_check_of_a_leg_does_not_lead_to_the_other_leg() {
        // The checks were mixes of the call's random number once, and that of the next call came
        // from a counter: one tag of ours told all of them.
        let secret = 0x0123_4567_89ab_cdef_u128;
        let seen = check(secret, Side::A);
        assert_eq!(unmix(machine::identity::mix(seen)), seen, "the inverse is one");
        let guess = unmix(seen) ^ 0x6c65_675f_615f_6c65;
        for guess in [guess, unmix(seen), seen] {
            assert_ne!(check(guess.into(), Side::B), check(secret, Side::B));
            assert_ne!(
                machine::identity::mix(guess ^ 0x6c65_675f_625f_6c65),
                check(secret, Side::B)
            );
        }
        assert_ne!(check(secret, Side::A), check(secret, Side::B));
        assert_ne!(check(secret + 1, Side::A), check(secret, Side::A));
    }

    #[test]
    fn a_call_record_is_small() {
        // Beside it a live call has the text of two legs, 400 octets each as a rule, and four
        // transactions that only absorb.
        assert!(size_of::<Call>() <= 640, "{}", size_of::<Call>());
        assert!(size_of::<relay::Relay>() <= 512, "{}", size_of::<relay::Relay>());
    }
}
