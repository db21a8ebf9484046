//! The active end of the stream: a bounded log of numbered deltas, sent by a window, sent again
//! from the last acknowledged one when nothing moves.

use crate::message;
use machine::{Duration, Time};
use runtime::Pace;
use std::collections::VecDeque;

/// Octets of deltas that wait for their acknowledgement; beyond it the standby is out of date and
/// gets a snapshot instead.
pub const LOG_BYTES_MAX: usize = 64 << 20;
/// Octets that are on their way unacknowledged: what a standby misses that gets no processor for
/// a while lies in its socket, and not here where it dies with the active node.
pub(crate) const WINDOW_BYTES: usize = 1 << 20;
/// Octets of them when they are sent again; twice as many after each acknowledgement.
const AGAIN_BYTES: usize = 128 << 10;
/// Octets of one datagram, after which the next one is begun.
const DATAGRAM_BYTES: usize = 1_300;
/// The longest delta; UDP carries 65,507 octets.
pub const DELTA_BYTES_MAX: usize = 60_000;
/// Time between two snapshots.
const SNAPSHOT_PAUSE: Duration = Duration::from_secs(1);
/// Octets in the log from which on no more of a snapshot is told: what waits for its
/// acknowledgement then are changes, and a snapshot needs no more room however long it is.
const SNAPSHOT_HIGH: usize = 4 * WINDOW_BYTES;
/// Octets in the log from which on more of it is told again.
const SNAPSHOT_LOW: usize = WINDOW_BYTES;

/// Marks that wait; a lane has one at a time.
const MARKS_MAX: usize = 1 << 10;

/// `None` is the end of the snapshot.
type Logged = Option<(u16, Box<[u8]>)>;

/// An entry that its sender takes back.
#[derive(Debug)]
pub(crate) struct TakenBack {
    /// It was sent: it may have arrived.
    pub(crate) has_left: bool,
    pub(crate) octets: Box<[u8]>,
}

/// The stream as the active node keeps it.
#[derive(Debug)]
pub(crate) struct Source {
    lanes: u16,
    resend: Duration,
    /// Epoch and number; while not [`Source::is_running`] that of the last one.
    pub(crate) stream: (u64, u64),
    log: VecDeque<Logged>,
    /// Number of the first entry in the log; those before are acknowledged.
    base: u64,
    /// Number of the entry to send next.
    next: u64,
    /// Number of the first entry that has never left.
    unsent: u64,
    bytes: usize,
    flying: usize,
    /// As many octets may be on their way now.
    window: usize,
    moved: Time,
    /// Lanes whose snapshot has not ended.
    open: u16,
    /// What lanes want to hear once the entry before is acknowledged: its number, lane and mark.
    marks: VecDeque<(u64, u16, u64)>,
    is_running: bool,
    began: Time,
    /// How the peer kept up when that was asked last.
    pace: Pace,
    /// The stream ended because the log was full.
    is_lost: bool,
    /// Octets that the log takes.
    bytes_max: usize,
    /// Times that the log overflowed.
    pub(crate) overflows: u64,
    /// Deltas that no datagram carries.
    pub(crate) too_long: u64,
}

/// Appends an entry of the log.
pub(crate) fn logged(out: &mut Vec<u8>, entry: &Logged) {
    match entry {
        Some((lane, octets)) => message::delta(out, *lane, octets),
        None => message::snapshot_end(out),
    }
}

fn size(entry: &Logged) -> usize {
    entry.as_ref().map_or(0, |(_, delta)| delta.len()) + 8
}

impl Source {
    pub(crate) fn new(lanes: u16, resend: Duration) -> Self {
        Self {
            lanes,
            resend,
            stream: (0, 0),
            log: VecDeque::new(),
            base: 1,
            next: 1,
            unsent: 1,
            bytes: 0,
            flying: 0,
            window: WINDOW_BYTES,
            moved: Time::ZERO,
            open: 0,
            marks: VecDeque::new(),
            is_running: false,
            began: Time::ZERO,
            pace: Pace::Current,
            is_lost: false,
            bytes_max: LOG_BYTES_MAX,
            overflows: 0,
            too_long: 0,
        }
    }

    /// The same with another limit of the log.
    pub(crate) fn with_log(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// The same after a stream of that epoch and number.
    pub(crate) fn after(self, stream: (u64, u64)) -> Self {
        Self { stream, began: Time::ZERO, ..self }
    }

    /// Takes back what is not acknowledged. What has left keeps its number and says nothing any
    /// more: it may have arrived.
    pub(crate) fn take_back(&mut self) -> Vec<TakenBack> {
        let left = usize::try_from(self.unsent.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let never_left = self.log.split_off(left.min(self.log.len()));
        let mut all = Vec::new();
        for (_, octets) in self.log.iter_mut().flatten() {
            let octets = core::mem::take(octets);
            if !octets.is_empty() {
                all.push(TakenBack { has_left: true, octets });
            }
        }
        let never_left = never_left.into_iter().flatten();
        all.extend(never_left.map(|(_, octets)| TakenBack { has_left: false, octets }));
        self.bytes = self.log.iter().map(size).sum();
        (self.next, self.flying) = (self.base, 0);
        all
    }

    /// The last entry that is acknowledged; zero: none.
    pub(crate) const fn acked(&self) -> u64 {
        self.base - 1
    }

    /// Octets that are on their way unacknowledged.
    pub(crate) const fn flying(&self) -> usize {
        self.flying
    }

    /// Octets that wait for their acknowledgement.
    pub(crate) const fn waiting(&self) -> usize {
        self.bytes
    }

    /// Whether the log has room for more of a snapshot.
    pub(crate) fn has_room(&self) -> bool {
        self.is_running && self.bytes <= SNAPSHOT_LOW.min(self.bytes_max / 4)
    }

    /// How the peer keeps up. What was said at one limit stands until the one below it.
    pub(crate) fn pace(&mut self) -> Pace {
        let behind = self.bytes_max / 2;
        let busy = SNAPSHOT_HIGH.min(behind / 2);
        let low = SNAPSHOT_LOW.min(busy / 2);
        self.pace = match (self.is_running, self.bytes) {
            (false, _) if self.is_lost => Pace::Lost,
            (false, _) => Pace::Current,
            (true, bytes) if bytes > behind => Pace::Behind,
            (true, bytes) if bytes > busy && self.pace == Pace::Behind => Pace::Behind,
            (true, bytes) if bytes > busy => Pace::Busy,
            (true, bytes) if bytes > low && self.pace > Pace::Current => Pace::Busy,
            (true, _) => Pace::Current,
        };
        self.pace
    }

    /// Whether deltas are kept.
    pub(crate) const fn is_running(&self) -> bool {
        self.is_running
    }

    /// Deltas that are not acknowledged.
    pub(crate) fn lag(&self) -> u64 {
        self.log.len() as u64
    }

    /// The stream that runs and the number of its last entry.
    pub(crate) fn position(&self) -> Option<((u64, u64), u64)> {
        self.is_running.then(|| (self.stream, self.base + self.log.len() as u64 - 1))
    }

    /// Forgets the stream.
    pub(crate) fn end(&mut self) {
        self.log.clear();
        self.marks.clear();
        (self.bytes, self.flying) = (0, 0);
        self.is_running = false;
    }

    /// Begins a stream, unless the last one began just now. Its snapshot must follow.
    pub(crate) fn begin(&mut self, now: Time, epoch: u64) -> bool {
        if self.stream.0 == epoch && now < self.began + SNAPSHOT_PAUSE {
            return false;
        }
        self.end();
        self.stream = (epoch, self.stream.1 + 1);
        (self.base, self.next, self.unsent) = (1, 1, 1);
        self.open = self.lanes;
        (self.is_running, self.is_lost) = (true, false);
        (self.began, self.moved) = (now, now);
        true
    }

    /// Whether the peer, which says that it follows `stream`, needs another one.
    pub(crate) fn is_lost(&self, stream: (u64, u64)) -> bool {
        !self.is_running || stream != self.stream && self.base > 1
    }

    /// Keeps a delta. A full log ends the stream. One that is too long is counted and left out: a
    /// stream that ended by it would end with each snapshot anew, and nothing be told at all.
    pub(crate) fn push(&mut self, lane: u16, delta: &[u8]) {
        match delta.len() {
            ..=DELTA_BYTES_MAX => self.keep(Some((lane, delta.into()))),
            _ => self.too_long += u64::from(self.is_running),
        }
    }

    fn keep(&mut self, entry: Logged) {
        if !self.is_running {
            return;
        }
        self.bytes += size(&entry);
        self.log.push_back(entry);
        if self.bytes > self.bytes_max {
            self.overflows += 1;
            self.end();
            self.is_lost = true;
        }
    }

    /// A lane has told everything that stood when stream `number` began.
    pub(crate) fn lane_ended(&mut self, number: u64) {
        if self.is_running && number == self.stream.1 && self.open > 0 {
            self.open -= 1;
            if self.open == 0 {
                self.keep(None);
            }
        }
    }

    /// A lane wants to hear when the peer has applied all that it has told so far.
    pub(crate) fn mark(&mut self, lane: u16, mark: u64) {
        if !self.is_running {
            return;
        }
        // A later mark of the same lane says what the one before would have.
        if self.marks.len() >= MARKS_MAX {
            self.marks.pop_back_if(|(_, of, _)| *of == lane);
        }
        if self.marks.len() < MARKS_MAX {
            self.marks.push_back((self.base + self.log.len() as u64, lane, mark));
        }
    }

    /// Whether a lane waits for a mark.
    pub(crate) fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// A lane and its mark before which everything is acknowledged.
    pub(crate) fn marked(&mut self) -> Option<(u16, u64)> {
        let is_reached = |(next, ..): &(u64, u16, u64)| *next <= self.base;
        let (_, lane, mark) = self.marks.pop_front_if(|it| is_reached(it))?;
        Some((lane, mark))
    }

    /// The peer has applied everything up to `applied`.
    pub(crate) fn acknowledged(&mut self, now: Time, stream: (u64, u64), applied: u64) {
        if stream != self.stream || !self.is_running {
            return;
        }
        while self.base <= applied {
            let Some(entry) = self.log.pop_front() else { break };
            let size = size(&entry);
            self.bytes -= size;
            if self.base < self.next {
                self.flying = self.flying.saturating_sub(size);
            }
            self.base += 1;
            self.moved = now;
        }
        if self.moved == now {
            self.window = (self.window * 2).min(WINDOW_BYTES);
        }
        self.next = self.next.max(self.base);
    }

    /// Whether everything was acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_running && self.log.is_empty() && self.open == 0
    }

    /// Whether nothing has moved for a while of what is on its way.
    pub(crate) fn is_late(&self, now: Time) -> bool {
        self.next > self.base && now >= self.moved + self.resend
    }

    /// Goes back to the first unacknowledged entry then.
    pub(crate) fn tick(&mut self, now: Time) {
        if self.is_late(now) {
            self.next = self.base;
            self.flying = 0;
            self.window = AGAIN_BYTES;
            self.moved = now;
        }
    }

    /// Sends what the window allows.
    pub(crate) fn flush(&mut self, now: Time, pair: u64, mut send: impl FnMut(Vec<u8>)) {
        self.awake(now);
        loop {
            let mut datagram = Vec::new();
            let (stream, first) = (self.stream, self.next);
            let begun = |out: &mut Vec<u8>| *out = message::deltas(pair, stream, first);
            if !self.piece(&mut datagram, DATAGRAM_BYTES, begun, logged) {
                return;
            }
            if self.is_awaited(first) {
                message::asking(&mut datagram);
            }
            send(datagram);
        }
    }

    /// Whether a lane waits for what was sent from that entry on.
    fn is_awaited(&self, first: u64) -> bool {
        let at = self.marks.partition_point(|it| it.0 <= first);
        self.marks.get(at).is_some_and(|it| it.0 <= self.next)
    }

    /// Nothing was on its way: the time to send again counts from now.
    pub(crate) fn awake(&mut self, now: Time) {
        if self.next == self.base {
            self.moved = self.moved.max(now);
        }
    }

    /// Number of the entry that is sent next.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Appends the next entries to `out`, behind what `begin` writes, until it has so many octets;
    /// one entry at least. `false`, and nothing is written: none may leave now.
    pub(crate) fn piece(
        &mut self,
        out: &mut Vec<u8>,
        octets: usize,
        begin: impl FnOnce(&mut Vec<u8>),
        write: impl Fn(&mut Vec<u8>, &Logged),
    ) -> bool {
        let at = usize::try_from(self.next - self.base).ok().filter(|at| *at < self.log.len());
        let Some(at) = at.filter(|_| self.is_running && self.flying < self.window) else {
            return false;
        };
        begin(out);
        let empty = out.len();
        for entry in self.log.range(at..) {
            let size = size(entry);
            if out.len() > empty && out.len() + size > octets {
                break;
            }
            write(out, entry);
            self.next += 1;
            self.flying += size;
        }
        self.unsent = self.unsent.max(self.next);
        true
    }

    /// When [`Source::tick`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Time> {
        (self.next > self.base).then_some(self.moved + self.resend)
    }
}
