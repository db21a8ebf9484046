//! TLS handshakes, on a thread of their own: a key exchange takes as long as hundreds of messages.
//! The thread runs on any core of the process, behind the shards: they never wait for it.
//!
//! ```text
//!   shard ──Shaking{stream, session}──→ this thread ──Shaken{stream, session, leftovers}──→ shard
//! ```

use crate::completion::{CompletionSender, Delivery};
use crate::crowd::{self, Member, Source};
use crate::port::ConnId;
use driver::{Interest, Poll, Ready, Waker, tcp};
use machine::fair::Fair;
use machine::narrow::{at_most, nanos};
use std::collections::{HashMap, HashSet};
use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tls::{Progress, Session};

/// Bytes of one read.
const READ_BYTES: usize = 16 << 10;
/// Reads of one connection before the next one has its turn.
const READS_MAX: usize = 4;
/// Bytes that a far end may send before its handshake is done.
const UNREAD_BYTES_MAX: usize = 256 << 10;
/// How often those that take too long are looked for.
const SWEEP: Duration = Duration::from_millis(500);
const WAKER: u64 = u64::MAX;
/// Handshakes that wait to be taken.
const QUEUE_MAX: usize = 4_096;
/// Of them so many are begun before those under way have their turn.
const JOBS_PER_TURN: usize = 64;
/// Of those under way this part makes room at a time.
const ROOM_SHARE: usize = 64;
/// Why one made room.
pub(crate) const DISPLACED: &str = "too many TLS handshakes were under way, most from its source";

/// A handshake to do.
pub(crate) struct Shaking {
    pub(crate) shard: u16,
    pub(crate) conn: ConnId,
    pub(crate) stream: TcpStream,
    pub(crate) session: Box<Session>,
    pub(crate) timeout: Duration,
    /// How many may be under way before this one.
    pub(crate) handshakes_max: usize,
    /// Where it comes from.
    pub(crate) source: Source,
}

/// What a handshake left, beside its session.
pub(crate) struct Established {
    pub(crate) stream: TcpStream,
    pub(crate) session: Box<Session>,
    /// Application data that came with it.
    pub(crate) plain: Vec<u8>,
    /// Bytes that are not out yet.
    pub(crate) wire: Vec<u8>,
}

/// A handshake that is done.
pub(crate) struct Shaken {
    pub(crate) conn: ConnId,
    pub(crate) outcome: Result<Established, &'static str>,
}

/// What waits for the thread: one that the machine held up for a moment finds the queue as an
/// attacker filled it, and those of others in it.
#[derive(Default)]
struct Queue {
    jobs: Fair<Source, Box<Shaking>>,
    /// Connections whose shard has given them up.
    gone: Vec<ConnId>,
    over: bool,
}

/// The thread that shakes hands.
pub(crate) struct Handshakes {
    queue: Arc<Mutex<Queue>>,
    waker: Arc<Waker>,
    completions: CompletionSender,
}

impl Handshakes {
    pub(crate) fn start(
        name: &str,
        completions: CompletionSender,
        cores: Vec<usize>,
    ) -> io::Result<Self> {
        let queue = Arc::new(Mutex::new(Queue::default()));
        let waker = Arc::new(Waker::new()?);
        let own = completions.clone();
        let poll = Poll::new()?;
        poll.add(&*waker, WAKER, Interest::Read)?;
        let mut thread = HandshakeThread {
            poll,
            queue: Arc::clone(&queue),
            waker: Arc::clone(&waker),
            completions,
            entries: Vec::new(),
            free: Vec::new(),
            places: HashMap::new(),
            gone: HashSet::new(),
        };
        std::thread::Builder::new().name(format!("{name}/tls")).spawn(move || {
            if let Err(error) = driver::stand_back(&cores) {
                tracing::warn!(%error, "handshakes take their share of a shard's core");
            }
            let completions = thread.completions.clone();
            completions.outlive(
                "tls",
                &mut thread,
                HandshakeThread::run,
                HandshakeThread::begin_anew,
            );
        })?;
        Ok(Self { queue, waker, completions: own })
    }

    /// Takes a job. When too many wait, the newest of the source that has most is told to its
    /// shard as failed.
    pub(crate) fn push(&self, job: Shaking) {
        let (source, job) = (job.source, Box::new(job));
        let shed = crate::control::lock(&self.queue).jobs.push(source, job, QUEUE_MAX);
        if let Some(job) = shed {
            let shaken = Shaken { conn: job.conn, outcome: Err(DISPLACED) };
            self.completions.deliver(job.shard, Delivery::Shaken(shaken));
        }
        self.waker.wake();
    }

    /// Gives up a connection; its shard hears no more of it.
    pub(crate) fn forget(&self, conn: ConnId) {
        crate::control::lock(&self.queue).gone.push(conn);
        self.waker.wake();
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        crate::control::lock(&self.queue).over = true;
        self.waker.wake();
    }
}

struct Entry {
    shard: u16,
    conn: ConnId,
    source: Source,
    /// It has said something.
    heard: bool,
    since: Instant,
    established: Established,
    until: Instant,
}

struct HandshakeThread {
    poll: Poll,
    queue: Arc<Mutex<Queue>>,
    waker: Arc<Waker>,
    completions: CompletionSender,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// Where the entries of connections stand.
    places: HashMap<ConnId, usize>,
    /// Connections that were given up while they were queued.
    gone: HashSet<ConnId>,
}

/// What a turn with one connection came to.
enum Turn {
    Waiting,
    Done,
    Failed(&'static str),
}

impl HandshakeThread {
    fn run(&mut self) {
        let mut swept = Instant::now();
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            self.waker.doze();
            let Some(has_more) = self.take_jobs() else { return };
            let busy = self.free.len() < self.entries.len();
            ready.clear();
            let wait = if has_more { Duration::ZERO } else { SWEEP };
            match self.poll.wait((busy || has_more).then_some(wait)) {
                Ok(events) => ready.extend_from_slice(events),
                Err(error) => tracing::error!(%error, "epoll failed"),
            }
            self.waker.rise();
            for event in &ready {
                if event.token == WAKER {
                    self.waker.clear();
                } else {
                    self.advance(at_most(event.token, usize::MAX));
                }
            }
            if swept.elapsed() >= SWEEP {
                swept = Instant::now();
                self.sweep(swept);
            }
        }
    }

    /// Every handshake under way has failed: whose fault the crash was is not known.
    fn begin_anew(&mut self) {
        for at in 0..self.entries.len() {
            self.finish(at, Some("the thread of TLS handshakes crashed"));
        }
    }

    /// Takes what is queued, of every source in turn; whether there is more, `None` at the end.
    fn take_jobs(&mut self) -> Option<bool> {
        for _ in 0..JOBS_PER_TURN {
            let mut queue = crate::control::lock(&self.queue);
            if queue.over {
                return None;
            }
            let (gone, job) = (std::mem::take(&mut queue.gone), queue.jobs.pop());
            drop(queue); // a key exchange may be a long one
            self.give_up(gone);
            let Some(job) = job else {
                self.gone.clear();
                return Some(false);
            };
            if !self.gone.remove(&job.conn) {
                self.take(*job);
            }
        }
        Some(true)
    }

    fn give_up(&mut self, gone: Vec<ConnId>) {
        if self.gone.len() > QUEUE_MAX {
            self.gone.clear(); // the rest ends with its time
        }
        for conn in gone {
            match self.places.get(&conn) {
                Some(&at) => drop(self.release(at)),
                None => {
                    self.gone.insert(conn);
                }
            }
        }
    }

    /// As many as there may be are under way: those who filled the place make room, the silent ones
    /// first; several at once, so that looking for them costs less than the newcomers.
    fn make_room(&mut self, newcomer: Source, most: usize) {
        let began = Instant::now();
        let members = self.entries.iter().enumerate().filter_map(|(key, entry)| {
            let entry = entry.as_ref()?;
            let age = began.saturating_duration_since(entry.since);
            // Who has not spoken goes before the others; but nobody here has done what keeps a
            // place.
            let latest = if entry.heard { u64::MAX } else { u64::MAX / 2 };
            let active = machine::Time::from_nanos(latest.saturating_sub(nanos(age)));
            Some(Member { key, source: entry.source, spoke: false, active })
        });
        for at in crowd::victims(members.collect(), newcomer, most) {
            self.finish(at, Some(DISPLACED));
        }
    }

    const fn under_way(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn take(&mut self, job: Shaking) {
        if self.under_way() >= job.handshakes_max {
            self.make_room(job.source, (job.handshakes_max / ROOM_SHARE).max(1));
        }
        if self.under_way() >= job.handshakes_max {
            let shaken = Shaken { conn: job.conn, outcome: Err(DISPLACED) };
            return self.completions.deliver(job.shard, Delivery::Shaken(shaken));
        }
        let at = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        let Shaking { shard, conn, stream, session, timeout, source, .. } = job;
        let (plain, wire) = (Vec::new(), Vec::new());
        let established = Established { stream, session, plain, wire };
        let watched = self.poll.add(&established.stream, at as u64, Interest::Read);
        let since = Instant::now();
        let (until, heard) = (since + timeout, false);
        let entry = Entry { shard, conn, source, heard, since, established, until };
        self.entries[at] = Some(entry);
        self.places.insert(conn, at);
        match watched {
            Ok(()) => self.advance(at),
            Err(_) => self.finish(at, Some("the connection cannot be watched")),
        }
    }

    fn advance(&mut self, at: usize) {
        let Some(Some(entry)) = self.entries.get_mut(at) else { return };
        match turn(&mut entry.established, &mut entry.heard) {
            Turn::Done => self.finish(at, None),
            Turn::Failed(why) => self.finish(at, Some(why)),
            Turn::Waiting => {
                let established = &entry.established;
                let interest =
                    if established.wire.is_empty() { Interest::Read } else { Interest::ReadWrite };
                if self.poll.modify(&established.stream, at as u64, interest).is_err() {
                    self.finish(at, Some("the connection cannot be watched"));
                }
            }
        }
    }

    fn sweep(&mut self, now: Instant) {
        for at in 0..self.entries.len() {
            if self.entries[at].as_ref().is_some_and(|entry| entry.until <= now) {
                self.finish(at, Some("the TLS handshake took too long"));
            }
        }
    }

    fn release(&mut self, at: usize) -> Option<Entry> {
        let entry = self.entries[at].take()?;
        self.free.push(at);
        if self.places.get(&entry.conn) == Some(&at) {
            self.places.remove(&entry.conn);
        }
        // A descriptor that cannot be removed was never watched.
        let _ = self.poll.remove(&entry.established.stream);
        Some(entry)
    }

    fn finish(&mut self, at: usize, failure: Option<&'static str>) {
        let Some(entry) = self.release(at) else { return };
        let outcome = match failure {
            None => Ok(entry.established),
            Some(why) => Err(why),
        };
        let shaken = Shaken { conn: entry.conn, outcome };
        self.completions.deliver(entry.shard, Delivery::Shaken(shaken));
    }
}

/// Reads, thinks, writes.
fn turn(at: &mut Established, heard: &mut bool) -> Turn {
    let mut buffer = Vec::new();
    for _ in 0..READS_MAX {
        buffer.clear();
        buffer.extend_from_slice(at.session.pending());
        let start = buffer.len();
        buffer.resize(start + READ_BYTES, 0);
        let read = match tcp::read(&at.stream, &mut buffer[start..]) {
            Ok(Some(0)) => return Turn::Failed("the far end left during the TLS handshake"),
            Ok(read) => read,
            Err(_) => return Turn::Failed("the connection broke during the TLS handshake"),
        };
        buffer.truncate(start + read.unwrap_or(0));
        *heard |= read.is_some();
        if buffer.len() + at.plain.len() > UNREAD_BYTES_MAX {
            return Turn::Failed("the far end sends too much during the TLS handshake");
        }
        let progress = at.session.process(&mut buffer, &mut at.plain, &mut at.wire);
        if write(at).is_err() {
            return Turn::Failed("the connection broke during the TLS handshake");
        }
        match progress {
            Ok(Progress::Open) => return Turn::Done,
            Ok(Progress::Closed) => return Turn::Failed("the far end closed the TLS session"),
            Ok(Progress::Shaking) if read.is_none() => return Turn::Waiting,
            Ok(Progress::Shaking) => {}
            Err(error) => return Turn::Failed(words(&error)),
        }
    }
    Turn::Waiting
}

fn write(at: &mut Established) -> io::Result<()> {
    while !at.wire.is_empty() {
        match tcp::write(&at.stream, &[IoSlice::new(&at.wire)])? {
            Some(count) => drop(at.wire.drain(..count)),
            None => break,
        }
    }
    Ok(())
}

/// The violation in words for a person.
pub(crate) fn words(error: &rustls::Error) -> &'static str {
    use rustls::CertificateError as Certificate;
    match error {
        rustls::Error::InvalidCertificate(what) => match what {
            Certificate::UnknownIssuer => "its certificate is not signed by a root that we trust",
            Certificate::Expired | Certificate::ExpiredContext { .. } => {
                "its certificate has expired"
            }
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "its certificate carries another name"
            }
            _ => "its certificate is not valid",
        },
        rustls::Error::NoCertificatesPresented => "it shows no certificate",
        rustls::Error::AlertReceived(_) => "it refused the TLS session (alert)",
        rustls::Error::PeerIncompatible(_) => "it has no TLS version or cipher in common with us",
        rustls::Error::InvalidMessage(_) => "what it sends is not TLS",
        _ => "the TLS session failed",
    }
}
