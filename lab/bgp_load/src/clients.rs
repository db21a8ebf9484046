//! All clients on one epoll: connected, fed, and watched until each holds what it must.

use crate::client::{Client, State};
use crate::digest::Sum;
use crate::keys::Keys;
use crate::plan::{CLIENTS_MAX, Plan};
use crate::streams::Streams;
use crate::table::Feed;
use driver::{Interest, Poll};
use machine::Time;
use std::io;
use std::time::{Duration, Instant};

/// Octets that are read at once.
const READ_BYTES: usize = 1 << 20;
/// Connections that are being opened at the same time: BIRD has room for so many.
const OPENING_MAX: usize = 8;
/// Time between attempts to connect.
const RETRY: Duration = Duration::from_millis(50);
/// The longest wait for the kernel.
const WAIT: Duration = Duration::from_millis(20);
/// Who is behind others and reads nothing for so long has got what it gets.
const QUIET: Duration = Duration::from_millis(200);
/// Time after which what it holds is counted from the beginning of its stream: a reflector may
/// say to others what it does not say again to this one.
const LONG_QUIET: Duration = Duration::from_millis(1_500);
/// Clients that are named when something is wrong.
const NAMED_MAX: usize = 4;

/// Why a field does not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel's: descriptors, addresses.
    #[error("{0}")]
    System(#[from] io::Error),
    /// More clients than [`CLIENTS_MAX`].
    #[error("{0} clients; at most {CLIENTS_MAX}")]
    TooMany(usize),
    /// Sessions ended that should stand.
    #[error("{count} sessions ended; client {client}: {why}")]
    Lost {
        /// How many.
        count: usize,
        /// One of them.
        client: usize,
        /// Why it ended.
        why: String,
    },
    /// Something took too long.
    #[error("{what} after {seconds:.1} s")]
    Late {
        /// What did not happen.
        what: String,
        /// How long it was waited for.
        seconds: f64,
    },
}

/// How it went until all clients held what they must.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Convergence {
    /// From the first octet that was fed to the last client.
    pub seconds: f64,
    /// Routes that were announced to clients and withdrawn from them meanwhile, all together.
    pub updates: u64,
    /// Clients that had to hold something.
    pub clients: usize,
    /// Clients whose octets were decoded one by one.
    pub alone: usize,
    /// Different streams that others were compared with.
    pub references: usize,
}

impl Convergence {
    /// Updates a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.updates as f64 / self.seconds } else { 0.0 }
    }
}

/// What a client must hold, and since when it does.
#[derive(Debug, Clone, Copy)]
struct Duty {
    expected: Option<Sum>,
    since: Option<Instant>,
    /// When the route came that is waited for.
    seen: Option<Instant>,
    /// It does not read.
    is_paused: bool,
    /// Updates before the feed that is measured, and when it held what it must.
    updates: [u64; 2],
    /// When it read last.
    read_at: Instant,
    /// It was looked at since.
    is_reviewed: bool,
}

/// All clients.
#[derive(Debug)]
pub struct Clients {
    plan: Plan,
    poll: Poll,
    clients: Vec<Client>,
    duties: Vec<Duty>,
    streams: Streams,
    buffer: Vec<u8>,
    started: Instant,
    /// When the first octet of a feed was written.
    fed_at: Option<Instant>,
    watches: bool,
}

impl Clients {
    /// Clients that are not connected yet; `keys` are the routes that will be announced.
    ///
    /// # Errors
    /// The kernel's, and too many clients.
    pub fn new(plan: Plan, keys: Keys) -> Result<Self, Error> {
        if plan.clients > CLIENTS_MAX {
            return Err(Error::TooMany(plan.clients));
        }
        let duty = Duty {
            expected: None,
            since: None,
            seen: None,
            is_paused: false,
            updates: [0; 2],
            read_at: Instant::now(),
            is_reviewed: false,
        };
        Ok(Self {
            poll: Poll::new()?,
            clients: (0..plan.clients).map(|number| Client::new(&plan, number)).collect(),
            duties: vec![duty; plan.clients],
            streams: Streams::new(keys),
            buffer: vec![0; READ_BYTES + (64 << 10)],
            started: Instant::now(),
            fed_at: None,
            watches: false,
            plan,
        })
    }

    /// The routes that are known; more may be added.
    pub const fn keys(&mut self) -> &mut Keys {
        &mut self.streams.keys
    }

    /// Connects these clients and waits until their sessions stand.
    ///
    /// # Errors
    /// When one ends or does not stand in time.
    pub fn connect(
        &mut self,
        clients: std::ops::Range<usize>,
        limit: Duration,
    ) -> Result<(), Error> {
        let until = Instant::now() + limit;
        let mut tried = Instant::now();
        let mut is_first = true;
        loop {
            let all = &self.clients[clients.clone()];
            let up = all.iter().filter(|client| client.state == State::Up).count();
            if up == all.len() {
                return Ok(());
            }
            if Instant::now() > until {
                let what = format!("{up} of {} sessions stood", all.len());
                return Err(Error::Late { what, seconds: limit.as_secs_f64() });
            }
            if is_first || tried.elapsed() > RETRY {
                (is_first, tried) = (false, Instant::now());
                self.open_some(clients.clone())?;
            }
            self.turn(Duration::from_millis(2))?;
            self.check_lost()?;
        }
    }

    /// Opens connections, so many at a time.
    fn open_some(&mut self, clients: std::ops::Range<usize>) -> Result<(), Error> {
        let is_opening =
            |client: &&Client| matches!(client.state, State::Connecting | State::Opening);
        let mut room = OPENING_MAX
            .saturating_sub(self.clients[clients.clone()].iter().filter(is_opening).count());
        for number in clients {
            if room == 0 {
                break;
            }
            let client = &mut self.clients[number];
            if client.state == State::Idle {
                client.connect(&self.plan)?;
                client.waits_to_write = true;
                if let Some(stream) = &client.stream {
                    self.poll.add(stream, number as u64, Interest::ReadWrite)?;
                }
                room -= 1;
            }
        }
        Ok(())
    }

    /// A client announces or withdraws. The time of [`Clients::converge`] begins with its first
    /// octet that is written.
    pub fn feed(&mut self, client: usize, feed: &Feed) {
        self.clients[client].send(feed.octets.clone());
        self.fed_at = None;
        self.arm(client);
    }

    /// Has the client told when its stream takes more.
    fn arm(&mut self, number: usize) {
        let client = &mut self.clients[number];
        if client.waits_to_write || client.has_sent_all() || self.duties[number].is_paused {
            return;
        }
        if let Some(stream) = &client.stream {
            client.waits_to_write =
                self.poll.modify(stream, number as u64, Interest::ReadWrite).is_ok();
        }
    }

    /// What a client must hold from now on, its own routes left out; `None`: it does not matter.
    pub fn expect(&mut self, client: usize, expected: Option<Sum>) {
        let reader = self.clients[client].reader.as_ref();
        let before = reader.map_or(0, |reader| reader.updates(&mut self.streams));
        let duty = &mut self.duties[client];
        (duty.expected, duty.since, duty.updates) = (expected, None, [before; 2]);
        duty.is_reviewed = false;
    }

    /// A client reads no more, or reads again.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pause(&mut self, client: usize, is_paused: bool) -> Result<(), Error> {
        if self.duties[client].is_paused == is_paused {
            return Ok(());
        }
        self.duties[client].is_paused = is_paused;
        let Some(stream) = &self.clients[client].stream else { return Ok(()) };
        if is_paused {
            self.poll.remove(stream)?;
            return Ok(());
        }
        self.poll.add(stream, client as u64, Interest::Read)?;
        self.clients[client].waits_to_write = false;
        self.arm(client);
        Ok(())
    }

    /// Runs until every client that reads holds what it must.
    ///
    /// # Errors
    /// When a session ends, or they do not in time: then it is said what clients hold.
    pub fn converge(&mut self, limit: Duration) -> Result<Convergence, Error> {
        let begun = Instant::now();
        self.review();
        while self.is_pending() {
            if begun.elapsed() > limit {
                return Err(Error::Late { what: self.missing(), seconds: limit.as_secs_f64() });
            }
            self.turn(WAIT)?;
            self.check_lost()?;
            self.review_quiet();
        }
        Ok(self.convergence(begun))
    }

    /// Runs for a time, whatever comes.
    ///
    /// # Errors
    /// When a session ends.
    pub fn run(&mut self, time: Duration) -> Result<(), Error> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.turn(WAIT.min(time))?;
            self.check_lost()?;
        }
        Ok(())
    }

    fn convergence(&self, begun: Instant) -> Convergence {
        let from = self.fed_at.unwrap_or(begun);
        let mut found = Convergence { references: self.streams.references(), ..<_>::default() };
        for (number, duty) in self.duties.iter().enumerate() {
            if duty.expected.is_none() || duty.is_paused {
                continue;
            }
            let time =
                duty.since.map_or(0.0, |at| at.saturating_duration_since(from).as_secs_f64());
            found.seconds = found.seconds.max(time);
            found.updates += duty.updates[1].saturating_sub(duty.updates[0]);
            found.clients += 1;
            let reader = self.clients[number].reader.as_ref();
            found.alone += usize::from(reader.is_some_and(crate::streams::Reader::is_alone));
        }
        found
    }

    fn is_pending(&self) -> bool {
        let is_late = |duty: &Duty| duty.expected.is_some() && duty.since.is_none();
        self.duties.iter().any(|duty| is_late(duty) && !duty.is_paused)
            || self.clients.iter().any(|client| !client.has_sent_all())
    }

    /// Who does not hold what it must, in words.
    fn missing(&self) -> String {
        let is_late = |duty: &Duty| duty.expected.is_some() && duty.since.is_none();
        let late = self.duties.iter().enumerate().filter(|(_, duty)| is_late(duty));
        let late: Vec<usize> = late.map(|(number, _)| number).collect();
        let mut text = format!("{} clients do not hold what they must", late.len());
        for number in late.into_iter().take(NAMED_MAX) {
            let reader = self.clients[number].reader.as_ref();
            let contents = reader.and_then(|reader| reader.contents(&self.streams));
            let expected = self.duties[number].expected.unwrap_or_default();
            text += &match contents {
                Some(contents) => {
                    let held = contents.held_without(number).held;
                    let violations = contents.violations;
                    let wrong = if held == expected.held { ", with other attributes" } else { "" };
                    format!(
                        "; client {number} {held} of {}{wrong}, {violations} bad UPDATEs",
                        expected.held
                    )
                }
                None => format!("; client {number} got less than others"),
            };
        }
        text
    }

    /// Looks at every client once: some may hold already what they must.
    fn review(&mut self) {
        for number in 0..self.clients.len() {
            self.judge(number);
        }
    }

    fn judge(&mut self, number: usize) {
        let duty = &mut self.duties[number];
        let Some(reader) = &mut self.clients[number].reader else { return };
        if self.watches && duty.seen.is_none() && reader.has_seen(&self.streams) {
            duty.seen = Some(Instant::now());
        }
        let Some(expected) = duty.expected.filter(|_| duty.since.is_none()) else { return };
        let Some(contents) = reader.contents(&self.streams) else { return };
        if contents.held_without(number) == expected && contents.violations == 0 {
            duty.since = Some(Instant::now());
            duty.updates[1] = contents.updates();
        }
    }

    /// Looks at a client that others are ahead of and that gets nothing more: it may hold what it
    /// must, as a feeder that is not sent its own routes does.
    fn review_quiet(&mut self) {
        for (number, duty) in self.duties.iter_mut().enumerate() {
            let is_late = duty.expected.is_some() && duty.since.is_none();
            if !is_late || duty.is_reviewed || duty.read_at.elapsed() < QUIET {
                continue;
            }
            let Some(reader) = &self.clients[number].reader else { continue };
            let held = match reader.behind(&mut self.streams, number) {
                None if duty.read_at.elapsed() < LONG_QUIET => continue,
                None => reader.counted(&mut self.streams, number),
                held => held,
            };
            duty.is_reviewed = true;
            if let Some(held) = held
                && Some(held.sum) == duty.expected
                && held.violations == 0
            {
                duty.since = Some(duty.read_at);
                duty.updates[1] = held.updates;
            }
        }
    }

    /// A feed of one route, and how long it took until each of `clients` had it: seconds, of the
    /// last one. Others go on with what they do.
    ///
    /// # Errors
    /// When a session ends, or not in time.
    pub fn change(
        &mut self,
        feeder: usize,
        feed: &Feed,
        clients: std::ops::Range<usize>,
        limit: Duration,
    ) -> Result<f64, Error> {
        self.streams.watch(feed.last);
        self.watches = true;
        for (client, duty) in self.clients.iter_mut().zip(&mut self.duties) {
            duty.seen = None;
            client.reader.iter_mut().for_each(crate::streams::Reader::forget_seen);
        }
        self.feed(feeder, feed);
        let begun = Instant::now();
        while self.duties[clients.clone()].iter().any(|duty| duty.seen.is_none()) {
            if begun.elapsed() > limit {
                let seen = self.duties[clients.clone()].iter().filter(|duty| duty.seen.is_some());
                let what = format!("{} of {} clients had the change", seen.count(), clients.len());
                return Err(Error::Late { what, seconds: limit.as_secs_f64() });
            }
            self.turn(WAIT)?;
            self.check_lost()?;
        }
        self.watches = false;
        let from = self.fed_at.unwrap_or(begun);
        let last = self.duties[clients].iter().filter_map(|duty| duty.seen).max();
        Ok(last.map_or(0.0, |at| at.saturating_duration_since(from).as_secs_f64()))
    }

    /// Whether a client holds what it must.
    #[must_use]
    pub fn holds(&self, client: usize) -> bool {
        self.duties[client].since.is_some()
    }

    fn check_lost(&self) -> Result<(), Error> {
        let why = |client: &Client| match &client.state {
            State::Lost(why) => Some(why.clone()),
            _ => None,
        };
        let mut lost = self.clients.iter().enumerate().filter_map(|(n, it)| Some((n, why(it)?)));
        let Some((client, why)) = lost.next() else { return Ok(()) };
        Err(Error::Lost { count: 1 + lost.count(), client, why })
    }

    /// Waits for the kernel once and does what is to be done.
    fn turn(&mut self, wait: Duration) -> Result<(), Error> {
        let ready: Vec<_> = self.poll.wait(Some(wait))?.to_vec();
        let now = Time::from_millis(self.started.elapsed().as_millis() as u64);
        for event in ready {
            let number = event.token as usize;
            if self.duties[number].is_paused {
                continue;
            }
            if event.writable {
                self.writable(number, now)?;
            }
            if event.readable && self.clients[number].state != State::Connecting {
                self.clients[number].read(now, &mut self.streams, &mut self.buffer);
                (self.duties[number].read_at, self.duties[number].is_reviewed) =
                    (Instant::now(), false);
                self.judge(number);
                self.arm(number);
            }
        }
        Ok(())
    }

    fn writable(&mut self, number: usize, now: Time) -> Result<(), Error> {
        let client = &mut self.clients[number];
        if client.state == State::Connecting {
            client.connected(now);
        }
        if !client.has_sent_all() {
            if client.state == State::Up && self.fed_at.is_none() {
                self.fed_at = Some(Instant::now());
            }
            client.write();
        }
        if let Some(stream) = &client.stream
            && client.has_sent_all()
            && client.waits_to_write
        {
            client.waits_to_write = false;
            self.poll.modify(stream, number as u64, Interest::Read)?;
        }
        Ok(())
    }
}
