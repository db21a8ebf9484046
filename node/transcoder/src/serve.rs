//! The process: one thread, one machine, one control at a time; who comes last controls.

use crate::connection::{Connection, Lost};
use crate::feed::Feed;
use codec::message::Message;
use codec::{End, Library, Notice, Output, Place, Transcoder};
use driver::{Clock, Interest, Poll, unix_socket};
use forwarder::ToPackets;
use machine::{Duration, Time};
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// Without a control for so long it ends: whoever needs one starts one.
const ALONE_MAX: Duration = Duration::from_secs(60);
/// Between two messages that say how much there is to do.
const LOAD_EVERY: Duration = Duration::from_secs(1);
/// Between two times that numbers of packets are told.
const REACHED_EVERY: Duration = Duration::from_millis(250);
/// When fewer packets came at once than this, more are waited for so long: a wake for each would
/// cost as much as coding it.
const FEW: usize = 32;
const GATHER: Duration = Duration::from_millis(1);
/// The listener's place in the poll and the forwarder's; connections have their numbers.
const LISTENER: u64 = 0;
const FEED: u64 = 1;
/// Rights of the socket: its user's.
const MODE: u32 = 0o600;

/// How it runs.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its socket.
    pub socket: PathBuf,
    /// Streams at most.
    pub streams_max: usize,
    /// The core that it keeps to.
    pub core: Option<usize>,
    /// The forwarder that gives packets; `None`: the control does.
    pub packets: Option<ToPackets>,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Another one stands at this socket.
    #[error("another one stands at {0}")]
    Stands(PathBuf),
    /// The kernel says so.
    #[error("{0}: {1}")]
    Kernel(&'static str, io::Error),
}

/// Transcodes until no control has come for a minute.
///
/// # Errors
/// It cannot start, or the kernel's poll fails.
pub fn serve(spec: &Spec) -> Result<(), Failed> {
    let mut process = Process::start(spec)?;
    process.run().map_err(|error| Failed::Kernel("the poll", error))?;
    // Another one may have taken the place already; then it is not ours to remove.
    let _ = std::fs::remove_file(&spec.socket);
    tracing::info!(target: "transcoder", "ended: nobody controls it");
    Ok(())
}

struct Process {
    clock: Clock,
    poll: Poll,
    listener: UnixListener,
    control: Option<Control>,
    next: u64,
    /// Since when nobody controls it.
    alone: Time,
    service: Service,
    /// A control said that none comes any more.
    is_over: bool,
}

struct Control {
    token: u64,
    connection: Connection,
    /// What was said since a beginning that has no end yet.
    said: Option<HashSet<u32>>,
}

/// The machine, and what is measured of it.
struct Service {
    transcoder: Transcoder,
    codecs: u32,
    streams_max: u32,
    out: Output,
    /// Messages to the control.
    messages: Vec<u8>,
    busy: Duration,
    /// When the load was told last.
    told: Time,
    /// When numbers were told last.
    reached: Time,
    feed: Feed,
    /// The places of the ends of each stream that has some.
    places: HashMap<u32, [Option<Place>; 2]>,
}

impl Process {
    fn start(spec: &Spec) -> Result<Self, Failed> {
        let kernel = |what| move |error| Failed::Kernel(what, error);
        if let Some(core) = spec.core {
            driver::pin(core).map_err(kernel("the core"))?;
        }
        if unix_socket::connect(&spec.socket).is_ok() {
            return Err(Failed::Stands(spec.socket.clone()));
        }
        // What one that died has left.
        let _ = std::fs::remove_file(&spec.socket);
        let listener = unix_socket::listen(&spec.socket, MODE).map_err(kernel("the socket"))?;
        listener.set_nonblocking(true).map_err(kernel("the socket"))?;
        let poll = Poll::new().map_err(kernel("the poll"))?;
        poll.add(&listener, LISTENER, Interest::Read).map_err(kernel("the poll"))?;
        let clock = Clock::start();
        let now = Time::from_nanos(clock.now_ns());
        let (library, absent) = Library::load();
        for it in absent {
            let (file, package, why) = (it.file, it.package, it.why);
            tracing::warn!(target: "transcoder", file, package, why, "a codec is not there");
        }
        tracing::info!(target: "transcoder", socket = %spec.socket.display(), "it stands");
        let service = Service {
            codecs: library.codecs(),
            streams_max: machine::narrow::place(spec.streams_max),
            transcoder: Transcoder::new(library, spec.streams_max, now),
            out: Output::default(),
            messages: Vec::new(),
            busy: Duration::ZERO,
            told: now,
            reached: now,
            feed: Feed::new(spec.packets.clone(), now),
            places: HashMap::new(),
        };
        Ok(Self {
            clock,
            poll,
            listener,
            control: None,
            next: 2,
            alone: now,
            service,
            is_over: false,
        })
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    fn run(&mut self) -> io::Result<()> {
        loop {
            let before = self.now();
            let is_alone = self.control.is_none() && before.since(self.alone) > ALONE_MAX;
            if is_alone || self.is_over {
                return Ok(());
            }
            let wait = self.service.deadline().since(before);
            let ready: Vec<_> = self.poll.wait(Some(wait))?.iter().map(|it| it.token).collect();
            let now = self.now();
            let mut came = 0;
            for token in ready {
                if token == LISTENER {
                    self.accept(now);
                } else if token == FEED {
                    came = self.service.feed(now);
                } else {
                    self.read(now, token);
                }
            }
            self.service.feed.tick(now, &self.poll, FEED);
            self.service.tick(now, self.control.is_some());
            self.write(now);
            let spent = self.now().since(now);
            self.service.busy += spent;
            if (1..FEW).contains(&came) {
                std::thread::sleep(GATHER.saturating_sub(spent));
            }
        }
    }

    fn accept(&mut self, now: Time) {
        while let Ok((socket, _)) = self.listener.accept() {
            let Ok(connection) = Connection::new(socket) else { continue };
            let token = self.next;
            self.next += 1;
            if self.poll.add(&connection, token, Interest::Read).is_err() {
                continue;
            }
            self.leave(now);
            self.control = Some(Control { token, connection, said: None });
            self.service.messages.clear();
            let (codecs, streams_max) = (self.service.codecs, self.service.streams_max);
            Message::Welcome { codecs, streams_max }.write(&mut self.service.messages);
            tracing::info!(target: "transcoder", "a control has come");
        }
    }

    /// The control is gone; its streams stay for the next one.
    fn leave(&mut self, now: Time) {
        if let Some(control) = self.control.take() {
            // Closing takes it out of the poll as well.
            let _ = self.poll.remove(&control.connection);
            self.alone = now;
        }
    }

    fn read(&mut self, now: Time, token: u64) {
        let Some(control) = self.control.as_mut().filter(|it| it.token == token) else { return };
        let Control { connection, said, .. } = control;
        let (service, is_over) = (&mut self.service, &mut self.is_over);
        let mut broken = None;
        let read = connection.fill(|message| match Message::read(message) {
            Ok(Some(Message::Stop)) => *is_over = true,
            Ok(Some(message)) => service.message(now, &message, said),
            Ok(None) => {}
            Err(it) => broken = Some(Lost::Broken(it.to_string())),
        });
        if let Some(lost) = broken.or(read.err()) {
            tracing::info!(target: "transcoder", %lost, "the control is gone");
            self.leave(now);
        }
    }

    fn write(&mut self, now: Time) {
        let Some(control) = &mut self.control else {
            self.service.messages.clear();
            return;
        };
        let waited = control.connection.waiting() > 0;
        let messages = core::mem::take(&mut self.service.messages);
        let written = control.connection.push(&messages);
        self.service.messages = messages;
        self.service.messages.clear();
        let waits = control.connection.waiting() > 0;
        let interest = if waits { Interest::ReadWrite } else { Interest::Read };
        let changed = waits != waited;
        let modified = || self.poll.modify(&control.connection, control.token, interest);
        let failed = written.is_err() || changed && modified().is_err();
        if failed {
            let shed = control.connection.shed();
            tracing::info!(target: "transcoder", shed, "the control takes nothing");
            self.leave(now);
        }
    }
}

impl Service {
    fn deadline(&self) -> Time {
        let own = (self.told + LOAD_EVERY).min(self.reached + REACHED_EVERY);
        let others = [self.transcoder.deadline(), self.feed.deadline()];
        others.into_iter().flatten().fold(own, Time::min)
    }

    fn message(&mut self, now: Time, message: &Message<'_>, said: &mut Option<HashSet<u32>>) {
        match *message {
            Message::Begin => *said = Some(HashSet::new()),
            Message::End => {
                if let Some(said) = said.take() {
                    self.transcoder.retain(|stream| said.contains(&stream));
                    let gone = self.places.keys().filter(|stream| !said.contains(stream));
                    let gone: Vec<u32> = gone.copied().collect();
                    gone.into_iter().for_each(|stream| self.place(stream, None));
                }
            }
            Message::Put { stream, ends } => {
                if let Some(said) = said {
                    said.insert(stream);
                }
                match self.transcoder.put(stream, ends) {
                    Ok(()) => self.place(stream, Some(&ends)),
                    Err(why) => Message::Refused { stream, why }.write(&mut self.messages),
                }
            }
            Message::Remove { stream } => {
                self.transcoder.remove(stream);
                self.place(stream, None);
            }
            Message::Packet { stream, end, octets } => {
                self.transcoder.packet(now, stream, end, octets, &mut self.out);
                self.take();
            }
            Message::Digit { stream, end, code, lasts_ms } => {
                self.transcoder.digit(now, stream, end, code, lasts_ms);
            }
            // What it says itself, and what the process hears.
            Message::Welcome { .. }
            | Message::Refused { .. }
            | Message::Reached { .. }
            | Message::Load { .. }
            | Message::Stop => {}
        }
    }

    /// The places of a stream's ends are these from now on.
    fn place(&mut self, stream: u32, ends: Option<&[End; 2]>) {
        let before = self.places.remove(&stream).unwrap_or_default();
        let now = ends.map_or([None; 2], |ends| ends.each_ref().map(|end| end.place));
        self.feed.place(stream, before, now);
        if now != [None; 2] {
            self.places.insert(stream, now);
        }
    }

    /// Packets came from the forwarder; how many.
    fn feed(&mut self, now: Time) -> usize {
        let Self { feed, transcoder, out, .. } = self;
        let count =
            feed.read(|stream, end, octets| transcoder.packet(now, stream, end, octets, out));
        self.take();
        count
    }

    /// Tells the numbers that packets have reached.
    fn tell_reached(&mut self, now: Time, is_controlled: bool) {
        if now.since(self.reached) < REACHED_EVERY {
            return;
        }
        self.reached = now;
        if !is_controlled {
            return;
        }
        let messages = &mut self.messages;
        self.transcoder.reached(|stream, end, sequence, timestamp| {
            Message::Reached { stream, end, sequence, timestamp }.write(messages);
        });
    }

    fn tick(&mut self, now: Time, is_controlled: bool) {
        self.transcoder.tick(now, &mut self.out);
        self.take();
        self.tell_reached(now, is_controlled);
        let passed = now.since(self.told);
        if passed < LOAD_EVERY {
            return;
        }
        let permille = self.busy.as_nanos() * 1_000 / passed.as_nanos().max(1);
        let permille = u16::try_from(permille).unwrap_or(u16::MAX).min(1_000);
        (self.busy, self.told) = (Duration::ZERO, now);
        let counts = self.transcoder.counts();
        let streams = machine::narrow::place(self.transcoder.len());
        let packets = [counts.received, counts.sent, counts.lost, self.feed.shed()];
        if is_controlled {
            let is_fed = self.feed.is_open();
            let over = counts.over;
            Message::Load { streams, permille, packets, is_fed, over }.write(&mut self.messages);
        }
    }

    /// What came out becomes messages.
    fn take(&mut self) {
        for (stream, end, octets) in self.out.packets() {
            let place = self.places.get(&stream).and_then(|it| it[end.index()]);
            match place {
                Some(place) => self.feed.push(&place, octets),
                None => Message::Packet { stream, end, octets }.write(&mut self.messages),
            }
        }
        self.feed.flush();
        for notice in &self.out.notices {
            let &Notice::Digit { stream, from, code, lasted_ms } = notice;
            Message::Digit { stream, end: from, code, lasts_ms: lasted_ms }
                .write(&mut self.messages);
        }
        self.out.clear();
    }
}
