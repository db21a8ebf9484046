//! The thread of a journal: it reads what stands, appends what comes, and says when it is on disk.
//! What waits together is written and synced together.

use crate::ear::Ear;
use crate::files::{Directory, Log};
use crate::record::Record;
use crate::words::{
    LOG, OPENED, ROW, SNAPSHOT, STOOD, SYNC_NOW, SYNC_SOON, SYNCED, TAKEN, TERM, WANTED, WHOLE,
    Words, number, number_of, word,
};
use runtime::Term;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What need not be on disk at once is there within this.
pub const SYNC_TIME: Duration = Duration::from_millis(50);
/// Octets of a log beyond which a snapshot is wanted, unless the snapshot before it has more.
const LOG_OCTETS: u64 = 64 << 20;
/// Logs beyond which a start wants a snapshot.
const LOGS_MAX: usize = 4;
/// Octets that are told at once of what stood.
const PIECE: usize = 1 << 18;
/// Octets that are written together.
const TOGETHER: usize = 4 << 20;

/// Begins a thread for a directory.
pub(crate) fn begin(directory: PathBuf) -> io::Result<(Sender<Vec<u8>>, Arc<Ear>)> {
    let ear = Arc::new(Ear::new()?);
    let (jobs, queue) = channel();
    let own = Arc::clone(&ear);
    std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        let ended = Writer::open(directory.clone(), Arc::clone(&own))
            .and_then(|mut writer| writer.run(&queue));
        if let Err(error) = ended {
            own.end(format!("{}: {error}", directory.display()));
        }
    })?;
    Ok((jobs, ear))
}

fn term_of(content: &[u8]) -> Option<Term> {
    let (epoch, served) = content.split_first_chunk::<8>()?;
    Some(Term { epoch: u64::from_be_bytes(*epoch), served: served == [1] })
}

struct Part {
    number: u64,
    file: BufWriter<File>,
    count: u64,
    octets: u64,
}

struct Writer {
    directory: Directory,
    ear: Arc<Ear>,
    log: Log,
    next: u64,
    snapshot_octets: u64,
    /// A snapshot is wanted, or being made.
    is_wanted: bool,
    part: Option<Part>,
    buffer: Vec<u8>,
    /// The last mark before which everything is written, since when it waits for the disk, and
    /// whether somebody waits.
    mark: u64,
    since: Option<Instant>,
    is_urgent: bool,
    /// How recent what is written is, when that is not on disk yet.
    term: Option<Term>,
}

impl Writer {
    fn open(path: PathBuf, ear: Arc<Ear>) -> io::Result<Self> {
        let directory = Directory::open(&path)?;
        let found = directory.look()?;
        let mut piece = Vec::new();
        let lost = directory.read(&found, &mut |record| {
            word(&mut piece, STOOD, |out| out.extend_from_slice(record));
            piece.len() < PIECE || ear.say(std::mem::take(&mut piece))
        })?;
        number(&mut piece, OPENED, lost);
        let is_wanted = found.logs() > LOGS_MAX || lost > 0;
        if is_wanted {
            word(&mut piece, WANTED, |_| {});
        }
        let next = found.next();
        let log = directory.log(next)?;
        ear.say(piece);
        Ok(Self {
            directory,
            ear,
            log,
            next: next.saturating_add(1),
            snapshot_octets: 0,
            is_wanted,
            part: None,
            buffer: Vec::new(),
            mark: 0,
            since: None,
            is_urgent: false,
            term: None,
        })
    }

    fn run(&mut self, queue: &Receiver<Vec<u8>>) -> io::Result<()> {
        loop {
            let first = match self.since {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(since) => queue.recv_timeout(SYNC_TIME.saturating_sub(since.elapsed())),
            };
            match first {
                Ok(job) => {
                    self.take(&job)?;
                    let mut octets = job.len();
                    while octets < TOGETHER
                        && let Ok(job) = queue.try_recv()
                    {
                        octets += job.len();
                        self.take(&job)?;
                    }
                    self.write()?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.sync(),
            }
            let is_late = self.since.is_some_and(|it| it.elapsed() >= SYNC_TIME);
            if self.is_urgent || is_late {
                self.sync()?;
            }
        }
    }

    fn take(&mut self, words: &[u8]) -> io::Result<()> {
        for (letter, content) in Words(words) {
            match letter {
                LOG => self.buffer.extend_from_slice(content),
                SYNC_NOW | SYNC_SOON => {
                    self.mark = number_of(content);
                    self.is_urgent |= letter == SYNC_NOW;
                    self.since.get_or_insert_with(Instant::now);
                }
                SNAPSHOT => self.begin_snapshot()?,
                ROW => self.row(content)?,
                WHOLE => self.end_snapshot()?,
                TERM => self.term = term_of(content),
                _ => {}
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.log.write(&self.buffer)?;
            self.buffer.clear();
        }
        if !self.is_wanted && self.log.octets() > LOG_OCTETS.max(self.snapshot_octets) {
            self.is_wanted = true;
            let mut words = Vec::new();
            word(&mut words, WANTED, |_| {});
            self.ear.say(words);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.write()?;
        if self.since.take().is_some() {
            self.log.sync()?;
            // Nothing is promised by it before it is known to be of that time.
            if let Some(term) = self.term.take() {
                self.directory.remember(term)?;
            }
            self.is_urgent = false;
            let mut words = Vec::new();
            number(&mut words, SYNCED, self.mark);
            self.ear.say(words);
            self.log.say_synced()?;
        }
        Ok(())
    }

    /// Changes from here on go to another log, which the snapshot does not take the place of.
    fn begin_snapshot(&mut self) -> io::Result<()> {
        self.write()?;
        self.log.sync()?;
        self.log.say_synced()?;
        let number = self.next;
        self.next = number.saturating_add(1);
        self.log = self.directory.log(number)?;
        let file = BufWriter::new(self.directory.snapshot(number)?);
        self.part = Some(Part { number, file, count: 0, octets: 0 });
        Ok(())
    }

    fn row(&mut self, record: &[u8]) -> io::Result<()> {
        if let Some(part) = &mut self.part {
            part.file.write_all(record)?;
            part.count += 1;
            part.octets += record.len() as u64;
        }
        Ok(())
    }

    fn end_snapshot(&mut self) -> io::Result<()> {
        let Some(mut part) = self.part.take() else { return Ok(()) };
        let mut end = Vec::new();
        Record::End { count: part.count }.write(&mut end);
        part.file.write_all(&end)?;
        part.file.flush()?;
        part.file.get_ref().sync_data()?;
        self.directory.finish(part.number)?;
        (self.snapshot_octets, self.is_wanted) = (part.octets, false);
        let mut words = Vec::new();
        number(&mut words, TAKEN, part.octets + self.log.octets());
        self.ear.say(words);
        Ok(())
    }
}
