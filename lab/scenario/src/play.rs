//! One play of a scenario: where it stands, its values, its dialogues.

use crate::program::{DIALOGUES_MAX, Program, Scenario};
use crate::template::{Name, Scope};
use machine::Time;
use serde_json::Value;
use sip_load::Became;
use std::collections::VecDeque;
use std::sync::Arc;
use tcu::{Indication, Speech};

/// Messages that came and are not waited for yet, at most.
pub(crate) const WAITING_MAX: usize = 16;

/// What a play is told.
#[derive(Debug, Clone)]
pub(crate) enum Came {
    /// In a dialogue of TCAP.
    Tc(Indication),
    /// Of a call by SIP.
    Call(Became),
}

/// How a dialogue of a play stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stands {
    /// It has not begun.
    #[default]
    Not,
    /// It was asked for; its number is not known yet.
    Begins,
    /// By its number at the endpoint.
    Open(u64),
    /// It is over.
    Over,
}

/// A dialogue of a play.
#[derive(Debug, Default)]
pub(crate) struct Dialogue {
    pub(crate) stands: Stands,
    pub(crate) speech: Speech,
    /// The invoke identifier that was used last.
    pub(crate) last_id: i8,
    /// Operations that were asked for from here.
    pub(crate) ours: Vec<(i8, Arc<str>)>,
    /// The peer's, by identifier and number, which are not answered.
    pub(crate) theirs: Vec<(i8, Option<i64>)>,
}

/// What a play waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing: it goes on.
    Not,
    /// Its step's message.
    Message,
    /// The end of its pause.
    Pause,
    /// The number of this dialogue.
    Begun(usize),
}

/// A play. Slots are used again.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) generation: u32,
    pub(crate) is_live: bool,
    pub(crate) scenario: usize,
    pub(crate) step: usize,
    /// Its number among all, from 0.
    pub(crate) number: u64,
    pub(crate) waits: Waits,
    /// When time acts on it.
    pub(crate) until: Time,
    /// The earliest entry in the wheel; [`Time::MAX`] for none.
    pub(crate) armed: Time,
    /// When it was due, when its first message was sent and when the last one.
    pub(crate) due: Time,
    pub(crate) sent: Option<Time>,
    pub(crate) sent_last: Time,
    pub(crate) is_answered: bool,
    pub(crate) is_measured: bool,
    pub(crate) rows: Vec<usize>,
    pub(crate) captured: Vec<Option<Value>>,
    pub(crate) dialogues: Vec<Dialogue>,
    /// What came before it was waited for, with its dialogue.
    pub(crate) came: VecDeque<(usize, Came)>,
}

impl Play {
    /// A slot that nobody has.
    pub(crate) const fn new() -> Self {
        Self {
            generation: 0,
            is_live: false,
            scenario: 0,
            step: 0,
            number: 0,
            waits: Waits::Not,
            until: Time::MAX,
            armed: Time::MAX,
            due: Time::ZERO,
            sent: None,
            sent_last: Time::ZERO,
            is_answered: false,
            is_measured: false,
            rows: Vec::new(),
            captured: Vec::new(),
            dialogues: Vec::new(),
            came: VecDeque::new(),
        }
    }

    /// Another play has the slot.
    pub(crate) fn open(&mut self, at: usize, scenario: &Scenario, now: Time) {
        self.is_live = true;
        (self.scenario, self.step, self.waits) = (at, 0, Waits::Not);
        (self.until, self.armed, self.due) = (Time::MAX, Time::MAX, now);
        (self.sent, self.sent_last, self.is_answered, self.is_measured) = (None, now, false, false);
        self.rows.clear();
        self.rows.resize(scenario.rows.len(), 0);
        self.captured.clear();
        self.captured.resize(scenario.captured, None);
        self.dialogues.clear();
        let count = scenario.dialogues.len().min(DIALOGUES_MAX);
        self.dialogues.resize_with(count, Dialogue::default);
        self.came.clear();
    }

    /// Its values by their names.
    pub(crate) const fn scope<'p>(&'p self, program: &'p Program) -> Values<'p> {
        Values { play: self, program }
    }
}

/// The values of a play.
pub(crate) struct Values<'p> {
    play: &'p Play,
    program: &'p Program,
}

impl Scope for Values<'_> {
    fn value(&self, name: &Name) -> Option<Value> {
        match name {
            Name::Constant(value) => Some(value.clone()),
            Name::Captured(at) => self.play.captured.get(*at)?.clone(),
            Name::Column(row, column) => {
                let scenario = self.program.scenarios.get(self.play.scenario)?;
                let table = self.program.tables.get(*scenario.rows.get(*row)?)?;
                table.cell(*self.play.rows.get(*row)?, *column).map(Value::from)
            }
            Name::Count => Some(Value::from(self.play.number)),
        }
    }
}

impl Dialogue {
    /// The next invoke identifier, 1 to 127 in turn.
    pub(crate) const fn next_id(&mut self) -> i8 {
        self.last_id = if self.last_id == i8::MAX { 1 } else { self.last_id + 1 };
        self.last_id
    }

    /// The peer's operation of that name that came last and is not answered; any, without a name.
    pub(crate) fn asked(&self, name: Option<&str>) -> Option<i8> {
        let is = |code: &Option<i64>| match (name, code) {
            (None, _) => true,
            (Some(name), Some(code)) => match self.speech.operation_name(*code) {
                Some(known) => known == name,
                None => name.parse() == Ok(*code),
            },
            (Some(_), None) => false,
        };
        self.theirs.iter().rev().find(|(_, code)| is(code)).map(|it| it.0)
    }
}
