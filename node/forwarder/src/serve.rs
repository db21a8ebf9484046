//! The main thread: the plane's one writer, the doorway of controls and of those who ask.

use crate::answer;
use crate::open;
use crate::stream::{Lost, Stream};
use crate::wire::{MEMO_OCTETS_MAX, PortSpec, Reply, Request};
use crate::worker::{Facts, Order, Parts, Report, Told, Worker};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use driver::{Clock, Interest, Poll, Waker};
use graph::Pool;
use machine::Time;
use nodes::program::Port as PortProgram;
use nodes::scheduler::Schedulers;
use nodes::{Out, Plane, Program};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections at once: one control, and those who ask.
pub const CONNECTIONS_MAX: usize = 32;
/// Workers of a forwarder at most.
pub const WORKERS_MAX: u16 = 32;
/// Time between two looks at what is due in the plane.
const TICK: Duration = Duration::from_millis(5);
/// Time for a worker to say what it has counted.
const REPORT: Duration = Duration::from_secs(2);
/// Messages of one connection that are done before another's turn.
const TURN_MAX: usize = 64;
/// The listener's place in the poll; connections have their numbers.
const LISTENER: u64 = u64::MAX;
/// The waker's place in the poll.
const WAKER: u64 = u64::MAX - 1;

/// How a forwarder is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Where controls find it.
    pub socket: PathBuf,
    /// Threads that forward.
    pub workers: u16,
    /// Cores for them, in turn; empty: the kernel's choice.
    pub cores: Vec<usize>,
    /// Packets that each of them holds.
    pub packets: usize,
    /// Octets of a packet's cell.
    pub stride: usize,
    /// The TUN device for the router's own addresses.
    pub host: Option<String>,
}

/// Why a forwarder cannot be.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Another one stands there.
    #[error("another forwarder stands at {0}")]
    Taken(PathBuf),
    /// The kernel says no.
    #[error("{what}: {error}")]
    Kernel {
        /// To what.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
    /// The plane does.
    #[error(transparent)]
    Plane(#[from] nodes::Refused),
}

fn kernel(what: &'static str) -> impl Fn(io::Error) -> Failed {
    move |error| Failed::Kernel { what, error }
}

/// Forwards until a control says stop.
///
/// # Errors
/// When it cannot start.
pub fn serve(spec: &Spec) -> Result<(), Failed> {
    let mut forwarder = Forwarder::start(spec)?;
    tracing::info!(target: "forwarder", socket = %spec.socket.display(), "the forwarder stands");
    forwarder.run().map_err(kernel("the poll"))?;
    forwarder.end();
    tracing::info!(target: "forwarder", "ended");
    Ok(())
}

/// A worker's thread as the main thread sees it.
pub(crate) struct Hand {
    orders: Sender<Order>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Hand {
    fn give(&self, order: Order) {
        // A worker ends when it is told to, not before.
        let _ = self.orders.send(order);
        self.waker.wake();
    }
}

struct Connection {
    stream: Stream,
    is_control: bool,
}

/// A port as it was asked for, and what its workers said of it.
pub(crate) struct Standing {
    pub(crate) spec: PortSpec,
    pub(crate) facts: Option<Facts>,
    /// Workers that have it open.
    pub(crate) open: u16,
}

pub(crate) struct Forwarder {
    pub(crate) plane: Plane,
    hands: Vec<Hand>,
    told: Receiver<Told>,
    waker: Arc<Waker>,
    poll: Poll,
    listener: UnixListener,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    pub(crate) ports: BTreeMap<u16, Standing>,
    memo: Vec<u8>,
    clock: Clock,
    outs: Vec<Out>,
    is_over: bool,
}

impl Forwarder {
    fn start(spec: &Spec) -> Result<Self, Failed> {
        let listener = listen(spec)?;
        let waker = Arc::new(Waker::new().map_err(kernel("a waker"))?);
        let poll = Poll::new().map_err(kernel("a poll"))?;
        poll.add(&listener, LISTENER, Interest::Read).map_err(kernel("the poll"))?;
        poll.add(&*waker, WAKER, Interest::Read).map_err(kernel("the poll"))?;
        let (tell, told) = unbounded();
        let random = driver::random().map_err(kernel("the random source"))?;
        let seed = u32::from_le_bytes([random[0], random[1], random[2], random[3]]);
        let mut plane = Plane::new(seed)?;
        let mut hands = Vec::new();
        for number in 0..spec.workers.clamp(1, WORKERS_MAX) {
            hands.push(employ(spec, number, (&mut plane, seed), (&tell, &waker))?);
        }
        leave_cores(&spec.cores);
        Ok(Self {
            plane,
            hands,
            told,
            waker,
            poll,
            listener,
            connections: BTreeMap::new(),
            next: 0,
            ports: BTreeMap::new(),
            memo: Vec::new(),
            clock: Clock::start(),
            outs: Vec::new(),
            is_over: false,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        while !self.is_over {
            self.waker.doze();
            let wait = if self.told.is_empty() { TICK } else { Duration::ZERO };
            let ready: Vec<_> = self.poll.wait(Some(wait))?.to_vec();
            self.waker.rise();
            for ready in ready {
                match ready.token {
                    LISTENER => self.accept(),
                    WAKER => self.waker.clear(),
                    connection => self.serve_one(connection),
                }
            }
            while let Ok(told) = self.told.try_recv() {
                self.hear(told);
            }
            self.tick();
        }
        Ok(())
    }

    fn tick(&mut self) {
        let now = Time::from_nanos(self.clock.now_ns());
        let mut outs = std::mem::take(&mut self.outs);
        self.plane.tick(now, &mut outs);
        for out in outs.drain(..) {
            // Any worker reaches every port.
            match out {
                Out::Send { interface, frame } => {
                    self.hands[0].give(Order::Send { interface, frame });
                }
                Out::Route { vrf, packet } => self.hands[0].give(Order::Route { vrf, packet }),
                Out::Unreachable { interface, vrf, packet } => {
                    self.hands[0].give(Order::Unreachable { interface, vrf, packet });
                }
                Out::Mac(notice) => self.tell(&Reply::Mac(notice)),
                Out::Neighbour { .. } => {}
            }
        }
        self.outs = outs;
        self.plane.publish();
    }

    fn accept(&mut self) {
        let Ok((socket, _)) = self.listener.accept() else { return };
        if self.connections.len() >= CONNECTIONS_MAX {
            tracing::warn!(target: "forwarder", "{CONNECTIONS_MAX} connections: one more refused");
            return;
        }
        let number = self.next;
        self.next += 1;
        let stream = Stream::new(socket).and_then(|stream| {
            self.poll.add(&stream, number, Interest::Read)?;
            Ok(stream)
        });
        if let Ok(stream) = stream {
            self.connections.insert(number, Connection { stream, is_control: false });
        }
    }

    fn serve_one(&mut self, number: u64) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let mut over = connection.stream.fill().and_then(|()| connection.stream.flush());
        for _ in 0..TURN_MAX {
            let Some(connection) = self.connections.get_mut(&number) else { return };
            match connection.stream.next() {
                Ok(Some(request)) => self.request(number, request),
                Ok(None) => break,
                Err(lost) => {
                    over = Err(lost);
                    break;
                }
            }
        }
        // What is whole and waits for its turn is no reason to sleep.
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let interest = if connection.stream.waiting() > 0 || connection.stream.has_message() {
            Interest::ReadWrite
        } else {
            Interest::Read
        };
        let watched = self.poll.modify(&connection.stream, number, interest);
        if let Err(lost) = over.and(watched.map_err(Lost::from)) {
            self.lose(number, &lost);
        }
    }

    fn lose(&mut self, number: u64, why: &Lost) {
        let Some(connection) = self.connections.remove(&number) else { return };
        // Closing ends the watch; that it was not watched does no harm.
        let _ = self.poll.remove(&connection.stream);
        if connection.is_control {
            tracing::info!(target: "forwarder", %why, "the control has gone; forwarding goes on");
        }
    }

    fn request(&mut self, number: u64, request: Request) {
        match request {
            Request::Hello => self.welcome(number),
            Request::Ask { id, path, params } => {
                let answer = answer::answer(self, &path, &params);
                self.say(number, &Reply::Answer { id, answer });
            }
            _ if !self.connections.get(&number).is_some_and(|it| it.is_control) => {
                let why = "only the control may; another one took over, or none said hello";
                self.refuse("a change", why);
            }
            Request::Open(spec) => self.open(spec),
            Request::Close { port } => self.close(port),
            Request::Apply(programs) => self.apply(&programs),
            Request::Keep(memo) if memo.len() <= MEMO_OCTETS_MAX => self.memo = memo,
            Request::Keep(_) => self.refuse("what is to be kept", "it is too long"),
            Request::Stop => self.is_over = true,
        }
    }

    fn welcome(&mut self, number: u64) {
        for (other, connection) in &mut self.connections {
            connection.is_control = *other == number;
        }
        let ports = self.ports.values().map(|port| port.spec.clone()).collect();
        let memo = self.memo.clone();
        self.say(number, &Reply::Welcome { ports, memo });
        let links: Vec<_> = self.ports.iter().map(|(port, it)| (*port, it.is_up())).collect();
        for (port, up) in links {
            self.say(number, &Reply::Link { port, up });
        }
    }

    fn say(&mut self, number: u64, reply: &Reply) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        if let Err(why) = connection.stream.send(reply) {
            self.lose(number, &why);
        }
    }

    /// Tells the control, if there is one.
    fn tell(&mut self, reply: &Reply) {
        let control = self.connections.iter().find(|(_, it)| it.is_control).map(|(at, _)| *at);
        if let Some(control) = control {
            self.say(control, reply);
        }
    }

    fn refuse(&mut self, what: &str, why: &str) {
        tracing::warn!(target: "forwarder", what, why, "refused");
        self.tell(&Reply::Refused { what: what.to_owned(), why: why.to_owned() });
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
        self.ports.insert(number, Standing { spec, facts: None, open: 0 });
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
        let gone = Program::Remove(nodes::program::Removed::Port(port));
        self.apply(&[gone]);
    }

    fn apply(&mut self, programs: &[Program]) {
        for program in programs {
            if let Err(why) = self.plane.apply(program) {
                self.refuse(&answer::named(program), &why.to_string());
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
        let unknown = Facts { mac: open::own_mac(number), mtu: port.spec.mtu, up: false };
        let Facts { mac, mtu, .. } = port.facts.unwrap_or(unknown);
        let (name, up) = (port.spec.name.clone(), port.is_up());
        let program = Program::Port(PortProgram { port: number, name, mac, mtu, up });
        if let Err(why) = self.plane.apply(&program) {
            self.refuse(&answer::named(&program), &why.to_string());
        }
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Opened { port, result: Ok(facts) } => {
                if let Some(standing) = self.ports.get_mut(&port) {
                    standing.facts = Some(facts);
                    standing.open += 1;
                }
                self.program_port(port);
                self.tell(&Reply::Link { port, up: facts.up });
            }
            Told::Opened { port, result: Err(why) } => {
                let name = self.ports.get(&port).map(|port| port.spec.name.clone());
                self.refuse(&format!("port {}", name.unwrap_or_default()), &why);
            }
            Told::Link { port, up } => {
                if let Some(facts) = self.ports.get_mut(&port).and_then(|it| it.facts.as_mut()) {
                    facts.up = up;
                }
                self.program_port(port);
                self.tell(&Reply::Link { port, up });
            }
        }
        self.plane.publish();
    }

    /// What every worker has counted; a worker that does not say within its time is left out.
    pub(crate) fn reports(&self) -> Vec<Report> {
        let (to, from) = bounded(self.hands.len());
        for hand in &self.hands {
            hand.give(Order::Report(to.clone()));
        }
        drop(to);
        self.hands.iter().map_while(|_| from.recv_timeout(REPORT).ok()).collect()
    }

    /// Traces packets at every worker.
    pub(crate) fn trace(&self, choice: &graph::Choice) {
        for hand in &self.hands {
            hand.give(Order::Trace(choice.clone()));
        }
    }

    fn end(mut self) {
        for hand in &self.hands {
            hand.give(Order::Stop);
        }
        for hand in &mut self.hands {
            if let Some(thread) = hand.thread.take()
                && thread.join().is_err()
            {
                tracing::error!(target: "forwarder", "a worker panicked");
            }
        }
    }
}

impl Standing {
    fn is_up(&self) -> bool {
        self.facts.is_some_and(|facts| facts.up)
    }
}

/// A socket that only its owner may open. One that a forwarder left behind is taken away.
fn listen(spec: &Spec) -> Result<UnixListener, Failed> {
    if std::os::unix::net::UnixStream::connect(&spec.socket).is_ok() {
        return Err(Failed::Taken(spec.socket.clone()));
    }
    if spec.socket.exists() {
        std::fs::remove_file(&spec.socket).map_err(kernel("the socket's old place"))?;
    }
    let listener = UnixListener::bind(&spec.socket).map_err(kernel("the socket"))?;
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&spec.socket, mode).map_err(kernel("the socket's mode"))?;
    listener.set_nonblocking(true).map_err(kernel("the socket"))?;
    Ok(listener)
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

/// Starts a worker.
fn employ(
    spec: &Spec,
    number: u16,
    (plane, seed): (&mut Plane, u32),
    (told, listener): (&Sender<Told>, &Arc<Waker>),
) -> Result<Hand, Failed> {
    let (orders, taken) = unbounded();
    let waker = Arc::new(Waker::new().map_err(kernel("a waker"))?);
    let host = match &spec.host {
        Some(name) if number == 0 => {
            Some(crate::open::host(name).map_err(kernel("the host's device"))?)
        }
        _ => None,
    };
    let parts = Parts {
        number,
        workers: spec.workers,
        graph: plane.graph()?,
        schedulers: Schedulers::new(plane.queues(), seed ^ u32::from(number)),
        pool: Pool::new(spec.packets, spec.stride),
        host,
        orders: taken,
        told: told.clone(),
        waker: Arc::clone(&waker),
        listener: Arc::clone(listener),
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
    Ok(Hand { orders, waker, thread })
}
