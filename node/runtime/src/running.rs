//! Starting a function, and the handle on it while it runs.

use crate::bind::{self, Held, Place};
use crate::completion::{CompletionSender, Delivery};
use crate::control::{Control, Crashes, Reply, ShardPort, ShardState, Status, lock};
use crate::deferred::{DEFERRED_TIME, Deferred};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::error::words;
use crate::function::{Ask, AskError, Effects, Function, Mirrored};
use crate::helper_threads::HelperThreads;
use crate::io::Io;
use crate::metrics::RuntimeMetric;
use crate::news::Token;
use crate::port::PortId;
use crate::reading::Reader;
use crate::rebirth::Deaths;
use crate::replication::{Order, Orders, ReplicationRef};
use crate::ring::{Mailbox, Rings};
use crate::shard::Shard;
use crate::spec::{PortSpec, SHARDS_MAX, Seed, ShardSpec};
use crate::stream::Streams;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use driver::{Clock, Interest, ReceiveBatch};
use machine::narrow::index;
use machine::{Duration, Time};
use std::net::{Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What makes the function of a shard, on that shard's thread.
pub type Make<F> = Arc<dyn Fn(Seed, Arc<<F as Function>::Config>) -> F + Send + Sync>;
use std::time::Instant;

/// Time for all shards to answer a question.
const ASK_TIMEOUT: Duration = DEFERRED_TIME;
/// Time for all shards to take a configuration; it stays queued for one that is late.
const CONFIGURE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a drain looks whether the shards are idle.
const DRAIN_PERIOD: Duration = Duration::from_millis(5);

/// A function that runs. Any thread may use it; dropping it stops the function at once.
pub struct Running<F: Function> {
    spec: ShardSpec,
    shards: Vec<Handle<F::Config>>,
    mailboxes: Arc<[Mailbox]>,
    ports: Mutex<Vec<Held>>,
    clock: Clock,
}

struct Handle<C> {
    control: Sender<Control<C>>,
    status: Arc<Status>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a shard's thread is born with.
struct Birth<C> {
    spec: ShardSpec,
    shard: u16,
    clock: Clock,
    random: [u8; 32],
    config: Arc<C>,
    control: Receiver<Control<C>>,
    status: Arc<Status>,
    mailboxes: Arc<[Mailbox]>,
    deliveries: Receiver<Delivery>,
    helper_threads: Arc<HelperThreads>,
    ports: Vec<ShardPort>,
    orders: Receiver<Order>,
}

/// Binds all ports, starts the shards and returns when all of them run.
///
/// `make` builds the function of one shard, on that shard's thread.
///
/// # Errors
/// A port that cannot be bound, certificates that cannot be used, limits, cores that are not
/// there, a `make` that panics. Nothing runs then.
pub fn start<F: Function>(
    spec: ShardSpec,
    config: Arc<F::Config>,
    make: impl Fn(Seed, Arc<F::Config>) -> F + Send + Sync + 'static,
) -> Result<Running<F>, RuntimeError> {
    check_spec(&spec)?;
    let places = bind::bind(&spec.ports, &[], spec.shards, spec.receive_buffer_bytes)?;
    let held = places.iter().map(|place| place.held.clone()).collect();
    let mailboxes: Arc<[Mailbox]> =
        (0..spec.shards).map(|_| Mailbox::new(spec.shards)).collect::<Result<Vec<_>, _>>()?.into();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..spec.shards).map(|_| unbounded()).unzip();
    let completions =
        CompletionSender { mailboxes: Arc::clone(&mailboxes), deliveries: senders.into() };
    let helper_threads = Arc::new(HelperThreads::new(&spec.name, completions, spec.dns.clone()));
    let clock = Clock::start();
    let make = Arc::new(make);
    let (born, births) = unbounded();
    let mut running = Running {
        spec: spec.clone(),
        shards: Vec::new(),
        mailboxes,
        ports: Mutex::new(held),
        clock,
    };
    let (orders, ordered) = Orders::new(&running.mailboxes);
    let parts = deal(places, spec.shards).into_iter().zip(receivers).zip(ordered);
    for (shard, ((ports, deliveries), orders)) in parts.enumerate() {
        let (control, commands) = unbounded();
        let status = Arc::new(Status::new());
        let birth = Birth {
            spec: spec.clone(),
            shard: index(shard),
            clock,
            random: driver::random()?,
            config: Arc::clone(&config),
            control: commands,
            status: Arc::clone(&status),
            mailboxes: Arc::clone(&running.mailboxes),
            deliveries,
            helper_threads: Arc::clone(&helper_threads),
            ports,
            orders,
        };
        let (make, born) = (Arc::clone(&make), born.clone());
        let thread = std::thread::Builder::new()
            .name(format!("{}/{shard}", spec.name))
            .spawn(move || live(birth, &*make, &born))?;
        let thread = Mutex::new(Some(thread));
        running.shards.push(Handle { control, status, thread });
    }
    drop(born);
    for _ in 0..spec.shards {
        births.recv().unwrap_or(Err(RuntimeError::Failed))?;
    }
    if let Some(ReplicationRef(mirror)) = &spec.mirror {
        mirror.attach(orders);
    }
    Ok(running)
}

fn check_spec(spec: &ShardSpec) -> Result<(), RuntimeError> {
    if spec.shards == 0 || spec.shards > SHARDS_MAX {
        let what = format!("{} shards: 1 to {SHARDS_MAX} are possible", spec.shards);
        return Err(RuntimeError::Limit(what));
    }
    Ok(())
}

/// Deals the sockets of all ports out to the shards.
fn deal(mut places: Vec<Place>, shards: u16) -> Vec<Vec<ShardPort>> {
    let one = |place: &mut Place| ShardPort {
        held: place.held.clone(),
        tls: place.tls.clone(),
        kept: place.kept,
        socket: place.sockets.pop(),
    };
    (0..shards).map(|_| places.iter_mut().map(one).collect()).collect()
}

/// The life of a shard's thread.
fn live<F: Function>(
    birth: Birth<F::Config>,
    make: &(impl Fn(Seed, Arc<F::Config>) -> F + ?Sized),
    born: &Sender<Result<(), RuntimeError>>,
) {
    let (status, mailboxes, number) =
        (Arc::clone(&birth.status), Arc::clone(&birth.mailboxes), birth.shard);
    let name = birth.spec.name.clone();
    let metrics = Rc::new(event::Metrics::<RuntimeMetric>::new());
    let random = birth.random;
    let (shards, clock) = (birth.spec.shards, birth.clock);
    let outcome = catch_unwind(AssertUnwindSafe(|| raise(birth, make, Rc::clone(&metrics))));
    let outcome = match outcome {
        Ok(Ok(mut shard)) => {
            shard.status.enter(ShardState::Running);
            // The starter waits for every birth; it may only be gone after another's failure.
            let _ = born.send(Ok(()));
            let again = |life: u64, config: Arc<F::Config>| {
                let now = Time::from_nanos(clock.now_ns());
                make(Seed { shard: number, shards, random: reseeded(random, life), now }, config)
            };
            serve(&name, &mut shard, again)
        }
        Ok(Err(error)) => {
            let _ = born.send(Err(error));
            Ok(())
        }
        Err(panic) => Err(words(&*panic).to_owned()),
    };
    mailboxes[usize::from(number)].open.store(false, SeqCst);
    match outcome {
        Ok(()) => status.enter(ShardState::Stopped),
        Err(why) => {
            tracing::error!(function = name, shard = number, why, "a shard crashed for good");
            metrics.add(RuntimeMetric::Crashed, 1);
            status.fail(why);
            let _ = born.send(Err(RuntimeError::Failed));
        }
    }
}

/// Runs a shard until it is told to stop. After a panic its function is made anew, unless that
/// panics as well.
fn serve<F: Function>(
    name: &str,
    shard: &mut Shard<F>,
    again: impl Fn(u64, Arc<F::Config>) -> F,
) -> Result<(), String> {
    let (mut deaths, mut lives) = (Deaths::default(), 0);
    let mut until = Time::ZERO;
    loop {
        let run = catch_unwind(AssertUnwindSafe(|| {
            shard.rest(until);
            shard.run();
        }));
        let Err(panic) = run else { return Ok(()) };
        let (why, number) = (words(&*panic).to_owned(), shard.engine.rings.own);
        let now = shard.now();
        let rest = deaths.rest(now);
        shard.status.waits();
        shard.status.crashed(&why);
        shard.engine.metrics.add(RuntimeMetric::Crashed, 1);
        let rest_ms = rest.as_millis();
        tracing::error!(function = name, shard = number, why, rest_ms, "a shard crashed");
        until = now + rest;
        lives += 1;
        let config = Arc::clone(&shard.engine.config);
        let reborn = catch_unwind(AssertUnwindSafe(|| shard.begin_anew(again(lives, config))));
        if reborn.is_err() {
            return Err(why);
        }
    }
}

/// Other randomness for each life of a shard: what it drew before must not come again.
fn reseeded(mut random: [u8; 32], life: u64) -> [u8; 32] {
    let fresh = driver::random().unwrap_or_default();
    random.iter_mut().zip(fresh).for_each(|(octet, fresh)| *octet ^= fresh);
    random.iter_mut().zip(life.to_le_bytes()).for_each(|(octet, life)| *octet ^= life);
    random
}

/// Builds a shard on its own thread.
fn raise<F: Function>(
    birth: Birth<F::Config>,
    make: &(impl Fn(Seed, Arc<F::Config>) -> F + ?Sized),
    metrics: Rc<event::Metrics<RuntimeMetric>>,
) -> Result<Shard<F>, RuntimeError> {
    let Birth { spec, shard, clock, random, config, control, status, mailboxes, .. } = birth;
    if !spec.cores.is_empty() {
        let core = spec.cores[usize::from(shard) % spec.cores.len()];
        driver::pin(core).map_err(|source| RuntimeError::Core { core, source })?;
    }
    status.set_cells(Vec::new(), vec![metrics.cells()]);
    let now = Time::from_nanos(clock.now_ns());
    let seed = Seed { shard, shards: spec.shards, random, now };
    let function = make(seed, Arc::clone(&config));
    let own = driver::random()?;
    let hash_seed = own.iter().fold(0u64, |sum, &byte| sum << 7 ^ sum >> 57 ^ u64::from(byte));
    let streams = Streams::new(shard, spec.streams, birth.helper_threads, now);
    let mut io = Io::new(Rc::clone(&metrics), hash_seed, streams, Deferred::new(shard))?;
    io.mirror = spec.mirror.clone();
    io.kernel_filter = spec.kernel_filter.clone();
    let rings = Rings::new(shard, mailboxes);
    io.poll.add(&rings.mailbox().waker, Token::Waker.bits(), Interest::Read)?;
    let waited = Duration::ZERO;
    let mut engine =
        Engine { function, config, effects: Effects::default(), rings, metrics, waited };
    if io.mirror.is_some() {
        engine.function.replicate(now, Mirrored::Deactivate, &mut engine.effects);
    }
    let mut shard = Shard {
        engine,
        io,
        receive: ReceiveBatch::new(),
        reader: Reader::new(&spec.streams),
        control,
        deliveries: birth.deliveries,
        orders: birth.orders,
        status,
        clock,
        spin: spec.spin,
        ready: Vec::new(),
        busy_until: now,
        draining: false,
        stopping: false,
    };
    shard.place(birth.ports);
    shard.io.watch_for_unproven(now);
    shard.publish();
    Ok(shard)
}

impl<F: Function> Running<F> {
    fn tell(&self, at: usize, command: Control<F::Config>) -> bool {
        let sent = self.shards[at].control.send(command).is_ok();
        self.mailboxes[at].waker.wake();
        sent
    }

    /// Asks every shard and joins the answers: arrays become one array; where one shard answers
    /// an object, that; several objects become an array in the order of the shards. A shard that
    /// knows nothing of it (`NotFound`) is passed over when another one answers.
    ///
    /// # Errors
    /// What the function says; [`AskError::Unreachable`] when a shard that runs does not answer
    /// within two seconds, or none runs.
    pub fn ask(&self, ask: Ask) -> Result<serde_json::Value, AskError> {
        self.ask_without(&[], ask)
    }

    /// The same, of all shards but these: those that hang.
    ///
    /// # Errors
    /// Like [`Running::ask`].
    pub fn ask_without(&self, hung: &[u16], ask: Ask) -> Result<serde_json::Value, AskError> {
        let (reply, replies) = bounded(self.shards.len());
        let asked = (0..self.shards.len())
            .filter(|&at| !hung.contains(&index(at)))
            .filter(|&at| self.tell(at, Control::Ask(ask.clone(), reply.clone())))
            .count();
        drop(reply);
        let until = Instant::now() + ASK_TIMEOUT;
        let mut answers = Vec::with_capacity(asked);
        for _ in 0..asked {
            match replies.recv_deadline(until) {
                Ok(answer) => answers.push(answer),
                Err(crossbeam_channel::RecvTimeoutError::Disconnected) => break, // a shard crashed
                Err(crossbeam_channel::RecvTimeoutError::Timeout) => {
                    return Err(AskError::Unreachable);
                }
            }
        }
        answers.sort_by_key(|&(shard, _)| shard);
        join(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Takes a new configuration. New ports are bound first; when that fails nothing changes.
    /// Ports that stay keep their sockets and connections, whatever their new number.
    ///
    /// # Errors
    /// Like [`start`].
    pub fn configure(
        &self,
        config: Arc<F::Config>,
        ports: Vec<PortSpec>,
    ) -> Result<(), RuntimeError> {
        let mut held = lock(&self.ports);
        let shards = self.spec.shards;
        let places = bind::bind(&ports, &held, shards, self.spec.receive_buffer_bytes)?;
        let next = places.iter().map(|place| place.held.clone()).collect();
        let (done, dones) = bounded(self.shards.len());
        let mut told = 0;
        for (at, ports) in deal(places, shards).into_iter().enumerate() {
            let config = Arc::clone(&config);
            told += usize::from(self.tell(at, Control::Configure(config, ports, done.clone())));
        }
        if told == 0 {
            return Err(RuntimeError::Failed);
        }
        *held = next;
        drop(done);
        let until = Instant::now() + CONFIGURE_TIMEOUT;
        for _ in 0..told {
            if dones.recv_deadline(until).is_err() {
                tracing::warn!(
                    function = self.spec.name,
                    "a shard is late to take its configuration"
                );
                break;
            }
        }
        Ok(())
    }

    /// Whether [`Running::configure`] could bind these ports now. Changes nothing.
    ///
    /// # Errors
    /// The first port that cannot be bound or whose certificates cannot be used.
    pub fn check_ports(&self, ports: &[PortSpec]) -> Result<(), RuntimeError> {
        let held = lock(&self.ports).clone();
        bind::bind(ports, &held, 1, 0).map(drop)
    }

    /// Tells the function to finish what runs and take nothing new.
    pub fn drain(&self) {
        for at in 0..self.shards.len() {
            self.tell(at, Control::Drain);
        }
    }

    /// Whether nothing runs any more, after [`Running::drain`].
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.shards.iter().all(|shard| match shard.status.state() {
            ShardState::Draining => shard.status.idle.load(Relaxed),
            ShardState::Stopped | ShardState::Failed => true,
            ShardState::Starting | ShardState::Running => false,
        })
    }

    /// What it waits for, after [`Running::drain`].
    #[must_use]
    pub fn waits_for(&self) -> &'static str {
        let mut words = self.shards.iter().map(|shard| shard.status.waits_for());
        words.find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// Drains, waits for that until `deadline` has passed, and ends all threads.
    pub fn stop(self, deadline: Duration) {
        self.drain();
        let until = Instant::now() + deadline;
        while !self.is_idle() && Instant::now() < until {
            std::thread::sleep(DRAIN_PERIOD);
        }
    }

    /// The state of each shard.
    #[must_use]
    pub fn states(&self) -> Vec<ShardState> {
        self.shards.iter().map(|shard| shard.status.state()).collect()
    }

    /// The panics that shards have outlived: `(shard, panics)`, those without any left out.
    #[must_use]
    pub fn crashes(&self) -> Vec<(u16, Crashes)> {
        let all = (0..).zip(&self.shards).map(|(n, shard)| (n, shard.status.crashes()));
        all.filter(|(_, crashes)| crashes.count > 0).collect()
    }

    /// The panics of the threads that help the shards: `(what it does, panics)`.
    #[must_use]
    pub fn helper_crashes(&self) -> Vec<(&'static str, Crashes)> {
        self.shards.iter().flat_map(|shard| shard.status.helper_crashes()).collect()
    }

    /// Shards that have not come back from a turn for at least that long.
    #[must_use]
    pub fn hung(&self, limit: Duration) -> Vec<u16> {
        let now = Time::from_nanos(self.clock.now_ns());
        let shards = (0..).zip(&self.shards);
        shards.filter(|(_, shard)| shard.status.turn(now) >= limit).map(|(n, _)| n).collect()
    }

    /// Why shards have failed: `(shard, the panic's words)`.
    #[must_use]
    pub fn failures(&self) -> Vec<(u16, String)> {
        let shards = self.shards.iter().enumerate();
        shards.filter_map(|(n, shard)| Some((index(n), shard.status.failure()?))).collect()
    }

    /// The function's own cells, shard by shard.
    #[must_use]
    pub fn cells(&self) -> Vec<(u16, Vec<event::MetricCells>)> {
        let shards = self.shards.iter().enumerate();
        shards.map(|(n, shard)| (index(n), shard.status.cells().0)).collect()
    }

    /// The runtime's cells ([`RuntimeMetric`]), shard by shard.
    #[must_use]
    pub fn port_cells(&self) -> Vec<(u16, Vec<event::MetricCells>)> {
        let shards = self.shards.iter().enumerate();
        shards.map(|(n, shard)| (index(n), shard.status.cells().1)).collect()
    }

    /// The address of a port; the unspecified address when there is no such port.
    #[must_use]
    pub fn local_addr(&self, port: PortId) -> SocketAddr {
        let held = lock(&self.ports);
        let found = held.iter().find(|held| held.spec.id == port).map(|held| held.local);
        found.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))
    }

    /// The ports as they stand, each with its address.
    #[must_use]
    pub fn ports(&self) -> Vec<(PortSpec, SocketAddr)> {
        lock(&self.ports).iter().map(|held| (held.spec.clone(), held.local)).collect()
    }
}

impl<F: Function> Drop for Running<F> {
    fn drop(&mut self) {
        for at in 0..self.shards.len() {
            self.tell(at, Control::Stop);
        }
        for shard in &self.shards {
            if let Some(thread) = lock(&shard.thread).take() {
                // Panics were caught on the thread itself.
                let _ = thread.join();
            }
        }
    }
}

fn join(answers: Vec<Reply>) -> Reply {
    let mut values = Vec::with_capacity(answers.len());
    let mut refusal = None;
    for answer in answers {
        match answer {
            Ok(value) => values.push(value),
            Err(error @ AskError::BadParameter(_)) => return Err(error),
            // The first shard that refuses says why: others may know nothing of the question.
            Err(error) => drop(refusal.get_or_insert(error)),
        }
    }
    if values.is_empty() {
        return Err(refusal.unwrap_or(AskError::Unreachable));
    }
    if values.len() == 1 {
        return Ok(values.swap_remove(0));
    }
    let mut rows = Vec::new();
    for value in values {
        match value {
            serde_json::Value::Array(more) => rows.extend(more),
            other => rows.push(other),
        }
    }
    Ok(serde_json::Value::Array(rows))
}
