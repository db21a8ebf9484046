//! What the feature tells of a flow: what happened since it was last told, as one text.

use super::fields::{SPEC, violation};
use core::net::SocketAddr;
use srtp::{Index, Past, RTCP_INDEX_MAX, STREAMS_MAX, Skip, StreamState};
use wire::field;
use wire::field::value::{each, end, flag, number, put, put_socket, socket};
use wire::{Cursor, Malformed};

/// A digit that was heard (RFC 4733).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digit {
    /// The event's code.
    pub code: u8,
    /// How long it was, milliseconds.
    pub duration_ms: u32,
}

/// What is known of one stream of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamStatistics {
    /// Its synchronisation source.
    pub ssrc: u32,
    /// Packets that were sent, by their numbers.
    pub expected: u32,
    /// Of them came.
    pub received: u32,
    /// Of them did not come.
    pub lost: u32,
    /// Packets that came again.
    pub duplicates: u32,
    /// Packets that came behind a later one.
    pub reordered: u32,
    /// Interarrival jitter in ticks of the payload's clock (RFC 3550 §6.4.1).
    pub jitter: u32,
    /// The last round trip to whoever receives it, microseconds; 0: not known.
    pub round_trip_us: u32,
}

/// What passed at a flow since it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets of RTP that came and passed.
    pub packets: u64,
    /// Octets of UDP's payload of them.
    pub octets: u64,
    /// Packets of RTCP.
    pub reports: u64,
    /// Packets that were dropped.
    pub dropped: u64,
    /// Packets whose tag was not right, or that came twice.
    pub unprotected: u64,
    /// Milliseconds since the last one passed; `None`: none did.
    pub idle_ms: Option<u64>,
    /// Milliseconds since the flow is there.
    pub age_ms: u64,
    /// The stream that spoke last.
    pub stream: Option<StreamStatistics>,
}

/// What a standby has to know of a flow, and says in [`super::FlowSaid::resume`] when it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The source that was taken.
    pub latched: Option<SocketAddr>,
    /// How far each stream that comes has come (SRTP).
    pub receive: Vec<StreamState>,
    /// How far each stream that leaves from here has come (SRTP).
    pub send: Vec<StreamState>,
    /// What who protects them must not forget beside; no key is in it.
    pub past: Option<Past>,
}

/// What happened to a flow since it was last told. Many packets of a flow are one notice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notice {
    /// From where its packets come now.
    pub latched: Option<SocketAddr>,
    /// None came for as long as was said.
    pub timed_out: bool,
    /// Packets come here again after that.
    pub is_back: bool,
    /// Packets come here, and none comes to the flow of the other side.
    pub one_way: bool,
    /// Packets since whose tag was not right, or that came twice.
    pub unprotected: u64,
    /// What was dialled.
    pub digits: Vec<Digit>,
    /// What passed, every few seconds while it changes.
    pub statistics: Option<Statistics>,
    /// For a standby, when it changed.
    pub snapshot: Option<Snapshot>,
    /// Which of the notices with something for a standby this one is, counted from one; 0: none.
    pub number: u64,
}

/// Digits in one notice, at most.
pub(crate) const DIGITS_MAX: usize = 32;

mod tag {
    pub const LATCHED: u8 = 1;
    pub const TIMED_OUT: u8 = 2;
    pub const IS_BACK: u8 = 3;
    pub const ONE_WAY: u8 = 4;
    pub const UNPROTECTED: u8 = 5;
    pub const DIGIT: u8 = 6;
    pub const STATISTICS: u8 = 7;
    pub const SNAPSHOT: u8 = 8;
    pub const NUMBER: u8 = 9;
}

mod snapshot_tag {
    pub const LATCHED: u8 = 1;
    pub const RECEIVE: u8 = 2;
    pub const SEND: u8 = 3;
    pub const PAST: u8 = 4;
}

mod stream_tag {
    pub const SSRC: u8 = 1;
    pub const HIGHEST: u8 = 2;
    pub const RTCP: u8 = 3;
    pub const MOVED: u8 = 4;
}

mod count_tag {
    pub const PACKETS: u8 = 1;
    pub const OCTETS: u8 = 2;
    pub const REPORTS: u8 = 3;
    pub const DROPPED: u8 = 4;
    pub const UNPROTECTED: u8 = 5;
    pub const IDLE_MS: u8 = 6;
    pub const STREAM: u8 = 7;
    pub const AGE_MS: u8 = 8;
}

impl Notice {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// As `Item.value`; what it is of is the key.
    #[must_use]
    pub fn value(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(source) = self.latched {
            put_socket(&mut out, tag::LATCHED, source);
        }
        let flags = [
            (tag::TIMED_OUT, self.timed_out),
            (tag::IS_BACK, self.is_back),
            (tag::ONE_WAY, self.one_way),
        ];
        for (tag, _) in flags.into_iter().filter(|(_, is_so)| *is_so) {
            put(&mut out, tag, 1);
        }
        if self.unprotected > 0 {
            put(&mut out, tag::UNPROTECTED, self.unprotected);
        }
        for digit in &self.digits {
            field::nested(&mut out, tag::DIGIT, |out| {
                out.push(digit.code);
                out.extend_from_slice(&digit.duration_ms.to_be_bytes());
            });
        }
        if let Some(statistics) = &self.statistics {
            field::nested(&mut out, tag::STATISTICS, |out| statistics.write(out));
        }
        if let Some(snapshot) = &self.snapshot {
            field::nested(&mut out, tag::SNAPSHOT, |out| snapshot.write(out));
        }
        if self.number > 0 {
            put(&mut out, tag::NUMBER, self.number);
        }
        out
    }

    /// Of an `Item.value`.
    ///
    /// # Errors
    /// A field that is cut off or has another length or number than it may.
    pub fn read(value: &[u8]) -> Result<Self, Malformed> {
        let mut notice = Self::default();
        each(value, |tag, value| {
            match tag {
                tag::LATCHED => notice.latched = Some(socket(value)?),
                tag::TIMED_OUT => notice.timed_out = flag(value)?,
                tag::IS_BACK => notice.is_back = flag(value)?,
                tag::ONE_WAY => notice.one_way = flag(value)?,
                tag::UNPROTECTED => notice.unprotected = number(value)?,
                tag::DIGIT if notice.digits.len() < DIGITS_MAX => {
                    notice.digits.push(read_digit(value)?);
                }
                tag::DIGIT => return Err(violation("a notice has too many digits")),
                tag::STATISTICS => notice.statistics = Some(Statistics::read(value)?),
                tag::SNAPSHOT => notice.snapshot = Some(Snapshot::read(value)?),
                tag::NUMBER => notice.number = number(value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(notice)
    }
}

fn read_digit(value: &[u8]) -> Result<Digit, Malformed> {
    let what = "a digit is not 5 octets";
    let mut cursor = Cursor::new(value, 0, SPEC);
    let digit = Digit { code: cursor.octet(what)?, duration_ms: cursor.be32(what)? };
    end(&cursor)?;
    Ok(digit)
}

impl Snapshot {
    /// Of a forwarder that took over from here and has told nothing yet: it went ahead of all that
    /// the one before it may have used.
    #[must_use]
    pub fn taken_over(self) -> Self {
        let send: Vec<_> = self.send.iter().map(|it| it.skipped(Skip::MAX)).collect();
        let past = if send.is_empty() {
            self.past
        } else {
            Some(self.past.unwrap_or_default().skipped(Skip::MAX))
        };
        Self { send, past, ..self }
    }

    /// Appends it as fields.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(source) = self.latched {
            put_socket(out, snapshot_tag::LATCHED, source);
        }
        let of = [(snapshot_tag::RECEIVE, &self.receive), (snapshot_tag::SEND, &self.send)];
        for (tag, streams) in of {
            for stream in streams {
                field::nested(out, tag, |out| write_stream(stream, out));
            }
        }
        if let Some(past) = &self.past {
            field::nested(out, snapshot_tag::PAST, |out| past.write(out));
        }
    }

    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    /// A field that is cut off or has another length or number than it may.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut snapshot = Self::default();
        each(octets, |tag, value| {
            match tag {
                snapshot_tag::LATCHED => snapshot.latched = Some(socket(value)?),
                snapshot_tag::RECEIVE => take_stream(&mut snapshot.receive, value)?,
                snapshot_tag::SEND => take_stream(&mut snapshot.send, value)?,
                snapshot_tag::PAST => {
                    let what = "what a sender must not forget cannot be read";
                    snapshot.past = Some(Past::read(value).ok_or(violation(what))?);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(snapshot)
    }
}

fn write_stream(stream: &StreamState, out: &mut Vec<u8>) {
    put(out, stream_tag::SSRC, stream.ssrc.into());
    if let Some(highest) = stream.highest {
        put(out, stream_tag::HIGHEST, highest.number());
    }
    if let Some(rtcp) = stream.rtcp {
        put(out, stream_tag::RTCP, rtcp.into());
    }
    put(out, stream_tag::MOVED, stream.moved.into());
}

fn take_stream(streams: &mut Vec<StreamState>, octets: &[u8]) -> Result<(), Malformed> {
    let mut stream = StreamState { ssrc: 0, highest: None, rtcp: None, moved: 0 };
    each(octets, |tag, value| {
        match tag {
            stream_tag::SSRC => stream.ssrc = number(value)?,
            stream_tag::HIGHEST => {
                let index = Index::of(number(value)?);
                stream.highest = Some(index.ok_or(violation("an index has more than 48 bits"))?);
            }
            stream_tag::RTCP => {
                let index = number(value)?;
                if index > RTCP_INDEX_MAX {
                    return Err(violation("an index of RTCP has more than 31 bits"));
                }
                stream.rtcp = Some(index);
            }
            stream_tag::MOVED => stream.moved = number(value)?,
            _ => {}
        }
        Ok(())
    })?;
    if streams.len() == STREAMS_MAX {
        return Err(violation("a direction has too many streams"));
    }
    streams.push(stream);
    Ok(())
}

impl Statistics {
    fn write(&self, out: &mut Vec<u8>) {
        put(out, count_tag::PACKETS, self.packets);
        put(out, count_tag::OCTETS, self.octets);
        put(out, count_tag::REPORTS, self.reports);
        put(out, count_tag::DROPPED, self.dropped);
        put(out, count_tag::UNPROTECTED, self.unprotected);
        if let Some(idle) = self.idle_ms {
            put(out, count_tag::IDLE_MS, idle);
        }
        put(out, count_tag::AGE_MS, self.age_ms);
        if let Some(stream) = &self.stream {
            field::nested(out, count_tag::STREAM, |out| {
                stream.words().iter().for_each(|it| out.extend_from_slice(&it.to_be_bytes()));
            });
        }
    }

    fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut it = Self::default();
        each(octets, |tag, value| {
            match tag {
                count_tag::PACKETS => it.packets = number(value)?,
                count_tag::OCTETS => it.octets = number(value)?,
                count_tag::REPORTS => it.reports = number(value)?,
                count_tag::DROPPED => it.dropped = number(value)?,
                count_tag::UNPROTECTED => it.unprotected = number(value)?,
                count_tag::IDLE_MS => it.idle_ms = Some(number(value)?),
                count_tag::AGE_MS => it.age_ms = number(value)?,
                count_tag::STREAM => it.stream = Some(StreamStatistics::read(value)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(it)
    }
}

impl StreamStatistics {
    const fn words(&self) -> [u32; 8] {
        [
            self.ssrc,
            self.expected,
            self.received,
            self.lost,
            self.duplicates,
            self.reordered,
            self.jitter,
            self.round_trip_us,
        ]
    }

    fn read(value: &[u8]) -> Result<Self, Malformed> {
        let what = "what is known of a stream is not 32 octets";
        let mut cursor = Cursor::new(value, 0, SPEC);
        let mut words = [0; 8];
        for word in &mut words {
            *word = cursor.be32(what)?;
        }
        end(&cursor)?;
        let [ssrc, expected, received, lost, duplicates, reordered, jitter, round_trip_us] = words;
        Ok(Self { ssrc, expected, received, lost, duplicates, reordered, jitter, round_trip_us })
    }
}
