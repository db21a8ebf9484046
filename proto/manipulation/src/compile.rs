//! From configuration to rules, with an issue for everything that cannot be meant.

use super::action::Action;
use super::condition::{Condition, Filter};
use super::config::{self, Kind, RuleConfig};
use super::pattern::{GROUPS_MAX, Pattern};
use super::plain::Plain;
use super::target::{Target, URI_BIT};
use super::template::Template;
use super::{Rule, Rules, slot};
use crate::config::Direction;
use sip::{Header, HeaderSet, Method, NameFilter, Shape};

/// What is wrong with the rules, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a path of keys and indexes: `rule[0].do[1].value`.
    pub path: String,
    /// What is wrong, one sentence without a full stop.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    /// The name that no realm has, where that is what is wrong: whoever tells people says which one
    /// is most like it.
    pub unknown_realm: Option<String>,
}

impl Violation {
    fn new(path: impl Into<String>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into(), hint: hint.into(), unknown_realm: None }
    }
}

/// No lines.
const NONE: NameFilter = NameFilter::NONE;
/// Rules of one function.
const RULES_MAX: usize = 256;
/// Conditions of one rule.
const CONDITIONS_MAX: usize = 16;
/// Actions of one rule.
const ACTIONS_MAX: usize = 32;

/// Headers that the controller writes itself, because they steer transactions and dialogs.
const OWN: [Header; 7] = [
    Header::Via,
    Header::CallId,
    Header::CSeq,
    Header::ContentLength,
    Header::MaxForwards,
    Header::RSeq,
    Header::RAck,
];

impl Rules {
    /// Compiles the rules of a function whose realms are called `realms`, in their order.
    ///
    /// # Errors
    /// Everything that is wrong, with paths that begin inside the section: `rule[0].do[1].set`.
    pub fn compile(rules: &[RuleConfig], realms: &[&str]) -> Result<Self, Vec<Violation>> {
        let mut issues = Vec::new();
        if rules.len() > RULES_MAX {
            let what = format!("more than {RULES_MAX} rules");
            issues.push(Violation::new("rule", what, "join rules with the same conditions"));
        }
        let mut compiled = Self { slots: vec![Vec::new(); 2 * realms.len()], ..Self::default() };
        for (index, rule) in (0u16..).zip(rules) {
            let mut compiler = Compiler { at: format!("rule[{index}]"), issues: &mut issues };
            let rule = compiler.rule(rule, realms, &mut compiled.slots, index);
            compiled.rules.push(rule);
        }
        let initials = |number: &u16| compiled.rules[usize::from(*number)].initials;
        let all = |numbers: &Vec<u16>| numbers.iter().map(initials).fold(NONE, NameFilter::and);
        compiled.initials = compiled.slots.iter().map(all).collect();
        let rule = |number: &u16| &compiled.rules[usize::from(*number)];
        let plain = |numbers: &Vec<u16>| Plain::new(numbers.iter().map(rule));
        compiled.plain = compiled.slots.iter().map(plain).collect();
        if issues.is_empty() { Ok(compiled) } else { Err(issues) }
    }
}

/// Compiles one rule.
struct Compiler<'i> {
    at: String,
    issues: &'i mut Vec<Violation>,
}

impl Compiler<'_> {
    fn issue(&mut self, path: &str, what: impl Into<String>, hint: impl Into<String>) {
        self.issues.push(Violation::new(format!("{}{path}", self.at), what, hint));
    }

    fn rule(
        &mut self,
        rule: &RuleConfig,
        realms: &[&str],
        slots: &mut [Vec<u16>],
        number: u16,
    ) -> Rule {
        self.place(rule, realms, slots, number);
        let filter = self.filter(rule);
        let mut groups = 0;
        let conditions: Vec<Condition> = rule
            .when
            .iter()
            .enumerate()
            .filter_map(|(index, when)| self.condition(when, index, &mut groups))
            .collect();
        if groups > GROUPS_MAX {
            let what = format!("the conditions have {groups} groups, {GROUPS_MAX} at most");
            self.issue(".when", what, "write (?:…) for groups that no value names");
        }
        if rule.when.len() > CONDITIONS_MAX {
            self.issue(".when", format!("more than {CONDITIONS_MAX} conditions"), "split the rule");
        }
        let actions = self.actions(rule, groups.min(GROUPS_MAX));
        let looks_at =
            conditions.iter().map(Condition::bits).fold(HeaderSet::default(), HeaderSet::and);
        let changes = actions.iter().filter(|action| !action.only_adds());
        let touches = changes.map(Action::bits).fold(looks_at, HeaderSet::and);
        let needs = if filter.has_methods() { NameFilter::ALL } else { NONE };
        let seen = conditions.iter().filter_map(Condition::target);
        let initials = seen
            .chain(actions.iter().filter(|action| !action.only_adds()).filter_map(Action::target))
            .fold(needs, |all, target| all.with(target.header, &target.name));
        Rule { filter, conditions, actions, touches, initials }
    }

    /// Enters the rule where messages cross: realm and direction.
    fn place(&mut self, rule: &RuleConfig, realms: &[&str], slots: &mut [Vec<u16>], number: u16) {
        let wanted = rule.realm.as_deref();
        if let Some(name) = wanted.filter(|name| !realms.contains(name)) {
            let what = format!("no realm is called `{name}`");
            let hint = format!("the realms are {}", realms.join(", "));
            let fault = Violation::new(format!("{}.realm", self.at), what, hint);
            self.issues.push(Violation { unknown_realm: Some(name.to_owned()), ..fault });
        }
        for (realm, name) in (0u16..).zip(realms) {
            for direction in [Direction::In, Direction::Out] {
                let is_realm = wanted.is_none_or(|wanted| wanted == *name);
                if is_realm && rule.direction.is_none_or(|wanted| wanted == direction) {
                    slots[slot(realm, direction)].push(number);
                }
            }
        }
    }

    fn filter(&mut self, rule: &RuleConfig) -> Filter {
        let mut filter = Filter { kind: rule.message, ..Filter::default() };
        for (index, name) in rule.method.iter().enumerate() {
            let method = Method::parse(name.as_bytes());
            let upper = Method::parse(name.to_ascii_uppercase().as_bytes());
            let path = format!(".method[{index}]");
            if method != Method::Other {
                filter.methods |= 1 << method as u32;
            } else if upper != Method::Other {
                let hint = format!("write {}", upper.name());
                self.issue(&path, format!("`{name}` is not a method: case counts"), hint);
            } else if !is_token(name) {
                self.issue(&path, format!("`{name}` is no method"), "write INVITE, BYE, …");
            } else {
                filter.other_methods.push(name.as_bytes().to_vec());
            }
        }
        if let Some(text) = &rule.status {
            match statuses(text) {
                Some(ranges) => filter.statuses = ranges,
                None => {
                    let what = format!("`{text}` is no status from 100 to 699");
                    self.issue(".status", what, "write 486, 2xx, 400-499 or several with commas");
                }
            }
            if rule.message == Kind::Request {
                let hint = "set message = \"response\" or take status out";
                self.issue(".status", "requests have no status", hint);
            }
        }
        filter
    }

    fn condition(
        &mut self,
        when: &config::Condition,
        index: usize,
        groups: &mut usize,
    ) -> Option<Condition> {
        let path = format!(".when[{index}]");
        match (&when.header, &when.uri) {
            (Some(header), None) => {
                let target = self.target(header, &format!("{path}.header"))?;
                let Some(pattern) = &when.matches else {
                    return Some(Condition::Present(target, when.present.unwrap_or(true)));
                };
                if when.present == Some(false) {
                    let what = "a header that is missing matches nothing";
                    self.issue(&path, what, "take `matches` or `present` out");
                }
                let pattern = self.pattern(pattern, &format!("{path}.matches"))?;
                *groups += pattern.groups();
                Some(Condition::Matches(target, pattern))
            }
            (None, Some(uri)) => {
                if when.matches.is_some() || when.present.is_some() {
                    let what = "`matches` and `present` belong to a header";
                    self.issue(&path, what, "the expression of `uri` stands in `uri` itself");
                }
                let pattern = self.pattern(uri, &format!("{path}.uri"))?;
                *groups += pattern.groups();
                Some(Condition::Uri(pattern))
            }
            _ => {
                let what = "a condition looks at a header or at the Request-URI";
                self.issue(&path, what, "set exactly one of `header` and `uri`");
                None
            }
        }
    }

    fn actions(&mut self, rule: &RuleConfig, groups: usize) -> Vec<Action> {
        if rule.actions.is_empty() {
            self.issue(".do", "the rule does nothing", "add [[ssc.rule.do]]");
        }
        if rule.actions.len() > ACTIONS_MAX {
            self.issue(".do", format!("more than {ACTIONS_MAX} actions"), "split the rule");
        }
        let mut actions: Vec<Action> = Vec::new();
        for (index, action) in rule.actions.iter().enumerate() {
            let path = format!(".do[{index}]");
            let Some(action) = self.action(action, &path, groups, rule.message) else { continue };
            if actions.iter().any(|other| other.clashes(&action)) {
                let hint = "put the second into a rule of its own";
                self.issue(&path, "two actions of one rule on the same part", hint);
            }
            actions.push(action);
        }
        actions
    }

    fn action(
        &mut self,
        action: &config::Action,
        path: &str,
        groups: usize,
        kind: Kind,
    ) -> Option<Action> {
        let (word, text) = self.verb(action, path)?;
        self.check_companions(action, word, path);
        let at = format!("{path}.{word}");
        let at_value = format!("{path}.value");
        match word {
            "add" | "set" => {
                let target = self.changeable(text, word, &at)?;
                let value = self.value(action, groups, &at_value)?;
                self.check_value(&target, &value, &at_value);
                let is_add = word == "add";
                Some(if is_add { Action::Add(target, value) } else { Action::Set(target, value) })
            }
            "remove" => self.changeable(text, word, &at).map(Action::Remove),
            "replace" => {
                let target = self.changeable(text, word, &at)?;
                let pattern = action.pattern.as_deref().unwrap_or_default();
                let pattern = self.pattern(pattern, &format!("{path}.pattern"))?;
                let value = action.value.as_deref().unwrap_or_default();
                let value = self.template(value, pattern.groups(), &at_value)?;
                Some(Action::Replace(target, pattern, value))
            }
            "rename" => {
                let target = self.changeable(text, word, &at)?;
                let to = action.to.as_deref().unwrap_or_default();
                let to = self.changeable(to, word, &format!("{path}.to"))?;
                Some(Action::Rename(target, to))
            }
            "reason" => {
                self.check_kind(kind, Kind::Request, "requests have no reason phrase", &at);
                self.plain(text, groups, &at).map(Action::Reason)
            }
            _ => {
                self.check_kind(kind, Kind::Response, "responses have no Request-URI", &at);
                let template = self.plain(text, groups, &at)?;
                let is_user = word == "uri_user";
                let build = if is_user { Action::UriUser } else { Action::UriHost };
                Some(build(template))
            }
        }
    }

    /// The one thing that an action does, and to what.
    fn verb<'a>(
        &mut self,
        action: &'a config::Action,
        path: &str,
    ) -> Option<(&'static str, &'a str)> {
        let mut given = [
            ("add", &action.add),
            ("set", &action.set),
            ("remove", &action.remove),
            ("replace", &action.replace),
            ("rename", &action.rename),
            ("uri_user", &action.uri_user),
            ("uri_host", &action.uri_host),
            ("reason", &action.reason),
        ]
        .into_iter()
        .filter_map(|(word, text)| text.as_deref().map(|text| (word, text)));
        if let (Some(verb), None) = (given.next(), given.next()) {
            return Some(verb);
        }
        let hint =
            "set exactly one of add, set, remove, replace, rename, uri_user, uri_host, reason";
        self.issue(path, "an action does one thing", hint);
        None
    }

    /// Keys that a verb needs, and keys that mean nothing beside it.
    fn check_companions(&mut self, action: &config::Action, word: &str, path: &str) {
        for (key, is_given, users) in [
            ("value", action.value.is_some(), &["add", "set", "replace"][..]),
            ("pattern", action.pattern.is_some(), &["replace"]),
            ("to", action.to.is_some(), &["rename"]),
        ] {
            let is_wanted = users.contains(&word);
            if is_wanted && !is_given {
                self.issue(path, format!("`{word}` needs `{key}`"), format!("add {key} = \"…\""));
            } else if is_given && !is_wanted {
                let what = format!("`{key}` means nothing beside `{word}`");
                self.issue(&format!("{path}.{key}"), what, "take it out");
            }
        }
    }

    fn check_kind(&mut self, kind: Kind, wrong: Kind, what: &str, at: &str) {
        if kind == wrong {
            self.issue(at, what, "change `message` or take the action out");
        }
    }

    fn target(&mut self, name: &str, at: &str) -> Option<Target> {
        if is_token(name) {
            return Some(Target::new(name));
        }
        let hint = "a name is made of letters, digits and -.!%*_+`'~";
        self.issue(at, format!("`{name}` is no header name"), hint);
        None
    }

    /// A header that rules may change in this way.
    fn changeable(&mut self, name: &str, word: &str, at: &str) -> Option<Target> {
        let target = self.target(name, at)?;
        let name = target.header.name();
        if OWN.contains(&target.header) {
            let what = format!("{name} belongs to the transaction or dialog and cannot be changed");
            self.issue(at, what, "take the action out; the controller writes it itself");
            return None;
        }
        let is_end = matches!(target.header, Header::From | Header::To);
        if is_end && !matches!(word, "set" | "replace") {
            let what = format!("{name} must stand exactly once");
            self.issue(at, what, "use set or replace, which keep its tag");
            return None;
        }
        Some(target)
    }

    fn pattern(&mut self, text: &str, at: &str) -> Option<Pattern> {
        match Pattern::compile(text) {
            Ok(pattern) => Some(pattern),
            Err(what) => {
                self.issue(at, what, "write a regular expression, quoted with ' '");
                None
            }
        }
    }

    fn value(&mut self, action: &config::Action, groups: usize, at: &str) -> Option<Template> {
        self.plain(action.value.as_deref()?, groups, at)
    }

    /// A template that names only groups of conditions.
    fn plain(&mut self, text: &str, groups: usize, at: &str) -> Option<Template> {
        let template = self.template(text, groups, at)?;
        if template.has_whole_match() {
            self.issue(at, "$0 is the match of `replace`", "put a group around it and write $1");
        }
        Some(template)
    }

    fn template(&mut self, text: &str, groups: usize, at: &str) -> Option<Template> {
        match Template::compile(text, groups) {
            Ok(template) => Some(template),
            Err((what, hint)) => {
                self.issue(at, what, hint);
                None
            }
        }
    }

    /// A value without holes must be what its header wants.
    fn check_value(&mut self, target: &Target, value: &Template, at: &str) {
        let Some(text) = value.constant() else { return };
        if let Err(violation) = sip::check_header(target.header, text) {
            let what = format!("not what {} looks like: {}", target.header.name(), violation.what);
            self.issue(at, what, format!("see {}", target.header.spec()));
        }
    }
}

impl Condition {
    /// The header that it looks at.
    const fn target(&self) -> Option<&Target> {
        match self {
            Self::Present(target, _) | Self::Matches(target, _) => Some(target),
            Self::Uri(_) => None,
        }
    }

    /// What it looks at, one bit per header.
    fn bits(&self) -> HeaderSet {
        match self {
            Self::Present(target, _) | Self::Matches(target, _) => target.bit(),
            Self::Uri(_) => URI_BIT,
        }
    }
}

impl Action {
    /// Whether it adds a line whatever else stands in the message.
    pub(crate) fn only_adds(&self) -> bool {
        matches!(self, Self::Add(target, _) if target.header.shape() != Shape::Single)
    }

    /// Whether it must not stand in one rule with the other.
    fn clashes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::UriUser(_), Self::UriHost(_)) | (Self::UriHost(_), Self::UriUser(_)) => false,
            (a, b) if a.only_adds() && b.only_adds() => false,
            (a, b) => match (a.target(), b.target()) {
                (Some(_), Some(_)) => a.names().any(|name| b.names().any(|other| name == other)),
                (None, None) => a.bits() == b.bits(),
                _ => false,
            },
        }
    }

    const fn target(&self) -> Option<&Target> {
        match self {
            Self::Add(target, _)
            | Self::Set(target, _)
            | Self::Remove(target)
            | Self::Replace(target, ..)
            | Self::Rename(target, _) => Some(target),
            Self::UriUser(_) | Self::UriHost(_) | Self::Reason(_) => None,
        }
    }

    /// The names it is about, in lower case.
    fn names(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let second = if let Self::Rename(_, to) = self { Some(to) } else { None };
        self.target().into_iter().chain(second).map(|target| target.name.to_ascii_lowercase())
    }
}

fn is_token(text: &str) -> bool {
    let is_token = |octet: u8| octet.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&octet);
    !text.is_empty() && text.bytes().all(is_token)
}

/// `486`, `2xx`, `400-499`, several with commas.
fn statuses(text: &str) -> Option<Vec<(u16, u16)>> {
    text.split(',').map(|part| status_range(part.trim())).collect()
}

fn status_range(text: &str) -> Option<(u16, u16)> {
    let status = |text: &str| {
        let number: u16 = text.trim().parse().ok()?;
        (100..700).contains(&number).then_some(number)
    };
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok()?;
        return (1..7).contains(&class).then_some((class * 100, class * 100 + 99));
    }
    match text.split_once('-') {
        Some((least, most)) => {
            let range = (status(least)?, status(most)?);
            (range.0 <= range.1).then_some(range)
        }
        None => status(text).map(|number| (number, number)),
    }
}
