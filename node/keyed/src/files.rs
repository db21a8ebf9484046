//! The files of a journal in a directory of their own: `snapshot.N` with every row that stood, and
//! `log.N`, `log.N+1` … with what changed since. Only their owner may read them, and only one
//! process has them open.
//!
//! ```text
//! log = magic 8 · number 8 · records … · synced · records … · synced
//! ```
//! A log may end in the middle of a record: nobody was promised what is cut off. What is damaged in
//! front of a `synced` that counts further was promised, and is not passed over.

use crate::record::{BODY_MAX, HEAD, Record, SYNCED_OCTETS};
use runtime::Term;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a snapshot and a log begin.
const SNAPSHOT_MAGIC: &[u8; 8] = b"TKEYSNP1";
/// See [`SNAPSHOT_MAGIC`].
const LOG_MAGIC: &[u8; 8] = b"TKEYLOG2";
const MAGIC_OCTETS: usize = 8;
/// Octets of a log before its first record.
const LOG_HEAD: usize = MAGIC_OCTETS + 8;
const STRETCH: usize = 1 << 16;
/// The thread that had it open before may still be on its way out.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a node came to what stands, in the file `term`.
const SERVED: &str = "served";
/// See [`SERVED`].
const FOLLOWED: &str = "followed";

/// How recent what stands in a directory is; none where no node of a pair has written.
pub(crate) fn recall(path: &Path) -> io::Result<Option<Term>> {
    let path = path.join("term");
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let read = || {
        let (epoch, word) = text.trim_end().split_once(' ')?;
        let served = [FOLLOWED, SERVED].iter().position(|it| *it == word)? == 1;
        Some(Term { epoch: epoch.parse().ok()?, served })
    };
    let what = || other(format!("{} says nothing that is understood", path.display()));
    read().map(Some).ok_or_else(what)
}

fn other(why: String) -> io::Error {
    io::Error::other(why)
}

/// The directory, and what keeps others out of it while it is open.
pub(crate) struct Directory {
    path: PathBuf,
    _lock: File,
}

/// What was found in it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    snapshot: Option<u64>,
    logs: Vec<u64>,
}

impl Found {
    /// The number of the next file.
    pub fn next(&self) -> u64 {
        self.logs.iter().copied().chain(self.snapshot).max().unwrap_or_default().saturating_add(1)
    }

    /// Logs that a start has to read.
    pub fn logs(&self) -> usize {
        self.logs.len()
    }
}

impl Directory {
    /// Opens it, or makes it.
    pub fn open(path: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // Else it may be gone after a power failure, whatever is on disk of its files.
        let above = path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(above.unwrap_or(Path::new(".")))?.sync_all()?;
        let about = fs::symlink_metadata(path)?;
        if !about.is_dir() || about.mode() & 0o077 != 0 {
            return Err(other("it is no directory of its owner's alone (mode 0700)".to_owned()));
        }
        let lock = private().create(true).truncate(false).open(path.join("lock"))?;
        let end = Instant::now() + PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path: path.to_owned(), _lock: lock }),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() < end => {
                    std::thread::sleep(PATIENCE / 100);
                }
                Err(TryLockError::WouldBlock) => {
                    let why = "another process, or a thread that waits for the disk, has it open";
                    return Err(other(why.to_owned()));
                }
            }
        }
    }

    /// Which files a start has to read. What a crash left half made goes.
    pub fn look(&self) -> io::Result<Found> {
        let (mut snapshots, mut logs) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let number = |kind: &str| name.strip_prefix(kind)?.parse::<u64>().ok();
            snapshots.extend(number("snapshot."));
            logs.extend(number("log."));
            if name.starts_with("part.") {
                fs::remove_file(self.path.join(&*name))?;
            }
        }
        let snapshot = snapshots.iter().copied().max();
        logs.retain(|it| snapshot.is_none_or(|snapshot| *it >= snapshot));
        logs.sort_unstable();
        let first = snapshot.unwrap_or(1);
        for (number, found) in (first..).zip(&logs) {
            if number != *found {
                return Err(other(format!("log.{number} is missing, and log.{found} is there")));
            }
        }
        if snapshot.is_some() && logs.is_empty() {
            return Err(other(format!("log.{first} is missing")));
        }
        Ok(Found { snapshot, logs })
    }

    /// Reads all that stands, in order; how many octets of logs could not be read. A log may be
    /// cut off at its end, behind all that was promised; a snapshot may not.
    pub fn read(&self, found: &Found, take: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<u64> {
        if let Some(number) = found.snapshot {
            let path = self.path.join(format!("snapshot.{number}"));
            let mut ended = None;
            let mut count = 0;
            let left = read_file(&path, SNAPSHOT_MAGIC, &mut |octets, record| match record {
                Record::End { count } => {
                    ended = Some(count);
                    true
                }
                _ => {
                    count += 1;
                    take(octets)
                }
            })?;
            if left > 0 || ended != Some(count) {
                return Err(other(format!("{} is damaged", path.display())));
            }
        }
        let mut lost = 0;
        for number in &found.logs {
            let path = self.path.join(format!("log.{number}"));
            let left = read_file(&path, LOG_MAGIC, &mut |octets, record| match record {
                Record::Synced { .. } => true,
                _ => take(octets),
            })?;
            if left > 0 {
                promised_nobody(&path, left)?;
                // Who looks for more may have what stands there. A second name needs no room.
                let kept = self.path.join(format!("unread.{number}"));
                match fs::hard_link(&path, &kept) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        fs::copy(&path, &kept)?;
                    }
                    _ => {}
                }
            }
            lost += left;
        }
        Ok(lost)
    }

    /// Writes down how recent all is that stands here: whole or not at all.
    pub fn remember(&self, term: Term) -> io::Result<()> {
        let [part, whole] = ["part.term", "term"].map(|it| self.path.join(it));
        let mut file = private().create(true).truncate(true).open(&part)?;
        writeln!(file, "{} {}", term.epoch, if term.served { SERVED } else { FOLLOWED })?;
        file.sync_all()?;
        fs::rename(&part, &whole)?;
        self.sync()
    }

    /// A new log.
    pub fn log(&self, number: u64) -> io::Result<Log> {
        let path = self.path.join(format!("log.{number}"));
        let file = private().create_new(true).open(&path)?;
        let begun = Log::begin(file).and_then(|log| self.sync().map(|()| log));
        if begun.is_err() {
            // On a full disk each attempt would leave one more.
            let _ = fs::remove_file(&path);
        }
        begun
    }

    /// A new snapshot, which does not count until it is [`Directory::finish`]ed.
    pub fn snapshot(&self, number: u64) -> io::Result<File> {
        let path = self.path.join(format!("part.{number}"));
        let mut file = private().create_new(true).open(path)?;
        file.write_all(SNAPSHOT_MAGIC)?;
        Ok(file)
    }

    /// A snapshot is written and synced: it counts from now on, and what was before it goes.
    pub fn finish(&self, number: u64) -> io::Result<()> {
        let [from, to] = ["part", "snapshot"].map(|it| self.path.join(format!("{it}.{number}")));
        fs::rename(from, to)?;
        self.sync()?;
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            let own = ["snapshot.", "log."].iter().find_map(|it| name.strip_prefix(it));
            let is_old = own.and_then(|it| it.parse::<u64>().ok()).is_some_and(|it| it < number);
            if is_old {
                fs::remove_file(self.path.join(&*name))?;
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

/// A log that is written to.
pub(crate) struct Log {
    file: File,
    number: [u8; 8],
    octets: u64,
    /// Octets of it that it says are on disk.
    synced: u64,
}

impl Log {
    fn begin(mut file: File) -> io::Result<Self> {
        let random = driver::random()?;
        let number = *random.first_chunk().unwrap_or(&[0; 8]);
        file.write_all(&[&LOG_MAGIC[..], &number].concat())?;
        file.sync_data()?;
        let octets = LOG_HEAD as u64;
        Ok(Self { file, number, octets, synced: octets })
    }

    /// Octets that it has.
    pub const fn octets(&self) -> u64 {
        self.octets
    }

    /// Appends records.
    pub fn write(&mut self, records: &[u8]) -> io::Result<()> {
        self.file.write_all(records)?;
        self.octets += records.len() as u64;
        Ok(())
    }

    /// Returns when all of it is on disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Says behind it how much of it is on disk, once it was synced.
    pub fn say_synced(&mut self) -> io::Result<()> {
        if self.octets == self.synced {
            return Ok(());
        }
        let mut octets = Vec::with_capacity(SYNCED_OCTETS);
        Record::Synced { log: self.number, octets: self.octets }.write(&mut octets);
        self.write(&octets)?;
        self.synced = self.octets;
        Ok(())
    }
}

/// Fails if what stands in the last `left` octets of a log, of which the first are no record, was
/// on disk when that was promised.
fn promised_nobody(path: &Path, left: u64) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut head = [0; LOG_HEAD];
    let size = file.metadata()?.len();
    let Some(at) = size.checked_sub(left).filter(|at| *at >= LOG_HEAD as u64) else {
        return Ok(()); // it was made just before a crash
    };
    file.read_exact(&mut head)?;
    let number = &head[MAGIC_OCTETS..];
    file.seek(SeekFrom::Start(at))?;
    let mut buffer = Vec::new();
    loop {
        // Where the body of what is looked for begins: its letter, then the number of the log.
        let bodies = buffer
            .windows(1 + number.len())
            .enumerate()
            .filter(|(at, window)| *at >= HEAD && window[0] == b's' && &window[1..] == number);
        for (body, _) in bodies {
            let record = Record::read(&buffer[body - HEAD..]);
            if let Some((Record::Synced { octets, .. }, _)) = record
                && octets > at
            {
                return Err(other(format!(
                    "{} is damaged at octet {at}, and what stands behind it was promised; cut it \
                     off there to go on without that",
                    path.display()
                )));
            }
        }
        let kept = buffer.len().saturating_sub(SYNCED_OCTETS);
        buffer.drain(..kept);
        let before = buffer.len();
        buffer.resize(before + STRETCH, 0);
        let read = file.read(&mut buffer[before..])?;
        buffer.truncate(before + read);
        if read == 0 {
            return Ok(());
        }
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Reads the records of a file; how many octets at its end are none. `take` says whether more is
/// wanted.
fn read_file(
    path: &Path,
    magic: &[u8; 8],
    take: &mut dyn FnMut(&[u8], Record<'_>) -> bool,
) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let head_octets = if magic == LOG_MAGIC { LOG_HEAD } else { MAGIC_OCTETS };
    let mut head = vec![0; head_octets];
    if size < head_octets as u64 {
        return Ok(size); // it was made just before a crash
    }
    file.read_exact(&mut head)?;
    if !head.starts_with(magic) {
        return Err(other(format!("{} is something else", path.display())));
    }
    let (mut buffer, mut at, mut done) = (Vec::new(), 0, head_octets as u64);
    loop {
        while let Some((record, octets)) = Record::read(&buffer[at..]) {
            if !take(&buffer[at..at + octets], record) {
                return Err(other("nobody wants it any more".to_owned()));
            }
            at += octets;
            done += octets as u64;
        }
        buffer.drain(..at);
        at = 0;
        if buffer.len() > HEAD + BODY_MAX {
            return Ok(size.saturating_sub(done));
        }
        let before = buffer.len();
        buffer.resize(before + STRETCH, 0);
        let read = file.read(&mut buffer[before..])?;
        buffer.truncate(before + read);
        if read == 0 {
            return Ok(size.saturating_sub(done));
        }
    }
}
