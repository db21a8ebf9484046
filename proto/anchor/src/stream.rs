//! What the media plane is told of a stream.
//!
//! ```text
//!     end A ── local port ── [ payloads A → B ] ── local port ── end B
//!                            [ payloads B → A ]
//! ```
//! Packets go from one end to the other if the first one sends and the second one receives, by
//! what each said of itself.

use crate::carriage::Carriage;
use crate::codec::Codec;
use crate::policy::Dtmf;
use crate::port::Local;
use crate::side::Side;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use sdp::Direction;
use srtp::dtls::{Description, Role};
use srtp::sdes::Crypto;

/// Sources that an end may announce; more are not looked at.
pub const SSRC_MAX: usize = 16;
/// Octets of the parameters of a codec; longer ones are left out.
pub const PARAMETERS_MAX: usize = 200;

wire::rows! {
    /// Kinds of media.
    pub enum Kind: u8 {
        /// Sound.
        Audio = 1, "audio", "RFC 8866 §5.14";
        /// Pictures that move.
        Video = 2, "video", "RFC 8866 §5.14";
        /// Fax.
        Image = 3, "image", "RFC 6466 §2";
        /// What applications exchange.
        Application = 4, "application", "RFC 8866 §5.14";
        /// Messages.
        Message = 5, "message", "RFC 8866 §5.14";
        /// Text as it is typed, and what comes later.
        Text = 6, "text", "RFC 8866 §5.14";
    }
}

impl Kind {
    /// The row of that name; [`Kind::Text`] for names that have none.
    #[must_use]
    pub fn named(name: &[u8]) -> Self {
        let is = |kind: &&Self| kind.name().as_bytes() == name;
        Self::ALL.iter().find(is).copied().unwrap_or(Self::Text)
    }
}

wire::rows! {
    /// What is in the packets of a stream.
    pub enum Flow: u8 {
        /// RTP and RTCP.
        Rtp = 1, "RTP", "RFC 3550 §5";
        /// T.38.
        Udptl = 2, "UDPTL", "T.38 §9";
        /// Anything.
        Datagrams = 3, "datagrams", "RFC 768";
    }
}

impl Flow {
    /// What a protocol carries; `None`: no datagrams.
    #[must_use]
    pub const fn carried_by(carriage: Carriage) -> Option<Self> {
        match carriage {
            Carriage::Rtp { .. } => Some(Self::Rtp),
            Carriage::Udptl => Some(Self::Udptl),
            Carriage::Datagrams => Some(Self::Datagrams),
            Carriage::Other => None,
        }
    }
}

/// A stream, with both of its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// What it shows.
    pub kind: Kind,
    /// What is in its packets.
    pub flow: Flow,
    /// A and B.
    pub ends: [End; 2],
    /// What becomes of each payload type; others are dropped. Empty unless it is RTP.
    pub payloads: Vec<Payload>,
    /// Seconds without a packet after which it is reported; 0: never.
    pub timeout_s: u16,
    /// What its call is known by.
    pub trace: Trace,
}

/// What a call is known by elsewhere. It changes nothing of what becomes of packets: sessions leave
/// it empty, and whoever tells a stream puts it in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// Its trail in the service assurance, which events of its media belong to.
    pub trail: Option<u64>,
    /// Its Call-ID, as its calling side has it; empty: not known.
    pub call_id: Box<[u8]>,
}

impl Trace {
    /// Octets of a Call-ID at most; a longer one is left out.
    pub const CALL_ID_MAX: usize = 256;

    /// Of a call with that trail and Call-ID.
    #[must_use]
    pub fn of(trail: u64, call_id: &[u8]) -> Self {
        let call_id = if call_id.len() > Self::CALL_ID_MAX { &[] } else { call_id };
        Self { trail: Some(trail), call_id: call_id.into() }
    }
}

impl Stream {
    /// An end.
    #[must_use]
    pub const fn end(&self, side: Side) -> &End {
        &self.ends[side.index()]
    }

    /// Whether packets pass from that side to the other.
    #[must_use]
    pub fn passes(&self, from: Side) -> bool {
        self.end(from).direction.sends() && self.end(from.other()).receives()
    }

    /// Moves it to the ports of its line, or to those of the line that it shares one with.
    pub(crate) fn settle_at(&mut self, line: u8, locals: &[[Option<Local>; 2]]) {
        for (side, end) in self.ends.iter_mut().enumerate() {
            let lead = end.bundle.as_ref().map_or(line, |bundle| bundle.lead);
            let local = locals.get(usize::from(lead)).and_then(|locals| locals[side]);
            end.local = local.unwrap_or(end.local);
        }
    }

    /// What has to be coded anew of it: a bit for the number of each codec.
    #[must_use]
    pub fn codecs(&self) -> u32 {
        let coded = self.payloads.iter().filter_map(|payload| match payload.action {
            Action::Transcode(coding) => Some([payload.codec, Some(coding.codec)]),
            Action::Pass | Action::Digit => None,
        });
        coded.flatten().flatten().fold(0, |all, codec| all | 1 << codec.number())
    }

    /// Whether something of it has to be coded anew.
    #[must_use]
    pub fn is_transcoded(&self) -> bool {
        self.payloads.iter().any(|payload| matches!(payload.action, Action::Transcode(_)))
    }
}

/// One end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Where it sends to; its lead's where it shares a port.
    pub local: Local,
    /// Where it receives, as it said; `None`: nowhere.
    pub remote: Option<SocketAddr>,
    /// Where it receives RTCP.
    pub rtcp: Rtcp,
    /// What it said that it does.
    pub direction: Direction,
    /// Whether packets may teach where it really is (RFC 7362): at the host that it said, or at
    /// the one that signals.
    pub latching: bool,
    /// Whether they may teach it that it is anywhere else, too.
    pub latching_anywhere: bool,
    /// The host that its signalling came from; `None`: not known.
    pub signaller: Option<IpAddr>,
    /// How packets on this side are protected.
    pub guard: Guard,
    /// Connectivity checks.
    pub checks: Option<Box<Checks>>,
    /// The sources that it announced; empty: any.
    pub ssrcs: Vec<u32>,
    /// Bits a second that it may send, headers of UDP and IP included; 0: as many as it likes.
    pub police_bps: u64,
    /// The code point of packets to it.
    pub dscp: Option<u8>,
    /// Milliseconds of a packet to it; 0: as they come.
    pub packet_ms: u16,
    /// How it sends and takes digits.
    pub dtmf: Dtmf,
    /// Its RTP events, if it has some.
    pub event: Option<Event>,
    /// The group that it shares a port with, if it does (RFC 9143).
    pub bundle: Option<Box<Bundle>>,
    /// The parameters of its codec, as it said them (`fmtp`), where that is one that the media
    /// plane codes and has some; of [`PARAMETERS_MAX`] octets at most.
    pub parameters: Box<[u8]>,
}

impl End {
    /// Whether packets are sent to it.
    #[must_use]
    pub const fn receives(&self) -> bool {
        self.direction.receives() && (self.remote.is_some() || self.checks.is_some())
    }
}

/// Where RTCP goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rtcp {
    /// With RTP (RFC 5761).
    Mux,
    /// From and to a port of its own: the odd one of the pair, and this one of the end.
    Apart(Option<SocketAddr>),
    /// There is none.
    None,
}

/// How packets are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// Not at all, or from end to end: nothing is done here.
    None,
    /// By keys of the description.
    Keys {
        /// What comes from the end.
        receive: Box<Crypto>,
        /// What goes to it.
        send: Box<Crypto>,
    },
    /// By keys of DTLS.
    Dtls {
        /// The certificates that it may show.
        peer: Box<Description>,
        /// What the media controller does.
        role: Role,
    },
}

/// Names and passwords of connectivity checks (RFC 8445 §5.3).
#[derive(Clone, PartialEq, Eq)]
pub struct Checks {
    /// The media controller's name.
    pub name: Box<[u8]>,
    /// The media controller's password.
    pub password: Box<[u8]>,
    /// The end's name.
    pub remote_name: Box<[u8]>,
    /// The end's password.
    pub remote_password: Box<[u8]>,
}

impl fmt::Debug for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checks").finish_non_exhaustive()
    }
}

/// RTP events of an end (RFC 4733).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The payload type that it sends them with.
    pub receive: u8,
    /// The payload type that it takes them with.
    pub send: u8,
    /// Their clock rate, Hz.
    pub clock: u32,
}

/// A shared port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The stream whose port it is.
    pub lead: u8,
    /// The name that tells its packets (RFC 9143 §15).
    pub mid: Box<[u8]>,
}

/// What becomes of a payload type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload {
    /// The side that sends it.
    pub from: Side,
    /// As it comes.
    pub number: u8,
    /// As it goes.
    pub becomes: u8,
    /// Its codec, if it is known.
    pub codec: Option<Codec>,
    /// Its clock rate, Hz.
    pub clock: u32,
    /// Channels.
    pub channels: u8,
    /// What is done.
    pub action: Action,
}

/// What is done with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It passes.
    Pass,
    /// It is decoded and coded anew.
    Transcode(Coding),
    /// A digit is taken out of it; the other end gets it in its own way.
    Digit,
}

/// How something is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coding {
    /// The codec.
    pub codec: Codec,
    /// Clock rate, Hz.
    pub clock: u32,
    /// Channels.
    pub channels: u8,
}
