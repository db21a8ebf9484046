//! What instances say.

use super::dialogue::Record;
use super::{Application, InstanceId, Side};
use crate::message::{Misread, Named, ToApplication, ToGateway};
use crate::names::Speech;
use crate::network::{NetworkIndication, NetworkRequest};
use crate::primitive::{Indication, Portion, Refusal, Request, STATE_OCTETS_MAX};
use crate::service::carry_out;
use crate::spelling::Spelling;
use bytes::Bytes;
use machine::Time;
use machine::narrow::at_most;
use sccp::codec::{Address, LONG_DATA_BYTES_MAX};
use wire::Malformed;

/// Messages one after the other that are not understood, at most: then the connection ends.
const MALFORMED_MAX: u32 = 16;
/// Octets that a message of TCAP has at most beside its components, and each of these beside its
/// code and parameter.
const HEAD_OCTETS: usize = 96;
const COMPONENT_OCTETS: usize = 32;
/// Octets of a greeting, at most.
const GREETING_OCTETS_MAX: usize = 4_096;
const SPEC: &str = "docs/applications.md, greeting";

impl Application {
    /// A whole message of a connection came.
    pub fn said(&mut self, now: Time, id: InstanceId, message: &[u8], side: &mut Side<'_>) {
        let Some(instance) = self.instances.get_mut(&id) else { return };
        if !instance.is_ready() && message.len() > GREETING_OCTETS_MAX {
            return self.turn_away(now, id, "no greeting is so long");
        }
        let own = *instance.spelling.get_or_insert(Spelling::of(message));
        let is_ready = instance.is_ready();
        let read = match Spelling::of(message) == own {
            true => own.read_request(message, &|dialogue| self.speech_of(dialogue)),
            false => Err(Malformed::new(0, "another spelling than the first message had", SPEC)),
        };
        match read {
            Ok(ToGateway::Hello(hello)) if !is_ready => self.greeted(now, id, &hello, side),
            Ok(ToGateway::Request(request)) if is_ready => self.asked(now, id, &request, side),
            Ok(ToGateway::Request(_)) => {
                let violation = Malformed::new(0, "the greeting lacks", SPEC);
                return self.malformed(now, id, violation, Named::default(), side);
            }
            Ok(ToGateway::Hello(_)) => {
                let violation = Malformed::new(0, "a second greeting", SPEC);
                return self.malformed(now, id, violation, Named::default(), side);
            }
            Err(violation) => {
                let of = own.named(message);
                // What operations are called in a dialogue that is over, nobody knows any more.
                match of.dialogue.filter(|it| is_ready && !self.is_of(id, *it)) {
                    Some(dialogue) => self.refused_of(now, id, dialogue),
                    None => return self.malformed(now, id, violation, of, side),
                }
            }
        }
        if let Some(instance) = self.instances.get_mut(&id) {
            instance.malformed = 0;
        }
        self.close_overfull(now, side);
    }

    /// Whether a dialogue is one of that instance.
    fn is_of(&self, id: InstanceId, dialogue: u64) -> bool {
        self.dialogues.get(&dialogue).is_some_and(|it| it.instance == Some(id))
    }

    /// Something was asked of a dialogue that this instance has not, or not any more.
    fn refused_of(&mut self, now: Time, id: InstanceId, dialogue: u64) {
        self.counts.refused += 1;
        let (dialogue, why) = (Some(dialogue), Refusal::Unknown);
        let told = Indication::Refused { reference: None, dialogue, why };
        self.push(now, id, &told, Speech::Unknown);
    }

    fn malformed(
        &mut self,
        now: Time,
        id: InstanceId,
        violation: Malformed,
        of: Named,
        side: &mut Side<'_>,
    ) {
        self.counts.malformed += 1;
        let what = format!("{} ({})", violation.what, violation.spec);
        let at = at_most(violation.at as u64, u32::MAX);
        let misread = Misread { what, at, of };
        self.send(now, id, &ToApplication::Malformed(misread), Speech::Unknown);
        let Some(instance) = self.instances.get_mut(&id) else { return };
        instance.malformed += 1;
        if instance.malformed == MALFORMED_MAX {
            self.bye(now, id, "too much of what it says is not understood");
            self.lost(now, id, side);
        }
    }

    pub(super) fn asked(
        &mut self,
        now: Time,
        id: InstanceId,
        request: &Request,
        side: &mut Side<'_>,
    ) {
        let done = match request {
            Request::State { in_service } => {
                if let Some(instance) = self.instances.get_mut(&id) {
                    instance.is_leaving = !in_service;
                }
                self.take_over(now, side);
                return;
            }
            Request::Begin { reference, .. } => {
                let begun = self.begin(now, id, request, side);
                if let Ok(dialogue) = begun {
                    let told = Indication::Begun { reference: *reference, dialogue };
                    return self.push(now, id, &told, Speech::Unknown);
                }
                begun.map(drop)
            }
            Request::Network(it) => self.network_asked(id, it),
            other => self.carried_out(now, id, other, side),
        };
        let Err(why) = done else { return };
        self.counts.refused += 1;
        if let Request::Network(it) = request
            && let Some(connection) = it.connection()
        {
            let told = Indication::Network(NetworkIndication::NotSent { connection });
            return self.push(now, id, &told, Speech::Unknown);
        }
        let reference = match request {
            Request::Begin { reference, .. }
            | Request::Network(NetworkRequest::Connect { reference, .. }) => Some(*reference),
            _ => None,
        };
        let told = Indication::Refused { reference, dialogue: request.dialogue(), why };
        self.push(now, id, &told, Speech::Unknown);
    }

    /// An instance begins a dialogue.
    fn begin(
        &mut self,
        now: Time,
        id: InstanceId,
        request: &Request,
        side: &mut Side<'_>,
    ) -> Result<u64, Refusal> {
        let Request::Begin { calling, portion, state, .. } = request else {
            return Err(Refusal::State);
        };
        if self.settings.is_network {
            return Err(Refusal::State);
        }
        if !self.is_own(calling) {
            return Err(Refusal::Calling);
        }
        if !can_be_sent(portion) {
            return Err(Refusal::Long);
        }
        if self.dialogues.len() >= self.settings.dialogues_max as usize {
            return Err(Refusal::Full);
        }
        if state.as_ref().is_some_and(|it| it.len() > STATE_OCTETS_MAX) {
            return Err(Refusal::Long);
        }
        let speech = Speech::of(portion.context.as_deref(), &portion.components);
        let begun = carry_out(now, side.transactions, request, speech, side.outs)?;
        let dialogue = begun.ok_or(Refusal::State)?.number();
        let mut record = Record::new(speech, portion.context.as_deref());
        record.is_new = false;
        record.state = state.as_deref().map(Box::from);
        self.dialogues.insert(dialogue, record);
        // Who begins is no less loaded than who is given.
        self.give(id, dialogue);
        self.counts.begun_here += 1;
        self.tally.said(request, speech);
        Ok(dialogue)
    }

    /// Whether an address is this application's: of its subsystem, without a point code or with one
    /// of its node, without a title or with one that it was given.
    pub(super) fn is_own(&self, calling: &Address) -> bool {
        let settings = &self.settings;
        let is_title = |own: &sccp::codec::Digits, it: &sccp::codec::Title| {
            it.digits.len() >= own.len() && it.digits.first(own.len()) == *own
        };
        calling.subsystem == Some(settings.subsystem)
            && calling.point_code.is_none_or(|it| settings.point_codes.contains(&it))
            && calling.title.is_none_or(|it| settings.titles.iter().any(|own| is_title(own, &it)))
    }

    fn carried_out(
        &mut self,
        now: Time,
        id: InstanceId,
        request: &Request,
        side: &mut Side<'_>,
    ) -> Result<(), Refusal> {
        let speech = match request {
            Request::Uni { .. } if self.settings.is_network => return Err(Refusal::State),
            Request::Uni { calling, .. } if !self.is_own(calling) => {
                return Err(Refusal::Calling);
            }
            Request::Uni { portion, .. } => {
                Speech::of(portion.context.as_deref(), &portion.components)
            }
            _ => {
                let dialogue = request.dialogue().ok_or(Refusal::Unknown)?;
                let record = self.dialogues.get(&dialogue).filter(|it| it.instance == Some(id));
                record.ok_or(Refusal::Unknown)?.speech
            }
        };
        if request.state().is_some_and(|it| it.len() > STATE_OCTETS_MAX) {
            return Err(Refusal::Long);
        }
        if request.portion().is_some_and(|it| !can_be_sent(it)) {
            return Err(Refusal::Long);
        }
        let done = carry_out(now, side.transactions, request, speech, side.outs);
        if done.is_ok() {
            self.tally.said(request, speech);
        }
        let Some(dialogue) = request.dialogue() else { return done.map(drop) };
        match &done {
            Ok(_) => {
                // Who only keeps a state or minds a timer may not have looked at what it was told.
                if request.portion().is_some() {
                    self.release(dialogue);
                }
                if let (Some(state), Some(record)) =
                    (request.state(), self.dialogues.get_mut(&dialogue))
                {
                    record.state = Some(Box::from(&state[..]));
                }
                if matches!(request, Request::End { .. } | Request::UAbort { .. }) {
                    self.forget(dialogue);
                }
            }
            // TCAP has ended it, and this side was told.
            Err(Refusal::Unknown) => self.forget(dialogue),
            Err(_) => {}
        }
        done.map(drop)
    }
}

/// Whether SCCP can send a message with that portion, of whatever form.
fn can_be_sent(portion: &Portion) -> bool {
    let components = portion.components.iter().map(|it| COMPONENT_OCTETS + it.octets());
    let context = portion.context.as_ref().map_or(0, Bytes::len);
    let beside = HEAD_OCTETS + context + portion.user_information.len();
    beside + components.sum::<usize>() <= LONG_DATA_BYTES_MAX
}
