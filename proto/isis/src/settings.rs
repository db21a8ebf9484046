//! What an instance and its circuits are told.

use crate::address::{AreaAddress, Levels, Snpa, SystemId};
use crate::lsp::{PrefixSid, SegmentRouting};
use crate::pdu::Authentication;
use machine::Duration;
use spf::{Method, SpfDelays};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A prefix of IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// Its address, zero behind its length.
    pub address: IpAddr,
    /// Its length.
    pub length: u8,
}

impl Prefix {
    /// From any address in it; a length beyond its family's counts as that.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Self {
        match address {
            IpAddr::V4(it) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Self { address: Ipv4Addr::from(u32::from(it) & mask).into(), length }
            }
            IpAddr::V6(it) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Self { address: Ipv6Addr::from(u128::from(it) & mask).into(), length }
            }
        }
    }

    /// Of IPv6.
    #[must_use]
    pub const fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }
}

impl core::fmt::Display for Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// The kind of a circuit's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Any number of systems that hear each other's multicast.
    Broadcast,
    /// One neighbour, over Ethernet as RFC 5309 has it.
    PointToPoint,
}

/// Which metrics are said and believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricStyle {
    /// Those of ISO 10589 and RFC 1195: 6 bits.
    Narrow,
    /// Both are said; the wide ones are believed where they are there.
    Transition,
    /// Those of RFC 5305: 24 and 32 bits.
    #[default]
    Wide,
}

impl MetricStyle {
    pub(crate) const fn is_narrow(self) -> bool {
        matches!(self, Self::Narrow | Self::Transition)
    }

    pub(crate) const fn is_wide(self) -> bool {
        matches!(self, Self::Wide | Self::Transition)
    }
}

/// Which routes of level 2 are told in level 1, with the down bit (RFC 5302).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Leaking {
    /// None: the areas have their default route.
    #[default]
    None,
    /// All.
    All,
    /// Those that lie in one of these.
    Within(Vec<Prefix>),
}

impl Leaking {
    pub(crate) fn takes(&self, prefix: &Prefix) -> bool {
        let lies_in = |outer: &Prefix| {
            outer.length <= prefix.length
                && outer.is_ipv6() == prefix.is_ipv6()
                && Prefix::new(prefix.address, outer.length) == *outer
        };
        match self {
            Self::None => false,
            Self::All => true,
            Self::Within(all) => all.iter().any(lies_in),
        }
    }
}

/// A circuit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitSettings {
    /// The number of its interface, which is its extended circuit ID; not 0.
    pub index: u32,
    /// The kind of its link.
    pub link: LinkType,
    /// Its levels.
    pub levels: Levels,
    /// What it costs to send by it: at most 63 in narrow metrics, else below 2^24 - 1.
    pub metric: u32,
    /// Priority as designated system, 0 to 127.
    pub priority: u8,
    /// Seconds between hellos; a designated system says them three times as often.
    pub hello_s: u16,
    /// Hellos that may be missed.
    pub multiplier: u16,
    /// Octets of the longest PDU.
    pub mtu: u16,
    /// Its own address on the link.
    pub snpa: Snpa,
    /// Its own addresses and the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Its own link-local address of IPv6.
    pub link_local: Option<Ipv6Addr>,
    /// No PDUs: it is only announced.
    pub is_passive: bool,
    /// Hellos are as long as the link allows (ISO 10589 §8.2.3).
    pub pads_hellos: bool,
    /// How hellos are authenticated.
    pub authentication: Authentication,
}

impl CircuitSettings {
    /// With the values of ISO 10589.
    #[must_use]
    pub fn new(index: u32, snpa: Snpa) -> Self {
        Self {
            index,
            link: LinkType::Broadcast,
            levels: Levels::BOTH,
            metric: 10,
            priority: 64,
            hello_s: 10,
            multiplier: 3,
            mtu: 1_497,
            snpa,
            addresses: Vec::new(),
            link_local: None,
            is_passive: false,
            pads_hellos: true,
            authentication: Authentication::Null,
        }
    }

    /// The prefixes that it is on.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.addresses.iter().map(|&(address, length)| Prefix::new(address, length))
    }

    fn check(&self, style: MetricStyle) -> Result<(), BadSetting> {
        let metric_max = if style.is_narrow() { 63 } else { 0x00FF_FFFE };
        let checks = [
            (self.index != 0, BadSetting::CircuitIndex),
            (self.levels != Levels::NONE, BadSetting::Levels),
            ((1..=metric_max).contains(&self.metric), BadSetting::Metric),
            (self.priority < 128, BadSetting::Priority),
            (self.hello_s > 0 && self.multiplier > 0, BadSetting::Hello),
            (u32::from(self.hello_s) * u32::from(self.multiplier) <= 65_535, BadSetting::Hello),
            (self.mtu >= 512, BadSetting::Mtu),
            (self.addresses.len() <= 32, BadSetting::Addresses),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
    }
}

/// A prefix that others are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advertised {
    /// What it costs from us.
    pub metric: u32,
    /// It lies outside.
    pub is_external: bool,
    /// A tag for others.
    pub tag: Option<u32>,
    /// Its prefix SID.
    pub sid: Option<PrefixSid>,
    /// In which levels it is said.
    pub levels: Levels,
}

/// How much databases and the adjacencies of a circuit may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// LSPs of a level at once.
    pub lsps: usize,
    /// Octets of them.
    pub octets: usize,
    /// LSPs of one system, its pseudonodes' included.
    pub lsps_of_system: usize,
    /// Adjacencies of a circuit in a level.
    pub adjacencies: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lsps: 200_000, octets: 256 << 20, lsps_of_system: 1_024, adjacencies: 256 }
    }
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Its own system ID.
    pub system: SystemId,
    /// Areas that it is in: 1 to 3.
    pub areas: Vec<AreaAddress>,
    /// Its levels.
    pub levels: Levels,
    /// Its name, at most 255 octets (RFC 5301).
    pub hostname: String,
    /// Its router ID of traffic engineering and segment routing.
    pub router: Option<Ipv4Addr>,
    /// Which metrics are said and believed.
    pub style: MetricStyle,
    /// Which routes of level 2 are told in level 1.
    pub leaking: Leaking,
    /// What it says of segment routing (RFC 8667).
    pub segment_routing: Option<SegmentRouting>,
    /// How LSPs and SNPs of level 1 and of level 2 are authenticated.
    pub authentication: [Authentication; 2],
    /// Nothing shall pass through it (ISO 10589 §7.2.8.1).
    pub is_overloaded: bool,
    /// Periods.
    pub periods: Periods,
    /// Delays of runs of SPF (RFC 8405).
    pub delays: SpfDelays,
    /// How much may grow.
    pub limits: Limits,
    /// Octets of the longest LSP that it says.
    pub lsp_octets: u16,
    /// Equal paths of a route.
    pub paths: usize,
    /// How routes are repaired ahead of a failure, if they are.
    pub repair: Option<Method>,
    /// It comes back from a restart (RFC 8706): at most for so long nothing is said anew, and
    /// routes stay as they were.
    pub restart: Option<Duration>,
    /// Neighbours that restart are borne (RFC 8706 §3.2.1).
    pub helps_restart: bool,
}

/// Periods of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// Seconds that an LSP lives (MaxAge).
    pub lifetime_s: u16,
    /// Seconds after which an own LSP is said again; less than the lifetime.
    pub refresh_s: u16,
    /// Time between two forms of an own LSP.
    pub lsp: Duration,
    /// Time between CSNPs of a designated system.
    pub csnp: Duration,
    /// Time for which PSNPs gather.
    pub psnp: Duration,
    /// Time after which an LSP that was not acknowledged is sent again.
    pub retransmit: Duration,
}

impl Default for Periods {
    fn default() -> Self {
        Self {
            lifetime_s: 1_200,
            refresh_s: 900,
            lsp: Duration::from_secs(1),
            csnp: Duration::from_secs(10),
            psnp: Duration::from_secs(2),
            retransmit: Duration::from_secs(5),
        }
    }
}

impl Settings {
    /// With the values of the standards.
    #[must_use]
    pub fn new(system: SystemId, area: AreaAddress) -> Self {
        Self {
            system,
            areas: vec![area],
            levels: Levels::BOTH,
            hostname: String::new(),
            router: None,
            style: MetricStyle::default(),
            leaking: Leaking::None,
            segment_routing: None,
            authentication: [Authentication::Null, Authentication::Null],
            is_overloaded: false,
            periods: Periods::default(),
            delays: SpfDelays::default(),
            limits: Limits::default(),
            lsp_octets: 1_492,
            paths: spf::PATHS_MAX,
            repair: None,
            restart: None,
            helps_restart: true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), BadSetting> {
        let periods = &self.periods;
        let waits = [periods.lsp, periods.csnp, periods.psnp, periods.retransmit];
        let checks = [
            (self.system != SystemId::default(), BadSetting::System),
            ((1..=3).contains(&self.areas.len()), BadSetting::Areas),
            (self.levels != Levels::NONE, BadSetting::Levels),
            (self.hostname.len() <= 255, BadSetting::Hostname),
            (periods.lifetime_s > 60, BadSetting::Lifetime),
            ((1..periods.lifetime_s).contains(&periods.refresh_s), BadSetting::Lifetime),
            (waits.iter().all(|it| *it >= Duration::from_millis(1)), BadSetting::Period),
            ((512..=16_000).contains(&self.lsp_octets), BadSetting::Mtu),
            ((1..=spf::PATHS_MAX).contains(&self.paths), BadSetting::Paths),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
    }

    pub(crate) fn check_circuit(&self, circuit: &CircuitSettings) -> Result<(), BadSetting> {
        circuit.check(self.style)?;
        let has_level = self.levels.and(circuit.levels) != Levels::NONE;
        let is_wide_enough = circuit.is_passive || circuit.mtu >= self.lsp_octets;
        match (has_level, is_wide_enough) {
            (false, _) => Err(BadSetting::Levels),
            (_, false) => Err(BadSetting::Mtu),
            _ => Ok(()),
        }
    }
}

wire::rows! {
    /// What is wrong with settings.
    pub enum BadSetting {
        /// The system ID is zero.
        System = "system", "ISO 10589 §7.1.1";
        /// There are no areas, or more than three.
        Areas = "areas", "ISO 10589 §7.1.5";
        /// There is no level.
        Levels = "levels", "ISO 10589 §8.1";
        /// The name is longer than 255 octets.
        Hostname = "hostname", "RFC 5301 §3";
        /// LSPs live a minute or less, or are not said again before they die.
        Lifetime = "lifetime", "ISO 10589 §7.3.21";
        /// A period is shorter than a millisecond.
        Period = "period", "ISO 10589 §7.3.21";
        /// PDUs are too short, or a circuit does not carry the longest LSP.
        Mtu = "mtu", "ISO 10589 §7.3.4";
        /// There are no paths, or more than can be kept.
        Paths = "paths", "ISO 10589 §7.2.7";
        /// The number of a circuit is 0.
        CircuitIndex = "circuit-index", "RFC 5303 §3.2";
        /// There is a circuit of that number, or there are 255.
        CircuitTaken = "circuit-taken", "ISO 10589 §7.2.4";
        /// A metric is 0, or more than its style can say.
        Metric = "metric", "RFC 5305 §3.7";
        /// A priority is greater than 127.
        Priority = "priority", "ISO 10589 §9.5";
        /// Hellos come never, or hold longer than can be said.
        Hello = "hello", "ISO 10589 §8.2.3";
        /// There are more than 32 addresses on a circuit.
        Addresses = "addresses", "RFC 1195 §5.3";
    }
}
