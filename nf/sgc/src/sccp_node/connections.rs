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
use sccp::codec::{Address, Class, LocalReference, ReleaseCause};
use sccp::{ConnectionEvent, ConnectionInput, Disconnect, In, Unitdata};
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
                let shard = spread.connection(now, of, &event);
                self.handed.extend(shard.map(|it| (it, Work::Event(of, event))));
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
                let transit = Transit { by: self.by, from, unitdata };
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
                    let transit = Transit { by: self.by, from: None, unitdata };
                    self.handed.push((0, Work::Unitdata(transit)));
                }
                (Network::Connection(input), _) => self.queue.push_back(In::Connection(input)),
                (Network::Unitdata(unitdata), _) => self.queue.push_back(In::Unitdata(unitdata)),
            }
        }
    }

    /// The connections of a shard that has begun anew end.
    pub(super) fn connections_lost(&mut self, shard: u16) {
        let Part::Links(spread) = &mut self.part else { return };
        let lost = spread.take_connections(shard);
        self.queue.extend(lost.into_iter().map(released));
    }

    /// A shard has not taken what happened to a connection: it ends.
    pub(super) fn event_handed_back(&mut self, of: LocalReference, event: &ConnectionEvent) {
        if let (Part::Links(spread), false) =
            (&mut self.part, matches!(event, ConnectionEvent::Disconnected { .. }))
        {
            spread.forget(of);
            self.queue.push_back(released(of));
        }
    }

    /// The first shard has not taken what is wanted of a connection.
    pub(super) fn input_handed_back(&mut self, now: Time, input: ConnectionInput) {
        if let ConnectionInput::Connect(connect) = input {
            let cause = sccp::codec::RefusalCause::NoServiceNow.number();
            self.not_connected(now, connect.tag, cause);
        }
    }
}

/// The end of a connection whose application is lost.
fn released(of: LocalReference) -> In {
    let what = Disconnect { cause: ReleaseCause::SubsystemFailure.number(), data: Bytes::new() };
    In::Connection(ConnectionInput::Disconnect(of, what))
}
