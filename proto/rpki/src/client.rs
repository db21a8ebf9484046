//! A client of several caches: the table is that of the most preferred one that answers
//! (RFC 8210 §8, §10).
//!
//! ```text
//!          due             Connected          Cache Response           End of Data
//!   Idle ───────→ Connecting ───────→ Asked ────────────────→ Loading ────────────→ Synchronised
//!    ↑                │               │ ↑  Cache Reset, or        │                      │
//!    └────────────────┴───────────────┴─┤  known no longer        │                      │
//!      lost, timeout, error, violation    └─────────────────────────┴──────────────────────┘
//!                                                             Serial Notify, refresh
//! ```
//! While a cache is synchronised, no less preferred one is connected. A more preferred one that
//! failed is tried again all the time; the table changes hands when its answer is whole.

use crate::cache::{Cache, Phase, Query, audit};
use crate::effects::{
    CACHES_MAX, CacheId, Cause, Counters, In, Indication, KEYS_MAX, Out, SPKI_BYTES_MAX, Settings,
};
use crate::pdu::frame;
use crate::pdu::{ErrorCode, Framing, Intervals, Pdu, PduType, RouterKey, Version, Vrp4, Vrp6};
use crate::table::{Change, Delta, Table, VRPS_MAX};
use machine::{Duration, Machine, Time};
use wire::Malformed;

/// A client: caches, and the table that they fill.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    caches: Vec<Cache>,
    table: Table,
    keys: Vec<RouterKey>,
    /// Whose records the table holds.
    source: Option<usize>,
    expires: Option<Time>,
    is_started: bool,
    counters: Counters,
}

/// A violation of a cache: the error, the PDU, and why.
struct Violation<'a>(ErrorCode, &'a [u8], Malformed);

/// A PDU that came, with its version and all of its octets.
struct Heard<'a> {
    version: u8,
    pdu: Pdu<'a>,
    octets: &'a [u8],
}

/// A cache's state, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Where its connection stands.
    pub phase: Phase,
    /// The version it is spoken to in.
    pub version: Version,
    /// Session and serial number of the table, if it is this cache's.
    pub known: Option<(u16, u32)>,
    /// The times it asks for.
    pub intervals: Intervals,
    /// Failures in a row.
    pub failures: u32,
}

/// The identifier of a cache: there are 255 at most.
fn of(index: usize) -> CacheId {
    CacheId(u8::try_from(index).expect("caches are counted by an octet"))
}

impl Client {
    /// A client that was not started yet, with an empty table.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let count = usize::from(settings.caches).min(CACHES_MAX);
        Self {
            settings,
            caches: (0..count).map(|_| Cache::new(&settings)).collect(),
            table: Table::default(),
            keys: Vec::new(),
            source: None,
            expires: None,
            is_started: false,
            counters: Counters::default(),
        }
    }

    /// Takes over what another client knew: it counts until an answer replaces it, or until it
    /// expires.
    pub fn inherit(&mut self, other: Self) {
        (self.table, self.keys, self.expires) = (other.table, other.keys, other.expires);
    }

    /// The validated prefixes.
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// The router keys, in the order of their ASes.
    #[must_use]
    pub fn router_keys(&self) -> &[RouterKey] {
        &self.keys
    }

    /// Whose records the table holds.
    #[must_use]
    pub fn source(&self) -> Option<CacheId> {
        self.source.map(of)
    }

    /// The states of the caches, the most preferred first.
    pub fn status(&self) -> impl Iterator<Item = Status> + '_ {
        self.caches.iter().map(|cache| Status {
            phase: cache.phase,
            version: cache.version,
            known: cache.known,
            intervals: cache.intervals,
            failures: cache.failures,
        })
    }

    /// When the records expire, unless a cache confirms them.
    #[must_use]
    pub const fn expires(&self) -> Option<Time> {
        self.expires
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes octets that came from a cache: how many of them are done with. What is left begins a
    /// PDU that is not whole, and must come again in front of what follows.
    pub fn receive(&mut self, now: Time, id: CacheId, bytes: &[u8], out: &mut Vec<Out>) -> usize {
        let (index, mut at) = (usize::from(id.0), 0);
        while self.is_open(index) {
            let violation = match frame(&bytes[at..]) {
                Framing::Partial => break,
                Framing::Broken(code, octets, malformed) => Err(Violation(code, octets, malformed)),
                Framing::Pdu(version, pdu, octets) => {
                    at += octets.len();
                    self.heard(now, index, &Heard { version, pdu, octets }, out)
                }
            };
            if let Err(violation) = violation {
                self.offended(now, index, &violation, out);
            }
        }
        match self.caches.get_mut(index).filter(|it| it.phase != Phase::Idle) {
            Some(cache) if at > 0 && matches!(cache.phase, Phase::Asked | Phase::Loading) => {
                cache.deadline = Some(now + self.settings.response_timeout);
            }
            Some(_) => {}
            None => at = bytes.len(),
        }
        self.arrange(now, out);
        at
    }

    /// Whether octets of that cache count.
    fn is_open(&self, index: usize) -> bool {
        let phase = self.caches.get(index).map_or(Phase::Idle, |it| it.phase);
        matches!(phase, Phase::Asked | Phase::Loading | Phase::Synchronised)
    }

    fn heard<'a>(
        &mut self,
        now: Time,
        index: usize,
        heard: &Heard<'a>,
        out: &mut Vec<Out>,
    ) -> Result<(), Violation<'a>> {
        let Heard { version, pdu, octets } = heard;
        if let Pdu::ErrorReport(code, _, text) = pdu {
            self.reported(now, index, *code, text, out);
            return Ok(());
        }
        let cache = &mut self.caches[index];
        if !cache.is_agreed {
            // RFC 8210 §7: before the version is agreed on, notifications do not count.
            if matches!(pdu, Pdu::SerialNotify(..)) {
                return Ok(());
            }
            if *version == Version::V0.number() {
                cache.version = Version::V0;
            }
            cache.is_agreed = *version == cache.version.number();
        }
        if *version != cache.version.number() {
            let what = "the version is not that of the session";
            let malformed = Malformed::new(0, what, "RFC 8210 §7");
            return Err(Violation(ErrorCode::UnexpectedVersion, octets, malformed));
        }
        self.answer(now, index, pdu, octets, out)
    }

    fn answer<'a>(
        &mut self,
        now: Time,
        index: usize,
        pdu: &Pdu<'a>,
        octets: &'a [u8],
        out: &mut Vec<Out>,
    ) -> Result<(), Violation<'a>> {
        let violation =
            |code, what, spec| Err(Violation(code, octets, Malformed::new(1, what, spec)));
        let cache = &mut self.caches[index];
        let mismatch = |session: u16, known: Option<(u16, u32)>| {
            known.is_some_and(|(expected, _)| expected != session)
        };
        match (pdu, cache.phase) {
            (Pdu::SerialNotify(session, _), _) if mismatch(*session, cache.known) => {
                self.flush(index, out);
                let what = "the session is not the one that is known";
                violation(ErrorCode::CorruptData, what, "RFC 8210 §5.1")
            }
            (Pdu::SerialNotify(_, serial), Phase::Synchronised) => {
                if cache.known.is_none_or(|(_, known)| known != *serial) {
                    self.ask(now, index, out);
                }
                Ok(())
            }
            (Pdu::SerialNotify(..), _) => Ok(()),
            (Pdu::CacheResponse(session), Phase::Asked) => {
                if cache.query == Query::Serial && mismatch(*session, cache.known) {
                    self.flush(index, out);
                    let what = "the session is not the one that was asked about";
                    return violation(ErrorCode::CorruptData, what, "RFC 8210 §5.1");
                }
                cache.answering = *session;
                cache.enter(Phase::Loading, Some(now + self.settings.response_timeout));
                Ok(())
            }
            (Pdu::CacheReset, Phase::Asked) if cache.query == Query::Serial => {
                cache.known = None;
                self.ask(now, index, out);
                Ok(())
            }
            (Pdu::EndOfData(session, serial, intervals), Phase::Loading) => {
                if *session != cache.answering {
                    let what = "the session is not that of the answer";
                    return violation(ErrorCode::CorruptData, what, "RFC 8210 §5.8");
                }
                self.load(now, index, *serial, *intervals, out)
            }
            (Pdu::Ipv4(..) | Pdu::Ipv6(..) | Pdu::RouterKey(..), Phase::Loading) => {
                match cache.take(pdu) {
                    true => Ok(()),
                    false => {
                        let what = "more records than are taken";
                        violation(ErrorCode::InternalError, what, "RFC 8210 §12")
                    }
                }
            }
            (Pdu::SerialQuery(..) | Pdu::ResetQuery, _) => {
                let what = "a cache does not ask";
                violation(ErrorCode::InvalidRequest, what, "RFC 8210 §8")
            }
            _ => {
                let what = "the PDU does not belong here";
                violation(ErrorCode::CorruptData, what, "RFC 8210 §8")
            }
        }
    }

    /// Asks for what is new, or for everything.
    fn ask(&mut self, now: Time, index: usize, out: &mut Vec<Out>) {
        let cache = &mut self.caches[index];
        let (query, pdu) = match cache.known {
            Some((session, serial)) => (Query::Serial, Pdu::SerialQuery(session, serial)),
            None => (Query::Reset, Pdu::ResetQuery),
        };
        cache.query = query;
        cache.enter(Phase::Asked, Some(now + self.settings.response_timeout));
        let mut octets = Vec::with_capacity(12);
        pdu.write(cache.version, &mut octets);
        out.push(Out::Send(of(index), octets));
    }

    /// Takes up an answer that is whole.
    fn load<'a>(
        &mut self,
        now: Time,
        index: usize,
        serial: u32,
        intervals: Option<Intervals>,
        out: &mut Vec<Out>,
    ) -> Result<(), Violation<'a>> {
        let cache = &mut self.caches[index];
        let stage = core::mem::take(&mut cache.stage);
        let is_reset = cache.query == Query::Reset;
        if !is_reset && cache.known.is_none() {
            // The table expired meanwhile, or it is another cache's: changes do not help.
            self.ask(now, index, out);
            return Ok(());
        }
        let (table, keys) = (&self.table, &self.keys);
        let ipv4 = stage.ipv4.into_iter().map(|it| (it.vrp, it.comes)).collect();
        let ipv4 = audit(ipv4, |it| !is_reset && table.has_ipv4(it)).map_err(refused)?;
        let ipv6 = stage.ipv6.into_iter().map(|it| (it.vrp, it.comes)).collect();
        let ipv6 = audit(ipv6, |it| !is_reset && table.has_ipv6(it)).map_err(refused)?;
        let has_key = |key: &RouterKey| !is_reset && keys.binary_search(key).is_ok();
        let changed_keys = audit(stage.keys, has_key).map_err(refused)?;
        let delta = if is_reset {
            let ipv4: Vec<Vrp4> = ipv4.into_iter().map(|it| it.0).collect();
            let ipv6: Vec<Vrp6> = ipv6.into_iter().map(|it| it.0).collect();
            self.keys.clear();
            self.table.replace(&ipv4, &ipv6)
        } else {
            let ipv4: Vec<_> = ipv4.into_iter().map(|(vrp, comes)| Change { vrp, comes }).collect();
            let ipv6: Vec<_> = ipv6.into_iter().map(|(vrp, comes)| Change { vrp, comes }).collect();
            self.table.apply(&ipv4, &ipv6)
        };
        self.take_keys(changed_keys);
        self.loaded(now, index, serial, intervals, out);
        if !delta.is_empty() {
            out.push(Out::Changed(delta));
        }
        Ok(())
    }

    fn take_keys(&mut self, changes: Vec<(RouterKey, bool)>) {
        let gone = |key: &RouterKey| {
            changes.binary_search_by(|it| it.0.cmp(key)).is_ok_and(|at| !changes[at].1)
        };
        self.keys.retain(|key| !gone(key));
        self.keys.extend(changes.into_iter().filter(|it| it.1).map(|it| it.0));
        self.keys.sort_unstable();
    }

    fn loaded(
        &mut self,
        now: Time,
        index: usize,
        serial: u32,
        intervals: Option<Intervals>,
        out: &mut Vec<Out>,
    ) {
        self.counters.loads += 1;
        if self.source != Some(index) {
            self.caches.iter_mut().for_each(|cache| cache.known = None);
        }
        self.source = Some(index);
        let cache = &mut self.caches[index];
        cache.known = Some((cache.answering, serial));
        cache.failures = 0;
        cache.intervals = intervals.unwrap_or(self.settings.intervals).clamped();
        let seconds = |it: u32| Duration::from_secs(it.into());
        let Intervals { refresh_s, expire_s, .. } = cache.intervals;
        cache.enter(Phase::Synchronised, Some(now + seconds(refresh_s)));
        self.expires = Some(now + seconds(expire_s));
        let id = of(index);
        out.push(Out::Indicate(Indication::Synchronised(id, serial)));
    }

    /// The cache reported an error.
    fn reported(&mut self, now: Time, index: usize, code: u16, text: &[u8], out: &mut Vec<Out>) {
        let cache = &mut self.caches[index];
        let text = String::from_utf8_lossy(&text[..text.len().min(1_024)]).into_owned();
        match ErrorCode::of(code) {
            Some(ErrorCode::UnsupportedVersion)
                if !cache.is_agreed && cache.version == Version::V1 =>
            {
                cache.version = Version::V0;
                self.fail(now, index, Cause::Downgraded, out);
                self.caches[index].deadline = None;
            }
            Some(ErrorCode::NoDataAvailable) => {
                let retry = Duration::from_secs(cache.intervals.retry_s.into());
                self.fail(now, index, Cause::Reported(code, text), out);
                self.caches[index].deadline = Some(now + retry);
            }
            _ => {
                // What was known may be what it does not like: next time everything is asked for.
                cache.known = None;
                self.fail(now, index, Cause::Reported(code, text), out);
            }
        }
    }

    /// The cache offended: it is told, unless it reported an error itself (RFC 8210 §5.11).
    fn offended(&mut self, now: Time, index: usize, violation: &Violation<'_>, out: &mut Vec<Out>) {
        let Violation(code, octets, malformed) = violation;
        if octets.get(1) != Some(&PduType::ErrorReport.number()) {
            let mut report = Vec::new();
            let pdu = Pdu::ErrorReport(code.number(), octets, malformed.what.as_bytes());
            pdu.write(self.caches[index].version, &mut report);
            out.push(Out::Send(of(index), report));
            self.counters.errors_sent += 1;
        }
        self.caches[index].known = None;
        self.fail(now, index, Cause::Offended(*code, *malformed), out);
    }

    /// Gives a cache up for a while. Its records stay until they expire.
    fn fail(&mut self, now: Time, index: usize, cause: Cause, out: &mut Vec<Out>) {
        self.counters.failures += 1;
        let id = of(index);
        if cause != Cause::Lost {
            out.push(Out::Close(id));
        }
        let cache = &mut self.caches[index];
        cache.stage = Default::default();
        cache.is_agreed = false;
        let next = now + cache.backoff();
        cache.failures += 1;
        cache.enter(Phase::Idle, Some(next));
        out.push(Out::Indicate(Indication::Failed(id, cause)));
    }

    /// The records are gone, if they are this cache's (RFC 8210 §5.1).
    fn flush(&mut self, index: usize, out: &mut Vec<Out>) {
        if self.source == Some(index) {
            self.empty(out);
        }
    }

    fn empty(&mut self, out: &mut Vec<Out>) {
        self.caches.iter_mut().for_each(|cache| cache.known = None);
        self.keys.clear();
        (self.source, self.expires) = (None, None);
        let delta: Delta = self.table.replace(&[], &[]);
        if !delta.is_empty() {
            out.push(Out::Changed(delta));
        }
    }

    /// Opens the connections that are wanted now, and closes those that are not.
    fn arrange(&mut self, now: Time, out: &mut Vec<Out>) {
        if !self.is_started {
            return;
        }
        for index in 0..self.caches.len() {
            let cache = &mut self.caches[index];
            match cache.phase {
                Phase::Synchronised => return self.close_behind(index, out),
                Phase::Connecting | Phase::Asked | Phase::Loading => return,
                Phase::Idle if cache.deadline.is_none_or(|at| at <= now) => {
                    let timeout = self.settings.connect_timeout;
                    cache.enter(Phase::Connecting, Some(now + timeout));
                    self.counters.connects += 1;
                    return out.push(Out::Connect(of(index)));
                }
                Phase::Idle => {}
            }
        }
    }

    /// Closes the connections with caches less preferred than `index`.
    fn close_behind(&mut self, index: usize, out: &mut Vec<Out>) {
        for (at, cache) in self.caches.iter_mut().enumerate().skip(index + 1) {
            if cache.phase != Phase::Idle {
                out.push(Out::Close(of(at)));
            }
            (cache.stage, cache.is_agreed) = (Default::default(), false);
            cache.enter(Phase::Idle, None);
        }
    }

    fn stop(&mut self, out: &mut Vec<Out>) {
        self.is_started = false;
        for (index, cache) in self.caches.iter_mut().enumerate() {
            if cache.phase != Phase::Idle {
                out.push(Out::Close(of(index)));
            }
            *cache = Cache::new(&self.settings);
        }
        self.empty(out);
    }

    /// What is due at a cache.
    fn due(&mut self, now: Time, index: usize, out: &mut Vec<Out>) {
        match self.caches[index].phase {
            Phase::Idle => {}
            Phase::Connecting | Phase::Asked | Phase::Loading => {
                self.fail(now, index, Cause::Timeout, out);
            }
            Phase::Synchronised => self.ask(now, index, out),
        }
    }
}

impl Cache {
    /// Puts a record to the others of the answer; whether there was room.
    fn take(&mut self, pdu: &Pdu<'_>) -> bool {
        let stage = &mut self.stage;
        match pdu {
            Pdu::Ipv4(comes, vrp) => stage.ipv4.push(Change { vrp: *vrp, comes: *comes }),
            Pdu::Ipv6(comes, vrp) => stage.ipv6.push(Change { vrp: *vrp, comes: *comes }),
            Pdu::RouterKey(comes, asn, ski, spki) if spki.len() <= SPKI_BYTES_MAX => {
                let key = RouterKey { asn: *asn, ski: *ski, spki: (*spki).into() };
                stage.keys.push((key, *comes));
            }
            _ => return false,
        }
        stage.ipv4.len() + stage.ipv6.len() <= VRPS_MAX && stage.keys.len() <= KEYS_MAX
    }
}

/// The violation of a record that does not go with what is there. The PDU of the record is not at
/// hand any more; the code says enough.
fn refused<'a, V>(found: (V, bool, ErrorCode)) -> Violation<'a> {
    let (_, _, code) = found;
    let what = match code {
        ErrorCode::DuplicateAnnouncement => "a record was announced twice",
        _ => "a record was withdrawn that was not there",
    };
    Violation(code, &[], Malformed::new(0, what, "RFC 8210 §5.6"))
}

impl Machine for Client {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        let phase = |client: &Self, id: CacheId| {
            client.caches.get(usize::from(id.0)).map_or(Phase::Idle, |it| it.phase)
        };
        match input {
            In::Start => self.is_started = true,
            In::Stop => return self.stop(out),
            In::Refresh => {
                for index in 0..self.caches.len() {
                    match self.caches[index].phase {
                        Phase::Idle => self.caches[index].deadline = None,
                        Phase::Synchronised => self.ask(now, index, out),
                        Phase::Connecting | Phase::Asked | Phase::Loading => {}
                    }
                }
            }
            In::Connected(id) if phase(self, id) == Phase::Connecting => {
                self.ask(now, usize::from(id.0), out);
            }
            In::ConnectFailed(id) if phase(self, id) == Phase::Connecting => {
                self.fail(now, usize::from(id.0), Cause::Lost, out);
            }
            In::Closed(id) if phase(self, id) != Phase::Idle => {
                self.fail(now, usize::from(id.0), Cause::Lost, out);
            }
            In::Connected(_) | In::ConnectFailed(_) | In::Closed(_) => {}
        }
        self.arrange(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        for index in 0..self.caches.len() {
            if self.caches[index].is_due(now) {
                self.due(now, index, out);
            }
        }
        if self.expires.is_some_and(|at| at <= now) {
            self.empty(out);
            self.counters.expired += 1;
            out.push(Out::Indicate(Indication::Expired));
        }
        self.arrange(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        // Idle caches behind one that is not are not wanted.
        let first_open = self.caches.iter().position(|it| it.phase != Phase::Idle);
        let waiting = first_open.unwrap_or(self.caches.len());
        let counts =
            |(index, cache): &(usize, &Cache)| *index < waiting || cache.phase != Phase::Idle;
        let of_caches = self.caches.iter().enumerate().filter(counts);
        let of_caches = of_caches.filter_map(|(_, cache)| cache.deadline);
        if !self.is_started {
            return None;
        }
        of_caches.chain(self.expires).min()
    }
}
