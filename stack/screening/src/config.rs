//! The section of a site file with a set of rules.

use ::config::{Issue, meant};
use schemars::JsonSchema;
use screening::config::{Own, Rule, RuleFile};
use screening::{ReadCodes, Screen, Violation};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Sets of one section.
const SETS_MAX: usize = 64;
/// So many rules about one operation are looked at one by one without more ado.
const LOOKED_AT_MAX: usize = 64;

/// What becomes of what no rule can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unasked {
    /// It is discarded.
    #[default]
    Refuse,
    /// It goes on.
    Pass,
}

/// Rules for what peers send: TCAP operations, titles, subscribers (GSMA FS.11).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSet {
    /// Name, unique in the function.
    pub name: String,
    /// Only what comes from these peers; empty: from all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Only what comes in these networks; empty: in all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network_appearances: Vec<u32>,
    /// Whose subscribers and nodes are this network's own.
    #[serde(default)]
    pub own: Own,
    /// File with rules, in the site's directory; those of the section come in front of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule: Vec<Rule>,
    /// What becomes of data for a subsystem of TCAP that are not well-formed: `refuse`, `pass`.
    #[serde(default)]
    pub unreadable: Unasked,
    /// What becomes of the segments of a message that this node relays and does not put together:
    /// `refuse`, `pass`. What ends here is screened when it is whole.
    #[serde(default)]
    pub segments: Unasked,
    /// The rules of file and section, compiled.
    #[serde(skip)]
    pub compiled: Compiled,
}

/// Rules that were compiled, and what they were compiled of.
#[derive(Clone, Default)]
pub struct Compiled(Option<Arc<(RuleFile, Own, Screen)>>);

impl PartialEq for Compiled {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => {
                Arc::ptr_eq(one, other) || (one.0 == other.0 && one.1 == other.1)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = self.0.as_ref().map_or(0, |it| it.2.len());
        f.debug_tuple("Compiled").field(&rules).finish()
    }
}

impl Compiled {
    /// The rules.
    #[must_use]
    pub fn screen(&self) -> Option<&Screen> {
        self.0.as_deref().map(|it| &it.2)
    }
}

impl RuleSet {
    /// Compiles the rules of the section, and those of its file behind them.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn compile(
        &self,
        codes: ReadCodes<'_>,
        file: Option<RuleFile>,
    ) -> Result<Compiled, Vec<Violation>> {
        let mut all = file.unwrap_or_default();
        all.rule.splice(0..0, self.rule.iter().cloned());
        let screen = Screen::new(&all, &self.own, codes)?;
        Ok(Compiled(Some(Arc::new((all, self.own.clone(), screen)))))
    }

    /// The rules as they were compiled when the section was loaded, else those that stand in it.
    pub(crate) fn screen_of(&self, codes: ReadCodes<'_>) -> Compiled {
        match self.compiled.0 {
            Some(_) => self.compiled.clone(),
            None => self.compile(codes, None).unwrap_or_default(),
        }
    }

    /// What is wrong with the rules of the section alone; a path within the set each.
    fn faults(&self, codes: ReadCodes<'_>) -> Vec<Violation> {
        self.compile(codes, None).err().unwrap_or_default()
    }

    /// Pushes which rules never decide, and what costs or lets through more than it need.
    pub fn doubts(&self, at: &str, compiled: &Compiled, found: &mut Vec<Issue>) {
        let Some(screen) = compiled.screen() else { return };
        let name = |n: usize| {
            let number = machine::narrow::place(n);
            screen.rule(number).map(|it| it.0.to_owned()).unwrap_or_default()
        };
        for (rule, before) in screen.unreachable() {
            let what = format!("the rule `{}` never decides: `{}` does", name(rule), name(before));
            let hint = "put it in front of that one, or remove it";
            found.push(Issue::new(self.place(at, rule), what, hint));
        }
        let looked_at = screen.looked_at();
        if looked_at > LOOKED_AT_MAX {
            let what = format!("{looked_at} rules about one operation are looked at one by one");
            let hint = "name titles, IMSIs or a few originating point codes in them";
            found.push(Issue::new(format!("{at}.name"), what, hint));
        }
        let asks_own = |rule: &Rule| {
            use screening::config::{Network, Subscriber};
            let is_own = |it: &Option<Network>| matches!(it, Some(Network::Own | Network::Foreign));
            let is_about = matches!(rule.subscriber, Some(Subscriber::Own | Subscriber::Foreign));
            is_own(&rule.calling_network) || is_own(&rule.called_network) || is_about
        };
        let rules = compiled.0.iter().flat_map(|it| &it.0.rule);
        if (self.own.titles.is_empty() || self.own.imsi.is_empty()) && rules.clone().any(asks_own) {
            let what = "its rules ask what is this network's own, and that is not said";
            let hint = "set own = { imsi = [\"26201\"], titles = [\"49171\"] }";
            found.push(Issue::new(format!("{at}.own"), what, hint));
        }
        if screen.lacks_places() {
            let what = "its rules ask where subscribers were last, and no network has a place";
            let hint = "add `operator` with `titles` and `at` to the file, or take fs11.toml's";
            found.push(Issue::new(format!("{at}.file"), what, hint));
        }
        if self.segments == Unasked::Pass {
            let what = "a message in segments that is relayed passes these rules unseen";
            let hint = "leave it out, where no partner sends segments";
            found.push(Issue::new(format!("{at}.segments"), what, hint));
        }
    }

    /// Where a rule stands: in the section, or in its file.
    fn place(&self, at: &str, rule: usize) -> String {
        match rule < self.rule.len() {
            true => format!("{at}.rule[{rule}].name"),
            false => format!("{at}.file"),
        }
    }
}

/// Pushes what is wrong with the sets of a section, whose peers have these names; their paths begin
/// with `screening`.
pub fn validate(sets: &[RuleSet], peers: &[&str], codes: ReadCodes<'_>, issues: &mut Vec<Issue>) {
    if sets.len() > SETS_MAX {
        let what = format!("{} sets of rules", sets.len());
        issues.push(Issue::new("screening", what, format!("use {SETS_MAX} or fewer")));
    }
    for (n, set) in sets.iter().enumerate() {
        let at = format!("screening[{n}]");
        let is_twice = sets[..n].iter().any(|it| it.name == set.name);
        if set.name.is_empty() || is_twice {
            let what = format!("`{}` names no set, or two of them", set.name);
            issues.push(Issue::new(format!("{at}.name"), what, "give it a name of its own"));
        }
        for (m, peer) in set.peers.iter().enumerate() {
            if !peers.contains(&peer.as_str()) {
                let what = format!("there is no peer `{peer}`");
                let hint = meant(peer, peers.iter().copied(), "name one of `peer`");
                issues.push(Issue::new(format!("{at}.peers[{m}]"), what, hint));
            }
        }
        let faults = set.faults(codes).into_iter();
        issues.extend(faults.map(|it| Issue::new(format!("{at}.{}", it.at), it.what, it.hint)));
    }
}
