//! Whether a stream is protected, and by which way its keys come: what the profile of an `m=` line,
//! its attributes and the site say together (RFC 4568, RFC 5763, RFC 8643).

use crate::dtls::{Description, Role, Setup};
use crate::sdes::{self, Choice, Offer, Policy};
use core::fmt;
use sdp::{Media, Session};
use wire::Malformed;

wire::rows! {
    /// The profiles of RTP, as `m=` lines write them.
    pub enum Profile {
        /// Not protected.
        Avp = "RTP/AVP", "RFC 3551 §8";
        /// Not protected, with feedback.
        Avpf = "RTP/AVPF", "RFC 4585 §4.1";
        /// Protected.
        Savp = "RTP/SAVP", "RFC 3711 §12";
        /// Protected, with feedback.
        Savpf = "RTP/SAVPF", "RFC 5124 §3.1";
        /// Protected by keys of DTLS.
        TlsSavp = "UDP/TLS/RTP/SAVP", "RFC 5764 §8";
        /// Protected by keys of DTLS, with feedback.
        TlsSavpf = "UDP/TLS/RTP/SAVPF", "RFC 5764 §8";
    }
}

impl Profile {
    /// The profile of that name; `None` for what is not RTP.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|profile| profile.name().as_bytes() == name)
    }

    /// Whether it is protected by itself.
    #[must_use]
    pub const fn is_secure(self) -> bool {
        !matches!(self, Self::Avp | Self::Avpf)
    }

    const fn takes(self, way: Way) -> bool {
        !matches!((self, way), (Self::TlsSavp | Self::TlsSavpf, Way::Sdes))
    }
}

/// A way to keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// In SDP itself.
    Sdes,
    /// By a handshake on the stream's path.
    Dtls,
}

/// Whether a site protects streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Demand {
    /// Never: what insists is refused.
    Off,
    /// Where the other side does.
    #[default]
    Optional,
    /// Always: what does not is refused.
    Required,
}

/// What a site takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Whether.
    pub demand: Demand,
    /// By which ways, the preferred one first.
    pub ways: Vec<Way>,
    /// Which lines of [`Way::Sdes`].
    pub sdes: Policy,
}

/// What a description says of the protection of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Security {
    /// The profile.
    pub profile: Profile,
    /// Its `a=crypto` lines.
    pub sdes: Offer,
    /// Its end of an association of DTLS, if it has one.
    pub dtls: Option<Description>,
}

impl Security {
    /// Reads it; `None` of a stream that is not RTP. Attributes of DTLS may stand before the first
    /// stream for all of them (RFC 8122 §5, RFC 4145 §4).
    ///
    /// # Errors
    /// A malformed attribute.
    pub fn read(session: &Session<'_>, media: &Media<'_>) -> Result<Option<Self>, Malformed> {
        let Some(profile) = Profile::named(media.protocol) else { return Ok(None) };
        let sdes = sdes::read_all(media.values(b"crypto"))?;
        let dtls = Description::read(|name| {
            let name = name.as_bytes();
            let own: Vec<&[u8]> = media.values(name).collect();
            let all = session.attributes().filter(|it| own.is_empty() && it.name == name);
            let all: Vec<&[u8]> = all.filter_map(|it| it.value).collect();
            own.into_iter().chain(all)
        })?;
        Ok(Some(Self { profile, sdes, dtls }))
    }

    /// Whether whoever wrote it wants the stream protected: he insists by the profile, or he names
    /// keys beside one that is not secure (RFC 8643 §4).
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.profile.is_secure() || self.sdes.has_any() || self.dtls.is_some()
    }
}

/// Why an offer is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It insists on protection, and the site has none.
    Insists,
    /// It has none, and the site insists.
    Plain,
    /// It wants protection in no way that the site takes.
    NoWay,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Insists => "the offer insists on SRTP and the site has none",
            Self::Plain => "the offer has no SRTP and the site insists on it",
            Self::NoWay => "no key, suite or fingerprint of the offer is one that the site takes",
        })
    }
}

/// What becomes of an offered stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision<'a> {
    /// It is not protected.
    Plain,
    /// It is protected by this line.
    Sdes(Choice<'a>),
    /// It is protected by DTLS: what the answer says, and the own role.
    Dtls(Setup, Role),
    /// It is refused.
    Refused(Why),
}

impl Site {
    /// Decides on an offer; `role` is the own one where the offer leaves it open. The answer has
    /// the profile of the offer in any case (RFC 3264 §6, RFC 8643 §4).
    #[must_use]
    pub fn decide<'a>(&self, offer: &'a Security, role: Role) -> Decision<'a> {
        let insists = offer.profile.is_secure();
        match self.demand {
            Demand::Off if insists => return Decision::Refused(Why::Insists),
            Demand::Off => return Decision::Plain,
            Demand::Required if !offer.is_wanted() => return Decision::Refused(Why::Plain),
            Demand::Optional | Demand::Required => {}
        }
        let mut ways = self.ways.iter().filter(|way| offer.profile.takes(**way));
        let taken = ways.find_map(|way| match way {
            Way::Sdes => sdes::choose(&offer.sdes, &self.sdes).map(Decision::Sdes),
            Way::Dtls => {
                let dtls = offer.dtls.as_ref().filter(|it| !it.fingerprints.is_empty())?;
                dtls.setup.answer(role).map(|(setup, role)| Decision::Dtls(setup, role))
            }
        });
        match taken {
            Some(decision) => decision,
            None if insists || self.demand == Demand::Required => Decision::Refused(Why::NoWay),
            None => Decision::Plain,
        }
    }
}
