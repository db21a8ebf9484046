//! A connection of an application: what waits for it, and how fast it reads.

use super::queue::{Of, Queue};
use super::{Application, InstanceId, Settings, Side, Wanted};
use crate::message::ToApplication;
use crate::names::Speech;
use crate::primitive::Indication;
use crate::spelling::Spelling;
use bytes::Bytes;
use core::net::IpAddr;
use machine::Time;
use std::collections::BTreeSet;

/// Octets that were sent and not taken yet, at most: what is behind them can still be put in order.
const WINDOW_OCTETS: usize = 65_536;

/// What data of a connection cost beside their octets, at most.
const SPELLING_OCTETS: usize = 128;

/// An instance.
#[derive(Debug)]
pub(super) struct Instance {
    /// As it has begun; none before it has.
    pub(super) spelling: Option<Spelling>,
    /// The challenge that it has to answer.
    pub(super) challenge: Option<Bytes>,
    /// Whether it has to prove that it has a key.
    pub(super) must_prove: bool,
    /// What it has proved: the text, and the proof.
    pub(super) proved: Option<(Vec<u8>, Bytes)>,
    /// Until when it has to have greeted; none: it has.
    pub(super) greets_by: Option<Time>,
    pub(super) name: String,
    pub(super) group: String,
    /// It takes no new dialogues.
    pub(super) is_leaving: bool,
    pub(super) dialogues: BTreeSet<u64>,
    /// Messages one after the other that were not understood.
    pub(super) malformed: u32,
    /// What waits for it.
    pub(super) queue: Queue,
    /// Octets that were sent and not taken yet.
    pub(super) outstanding: usize,
    /// Since when it takes nothing while something waits.
    pub(super) blocked_since: Option<Time>,
    pub(super) is_slow: bool,
    /// Since when more waits for it than may: it is to be closed, and told nothing more.
    pub(super) over_since: Option<Time>,
    /// Where it connects from; none: by a Unix socket.
    pub(super) source: Option<IpAddr>,
}

impl Instance {
    pub(super) fn new(greets_by: Time, must_prove: bool, source: Option<IpAddr>) -> Self {
        Self {
            spelling: None,
            challenge: None,
            must_prove,
            proved: None,
            greets_by: Some(greets_by),
            name: String::new(),
            group: String::new(),
            is_leaving: false,
            dialogues: BTreeSet::new(),
            malformed: 0,
            queue: Queue::default(),
            outstanding: 0,
            blocked_since: None,
            is_slow: false,
            over_since: None,
            source,
        }
    }

    /// One without a connection.
    pub(super) fn inside(name: &str) -> Self {
        let (greets_by, name) = (None, name.to_owned());
        Self { greets_by, name, ..Self::new(Time::ZERO, false, None) }
    }

    pub(super) fn spelling(&self) -> Spelling {
        self.spelling.unwrap_or(Spelling::Json)
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.greets_by.is_none()
    }

    pub(super) const fn takes_new(&self) -> bool {
        self.is_ready() && !self.is_leaving && self.over_since.is_none()
    }

    /// Whether another dialogue that begins may wait for it: in half of the queue.
    pub(super) fn has_room_for_new(&self, settings: &Settings) -> bool {
        self.queue.octets() * 2 < settings.queue_octets_max as usize
    }

    /// Whether data of a connection may wait for it beside what waits already: four times what
    /// waits of that connection has to fit into what is left. So one that floods meets its own
    /// limit, however many do, and a quarter of the queue is left for what ends connections.
    pub(super) fn has_room_for(&self, connection: u32, data: usize, settings: &Settings) -> bool {
        let most = settings.queue_octets_max as usize / 4 * 3;
        // As JSON an octet is two digits.
        let wanted = self.queue.octets_of(connection) * 4 + data * 2 + SPELLING_OCTETS;
        self.queue.octets() + wanted <= most
    }

    pub(super) fn deadline(&self, settings: &Settings) -> Option<Time> {
        let slow = self.blocked_since.filter(|_| !self.is_slow).map(|it| it + settings.slow);
        let late = self.queue.waits_since().map(|it| it + settings.wait);
        self.over_since.into_iter().chain(self.greets_by).chain(slow).chain(late).min()
    }
}

impl Application {
    /// Sends what the window has room for. Whatever waits has passed here: an instance whose queue
    /// is beyond its limit is told nothing more, and closed by [`Application::close_overfull`].
    pub(super) fn pump(&mut self, now: Time, to: InstanceId) {
        let Some(instance) = self.instances.get_mut(&to) else { return };
        while instance.outstanding < WINDOW_OCTETS {
            let Some((of, octets)) = instance.queue.next() else { break };
            instance.outstanding += octets.len();
            if let Of::Dialogue(dialogue) = of
                && let Some(record) = self.dialogues.get_mut(&dialogue)
            {
                record.unsent = record.unsent.saturating_sub(1);
            }
            self.wanted.push(Wanted::Send(to, octets));
        }
        if instance.outstanding > 0 {
            instance.blocked_since.get_or_insert(now);
        } else {
            instance.blocked_since = None;
            if core::mem::take(&mut instance.is_slow) {
                self.push(now, to, &Indication::Slow(false), Speech::Unknown);
            }
        }
        let most = self.settings.queue_octets_max as usize;
        if let Some(instance) = self.instances.get_mut(&to)
            && instance.queue.in_progress() > 1
            && instance.queue.octets() > most
        {
            instance.over_since.get_or_insert(now);
            instance.queue = Queue::default();
        }
    }

    /// The connection took octets: so many are left.
    pub fn written(&mut self, now: Time, id: InstanceId, left: usize, side: &mut Side<'_>) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        let has_moved = left < instance.outstanding;
        instance.outstanding = left;
        if has_moved {
            instance.blocked_since = None;
        }
        self.pump(now, id);
        self.drain(id);
        self.take_over(now, side);
    }

    /// Instances whose queues are beyond their limits are closed: their dialogues go on elsewhere.
    pub(super) fn close_overfull(&mut self, now: Time, side: &mut Side<'_>) {
        let full = self.instances.iter().filter(|it| it.1.over_since.is_some());
        for id in full.map(|it| *it.0).collect::<Vec<_>>() {
            self.counts.too_slow += 1;
            self.wanted.push(Wanted::Close(id));
            self.lost(now, id, side);
        }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, side: &mut Side<'_>) {
        for id in self.instances.keys().copied().collect::<Vec<_>>() {
            self.tick_instance(now, id, side);
        }
        self.close_overfull(now, side);
        self.take_over(now, side);
        self.expire(now, side);
        self.expire_homeless(now);
        self.end_doomed(now, side);
        self.run_inside(now, side);
    }

    fn tick_instance(&mut self, now: Time, id: InstanceId, side: &mut Side<'_>) {
        let settings = &self.settings;
        let (slow, wait) = (settings.slow, settings.wait);
        let Some(instance) = self.instances.get_mut(&id) else { return };
        if instance.greets_by.is_some_and(|by| by <= now) {
            return self.turn_away(now, id, "no greeting came in time");
        }
        let is_due = |since: Time| since + slow <= now;
        if !instance.is_slow && instance.blocked_since.is_some_and(is_due) {
            instance.is_slow = true;
            let message = ToApplication::Indication(Indication::Slow(true));
            let mut octets = Vec::new();
            instance.spelling().write(&message, Speech::Unknown, &mut octets);
            instance.queue.push_front(octets.into());
        }
        let mut late = Vec::new();
        while instance.queue.waits_since().is_some_and(|it| it + wait <= now) {
            late.extend(instance.queue.give_up());
        }
        for dialogue in
            late.into_iter().filter(|it| self.dialogues.contains_key(it)).collect::<Vec<_>>()
        {
            self.counts.shed_late += 1;
            let context = self.dialogues.get(&dialogue).and_then(|it| it.context());
            self.refuse(now, dialogue, context, side);
        }
        self.pump(now, id);
    }

    /// When [`Application::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let instances = self.instances.values().filter_map(|it| it.deadline(&self.settings));
        let lost = self.orphans.front().into_iter().chain(self.doomed.front());
        let lost = lost.chain(self.homeless.front()).map(|it| it.0);
        let own = self.connections.deadline().into_iter().chain(self.inside_waits());
        instances.chain(lost).chain(own).min()
    }
}
