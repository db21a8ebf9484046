//! Where instances of applications connect: Unix sockets, TCP and TLS.
//!
//! ```text
//!   Unix socket ──channel──┐                      ┌── said, written, lost ──→ tcu::Application
//!   TCP, TLS ─────flow─────┴── InstanceId: port, ─┴── Wanted: send, close ←──
//!                              connection
//! ```

use crate::Gateway;
use crate::config::application::{Absent, Door, INSTANCES_MAX, Place, SOCKET_OCTETS, is_door};
use crate::metrics::ApplicationMetric;
use event::Table;
use machine::bucket::{Bucket, Rate};
use machine::{Duration, Time};
use question::{Condition, rows};
use runtime::{ChannelEvent, Effects, Flow, Frame, In, PortId};
use std::collections::BTreeMap;
use std::sync::Arc;
use tcu::{Application, GREETING_MAX, Happened, InstanceId, Notice, Side, Wanted};
use unix::{Cut, Event, Framing, Listen, Order};

/// Lines of the log a second, and at once: a stranger may connect as often as he likes.
const LINES_PER_S: f64 = 10.0;
const LINES_AT_ONCE: u32 = 32;
/// Pause before a socket that could not be bound is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// Bits of an instance's number that are its port's, from here on.
const PORT_BITS: u32 = 48;

/// What is counted of each application.
pub type ApplicationTable = Table<ApplicationMetric, 1>;

/// An empty table.
#[must_use]
pub(crate) fn application_table() -> ApplicationTable {
    Table::new(&["application"])
}

rows! {
    /// An application.
    pub(crate) struct ApplicationRow {
        name: String,
        subsystem: u8,
        /// `available`, or `no instance`.
        state: &'static str,
        instances: Vec<String>,
        dialogues: usize,
        begun_there: u64,
        begun_here: u64,
        resumed: u64,
        lost: u64,
        shed: u64,
        malformed: u64,
        listens: Vec<String>,
    }

    /// An instance of an application.
    pub(crate) struct InstanceRow {
        application: String,
        name: String,
        group: String,
        /// `greeting`, `ready`, `slow` or `leaving`.
        state: &'static str,
        dialogues: usize,
        waiting_octets: usize,
    }
}

/// A place that stands or is to.
struct Standing {
    door: Door,
    /// Why a Unix socket does not stand, and when it is tried again.
    failure: Option<(String, Time)>,
}

/// The places, and the connections there.
pub(crate) struct Doors {
    places: BTreeMap<PortId, Standing>,
    flows: BTreeMap<InstanceId, Flow>,
    /// Whether sockets are bound at all.
    is_real: bool,
    /// Since when the places of the first configuration are to be opened.
    opens: Option<Time>,
    /// Lines of the log.
    lines: Bucket,
}

const fn stream(flow: &Flow) -> InstanceId {
    InstanceId((flow.port.0 as u64) << PORT_BITS | flow.conn.0 as u64)
}

const fn on_socket(port: PortId, connection: u64) -> InstanceId {
    InstanceId((port.0 as u64) << PORT_BITS | connection & ((1 << PORT_BITS) - 1))
}

fn port_of(id: InstanceId) -> PortId {
    PortId(u16::try_from(id.0 >> PORT_BITS).unwrap_or_default())
}

/// Cuts the head of a stream into messages.
pub(crate) fn frame(buffer: &[u8]) -> Frame {
    match tcu::cut(buffer) {
        tcu::Cut::Partial => Frame::Partial,
        tcu::Cut::Skip(count) => Frame::Skip(count),
        tcu::Cut::Message(length) => Frame::Message(length),
        tcu::Cut::Broken(why) => Frame::Broken(why),
    }
}

fn cut(buffer: &[u8]) -> Cut {
    match tcu::cut(buffer) {
        tcu::Cut::Partial => Cut::Partial,
        tcu::Cut::Skip(count) => Cut::Skip(count),
        tcu::Cut::Message(length) => Cut::Message(length),
        tcu::Cut::Broken(why) => Cut::Broken(why),
    }
}

impl Doors {
    pub(crate) fn new(now: Time, is_real: bool) -> Self {
        let opens = Some(now);
        let (places, flows, lines) = (BTreeMap::new(), BTreeMap::new(), Bucket::default());
        Self { places, flows, is_real, opens, lines }
    }

    fn application(&self, port: PortId) -> Option<(&str, bool)> {
        self.places.get(&port).map(|it| (&*it.door.application, it.door.must_prove))
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let again = self.places.values().filter_map(|it| it.failure.as_ref().map(|it| it.1));
        again.chain(self.opens).min()
    }

    /// Sockets that could not be bound.
    pub(crate) fn alarms(&self, rows: &mut Vec<Condition>) {
        for standing in self.places.values() {
            let Some((why, _)) = &standing.failure else { continue };
            let name = &standing.door.application;
            let text = format!("instances cannot connect: {why}");
            let row = Condition::new("application-socket", name, "critical", text);
            rows.push(row.caused_by("communications-subsystem-failure"));
        }
    }

    /// Orders a Unix socket to be bound.
    fn bind(&mut self, port: PortId, out: &mut Effects) {
        let Some(standing) = self.places.get_mut(&port) else { return };
        standing.failure = None;
        let Place::Unix(path) = &standing.door.place else { return };
        if !self.is_real {
            return;
        }
        // Limits that change live are the application's; these are beyond any of them.
        let listen = Listen {
            path: path.clone(),
            connections_max: INSTANCES_MAX as usize + GREETING_MAX + 1,
            queue_octets_max: SOCKET_OCTETS,
            framing: Framing { cut, ends_within: tcu::ends_within },
        };
        out.connect(port, Arc::new(listen));
    }

    /// Sends and closes.
    pub(crate) fn carry_out(&mut self, wanted: Vec<Wanted>, out: &mut Effects) {
        for it in wanted {
            match it {
                Wanted::Send(id, octets) => match self.flows.get(&id) {
                    Some(flow) => out.send_shared(*flow, octets),
                    None => {
                        let order = Order::Send(&octets);
                        out.write(port_of(id), |to| order.write(connection(id), to));
                    }
                },
                Wanted::Close(id) => match self.flows.remove(&id) {
                    Some(flow) => out.close(flow),
                    None => out.write(port_of(id), |to| Order::Close.write(connection(id), to)),
                },
            }
        }
    }
}

const fn connection(id: InstanceId) -> u64 {
    id.0 & ((1 << PORT_BITS) - 1)
}

impl Gateway {
    /// Takes the places of the configuration: those that are gone end, with who is connected there.
    pub(crate) fn open_doors(&mut self, now: Time, out: &mut Effects) {
        self.doors.opens = None;
        let config = Arc::clone(&self.config);
        let shard = self.sccp.shard();
        let doors = config.doors().into_iter().filter(|door| door.shard == shard);
        let next: BTreeMap<PortId, Door> = doors.map(|door| (door.port, door)).collect();
        let is_same = |(port, it): &(&PortId, &Standing)| {
            next.get(*port).is_some_and(|door| {
                door.place == it.door.place && door.application == it.door.application
            })
        };
        let gone = self.doors.places.iter().filter(|it| !is_same(it)).map(|it| *it.0);
        for port in gone.collect::<Vec<_>>() {
            if let Some(Place::Unix(_)) = self.doors.places.get(&port).map(|it| &it.door.place) {
                out.hang_up(port);
            }
            self.all_lost(now, port, out);
            self.doors.places.remove(&port);
        }
        for (port, door) in next {
            match self.doors.places.get_mut(&port) {
                Some(standing) => standing.door = door,
                None => {
                    self.doors.places.insert(port, Standing { door, failure: None });
                    self.doors.bind(port, out);
                }
            }
        }
    }

    /// Everybody who is connected there is lost.
    fn all_lost(&mut self, now: Time, port: PortId, out: &mut Effects) {
        let Some((name, _)) = self.doors.application(port) else { return };
        let name = name.to_owned();
        self.at_application(now, &name, |it, side| {
            it.lost_all(now, |id| port_of(id) == port, side)
        });
        let ids: Vec<_> = self.doors.flows.keys().copied().collect();
        for id in ids.into_iter().filter(|id| port_of(*id) == port) {
            if let Some(flow) = self.doors.flows.remove(&id) {
                out.close(flow);
            }
        }
    }

    /// Does something at an application; what its dialogues want goes to SCCP.
    fn at_application(
        &mut self,
        now: Time,
        name: &str,
        act: impl FnOnce(&mut Application, &mut Side<'_>),
    ) {
        let mut wants = Vec::new();
        self.sccp.at_application(now, name, act, &mut wants);
        self.undelivered(now, None);
        self.send_all(now, wants);
    }

    /// Whether something happened where applications connect: then it is carried out.
    pub(crate) fn at_door(&mut self, now: Time, input: &In<'_>, out: &mut Effects) -> bool {
        if self.doors.opens.is_some() {
            self.open_doors(now, out);
        }
        match input {
            In::Channel { port, event } if is_door(*port) => self.channel(now, *port, *event, out),
            In::Up { flow } if is_door(flow.port) => {
                let Some((name, must_prove)) = self.doors.application(flow.port) else {
                    out.close(*flow);
                    return true;
                };
                let name = name.to_owned();
                self.doors.flows.insert(stream(flow), *flow);
                let (id, source) = (stream(flow), Some(flow.remote.ip()));
                self.at_application(now, &name, |it, _| it.connected(now, id, must_prove, source));
            }
            In::Message { flow, bytes } if is_door(flow.port) => {
                self.at_flow(now, flow, |it, id, side| it.said(now, id, bytes, side));
            }
            In::Written { flow, left, .. } if is_door(flow.port) => {
                let left = usize::try_from(*left).unwrap_or(usize::MAX);
                self.at_flow(now, flow, |it, id, side| it.written(now, id, left, side));
            }
            In::Down { flow, .. } if is_door(flow.port) => {
                self.at_flow(now, flow, |it, id, side| it.lost(now, id, side));
                self.doors.flows.remove(&stream(flow));
            }
            In::Proved { flow, .. } if is_door(flow.port) => {}
            _ => return false,
        }
        true
    }

    fn at_flow(
        &mut self,
        now: Time,
        flow: &Flow,
        act: impl FnOnce(&mut Application, InstanceId, &mut Side<'_>),
    ) {
        let Some((name, _)) = self.doors.application(flow.port) else { return };
        let name = name.to_owned();
        self.at_application(now, &name, |it, side| act(it, stream(flow), side));
    }

    /// What a Unix socket says of its connections.
    fn channel(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>, out: &mut Effects) {
        let Some((name, must_prove)) = self.doors.application(port) else { return };
        let name = name.to_owned();
        match event {
            ChannelEvent::Message(message) => {
                let Some((connection, event)) = Event::read(message) else { return };
                let id = on_socket(port, connection);
                self.at_application(now, &name, |it, side| match event {
                    Event::Up(_) => it.connected(now, id, must_prove, None),
                    Event::Message(octets) => it.said(now, id, octets, side),
                    Event::Written(left) => {
                        let left = usize::try_from(left).unwrap_or(usize::MAX);
                        it.written(now, id, left, side);
                    }
                    Event::Down(_) => it.lost(now, id, side),
                });
            }
            ChannelEvent::Absent(Some(why)) | ChannelEvent::Down(why) => {
                if let Some(standing) = self.doors.places.get_mut(&port) {
                    standing.failure = Some((why.to_owned(), now + AGAIN));
                }
                self.all_lost(now, port, out);
            }
            ChannelEvent::Up
            | ChannelEvent::Absent(None)
            | ChannelEvent::Packet(..)
            | ChannelEvent::Shed(_) => {}
        }
    }

    /// What applications want leaves; sockets that could not be bound are tried again.
    pub(crate) fn flush_doors(&mut self, now: Time, out: &mut Effects) {
        if self.doors.opens.is_some() {
            self.open_doors(now, out);
        }
        let due = self.doors.places.iter();
        let due = due.filter(|it| it.1.failure.as_ref().is_some_and(|it| it.1 <= now));
        for port in due.map(|it| *it.0).collect::<Vec<_>>() {
            self.doors.bind(port, out);
        }
        self.log_doors(now);
        let wanted = self.sccp.take_application_wants();
        self.doors.carry_out(wanted, out);
    }

    /// A line for each instance that came, went or was sent away, as far as strangers let it.
    fn log_doors(&mut self, now: Time) {
        let function = &*self.config.name;
        for (application, it) in self.sccp.take_notices() {
            let rate = Rate::new(LINES_PER_S, Some(LINES_AT_ONCE));
            if !self.doors.lines.has_room(now, rate) {
                return;
            }
            self.doors.lines.take(now, rate);
            let Notice { instance, source, happened } = it;
            let source = source.map_or_else(|| "its Unix socket".to_owned(), |it| it.to_string());
            match happened {
                Happened::Welcomed => {
                    tracing::info!(
                        target: "application", function, application, instance, source,
                        "the instance is taken in"
                    );
                }
                Happened::SentAway(why) => {
                    tracing::warn!(
                        target: "application", function, application, instance, source, why,
                        "the connection was sent away"
                    );
                }
                Happened::Ended => {
                    tracing::info!(
                        target: "application", function, application, instance, source,
                        "the instance is gone"
                    );
                }
            }
        }
    }

    /// The applications, as they are shown.
    pub(crate) fn show_applications(&self) -> Vec<ApplicationRow> {
        let shard = self.sccp.shard();
        let rows = self.sccp.applications().iter().map(|(name, end)| {
            let status = end.status();
            let counts = status.counts;
            let config = self.config.application.iter().find(|it| it.name == name);
            ApplicationRow {
                name: name.to_owned(),
                subsystem: end.settings().subsystem,
                state: if end.is_available() { "available" } else { "no instance" },
                instances: status.instances.iter().map(|it| it.name.clone()).collect(),
                dialogues: status.dialogues + end.connections(),
                begun_there: counts.begun_there,
                begun_here: counts.begun_here,
                resumed: counts.resumed + counts.again,
                lost: counts.lost,
                shed: counts.shed_full + counts.shed_slow + counts.shed_late + counts.absent,
                malformed: counts.malformed,
                listens: config.map(|it| self.config.listens_at(it, shard)).unwrap_or_default(),
            }
        });
        rows.collect()
    }

    /// Their instances.
    pub(crate) fn show_instances(&self) -> Vec<InstanceRow> {
        let rows = self.sccp.applications().iter().flat_map(|(name, end)| {
            end.status().instances.into_iter().map(|it| InstanceRow {
                application: name.to_owned(),
                name: it.name,
                group: it.group,
                state: it.state,
                dialogues: it.dialogues,
                waiting_octets: it.waiting_octets,
            })
        });
        rows.collect()
    }

    /// What somebody should look at.
    pub(crate) fn application_alarms(&self, rows: &mut Vec<Condition>) {
        self.doors.alarms(rows);
        self.absent_alarms(rows);
        for (name, end) in self.sccp.applications().iter() {
            let status = end.status();
            for it in status.instances.iter().filter(|it| it.state == "slow") {
                let subject = format!("{name}/{}", it.name);
                let octets = it.waiting_octets;
                let text = format!("it reads too slowly: {octets} octets wait for it");
                let row = Condition::new("application-slow", &subject, "minor", text);
                rows.push(row.caused_by("performance-degraded"));
            }
        }
    }

    /// Applications without an instance: of several shards, the first one knows.
    pub(crate) fn absent_alarms(&self, rows: &mut Vec<Condition>) {
        for application in &self.config.application {
            let Some(subsystem) = self.config.subsystem_of(application) else { continue };
            let name = &application.name;
            let Some(has_had_some) = self.sccp.is_absent(name, subsystem) else { continue };
            let text = format!("no instance of {name} is there: its subsystem answers nobody");
            // Who only begins dialogues comes and goes.
            let severity = if application.absent == Absent::Refused { "minor" } else { "major" };
            let row = Condition::new("application-absent", name, severity, text);
            rows.push(row.caused_by("underlying-resource-unavailable").starting(!has_had_some));
        }
    }

    /// Brings the metrics of applications up to date.
    pub(crate) fn show_application_metrics(&self) {
        use ApplicationMetric as F;
        let rows = self.sccp.applications().iter().map(|(name, end)| {
            let status = end.status();
            let c = status.counts;
            let values = [
                (F::Instances, status.instances.len() as u64),
                (F::Dialogues, status.dialogues as u64),
                (F::BegunThere, c.begun_there),
                (F::BegunHere, c.begun_here),
                (F::Again, c.again),
                (F::Resumed, c.resumed),
                (F::Lost, c.lost),
                (F::ShedFull, c.shed_full),
                (F::ShedSlow, c.shed_slow),
                (F::ShedLate, c.shed_late),
                (F::TooLong, c.too_long),
                (F::Absent, c.absent),
                (F::Malformed, c.malformed),
                (F::Refused, c.refused),
                (F::TurnedAway, c.turned_away),
                (F::Ended, c.ended),
                (F::TooSlow, c.too_slow),
            ];
            ([name], values)
        });
        self.tables.applications.show(rows);
    }
}
