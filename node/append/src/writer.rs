//! The thread that appends: text waits for it in a queue that is bounded in octets.

use driver::Waker;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Octets that wait for the disks at most.
const WAITING_OCTETS_MAX: usize = 16 << 20;
/// A file that was not appended to is not tried for so long.
const AGAIN: Duration = Duration::from_secs(10);

/// What became of text that an open file was given.
pub(crate) struct Outcome {
    why: Mutex<Option<String>>,
    bell: Waker,
}

impl Outcome {
    pub fn new() -> io::Result<Self> {
        let bell = Waker::new()?;
        bell.doze();
        Ok(Self { why: Mutex::new(None), bell })
    }

    /// Can be read when there is something to be told.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Why it is over.
    pub fn why(&self) -> Option<String> {
        self.bell.clear();
        self.bell.doze();
        self.why.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn tell(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.bell.wake();
    }
}

struct Job {
    file: Arc<File>,
    path: PathBuf,
    text: Vec<u8>,
    told: Arc<Outcome>,
}

static WAITING_OCTETS: AtomicUsize = AtomicUsize::new(0);
/// Files that were not appended to: when, and why. As many as a site names.
static FAILED: Mutex<BTreeMap<PathBuf, (Instant, String)>> = Mutex::new(BTreeMap::new());

fn queue() -> Result<Sender<Job>, String> {
    static QUEUE: OnceLock<Result<Mutex<Sender<Job>>, String>> = OnceLock::new();
    let begun = QUEUE.get_or_init(|| {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new().name("append".to_owned());
        let begun = thread.spawn(move || run(&jobs));
        begun.map(|_| Mutex::new(queue)).map_err(|why| why.to_string())
    });
    let queue = begun.as_ref().map_err(Clone::clone)?;
    Ok(queue.lock().unwrap_or_else(PoisonError::into_inner).clone())
}

fn run(jobs: &Receiver<Job>) {
    while let Ok(Job { file, path, text, told }) = jobs.recv() {
        let done = (&*file).write_all(&text);
        WAITING_OCTETS.fetch_sub(text.len(), Relaxed);
        if let Err(why) = done {
            let why = why.to_string();
            let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
            failed.insert(path, (Instant::now(), why.clone()));
            drop(failed);
            told.tell(why);
        }
    }
}

/// Why a file was not appended to of late.
pub(crate) fn has_failed(path: &Path) -> Option<String> {
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    failed.retain(|_, (at, _)| at.elapsed() < AGAIN);
    failed.get(path).map(|(_, why)| why.clone())
}

/// Leaves text to the thread.
pub(crate) fn append(
    file: &Arc<File>,
    path: &Path,
    text: Vec<u8>,
    told: &Arc<Outcome>,
) -> Result<(), String> {
    let octets = text.len();
    if WAITING_OCTETS.fetch_add(octets, Relaxed) + octets > WAITING_OCTETS_MAX {
        WAITING_OCTETS.fetch_sub(octets, Relaxed);
        return Err("its disk does not keep up".to_owned());
    }
    let (file, told) = (Arc::clone(file), Arc::clone(told));
    let job = Job { file, path: path.to_owned(), text, told };
    let sent = queue().and_then(|queue| queue.send(job).map_err(|why| why.to_string()));
    if sent.is_err() {
        WAITING_OCTETS.fetch_sub(octets, Relaxed);
    }
    sent
}
