//! Messages that come for a section (Q.714 §3, and the tables of annex B for those that do not
//! belong).

use super::primitives::{ConnectionEvent, Disconnect, Disconnected};
use super::section::{Reset, Section, Source, State, Way};
use super::table::{Connections, Effect};
use crate::codec::{
    ConnectionClass, ConnectionMessage, ConnectionRequest, ErrorCause, LocalReference,
    RefusalCause, ReleaseCause, ResetCause, Sequencing,
};
use crate::metrics::Metric;
use ConnectionMessage as M;
use bytes::Bytes;
use machine::Time;

/// A CR for a user here that takes connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    /// Its answer's way.
    pub(crate) way: Way,
    /// Whose share it is of.
    pub(crate) source: Source,
    pub(crate) request: ConnectionRequest<'a>,
}

fn owned(data: Option<&[u8]>) -> Bytes {
    data.map_or_else(Bytes::new, Bytes::copy_from_slice)
}

impl Connections {
    /// A CR came: the user is asked (§3.1.3).
    ///
    /// # Errors
    /// With what cause it is refused.
    pub(crate) fn offer(&mut self, now: Time, offer: Offer<'_>) -> Result<(), RefusalCause> {
        if self.is_guarded(now) {
            return Err(RefusalCause::NoServiceNow);
        }
        let reference = self.allocate(offer.source).ok_or(RefusalCause::NoServiceNow)?;
        let request = offer.request;
        // A window that is not said is the smallest one.
        let most = self.parameters.credit_max.clamp(1, 127);
        let credit = request.credit.unwrap_or(1).clamp(1, most);
        let state = State::Offered(now + self.parameters.establishment);
        let mut section = Section::new(offer.way, offer.source, request.class, credit, state, now);
        section.other = Some(request.source);
        section.subsystem = request.called.subsystem;
        let ConnectionRequest { called, calling, class, importance, data, .. } = request;
        let data = owned(data);
        self.tell(reference, ConnectionEvent::Offered { called, calling, class, importance, data });
        self.keep(reference, section);
        Ok(())
    }

    /// A message of a connection came, other than CR, from that way's other end.
    pub(crate) fn receive(&mut self, now: Time, way: Way, message: &ConnectionMessage<'_>) {
        let Some(reference) = message.destination() else { return };
        let Some(mut section) = self.take(reference) else {
            return self.unassigned(way, reference, message);
        };
        if let State::Requested(_) | State::Abandoned(_) = section.state {
            return self.answered(now, way, reference, section, message);
        }
        if let Err(cause) = belongs(&section, way, message) {
            self.keep(reference, section);
            return self.object(way, reference, message, cause);
        }
        section.received = now;
        match (section.state, *message) {
            (State::Releasing { .. }, M::ReleaseComplete { .. } | M::Error { .. }) => {
                self.freeze(now, reference, section, true);
            }
            // Both released it: each RLSD is confirmed, for the other one may be lost.
            (State::Releasing { .. }, M::Released { source, .. }) => {
                let message = M::ReleaseComplete { destination: source, source: reference };
                self.send(now, reference, &mut section, &message);
                self.freeze(now, reference, section, true);
            }
            (_, M::Released { source, cause, data, .. }) => {
                self.metric(Metric::ConnectionsReleased);
                let message = M::ReleaseComplete { destination: source, source: reference };
                self.send(now, reference, &mut section, &message);
                let why = Disconnected::Released(cause);
                self.tell_end(reference, why, owned(data));
                self.freeze(now, reference, section, true);
            }
            (State::Active(_), M::Error { cause, .. }) => {
                self.errored(now, reference, section, cause);
            }
            (State::Active(reset), message) => {
                self.active(now, reference, section, reset, message);
            }
            _ => {
                self.metric(Metric::ConnectionMessagesDiscarded);
                self.keep(reference, section);
            }
        }
    }

    /// What comes while CR waits for its answer. It may come from another node than CR was sent
    /// to where that translates a title: of one that is bound, nobody else can answer.
    fn answered(
        &mut self,
        now: Time,
        way: Way,
        reference: LocalReference,
        mut section: Box<Section>,
        message: &ConnectionMessage<'_>,
    ) {
        if section.is_bound && section.way.remote != way.remote {
            self.keep(reference, section);
            return self.object(way, reference, message, ErrorCause::PointCodeMismatch);
        }
        let is_wanted = matches!(section.state, State::Requested(_));
        match *message {
            M::Confirm { source, class, credit, called, data, .. } => {
                section.way.remote = way.remote;
                section.other = Some(source);
                section.received = now;
                if class > section.class || !is_wanted {
                    let cause = match is_wanted {
                        true => ReleaseCause::InconsistentData,
                        false => ReleaseCause::UserOriginated,
                    };
                    self.release(now, reference, &mut section, cause.number(), None);
                    if is_wanted {
                        let why = Disconnected::Released(cause.number());
                        self.tell_end(reference, why, Bytes::new());
                    }
                    return self.keep(reference, section);
                }
                section.class = class;
                let most = section.flow.credit();
                section.flow = super::flow::Flow::new(credit.unwrap_or(1).clamp(1, most));
                section.state = State::Active(Reset::None);
                self.metric(Metric::ConnectionsBegun);
                let (responding, data) = (called, owned(data));
                self.tell(reference, ConnectionEvent::Confirmed { class, responding, data });
                self.keep(reference, section);
            }
            M::Refused { cause, data, .. } => {
                self.metric(Metric::ConnectionsRefused);
                if is_wanted {
                    let why = Disconnected::Refused(cause);
                    self.tell_end(reference, why, owned(data));
                    return self.freeze(now, reference, section, true);
                }
                self.freeze(now, reference, section, true);
            }
            _ => {
                self.metric(Metric::ConnectionMessagesDiscarded);
                self.keep(reference, section);
            }
        }
    }

    /// A message of no section here (table B.2).
    fn unassigned(&mut self, way: Way, reference: LocalReference, message: &ConnectionMessage<'_>) {
        match *message {
            M::Released { source, .. } => {
                let message = M::ReleaseComplete { destination: source, source: reference };
                self.reply(way, reference, &message);
            }
            M::Confirm { .. } | M::ResetRequest { .. } | M::ResetConfirm { .. } => {
                self.object(way, reference, message, ErrorCause::UnassignedReference);
            }
            _ => self.metric(Metric::ConnectionMessagesDiscarded),
        }
    }

    /// Answers by ERR where the message says whose it is, and it is no answer itself.
    fn object(
        &mut self,
        way: Way,
        reference: LocalReference,
        message: &ConnectionMessage<'_>,
        cause: ErrorCause,
    ) {
        match message.source() {
            Some(destination) if !matches!(message, M::ReleaseComplete { .. }) => {
                self.metric(Metric::ConnectionErrors);
                let cause = cause.number();
                self.reply(way, reference, &M::Error { destination, cause });
            }
            _ => self.metric(Metric::ConnectionMessagesDiscarded),
        }
    }

    /// ERR came: the other side has no such connection, or takes it for another (§3.10).
    fn errored(
        &mut self,
        now: Time,
        reference: LocalReference,
        mut section: Box<Section>,
        cause: u8,
    ) {
        let why = Disconnected::Released(ReleaseCause::RemoteProcedureError.number());
        if cause != ErrorCause::ClassMismatch.number() {
            self.metric(Metric::ConnectionsReleased);
            self.tell_end(reference, why, Bytes::new());
            return self.freeze(now, reference, section, false);
        }
        let cause = ReleaseCause::RemoteProcedureError.number();
        self.release(now, reference, &mut section, cause, None);
        self.tell_end(reference, why, Bytes::new());
        self.keep(reference, section);
    }

    /// A message of a connection that is there.
    fn active(
        &mut self,
        now: Time,
        reference: LocalReference,
        mut section: Box<Section>,
        reset: Reset,
        message: ConnectionMessage<'_>,
    ) {
        let is_3 = section.class == ConnectionClass::FlowControl;
        let mut violation = Ok(());
        match message {
            M::Data1 { more, data, .. } if !is_3 => {
                return self.assemble(now, reference, section, more, data);
            }
            // During a reset data of before are thrown away (§3.7.3).
            M::Data2 { .. } | M::Expedited { .. } | M::Acknowledgement { .. }
                if is_3 && reset != Reset::None => {}
            M::Data2 { sequencing, data, .. } if is_3 => {
                return self.sequenced(now, reference, section, sequencing, data);
            }
            M::Acknowledgement { receive, credit, .. } if is_3 => {
                violation = section.flow.acknowledge(receive, Some(credit));
            }
            M::Expedited { data, .. } if is_3 => {
                self.expedited_came(now, reference, &mut section, data);
            }
            M::ExpeditedAcknowledgement { .. } if is_3 => self.expedited_taken(&mut section),
            M::ResetRequest { cause, .. } if is_3 => {
                self.reset_came(now, reference, &mut section, cause);
            }
            M::ResetConfirm { .. } if is_3 => {
                if let Reset::Asked(_) = reset {
                    section.state = State::Active(Reset::None);
                    self.tell(reference, ConnectionEvent::ResetConfirmed);
                }
            }
            M::InactivityTest { class, .. } if class != section.class => {
                return self.break_off(now, reference, section, ReleaseCause::InconsistentData);
            }
            M::InactivityTest { sequencing, credit, .. } if is_3 && reset == Reset::None => {
                violation = match section.flow.lacks(sequencing.send) {
                    true => Err(ResetCause::IncorrectSend),
                    false => section.flow.acknowledge(sequencing.receive, Some(credit)),
                };
            }
            M::InactivityTest { .. } => {}
            M::Confirm { .. } | M::Refused { .. } | M::ReleaseComplete { .. } => {
                self.metric(Metric::ConnectionMessagesDiscarded);
            }
            _ => return self.mismatch(reference, section),
        }
        if let Err(cause) = violation {
            self.reset_by_us(now, reference, &mut section, cause);
        }
        self.send_waiting(now, reference, &mut section);
        self.keep(reference, section);
    }

    /// An ED came: it is acknowledged at once (§3.6).
    fn expedited_came(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        data: &[u8],
    ) {
        self.tell(reference, ConnectionEvent::Expedited(Bytes::copy_from_slice(data)));
        if let Some(destination) = section.other {
            let message = M::ExpeditedAcknowledgement { destination };
            self.send(now, reference, section, &message);
        }
    }

    fn expedited_taken(&mut self, section: &mut Section) {
        if section.expedited_until.take().is_some()
            && let Some(data) = section.expedited.pop_front()
        {
            self.give_back(section.source, super::section::cost(data.len()));
        }
    }

    /// A message of the other class.
    fn mismatch(&mut self, reference: LocalReference, section: Box<Section>) {
        self.metric(Metric::ConnectionErrors);
        if let Some(destination) = section.other {
            let cause = ErrorCause::ClassMismatch.number();
            self.reply(section.way, reference, &M::Error { destination, cause });
        }
        self.keep(reference, section);
    }

    /// This node resets the connection: the user hears N-RESET now, and that it is confirmed by
    /// RSC then; its response is not waited for.
    pub(super) fn reset_by_us(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        cause: ResetCause,
    ) {
        self.begin_reset(now, reference, section, cause.number());
        self.tell(reference, ConnectionEvent::Reset(cause.number()));
    }

    fn reset_came(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        cause: u8,
    ) {
        let (State::Active(reset), Some(destination)) = (section.state, section.other) else {
            return;
        };
        match reset {
            // Both reset it: each takes the RSR of the other for its confirmation. It is confirmed
            // nevertheless, for the other RSR may be lost.
            Reset::Asked(_) => {
                section.state = State::Active(Reset::None);
                let message = M::ResetConfirm { destination, source: reference };
                self.send(now, reference, section, &message);
                self.tell(reference, ConnectionEvent::ResetConfirmed);
            }
            Reset::None => {
                self.clear(section);
                section.state = State::Active(Reset::Told);
                self.metric(Metric::ConnectionResets);
                self.tell(reference, ConnectionEvent::Reset(cause));
            }
            Reset::Told => {}
        }
    }

    /// A DT2 came (§3.5.2).
    fn sequenced(
        &mut self,
        now: Time,
        reference: LocalReference,
        mut section: Box<Section>,
        sequencing: Sequencing,
        data: &[u8],
    ) {
        let taken = section.flow.acknowledge(sequencing.receive, None);
        let taken = taken.and_then(|()| section.flow.take(sequencing.send));
        if let Err(cause) = taken {
            self.reset_by_us(now, reference, &mut section, cause);
            return self.keep(reference, section);
        }
        self.send_waiting(now, reference, &mut section);
        if section.flow.owes()
            && !section.is_busy
            && !self.is_held(reference)
            && let Some(destination) = section.other
        {
            let (receive, credit) = section.flow.acknowledgement();
            let message = M::Acknowledgement { destination, receive, credit };
            self.send(now, reference, &mut section, &message);
        }
        self.assemble(now, reference, section, sequencing.more, data);
    }

    /// Puts the pieces of an N-DATA together (§3.5.1).
    fn assemble(
        &mut self,
        now: Time,
        reference: LocalReference,
        mut section: Box<Section>,
        more: bool,
        data: &[u8],
    ) {
        if self.is_coupled(reference) {
            self.effects.push(Effect::Pass(reference, more, Bytes::copy_from_slice(data)));
            return self.keep(reference, section);
        }
        if !more && section.came.is_empty() {
            self.tell(reference, ConnectionEvent::Data(Bytes::copy_from_slice(data)));
            return self.keep(reference, section);
        }
        let is_too_long = section.came.len() + data.len() > self.parameters.data_octets_max;
        if is_too_long || !self.make_room(section.source, data.len()) {
            self.metric(Metric::ConnectionsShed);
            return self.break_off(now, reference, section, ReleaseCause::NetworkCongestion);
        }
        section.came.extend_from_slice(data);
        if !more {
            let whole = core::mem::take(&mut section.came);
            self.give_back(section.source, whole.len());
            self.tell(reference, ConnectionEvent::Data(Bytes::from(whole)));
        }
        self.keep(reference, section);
    }

    /// This node releases a connection: both are told.
    pub(super) fn break_off(
        &mut self,
        now: Time,
        reference: LocalReference,
        mut section: Box<Section>,
        cause: ReleaseCause,
    ) {
        self.release(now, reference, &mut section, cause.number(), None);
        let why = Disconnected::Released(cause.number());
        self.tell_end(reference, why, Bytes::new());
        self.keep(reference, section);
    }

    /// A subsystem here is out of service: its connections end.
    pub(crate) fn subsystem_failed(&mut self, now: Time, subsystem: u8) {
        let of = self.sections().filter(|(_, it)| it.subsystem == Some(subsystem));
        for reference in of.map(|(reference, _)| reference).collect::<Vec<_>>() {
            let Some(mut section) = self.take(reference) else { continue };
            match section.state {
                State::Active(_) => {
                    self.break_off(now, reference, section, ReleaseCause::SubsystemFailure);
                }
                State::Requested(until) => {
                    section.state = State::Abandoned(until);
                    let cause = RefusalCause::SubsystemFailure.number();
                    self.tell_end(reference, Disconnected::Refused(cause), Bytes::new());
                    self.keep(reference, section);
                }
                State::Offered(_) => {
                    self.keep(reference, section);
                    let cause = RefusalCause::SubsystemFailure.number();
                    self.tell_end(reference, Disconnected::Refused(cause), Bytes::new());
                    self.disconnect(now, reference, Disconnect { cause, data: Bytes::new() });
                }
                State::Abandoned(_) | State::Releasing { .. } => self.keep(reference, section),
            }
        }
    }

    /// MTP3 had no way for a CR of this node.
    pub(crate) fn request_undeliverable(&mut self, now: Time, reference: LocalReference) {
        let Some(section) = self.take(reference) else { return };
        match section.state {
            State::Requested(_) => {
                let why = Disconnected::Refused(RefusalCause::DestinationInaccessible.number());
                self.tell_end(reference, why, Bytes::new());
                self.freeze(now, reference, section, true);
            }
            State::Abandoned(_) => self.freeze(now, reference, section, true),
            _ => self.keep(reference, section),
        }
    }
}

/// Whether a message comes from the other half of a section (tables B.2 and B.3).
fn belongs(section: &Section, way: Way, message: &ConnectionMessage<'_>) -> Result<(), ErrorCause> {
    if section.way.remote != way.remote {
        return Err(ErrorCause::PointCodeMismatch);
    }
    match (message.source(), section.other) {
        (Some(source), Some(other)) if source != other => Err(ErrorCause::InconsistentReference),
        _ => Ok(()),
    }
}
