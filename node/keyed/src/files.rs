//! The files of a journal in a directory of their own: `snapshot.N` with every row that stood, and
//! `log.N`, `log.N+1` … with what changed since. Only their owner may read them, and only one
//! process has them open.

use crate::record::{BODY_MAX, HEAD, Record};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a snapshot and a log begin.
const SNAPSHOT_MAGIC: &[u8; 8] = b"TKEYSNP1";
/// See [`SNAPSHOT_MAGIC`].
const LOG_MAGIC: &[u8; 8] = b"TKEYLOG1";
const STRETCH: usize = 1 << 16;
/// The thread that had it open before may still be on its way out.
const PATIENCE: Duration = Duration::from_secs(1);

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
        self.logs.iter().copied().chain(self.snapshot).max().unwrap_or_default() + 1
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
                    return Err(other("another process has it open".to_owned()));
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
        Ok(Found { snapshot, logs })
    }

    /// Reads all that stands, in order; how many octets of logs could not be read. A log may be
    /// cut off at its end, a snapshot may not.
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
            let left = read_file(&path, LOG_MAGIC, &mut |octets, _| take(octets))?;
            if left > 0 {
                // Nobody was promised what stands there; who looks for more may have it.
                fs::copy(&path, self.path.join(format!("unread.{number}")))?;
            }
            lost += left;
        }
        Ok(lost)
    }

    /// A new log.
    pub fn log(&self, number: u64) -> io::Result<File> {
        let mut file = private().create_new(true).open(self.path.join(format!("log.{number}")))?;
        file.write_all(LOG_MAGIC)?;
        file.sync_data()?;
        self.sync()?;
        Ok(file)
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
    let mut begin = [0; 8];
    if size < 8 {
        return Ok(size); // it was made just before a crash
    }
    file.read_exact(&mut begin)?;
    if begin != *magic {
        return Err(other(format!("{} is something else", path.display())));
    }
    let (mut buffer, mut at, mut done) = (Vec::new(), 0, 8u64);
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
