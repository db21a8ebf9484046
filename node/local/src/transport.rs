//! HTTP over a control socket, for `ureq`.

use crate::find::connect;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use ureq::Agent;
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// An agent whose requests, to whatever host, all go to a socket; `whose` as in
/// [`trusted`](crate::trusted).
#[must_use]
pub fn agent(config: Config, path: PathBuf, whose: Option<u32>) -> Agent {
    Agent::with_parts(config, Socket { path, whose }, DefaultResolver::default())
}

#[derive(Debug)]
struct Socket {
    path: PathBuf,
    whose: Option<u32>,
}

impl Connector<()> for Socket {
    type Out = Stream;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _chained: Option<()>,
    ) -> Result<Option<Stream>, ureq::Error> {
        let stream = connect(&self.path, self.whose)?;
        let config = details.config;
        let buffers = LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size());
        Ok(Some(Stream { stream, buffers }))
    }
}

struct Stream {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stream.fmt(f)
    }
}

/// What the kernel says of a time that is over becomes the client's own word for it.
fn with_timeout(error: io::Error, timeout: NextTimeout) -> ureq::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ureq::Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

impl Transport for Stream {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.set_write_timeout(timeout.not_zero().map(|left| *left))?;
        let output = &self.buffers.output()[..amount];
        match self.stream.write_all(output) {
            // A site that has answered before it heard all closes; what it said is there to read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.map_err(|error| with_timeout(error, timeout)),
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.set_read_timeout(timeout.not_zero().map(|left| *left))?;
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input).map_err(|error| with_timeout(error, timeout))?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        // A connection is used again only right after its answer; one that has ended says so then.
        true
    }
}
