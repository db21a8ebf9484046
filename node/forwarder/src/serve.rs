//! The main thread: the plane's one writer, the socket of controls and of those who ask.

use crate::answer;
use crate::asked::{Asked, Warning};
use crate::claims::Kept;
use crate::connection::{self, Connection};
use crate::control_listener::{Challenge, ControlListener, Guest, Knock};
use crate::guard::{self, Watched};
use crate::highest;
use crate::ipc::{MEMO_OCTETS_MAX, PortSpec, Reply, Request, WorkerState};
use crate::life::{LOOK, Life, Pulse, Remains};
use crate::open::{self, Shared};
use crate::spec::kernel;
pub use crate::spec::{Failed, Spec};
use crate::stream::{Lost, Stream};
use crate::worker::{Metrics, Notification, Order, Parts, Worker};
use crossbeam_channel::{Receiver, Sender, unbounded};
use driver::{Clock, Interest, Poll, Waker};
use graph::Pool;
use machine::Time;
use nodes::feature::Row;
use nodes::program::{Mac, Port as PortProgram, Removed};
use nodes::{Out, Program};
use plane_control::{FEATURES, Plane};
use scheduler::Schedulers;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Connections at once: one control, and those who ask.
pub const CONNECTIONS_MAX: usize = 32;
/// Workers of a forwarder at most.
pub const WORKERS_MAX: u16 = 32;
/// Time between two looks at what is due in the plane.
const TICK: Duration = Duration::from_millis(5);
/// Time of a turn for all who do not control together.
const OTHERS: Duration = Duration::from_millis(5);
/// Who knocks is let in or sent away, so many in a turn.
const KNOCKS_MAX: usize = 64;
/// Orders that wait for a worker at most: past that it is hung or dead, and they are dropped.
const ORDERS_MAX: usize = 65_536;
/// Messages of one connection that are done before another's turn.
const TURN_MAX: usize = 64;
/// The listener's place in the poll; connections have their numbers.
const LISTENER: u64 = u64::MAX;
/// The waker's place in the poll.
const WAKER: u64 = u64::MAX - 1;

/// Forwards until a control says stop.
///
/// # Errors
/// When it cannot start.
pub fn serve(spec: &Spec) -> Result<(), Failed> {
    serve_with(spec, FEATURES)
}

/// The same with these packet features.
///
/// # Errors
/// When it cannot start.
pub fn serve_with(spec: &Spec, features: &[Row]) -> Result<(), Failed> {
    let mut forwarder = Forwarder::start(spec, features)?;
    let listener = forwarder.listener.listener().map_err(kernel("the socket"))?;
    // A thread cannot be ended: its process can.
    guard::watch(&forwarder.watched, listener, || std::process::abort());
    tracing::info!(target: "forwarder", socket = %spec.socket.display(), "the forwarder stands");
    forwarder.run().map_err(kernel("the poll"))?;
    forwarder.end()?;
    tracing::info!(target: "forwarder", "ended");
    Ok(())
}

/// A worker's thread as the main thread sees it.
pub(crate) struct WorkerHandle {
    orders: Sender<Order>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
    pulse: Arc<Pulse>,
    pub(crate) life: Life,
    /// Of a dead one, until it begins anew.
    remains: Option<Remains>,
}

impl WorkerHandle {
    pub(crate) fn give(&self, order: Order) {
        if self.orders.len() >= ORDERS_MAX {
            return;
        }
        // A worker ends when it is told to. One that died leaves its orders to the next.
        let _ = self.orders.send(order);
        self.waker.wake();
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.pulse.is_opening()
    }

    pub(crate) fn is_well(&self) -> bool {
        self.life.state == WorkerState::Forwards
    }
}

/// A port as it was asked for, and what its workers said of it.
pub(crate) struct Standing {
    pub(crate) spec: PortSpec,
    pub(crate) metrics: Option<Metrics>,
    /// Workers that have it open.
    pub(crate) open: BTreeSet<u16>,
    shared: Option<Shared>,
}

/// Both ends of what the workers tell; each gets a copy of the one.
struct FromWorkers {
    tell: Sender<Notification>,
    told: Receiver<Notification>,
}

pub(crate) struct Forwarder {
    pub(crate) spec: Spec,
    seed: u32,
    pub(crate) plane: Plane,
    pub(crate) hands: Vec<WorkerHandle>,
    looked: Time,
    pub(crate) asked: Asked,
    workers: FromWorkers,
    waker: Arc<Waker>,
    poll: Poll,
    pub(crate) listener: ControlListener,
    /// Packet channels by their connections: classes and shares.
    pub(crate) channels: BTreeMap<u64, Vec<(String, u16)>>,
    /// Packet channels that were closed because of what the other side wrote, by what that was.
    pub(crate) channels_broken: BTreeMap<String, u64>,
    pub(crate) watched: Arc<Watched>,
    pub(crate) connections: BTreeMap<u64, Connection>,
    next: u64,
    pub(crate) ports: BTreeMap<u16, Standing>,
    pub(crate) kept: Kept,
    clock: Clock,
    outs: Vec<Out>,
    is_over: bool,
}

impl Forwarder {
    pub(crate) fn start(spec: &Spec, features: &[Row]) -> Result<Self, Failed> {
        let listener = ControlListener::open(spec)?;
        let waker = Arc::new(Waker::new().map_err(kernel("a waker"))?);
        let poll = Poll::new().map_err(kernel("a poll"))?;
        poll.add(&listener, LISTENER, Interest::Read).map_err(kernel("the poll"))?;
        poll.add(&*waker, WAKER, Interest::Read).map_err(kernel("the poll"))?;
        let (tell, told) = unbounded();
        let random = driver::random().map_err(kernel("the random source"))?;
        let [a, b, c, d, key @ ..] = random;
        let seed = u32::from_le_bytes([a, b, c, d]);
        let key = key.first_chunk().copied().map_or(0, u64::from_le_bytes);
        let mut plane = Plane::with_features(seed, features)?.with_key(key);
        let (mut hands, clock) = (Vec::new(), Clock::start());
        for number in 0..spec.workers.clamp(1, WORKERS_MAX) {
            let graph = plane.graph()?;
            let queues = Schedulers::new(plane.queues(), seed ^ u32::from(number));
            let main = MainThread { told: &tell, waker: &waker, clock };
            hands.push(spawn_worker(spec, number, graph, queues, &main, None)?);
        }
        leave_cores(&spec.cores);
        Ok(Self {
            spec: spec.clone(),
            seed,
            plane,
            hands,
            looked: Time::ZERO,
            asked: Asked::default(),
            workers: FromWorkers { tell, told },
            waker,
            poll,
            listener,
            channels: BTreeMap::new(),
            channels_broken: BTreeMap::new(),
            watched: Arc::default(),
            connections: BTreeMap::new(),
            next: 0,
            ports: BTreeMap::new(),
            kept: Kept::default(),
            clock,
            outs: Vec::new(),
            is_over: false,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        while !self.is_over() {
            self.turn()?;
        }
        Ok(())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What came since, and what is due.
    pub(crate) fn turn(&mut self) -> io::Result<()> {
        self.watched.turn(self.control().is_some());
        self.waker.doze();
        let wait = if self.workers.told.is_empty() { TICK } else { Duration::ZERO };
        let mut ready: Vec<_> = self.poll.wait(Some(wait))?.iter().map(|it| it.token).collect();
        self.waker.rise();
        let control = self.control();
        connection::in_turn(&mut ready, control, self.asked.served);
        let mut until = None;
        for token in ready {
            match token {
                LISTENER => self.accept(),
                WAKER => self.waker.clear(),
                control if Some(control) == self.control() => self.serve_one(control, None),
                other => {
                    let now = Instant::now();
                    // Those who come later have the next turn.
                    if now < *until.get_or_insert(now + OTHERS) {
                        self.asked.served = other;
                        self.serve_one(other, until);
                    }
                }
            }
            self.watch();
        }
        while let Ok(told) = self.workers.told.try_recv() {
            self.hear(told);
        }
        self.tick();
        self.watch();
        Ok(())
    }

    fn tick(&mut self) {
        let now = self.now();
        self.end_trace(None);
        let mut outs = std::mem::take(&mut self.outs);
        self.plane.tick(now, &mut outs);
        for out in outs.drain(..) {
            // Any worker reaches every port: one that lives.
            let hand = self.hands.iter().find(|hand| hand.is_well()).unwrap_or(&self.hands[0]);
            match out {
                Out::Send { interface, frame } => hand.give(Order::Send { interface, frame }),
                Out::Route { vrf, packet } => hand.give(Order::Route { vrf, packet }),
                Out::Unreachable { interface, vrf, packet } => {
                    hand.give(Order::Unreachable { interface, vrf, packet });
                }
                Out::Mac(notice) => self.tell(&Reply::Mac(notice)),
                Out::Item(item) => self.tell(&Reply::Item(item)),
                Out::Claimed { interface, address, mac, is_proved } => {
                    self.claimed(interface, address, mac, is_proved);
                }
                Out::Neighbour { .. } => {}
            }
        }
        self.outs = outs;
        self.plane.publish();
    }

    /// Another system says that an address of this one is its own. Where a control stands, that
    /// decides; else whoever shows what this one's heir shows is believed, and where that has
    /// nothing to show, who goes on saying it. The control that comes next is told.
    fn claimed(&mut self, interface: u32, address: IpAddr, mac: Mac, is_proved: Option<bool>) {
        if self.control().is_some() {
            return self.kept.claims.forget();
        }
        let now = self.now();
        if !self.kept.claims.is_believed((interface, address), mac, is_proved, now) {
            return;
        }
        tracing::warn!(target: "forwarder", interface, %address, "another system took an address");
        self.kept.is_taken = true;
        if let Err(why) = self.plane.give_way(interface, address) {
            tracing::warn!(target: "forwarder", %why, "an address stays");
        }
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    /// Looks whether workers turn, and lets dead ones begin anew.
    fn watch(&mut self) {
        let now = self.now();
        for number in 0..self.hands.len() {
            let hand = &mut self.hands[number];
            if hand.remains.is_some() && now >= hand.life.rests_until {
                self.revive(number);
            }
        }
        if now < self.looked + LOOK {
            return;
        }
        self.looked = now;
        for number in 0..self.hands.len() {
            let hand = &mut self.hands[number];
            if hand.life.look(&hand.pulse) {
                let state = hand.life.state.name();
                tracing::error!(target: "forwarder", worker = number, state, "a worker");
                self.tell_worker(number);
            }
        }
        // Without a control nobody would start another forwarder: the other workers go on.
        self.is_over |= self.control().is_some() && self.hung().is_some();
    }

    fn hung(&self) -> Option<u16> {
        let mut hands = (0..).zip(&self.hands);
        hands.find(|(_, it)| it.life.state == WorkerState::Hung).map(|(number, _)| number)
    }

    /// Tells the control how a worker stands.
    pub(crate) fn tell_worker(&mut self, number: usize) {
        let Life { state, why, .. } = &self.hands[number].life;
        let (state, why) = (*state, why.clone().unwrap_or_default());
        let Ok(worker) = u16::try_from(number) else { return };
        self.tell(&Reply::Worker { worker, state, why });
    }

    /// A worker's thread is over; the others forward on.
    fn died(&mut self, worker: u16, why: String, remains: Remains) {
        let now = self.now();
        let number = usize::from(worker);
        let Some(hand) = self.hands.get_mut(number) else { return };
        let cells = remains.cells_lost;
        tracing::error!(target: "forwarder", worker, %why, cells, "a worker panicked");
        hand.life.die(now, why);
        hand.remains = Some(remains);
        if let Some(thread) = hand.thread.take() {
            // It has told of its panic itself and is about to end.
            let _ = thread.join();
        }
        for port in self.ports.values_mut() {
            port.open.remove(&worker);
        }
        self.tell_worker(number);
        self.close_channels("a worker began anew");
    }

    /// A worker with a new graph, new packets and new queues in the place of a dead one. Its
    /// ports go on; after a second death in a row they are opened anew as well.
    fn revive(&mut self, number: usize) {
        let hand = &mut self.hands[number];
        let Some(mut remains) = hand.remains.take() else { return };
        if hand.life.dies_again() {
            remains.ports.clear();
        }
        let kept: BTreeSet<u16> = remains.ports.iter().map(|(port, ..)| *port).collect();
        let Ok(worker) = u16::try_from(number) else { return };
        let graph = match self.plane.graph_anew(number) {
            Ok(graph) => graph,
            Err(why) => return tracing::error!(target: "forwarder", worker, %why, "stays dead"),
        };
        let queues = Schedulers::new(self.plane.queues(), self.seed ^ u32::from(worker));
        let (told, waker, clock) = (&self.workers.tell, &self.waker, self.clock);
        let main = MainThread { told, waker, clock };
        let before = Some((&*hand, remains));
        match spawn_worker(&self.spec, worker, graph, queues, &main, before) {
            Ok(mut new) => {
                new.life = std::mem::take(&mut hand.life);
                new.life.begin_anew();
                *hand = new;
            }
            Err(why) => return tracing::error!(target: "forwarder", worker, %why, "stays dead"),
        }
        for (port, standing) in &mut self.ports {
            if kept.contains(port) {
                standing.open.insert(worker);
            } else {
                hand.give(Order::Open(standing.spec.clone(), standing.shared.clone()));
            }
        }
        tracing::info!(target: "forwarder", worker, "a worker begins anew");
        self.tell_worker(number);
    }

    fn accept(&mut self) {
        for _ in 0..KNOCKS_MAX {
            match self.listener.accept() {
                Knock::Nobody => return,
                Knock::Guest(guest) => self.let_in(guest),
                Knock::Stranger(user) if self.may_warn(Warning::Stranger) => {
                    tracing::warn!(target: "forwarder", user, "another user is refused");
                }
                Knock::Stranger(_) => {}
            }
        }
    }

    fn let_in(&mut self, Guest { socket, user, is_own, challenge }: Guest) {
        let now = self.now();
        if self.connections.len() >= CONNECTIONS_MAX {
            self.make_room(now);
        }
        let number = self.next;
        self.next += 1;
        let stream = Stream::new(highest::place(socket)).and_then(|stream| {
            self.poll.add(&stream, number, Interest::Read)?;
            Ok(stream)
        });
        let Ok(stream) = stream else { return };
        let said = challenge.as_ref().map(Challenge::octets);
        let (is_control, epoch) = (false, None);
        let connection =
            Connection { stream, is_control, epoch, user, is_own, since: now, challenge };
        self.connections.insert(number, connection);
        if let Some(challenge) = said {
            self.say(number, &Reply::Challenge { challenge });
        }
    }

    fn make_room(&mut self, now: Time) {
        if let Some(one) = connection::gives_way(&self.connections, &self.channels, now) {
            if self.may_warn(Warning::Room) {
                tracing::warn!(target: "forwarder", "{CONNECTIONS_MAX} connections: one ends");
            }
            self.lose(one, &Lost::Refused);
        }
    }

    /// Serves a connection, until a time if there is one.
    fn serve_one(&mut self, number: u64, until: Option<Instant>) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let mut over = connection.stream.flush();
        if !connection.has_turn() && !connection.is_full() {
            over = over.and(connection.stream.fill());
        }
        for _ in 0..TURN_MAX {
            let Some(connection) = self.connections.get_mut(&number) else { return };
            match connection.next() {
                Ok(Some(request)) => {
                    // Each may wait for workers that say nothing.
                    self.watched.pulse.beat();
                    self.request(number, request);
                    self.watch();
                    if until.is_some_and(|until| Instant::now() >= until) {
                        break;
                    }
                }
                Ok(None) => break,
                Err(lost) => {
                    over = Err(lost);
                    break;
                }
            }
        }
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let watched = self.poll.modify(&connection.stream, number, connection.interest());
        if let Err(lost) = over.and(watched.map_err(Lost::from)) {
            self.lose(number, &lost);
        }
    }

    pub(crate) fn lose(&mut self, number: u64, why: &Lost) {
        let Some(connection) = self.connections.remove(&number) else { return };
        self.close_channel(number);
        self.end_trace(Some(number));
        // Closing ends the watch; that it was not watched does no harm.
        let _ = self.poll.remove(&connection.stream);
        if connection.is_control {
            tracing::info!(target: "forwarder", %why, "the control has gone; forwarding goes on");
        }
    }

    fn request(&mut self, number: u64, request: Request) {
        match request {
            Request::Prove { proofs } => {
                let connection = self.connections.get_mut(&number);
                if let Some(challenge) = connection.and_then(|it| it.challenge.as_mut())
                    && !self.listener.prove(challenge, &proofs)
                {
                    self.turn_away(number, "it does not have the key");
                }
            }
            Request::Hello => self.hello(number, None),
            Request::Lead { epoch } => self.hello(number, Some(epoch)),
            Request::Ask { id, path, params } => {
                let answer = answer::answer(self, number, &path, &params);
                self.say(number, &Reply::Answer { id, answer });
            }
            Request::PacketChannel { classes, epoch } => self.open_channel(number, classes, epoch),
            _ if !self.connections.get(&number).is_some_and(|it| it.is_control) => {
                // The control hears of it, not of each one; who said it has nothing more to say.
                if self.may_warn(Warning::Change) {
                    let why = "only the control may; another one took over, or none said hello";
                    self.refuse("a change", why);
                }
                self.lose(number, &Lost::Refused);
            }
            Request::Open(spec) => self.taking_time(|it| it.open(spec)),
            Request::Close { port } => self.taking_time(|it| it.close(port)),
            Request::Apply(programs) => self.taking_time(|it| it.apply(&programs)),
            Request::Keep(memo) if memo.len() <= MEMO_OCTETS_MAX => self.kept.keep(memo),
            Request::Keep(_) => self.refuse("what is to be kept", "it is too long"),
            Request::Stop => self.is_over = true,
        }
    }

    /// What may take its time is no hang: the maps of a port's program, a table of millions of
    /// routes.
    pub(crate) fn taking_time(&mut self, work: impl FnOnce(&mut Self)) {
        self.watched.pulse.opening(true);
        work(self);
        self.watched.pulse.opening(false);
    }

    pub(crate) fn control(&self) -> Option<u64> {
        self.connections.iter().find(|(_, it)| it.is_control).map(|(at, _)| *at)
    }

    /// How the link of a port stands.
    pub(crate) fn link(&self, port: u16) -> Reply {
        let up = self.ports.get(&port).is_some_and(|it| it.is_up());
        Reply::Link { port, up, mac: self.mac(port) }
    }

    /// The MAC address of a port that a worker has opened.
    fn mac(&self, port: u16) -> Option<[u8; 6]> {
        Some(self.ports.get(&port)?.metrics?.mac)
    }

    pub(crate) fn say(&mut self, number: u64, reply: &Reply) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if let Err(why) = connection.stream.send(reply) {
            self.lose(number, &why);
        }
    }

    /// Tells the control, if there is one.
    fn tell(&mut self, reply: &Reply) {
        if let Some(control) = self.control() {
            self.say(control, reply);
        }
    }

    fn refuse(&mut self, what: &str, why: &str) {
        self.refuse_named(what, why, None);
    }

    fn refuse_program(&mut self, program: &Program, why: &str) {
        self.refuse_named(&answer::named(program), why, program.name());
    }

    fn refuse_named(&mut self, what: &str, why: &str, of: Option<Removed>) {
        tracing::warn!(target: "forwarder", what, why, "refused");
        self.tell(&Reply::Refused { what: what.to_owned(), why: why.to_owned(), of });
    }

    fn open(&mut self, spec: PortSpec) {
        if usize::from(spec.port) >= graph::PORTS_MAX {
            return self.refuse(&format!("port {}", spec.name), "its number is too high");
        }
        let shared = match open::shared(&spec, self.hands.len()) {
            Ok(shared) => shared,
            Err(why) => return self.refuse(&format!("port {}", spec.name), &why),
        };
        for hand in &self.hands {
            hand.give(Order::Open(spec.clone(), shared.clone()));
        }
        let number = spec.port;
        self.ports.insert(number, Standing { spec, metrics: None, open: BTreeSet::new(), shared });
        // Interfaces on it may be said before its workers have opened it.
        self.program_port(number);
    }

    fn close(&mut self, port: u16) {
        if self.ports.remove(&port).is_none() {
            return;
        }
        for hand in &self.hands {
            hand.give(Order::Close(port));
        }
        let gone = Program::Remove(Removed::Port(port));
        self.apply(&[gone]);
    }

    fn apply(&mut self, programs: &[Program]) {
        for program in programs {
            if let Err(why) = self.plane.apply(program) {
                self.refuse_program(program, &why.to_string());
            }
            if matches!(program, Program::Begin { .. }) {
                let ports: Vec<u16> = self.ports.keys().copied().collect();
                ports.into_iter().for_each(|port| self.program_port(port));
            }
        }
        self.plane.publish();
    }

    /// Tells the plane of a port what its workers said.
    fn program_port(&mut self, number: u16) {
        let Some(port) = self.ports.get(&number) else { return };
        let unknown = Metrics { mac: open::own_mac(number), mtu: port.spec.mtu, up: false };
        let Metrics { mac, mtu, .. } = port.metrics.unwrap_or(unknown);
        let (name, up) = (port.spec.name.clone(), port.is_up());
        let program = Program::Port(PortProgram { port: number, name, mac, mtu, up });
        if let Err(why) = self.plane.apply(&program) {
            self.refuse_program(&program, &why.to_string());
        }
    }

    fn hear(&mut self, told: Notification) {
        match told {
            Notification::Opened { worker, port, result: Ok(metrics) } => {
                if let Some(standing) = self.ports.get_mut(&port) {
                    standing.metrics = Some(metrics);
                    standing.open.insert(worker);
                }
                self.program_port(port);
                let mac = Some(metrics.mac);
                self.tell(&Reply::Link { port, up: metrics.up, mac });
            }
            Notification::Died { worker, why, remains } => self.died(worker, why, *remains),
            Notification::PacketChannelBroke { channel, corrupt } => {
                self.channel_broke(channel, corrupt)
            }
            Notification::Opened { port, result: Err(why), .. } => {
                let name = self.ports.get(&port).map(|port| port.spec.name.clone());
                self.refuse(&format!("port {}", name.unwrap_or_default()), &why);
            }
            Notification::Link { port, up } => {
                if let Some(metrics) = self.ports.get_mut(&port).and_then(|it| it.metrics.as_mut())
                {
                    metrics.up = up;
                }
                self.program_port(port);
                let link = Reply::Link { port, up, mac: self.mac(port) };
                self.tell(&link);
            }
        }
        self.plane.publish();
    }

    pub(crate) fn end(mut self) -> Result<(), Failed> {
        self.watched.end();
        for hand in &self.hands {
            hand.give(Order::Stop);
        }
        // What waits for a hung worker would hang as well.
        if let Some(worker) = self.hung() {
            return Err(Failed::Hung(worker));
        }
        for hand in &mut self.hands {
            if let Some(thread) = hand.thread.take()
                && thread.join().is_err()
            {
                tracing::error!(target: "forwarder", "a worker panicked");
            }
        }
        Ok(())
    }
}

impl Standing {
    fn is_up(&self) -> bool {
        self.metrics.is_some_and(|metrics| metrics.up)
    }
}

/// Keeps the calling thread off the workers' cores, as long as there are others: what it does for
/// the tables would be a gap in the packets.
fn leave_cores(workers: &[usize]) {
    let others = driver::cores().into_iter().filter(|core| !workers.contains(core));
    let others: Vec<_> = others.collect();
    if !others.is_empty()
        && let Err(error) = driver::keep_to(&others)
    {
        tracing::warn!(target: "forwarder", ?others, %error, "not kept to these cores");
    }
}

/// How workers reach the main thread.
struct MainThread<'a> {
    told: &'a Sender<Notification>,
    waker: &'a Arc<Waker>,
    clock: Clock,
}

/// Starts a worker, or another one in the place of one that died.
fn spawn_worker(
    spec: &Spec,
    number: u16,
    graph: graph::Graph,
    schedulers: Schedulers,
    main: &MainThread<'_>,
    before: Option<(&WorkerHandle, Remains)>,
) -> Result<WorkerHandle, Failed> {
    let (orders, waker, taken, ports, host) = match before {
        Some((hand, it)) => {
            (hand.orders.clone(), Arc::clone(&hand.waker), it.orders, it.ports, it.host)
        }
        None => {
            let (orders, taken) = unbounded();
            let waker = Arc::new(Waker::new().map_err(kernel("a waker"))?);
            let name = spec.host.as_deref().filter(|_| number == 0);
            let host = name.map(open::host).transpose().map_err(kernel("the host's device"))?;
            (orders, waker, taken, Vec::new(), host)
        }
    };
    let pulse = Arc::new(Pulse::default());
    let parts = Parts {
        number,
        workers: spec.workers,
        graph,
        schedulers,
        pool: Pool::new(spec.packets, spec.stride),
        host,
        orders: taken,
        told: main.told.clone(),
        waker: Arc::clone(&waker),
        listener: Arc::clone(main.waker),
        pulse: Arc::clone(&pulse),
        clock: main.clock,
        ports,
    };
    let worker = Worker::new(parts).map_err(kernel("a worker"))?;
    let core = (!spec.cores.is_empty()).then(|| spec.cores[usize::from(number) % spec.cores.len()]);
    let thread = thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
        if let Some(core) = core
            && let Err(error) = driver::pin(core)
        {
            tracing::warn!(target: "forwarder", core, %error, "not pinned");
        }
        worker.run();
    });
    let thread = Some(thread.map_err(kernel("a thread"))?);
    Ok(WorkerHandle { orders, waker, thread, pulse, life: Life::default(), remains: None })
}
