//! The places of all applications, their ports, and the shards that read there.

use super::{Application, SOCKET_OCTETS, UNIX};
use runtime::{Address, Carrier, PortId, PortSpec, StreamSpec, Transport};
use std::path::PathBuf;
use std::sync::Arc;

/// Places that applications are listened for at, and numbers of their ports, at most.
pub const LISTENERS_MAX: u16 = 1_000;

/// What a function lends of its section.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a> {
    /// The applications.
    pub application: &'a [Application],
    /// The first of [`LISTENERS_MAX`] ports.
    pub first_port: PortId,
    /// The shards of the function: of several, all but the first have applications.
    pub shards: u16,
}

/// A place where instances connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A Unix socket.
    Unix(PathBuf),
    /// TCP or TLS.
    Stream(Address),
}

/// Such a place, with its number and its application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// The number of its port.
    pub port: PortId,
    /// The name of its application.
    pub application: String,
    /// Where it is.
    pub place: Place,
    /// Whether who comes there has to prove that it has a key.
    pub must_prove: bool,
    /// The shard that reads there.
    pub shard: u16,
}

/// Whether a port is one of those that begin with `first`.
#[must_use]
pub const fn owns(first: PortId, port: PortId) -> bool {
    port.0 >= first.0 && port.0 - first.0 < LISTENERS_MAX
}

impl Application {
    fn places(&self) -> impl Iterator<Item = Place> {
        let mut sockets = self.sockets.iter();
        self.listen.iter().filter_map(move |text| match text.strip_prefix(UNIX) {
            // Without a directory, as in a simulation, a path is what is written.
            Some(path) => Some(Place::Unix(sockets.next().cloned().unwrap_or(path.into()))),
            None => text.parse().ok().map(Place::Stream),
        })
    }
}

impl Section<'_> {
    /// The places where instances connect.
    #[must_use]
    pub fn listeners(&self) -> Vec<Listener> {
        let mut all: Vec<Listener> = Vec::new();
        for application in self.application {
            for (at, place) in application.places().enumerate() {
                let text = match &place {
                    Place::Unix(path) => path.display().to_string(),
                    Place::Stream(address) => address.to_string(),
                };
                let number = |of: PortId| PortId(self.first_port.0 + of.0);
                let is_taken = |port| all.iter().any(|it| it.port == number(port));
                let Some(port) = PortId::stable(&text, LISTENERS_MAX, is_taken) else { continue };
                let must_prove =
                    matches!(place, Place::Stream(_)) && application.key_file.is_some();
                let shard = self.shard_of(application, at);
                let (port, application) = (number(port), application.name.clone());
                all.push(Listener { port, application, place, must_prove, shard });
            }
        }
        all
    }

    /// The shard that reads at a place of an application: by its name, and one after the other.
    fn shard_of(&self, application: &Application, place: usize) -> u16 {
        let Some(others) = self.shards.checked_sub(1).filter(|it| *it > 0) else { return 0 };
        let first =
            application.name.bytes().fold(0_usize, |sum, it| sum * 31 % 65_521 + usize::from(it));
        let at = (first + place) % usize::from(others);
        u16::try_from(at + 1).unwrap_or(1)
    }

    /// The places of an application that a shard reads at, as they are written.
    #[must_use]
    pub fn listens_at(&self, application: &Application, shard: u16) -> Vec<String> {
        let all = application.listen.iter().enumerate();
        let here = all.filter(|(place, _)| self.shard_of(application, *place) == shard);
        here.map(|(_, text)| text.clone()).collect()
    }

    /// The shard that reads at a port.
    #[must_use]
    pub fn shard_of_port(&self, port: PortId) -> u16 {
        self.listeners().iter().find(|it| it.port == port).map_or(0, |it| it.shard)
    }

    /// The ports of those that are no Unix sockets.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let spec = |listener: Listener| {
            let Place::Stream(address) = listener.place else { return None };
            let of = self.application.iter().find(|it| it.name == listener.application)?;
            let is_tls = address.transport == Transport::Tls;
            let tls = of.tls.as_ref().filter(|_| is_tls).map(|tls| Arc::new(tls.spec()));
            Some(PortSpec {
                id: listener.port,
                name: format!("application {}", of.name),
                listen: address.socket,
                carrier: Carrier::Stream(StreamSpec {
                    tls,
                    paced: true,
                    queue_bytes_max: Some(SOCKET_OCTETS),
                    ..StreamSpec::default()
                }),
                ..PortSpec::default()
            })
        };
        self.listeners().into_iter().filter_map(spec).collect()
    }
}
