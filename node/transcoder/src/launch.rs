//! The way of a control to a process that transcodes: one is started where none stands.

use crate::connection::Connection;
use channel::{Absent, Channel, Connect};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How a process is started where none stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Where its socket is.
    pub socket: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where its log goes.
    pub log: PathBuf,
}

/// The way there. Where none stands one is started, and is there for a later attempt; a second one
/// ends by itself when it finds the first.
#[derive(Debug)]
pub struct ToTranscoder {
    launch: Launch,
    /// Whether one was started that has not ended, and why the last one could not be.
    started: Arc<Mutex<(bool, Option<String>)>>,
}

impl ToTranscoder {
    /// The way to this one.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        Self { launch, started: Arc::default() }
    }

    /// How one is started.
    #[must_use]
    pub const fn launch(&self) -> &Launch {
        &self.launch
    }

    fn start(&self) -> Absent {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = started.1.take() {
            return Absent::Failed(why);
        }
        if started.0 {
            return Absent::Starting;
        }
        let (launch, ends) = (self.launch.clone(), Arc::clone(&self.started));
        let thread = thread::Builder::new().name("transcoder".to_owned()).spawn(move || {
            let why = launch.run().err();
            *ends.lock().unwrap_or_else(PoisonError::into_inner) = (false, why);
        });
        match thread {
            Ok(_) => {
                started.0 = true;
                Absent::Starting
            }
            Err(error) => Absent::Failed(error.to_string()),
        }
    }
}

impl Launch {
    /// Starts the process and waits for its end, whenever that is: nothing of it is left then.
    ///
    /// # Errors
    /// In words, when it cannot be started or ends at once with an error.
    fn run(&self) -> Result<(), String> {
        let (program, arguments) = self.command.split_first().ok_or("no command")?;
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.log);
        let log = log.map_err(|error| format!("{}: {error}", self.log.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
        let mut child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let status = child.wait().map_err(|error| error.to_string())?;
        match status.code() {
            // Killed, or ended in good order: the next attempt starts another.
            None | Some(0) => Ok(()),
            Some(_) => Err(format!("it ended, {status}: see {}", self.log.display())),
        }
    }
}

impl Connect for ToTranscoder {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        match Connection::to(&self.launch.socket) {
            Ok(connection) => Ok(Box::new(connection)),
            Err(_) => Err(self.start()),
        }
    }
}
