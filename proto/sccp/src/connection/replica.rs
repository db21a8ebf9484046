//! Connections that several nodes with one point code share: what stands is told as tagged fields,
//! and another node goes on with it.
//!
//! A connection of class 2 goes on as it is. Of one of class 3 the numbers are told where it is
//! handed over alone: after a death nobody knows how far they were, and it is reset (Q.714 §3.7),
//! so that both users hear that data may be lost.

use super::flow::Flow;
use super::section::{Known, Reset, Section, Source, State, Way};
use super::table::{Connections, PART_SHIFT};
use crate::codec::{ConnectionClass, LocalReference, ResetCause};
use bytes::Bytes;
use m3ua::codec::PointCode;
use machine::identity::hash_combine;
use machine::{Time, narrow};
use std::ops::RangeInclusive;
use wire::Malformed;
use wire::field::{self, Fields};

const SPEC: &str = "proto/sccp, record of a connection";
/// Pieces that wait for credit of a connection that is handed over, at most: the others are lost,
/// and it is reset.
const WAITING_MAX: usize = 128;

mod tag {
    pub(super) const OWN: u8 = 1;
    pub(super) const REMOTE: u8 = 2;
    pub(super) const SENDER: u8 = 3;
    pub(super) const CLASS: u8 = 4;
    pub(super) const OTHER: u8 = 5;
    pub(super) const BOUND: u8 = 6;
    pub(super) const SUBSYSTEM: u8 = 7;
    pub(super) const STATE: u8 = 8;
    pub(super) const COUPLED: u8 = 9;
    pub(super) const CREDIT: u8 = 10;
    pub(super) const FLOW: u8 = 11;
    pub(super) const WAITING: u8 = 12;
    pub(super) const EXPEDITED: u8 = 13;
}

/// What is told of a connection since it was asked for last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionReport<'a> {
    /// It stands so; data of which more follows are told behind it.
    Stands {
        /// The fields.
        fields: &'a [u8],
        /// What follows from it may be said when the other node knows it, and not before: the
        /// connection is there.
        holds: bool,
    },
    /// Data came, of which more follows.
    Piece(&'a [u8]),
    /// Something was said in it, and it stands as it did.
    Same,
    /// It is no more; whether it was told.
    Gone(bool),
}

/// A connection that stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing<'a> {
    /// Its local reference.
    pub reference: LocalReference,
    /// The fields.
    pub fields: &'a [u8],
    /// Data that came, of which more follows.
    pub came: &'a [u8],
}

/// A connection that was restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Its class: until it is agreed, the one that was proposed.
    pub class: ConnectionClass,
    /// Whether it is there: both sides have agreed to it.
    pub is_there: bool,
    /// Whether it is on its way to its end: its user knows nothing of it any more.
    pub is_ending: bool,
    /// Whether it is coupled with another one: no user has it.
    pub is_coupled: bool,
}

/// What is kept where nodes share connections.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Parts in which connections begin here.
    parts: Vec<u8>,
    turn: usize,
    /// Sections in which something happened; those that ended, and whether they were told.
    pub(super) touched: Vec<LocalReference>,
    pub(super) ended: Vec<(LocalReference, bool)>,
    /// Those that were restored, and whether their numbers were.
    restored: Vec<(LocalReference, bool)>,
}

impl Shared {
    /// The part in which the next connection begins: each in its turn.
    pub(super) fn next_part(&mut self) -> Option<u8> {
        self.turn = self.turn.wrapping_add(1);
        self.parts.get(self.turn.checked_rem(self.parts.len())?).copied()
    }

    /// References of the parts in which connections begin.
    pub(super) const fn numbers(&self) -> usize {
        self.parts.len() << PART_SHIFT
    }

    pub(super) fn forget(&mut self, of: &RangeInclusive<LocalReference>) {
        self.touched.retain(|it| !of.contains(it));
        self.ended.retain(|it| !of.contains(&it.0));
        self.restored.retain(|it| !of.contains(&it.0));
    }
}

/// The part of a reference.
pub(super) const fn part_of(reference: LocalReference) -> u8 {
    let [_, part, _, _] = reference.number().to_be_bytes();
    part
}

/// The references of parts.
fn references(parts: &RangeInclusive<u8>) -> RangeInclusive<LocalReference> {
    let first = |part: u8| u32::from(part) << PART_SHIFT;
    let last = first(*parts.end()) | ((1 << PART_SHIFT) - 1);
    LocalReference::truncated(first(*parts.start()))..=LocalReference::truncated(last)
}

/// Appends what stands; times are what is left of them at `now`, without it they are none. Where it
/// is handed over `whole`, the numbers of class 3 and what waits are told as well.
fn write(
    now: Option<Time>,
    it: &Section,
    couple: Option<LocalReference>,
    is_whole: bool,
    out: &mut Vec<u8>,
) {
    let left = |due: Time| now.map_or(0, |now| narrow::micros(due.since(now))).to_be_bytes();
    field::number(out, tag::OWN, it.way.own.number().into());
    field::number(out, tag::REMOTE, it.way.remote.number().into());
    field::number(out, tag::SENDER, it.source.opc.number().into());
    field::bytes(out, tag::CLASS, &[it.class.number()]);
    if let Some(other) = it.other {
        field::number(out, tag::OTHER, other.number().into());
    }
    if it.is_bound {
        field::bytes(out, tag::BOUND, &[]);
    }
    if let Some(subsystem) = it.subsystem {
        field::bytes(out, tag::SUBSYSTEM, &[subsystem]);
    }
    let (kind, cause, times) = match it.state {
        State::Requested(until) => (0, 0, [until, until]),
        State::Abandoned(until) => (1, 0, [until, until]),
        State::Offered(until) => (2, 0, [until, until]),
        // Whoever goes on asks for another reset.
        State::Active(Reset::None | Reset::Asked(_)) => (3, 0, [it.armed; 2]),
        State::Active(Reset::Told) => (4, 0, [it.armed; 2]),
        State::Releasing { cause, again, until } => (5, cause, [again, until]),
    };
    let times = if kind == 3 || kind == 4 { [[0; 8]; 2] } else { times.map(left) };
    field::nested(out, tag::STATE, |out| {
        out.extend([kind, cause]);
        out.extend(times.concat());
    });
    if let Some(couple) = couple {
        field::number(out, tag::COUPLED, couple.number().into());
    }
    field::bytes(out, tag::CREDIT, &[it.flow.credit()]);
    let has_numbers = matches!(it.state, State::Active(Reset::None));
    let waiting = it.waiting.len().max(it.expedited.len());
    if is_whole && has_numbers && waiting <= WAITING_MAX {
        field::bytes(out, tag::FLOW, &it.flow.octets());
        for (more, data) in &it.waiting {
            field::nested(out, tag::WAITING, |out| {
                out.push(u8::from(*more));
                out.extend_from_slice(data);
            });
        }
        for data in &it.expedited {
            field::bytes(out, tag::EXPEDITED, data);
        }
    }
}

/// Reads what another node has told at that time: the section, the one that it is coupled with, and
/// whether its numbers are known.
fn read(
    at: Time,
    now: Time,
    octets: &[u8],
) -> Result<(Box<Section>, Option<LocalReference>, bool), Malformed> {
    let lacks = |what: &'static str| Malformed::new(0, what, SPEC);
    let number = |value: &[u8]| narrow::at_most(field::read(value), u32::MAX);
    let code = |value: &[u8]| PointCode::new(number(value));
    let reference = |value: &[u8]| LocalReference::truncated(number(value));
    let (mut own, mut remote, mut sender, mut state) = (None, None, None, None);
    let (mut class, mut credit, mut couple, mut flow) = (ConnectionClass::Basic, 1, None, None);
    for (tag, value) in Fields::new(octets) {
        match (tag, value) {
            (tag::OWN, value) => own = code(value),
            (tag::REMOTE, value) => remote = code(value),
            (tag::SENDER, value) => sender = code(value),
            (tag::CLASS, [3, ..]) => class = ConnectionClass::FlowControl,
            (tag::STATE, value) => state = state_of(at, value),
            (tag::COUPLED, value) => couple = Some(reference(value)),
            (tag::CREDIT, [it, ..]) => credit = (*it).clamp(1, 127),
            (tag::FLOW, value) => flow = value.first_chunk().map(|it| Flow::of(*it)),
            _ => {}
        }
    }
    let own = own.ok_or_else(|| lacks("its own point code lacks"))?;
    let remote = remote.ok_or_else(|| lacks("the other point code lacks"))?;
    let state = state.ok_or_else(|| lacks("the state lacks"))?;
    let source = Source { by: None, opc: sender.unwrap_or(remote) };
    let mut it = Section::new(Way { own, remote }, source, class, credit, state, now);
    for (tag, value) in Fields::new(octets) {
        match (tag, value) {
            (tag::OTHER, value) => it.other = Some(reference(value)),
            (tag::BOUND, _) => it.is_bound = true,
            (tag::SUBSYSTEM, [subsystem, ..]) => it.subsystem = Some(*subsystem),
            (tag::WAITING, [more, data @ ..]) if it.waiting.len() < WAITING_MAX => {
                it.waiting.push_back((*more != 0, Bytes::copy_from_slice(data)));
            }
            (tag::EXPEDITED, data) if it.expedited.len() < WAITING_MAX => {
                it.expedited.push_back(Bytes::copy_from_slice(data));
            }
            _ => {}
        }
    }
    if let State::Active(_) | State::Releasing { .. } | State::Offered(_) = it.state
        && it.other.is_none()
    {
        return Err(lacks("the other reference lacks"));
    }
    let has_numbers = flow.is_some();
    it.flow = flow.unwrap_or(it.flow);
    Ok((it, couple, has_numbers))
}

fn state_of(at: Time, value: &[u8]) -> Option<State> {
    let ([kind, cause], times) = value.split_first_chunk()?;
    let ([first, second], _) = times.as_chunks::<8>() else { return None };
    let due = |it: &[u8; 8]| at + machine::Duration::from_micros(u64::from_be_bytes(*it));
    let (again, until) = (due(first), due(second));
    Some(match kind {
        0 => State::Requested(until),
        1 => State::Abandoned(until),
        2 => State::Offered(until),
        3 => State::Active(Reset::None),
        4 => State::Active(Reset::Told),
        _ => State::Releasing { cause: *cause, again, until },
    })
}

impl Connections {
    /// The parts in which connections begin here.
    pub(crate) fn begin_in(&mut self, parts: Vec<u8>) {
        self.shared.parts = parts;
    }

    fn fields(
        &self,
        now: Option<Time>,
        reference: LocalReference,
        it: &Section,
        is_whole: bool,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        write(now, it, self.couples.get(&reference).copied(), is_whole, &mut out);
        out
    }

    /// Tells in which sections something happened since this was asked last.
    pub(crate) fn changes(
        &mut self,
        now: Time,
        tell: &mut dyn FnMut(LocalReference, ConnectionReport<'_>),
    ) {
        let mut touched = core::mem::take(&mut self.shared.touched);
        touched.sort_unstable();
        touched.dedup();
        for reference in touched.drain(..) {
            let Some(it) = self.section(reference) else { continue };
            let number = hash_combine(1, &self.fields(None, reference, it, false)) | 1;
            // What of class 3 is not whole is lost with a node: the connection is reset then.
            let is_basic = it.class == ConnectionClass::Basic;
            let came = if is_basic { &*it.came } else { &[] };
            let told = Known { fields: number, came: came.len() };
            if number != it.told.fields || told.came < it.told.came {
                let fields = self.fields(Some(now), reference, it, false);
                let holds = matches!(it.state, State::Active(_) | State::Releasing { .. });
                tell(reference, ConnectionReport::Stands { fields: &fields, holds });
                if !came.is_empty() {
                    tell(reference, ConnectionReport::Piece(came));
                }
            } else if let Some(piece @ [_, ..]) = came.get(it.told.came..) {
                tell(reference, ConnectionReport::Piece(piece));
            } else {
                tell(reference, ConnectionReport::Same);
            }
            self.note_known(reference, told);
        }
        self.shared.touched = touched;
        for (reference, was_told) in core::mem::take(&mut self.shared.ended) {
            tell(reference, ConnectionReport::Gone(was_told));
        }
    }

    /// Tells sections of parts from that reference on, until `tell` says that it is enough: where
    /// the next one stands.
    pub(crate) fn standing(
        &self,
        now: Time,
        parts: &RangeInclusive<u8>,
        from: LocalReference,
        is_whole: bool,
        tell: &mut dyn FnMut(Standing<'_>) -> bool,
    ) -> Option<LocalReference> {
        let all = references(parts);
        let from = from.max(*all.start());
        if from > *all.end() {
            return None;
        }
        for (reference, it) in self.sections_of(from..=*all.end()) {
            let fields = self.fields(Some(now), reference, it, is_whole);
            let came = if it.class == ConnectionClass::Basic || is_whole { &*it.came } else { &[] };
            if !tell(Standing { reference, fields: &fields, came }) {
                return Some(reference);
            }
        }
        None
    }

    /// Restores a section as another node has told it at that time, with data that came of which
    /// more follows. Something is said in it with [`Connections::resume`].
    ///
    /// # Errors
    /// It lacks something, or something stands for its reference.
    pub(crate) fn restore(
        &mut self,
        now: Time,
        at: Time,
        reference: LocalReference,
        octets: &[u8],
        came: &[u8],
    ) -> Result<Restored, Malformed> {
        let (mut section, couple, has_numbers) = read(at, now, octets)?;
        if came.len() <= self.parameters.data_octets_max {
            section.came = came.to_vec();
        }
        let fields = hash_combine(1, &{
            let mut out = Vec::new();
            write(None, &section, couple, false, &mut out);
            out
        });
        section.told = Known { fields: fields | 1, came: came.len() };
        let restored = Restored {
            class: section.class,
            is_there: matches!(section.state, State::Active(_)),
            is_ending: matches!(section.state, State::Abandoned(_) | State::Releasing { .. }),
            is_coupled: couple.is_some(),
        };
        if !self.put(reference, section) {
            return Err(Malformed::new(0, "something stands for its reference", SPEC));
        }
        // Whoever stands by knows it.
        self.shared.touched.pop();
        self.shared.restored.push((reference, has_numbers));
        if let Some(couple) = couple {
            self.couples.insert(reference, couple);
        }
        Ok(restored)
    }

    /// Those that were restored go on: whose numbers nobody knows are reset, and what waits for the
    /// other side is said again.
    pub(crate) fn resume(&mut self, now: Time) {
        for (reference, has_numbers) in core::mem::take(&mut self.shared.restored) {
            let Some(mut section) = self.take(reference) else { continue };
            let is_3 = section.class == ConnectionClass::FlowControl;
            match section.state {
                State::Active(Reset::None) if is_3 && !has_numbers => {
                    self.reset_by_us(now, reference, &mut section, ResetCause::Unqualified);
                }
                State::Active(Reset::Told) => {
                    let cause = ResetCause::Unqualified.number();
                    self.tell(reference, super::ConnectionEvent::Reset(cause));
                }
                State::Active(Reset::None) => self.send_waiting(now, reference, &mut section),
                State::Releasing { cause, .. } => {
                    self.send_released(now, reference, &mut section, cause, None);
                }
                _ => {}
            }
            self.keep(reference, section);
        }
    }

    /// Another node serves these parts now: what stands in them is forgotten, and nobody told.
    pub(crate) fn leave(&mut self, parts: &RangeInclusive<u8>) {
        self.forget(references(parts));
    }
}
