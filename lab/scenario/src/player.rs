//! The machine that plays: it begins plays as they are due, answers what comes, and takes each play
//! from step to step.
//!
//! ```text
//!   due ─→ open ─→ advance ─┬─ send ──→ Want
//!   BEGIN ─→ answer ─→ ↑    ├─ await ─→ … told ─→ advance
//!                      │    └─ pause ─→ … tick ─→ advance
//!                      └─ all steps done: complete, or fail
//! ```

mod answer;
mod schedule;
mod sending;

use crate::came::{self, Violation};
use crate::cast::Casts;
use crate::file::Awaited;
use crate::play::{Came, Play, Stands, WAITING_MAX, Waits};
use crate::program::{Await, Program, Step};
use crate::report::{Cause, Moment, Phase, Report, Tally};
use machine::identity::mix;
use machine::{Machine, Time, Wheel};
use schedule::Schedule;
use sip_load::Became;
use std::collections::HashMap;
use std::sync::Arc;
use tcu::{Indication, Portion, Request};

/// Plays that are begun in one go; the rest is due at once.
const ARRIVALS_AT_ONCE_MAX: usize = 1_024;

/// What a role asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Which role.
    pub role: usize,
    /// What.
    pub what: Wanted,
}

/// What can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Of TCAP.
    Request(Request),
    /// A call by SIP, with a number of its own.
    Call {
        /// Names the call.
        call: u64,
        /// Who calls.
        subscriber: u32,
    },
    /// That call ends.
    Release {
        /// Which.
        call: u64,
    },
}

/// What happened.
#[derive(Debug, Clone)]
pub enum In {
    /// A role was told this.
    Indication(usize, Indication),
    /// Something became of a call of a role.
    Call(usize, u64, Became),
    /// The connection of a role is gone, and why.
    Lost(usize, String),
}

/// Plays scenarios. It is infallible: what goes wrong ends a play and is counted.
#[derive(Debug)]
pub struct Player {
    program: Arc<Program>,
    /// Which roles are played here.
    is_here: Vec<bool>,
    plays: Vec<Play>,
    free: Vec<u32>,
    /// Dialogues that stand, by role and number: the play, and which of its dialogues.
    dialogues: HashMap<(usize, u64), (usize, usize)>,
    /// Slots and generations of plays that time acts on.
    wheel: Wheel<(u32, u32)>,
    fired: Vec<(u32, u32)>,
    schedule: Schedule,
    /// The number of the next play.
    number: u64,
    random: u64,
    tally: Tally,
    /// What templates became before.
    casts: Casts,
    out: Vec<Want>,
}

/// How a message that is to be sent went.
enum Went {
    Out,
    /// The dialogue's number is not known yet.
    Later(usize),
}

impl Player {
    /// One that begins nothing until [`Player::start`]; `is_here` says of each role whether it is
    /// played here.
    #[must_use]
    pub fn new(program: Arc<Program>, is_here: Vec<bool>, seed: u64, now: Time) -> Self {
        let mut tally = Tally::default();
        tally.scenarios.resize_with(program.scenarios.len(), Default::default);
        Self {
            schedule: Schedule::new(&program, &is_here),
            program,
            is_here,
            plays: Vec::new(),
            free: Vec::new(),
            dialogues: HashMap::new(),
            wheel: Wheel::new(now),
            fired: Vec::new(),
            number: 0,
            random: seed,
            tally,
            casts: Casts::default(),
            out: Vec::new(),
        }
    }

    /// Begins plays from now on, as the file's load says; at most `count` in all.
    pub fn start(&mut self, now: Time, count: Option<u64>) {
        let seed = self.random();
        self.schedule.start(now, &self.program.load, count, seed);
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }

    /// Where the time stands.
    #[must_use]
    pub fn phase(&self, now: Time) -> Phase {
        self.schedule.phase(now, self.tally.running)
    }

    /// What happened so far.
    #[must_use]
    pub fn report(&self, now: Time) -> Report {
        let scenarios = self.program.scenarios.iter().zip(&self.tally.scenarios);
        let scenarios = scenarios.filter(|(it, _)| self.is_played(it.role)).map(|(it, counts)| {
            let role = &self.program.roles[it.role].name;
            let mut report = counts.report(&it.name, role, &it.times);
            report.answers = !it.begins;
            report
        });
        Report {
            name: self.program.name.clone(),
            phase: self.phase(now),
            rate: self.program.load.rate,
            seconds: self.schedule.past(now).as_secs_f64(),
            scenarios: scenarios.collect(),
            messages_in: self.tally.messages_in,
            messages_out: self.tally.messages_out,
            unanswered: self.tally.unanswered,
            late: self.tally.late,
            dialogues: self.dialogues.len() as u64,
            running_max: self.tally.running_max,
            lag_max_us: self.tally.lag_max_us,
            examples: self.tally.examples.clone(),
            lost: None,
            sip: std::collections::BTreeMap::new(),
        }
    }

    fn is_played(&self, role: usize) -> bool {
        self.is_here.get(role).copied().unwrap_or(false)
    }

    /// Ends what runs: plays fail, their dialogues are aborted.
    pub fn stop(&mut self, out: &mut Vec<Want>) {
        self.schedule.stop();
        self.end();
        out.append(&mut self.out);
    }

    fn end(&mut self) {
        for slot in 0..self.plays.len() {
            if self.plays[slot].is_live {
                self.fail(slot, (Cause::Unfinished, "the run ended first".into()));
            }
        }
    }

    fn arrive(&mut self, now: Time) {
        for _ in 0..ARRIVALS_AT_ONCE_MAX {
            let Some(due) = self.schedule.due(now) else { return };
            let lag = u64::try_from(now.since(due).as_micros()).unwrap_or(u64::MAX);
            self.tally.lag_max_us = self.tally.lag_max_us.max(lag);
            let Some(scenario) = self.schedule.choose() else { return };
            let is_measured = self.schedule.is_measured(due);
            let counts = &mut self.tally.scenarios[scenario];
            counts.begun += 1;
            counts.measured += u64::from(is_measured);
            let Some(slot) = self.open(now, scenario) else {
                self.full(scenario);
                continue;
            };
            self.plays[slot].due = due;
            self.plays[slot].is_measured = is_measured;
            self.number += 1;
            self.advance(now, slot);
        }
    }

    fn full(&mut self, scenario: usize) {
        *self.tally.scenarios[scenario].failures.entry(Cause::Full).or_default() += 1;
        let most = self.program.load.plays_max;
        self.tally.example(|| format!("full: {most} plays run"));
    }

    /// A slot for a play of that scenario, with its row.
    fn open(&mut self, now: Time, at: usize) -> Option<usize> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.plays.len() < self.program.load.plays_max as usize => {
                self.plays.push(Play::new());
                u32::try_from(self.plays.len() - 1).ok()?
            }
            None => return None,
        };
        let program = Arc::clone(&self.program);
        let scenario = &program.scenarios[at];
        let row = scenario.table.and_then(|it| program.tables.get(it)).map(|table| {
            let turn = match scenario.order {
                crate::file::Order::Turn => self.tally.scenarios[at].begun.saturating_sub(1),
                crate::file::Order::Random => self.random(),
            };
            usize::try_from(turn % table.len().max(1) as u64).unwrap_or_default()
        });
        let play = &mut self.plays[slot as usize];
        play.open(at, scenario, now);
        play.number = self.number;
        if let (Some(row), Some(place)) = (row, play.rows.first_mut()) {
            *place = row;
        }
        self.tally.running += 1;
        self.tally.running_max = self.tally.running_max.max(self.tally.running);
        Some(slot as usize)
    }

    /// Frees a slot.
    fn release(&mut self, slot: usize) {
        let play = &mut self.plays[slot];
        play.is_live = false;
        play.generation = play.generation.wrapping_add(1);
        play.came.clear();
        self.free.extend(u32::try_from(slot));
        self.tally.running -= 1;
    }

    /// Goes on until the play has to wait, or is over.
    fn advance(&mut self, now: Time, slot: usize) {
        let program = Arc::clone(&self.program);
        loop {
            let play = &mut self.plays[slot];
            let scenario = &program.scenarios[play.scenario];
            let went = match scenario.steps.get(play.step) {
                None => return self.finish(now, slot),
                Some(Step::Pause(least, most)) => {
                    let range = u64::try_from((*most - *least).as_nanos()).unwrap_or(u64::MAX);
                    let more = self.random() % range.saturating_add(1);
                    let pause = *least + core::time::Duration::from_nanos(more);
                    return self.wait(slot, Waits::Pause, now + pause);
                }
                Some(Step::Send(send)) => self.send(now, slot, send),
                Some(Step::Await(step)) => {
                    let of = |it: &(usize, Came)| it.0 == step.dialogue;
                    let Some(at) = play.came.iter().position(of) else {
                        return self.wait(slot, Waits::Message, now + step.within);
                    };
                    let came = play.came.remove(at);
                    let came = came.map(|(_, it)| self.take(now, slot, step, &it));
                    came.unwrap_or(Ok(())).map(|()| Went::Out)
                }
            };
            match went {
                Ok(Went::Out) => self.plays[slot].step += 1,
                Ok(Went::Later(dialogue)) => {
                    let until = now + core::time::Duration::from_secs(30);
                    return self.wait(slot, Waits::Begun(dialogue), until);
                }
                Err(violation) => return self.fail(slot, violation),
            }
        }
    }

    fn wait(&mut self, slot: usize, what: Waits, until: Time) {
        let play = &mut self.plays[slot];
        (play.waits, play.until) = (what, until);
        if until < play.armed {
            play.armed = until;
            let generation = play.generation;
            self.wheel.arm(until, (u32::try_from(slot).unwrap_or(u32::MAX), generation));
        }
    }

    /// A message that the play waits for has come: whether it is right.
    fn take(&mut self, now: Time, slot: usize, step: &Await, it: &Came) -> Result<(), Violation> {
        let program = Arc::clone(&self.program);
        let play = &mut self.plays[slot];
        came::fits(step, it, &play.dialogues[step.dialogue])?;
        came::take(step, it, play, &program)?;
        if let Some(portion) = it.portion() {
            came::note(portion, &mut play.dialogues[step.dialogue]);
        }
        let scenario = &program.scenarios[play.scenario];
        let since = |from: Time| u64::try_from(now.since(from).as_micros()).unwrap_or(u64::MAX);
        let counts = &mut self.tally.scenarios[play.scenario];
        if play.is_measured {
            let times = scenario.times.len();
            if let Some(sent) = play.sent.filter(|_| !play.is_answered) {
                counts.measure(times, Moment::Response(since(play.due), since(sent)));
            }
            if let Some(time) = step.time {
                counts.measure(times, Moment::Named(time, since(play.sent_last)));
            }
        }
        play.is_answered |= play.sent.is_some();
        Ok(())
    }

    fn finish(&mut self, now: Time, slot: usize) {
        let play = &self.plays[slot];
        let stands =
            |it: &crate::play::Dialogue| matches!(it.stands, Stands::Open(_) | Stands::Begins);
        if play.dialogues.iter().any(stands) {
            let what = "all steps are done and a dialogue stands";
            return self.fail(slot, (Cause::Open, what.into()));
        }
        if let Some((_, it)) = play.came.front() {
            let (_, what) = came::instead(it, tcu::Speech::Unknown);
            return self.fail(slot, (Cause::Unexpected, what));
        }
        let counts = &mut self.tally.scenarios[play.scenario];
        counts.completed += 1;
        if play.is_measured {
            let times = self.program.scenarios[play.scenario].times.len();
            let us = u64::try_from(now.since(play.due).as_micros()).unwrap_or(u64::MAX);
            counts.measure(times, Moment::Whole(us));
        }
        self.release(slot);
    }

    /// The play is over; its dialogues are aborted.
    fn fail(&mut self, slot: usize, violation: Violation) {
        let (cause, words) = violation;
        let program = Arc::clone(&self.program);
        let play = &mut self.plays[slot];
        let scenario = &program.scenarios[play.scenario];
        *self.tally.scenarios[play.scenario].failures.entry(cause).or_default() += 1;
        let step = play.step + 1;
        self.tally.example(|| format!("{} step {step}: {}: {words}", scenario.name, cause.name()));
        for (dialogue, role) in play.dialogues.iter_mut().zip(&scenario.dialogues) {
            if let Stands::Open(number) = dialogue.stands {
                self.dialogues.remove(&(*role, number));
                let what = if program.is_sip(*role) {
                    Wanted::Release { call: number }
                } else {
                    self.tally.messages_out += 1;
                    let portion = Portion::default();
                    Wanted::Request(Request::UAbort { dialogue: number, portion })
                };
                self.out.push(Want { role: *role, what });
            }
            dialogue.stands = Stands::Over;
        }
        self.release(slot);
    }

    /// A message of a dialogue that stands.
    fn heard(&mut self, now: Time, slot: usize, dialogue: usize, it: Came) {
        let program = Arc::clone(&self.program);
        let play = &mut self.plays[slot];
        let scenario = &program.scenarios[play.scenario];
        let is_last = match &it {
            Came::Tc(it) => it.is_last(),
            Came::Call(became) => *became != Became::Answered,
        };
        if is_last {
            let of = &mut play.dialogues[dialogue];
            if let Stands::Open(number) = of.stands {
                self.dialogues.remove(&(scenario.dialogues[dialogue], number));
            }
            of.stands = Stands::Over;
        }
        let waited = scenario.steps.get(play.step..).unwrap_or_default();
        let next = waited.iter().find_map(|step| match step {
            Step::Await(it) if it.dialogue == dialogue => Some(&**it),
            _ => None,
        });
        let is_next = next.is_some_and(|step| came::kind_of(&it) == Some(step.kind));
        // No step has to wait for the end of an operation that has no answer.
        if matches!(it, Came::Tc(Indication::Cancel { .. })) && !is_next {
            return;
        }
        let is_end = matches!(
            came::kind_of(&it),
            None | Some(Awaited::Abort | Awaited::PAbort | Awaited::Notice | Awaited::Reject)
        );
        if is_end && !is_next {
            let violation = came::instead(&it, play.dialogues[dialogue].speech);
            return self.fail(slot, violation);
        }
        if play.came.len() == WAITING_MAX {
            let what = format!("over {WAITING_MAX} messages that nothing waits for");
            return self.fail(slot, (Cause::Unexpected, what));
        }
        play.came.push_back((dialogue, it));
        let waits_for = match scenario.steps.get(play.step) {
            Some(Step::Await(step)) => Some(step.dialogue),
            _ => None,
        };
        if play.waits == Waits::Message && waits_for == Some(dialogue) {
            play.waits = Waits::Not;
            self.advance(now, slot);
        }
    }

    fn indicated(&mut self, now: Time, role: usize, it: Indication) {
        if it.portion().is_some() || matches!(it, Indication::PAbort { .. }) {
            self.tally.messages_in += 1;
        }
        match it {
            Indication::Begin { dialogue, .. } => self.answer(now, role, Some(dialogue), it),
            Indication::Uni { .. } => self.answer(now, role, None, it),
            Indication::Begun { reference, dialogue } => {
                self.begun(now, role, reference, dialogue);
            }
            Indication::Refused { reference: Some(reference), why, .. } => {
                if let Some((slot, _)) = self.referred(role, reference) {
                    let what = format!("the begin was refused: {why:?}");
                    self.fail(slot, (Cause::Refused, what));
                }
            }
            Indication::Refused { dialogue: Some(dialogue), why, .. } => {
                if let Some((slot, _)) = self.dialogues.get(&(role, dialogue)).copied() {
                    let what = format!("a request was refused: {why:?}");
                    self.fail(slot, (Cause::Refused, what));
                }
            }
            // Another instance died in the middle: its play is gone.
            Indication::Resume { dialogue, .. } => {
                let request = Request::UAbort { dialogue, portion: Portion::default() };
                self.out.push(Want { role, what: Wanted::Request(request) });
            }
            Indication::Refused { .. }
            | Indication::State { .. }
            | Indication::PointCode { .. }
            | Indication::Slow(_) => {}
            of_dialogue => {
                let number = of_dialogue.dialogue().unwrap_or_default();
                match self.dialogues.get(&(role, number)).copied() {
                    Some((slot, at)) => self.heard(now, slot, at, Came::Tc(of_dialogue)),
                    // The time of an operation in a dialogue that is over is no message.
                    None if matches!(of_dialogue, Indication::Cancel { .. }) => {}
                    None => self.tally.late += 1,
                }
            }
        }
    }

    fn lost(&mut self, role: usize, why: &str) {
        let program = Arc::clone(&self.program);
        for slot in 0..self.plays.len() {
            let play = &self.plays[slot];
            let roles = &program.scenarios[play.scenario].dialogues;
            let has =
                |it: &crate::play::Dialogue| matches!(it.stands, Stands::Open(_) | Stands::Begins);
            let is_its = play.dialogues.iter().zip(roles).any(|(it, of)| *of == role && has(it));
            if play.is_live && is_its {
                self.fail(slot, (Cause::Lost, why.to_owned()));
            }
        }
        self.out.retain(|it| it.role != role);
    }

    fn expire(&mut self, now: Time) {
        let mut fired = core::mem::take(&mut self.fired);
        self.wheel.expire(now, &mut fired);
        for (slot, generation) in fired.drain(..) {
            let slot = slot as usize;
            let Some(play) = self.plays.get_mut(slot) else { continue };
            if !play.is_live || play.generation != generation {
                continue;
            }
            play.armed = Time::MAX;
            let (waits, until) = (play.waits, play.until);
            if waits == Waits::Not {
                continue;
            }
            if until > now {
                self.wait(slot, waits, until);
                continue;
            }
            play.waits = Waits::Not;
            match waits {
                Waits::Pause => {
                    play.step += 1;
                    self.advance(now, slot);
                }
                _ => self.fail(slot, (Cause::Timeout, "it did not come in time".into())),
            }
        }
        self.fired = fired;
    }
}

impl Machine for Player {
    type In = In;
    type Out = Want;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Want>) {
        match input {
            In::Indication(role, it) => self.indicated(now, role, it),
            In::Call(role, call, became) => {
                // Of a play that has failed meanwhile nothing more is told.
                if let Some((slot, at)) = self.dialogues.get(&(role, call)).copied() {
                    self.heard(now, slot, at, Came::Call(became));
                }
            }
            In::Lost(role, why) => self.lost(role, &why),
        }
        out.append(&mut self.out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Want>) {
        self.expire(now);
        self.arrive(now);
        if now >= self.schedule.ends() && self.tally.running > 0 {
            self.end();
        }
        out.append(&mut self.out);
    }

    fn deadline(&self) -> Option<Time> {
        let ends =
            Some(self.schedule.ends()).filter(|at| self.tally.running > 0 && *at < Time::MAX);
        self.wheel.deadline().into_iter().chain(self.schedule.peek()).chain(ends).min()
    }
}
