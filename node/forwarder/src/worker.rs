//! A worker: a thread with ports, packets and a graph of its own.
//!
//! ```text
//!   each round: ports ─receive→ graph.push … graph.run ─outbox→ ports.send, host.send
//!   idle for a while: doze everywhere, leave the tables' epochs, sleep until something comes
//! ```

use crate::ipc::PortSpec;
use crate::life::{Pulse, Remains, words};
use crate::open::{self, Place, Shared};
use crate::packets::channels::{PacketChannels, Part, Passed};
use crate::packets::rings::Corrupt;
use crossbeam_channel::{Receiver, Sender, TryRecvError};
use driver::{Clock, Interest, Poll, Waker};
use graph::{Choice, Counters, Graph, Outbox, PORTS_MAX, Pool, Slot, Step};
use machine::{Duration, Time};
use ports::xdp::Umem;
use ports::{Port, VECTOR};
use scheduler::Schedulers;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Time without a packet after which a worker sleeps.
const SPIN: Duration = Duration::from_micros(50);
/// Time between two looks at what ports need besides packets; no sleep is longer.
const ATTEND: Duration = Duration::from_millis(20);
/// Time between two looks at the host while packets come by ports: each is a system call.
const HOST_LOOK: Duration = Duration::from_micros(20);
/// Packets that the queues of a port send at once.
const SEND_BUDGET: usize = 256;
/// Attempts to open a port, one a look: the kernel lets go of a dead worker's queue after a while.
const OPENINGS_MAX: u32 = 100;
/// The waker's place in the poll; ports have their numbers.
const WAKER: u64 = u64::MAX;
/// The host's place in the poll.
const HOST: u64 = u64::MAX - 1;
/// The place of packet channels in the poll.
const PACKET_CHANNEL: u64 = u64::MAX - 2;

/// What a worker is told.
pub(crate) enum Order {
    /// Opens a port, of which all workers may share something.
    Open(PortSpec, Option<Shared>),
    /// Closes one.
    Close(u16),
    /// Sends a frame by an interface.
    Send { interface: u32, frame: Vec<u8> },
    /// Routes a packet.
    Route { vrf: u32, packet: Box<[u8]> },
    /// Tells the sender of a packet that its receiver does not answer.
    Unreachable { interface: u32, vrf: u32, packet: Box<[u8]> },
    /// Opens its part of a packet channel.
    PacketChannel(Box<Part>),
    /// Closes it.
    ClosePacketChannel(u64),
    /// Says what it has counted, and what was traced if that is asked for.
    Report(Sender<Report>, bool),
    /// Traces packets from now on.
    Trace(Choice),
    /// Traces no further ones.
    EndTrace,
    /// Panics, or goes on for ever.
    #[cfg(test)]
    Fail {
        /// Which of them.
        hangs: bool,
    },
    /// Ends.
    Stop,
}

/// What a worker tells by itself.
pub(crate) enum Notification {
    /// A port was opened, or why not.
    Opened { worker: u16, port: u16, result: Result<Metrics, String> },
    /// A link came or went.
    Link { port: u16, up: bool },
    /// The other side of a packet channel wrote what cannot be.
    PacketChannelBroke { channel: u64, corrupt: Corrupt },
    /// It panicked, and its thread is over.
    Died { worker: u16, why: String, remains: Box<Remains> },
}

/// What a port says of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metrics {
    pub(crate) mac: [u8; 6],
    pub(crate) mtu: u16,
    pub(crate) up: bool,
}

/// What a worker has counted.
pub(crate) struct Report {
    pub(crate) worker: u16,
    pub(crate) nodes: Vec<Counters>,
    pub(crate) ports: BTreeMap<u16, ports::Counters>,
    pub(crate) traced: Vec<Vec<Step>>,
    pub(crate) free_slots: usize,
    pub(crate) slots: usize,
    pub(crate) unwanted: u64,
    pub(crate) busy: Duration,
    pub(crate) channels: BTreeMap<u64, Passed>,
}

/// What a worker is made of.
pub(crate) struct Parts {
    pub(crate) number: u16,
    pub(crate) workers: u16,
    pub(crate) graph: Graph,
    pub(crate) pool: Pool,
    pub(crate) schedulers: Schedulers,
    pub(crate) host: Option<Port>,
    pub(crate) orders: Receiver<Order>,
    pub(crate) told: Sender<Notification>,
    pub(crate) waker: Arc<Waker>,
    /// Wakes the main thread, which hears what is told.
    pub(crate) listener: Arc<Waker>,
    pub(crate) pulse: Arc<Pulse>,
    /// The clock of all workers.
    pub(crate) clock: Clock,
    /// What the worker that was here before has left open.
    pub(crate) ports: Vec<(u16, Port, bool)>,
}

/// A worker.
pub(crate) struct Worker {
    parts: Parts,
    ports: Vec<Option<Open>>,
    out: Outbox,
    poll: Poll,
    /// What the kernel knows of the pool, once there is an AF_XDP port.
    umem: Option<Umem>,
    batch: Vec<Slot>,
    entry: usize,
    inject: usize,
    attended: Time,
    worked: Time,
    /// How long its rounds with packets took, and when the last one began, if that was the last.
    busy: Duration,
    began: Option<Time>,
    met_host: Time,
    /// Packets for a host that is not there, and of classes without a packet channel.
    unwanted: u64,
    channels: PacketChannels,
    /// Ports that could not be opened yet, and how often that was tried.
    again: Vec<(PortSpec, Option<Shared>, u32)>,
}

struct Open {
    port: Port,
    up: bool,
}

impl Worker {
    /// A worker with the ports that it is given.
    ///
    /// # Errors
    /// The kernel's, or a graph without the nodes where packets enter.
    pub(crate) fn new(mut parts: Parts) -> io::Result<Self> {
        let missing = || io::Error::other("the graph has no place where packets enter");
        let entry = parts.graph.entry("ethernet-input").ok_or_else(missing)?;
        let inject = parts.graph.entry("inject").ok_or_else(missing)?;
        let poll = Poll::new()?;
        poll.add(&*parts.waker, WAKER, Interest::Read)?;
        if let Some(host) = &parts.host {
            poll.add(&host.descriptor(), HOST, Interest::Read)?;
        }
        let mut ports = Vec::new();
        for (number, port, up) in parts.ports.drain(..) {
            poll.add(&port.descriptor(), u64::from(number), Interest::Read)?;
            *place(&mut ports, number) = Some(Open { port, up });
        }
        Ok(Self {
            parts,
            ports,
            out: Outbox::default(),
            poll,
            umem: None,
            batch: Vec::with_capacity(VECTOR),
            entry,
            inject,
            attended: Time::ZERO,
            worked: Time::ZERO,
            busy: Duration::ZERO,
            began: None,
            met_host: Time::ZERO,
            unwanted: 0,
            channels: PacketChannels::default(),
            again: Vec::new(),
        })
    }

    /// Runs until it is told to stop; a panic is told, with what is left.
    pub(crate) fn run(mut self) {
        // What a panic left half done is not used again: graph, packets and queues are made anew.
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.rounds())) else {
            return self.end();
        };
        let (worker, why) = (self.parts.number, words(&*panic));
        let (told, listener) = (self.parts.told.clone(), Arc::clone(&self.parts.listener));
        let remains = Box::new(self.remains());
        // The main thread outlives its workers.
        let _ = told.send(Notification::Died { worker, why, remains });
        listener.wake();
    }

    /// Takes out what the next one goes on with, and lets go of the rest: of the tables above all,
    /// whose epochs a dead reader would hold up.
    fn remains(mut self) -> Remains {
        let open = self.ports.drain(..).enumerate().filter_map(|(n, it)| Some((n, it?)));
        let open = open.filter(|(_, it)| !matches!(it.port, Port::Xdp(_)));
        let ports = open.map(|(n, it)| (port_number(n), it.port, it.up)).collect();
        let Parts { orders, host, pool, .. } = &mut self.parts;
        Remains {
            orders: orders.clone(),
            ports,
            host: host.take(),
            cells_lost: pool.slots() - pool.free_slots(),
        }
    }

    fn rounds(&mut self) {
        loop {
            self.parts.pulse.beat();
            let now = self.now();
            self.busy += self.began.take().map_or(Duration::ZERO, |began| now.since(began));
            if !self.orders() {
                return;
            }
            if self.round(now) {
                (self.worked, self.began) = (now, Some(now));
            } else if now >= self.worked + SPIN {
                self.sleep();
            }
            if now >= self.attended + ATTEND {
                self.attended = now;
                self.attend();
            }
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.parts.clock.now_ns())
    }

    /// One vector of each port, through the graph, and out. Whether there was any packet.
    fn round(&mut self, now: Time) -> bool {
        let Parts { graph, pool, host, .. } = &mut self.parts;
        let mut any = false;
        for (number, open) in self.ports.iter_mut().enumerate() {
            let Some(open) = open else { continue };
            if open.port.receive(pool, &mut self.batch) == 0 {
                continue;
            }
            for slot in &self.batch {
                pool.meta_mut(*slot).port = port_number(number);
            }
            graph.push(self.entry, &self.batch, pool);
            self.batch.clear();
            any = true;
        }
        if now >= self.met_host + HOST_LOOK
            && let Some(host) = host
        {
            self.met_host = now;
            host.receive(pool, &mut self.batch);
            any |= !self.batch.is_empty();
            for slot in &self.batch {
                pool.meta_mut(*slot).flags |= graph::meta::OWN | graph::meta::HOSTED;
            }
            graph.push(self.inject, &self.batch, pool);
            self.batch.clear();
        }
        any |= self.channels.receive(graph, pool, self.inject);
        let is_due = graph.deadline().is_some_and(|at| at <= now);
        if any || is_due {
            graph.run(pool, &mut self.out, now);
        }
        if self.out.take_call() {
            self.parts.listener.wake();
        }
        if any || is_due || self.parts.schedulers.deadline().is_some_and(|at| at <= now) {
            self.flush(now);
        }
        any || self.parts.schedulers.deadline().is_some()
    }

    /// Hands over what left the graph, as far as the queues of its ports let it go.
    fn flush(&mut self, now: Time) {
        let Parts { pool, host, schedulers, .. } = &mut self.parts;
        schedulers.pass(now, SEND_BUDGET, &mut self.out, pool);
        for number in 0..PORTS_MAX {
            let Some(queue) = self.out.port(number) else { break };
            if queue.is_empty() {
                continue;
            }
            match self.ports.get_mut(number) {
                Some(Some(open)) => open.port.send(pool, queue),
                _ => {
                    pool.free_all(queue);
                    queue.clear();
                }
            }
        }
        let punted = self.out.punted();
        if !punted.is_empty() {
            self.channels.hand_up(now, pool, punted, &mut self.unwanted);
        }
        // The host takes IP packets; a punt of anything else is nobody's.
        punted.retain(|slot| {
            let meta = pool.meta(*slot);
            let from_l3 = usize::from(meta.l3.saturating_sub(meta.offset));
            let is_ip = pool.advance(*slot, from_l3)
                && matches!(pool.bytes(*slot).first().map(|first| first >> 4), Some(4 | 6));
            if !is_ip {
                self.unwanted += 1;
                pool.free(*slot);
            }
            is_ip
        });
        match host {
            Some(host) if !punted.is_empty() => host.send(pool, punted),
            _ => {
                self.unwanted += punted.len() as u64;
                pool.free_all(punted);
                punted.clear();
            }
        }
    }

    /// Does what it was told; false when it shall end.
    fn orders(&mut self) -> bool {
        loop {
            match self.parts.orders.try_recv() {
                Ok(Order::Open(spec, shared)) => {
                    self.again.retain(|(it, ..)| it.port != spec.port);
                    self.open(spec, shared, 1);
                }
                Ok(Order::Close(port)) => {
                    self.again.retain(|(it, ..)| it.port != port);
                    self.close(port);
                }
                Ok(Order::Send { interface, frame }) => self.inject(&frame, interface, 0),
                Ok(Order::Route { vrf, packet }) => self.inject(&packet, 0, vrf),
                Ok(Order::Unreachable { interface, vrf, packet }) => {
                    self.unreachable(&packet, interface, vrf);
                }
                Ok(Order::Report(to, is_traced)) => {
                    // Whoever asked may have gone.
                    let _ = to.send(self.report(is_traced));
                }
                Ok(Order::PacketChannel(part)) => self.open_channel(*part),
                Ok(Order::ClosePacketChannel(number)) => self.close_channel(number),
                Ok(Order::Trace(choice)) => self.parts.graph.trace(choice),
                Ok(Order::EndTrace) => self.parts.graph.end_trace(),
                #[cfg(test)]
                Ok(Order::Fail { hangs: false }) => panic!("a test wants it"),
                #[cfg(test)]
                Ok(Order::Fail { hangs: true }) => loop {
                    std::thread::park();
                },
                Ok(Order::Stop) | Err(TryRecvError::Disconnected) => return false,
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn open_channel(&mut self, part: Part) {
        if let Some(down) = &part.down
            && let Err(error) = self.poll.add(down, PACKET_CHANNEL, Interest::Read)
        {
            tracing::error!(target: "forwarder", %error, "a packet channel is not watched");
        }
        self.channels.open(part, &self.parts.graph);
    }

    fn close_channel(&mut self, number: u64) {
        if let Some(down) = self.channels.close(number).and_then(|part| part.down) {
            // Closing ends the watch; that it was not watched does no harm.
            let _ = self.poll.remove(&down);
        }
    }

    /// A frame for an interface, or a packet for a routing table.
    fn inject(&mut self, octets: &[u8], transmit: u32, vrf: u32) {
        let now = self.now();
        let Parts { graph, pool, .. } = &mut self.parts;
        let Some(slot) = pool.put(octets) else { return };
        let meta = pool.meta_mut(slot);
        (meta.transmit, meta.vrf) = (transmit, vrf);
        meta.flags |= graph::meta::OWN;
        graph.push(self.inject, &[slot], pool);
        graph.run(pool, &mut self.out, now);
        self.flush(now);
    }

    fn unreachable(&mut self, packet: &[u8], interface: u32, vrf: u32) {
        let now = self.now();
        let Parts { graph, pool, .. } = &mut self.parts;
        let Some(entry) = graph.entry(nodes::error_entry(packet)) else { return };
        let Some(slot) = pool.put(packet) else { return };
        nodes::unreachable(pool.meta_mut(slot), interface, vrf);
        graph.push(entry, &[slot], pool);
        graph.run(pool, &mut self.out, now);
        self.flush(now);
    }

    /// Opens a port. A queue of a device may still be a dead worker's: that is tried again.
    fn open(&mut self, spec: PortSpec, shared: Option<Shared>, attempt: u32) {
        self.close(spec.port);
        self.parts.pulse.opening(true);
        let Parts { number, workers, pool, pulse, .. } = &mut self.parts;
        let (worker, port) = (*number, spec.port);
        let at = Place { number: worker, workers: *workers, shared };
        let result = open::port(&spec, &at, pool, &mut self.umem).and_then(|port| {
            let number = u64::from(spec.port);
            self.poll.add(&port.descriptor(), number, Interest::Read).map_err(|e| e.to_string())?;
            let mtu = u16::try_from(port.mtu()).unwrap_or(u16::MAX).min(spec.mtu);
            let metrics = Metrics { mac: spec.mac.unwrap_or(port.mac()), mtu, up: port.is_up() };
            *place(&mut self.ports, spec.port) = Some(Open { port, up: metrics.up });
            Ok(metrics)
        });
        pulse.opening(false);
        let is_device = matches!(at.shared, Some(Shared::Xdp(_)));
        if result.is_err() && is_device && attempt < OPENINGS_MAX {
            return self.again.push((spec, at.shared, attempt + 1));
        }
        self.tell(Notification::Opened { worker, port, result });
    }

    fn close(&mut self, port: u16) {
        let Some(open) = self.ports.get_mut(usize::from(port)).and_then(Option::take) else {
            return;
        };
        // Closing the descriptor ends its watch; that it was not watched does no harm.
        let _ = self.poll.remove(&open.port.descriptor());
        self.parts.pulse.opening(true);
        let lost = open.port.close(&mut self.parts.pool);
        self.parts.pulse.opening(false);
        if lost > 0 {
            tracing::warn!(target: "forwarder", port, lost, "cells stay with the kernel");
        }
    }

    fn attend(&mut self) {
        for (spec, shared, attempt) in std::mem::take(&mut self.again) {
            self.open(spec, shared, attempt);
        }
        for (channel, corrupt) in std::mem::take(&mut self.channels.broken) {
            self.close_channel(channel);
            self.tell(Notification::PacketChannelBroke { channel, corrupt });
        }
        let mut changes = Vec::new();
        for (number, open) in self.ports.iter_mut().enumerate() {
            let Some(open) = open else { continue };
            open.port.attend(&mut self.parts.pool);
            let up = open.port.is_up();
            if std::mem::replace(&mut open.up, up) != up {
                changes.push(Notification::Link { port: port_number(number), up });
            }
        }
        changes.into_iter().for_each(|change| self.tell(change));
        if let Some(host) = &mut self.parts.host {
            host.attend(&mut self.parts.pool);
        }
    }

    fn tell(&self, what: Notification) {
        // The main thread outlives its workers.
        let _ = self.parts.told.send(what);
        self.parts.listener.wake();
    }

    fn report(&self, is_traced: bool) -> Report {
        let traced = if is_traced { self.parts.graph.traced() } else { &[] };
        let ports = self.ports.iter().enumerate();
        let ports =
            ports.filter_map(|(n, it)| Some((port_number(n), it.as_ref()?.port.counters())));
        Report {
            worker: self.parts.number,
            nodes: self.parts.graph.counters(),
            ports: ports.collect(),
            traced: traced.to_vec(),
            free_slots: self.parts.pool.free_slots(),
            slots: self.parts.pool.slots(),
            unwanted: self.unwanted,
            busy: self.busy,
            channels: self.channels.passed(),
        }
    }

    /// Sleeps until a packet or an order comes, or a port must be attended to.
    fn sleep(&mut self) {
        self.parts.waker.doze();
        let ports = self.ports.iter_mut().flatten().map(|open| &mut open.port);
        let mut is_quiet = self.parts.orders.is_empty();
        for port in ports.chain(&mut self.parts.host) {
            is_quiet &= port.doze();
        }
        for down in self.channels.downs() {
            is_quiet &= down.doze();
        }
        if is_quiet {
            self.parts.graph.leave();
            let now = self.now();
            let due = self.parts.graph.deadline().map_or(ATTEND, |at| at.since(now));
            match self.poll.wait(Some(ATTEND.min(due))) {
                Ok(ready) if ready.iter().any(|ready| ready.token == WAKER) => {
                    self.parts.waker.clear();
                }
                _ => {}
            }
        }
        self.parts.waker.rise();
        let ports = self.ports.iter_mut().flatten().map(|open| &mut open.port);
        ports.chain(&mut self.parts.host).for_each(Port::rise);
        self.channels.rise();
        self.worked = self.now();
    }

    fn end(mut self) {
        self.out.clear(&mut self.parts.pool);
        for port in 0..self.ports.len() {
            self.close(port_number(port));
        }
        if let Some(host) = self.parts.host.take() {
            host.close(&mut self.parts.pool);
        }
    }
}

/// The place of a port, made if need be.
fn place(ports: &mut Vec<Option<Open>>, number: u16) -> &mut Option<Open> {
    let number = usize::from(number);
    if ports.len() <= number {
        ports.resize_with(number + 1, || None);
    }
    &mut ports[number]
}

/// The number of a place among the ports.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "places are made by `u16` numbers only")]
fn port_number(place: usize) -> u16 {
    place as u16
}
