//! A trail: everything that belongs to one call, registration or other exchange, over all legs.

use crate::entry;
use crate::media::{MediaView, STREAMS_MAX, Stream};
use crate::operation::Operation;
use serde::Serialize;
use std::fmt::Write as _;
use std::net::SocketAddr;
use store::{Head, Place};
use utoipa::ToSchema;

/// Call-IDs kept of one trail.
pub const CALL_IDS_MAX: usize = 32;
/// Hosts kept of one trail.
pub const HOSTS_MAX: usize = 32;
/// Messages of one trail; what follows begins another one.
pub const MESSAGES_MAX: usize = 4_000;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $row:ident = $word:tt),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $row),+ }

        impl $name {
            /// Every row, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$row),+];

            /// The word that the interface uses.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$row => $word),+ }
            }

            /// The row of a word.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|row| row.word() == word)
            }

            fn of_number(number: u8) -> Option<Self> {
                Self::ALL.get(usize::from(number)).copied()
            }
        }
    };
}

words! {
    /// What a trail is about.
    Kind {
        /// An INVITE and its dialogs.
        Call = "call",
        /// A REGISTER.
        Registration = "registration",
        /// SUBSCRIBE, NOTIFY or PUBLISH.
        Subscription = "subscription",
        /// A MESSAGE.
        Message = "message",
        /// An OPTIONS.
        Options = "options",
        /// Something that was refused before it was understood.
        Rejected = "rejected",
        /// Anything else.
        Other = "other",
        /// A session or a link: of BGP, of M3UA.
        Session = "session",
        /// A dialogue of TCAP.
        Dialogue = "dialogue",
    }
}

words! {
    /// How it went.
    Outcome {
        /// Nothing final yet.
        InProgress = "in-progress",
        /// The call was answered.
        Answered = "answered",
        /// The callee was busy (486, 600).
        Busy = "busy",
        /// The caller gave up.
        Cancelled = "cancelled",
        /// Nobody answered in time (408, 480, 487 without CANCEL, or nothing at all).
        NoAnswer = "no-answer",
        /// Refused (any other 4xx or 6xx).
        Rejected = "rejected",
        /// A server failed (5xx).
        Failed = "failed",
        /// Sent elsewhere (3xx).
        Redirected = "redirected",
        /// The contact is registered.
        Registered = "registered",
        /// The contact is no longer registered.
        Deregistered = "deregistered",
        /// Done (2xx of anything else).
        Ok = "ok",
    }
}

/// A trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// Its number, unique in the store: milliseconds since the epoch, then a count.
    pub id: u64,
    /// What it is about.
    pub kind: Kind,
    /// How it went.
    pub outcome: Outcome,
    /// Method of the first request; [`sip::Method::Other`] when there was none.
    pub method: sip::Method,
    /// The first operation of a dialogue, by its number in [`Operation`]; 0: none.
    pub(crate) operation: u16,
    /// Last final status of the first leg; of a dialogue the number of the error or cause by which
    /// it failed. 0 when there is none.
    pub status: u16,
    /// Why a dialogue failed: its error, cause or problem by name.
    pub cause: Box<str>,
    /// Digits of whom a dialogue is about.
    pub subscriber: Box<str>,
    /// First message, microseconds since the UNIX epoch.
    pub started_us: u64,
    /// When it ended; 0 while it runs.
    pub ended_us: u64,
    /// When it was answered; 0 when it was not.
    pub answered_us: u64,
    /// When it first rang; 0 when it did not.
    pub rang_us: u64,
    /// Messages sent again.
    pub retransmissions: u32,
    /// Who asked: the URI of From.
    pub from: Box<str>,
    /// Who was asked: the URI of To.
    pub to: Box<str>,
    /// The Call-ID of each leg, in the order they appeared.
    pub call_ids: Vec<Box<str>>,
    /// Everyone who sent or received, in the order they appeared.
    pub hosts: Vec<SocketAddr>,
    /// Where the messages are, in the order they came.
    pub places: Vec<Place>,
    /// The streams of its media, as they were first heard of.
    pub media: Vec<Stream>,
}

impl Trail {
    /// An empty trail.
    #[must_use]
    pub fn new(id: u64, started_us: u64) -> Self {
        Self {
            id,
            kind: Kind::Other,
            outcome: Outcome::InProgress,
            method: sip::Method::Other,
            operation: 0,
            status: 0,
            cause: Box::default(),
            subscriber: Box::default(),
            started_us,
            ended_us: 0,
            answered_us: 0,
            rang_us: 0,
            retransmissions: 0,
            from: Box::default(),
            to: Box::default(),
            call_ids: Vec::new(),
            hosts: Vec::new(),
            places: Vec::new(),
            media: Vec::new(),
        }
    }

    /// The number as it stands in addresses: 16 hexadecimal digits.
    #[must_use]
    pub fn id_text(id: u64) -> String {
        format!("{id:016x}")
    }

    /// Reads what [`Trail::id_text`] wrote.
    #[must_use]
    pub fn parse_id(text: &str) -> Option<u64> {
        let plain = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| plain)
    }

    /// What a search filters by.
    #[must_use]
    pub const fn head(&self) -> Head {
        let method = if self.operation > 0 { self.operation } else { self.method as u16 };
        let tags = [self.kind as u16, method, self.status, self.outcome as u16];
        Head { id: self.id, start_us: self.started_us, tags }
    }

    /// Time from answer to end in milliseconds, of an answered call that ended; of a dialogue that
    /// ended from its first message.
    #[must_use]
    pub const fn duration_ms(&self) -> Option<u64> {
        if matches!(self.kind, Kind::Dialogue) && self.ended_us >= self.started_us {
            return Some((self.ended_us - self.started_us) / 1_000);
        }
        if self.answered_us == 0 || self.ended_us < self.answered_us {
            return None;
        }
        Some((self.ended_us - self.answered_us) / 1_000)
    }

    /// Time from the INVITE to the first ringing in milliseconds.
    #[must_use]
    pub const fn post_dial_delay_ms(&self) -> Option<u64> {
        if self.rang_us < self.started_us || self.rang_us == 0 {
            return None;
        }
        Some((self.rang_us - self.started_us) / 1_000)
    }

    /// The octets of its record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(160 + self.places.len() * 6);
        out.extend_from_slice(&[self.kind as u8, self.outcome as u8, self.method as u8]);
        for number in [
            self.id,
            u64::from(self.status),
            self.started_us,
            self.ended_us,
            self.answered_us,
            self.rang_us,
            u64::from(self.retransmissions),
        ] {
            push_number(&mut out, number);
        }
        push_text(&mut out, &self.from);
        push_text(&mut out, &self.to);
        push_number(&mut out, self.call_ids.len() as u64);
        self.call_ids.iter().for_each(|text| push_text(&mut out, text));
        push_number(&mut out, self.hosts.len() as u64);
        self.hosts.iter().for_each(|host| entry::push_address(&mut out, *host));
        push_number(&mut out, self.places.len() as u64);
        let mut last = Place { partition: 0, block: 0, entry: 0 };
        for place in &self.places {
            // Mostly the same partition and a block shortly after: one octet each.
            push_number(&mut out, u64::from(place.partition.wrapping_sub(last.partition)));
            push_number(&mut out, u64::from(place.block.wrapping_sub(last.block)));
            push_number(&mut out, u64::from(place.entry));
            last = *place;
        }
        push_number(&mut out, self.media.len() as u64);
        self.media.iter().for_each(|stream| stream.encode(&mut out));
        if self.kind == Kind::Dialogue {
            push_number(&mut out, self.operation.into());
            push_text(&mut out, &self.cause);
            push_text(&mut out, &self.subscriber);
        }
        out
    }

    /// Reads what [`Trail::encode`] wrote; `None` when it is not that.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, mut rest) = bytes.split_first_chunk::<3>()?;
        let mut it = Self::new(number(&mut rest)?, 0);
        it.kind = Kind::of_number(words[0])?;
        it.outcome = Outcome::of_number(words[1])?;
        it.method = sip::Method::ALL.get(usize::from(words[2])).copied()?;
        it.status = u16::try_from(number(&mut rest)?).ok()?;
        it.started_us = number(&mut rest)?;
        it.ended_us = number(&mut rest)?;
        it.answered_us = number(&mut rest)?;
        it.rang_us = number(&mut rest)?;
        it.retransmissions = u32::try_from(number(&mut rest)?).ok()?;
        it.from = text(&mut rest)?;
        it.to = text(&mut rest)?;
        for _ in 0..number(&mut rest)?.min(CALL_IDS_MAX as u64) {
            it.call_ids.push(text(&mut rest)?);
        }
        for _ in 0..number(&mut rest)?.min(HOSTS_MAX as u64) {
            let (host, after) = entry::address(rest)?;
            it.hosts.push(host);
            rest = after;
        }
        let mut last = Place { partition: 0, block: 0, entry: 0 };
        for _ in 0..number(&mut rest)?.min(MESSAGES_MAX as u64) {
            last = Place {
                partition: last.partition.wrapping_add(u32::try_from(number(&mut rest)?).ok()?),
                block: last.block.wrapping_add(u32::try_from(number(&mut rest)?).ok()?),
                entry: u16::try_from(number(&mut rest)?).ok()?,
            };
            it.places.push(last);
        }
        // A record of a version that kept no media ends here.
        if rest.is_empty() {
            return Some(it);
        }
        for _ in 0..number(&mut rest)?.min(STREAMS_MAX as u64) {
            it.media.push(Stream::decode(&mut rest)?);
        }
        if it.kind == Kind::Dialogue {
            it.operation = u16::try_from(number(&mut rest)?).ok()?;
            it.cause = text(&mut rest)?;
            it.subscriber = text(&mut rest)?;
        }
        Some(it)
    }

    /// What the interface shows of it.
    #[must_use]
    pub fn view(&self) -> TrailView {
        let known = |us: u64| (us > 0).then_some(us);
        TrailView {
            id: Self::id_text(self.id),
            kind: self.kind,
            started_at_us: self.started_us,
            ended_at_us: known(self.ended_us),
            from: self.from.to_string(),
            to: self.to.to_string(),
            method: match self.operation {
                0 => self.method.name(),
                number => Operation(number).name(),
            },
            subscriber: known_text(&self.subscriber),
            cause: known_text(&self.cause),
            call_ids: self.call_ids.iter().map(ToString::to_string).collect(),
            hosts: self.hosts.iter().map(ToString::to_string).collect(),
            status: (self.status > 0).then_some(self.status),
            outcome: self.outcome,
            duration_ms: self.duration_ms(),
            post_dial_delay_ms: self.post_dial_delay_ms(),
            messages: self.places.len(),
            retransmissions: self.retransmissions,
            media: MediaView::of(&self.media),
        }
    }
}

/// A trail as the interface shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TrailView {
    /// 16 hexadecimal digits.
    pub id: String,
    /// What it is about.
    pub kind: Kind,
    /// First message, microseconds since the UNIX epoch.
    pub started_at_us: u64,
    /// When it ended; null while it runs.
    pub ended_at_us: Option<u64>,
    /// URI of From; of a dialogue the address of who began it.
    pub from: String,
    /// URI of To; of a dialogue the address that it was sent to.
    pub to: String,
    /// Method of the first request; of a dialogue its first operation.
    pub method: &'static str,
    /// Digits of whom a dialogue is about.
    pub subscriber: Option<String>,
    /// Why a dialogue failed: its error, cause or problem by name.
    pub cause: Option<String>,
    /// Call-ID of each leg; of a dialogue its transactions, `number@address`.
    pub call_ids: Vec<String>,
    /// Everyone who sent or received, as `address:port`.
    pub hosts: Vec<String>,
    /// Last final status of the first leg.
    pub status: Option<u16>,
    /// How it went.
    pub outcome: Outcome,
    /// From answer to end.
    pub duration_ms: Option<u64>,
    /// From INVITE to the first ringing.
    pub post_dial_delay_ms: Option<u64>,
    /// Messages and events.
    pub messages: usize,
    /// Messages sent again.
    pub retransmissions: u32,
    /// What its media were like, the worst of all streams; null where nobody said.
    pub media: Option<MediaView>,
}

fn known_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Text of a message as a string; octets that are not UTF-8 become `\xNN`.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for octet in chunk.invalid() {
            let _ = write!(out, "\\x{octet:02x}");
        }
    }
    out
}

pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

pub(crate) fn number(rest: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let (&octet, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(octet & 0x7f).checked_shl(shift)?;
        if octet < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    push_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn text(rest: &mut &[u8]) -> Option<Box<str>> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    core::str::from_utf8(text).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Trail {
        let mut trail = Trail::new(0x0123_4567_89ab_cdef, 1_700_000_000_000_000);
        trail.kind = Kind::Call;
        trail.outcome = Outcome::Answered;
        trail.method = sip::Method::Invite;
        trail.status = 200;
        trail.rang_us = trail.started_us + 120_500;
        trail.answered_us = trail.started_us + 2_000_000;
        trail.ended_us = trail.started_us + 62_000_000;
        trail.retransmissions = 2;
        trail.from = "sip:alice@example.org".into();
        trail.to = "tel:+4930123".into();
        trail.call_ids = vec!["a@b".into(), "c".into()];
        trail.hosts = vec!["192.0.2.1:5060".parse().unwrap(), "[::1]:5061".parse().unwrap()];
        trail.places = (0..14u32)
            .map(|n| Place { partition: 7 - n / 10, block: n * 300, entry: (n * 5) as u16 })
            .collect();
        for (kind, from, payload) in [
            (
                hep::KIND_LOG,
                "192.0.2.1:1",
                &br#"{"event":"QualityReported","leg":"b","line":2,
                "codec":"opus/48000/2","packets":250,"lost":3,"mos_hundredths":421}"#[..],
            ),
            (
                hep::KIND_RTCP,
                "[::1]:4001",
                br#"{"report_blocks":[{"source_ssrc":7,
                "fraction_lost":9,"packets_lost":1,"ia_jitter":80}]}"#,
            ),
        ] {
            let source = from.parse().unwrap();
            let entry = entry::Entry {
                at_us: trail.started_us,
                protocol: hep::UDP,
                kind,
                flags: 0,
                capture_id: 0,
                source,
                destination: source,
                correlation: b"",
                tags: b"",
                payload,
            };
            crate::media::take(&mut trail.media, &crate::media::Places::default(), &entry);
        }
        assert_eq!(trail.media.len(), 2);
        trail
    }

    #[test]
    fn a_record_of_a_version_without_media_is_read() {
        let mut trail = sample();
        trail.media.clear();
        let mut bytes = trail.encode();
        assert_eq!(bytes.pop(), Some(0), "how many streams there are");
        assert_eq!(Trail::decode(&bytes), Some(trail));
    }

    #[test]
    fn a_dialogue_survives_the_round_trip_with_its_operation_and_cause() {
        let mut trail = sample();
        (trail.kind, trail.outcome) = (Kind::Dialogue, Outcome::Failed);
        trail.operation = Operation::named("sendRoutingInfoForSM").unwrap().0;
        (trail.cause, trail.subscriber) = ("unknownSubscriber".into(), "4477".into());
        assert_eq!(Trail::decode(&trail.encode()), Some(trail.clone()));
        let view = trail.view();
        assert_eq!(view.method, "sendRoutingInfoForSM");
        assert_eq!(view.cause.as_deref(), Some("unknownSubscriber"));
        assert_eq!(view.duration_ms, Some(62_000));
    }

    #[test]
    fn a_trail_survives_the_round_trip_and_tells_its_times() {
        let trail = sample();
        assert_eq!(Trail::decode(&trail.encode()), Some(trail.clone()));
        assert_eq!(trail.duration_ms(), Some(60_000));
        assert_eq!(trail.post_dial_delay_ms(), Some(120));
        assert_eq!(Trail::parse_id(&Trail::id_text(trail.id)), Some(trail.id));
        assert_eq!(Trail::parse_id("+123456789abcdef"), None);
        let json = serde_json::to_value(trail.view()).unwrap();
        assert_eq!(json["outcome"], "answered");
        assert_eq!(json["hosts"][1], "[::1]:5061");
    }

    #[test]
    fn octets_that_are_no_text_are_shown_as_numbers() {
        assert_eq!(printable(b"a\xffb\xc3\xa4"), "a\\xffb\u{e4}");
    }

    proptest! {
        /// Damaged octets are refused or read as some trail, and never panic.
        #[test]
        fn damaged_octets_never_panic(at in 0usize..300, value: u8, cut in 0usize..400) {
            let mut bytes = sample().encode();
            let length = bytes.len();
            bytes[at % length] = value;
            bytes.truncate(cut.min(length));
            let _ = Trail::decode(&bytes);
        }
    }
}
