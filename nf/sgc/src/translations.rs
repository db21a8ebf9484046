//! What is shown of SCCP, of TCAP, and of the translation of global titles: where a number goes,
//! and by which rules.

use crate::config::sccp::{Subsystem, SubsystemUser};
use crate::config::{PointCodeFormat, Sgc};
use crate::sccp_node::SccpNode;
use m3ua::codec::{Affected, PointCode};
use machine::Time;
use question::{Condition, rows};
use runtime::{Ask, AskError};
use sccp::codec::{Address, Digits, Indicator, LocalReference, MANAGEMENT_SSN, Routing, Title};
use sccp::{Pattern, RemoteStatus, Selector, Target};
use std::borrow::Cow;
use translation::{TargetChoice, Translation, TranslationOf, TranslationTarget, indicator};

/// Rows of one answer.
const ROWS_MAX: usize = 20_000;
/// Alarms about other nodes, about so many at most: each question and each look builds them anew.
const REMOTE_ALARMS_MAX: usize = 1_000;
/// Rules for other titles that are shown, at most.
const NEAR_MAX: usize = 20;
/// Of ten parts of a table so many make an alarm.
const FILLING: usize = 8;

rows! {
    /// A subsystem of this node.
    pub(crate) struct SubsystemRow {
        name: String,
        number: u8,
        point_codes: Vec<String>,
        /// `tcap`, `sccp` or `echo`.
        user: &'static str,
        /// `allowed` or `prohibited`.
        state: &'static str,
        /// Why it is prohibited, and what ends that.
        why: &'static str,
    }

    /// A node, or a subsystem of it, that is not as it should be.
    pub(crate) struct RemoteRow {
        point_code: String,
        /// None: the node itself.
        subsystem: Option<u8>,
        /// `unavailable` to MTP3, `no SCCP`, or `prohibited`.
        state: &'static str,
        /// Why there is no way to it.
        why: String,
    }

    /// A section of a connection.
    pub(crate) struct SectionRow {
        reference: u32,
        /// The node that it is with.
        point_code: String,
        /// The reference there.
        other: Option<u32>,
        class: u8,
        /// `requested`, `offered`, `active`, `resetting` or `releasing`.
        state: &'static str,
        /// The subsystem here that has it.
        subsystem: Option<u8>,
        /// The section that it is coupled with.
        coupled: Option<u32>,
        waiting_octets: usize,
        /// For how long nothing was heard of it.
        silent_us: u64,
    }

    /// TCAP of this node.
    pub(crate) struct TcapRow {
        dialogues: usize,
        dialogues_max: u32,
        begun_here: u64,
        begun_there: u64,
        aborts_in: u64,
        aborts_out: u64,
        rejected: u64,
        cancelled: u64,
        idle: u64,
        shed: u64,
    }

    /// A rule for global titles.
    pub(crate) struct TranslationRow {
        name: String,
        /// `called` or `calling`.
        of: &'static str,
        digits: String,
        /// The other fields that a title must have.
        title: String,
        /// What becomes of it.
        change: String,
        /// `backup` or `share`.
        choice: &'static str,
        to: Vec<String>,
    }

    /// Where a title goes now, or what a calling one becomes.
    pub(crate) struct TranslatedRow {
        title: String,
        /// `called` or `calling`.
        of: &'static str,
        /// `translated` or `returned`; of a calling title `changed` or `unchanged`.
        verdict: &'static str,
        /// Why it would come back.
        cause: Option<&'static str>,
        /// Which rule is near, where none holds.
        hint: Option<String>,
        /// The rule that holds.
        rule: Option<String>,
        /// The point code; `this node`.
        to: Option<String>,
        subsystem: Option<u8>,
        routing: Option<&'static str>,
        /// What becomes of the title.
        becomes: Option<String>,
        targets: Vec<TargetRow>,
        /// The rules whose digits the title begins with, those for other titles last.
        rules: Vec<TranslationHitRow>,
    }

    /// A target of the rule that holds.
    pub(crate) struct TargetRow {
        point_code: String,
        subsystem: Option<u8>,
        routing: &'static str,
        weight: u8,
        /// `available`, or why not.
        state: String,
        chosen: bool,
    }

    /// A rule whose digits are a beginning of the title.
    pub(crate) struct TranslationHitRow {
        name: String,
        digits: String,
        holds: bool,
        why: String,
    }

    /// A subsystem that was taken out of service, or put back.
    pub(crate) struct StateRow {
        subsystem: String,
        state: &'static str,
        /// Whether it was in another state before.
        changed: bool,
        /// Point codes that were told (SSA, SSP).
        told: Vec<String>,
        /// Those concerned that there is no way to: they hear of it when there is one.
        not_told: Vec<String>,
    }
}

/// Why there is no way to a point code, and whether who should be it has yet to come.
pub(crate) type Way<'a> = &'a dyn Fn(PointCode) -> Option<(String, bool)>;

impl SccpNode {
    pub(crate) fn show_subsystems(&self, config: &Sgc) -> Vec<SubsystemRow> {
        if !config.has_sccp() {
            return Vec::new();
        }
        let format = config.point_code_format;
        let rows = config.subsystem.iter().map(|it| SubsystemRow {
            name: it.name.clone(),
            number: it.number,
            point_codes: self.node.point_codes().map(|own| format.show(own)).collect(),
            user: match it.user {
                SubsystemUser::Echo => "echo",
                SubsystemUser::Tcap => "tcap",
                SubsystemUser::Sccp => "sccp",
            },
            state: state(self.is_in_service(it.number)),
            why: if self.is_in_service(it.number) { "" } else { prohibited_why(config, it) },
        });
        rows.collect()
    }

    pub(crate) fn is_in_service(&self, number: u8) -> bool {
        self.node.subsystems().any(|(it, is_in_service)| it == number && is_in_service)
    }

    pub(crate) fn show_remotes(&self, config: &Sgc, no_way: Way<'_>) -> Vec<RemoteRow> {
        let format = config.point_code_format;
        let rows = self.node.remotes().flat_map(|remote| {
            let row = move |subsystem, state| {
                let why = match state {
                    "unavailable" => no_way(remote.point_code).map_or_else(String::new, |it| it.0),
                    _ => String::new(),
                };
                let point_code = format.show(remote.point_code);
                RemoteRow { point_code, subsystem, state, why }
            };
            let itself = remote.is_paused.then(|| row(None, "unavailable"));
            let prohibited = remote.prohibited.into_iter().map(move |it| match it {
                MANAGEMENT_SSN => row(None, "no SCCP"),
                _ => row(Some(it), "prohibited"),
            });
            itself.into_iter().chain(prohibited)
        });
        rows.take(ROWS_MAX).collect()
    }

    pub(crate) fn show_connections(&self, now: Time, config: &Sgc) -> Vec<SectionRow> {
        let format = config.point_code_format;
        let rows = self.node.connection_status().take(ROWS_MAX).map(|it| SectionRow {
            reference: it.reference.number(),
            point_code: format.show(it.remote),
            other: it.other.map(LocalReference::number),
            class: it.class.number(),
            state: it.state,
            subsystem: it.subsystem,
            coupled: it.coupled.map(LocalReference::number),
            waiting_octets: it.waiting_octets,
            silent_us: u64::try_from(now.since(it.received).as_micros()).unwrap_or(u64::MAX),
        });
        rows.collect()
    }

    pub(crate) fn show_tcap(&self) -> Vec<TcapRow> {
        let metrics = self.transactions.metrics();
        let read = |metric| metrics.read(metric);
        use tcap::Metric as F;
        if !self.part().has_dialogues() {
            return Vec::new();
        }
        vec![TcapRow {
            dialogues: self.transactions.len(),
            dialogues_max: self.transactions.settings().dialogues_max,
            begun_here: read(F::BegunHere),
            begun_there: read(F::BegunThere),
            aborts_in: read(F::AbortsIn),
            aborts_out: read(F::AbortsOut),
            rejected: read(F::Rejected),
            cancelled: read(F::Cancelled),
            idle: read(F::Idle),
            shed: read(F::Shed) + read(F::ShedOfSource) + read(F::ShedLate),
        }]
    }

    /// Answers `gtt/translate`: `digits`, and as they are given the other fields of the title, the
    /// subsystem that is called and the SLS.
    pub(crate) fn translate(
        &self,
        config: &Sgc,
        no_way: Way<'_>,
        ask: &Ask,
    ) -> Result<TranslatedRow, AskError> {
        let (title, subsystem, sls) = asked(ask)?;
        match ask.params.get("of").map(String::as_str) {
            None | Some("called") => {}
            Some("calling") => return Ok(self.changed(config, &title, subsystem)),
            Some(_) => return Err(AskError::BadParameter("of: called or calling".into())),
        }
        let address = Address { subsystem, ..Address::title(title, 0) };
        let translated = self.node.translation(&address, sls);
        let hits = hits(config, TranslationOf::Called, &title);
        let near = near(config, TranslationOf::Called, &title);
        let format = config.point_code_format;
        let rule = hits.first().and_then(|it| it.rule(format));
        let mut is_chosen = false;
        let targets = rule.iter().flat_map(|rule| &rule.targets).map(|target| {
            let subsystem = target.subsystem.or(subsystem);
            let is_it = !is_chosen && translated.is_ok_and(|to| is_target(&to, target, subsystem));
            is_chosen |= is_it;
            let row = self.show_target(format, target, subsystem, is_it);
            let why = target.point_code.and_then(no_way);
            match why {
                Some((why, _)) => TargetRow { state: why, ..row },
                None => row,
            }
        });
        let targets: Vec<TargetRow> = targets.collect();
        let to = translated.ok();
        Ok(TranslatedRow {
            title: show_title(&title),
            of: "called",
            verdict: if to.is_some() { "translated" } else { "returned" },
            cause: translated.err().map(sccp::codec::ReturnCause::name),
            hint: hits.is_empty().then(|| near_in_words(&title, &near)),
            rule: hits.first().map(|it| it.name.clone()),
            to: to.map(|it| self.show_place(format, it.point_code)),
            subsystem: to.and_then(|it| it.subsystem),
            routing: to.map(|it| routing(it.routing)),
            becomes: to.and_then(|it| it.title).map(|it| show_title(&it)),
            targets,
            rules: show_hits(&hits, near),
        })
    }

    /// What the title of who calls becomes in what leaves this node.
    fn changed(&self, config: &Sgc, title: &Title, subsystem: Option<u8>) -> TranslatedRow {
        let address = Address { subsystem, ..Address::title(*title, 0) };
        let changed = self.node.rules().calling(&address);
        let hits = hits(config, TranslationOf::Calling, title);
        let near = near(config, TranslationOf::Calling, title);
        TranslatedRow {
            title: show_title(title),
            of: "calling",
            verdict: if hits.is_empty() { "unchanged" } else { "changed" },
            cause: None,
            hint: hits.is_empty().then(|| near_in_words(title, &near)),
            rule: hits.first().map(|it| it.name.clone()),
            to: None,
            subsystem: changed.subsystem,
            routing: None,
            becomes: changed.title.map(|it| show_title(&it)),
            targets: Vec::new(),
            rules: show_hits(&hits, near),
        }
    }

    fn show_target(
        &self,
        format: PointCodeFormat,
        target: &Target,
        subsystem: Option<u8>,
        chosen: bool,
    ) -> TargetRow {
        let is_final = target.routing == Routing::Subsystem;
        let taken = self.node.can_take(target.point_code, subsystem.filter(|_| is_final));
        TargetRow {
            point_code: self.show_place(format, target.point_code),
            subsystem,
            routing: routing(target.routing),
            weight: target.weight,
            state: taken.err().map_or("available", sccp::codec::ReturnCause::name).to_owned(),
            chosen,
        }
    }

    fn show_place(&self, format: PointCodeFormat, point_code: Option<PointCode>) -> String {
        match point_code.filter(|it| !self.node.point_codes().any(|own| own == *it)) {
            Some(point_code) => format.show(point_code),
            None => "this node".to_owned(),
        }
    }

    /// What somebody should look at; `no_way` says of a destination why it cannot be reached.
    pub(crate) fn alarms(
        &self,
        config: &Sgc,
        no_way: impl Fn(PointCode) -> Option<(String, bool)>,
        rows: &mut Vec<Condition>,
    ) {
        for it in &config.subsystem {
            if !self.is_in_service(it.number) {
                let (name, number, why) = (&it.name, it.number, prohibited_why(config, it));
                let text = format!("the subsystem {name} ({number}) is out of service: {why}");
                rows.push(alarm("subsystem-prohibited", it.name.clone(), "major", text));
            }
        }
        let format = config.point_code_format;
        let first = rows.len();
        for remote in self.node.remotes() {
            self.remote_alarms(format, &remote, &no_way, rows);
            if rows.len() >= first + REMOTE_ALARMS_MAX {
                break;
            }
        }
        self.dialogue_alarms(rows);
        let (octets, most) =
            (self.node.waiting_octets(), config.sccp.reassembly_octets_max as usize);
        if octets * 10 >= most * FILLING {
            let text = format!("{octets} of {most} octets wait for segments");
            rows.push(alarm("segments-filling", "sccp".into(), "major", text));
        }
    }

    /// What somebody should look at of the dialogues of this shard.
    pub(crate) fn dialogue_alarms(&self, rows: &mut Vec<Condition>) {
        let most = self.transactions.settings().dialogues_max as usize;
        let dialogues = self.transactions.len();
        if dialogues * 10 >= most * FILLING {
            let text = format!("{dialogues} of {most} dialogues stand");
            rows.push(alarm("dialogues-filling", "tcap".into(), "major", text));
        }
    }

    fn remote_alarms(
        &self,
        format: PointCodeFormat,
        remote: &RemoteStatus,
        no_way: Way<'_>,
        rows: &mut Vec<Condition>,
    ) {
        let at = format.show(remote.point_code);
        let leads_there = self.node.rules().point_codes(Affected::one(remote.point_code));
        if remote.is_paused && !leads_there.is_empty() {
            let (why, is_starting) = no_way(remote.point_code).unwrap_or_default();
            let text = format!("there is no way to {at}, where global titles lead to: {why}");
            let row = alarm("destination-unavailable", at.clone(), "major", text);
            rows.push(row.starting(is_starting));
        }
        for subsystem in &remote.prohibited {
            let (name, subject, text) = match *subsystem {
                MANAGEMENT_SSN => {
                    ("sccp-unavailable", at.clone(), format!("the SCCP of {at} does not answer"))
                }
                number => (
                    "subsystem-prohibited",
                    format!("{at}/{number}"),
                    format!("the subsystem {number} of {at} is out of service"),
                ),
            };
            rows.push(alarm(name, subject, "minor", text));
        }
    }
}

/// Why a subsystem here is out of service, and what ends that.
fn prohibited_why(config: &Sgc, subsystem: &Subsystem) -> &'static str {
    let has_application = config.application.iter().any(|it| it.subsystem == subsystem.name);
    match subsystem.enabled {
        _ if has_application => "no instance of its application is there, or it is blocked",
        true => "blocked until `sccp unblock` or a restart of the site",
        false => "`enabled = false` in the configuration",
    }
}

fn alarm(name: &str, subject: String, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("communications-subsystem-failure")
}

/// The rules for global titles, in the order of the section.
pub(crate) fn show_rules(config: &Sgc) -> Vec<TranslationRow> {
    let rows = config.filed.all(&config.translation).take(ROWS_MAX).map(|it| TranslationRow {
        name: it.name.clone(),
        of: match it.of {
            TranslationOf::Called => "called",
            TranslationOf::Calling => "calling",
        },
        digits: it.digits.clone(),
        title: fields(&[
            ("GTI", it.indicator),
            ("TT", it.translation_type),
            ("NP", it.numbering_plan),
            ("NAI", it.nature_of_address),
            ("ES", it.encoding_scheme),
        ]),
        change: change(&it),
        choice: match it.choice {
            TargetChoice::Backup => "backup",
            TargetChoice::Share => "share",
        },
        to: it.target.iter().map(show_to).collect(),
    });
    rows.collect()
}

fn show_to(target: &TranslationTarget) -> String {
    let mut text = target.point_code.clone().unwrap_or_else(|| "here".to_owned());
    if let Some(subsystem) = target.subsystem {
        text.push_str(&format!("/{subsystem}"));
    }
    text
}

fn fields(of: &[(&str, Option<u8>)]) -> String {
    let given = of.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
    given.collect::<Vec<_>>().join(" ")
}

fn change(it: &Translation) -> String {
    let mut text = fields(&[
        ("strip", Some(it.strip).filter(|count| *count > 0)),
        ("TT", it.new_translation_type),
        ("NP", it.new_numbering_plan),
        ("NAI", it.new_nature_of_address),
    ]);
    if !it.prepend.is_empty() {
        text = format!("{text} prepend {}", it.prepend).trim().to_owned();
    }
    text
}

/// The title that is asked for, the subsystem that is called, and the SLS.
fn asked(ask: &Ask) -> Result<(Title, Option<u8>, u8), AskError> {
    let wrong = |key: &str, what: String| AskError::BadParameter(format!("{key}: {what}"));
    let number = |key: &str, most: u8| -> Result<Option<u8>, AskError> {
        let Some(text) = ask.params.get(key) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| *number <= most);
        number.map(Some).ok_or_else(|| wrong(key, format!("a number up to {most}")))
    };
    // A number is often written with a plus: its nature of address says the same.
    let digits = ask.params.get("digits").map(|text| text.strip_prefix('+').unwrap_or(text));
    let digits = digits.and_then(Digits::parse).filter(|digits| !digits.is_empty());
    let what = "0 to 9 and a to f, 32 at most, without blanks and hyphens";
    let digits = digits.ok_or_else(|| wrong("digits", what.into()))?;
    let number_of = number("indicator", 4)?.unwrap_or(4);
    let indicator = indicator(number_of).ok_or_else(|| wrong("indicator", "1 to 4".into()))?;
    let translation_type = number("translation_type", u8::MAX)?.unwrap_or(0);
    let plan = number("numbering_plan", 15)?.unwrap_or(1);
    let nature = number("nature_of_address", 127)?.unwrap_or(4);
    let encoding = if digits.is_odd() { 1 } else { 2 };
    let is = |of: &[Indicator], value: u8| if of.contains(&indicator) { value } else { 0 };
    let (with_plan, all) = (
        [Indicator::TypePlan, Indicator::TypePlanNature],
        [Indicator::Type, Indicator::TypePlan, Indicator::TypePlanNature],
    );
    let title = Title {
        indicator,
        translation_type: is(&all, translation_type),
        plan: is(&with_plan, plan),
        nature: is(&[Indicator::Nature, Indicator::TypePlanNature], nature),
        encoding: is(&with_plan, encoding),
        digits,
    };
    Ok((title, number("subsystem", u8::MAX)?, number("sls", u8::MAX)?.unwrap_or(0)))
}

/// A rule that is for other titles, and what is other.
type Near<'c> = (Cow<'c, Translation>, String);

/// Those that are for other titles, with what is other: the ones with the most digits first.
fn near<'c>(config: &'c Sgc, of: TranslationOf, title: &Title) -> Vec<Near<'c>> {
    let others = config.filed.beginning(&config.translation, of, title).filter_map(|(_, it)| {
        let selector = it.selector().filter(|selector| !selector.has(title))?;
        Some((it, difference(&selector, title)))
    });
    let mut near: Vec<Near<'_>> = others.collect();
    near.sort_by_key(|(it, _)| core::cmp::Reverse(places(it)));
    near.truncate(NEAR_MAX);
    near
}

/// What a rule wants that a title has not: `GTI 2, not 4`.
fn difference(selector: &Selector, title: &Title) -> String {
    let has = fields_of(title.indicator);
    let rows = [
        ("TT", selector.translation_type, title.translation_type, has.0),
        ("NP", selector.plan, title.plan, has.1),
        ("NAI", selector.nature, title.nature, has.2),
        ("ES", selector.encoding, title.encoding, has.1),
    ];
    let indicator = selector.indicator.filter(|it| *it != title.indicator);
    let (number, of) = (|it: Indicator| it.number(), title.indicator.number());
    let first = indicator.map(|it| format!("GTI {}, not {of}", number(it)));
    let rest = rows.into_iter().filter_map(|(name, wanted, is, has)| {
        let wanted = wanted.filter(|wanted| *wanted != is || !has)?;
        Some(match has {
            true => format!("{name} {wanted}, not {is}"),
            false => format!("{name} {wanted}, which one of GTI {of} has not"),
        })
    });
    first.into_iter().chain(rest).collect::<Vec<_>>().join("; ")
}

/// Whether titles of an indicator have a translation type, a numbering plan with an encoding
/// scheme, and a nature of address (Q.713 §3.4.2.3).
const fn fields_of(indicator: Indicator) -> (bool, bool, bool) {
    match indicator {
        Indicator::Nature => (false, false, true),
        Indicator::Type => (true, false, false),
        Indicator::TypePlan => (true, true, false),
        Indicator::TypePlanNature => (true, true, true),
    }
}

/// That no rule holds, and the one that is next to it.
fn near_in_words(title: &Title, near: &[Near<'_>]) -> String {
    let of = format!("GTI {} {}", title.indicator.number(), rest_of(title));
    match near.first() {
        None => "no rule has digits that it begins with".to_owned(),
        Some((it, what)) => format!("no rule is for titles of {of}: {} is for {what}", it.name),
    }
}

fn show_hits(hits: &[Cow<'_, Translation>], near: Vec<Near<'_>>) -> Vec<TranslationHitRow> {
    let held = hits.iter().enumerate().map(|(place, it)| TranslationHitRow {
        name: it.name.clone(),
        digits: it.digits.clone(),
        holds: place == 0,
        why: why(place, hits).to_owned(),
    });
    let near = near.into_iter().map(|(it, what)| TranslationHitRow {
        name: it.name.clone(),
        digits: it.digits.clone(),
        holds: false,
        why: format!("for titles of {what}"),
    });
    held.take(ROWS_MAX).chain(near).collect()
}

/// The rules of one kind whose digits a title begins with, the one that holds first.
fn hits<'c>(config: &'c Sgc, of: TranslationOf, title: &Title) -> Vec<Cow<'c, Translation>> {
    let hit = config
        .filed
        .beginning(&config.translation, of, title)
        .filter(|(_, it)| it.selector().is_some_and(|selector| selector.has(title)));
    let mut hits: Vec<_> =
        hit.map(|(at, it)| (core::cmp::Reverse((places(&it), weight(&it), at)), it)).collect();
    hits.sort_by_key(|it| it.0);
    hits.into_iter().map(|it| it.1).collect()
}

/// How many digits a rule knows, and how little it leaves open of them.
fn places(of: &Translation) -> (usize, u8) {
    Pattern::parse(&of.digits).map_or((0, 0), |it| (it.len(), it.rank()))
}

fn weight(of: &Translation) -> usize {
    of.selector().as_ref().map_or(0, Selector::weight)
}

fn why(place: usize, hits: &[Cow<'_, Translation>]) -> &'static str {
    let (Some(first), Some(it)) = (hits.first(), hits.get(place)) else { return "" };
    match () {
        () if place == 0 => "its digits are the longest",
        () if places(it).0 < places(first).0 => "another one has more digits",
        () if places(it) < places(first) => "another one leaves less of them open",
        () if weight(it) < weight(first) => "another one says more of the title",
        () => "a later one says the same",
    }
}

fn is_target(to: &Address, target: &Target, subsystem: Option<u8>) -> bool {
    to.point_code == target.point_code && to.routing == target.routing && to.subsystem == subsystem
}

const fn routing(routing: Routing) -> &'static str {
    match routing {
        Routing::Subsystem => "subsystem",
        Routing::Title => "title",
    }
}

pub(crate) const fn state(is_in_service: bool) -> &'static str {
    if is_in_service { "allowed" } else { "prohibited" }
}

/// A title with its fields: `447700900123 TT 0 NP 1 NAI 4`.
fn show_title(title: &Title) -> String {
    format!("{} {}", title.digits, rest_of(title))
}

/// The fields of a title beside its digits.
fn rest_of(title: &Title) -> String {
    let of = |has: bool, value: u8| Some(value).filter(|_| has);
    let (has_type, has_plan, has_nature) = fields_of(title.indicator);
    fields(&[
        ("TT", of(has_type, title.translation_type)),
        ("NP", of(has_plan, title.plan)),
        ("NAI", of(has_nature, title.nature)),
    ])
}

/// An address in brief: its title, else its point code, and its subsystem.
pub(crate) fn show_address(format: PointCodeFormat, address: &Address) -> String {
    let mut text = match (&address.title, address.point_code) {
        (Some(title), _) => title.digits.to_string(),
        (None, Some(point_code)) => format.show(point_code),
        (None, None) => String::new(),
    };
    if let Some(subsystem) = address.subsystem {
        text.push_str(&format!("/{subsystem}"));
    }
    text
}
