//! Connections at this node: routing of CR (Q.714 §2.2.2, §3.1), and the rest to their sections.

use super::routing::Course;
use super::{Node, Origin};
use crate::codec::{
    Address, Class, ConnectionMessage, ConnectionRequest, Form, LocalReference, Message,
    RefusalCause, ReturnCause, Routing, Unit, Word,
};
use crate::connection::{
    Connect, ConnectionInput, ConnectionReport, Effect, Inform, Offer, Onward, Restored, Source,
    Standing, Way,
};
use crate::effects::{Indication, Out};
use crate::metrics::Metric;
use m3ua::codec::PointCode;
use machine::Time;
use std::ops::RangeInclusive;
use wire::Malformed;

impl Node {
    /// What a user wants.
    pub(super) fn connection_input(&mut self, now: Time, input: ConnectionInput) {
        let connections = &mut self.connections;
        match input {
            ConnectionInput::Serve(subsystem, true) => drop(self.connected.insert(subsystem)),
            ConnectionInput::Serve(subsystem, false) => drop(self.connected.remove(&subsystem)),
            ConnectionInput::Connect(connect) => self.connect(now, connect),
            ConnectionInput::Accept(it, accept) => connections.accept(now, it, accept),
            ConnectionInput::Data(it, data) => connections.data(now, it, data),
            ConnectionInput::Expedited(it, data) => connections.expedited(now, it, data),
            ConnectionInput::Reset(it, cause) => connections.reset(now, it, cause),
            ConnectionInput::ResetResponse(it) => connections.reset_response(now, it),
            ConnectionInput::Busy(it, is_busy) => connections.busy(now, it, is_busy),
            ConnectionInput::Disconnect(it, what) => connections.disconnect(now, it, what),
        }
        self.carry_out();
    }

    /// N-CONNECT request: its title is translated here, CR goes to the node that it leads to.
    fn connect(&mut self, now: Time, mut connect: Connect) {
        self.come_to(connect.calling.and_then(|it| it.point_code));
        // A point code in it is of this node: so what comes back undelivered is known as its own.
        if let Some(calling) = &mut connect.calling {
            calling.point_code = calling.point_code.map(|_| self.at);
            *calling = self.rules.calling(calling);
        }
        let calling = connect.calling.unwrap_or_else(nobody);
        let course = self.course(Origin::Here, &as_unit(connect.called, calling, None), 0);
        let (remote, called) = match course {
            Ok(Course::There(remote, called)) => (remote, called),
            Ok(Course::Here(called)) => (self.at, called),
            Err(cause) => {
                self.count(Metric::ConnectionsRefused);
                let cause = refusal(cause).number();
                return self.indicate(Indication::NotConnected(connect.tag, cause));
            }
        };
        let hops = (called.routing == Routing::Title).then_some(self.settings.parameters.hops);
        let way = Way { own: self.at, remote };
        self.connections.connect(now, way, called, hops, &connect);
    }

    /// A message of a connection came.
    pub(super) fn connection_message(
        &mut self,
        now: Time,
        message: &ConnectionMessage<'_>,
        msu: &m3ua::Transfer,
    ) {
        match message {
            ConnectionMessage::Request(request) => self.requested(now, *request, msu),
            message => {
                let way = Way { own: self.at, remote: msu.opc };
                self.connections.receive(now, way, message);
            }
        }
        self.carry_out();
    }

    /// A CR came: for a user here, for another node, or refused.
    fn requested(&mut self, now: Time, request: ConnectionRequest<'_>, msu: &m3ua::Transfer) {
        let calling = request.calling.unwrap_or_else(nobody);
        let unit = as_unit(request.called, calling, request.hops);
        let course = self.course(Origin::Network(msu.opc), &unit, msu.sls);
        // Who sent it to a node before is in the address, not in the label (§3.1.3).
        let remote = calling.point_code.filter(|it| !self.is_own(*it)).unwrap_or(msu.opc);
        let way = Way { own: self.at, remote };
        let source = Source { by: self.by, opc: msu.opc };
        let taken = match course {
            Ok(Course::Here(called)) => {
                self.serves(called.subsystem.unwrap_or_default()).and_then(|()| {
                    let request = ConnectionRequest { called, ..request };
                    self.connections.offer(now, Offer { way, source, request })
                })
            }
            Ok(Course::There(dpc, called)) if self.settings.parameters.couples => {
                let hops = self.hops_left(&request);
                // The node beyond is to answer this one.
                let calling = request
                    .calling
                    .map(|it| self.rules.calling(&Address { point_code: None, ..it }));
                let onward = Way { own: self.at, remote: dpc };
                let onward = Onward { way: onward, called, calling, hops };
                self.count(Metric::Relayed);
                self.connections.couple(now, Offer { way, source, request }, onward)
            }
            Ok(Course::There(dpc, called)) => {
                self.pass_on(ConnectionRequest { called, ..request }, msu, dpc)
            }
            Err(cause) => Err(refusal(cause)),
        };
        if let Err(cause) = taken {
            self.refuse(way, request.source, cause);
        }
    }

    /// Whether a subsystem here takes connections.
    fn serves(&self, subsystem: u8) -> Result<(), RefusalCause> {
        match self.unavailable(subsystem) {
            Some(cause) => Err(refusal(cause)),
            None if !self.connected.contains(&subsystem) => Err(RefusalCause::NoService),
            None => Ok(()),
        }
    }

    /// The hop counter of a CR that goes on. One without it gets one, so that no circle of
    /// translations keeps it.
    fn hops_left(&self, request: &ConnectionRequest<'_>) -> Option<u8> {
        let hops = request.hops.map(|it| it.saturating_sub(1));
        hops.or(Some(self.settings.parameters.hops))
    }

    /// A CR goes on without coupling: the calling address says whose the connection is.
    fn pass_on(
        &mut self,
        mut request: ConnectionRequest<'_>,
        msu: &m3ua::Transfer,
        dpc: PointCode,
    ) -> Result<(), RefusalCause> {
        let calling = request.calling.get_or_insert_with(nobody);
        calling.point_code = calling.point_code.or(Some(msu.opc));
        *calling = self.rules.calling(calling);
        request.hops = self.hops_left(&request);
        let mut payload = Vec::new();
        let written = ConnectionMessage::Request(request).write(&mut payload);
        written.ok_or(RefusalCause::Unqualified)?;
        self.count(Metric::Relayed);
        self.transfer(dpc, msu.sls, payload);
        Ok(())
    }

    fn refuse(&mut self, way: Way, destination: LocalReference, cause: RefusalCause) {
        self.count(Metric::ConnectionsRefused);
        let (cause, called, importance, data) = (cause.number(), None, None, None);
        let message = ConnectionMessage::Refused { destination, cause, called, importance, data };
        let mut payload = Vec::new();
        if message.write(&mut payload).is_some() {
            let sls = destination.number().to_le_bytes()[0] & 0x0f;
            self.transfer(way.remote, sls, payload);
        }
    }

    /// MTP3 had no way for a message of a connection. Only of a CR somebody is told; the others
    /// have timers.
    pub(super) fn connection_undeliverable(
        &mut self,
        now: Time,
        message: &Message<'_>,
        msu: &m3ua::Transfer,
    ) {
        let Ok(Some(ConnectionMessage::Request(request))) = ConnectionMessage::of(message) else {
            return;
        };
        let of = request.calling.and_then(|it| it.point_code).filter(|it| !self.is_own(*it));
        match of {
            Some(remote) => {
                let way = Way { own: msu.opc, remote };
                self.refuse(way, request.source, RefusalCause::DestinationInaccessible);
            }
            None => self.connections.request_undeliverable(now, request.source),
        }
        self.carry_out();
    }

    /// Where nodes share connections: the parts in which they begin here.
    pub fn begin_connections_in(&mut self, parts: Vec<u8>) {
        self.connections.begin_in(parts);
    }

    /// Where nodes share connections: messages of connections that stand here, since this was asked
    /// last, in order. They are not among what [`machine::Machine::step`] wants, for another node
    /// may have to be told first.
    pub fn take_said(&mut self) -> Vec<(LocalReference, m3ua::Transfer)> {
        core::mem::take(&mut self.said)
    }

    /// In which connections something happened since this was asked last, and how they stand.
    pub fn connection_changes(
        &mut self,
        now: Time,
        tell: &mut dyn FnMut(LocalReference, ConnectionReport<'_>),
    ) {
        self.connections.changes(now, tell);
    }

    /// Tells the connections of parts from that reference on, until `tell` says that it is enough:
    /// where the next one stands. Where they are handed over `whole`, class 3 goes on without a
    /// reset.
    pub fn connections_standing(
        &self,
        now: Time,
        parts: &RangeInclusive<u8>,
        from: LocalReference,
        is_whole: bool,
        tell: &mut dyn FnMut(Standing<'_>) -> bool,
    ) -> Option<LocalReference> {
        self.connections.standing(now, parts, from, is_whole, tell)
    }

    /// Restores a connection as another node has told it at that time; it goes on with
    /// [`Node::resume_connections`].
    ///
    /// # Errors
    /// It lacks something, or something stands for its reference.
    pub fn restore_connection(
        &mut self,
        now: Time,
        at: Time,
        reference: LocalReference,
        fields: &[u8],
        came: &[u8],
    ) -> Result<Restored, Malformed> {
        self.connections.restore(now, at, reference, fields, came)
    }

    /// Connections that were restored go on, once their users know.
    pub fn resume_connections(&mut self, now: Time, out: &mut Vec<Out>) {
        self.connections.is_guarded(now);
        self.connections.resume(now);
        self.carry_out();
        out.append(&mut self.out);
    }

    /// Another node serves these parts now: what stands in them is forgotten.
    pub fn leave_connections(&mut self, parts: &RangeInclusive<u8>) {
        self.connections.leave(parts);
    }

    /// N-INFORM to the users of connections with a node.
    pub(super) fn inform(&mut self, of: PointCode, what: Inform) {
        self.connections.inform(of, what);
        self.carry_out();
    }

    pub(super) fn connections_due(&mut self, now: Time) {
        self.connections.expire(now);
        self.carry_out();
    }

    /// The connections of a subsystem that is out of service end.
    pub(super) fn end_connections(&mut self, subsystem: u8) {
        self.connections.subsystem_failed(self.connections.now(), subsystem);
        self.carry_out();
    }

    /// What the connections want.
    fn carry_out(&mut self) {
        self.connections.relay();
        for effect in core::mem::take(&mut self.connections.effects) {
            match effect {
                Effect::Send(way, sls, payload, of) => {
                    self.come_to(Some(way.own));
                    let msu = self.msu(way.remote, sls, payload);
                    match of.filter(|_| self.settings.parameters.connections.is_shared) {
                        Some(of) => self.said.push((of, msu)),
                        None => self.out.push(Out::Transfer(msu)),
                    }
                }
                Effect::Tell(reference, event) => {
                    self.indicate(Indication::Connection(reference, event));
                }
                Effect::NotConnected(tag, cause) => {
                    self.indicate(Indication::NotConnected(tag, cause));
                }
                Effect::Count(metric) => self.count(metric),
                // Of sections that are coupled no more.
                Effect::Pass(..) | Effect::Drained(_) => {}
            }
        }
    }
}

/// The address of who gives none.
const fn nobody() -> Address {
    Address { routing: Routing::Subsystem, point_code: None, subsystem: None, title: None }
}

/// A CR as routing sees it.
fn as_unit(called: Address, calling: Address, hops: Option<u8>) -> Unit<'static> {
    Unit {
        form: if hops.is_some() { Form::Extended } else { Form::Basic },
        word: Word::Data(Class { is_sequenced: true, returns: false }),
        hops: hops.unwrap_or_default(),
        called,
        calling,
        segmentation: None,
        importance: None,
        data: &[],
    }
}

/// The refusal cause for what keeps a CR from its destination (Q.714 §2.6).
const fn refusal(cause: ReturnCause) -> RefusalCause {
    match cause {
        ReturnCause::NoTranslationNature => RefusalCause::NoTranslationNature,
        ReturnCause::NoTranslationAddress => RefusalCause::DestinationUnknown,
        ReturnCause::SubsystemCongestion => RefusalCause::SubsystemCongestion,
        ReturnCause::SubsystemFailure => RefusalCause::SubsystemFailure,
        ReturnCause::UnequippedUser => RefusalCause::UnequippedUser,
        ReturnCause::MtpFailure => RefusalCause::DestinationInaccessible,
        ReturnCause::NetworkCongestion => RefusalCause::NoServiceNow,
        ReturnCause::HopCounterViolation => RefusalCause::HopCounterViolation,
        ReturnCause::SccpFailure => RefusalCause::SccpFailure,
        _ => RefusalCause::Unqualified,
    }
}
