//! What a function's section says of IS-IS.

use super::shared::{
    INTERFACES_MAX, Issues, MTU_MIN, NO_KEY, lies_within, validate_keys, validate_repair,
    validate_routes,
};
use super::{Bfd, Delays, Known, Network, Repair, Source};
use config::{Issue, interrupted};
use dataplane::section::{known, prefix};
use isis::{AreaAddress, Levels, SystemId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Preference of routes that IS-IS has learnt, if nothing is said.
pub const DISTANCE: u8 = 115;
/// What costs as much leads nowhere (RFC 5305 §3).
const METRIC_MAX: u32 = 0x00FF_FFFE;
/// Octets of a system ID, and the selector behind it.
const SYSTEM_OCTETS: usize = 6;
/// Octets of a name at most (RFC 5301 §3).
const NAME_OCTETS_MAX: usize = 255;

/// IS-IS (ISO 10589, RFC 1195, RFC 5308) in the global routing table, for IPv4 and IPv6, with wide
/// metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isis {
    /// The network entity title: area, system ID and `00`, as `49.0001.1921.6800.0001.00`. The
    /// system ID is unique in the domain. Another one ends all adjacencies.
    pub net: String,
    /// Levels that are spoken: `1` within the area, `2` between areas, or `1-2`. Another one ends
    /// all adjacencies.
    #[serde(default)]
    pub level: LevelKind,
    /// The router's name, by which others show it (RFC 5301). Absent: the function's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Preference of what is learnt against other routes to the same prefix: the lower one holds.
    /// Connected subnets have 0, a static route 1 unless its `distance` says otherwise, OSPF 110.
    #[serde(default = "distance")]
    pub distance: u8,
    /// Equal paths of a route, 1 to 64: flows are shared among them.
    #[serde(default = "paths")]
    pub paths: u8,
    /// Nothing shall pass through this router (the overload bit, ISO 10589 §7.2.8.1): before
    /// maintenance.
    #[serde(default)]
    pub overload: bool,
    /// Routes of level 2 are told in level 1, too (RFC 5302), of a router that speaks both.
    #[serde(default)]
    pub leak: bool,
    /// Seconds that a control, started anew while its forwarder goes on, has to learn everything
    /// again (RFC 8706); 0: it begins as if nobody knew it.
    #[serde(default = "restart_s")]
    pub restart_s: u16,
    /// Neighbours that restart are borne (RFC 8706 §3.2.1).
    #[serde(default = "yes")]
    pub helper: bool,
    /// LSPs of one system at most, its pseudonodes' included; more are not taken, which is counted.
    #[serde(default = "lsps_of_system_max")]
    pub lsps_of_system_max: u32,
    /// A file with the keys of LSPs and sequence numbers PDUs of both levels, as `key_file` of an
    /// interface. Absent: they have no proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Delays between a change and the run of SPF that takes it in (RFC 8405).
    #[serde(default)]
    pub spf: Delays,
    /// How packets go on while the only way of their route does not work, from the moment that BFD
    /// or the link says so until SPF has run: `lfa` or `remote-lfa`; absent: they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
    /// Milliseconds for which routes that a repair has taken over stay with it after a link of this
    /// router's own is lost and nothing else happens, so that no packet circles among routers that
    /// are not as fast (RFC 8333): longer than the slowest of them takes; 0: they do not.
    #[serde(default)]
    pub microloop_delay_ms: u32,
    /// What other routers are told of this one's other routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redistribute: Vec<Advertise>,
    /// Interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interface: Vec<Interface>,
}

const fn distance() -> u8 {
    DISTANCE
}

const fn paths() -> u8 {
    64
}

const fn restart_s() -> u16 {
    60
}

const fn yes() -> bool {
    true
}

const fn lsps_of_system_max() -> u32 {
    1_024
}

/// Levels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LevelKind {
    /// Within the area.
    #[serde(rename = "1")]
    One,
    /// Between areas.
    #[default]
    #[serde(rename = "2")]
    Two,
    /// Both.
    #[serde(rename = "1-2")]
    Both,
}

impl LevelKind {
    /// As the machine has them.
    #[must_use]
    pub const fn levels(self) -> Levels {
        match self {
            Self::One => Levels::ONE,
            Self::Two => Levels::TWO,
            Self::Both => Levels::BOTH,
        }
    }
}

/// What others are told of routes of one kind, with prefixes of both families.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Advertise {
    /// Which: `static`, `connected` or `default`.
    pub from: Source,
    /// Only those within one of these prefixes: `10.0.0.0/8`, `2001:db8::/32`; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// What they cost.
    #[serde(default = "metric")]
    pub metric: u32,
    /// A tag for others to go by (RFC 5130); 0: none.
    #[serde(default)]
    pub tag: u32,
}

/// An interface that IS-IS speaks by, or announces. All its addresses are announced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// Its link: `broadcast` or `point-to-point` (RFC 5309). Neighbours must say the same.
    #[serde(default)]
    pub network: Network,
    /// Its levels, among those of the router. Absent: all of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<LevelKind>,
    /// What it costs to send by it, 1 to 16777214.
    #[serde(default = "metric")]
    pub metric: u32,
    /// Priority as designated system, 0 to 127.
    #[serde(default = "priority")]
    pub priority: u8,
    /// Seconds between hellos.
    #[serde(default = "hello_s")]
    pub hello_s: u16,
    /// So many hellos that stay away make a neighbour gone.
    #[serde(default = "multiplier")]
    pub multiplier: u16,
    /// It is announced, and nothing is spoken there.
    #[serde(default)]
    pub passive: bool,
    /// Hellos are as long as the link allows, so that no neighbour is met by whom long LSPs are
    /// lost (ISO 10589 §8.2.3).
    #[serde(default = "yes")]
    pub pad_hellos: bool,
    /// A file with the keys of its hellos, a line each, the one that is sent with first, relative
    /// to the site's directory: `ID ALGORITHM SECRET`, where the algorithm is `hmac-md5` (RFC
    /// 5304, its ID is not told), `hmac-sha-1`, `hmac-sha-224`, `hmac-sha-256`, `hmac-sha-384` or
    /// `hmac-sha-512` (RFC 5310); or one line `password SECRET`. Absent: hellos have no proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// Neighbours are watched by BFD over IPv4 (RFC 5882): an adjacency ends when a session goes
    /// down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd: Option<Bfd>,
}

const fn metric() -> u32 {
    10
}

const fn priority() -> u8 {
    64
}

const fn hello_s() -> u16 {
    10
}

const fn multiplier() -> u16 {
    3
}

/// Reads a network entity title: area and system.
#[must_use]
pub(crate) fn title(text: &str) -> Option<(AreaAddress, SystemId)> {
    let digits: String = text.chars().filter(|it| *it != '.').collect();
    let is_even = digits.len().is_multiple_of(2) && digits.is_ascii();
    let pairs = (0..digits.len() / 2).map(|at| digits.get(at * 2..at * 2 + 2));
    let octets: Option<Vec<u8>> = pairs.map(|it| u8::from_str_radix(it?, 16).ok()).collect();
    let octets = octets.filter(|_| is_even)?;
    let (selector, rest) = octets.split_last()?;
    let (area, system) = rest.split_at_checked(rest.len().checked_sub(SYSTEM_OCTETS)?)?;
    let system = SystemId(system.try_into().ok()?);
    let is_sound = *selector == 0 && system != SystemId::default();
    Some((AreaAddress::new(area)?, system)).filter(|_| is_sound)
}

impl Isis {
    /// Its area and system, of a section that was found valid.
    #[must_use]
    pub fn title(&self) -> Option<(AreaAddress, SystemId)> {
        title(&self.net)
    }

    /// The levels of an interface.
    #[must_use]
    pub fn levels_of(&self, it: &Interface) -> Levels {
        it.level.map_or(self.level.levels(), |own| own.levels().and(self.level.levels()))
    }

    /// How long routes stay with their repairs.
    pub(crate) fn microloop_delay(&self) -> machine::Duration {
        machine::Duration::from_millis(self.microloop_delay_ms.into())
    }

    /// Files of keys, and the paths of the keys that name them.
    pub fn key_files(&self) -> impl Iterator<Item = (String, &str)> {
        let own = self.key_file.iter().map(|it| ("key_file".to_owned(), it.as_str()));
        own.chain(self.interface.iter().enumerate().filter_map(|(n, it)| {
            Some((format!("interface[{n}].key_file"), it.key_file.as_deref()?))
        }))
    }

    /// Files of keys of BFD, and the paths of the keys that name them.
    pub fn bfd_key_files(&self) -> impl Iterator<Item = (String, &str)> {
        self.interface.iter().enumerate().filter_map(|(n, it)| {
            let path = format!("interface[{n}].bfd.key_file");
            Some((path, it.bfd.as_ref()?.key_file.as_deref()?))
        })
    }

    /// Pushes what the types alone cannot refuse; paths begin with `at`, that of the section.
    pub fn validate(&self, at: &str, interfaces: &[Known<'_>], issues: Issues<'_>) {
        if self.title().is_none() {
            let what = format!("`{}` is no network entity title", self.net);
            let hint = "write area, system ID and 00: `49.0001.1921.6800.0001.00`";
            issues.push(Issue::new(format!("{at}.net"), what, hint));
        }
        validate_routes(at, self.distance, self.paths, issues);
        validate_repair(at, self.repair, self.microloop_delay_ms, issues);
        validate_keys(at, self.key_file.as_ref(), issues);
        self.spf.validate(&format!("{at}.spf"), issues);
        if self.hostname.as_ref().is_some_and(|it| !(1..=NAME_OCTETS_MAX).contains(&it.len())) {
            let what = "a name has 1 to 255 octets";
            issues.push(Issue::new(format!("{at}.hostname"), what, ""));
        }
        if self.lsps_of_system_max == 0 {
            let path = format!("{at}.lsps_of_system_max");
            issues.push(Issue::new(path, "nobody could say anything", "use 1 or more"));
        }
        if self.leak && self.level != LevelKind::Both {
            let what = "there are no two levels";
            issues.push(Issue::new(
                format!("{at}.leak"),
                what,
                "remove it, or use `level = \"1-2\"`",
            ));
        }
        for (n, it) in self.redistribute.iter().enumerate() {
            let path = format!("{at}.redistribute[{n}]");
            it.validate(&path, issues);
            if self.redistribute[..n].iter().any(|other| other.from == it.from) {
                let what = format!("`{}` stands here already", it.from.name());
                issues.push(Issue::new(format!("{path}.from"), what, "name it once"));
            }
        }
        let mut names = BTreeSet::new();
        for (n, it) in self.interface.iter().enumerate() {
            let path = format!("{at}.interface[{n}]");
            if !names.insert(&it.name) {
                let what = format!("`{}` stands here already", it.name);
                issues.push(Issue::new(format!("{path}.name"), what, ""));
            }
            if self.levels_of(it) == Levels::NONE {
                let what = "the router does not speak that level";
                issues.push(Issue::new(format!("{path}.level"), what, "remove it"));
            }
            it.validate(&path, interfaces, issues);
        }
        if names.len() > INTERFACES_MAX.min(usize::from(u8::MAX)) {
            let what = format!("more than {} interfaces", u8::MAX);
            issues.push(Issue::new(format!("{at}.interface"), what, ""));
        }
    }

    /// What works and is seldom meant.
    #[must_use]
    pub fn advice(&self, at: &str) -> Vec<Issue> {
        let mut found = Vec::new();
        for (n, it) in self.interface.iter().enumerate() {
            if it.key_file.is_none() && !it.passive {
                let what = format!("hellos of `{}` have no key", it.name);
                found.push(Issue::new(format!("{at}.interface[{n}].key_file"), what, NO_KEY));
            }
        }
        let speaks = self.interface.iter().any(|it| !it.passive);
        if speaks && self.key_file.is_none() {
            let what = "LSPs have no key";
            found.push(Issue::new(format!("{at}.key_file"), what, NO_KEY));
        }
        if self.interface.is_empty() {
            let what = "it has no interface: nobody is spoken to";
            found.push(Issue::new(format!("{at}.interface"), what, "add `interface`"));
        }
        found
    }

    /// What neighbours lose when `next` takes the place of this section: a sentence each.
    #[must_use]
    pub fn interruptions(&self, next: Option<&Self>) -> Vec<String> {
        let speaking = |it: &Self| {
            let all = it.interface.iter().filter(|it| !it.passive);
            all.cloned().collect::<Vec<Interface>>()
        };
        let mine = speaking(self);
        let Some(next) = next else {
            let names: Vec<String> = mine.into_iter().map(|it| it.name).collect();
            let ended = interrupted("interface", "interfaces", "speak IS-IS no more", &names);
            return ended.into_iter().collect();
        };
        if self.title() != next.title() || self.level != next.level {
            let what = "the router has another title or level: all adjacencies of IS-IS begin anew";
            return vec![what.to_owned()];
        }
        let (mut ending, mut restarting) = (Vec::new(), Vec::new());
        for it in mine {
            match next.interface.iter().find(|other| other.name == it.name) {
                None => ending.push(it.name),
                Some(other) => {
                    let met =
                        |of: &Self, it: &Interface| (it.network, of.levels_of(it), it.passive);
                    if met(self, &it) != met(next, other) {
                        restarting.push(it.name);
                    }
                }
            }
        }
        let ended = interrupted("interface", "interfaces", "speak IS-IS no more", &ending);
        let verb = "begin their adjacencies of IS-IS anew";
        let anew = interrupted("interface", "interfaces", verb, &restarting);
        ended.into_iter().chain(anew).collect()
    }
}

impl Advertise {
    fn validate(&self, path: &str, issues: Issues<'_>) {
        if self.metric > METRIC_MAX {
            let hint = format!("use {METRIC_MAX} or less");
            let what = format!("{} is out of range", self.metric);
            issues.push(Issue::new(format!("{path}.metric"), what, hint));
        }
        for (n, text) in self.within.iter().enumerate() {
            if prefix(text).is_none() {
                let what = format!("`{text}` is no prefix");
                let path = format!("{path}.within[{n}]");
                issues.push(Issue::new(path, what, "write `10.0.0.0/8`"));
            }
        }
        if self.from == Source::Default && !self.within.is_empty() {
            let what = "the default route is within nothing";
            issues.push(Issue::new(format!("{path}.within"), what, "remove it"));
        }
    }

    /// Whether a prefix is one that is told.
    pub(crate) fn takes(&self, to: isis::Prefix) -> bool {
        lies_within(&self.within, to)
    }
}

impl Interface {
    fn validate(&self, path: &str, interfaces: &[Known<'_>], issues: Issues<'_>) {
        let names = interfaces.iter().map(|it| it.name);
        known(&format!("{path}.name"), "interface", &self.name, names, issues);
        if let Some(it) = interfaces.iter().find(|it| it.name == self.name) {
            let at = format!("{path}.name");
            if !it.is_global {
                let what = format!("`{}` is not one of the global table", self.name);
                issues.push(Issue::new(at, what, "remove its `vrf`, bridge or cross-connect"));
            } else if !it.has_port && !self.passive {
                let what = format!("`{}` has no port", self.name);
                issues.push(Issue::new(at, what, "make it `passive`: frames leave by ports"));
            } else if !it.has_address {
                let what = format!("`{}` has no address", self.name);
                issues.push(Issue::new(at, what, "add one to its `addresses`"));
            } else if it.mtu < MTU_MIN && !self.passive {
                let what = format!("packets of `{}` have {} octets at most", self.name, it.mtu);
                issues.push(Issue::new(at, what, format!("its `mtu` must be {MTU_MIN} or more")));
            }
            if self.bfd.is_some() && it.address.is_none() {
                let what = format!("`{}` has no address of IPv4", self.name);
                issues.push(Issue::new(format!("{path}.bfd"), what, "add one, or remove `bfd`"));
            }
        }
        self.validate_values(path, issues);
    }

    fn validate_values(&self, path: &str, issues: Issues<'_>) {
        let mut refuse = |key: &str, what: &str, hint: &str| {
            issues.push(Issue::new(format!("{path}.{key}"), what, hint));
        };
        if !(1..=METRIC_MAX).contains(&self.metric) {
            refuse("metric", "it is out of range", "use 1 to 16777214");
        }
        if self.priority > 127 {
            refuse("priority", "it is out of range", "use 0 to 127");
        }
        let holds = u32::from(self.hello_s) * u32::from(self.multiplier);
        if self.hello_s == 0 || self.multiplier == 0 || holds > u32::from(u16::MAX) {
            refuse("hello_s", "neighbours cannot be told how long a hello holds", "use 10, and 3");
        }
        if self.passive && (self.key_file.is_some() || self.bfd.is_some()) {
            let hint = "remove `passive`, or `key_file` and `bfd`";
            refuse("passive", "nothing is spoken there", hint);
        }
        validate_keys(path, self.key_file.as_ref(), issues);
        if let Some(bfd) = &self.bfd {
            bfd.validate(&format!("{path}.bfd"), issues);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_read_or_refused() {
        let (area, system) = title("49.0001.1921.6800.0001.00").expect("a title");
        assert_eq!(area.octets(), [0x49, 0, 1]);
        assert_eq!(system.to_string(), "1921.6800.0001");
        for text in [
            "",
            "00",
            "1921.6800.0001.00",
            "49.0001.1921.6800.0001.01",
            "49.0001.0000.0000.0000.00",
            "49.0001.1921.6800.001.00",
            "49.0001.1921.6800.000x.00",
            "4é.0001.1921.6800.0001.00",
        ] {
            assert_eq!(title(text), None, "{text}");
        }
        assert!(title(&format!("{}1921.6800.0001.00", "49".repeat(13))).is_some());
        assert!(title(&format!("{}1921.6800.0001.00", "49".repeat(14))).is_none());
    }
}
