//! Pipes between interfaces: one thread that reads frames, lets time pass, and hands on what is
//! due.
//!
//! Arrivals are counted from the kernel's time stamp, not from when they were read. The thread
//! runs before others where it may (`SCHED_RR`), sleeps until shortly before the next deadline and
//! waits out the rest awake.

use crate::summary::Late;
use crate::{Change, Frame, LinkSummary, Pipe, Plan, Random, Schedule, Summary, WaySummary, Which};
use crate::{end, pipe::Arrival};
use anyhow::Context;
use driver::packet::{PACKETS_MAX, PacketBatch, PacketSocket};
use driver::{Clock, Interest, Poll, Waker};
use hdrhistogram::Histogram;
use machine::{Duration, Machine, Time};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Before a deadline the thread is awake for so long: a sleep may end late by that.
const AWAKE: Duration = Duration::from_micros(30);
/// After being awake for so long without a pause it naps, whatever is due: the kernel takes an
/// urgent thread that never sleeps off its core for 50 ms in each second, and that at once.
const AWAKE_MAX: Duration = Duration::from_millis(1);
/// A nap. With these two the others have a little more than the twentieth that they are owed.
const NAP: Duration = Duration::from_micros(60);
/// How often counters are shown to others.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// A pause when an interface takes nothing more.
const PAUSE: Duration = Duration::from_micros(50);
/// Frames that wait for an interface that takes nothing more; further ones are refused.
const LEAVING_MAX: usize = 1 << 16;
/// A time stamp older than this is one by a date that was set meanwhile.
const AGE_MAX_NS: u64 = 10_000_000_000;
/// The longest lateness that is told apart.
const LATE_MAX_NS: u64 = 60_000_000_000;
/// The waker's token; the others are those of the ends.
const WAKER: u64 = u64::MAX;

/// Links that run. Dropping it ends them.
#[derive(Debug)]
pub struct Emulator {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<anyhow::Result<()>>>,
    names: Vec<String>,
    notes: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    ended: AtomicBool,
    waker: Waker,
    orders: Mutex<Vec<Order>>,
    summary: Mutex<Summary>,
}

/// A change of a way from outside.
#[derive(Debug)]
struct Order {
    link: usize,
    way: Which,
    change: Change,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Emulator {
    /// Opens all ends and starts; schedules count from here.
    ///
    /// # Errors
    /// Which end cannot be opened, why, and how it is mended.
    pub fn start(plan: &Plan) -> anyhow::Result<Self> {
        plan.check().map_err(anyhow::Error::msg)?;
        let mut notes = Vec::new();
        let mut sockets = Vec::new();
        for link in &plan.links {
            end::refuse_a_pair(&link.between)?;
            let [one, two] = &link.between;
            sockets.push([end::open(one, &mut notes)?, end::open(two, &mut notes)?]);
        }
        let shared = Arc::new(Shared {
            ended: AtomicBool::new(false),
            waker: Waker::new()?,
            orders: Mutex::default(),
            summary: Mutex::default(),
        });
        let mut worker = Worker::new(plan, sockets, Arc::clone(&shared))?;
        let (told, tells) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("link".into()).spawn(move || {
            // Nobody listens when the start failed.
            let _ = told.send(driver::link::urgent());
            worker.run()
        })?;
        if let Ok(Err(why)) = tells.recv() {
            notes.push(format!("packets may leave late beside other programs (SCHED_RR: {why})"));
        }
        let names = plan.links.iter().map(|link| link.name.clone()).collect();
        Ok(Self { shared, thread: Some(thread), names, notes })
    }

    /// What the user should know about the interfaces and the machine.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Changes ways of a link now.
    ///
    /// # Errors
    /// When no link has that name.
    pub fn change(&self, link: &str, way: Which, change: Change) -> anyhow::Result<()> {
        let link = self.names.iter().position(|name| name == link);
        let link = link.context("no link has that name")?;
        locked(&self.shared.orders).push(Order { link, way, change });
        self.shared.waker.wake();
        Ok(())
    }

    /// What it has done, as of a tenth of a second ago.
    #[must_use]
    pub fn summary(&self) -> Summary {
        locked(&self.shared.summary).clone()
    }

    /// Whether it still runs; if not, [`Emulator::end`] says why.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends it. What is on its way is lost.
    ///
    /// # Errors
    /// What the thread failed at.
    pub fn end(mut self) -> anyhow::Result<Summary> {
        self.join()?;
        Ok(self.summary())
    }

    fn join(&mut self) -> anyhow::Result<()> {
        self.shared.ended.store(true, SeqCst);
        self.shared.waker.wake();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the link's thread has failed")))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Err(why) = self.join() {
            eprintln!("link: {why:#}");
        }
    }
}

/// One way: from its own end to the other.
struct Lane {
    pipe: Pipe<Frame>,
    /// Due, and not yet taken by the interface.
    leaving: VecDeque<Arrival<Frame>>,
    late_ns: Histogram<u64>,
    joined: u64,
    missed: u64,
    unreadable: u64,
    refused: u64,
}

struct Cable {
    names: (String, [String; 2]),
    ends: [PacketSocket; 2],
    lanes: [Lane; 2],
}

struct Worker {
    shared: Arc<Shared>,
    seed: u64,
    clock: Clock,
    began: Time,
    shown_at: Time,
    slept_at: Time,
    poll: Poll,
    cables: Vec<Cable>,
    due: Vec<Arrival<Frame>>,
}

impl Worker {
    fn new(
        plan: &Plan,
        sockets: Vec<[PacketSocket; 2]>,
        shared: Arc<Shared>,
    ) -> anyhow::Result<Self> {
        let poll = Poll::new()?;
        poll.add(&shared.waker, WAKER, Interest::Read)?;
        let clock = Clock::start();
        let began = Time::from_nanos(clock.now_ns());
        let mut random = Random::new(plan.seed);
        let mut cables = Vec::new();
        for (link, ends) in plan.links.iter().zip(sockets) {
            for (end, socket) in ends.iter().enumerate() {
                poll.add(socket, (2 * cables.len() + end) as u64, Interest::Read)?;
            }
            let mut lane = |way: usize| -> anyhow::Result<Lane> {
                let schedule = Schedule::new(began, &link.changes[way]);
                let pipe = Pipe::new(random.number(), link.ways[way], schedule);
                let late_ns = Histogram::new_with_bounds(1, LATE_MAX_NS, 2)?;
                let leaving = VecDeque::new();
                let (joined, missed, unreadable, refused) = (0, 0, 0, 0);
                Ok(Lane { pipe, leaving, late_ns, joined, missed, unreadable, refused })
            };
            let lanes = [lane(0)?, lane(1)?];
            let between = link.between.clone().map(|place| place.to_string());
            cables.push(Cable { names: (link.name.clone(), between), ends, lanes });
        }
        let (due, seed) = (Vec::new(), plan.seed);
        let (shown_at, slept_at) = (began, began);
        Ok(Self { shared, seed, clock, began, shown_at, slept_at, poll, cables, due })
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    fn run(&mut self) -> anyhow::Result<()> {
        let mut batch = PacketBatch::new();
        while !self.shared.ended.load(SeqCst) {
            for token in self.wait()? {
                self.receive((token / 2) as usize, (token % 2) as usize, &mut batch);
            }
            self.obey();
            self.pass();
            if self.now() >= self.shown_at {
                self.show(false);
                self.shown_at = self.now() + SHOWN_EVERY;
            }
        }
        self.show(true);
        Ok(())
    }

    /// Time until the next deadline that may be slept away.
    fn gap(&self) -> Duration {
        let lanes = || self.cables.iter().flat_map(|cable| &cable.lanes);
        let due = lanes().filter_map(|lane| lane.pipe.deadline()).min();
        let until = due.map_or(self.shown_at, |due| due.min(self.shown_at));
        let gap = until.since(self.now()).saturating_sub(AWAKE);
        let blocked = lanes().any(|lane| !lane.leaving.is_empty());
        if blocked { gap.min(PAUSE) } else { gap }
    }

    /// Waits for frames or the next deadline; the tokens of the ends that have frames.
    fn wait(&mut self) -> anyhow::Result<Vec<u64>> {
        let mut before = self.now();
        if before.since(self.slept_at) > AWAKE_MAX {
            std::thread::sleep(NAP);
            before = self.now();
            self.slept_at = before;
        }
        self.shared.waker.doze();
        let idle = locked(&self.shared.orders).is_empty() && !self.shared.ended.load(SeqCst);
        let gap = if idle { self.gap() } else { Duration::ZERO };
        let mut tokens = Vec::new();
        for ready in self.poll.wait(Some(gap))? {
            match ready.token {
                WAKER => self.shared.waker.clear(),
                token => tokens.push(token),
            }
        }
        self.shared.waker.rise();
        let now = self.now();
        if now.since(before) >= AWAKE {
            self.slept_at = now;
        }
        Ok(tokens)
    }

    /// Takes a batch of frames from an end into its pipe.
    fn receive(&mut self, link: usize, end: usize, batch: &mut PacketBatch) {
        let Cable { ends, lanes, .. } = &mut self.cables[link];
        let lane = &mut lanes[end];
        if batch.receive(&ends[end]).is_err() {
            // An interface that goes down says so once; a frame of a kind that cannot be handed
            // over is gone.
            lane.unreadable += 1;
            return;
        }
        let (date, now) = (Clock::date_ns(), self.clock.now_ns());
        for received in batch.frames() {
            let age = received.arrived_ns.map_or(0, |arrived| date.saturating_sub(arrived));
            let age = if age < AGE_MAX_NS { age } else { 0 };
            let at = Time::from_nanos(now - age);
            lane.joined += u64::from(received.offload.kind != 0);
            Frame::read(&received, |frame| lane.pipe.step(at, frame, &mut self.due));
        }
        lane.leave(&mut self.due);
    }

    /// Makes the changes that were ordered.
    fn obey(&mut self) {
        let orders = std::mem::take(&mut *locked(&self.shared.orders));
        let now = self.now();
        for Order { link, way, change } in orders {
            for number in (0..2).filter(|&number| way.concerns(number)) {
                self.cables[link].lanes[number].pipe.change(now, change);
            }
        }
    }

    /// Lets time pass and sends what is due.
    fn pass(&mut self) {
        let now = self.now();
        for Cable { ends, lanes, .. } in &mut self.cables {
            for (lane, far) in lanes.iter_mut().zip([1, 0]) {
                if lane.pipe.deadline().is_some_and(|at| at <= now) {
                    lane.pipe.tick(now, &mut self.due);
                    lane.leave(&mut self.due);
                }
                lane.send(&ends[far], &self.clock);
            }
        }
    }

    /// Shows the counters to others. How late packets were takes a while to count.
    fn show(&mut self, is_end: bool) {
        let mut links = Vec::new();
        for Cable { names: (name, between), ends, lanes } in &mut self.cables {
            let [forward, reverse] = [0, 1].map(|way| {
                lanes[way].missed += u64::from(ends[way].missed().unwrap_or(0));
                lanes[way].summary(is_end)
            });
            let (name, between) = (name.clone(), between.clone());
            links.push(LinkSummary { name, between, forward, reverse });
        }
        let seconds = self.now().since(self.began).as_secs_f64();
        let (seed, began_at_us) = (self.seed, self.began.as_micros());
        *locked(&self.shared.summary) = Summary { seed, began_at_us, seconds, links };
    }
}

impl Lane {
    fn leave(&mut self, due: &mut Vec<Arrival<Frame>>) {
        self.leaving.extend(due.drain(..));
        let beyond = self.leaving.len().saturating_sub(LEAVING_MAX);
        self.refused += beyond as u64;
        self.leaving.drain(..beyond);
    }

    fn send(&mut self, to: &PacketSocket, clock: &Clock) {
        while !self.leaving.is_empty() {
            let frames = self.leaving.iter().take(PACKETS_MAX);
            let frames = frames.map(|due| (due.packet.offload, &due.packet.bytes[..]));
            match to.send(frames) {
                Ok(0) => return,
                Ok(sent) => {
                    let now = Time::from_nanos(clock.now_ns());
                    for due in self.leaving.drain(..sent) {
                        self.late_ns.saturating_record(now.since(due.at).as_nanos() as u64);
                    }
                }
                Err(_) => {
                    self.refused += 1;
                    self.leaving.pop_front();
                }
            }
        }
    }

    fn summary(&self, is_end: bool) -> WaySummary {
        WaySummary {
            counts: self.pipe.counts(),
            waiting: self.pipe.waiting() as u64,
            standing: self.pipe.standing() as u64,
            is_cut: self.pipe.is_cut(),
            joined: self.joined,
            missed: self.missed,
            unreadable: self.unreadable,
            refused: self.refused,
            late_us: if is_end { Late::read(&self.late_ns) } else { None },
        }
    }
}
