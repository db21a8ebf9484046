//! The thread of a ring: it reads what stands of its owner, writes what changes, says when that is
//! there, and answers questions about shared rows.

use super::lease::Lease;
use super::rows::{Change, Rows, now_us};
use super::{Ring, Written};
use crate::asked::{Asked, Reply};
use crate::ear::Ear;
use crate::record::Record;
use crate::words::{
    ASKED, LOG, OPENED, REPLIED, ROW, SNAPSHOT, STOOD, SYNC_NOW, SYNC_SOON, SYNCED, TAKEN, WHOLE,
    Words, number, number_of, word,
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
/// Octets that are told at once of what stood.
const PIECE: usize = 1 << 18;

enum Done {
    /// An own row is changed.
    Changed(u64, Result<(), String>),
    /// The words of an answer.
    Replied(Vec<u8>),
}

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
    let lease = Arc::new(Lease::take(&rows, &ring.owner).await?);
    let mut lost = tokio::spawn(Arc::clone(&lease).keep());
    let mut worker = Worker::new(rows, ring, Arc::clone(ear));
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
    ear: Arc<Ear>,
    under_way: FuturesUnordered<BoxFuture<'static, Done>>,
    marks: Marks,
    /// Rows that stand in the ring and were not in the snapshot that is being told yet: until when,
    /// and their sums.
    standing: Option<BTreeMap<Vec<u8>, (Time, u32)>>,
    stamp: u64,
    said: Vec<u8>,
}

impl Worker {
    fn new(rows: Arc<Rows>, ring: &Ring, ear: Arc<Ear>) -> Self {
        Self {
            rows,
            owner: ring.owner.as_str().into(),
            written: ring.written.clone(),
            ear,
            under_way: FuturesUnordered::new(),
            marks: Marks::default(),
            standing: None,
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
                    Some(words) => self.take(&words).await?,
                    None => break,
                },
                Some(done) = self.under_way.next() => self.done(done)?,
            }
            while let Some(Some(done)) = self.under_way.next().now_or_never() {
                self.done(done)?;
            }
            if let Some(mark) = self.marks.reached() {
                number(&mut self.said, SYNCED, mark);
            }
            if !self.said.is_empty() {
                self.ear.say(std::mem::take(&mut self.said));
            }
        }
        // What was told last is written yet.
        while let Some(done) = self.under_way.next().await {
            self.done(done)?;
        }
        Ok(())
    }

    /// Tells what stands of the owner.
    async fn tell_own(&mut self) -> Result<(), String> {
        let (mut piece, mut last) = (Vec::new(), 0);
        let ear = Arc::clone(&self.ear);
        let mut take = |it: super::rows::Standing| {
            last = last.max(it.written);
            let record = Record::Put { key: &it.key, row: &it.row, until: it.until };
            word(&mut piece, STOOD, |out| record.write(out));
            if piece.len() >= PIECE {
                ear.say(std::mem::take(&mut piece));
            }
        };
        self.rows.read_own(&self.owner, &mut take).await?;
        // Memory would know better than the ring what stands, and does not: all is read by a start.
        let own = self.written.get();
        if own > 0 && last > own {
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

    async fn take(&mut self, words: &[u8]) -> Result<(), String> {
        for (letter, content) in Words(words) {
            match letter {
                LOG => self.change(content, false),
                ROW => self.change(content, true),
                SYNC_NOW | SYNC_SOON => self.marks.mark(number_of(content)),
                SNAPSHOT => self.standing = Some(self.read_standing().await?),
                WHOLE => {
                    let gone = self.standing.take().unwrap_or_default();
                    gone.into_keys().for_each(|key| self.write(key, None));
                    number(&mut self.said, TAKEN, 0);
                }
                ASKED => self.ask(content),
                _ => {}
            }
        }
        Ok(())
    }

    async fn read_standing(&self) -> Result<BTreeMap<Vec<u8>, (Time, u32)>, String> {
        let mut found = BTreeMap::new();
        let mut take = |it: super::rows::Standing| {
            found.insert(it.key, (it.until, crc32c::crc32c(&it.row)));
        };
        self.rows.read_own(&self.owner, &mut take).await?;
        Ok(found)
    }

    /// A record of a change, or of a snapshot: what stands as it says is not written again.
    fn change(&mut self, record: &[u8], is_snapshot: bool) {
        let (key, row) = match Record::read(record) {
            Some((Record::Put { key, row, until }, _)) => (key, Some((row.to_vec(), until))),
            Some((Record::Take { key }, _)) => (key, None),
            _ => return,
        };
        let stands = self.standing.as_mut().and_then(|it| it.remove(key));
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
                    done => return Done::Changed(number, done),
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

    fn done(&mut self, done: Done) -> Result<(), String> {
        match done {
            Done::Replied(words) => self.said.extend_from_slice(&words),
            Done::Changed(number, done) => {
                done?;
                self.marks.end(number);
            }
        }
        Ok(())
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
