//! Events of media in the trails of their calls: those that their session controller names; a call
//! of NG is found by its Call-ID.

use crate::MediaController;
use crate::lease::Lessee;
use crate::measures::Report;
use crate::noticed::Noticed;
use crate::streams::Owner;
use anchor::row::StreamId;
use anchor::{Codec, Guard, Payload, Side, Stream, Trace};
use core::net::SocketAddr;
use machine::identity::hex;
use machine::{Duration, Time};
use runtime::{Flow, PortId, Transport};
use sdp::Direction;
use trail::{Event, Field};

const DIGITS: &[u8; 16] = b"0123456789*#ABCD";

/// What fields of an event are made of.
type Fields<'a> = Vec<(&'a str, Field<'a>)>;

impl MediaController {
    /// A stream stands, or is another one.
    pub(crate) fn trail_stands(&mut self, now: Time, lessee: Lessee, id: StreamId, is_new: bool) {
        if !self.capture.is_on() {
            return;
        }
        let Some(stream) = self.streams.at(lessee, id) else { return };
        let event = if is_new { Event::StreamBegan } else { Event::StreamChanged };
        for side in Side::BOTH {
            let end = stream.end(side);
            let local = self.streams.addresses.place(end.local.address, end.local.port);
            let local = local.map(|it| SocketAddr::new(it.address, it.port).to_string());
            let remote = end.remote.map(|it| it.to_string());
            let codec = codec_of(&stream, side);
            let controller = self.settings.msc.name.clone();
            let mut fields: Fields<'_> = vec![
                ("kind", Field::Text(stream.kind.name().as_bytes())),
                ("suite", Field::Text(suite_of(&end.guard).as_bytes())),
                ("direction", Field::Text(direction(end.direction).as_bytes())),
                ("controller", Field::Text(controller.as_bytes())),
            ];
            let texts = [("codec", &codec), ("local", &local), ("remote", &remote)];
            for (name, text) in texts {
                fields.extend(text.as_ref().map(|text| (name, Field::Text(text.as_bytes()))));
            }
            self.trail(now, Owner { lessee, stream: id, side }, &stream, event, &fields);
        }
    }

    /// A stream is over.
    pub(crate) fn trail_ended(
        &mut self,
        now: Time,
        owner: Owner,
        stream: &Stream,
        report: Option<&Report>,
    ) {
        let codec = codec_of(stream, owner.side);
        let mut fields = Fields::new();
        if let Some(report) = report {
            fields = quality(report);
            let statistics = &report.quality.statistics;
            fields.push(("octets", Field::Number(statistics.octets)));
            fields.push(("dropped", Field::Number(statistics.dropped)));
        }
        fields.extend(codec.as_ref().map(|codec| ("codec", Field::Text(codec.as_bytes()))));
        self.trail(now, owner, stream, Event::StreamEnded, &fields);
    }

    pub(crate) fn trail_latched(&mut self, now: Time, told: &Noticed, source: SocketAddr) {
        let source = source.to_string();
        self.trail_of(now, told, Event::StreamLatched, &[("remote", text(&source))]);
    }

    pub(crate) fn trail_timed_out(&mut self, now: Time, told: &Noticed) {
        let after_ms = u64::from(told.stream.timeout_s) * 1_000;
        let fields = [("after_ms", Field::Number(after_ms))];
        self.trail_of(now, told, Event::StreamTimedOut, &fields);
    }

    /// An end is silent, or was for so long.
    pub(crate) fn trail_one_way(
        &mut self,
        now: Time,
        told: &Noticed,
        silent: Side,
        lasted: Option<Duration>,
    ) {
        let event = if lasted.is_some() { Event::OneWayEnded } else { Event::OneWayDetected };
        let ms = lasted.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
        let fields: Fields<'_> = ms.map(|ms| ("after_ms", Field::Number(ms))).into_iter().collect();
        let owner = Owner { side: silent, ..told.owner };
        self.trail(now, owner, &told.stream, event, &fields);
    }

    pub(crate) fn trail_digit(&mut self, now: Time, told: &Noticed, digit: (u8, u32), way: &str) {
        let (code, duration_ms) = digit;
        let digit = DIGITS.get(usize::from(code)).map(core::slice::from_ref);
        let mut fields: Fields<'_> =
            vec![("duration_ms", Field::Number(duration_ms.into())), ("way", text(way))];
        fields.extend(digit.map(|digit| ("digit", Field::Text(digit))));
        self.trail_of(now, told, Event::DigitTyped, &fields);
    }

    pub(crate) fn trail_unprotected(&mut self, now: Time, told: &Noticed, count: u64) {
        let suite = suite_of(&told.stream.end(told.owner.side).guard);
        let fields = [("count", Field::Number(count)), ("suite", text(suite))];
        self.trail_of(now, told, Event::SrtpFailed, &fields);
    }

    pub(crate) fn trail_quality(
        &mut self,
        now: Time,
        owner: Owner,
        stream: &Stream,
        report: &Report,
    ) {
        let codec = codec_of(stream, owner.side);
        let mut fields = quality(report);
        fields.extend(codec.as_ref().map(|codec| ("codec", Field::Text(codec.as_bytes()))));
        self.trail(now, owner, stream, Event::QualityReported, &fields);
    }

    fn trail_of(&mut self, now: Time, told: &Noticed, event: Event, fields: &[(&str, Field<'_>)]) {
        self.trail(now, told.owner, &told.stream, event, fields);
    }

    /// An event of an end: `leg` and `line`, then the fields that are given.
    fn trail(
        &mut self,
        now: Time,
        owner: Owner,
        stream: &Stream,
        event: Event,
        fields: &[(&str, Field<'_>)],
    ) {
        if !self.capture.is_on() {
            return;
        }
        let end = stream.end(owner.side);
        let nowhere = Flow::NOWHERE.local;
        let local = self.streams.addresses.place(end.local.address, end.local.port);
        let local = local.map_or(nowhere, |it| SocketAddr::new(it.address, it.port));
        let remote = end.remote.filter(|it| it.is_ipv4() == local.is_ipv4());
        let remote = remote.unwrap_or(SocketAddr::new(local.ip(), 0));
        let flow = Flow::to(PortId(u16::MAX), Transport::Udp, local, remote);
        let leg: &[u8] = if owner.side == Side::A { b"a" } else { b"b" };
        let mut all: Fields<'_> =
            vec![("leg", Field::Text(leg)), ("line", Field::Number(owner.stream.line.into()))];
        all.extend_from_slice(fields);
        // A session controller that says neither numbers its calls by their trails.
        let Trace { trail, call_id } = &stream.trace;
        let number = hex(trail.unwrap_or(owner.stream.call));
        let is_named = trail.is_none() && !call_id.is_empty();
        let correlation = if is_named { call_id } else { &number[..] };
        self.capture.event_of(now, &flow, correlation, event, &all);
    }
}

fn text(text: &str) -> Field<'_> {
    Field::Text(text.as_bytes())
}

fn quality(report: &Report) -> Fields<'static> {
    let quality = &report.quality;
    let duration_ms = u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX);
    let mut fields = vec![
        ("packets", Field::Number(quality.statistics.packets)),
        ("lost", Field::Number(quality.statistics.lost)),
        ("loss_permille", Field::Number(report.loss_permille.into())),
        ("jitter_us", Field::Number(quality.statistics.jitter_us.into())),
        ("duration_ms", Field::Number(duration_ms)),
    ];
    if quality.round_trip_us > 0 {
        fields.push(("round_trip_us", Field::Number(quality.round_trip_us.into())));
    }
    if report.is_rated {
        fields.push(("r_tenths", Field::Number(quality.r_tenths.into())));
        fields.push(("mos_hundredths", Field::Number(quality.mos_hundredths.into())));
    }
    fields
}

/// The codec of what a side sends, as `rtpmap` writes it.
pub(crate) fn codec_of(stream: &Stream, side: Side) -> Option<String> {
    let is_speech = |payload: &&Payload| {
        payload.from == side && payload.codec.is_some_and(|it| !it.shape().is_auxiliary)
    };
    let payload = stream.payloads.iter().find(is_speech)?;
    let name = payload.codec.map(Codec::name)?;
    let Payload { clock, channels, .. } = payload;
    Some(match channels {
        0 | 1 => format!("{name}/{clock}"),
        channels => format!("{name}/{clock}/{channels}"),
    })
}

/// The suite of an end's protection; `RTP` where there is none.
pub(crate) fn suite_of(guard: &Guard) -> &'static str {
    match guard {
        Guard::None => "RTP",
        Guard::Keys { receive, .. } => receive.suite.name(),
        Guard::Dtls { .. } => "DTLS",
    }
}

pub(crate) const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::SendRecv => "sendrecv",
        Direction::SendOnly => "sendonly",
        Direction::RecvOnly => "recvonly",
        Direction::Inactive => "inactive",
    }
}
