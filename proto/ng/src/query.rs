//! What is told of a call, as rtpengine tells it.

use crate::bencode::Writer;
use crate::call::Call;
use crate::world::Counters;
use anchor::row::Statistics;
use anchor::{End, Rtcp, Side, Stream};
use core::net::SocketAddr;
use machine::Time;

/// Writes what is known of a call into a dictionary.
pub(crate) fn call(call: &Call, counters: &dyn Counters, out: &mut Writer<'_>) {
    out.count("created", seconds(call.created)).count("last signal", seconds(call.signalled));
    out.text(b"tags").dictionary(|out| {
        for (side, tag) in call.tags() {
            out.text(tag).dictionary(|out| {
                out.pair("tag", tag).count("created", seconds(call.created));
                out.text(b"medias").list(|out| medias(call, side, counters, out));
            });
        }
    });
    let mut totals = Statistics::default();
    for (line, _) in call.session.streams() {
        for one in counters.of(call.number, line) {
            totals.packets += one.packets;
            totals.octets += one.octets;
            totals.dropped += one.dropped;
        }
    }
    out.text(b"totals").dictionary(|out| {
        out.text(b"RTP").dictionary(|out| stats(&totals, out));
        out.text(b"RTCP").dictionary(|out| stats(&Statistics::default(), out));
    });
}

fn seconds(at: Time) -> u64 {
    at.as_millis() / 1_000
}

fn stats(statistics: &Statistics, out: &mut Writer<'_>) {
    out.count("packets", statistics.packets)
        .count("bytes", statistics.octets)
        .count("errors", statistics.dropped);
}

fn medias(call: &Call, side: Side, counters: &dyn Counters, out: &mut Writer<'_>) {
    for (line, stream) in call.session.streams() {
        let counted = counters.of(call.number, line)[side.index()];
        out.dictionary(|out| {
            out.count("index", u64::from(line) + 1).pair("type", stream.kind.name().as_bytes());
            out.text(b"streams").list(|out| streams(stream.end(side), &counted, out));
            out.text(b"flags").list(|out| flags(stream, side, out));
        });
    }
}

fn streams(end: &End, counted: &Statistics, out: &mut Writer<'_>) {
    one(end.local.port, end.remote, counted, out);
    if let Rtcp::Apart(place) = end.rtcp {
        one(end.local.port + 1, place, &Statistics::default(), out);
    }
}

fn one(port: u16, place: Option<SocketAddr>, counted: &Statistics, out: &mut Writer<'_>) {
    out.dictionary(|out| {
        out.count("local port", port.into());
        if let Some(place) = place {
            out.text(b"endpoint").dictionary(|out| {
                let family: &[u8] = if place.is_ipv4() { b"IPv4" } else { b"IPv6" };
                out.pair("family", family).pair("address", place.ip().to_string().as_bytes());
                out.count("port", place.port().into());
            });
        }
        out.text(b"stats").dictionary(|out| stats(counted, out));
    });
}

fn flags(stream: &Stream, side: Side, out: &mut Writer<'_>) {
    let end = stream.end(side);
    for (flag, is_set) in [
        (&b"initialized"[..], true),
        (b"rtcp-mux", end.rtcp == Rtcp::Mux),
        (b"ICE", end.checks.is_some()),
        (b"send", end.direction.receives()),
        (b"recv", end.direction.sends()),
        (b"transcoding", stream.is_transcoded()),
    ] {
        if is_set {
            out.text(flag);
        }
    }
}
