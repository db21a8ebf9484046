//! Descriptions of calls: what becomes of each, and what media controllers are told of it.

use super::{Client, Refused, Verdict};
use crate::body::{self, Found};
use crate::controller::Controller;
use crate::leases::{Moving, Ports};
use crate::metrics::MediaMetric;
use crate::realm::RealmPolicy;
use crate::session::{Anchored, Crossing, Part, Step, name};
use anchor::row::{Message, StreamId};
use anchor::{Change, Fork, Heard, Kind, Local, Means, Reason, Refusal, Session, Side};
use anchor::{Stream, Trace};
use event::Metrics;
use machine::Time;
use machine::slots::Key;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::RngCore as _;

/// A stream that is gone is gone in all of its generations: what follows on its connection is
/// newer.
const ANY_GENERATION: u32 = u32::MAX;

/// What a description of a call needs of the client.
struct Bench<'c> {
    controller: &'c mut Controller,
    realms: [&'c RealmPolicy; 2],
    groups: [u16; 2],
    random: &'c mut ChaCha12Rng,
    metrics: &'c Metrics<MediaMetric>,
    now: Time,
}

impl Bench<'_> {
    fn with<T>(&mut self, run: impl FnOnce(&mut Means<'_>) -> T) -> T {
        let mut ports =
            Ports { leases: &mut self.controller.leases, groups: self.groups, now: self.now };
        let random = &mut *self.random;
        let mut fill = |octets: &mut [u8]| random.fill_bytes(octets);
        let policies = self.realms.map(|realm| &realm.policy);
        run(&mut Means { policies, ports: &mut ports, random: &mut fill })
    }
}

impl Client {
    /// A description crosses a call that `owner` is, whose media are `media`, if it has some; they
    /// are made if they are wanted. Says what becomes of the body of the message.
    ///
    /// # Errors
    /// It is not taken: nothing has changed.
    pub fn cross(
        &mut self,
        now: Time,
        owner: Key,
        media: &mut Option<Key>,
        it: &Crossing<'_>,
    ) -> Result<Verdict, Refused> {
        let place = match body::find(it.content_type, it.body) {
            Found::Nothing => {
                self.crossed_without(*media, it);
                return Ok(Verdict::Same);
            }
            Found::Unreadable => {
                self.metrics.add(MediaMetric::Refused, 1);
                return Err(Refused::UNREADABLE);
            }
            Found::Beside => {
                self.metrics.add(MediaMetric::Refused, 1);
                return Err(Refused::BESIDE);
            }
            Found::Whole => 0..it.body.len(),
            Found::Part(place) => place,
        };
        let known = media.and_then(|key| self.sessions.at(key));
        let step = match known {
            Some(anchored) => Some(anchored.step(it.part, it.from, it.fork)),
            None => Anchored::first(it.part),
        };
        let text = &it.body[place.clone()];
        let mut out = core::mem::take(&mut self.body);
        out.clear();
        out.extend_from_slice(&it.body[..place.start]);
        let done = match step {
            None => Ok(Verdict::Same),
            Some(Step::LeaveOut) => Ok(Verdict::Without),
            Some(Step::Offer) => self.offered(now, owner, media, (it, text), &mut out),
            Some(Step::Answer) => self.answered(now, *media, (it, text), &mut out),
        };
        out.extend_from_slice(&it.body[place.end..]);
        self.body = out;
        done.inspect_err(|refused| {
            let is_room = [Refused::ROOM, Refused::AWAY].contains(refused);
            self.metrics.add(if is_room { MediaMetric::NoRoom } else { MediaMetric::Refused }, 1);
        })
    }

    /// A message without a description.
    fn crossed_without(&mut self, media: Option<Key>, it: &Crossing<'_>) {
        if it.part == Part::Invite
            && let Some(anchored) = media.and_then(|key| self.sessions.at_mut(key))
        {
            anchored.invited(false);
        }
    }

    fn offered(
        &mut self,
        now: Time,
        owner: Key,
        media: &mut Option<Key>,
        said: (&Crossing<'_>, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Verdict, Refused> {
        let (it, _) = said;
        // The first INVITE goes to another target: nothing of it is agreed.
        let is_again = it.part == Part::Invite
            && media.and_then(|key| self.sessions.at(key)).is_some_and(|it| !it.is_settled);
        if let Some(key) = media.filter(|_| is_again) {
            let at = self.sessions.at(key).map(|it| usize::from(it.controller));
            let groups = self.groups_of(it);
            let fits = self.sessions.at(key).is_some_and(|it| it.groups == groups);
            let serves = at.is_some_and(|at| self.controllers[at].takes_calls());
            if fits && serves {
                self.reject(now, key);
            } else {
                self.end(now, key);
                *media = None;
            }
        }
        match *media {
            Some(key) => self.offered_again(now, key, said, out)?,
            None => *media = Some(self.offered_first(now, owner, said, out)?),
        }
        if let Some(anchored) = media.and_then(|key| self.sessions.at_mut(key)) {
            if it.part == Part::Invite {
                anchored.invited(true);
            }
            anchored.taken(it.part, it.fork);
        }
        Ok(Verdict::Instead)
    }

    fn offered_again(
        &mut self,
        now: Time,
        key: Key,
        said: (&Crossing<'_>, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let (it, text) = said;
        let heard = self.heard(it, text);
        let Some((anchored, mut bench)) = self.bench(now, key, it.realms) else { return Ok(()) };
        let Some(session) = &mut anchored.session else { return Ok(()) };
        let done = bench.with(|means| session.offer(heard, means, out));
        let (at, groups) = (usize::from(anchored.controller), anchored.groups);
        done.map_err(|refusal| {
            if refusal.reason == Reason::Room {
                self.runs_short(at, groups);
            }
            refusal.into()
        })
    }

    /// The first offer of a call: the media controller with the fewest streams that has room.
    fn offered_first(
        &mut self,
        now: Time,
        owner: Key,
        said: (&Crossing<'_>, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Key, Refused> {
        let (it, text) = said;
        let (heard, groups) = (self.heard(it, text), self.groups_of(it));
        if !self.controllers.iter().any(Controller::answers) {
            return Err(Refused::AWAY);
        }
        let Some((key, anchored)) = self.sessions.take() else { return Err(Refused::ROOM) };
        (anchored.owner, anchored.groups) = (owner, groups);
        anchored.trace = Trace::of(it.trace.0, it.trace.1);
        let (mut tried, start) = (0, out.len());
        let mut refused = Refused::ROOM;
        let realms = it.realms.iter().filter_map(|realm| self.realm(*realm));
        let codecs = realms.fold(0, |all, realm| all | realm.codecs);
        while let Some(at) = self.best(tried, codecs) {
            tried |= 1 << at;
            let Some((anchored, mut bench)) = self.bench_at(now, key, (at, it.realms)) else {
                break;
            };
            let session = bench.with(|means| {
                let mut session = Session::new(means.random);
                session.offer(heard, means, out).map(|()| session)
            });
            match session {
                Ok(session) => {
                    let sides = session.locals().filter(|(side, _)| *side == Side::A);
                    anchored.promised = u32::try_from(sides.count()).unwrap_or(0);
                    bench.controller.promised += anchored.promised;
                    anchored.controller = machine::narrow::index(at);
                    anchored.session = Some(session);
                    anchored.epoch = bench.controller.epoch.unwrap_or(0);
                    bench.controller.calls += 1;
                    bench.metrics.add(MediaMetric::Anchored, 1);
                    if bench.controller.leases.is_low(groups) {
                        self.runs_short(at, groups);
                    }
                    return Ok(key);
                }
                Err(Refusal { reason: Reason::Room, .. }) => {
                    out.truncate(start);
                    self.runs_short(at, groups);
                }
                Err(refusal) => {
                    refused = refusal.into();
                    break;
                }
            }
        }
        self.sessions.give_back(key);
        Err(refused)
    }

    fn answered(
        &mut self,
        now: Time,
        media: Option<Key>,
        said: (&Crossing<'_>, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Verdict, Refused> {
        let (it, text) = said;
        let heard = self.heard(it, text);
        let Some(key) = media else { return Ok(Verdict::Same) };
        let Some((anchored, mut bench)) = self.bench(now, key, it.realms) else {
            return Ok(Verdict::Same);
        };
        let Some(session) = &mut anchored.session else { return Ok(Verdict::Same) };
        let changes = bench.with(|means| session.answer(heard, means, out))?;
        tell(bench.controller, bench.metrics, (key, session, &anchored.trace), &changes);
        bench.controller.promised -= core::mem::take(&mut anchored.promised);
        anchored.taken(it.part, it.fork);
        Ok(Verdict::Instead)
    }

    /// The call was answered in that dialog: it is the one that stays.
    pub fn settle(&mut self, now: Time, key: Key, fork: u8, realms: [u16; 2]) {
        let Some((anchored, mut bench)) = self.bench(now, key, realms) else { return };
        if core::mem::replace(&mut anchored.is_settled, true) {
            return;
        }
        let Some(session) = &mut anchored.session else { return };
        let changes = bench.with(|means| session.settle(Fork(fork.into()), means));
        tell(bench.controller, bench.metrics, (key, session, &anchored.trace), &changes);
    }

    /// What was offered was refused: what was agreed before stays.
    pub fn reject(&mut self, now: Time, key: Key) {
        let Some(anchored) = self.sessions.at_mut(key) else { return };
        let (Some(session), groups) = (&mut anchored.session, anchored.groups) else { return };
        let Some(controller) = self.controllers.get_mut(usize::from(anchored.controller)) else {
            return;
        };
        session.reject(&mut Ports { leases: &mut controller.leases, groups, now });
    }

    /// A call is over: its ports are free, and its media controller is told.
    pub fn end(&mut self, now: Time, key: Key) {
        let Some(anchored) = self.sessions.at_mut(key) else { return };
        let (at, groups) = (usize::from(anchored.controller), anchored.groups);
        let session = anchored.session.take();
        let controller = self.controllers.get_mut(at);
        if let (Some(mut session), Some(controller)) = (session, controller) {
            let changes = session.end(&mut Ports { leases: &mut controller.leases, groups, now });
            tell(controller, &self.metrics, (key, &session, &anchored.trace), &changes);
            controller.calls -= 1;
            controller.promised -= anchored.promised;
            controller.unclaimed.retain(|(owner, _)| *owner != key);
        }
        self.sessions.give_back(key);
    }

    /// A call whose media controller is gone gets ports of another one. Each of its ends is to be
    /// told by a re-INVITE. Returns whether one had room.
    pub fn relocate(&mut self, now: Time, key: Key) -> bool {
        let Some(anchored) = self.sessions.at(key) else { return false };
        let (old, groups) = (usize::from(anchored.controller), anchored.groups);
        let Some(session) = &anchored.session else { return false };
        let held: Vec<Local> = session.locals().map(|(_, local)| local).collect();
        let streams = u32::try_from(session.streams().count()).unwrap_or(0);
        let codecs = session.streams().fold(0, |all, (_, stream)| all | stream.codecs());
        let mut tried = 0;
        let stays = self.controllers[old].takes_calls();
        let new = loop {
            let Some(at) = self.best(tried, codecs) else { return false };
            tried |= 1 << at;
            if (at == old) != stays {
                continue; // its ports alone are gone, or all of it
            }
            let was = &self.controllers[old].leases;
            let v6: Vec<u16> = held
                .iter()
                .map(|local| local.address)
                .filter(|address| was.address(*address).is_some_and(|ip| ip.is_ipv6()))
                .collect();
            let was_v6 = |number| v6.contains(&number);
            let to = Ports { leases: &mut self.controllers[at].leases, groups, now };
            let Some(anchored) = self.sessions.at_mut(key) else { return false };
            let Some(session) = &mut anchored.session else { return false };
            match session.relocate(&mut Moving { to, was_v6: &was_v6 }) {
                Ok(changes) => {
                    anchored.controller = machine::narrow::index(at);
                    anchored.epoch = self.controllers[at].epoch.unwrap_or(0);
                    let promised = anchored.promised;
                    self.controllers[old].promised -= promised;
                    self.controllers[at].promised += promised;
                    break (at, changes);
                }
                Err(_) => self.runs_short(at, groups),
            }
        };
        let (at, changes) = new;
        self.leave(now, key, (old, streams), &held);
        self.controllers[at].calls += 1;
        self.metrics.add(MediaMetric::Moved, 1);
        let anchored = self.sessions.at(key);
        if let Some((session, trace)) =
            anchored.and_then(|it| Some((it.session.as_ref()?, &it.trace)))
        {
            let controller = &mut self.controllers[at];
            let streams = i32::try_from(session.streams().count()).unwrap_or(0);
            // Those that changed stand there for the first time; others wait for new keys.
            let stand = |change: &Change| matches!(change, Change::Changed(_));
            let changes: Vec<Change> = changes.into_iter().filter(stand).collect();
            tell(controller, &self.metrics, (key, session, trace), &changes);
            controller.counted(streams);
        }
        true
    }

    /// An INVITE without an offer goes to one side: its 2xx brings one.
    pub fn ask_for_offer(&mut self, key: Key) {
        if let Some(anchored) = self.sessions.at_mut(key) {
            anchored.invited(false);
        }
    }

    /// A call left a media controller.
    fn leave(&mut self, now: Time, key: Key, from: (usize, u32), held: &[Local]) {
        let (old, streams) = from;
        let controller = &mut self.controllers[old];
        controller.calls -= 1;
        controller.unclaimed.retain(|(owner, _)| *owner != key);
        for local in held {
            controller.leases.give_back(*local, now);
        }
        for line in 0..u8::try_from(anchor::LINES_MAX).unwrap_or(u8::MAX) {
            let stream = StreamId { call: name(key), line };
            controller.connection.say(Message::Remove { stream, generation: ANY_GENERATION });
        }
        controller.counted(-i32::try_from(streams).unwrap_or(0));
    }

    /// An end is to be sent a digit (RFC 4733 §3.2) in the way that its stream has. Returns whether
    /// there is such a stream.
    pub fn play(&mut self, key: Key, end: Side, digit: u8, ms: u16) -> bool {
        let Some(anchored) = self.sessions.at_mut(key) else { return false };
        let Some(session) = &anchored.session else { return false };
        let audio = session.streams().find(|(_, stream)| stream.kind == Kind::Audio);
        let Some((line, _)) = audio else { return false };
        anchored.serial += 1;
        let Some(controller) = self.controllers.get_mut(usize::from(anchored.controller)) else {
            return false;
        };
        let stream = StreamId { call: name(key), line };
        let serial = anchored.serial;
        controller.connection.say(Message::Play { stream, end, serial, digit, ms });
        self.metrics.add(MediaMetric::Digits, 1);
        true
    }

    /// The media controller of a call.
    #[must_use]
    pub fn controller_of(&self, key: Key) -> Option<&str> {
        let controller = usize::from(self.sessions.at(key)?.controller);
        self.controllers.get(controller).map(|controller| &*controller.name)
    }

    /// The session of a call.
    #[must_use]
    pub fn session(&self, key: Key) -> Option<&Session> {
        self.sessions.at(key)?.session.as_ref()
    }

    fn heard<'a>(&self, it: &Crossing<'_>, text: &'a [u8]) -> Heard<'a> {
        let realm = self.realms.get(usize::from(it.realms[it.from.index()]));
        let source = realm.filter(|realm| realm.source_address).map(|_| it.source);
        Heard { text, from: it.from, fork: it.fork(), source, signaller: Some(it.source) }
    }

    fn groups_of(&self, it: &Crossing<'_>) -> [u16; 2] {
        it.realms.map(|realm| self.groups_of.get(usize::from(realm)).copied().unwrap_or(0))
    }

    /// The best media controller that was not tried, for a call that may need these codecs.
    fn best(&self, tried: u64, codecs: u32) -> Option<usize> {
        let all = self.controllers.iter().enumerate().take(64);
        let fit = all.filter(|(at, it)| tried & 1 << at == 0 && it.takes_calls());
        fit.min_by_key(|(_, it)| it.rank(codecs)).map(|(at, _)| at)
    }

    fn bench(
        &mut self,
        now: Time,
        key: Key,
        realms: [u16; 2],
    ) -> Option<(&mut Anchored, Bench<'_>)> {
        let at = usize::from(self.sessions.at(key)?.controller);
        self.bench_at(now, key, (at, realms))
    }

    fn bench_at(
        &mut self,
        now: Time,
        key: Key,
        place: (usize, [u16; 2]),
    ) -> Option<(&mut Anchored, Bench<'_>)> {
        let (at, realms) = place;
        let anchored = self.sessions.at_mut(key)?;
        let [a, b] = realms.map(|realm| self.realms.get(usize::from(realm)));
        let groups = anchored.groups;
        let bench = Bench {
            controller: self.controllers.get_mut(at)?,
            realms: [a?, b?],
            groups,
            random: &mut self.random,
            metrics: &self.metrics,
            now,
        };
        Some((anchored, bench))
    }

    /// A call found no pair there: more are asked for at once.
    fn runs_short(&mut self, at: usize, groups: [u16; 2]) {
        let controller = &mut self.controllers[at];
        if controller.leases.runs_short(groups) {
            controller.say_leases();
        }
    }
}

/// A call that is said, with its streams and what they are found by.
pub(super) type Call<'a> = (Key, &'a Session, &'a Trace);

/// Says what changed.
fn tell(
    controller: &mut Controller,
    metrics: &Metrics<MediaMetric>,
    said: Call<'_>,
    changes: &[Change],
) {
    let (key, session, trace) = said;
    for change in changes {
        match *change {
            Change::Added(line) | Change::Changed(line) => {
                metrics.add(MediaMetric::Told, 1);
                if controller.connection.is_up() {
                    put(controller, (key, session, trace), line);
                }
                if matches!(change, Change::Added(_)) {
                    controller.counted(1);
                }
            }
            Change::Removed(line) => {
                let stream = StreamId { call: name(key), line };
                let generation = ANY_GENERATION;
                controller.connection.say(Message::Remove { stream, generation });
                controller.counted(-1);
            }
        }
    }
}

/// Says a stream as it stands.
pub(super) fn put(controller: &mut Controller, said: Call<'_>, line: u8) {
    let (key, session, trace) = said;
    let Some((what, generation)) = session.stream(line) else { return };
    let stream = StreamId { call: name(key), line };
    let what = Box::new(Stream { trace: trace.clone(), ..what.clone() });
    controller.connection.say(Message::Put { stream, generation, what });
}
