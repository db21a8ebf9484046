//! What one entry says of streams: an event of media, or RTCP as JSON.
//!
//! RTCP comes as Homer's agents, heplify, Asterisk and rtpengine write it, by whatever order of
//! names; numbers may be texts, and what has 32 bits may be negative:
//! ```text
//! {"sender_information":{"ntp_timestamp_sec":…,"packets":60,"octets":9600,"rtp_timestamp":…},
//!  "ssrc":4369,"type":200,"report_count":1,"report_blocks":[{"source_ssrc":8738,
//!   "highest_seq_no":60,"fraction_lost":0,"ia_jitter":12,"packets_lost":0,"lsr":0,"dlsr":0}],
//!  "report_blocks_xr":{…,"round_trip_delay":80}}
//! ```

use crate::media::key::{MOS_MAX, MOS_MIN};
use crate::media::stream::{Figures, Id, Side};
use core::ops::RangeInclusive;
use machine::narrow::{at_most, half};
use serde_json::Value;
use std::net::SocketAddr;
use trail::{Event, Meaning};

/// Blocks of one report that are looked at (RFC 3550 §6.4: their count has five bits).
const BLOCKS_MAX: usize = 31;
/// A count beyond this is none.
const COUNT_MAX: u64 = 1 << 53;
/// Octets of a text that are kept.
const TEXT_BYTES_MAX: usize = 64;

/// One thing that is said of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) id: Id,
    pub(crate) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// It began, or was changed.
    Terms(Box<Terms>),
    /// What came since the report before.
    Report { figures: Figures, codec: Box<str>, duration_ms: Option<u64> },
    /// What a host heard since its report before.
    Block(Block),
    /// The source sent so many packets so far.
    Sent(u64),
    /// It is over, with its figures over the whole.
    Ended { figures: Figures, codec: Box<str>, text: Box<str> },
    /// Something is wrong.
    Trouble(Trouble),
    /// Something that has no figures.
    Told,
}

/// On what terms a stream stands; an empty text is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Terms {
    pub(crate) kind: Box<str>,
    pub(crate) codec: Box<str>,
    pub(crate) suite: Box<str>,
    pub(crate) local: Box<str>,
    pub(crate) remote: Box<str>,
    pub(crate) direction: Box<str>,
    pub(crate) controller: Box<str>,
}

/// A report block (RFC 3550 §6.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// The loss since the report before, in 256ths.
    pub(crate) lost_of_256: u8,
    /// Packets lost so far.
    pub(crate) lost: u64,
    /// In units of the codec's clock.
    pub(crate) jitter_ticks: u32,
    /// From an extended report (RFC 3611 §4.7.3).
    pub(crate) round_trip_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    OneWay,
    TimedOut,
    Unprotected(u64),
}

/// Whether an entry is about media.
pub(crate) fn is_media(kind: u8, payload: &[u8]) -> bool {
    match kind {
        hep::KIND_RTCP => true,
        hep::KIND_LOG => Event::of(payload).is_some_and(|it| it.meaning() == Meaning::Media),
        _ => false,
    }
}

/// Whether it is one of the reports that come every few seconds.
pub(crate) fn is_report(kind: u8, payload: &[u8]) -> bool {
    let is_quality = || Event::of(payload) == Some(Event::QualityReported);
    kind == hep::KIND_RTCP || kind == hep::KIND_LOG && is_quality()
}

/// What an entry from `source` says; nothing if it cannot be read.
pub(crate) fn of(kind: u8, source: SocketAddr, payload: &[u8]) -> Vec<Said> {
    if !is_media(kind, payload) {
        return Vec::new();
    }
    let Ok(json) = serde_json::from_slice::<Value>(payload) else { return Vec::new() };
    match Event::of(payload).filter(|_| kind == hep::KIND_LOG) {
        Some(event) => of_event(event, &json).into_iter().collect(),
        None => of_report(source, &json),
    }
}

fn of_event(event: Event, json: &Value) -> Option<Said> {
    let side = match &json["leg"] {
        Value::String(leg) if leg == "a" => Side::A,
        Value::String(leg) if leg == "b" => Side::B,
        _ => return None,
    };
    let line = u8::try_from(json["line"].as_u64().unwrap_or(0)).ok()?;
    let what = match event {
        Event::StreamBegan | Event::StreamChanged => What::Terms(Box::new(Terms {
            kind: words(json, "kind"),
            codec: words(json, "codec"),
            suite: words(json, "suite"),
            local: words(json, "local"),
            remote: words(json, "remote"),
            direction: words(json, "direction"),
            controller: words(json, "controller"),
        })),
        Event::QualityReported => What::Report {
            figures: figures(json),
            codec: words(json, "codec"),
            duration_ms: count(&json["duration_ms"]),
        },
        Event::StreamEnded => What::Ended {
            figures: figures(json),
            codec: words(json, "codec"),
            text: words(json, "text"),
        },
        Event::OneWayDetected => What::Trouble(Trouble::OneWay),
        Event::StreamTimedOut => What::Trouble(Trouble::TimedOut),
        Event::SrtpFailed => {
            What::Trouble(Trouble::Unprotected(count(&json["count"]).unwrap_or(1)))
        }
        _ => What::Told,
    };
    Some(Said { id: Id::From { side, line }, what })
}

fn figures(json: &Value) -> Figures {
    let time = |name: &str| count(&json[name]).map(|value| at_most(value, u32::MAX));
    // What a scale does not have is not known.
    let within = |name: &str, scale: RangeInclusive<u16>| {
        let value = count(&json[name]).and_then(|value| u16::try_from(value).ok());
        value.filter(|value| scale.contains(value))
    };
    Figures {
        packets: count(&json["packets"]),
        lost: count(&json["lost"]),
        loss_permille: within("loss_permille", 0..=1_000).map(u32::from),
        jitter_us: time("jitter_us"),
        round_trip_us: time("round_trip_us"),
        r_tenths: within("r_tenths", 0..=1_000),
        mos_hundredths: within("mos_hundredths", MOS_MIN..=MOS_MAX),
    }
}

/// What the host at `source` heard, and what it sent.
fn of_report(source: SocketAddr, json: &Value) -> Vec<Said> {
    let round_trip_ms = count(&json["report_blocks_xr"]["round_trip_delay"]).filter(|ms| *ms > 0);
    let blocks = json["report_blocks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let heard = blocks.iter().take(BLOCKS_MAX).filter_map(|block| {
        let ssrc = bits(&block["source_ssrc"])?;
        let block = Block {
            lost_of_256: at_most(count(&block["fraction_lost"])?, u8::MAX),
            // Repetitions may make it negative (RFC 3550 §6.4.1); rtpengine writes 24 bits as such.
            lost: count(&block["packets_lost"]).filter(|lost| *lost < 1 << 23).unwrap_or(0),
            jitter_ticks: at_most(count(&block["ia_jitter"])?, u32::MAX),
            round_trip_ms,
        };
        // A source of which nothing came is none.
        (ssrc != 0).then_some(Said { id: Id::Heard { at: source, ssrc }, what: What::Block(block) })
    });
    let mut said: Vec<_> = heard.collect();
    let sent = count(&json["sender_information"]["packets"]).filter(|packets| *packets > 0);
    if let Some((ssrc, packets)) = bits(&json["ssrc"]).zip(sent) {
        said.push(Said { id: Id::Heard { at: source, ssrc }, what: What::Sent(packets) });
    }
    said
}

/// A number, whether it stands as a number or as text.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    }
}

/// A number that is not negative, and of something that can be counted.
fn count(value: &Value) -> Option<u64> {
    let number = whole(value).and_then(|number| u64::try_from(number).ok());
    number.filter(|number| *number <= COUNT_MAX)
}

/// A number of 32 bits, whatever sign it was given.
fn bits(value: &Value) -> Option<u32> {
    let number = whole(value)?;
    let fits = (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&number);
    fits.then(|| half(number.cast_unsigned()))
}

/// A short text; empty if there is none.
fn words(json: &Value, name: &str) -> Box<str> {
    let text = json[name].as_str().unwrap_or_default();
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AT: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 35_001);

    fn rtcp(text: &str) -> Vec<Said> {
        of(hep::KIND_RTCP, AT, text.as_bytes())
    }

    #[test]
    fn rtcp_of_every_agent_is_read() {
        let block = Block { lost_of_256: 25, lost: 6, jitter_ticks: 400, round_trip_ms: None };
        let heard = |ssrc, block| Said { id: Id::Heard { at: AT, ssrc }, what: What::Block(block) };
        let sent = Said { id: Id::Heard { at: AT, ssrc: 8_738 }, what: What::Sent(60) };
        // rtpengine 10.5, as it came.
        let rtpengine = concat!(
            r#"{ "sender_information":{"ntp_timestamp_sec":4004651881,"#,
            r#""ntp_timestamp_usec":720736256,"octets":9600,"rtp_timestamp":9600,"#,
            r#" "packets":60},"ssrc":8738,"type":200,"report_count":1,"#,
            r#""report_blocks":[{"source_ssrc":4369,"highest_seq_no":60,"fraction_lost":25,"#,
            r#""ia_jitter":400,"packets_lost":6,"lsr":0,"dlsr":0}],"sdes_report_count":1,"#,
            r#""sdes_information": [ {"sdes_chunk_ssrc":8738,"type":1,"text":"alice"}] }"#,
        );
        assert_eq!(rtcp(rtpengine), [heard(4_369, block), sent.clone()]);
        // Asterisk and captagent: texts, and signed numbers.
        let others = concat!(
            r#"{"report_blocks":[{"source_ssrc":-1640316609,"fraction_lost":"25","#,
            r#""packets_lost":6,"ia_jitter":"400","lsr":"0","dlsr":0}],"#,
            r#""sender_information":{"packets":"60"},"ssrc":"8738"}"#,
        );
        assert_eq!(rtcp(others), [heard(2_654_650_687, block), sent]);
        // heplify: extended reports beside, no sender.
        let heplify = concat!(
            r#"{"ssrc":1,"type":202,"report_blocks":[{"source_ssrc":2,"fraction_lost":0,"#,
            r#""packets_lost":16777215,"ia_jitter":1}],"#,
            r#""report_blocks_xr":{"round_trip_delay":80}}"#,
        );
        let block = Block { lost_of_256: 0, lost: 0, jitter_ticks: 1, round_trip_ms: Some(80) };
        assert_eq!(rtcp(heplify), [heard(2, block)]);
        for none in ["", "{}", "[]", "nonsense", r#"{"report_blocks":[{}]}"#, r#"{"ssrc":1e99}"#] {
            assert_eq!(rtcp(none), [], "{none}");
        }
    }

    #[test]
    fn events_name_an_end_or_say_nothing() {
        let read = |text: &str| of(hep::KIND_LOG, AT, text.as_bytes());
        let said = read(r#"{"event":"SrtpFailed","leg":"b","line":1,"count":7}"#);
        let id = Id::From { side: Side::B, line: 1 };
        assert_eq!(said, [Said { id, what: What::Trouble(Trouble::Unprotected(7)) }]);
        for none in [
            r#"{"event":"SrtpFailed","line":1}"#,
            r#"{"event":"SrtpFailed","leg":"c"}"#,
            r#"{"event":"SrtpFailed","leg":"a","line":300}"#,
            r#"{"event":"CallEnded","leg":"a"}"#,
            r#"{"event":"SrtpFailed","leg":"a""#,
        ] {
            assert_eq!(read(none), [], "{none}");
        }
    }

    proptest! {
        /// Whatever comes is read as something or nothing.
        #[test]
        fn damaged_reports_never_panic(at in 0usize..200, value: u8) {
            let mut text = concat!(
                r#"{"ssrc":1,"report_blocks":[{"source_ssrc":2,"fraction_lost":0,"#,
                r#""packets_lost":1,"ia_jitter":1}],"sender_information":{"packets":1}}"#,
            ).as_bytes().to_vec();
            let length = text.len();
            text[at % length] = value;
            let _ = of(hep::KIND_RTCP, AT, &text);
        }
    }
}
