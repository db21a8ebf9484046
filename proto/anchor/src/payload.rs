//! Which payload type becomes which: the formats of an answer laid beside those that were offered.

use crate::codec::Codec;
use crate::format::Format;
use crate::offer::Policies;
use crate::policy::{Dtmf, Policy};
use crate::side::Side;
use crate::stream::{Action, Coding, Event, Payload};

/// The formats of the three descriptions that make a stream: what the offerer offered, what the
/// answerer was told, what it answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Formats<'d, 'a> {
    pub offered: &'d [Format<'a>],
    pub told: &'d [Format<'a>],
    pub answered: &'d [Format<'a>],
}

/// What comes of them.
#[derive(Debug)]
pub(crate) struct Outcome<'a> {
    /// What is answered to the offerer.
    pub list: Vec<Format<'a>>,
    pub payloads: Vec<Payload>,
    /// Events of the offerer and of the answerer.
    pub events: [Option<Event>; 2],
    /// How the offerer and the answerer code what they say, as they said it themselves.
    pub coded: [Option<Format<'a>>; 2],
}

/// A format of the answer, under the number that it was told and the one that it was offered.
#[derive(Debug, Clone, Copy)]
struct Match<'a> {
    answered: Format<'a>,
    told: Format<'a>,
    /// `None`: it was added.
    offered: Option<Format<'a>>,
}

impl Match<'_> {
    fn is_main(&self) -> bool {
        !self.told.is_auxiliary()
    }

    fn is_event(&self) -> bool {
        self.told.codec == Some(Codec::TelephoneEvent)
    }
}

/// Lays the formats beside each other; `None`: no codec is left.
pub(crate) fn lay<'a>(
    formats: Formats<'_, 'a>,
    offerer: Side,
    policies: &Policies<'_>,
) -> Option<Outcome<'a>> {
    let Policies { from, to, .. } = *policies;
    let matches = matches(formats);
    let passes = |it: &&Match<'a>| it.is_main() && it.offered.is_some();
    let usable = |format: &&Format<'a>| policies.codes(format) && from.codecs.allows(format);
    let first_passed = matches.iter().find(passes).and_then(|it| it.offered);
    let coded_pass = || matches.iter().filter_map(|it| it.offered).find(Format::is_coded);
    let primary = coded_pass().or_else(|| formats.offered.iter().find(usable).copied());
    let added = matches.iter().find(|it| it.is_main() && it.offered.is_none());
    if first_passed.is_none() && (added.is_none() || primary.is_none()) {
        return None;
    }
    let mut map = Map { offerer, outcome: empty() };
    if let (None, Some(mut primary), Some(added)) = (first_passed, primary, added) {
        map.outcome.coded = [Some(primary), Some(added.answered)];
        map.code(offerer, primary, added.answered);
        primary.source = None;
        map.outcome.list.push(primary);
    }
    for it in &matches {
        match it.offered {
            Some(_) if it.is_event() && !takes_events(from) => {
                map.digit(offerer.other(), it.told);
                map.outcome.events[1] = Some(event(it));
            }
            Some(offered) => map.pass(it, offered),
            None if it.is_event() => {
                map.digit(offerer.other(), it.told);
                let first = map.outcome.events[1].take();
                map.outcome.events[1] = first.or_else(|| Some(event(it)));
            }
            None => {
                // Of several, which are one as good as another, the first is coded.
                let is_first = added.is_some_and(|first| first.told.number == it.told.number);
                if let (true, Some(primary)) = (is_first, primary) {
                    map.code(offerer.other(), it.told, primary);
                }
            }
        }
    }
    if let (Some(primary), Some(it)) = (first_passed, matches.iter().find(passes)) {
        map.outcome.coded = [Some(primary), Some(added.unwrap_or(it).answered)];
    }
    map.lone_events(formats, from, to);
    Some(map.outcome)
}

fn takes_events(policy: &Policy) -> bool {
    matches!(policy.dtmf, Dtmf::Pass | Dtmf::Events)
}

fn event(it: &Match<'_>) -> Event {
    Event { receive: it.told.number, send: it.answered.number, clock: it.told.clock }
}

fn empty<'a>() -> Outcome<'a> {
    Outcome { list: Vec::new(), payloads: Vec::new(), events: [None; 2], coded: [None; 2] }
}

/// Finds for each answered format what it answers; what answers nothing is passed over.
fn matches<'a>(formats: Formats<'_, 'a>) -> Vec<Match<'a>> {
    let mut found: Vec<Match<'a>> = Vec::with_capacity(formats.answered.len());
    for answered in formats.answered {
        let same = |told: &&Format<'a>| {
            told.number == answered.number && (!answered.is_mapped || told.is_named_as(answered))
        };
        let told = formats.told.iter();
        let told = told
            .clone()
            .find(same)
            .or_else(|| told.clone().find(|told| told.fits(answered)))
            .or_else(|| told.clone().find(|told| told.is_named_as(answered)));
        let Some(told) = told.filter(|told| found.iter().all(|it| it.told.number != told.number))
        else {
            continue;
        };
        let is_it =
            |offered: &&Format<'a>| offered.number == told.number && offered.is_named_as(told);
        let offered = formats.offered.iter().find(is_it).copied();
        // Without a name of its own it is what it was told to be.
        let answered = if answered.is_mapped {
            *answered
        } else {
            Format { number: answered.number, parameters: answered.parameters, ..*told }
        };
        found.push(Match { answered, told: *told, offered });
    }
    found
}

/// The map as it grows.
#[derive(Debug)]
struct Map<'a> {
    offerer: Side,
    outcome: Outcome<'a>,
}

impl<'a> Map<'a> {
    /// A format that both sides have. What the answerer sends may come under the number that it was
    /// told (RFC 3264 §6.1) or, from careless ones, under its own.
    fn pass(&mut self, it: &Match<'a>, offered: Format<'a>) {
        self.outcome.list.push(Format {
            number: offered.number,
            source: Some(it.answered.number),
            parameters: it.answered.parameters,
            is_mapped: offered.is_mapped || it.answered.is_mapped,
            ..offered
        });
        let answerer = self.offerer.other();
        let pass = Action::Pass;
        self.put(self.offerer, &offered, it.answered.number, pass);
        self.put(answerer, &Format { number: it.told.number, ..offered }, offered.number, pass);
        if it.answered.number != it.told.number {
            let own = Format { number: it.answered.number, ..offered };
            self.put(answerer, &own, offered.number, pass);
        }
        if it.is_event() {
            let clock = offered.clock;
            let number = offered.number;
            let first = self.outcome.events[0].is_none();
            if first {
                self.outcome.events =
                    [Some(Event { receive: number, send: number, clock }), Some(event(it))];
            }
        }
    }

    /// Something that is decoded and coded anew.
    fn code(&mut self, from: Side, comes: Format<'_>, goes: Format<'_>) {
        let Some(codec) = goes.codec else { return };
        let coding = Coding { codec, clock: goes.clock, channels: goes.channels };
        self.put(from, &comes, goes.number, Action::Transcode(coding));
    }

    /// Events that the other side gets in another way.
    fn digit(&mut self, from: Side, event: Format<'_>) {
        self.put(from, &event, event.number, Action::Digit);
    }

    fn put(&mut self, from: Side, format: &Format<'_>, becomes: u8, action: Action) {
        let number = format.number;
        let payload = Payload {
            from,
            number,
            becomes,
            codec: format.codec,
            clock: format.clock,
            channels: format.channels,
            action,
        };
        let payloads = &mut self.outcome.payloads;
        if payloads.iter().all(|it| (it.from, it.number) != (from, number)) {
            payloads.push(payload);
        }
    }

    /// The offerer's events stay where the answerer has digits in another way.
    fn lone_events(&mut self, formats: Formats<'_, 'a>, from: &Policy, to: &Policy) {
        // Or has events, but of another clock only.
        let converts = !takes_events(to) || self.outcome.events[1].is_some();
        if !converts || !takes_events(from) || self.outcome.events[0].is_some() {
            return;
        }
        let is_event = |format: &&Format<'a>| format.codec == Some(Codec::TelephoneEvent);
        let Some(mut offered) = formats.offered.iter().find(is_event).copied() else { return };
        let number = offered.number;
        self.digit(self.offerer, offered);
        let clock = offered.clock;
        self.outcome.events[0] = Some(Event { receive: number, send: number, clock });
        offered.source = None;
        self.outcome.list.push(offered);
    }
}
