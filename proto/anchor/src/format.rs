//! The formats of an RTP stream: payload types with what `rtpmap` and `fmtp` say of them
//! (RFC 8866 §6.6, §6.15).

use crate::codec::Codec;
use crate::text::{Said, number, words};
use sdp::Media;

/// Payload types have seven bits.
pub const NUMBER_MAX: u8 = 127;
/// The first dynamic payload type (RFC 3551 §6).
const DYNAMIC_FIRST: u8 = 96;

/// What events have that are added (RFC 4733 §7.1.1).
const EVENTS: &[u8] = b"0-15";
/// What AMR has that is added in octets (RFC 4867 §8.1).
pub(crate) const ALIGNED: &[u8] = b"octet-align=1";
/// Parameters of formats that are added, which stand in no description.
pub(crate) const ADDED: [&[u8]; 2] = [EVENTS, ALIGNED];

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format<'a> {
    /// Its payload type in the description that it will stand in.
    pub number: u8,
    /// Its payload type in the description that it was read from; `None`: it was added.
    pub source: Option<u8>,
    /// The name; empty where nobody knows it.
    pub name: &'a [u8],
    /// Clock rate, Hz.
    pub clock: u32,
    /// Channels.
    pub channels: u8,
    /// Its parameters, as they stand behind the payload type.
    pub parameters: &'a [u8],
    /// Its row.
    pub codec: Option<Codec>,
    /// Whether `rtpmap` names it.
    pub is_mapped: bool,
}

impl<'a> Format<'a> {
    /// A format that the media plane can make, with a payload type that none of `taken` has.
    #[must_use]
    pub fn added(codec: Codec, clock: u32, taken: &[Format<'_>]) -> Option<Format<'static>> {
        let shape = codec.shape();
        let is_free = |number: &u8| taken.iter().all(|format| format.number != *number);
        let dynamic = || (DYNAMIC_FIRST..=NUMBER_MAX).find(is_free);
        let number = shape.number.filter(is_free).or_else(dynamic)?;
        let parameters = match codec {
            Codec::TelephoneEvent => EVENTS,
            _ => b"",
        };
        Some(Format {
            number,
            source: None,
            name: codec.name().as_bytes(),
            clock,
            channels: shape.channels,
            parameters,
            codec: Some(codec),
            is_mapped: true,
        })
    }

    /// Whether it only goes beside another one.
    #[must_use]
    pub fn is_auxiliary(&self) -> bool {
        self.codec.is_some_and(|codec| codec.shape().is_auxiliary)
    }

    /// Whether the media plane codes and decodes it.
    #[must_use]
    pub fn is_coded(&self) -> bool {
        self.clock > 0 && self.codec.is_some_and(|codec| codec.shape().is_coded)
    }

    /// Whether both name the same codec.
    #[must_use]
    pub fn is_named_as(&self, other: &Format<'_>) -> bool {
        self.clock == other.clock
            && self.channels == other.channels
            && self.name.eq_ignore_ascii_case(other.name)
            && (!self.name.is_empty() || self.number == other.number)
    }

    /// Whether packets of one can be read as the other: the same codec, and the parameters that
    /// change what is in a packet are the same.
    #[must_use]
    pub fn fits(&self, other: &Format<'_>) -> bool {
        self.is_named_as(other)
            && decisive(self.codec).iter().all(|(name, default)| {
                let value = |format: &Format<'a>| {
                    parameter(format.parameters, name).unwrap_or(default.as_bytes())
                };
                let other = parameter(other.parameters, name).unwrap_or(default.as_bytes());
                let length = if *name == "profile-level-id" { 4 } else { usize::MAX };
                let cut = |value: &'a [u8]| &value[..value.len().min(length)];
                cut(value(self)).eq_ignore_ascii_case(&other[..other.len().min(length)])
            })
    }

    /// The formats of a stream by its lines, each with its number. What is no payload type, or
    /// stands twice, is left out.
    pub(crate) fn read(media: &Media<'a>, lines: &[Said<'a>]) -> Vec<Self> {
        let mut formats: Vec<Self> = Vec::with_capacity(8);
        for word in media.format_list() {
            let Some(number) = payload_type(word) else { continue };
            if formats.iter().all(|format| format.number != number) {
                formats.push(Self::unmapped(number));
            }
        }
        for Said { attribute, .. } in lines {
            let (Some(value), b"rtpmap" | b"fmtp") = (attribute.value, attribute.name) else {
                continue;
            };
            let end = memchr::memchr(b' ', value).unwrap_or(value.len());
            let (Some(number), rest) = (payload_type(&value[..end]), value[end..].trim_ascii())
            else {
                continue;
            };
            let Some(format) = formats.iter_mut().find(|format| format.number == number) else {
                continue;
            };
            match attribute.name {
                b"rtpmap" => format.map(rest),
                _ => format.parameters = rest,
            }
        }
        formats
    }

    /// One that no `rtpmap` names.
    pub(crate) fn unmapped(number: u8) -> Self {
        let codec = Codec::numbered(number);
        let shape = codec.map(Codec::shape);
        Self {
            number,
            source: Some(number),
            name: codec.map_or(b"", |codec| codec.name().as_bytes()),
            clock: shape.map_or(0, |shape| if shape.clock == 0 { 8_000 } else { shape.clock }),
            channels: 1,
            parameters: b"",
            codec,
            is_mapped: false,
        }
    }

    /// Takes `name/clock[/channels]`.
    fn map(&mut self, encoding: &'a [u8]) {
        let mut parts = encoding.split(|&octet| octet == b'/');
        let (Some(name), clock) = (parts.next(), parts.next().and_then(number)) else { return };
        let clock = clock.and_then(|clock| u32::try_from(clock).ok()).filter(|clock| *clock > 0);
        // Without a clock rate it is no name.
        let Some(clock) = clock.filter(|_| !name.is_empty()) else { return };
        self.name = name;
        self.clock = clock;
        let channels = parts.next().and_then(number).and_then(|n| u8::try_from(n).ok());
        self.channels = channels.unwrap_or(1);
        self.codec = Codec::named(name);
        self.is_mapped = true;
    }
}

/// Parameters that change what is in a packet, with their defaults.
fn decisive(codec: Option<Codec>) -> &'static [(&'static str, &'static str)] {
    match codec {
        // RFC 4867 §8.1
        Some(Codec::Amr | Codec::AmrWb) => {
            &[("octet-align", "0"), ("crc", "0"), ("robust-sorting", "0"), ("interleaving", "")]
        }
        // RFC 6184 §8.1; the level may differ
        Some(Codec::H264) => &[("packetization-mode", "0"), ("profile-level-id", "42E0")],
        // RFC 3952 §4.1
        Some(Codec::Ilbc) => &[("mode", "30")],
        _ => &[],
    }
}

/// The value of a parameter `name=value` between semicolons.
#[must_use]
pub fn parameter<'a>(parameters: &'a [u8], name: &str) -> Option<&'a [u8]> {
    parameters.split(|&octet| octet == b';').find_map(|parameter| {
        let at = memchr::memchr(b'=', parameter)?;
        let is_it = parameter[..at].trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        is_it.then(|| parameter[at + 1..].trim_ascii())
    })
}

/// A payload type.
#[must_use]
pub fn payload_type(word: &[u8]) -> Option<u8> {
    number(word).and_then(|n| u8::try_from(n).ok()).filter(|n| *n <= NUMBER_MAX)
}

/// The payload type and the rest of an attribute's value that begins with one (`rtcp-fb`).
#[must_use]
pub(crate) fn split_number(value: &[u8]) -> Option<(u8, &[u8])> {
    let first = words(value).next()?;
    let rest = value.get(first.len() + 1..)?;
    payload_type(first).map(|number| (number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(lines: &str) -> String {
        format!("v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n{lines}")
    }

    #[test]
    fn formats_take_their_names_from_rtpmap_or_from_the_static_table() {
        let text = formats(
            "m=audio 4000 RTP/AVP 0 96 96 300 101 13\r\na=rtpmap:96 AMR-WB/16000\r\n\
             a=fmtp:96 octet-align=1; mode-set=0,1,2\r\na=rtpmap:101 telephone-event/8000\r\n",
        );
        let session = sdp::Session::parse(text.as_bytes()).expect("well formed");
        let media = session.media().next().expect("one stream");
        let lines: Vec<_> = media.lines().map(Said::read).collect();
        let formats = Format::read(&media, &lines);
        let names: Vec<_> = formats.iter().map(|f| (f.number, f.codec, f.clock)).collect();
        assert_eq!(
            names,
            [
                (0, Some(Codec::Pcmu), 8_000),
                (96, Some(Codec::AmrWb), 16_000),
                (101, Some(Codec::TelephoneEvent), 8_000),
                (13, Some(Codec::ComfortNoise), 8_000),
            ]
        );
        assert_eq!(parameter(formats[1].parameters, "mode-set"), Some(&b"0,1,2"[..]));
    }

    #[test]
    fn amr_in_octets_is_not_amr_in_bits() {
        let amr = Format::added(Codec::Amr, 8_000, &[]).expect("free");
        let aligned = Format { parameters: b"octet-align=1", ..amr };
        let said = Format { parameters: b"mode-set=7; octet-align=0", ..amr };
        assert!(!amr.fits(&aligned) && amr.fits(&said) && amr.is_named_as(&aligned));
    }

    #[test]
    fn an_added_format_takes_a_free_number() {
        let pcmu = Format::added(Codec::Pcmu, 8_000, &[]).expect("free");
        assert_eq!(pcmu.number, 0);
        let opus = Format::added(Codec::Opus, 48_000, &[pcmu]).expect("free");
        assert_eq!(opus.number, 96);
        assert_eq!(Format::added(Codec::Amr, 8_000, &[opus]).map(|f| f.number), Some(97));
    }
}
