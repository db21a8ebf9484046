//! Where the ends of a call receive their media, by the session descriptions in its messages.

use crate::media::Side;
use crate::trail::printable;
use sip::{Message, Method};
use std::net::{IpAddr, SocketAddr};

/// Places kept of one call: two ends and what stands between them, sound and pictures.
const PLACES_MAX: usize = 8;
/// Octets of a text that are kept.
const TEXT_BYTES_MAX: usize = 64;
/// Payload types that need no `rtpmap` (RFC 3551 §6).
const STATIC: [(&[u8], &str); 6] = [
    (b"0", "PCMU/8000"),
    (b"3", "GSM/8000"),
    (b"4", "G723/8000"),
    (b"8", "PCMA/8000"),
    (b"9", "G722/8000"),
    (b"18", "G729/8000"),
];

/// A place.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Where RTP is received.
    address: SocketAddr,
    /// The end that it belongs to, or that it stands for.
    pub(crate) side: Side,
    leg: usize,
    /// The `m=` line.
    pub(crate) line: u8,
    pub(crate) kind: Box<str>,
    pub(crate) codec: Box<str>,
    pub(crate) suite: Box<str>,
}

/// The places of a call.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    /// Learns from a message of a leg.
    pub(crate) fn learn(&mut self, leg: usize, message: &Message<'_>) {
        let body = message.body();
        if !body.starts_with(b"v=0") {
            return;
        }
        let Some(side) = side(message) else { return };
        let Ok(session) = sdp::Session::parse(body) else { return };
        for (line, media) in (0..u8::MAX).zip(session.media()).take(PLACES_MAX) {
            let address = media.connection().and_then(|it| core::str::from_utf8(it.address).ok());
            let ip = address.and_then(|text| text.parse::<IpAddr>().ok());
            let Some(ip) = ip.filter(|_| media.port > 0) else { continue };
            let codec = codec(&media);
            if side == Side::B && !codec.is_empty() {
                // What was answered is spoken by both.
                let agreed = self.0.iter_mut().filter(|it| (it.leg, it.line) == (leg, line));
                agreed.for_each(|place| place.codec.clone_from(&codec));
            }
            let address = SocketAddr::new(ip, media.port);
            if self.0.len() >= PLACES_MAX || self.0.iter().any(|it| it.address == address) {
                continue;
            }
            let (kind, suite) = (short(media.kind), suite(&media));
            self.0.push(Place { address, side, leg, line, kind, codec, suite });
        }
    }

    /// The place that a report came from: RTP's port or the next one (RFC 3550 §11); if its
    /// address has one place only, that.
    pub(crate) fn find(&self, at: SocketAddr) -> Option<&Place> {
        let here = || self.0.iter().filter(|place| place.address.ip() == at.ip());
        let next = |port: u16| port.checked_add(1) == Some(at.port());
        let is_port = |place: &&Place| {
            let port = place.address.port();
            port == at.port() || next(port)
        };
        let only = || here().next().filter(|_| here().count() == 1);
        here().find(is_port).or_else(only)
    }

    /// Any place.
    pub(crate) fn any(&self) -> Option<&Place> {
        self.0.first()
    }
}

/// The end whose description a message carries: that of an INVITE, and that of the answer to one.
/// Later offers may come from both; what they change, few calls have.
fn side(message: &Message<'_>) -> Option<Side> {
    let is_early = message.status().is_some_and(|status| (101..300).contains(&status));
    match message.method() {
        Method::Invite if message.is_request() && message.to_tag().is_none() => Some(Side::A),
        Method::Invite if is_early => Some(Side::B),
        _ => None,
    }
}

/// The first codec of speech or pictures.
fn codec(media: &sdp::Media<'_>) -> Box<str> {
    let name = |format: &[u8]| {
        let named = media.values(b"rtpmap").find_map(|map| {
            let (number, name) = map.split_at(map.iter().position(|&octet| octet == b' ')?);
            (number == format).then(|| short(name.trim_ascii()))
        });
        let known = || STATIC.iter().find(|row| row.0 == format).map(|row| row.1.into());
        named.or_else(known)
    };
    let is_codec = |name: &str| {
        let name = name.split('/').next().unwrap_or_default();
        !["telephone-event", "CN"].iter().any(|other| name.eq_ignore_ascii_case(other))
    };
    media.format_list().filter_map(name).find(|name| is_codec(name)).unwrap_or_default()
}

/// The suite of the first key (RFC 4568 §9.1), or what the protocol says.
fn suite(media: &sdp::Media<'_>) -> Box<str> {
    let key = media.values(b"crypto").next();
    let named = key.and_then(|key| key.split(|&octet| octet == b' ').nth(1));
    let is_secure = media.protocol.windows(5).any(|word| word == b"/SAVP");
    match named {
        Some(suite) => short(suite),
        None if is_secure => "SRTP".into(),
        None if media.protocol.starts_with(b"RTP/") => "RTP".into(),
        None => Box::default(),
    }
}

fn short(text: &[u8]) -> Box<str> {
    printable(&text[..text.len().min(TEXT_BYTES_MAX)]).into()
}
