//! Coupling at a relay point (Q.714 §3.1.4, §3.2.3, §3.3.4, §3.5, §3.7.4): two sections, one
//! towards each end, of which each hears what happens to the other.
//!
//! ```text
//!   CR ─→ Offered ─couples─ Requested ─ CR ─→      CC ←─ accept ←─ Confirmed ←─ CC
//!   DT, ED, RSR, RLSD of one section ─→ the same of the other, with its own references, numbers
//!   and window
//! ```
//! Segments pass as they come; in class 3 the window of one side is opened again as the other one
//! takes what came.

use super::primitives::{Accept, ConnectionEvent, Disconnect, Disconnected, Inform};
use super::receive::Offer;
use super::section::{Reset, Section, State, Way, cost};
use super::table::{Connections, Effect};
use crate::codec::{
    Address, ConnectionClass, ConnectionMessage, ConnectionRequest, LocalReference, RefusalCause,
    ReleaseCause, Routing,
};
use crate::metrics::Metric;
use bytes::Bytes;
use machine::Time;

/// Rounds in which sections answer each other, at most: each answers once.
const ROUNDS_MAX: usize = 16;

/// Where a CR goes on to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Onward {
    pub(crate) way: Way,
    pub(crate) called: Address,
    pub(crate) calling: Option<Address>,
    pub(crate) hops: Option<u8>,
}

impl Connections {
    /// A CR came that goes on: a section for the way that it came by, and one for the way on.
    /// Both are of the share of who has sent it.
    ///
    /// # Errors
    /// With what cause it is refused.
    pub(crate) fn couple(
        &mut self,
        now: Time,
        offer: Offer<'_>,
        onward: Onward,
    ) -> Result<(), RefusalCause> {
        if self.is_guarded(now) {
            return Err(RefusalCause::NoServiceNow);
        }
        let near = self.allocate(offer.source).ok_or(RefusalCause::NoServiceNow)?;
        // Both are served by one node.
        let part = self.parameters.is_shared.then(|| super::replica::part_of(near));
        let far = self.allocate_in(offer.source, part).filter(|it| *it != near);
        let Some(far) = far else {
            self.give_up(offer.source);
            return Err(RefusalCause::NoServiceNow);
        };
        let request = offer.request;
        let most = self.parameters.credit_max.clamp(1, 127);
        let credit = request.credit.unwrap_or(1).clamp(1, most);
        let until = now + self.parameters.establishment;
        let (source, class) = (offer.source, request.class);
        let mut section =
            Section::new(offer.way, source, class, credit, State::Offered(until), now);
        section.other = Some(request.source);
        self.keep(near, section);
        let state = State::Requested(until);
        let mut section = Section::new(onward.way, source, class, credit, state, now);
        section.is_bound = onward.called.routing == Routing::Subsystem;
        let message = ConnectionMessage::Request(ConnectionRequest {
            source: far,
            called: onward.called,
            calling: onward.calling,
            hops: onward.hops,
            credit: (class == ConnectionClass::FlowControl).then_some(credit),
            ..request
        });
        self.send(now, far, &mut section, &message);
        self.keep(far, section);
        self.couples.insert(near, far);
        self.couples.insert(far, near);
        self.metric(Metric::ConnectionsCoupled);
        Ok(())
    }

    /// What happened to a section that is coupled happens to the other one. What is left in the
    /// effects concerns users.
    pub(crate) fn relay(&mut self) {
        let mut own = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let effects = core::mem::take(&mut self.effects);
            let is_done = effects.is_empty();
            for effect in effects {
                match effect {
                    Effect::Tell(of, event) if let Some(to) = self.couples.get(&of).copied() => {
                        self.passed_on(of, to, event);
                    }
                    Effect::Pass(of, more, data) => self.pass(of, more, data),
                    Effect::Drained(of) => self.drained(of),
                    effect => own.push(effect),
                }
            }
            if is_done {
                break;
            }
        }
        own.append(&mut self.effects);
        self.effects = own;
    }

    /// The section `of` has told something: what `to` makes of it.
    fn passed_on(&mut self, of: LocalReference, to: LocalReference, event: ConnectionEvent) {
        let now = self.now;
        if !self.has(to) {
            return self.uncouple(of, to);
        }
        match event {
            ConnectionEvent::Confirmed { class, responding, data } => {
                self.accept(now, to, Accept { class, responding, data });
            }
            ConnectionEvent::Expedited(data) => self.expedited(now, to, data),
            // What comes behind it waits until the other side has confirmed its own.
            ConnectionEvent::Reset(cause) => {
                self.reset(now, to, cause);
                self.reset_response(now, of);
            }
            ConnectionEvent::Disconnected { why, data } => {
                let is_offered = self.is_offered(to);
                let cause = match why {
                    Disconnected::Refused(cause) if is_offered => cause,
                    Disconnected::Released(cause) if !is_offered => cause,
                    Disconnected::Refused(_) => ReleaseCause::Unqualified.number(),
                    Disconnected::Released(_) => RefusalCause::Unqualified.number(),
                };
                self.disconnect(now, to, Disconnect { cause, data });
                self.uncouple(of, to);
            }
            ConnectionEvent::Inform(Inform::Failure) => self.peer_lost(now, of),
            // Data that a section cannot take are lost, and so is what they are a part of.
            ConnectionEvent::NotSent(data) if !data.is_empty() => self.overrun(now, of),
            // The data of a section that is coupled come in pieces.
            ConnectionEvent::Data(data) => self.pass(of, false, data),
            ConnectionEvent::Begun(_)
            | ConnectionEvent::Offered { .. }
            | ConnectionEvent::ResetConfirmed
            | ConnectionEvent::Inform(Inform::Return)
            | ConnectionEvent::NotSent(_) => {}
        }
    }

    fn uncouple(&mut self, one: LocalReference, other: LocalReference) {
        self.couples.remove(&one);
        self.couples.remove(&other);
    }

    fn overrun(&mut self, now: Time, of: LocalReference) {
        let Some(section) = self.take(of) else { return };
        self.metric(Metric::ConnectionsShed);
        match section.state {
            State::Active(_) => self.break_off(now, of, section, ReleaseCause::NetworkCongestion),
            _ => self.keep(of, section),
        }
    }

    /// MTP3 has no way any more to the node of a section: the connection ends on both sides.
    fn peer_lost(&mut self, now: Time, of: LocalReference) {
        let Some(section) = self.take(of) else { return };
        match section.state {
            State::Active(_) => self.break_off(now, of, section, ReleaseCause::MtpFailure),
            State::Requested(_) | State::Offered(_) => {
                let cause = RefusalCause::DestinationInaccessible.number();
                self.tell_end(of, Disconnected::Refused(cause), Bytes::new());
                self.freeze(now, of, section, false);
            }
            State::Abandoned(_) | State::Releasing { .. } => self.keep(of, section),
        }
    }

    /// A segment of a section goes on by the one that it is coupled with.
    fn pass(&mut self, of: LocalReference, more: bool, data: Bytes) {
        let now = self.now;
        let to = self.couples.get(&of).copied();
        let Some((to, mut section)) = to.and_then(|to| Some((to, self.take(to)?))) else {
            return self.metric(Metric::ConnectionMessagesDiscarded);
        };
        let room = self.room();
        let is_taken = match (section.state, section.class) {
            (State::Active(_), ConnectionClass::Basic) => {
                self.send_basic(now, to, &mut section, &data, more);
                true
            }
            (State::Active(_), ConnectionClass::FlowControl) => {
                let is_taken = self.queue(&mut section, &data, more, room);
                self.send_waiting(now, to, &mut section);
                is_taken
            }
            _ => true,
        };
        self.keep(to, section);
        if !is_taken {
            self.overrun(now, to);
        }
    }

    /// Puts data in pieces behind what waits for credit. Whether there was room.
    pub(super) fn queue(
        &mut self,
        section: &mut Section,
        data: &Bytes,
        more: bool,
        room: usize,
    ) -> bool {
        let pieces = data.len().div_ceil(room);
        if !self.make_room(section.source, data.len() + pieces * cost(0)) {
            return false;
        }
        for at in (0..data.len()).step_by(room) {
            let end = data.len().min(at + room);
            section.waiting.push_back((more || end < data.len(), data.slice(at..end)));
        }
        true
    }

    /// Whether the section that one is coupled with has enough to send: then no more is asked for.
    pub(super) fn is_held(&self, of: LocalReference) -> bool {
        let to = self.couples.get(&of).and_then(|to| self.section(*to));
        to.is_some_and(|it| it.waiting.len() >= usize::from(it.flow.credit()))
    }

    pub(super) fn is_coupled(&self, of: LocalReference) -> bool {
        self.couples.contains_key(&of)
    }

    /// A section has sent what waited: the other one may ask for more.
    fn drained(&mut self, of: LocalReference) {
        let now = self.now;
        let Some(to) = self.couples.get(&of).copied().filter(|to| !self.is_held(*to)) else {
            return;
        };
        if let Some(section) = self.take(to) {
            self.open(now, to, section);
        }
    }

    /// Acknowledges what came, where nobody holds that up any more, and keeps the section.
    pub(super) fn open(&mut self, now: Time, to: LocalReference, mut section: Box<Section>) {
        let is_open = section.state == State::Active(Reset::None)
            && section.class == ConnectionClass::FlowControl
            && !section.is_busy;
        if let Some(destination) = section.other.filter(|_| is_open && section.flow.owes()) {
            let (receive, credit) = section.flow.acknowledgement();
            let message = ConnectionMessage::Acknowledgement { destination, receive, credit };
            self.send(now, to, &mut section, &message);
        }
        self.keep(to, section);
    }
}
