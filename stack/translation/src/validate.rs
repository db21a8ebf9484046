//! What the types of the keys alone cannot refuse.

use crate::filed::FILES_MAX;
use crate::section::{TargetRouting, Translation, TranslationOf};
use config::Issue;
use m3ua::codec::PointCode;
use m3ua_stack::config::{PointCodeFormat, validate_name};
use sccp::codec::{DIGITS_MAX, Digits, MANAGEMENT_SSN};
use sccp::{CHOICES_MAX, Pattern, RULES_MAX, SHAPES_MAX};
use std::collections::{BTreeMap, BTreeSet};

/// Point codes in an address have 14 bits (Q.713 §3.4.2.1).
const POINT_CODE_BITS: u32 = 14;
/// The first and the last subsystem number that is nobody's by itself (Q.713 §3.4.2.2).
pub const SUBSYSTEMS: core::ops::RangeInclusive<u8> = 2..=254;

/// The node that translates: what rules are held against.
#[derive(Debug, Clone)]
pub struct Node {
    /// The key of the function in the site file, as in `[[sgc]]`.
    pub key: &'static str,
    /// How point codes are written.
    pub format: PointCodeFormat,
    /// Those of the node.
    pub own: Vec<PointCode>,
    /// Its subsystems, each with its number and its name.
    pub subsystems: Vec<(u8, String)>,
}

impl Node {
    /// Whether a point code is one of the node.
    #[must_use]
    pub fn is_own(&self, text: &str) -> bool {
        self.format.read(text).is_some_and(|it| self.own.contains(&it))
    }

    /// Pushes that SCCP cannot have this point code in an address.
    pub fn validate_point_code(&self, text: &str, at: String, issues: &mut Vec<Issue>) {
        let (what, hint) = match self.format.read(text) {
            Some(point_code) if point_code.number() >> POINT_CODE_BITS == 0 => return,
            Some(_) => ("is beyond the 14 bits of SCCP", "use one up to 16383"),
            None => ("is no point code", self.format.example()),
        };
        issues.push(Issue::new(at, format!("`{text}` {what}"), hint));
    }

    /// Pushes what is wrong with the rules of a section, which names so many files.
    pub fn validate(&self, rules: &[Translation], files: usize, issues: &mut Vec<Issue>) {
        if rules.len() > RULES_MAX {
            let what = format!("{} translations", rules.len());
            issues.push(Issue::new("translation", what, format!("use {RULES_MAX} or fewer")));
        }
        if files > FILES_MAX {
            let hint = format!("use {FILES_MAX} or fewer");
            issues.push(Issue::new("translation_files", "too many files", hint));
        }
        let mut names = BTreeMap::new();
        for (n, translation) in rules.iter().enumerate() {
            let at = format!("translation[{n}]");
            let is_twice = names.insert(&translation.name, n).is_some();
            validate_name(&translation.name, is_twice, &at, issues);
            validate_title(translation, &at, issues);
            self.validate_targets(translation, &at, issues);
        }
        validate_shapes(rules, issues);
    }

    /// Pushes what is wrong with a rule of a file; paths are its keys.
    pub(crate) fn validate_filed(&self, rule: &Translation, issues: &mut Vec<Issue>) {
        validate_title(rule, "", issues);
        self.validate_targets(rule, "", issues);
        for it in issues {
            it.path = it.path.trim_start_matches('.').to_owned();
        }
    }

    fn validate_targets(&self, translation: &Translation, at: &str, issues: &mut Vec<Issue>) {
        if translation.target.is_empty() && translation.of == TranslationOf::Called {
            let key = self.key;
            let hint = format!("add [[{key}.translation.target]] with a point_code or a subsystem");
            issues.push(Issue::new(format!("{at}.target"), "the rule leads nowhere", hint));
        }
        for (n, target) in translation.target.iter().enumerate() {
            let at = format!("{at}.target[{n}]");
            let mut is_here = true;
            if let Some(text) = &target.point_code {
                self.validate_point_code(text, format!("{at}.point_code"), issues);
                is_here = self.is_own(text);
            }
            if is_here
                && target.routing == TargetRouting::Title
                && translation.of == TranslationOf::Called
            {
                let what = "the title would be translated here again, in a circle";
                let hint = "set routing = \"subsystem\", or the point code of another node";
                issues.push(Issue::new(format!("{at}.routing"), what, hint));
            }
            if is_here && translation.of == TranslationOf::Called {
                self.validate_subsystem_here(target.subsystem, &at, issues);
            }
            if let Some(number @ (0 | MANAGEMENT_SSN)) = target.subsystem {
                let what = match number {
                    MANAGEMENT_SSN => "subsystem 1 is management, which no title leads to",
                    _ => "subsystem 0 is none",
                };
                let hint = "leave it out to keep the one in the address";
                issues.push(Issue::new(format!("{at}.subsystem"), what, hint));
            }
        }
    }

    /// Pushes that a rule leads to a subsystem that this node has not.
    fn validate_subsystem_here(&self, number: Option<u8>, at: &str, issues: &mut Vec<Issue>) {
        let Some(number) = number.filter(|it| SUBSYSTEMS.contains(it)) else { return };
        if !self.subsystems.iter().any(|it| it.0 == number) {
            let what = format!("this node has no subsystem {number}");
            let known: Vec<String> =
                self.subsystems.iter().map(|(number, name)| format!("{number} ({name})")).collect();
            let hint = match known.is_empty() {
                true => {
                    format!("add [[{}.subsystem]], or the point code of another node", self.key)
                }
                false => format!("there are: {}", known.join(", ")),
            };
            issues.push(Issue::new(format!("{at}.subsystem"), what, hint));
        }
    }
}

/// Pushes which fields of a rule titles of its indicator have not (Q.713 §3.4.2.3): it would be for
/// none.
fn validate_fields(translation: &Translation, at: &str, issues: &mut Vec<Issue>) {
    let Some(indicator) = translation.indicator else { return };
    let rows = [
        ("translation_type", translation.translation_type, &[2, 3, 4][..]),
        ("numbering_plan", translation.numbering_plan, &[3, 4]),
        ("encoding_scheme", translation.encoding_scheme, &[3, 4]),
        ("nature_of_address", translation.nature_of_address, &[1, 4]),
    ];
    for (key, value, having) in rows {
        if value.is_some() && (1..=4).contains(&indicator) && !having.contains(&indicator) {
            let what =
                format!("titles of indicator {indicator} have none: the rule is for nothing");
            let having: Vec<String> = having.iter().map(u8::to_string).collect();
            let hint = format!("leave it out; titles of indicator {} have it", having.join(", "));
            issues.push(Issue::new(format!("{at}.{key}"), what, hint));
        }
    }
}

/// Places that a pattern with choices may have.
const PLACES_MAX: usize = 15;

/// Pushes the rule whose pattern has a shape too many, which costs a look at every title, or with
/// which there are too many ways to choose.
fn validate_shapes(all: &[Translation], issues: &mut Vec<Issue>) {
    let mut shapes: BTreeMap<_, BTreeSet<sccp::Shape>> = BTreeMap::new();
    let mut choices = [0; 2];
    for (n, rule) in all.iter().enumerate() {
        // Of digits alone there are none, and there may be a million of those.
        if rule.digits.bytes().all(|octet| octet.is_ascii_hexdigit()) {
            continue;
        }
        let (Some(pattern), Some(selector)) = (Pattern::parse(&rule.digits), rule.selector())
        else {
            continue;
        };
        let sum = &mut choices[usize::from(rule.of == TranslationOf::Called)];
        *sum += pattern.size();
        if *sum > CHOICES_MAX {
            let what = format!("with this rule there are more than {CHOICES_MAX} ways to choose");
            let hint = "write `?` for any digit, or ranges that end in 0 and 9";
            issues.push(Issue::new(format!("translation[{n}].digits"), what, hint));
            return;
        }
        let of = shapes.entry((rule.of == TranslationOf::Called, selector)).or_default();
        of.extend(pattern.shapes());
        if of.len() > SHAPES_MAX {
            let what = format!(
                "with this rule there are more than {SHAPES_MAX} kinds of patterns with any digit \
                 in some place"
            );
            let hint = "let `?` and the ends of ranges stand in the same places";
            issues.push(Issue::new(format!("translation[{n}].digits"), what, hint));
            return;
        }
    }
}

fn validate_title(translation: &Translation, at: &str, issues: &mut Vec<Issue>) {
    let (digits, prepend) = (&translation.digits, &translation.prepend);
    let texts = [
        ("digits", digits, Pattern::parse(digits).is_none()),
        ("prepend", prepend, Digits::parse(prepend).is_none()),
    ];
    for (key, text, is_wrong) in texts {
        if is_wrong {
            let hint = match text.strip_prefix('+').and_then(Digits::parse) {
                Some(digits) => format!(
                    "write `{digits}`: that it is international says the nature of address, 4"
                ),
                None if key == "digits" && text.contains(['?', '[', '.']) => format!(
                    "write `44?7`, `44[1-35]`, or `4470..4479` with as many digits on both sides: \
                     {PLACES_MAX} places and 1,024 ways to choose at most"
                ),
                None => format!("use 0 to 9 and a to f, {DIGITS_MAX} at most"),
            };
            let what = format!("`{text}` is more than digits");
            issues.push(Issue::new(format!("{at}.{key}"), what, hint));
        }
    }
    validate_fields(translation, at, issues);
    let numbers = [
        ("indicator", translation.indicator, 1, 4),
        ("numbering_plan", translation.numbering_plan, 0, 15),
        ("nature_of_address", translation.nature_of_address, 0, 127),
        ("encoding_scheme", translation.encoding_scheme, 0, 15),
        ("new_numbering_plan", translation.new_numbering_plan, 0, 15),
        ("new_nature_of_address", translation.new_nature_of_address, 0, 127),
    ];
    for (key, value, least, most) in numbers {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            let what = "out of range";
            issues.push(Issue::new(format!("{at}.{key}"), what, format!("use {least} to {most}")));
        }
    }
}
