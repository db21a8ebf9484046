//! What rules say of TCAP from peers (GSMA FS.11): counted, answered, or discarded in silence.
//!
//! ```text
//!   MSU of a peer ─┬─ whole ───────────────→ rules ─┬─ goes on
//!                  ├─ a segment, ends here → SCCP ──┘─ refused: answer, trail, alarm
//!                  └─ a segment, goes on → `segments`
//! ```

use crate::config::{Compiled, RuleSet, Unasked};
use bytes::Bytes;
use hashbrown::HashMap;
use m3ua::codec::{NetworkAppearance, PointCode};
use m3ua::{PeerId, Transfer};
use machine::bucket::{Bucket, Rate};
use machine::identity::mix;
use machine::{Duration, Time};
use sccp::Unitdata;
use sccp::codec::{
    Address, Class, Form, Message, Routing, SERVICE_INDICATOR, Segmentation, Unit, Word,
};
use screening::{Action, LastPlaces, ReadCodes, Subject, Unreadable, Way};

/// How long the alarm stands after the last message that was refused.
const ALARM: Duration = Duration::from_secs(60);
/// Events of refused messages on trails: so many a second, so many at once.
const EVENTS: (f64, u32) = (50.0, 100);
/// The hop counter of what goes back.
const HOPS: u8 = 15;
/// Octets of data in segments that come back.
const RETURNED_OCTETS: usize = 200;
const SECRET: u64 = 0x5343_5245_454e;

/// What all sets have counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Messages that rules were asked about.
    pub judged: u64,
    /// Messages that were refused.
    pub refused: u64,
    /// Messages that were not well-formed.
    pub unreadable: u64,
    /// Segments that go on.
    pub segments: u64,
    /// Rules that held.
    pub hits: u64,
}

/// A set of rules at work.
#[derive(Debug)]
pub struct Set {
    /// Its name.
    pub name: String,
    compiled: Compiled,
    peers: Vec<String>,
    networks: Vec<u32>,
    unreadable: Unasked,
    segments: Unasked,
    places: LastPlaces,
    /// How often each rule held, by its place.
    pub hits: Vec<u64>,
    /// What it has counted.
    pub counts: Totals,
    last: Option<(Time, Refused)>,
}

/// A message that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Set and rule.
    pub by: String,
    /// The operation, or what is wrong.
    pub operation: String,
    /// The calling title, or point code.
    pub calling: String,
    /// The called one.
    pub called: String,
    /// What became of it.
    pub action: Action,
}

/// What becomes of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruled {
    /// It goes on.
    Passes,
    /// It goes no further.
    Refused {
        /// What goes back to its sender: TCAP.
        answer: Option<Bytes>,
        /// It comes back with this cause, where it asked for that.
        returned: Option<u8>,
        /// What goes on in its place, so that its dialogue ends: TCAP.
        instead: Option<Bytes>,
    },
}

impl Ruled {
    const SILENT: Self = Self::Refused { answer: None, returned: None, instead: None };
}

/// What is judged: where it comes from and goes to, and its data.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// The peer that has sent it.
    pub from: Option<PeerId>,
    /// Its network.
    pub network: Option<NetworkAppearance>,
    /// Its addresses and point codes.
    pub way: Way<'a>,
    /// Its data: TCAP.
    pub data: &'a [u8],
}

/// Where the SCCP of this node leads a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Course {
    /// Whether it puts segments of it together.
    pub ends_here: bool,
    /// The subsystem that it comes to, as far as this node leads it.
    pub subsystem: Option<u8>,
}

/// All sets.
#[derive(Debug)]
pub struct RuleSets {
    sets: Vec<Set>,
    /// Whether rules ask for the subsystem that is called.
    asks_called: bool,
    /// Which of them are for what a peer sends.
    of_peer: HashMap<PeerId, Vec<usize>>,
    secret: u64,
    /// What comes next out of SCCP has come in segments.
    pub awaits: bool,
    events: Bucket,
    /// For trails, since they were taken last.
    refused: Vec<(Option<PeerId>, Refused)>,
    /// Of sets that are no more.
    before: Totals,
    /// What goes back of messages that came in segments.
    owed: Vec<Transfer>,
    network: Option<NetworkAppearance>,
    indicator: u8,
}

impl core::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.judged += other.judged;
        self.refused += other.refused;
        self.unreadable += other.unreadable;
        self.segments += other.segments;
        self.hits += other.hits;
    }
}

impl RuleSets {
    /// None; `secret` keeps rows of tables from being chosen by who sends.
    #[must_use]
    pub fn new(secret: u64) -> Self {
        Self {
            sets: Vec::new(),
            asks_called: false,
            of_peer: HashMap::new(),
            secret: mix(secret ^ SECRET),
            awaits: false,
            events: Bucket::default(),
            refused: Vec::new(),
            before: Totals::default(),
            owed: Vec::new(),
            network: None,
            indicator: 0,
        }
    }

    /// What was counted, by sets that are no more too.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = self.before;
        self.sets.iter().for_each(|it| totals += it.counts);
        totals
    }

    /// The sets, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Set> {
        self.sets.iter()
    }

    /// Takes other rules. Counts of rules that stay by name, and places, are kept.
    pub fn configure(&mut self, sections: &[RuleSet], codes: ReadCodes<'_>) {
        let mut before: Vec<Set> = core::mem::take(&mut self.sets);
        for section in sections {
            let old = before.iter().position(|it| it.name == section.name);
            let old = old.map(|at| before.swap_remove(at));
            let compiled = section.screen_of(codes);
            self.sets.push(Set::new(section, compiled, old, self.secret));
        }
        before.iter().for_each(|it| self.before += it.counts);
        let mut screens = self.sets.iter().filter_map(|it| it.compiled.screen());
        self.asks_called = screens.any(screening::Screen::asks_called);
        self.of_peer.clear();
    }

    /// Network Appearance and Network Indicator of what goes back of messages in segments.
    pub const fn set_network(&mut self, network: Option<NetworkAppearance>, indicator: u8) {
        (self.network, self.indicator) = (network, indicator);
    }

    /// A peer of that name is there.
    pub fn know(&mut self, peer: PeerId, name: &str) {
        let is_for = |it: &Set| it.peers.is_empty() || it.peers.iter().any(|of| of == name);
        let sets = self.sets.iter().enumerate().filter(|(_, it)| is_for(it));
        self.of_peer.insert(peer, sets.map(|(n, _)| n).collect());
    }

    /// A peer is no more.
    pub fn forget(&mut self, peer: PeerId) {
        self.of_peer.remove(&peer);
    }

    /// What the rules say of data of a peer.
    pub fn judge(&mut self, now: Time, of: &Judged<'_>) -> Ruled {
        if !of.way.has_tcap() {
            return Ruled::Passes;
        }
        let Self { sets, of_peer, .. } = self;
        let places = of.from.and_then(|peer| of_peer.get(&peer));
        let Some(places) = places.filter(|it| !it.is_empty()) else { return Ruled::Passes };
        let read = Subject::read(of.way, of.data);
        let mut refused = None;
        for at in places {
            let Some(set) = sets.get_mut(*at).filter(|it| it.is_for(of.network)) else { continue };
            refused = set.judge(now, of, &read);
            if refused.is_some() {
                break;
            }
        }
        let Some((ruled, why)) = refused else {
            // What any set refuses teaches none of them.
            for at in places {
                let set = sets.get_mut(*at).filter(|it| it.is_for(of.network));
                read.iter().zip(set).for_each(|(subject, set)| set.learn(now, of.from, subject));
            }
            return Ruled::Passes;
        };
        self.note(now, of.from, why);
        ruled
    }

    /// A segment that goes on as it is: whether it may.
    fn lets_segment(&mut self, now: Time, of: &Judged<'_>) -> bool {
        if !of.way.has_tcap() {
            return true;
        }
        let Self { sets, of_peer, .. } = self;
        let places = of.from.and_then(|peer| of_peer.get(&peer));
        let mut why = None;
        for at in places.into_iter().flatten() {
            let Some(set) = sets.get_mut(*at).filter(|it| it.is_for(of.network)) else { continue };
            set.counts.segments += 1;
            if set.segments == Unasked::Refuse {
                why = Some(set.refuse(now, of, "segments", "segment", Action::Discard));
                break;
            }
        }
        match why {
            Some(why) => {
                self.note(now, of.from, why);
                false
            }
            None => true,
        }
    }

    /// An MSU whose SCCP is not well-formed: whether it goes no further.
    pub(crate) fn unread(&mut self, now: Time, from: PeerId, msu: &Transfer) -> bool {
        let nobody = Address::subsystem(None, 0);
        let (opc, dpc) = (msu.opc.number(), msu.dpc.number());
        let way = Way { opc, dpc, called: &nobody, calling: &nobody };
        let of = Judged { from: Some(from), network: msu.network, way, data: &[] };
        let Self { sets, of_peer, .. } = self;
        let mut places = of_peer.get(&from).into_iter().flatten();
        let refuses = |it: &Set| it.is_for(of.network) && it.unreadable == Unasked::Refuse;
        let at = places.find(|at| sets.get(**at).is_some_and(refuses)).copied();
        let Some(set) = at.and_then(|at| sets.get_mut(at)) else { return false };
        set.counts.unreadable += 1;
        let why = set.refuse(now, &of, "unreadable", "SCCP is not well-formed", Action::Discard);
        self.note(now, Some(from), why);
        true
    }

    /// Keeps a refused message for the trail, no more of them than is good for it.
    fn note(&mut self, now: Time, from: Option<PeerId>, why: Refused) {
        let rate = Rate::new(EVENTS.0, Some(EVENTS.1));
        if self.events.has_room(now, rate) {
            self.events.take(now, rate);
            self.refused.push((from, why));
        }
    }

    /// What was refused since this was asked last.
    pub fn take_refused(&mut self) -> Vec<(Option<PeerId>, Refused)> {
        core::mem::take(&mut self.refused)
    }

    /// What was refused last; it leaves no trail.
    pub fn take_last(&mut self) -> Option<Refused> {
        self.refused.clear();
        self.events = Bucket::default();
        let lasts = self.sets.iter_mut().filter_map(|it| it.last.take());
        lasts.max_by_key(|it| it.0).map(|it| it.1)
    }

    /// Sets of which something was refused of late, and the last of it.
    pub fn alarms(&self, now: Time) -> impl Iterator<Item = (&Set, &Refused)> {
        self.sets.iter().filter_map(move |set| {
            let (at, refused) = set.last.as_ref()?;
            (now.since(*at) < ALARM).then_some((set, refused))
        })
    }

    /// What the rules say of an MSU of a peer; `course` tells where SCCP of this node leads it.
    pub fn rule(
        &mut self,
        now: Time,
        from: PeerId,
        msu: &Transfer,
        course: impl FnOnce(&Unit<'_>) -> Course,
    ) -> Option<Vec<Transfer>> {
        self.awaits = false;
        if msu.si != SERVICE_INDICATOR || self.of_peer.get(&from).is_none_or(Vec::is_empty) {
            return None;
        }
        let message = Message::read(&msu.payload);
        let unit = message.as_ref().map_err(|it| *it).and_then(Unit::of);
        // Who reads more than this node does is not to be relied on.
        let Ok(unit) = unit else { return self.unread(now, from, msu).then(Vec::new) };
        // What belongs to a connection has no TCAP.
        let unit = unit?;
        if matches!(unit.word, Word::Service(_)) {
            return None;
        }
        let (opc, dpc) = (msu.opc.number(), msu.dpc.number());
        let mut called = unit.called;
        let way = Way { opc, dpc, called: &unit.called, calling: &unit.calling };
        let is_part = unit.segmentation.is_some_and(is_part);
        // By a title a message may be led to another subsystem than its sender names.
        let is_led = called.routing == Routing::Title && (self.asks_called || way.calls_cap());
        let course = (is_part || is_led).then(|| course(&unit));
        called.subsystem = course.map_or(called.subsystem, |it| it.subsystem);
        let way = Way { called: &called, ..way };
        let judged = Judged { from: Some(from), network: msu.network, way, data: unit.data };
        if is_part {
            if course.is_some_and(|it| it.ends_here) {
                self.awaits = true;
                return None;
            }
            return (!self.lets_segment(now, &judged)).then(Vec::new);
        }
        match self.judge(now, &judged) {
            Ruled::Passes => None,
            Ruled::Refused { answer, returned, instead } => {
                let back = answer.and_then(|data| answered(msu, &unit, &data));
                let returned = returned.and_then(|cause| came_back(msu, &unit, cause));
                let on = instead.and_then(|data| in_place(msu, &unit, &data));
                Some(back.into_iter().chain(returned).chain(on).collect())
            }
        }
    }
}

impl RuleSets {
    /// What the rules say of a message that came in segments and is whole now: whether it goes on.
    /// An abort may be in the place of its data then.
    pub fn lets_whole(
        &mut self,
        now: Time,
        from: (Option<PeerId>, PointCode),
        own: PointCode,
        unitdata: &mut Unitdata,
    ) -> bool {
        self.awaits = false;
        let (by, opc) = from;
        let Unitdata { called, calling, class, sls, importance, data } = unitdata.clone();
        let (number, dpc) = (opc.number(), own.number());
        let way = Way { opc: number, dpc, called: &called, calling: &calling };
        let judged = Judged { from: by, network: self.network, way, data: &data };
        let Ruled::Refused { answer, returned, instead } = self.judge(now, &judged) else {
            return true;
        };
        let (network, ni) = (self.network, self.indicator);
        let (si, mp, payload) = (SERVICE_INDICATOR, 0, Bytes::new());
        let msu = Transfer { network, opc, dpc: own, si, ni, mp, sls, payload };
        let (form, word, segmentation) = (Form::Extended, Word::Data(class), None);
        let unit = Unit {
            form,
            word,
            hops: HOPS,
            called,
            calling,
            segmentation,
            importance,
            data: &data[..data.len().min(RETURNED_OCTETS)],
        };
        self.owed.extend(answer.and_then(|data| answered(&msu, &unit, &data)));
        self.owed.extend(returned.and_then(|cause| came_back(&msu, &unit, cause)));
        let Some(abort) = instead else { return false };
        unitdata.data = abort;
        true
    }

    /// What goes back since this was asked last.
    pub fn take_owed(&mut self, wants: &mut Vec<Transfer>) {
        wants.append(&mut self.owed);
    }
}

/// Whether it is a part of a message, not the whole.
const fn is_part(of: Segmentation) -> bool {
    !(of.is_first && of.remaining == 0)
}

/// A message of SCCP from the destination of another one to its origin.
fn back(msu: &Transfer, unit: &Unit<'_>) -> Option<Transfer> {
    let of_calling = unit.called.point_code.filter(|_| unit.called.routing == Routing::Subsystem);
    let dpc = of_calling.unwrap_or(msu.opc);
    let mut payload = Vec::new();
    unit.write(&mut payload)?;
    Some(Transfer { opc: msu.dpc, dpc, payload: payload.into(), ..msu.clone() })
}

/// Data from who was called to who called.
fn answered(msu: &Transfer, unit: &Unit<'_>, data: &[u8]) -> Option<Transfer> {
    let word = match unit.word {
        Word::Data(class) => Word::Data(Class { returns: false, ..class }),
        Word::Service(_) => return None,
    };
    let (called, calling) = (unit.calling, unit.called);
    let unit = Unit { word, called, calling, data, segmentation: None, hops: HOPS, ..*unit };
    back(msu, &unit)
}

/// The data with a cause, where that was asked for.
fn came_back(msu: &Transfer, unit: &Unit<'_>, cause: u8) -> Option<Transfer> {
    let Word::Data(Class { returns: true, .. }) = unit.word else { return None };
    let (called, calling) = (unit.calling, unit.called);
    let hops = if unit.form == Form::Basic { 0 } else { HOPS };
    back(msu, &Unit { word: Word::Service(cause), called, calling, hops, ..*unit })
}

/// Other data on the same way.
fn in_place(msu: &Transfer, unit: &Unit<'_>, data: &[u8]) -> Option<Transfer> {
    let mut payload = Vec::new();
    Unit { data, segmentation: None, ..*unit }.write(&mut payload)?;
    Some(Transfer { payload: payload.into(), ..msu.clone() })
}

impl Set {
    fn new(section: &RuleSet, compiled: Compiled, old: Option<Self>, secret: u64) -> Self {
        let screen = compiled.screen();
        let mut hits = vec![0; screen.map_or(0, screening::Screen::len)];
        if let Some((old, screen)) = old.as_ref().zip(screen) {
            let rules = old.compiled.screen().into_iter().flat_map(|it| it.rules());
            let before: HashMap<&str, u64> =
                rules.map(|it| it.0).zip(old.hits.iter().copied()).collect();
            for (hits, (name, _)) in hits.iter_mut().zip(screen.rules()) {
                *hits = before.get(name).copied().unwrap_or_default();
            }
        }
        let is_same = old.as_ref().is_some_and(|old| old.compiled == compiled);
        let counts = old.as_ref().map(|it| it.counts).unwrap_or_default();
        // Places are numbered by the rules that know them.
        let (places, last) = match old {
            Some(old) if is_same => (old.places, old.last),
            old => {
                let none = || LastPlaces::new(0, Duration::ZERO, secret);
                let places = screen.map_or_else(none, |it| it.last_places(secret));
                (places, old.and_then(|it| it.last))
            }
        };
        Self {
            name: section.name.clone(),
            peers: section.peers.clone(),
            networks: section.network_appearances.clone(),
            unreadable: section.unreadable,
            segments: section.segments,
            compiled,
            places,
            hits,
            counts,
            last,
        }
    }

    fn is_for(&self, network: Option<NetworkAppearance>) -> bool {
        self.networks.is_empty() || network.is_some_and(|it| self.networks.contains(&it.0))
    }

    /// Names, actions and hits of the rules.
    pub fn rows(&self) -> impl Iterator<Item = (&str, Action, u64)> {
        let rules = self.compiled.screen().into_iter().flat_map(|it| it.rules());
        rules.zip(&self.hits).map(|((name, action), hits)| (name, action, *hits))
    }

    /// Subscribers whose last place is known.
    pub const fn known(&self) -> usize {
        self.places.len()
    }

    /// Places that there was no room for.
    pub const fn not_kept(&self) -> u64 {
        self.places.shed()
    }

    /// Keeps where the subscribers of a message are that no set refuses.
    fn learn(&mut self, now: Time, from: Option<PeerId>, subject: &Subject<'_>) {
        let Some(screen) = self.compiled.screen() else { return };
        let (peer, generation) = from.map_or((0, 0), PeerId::numbers);
        let source = u64::from(peer) << 32 | u64::from(generation);
        screen.learn(now, subject, source, &mut self.places);
    }

    /// What becomes of a message that is refused, and why; `None`: it goes on.
    fn judge(
        &mut self,
        now: Time,
        of: &Judged<'_>,
        read: &Result<Subject<'_>, Unreadable>,
    ) -> Option<(Ruled, Refused)> {
        self.counts.judged += 1;
        let compiled = self.compiled.clone();
        let screen = compiled.screen()?;
        let read =
            read.and_then(|subject| Ok((subject, screen.judge(now, &subject, &self.places)?)));
        let (subject, verdict) = match read {
            Ok(read) => read,
            Err(unreadable) => {
                self.counts.unreadable += 1;
                if self.unreadable == Unasked::Pass {
                    return None;
                }
                let why = self.refuse(now, of, "unreadable", unreadable.why, Action::Discard);
                return Some((Ruled::SILENT, why));
            }
        };
        for rule in verdict.counted().chain(verdict.rule) {
            if let Some(hits) = self.hits.get_mut(rule as usize) {
                *hits += 1;
                self.counts.hits += 1;
            }
        }
        if !verdict.action.refuses() {
            return None;
        }
        let rule = verdict.rule.and_then(|it| screen.rule(it)).map_or("", |it| it.0);
        let operation = verdict.operation.name();
        let why = self.refuse(now, of, rule, &operation, verdict.action);
        let answer = screening::answer(verdict.action, &subject, verdict.invoke_id);
        let instead = match verdict.action {
            Action::Discard | Action::Return(_) => None,
            _ => subject.message().dtid.map(screening::abort),
        };
        let returned = match verdict.action {
            Action::Return(cause) => Some(cause),
            _ => None,
        };
        let (answer, instead) = (answer.map(Bytes::from), instead.map(Bytes::from));
        Some((Ruled::Refused { answer, returned, instead }, why))
    }

    fn refuse(
        &mut self,
        now: Time,
        of: &Judged<'_>,
        rule: &str,
        operation: &str,
        action: Action,
    ) -> Refused {
        self.counts.refused += 1;
        let digits = |address: &sccp::codec::Address| {
            let code = address.point_code.map(|it| it.number().to_string());
            address.title.map(|it| it.digits.to_string()).or(code).unwrap_or_default()
        };
        let refused = Refused {
            by: format!("{}/{rule}", self.name),
            operation: operation.to_owned(),
            calling: digits(of.way.calling),
            called: digits(of.way.called),
            action,
        };
        self.last = Some((now, refused.clone()));
        refused
    }
}
