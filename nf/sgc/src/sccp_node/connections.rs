//! Subsystems without TCAP: their applications have connections of classes 2 and 3, and
//! N-UNITDATA.

use super::SccpNode;
use crate::config::Sgc;
use crate::config::application::{shard_of_tag, subsystem_of_tag};
use crate::config::sccp::SubsystemUser;
use crate::shards::{Part, Transit, Work};
use bytes::Bytes;
use m3ua::codec::PointCode;
use machine::Time;
use sccp::codec::{Address, Class, LocalReference, RefusalCause, ReleaseCause};
use sccp::{ConnectionEvent, ConnectionInput, Disconnect, Disconnected, In, Unitdata};
use std::collections::BTreeSet;
use tcu::Network;

impl SccpNode {
    /// Subsystems without TCAP take connections.
    pub(super) fn connections_follow(&mut self, old: Option<&Sgc>, next: &Sgc) {
        let of = |config: &Sgc| -> BTreeSet<u8> {
            let all = config.subsystem.iter().filter(|it| it.user == SubsystemUser::Sccp);
            all.map(|it| it.number).collect()
        };
        let (before, after) = (old.map(of).unwrap_or_default(), of(next));
        let serve = |number: &u8, is| In::Connection(ConnectionInput::Serve(*number, is));
        self.queue.extend(before.difference(&after).map(|it| serve(it, false)));
        self.queue.extend(after.difference(&before).map(|it| serve(it, true)));
    }

    /// Something happened to a connection.
    pub(super) fn connection_event(
        &mut self,
        now: Time,
        of: LocalReference,
        event: ConnectionEvent,
    ) {
        match &mut self.part {
            Part::Links(spread) => {
                let Some(shard) = spread.connection(now, of, &event) else { return };
                // Who has to hear first that this one has begun would end it then.
                if self.owed.owes_begun(shard) {
                    self.event_not_taken(now, shard, of, event);
                } else {
                    self.handed.push((shard, Work::Event(of, event)));
                }
            }
            _ => self.services.applications.connection_event(now, of, event),
        }
    }

    /// A connection that was asked for got no reference.
    pub(super) fn not_connected(&mut self, now: Time, tag: u64, cause: u8) {
        match &self.part {
            Part::Links(_) => {
                self.handed.push((shard_of_tag(tag), Work::NotConnected(tag, cause)));
            }
            _ => {
                let of = subsystem_of_tag(tag);
                if let Some(end) = self.services.applications.serving(of) {
                    end.not_connected(now, tag, cause);
                }
            }
        }
    }

    /// N-UNITDATA for a subsystem without TCAP.
    pub(super) fn network_unitdata(
        &mut self,
        now: Time,
        from: Option<PointCode>,
        unitdata: Unitdata,
    ) {
        let number = unitdata.called.subsystem.unwrap_or_default();
        match &mut self.part {
            Part::Links(spread) => {
                let shard = spread.begins(now, number);
                let transit = Transit { by: self.by, from, place: None, unitdata };
                self.handed.push((shard, Work::Unitdata(transit)));
            }
            _ => {
                if let Some(end) = self.services.applications.serving(number) {
                    end.unitdata(now, unitdata);
                }
            }
        }
    }

    /// N-UNITDATA of a subsystem without TCAP came back.
    pub(super) fn network_notice(
        &mut self,
        now: Time,
        ends: (Address, Address),
        cause: u8,
        data: Bytes,
    ) {
        let (called, calling) = ends;
        let number = calling.subsystem.unwrap_or_default();
        let class = Class { is_sequenced: false, returns: false };
        let unitdata = Unitdata { called, calling, class, sls: 0, importance: None, data };
        match &mut self.part {
            Part::Links(spread) => {
                let shard = spread.begins(now, number);
                self.handed.push((shard, Work::Returned(cause, unitdata)));
            }
            _ => self.returned(now, cause, unitdata),
        }
    }

    pub(super) fn returned(&mut self, now: Time, cause: u8, unitdata: Unitdata) {
        let number = unitdata.calling.subsystem.unwrap_or_default();
        if let Some(end) = self.services.applications.serving(number) {
            end.unitdata_returned(now, unitdata, cause);
        }
    }

    /// What applications want of the network service.
    pub(super) fn serve_network(&mut self) {
        for wanted in self.services.applications.take_network() {
            match (wanted, &self.part) {
                (Network::Connection(input), Part::Dialogues) => {
                    self.handed.push((0, Work::Connection(input)));
                }
                (Network::Unitdata(unitdata), Part::Dialogues) => {
                    let transit = Transit { by: self.by, from: None, place: None, unitdata };
                    self.handed.push((0, Work::Unitdata(transit)));
                }
                (Network::Connection(input), _) => self.queue.push_back(In::Connection(input)),
                (Network::Unitdata(unitdata), _) => self.queue.push_back(In::Unitdata(unitdata)),
            }
        }
    }

    /// The connections of a shard that has begun anew end. Where it could say so late only, some
    /// of them may have begun since: it hears of each.
    pub(super) fn connections_lost(&mut self, now: Time, shard: u16) {
        let Part::Links(spread) = &mut self.part else { return };
        for of in spread.take_connections(shard) {
            self.queue.push_back(In::Connection(released(of)));
            self.owed.ended(now, shard, of, ended(of));
        }
    }

    /// A shard has not taken what happened to a connection: it ends, and that shard is told so
    /// until it takes it. Whether something was lost.
    pub(super) fn event_not_taken(
        &mut self,
        now: Time,
        shard: u16,
        of: LocalReference,
        event: ConnectionEvent,
    ) -> bool {
        let Part::Links(spread) = &mut self.part else { return true };
        match event {
            event @ ConnectionEvent::Disconnected { .. } => {
                self.owed.ended(now, shard, of, Work::Event(of, event));
                return false;
            }
            ConnectionEvent::Begun(tag) => {
                let cause = RefusalCause::NoServiceNow.number();
                self.owed.refused(now, shard, tag, cause);
            }
            ConnectionEvent::Offered { .. } => {}
            _ if self.owed.owes_end(shard, of) => {}
            _ => self.owed.ended(now, shard, of, ended(of)),
        }
        if spread.has(shard, of) {
            spread.forget(of);
            self.queue.push_back(In::Connection(released(of)));
        }
        true
    }

    /// A shard wants something of a connection: only of one that its applications have. Who
    /// believes to have another one hears that it is no more.
    pub(super) fn input_of(&mut self, from: u16, input: ConnectionInput) {
        let Part::Links(spread) = &mut self.part else { return };
        let of = reference_of(&input);
        match (of, &input) {
            (Some(of), ConnectionInput::Disconnect(..)) if spread.has(from, of) => {
                spread.forget(of);
            }
            (Some(of), _) if spread.has(from, of) => {}
            (Some(_), ConnectionInput::Disconnect(..)) => return,
            (Some(of), _) => return self.handed.push((from, ended(of))),
            (None, _) => {}
        }
        self.queue.push_back(In::Connection(input));
    }

    /// The first shard says what happened to a connection of an application here.
    pub(super) fn event_of(
        &mut self,
        now: Time,
        from: u16,
        of: LocalReference,
        event: ConnectionEvent,
    ) {
        let is_settled = matches!(
            event,
            ConnectionEvent::Offered { .. }
                | ConnectionEvent::Begun(_)
                | ConnectionEvent::Disconnected { .. }
        );
        if is_settled {
            self.owed.settled(from, of);
        } else if self.owed.owes_end(from, of) {
            // Its application has ended it, and the first shard will hear so.
            return;
        }
        self.services.applications.connection_event(now, of, event);
    }

    /// The first shard has not taken what is wanted of a connection: it ends, and that shard is
    /// told so until it takes it. Whether something was lost.
    pub(super) fn input_handed_back(&mut self, now: Time, to: u16, input: ConnectionInput) -> bool {
        let cause = match &input {
            ConnectionInput::Connect(connect) => {
                let cause = RefusalCause::NoServiceNow.number();
                self.not_connected(now, connect.tag, cause);
                return true;
            }
            ConnectionInput::Disconnect(of, _) => {
                self.owed.ended(now, to, *of, Work::Connection(input));
                return false;
            }
            ConnectionInput::Accept(..) => RefusalCause::SubsystemCongestion.number(),
            _ => ReleaseCause::NetworkCongestion.number(),
        };
        let Some(of) = reference_of(&input) else { return true };
        if !self.owed.owes_end(to, of) {
            let input = ConnectionInput::Disconnect(of, Disconnect { cause, data: Bytes::new() });
            self.owed.ended(now, to, of, Work::Connection(input));
            let (why, data) = (Disconnected::Released(cause), Bytes::new());
            let event = ConnectionEvent::Disconnected { why, data };
            self.services.applications.connection_event(now, of, event);
        }
        true
    }
}

/// The connection that something is wanted of.
const fn reference_of(input: &ConnectionInput) -> Option<LocalReference> {
    match input {
        ConnectionInput::Accept(of, _)
        | ConnectionInput::Data(of, _)
        | ConnectionInput::Expedited(of, _)
        | ConnectionInput::Reset(of, _)
        | ConnectionInput::ResetResponse(of)
        | ConnectionInput::Busy(of, _)
        | ConnectionInput::Disconnect(of, _) => Some(*of),
        ConnectionInput::Connect(_) | ConnectionInput::Serve(..) => None,
    }
}

/// The end of a connection whose application is lost.
const fn released(of: LocalReference) -> ConnectionInput {
    let what = Disconnect { cause: ReleaseCause::SubsystemFailure.number(), data: Bytes::new() };
    ConnectionInput::Disconnect(of, what)
}

/// What tells an application that a connection is no more.
const fn ended(of: LocalReference) -> Work {
    let why = Disconnected::Released(ReleaseCause::SubsystemFailure.number());
    Work::Event(of, ConnectionEvent::Disconnected { why, data: Bytes::new() })
}
