//! A lite agent (RFC 8445 §7.3): every check is answered at once, and nothing is kept of one who
//! does not know the password.
//!
//! ```text
//!   request ─ checksum ─ user name, HMAC ─ attributes ─ role ─┬─ success, and the pair if chosen
//!      │               │ 400, 401        │ 420        │ 487   │
//!      └ dropped       └ few a second    └────────────┴───────┴ ANSWERS_PER_S
//! ```
//! No answer is longer than its request. A check that comes again from elsewhere is a copy, and
//! has none.

use super::candidate::host_priority;
use super::consent::{Consent, Due};
use super::credentials::Credentials;
use super::effects::{Counters, Datagram, In, Out, Pair, Role, Settings};
use super::pairs::{COMPONENTS_MAX, Pairs, priority};
use super::seen::{Known, Seen};
use crate::attribute::AttributeType;
use crate::error::ErrorCode;
use crate::guard::Algorithm;
use crate::message::{BINDING, Class, Integrity, Message, TransactionId};
use crate::random::Random;
use crate::write::Writer;
use core::net::SocketAddr;
use machine::bucket::{Bucket, Rate};
use machine::{Machine, Time};

/// Answers a second to who knows the password: what two agents with all their pairs ask for.
const ANSWERS_PER_S: f64 = 100.0;
const ANSWERS_BURST: u32 = 100;
/// Answers a second to who does not: one who is mistaken learns it, and no victim is flooded.
const REFUSALS_PER_S: f64 = 2.0;
const REFUSALS_BURST: u32 = 5;
/// Attributes that one answer says were not understood.
const UNKNOWN_MAX: usize = 8;

fn answers() -> Rate {
    Rate::new(ANSWERS_PER_S, Some(ANSWERS_BURST))
}

fn refusals() -> Rate {
    Rate::new(REFUSALS_PER_S, Some(REFUSALS_BURST))
}

/// One side of ICE, for the components of one stream.
#[derive(Debug)]
pub struct Agent {
    settings: Settings,
    pairs: Pairs,
    consents: [Option<Consent>; COMPONENTS_MAX as usize],
    answers: Bucket,
    refusals: Bucket,
    seen: Seen,
    random: Random,
    tie_breaker: u64,
    counters: Counters,
}

/// How a request is answered.
enum Answer {
    Success {
        algorithm: Algorithm,
        is_chosen: bool,
        priority: u32,
    },
    /// Refused, with an HMAC if who asks knows the password.
    Refusal(ErrorCode, Option<Algorithm>),
}

impl Agent {
    /// An agent by a seed that is used once.
    #[must_use]
    pub fn new(settings: Settings, seed: [u8; 32]) -> Self {
        let mut random = Random::new(seed);
        Self {
            settings,
            pairs: Pairs::default(),
            consents: [const { None }; COMPONENTS_MAX as usize],
            answers: Bucket::default(),
            refusals: Bucket::default(),
            tie_breaker: random.long(),
            seen: Seen::new(&mut random),
            random,
            counters: Counters::default(),
        }
    }

    /// The pair of a component, once it is chosen.
    #[must_use]
    pub fn pair(&self, component: u8) -> Option<Pair> {
        self.pairs.chosen(component)
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A datagram of STUN came between that pair.
    pub fn datagram(&mut self, now: Time, pair: Pair, octets: &[u8], out: &mut Vec<Out>) {
        let is_component = (1..=COMPONENTS_MAX).contains(&pair.component);
        let message = Message::read(octets).ok();
        let message = message.filter(|it| is_component && it.method == BINDING);
        if message.is_some_and(|it| it.class == Class::Request && !self.is_worth_it(now, &it)) {
            self.counters.shed += 1;
            return;
        }
        match message.filter(|it| it.fingerprint() == Some(true)) {
            Some(message) if message.class == Class::Request => {
                self.request(now, pair, &message, out);
            }
            Some(message) if matches!(message.class, Class::Success | Class::Error) => {
                self.response(now, pair, &message, out);
            }
            // An indication keeps a mapping of an address alive, and wants nothing.
            Some(_) => {}
            None => self.counters.ignored += 1,
        }
    }

    /// Whether a request would be answered at all, before its checksum and its HMAC are: a flood
    /// costs the reading of it.
    fn is_worth_it(&self, now: Time, message: &Message<'_>) -> bool {
        let name = message.value(AttributeType::Username);
        let may_be_known = name.is_some_and(|name| self.is_for_us(name));
        may_be_known && self.answers.has_room(now, answers())
            || self.refusals.has_room(now, refusals())
    }

    fn request(&mut self, now: Time, pair: Pair, message: &Message<'_>, out: &mut Vec<Out>) {
        let answer = self.judge(message);
        let is_known = !matches!(answer, Answer::Refusal(_, None));
        let (mut bucket, rate) =
            if is_known { (self.answers, answers()) } else { (self.refusals, refusals()) };
        if !bucket.has_room(now, rate) {
            self.counters.shed += 1;
            return;
        }
        let is_chosen = matches!(answer, Answer::Success { is_chosen: true, .. });
        if is_chosen && self.seen.look(message.transaction, pair) == Known::Elsewhere {
            self.counters.replayed += 1;
            return;
        }
        let octets = self.answer(message, pair.remote, &answer);
        if octets.len() > message.octets().len() {
            // Who sends less than an answer is no agent, and may name another as its source.
            self.counters.shed += 1;
            return;
        }
        bucket.take(now, rate);
        *if is_known { &mut self.answers } else { &mut self.refusals } = bucket;
        let Pair { component, local, remote } = pair;
        out.push(Out::Send(Datagram { component, local, remote, octets }));
        let Answer::Success { is_chosen, priority: remote, .. } = answer else {
            self.counters.refused += 1;
            return;
        };
        self.counters.answered += 1;
        self.pairs.checked(now, pair);
        if is_chosen {
            let local = host_priority(u16::from(pair.component));
            let (controlling, controlled) = match self.settings.role {
                Role::Controlled => (remote, local),
                Role::Controlling => (local, remote),
            };
            let priority = priority(controlling, controlled);
            if self.seen.look(message.transaction, pair) == Known::No {
                self.seen.keep(message.transaction, pair);
            }
            if self.seen.has_forgotten() && self.pairs.chosen(pair.component) != Some(pair) {
                self.ask(now, pair, priority, out);
            } else {
                self.choose(now, pair, priority, out);
            }
        }
    }

    /// A pair has to answer a check before it is used.
    fn ask(&mut self, now: Time, pair: Pair, priority: u64, out: &mut Vec<Out>) {
        if self.settings.remote.is_none() {
            return;
        }
        let transaction = self.seen.ask(now, pair, priority, &mut self.random);
        if let (Some(transaction), Some(remote)) = (transaction, &self.settings.remote) {
            let octets = self.check(pair.component, transaction, remote);
            let Pair { component, local, remote } = pair;
            self.counters.asked += 1;
            out.push(Out::Send(Datagram { component, local, remote, octets }));
        }
    }

    fn choose(&mut self, now: Time, pair: Pair, priority: u64, out: &mut Vec<Out>) {
        if !self.pairs.choose(now, pair, priority) {
            return;
        }
        out.push(Out::Nominated(pair));
        let asks = self.settings.asks_consent;
        if let Some(slot) = self.consents.get_mut(usize::from(pair.component - 1)) {
            *slot = asks.then(|| Consent::new(now, pair, &mut self.random));
        }
    }

    /// How a request is to be answered (RFC 8489 §9.1.3, RFC 8445 §7.3.1).
    fn judge(&self, message: &Message<'_>) -> Answer {
        let Some(name) = message.value(AttributeType::Username) else {
            return Answer::Refusal(ErrorCode::BadRequest, None);
        };
        if !self.is_for_us(name) {
            return Answer::Refusal(ErrorCode::Unauthenticated, None);
        }
        let algorithm = match message.integrity(self.settings.local.password().as_bytes()) {
            Integrity::Holds(algorithm) => algorithm,
            Integrity::Missing => return Answer::Refusal(ErrorCode::BadRequest, None),
            Integrity::Wrong => return Answer::Refusal(ErrorCode::Unauthenticated, None),
        };
        let known = Some(algorithm);
        if message.unknown_required(&mut [0]) > 0 {
            return Answer::Refusal(ErrorCode::UnknownAttribute, known);
        }
        let has = |kind| message.attribute(kind).is_some();
        // A lite agent cannot take the other role: the other side changes its own
        // (RFC 8445 §7.3.1.1, §7.2.5.1).
        let is_conflict = match self.settings.role {
            Role::Controlled => has(AttributeType::IceControlled),
            Role::Controlling => has(AttributeType::IceControlling),
        };
        if is_conflict {
            return Answer::Refusal(ErrorCode::RoleConflict, known);
        }
        let priority = message.attribute(AttributeType::Priority).map(|it| it.array::<4>());
        let Some(Ok(priority)) = priority else {
            return Answer::Refusal(ErrorCode::BadRequest, known);
        };
        let is_controlled = self.settings.role == Role::Controlled;
        let is_chosen = is_controlled && has(AttributeType::UseCandidate);
        Answer::Success { algorithm, is_chosen, priority: u32::from_be_bytes(priority) }
    }

    /// Whether a user name is our fragment, a colon, and that of the other side if it is known.
    fn is_for_us(&self, name: &[u8]) -> bool {
        let ours = self.settings.local.fragment().as_bytes();
        let theirs = name.strip_prefix(ours).and_then(|rest| rest.strip_prefix(b":"));
        match (theirs, &self.settings.remote) {
            (Some(theirs), Some(remote)) => theirs == remote.fragment().as_bytes(),
            // A check may come before the description that an answer carries.
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// The octets of an answer.
    fn answer(&self, message: &Message<'_>, from: SocketAddr, answer: &Answer) -> Vec<u8> {
        let mut octets = Vec::with_capacity(128);
        let class = match answer {
            Answer::Success { .. } => Class::Success,
            Answer::Refusal(..) => Class::Error,
        };
        let mut writer = Writer::new(class, BINDING, message.transaction, &mut octets);
        let algorithm = match *answer {
            Answer::Success { algorithm, .. } => {
                writer.mapped_address(from);
                Some(algorithm)
            }
            Answer::Refusal(code, algorithm) => {
                writer.refusal(code);
                if code == ErrorCode::UnknownAttribute {
                    let mut unknown = [0; UNKNOWN_MAX];
                    let count = message.unknown_required(&mut unknown);
                    writer.unknown_attributes(&unknown[..count]);
                }
                algorithm
            }
        };
        if let Some(algorithm) = algorithm {
            writer.integrity(algorithm, self.settings.local.password().as_bytes());
        }
        writer.fingerprint();
        octets
    }

    /// An answer to a check of consent: of who was asked, from where it was asked, under the
    /// password of the other side.
    fn response(&mut self, now: Time, pair: Pair, message: &Message<'_>, out: &mut Vec<Out>) {
        let remote = &self.settings.remote;
        let slot = self.consents.get_mut(usize::from(pair.component - 1));
        let consent = slot.and_then(Option::as_mut);
        let consent = consent.filter(|it| it.pair == pair && it.awaits(message.transaction));
        let holds = remote.as_ref().is_some_and(|remote| {
            let integrity = message.integrity(remote.password().as_bytes());
            matches!(integrity, Integrity::Holds(_))
        });
        let holds = holds && message.class == Class::Success;
        if let Some(consent) = consent.filter(|_| holds) {
            consent.answered(now, message.transaction);
            return;
        }
        let asked = if holds { self.seen.answered(pair, message.transaction) } else { None };
        match asked {
            Some(asked) => self.choose(now, asked.pair, asked.priority, out),
            None => self.counters.ignored += 1,
        }
    }

    /// The octets of a check of consent.
    fn check(&self, component: u8, transaction: TransactionId, remote: &Credentials) -> Vec<u8> {
        let mut octets = Vec::with_capacity(160);
        let mut writer = Writer::new(Class::Request, BINDING, transaction, &mut octets);
        let name = [remote.fragment(), ":", self.settings.local.fragment()].concat();
        let role = match self.settings.role {
            Role::Controlled => AttributeType::IceControlled,
            Role::Controlling => AttributeType::IceControlling,
        };
        let priority = host_priority(u16::from(component));
        writer
            .attribute(AttributeType::Username, name.as_bytes())
            .attribute(AttributeType::Priority, &priority.to_be_bytes())
            .attribute(role, &self.tie_breaker.to_be_bytes())
            .integrity(Algorithm::Sha1, remote.password().as_bytes())
            .fingerprint();
        octets
    }

    /// ICE begins anew (RFC 8445 §9): the pairs that stand are used until others are chosen.
    fn restart(&mut self, local: Credentials) {
        self.settings.local = local;
        self.settings.remote = None;
        self.pairs.clear();
        self.seen.clear();
    }
}

impl Machine for Agent {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Datagram(it) => {
                let Datagram { component, local, remote, octets } = it;
                self.datagram(now, Pair { component, local, remote }, &octets, out);
            }
            In::Remote(remote) => self.settings.remote = Some(remote),
            In::Restart(local) => self.restart(local),
        }
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        for at in 0..self.consents.len() {
            let Some(consent) = self.consents.get_mut(at).and_then(Option::as_mut) else {
                continue;
            };
            let pair = consent.pair;
            match (consent.tick(now, &mut self.random), &self.settings.remote) {
                (Due::Check(transaction), Some(remote)) => {
                    let octets = self.check(pair.component, transaction, remote);
                    let Pair { component, local, remote } = pair;
                    self.counters.asked += 1;
                    out.push(Out::Send(Datagram { component, local, remote, octets }));
                }
                (Due::Lost, _) => {
                    self.consents[at] = None;
                    self.pairs.forget(pair);
                    out.push(Out::ConsentLost(pair));
                }
                (Due::Nothing | Due::Check(_), _) => {}
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.consents.iter().flatten().map(Consent::deadline).min()
    }
}
