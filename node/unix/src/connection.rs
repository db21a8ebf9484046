//! One connection: what came and is not whole yet, and what waits.

use crate::{Cut, Framing};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Octets that are read at a time.
const READ_OCTETS: usize = 65_536;
/// Messages that one connection may have carried out before others have their turn.
const MESSAGES_MAX: usize = 256;

pub(crate) struct Connection {
    pub(crate) stream: UnixStream,
    came: Vec<u8>,
    /// Octets of `came` in which nothing whole was found.
    seen: usize,
    waits: Vec<u8>,
    sent: usize,
    /// It ends once nothing waits, and at that time at the latest.
    pub(crate) closes_by: Option<Instant>,
    /// Something whole came that was not given yet.
    pub(crate) has_more: bool,
    /// Whether it is watched for room to write.
    pub(crate) is_writing: bool,
}

impl Connection {
    pub(crate) const fn new(stream: UnixStream) -> Self {
        Self {
            stream,
            came: Vec::new(),
            seen: 0,
            waits: Vec::new(),
            sent: 0,
            closes_by: None,
            has_more: false,
            is_writing: false,
        }
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.waits.len() - self.sent
    }

    pub(crate) fn push(&mut self, octets: &[u8]) {
        self.waits.extend_from_slice(octets);
    }

    /// Writes what the kernel takes; whether it took something.
    ///
    /// # Errors
    /// The connection is over.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        let before = self.sent;
        while self.sent < self.waits.len() {
            match self.stream.write(&self.waits[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(octets) => self.sent += octets,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let has_moved = self.sent > before;
        // What is out is forgotten now and then, not octet by octet.
        if self.sent == self.waits.len() || self.sent > READ_OCTETS {
            self.waits.drain(..self.sent);
            self.sent = 0;
        }
        Ok(has_moved)
    }

    /// Reads once unless something is left, and gives whole messages to `take`, as many as may be
    /// at a time.
    ///
    /// # Errors
    /// Why the connection is over; what came whole before was given.
    pub(crate) fn fill(
        &mut self,
        framing: Framing,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), String> {
        if self.has_more {
            return self.take_whole(framing, take);
        }
        let start = self.came.len();
        self.came.resize(start + READ_OCTETS, 0);
        let got = self.stream.read(&mut self.came[start..]);
        self.came.truncate(start + got.as_ref().copied().unwrap_or(0));
        self.take_whole(framing, take)?;
        match got {
            Ok(0) => Err("the program has closed it".to_owned()),
            Ok(_) => Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
                _ => Err(error.to_string()),
            },
        }
    }

    fn take_whole(&mut self, framing: Framing, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let (mut used, mut taken) = (0, 0);
        self.has_more = false;
        loop {
            let rest = &self.came[used..];
            if used == 0 && self.seen > 0 && !(framing.ends_within)(rest, self.seen) {
                break;
            }
            match (framing.cut)(rest) {
                Cut::Skip(count) if count > 0 => used += count.min(rest.len()),
                Cut::Message(length) if length > 0 && length <= rest.len() => {
                    if taken == MESSAGES_MAX {
                        self.has_more = true;
                        break;
                    }
                    taken += 1;
                    take(&rest[..length]);
                    used += length;
                }
                Cut::Skip(_) | Cut::Message(_) | Cut::Partial => break,
                Cut::Broken(why) => return Err(why.to_owned()),
            }
        }
        self.came.drain(..used);
        // What is whole is not looked for further behind.
        self.seen = if self.has_more { 0 } else { self.came.len() };
        Ok(())
    }
}
