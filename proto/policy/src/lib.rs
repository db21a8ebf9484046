//! Routing policy for BGP: what is imported and exported, as tables of the site file, compiled.
//!
//! ```text
//! [[policy]]           name, default                 rules in their order
//! [[policy.rule]]      match.…                       conditions, all of which must hold
//!                      set.…                         changes
//!                      then = accept reject next     how it goes on
//! ```
//! - [`Policies::compile`] reads the tables; what cannot be meant is a [`Violation`].
//! - [`Policy::evaluate`] decides about a [`Subject`] and allocates nothing once its [`Scratch`]
//!   has grown. [`Policy::explain`] says which rule decided, and why the others did not.
//! - [`Policy::inputs`] says what a verdict depends on, so that it can be kept: per attribute set
//!   where the route itself does not count.
//!
//! A new condition is a field of [`MatchConfig`], a variant in `condition.rs`, and its line in
//! `compile.rs`; a new change is one of [`SetConfig`], in `change.rs`, and there.
//!
//! ```
//! use policy::{Peer, Policies, PolicyConfig, RuleConfig, Scratch, Subject, Then, Verdict};
//!
//! let mut rule = RuleConfig::new(Then::Accept);
//! rule.matches.prefixes = Some(vec!["10.0.0.0/8 le 24".into()]);
//! let config = PolicyConfig { name: "import".into(), rule: vec![rule], ..Default::default() };
//! let policies = Policies::compile(&[config]).expect("it can be meant");
//! let import = policies.policy(policies.named("import").expect("it is there"));
//! let subject = |key| Subject {
//!     family: bgp::family::Family::Ipv4Unicast,
//!     key,
//!     attributes: &[],
//!     next_hop: &[192, 0, 2, 1],
//!     validation: None,
//!     peer: Peer { name: "pe1", group: "", address: [192, 0, 2, 1].into(), asn: 65_001 },
//! };
//! let mut scratch = Scratch::default();
//! assert_eq!(import.evaluate(&subject(&[16, 10, 1]), &mut scratch), Verdict::Accept);
//! assert_eq!(import.evaluate(&subject(&[16, 11, 1]), &mut scratch), Verdict::Reject);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod automaton;
mod change;
mod community;
mod compile;
mod condition;
mod config;
mod explain;
mod expression;
mod prefix_set;
mod route;

pub use compile::Violation;
pub use config::{
    AmountConfig, Bounds, CommunitiesConfig, Disposition, MatchConfig, OriginConfig, PolicyConfig,
    PrependConfig, RuleConfig, SetConfig, Then, Validation,
};
pub use explain::{Explanation, Outcome, Step};
pub use route::{NewNextHop, Peer, Scratch, Subject};

use change::Change;
use condition::Condition;
use route::Route;
use std::collections::BTreeMap;

/// What is wrong with a text of the configuration, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InvalidText {
    what: String,
    hint: String,
    /// As in a [`Violation`].
    unknown_family: Option<String>,
}

impl InvalidText {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into(), unknown_family: None }
    }
}

/// The policies of a site.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    policies: Vec<Policy>,
    names: BTreeMap<String, usize>,
}

/// One of the policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(u32);

impl Policies {
    /// The policy of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<PolicyId> {
        self.names.get(name).and_then(|index| u32::try_from(*index).ok()).map(PolicyId)
    }

    /// The policy of an identifier that these policies gave.
    ///
    /// # Panics
    /// If other policies gave it, and had more of them.
    #[must_use]
    pub fn policy(&self, id: PolicyId) -> &Policy {
        &self.policies[id.0 as usize]
    }

    /// Every policy, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (PolicyId, &Policy)> {
        (0..).map(PolicyId).zip(&self.policies)
    }
}

/// A policy, compiled.
#[derive(Debug, Clone)]
pub struct Policy {
    name: String,
    rules: Vec<Rule>,
    accepts: bool,
    inputs: Inputs,
    is_identity: bool,
}

/// A rule, compiled.
#[derive(Debug, Clone)]
struct Rule {
    name: String,
    conditions: Vec<Condition>,
    changes: Vec<Change>,
    then: Then,
}

/// What the verdict of a policy depends on, beside the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inputs {
    /// The family.
    pub family: bool,
    /// The key: the prefix.
    pub key: bool,
    /// What origin validation says.
    pub validation: bool,
    /// Whom the route came from, or goes to.
    pub peer: bool,
    /// The next hop.
    pub next_hop: bool,
    /// The attributes.
    pub attributes: bool,
}

/// What a policy says of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It is taken as it is.
    Accept,
    /// It is taken, changed.
    Changed {
        /// Its attributes: those of the subject, or others in the scratch. A NEXT_HOP among them
        /// is as it came.
        attributes: &'a [u8],
        /// Its next hop, if that is another one; who sends the route writes it.
        next_hop: Option<NewNextHop>,
    },
    /// It is not taken.
    Reject,
}

impl Policy {
    fn new(name: String, rules: Vec<Rule>, accepts: bool) -> Self {
        let mut inputs = Inputs::default();
        for rule in &rules {
            inputs.attributes |= rule.changes.iter().any(Change::reads_attributes);
            rule.conditions.iter().for_each(|condition| condition.mark(&mut inputs));
        }
        let leaves_alone = |rule: &Rule| rule.changes.is_empty() && rule.then != Then::Reject;
        let is_identity = accepts && rules.iter().all(leaves_alone);
        Self { name, rules, accepts, inputs, is_identity }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it accepts every route as it is.
    #[must_use]
    pub const fn is_identity(&self) -> bool {
        self.is_identity
    }

    /// What its verdict depends on: for subjects that are the same in this, it is the same, but
    /// for the attributes that it does not look at and passes on.
    #[must_use]
    pub const fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Whether its verdict depends on the route itself (the prefix, or what validation says of
    /// it), not only on family, attributes, next hop and peer.
    #[must_use]
    pub const fn depends_on_route(&self) -> bool {
        self.inputs.key || self.inputs.validation
    }

    /// The names of peers and groups that its rules look for, to be checked by who knows them.
    pub fn peer_names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().flat_map(|rule| &rule.conditions).flat_map(|condition| match condition {
            Condition::Peers(peers) => peers.names.iter().map(String::as_str),
            _ => [].iter().map(String::as_str),
        })
    }

    /// Decides about a route.
    #[inline]
    #[must_use]
    pub fn evaluate<'a>(&self, subject: &Subject<'a>, scratch: &'a mut Scratch) -> Verdict<'a> {
        if self.is_identity {
            return Verdict::Accept;
        }
        self.run(subject, scratch, |_| {})
    }

    /// Asks the rules in their order, and tells of each that was asked what came of it.
    fn run<'a>(
        &self,
        subject: &Subject<'a>,
        scratch: &'a mut Scratch,
        mut note: impl FnMut(Outcome),
    ) -> Verdict<'a> {
        let mut route = Route::new(subject, &mut scratch.made, self.inputs.attributes);
        let mut accepts = self.accepts;
        for rule in &self.rules {
            if let Some(failed) = rule.conditions.iter().find(|it| !it.holds(&route)) {
                note(Outcome::Passed(failed.key()));
                continue;
            }
            rule.changes.iter().for_each(|change| change.apply(&mut route));
            note(Outcome::Taken(rule.then));
            if rule.then != Then::Next {
                accepts = rule.then == Then::Accept;
                break;
            }
        }
        if !accepts {
            return Verdict::Reject;
        }
        route.verdict(&mut scratch.out).unwrap_or_else(|| {
            note(Outcome::TooLong);
            Verdict::Reject
        })
    }
}
