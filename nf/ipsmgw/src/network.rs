//! The keys of the network side: whose subscribers are served and how, who may ask, and what peers
//! may take.

use crate::effects::Way;
use crate::settings::{Hlr, Network, Shares};
use config::Issue;
use machine::bucket::Rate;
use mapsms::identity::Msisdn;
use sccp::codec::{Address, Digits, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const DAY_S: u32 = 86_400;
/// Digits of mobile country and network code: what is left for correlation IMSIs has eight or more.
const PREFIX_DIGITS: core::ops::RangeInclusive<usize> = 5..=7;

/// Subscribers whose messages are dealt with alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkKeys {
    /// Name, unique in the function.
    pub name: String,
    /// Digits with one of which numbers of its subscribers begin (`["447700"]`). Of several
    /// networks the one that names most of a number's digits has it; a number of none is refused.
    pub numbers: Vec<String>,
    /// In which order a message for a terminal is tried: `ps-then-cs`, `cs-then-ps`, `ps-only`,
    /// `cs-only`.
    #[serde(default)]
    pub delivery: Delivery,
    /// Whether the HLR is asked where subscribers are, and told of registrations and deliveries.
    /// Without it nothing is delivered but over IP, and who waits for whom is kept here.
    #[serde(default = "yes")]
    pub ask_hlr: bool,
    /// Title of the HLR, digits; absent: it is found by the subscriber's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hlr: Option<String>,
    /// Translation type of that title. Where the HLR is found by number and service centres reach
    /// this gateway by number too, it has to be another one than theirs.
    #[serde(default)]
    pub hlr_translation_type: u8,
    /// Digits with one of which the numbers of service centres begin that subscribers may send to
    /// (`["447800"]`), `*` for any. Messages to others are refused: RP-Cause 21.
    pub centres: Vec<String>,
}

/// In which order a message for a terminal is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// Over IP, then by the circuit-switched network or its like.
    #[default]
    PsThenCs,
    /// The other way round.
    CsThenPs,
    /// Over IP alone.
    PsOnly,
    /// By the circuit-switched network alone.
    CsOnly,
}

impl Delivery {
    fn ways(self) -> Vec<Way> {
        match self {
            Self::PsThenCs => vec![Way::PacketSwitched, Way::CircuitSwitched],
            Self::CsThenPs => vec![Way::CircuitSwitched, Way::PacketSwitched],
            Self::PsOnly => vec![Way::PacketSwitched],
            Self::CsOnly => vec![Way::CircuitSwitched],
        }
    }
}

/// What the gateway says to SS7, and whom it hears there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SignallingKeys {
    /// Digits with one of which the titles of those begin who may ask here, `*` for anybody with a
    /// title; empty: nobody may. Service centres that wait to hear of a subscriber have to have
    /// such numbers as well.
    pub allowed: Vec<String>,
    /// The gateway's own subsystem: what dialogues are begun from (TS 23.003 §8).
    pub subsystem: u8,
    /// Subsystem of HLRs.
    pub hlr_subsystem: u8,
    /// Subsystem of service centres.
    pub centre_subsystem: u8,
    /// Subsystem of MSCs; an SGSN or MME that an HLR names is addressed alike.
    pub msc_subsystem: u8,
    /// Mobile country and network code of correlation IMSIs, five to seven digits of the operator's
    /// own.
    pub correlation_prefix: String,
    /// How long routing information is good, seconds.
    pub correlation_s: u32,
    /// How long service centres wait to hear of a subscriber, seconds.
    pub waiting_s: u32,
    /// RP-Causes of a terminal after which no other way is tried.
    pub final_causes: Vec<u8>,
    /// Octets of an argument that goes with its BEGIN; a longer one follows it.
    pub begin_octets_max: u16,
    /// Dialogues at once.
    pub dialogues_max: u32,
    /// Messages to one subscriber at once, those that wait for others of their sender included.
    pub deliveries_max: u16,
    /// Correlations that stand at once; who asks has no more of them than are left for all others.
    pub correlations_max: u32,
    /// Subscribers of whom service centres wait to hear.
    pub waiting_max: u32,
    /// Subscribers of whom service centres begin to wait to hear because one who asks says so, by
    /// the title, a day.
    pub waiting_per_centre_max: u32,
}

impl Default for SignallingKeys {
    fn default() -> Self {
        Self {
            allowed: Vec::new(),
            subsystem: 8,
            hlr_subsystem: 6,
            centre_subsystem: 8,
            msc_subsystem: 8,
            correlation_prefix: String::new(),
            correlation_s: 600,
            waiting_s: 2 * DAY_S,
            final_causes: vec![22],
            begin_octets_max: 120,
            dialogues_max: 100_000,
            deliveries_max: 64,
            correlations_max: 500_000,
            waiting_max: 500_000,
            waiting_per_centre_max: 100_000,
        }
    }
}

const fn yes() -> bool {
    true
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

fn wide(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl NetworkKeys {
    /// What the gateway is told of it; none where a title is none.
    #[must_use]
    pub fn network(&self, hlr_subsystem: u8) -> Option<Network> {
        let translation_type = self.hlr_translation_type;
        let hlr = match &self.hlr {
            _ if !self.ask_hlr => Hlr::Suppressed,
            None => Hlr::Number(translation_type),
            Some(digits) => {
                let title = Title { translation_type, ..Title::e164(Digits::parse(digits)?) };
                Hlr::Address(Box::new(Address::title(title, hlr_subsystem)))
            }
        };
        let (numbers, centres) = (self.numbers.clone(), self.centres.clone());
        let name = self.name.clone();
        Some(Network { name, numbers, hlr, ways: self.delivery.ways(), centres })
    }

    /// Finds what is wrong; `at` is its place in the section.
    pub fn validate(&self, at: &str, issues: &mut Vec<Issue>) {
        if self.name.is_empty() {
            issues.push(Issue::new(format!("{at}.name"), "the name is empty", "give it a name"));
        }
        if self.numbers.is_empty() {
            let hint = "write what numbers of subscribers begin with, as in [\"447700\"]";
            issues.push(Issue::new(format!("{at}.numbers"), "it has no subscribers", hint));
        }
        for (n, _) in self.numbers.iter().enumerate().filter(|it| !are_digits(it.1)) {
            let at = format!("{at}.numbers[{n}]");
            issues.push(Issue::new(at, "they are no digits", "write what numbers begin with"));
        }
        if self.centres.is_empty() {
            let hint = "write what numbers of service centres begin with, or [\"*\"]";
            let what = "no message can be sent: there is no service centre";
            issues.push(Issue::new(format!("{at}.centres"), what, hint));
        }
        prefixes(&self.centres, &format!("{at}.centres"), issues);
        if self.hlr.as_ref().is_some_and(|it| Msisdn::of(it).is_none()) {
            let hint = "write digits with the country code and without a plus sign";
            issues.push(Issue::new(format!("{at}.hlr"), "it is no title", hint));
        }
        if self.hlr.is_some() && !self.ask_hlr {
            let hint = "leave it out, or set ask_hlr = true";
            issues.push(Issue::new(format!("{at}.hlr"), "the HLR is never asked", hint));
        }
        if self.delivery != Delivery::PsOnly && !self.ask_hlr {
            let what = "nobody says where subscribers are in the circuit-switched network";
            let hint = "set delivery = \"ps-only\", or ask_hlr = true";
            issues.push(Issue::new(format!("{at}.delivery"), what, hint));
        }
    }
}

/// Digits that titles or numbers begin with.
fn prefixes(all: &[String], at: &str, issues: &mut Vec<Issue>) {
    for (n, _) in all.iter().enumerate().filter(|it| it.1 != "*" && !are_digits(it.1)) {
        let hint = "write what they begin with, or *";
        issues.push(Issue::new(format!("{at}[{n}]"), "they are no digits", hint));
    }
}

impl SignallingKeys {
    /// What peers may take.
    #[must_use]
    pub fn shares(&self) -> Shares {
        let per_day = self.waiting_per_centre_max;
        Shares {
            correlations_max: wide(self.correlations_max),
            waiting_max: wide(self.waiting_max),
            waiting_rate: Rate::new(f64::from(per_day) / f64::from(DAY_S), Some(per_day)),
            deliveries_max: self.deliveries_max.into(),
        }
    }

    /// Finds what is wrong; `rows_max` are the rows that the store has for all.
    pub fn validate(&self, rows_max: u32, issues: &mut Vec<Issue>) {
        if self.allowed.is_empty() {
            let what = "nobody may ask here: no message reaches a terminal";
            let hint = "write what titles of service centres begin with, as in [\"447800\"]";
            issues.push(Issue::new("signalling.allowed", what, hint));
        }
        prefixes(&self.allowed, "signalling.allowed", issues);
        let prefix = &self.correlation_prefix;
        if !are_digits(prefix) || !PREFIX_DIGITS.contains(&prefix.len()) {
            let what = "it is no mobile country and network code";
            let hint = "write five to seven digits of the operator's own, as in \"23415\"";
            issues.push(Issue::new("signalling.correlation_prefix", what, hint));
        }
        let checks = [
            ("subsystem", self.subsystem.into(), 1, 254),
            ("hlr_subsystem", self.hlr_subsystem.into(), 1, 254),
            ("centre_subsystem", self.centre_subsystem.into(), 1, 254),
            ("msc_subsystem", self.msc_subsystem.into(), 1, 254),
            ("correlation_s", self.correlation_s, 10, DAY_S),
            ("waiting_s", self.waiting_s, 60, 30 * DAY_S),
            ("begin_octets_max", self.begin_octets_max.into(), 0, 2_000),
            ("dialogues_max", self.dialogues_max, 16, 2_000_000),
            ("deliveries_max", self.deliveries_max.into(), 1, 1_000),
            ("correlations_max", self.correlations_max, 1, 1 << 30),
            ("waiting_max", self.waiting_max, 1, 1 << 30),
            ("waiting_per_centre_max", self.waiting_per_centre_max, 1, 1 << 30),
        ];
        for (key, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let hint = format!("use {least} to {most}");
                let what = format!("{value} is out of range");
                issues.push(Issue::new(format!("signalling.{key}"), what, hint));
            }
        }
        // What peers have stored leaves room to registrations.
        if u64::from(self.correlations_max) + u64::from(self.waiting_max) > u64::from(rows_max) / 2
        {
            let what = "with signalling.waiting_max it is more than half of store.rows_max";
            let hint = "lower both, or raise store.rows_max";
            issues.push(Issue::new("signalling.correlations_max", what, hint));
        }
    }
}
