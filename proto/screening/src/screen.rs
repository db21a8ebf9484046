//! A set of rules, compiled, and what it says of a message.

use crate::asked::{Asked, Message};
use crate::compile::{self, Index, Networks};
use crate::config::{Location, Own, RuleFile, Subscriber};
use crate::imsi::{self, Places, Tells};
use crate::index::Prefixes;
use crate::names::OperationId;
use crate::rule::{Action, ReadCodes, Rule, Violation};
use crate::subject::{Subject, Unreadable};
use crate::velocity::{LastPlaces, Seen};
use machine::{Duration, Time};
use sccp::codec::Title;
use tcap::codec::{Component, Payload};

pub use crate::compile::{OPERATORS_MAX, RULES_MAX};

/// Rules that only count, of one message.
const COUNTED_MAX: usize = 8;

/// A set of rules.
#[derive(Debug)]
pub struct Screen {
    pub(crate) rules: Vec<Rule>,
    /// Rules that decide, and rules that only count.
    deciding: Index,
    counting: Option<Index>,
    pub(crate) own_imsi: Prefixes,
    pub(crate) own_titles: Prefixes,
    pub(crate) networks: Networks,
    places: Places,
    velocity: crate::config::Velocity,
    /// Whose places rules ask for: only this network's own subscribers'.
    learns_own: bool,
}

/// What is said of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// What becomes of it.
    pub action: Action,
    /// The rule that says so; none: none holds.
    pub rule: Option<u32>,
    /// The operation that it is about.
    pub operation: OperationId,
    /// Its invoke identifier.
    pub invoke_id: Option<i8>,
    counted: [Option<u32>; COUNTED_MAX],
}

impl Verdict {
    const PASS: Self = Self {
        action: Action::Pass,
        rule: None,
        operation: OperationId::NONE,
        invoke_id: None,
        counted: [None; COUNTED_MAX],
    };

    /// The rules that only count, and hold.
    pub fn counted(&self) -> impl Iterator<Item = u32> {
        self.counted.into_iter().flatten()
    }

    pub(crate) fn count(&mut self, rule: u32) {
        let is_new = !self.counted.contains(&Some(rule));
        if let Some(free) = self.counted.iter_mut().find(|it| it.is_none() && is_new) {
            *free = Some(rule);
        }
    }
}

impl Screen {
    /// Compiles rules.
    ///
    /// # Errors
    /// What is wrong with them, as far as a person would read.
    pub fn new(file: &RuleFile, own: &Own, codes: ReadCodes<'_>) -> Result<Self, Vec<Violation>> {
        if file.rule.len() > RULES_MAX || file.operator.len() > OPERATORS_MAX {
            let what = format!("{} rules, {} networks", file.rule.len(), file.operator.len());
            let hint = format!("use at most {RULES_MAX} and {OPERATORS_MAX}");
            return Err(vec![Violation::new("rule".to_owned(), what, hint)]);
        }
        let mut faults = Vec::new();
        let rules = compile::rules(file, codes, &mut faults);
        let [own_imsi, own_titles] = compile::own(own, &mut faults);
        let networks = Networks::read(file, &mut faults);
        compile::check(&file.velocity, &mut faults);
        let index =
            |counts: bool, faults: &mut Vec<Violation>| compile::index(&rules, counts, faults);
        let deciding = index(false, &mut faults);
        let has_counting = rules.iter().any(|it| it.action == Action::Count);
        let counting = has_counting.then(|| index(true, &mut faults));
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut asking = rules.iter().filter(|it| asks_last(it));
        let learns_own = asking.all(|it| it.subscriber == Some(Subscriber::Own));
        let velocity = file.velocity.clone();
        let places = Places::new();
        Ok(Self {
            rules,
            deciding,
            counting,
            own_imsi,
            own_titles,
            networks,
            places,
            velocity,
            learns_own,
        })
    }

    /// A table of last places as the rules say.
    #[must_use]
    pub fn last_places(&self, secret: u64) -> LastPlaces {
        let asks = self.rules.iter().any(asks_last);
        let most = if asks { self.velocity.subscribers_max } else { 0 };
        LastPlaces::new(most, Duration::from_secs(self.velocity.kept_s.into()), secret)
    }

    /// Whether rules ask for places that no network of the set has: nothing is ever known of them.
    #[must_use]
    pub fn lacks_places(&self) -> bool {
        self.rules.iter().any(asks_last) && !self.networks.has_places
    }

    /// Whether a rule asks for the subsystem that is called.
    #[must_use]
    pub fn asks_called(&self) -> bool {
        self.rules.iter().any(|it| !it.called_subsystems.is_empty())
    }

    /// How many rules there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Name and action of a rule.
    #[must_use]
    pub fn rule(&self, number: u32) -> Option<(&str, Action)> {
        self.rules.get(number as usize).map(|it| (it.name.as_str(), it.action))
    }

    /// Name and action of all.
    pub fn rules(&self) -> impl Iterator<Item = (&str, Action)> {
        self.rules.iter().map(|it| (it.name.as_str(), it.action))
    }

    /// The most rules that are looked at one by one: those about the same operation that have
    /// neither digits nor point codes.
    #[must_use]
    pub fn looked_at(&self) -> usize {
        self.deciding.others.longest()
    }

    /// Rules that never decide, each with the earlier one that holds for all that it holds for.
    #[must_use]
    pub fn unreachable(&self) -> Vec<(usize, usize)> {
        crate::reach::unreachable(&self.rules)
    }

    /// What the rules say of a message: of every operation that it invokes; one that is refused
    /// takes the others with it, and what stands behind it need not be readable.
    ///
    /// # Errors
    /// [`Unreadable`]: a component, or whose subscriber it is about.
    pub fn judge(
        &self,
        now: Time,
        subject: &Subject<'_>,
        places: &LastPlaces,
    ) -> Result<Verdict, Unreadable> {
        let mut verdict = Verdict::PASS;
        let mut unknown = None;
        let message = Message::new(subject, places, now);
        let read = subject.each(|operation, component| {
            let mut asked = Asked::new(self, &message, operation, component);
            let first = asked.first(&self.deciding);
            if let Some(Tells::Unreadable(why)) = asked.subscriber_read() {
                unknown = unknown.or(Some(why));
            }
            if let Some(counting) = &self.counting {
                asked.all(counting, first, &mut verdict);
            }
            let action = first.map_or(Action::Pass, |it| self.rules[it as usize].action);
            let is_first = verdict.rule.is_none() && first.is_some();
            if !verdict.action.refuses() && (action.refuses() || is_first) {
                verdict.action = action;
                (verdict.rule, verdict.operation) = (first, operation);
                verdict.invoke_id = component.and_then(|it| it.invoke_id);
            }
        });
        // Who may send what is not well-formed does not hide by it what a rule refuses.
        if verdict.action.refuses() {
            return Ok(verdict);
        }
        read?;
        let (otid, dtid) = (subject.message.otid, subject.message.dtid);
        unknown.map_or(Ok(verdict), |why| Err(Unreadable { otid, dtid, why }))
    }

    /// Keeps where the subscribers of a message are that has passed: of those that say that they
    /// have come to another place.
    pub fn learn(&self, now: Time, subject: &Subject<'_>, source: u64, places: &mut LastPlaces) {
        if places.has_no_room() {
            return;
        }
        let title = subject.way.calling.title;
        let Some(place) = title.and_then(|it| self.networks.of(&it)) else { return };
        // What is not well-formed does not pass.
        let _ = subject.each(|operation, component| {
            if !COMING.contains(&operation) {
                return;
            }
            if let Tells::Imsi(imsi) = self.tells(subject, operation, component)
                && (!self.learns_own || self.own_imsi.has(&imsi))
            {
                places.learn(&imsi, Seen { place, at: now }, source);
            }
        });
    }

    /// Whether a title is one of this network: by its digits, or by those of an own IMSI.
    pub(crate) fn has_title(&self, title: &Title) -> bool {
        let is_imsi = title.plan == compile::E212 && self.own_imsi.has(&title.digits);
        is_imsi || self.own_titles.has(&title.digits)
    }

    pub(crate) fn tells(
        &self,
        subject: &Subject<'_>,
        operation: OperationId,
        component: Option<&Component<'_>>,
    ) -> Tells {
        if let Some(Payload::Invoke { parameter: Some(argument), .. }) =
            component.map(|it| it.payload)
        {
            match self.places.find(operation, subject.context.version, &argument) {
                Tells::Nothing => {}
                tells => return tells,
            }
        }
        imsi::opened(&subject.user)
    }
}

/// Whether a rule asks where a subscriber was last.
fn asks_last(rule: &Rule) -> bool {
    matches!(rule.location, Some(Location::Implausible | Location::Elsewhere))
}

/// Operations that say where a subscriber has come to.
const COMING: [OperationId; 2] = [OperationId(2), OperationId(23)];
