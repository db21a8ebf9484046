//! The section `shield` of a function that speaks SIP: its shape, its help and its checks.

use config::Issue;
use machine::Duration;
use policing::{Prefix, Rules, TRUSTED_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Policing of sources before anything is parsed; each limit is per shard. Trusted realms, next
/// hops, registered contacts, loopback and `trusted` always pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename = "Shield", deny_unknown_fields, default)]
pub struct SourcePolicing {
    /// Off: everything passes.
    pub enabled: bool,
    /// Addresses and prefixes that pass: `192.0.2.0/24`, `2001:db8::/32`.
    pub trusted: Vec<String>,
    /// Messages a second that each unknown source may send.
    pub source_rate: u32,
    /// Messages that it may send at once.
    pub source_burst: u32,
    /// Datagrams a second that all unknown sources may send together.
    pub unknown_rate: u32,
    /// Datagrams that they may send at once.
    pub unknown_burst: u32,
    /// Datagrams a second that they may send together while they send more than `unknown_rate`.
    pub flood_rate: u32,
    /// REGISTERs a second that are answered 401 while unknown sources send more than
    /// `unknown_rate`: whoever answers that challenge has a return path and passes. 0: never.
    pub challenge_rate: u32,
    /// Digest realm of those challenges; absent: the one that the core names in its own challenges
    /// for that domain, until it is known the domain itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge_realm: Option<String>,
    /// Refused messages a second at which a flood is recognised and the alarm `flood` raised.
    pub flood_refused: u32,
    /// Messages of one source refused within ten seconds after which it is blacklisted, if its
    /// address is proven (a connection, the answer to a challenge); 0: never.
    pub refused_max: u32,
    /// Malformed messages of one unknown source within ten seconds after which it is blacklisted,
    /// if its address is proven; 0: never.
    pub malformed_max: u32,
    /// Seconds that a source stays blacklisted.
    pub blacklist_s: u32,
    /// Sources in the blacklist at most.
    pub blacklist_max: u32,
    /// Unknown sources whose rate is remembered; where room ends, the quietest is forgotten.
    pub sources_max: u32,
    /// Whether the kernel drops (XDP): `auto` where it can, `off`, or `require`: the controller
    /// does not start without. The kernel lets pass twice what all shards let pass together.
    pub kernel: Kernel,
    /// Interfaces before which the kernel drops; empty: those that carry an address of a realm, or
    /// get one in a pair (`addresses`).
    pub kernel_interfaces: Vec<String>,
    /// Connections a second that all unknown sources may open, as the kernel counts them: so many
    /// to the realms, and so many to other ports of their addresses.
    pub kernel_syn_rate: u32,
    /// Echo requests a second that the kernel takes from all unknown sources together.
    pub kernel_echo_rate: u32,
}

/// Whether the kernel drops what the shield would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// Where it can; otherwise the log says why not.
    #[default]
    Auto,
    /// No.
    Off,
    /// Nothing starts without it.
    Require,
}

impl Default for SourcePolicing {
    fn default() -> Self {
        Self {
            enabled: true,
            trusted: Vec::new(),
            source_rate: 5_000,
            source_burst: 5_000,
            unknown_rate: 10_000,
            unknown_burst: 2_000,
            flood_rate: 200,
            challenge_rate: 50_000,
            challenge_realm: None,
            flood_refused: 1_000,
            refused_max: 10_000,
            malformed_max: 50,
            blacklist_s: 60,
            blacklist_max: 4_096,
            sources_max: 65_536,
            kernel: Kernel::Auto,
            kernel_interfaces: Vec::new(),
            kernel_syn_rate: 20_000,
            kernel_echo_rate: 1_000,
        }
    }
}

impl SourcePolicing {
    /// What the policer goes by; what is no prefix was refused by [`SourcePolicing::validate`].
    #[must_use]
    pub fn rules(&self, known_for: Duration) -> Rules {
        Rules {
            enabled: self.enabled,
            trusted: self.trusted.iter().filter_map(|text| text.parse().ok()).collect(),
            source_rate: self.source_rate,
            source_burst: self.source_burst,
            unknown_rate: self.unknown_rate,
            unknown_burst: self.unknown_burst,
            flood_rate: self.flood_rate,
            flood_refused: self.flood_refused,
            refused_max: self.refused_max,
            malformed_max: self.malformed_max,
            blacklist: Duration::from_secs(self.blacklist_s.into()),
            blacklist_max: self.blacklist_max,
            sources_max: self.sources_max,
            challenge: None,
            known_for,
        }
    }

    /// Finds what is wrong.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        for (n, text) in self.trusted.iter().enumerate() {
            if let Err(why) = text.parse::<Prefix>() {
                issues.push(Issue::new(format!("shield.trusted[{n}]"), why, "write 192.0.2.0/24"));
            }
        }
        if self.trusted.len() > TRUSTED_MAX {
            let hint = "trust a realm, or a wider prefix";
            issues.push(Issue::new("shield.trusted", "more than 64 prefixes", hint));
        }
        let is_odd = |realm: &String| !realm.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'"');
        if self.challenge_realm.as_ref().is_some_and(|realm| is_odd(realm) || realm.contains('\\'))
        {
            let hint = "leave out quotes, backslashes and what is not ASCII";
            issues.push(Issue::new("shield.challenge_realm", "no text in quotes", hint));
        }
        let rate = 1 << 24;
        let checks = [
            ("shield.source_rate", self.source_rate, 1, rate),
            ("shield.source_burst", self.source_burst, 1, rate),
            ("shield.unknown_rate", self.unknown_rate, 1, rate),
            ("shield.unknown_burst", self.unknown_burst, 1, rate),
            ("shield.flood_rate", self.flood_rate, 0, self.unknown_rate),
            ("shield.challenge_rate", self.challenge_rate, 0, rate),
            ("shield.flood_refused", self.flood_refused, 10, rate),
            ("shield.refused_max", self.refused_max, 0, rate),
            ("shield.malformed_max", self.malformed_max, 0, rate),
            ("shield.blacklist_s", self.blacklist_s, 1, 86_400),
            ("shield.blacklist_max", self.blacklist_max, 0, 1 << 20),
            ("shield.sources_max", self.sources_max, 64, 1 << 22),
            ("shield.kernel_syn_rate", self.kernel_syn_rate, 1, rate),
            ("shield.kernel_echo_rate", self.kernel_echo_rate, 1, rate),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
    }
}
