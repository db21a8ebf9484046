//! Where instances of applications connect: Unix sockets, TCP and TLS.
//!
//! ```text
//!   Unix socket ──channel──┐                      ┌── Heard: said, written, lost ──→ an
//!   TCP, TLS ─────flow─────┴── InstanceId: port, ─┴── Wanted: send, close ←───────── Application
//!                              connection
//! ```
//! Listeners know no application: the function gives what is heard to the one that is named.

use super::section::{Listener, Place, Section, owns};
use super::{INSTANCES_MAX, SOCKET_OCTETS};
use machine::bucket::{Bucket, Rate};
use machine::{Duration, Time};
use runtime::{ChannelEvent, Effects, Flow, In, PortId};
use std::collections::BTreeMap;
use std::net::IpAddr;
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

/// A place that stands or is to.
#[derive(Debug)]
struct Standing {
    listener: Listener,
    /// Why a Unix socket does not stand, and when it is tried again.
    failure: Option<(String, Time)>,
}

/// The places, and the connections there.
#[derive(Debug)]
pub struct Listeners {
    first_port: PortId,
    places: BTreeMap<PortId, Standing>,
    flows: BTreeMap<InstanceId, Flow>,
    /// Whether sockets are bound at all.
    is_real: bool,
    /// Lines of the log.
    lines: Bucket,
}

/// What happened where an application is listened for.
#[derive(Debug)]
pub enum Heard<'a> {
    /// It was on another port.
    Elsewhere,
    /// Nothing that anybody is told.
    Nothing,
    /// The application of this name is to be told.
    At(String, Happening<'a>),
}

/// What an application is told of a connection.
#[derive(Debug)]
pub enum Happening<'a> {
    /// An instance connected: whether it has to prove something, and where it is.
    Connected(InstanceId, bool, Option<IpAddr>),
    /// It said something.
    Said(InstanceId, &'a [u8]),
    /// It took octets, and so many still wait.
    Written(InstanceId, u64),
    /// Its connection is over.
    Lost(InstanceId),
    /// All connections of a port are over.
    LostAll(PortId),
}

impl Happening<'_> {
    /// Tells it.
    pub fn tell(self, now: Time, it: &mut Application, side: &mut Side<'_>) {
        match self {
            Self::Connected(id, must_prove, source) => it.connected(now, id, must_prove, source),
            Self::Said(id, octets) => it.said(now, id, octets, side),
            Self::Written(id, left) => {
                it.written(now, id, usize::try_from(left).unwrap_or(usize::MAX), side);
            }
            Self::Lost(id) => it.lost(now, id, side),
            Self::LostAll(port) => it.lost_all(now, |id| port_of(id) == port, side),
        }
    }
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

const fn connection(id: InstanceId) -> u64 {
    id.0 & ((1 << PORT_BITS) - 1)
}

fn cut(buffer: &[u8]) -> Cut {
    match tcu::cut(buffer) {
        tcu::Cut::Partial => Cut::Partial,
        tcu::Cut::Skip(count) => Cut::Skip(count),
        tcu::Cut::Message(length) => Cut::Message(length),
        tcu::Cut::Broken(why) => Cut::Broken(why),
    }
}

impl Listeners {
    /// None; in a simulated world no Unix socket is bound.
    #[must_use]
    pub fn new(first_port: PortId, is_real: bool) -> Self {
        let (places, flows, lines) = (BTreeMap::new(), BTreeMap::new(), Bucket::default());
        Self { first_port, places, flows, is_real, lines }
    }

    /// When [`Listeners::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.places.values().filter_map(|it| it.failure.as_ref().map(|it| it.1)).min()
    }

    /// Takes the places of a section that a shard reads at. Those that are gone end, with who is
    /// connected there: the applications to be told are returned.
    pub fn configure(
        &mut self,
        section: &Section<'_>,
        shard: u16,
        out: &mut Effects,
    ) -> Vec<(String, Happening<'static>)> {
        let listeners = section.listeners().into_iter().filter(|it| it.shard == shard);
        let next: BTreeMap<PortId, Listener> = listeners.map(|it| (it.port, it)).collect();
        let is_same = |(port, it): &(&PortId, &Standing)| {
            next.get(*port).is_some_and(|next| {
                next.place == it.listener.place && next.application == it.listener.application
            })
        };
        let gone = self.places.iter().filter(|it| !is_same(it)).map(|it| *it.0);
        let mut lost = Vec::new();
        for port in gone.collect::<Vec<_>>() {
            let Some(standing) = self.places.remove(&port) else { continue };
            if let Place::Unix(_) = standing.listener.place {
                out.hang_up(port);
            }
            self.close_all(port, out);
            lost.push((standing.listener.application, Happening::LostAll(port)));
        }
        for (port, listener) in next {
            match self.places.get_mut(&port) {
                Some(standing) => standing.listener = listener,
                None => {
                    self.places.insert(port, Standing { listener, failure: None });
                    self.bind(port, out);
                }
            }
        }
        lost
    }

    /// Takes what happened on a port.
    pub fn step<'a>(&mut self, now: Time, input: &In<'a>, out: &mut Effects) -> Heard<'a> {
        let port = match input {
            In::Channel { port, .. } => *port,
            In::Up { flow }
            | In::Message { flow, .. }
            | In::Written { flow, .. }
            | In::Down { flow, .. }
            | In::Proved { flow, .. } => flow.port,
            _ => return Heard::Elsewhere,
        };
        if !owns(self.first_port, port) {
            return Heard::Elsewhere;
        }
        let Some(at) = self.places.get(&port).map(|it| &it.listener) else {
            if let In::Up { flow } = input {
                out.close(*flow);
            }
            return Heard::Nothing;
        };
        let (application, must_prove) = (at.application.clone(), at.must_prove);
        let happening = match *input {
            In::Channel { event, .. } => self.channel(now, port, event, out),
            In::Up { flow } => {
                self.flows.insert(stream(&flow), flow);
                let source = Some(flow.remote.ip());
                Some(Happening::Connected(stream(&flow), must_prove, source))
            }
            In::Message { flow, bytes } => Some(Happening::Said(stream(&flow), bytes)),
            In::Written { flow, left, .. } => Some(Happening::Written(stream(&flow), left)),
            In::Down { flow, .. } => {
                self.flows.remove(&stream(&flow));
                Some(Happening::Lost(stream(&flow)))
            }
            _ => None,
        };
        happening.map_or(Heard::Nothing, |it| Heard::At(application, it))
    }

    /// What a Unix socket says of its connections.
    fn channel<'a>(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'a>,
        out: &mut Effects,
    ) -> Option<Happening<'a>> {
        match event {
            ChannelEvent::Message(message) => {
                let (connection, event) = Event::read(message)?;
                let id = on_socket(port, connection);
                let must_prove = self.places.get(&port).is_some_and(|it| it.listener.must_prove);
                Some(match event {
                    Event::Up(_) => Happening::Connected(id, must_prove, None),
                    Event::Message(octets) => Happening::Said(id, octets),
                    Event::Written(left) => Happening::Written(id, left),
                    Event::Down(_) => Happening::Lost(id),
                })
            }
            ChannelEvent::Absent(Some(why)) | ChannelEvent::Down(why) => {
                if let Some(standing) = self.places.get_mut(&port) {
                    standing.failure = Some((why.to_owned(), now + AGAIN));
                }
                self.close_all(port, out);
                Some(Happening::LostAll(port))
            }
            ChannelEvent::Up
            | ChannelEvent::Absent(None)
            | ChannelEvent::Packet(..)
            | ChannelEvent::Shed(_) => None,
        }
    }

    /// Tries sockets again that could not be bound.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        let due = self.places.iter();
        let due = due.filter(|it| it.1.failure.as_ref().is_some_and(|it| it.1 <= now));
        for port in due.map(|it| *it.0).collect::<Vec<_>>() {
            self.bind(port, out);
        }
    }

    /// Orders a Unix socket to be bound.
    fn bind(&mut self, port: PortId, out: &mut Effects) {
        let Some(standing) = self.places.get_mut(&port) else { return };
        standing.failure = None;
        let Place::Unix(path) = &standing.listener.place else { return };
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

    fn close_all(&mut self, port: PortId, out: &mut Effects) {
        let ids = self.flows.keys().copied().filter(|id| port_of(*id) == port);
        for id in ids.collect::<Vec<_>>() {
            if let Some(flow) = self.flows.remove(&id) {
                out.close(flow);
            }
        }
    }

    /// Sends and closes what applications want.
    pub fn carry_out(&mut self, wanted: Vec<Wanted>, out: &mut Effects) {
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

    /// Applications whose sockets could not be bound, and why.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.places.values().filter_map(|it| {
            let (why, _) = it.failure.as_ref()?;
            Some((&*it.listener.application, &**why))
        })
    }

    /// A line for each instance that came, went or was sent away, as far as strangers let it.
    pub fn log(&mut self, now: Time, function: &str, notices: Vec<(String, Notice)>) {
        for (application, it) in notices {
            let rate = Rate::new(LINES_PER_S, Some(LINES_AT_ONCE));
            if !self.lines.has_room(now, rate) {
                return;
            }
            self.lines.take(now, rate);
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
}
