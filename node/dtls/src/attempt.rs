//! One attempt: an engine, and what it has come to.

use crate::cookie_exchange::{CookieExchange, Hello, asked_cookie};
use crate::handshake::{Keys, Out, Role};
use crate::settings::{HANDSHAKE_MAX, MTU, Settings};
use dimpl::{Dtls, Error, Output, SrtpProfile};
use machine::{Duration, Time};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use zeroize::Zeroizing;

/// Outputs of one input: no flight is longer.
const OUTPUTS_MAX: usize = 64;
/// Room for an output: a record of DTLS has at most 16,640 octets.
const OUTPUT_OCTETS_MAX: usize = 17 << 10;
/// No deadline of the engine lies nearer: time goes on.
const SOONEST: Duration = Duration::from_millis(1);
/// A deadline of the engine that lies further ahead is none.
const FAR: Duration = Duration::from_secs(86_400);

/// How long a client's hello may go unanswered until it says another one. Somebody else may have
/// asked in its name: the cookie for that is wrong for it, and it would ask in vain with it.
const HELLO_MAX: Duration = Duration::from_secs(4);

/// Instants can only be had of the clock: all of them are told from this one.
static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The engine's instants, counted from when the handshake was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(pub Time);

impl Clock {
    fn instant(self, now: Time) -> Instant {
        *EPOCH + now.since(self.0)
    }

    fn time(self, instant: Instant) -> Option<Time> {
        let ahead = instant.saturating_duration_since(*EPOCH);
        (ahead < FAR).then(|| self.0 + ahead)
    }
}

/// An engine with what it said.
pub(crate) struct Attempt {
    clock: Clock,
    role: Role,
    engine: Dtls,
    /// When the engine wants to be asked.
    deadline: Option<Time>,
    /// When it must have ended; a client's hello must be past by then.
    pub ends: Option<Time>,
    /// Octets that came and were not answered yet: what a cookie may be asked for with.
    unanswered: usize,
    /// Whether the peer is where it says: to a server a cookie came back from there, a client got
    /// past its hello.
    pub is_there: bool,
    pub is_connected: bool,
    pub is_closed: bool,
    pub certificate: Option<Vec<u8>>,
    pub keys: Option<Keys>,
    /// The other end may have nothing that this one takes: most often a certificate of RSA alone.
    pub is_unsuited: bool,
}

impl Attempt {
    pub fn new(settings: &Settings, role: Role, clock: Clock, now: Time) -> Self {
        let config = Arc::clone(&settings.config);
        let certificate = settings.certificate().for_engine();
        let mut engine = Dtls::new_auto(config, certificate, clock.instant(now));
        engine.set_active(role == Role::Client);
        Self::with(engine, role, clock, now)
    }

    /// What a crowded server answers to a hello; it is no longer than that. Nothing is kept.
    pub fn ask(
        exchange: &CookieExchange,
        settings: &Settings,
        clock: Clock,
        at: Asked<'_>,
    ) -> Option<Vec<u8>> {
        let mut attempt = Self::at_exchange(exchange, settings, clock, at.now);
        let mut out = Vec::new();
        attempt.hear(at.now, at.datagram, &mut out).ok()?;
        out.into_iter().find_map(|out| match out {
            Out::Send(octets) if asked_cookie(&octets).is_some() => Some(octets),
            _ => None,
        })
    }

    /// The attempt of a hello that has the cookie of the exchange; what it answers is in `out`.
    /// `None` for another cookie.
    pub fn admit(
        exchange: &CookieExchange,
        settings: &Settings,
        clock: Clock,
        at: Asked<'_>,
        out: &mut Vec<Out>,
    ) -> Option<Self> {
        let hello = Hello::read(at.datagram)?;
        let mut attempt = Self::at_exchange(exchange, settings, clock, at.now);
        let mut asked = Vec::new();
        attempt.hear(at.now, &CookieExchange::before(&hello)?, &mut asked).ok()?;
        let is_ours = asked.iter().any(|out| match out {
            Out::Send(octets) => asked_cookie(octets) == Some(hello.cookie()),
            _ => false,
        });
        if !is_ours {
            return None;
        }
        attempt.hear(at.now, at.datagram, out).ok()?;
        attempt.is_there.then_some(attempt)
    }

    fn at_exchange(
        exchange: &CookieExchange,
        settings: &Settings,
        clock: Clock,
        now: Time,
    ) -> Self {
        let config = Arc::clone(exchange.config());
        let certificate = settings.certificate().for_engine();
        let mut engine = Dtls::new_12(config, certificate, clock.instant(now));
        engine.set_active(false);
        Self::with(engine, Role::Server, clock, now)
    }

    fn with(engine: Dtls, role: Role, clock: Clock, now: Time) -> Self {
        Self {
            clock,
            role,
            engine,
            deadline: None,
            ends: Some(match role {
                Role::Client => now + HELLO_MAX,
                Role::Server => now + HANDSHAKE_MAX,
            }),
            unanswered: 0,
            is_there: false,
            is_connected: false,
            is_closed: false,
            certificate: None,
            keys: None,
            is_unsuited: false,
        }
    }

    /// Lets the engine know the time, which may end it, and takes what it wants.
    pub fn advance(&mut self, now: Time, out: &mut Vec<Out>) -> Result<(), Error> {
        self.engine.handle_timeout(self.clock.instant(now))?;
        self.drain(now, out);
        Ok(())
    }

    pub fn hear(&mut self, now: Time, datagram: &[u8], out: &mut Vec<Out>) -> Result<(), Error> {
        self.unanswered = self.unanswered.saturating_add(datagram.len());
        let heard = self.engine.handle_timeout(self.clock.instant(now));
        let heard = heard.and_then(|()| match without_plain_alerts(datagram) {
            Some((rest, is_unsuited)) => {
                self.is_unsuited |= is_unsuited && !self.is_connected;
                if rest.is_empty() { Ok(()) } else { self.engine.handle_packet(&rest) }
            }
            None => self.engine.handle_packet(datagram),
        });
        // A client that has no certificate of ECDSA shows none.
        self.is_unsuited |= matches!(heard, Err(Error::CertificateError(_)));
        // What it wanted to say before a mistake, an alert, is still said.
        self.drain(now, out);
        heard
    }

    pub fn close(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.engine.close().is_ok() {
            self.drain(now, out);
        }
    }

    pub fn is_due(&self, now: Time) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    pub fn deadline(&self) -> Option<Time> {
        [self.ends, self.deadline].into_iter().flatten().min()
    }

    /// Takes what the engine wants.
    fn drain(&mut self, now: Time, out: &mut Vec<Out>) {
        let mut room = vec![0; 2 * MTU];
        for _ in 0..OUTPUTS_MAX {
            match self.engine.poll_output(&mut room) {
                Output::Packet(octets) => {
                    if asks_for_a_cookie(octets) {
                        // The address may be a lie: it gets no more than it gave.
                        let Some(left) = self.unanswered.checked_sub(octets.len()) else {
                            continue;
                        };
                        self.unanswered = left;
                    } else if self.role == Role::Server || client_random(octets).is_none() {
                        self.is_there = true;
                        if self.role == Role::Client {
                            self.ends = None;
                        }
                    }
                    out.push(Out::Send(octets.to_vec()));
                }
                Output::BufferTooSmall { needed } if needed <= OUTPUT_OCTETS_MAX => {
                    room.resize(needed, 0);
                }
                Output::Timeout(instant) => {
                    let soonest = now + SOONEST;
                    self.deadline = self.clock.time(instant).map(|at| at.max(soonest));
                    break;
                }
                Output::Connected => self.is_connected = true,
                Output::PeerCert(certificate) => self.certificate = Some(certificate.to_vec()),
                Output::KeyingMaterial(material, profile) => {
                    let material = Zeroizing::new(material.to_vec());
                    let profile = number(profile);
                    self.keys = Some(Keys { profile, role: self.role, material });
                }
                Output::CloseNotify => self.is_closed = true,
                _ => {}
            }
        }
    }
}

/// A hello that came to a crowded server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'d> {
    pub now: Time,
    pub datagram: &'d [u8],
}

/// Octets of a record's head.
const RECORD_OCTETS: usize = 13;
const ALERT: u8 = 21;
/// The level of an alert that ends, and `handshake_failure` and `unsupported_certificate`
/// (RFC 5246 §7.2).
const FATAL: u8 = 2;
const HANDSHAKE_FAILURE: u8 = 40;
const UNSUPPORTED: u8 = 43;

/// A datagram without its alerts that nothing protects, if it has some: anybody may have sent them,
/// and they end nothing (RFC 6347 §4.1.2.7). A handshake that a peer does not want ends by its
/// time. And whether one says that the other end has nothing which suits.
fn without_plain_alerts(datagram: &[u8]) -> Option<(Vec<u8>, bool)> {
    let (mut rest, mut kept, mut has_some) = (datagram, Vec::new(), false);
    let mut is_unsuited = false;
    // Records of DTLS 1.3 that are protected have another head: what follows one stays.
    while let Some(head) = rest.first_chunk::<RECORD_OCTETS>()
        && matches!(head[0], 20..=25)
    {
        let length = usize::from(u16::from_be_bytes([head[11], head[12]]));
        let Some((record, behind)) = rest.split_at_checked(RECORD_OCTETS + length) else { break };
        if head[0] == ALERT && head[3..5] == [0, 0] {
            has_some = true;
            is_unsuited |=
                matches!(record[RECORD_OCTETS..], [FATAL, HANDSHAKE_FAILURE | UNSUPPORTED]);
        } else {
            kept.extend_from_slice(record);
        }
        rest = behind;
    }
    kept.extend_from_slice(rest);
    has_some.then_some((kept, is_unsuited))
}

/// The random number of the client in a datagram that begins a ClientHello (RFC 6347 §4.2.1).
pub(crate) fn client_random(datagram: &[u8]) -> Option<[u8; 32]> {
    let begins = datagram.first() == Some(&22)
        && datagram.get(3..5) == Some(&[0, 0])
        && datagram.get(13) == Some(&1)
        && datagram.get(19..22) == Some(&[0, 0, 0]);
    if begins { datagram.get(27..)?.first_chunk().copied() } else { None }
}

/// The random number of a HelloRetryRequest (RFC 8446 §4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Whether a datagram asks a client that nobody knows yet for a cookie: a HelloVerifyRequest
/// (RFC 6347 §4.2.1) or a HelloRetryRequest (RFC 9147 §5.1).
fn asks_for_a_cookie(datagram: &[u8]) -> bool {
    let (record, message) = (datagram.first(), datagram.get(13));
    let retries = || datagram.get(27..59) == Some(&RETRY[..]);
    record == Some(&22) && (message == Some(&3) || message == Some(&2) && retries())
}

/// The number of a profile (RFC 5764 §4.1.2, RFC 7714 §14.2).
const fn number(profile: SrtpProfile) -> u16 {
    match profile {
        SrtpProfile::AES128_CM_SHA1_80 => 0x0001,
        SrtpProfile::AEAD_AES_128_GCM => 0x0007,
        SrtpProfile::AEAD_AES_256_GCM => 0x0008,
        _ => 0,
    }
}
