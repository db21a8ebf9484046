//! Rows at the other node of a pair: what that one is told, which answers wait until it has that,
//! and what this node takes while the other one serves.
//!
//! ```text
//!   active    put, take ─→ change ─→ mark … followed ─→ answer     standby   change ─→ row, log
//!             asked for all: rows in the order of their keys  ───────────→   row; none before it
//!                            that was not told; after the last one none
//! change = 'v' · version                                  what follows is written so
//!        | 'p' … | 't' …                                  body of a record: a row, or none
//!        | 'r' · (octets of a body, 4 · that body) …      rows that stand, in the order of keys
//!        | 'w'                                            those were all
//! ```
//! - An answer to a put or a take leaves when the standby has it. A standby that has said nothing
//!   for [`SILENCE`] holds up nothing more, until it is heard again.
//! - A standby that is heard and lacks half of what may wait for it: puts are refused, so that it
//!   comes after. Questions and takes go on.

use crate::Answer;
use crate::record::Record;
use crate::table::Table;
use machine::{Duration, Time};
use runtime::{Effects, Mirrored, Pace, Term};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// How changes are written. It grows when a standby of the version before would be misled.
const VERSION: u8 = 1;
/// A standby that has not said for so long that it has a change holds up no answer.
const SILENCE: Duration = Duration::from_millis(150);
/// Octets of a change at most: a row that is longer is taken nowhere, since its node may get a
/// standby.
pub(crate) const CHANGE_MAX: usize = 59_000;
/// Octets of rows that are told together.
const TOGETHER: usize = 1_100;
/// Rows of a snapshot that are told in one turn, and their octets.
const ROWS_PER_TURN: usize = 512;
const OCTETS_PER_TURN: usize = 256 << 10;
/// Keys that change while this node still reads its journal; beyond them that is not believed.
const CHANGED_MAX: usize = 1 << 18;

const VERSIONED: u8 = b'v';
const ROWS: u8 = b'r';
const WHOLE: u8 = b'w';

/// What this node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Standby,
    Active,
}

/// An answer that waits for the standby.
#[derive(Debug)]
struct Held {
    change: u64,
    since: Time,
    ticket: u64,
    answer: Answer,
}

/// What a change of the active node makes of the rows here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// That one.
    Record(Record<'a>),
    /// A row that stands, behind the one that was told before it: nothing stands between them.
    Row(Record<'a>),
    /// No row stands behind the last one.
    Whole,
}

/// How a pair is, for [`crate::Status`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairStatus {
    /// Whether this node serves.
    pub is_active: bool,
    /// Of the active node: answers wait until the standby has what they say. Of the standby: it has
    /// all that was told.
    pub is_followed: bool,
    /// Answers that wait for the standby.
    pub held: usize,
    /// Answers that left though the standby had not said that it has what they say.
    pub unfollowed: u64,
    /// Puts that were refused because the standby is behind.
    pub refused: u64,
    /// Why the standby takes nothing, or not all.
    pub trouble: Option<String>,
}

/// This node as one of two.
#[derive(Debug)]
pub(crate) struct Pair {
    role: Role,
    /// Changes that are to be told at the end of the step: their octets, and where each ends.
    octets: Vec<u8>,
    ends: Vec<usize>,
    /// How many were told in all, and up to which the standby was asked whether it has them.
    changes: u64,
    marked: u64,
    /// The standby has all up to this one.
    reached: u64,
    is_followed: bool,
    held: VecDeque<Held>,
    pace: Pace,
    /// A snapshot that is being told, and the last key of it; `ended`: it was told.
    snapshot: Option<(u64, Option<Arc<[u8]>>)>,
    ended: Option<u64>,
    unfollowed: u64,
    refused: u64,
    replicated: Replicated,
    /// How recent the rows are, and before which mark the journal has been told of that.
    term: Option<Term>,
    term_mark: Option<u64>,
}

/// What a standby has of the active node's rows.
#[derive(Debug, Default)]
struct Replicated {
    is_begun: bool,
    is_understood: bool,
    is_whole: bool,
    /// The last key of the rows that were told in their order.
    behind: Option<Box<[u8]>>,
    /// Keys beyond it that changed while the journal was being read.
    changed: BTreeSet<Box<[u8]>>,
    trouble: Option<String>,
    /// It is of another version: the other node is to hear that, so that it waits for nothing.
    is_unreadable: bool,
}

impl Pair {
    /// A node that keeps still.
    pub fn new() -> Self {
        Self {
            role: Role::Standby,
            octets: Vec::new(),
            ends: Vec::new(),
            changes: 0,
            marked: 0,
            reached: 0,
            is_followed: false,
            held: VecDeque::new(),
            pace: Pace::Current,
            snapshot: None,
            ended: None,
            unfollowed: 0,
            refused: 0,
            replicated: Replicated::default(),
            term: None,
            term_mark: None,
        }
    }

    pub fn is_active(&self) -> bool {
        self.role == Role::Active
    }

    /// This node serves from now on. Whoever follows it says so.
    pub fn serve(&mut self) {
        (self.role, self.is_followed) = (Role::Active, true);
        self.reached = self.changes;
        self.replicated = Replicated::default();
    }

    /// The other one serves: nobody is answered any more.
    pub fn stand_by(&mut self) {
        let &mut Self { changes, unfollowed, refused, .. } = self;
        let (marked, reached) = (changes, changes);
        *self = Self { changes, marked, reached, unfollowed, refused, ..Self::new() };
    }

    /// What the pair says to the active node.
    pub fn hear(&mut self, input: Mirrored<'_>, answers: &mut VecDeque<(u64, Answer)>) {
        match input {
            Mirrored::Followed(Some(mark)) => {
                self.is_followed = true;
                self.reached = self.reached.max(mark);
                self.release(answers);
            }
            Mirrored::Followed(None) => self.left_alone(answers),
            Mirrored::Paced(pace) => self.pace = pace,
            // It may come before the word that this node serves. Whoever wants it may be whole
            // before it is heard of: what is answered from now on waits for it.
            Mirrored::Snapshot(number) => {
                (self.snapshot, self.is_followed) = (Some((number, None)), true);
            }
            Mirrored::Forget => {
                self.snapshot = None;
                self.replicated = Replicated { is_begun: true, ..Replicated::default() };
                self.term = None;
            }
            Mirrored::Term(term) => (self.term, self.term_mark) = (Some(term), None),
            Mirrored::Activate { .. } | Mirrored::Deactivate | Mirrored::Delta(_) => {}
        }
    }

    /// Nobody follows: what waits leaves.
    fn left_alone(&mut self, answers: &mut VecDeque<(u64, Answer)>) {
        self.is_followed = false;
        self.unfollowed += self.held.len() as u64;
        answers.extend(self.held.drain(..).map(|it| (it.ticket, it.answer)));
    }

    fn release(&mut self, answers: &mut VecDeque<(u64, Answer)>) {
        while let Some(it) = self.held.pop_front_if(|it| it.change <= self.reached) {
            answers.push_back((it.ticket, it.answer));
        }
    }

    /// Whether a put is refused, so that the standby comes after.
    pub fn refuses(&mut self) -> bool {
        let is_behind = self.pace == Pace::Behind;
        self.refused += u64::from(is_behind);
        is_behind
    }

    fn change(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.octets);
        self.ends.push(self.octets.len());
        self.changes += 1;
    }

    /// Tells of a change.
    pub fn tell(&mut self, record: &Record<'_>) {
        if self.is_active() {
            self.change(|out| record.write_body(out));
        }
    }

    /// The number of the last change.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// An answer leaves when the standby has that change.
    pub fn hold(&mut self, now: Time, change: u64, answer: (u64, Answer)) -> Option<(u64, Answer)> {
        if !self.is_followed || change <= self.reached {
            self.unfollowed += u64::from(change > self.reached);
            return Some(answer);
        }
        let (ticket, answer) = answer;
        self.held.push_back(Held { change, since: now, ticket, answer });
        None
    }

    /// Tells more of a snapshot, if one is wanted and the standby keeps up.
    pub fn tell_some(&mut self, table: &Table) {
        if self.pace != Pace::Current || !self.is_active() {
            return;
        }
        let Some((number, behind)) = self.snapshot.take() else { return };
        self.replicated.trouble = None;
        if behind.is_none() {
            self.change(|out| out.extend([VERSIONED, VERSION]));
        }
        let (mut together, mut last, mut told) = (Vec::new(), None, 0);
        let end = self.octets.len() + OCTETS_PER_TURN;
        for (key, row, until) in table.behind(behind.as_deref(), ROWS_PER_TURN) {
            if key.len() + row.len() > CHANGE_MAX {
                // Of a version that took it. Without it the other node is not whole.
                return self.is_too_long(row.len());
            }
            if !together.is_empty() && together.len() + key.len() + row.len() > CHANGE_MAX {
                self.tell_together(&mut together);
            }
            let at = together.len();
            together.extend([0; 4]);
            Record::Put { key, row, until }.write_body(&mut together);
            let length = u32::try_from(together.len() - at - 4).unwrap_or(u32::MAX);
            together[at..at + 4].copy_from_slice(&length.to_be_bytes());
            (last, told) = (Some(Arc::clone(key)), told + 1);
            if together.len() >= TOGETHER {
                self.tell_together(&mut together);
            }
            if self.octets.len() >= end {
                told = ROWS_PER_TURN;
                break;
            }
        }
        if !together.is_empty() {
            self.tell_together(&mut together);
        }
        if told < ROWS_PER_TURN {
            self.ended = Some(number);
            self.change(|out| out.push(WHOLE));
        } else {
            self.snapshot = Some((number, last));
        }
    }

    /// A row is longer than a change may be: the snapshot ends there, and not as a whole one.
    fn is_too_long(&mut self, octets: usize) {
        self.replicated.trouble = Some(format!(
            "a row of {octets} octets is too long to be told: the other node has not all rows, and \
             is told them again when it begins anew"
        ));
    }

    fn tell_together(&mut self, rows: &mut Vec<u8>) {
        self.change(|out| {
            out.push(ROWS);
            out.append(rows);
        });
    }

    /// What every step ends with.
    pub fn flush(&mut self, out: &mut Effects) {
        let mut from = 0;
        for end in self.ends.drain(..) {
            out.delta(|to| to.extend_from_slice(&self.octets[from..end]));
            from = end;
        }
        self.octets.clear();
        if self.is_active() && self.marked < self.changes {
            self.marked = self.changes;
            out.mark(self.marked);
        }
        if let Some(number) = self.ended.take() {
            out.snapshot_ended = Some(number);
        }
        if core::mem::take(&mut self.replicated.is_unreadable) {
            out.cannot_read();
        }
    }

    pub fn tick(&mut self, now: Time, answers: &mut VecDeque<(u64, Answer)>) {
        if self.held.front().is_some_and(|it| it.since + SILENCE <= now) {
            self.left_alone(answers);
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        let may_tell = self.pace == Pace::Current && self.is_active();
        let more = self.snapshot.as_ref().filter(|_| may_tell).map(|_| Time::ZERO);
        let held = self.held.front().map(|it| it.since + SILENCE);
        more.into_iter().chain(held).min()
    }

    /// Whether what stood in the journal under a key counts no more: the other node has told what
    /// stands there.
    pub fn knows_better(&self, key: &[u8]) -> bool {
        let replicated = &self.replicated;
        let is_behind = replicated.behind.as_deref().is_some_and(|behind| key <= behind);
        replicated.is_whole
            || is_behind
            || replicated.changed.contains(key)
            || replicated.changed.len() >= CHANGED_MAX
    }

    /// Whether the other node has told anything.
    pub fn has_replica(&self) -> bool {
        self.replicated.is_begun
    }

    /// Whether it has told everything.
    pub fn is_whole(&self) -> bool {
        self.replicated.is_whole
    }

    /// Takes a change of the active node: `apply` makes each of its parts.
    pub fn take(&mut self, delta: &[u8], is_reading: bool, apply: &mut dyn FnMut(Took<'_>)) {
        let Some((kind, rest)) = delta.split_first() else { return };
        let replicated = &mut self.replicated;
        if *kind == VERSIONED {
            replicated.is_understood = rest.first() == Some(&VERSION);
            replicated.is_unreadable = !replicated.is_understood;
            replicated.trouble = (!replicated.is_understood).then(|| {
                let version = rest.first().copied().unwrap_or_default();
                format!(
                    "the other node tells of its rows in version {version}, this one reads version \
                     {VERSION}: nothing of it is taken; bring both to one version"
                )
            });
            return;
        }
        if !replicated.is_understood {
            return;
        }
        match (*kind, Record::of(delta)) {
            (ROWS, _) => {
                let mut rest = rest;
                while let Some((head, more)) = rest.split_first_chunk::<4>() {
                    let length = usize::try_from(u32::from_be_bytes(*head)).unwrap_or(usize::MAX);
                    let Some((body, more)) = more.split_at_checked(length) else { break };
                    rest = more;
                    if let Some(record @ Record::Put { key, .. }) = Record::of(body) {
                        let behind = replicated.behind.as_deref();
                        apply(Took { change: Change::Row(record), behind });
                        replicated.behind = Some(key.into());
                        replicated.changed = replicated.changed.split_off(key);
                    }
                }
            }
            (WHOLE, _) => {
                apply(Took { change: Change::Whole, behind: replicated.behind.as_deref() });
                replicated.is_whole = true;
                replicated.changed.clear();
            }
            (_, Some(record @ (Record::Put { key, .. } | Record::Take { key }))) => {
                apply(Took { change: Change::Record(record), behind: None });
                if is_reading && replicated.changed.len() < CHANGED_MAX {
                    replicated.changed.insert(key.into());
                }
            }
            // Of a later minor version, which says what this one need not know.
            _ => {}
        }
    }

    /// The journal has been opened anew, and is to be told how recent the rows are.
    pub const fn tell_term_again(&mut self) {
        self.term_mark = None;
    }

    /// How recent the rows are, if the journal is to be told.
    pub fn untold_term(&self) -> Option<Term> {
        let term = self.term.filter(|it| it.served || self.replicated.is_whole)?;
        self.term_mark.is_none().then_some(term)
    }

    /// The journal is told that before this mark.
    pub const fn tells_term(&mut self, mark: u64) {
        self.term_mark = Some(mark);
    }

    /// Whether all that stands is on disk, where that is up to this mark: of two nodes that begin
    /// anew this one is believed.
    pub fn is_kept(&self, mark: u64) -> bool {
        let is_marked = self.term_mark.is_some_and(|it| it <= mark);
        !self.is_active() || self.term.is_none() || is_marked
    }

    pub fn status(&self) -> PairStatus {
        PairStatus {
            is_active: self.is_active(),
            is_followed: if self.is_active() { self.is_followed } else { self.replicated.is_whole },
            held: self.held.len(),
            unfollowed: self.unfollowed,
            refused: self.refused,
            trouble: self.replicated.trouble.clone(),
        }
    }
}

/// A part of a change, and of a row the key behind which it is the first.
#[derive(Debug)]
pub(crate) struct Took<'a> {
    pub change: Change<'a>,
    pub behind: Option<&'a [u8]>,
}
