//! What a side of a call wants of its media: the `media` keys of a realm.

use crate::codec::Codec;
use crate::format::{ALIGNED, Format, parameter};
use crate::text::number;
use srtp::Suite;
use srtp::sdes;

/// What one side wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Media goes through a media controller; a call is anchored if one of its sides wants it.
    pub anchor: bool,
    /// Protection of RTP.
    pub srtp: Srtp,
    /// Which codecs, and in which order.
    pub codecs: Codecs,
    /// How digits are sent.
    pub dtmf: Dtmf,
    /// Milliseconds of a packet that this side is asked for; `None`: as the other side wishes.
    pub packet_ms: Option<u16>,
    /// Where packets really come from may become the place that they are sent to (RFC 7362): the
    /// signalled place first, then its host with another port, then the host that signals.
    pub latching: bool,
    /// With `latching`: anyone's packets may, for media may take another middlebox than signalling
    /// does. Whoever guesses a port before the far end has sent then gets its media.
    pub latching_anywhere: bool,
    /// RTP and RTCP on one port (RFC 5761).
    pub rtcp_mux: RtcpMux,
    /// `a=rtcp` (RFC 3605) is written even if it says what everybody knows.
    pub rtcp_attribute: bool,
    /// Connectivity checks (RFC 8445).
    pub ice: Ice,
    /// The addresses that this side is given.
    pub family: Family,
    /// How much a stream may send.
    pub bandwidth: Bandwidth,
    /// The code point of packets to this side (RFC 2474); `None`: that of the packet.
    pub dscp: Option<u8>,
    /// Seconds without a packet after which a stream is reported; 0: never.
    pub timeout_s: u16,
    /// What nobody here understands is passed on.
    pub unknown: bool,
    /// Which media are allowed.
    pub kinds: Kinds,
    /// Streams that are no datagrams (TCP, MSRP) are passed on as they are; else refused.
    pub other: bool,
    /// Streams of a group may share a port (RFC 9143).
    pub bundle: bool,
    /// Who stands in `o=`.
    pub origin: Origin,
    /// RTCP feedback in the profile.
    pub feedback: Feedback,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            anchor: true,
            srtp: Srtp::default(),
            codecs: Codecs::default(),
            dtmf: Dtmf::default(),
            packet_ms: None,
            latching: true,
            latching_anywhere: false,
            rtcp_mux: RtcpMux::default(),
            rtcp_attribute: true,
            ice: Ice::default(),
            family: Family::default(),
            bandwidth: Bandwidth::default(),
            dscp: None,
            timeout_s: 0,
            unknown: true,
            kinds: Kinds::default(),
            other: false,
            bundle: false,
            origin: Origin::default(),
            feedback: Feedback::default(),
        }
    }
}

/// How much a stream may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bandwidth {
    /// Kilobits a second of a stream at most; more is refused.
    pub kbps_max: Option<u32>,
    /// Whether a stream may not send more than its bandwidth, or its codecs, say.
    pub police: bool,
}

/// How much SRTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// None: protected streams are refused.
    #[default]
    Off,
    /// As the other side has it; both are taken.
    Optional,
    /// Nothing else.
    Required,
    /// Keys pass from side to side, which encrypt for one another; so it must be for both sides.
    EndToEnd,
}

/// Protection of RTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Srtp {
    /// How much.
    pub protection: Protection,
    /// Keys in the description (RFC 4568): the suites, best first; none: no such keys.
    pub sdes: sdes::Policy,
    /// Keys by DTLS (RFC 5763, RFC 5764).
    pub dtls: bool,
    /// With `Optional`: keys are offered in a plain profile, and the answer decides (RFC 8643).
    pub opportunistic: bool,
    /// Whether an `actpass` is answered with `active` (RFC 5763 §5); else with `passive`, which
    /// meets those behind an address translator.
    pub active: bool,
}

impl Default for Srtp {
    fn default() -> Self {
        let suites = vec![Suite::AesCm128HmacSha1_80, Suite::AesCm128HmacSha1_32];
        Self {
            protection: Protection::Off,
            sdes: sdes::Policy::of(suites),
            dtls: false,
            opportunistic: false,
            active: false,
        }
    }
}

/// A codec as a list of the configuration names it: `PCMA`, `AMR-WB/16000`, `opus/48000/2`, and
/// with parameters `AMR;octet-align=1` or, as rtpengine writes it behind channels, bit rate and
/// packet time, `AMR/8000/1///octet-align=1`. Of parameters that one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecName {
    name: Box<[u8]>,
    clock: Option<u32>,
    channels: Option<u8>,
    /// AMR in octets (RFC 4867 §4.4).
    is_aligned: bool,
}

/// Slashes before the parameters of a codec as rtpengine writes it.
const SLASHES: usize = 5;

impl CodecName {
    /// Reads one; `None`: it has no name, or its numbers are none.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        let slashes = memchr::memchr_iter(b'/', text).nth(SLASHES - 1);
        let end = slashes.or_else(|| memchr::memchr(b';', text));
        let (text, parameters) = text.split_at(end.unwrap_or(text.len()));
        let parameters = parameters.get(1..).unwrap_or_default();
        let is_aligned = parameter(parameters, "octet-align") == Some(b"1");
        let mut parts = text.split(|&octet| octet == b'/');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let mut next = || parts.next().filter(|part| !part.is_empty()).map(number);
        let clock = match next() {
            Some(clock) => Some(u32::try_from(clock?).ok()?),
            None => None,
        };
        let channels = match next() {
            Some(channels) => Some(u8::try_from(channels?).ok()?),
            None => None,
        };
        Some(Self { name: name.into(), clock, channels, is_aligned })
    }

    /// Whether it names that format.
    #[must_use]
    pub fn names(&self, format: &Format<'_>) -> bool {
        self.name.eq_ignore_ascii_case(format.name)
            && self.clock.is_none_or(|clock| clock == format.clock)
            && self.channels.is_none_or(|channels| channels == format.channels)
            && (!self.is_aligned || parameter(format.parameters, "octet-align") == Some(b"1"))
    }

    /// It as a format that is added, with a payload type that none of `taken` has; `None`: it is
    /// not coded here, or no number is free.
    pub(crate) fn format(&self, taken: &[Format<'_>]) -> Option<Format<'static>> {
        let codec = self.codec().filter(|codec| codec.shape().is_coded)?;
        let format = Format::added(codec, self.clock(), taken)?;
        let has_octets = matches!(codec, Codec::Amr | Codec::AmrWb);
        let is_aligned = self.is_aligned && has_octets;
        Some(Format { parameters: if is_aligned { ALIGNED } else { format.parameters }, ..format })
    }

    /// The row that it names.
    #[must_use]
    pub fn codec(&self) -> Option<Codec> {
        Codec::named(&self.name)
    }

    /// The clock rate: its own, or the codec's.
    #[must_use]
    pub fn clock(&self) -> u32 {
        let usual = || self.codec().map(|codec| codec.shape().clock).filter(|clock| *clock > 0);
        self.clock.or_else(usual).unwrap_or(8_000)
    }

    /// Whether its name is `all` or `full`, as lists of exceptions begin.
    #[must_use]
    pub fn is_all(&self) -> bool {
        [&b"all"[..], b"full"].iter().any(|word| self.name.eq_ignore_ascii_case(word))
    }
}

/// Which codecs a side may have, and in which order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Codecs {
    /// Those that come first.
    pub order: Vec<CodecName>,
    /// Those that are allowed; empty: all.
    pub allow: Vec<CodecName>,
    /// Those that are not.
    pub deny: Vec<CodecName>,
    /// Those that are offered even if the other side lacks them; the media plane transcodes.
    pub transcode: Vec<CodecName>,
    /// Those that are hidden from this side but serve as a source of transcoding.
    pub mask: Vec<CodecName>,
}

impl Codecs {
    /// Whether this side may have that format. What goes beside a codec need not be allowed.
    #[must_use]
    pub fn allows(&self, format: &Format<'_>) -> bool {
        let named = |list: &[CodecName]| list.iter().any(|name| name.names(format));
        let denied = |list: &[CodecName]| {
            named(list) || (list.iter().any(CodecName::is_all) && !named(&self.allow))
        };
        (self.allow.is_empty() || format.is_auxiliary() || named(&self.allow))
            && !denied(&self.deny)
    }

    /// Whether it is hidden from this side.
    #[must_use]
    pub fn masks(&self, format: &Format<'_>) -> bool {
        let named = |list: &[CodecName]| list.iter().any(|name| name.names(format));
        named(&self.mask) || (self.mask.iter().any(CodecName::is_all) && !named(&self.allow))
    }

    /// The place of a format in the order; those that are not named come last.
    #[must_use]
    pub fn rank(&self, format: &Format<'_>) -> usize {
        self.order.iter().position(|name| name.names(format)).unwrap_or(self.order.len())
    }
}

wire::rows! {
    /// How a side sends and takes digits.
    pub enum Dtmf: u8 {
        /// As the other side does.
        Pass = 1, "pass", "RFC 4733 §2";
        /// As RTP events.
        Events = 2, "rtp", "RFC 4733 §2";
        /// As INFO requests.
        Info = 3, "info", "RFC 6086 §5";
        /// As tones.
        Tones = 4, "tones", "Q.23 §6";
    }
}

#[allow(clippy::derivable_impls, reason = "the rows carry no attribute")]
impl Default for Dtmf {
    fn default() -> Self {
        Self::Pass
    }
}

/// RTP and RTCP on one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RtcpMux {
    /// Never.
    Off,
    /// Offered where the other side offers it, taken where the other side takes it.
    Follow,
    /// Offered where the other side offers it, taken always.
    #[default]
    Accept,
    /// Offered always, taken always.
    Offer,
    /// Offered as the only way (RFC 8858), taken always.
    Require,
}

/// Connectivity checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ice {
    /// None: what the other side says of ICE is left out.
    #[default]
    Remove,
    /// The lite end of them (RFC 8445 §2.5), taken where it is offered.
    Accept,
    /// The lite end of them, taken where it is offered, offered where the other side offers it.
    Follow,
    /// The lite end of them, offered always.
    Offer,
}

/// Addresses of a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Those of the description that comes from it, or of the other side's where none came yet.
    #[default]
    Same,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Which media a side may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "a set of media")]
pub struct Kinds {
    /// `video`.
    pub video: bool,
    /// `image`: T.38.
    pub image: bool,
    /// `application`: BFCP, data channels.
    pub application: bool,
    /// `message`: MSRP.
    pub message: bool,
    /// `text` and what comes later.
    pub text: bool,
}

impl Default for Kinds {
    fn default() -> Self {
        Self { video: true, image: true, application: true, message: true, text: true }
    }
}

impl Kinds {
    /// Whether media of that kind are allowed; audio always is.
    #[must_use]
    pub fn allow(&self, kind: &[u8]) -> bool {
        match kind {
            b"audio" => true,
            b"video" => self.video,
            b"image" => self.image,
            b"application" => self.application,
            b"message" => self.message,
            _ => self.text,
        }
    }
}

/// Who stands in `o=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A session of the media controller's, with a number and a version of its own.
    #[default]
    Own,
    /// Whoever wrote the description.
    Pass,
    /// The same at the media controller's address.
    PassAtOwnAddress,
}

/// RTCP feedback in the profile (RFC 4585).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Feedback {
    /// As the other side has it.
    #[default]
    Follow,
    /// Never offered.
    Off,
    /// Always offered.
    On,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<CodecName> {
        names.iter().map(|name| CodecName::read(name.as_bytes()).expect("a name")).collect()
    }

    #[test]
    fn codecs_are_allowed_denied_and_ordered_by_name() {
        let pcma = Format::added(Codec::Pcma, 8_000, &[]).expect("free");
        let opus = Format::added(Codec::Opus, 48_000, &[]).expect("free");
        let event = Format::added(Codec::TelephoneEvent, 8_000, &[]).expect("free");
        let codecs = Codecs {
            allow: list(&["pcma", "opus/48000/2"]),
            deny: list(&["opus/48000/1"]),
            order: list(&["opus"]),
            ..Codecs::default()
        };
        assert!(codecs.allows(&pcma) && codecs.allows(&opus) && codecs.allows(&event));
        assert!(codecs.rank(&opus) < codecs.rank(&pcma));
        let only = Codecs { allow: list(&["PCMA"]), deny: list(&["all"]), ..Codecs::default() };
        assert!(only.allows(&pcma) && !only.allows(&opus) && !only.allows(&event));
        assert_eq!(CodecName::read(b"AMR/x"), None);
        for text in ["AMR;octet-align=1", "AMR/8000/1///mode-set=7;octet-align=1"] {
            let aligned = CodecName::read(text.as_bytes()).expect("a name");
            let amr = aligned.format(&[]).expect("it is coded");
            assert_eq!(amr.parameters, b"octet-align=1");
            assert!(aligned.names(&amr) && !aligned.names(&Format { parameters: b"", ..amr }));
        }
        assert_eq!(CodecName::read(b"/8000"), None);
    }
}
