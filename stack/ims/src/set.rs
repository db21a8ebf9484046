//! One security agreement from its offer to its end (TS 33.203 §7.4).
//!
//! ```text
//!          401 leaves        protected REGISTER     200          used by the phone
//! Offered ───────────→ Challenged ─────────→ Proven ───→ Current ───────→ others of the phone: Old
//!    │ another answer      │ in time            │ refused    │ de-registered, over
//!    └─────────────────────┴────────────────────┴────────────┴──────────→ Ending, gone
//! ```

use aka::digest::SessionKeys;
use ipsec::Lane;
use machine::slots::{Key, Reuse};
use machine::{Duration, Time};
use runtime::PortId;
use secagree::{Choice, Ipsec, Kept};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::sync::Arc;

/// A set outlives its registration by this (TS 24.229 §5.2.2).
pub(crate) const BEYOND_S: u64 = 30;
/// The longest time that an agreement stands without another registration, seconds; phones ask for
/// 600,000 (TS 24.229 §5.1.1.2).
pub(crate) const GRANTED_MAX_S: u32 = 604_800;
/// No agreement of another node lasts longer; its clock may be ahead by some seconds.
pub(crate) const LASTS_MAX: Duration = Duration::from_secs(GRANTED_MAX_S as u64 + BEYOND_S + 10);
/// Octets of a private identity that are kept.
pub(crate) const IMPI_OCTETS_MAX: usize = 256;

/// Offers that wait for an answer, of those that came by the associations of one agreement.
const OFFERS_MAX: usize = 4;

/// How far an agreement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Stage {
    /// A REGISTER has offered it; there are no associations.
    #[default]
    Offered,
    /// Its associations stand, the phone has not answered.
    Challenged,
    /// The phone has sent something by them.
    Proven,
    /// The core has accepted the registration.
    Current,
    /// A newer one of the same phone was accepted.
    Old,
    /// Its last answer has left; copies are answered.
    Ending,
}

impl Stage {
    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Challenged => "challenged",
            Self::Proven => "answered",
            Self::Current => "current",
            Self::Old => "old",
            Self::Ending => "ending",
        }
    }

    /// Whether its registration is under way.
    pub const fn is_under_way(self) -> bool {
        matches!(self, Self::Offered | Self::Challenged | Self::Proven)
    }
}

/// A private identity, which several places have.
pub(crate) type Impi = Arc<[u8]>;

/// A REGISTER: the hash of its Call-ID and source, and its number.
pub(crate) type Register = (u64, u32);

/// What is kept of a REGISTER.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registration {
    /// Whether it takes all contacts back.
    pub deregisters: bool,
    /// Its Call-ID, by which trails are found; empty where nothing is captured.
    pub call_id: Box<[u8]>,
}

/// By what the function knows a phone: its own port, and the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub port: PortId,
    pub remote: SocketAddr,
}

/// For what an agreement has served.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Whether the core has ever accepted its registration.
    pub was_accepted: bool,
    /// Until when the function may have its registration; it has none: zero.
    pub registered_until: Time,
    /// Whether the phone has sent anything but a REGISTER by it.
    pub is_used: bool,
    /// Its number in the order in which phones prove their cards; it has not: zero.
    pub proven: u64,
}

/// The associations of an agreement.
#[derive(Debug)]
pub(crate) struct Associated {
    /// Where they are.
    pub key: Key,
    /// What we said, with the algorithms that were chosen.
    pub own: Ipsec,
    /// The keys of the challenge, where another node of the pair has to know them.
    pub keys: Option<Box<SessionKeys>>,
    /// The number of these keys.
    pub spent: u64,
}

/// An agreement.
#[derive(Debug)]
pub(crate) struct Set {
    pub stage: Stage,
    /// The index of its realm.
    pub realm: usize,
    /// The private identity, as the phone says; proven when the core accepts.
    pub impi: Impi,
    /// Whose registration under way it is.
    pub source: IpAddr,
    /// The last REGISTER that came by it, or that offered it, and what that says.
    pub register: Option<Register>,
    pub registration: Registration,
    /// Its number in the order in which sets begin.
    pub begun: u64,
    /// Whether the phone began it in the clear: then it may have no others.
    pub is_from_clear: bool,
    /// What its phone has offered by its associations, the newest first.
    pub offers: Option<Box<[Option<Key>; OFFERS_MAX]>>,
    /// Security-Client and Security-Server.
    pub client: Kept,
    pub server: Kept,
    pub choice: Option<Choice>,
    /// What stood in the Security-Verify that was agreed to last.
    pub verified: Option<NonZeroU64>,
    /// Our address.
    pub local: IpAddr,
    /// The phone's address inside; its own view, where a NAT stands between.
    pub inside: IpAddr,
    pub is_behind_nat: bool,
    pub identity: Identity,
    pub associated: Option<Associated>,
    pub usage: Usage,
    pub expires: Time,
}

impl Default for Set {
    fn default() -> Self {
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Self {
            stage: Stage::Offered,
            realm: 0,
            impi: Impi::default(),
            source: nowhere,
            register: None,
            registration: Registration::default(),
            begun: 0,
            is_from_clear: false,
            offers: None,
            client: Kept::default(),
            server: Kept::default(),
            choice: None,
            verified: None,
            local: nowhere,
            inside: nowhere,
            is_behind_nat: false,
            identity: Identity { port: PortId(u16::MAX), remote: SocketAddr::new(nowhere, 0) },
            associated: None,
            usage: Usage::default(),
            expires: Time::MAX,
        }
    }
}

impl Reuse for Set {
    fn reuse(&mut self) {
        *self = Self::default();
    }
}

impl Set {
    /// What we said, with the algorithms that were chosen.
    pub fn own(&self) -> Option<Ipsec> {
        self.associated.as_ref().map(|it| it.own)
    }

    /// Where its associations are.
    pub fn associations(&self) -> Option<Key> {
        self.associated.as_ref().map(|it| it.key)
    }

    /// Its phone offers another agreement by it; the one that makes way if nobody has answered it.
    pub fn offers(&mut self, key: Key) -> Option<Key> {
        let offers = self.offers.get_or_insert_default();
        offers.rotate_right(1);
        offers[0].replace(key)
    }

    /// Where a datagram to the phone goes inside: by the lane of its server port, from our client
    /// port (TS 33.203 §7.1).
    pub fn ends(&self) -> Option<(Lane, (SocketAddr, SocketAddr))> {
        let (own, ue) = (self.own()?, self.choice?.of);
        let from = SocketAddr::new(self.local, own.port_c);
        Some((Lane::Second, (from, SocketAddr::new(self.inside, ue.port_s))))
    }
}

/// Octets of a private identity that are kept.
pub(crate) fn cut(impi: &[u8]) -> Impi {
    impi[..impi.len().min(IMPI_OCTETS_MAX)].into()
}
