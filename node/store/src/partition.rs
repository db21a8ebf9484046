//! A stretch of time on disk: one directory with a journal, its index files and, once nothing
//! more is written, a file that says where its blocks begin.
//!
//! ```text
//!  p00000007/journal   blocks, appended
//!            run-0 …   index files
//!            blocks    first_us, last_us, then the offset of every block, checksum
//! ```

use crate::block::{self, HEADER_BYTES, Header, Kind};
use crate::files;
use crate::journal::Journal;
use crate::query::{Newest, Query};
use crate::record::{Place, Record, decode, u64_at};
use crate::run::{self, Run};
use crate::{Hit, StoreError};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use xxhash_rust::xxh3::xxh3_64;

/// Index files that one partition may have.
const RUNS_MAX: usize = 10_000;
const BLOCKS_HEAD_BYTES: usize = 24;

#[derive(Debug)]
pub(crate) struct Partition {
    pub seq: u32,
    pub directory: PathBuf,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Where the blocks begin; emptied when the file `blocks` says it.
    offsets: Vec<u64>,
    sealed: bool,
    runs: Vec<Arc<Run>>,
    /// Records that no run has yet, without their bodies.
    fresh: Vec<(Record, Place)>,
    span_us: Option<(u64, u64)>,
    journal_bytes: u64,
}

/// What was found in a journal that was read from its beginning.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Octets cut off because they were no whole block.
    pub torn_bytes: u64,
    /// Octets of damaged blocks that others follow.
    pub damaged_bytes: u64,
    pub is_complete: bool,
}

impl Partition {
    /// Makes the directory and an empty journal, durably.
    pub fn create(root: &Path, seq: u32) -> Result<(Self, File), StoreError> {
        let directory = root.join(format!("p{seq:08}"));
        files::folder(&directory)?;
        let file = files::create(&directory.join("journal"))?;
        file.sync_all()?;
        File::open(&directory)?.sync_all()?;
        File::open(root)?.sync_all()?;
        Ok((Self { seq, directory, state: RwLock::default() }, file))
    }

    /// Opens what an earlier process left. Nothing is read but the index files' footers.
    pub fn open(directory: &Path, seq: u32) -> Result<Self, StoreError> {
        let mut state = State {
            journal_bytes: std::fs::metadata(directory.join("journal"))?.len(),
            ..State::default()
        };
        for n in 0..RUNS_MAX {
            let path = directory.join(format!("run-{n}"));
            if !path.exists() {
                break;
            }
            match Run::open(&path, seq) {
                Ok(run) => state.runs.push(Arc::new(run)),
                Err(error) => {
                    tracing::error!(%error, "an index file is made again from its journal");
                    unindex(directory)?;
                    state.runs.clear();
                    break;
                }
            }
        }
        if let Ok(bytes) = std::fs::read(directory.join("blocks")) {
            let sound =
                bytes.len() >= BLOCKS_HEAD_BYTES && xxh3_64(&bytes[8..]) == u64_at(&bytes, 0);
            state.sealed = sound;
            state.span_us = sound.then(|| (u64_at(&bytes, 8), u64_at(&bytes, 16)));
        }
        Ok(Self { seq, directory: directory.to_owned(), state: RwLock::new(state) })
    }

    // Every change of the state is one assignment or appends: a thread that panics in between
    // leaves a state that others can read.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_sealed(&self) -> bool {
        self.read().sealed
    }

    /// Octets on disk.
    pub fn bytes(&self) -> u64 {
        let state = self.read();
        state.journal_bytes + state.runs.iter().map(|run| run.bytes).sum::<u64>()
    }

    /// Earliest and latest time of its blocks.
    pub fn span_us(&self) -> Option<(u64, u64)> {
        self.read().span_us
    }

    pub fn blocks(&self) -> u32 {
        blocks_of(&self.read())
    }

    pub fn fresh_len(&self) -> usize {
        self.read().fresh.len()
    }

    /// Takes note of blocks that are durable now: their offsets, and the records in them.
    pub fn extend(
        &self,
        offsets: &[u64],
        records: Vec<(Record, Place)>,
        end: u64,
        span_us: Option<(u64, u64)>,
    ) {
        let mut state = self.write();
        state.offsets.extend_from_slice(offsets);
        state.fresh.extend(records);
        state.journal_bytes = end;
        if let Some((first, last)) = span_us {
            let (a, b) = state.span_us.unwrap_or((first, last));
            state.span_us = Some((a.min(first), b.max(last)));
        }
    }

    /// Puts the fresh records into an index file. Returns whether there were any.
    pub fn index(&self) -> Result<bool, StoreError> {
        let state = self.read();
        if state.fresh.is_empty() {
            return Ok(false);
        }
        let path = self.directory.join(format!("run-{}", state.runs.len()));
        let run = run::write(&path, self.seq, blocks_of(&state), &state.fresh)?;
        drop(state);
        let mut state = self.write();
        state.runs.push(Arc::new(run));
        state.fresh = Vec::new();
        Ok(true)
    }

    /// Ends it: everything indexed, the offsets in their file.
    pub fn seal(&self) -> Result<bool, StoreError> {
        let indexed = self.index()?;
        let (first, last) = self.span_us().unwrap_or((0, 0));
        let mut bytes = vec![0; 8];
        bytes.extend([first, last].iter().flat_map(|n| n.to_le_bytes()));
        bytes.extend(self.read().offsets.iter().flat_map(|at| at.to_le_bytes()));
        let sum = xxh3_64(&bytes[8..]);
        bytes[..8].copy_from_slice(&sum.to_le_bytes());
        run::write_durably(&self.directory.join("blocks"), &bytes)?;
        let mut state = self.write();
        state.sealed = true;
        state.offsets = Vec::new();
        Ok(indexed)
    }

    /// Adds what matches to `newest`.
    pub fn search(&self, query: &Query, newest: &mut Newest) -> Result<(), StoreError> {
        let runs = {
            let state = self.read();
            for (record, place) in &state.fresh {
                if query.admits(&record.head) && query.admits_keys(&record.keys) {
                    newest.take(Hit { head: record.head, place: *place });
                }
            }
            state.runs.clone()
        };
        runs.iter().rev().try_for_each(|run| run.search(query, newest))
    }

    /// The raw payload of a block; `None` when it is not there or damaged.
    pub fn block(&self, number: u32) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(at) = self.offset(number)? else { return Ok(None) };
        let file = File::open(self.directory.join("journal"))?;
        let end = file.metadata()?.len();
        if at + HEADER_BYTES as u64 > end {
            return Ok(None);
        }
        let mut head = [0; HEADER_BYTES];
        file.read_exact_at(&mut head, at)?;
        let Some(header) = Header::parse(&head).filter(|header| at + header.length() <= end) else {
            return Ok(None);
        };
        let mut whole = vec![0; HEADER_BYTES + header.stored];
        file.read_exact_at(&mut whole, at)?;
        Ok(block::open(&whole).map(|(_, raw)| raw))
    }

    fn offset(&self, number: u32) -> Result<Option<u64>, StoreError> {
        let state = self.read();
        if !state.sealed {
            return Ok(state.offsets.get(block::size(number)).copied());
        }
        let file = File::open(self.directory.join("blocks"))?;
        let at = BLOCKS_HEAD_BYTES as u64 + u64::from(number) * 8;
        if at + 8 > file.metadata()?.len() {
            return Ok(None);
        }
        let mut octets = [0; 8];
        file.read_exact_at(&mut octets, at)?;
        Ok(Some(u64::from_le_bytes(octets)))
    }

    /// Reads the whole journal, calls `seen` for every block with its number and raw payload
    /// (entries only when `with_entries`), passes over damaged blocks and cuts a torn tail. An
    /// unsealed partition gets its offsets and its fresh records from this.
    pub fn scan(
        &self,
        with_entries: bool,
        mut seen: impl FnMut(Kind, u32, Vec<u8>),
    ) -> Result<Scan, StoreError> {
        let path = self.directory.join("journal");
        let file = File::options().read(true).write(true).open(&path)?;
        let indexed = self.read().runs.last().map_or(0, |run| run.blocks);
        let sealed = self.is_sealed();
        let mut scan = Scan::default();
        let mut number = 0u32;
        let mut journal = Journal::new(&file)?;
        while let Some(found) = journal.next()? {
            if let Some((began, many)) = found.lost {
                scan.damaged_bytes += found.at - began;
                number = number.saturating_add(many);
                if !sealed {
                    // What stood there is not to be had, but what follows keeps its number.
                    let lost = vec![began; block::size(many)];
                    self.extend(&lost, Vec::new(), found.at, None);
                }
            }
            let kind = found.header.kind;
            scan.is_complete |= kind == Kind::Complete;
            let wanted = kind != Kind::Entries || with_entries;
            let raw = if wanted { block::open(&found.whole).map(|b| b.1) } else { None };
            let raw = raw.unwrap_or_default();
            if !sealed {
                let is_new = kind == Kind::Records && number >= indexed;
                let records = if is_new { records_of(&raw, self.seq, number) } else { Vec::new() };
                let first_us = found.header.first_us;
                self.extend(&[found.at], records, journal.at(), Some((first_us, first_us)));
            }
            if wanted {
                seen(kind, number, raw);
            }
            number = number.saturating_add(1);
        }
        let (at, end) = (journal.at(), journal.end());
        if at < end && !sealed {
            file.set_len(at)?;
            file.sync_all()?;
            self.write().journal_bytes = at;
            scan.torn_bytes = end - at;
        }
        Ok(scan)
    }
}

/// Blocks that are known. A partition has 2^28 at most.
fn blocks_of(state: &State) -> u32 {
    u32::try_from(state.offsets.len()).unwrap_or(u32::MAX)
}

/// Removes everything that can be made again from the journal.
fn unindex(directory: &Path) -> Result<(), StoreError> {
    for item in std::fs::read_dir(directory)? {
        let path = item?.path();
        if path.file_name().is_some_and(|name| name != "journal") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn records_of(raw: &[u8], partition: u32, number: u32) -> Vec<(Record, Place)> {
    let record = |(entry, item): (usize, &[u8])| {
        let record = Record { body: Vec::new(), ..decode(item)? };
        Some((record, Place { partition, block: number, entry: u16::try_from(entry).ok()? }))
    };
    block::items(raw).enumerate().filter_map(record).collect()
}
