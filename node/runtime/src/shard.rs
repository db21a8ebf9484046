//! A shard: one thread, one function, one loop.
//!
//! ```text
//!        ┌──────────────────────────────── turn ─────────────────────────────────┐
//!        │ wait      epoll, or not at all while there is work; else to deadline  │
//!        │ control   ask · configure · drain · stop                              │
//!        │ ring      batches of other shards: take, send, down                   │
//!        │ work      what siblings handed over, what came back ──→ step          │
//!        │ sockets   recvmmsg · accept · read ──→ steer ─┬→ step                 │
//!        │                                               └→ batch to its owner   │
//!        │ news      Up · Down · Resolved ──→ step                               │
//!        │ tick      when the function's deadline has come                       │
//!        │ flush     sends sorted by far end ──→ sendmmsg · writev · TLS records │
//!        └───────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Everything that a turn produced leaves in one flush (early when it grows large), so that the
//! batches grow with the load and the cost of a message falls.

use crate::bind::Socket;
use crate::completion::Delivery;
use crate::control::{Control, ShardPort, ShardState, Status};
use crate::datagram::DatagramPort;
use crate::deferred::{self, ReplyTo};
use crate::engine::Engine;
use crate::function::{Ask, Function, In, Mirrored};
use crate::grouped::GroupOrder;
use crate::io::{Io, OpenPort, PortKind};
use crate::metrics::RuntimeMetric;
use crate::news::{News, Token};
use crate::port::{ConnId, Flow, PortId, Transport};
use crate::reading::Reader;
use crate::replication::{Order, ReplicationRef};
use crate::ring::{MessageBatch, ShardMessage};
use crate::spec::Carrier;
use crate::stream::{Stood, StreamPort};
use crossbeam_channel::Receiver;
use driver::{Clock, Ready, ReceiveBatch};
use machine::narrow::micros;
use machine::{Duration, Time};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// Batches of messages that one turn takes.
const MESSAGE_BATCHES_PER_TURN: usize = 64;
/// Batches of work that one turn takes.
const BATCHES_PER_TURN: usize = 64;
/// Commands that one turn takes.
const COMMANDS_PER_TURN: usize = 16;
/// Events between two looks at the clock.
const EVENTS_PER_LOOK: usize = 16;
/// Datagrams between two looks at the date: each of those behind the first one has waited for the
/// few before it at most longer than is said.
const DATAGRAMS_PER_DATE: usize = 8;
/// Bytes from connections after which timers and datagrams are looked at: a few busy connections
/// with many subscribers behind them must not keep everybody else waiting.
const STREAM_BYTES_PER_LOOK: usize = 128 << 10;
/// Deliveries of helper threads that one turn takes.
const DELIVERIES_PER_TURN: usize = 256;
/// Orders of the mirror that one turn takes.
const ORDERS_PER_TURN: usize = 1_024;

/// One function on one thread.
pub(crate) struct Shard<F: Function> {
    pub(crate) engine: Engine<F>,
    pub(crate) io: Io,
    pub(crate) receive: ReceiveBatch,
    pub(crate) reader: Reader,
    pub(crate) control: Receiver<Control<F::Config>>,
    pub(crate) deliveries: Receiver<Delivery>,
    pub(crate) orders: Receiver<Order>,
    pub(crate) status: Arc<Status>,
    pub(crate) clock: Clock,
    pub(crate) spin: Duration,
    pub(crate) ready: Vec<Ready>,
    pub(crate) busy_until: Time,
    pub(crate) draining: bool,
    pub(crate) stopping: bool,
}

impl<F: Function> Shard<F> {
    /// Runs until told to stop.
    pub(crate) fn run(&mut self) {
        let mut end = self.now();
        while !self.stopping {
            self.status.waits();
            self.wait(end);
            let now = self.now();
            self.status.turns(now);
            let worked = self.turn(now);
            end = now;
            if worked {
                self.io.show_gauges();
                end = self.now();
                let us = micros(end.since(now));
                self.engine.metrics.observe(RuntimeMetric::TurnTime, us);
                self.busy_until = end + self.spin;
            }
        }
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    /// Waits for something to do: not at all shortly after work, else until the next deadline.
    fn wait(&mut self, now: Time) {
        let mut timeout = Some(Duration::ZERO);
        let news = !self.io.news.is_empty()
            || self.io.channels.has_news()
            || self.io.streams.has_written();
        let dozing = now >= self.busy_until && !news;
        if dozing {
            self.engine.rings.mailbox().waker.doze();
            let empty = self.engine.rings.mailbox().ring.is_empty()
                && !self.engine.rings.has_work()
                && self.control.is_empty()
                && self.deliveries.is_empty()
                && self.orders.is_empty();
            if empty {
                let due = self.deadline().map(|at| at.since(now));
                timeout = [due, self.engine.rings.retry()].into_iter().flatten().min();
            }
        }
        self.ready.clear();
        match self.io.poll.wait(timeout) {
            Ok(ready) => self.ready.extend_from_slice(ready),
            Err(error) => tracing::error!(%error, "epoll failed"),
        }
        if dozing {
            self.engine.rings.mailbox().waker.rise();
        }
    }

    fn deadline(&self) -> Option<Time> {
        let streams = self.io.streams.deadline();
        let deferred = self.io.deferred.deadline();
        [self.engine.function.deadline(), streams, deferred].into_iter().flatten().min()
    }

    /// One turn of the loop; whether there was anything to do.
    fn turn(&mut self, now: Time) -> bool {
        let mut worked = self.commands(now);
        worked |= self.mirrored(now);
        worked |= self.batches(now);
        worked |= self.works(now);
        worked |= self.deliveries(now);
        let ready = std::mem::take(&mut self.ready);
        let mut now = now;
        for (number, event) in ready.iter().enumerate() {
            if number % EVENTS_PER_LOOK == EVENTS_PER_LOOK - 1 {
                now = self.now();
                self.engine.tick(now); // timers do not wait for a crowd of connections
            }
            worked |= self.dispatch(now, event);
            if self.reader.has_taken(STREAM_BYTES_PER_LOOK) {
                now = self.now();
                self.engine.tick(now);
                self.datagrams_again(now, &ready);
                self.flush(now);
            }
        }
        self.ready = ready;
        worked |= self.written(now);
        worked |= self.news(now);
        if self.engine.function.deadline().is_some_and(|at| at <= now) {
            self.engine.tick(now);
            worked = true;
        }
        if self.io.streams.deadline().is_some_and(|at| at <= now) {
            self.io.expire(now);
        }
        self.io.deferred.expire(now);
        self.flush(now);
        self.engine.rings.post(&self.engine.metrics);
        if self.draining {
            let function = &self.engine.function;
            let is_idle = function.is_idle() && !self.engine.rings.has_work();
            self.status.wait_for(if is_idle { "" } else { function.waits_for() });
            self.status.idle.store(is_idle, SeqCst);
        }
        worked
    }

    pub(crate) fn flush(&mut self, now: Time) {
        self.io.flush(now, &mut self.engine.effects, &mut self.engine.rings);
    }

    fn dispatch(&mut self, now: Time, event: &Ready) -> bool {
        match Token::from_bits(event.token) {
            Token::Waker => {
                self.engine.rings.mailbox().waker.clear();
                false
            }
            Token::Port(id) => self.port_ready(now, id, event),
            Token::Bypass(id) => self.bypassed(now, id),
            Token::Connection(id) => self.connection_ready(now, id, event),
            Token::Watched(port) => {
                self.engine.step(now, In::Ready { port });
                true
            }
            Token::Channel(port) => {
                let Self { engine, io, .. } = self;
                io.channels.ready(&io.poll, port, &mut |event| {
                    engine.step(now, In::Channel { port, event });
                });
                true
            }
        }
    }

    fn port_ready(&mut self, now: Time, id: PortId, event: &Ready) -> bool {
        let port = self.io.ports.get(usize::from(id.0)).and_then(Option::as_ref);
        let Some(port) = port else { return false };
        match port.kind {
            PortKind::Datagrams(_) => {
                if event.error {
                    self.io.icmp_errors(id, &mut self.engine.rings);
                }
                if event.writable {
                    self.io.resume(id);
                }
                self.datagrams(now, id)
            }
            PortKind::Streams(_) => {
                let paced = self.io.is_paced(id);
                let standing = self.io.accept(now, id);
                for flow in &standing {
                    self.engine.up(now, *flow, paced);
                }
                !standing.is_empty()
            }
        }
    }

    fn connection_ready(&mut self, now: Time, id: ConnId, event: &Ready) -> bool {
        if event.writable
            && let Some(flow) = self.io.writable(now, id)
        {
            let paced = self.io.is_paced(flow.port);
            self.engine.up(now, flow, paced);
        }
        if event.readable && self.is_behind(id) {
            self.io.pause_read(now, id);
        } else if event.readable {
            self.reader.read(now, id, &mut self.engine, &mut self.io);
        }
        true
    }

    /// Whether a paced connection belongs to a shard that takes no more for now.
    fn is_behind(&mut self, id: ConnId) -> bool {
        if !self.engine.rings.holds_back() {
            return false;
        }
        let Some(connection) = self.io.streams.table.find(id) else { return false };
        let flow = connection.flow;
        let owner = if self.io.is_paced(flow.port) { self.engine.owner(&flow) } else { None };
        owner.is_some_and(|owner| self.engine.rings.is_behind(owner))
    }

    /// Takes what the helper threads have done.
    fn deliveries(&mut self, now: Time) -> bool {
        let mut worked = false;
        for _ in 0..DELIVERIES_PER_TURN {
            let Ok(delivery) = self.deliveries.try_recv() else { break };
            worked = true;
            match delivery {
                Delivery::Resolved(asked, answer) if asked.life == self.io.life => {
                    self.engine.step(now, In::Resolved { query: asked.number, answer });
                }
                Delivery::Resolved(..) => {}
                Delivery::Crashed(helper, why) => {
                    self.engine.metrics.add(RuntimeMetric::HelperCrashed, 1);
                    self.status.helper_crashed(helper, &why);
                }
                Delivery::Shaken(shaken) => {
                    if let Some(stood) = self.io.shaken(now, shaken) {
                        self.stands(now, stood);
                    }
                }
            }
        }
        worked
    }

    /// Tells the function of a connection that stands after its handshake.
    fn stands(&mut self, now: Time, stood: Stood) {
        let Stood { flow, plain, names } = stood;
        if !names.is_empty() {
            self.engine.rings.broadcast_proved(flow, &names);
            self.engine.step(now, In::Proved { flow, names: &names });
        }
        let paced = self.io.is_paced(flow.port);
        self.engine.up(now, flow, paced);
        self.reader.resume(now, flow.conn, plain, &mut self.engine, &mut self.io);
    }

    /// Receives another batch on the datagram ports that were ready in this turn.
    fn datagrams_again(&mut self, now: Time, ready: &[Ready]) {
        for event in ready {
            if let Token::Port(id) = Token::from_bits(event.token) {
                self.datagrams(now, id);
            }
        }
    }

    /// Receives one batch and gives it to the function.
    fn datagrams(&mut self, now: Time, id: PortId) -> bool {
        let Self { engine, io, receive, .. } = self;
        let port = io.ports.get_mut(usize::from(id.0)).and_then(Option::as_mut);
        let Some(OpenPort { kind: PortKind::Datagrams(port), local, .. }) = port else {
            return false;
        };
        let local = *local;
        // An ICMP error that came meanwhile; the next turn fetches it.
        let Ok(count) = receive.receive(&port.socket) else { return true };
        if count == 0 {
            return false;
        }
        engine.metrics.add(RuntimeMetric::ReceiveBatch, 1);
        if let Some(lost) = receive.datagrams().filter_map(|datagram| datagram.lost).last() {
            let fresh = lost.wrapping_sub(port.lost);
            port.lost = lost;
            engine.metrics.add(RuntimeMetric::KernelDropped, u64::from(fresh));
        }
        let (mut date_ns, mut since_date) = (Clock::date_ns(), 0);
        for datagram in receive.datagrams() {
            let ip = datagram.local.unwrap_or(local.ip());
            let local = SocketAddr::new(ip, local.port());
            let flow = Flow::to(id, Transport::Udp, local, datagram.remote);
            if since_date >= DATAGRAMS_PER_DATE {
                (date_ns, since_date) = (Clock::date_ns(), 0);
            }
            if let Some(arrived_ns) = datagram.arrived_ns {
                engine.arrived(now, date_ns, arrived_ns);
            }
            for bytes in datagram.segments() {
                engine.message(now, &flow, false, bytes);
                since_date += 1;
            }
            if Io::is_heavy(&engine.effects) {
                io.flush(now, &mut engine.effects, &mut engine.rings);
            }
        }
        true
    }

    /// Receives what came past the kernel's IP and gives it to the function.
    fn bypassed(&mut self, now: Time, id: PortId) -> bool {
        let Self { engine, io, .. } = self;
        let port = io.ports.get_mut(usize::from(id.0)).and_then(Option::as_mut);
        let Some(OpenPort { kind: PortKind::Datagrams(port), local, .. }) = port else {
            return false;
        };
        let Some(bypass) = &mut port.bypass else { return false };
        let mut refused = bypass.receive() as u64;
        if refused == 0 {
            return false;
        }
        engine.metrics.add(RuntimeMetric::ReceiveBatch, 1);
        for (remote, bytes) in bypass.datagrams() {
            refused -= 1;
            let remote = SocketAddr::new(remote, 0);
            let flow = Flow::to(id, Transport::Udp, *local, remote);
            engine.message(now, &flow, false, bytes);
        }
        engine.metrics.add(RuntimeMetric::HeaderRefused, refused);
        true
    }

    /// Tells the function what the kernel took of paced connections.
    fn written(&mut self, now: Time) -> bool {
        let written = self.io.streams.written();
        for &(flow, octets, left) in &written {
            self.engine.written(now, flow, octets, left);
            if Io::is_heavy(&self.engine.effects) {
                self.flush(now);
            }
        }
        !written.is_empty()
    }

    /// Tells the function what happened to its far ends.
    fn news(&mut self, now: Time) -> bool {
        let Self { engine, io, .. } = self;
        let told = io.channels.has_news();
        io.channels.tell(&mut |port, event| engine.step(now, In::Channel { port, event }));
        let count = self.io.news.len();
        for _ in 0..count {
            let Some(news) = self.io.news.pop_front() else { break };
            let input = match news {
                News::Down(flow, why) => In::Down { flow, why },
                News::Resolved(query, answer) => In::Resolved { query, answer },
                News::Returned(flow, why, ref quoted) => In::Returned { flow, why, quoted },
                News::Lost(flow, why) => {
                    let paced = self.io.is_paced(flow.port);
                    self.engine.rings.broadcast_down(flow, why, paced);
                    In::Down { flow, why }
                }
            };
            self.engine.step(now, input);
        }
        told || count > 0
    }

    fn batches(&mut self, now: Time) -> bool {
        let mut worked = false;
        for _ in 0..MESSAGE_BATCHES_PER_TURN {
            let Some(batch) = self.engine.rings.mailbox().ring.pop() else { break };
            self.unpack(now, &batch);
            worked = true;
        }
        worked
    }

    /// Takes work of siblings, and what came back of its own. The work at hand is out of the queue,
    /// so that a panic over one costs that one: the function that is made anew goes on behind it.
    fn works(&mut self, now: Time) -> bool {
        let mut worked = false;
        for _ in 0..BATCHES_PER_TURN + self.engine.rings.work.came_back() {
            let Some(handed) = self.engine.rings.lay_work() else { break };
            worked = true;
            self.engine.waited(now, now.since(handed));
            let Engine { function, effects, rings, .. } = &mut self.engine;
            while let Some(input) = rings.work.take() {
                effects.about(0);
                function.step(now, input, effects);
                if Io::is_heavy(effects) {
                    self.io.flush(now, effects, rings);
                }
            }
        }
        worked
    }

    fn unpack(&mut self, now: Time, batch: &MessageBatch) {
        self.engine.waited(now, batch.waited(now));
        for (message, flow, bytes) in batch.items() {
            match message {
                ShardMessage::Take => self.engine.step(now, In::Message { flow, bytes }),
                ShardMessage::Send => {
                    self.engine.effects.send(flow, |out| out.extend_from_slice(bytes))
                }
                ShardMessage::SendShared(at) => {
                    self.engine.effects.send_shared(flow, batch.share(at));
                }
                ShardMessage::Close => self.engine.effects.close(flow),
                ShardMessage::Up => self.engine.step(now, In::Up { flow }),
                ShardMessage::Written(octets, left) => {
                    self.engine.step(now, In::Written { flow, octets, left });
                }
                ShardMessage::Down(why) => self.engine.step(now, In::Down { flow, why }),
                ShardMessage::Proved => {
                    let text = String::from_utf8_lossy(bytes);
                    let names: Vec<String> = text.lines().map(str::to_owned).collect();
                    self.engine.step(now, In::Proved { flow, names: &names });
                }
            }
            if Io::is_heavy(&self.engine.effects) {
                self.flush(now);
            }
        }
    }

    pub(crate) fn commands(&mut self, now: Time) -> bool {
        let mut worked = false;
        for _ in 0..COMMANDS_PER_TURN {
            let Ok(command) = self.control.try_recv() else { break };
            worked = true;
            match command {
                Control::Ask(ask, reply) => self.ask(now, &ask, reply),
                Control::Configure(config, ports, done) => {
                    self.configure(now, config, ports);
                    let _ = done.send(());
                }
                Control::Drain => self.drain(now),
                Control::Stop => self.stopping = true,
            }
        }
        worked
    }

    /// Takes what the other node of the pair wants.
    pub(crate) fn mirrored(&mut self, now: Time) -> bool {
        let mut worked = false;
        for _ in 0..ORDERS_PER_TURN {
            let Ok(order) = self.orders.try_recv() else { break };
            worked = true;
            let Engine { function, effects, .. } = &mut self.engine;
            match &order {
                Order::Activate { is_current } => {
                    let is_current = *is_current;
                    function.replicate(now, Mirrored::Activate { is_current }, effects);
                }
                Order::Forget => function.replicate(now, Mirrored::Forget, effects),
                Order::Delta(delta) => function.replicate(now, Mirrored::Delta(delta), effects),
                Order::Snapshot(number) => {
                    function.replicate(now, Mirrored::Snapshot(*number), effects);
                }
                Order::Followed(mark) => {
                    function.replicate(now, Mirrored::Followed(*mark), effects);
                }
                Order::Paced(pace) => function.replicate(now, Mirrored::Paced(*pace), effects),
                Order::Term(term) => function.replicate(now, Mirrored::Term(*term), effects),
                Order::Group(order) => {
                    function.grouped(now, order.view(), effects);
                    if let GroupOrder::Deactivate { group } = *order {
                        self.flush(now); // what it changed before is told first
                        if let Some(ReplicationRef(mirror)) = &self.io.mirror {
                            mirror.quiet_for(group);
                        }
                    }
                }
                Order::Deactivate => {
                    function.replicate(now, Mirrored::Deactivate, effects);
                    self.flush(now); // what it changed before is told first
                    if let Some(ReplicationRef(mirror)) = &self.io.mirror {
                        mirror.quiet(self.engine.rings.own);
                    }
                }
            }
        }
        worked
    }

    fn ask(&mut self, now: Time, ask: &Ask, reply: ReplyTo) {
        let Engine { function, effects, .. } = &mut self.engine;
        let ticket = self.io.deferred.ticket();
        match function.question(now, ask, ticket, effects) {
            Some(answer) => deferred::give(self.engine.rings.own, &reply, answer),
            None => self.io.deferred.wait(now, ticket, reply),
        }
    }

    fn configure(&mut self, now: Time, config: Arc<F::Config>, ports: Vec<ShardPort>) {
        self.place(ports);
        self.io.watch_for_unproven(now);
        // A function that panics over it is made anew with what belongs to these ports.
        self.engine.config = Arc::clone(&config);
        let Engine { function, effects, .. } = &mut self.engine;
        function.configure(now, config, effects);
        self.publish();
    }

    fn drain(&mut self, now: Time) {
        if !self.draining {
            self.draining = true;
            self.status.enter(ShardState::Draining);
            self.engine.step(now, In::Drain);
        }
    }

    /// Shows the management side where the cells are.
    pub(crate) fn publish(&self) {
        self.status.set_cells(self.engine.function.cells(), vec![self.engine.metrics.cells()]);
    }

    /// Takes a new list of ports: kept ones move, new ones come, the others close.
    pub(crate) fn place(&mut self, ports: Vec<ShardPort>) {
        let mut old = std::mem::take(&mut self.io.ports);
        self.io.datagram_ports.clear();
        let moved: Vec<(PortId, PortId)> =
            ports.iter().filter_map(|port| Some((port.kept?, port.held.spec.id))).collect();
        for port in ports {
            let ShardPort { held, tls, kept, socket } = port;
            let before = kept.and_then(|id| old.get_mut(usize::from(id.0)).and_then(Option::take));
            let guards = before.as_ref().map(|port| port.spec.guards());
            let kind = before.map(|port| port.kind).or_else(|| socket.map(into_kind));
            let Some(mut kind) = kind else { continue };
            if let PortKind::Streams(streams) = &mut kind {
                streams.tls = tls;
                streams.guard(&held.spec, guards.as_deref());
            }
            if let PortKind::Datagrams(port) = &mut kind {
                port.set_whole(held.spec.is_whole());
                port.set_runs(matches!(held.spec.carrier, Carrier::Udp { runs: true, .. }));
                self.io.datagram_ports.push(held.spec.id);
            }
            let id = held.spec.id;
            if let Err(error) = self.io.watch_port(&kind, id, kept.is_some()) {
                tracing::error!(%error, port = held.spec.name, "a port cannot be watched");
            }
            let at = usize::from(id.0);
            if self.io.ports.len() <= at {
                self.io.ports.resize_with(at + 1, || None);
            }
            self.io.ports[at] = Some(OpenPort { spec: held.spec, local: held.local, kind });
        }
        let new = |id| moved.iter().find(|&&(from, _)| from == id).map(|&(_, to)| to);
        for id in self.io.streams.table.relabel(new) {
            self.io.lose(id, "its port was removed");
        }
    }
}

fn into_kind(socket: Socket) -> PortKind {
    match socket {
        Socket::Datagrams(socket, bypass) => PortKind::Datagrams(DatagramPort::new(socket, bypass)),
        Socket::Listener(listener) => {
            PortKind::Streams(StreamPort { listener: Some(listener), tls: None })
        }
        Socket::Silent => PortKind::Streams(StreamPort { listener: None, tls: None }),
    }
}
