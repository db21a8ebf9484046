//! The thread of a ring: it reads what stands of its owner, writes what changes, says when that is
//! there, and answers questions about shared rows.

use super::lease::Lease;
use super::rows::{Change, Rows, now_us};
use super::{Ring, Written};
use crate::asked::{Asked, Reply};
use crate::ear::Ear;
use crate::record::Record;
use crate::words::{
    ASKED, LOG, OPENED, REFUSED, REPLIED, ROW, STOOD, SYNC_NOW, SYNC_SOON, SYNCED, TAKEN, WHOLE,
    Words, number, number_of, refused, word,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};

/// What is asked of the ring at once.
const UNDER_WAY_MAX: usize = 1_024;
/// A change of an own row is tried again so soon, for so long.
const AGAIN: Duration = Duration::from_millis(200);
const GIVE_UP: Duration = Duration::from_secs(5);
/// A row that is of later than this from now counts for no clock: no two are so far apart.
const CLOCKS_APART_US: u64 = 86_400_000_000;
/// Octets that are told at once of what stood.
const PIECE: usize = 1 << 18;

enum Done {
    /// An own row is changed, or the ring does not take the change.
    Changed(u64, Result<(), Refused>),
    /// The words of an answer.
    Replied(Vec<u8>),
}

/// A change that the ring has not taken: the key, and why.
struct Refused(Vec<u8>, String);

/// Speaks with the ring until nobody wants it any more.
///
/// # Errors
/// Why it cannot.
pub(super) async fn run(
    ring: &Ring,
    ear: &Arc<Ear>,
    jobs: UnboundedReceiver<Vec<u8>>,
) -> Result<(), String> {
    let rows = Arc::new(Rows::open(ring).await?);
    let mut worker = Worker::new(Arc::clone(&rows), ring, Arc::clone(ear));
    if ring.own.is_empty() {
        return worker.serve(jobs).await;
    }
    let lease = Arc::new(Lease::take(&rows, ring).await?);
    let mut lost = tokio::spawn(Arc::clone(&lease).keep());
    let ended = tokio::select! {
        ended = worker.serve(jobs) => ended,
        why = &mut lost => Err(why.unwrap_or_else(|error| error.to_string())),
    };
    lost.abort();
    lease.give().await;
    ended
}

struct Worker {
    rows: Arc<Rows>,
    owner: Arc<str>,
    written: Written,
    /// Whether rows are this node's alone.
    has_own: bool,
    ear: Arc<Ear>,
    under_way: FuturesUnordered<BoxFuture<'static, Done>>,
    marks: Marks,
    /// Rows that stood in the ring when it was opened again, and were not in the snapshot that is
    /// being told yet: until when, and their sums.
    standing: BTreeMap<Vec<u8>, (Time, u32)>,
    /// Keys of those that were not in it, to be taken out; none: it is not whole.
    gone: Option<BTreeSet<Vec<u8>>>,
    stamp: u64,
    said: Vec<u8>,
}

impl Worker {
    fn new(rows: Arc<Rows>, ring: &Ring, ear: Arc<Ear>) -> Self {
        Self {
            rows,
            owner: ring.owner.as_str().into(),
            written: ring.written.clone(),
            has_own: !ring.own.is_empty(),
            ear,
            under_way: FuturesUnordered::new(),
            marks: Marks::default(),
            standing: BTreeMap::new(),
            gone: None,
            stamp: 0,
            said: Vec::new(),
        }
    }

    async fn serve(&mut self, mut jobs: UnboundedReceiver<Vec<u8>>) -> Result<(), String> {
        self.tell_own().await?;
        loop {
            let has_room = self.under_way.len() < UNDER_WAY_MAX;
            tokio::select! {
                job = jobs.recv(), if has_room => match job {
                    Some(words) => self.take(&words),
                    None => break,
                },
                Some(done) = self.under_way.next() => self.done(done),
            }
            while let Some(Some(done)) = self.under_way.next().now_or_never() {
                self.done(done);
            }
            self.take_out_gone();
            if let Some(mark) = self.marks.reached() {
                number(&mut self.said, SYNCED, mark);
            }
            if !self.said.is_empty() {
                self.ear.say(std::mem::take(&mut self.said));
            }
        }
        // What was told last is written yet.
        while let Some(done) = self.under_way.next().await {
            self.done(done);
        }
        Ok(())
    }

    /// Tells what stands of the owner; of a ring that is opened again it is kept for the snapshot
    /// that follows, by which memory, which knows better, puts it right.
    async fn tell_own(&mut self) -> Result<(), String> {
        let (mut piece, mut last) = (Vec::new(), 0);
        let ear = Arc::clone(&self.ear);
        let own = self.written.get();
        let far = now_us() + CLOCKS_APART_US;
        let standing = &mut self.standing;
        let mut take = |it: super::rows::Standing| {
            if it.written < far {
                last = last.max(it.written);
            }
            if own > 0 {
                standing.insert(it.key, (it.until, crc32c::crc32c(&it.row)));
                return;
            }
            let record = Record::Put { key: &it.key, row: &it.row, until: it.until };
            word(&mut piece, STOOD, |out| record.write(out));
            if piece.len() >= PIECE {
                ear.say(std::mem::take(&mut piece));
            }
        };
        if self.has_own {
            self.rows.read_own(&self.owner, &mut take).await?;
        }
        // Memory would know better than the ring what stands, and does not: all is read by a start.
        if self.written.is_lost() || own > 0 && last > own {
            let owner = &self.owner;
            return Err(format!("another process had the rows of `{owner}`: start this one again"));
        }
        // Whoever wrote before may have had a clock that is ahead of this one.
        self.stamp = last;
        self.written.set(last);
        number(&mut piece, OPENED, 0);
        self.ear.say(piece);
        Ok(())
    }

    fn take(&mut self, words: &[u8]) {
        for (letter, content) in Words(words) {
            match letter {
                LOG => self.change(content, false),
                ROW => self.change(content, true),
                SYNC_NOW | SYNC_SOON => self.marks.mark(number_of(content)),
                WHOLE => {
                    let now = Time::from_nanos(now_us().saturating_mul(1_000));
                    let gone = core::mem::take(&mut self.standing);
                    let stands = gone.into_iter().filter(|it| it.1.0 > now);
                    self.gone = Some(stands.map(|it| it.0).collect());
                }
                ASKED => self.ask(content),
                _ => {} // a snapshot begins: what stood is known
            }
        }
    }

    /// Takes out of the ring what the snapshot did not have, as far as there is room.
    fn take_out_gone(&mut self) {
        let Some(mut gone) = self.gone.take() else { return };
        while self.under_way.len() < UNDER_WAY_MAX
            && let Some(key) = gone.pop_first()
        {
            self.write(key, None);
        }
        match gone.is_empty() {
            true => number(&mut self.said, TAKEN, 0),
            false => self.gone = Some(gone),
        }
    }

    /// A record of a change, or of a snapshot: what stands as it says is not written again.
    fn change(&mut self, record: &[u8], is_snapshot: bool) {
        let (key, row) = match Record::read(record) {
            Some((Record::Put { key, row, until }, _)) => (key, Some((row.to_vec(), until))),
            Some((Record::Take { key }, _)) => (key, None),
            _ => return,
        };
        let stands = self.standing.remove(key);
        // It stands anew: it is not taken out any more.
        if let Some(gone) = &mut self.gone {
            gone.remove(key);
        }
        let is_same = |(until, sum): (Time, u32)| {
            row.as_ref().is_some_and(|it| it.1 == until && crc32c::crc32c(&it.0) == sum)
        };
        if !(is_snapshot && stands.is_some_and(is_same)) {
            self.write(key.to_vec(), row);
        }
    }

    fn write(&mut self, key: Vec<u8>, row: Option<(Vec<u8>, Time)>) {
        self.stamp = (self.stamp + 1).max(now_us());
        self.written.set(self.stamp);
        let change = Change { key, row, stamp: self.stamp };
        let (rows, owner, number) =
            (Arc::clone(&self.rows), Arc::clone(&self.owner), self.marks.begin());
        let end = Instant::now() + GIVE_UP;
        let written = async move {
            loop {
                match rows.change(&owner, &change).await {
                    Err(_) if Instant::now() < end => sleep(AGAIN).await,
                    Ok(()) => return Done::Changed(number, Ok(())),
                    Err(why) => return Done::Changed(number, Err(Refused(change.key, why))),
                }
            }
        };
        self.under_way.push(written.boxed());
    }

    fn ask(&mut self, content: &[u8]) {
        let (rows, content) = (Arc::clone(&self.rows), content.to_vec());
        let answered = async move {
            let mut words = Vec::new();
            if let Some(asked) = Asked::read(&content) {
                let tell = |told: Reply<'_>| {
                    word(&mut words, REPLIED, |out| told.write(asked.number, out));
                };
                rows.answer(asked.what, asked.stamp, tell).await;
            }
            Done::Replied(words)
        };
        self.under_way.push(answered.boxed());
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Replied(words) => self.said.extend_from_slice(&words),
            Done::Changed(number, done) => {
                // The others are not held up by a row whose nodes are away.
                if let Err(Refused(key, why)) = done {
                    word(&mut self.said, REFUSED, |out| refused(&key, &why, out));
                }
                self.marks.end(number);
            }
        }
    }
}

/// Changes under way, and the marks that wait for those before them.
#[derive(Debug, Default)]
struct Marks {
    last: u64,
    under_way: BTreeSet<u64>,
    waiting: VecDeque<(u64, u64)>,
}

impl Marks {
    fn begin(&mut self) -> u64 {
        self.last += 1;
        self.under_way.insert(self.last);
        self.last
    }

    fn end(&mut self, number: u64) {
        self.under_way.remove(&number);
    }

    fn mark(&mut self, mark: u64) {
        self.waiting.push_back((self.last, mark));
    }

    /// The last mark before which nothing is under way any more.
    fn reached(&mut self) -> Option<u64> {
        let first = self.under_way.first().copied().unwrap_or(u64::MAX);
        let mut reached = None;
        while let Some((_, mark)) = self.waiting.pop_front_if(|it| it.0 < first) {
            reached = Some(mark);
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_reached_when_all_before_it_is_written_in_whatever_order() {
        let mut marks = Marks::default();
        let (a, b) = (marks.begin(), marks.begin());
        marks.mark(7);
        let c = marks.begin();
        marks.mark(9);
        marks.end(b);
        assert_eq!(marks.reached(), None);
        marks.end(a);
        assert_eq!(marks.reached(), Some(7));
        marks.end(c);
        assert_eq!((marks.reached(), marks.reached()), (Some(9), None));
    }
}
