//! What media controllers say, and time that passes.

use super::calls::put;
use super::{BEAT, Client, LEAVING_AT_ONCE, LEAVING_EVERY, Notice};
use crate::config::Gone;
use crate::connection::Heard;
use crate::controller::Controller;
use crate::metrics::MediaMetric;
use crate::session::{Anchored, key};
use anchor::Local;
use anchor::row::{Event, Message};
use machine::Time;
use machine::slots::{Key, Slots};
use rand_chacha::rand_core::RngCore as _;
use runtime::{Effects, Flow, In};

impl Client {
    /// Takes what happens to the connections of media controllers; whether it was that.
    pub fn takes(&mut self, now: Time, input: &In<'_>, out: &mut Effects) -> bool {
        let (In::Up { flow }
        | In::Down { flow, .. }
        | In::Message { flow, .. }
        | In::Written { flow, .. }
        | In::Proved { flow, .. }) = input
        else {
            return false;
        };
        let at = self.controllers.iter().position(|it| it.connection.owns(flow));
        let Some(at) = at else { return false };
        match *input {
            In::Up { flow } => {
                let mut nonce = [0; 32];
                self.random.fill_bytes(&mut nonce);
                self.controllers[at].connection.opened(now, flow, &self.own, nonce);
            }
            In::Down { ref flow, .. } => self.closed(now, at, flow),
            In::Message { ref flow, bytes } => self.message(now, at, (flow, bytes), out),
            In::Written { ref flow, left, .. } => {
                self.controllers[at].connection.written(flow, left);
                self.restate(at);
            }
            _ => {}
        }
        true
    }

    fn closed(&mut self, now: Time, at: usize, flow: &Flow) {
        if self.controllers[at].connection.closed(now, flow) {
            self.lost(now, at);
        }
    }

    fn lost(&mut self, now: Time, at: usize) {
        self.controllers[at].lost(now);
        self.metrics.add(MediaMetric::Lost, 1);
        self.leave_at = self.leave_at.min(now + self.settings.media.gone_after());
    }

    fn message(&mut self, now: Time, at: usize, said: (&Flow, &[u8]), out: &mut Effects) {
        let (flow, bytes) = said;
        match self.controllers[at].connection.message(now, flow, bytes, &self.own) {
            Heard::Nothing => {}
            Heard::Violation(what) => {
                self.controllers[at].violation = Some(what);
                if self.controllers[at].connection.refuse(now, out) {
                    self.lost(now, at);
                }
            }
            Heard::Message(Message::Hello { epoch, fingerprint, .. }) => {
                self.controllers[at].leases.set_fingerprint(fingerprint.map(|it| *it));
                self.greeted(now, at, epoch);
            }
            Heard::Message(Message::Grant { group, is_v6, blocks, addresses }) => {
                let controller = &mut self.controllers[at];
                controller.leases.grant(&group, is_v6, &blocks, &addresses);
                let Controller { unclaimed, leases, .. } = controller;
                unclaimed.retain(|(_, local)| !leases.claim(*local));
            }
            Heard::Message(Message::Event { stream, end, event }) => {
                self.count(&event);
                let is_traced = self.controllers[at].load().traces;
                let known = self.sessions.at(key(stream.call));
                if let Some(owner) = known.filter(|it| it.session.is_some()).map(|it| it.owner) {
                    let line = stream.line;
                    self.notices.push(Notice::Stream { owner, line, end, event, is_traced });
                }
            }
            Heard::Message(Message::Load(load)) => self.controllers[at].loaded(load),
            Heard::Message(Message::Ack { .. }) => {
                self.controllers[at].acknowledged();
                self.claimed(at);
                self.restate(at);
            }
            Heard::Message(_) => {}
        }
    }

    fn count(&self, event: &Event) {
        match event {
            Event::Latched(_) => self.metrics.add(MediaMetric::Latched, 1),
            Event::OneWay => self.metrics.add(MediaMetric::OneWay, 1),
            Event::TimedOut => self.metrics.add(MediaMetric::TimedOut, 1),
            Event::Digit(..) => self.metrics.add(MediaMetric::Digits, 1),
            Event::Unprotected(count) => {
                self.metrics.add(MediaMetric::Unprotected, u64::from(*count));
            }
            Event::Quality(quality) => {
                self.metrics.observe(MediaMetric::Quality, quality.mos_hundredths.into());
            }
        }
    }

    /// A media controller stands. One that began anew knows of no lease.
    fn greeted(&mut self, now: Time, at: usize, epoch: u64) {
        let controller = &mut self.controllers[at];
        if controller.epoch.is_some_and(|known| known != epoch) {
            controller.leases.forget();
            controller.unclaimed = held(&self.sessions, at);
        }
        controller.say_leases();
        self.renew_keys(now, at, epoch);
        self.controllers[at].greeted(epoch);
        self.beat_at = self.beat_at.min(now + BEAT);
        self.restate(at);
    }

    /// No index is used twice under one key: calls whose keys were used in another life of their
    /// media controller need others.
    fn renew_keys(&mut self, now: Time, at: usize, epoch: u64) {
        for index in 0..self.sessions.places() {
            let Some(key) = self.sessions.user_of(index) else { continue };
            let known = self.sessions.at(key);
            let is_other = |it: &&Anchored| usize::from(it.controller) == at && it.epoch != epoch;
            if known.filter(is_other).is_none() {
                continue;
            }
            let Some(anchored) = self.sessions.at_mut(key) else { continue };
            let was = core::mem::replace(&mut anchored.epoch, epoch);
            let Some(session) = anchored.session.as_mut().filter(|_| was != 0) else { continue };
            let gone = session.renew_keys().len();
            if gone > 0 {
                let gone = i32::try_from(gone).unwrap_or(0);
                self.controllers[at].counted(-gone);
                self.renewing.push(key);
                self.leave_at = self.leave_at.min(now);
            }
        }
    }

    /// Says more of everything, as long as there is room for it.
    fn restate(&mut self, at: usize) {
        let controller = &mut self.controllers[at];
        while let Some(index) = controller.restating {
            if !controller.connection.has_room() {
                return;
            }
            if index >= self.sessions.places() {
                controller.restating = None;
                controller.connection.say(Message::End);
                // What was leased once shows again by now: by the lease, or by a stream.
                controller.say_leases();
                controller.claims_until = Some(controller.connection.said());
                return;
            }
            controller.restating = Some(index + 1);
            let Some(key) = self.sessions.user_of(index) else { continue };
            let anchored = self.sessions.at(key).filter(|it| usize::from(it.controller) == at);
            let said = anchored.and_then(|it| Some((key, it.session.as_ref()?, &it.trace)));
            let Some(said) = said else { continue };
            let lines: Vec<u8> = said.1.streams().map(|(line, _)| line).collect();
            lines.into_iter().for_each(|line| put(controller, said, line));
        }
    }

    /// All leases have shown: pairs that are in none are not ours any more.
    fn claimed(&mut self, at: usize) {
        let controller = &mut self.controllers[at];
        let until = controller.claims_until;
        if until.is_none_or(|until| controller.connection.done() < until) {
            return;
        }
        controller.claims_until = None;
        controller.restated();
        let mut keys: Vec<Key> = controller.unclaimed.drain(..).map(|(key, _)| key).collect();
        keys.dedup();
        for key in keys {
            if let Some(anchored) = self.sessions.at(key) {
                self.notices.push(Notice::Gone { owner: anchored.owner });
            }
        }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        if !self.is_active {
            return;
        }
        for at in 0..self.controllers.len() {
            if self.controllers[at].connection.tick(now, out) {
                self.lost(now, at);
            }
        }
        if self.beat_at <= now {
            self.beat_at = now + BEAT;
            for controller in &mut self.controllers {
                controller.leases.beat();
                controller.say_leases();
            }
        }
        if self.leave_at <= now {
            self.leave_at = Time::MAX;
            (0..self.controllers.len()).for_each(|at| self.leave_gone(now, at));
            let rest = self.renewing.len().saturating_sub(LEAVING_AT_ONCE as usize);
            for key in self.renewing.split_off(rest) {
                let anchored = self.sessions.at(key);
                let owner = anchored.map(|anchored| anchored.owner);
                self.notices.extend(owner.map(|owner| Notice::Renew { owner }));
            }
            if !self.renewing.is_empty() {
                self.leave_at = self.leave_at.min(now + LEAVING_EVERY);
            }
        }
    }

    /// A call could not get new keys just now, for an INVITE of it is under way: it is told to
    /// renew them once more.
    pub fn renew_later(&mut self, now: Time, key: Key) {
        self.renewing.push(key);
        self.leave_at = self.leave_at.min(now + BEAT);
    }

    /// The calls of a media controller that is gone are told to move, a few at once.
    fn leave_gone(&mut self, now: Time, at: usize) {
        let after = self.settings.media.gone_after();
        let keeps = self.settings.media.gone == Gone::Keep;
        let controller = &mut self.controllers[at];
        let Some(lost_at) = controller.lost_at.filter(|_| controller.calls > 0 && !keeps) else {
            return;
        };
        let gone_at = if controller.is_removed { lost_at } else { lost_at + after };
        if now < gone_at {
            self.leave_at = self.leave_at.min(gone_at);
            return;
        }
        let mut index = controller.leaving.unwrap_or(0);
        let mut left = LEAVING_AT_ONCE;
        while left > 0 && index < self.sessions.places() {
            let key = self.sessions.user_of(index);
            let anchored = key.and_then(|key| self.sessions.at(key));
            if let Some(anchored) = anchored.filter(|it| usize::from(it.controller) == at) {
                self.notices.push(Notice::Gone { owner: anchored.owner });
                left -= 1;
            }
            index += 1;
        }
        let is_end = index >= self.sessions.places();
        controller.leaving = (!is_end).then_some(index);
        // Those that could not move just now are told once more.
        let next = if is_end { BEAT } else { LEAVING_EVERY };
        self.leave_at = self.leave_at.min(now + next);
    }

    /// When [`Client::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if !self.is_active || self.controllers.is_empty() {
            return None;
        }
        let connections = self.controllers.iter().filter_map(|it| it.connection.deadline());
        let beat = self.controllers.iter().any(|it| it.connection.is_up()).then_some(self.beat_at);
        let leave = (self.leave_at < Time::MAX).then_some(self.leave_at);
        connections.chain(beat).chain(leave).min()
    }

    /// Gives what media controllers are told to the runtime: in the flush of the messages of SIP.
    #[inline]
    pub fn flush(&mut self, out: &mut Effects) {
        for controller in &mut self.controllers {
            controller.connection.flush(out);
        }
    }

    /// Another node serves, or this one does. A call that has no owner among those that
    /// `stands` knows ends.
    pub fn activate(
        &mut self,
        now: Time,
        is_active: bool,
        stands: &dyn Fn(Key) -> bool,
        out: &mut Effects,
    ) {
        self.is_active = is_active;
        self.sessions.watch(is_active);
        if !is_active {
            self.controllers.iter_mut().for_each(|it| it.connection.hang_up(Time::MAX, out));
            return;
        }
        self.sessions.settle();
        let gone = self.sessions.iter().filter(|(_, it)| it.session.is_none() || !stands(it.owner));
        let gone: Vec<Key> = gone.map(|(key, _)| key).collect();
        gone.into_iter().for_each(|key| self.sessions.give_back(key));
        self.beat_at = now + BEAT;
        for at in 0..self.controllers.len() {
            let is_removed = self.controllers[at].is_removed;
            let controller = &mut self.controllers[at];
            controller.leases.forget();
            controller.epoch = None;
            controller.unclaimed = held(&self.sessions, at);
            let own = self.sessions.iter().filter(|(_, it)| usize::from(it.controller) == at);
            let own = own.filter_map(|(_, it)| Some((it.promised, it.session.as_ref()?)));
            (controller.calls, controller.streams, controller.promised) = (0, 0, 0);
            for (promised, session) in own {
                controller.calls += 1;
                controller.streams += u32::try_from(session.streams().count()).unwrap_or(0);
                controller.promised += promised;
            }
            controller.connection.hang_up(if is_removed { Time::MAX } else { now }, out);
            self.lost(now, at);
        }
    }

    /// Forgets every call: a standby begins again.
    pub fn clear(&mut self) {
        self.sessions.clear();
    }
}

/// The pairs that calls have of a media controller.
fn held(sessions: &Slots<Anchored>, at: usize) -> Vec<(Key, Local)> {
    let own = sessions.iter().filter(|(_, it)| usize::from(it.controller) == at);
    let sessions = own.filter_map(|(key, it)| Some((key, it.session.as_ref()?)));
    sessions.flat_map(|(key, it)| it.locals().map(move |(_, local)| (key, local))).collect()
}
