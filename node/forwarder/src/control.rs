//! A control in a program of its own, which looks itself when the forwarder has said something: for
//! tests and measurements. A function's control is a stack.

use crate::ipc::{self, PortSpec, Reply, Request};
use crate::line::Line;
use crate::stream::Lost;
use authentication::Keys;
use nodes::Program;
use std::path::Path;

/// A connection to the forwarder. Nothing here waits.
pub struct Control {
    line: Line,
}

impl Control {
    /// Connects and says hello; the answer is the first [`Reply`].
    ///
    /// # Errors
    /// When there is no forwarder.
    pub fn connect(socket: &Path, keys: Option<Keys>) -> Result<Self, Lost> {
        Ok(Self { line: Line::control(socket, keys, None)? })
    }

    /// The same as one of several controls, which leads in that epoch.
    ///
    /// # Errors
    /// When there is no forwarder.
    pub fn lead(socket: &Path, keys: Option<Keys>, epoch: u64) -> Result<Self, Lost> {
        Ok(Self { line: Line::control(socket, keys, Some(epoch))? })
    }

    /// Connects to ask only.
    ///
    /// # Errors
    /// When there is no forwarder.
    pub fn questions(socket: &Path) -> Result<Self, Lost> {
        Ok(Self { line: Line::questions(socket)? })
    }

    /// Opens a port.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn open(&mut self, port: PortSpec) -> Result<(), Lost> {
        self.line.send(&Request::Open(port))
    }

    /// Changes the plane.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn apply(&mut self, programs: &[Program]) -> Result<(), Lost> {
        let mut octets = Vec::new();
        ipc::write_programs(programs, &mut octets)?;
        self.line.push(octets)
    }

    /// Asks; the answer bears the same number.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn ask(&mut self, id: u64, path: &str, params: Vec<(String, String)>) -> Result<(), Lost> {
        self.line.send(&Request::Ask { id, path: path.to_owned(), params })
    }

    /// Ends the forwarder.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn stop(&mut self) -> Result<(), Lost> {
        self.line.send(&Request::Stop)
    }

    /// Sends of what waits as much as the forwarder takes.
    ///
    /// # Errors
    /// When the connection is over.
    pub fn flush(&mut self) -> Result<(), Lost> {
        self.line.flush()
    }

    /// What the forwarder has said since.
    ///
    /// # Errors
    /// When the connection is over and everything that it said before was taken.
    pub fn replies(&mut self) -> Result<Vec<Reply>, Lost> {
        let (mut replies, mut broken) = (Vec::new(), None);
        let over = self.line.fill(|message| match ipc::read(message) {
            Ok(reply) => replies.extend(reply.map(|(reply, _)| reply)),
            Err(why) => broken = Some(why),
        });
        match over.and(broken.map_or(Ok(()), |why| Err(why.into()))) {
            Err(lost) if replies.is_empty() => Err(lost),
            _ => Ok(replies),
        }
    }
}
