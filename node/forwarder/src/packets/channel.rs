//! The other side of a packet channel: by it packets come up and go down.

use super::rings::{Far, Geometry, Shed};
use crate::control_listener::PACKETS_LABEL;
use crate::ipc::{self, Reply, Request};
use crate::launch::Launch;
use crate::stream::{Lost, Stream};
use authentication::Keys;
use channel::{Absent, Came, Channel, Connect, Packets};
use driver::unix_socket;
use driver::{Interest, Poll};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

/// Packets of each ring that one call takes.
const PACKETS_MAX: u16 = 64;

/// Descriptors of a packet channel.
const GIVEN: usize = 3;

/// The way to a forwarder's packets. The first message of the channel is the forwarder's
/// [`Reply::PacketChannel`]; packets come and go after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToPackets {
    /// Where the forwarder's socket is.
    pub socket: PathBuf,
    /// What is proved where the forwarder has a key.
    pub keys: Option<Keys>,
    /// Classes of packets (`bgp`, `feature/class`), each with its share of the 512 records that a
    /// worker's ring has: what it fills of it at most. Packets bear the place in this list.
    pub classes: Vec<(String, u16)>,
    /// The epoch of its control, of one of several controls.
    pub epoch: Option<u64>,
}

impl ToPackets {
    /// Those of the forwarder that a control launches.
    #[must_use]
    pub fn of(launch: &Launch, classes: Vec<(String, u16)>) -> Self {
        let Launch { socket, keys, epoch, .. } = launch;
        Self { socket: socket.clone(), keys: keys.clone(), classes, epoch: *epoch }
    }
}

impl Connect for ToPackets {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let far = FarChannel::new(self);
        let failed = |lost: Lost| {
            Absent::Failed(format!("the forwarder at {}: {lost}", self.socket.display()))
        };
        Ok(Box::new(far.map_err(failed)?))
    }
}

/// A channel that carries packets.
struct FarChannel {
    stream: Stream,
    /// The socket, and what is rung when packets come.
    poll: Poll,
    keys: Option<Keys>,
    request: Option<Request>,
    beside: Vec<OwnedFd>,
    far: Option<Far>,
}

impl FarChannel {
    fn new(to: &ToPackets) -> Result<Self, Lost> {
        let mut stream = Stream::new(unix_socket::connect(&to.socket)?)?;
        let poll = Poll::new()?;
        poll.add(&stream, 0, Interest::Read)?;
        let request = Request::PacketChannel { classes: to.classes.clone(), epoch: to.epoch };
        let request = if to.keys.is_none() {
            stream.send(&request)?;
            None
        } else {
            Some(request)
        };
        let keys = to.keys.clone();
        Ok(Self { stream, poll, keys, request, beside: Vec::new(), far: None })
    }

    fn messages(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let over = self.stream.fill_beside(&mut self.beside).map_err(|lost| lost.to_string());
        if self.beside.len() > GIVEN {
            return Err("more descriptors than a packet channel has".to_owned());
        }
        while let Some(message) = self.stream.next_message().map_err(|lost| lost.to_string())? {
            let Ok(Some((reply, _))) = ipc::read::<Reply>(message) else {
                return Err("not a message".to_owned());
            };
            match reply {
                Reply::PacketChannel { ups, log2_size, cell } => {
                    take(Came::Message(message));
                    self.join(Geometry { ups, log2_size, cell })?;
                }
                Reply::Refused { why, .. } => return Err(why),
                Reply::Challenge { challenge } => {
                    if let (Some(keys), Some(request)) = (&self.keys, self.request.take()) {
                        let proofs = keys.prove(PACKETS_LABEL, &challenge);
                        // At once: why a proof was refused is to be heard.
                        let mut said = Vec::new();
                        let written = ipc::write(&Request::Prove { proofs }, &mut said)
                            .and_then(|()| ipc::write(&request, &mut said));
                        written.map_err(|why| why.to_string())?;
                        self.stream.push(said).map_err(|lost| lost.to_string())?;
                    }
                }
                _ => {}
            }
        }
        over
    }

    fn join(&mut self, geometry: Geometry) -> Result<(), String> {
        let given = <[OwnedFd; GIVEN]>::try_from(std::mem::take(&mut self.beside));
        let given = given.map_err(|_| "no memory came with the packet channel".to_owned())?;
        let far = Far::join(geometry, &given).and_then(|far| {
            self.poll.add(&far, 1, Interest::Read)?;
            Ok(far)
        });
        self.far = Some(far.map_err(|error| error.to_string())?);
        Ok(())
    }
}

impl Channel for FarChannel {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let ready = self.poll.wait(Some(Duration::ZERO)).map_err(|error| error.to_string())?;
        let has_message = ready.iter().any(|ready| ready.token == 0);
        if has_message {
            self.messages(take)?;
        }
        let Some(far) = &mut self.far else { return Ok(()) };
        let received = far.receive(PACKETS_MAX, &mut |record, packet| {
            take(Came::Packet(record, packet));
        });
        received.map_err(|corrupt| corrupt.to_string())
    }

    fn write(&mut self, _messages: Vec<u8>) -> Result<(), String> {
        self.stream.flush().map_err(|lost| lost.to_string())
    }

    fn waits(&self) -> bool {
        // What it says is a few hundred octets.
        false
    }

    fn send(&mut self, packets: &Packets) -> Result<usize, String> {
        let Some(far) = &mut self.far else { return Ok(packets.len()) };
        let (mut shed, mut over) = (0, Ok(()));
        for (to, packet) in packets.iter() {
            match far.send(to, packet) {
                Ok(()) => {}
                Err(Shed::Corrupt(corrupt)) => over = Err(corrupt.to_string()),
                Err(_) => shed += 1,
            }
        }
        far.publish();
        over.map(|()| shed)
    }
}
