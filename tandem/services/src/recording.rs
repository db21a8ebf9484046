//! What a reflector records (MRT) is written to files by a thread of its own: the reflector never
//! waits for a disk.

use machine::Time;
use rr::Recorder;
use rr::config::Mrt;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Octets that wait for the disk at most; what comes on top is lost and counted.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Time after which what was written is in the file, when nothing more comes.
const LINGER: Duration = Duration::from_millis(500);
/// What the names of the files begin and end with; seconds since 1970 stand between.
const PREFIX: &str = "updates.";
const SUFFIX: &str = ".mrt";

/// What both sides know.
#[derive(Debug, Default)]
struct Common {
    waiting: AtomicUsize,
    fault: Mutex<Option<String>>,
}

impl Common {
    fn set(&self, fault: Option<String>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

/// The way to the files. The thread ends when nobody has it any more.
#[derive(Debug)]
pub struct Recording {
    sender: Sender<(u64, Vec<u8>)>,
    common: Arc<Common>,
}

impl Recording {
    /// Begins to record in `folder`, which is made if need be.
    ///
    /// # Errors
    /// The folder, or the thread.
    pub fn start(section: &Mrt, folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let (sender, receiver) = channel();
        let common = Arc::new(Common::default());
        let files = Files {
            folder,
            rotate_s: u64::from(section.rotate_s.max(1)),
            files_max: section.files_max as usize,
            open: None,
        };
        let theirs = Arc::clone(&common);
        let thread = std::thread::Builder::new().name("mrt".to_owned());
        thread.spawn(move || files.run(&receiver, &theirs)).map_err(|error| error.to_string())?;
        Ok(Self { sender, common })
    }
}

impl Recorder for Recording {
    fn record(&self, now: Time, octets: Vec<u8>) -> bool {
        let length = octets.len();
        let waiting = self.common.waiting.fetch_add(length, Ordering::Relaxed);
        let is_taken = waiting + length <= WAITING_BYTES_MAX
            && self.sender.send((now.as_millis() / 1_000, octets)).is_ok();
        if !is_taken {
            self.common.waiting.fetch_sub(length, Ordering::Relaxed);
        }
        is_taken
    }

    fn fault(&self) -> Option<String> {
        self.common.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The files.
struct Files {
    folder: PathBuf,
    rotate_s: u64,
    files_max: usize,
    /// The one that is written, and when it began.
    open: Option<(u64, BufWriter<File>)>,
}

impl Files {
    fn run(mut self, receiver: &Receiver<(u64, Vec<u8>)>, common: &Common) {
        loop {
            match receiver.recv_timeout(LINGER) {
                Ok((seconds, octets)) => {
                    let done = self.write(seconds, &octets);
                    common.waiting.fetch_sub(octets.len(), Ordering::Relaxed);
                    common.set(done.err().map(|error| error.to_string()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let flushed = self.open.as_mut().map(|(_, file)| file.flush());
                    if let Some(Err(error)) = flushed {
                        common.set(Some(error.to_string()));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn write(&mut self, seconds: u64, octets: &[u8]) -> std::io::Result<()> {
        let begins = seconds - seconds % self.rotate_s;
        if self.open.as_ref().is_none_or(|(at, _)| *at != begins) {
            if let Some((_, mut file)) = self.open.take() {
                file.flush()?;
            }
            let path = self.folder.join(format!("{PREFIX}{begins}{SUFFIX}"));
            let file = File::options().create(true).append(true).open(path)?;
            self.open = Some((begins, BufWriter::with_capacity(256 << 10, file)));
            self.forget()?;
        }
        match &mut self.open {
            Some((_, file)) => file.write_all(octets),
            None => Ok(()),
        }
    }

    /// The oldest files go.
    fn forget(&self) -> std::io::Result<()> {
        let mut all = files(&self.folder)?;
        all.sort_unstable();
        let gone = all.len().saturating_sub(self.files_max);
        all.iter().take(gone).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

/// Files of records, with the seconds in their names.
fn files(folder: &Path) -> std::io::Result<Vec<(u64, PathBuf)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let seconds = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
        if let Some(Ok(seconds)) = seconds.map(str::parse) {
            all.push((seconds, path));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_ends_with_its_time_and_the_oldest_ones_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer =
            Files { folder: folder.path().to_path_buf(), rotate_s: 60, files_max: 2, open: None };
        std::fs::write(folder.path().join("mine.mrt"), "x").expect("written");
        for (seconds, octets) in [(60, b"ab"), (119, b"cd"), (120, b"ef"), (300, b"gh")] {
            writer.write(seconds, octets).expect("written");
        }
        drop(writer);
        let mut left = files(folder.path()).expect("read");
        left.sort_unstable();
        let read: Vec<_> =
            left.iter().map(|(at, path)| (*at, std::fs::read(path).expect("read"))).collect();
        assert_eq!(read, [(120, b"ef".to_vec()), (300, b"gh".to_vec())]);
        assert!(folder.path().join("mine.mrt").exists());
    }
}
