//! A description as it was read: what is understood of each of its streams.

use crate::carriage::Carriage;
use crate::format::Format;
use crate::refusal::{Reason, Refusal};
use crate::stream::SSRC_MAX;
use crate::text::{Said, number, values, words};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use sdp::{Attribute, Connection, Kind, Line, Media, Session};
use srtp::dtls;
use srtp::sdes;

/// Lines of a session and of a stream; more take another allocation. What is longer than a kilobyte
/// the allocator does not keep at hand.
const HEAD_LINES_USUAL: usize = 8;
const LINES_USUAL: usize = 12;
/// RTP profiles take longest: kilobits a second that no stream has.
const BANDWIDTH_KBPS_MAX: u64 = 100_000_000;

/// A description.
pub(crate) struct Description<'a> {
    /// The lines before the first stream.
    pub lines: Vec<Said<'a>>,
    pub sections: Vec<Section<'a>>,
    /// The names of `a=group:BUNDLE`.
    pub bundle: Vec<&'a [u8]>,
}

/// A stream of it.
pub(crate) struct Section<'a> {
    pub media: Media<'a>,
    pub lines: Vec<Said<'a>>,
    pub carriage: Carriage,
    /// Where it receives; `None`: at the null address.
    pub address: Option<IpAddr>,
    /// What is wrong with it, if it is not refused anyway.
    pub fault: Option<Reason>,
    pub formats: Vec<Format<'a>>,
    /// Keys that can be used; what is malformed is as if it were not there.
    pub keys: sdes::Offer,
    pub dtls: Option<dtls::Description>,
    /// Name and password of connectivity checks.
    pub ice: Option<(&'a [u8], &'a [u8])>,
    pub has_mux: bool,
    /// Port and address of `a=rtcp`.
    pub rtcp: Option<(u16, Option<IpAddr>)>,
    pub mid: Option<&'a [u8]>,
    pub ssrcs: Vec<u32>,
    /// Bits a second that its writer takes, as `b=` says.
    pub rate_bps: Option<u64>,
    pub packet_ms: Option<u16>,
}

// Lines of a description may have keys and passwords: none of them is shown.
impl fmt::Debug for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description").field("sections", &self.sections).finish_non_exhaustive()
    }
}

impl fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("carriage", &self.carriage)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl<'a> Description<'a> {
    /// Reads a description; `source` stands for every address in it but the null one.
    pub fn read(text: &'a [u8], source: Option<IpAddr>) -> Result<Self, Refusal> {
        // Each line is read once: the session's own, and behind each `m=` those of a stream.
        let mut lines = Vec::with_capacity(HEAD_LINES_USUAL);
        let mut streams: Vec<(Line<'a>, Vec<Said<'a>>)> = Vec::with_capacity(2);
        let session = Session::parse_with(text, |line| {
            if line.kind == Kind::Media {
                streams.push((*line, Vec::with_capacity(LINES_USUAL)));
            } else {
                streams.last_mut().map_or(&mut lines, |it| &mut it.1).push(Said::read(*line));
            }
        })?;
        let mut common = Common::default();
        let mut bundle = Vec::new();
        for Said { attribute, .. } in &lines {
            common.take(attribute);
            if let (b"group", Some(value)) = (attribute.name, attribute.value)
                && let Some(names) = value.strip_prefix(b"BUNDLE")
            {
                bundle = words(names).collect();
            }
        }
        let mut sections = Vec::with_capacity(streams.len());
        for (first, own) in streams {
            // What was read as a stream is one.
            let media = Media::of_lines(&session, &first, own.iter().map(|it| it.line));
            sections.extend(media.map(|it| Section::read(&lines, it, own, &common, source)));
        }
        Ok(Self { lines, sections, bundle })
    }
}

/// What may stand before the first stream for all of them.
#[derive(Clone, Default)]
struct Common<'a> {
    name: Option<&'a [u8]>,
    password: Option<&'a [u8]>,
}

impl<'a> Common<'a> {
    fn take(&mut self, attribute: &Attribute<'a>) {
        let Some(value) = attribute.value else { return };
        match attribute.name {
            b"ice-ufrag" => self.name = Some(value),
            b"ice-pwd" => self.password = Some(value),
            _ => {}
        }
    }
}

/// What a stream says of DTLS, or else its session (RFC 8122 §5).
fn dtls(session: &[Said<'_>], own: &[Said<'_>]) -> Option<dtls::Description> {
    let has = |lines: &[Said<'_>], name| values(lines, name).next().is_some();
    if !has(own, b"fingerprint") && !has(session, b"fingerprint") {
        return None;
    }
    let of = |name: &'static str| {
        let name = name.as_bytes();
        values(if has(own, name) { own } else { session }, name)
    };
    dtls::Description::read(of).ok().flatten()
}

impl<'a> Section<'a> {
    fn read(
        session: &[Said<'a>],
        media: Media<'a>,
        lines: Vec<Said<'a>>,
        common: &Common<'a>,
        source: Option<IpAddr>,
    ) -> Self {
        let carriage = Carriage::of(media.protocol);
        let is_rtp = carriage.is_rtp();
        let formats = if is_rtp { Format::read(&media, &lines) } else { Vec::new() };
        let keys = sdes::read_all(values(&lines, b"crypto")).unwrap_or_default();
        let mut section = Self {
            media,
            lines: Vec::new(),
            carriage,
            address: None,
            fault: None,
            formats,
            keys,
            dtls: None,
            ice: None,
            has_mux: false,
            rtcp: None,
            mid: None,
            ssrcs: Vec::new(),
            rate_bps: None,
            packet_ms: None,
        };
        let mut own = Common::default();
        for Said { attribute, .. } in &lines {
            own.take(attribute);
            section.take(attribute);
        }
        if is_rtp {
            section.dtls = dtls(session, &lines);
        }
        section.lines = lines;
        section.ice = own.name.or(common.name).zip(own.password.or(common.password));
        section.locate(source);
        section.weigh();
        section
    }

    fn take(&mut self, attribute: &Attribute<'a>) {
        match (attribute.name, attribute.value) {
            (b"rtcp-mux", None) => self.has_mux = true,
            (b"rtcp", Some(value)) => self.take_rtcp(value),
            (b"mid", Some(value)) => self.mid = Some(value.trim_ascii()),
            (b"ptime", Some(value)) => {
                let ms = number(value.trim_ascii()).and_then(|ms| u16::try_from(ms).ok());
                self.packet_ms = ms.filter(|ms| (1..=1_000).contains(ms));
            }
            (b"ssrc", Some(value)) if self.ssrcs.len() < SSRC_MAX => {
                let ssrc = words(value).next().and_then(number).and_then(|n| u32::try_from(n).ok());
                self.ssrcs.extend(ssrc.filter(|ssrc| !self.ssrcs.contains(ssrc)));
            }
            _ => {}
        }
    }

    /// `port [IN family address]` (RFC 3605 §2.1).
    fn take_rtcp(&mut self, value: &[u8]) {
        let mut words = words(value);
        let port = words.next().and_then(number).and_then(|port| u16::try_from(port).ok());
        let address = words.nth(2).and_then(ip);
        match port {
            Some(port) if port > 0 => self.rtcp = Some((port, address)),
            _ => self.fault = self.fault.or(Some(Reason::Port)),
        }
    }

    fn locate(&mut self, source: Option<IpAddr>) {
        let found = self.media.connection().map_or(Err(Reason::Address), |c| place(&c));
        match found {
            Ok(address) => self.address = address.map(|address| source.unwrap_or(address)),
            Err(reason) => self.fault = self.fault.or(Some(reason)),
        }
        if source.is_some() {
            self.rtcp = self.rtcp.map(|(port, _)| (port, None));
        }
        if self.media.port_count != 1 {
            self.fault = self.fault.or(Some(Reason::Port));
        }
        // RTCP would stand at a port that there is not.
        let needs_next = self.carriage.is_rtp() && self.rtcp.is_none() && !self.has_mux;
        if needs_next && self.media.port == u16::MAX {
            self.fault = self.fault.or(Some(Reason::Port));
        }
    }

    /// Takes `b=`: TIAS without, AS and CT with headers (RFC 3890 §6.2, RFC 8866 §5.8).
    fn weigh(&mut self) {
        for Said { line, .. } in self.lines.iter().filter(|it| it.line.kind == Kind::Bandwidth) {
            let Some(colon) = memchr::memchr(b':', line.value) else { continue };
            let scale = match &line.value[..colon] {
                b"AS" => 1_000,
                b"TIAS" => 1,
                _ => continue,
            };
            let rate = number(line.value[colon + 1..].trim_ascii());
            match rate.and_then(|rate| rate.checked_mul(scale)) {
                Some(rate) if rate <= BANDWIDTH_KBPS_MAX * 1_000 => {
                    self.rate_bps = self.rate_bps.max(Some(rate));
                }
                _ => self.fault = self.fault.or(Some(Reason::Bandwidth)),
            }
        }
    }

    /// Where it receives; `None`: nowhere.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.address.map(|address| SocketAddr::new(address, self.media.port))
    }

    /// Where it receives RTCP, if that is apart.
    pub fn remote_rtcp(&self) -> Option<SocketAddr> {
        let address = self.address?;
        match self.rtcp {
            Some((port, own)) => Some(SocketAddr::new(own.unwrap_or(address), port)),
            None => Some(SocketAddr::new(address, self.media.port.checked_add(1)?)),
        }
    }

    /// Whether it receives nothing, as RFC 2543 said it: at the null address. Where there are
    /// connectivity checks, the address is only not known yet.
    pub fn is_held(&self) -> bool {
        self.address.is_none() && self.ice.is_none()
    }

    /// Whether it is refused, or wanted no more.
    pub fn is_refused(&self) -> bool {
        self.media.is_refused()
    }
}

/// The address of a connection; `None`: the null one. Names are not looked up, and packets for many
/// receivers are not relayed.
fn place(connection: &Connection<'_>) -> Result<Option<IpAddr>, Reason> {
    if connection.net != b"IN" || !connection.suffix.is_empty() {
        return Err(Reason::Address);
    }
    let address = ip(connection.address).ok_or(Reason::Address)?;
    let is_of_family =
        matches!((connection.family, address), (b"IP4", IpAddr::V4(_)) | (b"IP6", IpAddr::V6(_)));
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    if !is_of_family || address.is_multicast() || is_broadcast {
        return Err(Reason::Address);
    }
    Ok((!address.is_unspecified()).then_some(address))
}

fn ip(word: &[u8]) -> Option<IpAddr> {
    core::str::from_utf8(word).ok()?.parse().ok()
}

/// Whether a connection is of IPv6.
pub(crate) fn is_v6(connection: Option<Connection<'_>>) -> bool {
    connection.is_some_and(|connection| connection.family == b"IP6")
}
