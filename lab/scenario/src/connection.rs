//! Sockets: a thread for each reads, and what it reads comes in one queue.

use crate::endpoint::Place;
use anyhow::Context as _;
use application::Address;
use bytes::Bytes;
use m3ua::codec::Framing;
use msu::Carrier;
use msu::association::{Association, Event as Happened, Sending};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

/// Octets of one read.
const READ_OCTETS: usize = 65_536;
/// The UDP port of SCTP at a gateway (RFC 6951).
const SCTP_UDP_PORT: u16 = 9_899;
/// Between two looks at whether somebody still hears.
const LOOK: Duration = Duration::from_secs(1);
/// Longest wait for a connection, and for a gateway to take what is written.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came by a socket.
#[derive(Debug)]
pub(crate) enum Event {
    /// Octets for a role.
    Octets(usize, Vec<u8>),
    /// A message of M3UA on a stream.
    Message(usize, u16, Bytes),
    /// A datagram for a role.
    Datagram(usize, SocketAddr, Vec<u8>),
    /// The connection of a role is gone.
    Ended(usize, String),
}

/// A socket of datagrams, which is read from then on.
pub(crate) fn datagrams(
    local: SocketAddr,
    role: usize,
    events: &SyncSender<Event>,
) -> anyhow::Result<UdpSocket> {
    let socket = UdpSocket::bind(local).with_context(|| format!("{local}"))?;
    let (reads, to) = (socket.try_clone()?, events.clone());
    reads.set_read_timeout(Some(LOOK))?;
    std::thread::spawn(move || {
        let mut octets = vec![0; READ_OCTETS];
        loop {
            let event = match reads.recv_from(&mut octets) {
                Ok((count, from)) => Event::Datagram(role, from, octets[..count].to_vec()),
                // Nothing came; or an ICMP error of what was sent.
                Err(_) => Event::Datagram(role, local, Vec::new()),
            };
            if to.send(event).is_err() {
                return;
            }
        }
    });
    Ok(socket)
}

/// The way to a gateway.
pub(crate) enum Connection {
    Tcp(TcpStream),
    Unix(UnixStream),
    Sctp(Box<Sending>),
}

impl Connection {
    /// Connects, and reads from then on; how many streams lead there, by SCTP.
    pub(crate) fn open(
        place: &Place,
        udp_port: Option<u16>,
        role: usize,
        events: &SyncSender<Event>,
    ) -> anyhow::Result<(Self, Option<u16>)> {
        match place {
            Place::Application(Address::Unix(path)) => {
                let stream = UnixStream::connect(path);
                let stream = stream.with_context(|| format!("{}", path.display()))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                read(stream.try_clone()?, role, events.clone(), octets);
                Ok((Self::Unix(stream), None))
            }
            Place::Application(Address::Tcp(to)) => {
                let stream = tcp(*to)?;
                read(stream.try_clone()?, role, events.clone(), octets);
                Ok((Self::Tcp(stream), None))
            }
            Place::Sip(_) | Place::Inside => anyhow::bail!("it has no stream"),
            Place::Stack { to, by_sctp: false } => {
                let stream = tcp(*to)?;
                read(stream.try_clone()?, role, events.clone(), messages);
                Ok((Self::Tcp(stream), None))
            }
            Place::Stack { to, by_sctp: true } => {
                let port = udp_port.unwrap_or(SCTP_UDP_PORT);
                let opened = Association::open(*to, &[], Carrier::Udp, port)?;
                let (sending, happened) = opened.0.split();
                hear(happened, role, events.clone());
                Ok((Self::Sctp(Box::new(sending)), Some(opened.1)))
            }
        }
    }

    /// Writes octets, or a message on a stream.
    pub(crate) fn send(&mut self, stream: u16, octets: Bytes) -> anyhow::Result<()> {
        match self {
            Self::Tcp(tcp) => Ok(tcp.write_all(&octets)?),
            Self::Unix(unix) => Ok(unix.write_all(&octets)?),
            Self::Sctp(sending) => sending.send(stream, octets),
        }
    }

    /// Ends it: who reads hears of it.
    pub(crate) fn close(&self) {
        use std::net::Shutdown;
        // It may be gone already.
        let _ = match self {
            Self::Tcp(tcp) => tcp.shutdown(Shutdown::Both),
            Self::Unix(unix) => unix.shutdown(Shutdown::Both),
            Self::Sctp(sending) => {
                let _ = sending.shut_down();
                Ok(())
            }
        };
    }
}

fn tcp(to: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&to, PATIENCE);
    let stream = stream.with_context(|| format!("{to} cannot be reached"))?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Takes what can be taken from the front of what came; breaks with why nothing more can be, or
/// with nothing when nobody hears it.
type Cut = fn(usize, &mut Vec<u8>, &SyncSender<Event>) -> ControlFlow<Option<String>>;

fn say(to: &SyncSender<Event>, event: Event) -> ControlFlow<Option<String>> {
    to.send(event).map_or(ControlFlow::Break(None), ControlFlow::Continue)
}

fn octets(
    role: usize,
    buffer: &mut Vec<u8>,
    events: &SyncSender<Event>,
) -> ControlFlow<Option<String>> {
    say(events, Event::Octets(role, core::mem::take(buffer)))
}

fn messages(
    role: usize,
    buffer: &mut Vec<u8>,
    events: &SyncSender<Event>,
) -> ControlFlow<Option<String>> {
    let mut at = 0;
    loop {
        match m3ua::codec::frame(&buffer[at..]) {
            Framing::Message(length) => {
                let message = Bytes::copy_from_slice(&buffer[at..at + length]);
                at += length;
                say(events, Event::Message(role, 0, message))?;
            }
            Framing::Padding(zeros) => at += zeros,
            Framing::Partial => break,
            Framing::Broken(violation) => {
                return ControlFlow::Break(Some(format!("the gateway sends no M3UA: {violation}")));
            }
        }
    }
    buffer.drain(..at);
    ControlFlow::Continue(())
}

fn read(mut from: impl Read + Send + 'static, role: usize, to: SyncSender<Event>, cut: Cut) {
    std::thread::spawn(move || {
        let (mut octets, mut buffer) = (vec![0; READ_OCTETS], Vec::new());
        let why = loop {
            match from.read(&mut octets) {
                Ok(0) => break "the gateway has closed the connection".to_owned(),
                Ok(count) => {
                    buffer.extend_from_slice(&octets[..count]);
                    match cut(role, &mut buffer, &to) {
                        ControlFlow::Continue(()) => {}
                        ControlFlow::Break(Some(why)) => break why,
                        ControlFlow::Break(None) => return,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.to_string(),
            }
        };
        // Nobody may be there any more.
        let _ = to.send(Event::Ended(role, why));
    });
}

fn hear(from: Receiver<Happened>, role: usize, to: SyncSender<Event>) {
    std::thread::spawn(move || {
        while let Ok(event) = from.recv() {
            let (event, is_last) = match event {
                Happened::Up(_) => continue,
                Happened::Message(stream, message) => {
                    (Event::Message(role, stream, message), false)
                }
                Happened::Ended(why) => (Event::Ended(role, why), true),
            };
            if to.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    /// ASP Up.
    const MESSAGE: [u8; 8] = [1, 0, 3, 1, 0, 0, 0, 8];

    #[test]
    fn padding_behind_a_message_is_passed_over() {
        let (to, events) = sync_channel(9);
        let mut buffer = [&MESSAGE[..], &[0, 0], &MESSAGE, &[0], &MESSAGE[..3]].concat();
        assert_eq!(messages(0, &mut buffer, &to), ControlFlow::Continue(()));
        assert_eq!(buffer, MESSAGE[..3]);
        drop(to);
        let message = |it| matches!(it, Event::Message(0, 0, octets) if *octets == MESSAGE);
        assert_eq!(events.iter().map(message).collect::<Vec<_>>(), [true, true]);
    }

    #[test]
    fn what_is_no_message_ends_the_connection() {
        let (to, events) = sync_channel(9);
        let broken = [1, 0, 3, 1, 0, 0, 0, 7];
        read(std::io::Cursor::new([MESSAGE, broken, MESSAGE].concat()), 0, to, messages);
        let all: Vec<Event> = events.iter().collect();
        let [Event::Message(..), Event::Ended(0, why)] = &*all else { panic!("{all:?}") };
        assert!(why.contains("no M3UA"), "{why}");
    }
}
