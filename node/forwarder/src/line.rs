//! The control's end of a connection: says hello, proves its key, and carries whole messages.

use crate::control_listener::LABEL;
use crate::ipc::{self, Reply, Request};
use crate::stream::{Lost, Stream};
use authentication::Keys;
use channel::{Came, Channel};
use driver::unix_socket;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

/// The first word of a control.
const fn hello(epoch: Option<u64>) -> Request {
    match epoch {
        Some(epoch) => Request::Lead { epoch },
        None => Request::Hello,
    }
}

/// A connection to the forwarder.
pub(crate) struct Line {
    stream: Stream,
    /// What is proved when the forwarder challenges this control.
    keys: Option<Keys>,
    /// Of one of several controls.
    epoch: Option<u64>,
}

impl Line {
    /// Connects and says hello; the answer is the first [`Reply`]. With keys hello waits for the
    /// forwarder's challenge: one that was started without a key never welcomes this control.
    ///
    /// # Errors
    /// When there is no forwarder.
    pub(crate) fn control(
        socket: &Path,
        keys: Option<Keys>,
        epoch: Option<u64>,
    ) -> Result<Self, Lost> {
        let mut stream = Stream::new(unix_socket::connect(socket)?)?;
        if keys.is_none() {
            stream.send(&hello(epoch))?;
        }
        Ok(Self { stream, keys, epoch })
    }

    /// Connects to ask only: that needs no proof.
    ///
    /// # Errors
    /// When there is no forwarder.
    pub(crate) fn questions(socket: &Path) -> Result<Self, Lost> {
        Ok(Self { stream: Stream::new(unix_socket::connect(socket)?)?, keys: None, epoch: None })
    }

    /// Sends a message, or keeps it until the other side takes it.
    pub(crate) fn send(&mut self, request: &Request) -> Result<(), Lost> {
        self.stream.send(request)
    }

    /// Sends messages that were written already.
    pub(crate) fn push(&mut self, messages: Vec<u8>) -> Result<(), Lost> {
        self.stream.push(messages)
    }

    /// Sends of what waits as much as the other side takes.
    pub(crate) fn flush(&mut self) -> Result<(), Lost> {
        self.stream.flush()
    }

    /// Reads what has come and gives each whole message to `take`, with its length before it.
    ///
    /// # Errors
    /// When the connection is over; every message that came before was given.
    pub(crate) fn fill(&mut self, mut take: impl FnMut(&[u8])) -> Result<(), Lost> {
        let mut over = self.stream.fill();
        while let Some(message) = self.stream.next_message()? {
            // Met here: nobody above sees the key.
            if let Some(keys) = &self.keys
                && let Ok(Some((Reply::Challenge { challenge }, _))) = ipc::read(message)
            {
                let proofs = keys.prove(LABEL, &challenge);
                let mut said = self.stream.send(&Request::Prove { proofs });
                said = said.and_then(|()| self.stream.send(&hello(self.epoch)));
                if let Err(lost) = said {
                    // It has left before we had said all; why, it may have said before.
                    let _ = self.stream.fill();
                    over = Err(lost);
                }
                self.keys = None;
                continue;
            }
            take(message);
        }
        over
    }
}

impl Channel for Line {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        self.fill(|message| take(Came::Message(message))).map_err(|lost| lost.to_string())
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        self.push(messages).map_err(|lost| lost.to_string())
    }

    fn waits(&self) -> bool {
        self.stream.waiting() > 0
    }
}
