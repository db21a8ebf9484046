//! What was understood of an offer and of what the other side was told, kept until it is answered:
//! so that neither is read again.
//!
//! Names and parameters are places in the text of the offer, which is kept with it. What stands
//! nowhere in it (a codec that was added) is a constant. Where something does not fit that, nothing
//! is packed, and the descriptions are read again.

use crate::carriage::Carriage;
use crate::codec::Codec;
use crate::format::{ADDED, Format};
use crate::section::{Description, Section};
use crate::write::{Entry, Relayed, RtcpLines, State};
use core::net::IpAddr;
use sdp::{Direction, Media};
use srtp::{dtls, sdes};

/// A place in the text of an offer, which is shorter than 2^16 octets.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// Where a part of a text stands in it; `None`: it is no part of it.
    fn of(text: &[u8], part: &[u8]) -> Option<Self> {
        if part.is_empty() {
            return Some(Self::default());
        }
        let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        let end = start.checked_add(part.len()).filter(|end| *end <= text.len())?;
        Some(Self { start: u16::try_from(start).ok()?, end: u16::try_from(end).ok()? })
    }

    fn in_text(self, text: &[u8]) -> &[u8] {
        text.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

/// A format whose name is that of its codec unless it has a place.
#[derive(Debug, Clone, Copy)]
struct PackedFormat {
    number: u8,
    source: Option<u8>,
    channels: u8,
    is_mapped: bool,
    /// The place of its parameters in [`ADDED`], if they stand in no text.
    added: Option<u8>,
    codec: Option<Codec>,
    clock: u32,
    name: Option<Span>,
    parameters: Span,
}

impl PackedFormat {
    fn of(text: &[u8], format: &Format<'_>) -> Option<Self> {
        let Format { number, source, clock, channels, codec, is_mapped, .. } = *format;
        let own = codec.map_or("", Codec::name);
        let name = match Span::of(text, format.name) {
            Some(span) if !format.name.is_empty() => Some(span),
            _ if format.name == own.as_bytes() => None,
            _ => return None,
        };
        let place = Span::of(text, format.parameters);
        let added = match place {
            Some(_) => None,
            None => {
                let at = ADDED.iter().position(|it| *it == format.parameters)?;
                Some(u8::try_from(at).ok()?)
            }
        };
        let parameters = place.unwrap_or_default();
        Some(Self { number, source, channels, is_mapped, added, codec, clock, name, parameters })
    }

    fn unpack<'a>(&self, text: &'a [u8]) -> Format<'a> {
        let own = self.codec.map_or("", Codec::name).as_bytes();
        Format {
            number: self.number,
            source: self.source,
            name: self.name.map_or(own, |name| name.in_text(text)),
            clock: self.clock,
            channels: self.channels,
            parameters: match self.added {
                Some(at) => ADDED.get(usize::from(at)).copied().unwrap_or_default(),
                None => self.parameters.in_text(text),
            },
            codec: self.codec,
            is_mapped: self.is_mapped,
        }
    }
}

/// A stream of a description, without its lines.
#[derive(Debug)]
struct PackedSection {
    kind: Span,
    port: u16,
    protocol: Span,
    formats_text: Span,
    direction: Direction,
    carriage: Carriage,
    address: Option<IpAddr>,
    formats: Vec<PackedFormat>,
    keys: sdes::Offer,
    dtls: Option<dtls::Description>,
    ice: Option<(Span, Span)>,
    has_mux: bool,
    rtcp: Option<(u16, Option<IpAddr>)>,
    mid: Option<Span>,
    ssrcs: Vec<u32>,
    rate_bps: Option<u64>,
    packet_ms: Option<u16>,
}

impl PackedSection {
    /// One that is refused.
    fn none() -> Self {
        Self {
            kind: Span::default(),
            port: 0,
            protocol: Span::default(),
            formats_text: Span::default(),
            direction: Direction::default(),
            carriage: Carriage::Other,
            address: None,
            formats: Vec::new(),
            keys: sdes::Offer::default(),
            dtls: None,
            ice: None,
            has_mux: false,
            rtcp: None,
            mid: None,
            ssrcs: Vec::new(),
            rate_bps: None,
            packet_ms: None,
        }
    }

    fn of(text: &[u8], section: &Section<'_>) -> Option<Self> {
        let media = &section.media;
        let span = |part| Span::of(text, part);
        let ice = match section.ice {
            Some((name, password)) => Some((span(name)?, span(password)?)),
            None => None,
        };
        let formats = section.formats.iter().map(|format| PackedFormat::of(text, format));
        Some(Self {
            kind: span(media.kind)?,
            port: media.port,
            protocol: span(media.protocol)?,
            formats_text: span(media.formats)?,
            direction: media.direction(),
            carriage: section.carriage,
            address: section.address,
            formats: formats.collect::<Option<_>>()?,
            keys: section.keys.clone(),
            dtls: section.dtls.clone(),
            ice,
            has_mux: section.has_mux,
            rtcp: section.rtcp,
            mid: section.mid.map(span).map_or(Some(None), |span| span.map(Some))?,
            ssrcs: section.ssrcs.clone(),
            rate_bps: section.rate_bps,
            packet_ms: section.packet_ms,
        })
    }

    /// As it is read of what is written for `relayed`: what an answer needs of it.
    fn written(text: &[u8], relayed: &Relayed<'_>) -> Option<Self> {
        let formats = relayed.formats.iter().map(|format| {
            // Their parameters are written with other numbers.
            let is_written_anew = matches!(format.codec, Some(Codec::Rtx | Codec::Red));
            let has_name = !format.name.is_empty() && format.clock > 0;
            let read = if has_name {
                Format { source: Some(format.number), is_mapped: true, ..*format }
            } else {
                Format { parameters: format.parameters, ..Format::unmapped(format.number) }
            };
            PackedFormat::of(text, &read).filter(|_| !is_written_anew)
        });
        let mid = match relayed.mid {
            // It would be two words, or none, in a group.
            Some(mid) if mid.is_empty() || mid.contains(&b' ') => return None,
            Some(mid) => Some(Span::of(text, mid)?),
            None => None,
        };
        let dtls = relayed.dtls.map(|(setup, fingerprint)| dtls::Description {
            fingerprints: vec![fingerprint],
            setup,
            tls_id: None,
        });
        let has_mux =
            matches!(relayed.rtcp, RtcpLines::Either | RtcpLines::Mux | RtcpLines::MuxOnly);
        Some(Self {
            port: relayed.local.port(),
            carriage: Carriage::of(relayed.protocol),
            formats: formats.collect::<Option<_>>()?,
            keys: relayed.keys.clone().into(),
            dtls,
            ice: relayed.ice.as_ref().map(|_| (Span::default(), Span::default())),
            has_mux,
            mid,
            ..Self::none()
        })
    }

    fn unpack<'a>(&self, text: &'a [u8]) -> Section<'a> {
        let span = |span: Span| span.in_text(text);
        let (kind, protocol) = (span(self.kind), span(self.protocol));
        Section {
            media: Media::bare(kind, self.port, protocol, span(self.formats_text), self.direction),
            lines: Vec::new(),
            carriage: self.carriage,
            address: self.address,
            fault: None,
            formats: self.formats.iter().map(|format| format.unpack(text)).collect(),
            keys: self.keys.clone(),
            dtls: self.dtls.clone(),
            ice: self.ice.map(|(name, password)| (span(name), span(password))),
            has_mux: self.has_mux,
            rtcp: self.rtcp,
            mid: self.mid.map(span),
            ssrcs: self.ssrcs.clone(),
            rate_bps: self.rate_bps,
            packet_ms: self.packet_ms,
        }
    }
}

/// A description without its lines.
#[derive(Debug)]
pub(crate) struct Packed {
    sections: Vec<PackedSection>,
    bundle: Vec<Span>,
}

impl Packed {
    /// Of an offer.
    pub fn of(text: &[u8], description: &Description<'_>) -> Option<Self> {
        let sections = description.sections.iter().map(|it| PackedSection::of(text, it));
        let bundle = description.bundle.iter().map(|name| Span::of(text, name));
        Some(Self {
            sections: sections.collect::<Option<_>>()?,
            bundle: bundle.collect::<Option<_>>()?,
        })
    }

    /// Of what is written of these entries, with that group.
    pub fn written(text: &[u8], entries: &[Entry<'_, '_>], bundle: &[&[u8]]) -> Option<Self> {
        let sections = entries.iter().map(|entry| match &entry.state {
            State::Refused => Some(PackedSection::none()),
            // Lines of the peer's own are among these.
            State::Passed => None,
            State::Relayed(relayed) if relayed.is_end_to_end => None,
            State::Relayed(relayed) if relayed.rtcp == RtcpLines::None => None,
            State::Relayed(relayed) => PackedSection::written(text, relayed),
        });
        let bundle = bundle.iter().map(|name| Span::of(text, name));
        Some(Self {
            sections: sections.collect::<Option<_>>()?,
            bundle: bundle.collect::<Option<_>>()?,
        })
    }

    /// The description, but for its lines; `text` is that of the offer.
    pub fn unpack<'a>(&self, text: &'a [u8]) -> Description<'a> {
        Description {
            lines: Vec::new(),
            sections: self.sections.iter().map(|section| section.unpack(text)).collect(),
            bundle: self.bundle.iter().map(|name| name.in_text(text)).collect(),
        }
    }

    /// Octets that it takes on the heap, about.
    pub fn octets(&self) -> usize {
        let section = |it: &PackedSection| {
            size_of::<PackedSection>() + it.formats.len() * size_of::<PackedFormat>()
        };
        self.sections.iter().map(section).sum()
    }
}
