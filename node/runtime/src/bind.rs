//! Binding the ports of a function, for all its shards, before anything is changed.

use crate::error::RuntimeError;
use crate::guard;
use crate::port::PortId;
use crate::spec::{Carrier, PortSpec};
use driver::{DatagramSocket, SocketOptions, tcp};
use ports::Bypass;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tls::Context;

/// Ports of one function.
const PORTS_MAX: usize = 8_192;

/// One shard's part of a port.
#[derive(Debug)]
pub(crate) enum Socket {
    Datagrams(DatagramSocket, Option<Box<Bypass>>),
    Listener(TcpListener),
    /// Opens connections only.
    Silent,
}

/// A port as it stands.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) spec: PortSpec,
    pub(crate) local: SocketAddr,
}

/// A port of the new list: a kept one under its old number, or new sockets, one per shard.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) held: Held,
    pub(crate) tls: Option<Arc<Context>>,
    pub(crate) kept: Option<PortId>,
    pub(crate) sockets: Vec<Socket>,
}

/// Checks a list of ports in itself.
pub(crate) fn check(ports: &[PortSpec]) -> Result<(), RuntimeError> {
    if ports.len() > PORTS_MAX {
        return Err(RuntimeError::Limit(format!("more than {PORTS_MAX} ports")));
    }
    for (at, port) in ports.iter().enumerate() {
        if usize::from(port.id.0) >= PORTS_MAX {
            return Err(RuntimeError::Limit(format!("port number {} is too high", port.id.0)));
        }
        for other in &ports[..at] {
            if other.id == port.id {
                let (first, second) = (&other.name, &port.name);
                let what = format!("ports \"{first}\" and \"{second}\" have the same number");
                return Err(RuntimeError::Limit(what));
            }
            if clash(other, port) {
                return Err(RuntimeError::Conflict {
                    first: other.name.clone(),
                    second: port.name.clone(),
                    listen: port.listen,
                });
            }
        }
    }
    Ok(())
}

fn binds(port: &PortSpec) -> bool {
    port.listen.port() != 0 && port.listens() && !matches!(port.carrier, Carrier::Raw { .. })
}

fn clash(a: &PortSpec, b: &PortSpec) -> bool {
    binds(a)
        && binds(b)
        && a.listen == b.listen
        && a.device == b.device
        && a.stream().is_some() == b.stream().is_some()
}

/// Whether a standing port can serve as the wanted one.
fn serves(held: &PortSpec, wanted: &PortSpec) -> bool {
    held.listen == wanted.listen
        && held.device == wanted.device
        && held.carrier.serves(&wanted.carrier)
}

/// Binds what `ports` needs beyond `held`, for `shards` shards.
pub(crate) fn bind(
    ports: &[PortSpec],
    held: &[Held],
    shards: u16,
    receive_buffer_bytes: usize,
) -> Result<Vec<Place>, RuntimeError> {
    check(ports)?;
    let mut taken = vec![false; held.len()];
    let mut places = Vec::with_capacity(ports.len());
    for port in ports {
        let tls = context(port)?;
        guarded(port)?;
        let same = |at: &usize| !taken[*at] && serves(&held[*at].spec, port);
        let found = (0..held.len())
            .filter(same)
            .max_by_key(|&at| (held[at].spec.id == port.id, held[at].spec.name == port.name));
        if let Some(at) = found {
            taken[at] = true;
            places.push(Place {
                held: Held { spec: port.clone(), local: held[at].local },
                tls,
                kept: Some(held[at].spec.id),
                sockets: Vec::new(),
            });
            continue;
        }
        let bind_error =
            |source| RuntimeError::Bind { port: port.name.clone(), listen: port.listen, source };
        probe(port, held).map_err(bind_error)?;
        let (local, sockets) = bind_port(port, shards, receive_buffer_bytes).map_err(bind_error)?;
        places.push(Place { held: Held { spec: port.clone(), local }, tls, kept: None, sockets });
    }
    Ok(places)
}

/// Whether the kernel can keep what the port demands of its far ends.
fn guarded(port: &PortSpec) -> Result<(), RuntimeError> {
    let guards = port.guards();
    if guards.is_empty() {
        return Ok(());
    }
    let error = |what| RuntimeError::Guard { port: port.name.clone(), what };
    guard::rehearse(&guards, port.listen.is_ipv4()).map_err(error)
}

/// Reads keys and trust of a TLS port.
fn context(port: &PortSpec) -> Result<Option<Arc<Context>>, RuntimeError> {
    let Some(tls) = port.stream().and_then(|stream| stream.tls.as_ref()) else { return Ok(None) };
    let error = |what: String| RuntimeError::Tls { port: port.name.clone(), what };
    let context = Context::load(tls, port.listens()).map_err(|cause| error(cause.to_string()))?;
    Ok(Some(Arc::new(context)))
}

/// Several sockets of one user may share an address, so binding alone would not notice that
/// another program of ours listens there: this does, by asking for the address alone.
pub(crate) fn probe(port: &PortSpec, held: &[Held]) -> io::Result<()> {
    let ours = held.iter().any(|other| {
        binds(&other.spec)
            && other.local.port() == port.listen.port()
            && other.spec.stream().is_some() == port.stream().is_some()
    });
    if ours || !binds(port) {
        return Ok(());
    }
    let (device, ahead) = (port.device.clone(), port.ahead);
    bind_one(port, port.listen, &SocketOptions { device, ahead, ..no_options() }).map(drop)
}

fn no_options() -> SocketOptions {
    SocketOptions::default()
}

fn bind_port(
    port: &PortSpec,
    shards: u16,
    receive_buffer_bytes: usize,
) -> io::Result<(SocketAddr, Vec<Socket>)> {
    let buffer_bytes = if port.stream().is_some() { 0 } else { receive_buffer_bytes };
    let options = SocketOptions {
        receive_buffer_bytes: buffer_bytes,
        send_buffer_bytes: buffer_bytes,
        device: port.device.clone(),
        share: true,
        ahead: port.ahead,
        whole: port.is_whole(),
    };
    let mut local = port.listen;
    let mut sockets = Vec::with_capacity(usize::from(shards));
    // Each raw socket gets all packets of its protocol: the first shard has the only one.
    let shards = if matches!(port.carrier, Carrier::Raw { .. }) { 1 } else { shards };
    for _ in 0..shards {
        let socket = bind_one(port, local, &options)?;
        local = match &socket {
            Socket::Datagrams(socket, _) => socket.local(),
            Socket::Listener(listener) => listener.local_addr()?,
            Socket::Silent => port.listen,
        };
        sockets.push(socket);
    }
    Ok((local, sockets))
}

fn bind_one(port: &PortSpec, at: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
    Ok(match &port.carrier {
        Carrier::Udp { .. } => Socket::Datagrams(DatagramSocket::bind(at, options)?, None),
        &Carrier::Raw { protocol, bypass } => {
            let socket = DatagramSocket::raw(at.ip(), protocol, options)?;
            let bypass = match bypass {
                true => Some(Box::new(Bypass::open(at.ip(), protocol)?)),
                false => None,
            };
            Socket::Datagrams(socket, bypass)
        }
        Carrier::Stream(stream) if stream.connect_only => Socket::Silent,
        Carrier::Stream(stream) => Socket::Listener(tcp::listen(at, options, |socket| {
            guard::arm_listener(socket, at.is_ipv4(), &[], &stream.guards)
        })?),
    })
}
