//! What the types of the keys of SCCP and TCAP alone cannot refuse.

use super::Sgc;
use super::filed::FILES_MAX;
use super::sccp::{Dialogues, SubsystemUser, TargetRouting, Translation, TranslationOf};
use config::Issue;
use m3ua_stack::config::validate_name;
use sccp::codec::{DIGITS_MAX, Digits, MANAGEMENT_SSN, SERVICE_INDICATOR};
use sccp::{CHOICES_MAX, Pattern, RULES_MAX, SHAPES_MAX};
use std::collections::{BTreeMap, BTreeSet};

/// Point codes in an address have 14 bits (Q.713 §3.4.2.1).
const POINT_CODE_BITS: u32 = 14;
/// The first and the last subsystem number that is nobody's by itself (Q.713 §3.4.2.2).
const SUBSYSTEMS: core::ops::RangeInclusive<u8> = 2..=254;

impl Sgc {
    pub(super) fn validate_sccp(&self, issues: &mut Vec<Issue>) {
        self.validate_sccp_numbers(issues);
        let own = self.own_point_codes();
        for (n, text) in self.sccp.concerned.iter().enumerate() {
            let at = format!("sccp.concerned[{n}]");
            if self.point_code_format.read(text).is_some_and(|it| own.contains(&it)) {
                let what = format!("`{text}` is this node: it tells others of its subsystems");
                issues.push(Issue::new(at, what, "name the point codes of other nodes"));
                continue;
            }
            self.validate_sccp_point_code(text, at, issues);
        }
        if !self.has_sccp() {
            return;
        }
        let taken = self.echo_service_indicators.iter().position(|it| *it == SERVICE_INDICATOR);
        if let Some(n) = taken {
            let hint = "remove it here: subsystems and translations make SCCP its user";
            let at = format!("echo_service_indicators[{n}]");
            issues.push(Issue::new(at, "Service Indicator 3 is that of SCCP", hint));
        }
        if self.point_codes.is_empty() {
            let hint = "say which point codes are those of this node";
            issues.push(Issue::new("point_codes", "SCCP has no point code", hint));
        }
        for (n, text) in self.point_codes.iter().enumerate() {
            self.validate_sccp_point_code(text, format!("point_codes[{n}]"), issues);
        }
        self.validate_subsystems(issues);
        self.validate_translations(issues);
        validate_shapes(&self.translation, issues);
    }

    fn validate_sccp_numbers(&self, issues: &mut Vec<Issue>) {
        let (s, t, c) = (&self.sccp, &self.tcap, &self.sccp.connections);
        let checks = [
            ("sccp.network_indicator", u32::from(s.network_indicator), 0, 3),
            ("sccp.message_octets_max", s.message_octets_max, 100, 4_000),
            ("sccp.hops", u32::from(s.hops), 1, 15),
            ("sccp.t_reassembly_ms", s.t_reassembly_ms, 100, 60_000),
            ("sccp.t_status_ms", s.t_status_ms, 1_000, 60_000),
            ("sccp.t_status_max_ms", s.t_status_max_ms, s.t_status_ms, 3_600_000),
            ("sccp.reassembly_octets_max", s.reassembly_octets_max, 65_536, 1 << 30),
            ("sccp.destinations_max", s.destinations_max, 16, 65_536),
            ("sccp.connections.t_conn_est_ms", c.t_conn_est_ms, 1_000, 600_000),
            ("sccp.connections.t_ias_ms", c.t_ias_ms, 1_000, 3_600_000),
            ("sccp.connections.t_iar_ms", c.t_iar_ms, c.t_ias_ms, 86_400_000),
            ("sccp.connections.t_rel_ms", c.t_rel_ms, 1_000, 60_000),
            ("sccp.connections.t_int_ms", c.t_int_ms, 1_000, 600_000),
            ("sccp.connections.t_reset_ms", c.t_reset_ms, 1_000, 60_000),
            ("sccp.connections.credit_max", c.credit_max.into(), 1, 127),
            ("sccp.connections.references_max", c.references_max, 16, 1 << 22),
            ("sccp.connections.waiting_octets_max", c.waiting_octets_max, 65_536, 1 << 30),
            ("tcap.dialogues_max", t.dialogues_max, 1, 2_000_000),
            ("tcap.dialogues_per_source_max", t.dialogues_per_source_max, 1, 2_000_000),
            ("tcap.t_idle_ms", t.t_idle_ms, 1_000, 86_400_000),
            ("tcap.begin_delay_max_ms", t.begin_delay_max_ms, 0, 60_000),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
    }

    fn validate_sccp_point_code(&self, text: &str, at: String, issues: &mut Vec<Issue>) {
        let (what, hint) = match self.point_code_format.read(text) {
            Some(point_code) if point_code.number() >> POINT_CODE_BITS == 0 => return,
            Some(_) => ("is beyond the 14 bits of SCCP", "use one up to 16383"),
            None => ("is no point code", self.point_code_format.example()),
        };
        issues.push(Issue::new(at, format!("`{text}` {what}"), hint));
    }

    fn validate_subsystems(&self, issues: &mut Vec<Issue>) {
        let (mut names, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        for (n, subsystem) in self.subsystem.iter().enumerate() {
            let at = format!("subsystem[{n}]");
            let is_twice = names.insert(&subsystem.name, n).is_some();
            validate_name(&subsystem.name, is_twice, &at, issues);
            if !SUBSYSTEMS.contains(&subsystem.number) {
                let what = format!("{} is no subsystem of a user", subsystem.number);
                issues.push(Issue::new(format!("{at}.number"), what, "use 2 to 254"));
            } else if numbers.insert(subsystem.number, n).is_some() {
                let what = format!("another subsystem has the number {}", subsystem.number);
                issues.push(Issue::new(format!("{at}.number"), what, "choose another one"));
            }
            let is_served = self.application.iter().any(|it| it.subsystem == subsystem.name);
            if subsystem.user == SubsystemUser::Sccp && !is_served {
                let what = format!("no application takes what comes for `{}`", subsystem.name);
                let hint = "add [[sgc.application]] with this subsystem";
                issues.push(Issue::new(format!("{at}.user"), what, hint));
            }
            if subsystem.user != SubsystemUser::Tcap && subsystem.dialogues != Dialogues::default()
            {
                let what = "without TCAP there are no dialogues";
                issues.push(Issue::new(format!("{at}.dialogues"), what, "set user = \"tcap\""));
            }
        }
    }

    fn validate_translations(&self, issues: &mut Vec<Issue>) {
        if self.translation.len() > RULES_MAX {
            let what = format!("{} translations", self.translation.len());
            issues.push(Issue::new("translation", what, format!("use {RULES_MAX} or fewer")));
        }
        if self.translation_files.len() > FILES_MAX {
            let hint = format!("use {FILES_MAX} or fewer");
            issues.push(Issue::new("translation_files", "too many files", hint));
        }
        let mut names = BTreeMap::new();
        for (n, translation) in self.translation.iter().enumerate() {
            let at = format!("translation[{n}]");
            let is_twice = names.insert(&translation.name, n).is_some();
            validate_name(&translation.name, is_twice, &at, issues);
            validate_title(translation, &at, issues);
            self.validate_targets(translation, &at, issues);
        }
    }

    /// Pushes what is wrong with a rule of a file; paths are its keys.
    pub(super) fn validate_filed(&self, rule: &Translation, issues: &mut Vec<Issue>) {
        validate_title(rule, "", issues);
        self.validate_targets(rule, "", issues);
        for it in issues {
            it.path = it.path.trim_start_matches('.').to_owned();
        }
    }

    fn validate_targets(&self, translation: &Translation, at: &str, issues: &mut Vec<Issue>) {
        if translation.target.is_empty() && translation.of == TranslationOf::Called {
            let hint = "add [[sgc.translation.target]] with a point_code or a subsystem";
            issues.push(Issue::new(format!("{at}.target"), "the rule leads nowhere", hint));
        }
        let own = self.own_point_codes();
        for (n, target) in translation.target.iter().enumerate() {
            let at = format!("{at}.target[{n}]");
            let mut is_here = true;
            if let Some(text) = &target.point_code {
                self.validate_sccp_point_code(text, format!("{at}.point_code"), issues);
                let read = self.point_code_format.read(text);
                is_here = read.is_some_and(|it| own.contains(&it));
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
}

impl Sgc {
    /// Pushes that a rule leads to a subsystem that this node has not.
    fn validate_subsystem_here(&self, number: Option<u8>, at: &str, issues: &mut Vec<Issue>) {
        let Some(number) = number.filter(|it| SUBSYSTEMS.contains(it)) else { return };
        if !self.subsystem.iter().any(|it| it.number == number) {
            let what = format!("this node has no subsystem {number}");
            let known: Vec<String> =
                self.subsystem.iter().map(|it| format!("{} ({})", it.number, it.name)).collect();
            let hint = match known.is_empty() {
                true => "add [[sgc.subsystem]], or the point code of another node".to_owned(),
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
