//! Runs a [`tcu::Service`] in a program apart: it connects to a signalling gateway by a Unix socket
//! or TCP, greets, and is given the dialogues of its application. The same service may run inside
//! the gateway.
//!
//! ```no_run
//! use application::{Address, Program};
//!
//! let to: Address = "unix:/var/lib/tandem/hlr.sock".parse().unwrap();
//! let mut program = Program::new(tcu::Hello::new("hlr", "", "hlr-1"));
//! loop {
//!     // It ends with the connection.
//!     let why = program.run(&to, &mut tcu::Refuse);
//!     eprintln!("{why}");
//!     std::thread::sleep(std::time::Duration::from_secs(1));
//! }
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

use authentication::Keys;
use machine::Time;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;
use tcu::{Client, ClientEvent, Hello, Request, Service, Spelling};

/// Octets that are read at a time.
const READ_OCTETS: usize = 65_536;

/// Where a gateway listens for an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `unix:PATH`.
    Unix(PathBuf),
    /// `tcp:127.0.0.1:7700`.
    Tcp(SocketAddr),
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("tcp", address)) => {
                address.parse().map(Self::Tcp).map_err(|_| "behind tcp: stand address and port")
            }
            _ => Err("write unix:PATH or tcp:ADDRESS:PORT"),
        }
    }
}

/// An octet stream, either way.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Address {
    fn connect(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Unix(path) => Box::new(UnixStream::connect(path)?),
            Self::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        })
    }
}

/// A program that serves an application.
#[derive(Debug)]
pub struct Program {
    hello: Hello,
    keys: Option<Keys>,
    spelling: Spelling,
    begun: Instant,
    first: Vec<Request>,
}

impl Program {
    /// One that greets so, and speaks in tagged fields.
    #[must_use]
    pub fn new(hello: Hello) -> Self {
        let (spelling, begun) = (Spelling::Tagged, Instant::now());
        Self { hello, keys: None, spelling, begun, first: Vec::new() }
    }

    /// With the keys of the application.
    #[must_use]
    pub fn with_keys(self, keys: Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// In another spelling.
    #[must_use]
    pub fn spelling(self, spelling: Spelling) -> Self {
        Self { spelling, ..self }
    }

    /// What it asks for as soon as it is taken in.
    #[must_use]
    pub fn asking(self, first: Vec<Request>) -> Self {
        Self { first, ..self }
    }

    fn now(&self) -> Time {
        let nanos = self.begun.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Serves until the connection is over; returns why.
    pub fn run(&mut self, to: &Address, service: &mut dyn Service) -> io::Error {
        match self.serve(to, service) {
            Ok(never) => match never {},
            Err(why) => why,
        }
    }

    fn serve(
        &mut self,
        to: &Address,
        service: &mut dyn Service,
    ) -> io::Result<std::convert::Infallible> {
        let mut stream = to.connect()?;
        let mut client = Client::new(self.hello.clone(), self.spelling, self.keys.clone());
        stream.write_all(&client.greeting())?;
        let mut buffer = vec![0; READ_OCTETS];
        loop {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Err(io::Error::other("the gateway has closed the connection"));
            }
            let mut events = Vec::new();
            let heard = buffer.get(..count).unwrap_or_default();
            let answer = client.received(heard, &mut |event| events.push(event));
            let mut octets = answer.map_err(io::Error::other)?;
            for event in events {
                self.heard(event, service, &mut client, &mut octets)?;
            }
            stream.write_all(&octets)?;
        }
    }

    fn heard(
        &self,
        event: ClientEvent,
        service: &mut dyn Service,
        client: &mut Client,
        octets: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut wants = Vec::new();
        match event {
            ClientEvent::Welcome(_) => wants.extend(self.first.iter().cloned()),
            ClientEvent::Indication(it) => service.indicated(self.now(), it, &mut wants),
            ClientEvent::Bye(why) => return Err(io::Error::other(why)),
            // What this side writes is well-formed: nothing that a service could do about it.
            ClientEvent::Malformed(..) | ClientEvent::Unread(_) => {}
        }
        wants.iter().for_each(|request| client.write(request, octets));
        Ok(())
    }
}
