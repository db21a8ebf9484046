//! Dialogues of TCAP with MAP and CAP, over SCCP and M3UA, as a row: legs are the transactions of
//! both ends, each called `number@address`; operations say what a trail is about, the last answer
//! how it went.
//!
//! ```text
//!   M3UA ─ DATA, SI 3 ─ SCCP ─ TCAP ─┬─ transactions at both ends → trail
//!                                    ├─ addresses, IMSI, MSISDN → keys
//!                                    └─ operations, errors, aborts → outcome
//! ```
//! What else M3UA carries belongs to the association that it came by.

mod ends;
mod isup;
mod secrets;
mod subscriber;
mod unit;
pub(crate) mod words;

use super::{Row, Signal, Taken, Then};
use crate::config::Keep;
use crate::keys;
use crate::line::Line;
use crate::live::{Live, Phase, text};
use crate::trail::{Kind, Outcome};
use ends::Named;
use tcap::codec::MessageType;
use unit::{Party, Unit, hex, show};
use words::{Failure, Said, Talk};

pub(super) const ROW: Row = Row { kind: hep::KIND_M3UA, take, describe };

fn take(payload: &[u8], keep: &[Keep], then: &mut Then<'_>) {
    let read = Unit::read(payload);
    let clean = secrets::redacted(payload, read.as_ref(), keep);
    let is_redacted = clean.is_some();
    let payload = clean.as_deref().unwrap_or(payload);
    let unit = if is_redacted { Unit::read(payload) } else { read };
    let message = unit.map(Named::of);
    then(Taken {
        payload,
        signal: message.as_ref().map(|it| -> &dyn Signal { it }),
        is_redacted,
        is_malformed: false,
        is_carried: message.is_some(),
    });
}

impl Signal for Named<'_> {
    fn leg(&self) -> Option<&[u8]> {
        self.own.as_deref().or(self.far.as_deref()).map(str::as_bytes)
    }

    fn joins(&self, each: &mut dyn FnMut(&[u8])) {
        let all = [&self.far, &self.own, &self.segments];
        all.into_iter().flatten().for_each(|it| each(it.as_bytes()));
    }

    fn joins_more(&self) -> bool {
        self.segments.is_some()
    }

    fn begins(&self) -> bool {
        matches!(self.kind(), Some(MessageType::Begin | MessageType::Unidirectional))
    }

    fn is_of_dialogue(&self) -> bool {
        true
    }

    fn begins_anew(&self) -> bool {
        self.begins() && self.unit.cause().is_none()
    }

    fn observe(&self, live: &mut Live, at_us: u64, _leg: usize) {
        let unit = &self.unit;
        find_by(live, unit);
        let mut talk = live.talk.take().unwrap_or_default();
        if !talk.ends.take(self) {
            live.talk = Some(talk);
            return;
        }
        let said = talk.take(unit);
        subscriber::learn(live, &said.octets, &talk);
        live.talk = Some(talk);
        if live.trail.kind != Kind::Dialogue {
            live.trail.kind = Kind::Dialogue;
            // One that begins with an answer was asked by who gets it.
            let is_asked = self.begins();
            let (from, to) = match is_asked {
                true => (&unit.sender, &unit.receiver),
                false => (&unit.receiver, &unit.sender),
            };
            live.trail.from = text(from.name.as_bytes());
            live.trail.to = text(to.name.as_bytes());
        }
        if live.trail.operation == 0 {
            live.trail.operation = said.operation.map_or(0, |it| it.0);
        }
        progress(live, at_us, self, said);
    }
}

/// What became of the dialogue.
fn progress(live: &mut Live, at_us: u64, named: &Named<'_>, said: Said) {
    let has_failed = said.failure.is_some();
    if let Some((how, cause, status)) = said.failure {
        live.trail.outcome = match how {
            Failure::Failed => Outcome::Failed,
            Failure::Rejected => Outcome::Rejected,
        };
        live.trail.cause = text(cause.as_bytes());
        live.trail.status = status;
    }
    let is_over = match named.kind() {
        Some(MessageType::End | MessageType::Abort | MessageType::Unidirectional) => true,
        Some(MessageType::Begin) => named.unit.cause().is_some(),
        Some(MessageType::Continue) => {
            // Who speaks alone may have made the other end up.
            if live.talk.as_ref().is_some_and(|talk| talk.ends.have_met()) {
                live.phase = Phase::Answered;
                if live.trail.answered_us == 0 {
                    live.trail.answered_us = at_us.max(1);
                }
            }
            false
        }
        None => false,
    };
    if !is_over {
        return;
    }
    live.phase = Phase::Over;
    if live.trail.ended_us == 0 {
        live.trail.ended_us = at_us;
    }
    if !has_failed && live.trail.outcome == Outcome::InProgress {
        live.trail.outcome = Outcome::Ok;
    }
}

/// Adds what its addresses and transactions can be found by.
fn find_by(live: &mut Live, unit: &Unit<'_>) {
    for party in [&unit.sender, &unit.receiver] {
        of_party(live, party);
    }
    let ids = unit.head.iter().flat_map(|head| [head.otid, head.dtid]).flatten();
    for id in ids {
        keys::add_call_id(&mut live.keys, hex(id).as_bytes());
    }
}

fn of_party(live: &mut Live, party: &Party) {
    if let Some(digits) = &party.digits {
        keys::add_digits(&mut live.keys, digits);
    }
    // A party that has a title is found by the node of its message, too.
    let at = party.point_code.unwrap_or(party.label);
    keys::add_name(&mut live.keys, &show(at));
    keys::add_name(&mut live.keys, &at.number().to_string());
    if let Some(subsystem) = party.subsystem {
        keys::add_name(&mut live.keys, &format!("{}/{subsystem}", show(at)));
    }
}

fn describe(payload: &[u8], talk: &mut Talk) -> Line {
    let Some(unit) = Unit::read(payload) else {
        let method = name_of_m3ua(payload).map(str::to_owned);
        return Line { method, ..Line::default() };
    };
    let said = talk.take(&unit);
    let components = talk.components(&said.octets);
    let text = words::full(&unit, &said.octets, &components);
    let components = components.iter().filter_map(|it| serde_json::from_str(it).ok()).collect();
    let node = show(unit.opc);
    let Named { own, far, .. } = Named::of(unit);
    Line {
        leg: own.or(far),
        method: Some(said.title),
        failed: said.failure.is_some(),
        node: Some(node),
        components,
        text: Some(text),
        ..Line::default()
    }
}

/// The name of an M3UA message by its class and type (RFC 4666 §3.1.2).
fn name_of_m3ua(payload: &[u8]) -> Option<&'static str> {
    let number = u16::from_be_bytes([*payload.get(2)?, *payload.get(3)?]);
    m3ua::codec::MessageType::of(number).map(m3ua::codec::MessageType::name)
}
