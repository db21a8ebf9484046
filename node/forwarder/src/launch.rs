//! How a forwarder is started where none stands, and how its control finds it.

use crate::line::Line;
use crate::stream::Lost;
use authentication::Keys;
use channel::{Absent, Channel, Connect};
use driver::unix_socket;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Looks for the socket of a forwarder that was just started …
const LOOKS_MAX: u32 = 250;
/// … and the pause between two.
const LOOK: Duration = Duration::from_millis(20);

/// Between two that are started, where the first has ended …
const START_EVERY: Duration = Duration::from_millis(250);
/// … and where it runs and does not answer.
const START_MAX: Duration = Duration::from_secs(5);

/// How a forwarder is started where none stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// Where its socket is.
    pub socket: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where its log goes.
    pub log: PathBuf,
    /// What its control proves; `None`: it is not asked to.
    pub keys: Option<Keys>,
    /// Somebody else starts it, as a unit of its own: its control waits until it stands.
    pub is_external: bool,
    /// The epoch in which its control leads, of one of several controls.
    pub epoch: Option<u64>,
}

impl Launch {
    /// Sees to it that a forwarder stands, unless somebody else does.
    ///
    /// # Errors
    /// In words, when it does not come to stand within five seconds.
    pub fn ensure(&self) -> Result<(), String> {
        if self.is_external || self.stands() {
            return Ok(());
        }
        let mut child = self.spawn()?;
        for _ in 0..LOOKS_MAX {
            if self.stands() {
                // Takes note of its end, whenever that is: nothing of it is left then.
                thread::spawn(move || child.wait());
                return Ok(());
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(format!("it ended at once, {status}: see {}", self.log.display()));
            }
            thread::sleep(LOOK);
        }
        Err(format!("no forwarder answers at {}", self.socket.display()))
    }

    fn stands(&self) -> bool {
        unix_socket::connect(&self.socket).is_ok()
    }

    /// The process belongs to no session: it outlives its control.
    fn spawn(&self) -> Result<Child, String> {
        let (program, arguments) = self.command.split_first().ok_or("no command")?;
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.log);
        let log = log.map_err(|error| format!("{}: {error}", self.log.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        command.spawn().map_err(|error| format!("{program}: {error}"))
    }
}

/// The way of a control to its forwarder: where none stands, one is started, on a thread of its
/// own, and is there for a later attempt, of which there may be many until then. A second one ends
/// by itself when it finds the first.
#[derive(Debug)]
pub struct ToControl {
    launch: Launch,
    started: Arc<Mutex<Started>>,
}

/// The forwarder that was started last.
#[derive(Debug, Default)]
struct Started {
    at: Option<Instant>,
    runs: bool,
    /// Why it could not be.
    failed: Option<String>,
}

impl Started {
    /// Whether another one may be started.
    fn is_over(&self) -> bool {
        let pause = if self.runs { START_MAX } else { START_EVERY };
        self.at.is_none_or(|at| at.elapsed() >= pause)
    }
}

impl ToControl {
    /// The way to this one.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        Self { launch, started: Arc::default() }
    }

    fn start(&self) -> Absent {
        if self.launch.is_external {
            return Absent::Starting;
        }
        let at = Instant::now();
        {
            let mut last = self.last();
            if !last.is_over() {
                return Absent::Starting;
            }
            *last = Started { at: Some(at), runs: true, failed: None };
        }
        let (launch, started) = (self.launch.clone(), Arc::clone(&self.started));
        let thread = thread::Builder::new().name("launch".to_owned());
        let is_started = thread.spawn(move || {
            // Waits for its end, whenever that is: nothing of it is left then.
            let ended = launch.spawn().map(|mut child| drop(child.wait()));
            let mut last = started.lock().unwrap_or_else(PoisonError::into_inner);
            if last.at == Some(at) {
                (last.runs, last.failed) = (false, ended.err());
            }
        });
        match is_started {
            Ok(_) => Absent::Starting,
            Err(error) => {
                self.last().runs = false;
                Absent::Failed(error.to_string())
            }
        }
    }

    fn last(&self) -> MutexGuard<'_, Started> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connect for ToControl {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        if let Some(why) = self.last().failed.take() {
            return Err(Absent::Failed(why));
        }
        let Launch { socket, keys, epoch, .. } = &self.launch;
        match Line::control(socket, keys.clone(), *epoch) {
            Ok(line) => Ok(Box::new(line)),
            // One stands there: a second would have to wait for it as well.
            Err(Lost::Kernel(error)) if error.kind() == ErrorKind::WouldBlock => {
                Err(Absent::Failed("it stands and lets nobody in".to_owned()))
            }
            Err(_) => Err(self.start()),
        }
    }
}

/// The way of who only asks, whoever controls the forwarder.
#[derive(Debug)]
pub struct ToAsk {
    /// Where the forwarder's socket is.
    pub socket: PathBuf,
}

impl Connect for ToAsk {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        match Line::questions(&self.socket) {
            Ok(line) => Ok(Box::new(line)),
            Err(lost) => {
                let at = self.socket.display();
                Err(Absent::Failed(format!("the forwarder at {at}: {lost}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_often_it_is_looked_for_one_that_is_being_started_has_no_second_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (marks, log) = (folder.path().join("marks"), folder.path().join("log"));
        let script = |rest: &str| {
            let script = format!("echo started >> {}; {rest}", marks.display());
            ["sh", "-c", &script].map(str::to_owned).to_vec()
        };
        let socket = folder.path().join("socket");
        let launch = Launch { socket, command: script("sleep 3"), log, ..Launch::default() };
        let count = || std::fs::read_to_string(&marks).unwrap_or_default().lines().count();
        let to = ToControl::new(launch.clone());
        for _ in 0..100 {
            assert!(matches!(to.connect(), Err(Absent::Starting)));
        }
        while count() == 0 {
            thread::sleep(LOOK);
        }
        assert!(matches!(to.connect(), Err(Absent::Starting)));
        assert_eq!(count(), 1);
        // One that ends is followed by another, though not at once.
        let to = ToControl::new(Launch { command: script("true"), ..launch });
        let began = Instant::now();
        while count() < 4 {
            let _ = to.connect();
            thread::sleep(Duration::from_millis(1));
        }
        assert!(began.elapsed() >= 2 * START_EVERY, "the second and the third each after a pause");
    }

    #[test]
    fn one_that_somebody_else_starts_is_waited_for_and_never_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mark, log) = (folder.path().join("mark"), folder.path().join("log"));
        let command = ["touch".to_owned(), mark.display().to_string()].to_vec();
        let socket = folder.path().join("socket");
        let own = Launch { socket, command, log, ..Launch::default() };
        let external = Launch { is_external: true, ..own.clone() };
        assert_eq!(external.ensure(), Ok(()));
        let (mut again, to) = (0, ToControl::new(external));
        while again < 20 {
            assert!(matches!(to.connect(), Err(Absent::Starting)));
            again += 1;
            thread::sleep(LOOK);
        }
        assert!(!mark.exists());
        assert!(own.ensure().is_err() && mark.exists());
    }
}
