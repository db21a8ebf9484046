//! One subscription to the registrations of a public user identity.
//!
//! ```text
//!          due           2xx                 time, or NOTIFY says so
//! Waiting ────→ Asked ───────→ Standing ──────────────────────────→ Asked again
//!    ↑            │ refused       │ its dialog is over
//!    └────────────┴───────────────┘      no phone is bound: Leaving, gone
//! ```

use dialog::{RouteSet, Subscription, SubscriptionPhase};
use machine::identity::{Side, TOKEN_BYTES, Token};
use machine::narrow::halves;
use machine::slots::{Key, Reuse};
use machine::{Duration, Time};
use runtime::Flow;
use transaction::Timers;

/// A subscription lasts this much longer than the registration (TS 24.229 §5.2.3: its Expires is
/// higher than that of the 200).
const BEYOND_S: u32 = 600;
/// One for longer than this is renewed [`AHEAD_S`] before its end, another at half of its time.
const LONG_S: u32 = 1_200;
const AHEAD_S: u32 = 600;
/// After the first failure; twice as long after each other one.
const AGAIN: Duration = Duration::from_secs(30);
/// The longest wait, and that after an answer that will not change soon.
pub(crate) const AGAIN_MAX: Duration = Duration::from_secs(3_600);
/// A transaction says what became of a SUBSCRIBE before this is over.
const ANSWERED: Duration = Duration::from_secs(64);

/// RFC 3261 §17.1.1.1.
pub(crate) const TIMERS: Timers = Timers {
    t1: Duration::from_millis(500),
    t2: Duration::from_secs(4),
    t4: Duration::from_secs(5),
};

/// How far a subscription is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    /// A SUBSCRIBE leaves when it is due.
    #[default]
    Waiting,
    /// A SUBSCRIBE was sent.
    Asked,
    /// The core has accepted it.
    Standing,
    /// A SUBSCRIBE that takes it back was sent.
    Leaving,
}

impl Stage {
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Asked, Self::Standing, Self::Leaving];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Asked => "asked",
            Self::Standing => "standing",
            Self::Leaving => "leaving",
        }
    }
}

/// What the far end has said of its end of the dialog.
#[derive(Debug, Default)]
pub(crate) struct FarEnd {
    pub tag: Box<[u8]>,
    pub target: Box<[u8]>,
    pub routes: RouteSet,
    /// The number of its last request.
    pub cseq: Option<u32>,
    /// That of its last document.
    pub version: Option<u32>,
}

/// A subscription.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The index of the realm of its phones.
    pub realm: usize,
    /// The public user identity.
    pub identity: Box<[u8]>,
    /// The user part of the Path of the last registration: by it the core knows who subscribes.
    pub path: Box<[u8]>,
    /// The way to the core that registrations took last.
    pub core: Flow,
    /// By its halves our tag and the Call-ID are known.
    pub secret: u128,
    pub stage: Stage,
    pub usage: Option<Subscription>,
    pub far: FarEnd,
    /// The number of our last SUBSCRIBE.
    pub cseq: u32,
    /// When the first SUBSCRIBE of its dialog left: what the core tells in it is newer.
    pub began: Time,
    /// Seconds that the core has given the registration, or wants at least.
    pub granted_s: u32,
    /// When the subscription ends as the core said last.
    pub expires: Time,
    /// When it is renewed.
    pub renew: Time,
    /// When something is to be done.
    pub due: Time,
    /// Whether no phone was bound when the core last told something.
    pub is_unneeded: bool,
    /// SUBSCRIBEs that have failed one after the other.
    pub failures: u8,
    /// The answer to the last that failed.
    pub refused: u16,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            realm: 0,
            identity: Box::default(),
            path: Box::default(),
            core: Flow::NOWHERE,
            secret: 0,
            stage: Stage::Waiting,
            usage: None,
            far: FarEnd::default(),
            cseq: 0,
            began: Time::ZERO,
            granted_s: 0,
            expires: Time::ZERO,
            renew: Time::MAX,
            due: Time::MAX,
            is_unneeded: false,
            failures: 0,
            refused: 0,
        }
    }
}

impl Reuse for Watch {
    fn reuse(&mut self) {
        *self = Self::default();
    }
}

/// What is to be done when a subscription is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A SUBSCRIBE leaves by that flow.
    Subscribe(Flow),
    /// Nothing yet.
    Wait,
    /// It is over.
    Over,
}

impl Watch {
    fn token(&self, shard: u16, key: Key, side: Side) -> Token {
        let [low, high] = halves(self.secret);
        Token::new(if side == Side::A { low } else { high }, shard, key, side)
    }

    /// Our tag.
    pub fn tag(&self, shard: u16, key: Key) -> [u8; TOKEN_BYTES] {
        self.token(shard, key, Side::A).write()
    }

    pub fn call_id(&self, shard: u16, key: Key) -> [u8; TOKEN_BYTES] {
        self.token(shard, key, Side::B).write()
    }

    pub fn trail(&self) -> u64 {
        let [low, high] = halves(self.secret);
        machine::identity::mix(low ^ high.rotate_left(7))
    }

    /// Whether its dialog stands.
    pub fn has_dialog(&self) -> bool {
        let phase = self.usage.as_ref().map(Subscription::phase);
        !self.far.tag.is_empty() && phase.is_some_and(|it| it != SubscriptionPhase::Terminated)
    }

    /// Its dialog is over: the next SUBSCRIBE makes another one.
    pub fn begin_anew(&mut self, secret: u128) {
        (self.secret, self.cseq, self.usage) = (secret, 0, None);
        (self.far, self.stage, self.expires) = (FarEnd::default(), Stage::Waiting, Time::ZERO);
        self.began = Time::ZERO;
    }

    /// It is due.
    pub(crate) fn next(&mut self, now: Time, is_needed: bool, anew: u128) -> Next {
        if self.due > now {
            return Next::Wait;
        }
        if self.stage == Stage::Leaving {
            return Next::Over;
        }
        let was_silent = self.stage == Stage::Asked;
        let is_over = self.usage.as_mut().is_some_and(|usage| usage.tick(now));
        if is_over || was_silent {
            // No NOTIFY came in time (RFC 6665 §4.1.2.4), or nobody renewed it.
            let was_heard = self.far.version.is_some() && !was_silent;
            self.begin_anew(anew);
            if !was_heard && is_needed {
                self.later(now, Duration::ZERO);
                return Next::Wait;
            }
        }
        if !is_needed && !self.has_dialog() {
            return Next::Over;
        }
        self.stage = if is_needed { Stage::Asked } else { Stage::Leaving };
        Next::Subscribe(self.core)
    }

    /// A SUBSCRIBE leaves.
    pub(crate) fn ask(&mut self, now: Time) {
        if self.cseq == 0 {
            self.began = now;
        }
        self.cseq = self.cseq.saturating_add(1);
        self.due = now + ANSWERED;
        if self.stage != Stage::Leaving && self.usage.is_none() {
            self.usage = Some(Subscription::subscriber(now, &TIMERS));
        }
    }

    /// Seconds that a SUBSCRIBE asks for.
    pub fn asked_s(&self) -> u32 {
        if self.stage == Stage::Leaving { 0 } else { self.granted_s.saturating_add(BEYOND_S) }
    }

    /// The next SUBSCRIBE leaves later: after a failure, and after `at_least`.
    pub(crate) fn later(&mut self, now: Time, at_least: Duration) {
        let doublings = u32::from(self.failures.min(7));
        self.failures = self.failures.saturating_add(1);
        let wait = (AGAIN * (1 << doublings)).max(at_least).min(AGAIN_MAX);
        self.due = now + wait;
        self.stage = if self.has_dialog() { Stage::Standing } else { Stage::Waiting };
    }

    /// It stands for so many seconds: it is renewed before, and looked at when no NOTIFY comes.
    pub(crate) fn renew_before(&mut self, now: Time, expires_s: u32) {
        self.expires = now + Duration::from_secs(expires_s.into());
        let left_s = if expires_s > LONG_S { expires_s - AHEAD_S } else { expires_s / 2 };
        self.renew = now + Duration::from_secs(left_s.max(1).into());
        let phase = self.usage.as_ref().map(Subscription::phase);
        self.due = match (phase, self.usage.and_then(|usage| usage.deadline())) {
            (Some(SubscriptionPhase::NotifyWait), Some(deadline)) => deadline.min(self.renew),
            _ => self.renew,
        };
    }

    /// A NOTIFY lets it end sooner than the answer to its SUBSCRIBE.
    pub(crate) fn ends_before(&mut self, now: Time, left_s: u32) {
        if now + Duration::from_secs(left_s.into()) < self.expires {
            let due = self.due;
            self.renew_before(now, left_s);
            self.due = self.due.min(due);
        }
    }

    /// A NOTIFY has come: none is awaited any more.
    pub(crate) fn heard(&mut self) {
        if self.stage == Stage::Standing {
            self.due = self.renew;
        }
    }
}
