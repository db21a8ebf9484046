//! The streams of a trail as its page shows them: figures over the whole and over time, and what
//! happened meanwhile.

use crate::detail::{Read, sentence};
use crate::entry::Entry;
use crate::media::said::{self, Said, Terms, What};
use crate::media::stream::{Figures, Id, Stream};
use crate::media::{Places, take};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// Points of one stream; beyond, each becomes one with its neighbour, and shows the worse of both.
const POINTS_MAX: usize = 240;
/// Marks of one stream; further ones are left out.
const MARKS_MAX: usize = 200;
/// How long a report by RTCP is about as a rule, and at most (RFC 3550 §6.2).
const REPORT_MS: u64 = 5_000;
const REPORT_MS_MAX: u64 = 60_000;

/// A stream in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct StreamView {
    /// The end whose packets they are: `a` called, `b` was called.
    pub leg: Option<&'static str>,
    /// The `m=` line, from 0.
    pub line: u8,
    /// The host that told by RTCP what it heard; null: what a media controller counted.
    pub heard_by: Option<String>,
    /// The source that was heard, if a host told.
    pub ssrc: Option<String>,
    /// On what terms.
    pub terms: TermsView,
    /// When it began, microseconds since the UNIX epoch.
    pub began_at_us: u64,
    /// When it ended, if that was said.
    pub ended_at_us: Option<u64>,
    /// Over the whole.
    pub figures: Figures,
    /// The lowest MOS of a report, hundredths.
    pub mos_min_hundredths: Option<u16>,
    /// Whether the end was not heard for some time.
    pub one_way: bool,
    /// Whether packets were missing for longer than allowed.
    pub timed_out: bool,
    /// Packets that SRTP refused.
    pub unprotected: u64,
    /// Why it ended, if not by the call.
    pub ended_by: Option<String>,
    /// Over time.
    pub points: Vec<PointView>,
    /// What happened, in the order of time.
    pub marks: Vec<MarkView>,
}

/// On what terms a stream stands; null is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct TermsView {
    /// As in the `m=` line.
    pub kind: Option<String>,
    /// As in `rtpmap`.
    pub codec: Option<String>,
    /// What protects it; `RTP`: nothing.
    pub suite: Option<String>,
    /// The port that the end sends to.
    pub local: Option<String>,
    /// Where the end is, as it said.
    pub remote: Option<String>,
    /// Where it turned out to be.
    pub latched: Option<String>,
    /// What the end said that it does.
    pub direction: Option<String>,
    /// The media controller.
    pub controller: Option<String>,
}

/// A report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct PointView {
    /// Its end, microseconds since the UNIX epoch.
    pub at_us: u64,
    /// How long a time it is about.
    pub duration_ms: u64,
    /// What was measured in that time.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Something that happened to a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct MarkView {
    /// Microseconds since the UNIX epoch.
    pub at_us: u64,
    /// Past tense: `DigitTyped`.
    pub name: String,
    /// The rest in words.
    pub text: String,
    /// The digit that was typed.
    pub digit: Option<String>,
}

/// The streams of a trail, with what its entries tell of them; these are in the order of time.
#[must_use]
pub fn lanes(streams: &[Stream], entries: &[Read]) -> Vec<StreamView> {
    let mut lanes: Vec<_> = streams.iter().map(begin).collect();
    for entry in entries {
        for Said { id, what } in said::of(entry.kind, entry.source, &entry.payload) {
            let found = streams.iter().zip(&mut lanes).find(|(stream, _)| stream.id == id);
            if let Some((stream, lane)) = found {
                tell(lane, stream, entry, what);
            }
        }
    }
    lanes.iter_mut().for_each(|lane| thin(&mut lane.points));
    // Both directions of a line stand together, and before what others heard of them.
    lanes.sort_by_key(|lane| (lane.line, lane.heard_by.is_some(), lane.leg));
    lanes
}

/// The streams of these entries alone, without session descriptions.
#[must_use]
pub fn of_entries(entries: &[Read]) -> Vec<Stream> {
    let mut streams = Vec::new();
    for entry in entries {
        let entry = Entry {
            at_us: entry.at_us,
            protocol: entry.protocol,
            kind: entry.kind,
            flags: entry.flags,
            capture_id: 0,
            source: entry.source,
            destination: entry.destination,
            correlation: b"",
            tags: b"",
            payload: &entry.payload,
        };
        take(&mut streams, &Places::default(), &entry);
    }
    streams
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn begin(stream: &Stream) -> StreamView {
    let (heard_by, ssrc) = match stream.id {
        Id::From { .. } => (None, None),
        Id::Heard { at, ssrc } => (Some(at.to_string()), Some(format!("{ssrc:08x}"))),
    };
    StreamView {
        leg: stream.from.map(super::Side::word),
        line: stream.line,
        heard_by,
        ssrc,
        terms: TermsView {
            kind: known(&stream.kind),
            codec: known(&stream.codec),
            suite: known(&stream.suite),
            ..TermsView::default()
        },
        began_at_us: stream.began_us,
        ended_at_us: (stream.ended_us > 0).then_some(stream.ended_us),
        figures: stream.figures(),
        mos_min_hundredths: stream.mos_min(),
        one_way: stream.was_one_way,
        timed_out: stream.timed_out,
        unprotected: stream.unprotected,
        ended_by: None,
        points: Vec::new(),
        marks: Vec::new(),
    }
}

fn tell(lane: &mut StreamView, stream: &Stream, entry: &Read, what: What) {
    match what {
        What::Terms(terms) => {
            stand(&mut lane.terms, &terms);
            mark(lane, entry);
        }
        What::Report { figures, duration_ms, .. } => {
            let duration_ms = duration_ms.unwrap_or(REPORT_MS);
            lane.points.push(PointView { at_us: entry.at_us, duration_ms, figures });
        }
        What::Block(block) => {
            let before = lane.points.last().map(|point| point.at_us);
            let since = before.map(|before| entry.at_us.saturating_sub(before) / 1_000);
            let duration_ms = since.unwrap_or(REPORT_MS).clamp(1, REPORT_MS_MAX);
            let figures = Figures { lost: None, ..Figures::of(&block, &stream.codec) };
            lane.points.push(PointView { at_us: entry.at_us, duration_ms, figures });
        }
        What::Ended { text, .. } => {
            lane.ended_by = known(&text);
            mark(lane, entry);
        }
        What::Trouble(_) | What::Told => mark(lane, entry),
        What::Sent(_) => {}
    }
}

fn stand(terms: &mut TermsView, said: &Terms) {
    for (own, said) in [
        (&mut terms.local, &said.local),
        (&mut terms.remote, &said.remote),
        (&mut terms.direction, &said.direction),
        (&mut terms.controller, &said.controller),
    ] {
        *own = known(said).or_else(|| own.take());
    }
}

/// Takes down an event.
fn mark(lane: &mut StreamView, entry: &Read) {
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(&entry.payload) else { return };
    let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = word("event").unwrap_or_default();
    if name == "StreamLatched" {
        lane.terms.latched = word("remote");
    }
    let digit = word("digit");
    if lane.marks.len() >= MARKS_MAX {
        return;
    }
    fields.retain(|name, _| !matches!(name.as_str(), "leg" | "line" | "digit"));
    let text = sentence(&fields);
    lane.marks.push(MarkView { at_us: entry.at_us, name, text, digit });
}

fn thin(points: &mut Vec<PointView>) {
    while points.len() > POINTS_MAX {
        *points = points
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(worse))
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default();
    }
}

/// One report of two that follow each other.
fn worse(one: PointView, next: PointView) -> PointView {
    let (a, b) = (one.figures, next.figures);
    let sum =
        |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b)).or(a).or(b);
    let least = |a: Option<u16>, b: Option<u16>| a.into_iter().chain(b).min();
    PointView {
        at_us: next.at_us,
        duration_ms: one.duration_ms.saturating_add(next.duration_ms),
        figures: Figures {
            packets: sum(a.packets, b.packets),
            lost: sum(a.lost, b.lost),
            loss_permille: a.loss_permille.max(b.loss_permille),
            jitter_us: a.jitter_us.max(b.jitter_us),
            round_trip_us: a.round_trip_us.max(b.round_trip_us),
            r_tenths: least(a.r_tenths, b.r_tenths),
            mos_hundredths: least(a.mos_hundredths, b.mos_hundredths),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_call_has_so_many_points_and_the_worst_of_them_stays() {
        let point = |n: u64| PointView {
            at_us: n * 5_000_000,
            duration_ms: 5_000,
            figures: Figures {
                packets: Some(250),
                mos_hundredths: Some(if n == 777 { 150 } else { 430 }),
                loss_permille: (n == 777).then_some(300),
                ..Figures::default()
            },
        };
        let mut points: Vec<_> = (0..2_881).map(point).collect();
        thin(&mut points);
        assert!(points.len() <= POINTS_MAX && points.len() > POINTS_MAX / 2);
        assert_eq!(points.iter().filter_map(|it| it.figures.packets).sum::<u64>(), 2_881 * 250);
        assert_eq!(points.iter().map(|it| it.duration_ms).sum::<u64>(), 2_881 * 5_000);
        let worst = points.iter().min_by_key(|it| it.figures.mos_hundredths).unwrap();
        assert_eq!(worst.figures.mos_hundredths, Some(150));
        assert_eq!(worst.figures.loss_permille, Some(300));
    }
}
