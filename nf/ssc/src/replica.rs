//! The standby's copy: calls that stand, bindings and security agreements, as deltas of tagged
//! fields.
//!
//! ```text
//! active    slot touched in a step ──→ its record, if it says something new ──→ Effects::delta
//! standby   delta ──→ the same slot, the same generation: names of ours find their call
//! ```
//! Every record is whole, so that a snapshot is nothing but each record once more and may mix
//! with the changes of the meantime. Of what a call was doing when its node died the INVITE under
//! way is kept; other transactions and early dialogs end with it, retransmissions find the call
//! again.
//! Times are those of the wall clock; the clocks of a pair agree within a second. What a call
//! takes of the limits is counted when the copy becomes the active one.

use crate::User;
use crate::call::calls::Calls;
use crate::call::pending_invite::PendingInvite;
use crate::call::{Call, Kind, State};
use admission::{Asking, Limits, OverloadControl};
use machine::Time;
use machine::narrow::{at_most, half, halves};
use machine::slots::{Key, SlotChange};
use registrar::Registrar;
use replica::field::{self, Fields};
use replica::record::{digest, read_key, tell_key, write_key};
use runtime::{Effects, Flow, Pace};
use sip::{Message, Method, NameAddr};
use sip_stack::border::Border;
use transaction::Transactions;

/// Records of a snapshot that one tick tells.
const SNAPSHOT_RECORDS: usize = 256;

const CALL: u8 = 1;
const CALL_ENDED: u8 = 2;
/// What was under way in a call is over; nothing else of it has changed.
const CALL_SETTLED: u8 = 3;
/// What [`PendingInvite::stage_of`] takes of the number for what was told of a call.
const STAGE_BITS: u32 = 2;
mod tag {
    // 1 and 2 are the key.
    pub const SECRET_LOW: u8 = 3;
    pub const KIND: u8 = 4;
    pub const STARTED: u8 = 5;
    pub const ANSWERED: u8 = 6;
    pub const SESSION_END: u8 = 7;
    pub const CALL_END: u8 = 8;
    pub const REFER_UNTIL: u8 = 9;
    pub const FORKS_SEEN: u8 = 10;
    pub const ACK: u8 = 11;
    pub const LEG_A: u8 = 12;
    pub const LEG_B: u8 = 13;
    pub const UNITS: u8 = 14;
    pub const HOP: u8 = 15;
    pub const PENDING_INVITE: u8 = 16;
    pub const SECRET_HIGH: u8 = 17;
    /// Index and generation of its media.
    pub const MEDIA: u8 = 18;
}

/// What the controller is in its pair.
#[derive(Debug, Default)]
pub(crate) struct ReplicaState {
    /// Whether there is another node.
    is_on: bool,
    is_standby: bool,
    /// What is left to the other node, which takes over soon.
    left: Left,
    snapshot: Option<Snapshot>,
    /// How the other node keeps up: no more of a snapshot is told while it does not.
    pace: Pace,
}

/// Requests that are left unanswered, so that their retransmission meets the other node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Left {
    /// None.
    #[default]
    Nothing,
    /// Those that stand in no dialog.
    Beginnings,
    /// All that would begin a transaction.
    Requests,
}

/// A snapshot under way: its number, the next call, its media and the next binding to touch; IMS
/// access, which goes last, knows its own next row.
#[derive(Debug)]
struct Snapshot {
    number: u64,
    calls: Option<u32>,
    media: Option<u32>,
    bindings: Option<u32>,
}

impl ReplicaState {
    /// Whether there is another node.
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the controller keeps still.
    pub(crate) const fn is_standby(&self) -> bool {
        self.is_standby
    }

    /// Whether that one lacks so much that new calls would soon be no more than here.
    pub(crate) fn is_behind(&self) -> bool {
        self.pace == Pace::Behind
    }

    /// Whether a message is left to the other node.
    pub(crate) fn leaves(&self, message: &Message<'_>) -> bool {
        let is_request = message.status().is_none()
            && !matches!(message.method(), Method::Ack | Method::Cancel | Method::Prack);
        match self.left {
            Left::Nothing => false,
            Left::Beginnings => is_request && message.to_tag().is_none(),
            Left::Requests => is_request,
        }
    }

    /// Leaves that much to the other node from now on.
    pub(crate) const fn hand_over(&mut self, left: Left) {
        self.left = left;
    }

    /// When the next piece of a snapshot is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.snapshot.as_ref().filter(|_| self.pace == Pace::Current).map(|_| Time::ZERO)
    }
}

/// The pair that the controller is a part of.
#[derive(Debug, Default)]
pub(crate) struct Pair {
    pub(crate) state: ReplicaState,
    /// Room for a record.
    told: Vec<u8>,
}

/// A call that stands, and the INVITE under way in it.
struct Standing<'a> {
    key: Key,
    call: &'a Call,
    pending_invite: Option<PendingInvite<'a>>,
}

/// Appends what a call is and what is under way in it, unless that was said before; the number
/// for it.
fn tell_call(
    out: &mut Effects,
    scratch: &mut Vec<u8>,
    was: u64,
    it: &Standing<'_>,
    limits: &Limits,
) -> u64 {
    let &Standing { key, call, pending_invite } = it;
    scratch.clear();
    scratch.push(CALL);
    write_key(scratch, key);
    record(call, scratch);
    field::number(scratch, tag::UNITS, call.grant.units().into());
    field::bytes(scratch, tag::HOP, limits.hop_name(call.grant).as_bytes());
    let standing = digest(scratch) << STAGE_BITS;
    let told = standing | PendingInvite::stage_of(pending_invite.as_ref());
    if told == was {
        return told;
    }
    match pending_invite {
        None if was >> STAGE_BITS == standing >> STAGE_BITS => tell_key(out, CALL_SETTLED, key),
        _ => out.delta(|buffer| {
            buffer.extend_from_slice(scratch);
            if let Some(pending_invite) = pending_invite {
                field::nested(buffer, tag::PENDING_INVITE, |out| pending_invite.record(out));
            }
        }),
    }
    told
}

/// What a standby has a copy of, and what its records are made from.
pub(crate) struct Copied<'a> {
    pub(crate) calls: &'a mut Calls,
    pub(crate) registrar: &'a mut Registrar,
    pub(crate) media: &'a mut media_stack::Client,
    pub(crate) ims: &'a mut ims::Access,
    pub(crate) overload: &'a mut OverloadControl,
    pub(crate) transactions: &'a Transactions<Flow, User>,
    pub(crate) border: &'a Border,
}

impl Pair {
    /// The other node serves from now on.
    pub(crate) fn stand_by(&mut self) {
        self.state.is_on = true;
        self.state.is_standby = true;
        self.state.left = Left::Nothing;
        self.state.snapshot = None;
    }

    /// This node serves from now on.
    pub(crate) fn take_over(&mut self) {
        self.state.is_standby = false;
        self.state.left = Left::Nothing;
    }

    /// How the other node keeps up.
    pub(crate) const fn paced(&mut self, pace: Pace) {
        self.state.pace = pace;
    }

    /// The other node asks for everything.
    pub(crate) fn begin_snapshot(&mut self, number: u64, of: Copied<'_>, out: &mut Effects) {
        let from = Some(0);
        self.state.snapshot = Some(Snapshot { number, calls: from, media: from, bindings: from });
        of.registrar.tell_secret(out);
        of.ims.begin_snapshot(out);
        of.media.begin_snapshot(out);
    }

    /// A piece of the snapshot, if one is under way.
    pub(crate) fn snapshot(&mut self, of: Copied<'_>, out: &mut Effects) {
        if self.state.pace != Pace::Current {
            return;
        }
        let Some(snapshot) = &mut self.state.snapshot else { return };
        if let Some(from) = snapshot.calls {
            snapshot.calls = of.calls.table.touch(from, SNAPSHOT_RECORDS);
        } else if let Some(from) = snapshot.media {
            snapshot.media = of.media.touch(from, SNAPSHOT_RECORDS);
        } else if let Some(from) = snapshot.bindings {
            snapshot.bindings = of.registrar.touch(from, SNAPSHOT_RECORDS);
        } else if !of.ims.tell_piece(SNAPSHOT_RECORDS) {
            out.snapshot_ended = Some(snapshot.number);
            self.state.snapshot = None;
        }
    }

    /// Tells the standby what this step changed.
    pub(crate) fn tell(&mut self, of: Copied<'_>, out: &mut Effects) {
        if !self.state.is_on {
            return;
        }
        let (scratch, limits) = (&mut self.told, &of.overload.limits);
        let (relays, transactions, refused) =
            (&of.calls.relays, of.transactions, &of.calls.refused);
        of.calls.table.tell(|told| match told {
            SlotChange::Stands(_, call, _) if call.state == State::Early => 0,
            SlotChange::Stands(key, call, was) => {
                let invite = call.invite.and_then(|invite| relays.at(invite));
                let refusal = || refused.iter().find(|(call, _)| *call == key);
                let pending_invite = match invite {
                    Some(relay) => PendingInvite::of(relay, transactions),
                    None => refusal().and_then(|(_, fields)| PendingInvite::restore(fields)),
                };
                tell_call(out, scratch, was, &Standing { key, call, pending_invite }, limits)
            }
            SlotChange::Gone(next) => {
                tell_key(out, CALL_ENDED, next);
                0
            }
        });
        of.calls.refused.clear();
        of.registrar.tell(out, scratch);
        of.media.tell(out);
        of.ims.tell_standby(out);
    }
}

impl Copied<'_> {
    /// Begins or ends to note what a standby is to be told.
    pub(crate) fn watch(self, is_watched: bool) {
        self.calls.table.watch(is_watched);
        self.registrar.watch(is_watched);
    }

    /// The copy becomes the table itself: every call in it is counted anew.
    pub(crate) fn recount(self) {
        self.overload.limits.forget();
        let keys: Vec<Key> = self.calls.table.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(call) = self.calls.table.at(key).filter(|call| call.grant.units() > 0) else {
                continue;
            };
            let realm = call.a.realm;
            let from = NameAddr::parse(call.a.parties().1);
            let from = from.map_or(&b""[..], |from| from.uri);
            let binding = self.registrar.sender(&call.a.flow, from);
            let callers = self.calls.callers(self.border, self.registrar);
            let caller = callers.name(realm, &call.a.flow, binding, from);
            let subscriber = callers.number(realm, &caller);
            let asking = Asking { realm, hop: None, subscriber, units: call.grant.units() };
            let grant = self.overload.limits.count(call.grant, &asking);
            if let Some(call) = self.calls.table.at_mut(key) {
                call.grant = grant;
            }
        }
    }

    /// Makes the change that the active node made. What cannot be read is of a later version, or
    /// of another configuration, and is passed over.
    pub(crate) fn apply(self, now: Time, delta: &[u8]) {
        let Some((&kind, fields)) = delta.split_first() else { return };
        if media_stack::KINDS.contains(&kind) {
            return self.media.apply(kind, fields);
        }
        if kind == ims::KIND {
            return self.ims.apply(now, fields);
        }
        if kind >= registrar::KINDS_FROM {
            let realms = self.border.realms.rows().len();
            return self.registrar.apply(realms, kind, fields);
        }
        let Some(key) = read_key(fields) else { return };
        match kind {
            CALL_ENDED => self.calls.table.take_away(key),
            CALL_SETTLED => {
                if let Some(call) = self.calls.table.at_mut(key) {
                    call.pending_invite = None;
                }
            }
            CALL => {
                let realms = self.border.realms.rows().len();
                let Some(call) = self.calls.table.put(key) else { return };
                let find = |wanted| Fields::new(fields).find(|&(tag, _)| tag == wanted);
                let units =
                    find(tag::UNITS).map_or(0, |(_, units)| at_most(field::read(units), u16::MAX));
                let hop = find(tag::HOP).map_or(&b""[..], |(_, hop)| hop);
                call.grant = self.overload.limits.read_grant(units, hop);
                let is_whole = restore(call, fields)
                    && [&call.a, &call.b].iter().all(|leg| usize::from(leg.realm.0) < realms);
                let due = call.due();
                if !is_whole {
                    self.calls.table.take_away(key);
                } else if due < Time::MAX {
                    self.calls.table.arm(key, due);
                }
            }
            _ => {}
        }
    }
}

fn record(call: &Call, out: &mut Vec<u8>) {
    let [low, high] = halves(call.secret);
    let numbers = [
        (tag::SECRET_LOW, low),
        (tag::SECRET_HIGH, high),
        (tag::KIND, u64::from(call.kind == Kind::Subscription)),
        (tag::STARTED, call.started.as_nanos()),
        (tag::ANSWERED, call.answered.as_nanos()),
        (tag::SESSION_END, call.session_end.as_nanos()),
        (tag::CALL_END, call.call_end.as_nanos()),
        (tag::REFER_UNTIL, call.refer_until.as_nanos()),
        (tag::FORKS_SEEN, call.forks_seen.into()),
    ];
    for (tag, number) in numbers {
        field::number(out, tag, number);
    }
    if let Some(ack) = &call.ack.text {
        field::bytes(out, tag::ACK, ack);
    }
    if let Some(Key { index, generation }) = call.media.key {
        field::number(out, tag::MEDIA, u64::from(generation) << 32 | u64::from(index));
    }
    field::nested(out, tag::LEG_A, |out| call.a.record(out));
    field::nested(out, tag::LEG_B, |out| call.b.record(out));
}

/// Whether a call could be made of the fields.
fn restore(call: &mut Call, fields: &[u8]) -> bool {
    let mut legs = 0;
    // Answered: the ACK may still have to be passed; a BYE that was under way comes again.
    call.state = State::Answered;
    call.secret = 0;
    for (tag, value) in Fields::new(fields) {
        let number = field::read(value);
        match tag {
            tag::SECRET_LOW => call.secret |= u128::from(number),
            tag::SECRET_HIGH => call.secret |= u128::from(number) << 64,
            tag::KIND if number == 1 => {
                call.kind = Kind::Subscription;
                call.state = State::Confirmed;
            }
            tag::STARTED => call.started = Time::from_nanos(number),
            tag::ANSWERED => call.answered = Time::from_nanos(number),
            tag::SESSION_END => call.session_end = Time::from_nanos(number),
            tag::CALL_END => call.call_end = Time::from_nanos(number),
            tag::REFER_UNTIL => call.refer_until = Time::from_nanos(number),
            tag::FORKS_SEEN => call.forks_seen = at_most(number, u8::MAX),
            tag::ACK => call.ack.text = Some(value.into()),
            tag::MEDIA => {
                let [index, generation] = [half(number), half(number >> 32)];
                call.media.key = Some(Key { index, generation });
            }
            tag::PENDING_INVITE => call.pending_invite = Some(value.into()),
            tag::LEG_A => legs += u8::from(call.a.restore(value)),
            tag::LEG_B => legs += u8::from(call.b.restore(value)),
            _ => {}
        }
    }
    legs == 2
}
