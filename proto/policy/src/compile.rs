//! From configuration to policies, with a fault for everything that cannot be meant.

use super::automaton::Automaton;
use super::change::{Amount, Change, Communities, Removed};
use super::community::{self, COMMUNITIES_MAX, CommunitySet, Kind};
use super::condition::{Condition, PeerSet};
use super::config::{
    AmountConfig, Bounds, CommunitiesConfig, MatchConfig, OriginConfig, PolicyConfig, RuleConfig,
    SetConfig, Then,
};
use super::prefix_set::{self, PREFIXES_MAX, PrefixSet};
use super::{Disposition, InvalidText, NewNextHop, Policies, Policy, Rule};
use bgp::codec::Origin;
use bgp::family::Family;
use core::fmt;
use std::collections::BTreeMap;

/// Policies of one site.
const POLICIES_MAX: usize = 1_024;
/// Rules of one policy.
const RULES_MAX: usize = 1_024;
/// Communities that `all_communities` asks for, and that one change adds.
const COMMUNITIES_EACH_MAX: usize = 64;
/// Peers of one condition.
const PEERS_MAX: usize = 4_096;
/// How many times an AS is prepended.
const PREPEND_MAX: u8 = 32;

/// What is wrong with a policy, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a path of keys and indexes: `policy[0].rule[1].match.prefixes[3]`.
    pub path: String,
    /// The name of the policy.
    pub policy: String,
    /// The number of the rule as people count, from 1.
    pub rule: Option<usize>,
    /// What is wrong, one sentence without a full stop.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    /// The name that no family has, where that is what is wrong: whoever tells people says which
    /// one is most like it.
    pub unknown_family: Option<String>,
}

impl fmt::Display for Violation {
    /// `policy customers, rule 2, match.prefixes[3]: what; hint`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {}", self.policy)?;
        if let Some(rule) = self.rule {
            write!(f, ", rule {rule}")?;
        }
        let field = self.path.splitn(if self.rule.is_some() { 3 } else { 2 }, '.').last();
        match field.filter(|field| !field.starts_with("rule[") && !field.starts_with("policy[")) {
            Some(field) => write!(f, ", {field}: {}; {}", self.what, self.hint),
            None => write!(f, ": {}; {}", self.what, self.hint),
        }
    }
}

impl Policies {
    /// Compiles the policies of a site.
    ///
    /// # Errors
    /// Everything that is wrong, with paths that begin at the site: `policy[0].rule[1].set.med`.
    pub fn compile(configs: &[PolicyConfig]) -> Result<Self, Vec<Violation>> {
        let mut faults = Vec::new();
        let mut all = Self { policies: Vec::new(), names: BTreeMap::new() };
        for (index, config) in configs.iter().enumerate() {
            let at = format!("policy[{index}]");
            let mut compiler =
                Compiler { at, policy: &config.name, rule: None, faults: &mut faults };
            if index == POLICIES_MAX {
                compiler.fault("", format!("more than {POLICIES_MAX} policies"), "join some");
                break;
            }
            if config.name.is_empty() {
                compiler.fault(".name", "a policy without a name", "write name = \"…\"");
            } else if all.names.insert(config.name.clone(), index).is_some() {
                compiler.fault(".name", "two policies have this name", "rename one of them");
            }
            all.policies.push(compiler.policy(config));
        }
        if faults.is_empty() { Ok(all) } else { Err(faults) }
    }
}

/// Compiles one policy.
struct Compiler<'c> {
    at: String,
    policy: &'c str,
    rule: Option<usize>,
    faults: &'c mut Vec<Violation>,
}

impl Compiler<'_> {
    fn fault(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.wrong(path, InvalidText::new(what, hint));
    }

    fn wrong(&mut self, path: &str, wrong: InvalidText) {
        let rule = self.rule.map_or_else(String::new, |rule| format!(".rule[{rule}]"));
        self.faults.push(Violation {
            path: format!("{}{rule}{path}", self.at),
            policy: self.policy.to_owned(),
            rule: self.rule.map(|rule| rule + 1),
            what: wrong.what,
            hint: wrong.hint,
            unknown_family: wrong.unknown_family,
        });
    }

    /// The value, or a fault in its place.
    fn or_fault<T>(&mut self, path: &str, value: Result<T, InvalidText>) -> Option<T> {
        value.map_err(|wrong| self.wrong(path, wrong)).ok()
    }

    fn policy(&mut self, config: &PolicyConfig) -> Policy {
        if config.rule.len() > RULES_MAX {
            self.fault(".rule", format!("more than {RULES_MAX} rules"), "join some of them");
        }
        let mut rules = Vec::new();
        for (index, rule) in config.rule.iter().take(RULES_MAX).enumerate() {
            self.rule = Some(index);
            let compiled = self.rule(rule);
            let decides_all = compiled.conditions.is_empty() && rule.then != Then::Next;
            if decides_all && rule.matches == MatchConfig::default() {
                self.check_below(index, config.rule.len());
            }
            rules.push(compiled);
        }
        self.rule = None;
        Policy::new(config.name.clone(), rules, config.default == Disposition::Accept)
    }

    /// Nothing stands below a rule that decides about every route.
    fn check_below(&mut self, index: usize, count: usize) {
        if index + 1 < count {
            let what = "it decides about every route, so that no rule below it is asked";
            self.fault("", what, "give it a match, or take out what stands below");
        }
    }

    fn rule(&mut self, config: &RuleConfig) -> Rule {
        let changes = self.changes(&config.set);
        let sets_any = config.set != SetConfig::default();
        match config.then {
            Then::Reject if sets_any => {
                self.fault(".set", "a route that is rejected is not changed", "take `set` out");
            }
            Then::Next if !sets_any => {
                self.fault(".then", "the rule does nothing", "set something, accept or reject");
            }
            _ => {}
        }
        let conditions = self.conditions(&config.matches);
        Rule { name: config.name.clone(), conditions, changes, then: config.then }
    }

    /// The conditions, the cheap ones first.
    fn conditions(&mut self, config: &MatchConfig) -> Vec<Condition> {
        let all = [
            self.families(config),
            config.validation.map(Condition::Validation),
            config.origin.map(|origin| Condition::Origin(origin_number(origin))),
            self.bounds(".match.med", config.med.as_ref(), Condition::Med),
            self.bounds(".match.local_pref", config.local_pref.as_ref(), Condition::LocalPref),
            self.peers(config),
            self.prefixes(
                ".match.next_hops",
                config.next_hops.as_deref(),
                prefix_set::Line::parse_addresses,
            )
            .map(Condition::NextHops),
            self.prefixes(".match.prefixes", config.prefixes.as_deref(), prefix_set::Line::parse)
                .map(Condition::Prefixes),
            self.any_community(config),
            self.all_communities(config),
            self.bounds(
                ".match.as_path_length",
                config.as_path_length.as_ref(),
                Condition::AsPathLength,
            ),
            config.as_path.as_ref().and_then(|text| {
                self.or_fault(".match.as_path", Automaton::compile(text)).map(Condition::AsPath)
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// Every line of a list, read.
    fn lines<T>(
        &mut self,
        path: &str,
        list: Option<&[String]>,
        most: usize,
        read: impl Fn(&str) -> Result<T, InvalidText>,
    ) -> Option<Vec<T>> {
        let list = list?;
        if list.is_empty() {
            let what = "the list is empty: no route would match";
            self.fault(path, what, "fill it, or take it out to match every route");
        }
        if list.len() > most {
            let what = format!("{} lines, {most} at most", list.len());
            self.fault(path, what, "make it shorter");
        }
        let mut lines = Vec::new();
        for (index, text) in list.iter().take(most).enumerate() {
            lines.extend(self.or_fault(&format!("{path}[{index}]"), read(text)));
        }
        Some(lines)
    }

    fn prefixes(
        &mut self,
        path: &str,
        list: Option<&[String]>,
        read: impl Fn(&str) -> Result<prefix_set::Line, InvalidText>,
    ) -> Option<PrefixSet> {
        self.lines(path, list, PREFIXES_MAX, read).map(|lines| PrefixSet::new(&lines))
    }

    fn families(&mut self, config: &MatchConfig) -> Option<Condition> {
        let named = |name: &str| {
            Family::named(name).ok_or_else(|| {
                let names: Vec<&str> = Family::ALL.iter().map(|family| family.name()).collect();
                let what = format!("no family is called `{name}`");
                let wrong =
                    InvalidText::new(what, format!("the families are {}", names.join(", ")));
                InvalidText { unknown_family: Some(name.to_owned()), ..wrong }
            })
        };
        let most = Family::ALL.len();
        let families = self.lines(".match.families", config.families.as_deref(), most, named)?;
        Some(Condition::Families(families.into_iter().collect()))
    }

    fn peers(&mut self, config: &MatchConfig) -> Option<Condition> {
        let list = config.peers.as_deref();
        let peers = self.lines(".match.peers", list, PEERS_MAX, PeerLine::parse)?;
        let (mut names, mut ases, mut addresses) = (Vec::new(), Vec::new(), Vec::new());
        for peer in peers {
            match peer {
                PeerLine::Name(name) => names.push(name),
                PeerLine::As(asn) => ases.push(asn),
                PeerLine::Addresses(line) => addresses.push(line),
            }
        }
        let addresses = PrefixSet::new(&addresses);
        Some(Condition::Peers(PeerSet { names, ases, addresses }))
    }

    fn any_community(&mut self, config: &MatchConfig) -> Option<Condition> {
        let list = config.communities.as_deref();
        let path = ".match.communities";
        let lines = self.lines(path, list, COMMUNITIES_MAX, community::Line::parse)?;
        Some(Condition::Communities(CommunitySet::new(&lines)))
    }

    fn all_communities(&mut self, config: &MatchConfig) -> Option<Condition> {
        let list = config.all_communities.as_deref();
        let path = ".match.all_communities";
        let lines = self.lines(path, list, COMMUNITIES_EACH_MAX, community::Line::parse)?;
        let sets = lines.iter().map(|line| CommunitySet::new([line])).collect();
        Some(Condition::AllCommunities(sets))
    }

    fn bounds(
        &mut self,
        path: &str,
        bounds: Option<&Bounds>,
        condition: fn(u32, u32) -> Condition,
    ) -> Option<Condition> {
        let (least, most) = self.or_fault(path, read_bounds(bounds?))?;
        Some(condition(least, most))
    }

    /// The changes, in the order of the table.
    fn changes(&mut self, config: &SetConfig) -> Vec<Change> {
        let (narrow, wide) = (u64::from(u32::MAX), u64::MAX);
        let mut changes = Vec::new();
        let local_pref = self.amount(".set.local_pref", config.local_pref.as_ref(), narrow);
        if local_pref == Some(Amount::Out) {
            let what = "LOCAL_PREF does not go: internal peers must have it";
            self.fault(".set.local_pref", what, "set a number");
        }
        changes.extend(local_pref.map(Change::LocalPref));
        let med = self.amount(".set.med", config.med.as_ref(), narrow);
        changes.extend(med.map(Change::Med));
        let communities = config.communities.as_ref();
        changes.extend(communities.map(|it| self.communities(it)).unwrap_or_default());
        let next_hop = config.next_hop.as_deref().map(read_next_hop);
        let next_hop = next_hop.and_then(|it| self.or_fault(".set.next_hop", it));
        changes.extend(next_hop.map(Change::NextHop));
        if let Some(prepend) = &config.prepend {
            if !(1..=PREPEND_MAX).contains(&prepend.times) {
                let what = format!("an AS is prepended 1 to {PREPEND_MAX} times");
                self.fault(".set.prepend.times", what, "write another number");
            }
            if prepend.asn == 0 {
                let what = "AS 0 stands in no path (RFC 7607)";
                self.fault(".set.prepend.asn", what, "write your own AS");
            }
            changes.push(Change::Prepend(prepend.asn, prepend.times));
        }
        changes.extend(config.origin.map(|origin| Change::Origin(origin_number(origin))));
        let aigp = self.amount(".set.aigp", config.aigp.as_ref(), wide);
        changes.extend(aigp.map(Change::Aigp));
        changes
    }

    fn amount(&mut self, path: &str, amount: Option<&AmountConfig>, most: u64) -> Option<Amount> {
        self.or_fault(path, read_amount(amount?, most))
    }

    /// What becomes of the communities, one change for each kind that is named.
    fn communities(&mut self, config: &CommunitiesConfig) -> Vec<Change> {
        let removed = self.named(".set.communities.remove", &config.remove, COMMUNITIES_MAX);
        let added = self.named(".set.communities.add", &config.add, COMMUNITIES_EACH_MAX);
        let put = self.named(".set.communities.replace", &config.replace, COMMUNITIES_EACH_MAX);
        if *config == CommunitiesConfig::default() {
            let what = "it changes nothing";
            self.fault(".set.communities", what, "write add, remove or replace");
        }
        let (replaces, adds) = (!config.replace.is_empty(), !config.add.is_empty());
        if replaces && (adds || !config.remove.is_empty()) {
            let what = "what is replaced needs no `add` and no `remove`";
            self.fault(".set.communities", what, "write all that shall stand there in `replace`");
        }
        let added_octets = self.octets(".set.communities.add", &added);
        let put_octets = self.octets(".set.communities.replace", &put);
        let mut removed = CommunitySet::new(&removed);
        let changes = Kind::ALL.into_iter().filter_map(|kind| {
            let (added, put) = (&added_octets[kind as usize], &put_octets[kind as usize]);
            let these = removed.take(kind);
            let (removed, added) = match (put.is_empty(), added.is_empty() && these.is_empty()) {
                (false, _) => (Removed::All, put),
                (true, false) => (Removed::These(these), added),
                (true, true) => return None,
            };
            Some(Change::Communities(Communities { kind, removed, added: added.clone() }))
        });
        changes.collect()
    }

    fn named(&mut self, path: &str, list: &[String], most: usize) -> Vec<community::Line> {
        let list = Some(list).filter(|list| !list.is_empty());
        self.lines(path, list, most, community::Line::parse).unwrap_or_default()
    }

    /// The octets of communities that come, by kind.
    fn octets(&mut self, path: &str, lines: &[community::Line]) -> [Vec<u8>; 3] {
        let mut octets = [const { Vec::new() }; 3];
        for line in lines {
            let Some(number) = line.single() else {
                let what = "`*` and ranges name no community that could come";
                self.fault(path, what, "write single communities");
                continue;
            };
            let bytes = number.to_be_bytes();
            let from = bytes.len() - line.kind.bytes();
            octets[line.kind as usize].extend_from_slice(&bytes[from..]);
        }
        octets
    }
}

/// A line of `match.peers`.
enum PeerLine {
    Name(String),
    As(u32),
    Addresses(prefix_set::Line),
}

impl PeerLine {
    fn parse(text: &str) -> Result<Self, InvalidText> {
        if let Some(asn) = text.strip_prefix("as ") {
            let asn = asn.trim_start().parse();
            let wrong = |_| InvalidText::new(format!("`{text}` is no AS"), "write as 65001");
            return asn.map(Self::As).map_err(wrong);
        }
        if text.contains('/') || text.parse::<core::net::IpAddr>().is_ok() {
            return prefix_set::Line::parse_addresses(text).map(Self::Addresses);
        }
        if text.is_empty() {
            return Err(InvalidText::new(
                "an empty name",
                "write the name of a peer or of a group",
            ));
        }
        Ok(Self::Name(text.to_owned()))
    }
}

const fn origin_number(origin: OriginConfig) -> u8 {
    match origin {
        OriginConfig::Igp => Origin::Igp.number(),
        OriginConfig::Egp => Origin::Egp.number(),
        OriginConfig::Incomplete => Origin::Incomplete.number(),
    }
}

/// Digits only: no sign, no blanks.
fn digits<T: core::str::FromStr>(text: &str) -> Option<T> {
    let is_number = text.bytes().all(|octet| octet.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

fn read_bounds(bounds: &Bounds) -> Result<(u32, u32), InvalidText> {
    let text = match bounds {
        Bounds::Exactly(number) => return Ok((*number, *number)),
        Bounds::Text(text) => text,
    };
    let bounds = match text.split_once('-') {
        Some(("", most)) => digits(most).map(|most| (0, most)),
        Some((least, "")) => digits(least).map(|least| (least, u32::MAX)),
        Some((least, most)) => digits(least).zip(digits(most)),
        None => digits(text).map(|number| (number, number)),
    };
    bounds.filter(|(least, most)| least <= most).ok_or_else(|| {
        let hint = "write 10, \"10-20\", \"10-\" or \"-20\", of at most 4294967295";
        InvalidText::new(format!("`{text}` are no bounds"), hint)
    })
}

fn read_amount(amount: &AmountConfig, most: u64) -> Result<Amount, InvalidText> {
    let wrong = |text: &str| {
        let hint = format!("write 10, \"+5\", \"-5\" or \"none\", of at most {most}");
        InvalidText::new(format!("`{text}` is no number and no change"), hint)
    };
    let (amount, number, text) = match amount {
        AmountConfig::Exactly(number) => {
            (Some(Amount::Exactly(*number)), *number, number.to_string())
        }
        AmountConfig::Text(text) => {
            let number = digits(text.get(1..).unwrap_or_default());
            let amount = match text.as_bytes().first() {
                _ if text == "none" => return Ok(Amount::Out),
                Some(b'+') => number.map(Amount::More),
                Some(b'-') => number.map(Amount::Less),
                _ => None,
            };
            (amount, number.unwrap_or_default(), text.clone())
        }
    };
    amount.filter(|_| number <= most).ok_or_else(|| wrong(&text))
}

fn read_next_hop(text: &str) -> Result<NewNextHop, InvalidText> {
    if text == "self" {
        return Ok(NewNextHop::Own);
    }
    let wrong =
        |_| InvalidText::new(format!("`{text}` is no next hop"), "write self or an address");
    text.parse().map(NewNextHop::Address).map_err(wrong)
}
