//! An operation of a message, and what rules ask of it.

use crate::compile::Index;
use crate::config::{Location, Network, Subscriber};
use crate::imsi::Tells;
use crate::index::{Entry, List, Number};
use crate::names::OperationId;
use crate::screen::{Screen, Verdict};
use crate::subject::Subject;
use crate::velocity::LastPlaces;
use core::cell::OnceCell;
use machine::Time;
use sccp::Pattern;
use sccp::codec::{Address, Digits};
use tcap::codec::Component;

/// A message, and what of it is found once, for all that it invokes.
pub(crate) struct Message<'a, 'b> {
    subject: &'a Subject<'b>,
    places: &'a LastPlaces,
    now: Time,
    calling: Side<'a>,
    called: Side<'a>,
}

/// Who calls, or who is called.
struct Side<'a> {
    address: &'a Address,
    number: Option<Number>,
    is_own: OnceCell<bool>,
}

/// What is known of the operation that rules are asked about; the rest is found when a rule asks.
pub(crate) struct Asked<'a, 'b> {
    screen: &'a Screen,
    message: &'a Message<'a, 'b>,
    operation: OperationId,
    component: Option<&'a Component<'b>>,
    tells: Option<Tells>,
}

impl<'a, 'b> Message<'a, 'b> {
    pub(crate) fn new(subject: &'a Subject<'b>, places: &'a LastPlaces, now: Time) -> Self {
        let (calling, called) = (Side::of(subject.way.calling), Side::of(subject.way.called));
        Self { subject, places, now, calling, called }
    }
}

impl<'a> Side<'a> {
    fn of(address: &'a Address) -> Self {
        let number = address.title.as_ref().map(|it| Number::of(&it.digits));
        Self { address, number, is_own: OnceCell::new() }
    }

    fn is_own(&self, screen: &Screen) -> bool {
        *self.is_own.get_or_init(|| self.address.title.is_some_and(|it| screen.has_title(&it)))
    }

    /// Whether its title begins with one of these; none is no condition.
    fn begins(&self, patterns: &[Pattern]) -> bool {
        let title = self.address.title.as_ref();
        let matches = |own: &Pattern| title.is_some_and(|it| own.matches(&it.digits));
        patterns.is_empty() || patterns.iter().any(matches)
    }

    fn has(&self, subsystems: &[u8]) -> bool {
        let has = |it: u8| subsystems.contains(&it);
        subsystems.is_empty() || self.address.subsystem.is_some_and(has)
    }
}

impl<'a, 'b> Asked<'a, 'b> {
    pub(crate) const fn new(
        screen: &'a Screen,
        message: &'a Message<'a, 'b>,
        operation: OperationId,
        component: Option<&'a Component<'b>>,
    ) -> Self {
        Self { screen, message, operation, component, tells: None }
    }

    /// What the argument tells of its subscriber, if a rule has asked.
    pub(crate) const fn subscriber_read(&self) -> Option<Tells> {
        self.tells
    }

    /// The first rule that holds.
    pub(crate) fn first(&mut self, index: &Index) -> Option<u32> {
        let mut best: Option<u32> = None;
        self.each(index, |asked, list, entries| {
            for entry in entries {
                if best.is_some_and(|best| best <= entry.rule) {
                    break;
                }
                if !entry.is_open || asked.holds(entry.rule, list) {
                    best = Some(entry.rule);
                    break;
                }
            }
        });
        best
    }

    /// All rules that hold in front of another one.
    pub(crate) fn all(&mut self, index: &Index, before: Option<u32>, verdict: &mut Verdict) {
        self.each(index, |asked, list, entries| {
            let is_before = |it: &&Entry| before.is_none_or(|before| it.rule < before);
            for entry in entries.iter().filter(is_before) {
                if !entry.is_open || asked.holds(entry.rule, list) {
                    verdict.count(entry.rule);
                }
            }
        });
    }

    /// Gives `look` the rules that may hold, and by which of their lists they were found.
    fn each(&mut self, index: &Index, mut look: impl FnMut(&mut Self, Option<List>, &[Entry])) {
        let (operation, message) = (self.operation, self.message);
        let imsi = index.imsi.concerns(operation).then(|| self.imsi()).flatten();
        let numbers = [
            (&index.calling, message.calling.number, List::Calling),
            (&index.called, message.called.number, List::Called),
            (&index.imsi, imsi.as_ref().map(Number::of), List::Imsi),
        ];
        let near = numbers.map(|(prefixes, number, list)| {
            let number = number.filter(|_| prefixes.concerns(operation));
            (prefixes, number.map(|it| prefixes.near(it)), Some(list))
        });
        for (prefixes, near, list) in near {
            if let Some(near) = near {
                prefixes.each(near, operation, &mut |entries| look(self, list, entries));
            }
        }
        let opc = message.subject.way.opc;
        index.others.each(opc, operation, &mut |entries| look(self, None, entries));
    }

    fn tells(&mut self) -> Tells {
        let (screen, subject) = (self.screen, self.message.subject);
        *self.tells.get_or_insert_with(|| screen.tells(subject, self.operation, self.component))
    }

    fn imsi(&mut self) -> Option<Digits> {
        match self.tells() {
            Tells::Imsi(imsi) => Some(imsi),
            Tells::Nothing | Tells::Unreadable(_) => None,
        }
    }

    /// Whether a rule holds in all that it names, but for the list by which it was found.
    fn holds(&mut self, number: u32, found: Option<List>) -> bool {
        let (screen, message) = (self.screen, self.message);
        let Some(rule) = screen.rules.get(number as usize) else { return false };
        let (way, context) = (message.subject.way, message.subject.context);
        let (calling, called) = (&message.calling, &message.called);
        let is_among = |of: &[(u32, u32)], code: u32| {
            of.is_empty() || of.iter().any(|it| it.0 <= code && code <= it.1)
        };
        rule.operations.as_ref().is_none_or(|all| all.has(self.operation.0))
            && (rule.contexts.is_empty() || rule.contexts.iter().any(|it| context.is_of(*it)))
            && calling.has(&rule.calling_subsystems)
            && called.has(&rule.called_subsystems)
            && is_among(&rule.originating, way.opc)
            && is_among(&rule.destinations, way.dpc)
            && (found == Some(List::Calling) || calling.begins(&rule.calling))
            && (found == Some(List::Called) || called.begins(&rule.called))
            && rule.calling_network.is_none_or(|it| self.is_of(calling, it))
            && rule.called_network.is_none_or(|it| self.is_of(called, it))
            && (found == Some(List::Imsi) || self.has_imsi(&rule.imsi))
            && rule.subscriber.is_none_or(|it| self.is_about(it))
            && rule.location.is_none_or(|it| self.is_at(it))
    }

    fn has_imsi(&mut self, of: &[Pattern]) -> bool {
        of.is_empty() || self.imsi().is_some_and(|it| of.iter().any(|own| own.matches(&it)))
    }

    fn is_about(&mut self, subscriber: Subscriber) -> bool {
        let is_own = self.imsi().map(|it| self.screen.own_imsi.has(&it));
        match subscriber {
            Subscriber::Own => is_own == Some(true),
            Subscriber::Foreign => is_own == Some(false),
            Subscriber::Untold => is_own.is_none(),
        }
    }

    fn is_of(&mut self, side: &Side<'_>, network: Network) -> bool {
        match network {
            Network::Own => side.is_own(self.screen),
            Network::Foreign => !side.is_own(self.screen),
            Network::OfSubscriber => self.is_of_subscriber(side),
            Network::NotOfSubscriber => !self.is_of_subscriber(side),
        }
    }

    fn is_of_subscriber(&mut self, side: &Side<'_>) -> bool {
        let Some(imsi) = self.imsi() else { return false };
        match self.screen.own_imsi.has(&imsi) {
            true => side.is_own(self.screen),
            false => side.address.title.is_some_and(|it| self.screen.networks.has(&imsi, &it)),
        }
    }

    /// Of a subscriber whose last place is not known, and of a title without place, nothing is
    /// said but that.
    fn is_at(&mut self, location: Location) -> bool {
        let networks = &self.screen.networks;
        let title = self.message.calling.address.title;
        let place = title.and_then(|it| networks.of(&it));
        if location == Location::Nowhere {
            return place.is_none();
        }
        let Some((place, imsi)) = place.zip(self.imsi()) else { return false };
        let message = self.message;
        let Some(last) = message.places.last(message.now, &imsi) else { return false };
        place != last.place
            && (location == Location::Elsewhere
                || !networks.ways.is_plausible(last.place, place, message.now.since(last.at)))
    }
}
