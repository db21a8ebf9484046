//! Finding the forwarder, telling it everything, and telling it what changes.

use crate::compile::compile;
use crate::desired::Desired;
use crate::numbers::Numbers;
use crate::stations::Stations;
use crate::{FLUSH, Fact, ProviderEdge, REFUSALS_MAX, RETRY, WELCOME};
use forwarder::wire::{PortSpec, Reply, WorkerState};
use forwarder::{Control, Lost};
use machine::Time;
use nodes::Program;
use nodes::program::MacChange;
use runtime::{Effects, PortId};
use std::sync::Arc;

/// The number under which the shard watches the connection.
const CONTROL: PortId = PortId(0);

impl ProviderEdge {
    /// Looks for a forwarder; starts one where there is none.
    pub(crate) fn look(&mut self, now: Time, out: &mut Effects) {
        self.next_try = now + RETRY;
        let launch = &self.settings.launch;
        let control = Control::connect(&launch.socket, launch.keys.clone());
        let Ok(control) = control else {
            if let Err(why) = launch.start() {
                self.refused("the forwarder", &why);
            }
            return;
        };
        match control.descriptor() {
            Ok(descriptor) => {
                let descriptor = Arc::new(descriptor);
                out.watch(CONTROL, Arc::clone(&descriptor));
                self.watched = Some(descriptor);
                self.control = Some(control);
                self.welcome_until = now + WELCOME;
            }
            Err(error) => self.refused("the forwarder", &error.to_string()),
        }
    }

    /// Does something with the control, if there is one; when that fails it is gone.
    pub(crate) fn with_control(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut Control) -> Result<(), Lost>,
    ) {
        let Some(control) = &mut self.control else { return };
        match act(control) {
            Ok(()) => self.next_try = now + FLUSH,
            Err(why) => self.lose(now, &why),
        }
    }

    /// Gives up a forwarder that does not welcome this control.
    pub(crate) fn hurry(&mut self, now: Time) {
        if self.control.is_none() || self.said.is_some() || now < self.welcome_until {
            return;
        }
        if self.settings.launch.keys.is_some() {
            let why = "it asks for no key: end it, so that it is started with `key_file`";
            self.refused("the forwarder", why);
        }
        self.lose(now, &Lost::Silent);
    }

    fn lose(&mut self, now: Time, why: &Lost) {
        self.facts.add(Fact::Lost, 1);
        self.facts.set(Fact::Connected, 0);
        if !self.is_draining {
            self.refused("the connection to the forwarder", &why.to_string());
        }
        (self.control, self.watched, self.said) = (None, None, None);
        self.stations = Stations::default();
        self.links.clear();
        self.next_try = now + RETRY;
    }

    /// Takes what the forwarder has said.
    pub(crate) fn hear(&mut self, now: Time) {
        let Some(control) = &mut self.control else { return };
        match control.replies() {
            Ok(replies) => replies.into_iter().for_each(|reply| self.take(now, reply)),
            Err(why) => self.lose(now, &why),
        }
    }

    pub(crate) fn take(&mut self, now: Time, reply: Reply) {
        match reply {
            Reply::Welcome { ports, memo } => self.adopt(now, &ports, &memo),
            Reply::Refused { what, why } => self.refused(&what, &why),
            Reply::Link { port, up } => {
                self.links.insert(port, up);
                let up = self.links.values().filter(|up| **up).count();
                self.facts.set(Fact::PortsUp, up as u64);
                self.facts.set(Fact::PortsDown, (self.links.len() - up) as u64);
            }
            Reply::Mac(notice) => {
                self.facts.add(
                    match notice.what {
                        MacChange::Moved { .. } => Fact::MacsMoved,
                        MacChange::Frozen { .. } => Fact::MacsFrozen,
                        MacChange::Thawed => Fact::MacsThawed,
                        MacChange::Refused { .. } => Fact::MacsRefused,
                    },
                    1,
                );
                self.stations.note(now, notice);
            }
            Reply::Worker { worker, state, why } => {
                match state {
                    WorkerState::Dead => self.facts.add(Fact::WorkersCrashed, 1),
                    WorkerState::Hung => self.facts.add(Fact::WorkersHung, 1),
                    WorkerState::Forwards => {}
                }
                let before = self.workers.get(&worker).map(|(at, ..)| *at);
                // That it is back does not end the alarm of its crash.
                let at = if state == WorkerState::Forwards { before.unwrap_or(now) } else { now };
                self.workers.insert(worker, (at, state, why));
            }
            // This control asks by connections of their own, and challenges are met below it.
            Reply::Answer { .. } | Reply::Challenge { .. } => {}
        }
    }

    pub(crate) fn refused(&mut self, what: &str, why: &str) {
        self.facts.add(Fact::Refused, 1);
        if self.refusals.len() == REFUSALS_MAX {
            self.refusals.pop_front();
        }
        self.refusals.push_back((what.to_owned(), why.to_owned()));
    }

    /// Tells a forwarder everything: what it does not hear again it removes.
    fn adopt(&mut self, now: Time, standing: &[PortSpec], memo: &[u8]) {
        self.facts.add(Fact::Adopted, 1);
        self.facts.set(Fact::Connected, 1);
        if let Ok(numbers) = serde_json::from_slice::<Numbers>(memo) {
            self.numbers = numbers;
        }
        let desired = compile(&self.settings.pe, &self.settings.routes, &mut self.numbers);
        let known = standing.iter().map(|spec| (spec.port, spec.clone())).collect();
        let before = Desired { ports: known, ..Desired::default() };
        let generation = now.as_nanos();
        let begin = Program::Begin { generation };
        let end = Program::End { generation };
        let programs: Vec<Program> =
            [begin].into_iter().chain(desired.whole()).chain([end]).collect();
        self.tell(now, &before, desired, &programs);
    }

    /// Tells the forwarder what the new settings change.
    pub(crate) fn change(&mut self, now: Time) {
        let Some(said) = self.said.take() else { return };
        let desired = compile(&self.settings.pe, &self.settings.routes, &mut self.numbers);
        let programs = said.changes(&desired);
        self.refusals.clear();
        self.tell(now, &said, desired, &programs);
    }

    fn tell(&mut self, now: Time, before: &Desired, desired: Desired, programs: &[Program]) {
        let memo = serde_json::to_vec(&self.numbers).unwrap_or_default();
        self.facts.add(Fact::Programs, programs.len() as u64);
        self.facts.set(Fact::Routes, (desired.routes4.len() + desired.routes6.len()) as u64);
        let gone: Vec<u16> = before.ports.keys().copied().collect();
        let gone = gone.into_iter().filter(|port| !desired.ports.contains_key(port));
        let gone: Vec<u16> = gone.collect();
        for port in &gone {
            self.links.remove(port);
        }
        self.with_control(now, |control| {
            for (number, spec) in &desired.ports {
                if before.ports.get(number) != Some(spec) {
                    control.open(spec.clone())?;
                }
            }
            control.apply(programs)?;
            gone.iter().try_for_each(|port| control.close(*port))?;
            control.keep(memo)
        });
        if self.control.is_some() {
            self.said = Some(desired);
        }
    }
}
