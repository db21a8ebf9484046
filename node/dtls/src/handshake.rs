//! The handshake with one peer.
//!
//! ```text
//! waiting ─→ attempts ── finished ──→ waiting for trust ── trusted ──→ lingering ─ LINGER ─→ over
//!    ↑         │ │                       └ stranger ─→ client: failed; server: waiting
//!    └─────────┘ └ client: HANDSHAKE_MAX ─→ failed
//!     a mistake
//! ```
//! Until a peer has proved who it is anybody may have sent what comes in its name. A client makes
//! one attempt after the other. A server makes one for each ClientHello, told apart by their random
//! numbers, so that a forged one does not stand in the way of the peer's; it waits as long as the
//! call lets it, for its client may be a phone that still rings. Where more of them come than it
//! has places for, it asks for a cookie and keeps nothing of who asked (`cookie_exchange`), and of
//! one source it has [`SOURCE_ATTEMPTS_MAX`] attempts. Alerts that nothing protects end nothing.

use crate::attempt::{Asked, Attempt, Clock, client_random};
use crate::cookie_exchange::{CookieExchange, Hello};
use crate::settings::Settings;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use dimpl::Error;
use machine::bucket::{Bucket, Rate};
use machine::{Duration, Machine, Time};
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// Octets of a datagram that is looked at.
pub const DATAGRAM_OCTETS_MAX: usize = 4_096;
/// How long a finished one still answers a peer that did not hear its end (RFC 6347 §4.2.4).
pub const LINGER: Duration = Duration::from_secs(60);
/// Attempts of a server at the same time. Of more, the oldest goes that sent no cookie back.
pub const ATTEMPTS_MAX: usize = 8;
/// Of these, attempts that sent no cookie back: further ones wait outside for theirs.
pub const UNPROVEN_MAX: usize = 4;
/// Attempts of one source that sent a cookie back; of more, its oldest goes.
pub const SOURCE_ATTEMPTS_MAX: usize = 2;

/// Attempts that begin at once; from then on ten a second.
const ATTEMPTS_AT_ONCE: u32 = 8;
/// Hellos a second that are answered without a place; each costs an engine that is dropped.
const ASKED_PER_S: f64 = 200.0;
static ASKED: LazyLock<Rate> = LazyLock::new(|| Rate::new(ASKED_PER_S, Some(50)));
static ATTEMPTS: LazyLock<Rate> = LazyLock::new(|| Rate::new(10.0, Some(ATTEMPTS_AT_ONCE)));
/// Until a client begins again that made many attempts.
const REST: Duration = Duration::from_secs(1);

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It begins.
    Client,
    /// It waits.
    Server,
}

/// Who says whether a certificate in DER is the one that SDP named.
pub type Judge = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// What happened.
pub enum In {
    /// The path is there: a client begins.
    Started,
    /// A datagram of DTLS came from the peer, or from who knows where.
    Datagram(Vec<u8>),
    /// A datagram of DTLS came from there: what one source begins, no other one goes on with.
    From(SocketAddr, Vec<u8>),
    /// SDP has named the peer's certificate.
    Expect(Judge),
    /// The stream ends.
    Ended,
}

impl fmt::Debug for In {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("Started"),
            Self::Datagram(octets) => write!(f, "Datagram({} octets)", octets.len()),
            Self::From(source, octets) => write!(f, "From({source}, {} octets)", octets.len()),
            Self::Expect(_) => f.write_str("Expect"),
            Self::Ended => f.write_str("Ended"),
        }
    }
}

/// What the exporter gave for the label `EXTRACTOR-dtls_srtp` (RFC 5764 §4.2).
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// The number of the profile that both ends agreed on.
    pub profile: u16,
    /// Which end this one was: whose keys are whose.
    pub role: Role,
    /// Client key, server key, client salt, server salt.
    pub material: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys(profile {}, {:?})", self.profile, self.role)
    }
}

/// Why there are no keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It took longer than [`HANDSHAKE_MAX`], or the peer does not answer.
    #[error("the handshake did not end in time")]
    Late,
    /// The peer's certificate is not the one that SDP named.
    #[error("the peer showed another certificate than its description named")]
    Stranger,
    /// No profile of SRTP that both have, or none that the site takes.
    #[error("the peer has no SRTP profile that the site takes")]
    Profile,
}

/// What shall be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Out {
    /// Send a datagram to the peer.
    Send(Vec<u8>),
    /// The peer is who SDP says: protect with these keys.
    Keys(Keys),
    /// An attempt of a server's peer ended without keys; it still waits for another one.
    Refused(Failure),
    /// There will be no keys.
    Failed(Failure),
    /// The peer may have nothing that suits this end: most often its certificate is one of RSA
    /// alone. Nobody has proved that it was the peer who said so: the handshake goes on.
    Unsuited,
    /// The peer ended the association.
    Closed,
}

/// An attempt, of a server with its client's random number.
struct Peer {
    random: Option<[u8; 32]>,
    source: Option<SocketAddr>,
    attempt: Attempt,
}

impl Peer {
    /// Whether a datagram of that source may be for it.
    fn hears(&self, source: Option<SocketAddr>) -> bool {
        source.is_none() || self.source.is_none() || self.source == source
    }
}

/// What counts as one source: an address, or a network of IPv6.
fn network(source: SocketAddr) -> IpAddr {
    match source.ip() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
    }
}

/// The handshake with one peer.
pub struct Handshake {
    settings: Settings,
    role: Role,
    clock: Clock,
    /// The one that was heard last stands last.
    attempts: Vec<Peer>,
    began: Bucket,
    asked: Bucket,
    exchange: Option<CookieExchange>,
    mistakes: u64,
    /// When a client must have ended.
    ends: Option<Time>,
    /// When a client begins again.
    rests_until: Option<Time>,
    judge: Option<Judge>,
    /// Since when there are keys, and until when it answers.
    lingers_until: Option<Time>,
    is_over: bool,
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handshake")
            .field("role", &self.role)
            .field("attempts", &self.attempts.len())
            .field("lingers_until", &self.lingers_until)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

/// A datagram as it came.
struct Came<'d> {
    now: Time,
    source: Option<SocketAddr>,
    datagram: &'d [u8],
}

/// Whether a datagram of a port that has more is DTLS (RFC 7983 §7).
const fn is_dtls(datagram: &[u8]) -> bool {
    matches!(datagram, [20..=63, ..])
}

impl Handshake {
    /// One that waits for its first input.
    #[must_use]
    pub fn new(settings: &Settings, role: Role, now: Time) -> Self {
        Self {
            settings: settings.clone(),
            role,
            clock: Clock(now),
            attempts: Vec::new(),
            began: Bucket::default(),
            asked: Bucket::default(),
            exchange: None,
            mistakes: 0,
            ends: None,
            rests_until: None,
            judge: None,
            lingers_until: None,
            is_over: false,
        }
    }

    /// Which end it is.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Whether nothing will happen any more: it can be forgotten.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many attempts went wrong.
    #[must_use]
    pub const fn mistakes(&self) -> u64 {
        self.mistakes
    }

    fn over(&mut self) {
        self.attempts.clear();
        (self.ends, self.rests_until, self.lingers_until) = (None, None, None);
        self.judge = None;
        self.is_over = true;
    }

    fn fail(&mut self, why: Failure, out: &mut Vec<Out>) {
        self.over();
        out.push(Out::Failed(why));
    }

    /// Whether one more attempt may begin.
    fn may_begin(&mut self, now: Time) -> bool {
        let may = self.began.has_room(now, *ATTEMPTS);
        if may {
            self.began.take(now, *ATTEMPTS);
        }
        may
    }

    /// A client speaks, or rests before it does.
    fn speak(&mut self, now: Time, out: &mut Vec<Out>) {
        if !self.may_begin(now) {
            self.rests_until = Some(now + REST);
            return;
        }
        self.rests_until = None;
        let mut attempt = Attempt::new(&self.settings, self.role, self.clock, now);
        if attempt.advance(now, out).is_ok() {
            self.attempts.push(Peer { random: None, source: None, attempt });
        }
    }

    /// An attempt went wrong.
    fn mistake(&mut self, at: usize, now: Time, mistake: &Error, out: &mut Vec<Out>) {
        self.attempts.remove(at);
        self.mistakes += 1;
        match (self.role, mistake) {
            // The keys are out: what goes wrong now ends nothing but the answers.
            _ if self.lingers_until.is_some() => self.over(),
            (Role::Client, Error::Timeout(_)) => self.fail(Failure::Late, out),
            (Role::Client, _) => self.speak(now, out),
            (Role::Server, _) => {}
        }
    }

    /// The attempt that a datagram is for. `None` for one that begins nothing, or too much; it may
    /// be answered all the same.
    fn attempt_of(&mut self, came: &Came<'_>, out: &mut Vec<Out>) -> Option<usize> {
        let (Role::Server, Some(random)) = (self.role, client_random(came.datagram)) else {
            let hears = |peer: &Peer| peer.hears(came.source);
            let there = self.attempts.iter().rposition(|peer| hears(peer) && peer.attempt.is_there);
            return there.or_else(|| self.attempts.iter().rposition(hears));
        };
        let known = |peer: &Peer| peer.random == Some(random) && peer.hears(came.source);
        if let Some(at) = self.attempts.iter().position(known) {
            let peer = self.attempts.remove(at);
            self.attempts.push(peer);
            return self.attempts.len().checked_sub(1);
        }
        // Once there are keys, their peer is the only one.
        if self.lingers_until.is_some() {
            return None;
        }
        let hello = Hello::read(came.datagram);
        if hello.is_some_and(|hello| !hello.cookie().is_empty()) {
            self.admit(random, came, out);
            return None;
        }
        let unproven = self.attempts.iter().filter(|peer| !peer.attempt.is_there).count();
        let is_crowded = unproven >= UNPROVEN_MAX || self.attempts.len() >= ATTEMPTS_MAX;
        if is_crowded || !self.may_begin(came.now) {
            self.ask(came, out);
            return None;
        }
        let attempt = Attempt::new(&self.settings, self.role, self.clock, came.now);
        self.attempts.push(Peer { random: Some(random), source: came.source, attempt });
        self.attempts.len().checked_sub(1)
    }

    /// Whether one more hello is answered with a cookie.
    fn opens(&mut self, now: Time) -> bool {
        let may = self.asked.has_room(now, *ASKED);
        if may {
            self.asked.take(now, *ASKED);
            self.exchange = self.exchange.take().or_else(CookieExchange::new);
        }
        may
    }

    /// Asks whoever said a hello for a cookie, and keeps nothing.
    fn ask(&mut self, came: &Came<'_>, out: &mut Vec<Out>) {
        if Hello::read(came.datagram).is_none() || !self.opens(came.now) {
            return;
        }
        let Some(exchange) = &self.exchange else { return };
        let at = Asked { now: came.now, datagram: came.datagram };
        out.extend(Attempt::ask(exchange, &self.settings, self.clock, at).map(Out::Send));
    }

    /// Begins an attempt for who has the server's cookie.
    fn admit(&mut self, random: [u8; 32], came: &Came<'_>, out: &mut Vec<Out>) {
        // Who was never asked has none.
        if self.exchange.is_none() || !self.opens(came.now) {
            return;
        }
        let Some(exchange) = &self.exchange else { return };
        let at = Asked { now: came.now, datagram: came.datagram };
        let Some(attempt) = Attempt::admit(exchange, &self.settings, self.clock, at, out) else {
            return;
        };
        self.make_room(came.source);
        if self.attempts.len() < ATTEMPTS_MAX {
            self.attempts.push(Peer { random: Some(random), source: came.source, attempt });
        }
    }

    /// Makes room for a source that sent a cookie back: its own oldest attempt goes if it has more
    /// than its share, or else the oldest without a cookie.
    fn make_room(&mut self, source: Option<SocketAddr>) {
        let network = source.map(network);
        let is_own =
            |peer: &Peer| peer.attempt.is_there && peer.source.map(self::network) == network;
        let own = self.attempts.iter().filter(|peer| is_own(peer)).count();
        let gone = if own >= SOURCE_ATTEMPTS_MAX {
            self.attempts.iter().position(is_own)
        } else if self.attempts.len() >= ATTEMPTS_MAX {
            self.attempts.iter().position(|peer| !peer.attempt.is_there)
        } else {
            None
        };
        if let Some(at) = gone {
            self.attempts.remove(at);
        }
    }

    fn datagram(
        &mut self,
        now: Time,
        source: Option<SocketAddr>,
        datagram: &[u8],
        out: &mut Vec<Out>,
    ) {
        if self.is_over || datagram.len() > DATAGRAM_OCTETS_MAX || !is_dtls(datagram) {
            return;
        }
        let came = Came { now, source, datagram };
        let Some(at) = self.attempt_of(&came, out) else { return };
        let attempt = &mut self.attempts[at].attempt;
        let heard = attempt.hear(now, datagram, out);
        if std::mem::take(&mut attempt.is_unsuited) {
            out.push(Out::Unsuited);
        }
        if attempt.is_closed && self.lingers_until.is_some() {
            self.over();
            out.push(Out::Closed);
        } else if let Err(mistake) = heard {
            self.mistake(at, now, &mistake, out);
        }
    }

    /// Gives the keys out when an attempt has ended and the peer is who SDP says.
    fn conclude(&mut self, now: Time, out: &mut Vec<Out>) {
        while let Some(at) = self.concluded() {
            let attempt = &mut self.attempts[at].attempt;
            // From here on the call's own time counts: its answer may not be there yet.
            (self.ends, attempt.ends) = (None, None);
            let (Some(judge), Some(certificate)) = (&mut self.judge, &attempt.certificate) else {
                return;
            };
            let trusted = judge(certificate);
            match attempt.keys.take() {
                _ if !trusted => self.refuse(at, Failure::Stranger, out),
                Some(keys) if self.settings.profiles.contains(&keys.profile) => {
                    let peer = self.attempts.swap_remove(at);
                    self.attempts = vec![peer];
                    self.judge = None;
                    self.lingers_until = Some(now + LINGER);
                    out.push(Out::Keys(keys));
                }
                _ => self.refuse(at, Failure::Profile, out),
            }
        }
    }

    /// An attempt that has ended without anything having come of it yet.
    fn concluded(&self) -> Option<usize> {
        if self.is_over || self.lingers_until.is_some() {
            return None;
        }
        self.attempts.iter().position(|peer| peer.attempt.is_connected)
    }

    /// A client knows whom it asked; at a server another one may have been first.
    fn refuse(&mut self, at: usize, why: Failure, out: &mut Vec<Out>) {
        match self.role {
            Role::Client => self.fail(why, out),
            Role::Server => {
                self.attempts.remove(at);
                self.mistakes += 1;
                out.push(Out::Refused(why));
            }
        }
    }

    /// What the attempts' time brings.
    fn advance(&mut self, now: Time, out: &mut Vec<Out>) {
        let before = self.attempts.len();
        self.attempts.retain(|peer| peer.attempt.ends.is_none_or(|ends| ends > now));
        let late = before - self.attempts.len();
        self.mistakes += late as u64;
        if late > 0 && self.role == Role::Client {
            self.speak(now, out);
        }
        let mut at = 0;
        while let Some(peer) = self.attempts.get_mut(at) {
            if !peer.attempt.is_due(now) {
                at += 1;
                continue;
            }
            match peer.attempt.advance(now, out) {
                Ok(()) => at += 1,
                Err(mistake) => self.mistake(at, now, &mistake, out),
            }
        }
    }
}

impl Machine for Handshake {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Started if self.role == Role::Client && self.ends.is_none() && !self.is_over => {
                if self.attempts.is_empty() {
                    self.ends = Some(now + crate::HANDSHAKE_MAX);
                    self.speak(now, out);
                }
            }
            In::Started => {}
            In::Datagram(datagram) => self.datagram(now, None, &datagram, out),
            In::From(source, datagram) => self.datagram(now, Some(source), &datagram, out),
            In::Expect(judge) => self.judge = Some(judge),
            In::Ended => {
                for peer in &mut self.attempts {
                    peer.attempt.close(now, out);
                }
                self.over();
            }
        }
        self.conclude(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        let past = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if past(self.lingers_until) {
            self.over();
        } else if past(self.ends) {
            self.fail(Failure::Late, out);
        } else if past(self.rests_until) {
            self.speak(now, out);
        }
        self.advance(now, out);
        self.conclude(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let attempts = self.attempts.iter().filter_map(|peer| peer.attempt.deadline());
        let own = [self.ends, self.rests_until, self.lingers_until].into_iter().flatten();
        own.chain(attempts).min()
    }
}
