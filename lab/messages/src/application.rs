//! An application of the signalling gateway in the load's own loop: it never waits.

use anyhow::Context;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use tcu::{Client, ClientEvent, Hello, Indication, Request, Spelling};

/// Octets that are read at a time.
const READ_OCTETS: usize = 262_144;

/// Its end of a connection.
pub(crate) struct Application {
    stream: UnixStream,
    client: Client,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl Application {
    /// Greets as the application of that name.
    pub(crate) fn connect(socket: &Path, name: &str) -> anyhow::Result<Self> {
        let mut stream = UnixStream::connect(socket).with_context(|| format!("{name}'s socket"))?;
        let client = Client::new(Hello::new(name, "", "lab"), Spelling::Tagged, None);
        stream.write_all(&client.greeting())?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, client, out: Vec::new(), buffer: vec![0; READ_OCTETS] })
    }

    /// Says something at the next turn.
    pub(crate) fn say(&mut self, request: &Request) {
        self.client.write(request, &mut self.out);
    }

    /// Writes and reads what can be; whether anything was.
    pub(crate) fn turn(&mut self, heard: &mut Vec<Indication>) -> anyhow::Result<bool> {
        let mut did = false;
        if !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(count) => {
                    self.out.drain(..count);
                    did = true;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
        let count = match self.stream.read(&mut self.buffer) {
            Ok(0) => anyhow::bail!("the signalling gateway has closed the connection"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(did),
            Err(error) => return Err(error.into()),
        };
        let mut events = Vec::new();
        let mut take = |event| events.push(event);
        let more = self.client.received(&self.buffer[..count], &mut take);
        self.out.extend(more.map_err(anyhow::Error::msg)?);
        for event in events {
            match event {
                ClientEvent::Indication(it) => heard.push(it),
                ClientEvent::Bye(why) => anyhow::bail!("{why}"),
                ClientEvent::Malformed(it) => anyhow::bail!("{}", it.what),
                ClientEvent::Unread(_) | ClientEvent::Welcome(_) => {}
            }
        }
        Ok(true)
    }
}
