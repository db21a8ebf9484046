//! What the management side may ask: how the controller stands, its streams, and whatever the
//! forwarder knows.

use crate::MediaController;
use crate::lease::Lessee;
use crate::pair::Role;
use crate::trails::{codec_of, direction, suite_of};
use anchor::row::StreamId;
use anchor::{Side, Stream, Trace};
use machine::Time;
use machine::identity::{hex, unhex};
use question::{Condition, Parameter, Question, questions, rows};
use runtime::{Answered, Ask, AskError, Effects, Ticket};
use std::net::SocketAddr;

/// Questions to the forwarder begin so.
const PLANE: &str = "plane/";
/// The question that comes every second.
const ALARMS: &str = "alarms";
/// Streams of an answer, if nobody says how many, and at most.
const STREAMS: usize = 100;
const STREAMS_MAX: usize = 1_000;

rows! {
    /// How a media controller stands.
    pub(crate) struct MediaRow {
        /// `controlled` or `away`.
        forwarder: &'static str,
        /// Of a pair: `active`, `standby`, or `waiting` for which of the two it is.
        role: Option<&'static str>,
        streams: usize,
        ng_calls: usize,
        /// Over the last ten seconds.
        packets_per_s: u64,
        forwarder_permille: u16,
        /// `connected`, `away`, or `none` where there is to be none.
        transcoder: &'static str,
        /// Thousandths of what it can do.
        transcoder_permille: u16,
        /// Streams of which something passes it.
        transcoded: usize,
        /// What is coded anew.
        codecs: Vec<&'static str>,
        leases: Vec<PortLeaseRow>,
        session_controllers: Vec<MediaSessionControllerRow>,
        refusals: usize,
    }

    /// Ports of a group in one family.
    pub(crate) struct PortLeaseRow {
        group: String,
        family: &'static str,
        pairs: u32,
        leased: u32,
        in_use: u32,
    }

    /// A session controller.
    pub(crate) struct MediaSessionControllerRow {
        session_controller: String,
        /// `connected`, `away`, or `standby` where the other node of the pair serves it.
        state: &'static str,
        /// Where it is connected from.
        address: Option<String>,
        streams: usize,
    }

    /// Checks of ICE and handshakes of DTLS, as one shard has them.
    pub(crate) struct MediaHandshakesRow {
        shard: u16,
        /// Ends with checks.
        checks: usize,
        /// Handshakes that go on, or whose association stands.
        handshakes: usize,
    }

    /// A stream, with both of its ends.
    pub(crate) struct MediaStreamRow {
        /// The number of its call: its trail in the service assurance.
        call: String,
        /// The Call-ID, as the calling side has it.
        call_id: Option<String>,
        line: u8,
        /// Whose it is; `NG`.
        session_controller: String,
        kind: &'static str,
        ends: Vec<MediaEndRow>,
    }

    /// An end of a stream.
    pub(crate) struct MediaEndRow {
        /// `a` began the call, `b` was called.
        leg: &'static str,
        local: Option<String>,
        remote: Option<String>,
        /// Where its packets really come from.
        latched: Option<String>,
        codec: Option<String>,
        suite: &'static str,
        direction: &'static str,
        packets: u64,
        lost: u64,
        dropped: u64,
        jitter_us: u32,
        /// The mean opinion score of late.
        mos: Option<f64>,
        /// `speaks`, `silent` (while the other end speaks), `timed-out` or `quiet`.
        state: &'static str,
    }
}

type Serve = fn(&mut MediaController, (Time, &Ask)) -> Answered;

const CALL: Parameter = Parameter::text("call", "only of this call: its number, or its Call-ID");
const LIMIT: Parameter =
    Parameter::number("limit", "streams at most, 100 if it is left out, at most 1000");

questions! {
    /// What this control answers itself, and who does.
    const QUESTIONS: Serve;
    /// How the media controller stands.
    Ask "media" [] -> Vec<MediaRow>, |it, asked| Ok(it.media(asked.0));
    /// The streams, in the order of their calls.
    Ask "streams" [CALL, LIMIT] -> Vec<MediaStreamRow>, |it, asked| it.stream_rows(asked.1);
    /// One stream.
    Ask "stream" [
        Parameter::text("call", "the number of its call, or its Call-ID").required(),
        Parameter::number("line", "its place in the call, 0 if it is left out"),
    ] -> MediaStreamRow, |it, asked| it.stream_row(asked.1);
    /// What the forwarder refused, and what commands of NG said that is not done.
    Ask "media/refusals" [] -> Vec<MediaRefusalRow>, |it, _| Ok(it.refusals());
    /// Checks and handshakes of ends, shard by shard.
    Ask "media/handshakes" [] -> Vec<MediaHandshakesRow>, |it, _| Ok(vec![it.handshakes()]);
    /// The other node of the pair is about to serve.
    Internal "hand-over" [Parameter::text("left", "what is left to it").required()]
        -> Vec<MediaHandOverRow>, |it, asked| it.hand_over(asked.0, asked.1);
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| Ok(it.alarms(asked.0));
}

rows! {
    /// What holds up that the other node takes over.
    pub(crate) struct MediaHandOverRow {
        /// 1 while the forwarder still forwards what comes late.
        requests: u64,
    }

    /// What the forwarder refused, or what of a command is not done.
    pub(crate) struct MediaRefusalRow {
        what: String,
        why: String,
    }
}

/// What a media controller may be asked: this control, and the forwarder through it.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).chain(dataplane::questions()).collect()
}

/// The question that every shard answers.
pub(crate) const HANDSHAKES: &str = "media/handshakes";

impl MediaHandshakesRow {
    /// So many ends with checks, and handshakes, of a shard.
    pub(crate) const fn of(shard: u16, ends: (usize, usize)) -> Self {
        Self { shard, checks: ends.0, handshakes: ends.1 }
    }
}

impl MediaController {
    fn handshakes(&self) -> MediaHandshakesRow {
        MediaHandshakesRow::of(0, self.keying.len())
    }

    /// Answers a question, or has the forwarder asked: then the answer comes later.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        match ask.path.strip_prefix(PLANE) {
            Some(path) => self.dataplane.question(now, path, ask, ticket, out),
            None => {
                if ask.path == ALARMS {
                    self.dataplane.measure(now, out);
                }
                Some(self.own(now, ask))
            }
        }
    }

    /// What this control knows itself.
    pub(crate) fn own(&mut self, now: Time, ask: &Ask) -> Answered {
        let serve = question::find(QUESTIONS, &ask.path);
        serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?(self, (now, ask))
    }

    fn media(&self, now: Time) -> Vec<MediaRow> {
        let leases = self.group_figures().map(|(group, family, it)| PortLeaseRow {
            group: group.to_owned(),
            family,
            pairs: it.pairs,
            leased: it.leased,
            in_use: it.in_use,
        });
        let controllers = self.controllers.iter().map(|(lessee, it)| MediaSessionControllerRow {
            session_controller: it.name.to_string(),
            state: match it.away_since {
                None => "connected",
                Some(_) if self.pair.serves() => "away",
                Some(_) => "standby",
            },
            address: self.links.flow_of(lessee).map(|flow| flow.remote.to_string()),
            streams: self.streams.count(lessee),
        });
        let load = self.load(now);
        let codecs = anchor::Codec::ALL.iter().filter(|it| load.codecs >> it.number() & 1 == 1);
        vec![MediaRow {
            forwarder: if self.dataplane.is_controlled() { "controlled" } else { "away" },
            role: match self.pair.role {
                Role::Alone => None,
                Role::Waiting => Some("waiting"),
                Role::Standby => Some("standby"),
                Role::Active => Some("active"),
            },
            streams: self.streams.total(),
            ng_calls: self.driven.len(),
            packets_per_s: self.shown.packets.per_s(),
            forwarder_permille: load.forwarder_permille,
            transcoder: self.transcoder_state(),
            transcoder_permille: load.transcoder_permille,
            transcoded: self.transcoding.len(),
            codecs: codecs.map(|it| it.name()).collect(),
            leases: leases.collect(),
            session_controllers: controllers.collect(),
            refusals: self.dataplane.refusals().len(),
        }]
    }

    fn transcoder_state(&self) -> &'static str {
        match (self.transcoding.is_wanted(), self.transcoding.is_there()) {
            (false, _) => "none",
            (true, true) => "connected",
            (true, false) => "away",
        }
    }

    /// The other node takes over soon: nobody waits for anything, and what comes late here is
    /// forwarded.
    fn hand_over(&mut self, now: Time, ask: &Ask) -> Result<Vec<MediaHandOverRow>, AskError> {
        let left = ask.params.get("left").map_or("", |text| text);
        match left {
            "late" => {}
            "nothing" => self.pair.is_leaving = false,
            "beginnings" | "requests" => self.pair.is_leaving = true,
            _ => return Err(AskError::BadParameter("left".into())),
        }
        let waits = left == "late" && self.pair.is_late(now);
        Ok(vec![MediaHandOverRow { requests: waits.into() }])
    }

    fn refusals(&self) -> Vec<MediaRefusalRow> {
        let rows = self.dataplane.refusals().iter();
        let rows = rows.map(|(what, why)| MediaRefusalRow { what: what.clone(), why: why.clone() });
        let undone = self.driven.undone().0;
        let undone = undone.map(|why| MediaRefusalRow { what: "a command of NG".to_owned(), why });
        rows.chain(undone).collect()
    }

    fn stream_rows(&self, ask: &Ask) -> Result<Vec<MediaStreamRow>, AskError> {
        let limit = ask.params.get("limit").map(|text| text.parse::<usize>());
        let limit = limit.transpose().map_err(|_| AskError::BadParameter("limit".into()))?;
        let limit = limit.unwrap_or(STREAMS).min(STREAMS_MAX);
        let call = ask.params.get("call");
        let is_meant =
            |it: &(Lessee, StreamId)| call.is_none_or(|name| self.is_call(it.0, it.1, name));
        let names = self.streams.names().filter(is_meant).take(limit);
        Ok(names.filter_map(|(lessee, id)| self.row_of(lessee, id)).collect())
    }

    fn stream_row(&self, ask: &Ask) -> Result<MediaStreamRow, AskError> {
        let lacks = || AskError::BadParameter("call".into());
        let call = ask.params.get("call").ok_or_else(lacks)?;
        let line = ask.params.get("line").map(|text| text.parse::<u8>()).transpose();
        let line = line.map_err(|_| AskError::BadParameter("line".into()))?.unwrap_or(0);
        let is_it = |it: &(Lessee, StreamId)| it.1.line == line && self.is_call(it.0, it.1, call);
        let found = self.streams.names().find(is_it);
        let row = found.and_then(|(lessee, id)| self.row_of(lessee, id));
        row.ok_or_else(|| AskError::NotFound(format!("stream {line} of {call}")))
    }

    fn is_call(&self, lessee: Lessee, id: StreamId, name: &str) -> bool {
        let Some(trace) = self.streams.trace(lessee, id) else { return false };
        unhex(name.as_bytes()) == Some(trace.trail.unwrap_or(id.call))
            || !trace.call_id.is_empty() && *trace.call_id == *name.as_bytes()
    }

    fn row_of(&self, lessee: Lessee, id: StreamId) -> Option<MediaStreamRow> {
        let stream = self.streams.at(lessee, id)?;
        let Trace { trail, call_id } = &stream.trace;
        let call = hex(trail.unwrap_or(id.call));
        let is_named = !call_id.is_empty();
        Some(MediaStreamRow {
            call: String::from_utf8_lossy(&call).into_owned(),
            call_id: is_named.then(|| String::from_utf8_lossy(call_id).into_owned()),
            line: id.line,
            session_controller: self.controllers.name(lessee).to_owned(),
            kind: stream.kind.name(),
            ends: Side::BOTH.map(|side| self.end_row(&stream, side)).into(),
        })
    }

    fn end_row(&self, stream: &Stream, side: Side) -> MediaEndRow {
        let end = stream.end(side);
        let shown = self.measures.shown(end.local);
        let place = self.streams.addresses.place(end.local.address, end.local.port);
        let text = |it: SocketAddr| it.to_string();
        let state = match () {
            () if shown.is_silent => "silent",
            () if shown.timed_out => "timed-out",
            () if shown.statistics.packets > 0 => "speaks",
            () => "quiet",
        };
        MediaEndRow {
            leg: if side == Side::A { "a" } else { "b" },
            local: place.map(|it| text(SocketAddr::new(it.address, it.port))),
            remote: end.remote.map(text),
            latched: shown.latched.map(text),
            codec: codec_of(stream, side),
            suite: suite_of(&end.guard),
            direction: direction(end.direction),
            packets: shown.statistics.packets,
            lost: shown.statistics.lost,
            dropped: shown.statistics.dropped,
            jitter_us: shown.statistics.jitter_us,
            mos: (shown.mos_hundredths > 0).then(|| f64::from(shown.mos_hundredths) / 100.0),
            state,
        }
    }
}
