//! The description that a side is sent: lines of the other side's, and the media controller's own
//! behind them.
//!
//! ```text
//!   m=  i=  c=  b=                            as they stood, with address, port, profile, formats
//!   a=  what passes                           in its order
//!   a=  rtpmap fmtp rtcp-fb, direction, rtcp, rtcp-mux, crypto, setup, fingerprint, ptime, ice-*
//! ```

use crate::attribute::Owner;
use crate::codec::Codec;
use crate::format::{Format, payload_type, split_number};
use crate::policy::Policy;
use crate::section::{Description, Section};
use crate::text::{Said, push_address, push_number, values, words};
use core::net::{IpAddr, SocketAddr};
use sdp::{Direction, Kind, Line};
use srtp::dtls::{Fingerprint, Setup};
use srtp::sdes::Crypto;
use std::io::Write as _;

/// Host candidates of the components RTP and RTCP (RFC 8445 §5.1.2.1).
const PRIORITIES: [u32; 2] = [2_130_706_431, 2_130_706_430];

/// A stream as it is sent.
#[derive(Debug)]
pub(crate) struct Entry<'d, 'a> {
    /// Whose lines are written.
    pub section: &'d Section<'a>,
    pub state: State<'a>,
}

#[derive(Debug)]
pub(crate) enum State<'a> {
    /// It goes through the media controller.
    Relayed(Box<Relayed<'a>>),
    /// It goes past it.
    Passed,
    /// It is not wanted.
    Refused,
}

/// What the media controller writes of a stream that it relays.
#[derive(Debug)]
pub(crate) struct Relayed<'a> {
    pub local: SocketAddr,
    /// At the null address: nothing is to be sent.
    pub is_held: bool,
    pub protocol: &'a [u8],
    /// Empty where it is no RTP.
    pub formats: Vec<Format<'a>>,
    pub direction: Direction,
    pub rtcp: RtcpLines,
    /// Whether the port of RTCP is said (RFC 3605).
    pub says_rtcp: bool,
    pub keys: Vec<Crypto>,
    pub dtls: Option<(Setup, Fingerprint)>,
    pub ice: Option<Credentials>,
    pub packet_ms: Option<u16>,
    /// Its name in groups.
    pub mid: Option<&'a [u8]>,
    /// Attributes of keys pass.
    pub is_end_to_end: bool,
}

/// Name and password of connectivity checks.
#[derive(Clone)]
pub(crate) struct Credentials {
    pub name: Box<[u8]>,
    pub password: Box<[u8]>,
}

impl core::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// What is written of RTCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RtcpLines {
    /// It is no RTP.
    None,
    /// The next port, which everybody knows: nothing is written.
    Silent,
    /// The next port.
    Apart,
    /// The next port, or the same one.
    Either,
    /// The same port.
    Mux,
    /// The same port, and no other way.
    MuxOnly,
}

/// What is written before the first stream.
#[derive(Debug)]
pub(crate) struct Head<'d, 'a> {
    pub description: &'d Description<'a>,
    /// The names of streams that share a port.
    pub bundle: Vec<&'a [u8]>,
    pub has_ice: bool,
    /// Keys of the whole session pass.
    pub passes_guard: bool,
}

/// Appends everything behind `o=`.
pub(crate) fn body(
    out: &mut Vec<u8>,
    head: &Head<'_, '_>,
    entries: &[Entry<'_, '_>],
    policy: &Policy,
) {
    let common = common_connection(head, entries);
    for said in &head.description.lines {
        let line = &said.line;
        match line.kind {
            Kind::Version | Kind::Origin | Kind::Key => {}
            Kind::Connection => {
                if let Some(connection) = &common {
                    out.extend_from_slice(connection);
                }
            }
            Kind::Attribute => head_attribute(out, said, head, policy),
            Kind::Information | Kind::Uri | Kind::Email | Kind::Phone | Kind::Unknown => {
                if policy.unknown {
                    pass(out, line);
                }
            }
            _ => pass(out, line),
        }
    }
    if head.has_ice {
        out.extend_from_slice(b"a=ice-lite\r\n");
    }
    if !head.bundle.is_empty() {
        out.extend_from_slice(b"a=group:BUNDLE");
        for mid in &head.bundle {
            out.push(b' ');
            out.extend_from_slice(mid);
        }
        out.extend_from_slice(b"\r\n");
    }
    for entry in entries {
        stream(out, entry, common.as_deref(), policy);
    }
}

/// The line of the session's own connection, if the description has one: that of the first relayed
/// stream.
fn common_connection(head: &Head<'_, '_>, entries: &[Entry<'_, '_>]) -> Option<Vec<u8>> {
    let given = head.description.lines.iter().find(|it| it.line.kind == Kind::Connection)?;
    let relayed = entries.iter().find_map(|entry| match &entry.state {
        State::Relayed(relayed) if !is_own(entry.section) => Some(relayed),
        _ => None,
    });
    let relayed = relayed.or_else(|| {
        entries.iter().find_map(|entry| match &entry.state {
            State::Relayed(relayed) => Some(relayed),
            _ => None,
        })
    });
    let mut line = Vec::with_capacity(48);
    match relayed {
        Some(relayed) => connection(&mut line, relayed),
        None => pass(&mut line, &given.line),
    }
    Some(line)
}

/// Whether a stream has a connection of its own.
fn is_own(section: &Section<'_>) -> bool {
    section.lines.iter().any(|it| it.line.kind == Kind::Connection)
}

fn connection(out: &mut Vec<u8>, relayed: &Relayed<'_>) {
    let (family, null): (&[u8], &[u8]) = match relayed.local.ip() {
        IpAddr::V4(_) => (b"IP4", b"0.0.0.0"),
        IpAddr::V6(_) => (b"IP6", b"::"),
    };
    out.extend_from_slice(b"c=IN ");
    out.extend_from_slice(family);
    out.push(b' ');
    if relayed.is_held {
        out.extend_from_slice(null);
    } else {
        push_address(out, relayed.local.ip());
    }
    out.extend_from_slice(b"\r\n");
}

fn pass(out: &mut Vec<u8>, line: &Line<'_>) {
    let text = line.raw.strip_suffix(b"\n").unwrap_or(line.raw);
    out.extend_from_slice(text.strip_suffix(b"\r").unwrap_or(text));
    out.extend_from_slice(b"\r\n");
}

fn head_attribute(out: &mut Vec<u8>, said: &Said<'_>, head: &Head<'_, '_>, policy: &Policy) {
    let attribute = said.attribute;
    let is_bundle = attribute.name == b"group"
        && attribute.value.is_some_and(|value| value.starts_with(b"BUNDLE"));
    let passes = match said.owner() {
        Owner::Passed => !is_bundle,
        Owner::Unknown => policy.unknown,
        Owner::Guard => head.passes_guard,
        Owner::Own | Owner::Format => false,
    };
    if passes {
        pass(out, &said.line);
    }
}

fn stream(out: &mut Vec<u8>, entry: &Entry<'_, '_>, common: Option<&[u8]>, policy: &Policy) {
    let section = entry.section;
    let relayed = match &entry.state {
        State::Relayed(relayed) => relayed,
        State::Passed => {
            media_line(out, section, section.media.port, section.media.protocol);
            out.extend_from_slice(section.media.formats);
            out.extend_from_slice(b"\r\n");
            return passed_stream(out, section);
        }
        State::Refused => {
            media_line(out, section, 0, section.media.protocol);
            out.extend_from_slice(section.media.formats);
            out.extend_from_slice(b"\r\n");
            if common.is_none() {
                // Somewhere a connection has to stand (RFC 8866 §5.7).
                out.extend_from_slice(b"c=IN IP4 0.0.0.0\r\n");
            }
            return;
        }
    };
    media_line(out, section, relayed.local.port(), relayed.protocol);
    format_list(out, section, relayed);
    for said in section.lines.iter().filter(|it| it.line.kind == Kind::Information) {
        if policy.unknown {
            pass(out, &said.line);
        }
    }
    let mut own = Vec::with_capacity(48);
    connection(&mut own, relayed);
    if common != Some(&own[..]) {
        out.extend_from_slice(&own);
    }
    passed_lines(out, section, relayed, policy);
    if let Some(mid) = relayed.mid {
        attribute(out, b"mid", mid);
    }
    formats(out, section, relayed);
    own_lines(out, relayed);
}

/// The lines of a stream that goes past the media controller: it keeps its own connection.
fn passed_stream(out: &mut Vec<u8>, section: &Section<'_>) {
    if let Some(connection) = section.media.connection().filter(|_| !is_own(section)) {
        out.extend_from_slice(b"c=");
        for word in [connection.net, connection.family] {
            out.extend_from_slice(word);
            out.push(b' ');
        }
        out.extend_from_slice(connection.address);
        out.extend_from_slice(connection.suffix);
        out.extend_from_slice(b"\r\n");
    }
    section.lines.iter().for_each(|it| pass(out, &it.line));
}

fn media_line(out: &mut Vec<u8>, section: &Section<'_>, port: u16, protocol: &[u8]) {
    out.extend_from_slice(b"m=");
    out.extend_from_slice(section.media.kind);
    out.push(b' ');
    push_number(out, port.into());
    out.push(b' ');
    out.extend_from_slice(protocol);
    out.push(b' ');
}

fn format_list(out: &mut Vec<u8>, section: &Section<'_>, relayed: &Relayed<'_>) {
    if relayed.formats.is_empty() {
        out.extend_from_slice(section.media.formats);
    }
    for (at, format) in relayed.formats.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        push_number(out, format.number.into());
    }
    out.extend_from_slice(b"\r\n");
}

fn passed_lines(out: &mut Vec<u8>, section: &Section<'_>, relayed: &Relayed<'_>, policy: &Policy) {
    let is_rtp = relayed.rtcp != RtcpLines::None;
    for said in &section.lines {
        let passes = match (said.line.kind, said.owner()) {
            (Kind::Bandwidth, _) => true,
            (Kind::Unknown, _) => policy.unknown,
            // Formats of other protocols have parameters too.
            (Kind::Attribute, Owner::Own) => {
                !is_rtp && matches!(said.attribute.name, b"fmtp" | b"rtpmap")
            }
            (Kind::Attribute, Owner::Guard) => !is_rtp || relayed.is_end_to_end,
            (Kind::Attribute, Owner::Passed) => true,
            (Kind::Attribute, Owner::Unknown) => policy.unknown,
            _ => false,
        };
        if passes {
            pass(out, &said.line);
        }
    }
}

fn formats(out: &mut Vec<u8>, section: &Section<'_>, relayed: &Relayed<'_>) {
    let has_feedback = section.lines.iter().any(|it| it.attribute.name == b"rtcp-fb");
    for format in &relayed.formats {
        if !format.name.is_empty() && format.clock > 0 {
            numbered(out, b"rtpmap", format.number);
            out.extend_from_slice(format.name);
            out.push(b'/');
            push_number(out, format.clock.into());
            if format.channels != 1 {
                out.push(b'/');
                push_number(out, format.channels.into());
            }
            out.extend_from_slice(b"\r\n");
        }
        if !format.parameters.is_empty() {
            numbered(out, b"fmtp", format.number);
            parameters(out, format, &relayed.formats);
            out.extend_from_slice(b"\r\n");
        }
        for value in values(&section.lines, b"rtcp-fb").filter(|_| has_feedback) {
            if let Some((number, rest)) = split_number(value)
                && format.source == Some(number)
            {
                numbered(out, b"rtcp-fb", format.number);
                out.extend_from_slice(rest);
                out.extend_from_slice(b"\r\n");
            }
        }
    }
    for value in values(&section.lines, b"rtcp-fb").filter(|it| it.starts_with(b"* ")) {
        attribute(out, b"rtcp-fb", value);
    }
}

fn numbered(out: &mut Vec<u8>, name: &[u8], number: u8) {
    out.extend_from_slice(b"a=");
    out.extend_from_slice(name);
    out.push(b':');
    push_number(out, number.into());
    out.push(b' ');
}

/// Parameters; the payload types in those of retransmission and redundancy are renumbered too
/// (RFC 4588 §8.1, RFC 2198 §5).
fn parameters(out: &mut Vec<u8>, format: &Format<'_>, all: &[Format<'_>]) {
    let renumbered = |number: u8| {
        let found = all.iter().find(|other| other.source == Some(number));
        u64::from(found.map_or(number, |other| other.number))
    };
    match format.codec {
        Some(Codec::Rtx) => {
            for (at, part) in format.parameters.split(|&octet| octet == b';').enumerate() {
                if at > 0 {
                    out.push(b';');
                }
                match part.trim_ascii().strip_prefix(b"apt=").and_then(payload_type) {
                    Some(number) => {
                        out.extend_from_slice(b"apt=");
                        push_number(out, renumbered(number));
                    }
                    None => out.extend_from_slice(part),
                }
            }
        }
        Some(Codec::Red) => {
            for (at, part) in format.parameters.split(|&octet| octet == b'/').enumerate() {
                if at > 0 {
                    out.push(b'/');
                }
                match payload_type(part) {
                    Some(number) => push_number(out, renumbered(number)),
                    None => out.extend_from_slice(part),
                }
            }
        }
        _ => out.extend_from_slice(format.parameters),
    }
}

fn own_lines(out: &mut Vec<u8>, relayed: &Relayed<'_>) {
    property(out, relayed.direction.name().as_bytes());
    rtcp_lines(out, relayed);
    for key in &relayed.keys {
        out.extend_from_slice(b"a=crypto:");
        key.write(out);
        out.extend_from_slice(b"\r\n");
    }
    if let Some((setup, fingerprint)) = &relayed.dtls {
        attribute(out, b"setup", setup.name().as_bytes());
        // Writing to memory does not fail.
        let _ = write!(out, "a=fingerprint:{fingerprint}\r\n");
    }
    if let Some(ms) = relayed.packet_ms {
        out.extend_from_slice(b"a=ptime:");
        push_number(out, ms.into());
        out.extend_from_slice(b"\r\n");
    }
    if let Some(Credentials { name, password }) = &relayed.ice {
        attribute(out, b"ice-ufrag", name);
        attribute(out, b"ice-pwd", password);
        let apart = !matches!(relayed.rtcp, RtcpLines::Mux | RtcpLines::MuxOnly | RtcpLines::None);
        let components = if apart { 2 } else { 1 };
        for (component, priority) in (1_u16..).zip(&PRIORITIES[..components]) {
            let (ip, port) = (relayed.local.ip(), relayed.local.port() + component - 1);
            // Writing to memory does not fail.
            let _ =
                write!(out, "a=candidate:1 {component} UDP {priority} {ip} {port} typ host\r\n");
        }
    }
}

fn rtcp_lines(out: &mut Vec<u8>, relayed: &Relayed<'_>) {
    let port = match relayed.rtcp {
        RtcpLines::None | RtcpLines::Silent => return,
        RtcpLines::Apart | RtcpLines::Either => relayed.local.port() + 1,
        RtcpLines::Mux | RtcpLines::MuxOnly => relayed.local.port(),
    };
    if relayed.says_rtcp {
        out.extend_from_slice(b"a=rtcp:");
        push_number(out, port.into());
        out.extend_from_slice(b"\r\n");
    }
    if relayed.rtcp != RtcpLines::Apart {
        property(out, b"rtcp-mux");
    }
    if relayed.rtcp == RtcpLines::MuxOnly {
        property(out, b"rtcp-mux-only");
    }
}

fn property(out: &mut Vec<u8>, name: &[u8]) {
    out.extend_from_slice(b"a=");
    out.extend_from_slice(name);
    out.extend_from_slice(b"\r\n");
}

fn attribute(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(b"a=");
    out.extend_from_slice(name);
    out.push(b':');
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// The words of `o=` behind the version, if the origin passes: the writer's address, or ours.
pub(crate) fn passed_origin(out: &mut Vec<u8>, description: &Description<'_>, own: Option<IpAddr>) {
    let origin = description.lines.iter().find(|it| it.line.kind == Kind::Origin);
    let Some(Said { line: origin, .. }) = origin else { return };
    match own {
        None => pass(out, origin),
        Some(address) => {
            out.extend_from_slice(b"o=");
            for word in words(origin.value).take(3) {
                out.extend_from_slice(word);
                out.push(b' ');
            }
            address_words(out, address);
        }
    }
}

/// Appends `IN IP4 address` and the end of the line.
pub(crate) fn address_words(out: &mut Vec<u8>, address: IpAddr) {
    out.extend_from_slice(if address.is_ipv4() { b"IN IP4 " } else { b"IN IP6 " });
    push_address(out, address);
    out.extend_from_slice(b"\r\n");
}
