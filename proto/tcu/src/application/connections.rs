//! Connections of the application of a subsystem without TCAP, and its N-UNITDATA. Each connection
//! is one instance's, and ends with it: nothing of it can go on at another. Where several nodes
//! share connections, that instance goes on with it at the node that serves it.

use super::replica::{Home, write_home};
use super::{Application, InstanceId};
use crate::names::Speech;
use crate::network::{NetworkIndication as Told, NetworkRequest};
use crate::primitive::{Indication, Refusal};
use bytes::Bytes;
use machine::Time;
use sccp::codec::{
    CONNECT_DATA_BYTES_MAX, Class, ConnectionClass, EXPEDITED_BYTES_MAX, LONG_DATA_BYTES_MAX,
    LocalReference, RefusalCause, ReleaseCause,
};
use sccp::{
    Accept, Connect, ConnectionEvent, ConnectionInput, Disconnect, Disconnected, Inform, Unitdata,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Octets of one connection that wait for its instance, at most, before no more is asked for.
const FULL_OCTETS: usize = 16_384;

/// What an application wants of SCCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Something of a connection.
    Connection(ConnectionInput),
    /// N-UNITDATA.
    Unitdata(Unitdata),
}

/// Whose connections are whose.
#[derive(Debug, Default)]
pub(super) struct Connections {
    owners: BTreeMap<u32, InstanceId>,
    /// Those that were asked for and have no number yet, by tag: for whom, and by what reference.
    asked: BTreeMap<u64, (InstanceId, u64)>,
    /// The classes that were proposed of those that are offered.
    classes: BTreeMap<u32, ConnectionClass>,
    /// How many each instance has.
    counts: BTreeMap<InstanceId, usize>,
    /// Those of which so much waits for their instances that no more is asked for.
    full: BTreeSet<u32>,
    tags: u64,
    wants: Vec<Network>,
    /// Those that another node has served and that have no instance here yet; and those whose
    /// instance has no connection to this one: until when they wait for it.
    restored: Vec<Moved>,
    homeless: VecDeque<(Time, Moved)>,
}

/// A connection that another node has served.
#[derive(Debug)]
struct Moved {
    connection: u32,
    class: ConnectionClass,
    is_there: bool,
    home: Home,
}

impl Connections {
    pub(super) fn len(&self) -> usize {
        self.owners.len() + self.asked.len() + self.homeless.len()
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.homeless.front().map(|it| it.0)
    }

    pub(super) fn of(&self, id: InstanceId) -> usize {
        self.counts.get(&id).copied().unwrap_or(0)
    }

    fn own(&mut self, connection: u32, to: InstanceId) {
        self.forget(connection);
        self.owners.insert(connection, to);
        *self.counts.entry(to).or_default() += 1;
    }

    fn forget(&mut self, connection: u32) {
        self.classes.remove(&connection);
        self.full.remove(&connection);
        let Some(of) = self.owners.remove(&connection) else { return };
        if let Some(count) = self.counts.get_mut(&of) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&of);
            }
        }
    }
}

const fn reference(connection: u32) -> LocalReference {
    LocalReference::truncated(connection)
}

const fn class_of(number: u8) -> ConnectionClass {
    match number {
        3 => ConnectionClass::FlowControl,
        _ => ConnectionClass::Basic,
    }
}

impl Application {
    /// What it wants of SCCP, in order.
    pub fn take_network(&mut self) -> Vec<Network> {
        core::mem::take(&mut self.connections.wants)
    }

    /// Connections that it has.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Whether a connection is one of its own.
    #[must_use]
    pub fn has_connection(&self, of: LocalReference) -> bool {
        let waits = || self.connections.homeless.iter().any(|it| it.1.connection == of.number());
        self.connections.owners.contains_key(&of.number()) || waits()
    }

    /// Appends what it has of a connection, behind what SCCP has.
    pub fn write_connection(&self, of: LocalReference, out: &mut Vec<u8>) {
        let id = self.connections.owners.get(&of.number());
        let instance = id.and_then(|id| self.instances.get(id));
        let home = instance.map(|it| (&*it.group, &*it.name));
        let mut homeless = self.connections.homeless.iter();
        let before = homeless.find(|it| it.1.connection == of.number());
        let home = home.or_else(|| before.map(|it| it.1.home.names()));
        write_home(&self.settings.name, home, out);
    }

    /// Takes a connection that another node has served, as [`Application::write_connection`] told
    /// it: its class, and whether it is there. It goes to its instance with
    /// [`Application::adopt_connections`].
    pub fn restore_connection(
        &mut self,
        of: LocalReference,
        class: ConnectionClass,
        is_there: bool,
        octets: &[u8],
    ) {
        let (connection, home) = (of.number(), Home::read(octets));
        self.connections.restored.push(Moved { connection, class, is_there, home });
    }

    /// Connections that were restored go to their instances, or wait for them.
    pub fn adopt_connections(&mut self, now: Time) {
        let until = now + self.settings.resume;
        for it in core::mem::take(&mut self.connections.restored) {
            match self.at_home(&it.home) {
                Some(to) => self.moved_home(now, to, &it),
                None => self.connections.homeless.push_back((until, it)),
            }
        }
    }

    fn moved_home(&mut self, now: Time, to: InstanceId, it: &Moved) {
        let Moved { connection, class, is_there, .. } = *it;
        self.connections.own(connection, to);
        if !is_there {
            self.connections.classes.insert(connection, class);
        }
        self.counts.moved += 1;
        let class = class.number();
        self.tell_network(now, to, Told::Resume { connection, class, is_there });
    }

    /// An instance has greeted: its connections go on.
    pub(super) fn connections_welcomed(&mut self, now: Time) {
        for (until, it) in core::mem::take(&mut self.connections.homeless) {
            match self.at_home(&it.home) {
                Some(to) => self.moved_home(now, to, &it),
                None => self.connections.homeless.push_back((until, it)),
            }
        }
    }

    /// Those whose instances did not come end.
    pub(super) fn expire_connections(&mut self, now: Time) {
        while let Some((_, it)) = self.connections.homeless.pop_front_if(|it| it.0 <= now) {
            let cause = match it.is_there {
                true => ReleaseCause::SubsystemFailure.number(),
                false => RefusalCause::SubsystemFailure.number(),
            };
            self.counts.lost += 1;
            self.disconnect(it.connection, cause);
        }
    }

    /// Another node serves these connections now: they are forgotten here, and nobody is told.
    pub fn leave_connections(&mut self, is_of: impl Fn(LocalReference) -> bool) {
        let own = self.connections.owners.keys().copied();
        let gone = own.filter(|it| is_of(reference(*it))).collect::<Vec<_>>();
        gone.into_iter().for_each(|it| self.connections.forget(it));
        self.connections.homeless.retain(|it| !is_of(reference(it.1.connection)));
    }

    fn tell_network(&mut self, now: Time, to: InstanceId, it: Told) {
        self.push(now, to, &Indication::Network(it), Speech::Unknown);
    }

    fn want(&mut self, input: ConnectionInput) {
        self.connections.wants.push(Network::Connection(input));
    }

    fn disconnect(&mut self, connection: u32, cause: u8) {
        let what = Disconnect { cause, data: Bytes::new() };
        self.want(ConnectionInput::Disconnect(reference(connection), what));
    }

    /// An instance asks for something of the network service.
    ///
    /// # Errors
    /// Why it was not carried out.
    pub(super) fn network_asked(
        &mut self,
        id: InstanceId,
        request: &NetworkRequest,
    ) -> Result<(), Refusal> {
        if !self.settings.is_network {
            return Err(Refusal::State);
        }
        let input = match request.clone() {
            NetworkRequest::Connect { reference, called, calling, class, data } => {
                if !self.is_own(&calling) {
                    return Err(Refusal::Calling);
                }
                fits(&data, CONNECT_DATA_BYTES_MAX)?;
                if self.is_full() {
                    return Err(Refusal::Full);
                }
                self.connections.tags += 1;
                let tag = self.settings.tag | self.connections.tags & TAG_MASK;
                self.connections.asked.insert(tag, (id, reference));
                let (calling, class, importance) = (Some(calling), class_of(class), None);
                ConnectionInput::Connect(Connect { tag, called, calling, class, importance, data })
            }
            NetworkRequest::Unitdata { called, calling, class, returns, data } => {
                if !self.is_own(&calling) {
                    return Err(Refusal::Calling);
                }
                fits(&data, LONG_DATA_BYTES_MAX)?;
                let class = Class { is_sequenced: class == 1, returns };
                let (sls, importance) = (0, None);
                let unitdata = Unitdata { called, calling, class, sls, importance, data };
                self.connections.wants.push(Network::Unitdata(unitdata));
                return Ok(());
            }
            other => self.of_connection(id, other)?,
        };
        self.want(input);
        Ok(())
    }

    /// What is asked of a connection that is the instance's own.
    fn of_connection(
        &mut self,
        id: InstanceId,
        request: NetworkRequest,
    ) -> Result<ConnectionInput, Refusal> {
        let connection = request.connection().ok_or(Refusal::State)?;
        if self.connections.owners.get(&connection) != Some(&id) {
            return Err(Refusal::Unknown);
        }
        let of = reference(connection);
        Ok(match request {
            NetworkRequest::Accept { class, data, .. } => {
                fits(&data, CONNECT_DATA_BYTES_MAX)?;
                let proposed = self.connections.classes.remove(&connection);
                let class = class.map(class_of).or(proposed).unwrap_or(ConnectionClass::Basic);
                ConnectionInput::Accept(of, Accept { class, responding: None, data })
            }
            NetworkRequest::Data { data, .. } => ConnectionInput::Data(of, data),
            NetworkRequest::Expedited { data, .. } => {
                fits(&data, EXPEDITED_BYTES_MAX)?;
                ConnectionInput::Expedited(of, data)
            }
            NetworkRequest::Reset { cause, .. } => ConnectionInput::Reset(of, cause),
            NetworkRequest::ResetResponse { .. } => ConnectionInput::ResetResponse(of),
            NetworkRequest::Disconnect { cause, data, .. } => {
                fits(&data, CONNECT_DATA_BYTES_MAX)?;
                self.connections.forget(connection);
                ConnectionInput::Disconnect(of, Disconnect { cause, data })
            }
            NetworkRequest::Connect { .. } | NetworkRequest::Unitdata { .. } => {
                return Err(Refusal::State);
            }
        })
    }

    fn is_full(&self) -> bool {
        self.dialogues.len() + self.connections.len() >= self.settings.dialogues_max as usize
    }

    /// Something happened to a connection.
    pub fn connection_event(&mut self, now: Time, of: LocalReference, event: ConnectionEvent) {
        let connection = of.number();
        match event {
            ConnectionEvent::Begun(tag) => return self.connecting(now, connection, tag),
            ConnectionEvent::Offered { called, calling, class, data, .. } => {
                let class_number = class.number();
                let told = Told::Connect { connection, called, calling, class: class_number, data };
                return self.offered(now, connection, class, told);
            }
            _ => {}
        }
        let Some(to) = self.connections.owners.get(&connection).copied() else {
            if let ConnectionEvent::Disconnected { .. } = event {
                self.connections.homeless.retain(|it| it.1.connection != connection);
            }
            return;
        };
        if let ConnectionEvent::Data(data) | ConnectionEvent::Expedited(data) = &event
            && !self.has_room_for(to, connection, data.len())
        {
            return self.shed(now, to, connection);
        }
        let has_data = matches!(event, ConnectionEvent::Data(_));
        let told = match event {
            ConnectionEvent::Confirmed { class, data, .. } => {
                Told::Connected { connection, class: class.number(), data }
            }
            ConnectionEvent::Data(data) => Told::Data { connection, data },
            ConnectionEvent::Expedited(data) => Told::Expedited { connection, data },
            ConnectionEvent::Reset(cause) => Told::Reset { connection, cause },
            ConnectionEvent::ResetConfirmed => Told::ResetConfirm { connection },
            ConnectionEvent::Disconnected { why, data } => {
                self.connections.forget(connection);
                let (is_refused, cause) = match why {
                    Disconnected::Refused(cause) => (true, cause),
                    Disconnected::Released(cause) => (false, cause),
                };
                let (reference, connection) = (None, Some(connection));
                Told::Disconnect { reference, connection, is_refused, cause, data }
            }
            ConnectionEvent::Inform(what) => {
                Told::Inform { connection, is_available: what == Inform::Return }
            }
            ConnectionEvent::NotSent(_) => Told::NotSent { connection },
            ConnectionEvent::Begun(_) | ConnectionEvent::Offered { .. } => return,
        };
        self.tell_network(now, to, told);
        if has_data {
            self.fills(to, connection);
        }
    }

    /// Where much of a connection waits for its instance, no more is asked for: in class 3 its
    /// other side stops.
    fn fills(&mut self, to: InstanceId, connection: u32) {
        let waits = self.instances.get(&to).map_or(0, |it| it.queue.octets_of(connection));
        if waits >= FULL_OCTETS && self.connections.full.insert(connection) {
            self.want(ConnectionInput::Busy(reference(connection), true));
        }
    }

    /// An instance has read: more is asked for of those of its connections of which nothing waits.
    pub(super) fn drain(&mut self, id: InstanceId) {
        if self.connections.full.is_empty() {
            return;
        }
        let Some(instance) = self.instances.get(&id) else { return };
        let Connections { owners, full, .. } = &self.connections;
        let is_drained =
            |it: &u32| owners.get(it) == Some(&id) && instance.queue.octets_of(*it) == 0;
        for connection in full.iter().copied().filter(is_drained).collect::<Vec<_>>() {
            self.connections.full.remove(&connection);
            self.want(ConnectionInput::Busy(reference(connection), false));
        }
    }

    fn has_room_for(&self, to: InstanceId, connection: u32, data: usize) -> bool {
        let instance = self.instances.get(&to);
        instance.is_none_or(|it| it.has_room_for(connection, data, &self.settings))
    }

    /// More comes of a connection than its instance reads: it ends, and no other one with it.
    fn shed(&mut self, now: Time, to: InstanceId, connection: u32) {
        self.counts.shed_slow += 1;
        self.connections.forget(connection);
        let cause = ReleaseCause::NetworkCongestion.number();
        self.disconnect(connection, cause);
        self.tell_network(now, to, ended(connection, cause));
    }

    /// A connection that was asked for has a number.
    fn connecting(&mut self, now: Time, connection: u32, tag: u64) {
        let Some((to, reference)) = self.connections.asked.remove(&tag) else {
            return self.disconnect(connection, ReleaseCause::SubsystemFailure.number());
        };
        if !self.instances.contains_key(&to) {
            return self.disconnect(connection, ReleaseCause::SubsystemFailure.number());
        }
        self.connections.own(connection, to);
        self.tell_network(now, to, Told::Connecting { reference, connection });
    }

    /// A connection is offered: one of the instances gets it.
    fn offered(&mut self, now: Time, connection: u32, class: ConnectionClass, told: Told) {
        let to = if self.is_full() { None } else { self.choose() };
        let Some(to) = to else {
            match (self.is_full(), self.is_available()) {
                (true, _) => self.counts.shed_full += 1,
                (false, true) => self.counts.shed_slow += 1,
                (false, false) => self.counts.absent += 1,
            }
            return self.disconnect(connection, RefusalCause::SubsystemCongestion.number());
        };
        self.last = to;
        self.counts.begun_there += 1;
        self.connections.own(connection, to);
        self.connections.classes.insert(connection, class);
        self.tell_network(now, to, told);
    }

    /// A connection that was asked for got no number.
    pub fn not_connected(&mut self, now: Time, tag: u64, cause: u8) {
        let Some((to, reference)) = self.connections.asked.remove(&tag) else { return };
        let (reference, connection, is_refused) = (Some(reference), None, true);
        let told =
            Told::Disconnect { reference, connection, is_refused, cause, data: Bytes::new() };
        self.tell_network(now, to, told);
    }

    /// N-UNITDATA for its subsystem: one of the instances gets it.
    pub fn unitdata(&mut self, now: Time, it: Unitdata) {
        let Unitdata { called, calling, data, .. } = it;
        self.for_one(now, Told::Unitdata { called, calling, data });
    }

    /// N-NOTICE of its subsystem: one of the instances gets it.
    pub fn unitdata_returned(&mut self, now: Time, it: Unitdata, cause: u8) {
        let Unitdata { called, calling, data, .. } = it;
        self.for_one(now, Told::Notice { called, calling, cause, data });
    }

    fn for_one(&mut self, now: Time, told: Told) {
        match self.choose() {
            Some(to) => {
                self.last = to;
                self.tell_network(now, to, told);
            }
            None => self.counts.absent += 1,
        }
    }

    /// The connections of an instance that is lost end.
    pub(super) fn end_connections(&mut self, id: InstanceId) {
        // Who has none costs no walk over those of all others: anybody may connect and go.
        if self.connections.of(id) == 0 {
            return;
        }
        let own = self.connections.owners.iter().filter(|it| *it.1 == id).map(|it| *it.0);
        for connection in own.collect::<Vec<_>>() {
            // One that was not accepted yet is refused.
            let cause = match self.connections.classes.contains_key(&connection) {
                true => RefusalCause::SubsystemFailure.number(),
                false => ReleaseCause::SubsystemFailure.number(),
            };
            self.connections.forget(connection);
            self.counts.lost += 1;
            self.disconnect(connection, cause);
        }
    }

    /// SCCP has begun anew: no connection is left.
    pub fn connections_lost(&mut self, now: Time) {
        self.connections.classes.clear();
        self.connections.full.clear();
        self.connections.counts.clear();
        let cause = ReleaseCause::SubsystemFailure.number();
        for (connection, to) in core::mem::take(&mut self.connections.owners) {
            self.tell_network(now, to, ended(connection, cause));
        }
        for tag in self.connections.asked.keys().copied().collect::<Vec<_>>() {
            self.not_connected(now, tag, RefusalCause::SubsystemFailure.number());
        }
    }
}

/// A connection was released, for that cause.
const fn ended(connection: u32, cause: u8) -> Told {
    let (reference, connection, is_refused) = (None, Some(connection), false);
    Told::Disconnect { reference, connection, is_refused, cause, data: Bytes::new() }
}

/// Bits of a tag that number what an application asks for; those above are its own.
const TAG_MASK: u64 = (1 << 40) - 1;

fn fits(data: &Bytes, most: usize) -> Result<(), Refusal> {
    if data.len() <= most { Ok(()) } else { Err(Refusal::Long) }
}
