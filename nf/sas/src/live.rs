//! A trail that still runs: what its messages mean for its outcome.
//!
//! ```text
//!            2xx                    BYE
//!  Early ─────────▶ Answered ───────────────▶ Over ── quiet for a while ──▶ closed
//!    └── other final answer ────────────────▶ Over
//!            401, 407: Over, and Early again when the request comes with credentials
//! ```
//! The first leg decides: what the caller saw is how the call went.

use crate::entry::Entry;
use crate::keys;
use crate::media;
use crate::progress::Progress;
use crate::protocol::dialogue::words::Talk;
use crate::trail::{CALL_IDS_MAX, HOSTS_MAX, Kind, MESSAGES_MAX, Outcome, Trail, printable};
use core::time::Duration;
use sip::Method;
use std::net::SocketAddr;
use store::{Key, Record};
use trail::{Event, Meaning};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A call that is over is closed when it was quiet for so long (retransmissions of BYE).
pub const LINGER_CALL: Duration = Duration::from_secs(4);
/// Anything else that is over.
pub const LINGER: Duration = Duration::from_millis(1_500);
/// A call without final answer: longer than timer C (RFC 3261 §16.6).
pub const LINGER_EARLY: Duration = Duration::from_secs(200);
/// An answered call, or a dialogue that goes on, without any message (a lost BYE): longer than any
/// session interval in use.
pub const LINGER_ANSWERED: Duration = Duration::from_secs(4 * 3_600);
/// A session or a link without any message: long enough for what is sent once an hour.
pub const LINGER_SESSION: Duration = Duration::from_secs(4 * 3_600);
/// Any other request without final answer: longer than timer F.
pub const LINGER_REQUEST: Duration = Duration::from_secs(40);
/// Messages that are remembered to recognise their repetition.
pub const SEEN_MAX: usize = 64;
/// Two captures of one call begin within this time of each other, microseconds: agents send in
/// batches of their own.
const TOGETHER_US: u64 = 10_000_000;
/// Reports of media are kept for so long, microseconds, then the next time when the call has become
/// longer by the 60th part: a long call has dense figures at its beginning.
const REPORTS_US: u64 = 5_000_000;
const REPORTS_PART: u64 = 60;
/// Octets of a URI or Call-ID that are kept in the summary.
const TEXT_BYTES_MAX: usize = 256;

/// Where a trail stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No final answer yet.
    Early,
    /// A call that was answered.
    Answered,
    /// Nothing more is expected.
    Over,
}

/// What a message is in view of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// The first of its kind.
    New,
    /// Sent again.
    Retransmission,
    /// Sent once, captured by a second agent.
    Duplicate,
}

/// A trail that still runs.
#[derive(Debug)]
pub struct Live {
    /// What is known so far.
    pub trail: Trail,
    /// What it is found by.
    pub keys: Vec<Key>,
    /// Hashes under which the table finds it.
    pub joins: Vec<u64>,
    /// Hash of the Call-ID of each leg.
    pub legs: Vec<u64>,
    /// Hash of the correlation seen last, 0 for none.
    pub correlation: u64,
    /// The table counts it as a dialogue.
    pub is_dialogue: bool,
    /// Legs that came to it by what a header said.
    pub marked: u8,
    /// When the last message came, by our clock.
    pub last_us: u64,
    /// When the wheel will look at it next.
    pub armed_us: u64,
    /// Where it stands.
    pub phase: Phase,
    seen: Vec<(u64, u32)>,
    seen_at: usize,
    /// Requests of Diameter that are not answered yet.
    pub(crate) unanswered: u16,
    /// What its messages of SIP have said.
    pub(crate) sip: Progress,
    /// What its messages of TCAP have said.
    pub(crate) talk: Option<Talk>,
    /// When reports of media were last begun to be kept, by our clock.
    reports_us: u64,
}

impl Live {
    /// A trail that begins with a message captured at `at_us`.
    #[must_use]
    pub fn new(id: u64, at_us: u64, now_us: u64) -> Self {
        Self::resumed(Trail::new(id, at_us), vec![Key { class: keys::ID, value: id }], now_us)
    }

    /// A trail that ran when the last process ended.
    #[must_use]
    pub fn resumed(trail: Trail, keys: Vec<Key>, now_us: u64) -> Self {
        let phase = match trail.outcome {
            _ if trail.ended_us > 0 => Phase::Over,
            _ if trail.kind == Kind::Dialogue && trail.answered_us > 0 => Phase::Answered,
            Outcome::InProgress => Phase::Early,
            Outcome::Answered => Phase::Answered,
            _ => Phase::Over,
        };
        Self {
            keys,
            joins: Vec::new(),
            legs: Vec::new(),
            correlation: 0,
            is_dialogue: false,
            marked: 0,
            last_us: now_us,
            armed_us: 0,
            phase,
            seen: Vec::new(),
            seen_at: 0,
            unanswered: 0,
            sip: Progress::resumed(trail.method != Method::Other),
            talk: None,
            reports_us: now_us,
            trail,
        }
    }

    /// How long it may be quiet before it is closed.
    #[must_use]
    pub const fn patience(&self) -> Duration {
        match (self.phase, self.trail.kind) {
            // What SIP has said already waits for what Diameter says of it.
            (Phase::Over, _) if self.unanswered > 0 => LINGER_REQUEST,
            (Phase::Over, Kind::Call) => LINGER_CALL,
            (Phase::Over, _) => LINGER,
            (Phase::Answered, _) => LINGER_ANSWERED,
            (Phase::Early, Kind::Call | Kind::Dialogue) => LINGER_EARLY,
            (Phase::Early, Kind::Session) => LINGER_SESSION,
            (Phase::Early, Kind::Rejected) => LINGER,
            (Phase::Early, _) => LINGER_REQUEST,
        }
    }

    /// When it is closed if nothing more comes.
    #[must_use]
    pub const fn due_us(&self) -> u64 {
        // Fifteen thousand seconds at most.
        self.last_us
            + self.patience().as_secs() * 1_000_000
            + self.patience().subsec_micros() as u64
    }

    /// Whether these octets between these hosts were seen before.
    pub fn recognise(
        &mut self,
        payload: &[u8],
        from: SocketAddr,
        to: SocketAddr,
        agent: u32,
    ) -> Repeat {
        let print = xxh3_64_with_seed(payload, way(from) ^ way(to).rotate_left(29));
        if let Some(&(_, first)) = self.seen.iter().rev().find(|(p, _)| *p == print) {
            return if first == agent { Repeat::Retransmission } else { Repeat::Duplicate };
        }
        if self.seen.len() < SEEN_MAX {
            self.seen.push((print, agent));
        } else {
            self.seen[self.seen_at] = (print, agent);
            self.seen_at = (self.seen_at + 1) % SEEN_MAX;
        }
        Repeat::New
    }

    /// Whether this trail of one leg may be what another element captured of a leg that an agent
    /// says is part of another trail: nobody has said anything else of it, both began together, and
    /// the message that tells it went between hosts of this one.
    #[must_use]
    pub fn is_part_of(&self, other: &Self, call_id: u64, entry: &Entry<'_>) -> bool {
        let is_own = self.correlation != 0 && self.correlation != call_id;
        let hosts = &self.trail.hosts;
        !is_own
            && self.legs == [call_id]
            && self.trail.started_us.abs_diff(other.trail.started_us) <= TOGETHER_US
            && self.trail.places.len() + other.trail.places.len() < MESSAGES_MAX
            && hosts.contains(&entry.source)
            && hosts.contains(&entry.destination)
    }

    /// Takes in what another trail has: its messages, and what they were recognised by.
    pub fn merge(&mut self, other: Self) {
        self.trail.started_us = self.trail.started_us.min(other.trail.started_us);
        self.trail.retransmissions += other.trail.retransmissions;
        self.trail.places.extend(other.trail.places);
        other.trail.hosts.into_iter().for_each(|host| self.add_host(host));
        let room = SEEN_MAX.saturating_sub(self.seen.len());
        self.seen.extend(other.seen.into_iter().take(room));
    }

    /// Takes note of a host; returns whether it was new.
    pub fn add_host(&mut self, host: SocketAddr) {
        if !self.trail.hosts.contains(&host) && self.trail.hosts.len() < HOSTS_MAX {
            self.trail.hosts.push(host);
            keys::add_address(&mut self.keys, host);
        }
    }

    /// The number of the leg with this Call-ID, a new one if need be.
    pub fn leg(&mut self, hash: u64, call_id: &[u8]) -> usize {
        if let Some(at) = self.legs.iter().position(|&leg| leg == hash) {
            return at;
        }
        if self.legs.len() < CALL_IDS_MAX {
            self.legs.push(hash);
            keys::add_call_id(&mut self.keys, call_id);
            self.trail.call_ids.push(text(call_id));
        }
        self.legs.len() - 1
    }

    /// Whether a report of media is kept as an entry; its figures are taken in either way.
    pub fn keeps_report(&mut self, now_us: u64) -> bool {
        let since = now_us.saturating_sub(self.reports_us);
        let age = now_us.saturating_sub(self.trail.started_us);
        if since >= REPORTS_US && since >= age / REPORTS_PART {
            self.reports_us = now_us;
        }
        now_us.saturating_sub(self.reports_us) < REPORTS_US
            && self.trail.places.len() < MESSAGES_MAX / 2
    }

    /// Takes in what is said of its media.
    fn listen(&mut self, entry: &Entry<'_>) -> bool {
        let changed = media::take(&mut self.trail.media, &self.sip.media_places, entry);
        media::add_keys(&mut self.keys, &self.trail.media);
        changed
    }

    /// Takes an event or a report in, by what its row says that it means. Returns whether the trail
    /// changed.
    pub fn hear(&mut self, entry: &Entry<'_>) -> bool {
        if entry.kind == hep::KIND_RTCP {
            return self.listen(entry);
        }
        if entry.kind != hep::KIND_LOG {
            return false;
        }
        match Event::of(entry.payload).map_or(Meaning::Told, Event::meaning) {
            Meaning::Told => false,
            Meaning::Media => self.listen(entry),
            Meaning::Refused => self.refused(),
            Meaning::SessionBegan | Meaning::Session => self.session(entry),
            Meaning::SessionEnded => {
                let is_session = self.session(entry);
                self.session_over(entry);
                is_session
            }
        }
    }

    /// A request of no call that was refused on arrival is shown as such.
    fn refused(&mut self) -> bool {
        let is_call = matches!(self.trail.kind, Kind::Call | Kind::Registration);
        if is_call || self.legs.len() > 1 {
            return false;
        }
        self.trail.kind = Kind::Rejected;
        true
    }

    /// The trail is about a session between these hosts: its events are all there may be of it.
    fn session(&mut self, entry: &Entry<'_>) -> bool {
        self.trail.kind = Kind::Session;
        self.add_host(entry.source);
        self.add_host(entry.destination);
        let json: serde_json::Value = serde_json::from_slice(entry.payload).unwrap_or_default();
        if let Some(peer) = json["peer"].as_str().filter(|_| self.trail.from.is_empty()) {
            self.trail.from = text(peer.as_bytes());
            // An agent tells its own address as the destination.
            self.trail.to = text(entry.destination.to_string().as_bytes());
            keys::add_name(&mut self.keys, peer);
        }
        // A session of BGP does not outlive one, whether it ever stood or not (RFC 4271 §6).
        if json["message"] == "NOTIFICATION" {
            self.session_over(entry);
        }
        true
    }

    fn session_over(&mut self, entry: &Entry<'_>) {
        self.trail.ended_us = entry.at_us;
        self.trail.outcome = Outcome::Ok;
        self.phase = Phase::Over;
    }

    /// It was quiet for too long: whatever is still open stays so for good.
    pub fn give_up(&mut self) {
        if self.trail.outcome == Outcome::InProgress {
            self.trail.outcome = match self.trail.kind {
                Kind::Rejected => Outcome::Rejected,
                Kind::Session => Outcome::Ok,
                // Both ends agreed to say nothing at its end (Q.771 §3.1.2.2.3).
                Kind::Dialogue if self.phase == Phase::Answered => Outcome::Ok,
                _ => Outcome::NoAnswer,
            };
        }
    }

    /// Its record as it stands now.
    #[must_use]
    pub fn record(&self) -> Record {
        Record { head: self.trail.head(), keys: self.keys.clone(), body: self.trail.encode() }
    }
}

/// A number for an address, for fingerprints only.
fn way(address: SocketAddr) -> u64 {
    let ip = match address.ip() {
        std::net::IpAddr::V4(ip) => u64::from(u32::from(ip)),
        std::net::IpAddr::V6(ip) => {
            let octets = ip.octets();
            let (halves, _) = octets.as_chunks::<8>();
            halves.iter().fold(0, |bits, half| bits ^ u64::from_be_bytes(*half))
        }
    };
    (ip << 16 | u64::from(address.port())).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Text of a summary, of so many octets at most.
pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    printable(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into()
}
