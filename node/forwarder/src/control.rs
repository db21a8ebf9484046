//! The control's end: finds the forwarder that stands, or starts one, and talks with it without
//! ever waiting.

use crate::door::LABEL;
use crate::stream::{Lost, Stream};
use crate::wire::{self, MEMO_OCTETS_MAX, PortSpec, Reply, Request};
use authentication::Keys;
use nodes::Program;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Looks for the socket of a forwarder that was just started …
const LOOKS_MAX: u32 = 250;
/// … and the pause between two.
const LOOK: Duration = Duration::from_millis(20);
/// Octets read at once of an answer.
const ASK_OCTETS: usize = 64 << 10;
/// Programs in one message: a table of a million routes goes in parts.
const PROGRAMS_MAX: usize = 512;

/// How a forwarder is started where none stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Where its socket is.
    pub socket: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where its log goes.
    pub log: PathBuf,
    /// What its control proves; `None`: it is not asked to.
    pub keys: Option<Keys>,
}

impl Launch {
    /// Sees to it that a forwarder stands.
    ///
    /// # Errors
    /// In words, when it does not come to stand within five seconds.
    pub fn ensure(&self) -> Result<(), String> {
        if self.stands() {
            return Ok(());
        }
        let mut child = self.spawn()?;
        for _ in 0..LOOKS_MAX {
            if self.stands() {
                await_end(child);
                return Ok(());
            }
            if let Ok(Some(status)) = child.try_wait() {
                return Err(format!("it ended at once, {status}: see {}", self.log.display()));
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("no forwarder answers at {}", self.socket.display()))
    }

    /// Starts a forwarder and does not wait for it. A second one ends by itself when it finds the
    /// first.
    ///
    /// # Errors
    /// In words, when it cannot be started.
    pub fn start(&self) -> Result<(), String> {
        self.spawn().map(await_end)
    }

    fn stands(&self) -> bool {
        UnixStream::connect(&self.socket).is_ok()
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

/// Takes note of its end, whenever that is: nothing of it is left then.
fn await_end(mut child: Child) {
    std::thread::spawn(move || child.wait());
}

/// Asks the forwarder that stands at `socket`, whoever controls it, and waits for the answer.
///
/// # Errors
/// In words: there is none, it does not answer within `patience`, or it does not know.
pub fn ask(
    socket: &Path,
    path: &str,
    params: &[(String, String)],
    patience: Duration,
) -> Result<Value, String> {
    let words = |error: io::Error| format!("the forwarder at {}: {error}", socket.display());
    let mut connection = UnixStream::connect(socket).map_err(words)?;
    connection.set_read_timeout(Some(patience)).map_err(words)?;
    connection.set_write_timeout(Some(patience)).map_err(words)?;
    let (mut octets, mut part) = (Vec::new(), vec![0; ASK_OCTETS]);
    let ask = Request::Ask { id: 0, path: path.to_owned(), params: params.to_vec() };
    wire::write(&ask, &mut octets).map_err(|broken| broken.to_string())?;
    connection.write_all(&octets).map_err(words)?;
    octets.clear();
    loop {
        match wire::read(&octets).map_err(|broken| broken.to_string())? {
            Some((Reply::Answer { answer, .. }, _)) => return answer,
            // Who only asks proves nothing.
            Some((Reply::Challenge { .. }, used)) => {
                octets.drain(..used);
                continue;
            }
            Some(_) => return Err("the forwarder answers something else".to_owned()),
            None => {}
        }
        match connection.read(&mut part).map_err(words)? {
            0 => return Err("the forwarder closed the connection".to_owned()),
            count => octets.extend_from_slice(&part[..count]),
        }
    }
}

/// A connection to the forwarder.
pub struct Control {
    stream: Stream,
    keys: Option<Keys>,
}

impl Control {
    /// Connects and says hello; the answer is the first [`Reply`]. With keys hello waits for the
    /// forwarder's challenge: one that was started without a key never welcomes this control.
    ///
    /// # Errors
    /// When there is no forwarder.
    pub fn connect(socket: &Path, keys: Option<Keys>) -> Result<Self, Lost> {
        let stream = Stream::new(UnixStream::connect(socket)?)?;
        let mut it = Self { stream, keys };
        if it.keys.is_none() {
            it.stream.send(&Request::Hello)?;
        }
        Ok(it)
    }

    fn prove(&mut self, challenge: &[u8]) -> Result<(), Lost> {
        let Some(keys) = &self.keys else { return Ok(()) };
        let proofs = keys.prove(LABEL, challenge);
        self.stream.send(&Request::Prove { proofs })?;
        self.stream.send(&Request::Hello)
    }

    /// A descriptor that can be read when the forwarder has said something.
    ///
    /// # Errors
    /// The kernel's.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.stream.descriptor()
    }

    /// Opens a port.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn open(&mut self, port: PortSpec) -> Result<(), Lost> {
        self.stream.send(&Request::Open(port))
    }

    /// Closes a port.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn close(&mut self, port: u16) -> Result<(), Lost> {
        self.stream.send(&Request::Close { port })
    }

    /// Changes the plane.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn apply(&mut self, programs: &[Program]) -> Result<(), Lost> {
        for part in programs.chunks(PROGRAMS_MAX) {
            self.stream.send(&Request::Apply(part.to_vec()))?;
        }
        Ok(())
    }

    /// Leaves octets with the forwarder for the control that comes next. Those that are too long
    /// (8 MiB) are not kept.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn keep(&mut self, memo: Vec<u8>) -> Result<(), Lost> {
        if memo.len() > MEMO_OCTETS_MAX {
            return Ok(());
        }
        self.stream.send(&Request::Keep(memo))
    }

    /// Asks; the answer bears the same number.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn ask(&mut self, id: u64, path: &str, params: Vec<(String, String)>) -> Result<(), Lost> {
        self.stream.send(&Request::Ask { id, path: path.to_owned(), params })
    }

    /// Ends the forwarder.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn stop(&mut self) -> Result<(), Lost> {
        self.stream.send(&Request::Stop)
    }

    /// Octets that wait for the forwarder.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.stream.waiting()
    }

    /// Sends of what waits as much as the forwarder takes.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn flush(&mut self) -> Result<(), Lost> {
        self.stream.flush()
    }

    /// What the forwarder has said since.
    ///
    /// # Errors
    /// When the connection is over and everything that it said before was taken.
    pub fn replies(&mut self) -> Result<Vec<Reply>, Lost> {
        let mut over = self.stream.fill();
        let mut replies = Vec::new();
        while let Some(reply) = self.stream.next()? {
            match reply {
                Reply::Challenge { challenge } => {
                    if let Err(lost) = self.prove(&challenge) {
                        // It has left before we had said all; why, it may have said before.
                        let _ = self.stream.fill();
                        over = Err(lost);
                    }
                }
                reply => replies.push(reply),
            }
        }
        match over {
            Err(lost) if replies.is_empty() => Err(lost),
            _ => Ok(replies),
        }
    }
}
