//! What the other node of a pair is told: deltas of tagged fields, each whole in itself.
//!
//! ```text
//!   leases ── NOTE, as the forwarder's memory has it        streams ── STREAM, STREAM_GONE
//!   checks, DTLS, blocks ── AGREED                          how far indices are ── RESUME
//!   what the transcoder counts by ── CODED
//!   calls of NG ── NG_CALL, NG_GONE, NG_BLOCKS              who takes its place shows ── TOKEN
//!   the life ── EPOCH, when all was told
//! ```
//! A snapshot is nothing but each record once more, and may mix with the changes of the meantime.
//! Its last record is the epoch: a node that does not have it does not know how far keys were used,
//! and begins another life, for which session controllers agree on other keys.

use crate::MediaController;
use crate::lease::Lessee;
use crate::measures::with_rtcp;
use crate::metrics::Metric;
use crate::transcoding::Of;
use anchor::row::StreamId;
use anchor::{Local, Side};
use codec::Numbers;
use handshake::Kept;
use machine::Time;
use media::program::{Duty, LATE, Said, Snapshot, Tokens};
use nodes::Token;
use replica::DELTA_BYTES_MAX;
use replica::field;
use replica::flow::write_address;
use runtime::{Effects, Pace};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Octets of a text that one delta has.
const TEXT_OCTETS_MAX: usize = 32_768;
/// Streams and calls of a snapshot that one tick tells.
const SNAPSHOT_RECORDS: usize = 256;

pub(crate) const NOTE: u8 = 1;
pub(crate) const NOTE_GONE: u8 = 2;
pub(crate) const STREAM: u8 = 3;
pub(crate) const STREAM_GONE: u8 = 4;
pub(crate) const AGREED: u8 = 5;
pub(crate) const RESUME: u8 = 6;
pub(crate) const EPOCH: u8 = 7;
pub(crate) const NG_CALL: u8 = 8;
pub(crate) const NG_GONE: u8 = 9;
pub(crate) const NG_BLOCKS: u8 = 10;
pub(crate) const TOKEN: u8 = 11;
pub(crate) const CODED: u8 = 12;

pub(crate) mod tag {
    /// The name of a note, or of a session controller; of NG there is none.
    pub const NAME: u8 = 1;
    pub const TEXT: u8 = 2;
    pub const CALL: u8 = 3;
    pub const LINE: u8 = 4;
    pub const GENERATION: u8 = 5;
    pub const STREAM: u8 = 6;
    /// The number of an address, and a port.
    pub const ADDRESS: u8 = 7;
    pub const PORT: u8 = 8;
    pub const NOMINATED: u8 = 9;
    pub const RECEIVE: u8 = 10;
    pub const SEND: u8 = 11;
    pub const MARKS: u8 = 12;
    pub const SNAPSHOT: u8 = 13;
    pub const EPOCH: u8 = 14;
    /// 1: the rest of the text follows in the next delta.
    pub const MORE: u8 = 15;
    pub const TOKEN: u8 = 16;
    /// Of packets to an end that leave the transcoder; A's first.
    pub const NUMBERS: u8 = 17;
    /// 1: an earlier start of its session controller said it, and this one has not.
    pub const FORMER: u8 = 18;
}

/// What this node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    /// There is no other one.
    #[default]
    Alone,
    /// It was not told yet which of the two it is: what its forwarder does goes on.
    Waiting,
    /// It follows the other one.
    Standby,
    /// It serves.
    Active,
}

/// Records of a snapshot that were not told yet.
#[derive(Debug)]
struct Rest {
    number: u64,
    streams: VecDeque<(Lessee, StreamId)>,
    calls: Vec<u64>,
}

/// Notices of the forwarder.
#[derive(Debug, Default)]
struct Notices {
    /// The last one that the other node was told.
    told: u64,
    /// The last one that it has applied.
    applied: u64,
}

/// What announcements of the addresses show.
#[derive(Debug, Default)]
struct Shown {
    /// What the other node has given to this one, and what this one gives to it.
    tokens: Tokens,
    /// Whether the other node was told the latter.
    is_told: bool,
    /// Whether it has applied that: then nobody else takes the addresses.
    is_given: bool,
}

impl Shown {
    /// What the forwarder is told: it asks for no proof that nobody has.
    fn said(&self) -> Tokens {
        let heir = self.tokens.heir.filter(|_| self.is_given);
        Tokens { heir, ..self.tokens }
    }
}

/// What the other node is asked whether it has applied.
#[derive(Debug)]
struct Mark {
    number: u64,
    /// Notices up to this one.
    notices: u64,
    /// What it shows when it takes the addresses.
    has_heir: bool,
}

/// This node of a pair.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    pub role: Role,
    /// Which of its turns this is, while it serves.
    pub turn: u64,
    /// What it knew when it began to serve was not of the last term.
    pub is_outdated: bool,
    shown: Shown,
    /// What the other node has given to this one to show.
    pub given: Option<Token>,
    /// The other node is about to take over.
    pub is_leaving: bool,
    /// Until when its forwarder forwards what still comes though the other node serves.
    late_until: Option<Time>,
    /// What the other one was told of leases.
    notes: BTreeMap<String, String>,
    ng_blocks: Vec<(u16, u16)>,
    rest: Option<Rest>,
    /// How the other node keeps up: no more of a snapshot is told while it does not.
    pub pace: Pace,
    /// Another node could take over and be current.
    is_followed: bool,
    notices: Notices,
    mark: Option<Mark>,
    marks: u64,
    /// The standby could not take something that it was told: it does not know all.
    pub is_incomplete: bool,
    /// Session controllers that were told of since all was to be told.
    pub told: BTreeSet<String>,
    /// Former streams among what is being told anew.
    pub formers: Vec<(Lessee, StreamId)>,
    /// The begin of a text that came in pieces.
    pub piece: Vec<u8>,
    scratch: Vec<u8>,
}

impl Pair {
    /// Whether session controllers and NG are served here.
    pub const fn serves(&self) -> bool {
        matches!(self.role, Role::Alone | Role::Active)
    }

    /// Whether another node has the state that counts.
    pub const fn follows(&self) -> bool {
        matches!(self.role, Role::Standby)
    }

    /// Whether another node is told what changes here.
    pub const fn tells(&self) -> bool {
        matches!(self.role, Role::Active)
    }

    /// What the forwarder is told of it: whether anything, and which duty it has.
    pub const fn duty(&self) -> Option<Option<Duty>> {
        match self.role {
            Role::Alone => Some(None),
            Role::Waiting => None,
            Role::Standby if self.late_until.is_some() => Some(Some(Duty::Leaves)),
            Role::Standby => Some(Some(Duty::StandsBy)),
            Role::Active => Some(Some(Duty::Serves(self.turn))),
        }
    }

    /// What the forwarder is told of the pair, if anything.
    pub fn said(&self) -> Vec<Said> {
        let duty = self.duty().flatten().map(Said::Duty);
        let tokens = self.shown.said();
        let has_tokens = self.tells() && tokens != Tokens::default();
        let tokens = has_tokens.then_some(Said::Tokens(tokens));
        let followed = self.is_followed.then_some(Said::Followed(self.notices.applied));
        duty.into_iter().chain(tokens).chain(followed).collect()
    }

    /// Another forwarder counts its notices anew.
    pub const fn forget_notices(&mut self) {
        (self.notices, self.mark) = (Notices { told: 0, applied: 0 }, None);
    }

    /// This node serves from now on. A snapshot that is wanted already stays wanted: the order for
    /// it may come first.
    pub fn serve(&mut self, now: Time, is_current: bool, heir: Token) {
        let tokens = Tokens { own: self.given.take(), heir: Some(heir) };
        self.shown = Shown { tokens, ..Shown::default() };
        (self.role, self.turn) = (Role::Active, now.as_nanos());
        self.is_outdated = !is_current;
        let wanted = self.rest.take();
        self.rest();
        (self.is_followed, self.rest) = (true, wanted);
    }

    /// The number of the snapshot that is wanted, or under way.
    pub fn wanted(&self) -> Option<u64> {
        self.rest.as_ref().map(|rest| rest.number)
    }

    /// It serves no more; what still comes is forwarded for a while if the other one was asked to
    /// take over, for then that does so in this moment.
    pub fn follow(&mut self, now: Time) {
        self.role = Role::Standby;
        self.late_until = self.is_leaving.then(|| now + LATE);
        let late_until = self.late_until;
        self.rest();
        self.late_until = late_until;
    }

    fn rest(&mut self) {
        (self.is_leaving, self.late_until, self.rest) = (false, None, None);
        self.is_followed = false;
        self.forget_notices();
        self.notes.clear();
        self.ng_blocks.clear();
    }

    /// Whether what comes late is still forwarded.
    pub fn is_late(&self, now: Time) -> bool {
        self.late_until.is_some_and(|until| now < until)
    }

    /// A text that may have come in pieces, with its last one.
    pub fn whole(&mut self, last: &[u8]) -> Vec<u8> {
        let mut whole = std::mem::take(&mut self.piece);
        whole.extend_from_slice(last);
        whole
    }

    /// When there is something to do.
    pub fn deadline(&self) -> Option<Time> {
        let rest = self.rest.as_ref().filter(|_| self.pace == Pace::Current);
        rest.map(|_| Time::ZERO).or(self.late_until)
    }

    /// Whether the time of what comes late has just ended.
    pub fn late_ended(&mut self, now: Time) -> bool {
        self.late_until.take_if(|until| *until <= now).is_some()
    }
}

/// Appends a delta of a kind.
fn delta(out: &mut Effects, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.delta(|octets| {
        octets.push(kind);
        write(octets);
    });
}

/// Appends a text in as many deltas as it takes.
fn text(out: &mut Effects, kind: u8, name: &str, text: &[u8]) {
    let mut pieces = text.chunks(TEXT_OCTETS_MAX).peekable();
    while let Some(piece) = pieces.next() {
        delta(out, kind, |octets| {
            field::bytes(octets, tag::NAME, name.as_bytes());
            field::bytes(octets, tag::TEXT, piece);
            if pieces.peek().is_some() {
                field::number(octets, tag::MORE, 1);
            }
        });
    }
}

fn write_local(octets: &mut Vec<u8>, local: Local) {
    field::number(octets, tag::ADDRESS, local.address.into());
    field::number(octets, tag::PORT, local.port.into());
}

impl MediaController {
    fn name_of(&self, lessee: Lessee) -> &str {
        if lessee == Lessee::NG { "" } else { self.controllers.name(lessee) }
    }

    /// A stream stands, or is another one.
    pub(crate) fn tell_stream(&self, lessee: Lessee, id: StreamId, out: &mut Effects) {
        if !self.pair.tells() {
            return;
        }
        let Some((generation, stream)) = self.streams.record(lessee, id) else { return };
        delta(out, STREAM, |octets| {
            field::bytes(octets, tag::NAME, self.name_of(lessee).as_bytes());
            field::number(octets, tag::CALL, id.call);
            field::number(octets, tag::LINE, id.line.into());
            field::number(octets, tag::GENERATION, generation.into());
            field::bytes(octets, tag::STREAM, stream);
            if self.streams.is_former(lessee, id) {
                field::number(octets, tag::FORMER, 1);
            }
        });
    }

    /// A stream is gone.
    pub(crate) fn tell_gone(&self, lessee: Lessee, id: StreamId, out: &mut Effects) {
        if self.pair.tells() {
            delta(out, STREAM_GONE, |octets| {
                field::bytes(octets, tag::NAME, self.name_of(lessee).as_bytes());
                field::number(octets, tag::CALL, id.call);
                field::number(octets, tag::LINE, id.line.into());
            });
        }
    }

    /// Something else is agreed of the end at a port.
    pub(crate) fn tell_agreed(&self, local: Local, out: &mut Effects) {
        if !self.pair.tells() {
            return;
        }
        let none = Kept::default();
        let kept = self.streams.agreement.kept(local).unwrap_or(&none);
        delta(out, AGREED, |octets| {
            write_local(octets, local);
            if let Some((_, place)) = &kept.nominated {
                field::nested(octets, tag::NOMINATED, |octets| write_address(octets, *place));
            }
            if let Some((_, keys)) = &kept.keys {
                let [receive, send] = &**keys;
                field::nested(octets, tag::RECEIVE, |octets| receive.write(octets));
                field::nested(octets, tag::SEND, |octets| send.write(octets));
            }
            field::number(octets, tag::MARKS, kept.marks());
        });
    }

    /// The other node follows, and has applied all up to a mark; or none does.
    pub(crate) fn followed(&mut self, now: Time, mark: Option<u64>, out: &mut Effects) {
        if !self.pair.tells() {
            return;
        }
        if self.pair.is_followed != mark.is_some() {
            self.pair.is_followed = mark.is_some();
            self.pair.mark = None;
            // Whoever follows next may be one that began anew.
            self.pair.shown.is_given = false;
            self.say(now, out);
        }
        if let Some(it) = self.pair.mark.take_if(|it| Some(it.number) == mark) {
            self.pair.notices.applied = it.notices;
            if it.has_heir && !std::mem::replace(&mut self.pair.shown.is_given, true) {
                self.say(now, out);
            }
            self.dataplane.tell(now, out, &[crate::flows::said(&Said::Followed(it.notices))]);
        }
        self.mark(out);
    }

    /// A notice of the forwarder was told to the other node.
    pub(crate) fn replicated_notice(&mut self, number: u64, out: &mut Effects) {
        self.pair.notices.told = self.pair.notices.told.max(number);
        self.mark(out);
    }

    /// Asks whether the other node has applied what it was told of notices, and what it shows when
    /// it takes the addresses. It has not while it is being told everything.
    fn mark(&mut self, out: &mut Effects) {
        let Pair { is_followed, notices, mark, marks, rest, shown, .. } = &mut self.pair;
        let is_due = notices.told > notices.applied || shown.is_told && !shown.is_given;
        if *is_followed && rest.is_none() && mark.is_none() && is_due {
            *marks += 1;
            let (number, notices, has_heir) = (*marks, notices.told, shown.is_told);
            *mark = Some(Mark { number, notices, has_heir });
            out.mark(number);
        }
    }

    /// How far a flow has come.
    pub(crate) fn tell_resume(&self, local: Local, snapshot: &Snapshot, out: &mut Effects) {
        if self.pair.tells() {
            delta(out, RESUME, |octets| {
                write_local(octets, local);
                field::nested(octets, tag::SNAPSHOT, |octets| snapshot.write(octets));
            });
        }
    }

    /// What packets of a stream are counted by that leave the transcoder.
    pub(crate) fn tell_coded(&self, of: Of, out: &mut Effects) {
        let Some(ends) = self.transcoding.counted(of).filter(|_| self.pair.tells()) else { return };
        delta(out, CODED, |octets| {
            field::bytes(octets, tag::NAME, self.name_of(of.lessee).as_bytes());
            field::number(octets, tag::CALL, of.id.call);
            field::number(octets, tag::LINE, of.id.line.into());
            for Numbers { ssrc, sequence, timestamp, .. } in ends {
                field::nested(octets, tag::NUMBERS, |octets| {
                    octets.extend(ssrc.to_be_bytes());
                    octets.extend(sequence.to_be_bytes());
                    octets.extend(timestamp.to_be_bytes());
                });
            }
        });
    }

    /// The life of the streams.
    pub(crate) fn tell_epoch(&mut self, out: &mut Effects) {
        // It comes last: whoever has heard it has everything.
        if let Some(epoch) = self.epoch.filter(|_| self.pair.tells() && self.pair.rest.is_none()) {
            if let Some(token) = self.pair.shown.tokens.heir {
                delta(out, TOKEN, |octets| field::bytes(octets, tag::TOKEN, &token));
                self.pair.shown.is_told = true;
            }
            delta(out, EPOCH, |octets| field::number(octets, tag::EPOCH, epoch));
        }
    }

    /// Calls of NG that are others, or gone.
    pub(crate) fn tell_calls(&mut self, out: &mut Effects) {
        let touched = self.driven.take_touched();
        if touched.is_empty() || !self.pair.tells() {
            return;
        }
        self.tell_ng_blocks(out);
        touched.into_iter().for_each(|call| self.tell_call(call, out));
    }

    fn tell_call(&mut self, call: u64, out: &mut Effects) {
        let scratch = &mut self.pair.scratch;
        scratch.clear();
        // One that is too long is not told: after a takeover its ports serve nobody.
        let is_told = self.driven.record(call, scratch) && scratch.len() < DELTA_BYTES_MAX;
        let is_long = scratch.len() >= DELTA_BYTES_MAX;
        self.shown.metrics.add(Metric::CallsNotTold, is_long.into());
        match is_told {
            true => delta(out, NG_CALL, |octets| octets.extend_from_slice(scratch)),
            false => delta(out, NG_GONE, |octets| field::number(octets, tag::CALL, call)),
        }
    }

    /// The blocks of NG, if they are others.
    fn tell_ng_blocks(&mut self, out: &mut Effects) {
        let blocks: Vec<(u16, u16)> = self.streams.book.held_by(Lessee::NG).collect();
        if blocks == self.pair.ng_blocks {
            return;
        }
        let text = serde_json::to_vec(&blocks).unwrap_or_default();
        self::text(out, NG_BLOCKS, "", &text);
        self.pair.ng_blocks = blocks;
    }

    /// Leases and the numbers of addresses, as far as they are others.
    pub(crate) fn tell_notes(&mut self, notes: &BTreeMap<String, String>, out: &mut Effects) {
        if !self.pair.tells() {
            return;
        }
        let told = &mut self.pair.notes;
        // Addresses come first, for their names sort before those of leases.
        for (name, text) in notes.iter().filter(|(name, text)| told.get(*name) != Some(text)) {
            self::text(out, NOTE, name, text.as_bytes());
        }
        for name in told.keys().filter(|name| !notes.contains_key(*name)) {
            delta(out, NOTE_GONE, |octets| field::bytes(octets, tag::NAME, name.as_bytes()));
        }
        told.clone_from(notes);
    }

    /// A standby came, or has to begin anew: it is told everything.
    pub(crate) fn begin_snapshot(&mut self, now: Time, number: u64, out: &mut Effects) {
        self.pair.notes.clear();
        self.pair.ng_blocks.clear();
        self.pair.mark = None;
        let shown = &mut self.pair.shown;
        let was_given = core::mem::replace(&mut shown.is_given, false);
        shown.is_told = false;
        if !core::mem::replace(&mut self.pair.is_followed, true) || was_given {
            self.say(now, out);
        }
        self.note_memory(now, out);
        self.tell_ng_blocks(out);
        let streams = self.streams.names().collect();
        self.pair.rest = Some(Rest { number, streams, calls: self.driven.numbers() });
    }

    /// A piece of the snapshot, if one is under way.
    pub(crate) fn snapshot(&mut self, out: &mut Effects) {
        if self.pair.pace != Pace::Current {
            return;
        }
        let Some(mut rest) = self.pair.rest.take() else { return };
        let streams = rest.streams.len().min(SNAPSHOT_RECORDS);
        for (lessee, id) in rest.streams.drain(..streams) {
            self.tell_whole(lessee, id, out);
        }
        let left = rest.calls.len() - rest.calls.len().min(SNAPSHOT_RECORDS - streams);
        for call in rest.calls.split_off(left) {
            self.tell_call(call, out);
        }
        if rest.streams.is_empty() && rest.calls.is_empty() {
            self.tell_epoch(out);
            out.snapshot_ended = Some(rest.number);
            self.mark(out);
        } else {
            self.pair.rest = Some(rest);
        }
    }

    /// A stream with all that is agreed of it, and how far it is.
    fn tell_whole(&self, lessee: Lessee, id: StreamId, out: &mut Effects) {
        let Some(stream) = self.streams.at(lessee, id) else { return };
        self.tell_stream(lessee, id, out);
        self.tell_coded(Of { lessee, id }, out);
        for local in Side::BOTH.map(|side| stream.end(side).local) {
            if self.streams.agreement.kept(local).is_some() {
                self.tell_agreed(local, out);
            }
            for local in with_rtcp(local) {
                if let Some(snapshot) = self.measures.snapshot(local) {
                    self.tell_resume(local, snapshot, out);
                }
            }
        }
    }
}
