//! What the sections of both protocols have in common.

use config::Issue;
use dataplane::section::{network, prefix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spf::SpfDelays;
use std::net::Ipv4Addr;

/// Milliseconds between packets of BFD, least and most.
const BFD_MS: core::ops::RangeInclusive<u16> = 5..=10_000;
const BFD_MULTIPLIER: core::ops::RangeInclusive<u8> = 2..=50;
/// Equal paths at most.
const PATHS_MAX: u8 = 64;
/// Octets of the shortest packet that a link must carry (RFC 791 §3.2).
pub(super) const MTU_MIN: u16 = 576;
/// Interfaces and areas of an instance at most.
pub(super) const INTERFACES_MAX: usize = 1_024;

/// What an interface without keys is told.
pub(super) const NO_KEY: &str = "add `key_file`: everybody on the link is believed otherwise";

pub(super) type Issues<'a> = &'a mut Vec<Issue>;

/// What is known of an interface of the function's section.
#[derive(Debug, Clone)]
pub struct Known<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its first IPv4 address and the length of its prefix.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Whether it has an address of either family.
    pub has_address: bool,
    /// Whether its frames leave by a port, or as those of a bridge's routed side.
    pub has_port: bool,
    /// Whether it routes in the global table.
    pub is_global: bool,
    /// Octets of its longest packet.
    pub mtu: u16,
}

/// Delays of SPF (RFC 8405 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Delays {
    /// After a first change, milliseconds.
    pub initial_ms: u32,
    /// While changes belong together, milliseconds.
    pub short_ms: u32,
    /// While they do not end, milliseconds.
    pub long_ms: u32,
    /// How long changes belong together, milliseconds.
    pub learn_ms: u32,
    /// Rest after which the network counts as stable, milliseconds.
    pub holddown_ms: u32,
}

impl Default for Delays {
    fn default() -> Self {
        let ms =
            |it: machine::Duration| machine::narrow::at_most(machine::narrow::millis(it), u32::MAX);
        let it = SpfDelays::default();
        Self {
            initial_ms: ms(it.initial),
            short_ms: ms(it.short),
            long_ms: ms(it.long),
            learn_ms: ms(it.learn),
            holddown_ms: ms(it.holddown),
        }
    }
}

impl Delays {
    /// As the machines have them.
    pub(crate) fn delays(&self) -> SpfDelays {
        let ms = |value: u32| machine::Duration::from_millis(value.into());
        SpfDelays {
            initial: ms(self.initial_ms),
            short: ms(self.short_ms),
            long: ms(self.long_ms),
            learn: ms(self.learn_ms),
            holddown: ms(self.holddown_ms),
        }
    }

    pub(super) fn validate(&self, path: &str, issues: Issues<'_>) {
        let most = [self.initial_ms, self.short_ms, self.long_ms, self.learn_ms, self.holddown_ms];
        if most.iter().any(|ms| *ms > 600_000) {
            issues.push(Issue::new(path.to_owned(), "a delay is longer than ten minutes", ""));
        }
        if self.initial_ms > self.short_ms || self.short_ms > self.long_ms {
            let hint = "keep initial_ms <= short_ms <= long_ms";
            issues.push(Issue::new(path.to_owned(), "delays do not grow", hint));
        }
    }
}

/// Routes of another kind that others are told.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Static routes of the global table, but the default one, whose way is up and whose
    /// `distance` is lower than the protocol's own.
    Static,
    /// Subnets of interfaces of the global table that do not speak the protocol and are up.
    Connected,
    /// The default route, 0.0.0.0/0 and in IS-IS ::/0 as well, whether this router has one or not.
    Default,
}

impl Source {
    /// All with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("static", Self::Static), ("connected", Self::Connected), ("default", Self::Default)];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, it)| *it == self);
        found.map_or("", |(name, _)| name)
    }
}

/// The kind of an interface's link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Any number of routers, one of whom speaks for the link (designated router).
    #[default]
    Broadcast,
    /// One neighbour: no election, and no wait for one.
    PointToPoint,
}

impl Network {
    /// As it stands in a section.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::PointToPoint => "point-to-point",
        }
    }
}

/// How routes are repaired before SPF has run: where packets go while their only way does not
/// work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Repair {
    /// By another neighbour that brings them there without coming back, where there is one (RFC
    /// 5286).
    Lfa,
    /// Where there is none, by a tunnel of LDP to a router that does (RFC 7490): packets of IPv4,
    /// and none that came with a label.
    RemoteLfa,
    /// By segments, for every destination that stays connected (RFC 9855). Refused: no key gives
    /// this router any.
    TiLfa,
}

impl Repair {
    /// As it stands in a section.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lfa => "lfa",
            Self::RemoteLfa => "remote-lfa",
            Self::TiLfa => "ti-lfa",
        }
    }

    /// As the machines have it; what is refused is none.
    pub(crate) const fn method(self) -> Option<spf::Method> {
        match self {
            Self::Lfa => Some(spf::Method::Lfa),
            Self::RemoteLfa => Some(spf::Method::RemoteLfa),
            Self::TiLfa => None,
        }
    }
}

/// Milliseconds of the longest delay against micro-loops.
const MICROLOOP_MS_MAX: u32 = 60_000;

/// What repairs need.
pub(super) fn validate_repair(at: &str, repair: Option<Repair>, delay_ms: u32, issues: Issues<'_>) {
    if repair == Some(Repair::TiLfa) {
        let what = "`ti-lfa` repairs by segments, and no key gives this router any";
        let hint = "use `remote-lfa` with `[pe.ldp]`, or `lfa`";
        issues.push(Issue::new(format!("{at}.repair"), what, hint));
    }
    let path = format!("{at}.microloop_delay_ms");
    if delay_ms > MICROLOOP_MS_MAX {
        let what = format!("{delay_ms} is out of range");
        issues.push(Issue::new(path, what, format!("use 0 to {MICROLOOP_MS_MAX}")));
    } else if delay_ms > 0 && repair.is_none() {
        let what = "routes that nothing repairs do not wait";
        issues.push(Issue::new(path, what, "add `repair`, or remove it"));
    }
}

/// Times of BFD on an interface (RFC 5880 §6.8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bfd {
    /// Milliseconds between two packets, both ways, 5 to 10,000.
    pub interval_ms: u16,
    /// So many that stay away make a neighbour lost, 2 to 50.
    pub multiplier: u8,
    /// Keys of the session's packets, a line each in a file that nobody but its owner may read,
    /// relative to the site's directory: `ID ALGORITHM SECRET`, where the algorithm, one for the
    /// whole file, is `md5`, `meticulous-md5`, `sha1` or `meticulous-sha1`; or one line
    /// `password SECRET` (RFC 5880 §6.7). Absent: packets have no proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
}

impl Default for Bfd {
    fn default() -> Self {
        Self { interval_ms: 300, multiplier: 3, key_file: None }
    }
}

impl Bfd {
    pub(super) fn validate(&self, path: &str, issues: Issues<'_>) {
        if !BFD_MS.contains(&self.interval_ms) {
            let hint = format!("use {} to {}", BFD_MS.start(), BFD_MS.end());
            let what = format!("{} is out of range", self.interval_ms);
            issues.push(Issue::new(format!("{path}.interval_ms"), what, hint));
        }
        if !BFD_MULTIPLIER.contains(&self.multiplier) {
            let hint = format!("use {} to {}", BFD_MULTIPLIER.start(), BFD_MULTIPLIER.end());
            let what = format!("{} is out of range", self.multiplier);
            issues.push(Issue::new(format!("{path}.multiplier"), what, hint));
        }
        validate_keys(path, self.key_file.as_ref(), issues);
    }
}

/// What a protocol's routes are worth, and how many ways they have.
pub(super) fn validate_routes(at: &str, distance: u8, paths: u8, issues: Issues<'_>) {
    if !(1..=PATHS_MAX).contains(&paths) {
        let what = format!("{paths} is out of range");
        issues.push(Issue::new(format!("{at}.paths"), what, "use 1 to 64"));
    }
    if distance == 0 {
        let what = "only connected subnets have 0";
        issues.push(Issue::new(format!("{at}.distance"), what, "use 1 to 255"));
    }
}

/// A file of keys, and what is spoken where it is named.
pub(super) fn validate_keys(path: &str, file: Option<&String>, issues: Issues<'_>) {
    if file.is_some_and(String::is_empty) {
        let at = format!("{path}.key_file");
        issues.push(Issue::new(at, "the path is empty", "write a file's name"));
    }
}

/// Whether a prefix lies in one of these; in none of none: everything does.
pub(super) fn lies_within(within: &[String], to: isis::Prefix) -> bool {
    let has = |text: &String| {
        prefix(text).map(network).is_some_and(|(address, length)| {
            length <= to.length
                && address.is_ipv4() == to.address.is_ipv4()
                && isis::Prefix::new(to.address, length) == isis::Prefix::new(address, length)
        })
    };
    within.is_empty() || within.iter().any(has)
}
