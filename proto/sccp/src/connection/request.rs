//! What users want (Q.714 §3.1 to §3.7), as far as it is of a section.

use super::primitives::{Accept, Connect, ConnectionEvent, Disconnect};
use super::section::{Reset, Section, Source, State, Way, cost};
use super::table::{Connections, Effect};
use crate::codec::{
    Address, CONNECT_DATA_BYTES_MAX, CONNECT_DATA_READ_MAX, ConnectionClass, ConnectionMessage,
    ConnectionRequest, DATA_BYTES_MAX, EXPEDITED_BYTES_MAX, LocalReference, RefusalCause, Routing,
};
use crate::metrics::Metric;
use bytes::Bytes;
use machine::Time;

/// Octets of DT2 beside its data.
const DATA_OVERHEAD: usize = 8;

/// The data of a request, as a parameter: none is no parameter.
fn parameter(data: &Bytes) -> Option<&[u8]> {
    (!data.is_empty()).then_some(data)
}

impl Connections {
    /// N-CONNECT request for a node: CR (§3.1.2). `called` is as the next node shall see it.
    pub(crate) fn connect(
        &mut self,
        now: Time,
        way: Way,
        called: Address,
        hops: Option<u8>,
        connect: &Connect,
    ) {
        let fits = connect.data.len() <= CONNECT_DATA_BYTES_MAX;
        let cause = match () {
            () if !fits => Some(RefusalCause::IncompatibleData),
            () if self.is_guarded(now) => Some(RefusalCause::NoServiceNow),
            () => None,
        };
        let source = Source { by: None, opc: way.remote };
        let reference = match cause {
            Some(cause) => Err(cause),
            None => self.allocate(source).ok_or(RefusalCause::NoServiceNow),
        };
        let reference = match reference {
            Ok(reference) => reference,
            Err(cause) => {
                self.metric(Metric::ConnectionsRefused);
                let effect = Effect::NotConnected(connect.tag, cause.number());
                return self.effects.push(effect);
            }
        };
        self.tell(reference, ConnectionEvent::Begun(connect.tag));
        let credit = self.parameters.credit_max.clamp(1, 127);
        let state = State::Requested(now + self.parameters.establishment);
        let mut section = Section::new(way, source, connect.class, credit, state, now);
        section.subsystem = connect.calling.and_then(|it| it.subsystem);
        section.is_bound = called.routing == Routing::Subsystem;
        let message = ConnectionMessage::Request(ConnectionRequest {
            source: reference,
            class: connect.class,
            called,
            credit: (connect.class == ConnectionClass::FlowControl).then_some(credit),
            calling: connect.calling,
            hops,
            importance: connect.importance,
            data: parameter(&connect.data),
        });
        self.send(now, reference, &mut section, &message);
        self.keep(reference, section);
    }

    /// N-CONNECT response: CC (§3.1.3).
    pub(crate) fn accept(&mut self, now: Time, reference: LocalReference, accept: Accept) {
        let Some(mut section) = self.take(reference) else {
            return self.not_sent(reference, accept.data);
        };
        let fits = self.fits(reference, &accept.data);
        let (State::Offered(_), Some(other), true) = (section.state, section.other, fits) else {
            self.keep(reference, section);
            return self.not_sent(reference, accept.data);
        };
        section.class = section.class.min(accept.class);
        section.state = State::Active(Reset::None);
        section.received = now;
        let credit = section.flow.credit();
        let message = ConnectionMessage::Confirm {
            destination: other,
            source: reference,
            class: section.class,
            credit: (section.class == ConnectionClass::FlowControl).then_some(credit),
            called: accept.responding,
            importance: None,
            data: parameter(&accept.data),
        };
        self.metric(Metric::ConnectionsBegun);
        self.send(now, reference, &mut section, &message);
        self.keep(reference, section);
    }

    /// Whether data fit into CC, CREF or RLSD. What a relay point has read it can also pass on:
    /// another limit here would end one half of a connection alone.
    fn fits(&self, reference: LocalReference, data: &Bytes) -> bool {
        let most = match self.is_coupled(reference) {
            true => CONNECT_DATA_READ_MAX,
            false => CONNECT_DATA_BYTES_MAX,
        };
        data.len() <= most
    }

    /// N-DATA request: in segments (§3.5.1). Class 3 sends as far as there is credit.
    pub(crate) fn data(&mut self, now: Time, reference: LocalReference, data: Bytes) {
        let Some(mut section) = self.take(reference) else {
            return self.not_sent(reference, data);
        };
        let room = self.room();
        let has_length = !data.is_empty() && data.len() <= self.parameters.data_octets_max;
        let is_taken = match (section.state, section.class) {
            _ if !has_length => false,
            (State::Active(_), ConnectionClass::Basic) => {
                self.send_basic(now, reference, &mut section, &data, false);
                true
            }
            // What is requested after an RSR came is of the time after the reset.
            (State::Active(_), ConnectionClass::FlowControl) => {
                let is_taken = self.queue(&mut section, &data, false, room);
                if is_taken {
                    self.send_waiting(now, reference, &mut section);
                }
                is_taken
            }
            _ => false,
        };
        self.keep(reference, section);
        if !is_taken {
            self.not_sent(reference, data);
        }
    }

    /// The user takes no more, or does again: then what came is acknowledged.
    pub(crate) fn busy(&mut self, now: Time, reference: LocalReference, is_busy: bool) {
        let Some(mut section) = self.take(reference) else { return };
        section.is_busy = is_busy;
        self.open(now, reference, section);
    }

    /// Octets of a segment, at most.
    pub(super) fn room(&self) -> usize {
        self.message_octets_max.saturating_sub(DATA_OVERHEAD).clamp(1, DATA_BYTES_MAX)
    }

    /// Sends data in segments; `more`: others follow them.
    pub(super) fn send_basic(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        data: &Bytes,
        more: bool,
    ) {
        let Some(destination) = section.other else { return };
        let room = self.room();
        for at in (0..data.len()).step_by(room) {
            let end = data.len().min(at + room);
            let (more, data) = (more || end < data.len(), &data[at..end]);
            let message = ConnectionMessage::Data1 { destination, more, data };
            self.send(now, reference, section, &message);
        }
    }

    /// Sends what waits as far as it may: DT2 by the window, ED one at a time (§3.5.2, §3.6).
    pub(super) fn send_waiting(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
    ) {
        let (Some(destination), State::Active(Reset::None)) = (section.other, section.state) else {
            return;
        };
        if section.expedited_until.is_none()
            && let Some(data) = section.expedited.front().cloned()
        {
            section.expedited_until = Some(now + self.parameters.reset);
            let message = ConnectionMessage::Expedited { destination, data: &data };
            self.send(now, reference, section, &message);
        }
        while section.flow.may_send()
            && let Some((more, data)) = section.waiting.pop_front()
        {
            self.give_back(section.source, cost(data.len()));
            let sequencing = section.flow.next(more, section.is_busy || self.is_held(reference));
            let message = ConnectionMessage::Data2 { destination, sequencing, data: &data };
            self.send(now, reference, section, &message);
        }
        if self.is_coupled(reference) {
            self.effects.push(Effect::Drained(reference));
        }
    }

    /// N-EXPEDITED-DATA request (§3.6).
    pub(crate) fn expedited(&mut self, now: Time, reference: LocalReference, data: Bytes) {
        let Some(mut section) = self.take(reference) else {
            return self.not_sent(reference, data);
        };
        let is_taken = matches!(section.state, State::Active(_))
            && section.class == ConnectionClass::FlowControl
            && (1..=EXPEDITED_BYTES_MAX).contains(&data.len())
            && self.make_room(section.source, cost(data.len()));
        if is_taken {
            section.expedited.push_back(data.clone());
            self.send_waiting(now, reference, &mut section);
        }
        self.keep(reference, section);
        if !is_taken {
            self.not_sent(reference, data);
        }
    }

    /// N-RESET request (§3.7.2).
    pub(crate) fn reset(&mut self, now: Time, reference: LocalReference, cause: u8) {
        let Some(mut section) = self.take(reference) else {
            return self.not_sent(reference, Bytes::new());
        };
        let may = section.class == ConnectionClass::FlowControl
            && section.state == State::Active(Reset::None);
        if may {
            self.begin_reset(now, reference, &mut section, cause);
        }
        self.keep(reference, section);
        if !may {
            self.not_sent(reference, Bytes::new());
        }
    }

    /// Sends RSR; data on both ways are lost.
    pub(super) fn begin_reset(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        cause: u8,
    ) {
        let Some(destination) = section.other else { return };
        self.clear(section);
        section.state = State::Active(Reset::Asked(now + self.parameters.reset));
        self.metric(Metric::ConnectionResets);
        let message = ConnectionMessage::ResetRequest { destination, source: reference, cause };
        self.send(now, reference, section, &message);
    }

    /// Forgets data and numbers (§3.7.3).
    pub(super) fn clear(&mut self, section: &mut Section) {
        self.give_back(section.source, section.octets());
        section.waiting.clear();
        section.expedited.clear();
        section.came = Vec::new();
        section.expedited_until = None;
        section.flow.reset();
    }

    /// N-RESET response: RSC (§3.7.3).
    pub(crate) fn reset_response(&mut self, now: Time, reference: LocalReference) {
        let Some(mut section) = self.take(reference) else { return };
        if let (State::Active(Reset::Told), Some(destination)) = (section.state, section.other) {
            section.state = State::Active(Reset::None);
            let message = ConnectionMessage::ResetConfirm { destination, source: reference };
            self.send(now, reference, &mut section, &message);
            self.send_waiting(now, reference, &mut section);
        }
        self.keep(reference, section);
    }

    /// N-DISCONNECT request: CREF before the connection is there, RLSD then (§3.3.3).
    pub(crate) fn disconnect(&mut self, now: Time, reference: LocalReference, what: Disconnect) {
        let Some(mut section) = self.take(reference) else {
            return self.not_sent(reference, what.data);
        };
        if !self.fits(reference, &what.data) {
            self.keep(reference, section);
            return self.not_sent(reference, what.data);
        }
        let data = parameter(&what.data);
        match (section.state, section.other) {
            (State::Requested(until), _) => section.state = State::Abandoned(until),
            (State::Offered(_), Some(destination)) => {
                self.metric(Metric::ConnectionsRefused);
                let message = ConnectionMessage::Refused {
                    destination,
                    cause: what.cause,
                    called: None,
                    importance: None,
                    data,
                };
                self.send(now, reference, &mut section, &message);
                return self.freeze(now, reference, section, true);
            }
            (State::Active(_), _) => {
                self.release(now, reference, &mut section, what.cause, data);
            }
            _ => {}
        }
        self.keep(reference, section);
    }

    /// Sends RLSD, and waits for RLC.
    pub(super) fn release(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        cause: u8,
        data: Option<&[u8]>,
    ) {
        self.metric(Metric::ConnectionsReleased);
        self.clear(section);
        section.release(now, cause, &self.parameters);
        self.send_released(now, reference, section, cause, data);
    }

    pub(super) fn send_released(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        cause: u8,
        data: Option<&[u8]>,
    ) {
        let Some(destination) = section.other else { return };
        let (source, importance) = (reference, None);
        let message = ConnectionMessage::Released { destination, source, cause, importance, data };
        self.send(now, reference, section, &message);
    }

    pub(super) fn not_sent(&mut self, reference: LocalReference, data: Bytes) {
        self.tell(reference, ConnectionEvent::NotSent(data));
    }
}
