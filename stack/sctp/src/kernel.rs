//! The kernel's SCTP behind the same interface: options and notifications of RFC 6458, as
//! linux/sctp.h lays them out. What the kernel has no option for stays as the kernel has it.

use crate::config::Config;
use crate::kernel_event::{Event, read};
use crate::kernel_status;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use driver::SocketOptions;
use driver::sctp::{BINDX_ADD, BINDX_REM, Received, STORAGE_BYTES, SctpSocket, SendInfo, sockaddr};
use machine::{Duration, Time};
use sctp::{
    AssociationId, Failure, In, Indication, Lost, Message, Out, Outgoing, Parameters,
    PathParameters, Refused, Status,
};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Octets that one call receives.
const RECEIVE_BYTES: usize = 65_536;
/// Octets of a message that comes in parts; a longer one ends its association.
const MESSAGE_MAX: usize = 16 << 20;
/// Messages and notifications taken at one time.
const TURN_MAX: usize = 256;
/// After this a full send buffer is tried again.
const RETRY: Duration = Duration::from_millis(1);

const RTOINFO: i32 = 0;
const ASSOCINFO: i32 = 1;
const INITMSG: i32 = 2;
const NODELAY: i32 = 3;
const PRIMARY_ADDR: i32 = 6;
const PEER_ADDR_PARAMS: i32 = 9;
const DELAYED_SACK: i32 = 16;
const MAX_BURST: i32 = 20;
const PEER_ADDR_THLDS: i32 = 31;
const RECVRCVINFO: i32 = 32;
const EVENT: i32 = 127;
/// `SCTP_ASSOC_CHANGE`, `SCTP_PEER_ADDR_CHANGE`, `SCTP_REMOTE_ERROR`, `SCTP_SEND_FAILED_EVENT`.
const EVENTS: [u16; 4] = [0x8001, 0x8002, 0x8004, 0x800D];
const UNORDERED: u16 = 1;
const ABORT: u16 = 4;
const SACK_IMMEDIATELY: u16 = 8;
const EOF: u16 = 512;
/// `SPP_HB_ENABLE`, `SPP_HB_DISABLE`.
const HEARTBEATS: [u32; 2] = [1, 2];

/// A one-to-many socket and what is known of its associations.
#[derive(Debug)]
pub(crate) struct Kernel {
    socket: SctpSocket,
    port: u16,
    addresses: Vec<IpAddr>,
    most: usize,
    parameters: Parameters,
    standing: BTreeMap<i32, Standing>,
    /// When a full send buffer is tried again, and for whom.
    full: Option<(Time, Vec<i32>)>,
    buffer: Vec<u8>,
}

/// What is known of an association.
#[derive(Debug, Default)]
struct Standing {
    /// What has come of a message.
    bytes: Vec<u8>,
    is_aborted_here: bool,
}

/// The kernel's number of an association.
const fn number(id: AssociationId) -> i32 {
    id.foreign_number() as i32
}

/// The name of the kernel's association with that number.
pub(crate) const fn name(number: i32) -> AssociationId {
    AssociationId::foreign(number as u32)
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

/// Octets of a structure, piece by piece.
fn layout<const N: usize>(parts: [&[u8]; N]) -> Vec<u8> {
    parts.concat()
}

impl Kernel {
    /// A socket as the configuration says.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn open(config: &Config, parameters: Parameters) -> io::Result<Self> {
        let addresses = config.addresses.iter().map(|ip| SocketAddr::new(*ip, config.port));
        let addresses: Vec<SocketAddr> = addresses.collect();
        let options = SocketOptions {
            receive_buffer_bytes: parameters.receive_buffer as usize,
            send_buffer_bytes: parameters.send_buffer as usize,
            ..SocketOptions::default()
        };
        let socket = SctpSocket::bind(&addresses, config.listens, &options)?;
        for event in EVENTS {
            let [low, high] = event.to_ne_bytes();
            socket.set(EVENT, &[0, 0, 0, 0, low, high, 1, 0])?;
        }
        socket.set(RECVRCVINFO, &1u32.to_ne_bytes())?;
        let made = Self {
            socket,
            port: config.port,
            addresses: config.addresses.clone(),
            most: config.associations_max as usize,
            parameters,
            standing: BTreeMap::new(),
            full: None,
            buffer: vec![0; RECEIVE_BYTES],
        };
        let streams = [parameters.outbound_streams, parameters.inbound_streams];
        let attempts = [parameters.max_init_retransmits, 0];
        let init: Vec<u8> =
            [streams, attempts].concat().into_iter().flat_map(u16::to_ne_bytes).collect();
        made.socket.set(INITMSG, &init)?;
        made.apply(0, &parameters)?;
        Ok(made)
    }

    /// What is watched for arrivals.
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        self.socket.descriptor()
    }

    /// Parameters of an association, 0: of those to come.
    fn apply(&self, association: i32, parameters: &Parameters) -> io::Result<()> {
        let id = association.to_ne_bytes();
        let PathParameters { rto_initial, rto_max, rto_min, .. } = parameters.path;
        let [initial, most, least] =
            [rto_initial, rto_max, rto_min].map(|time| milliseconds(time).to_ne_bytes());
        self.socket.set(RTOINFO, &layout([&id, &initial, &most, &least]))?;
        let life = milliseconds(parameters.valid_cookie_life).to_ne_bytes();
        let retrans = parameters.association_max_retrans.to_ne_bytes();
        self.socket.set(ASSOCINFO, &layout([&id, &retrans, &[0; 10], &life]))?;
        let delay = milliseconds(parameters.sack_delay).to_ne_bytes();
        let frequency = u32::from(parameters.sack_frequency).to_ne_bytes();
        self.socket.set(DELAYED_SACK, &layout([&id, &delay, &frequency]))?;
        let burst = u32::from(parameters.max_burst.unwrap_or(0)).to_ne_bytes();
        self.socket.set(MAX_BURST, &layout([&id, &burst]))?;
        self.socket.set(NODELAY, &u32::from(!parameters.nagle).to_ne_bytes())?;
        self.apply_path(association, None, &parameters.path)
    }

    /// Parameters of a path, `None`: of all.
    fn apply_path(
        &self,
        association: i32,
        address: Option<IpAddr>,
        path: &PathParameters,
    ) -> io::Result<()> {
        let id = association.to_ne_bytes();
        let storage = storage(address.map(|ip| SocketAddr::new(ip, 0)));
        let interval = milliseconds(path.hb_interval.unwrap_or_default()).to_ne_bytes();
        let flags = HEARTBEATS[usize::from(path.hb_interval.is_none())].to_ne_bytes();
        let retrans = path.path_max_retrans.to_ne_bytes();
        // pmtu, SACK delay; flow label, DSCP and what fills up to a multiple of four.
        let rest = layout([&[0; 8], &flags, &[0; 6]]);
        let value = layout([&id, &storage, &interval, &retrans, &rest]);
        self.socket.set(PEER_ADDR_PARAMS, &value)?;
        let failed = path.potentially_failed_max_retrans.unwrap_or(u16::MAX).to_ne_bytes();
        // This one is aligned to eight octets.
        let value = layout([&id, &[0; 4], &storage, &retrans, &failed, &[0; 4]]);
        self.socket.set(PEER_ADDR_THLDS, &value)
    }

    pub(crate) fn associate(&mut self, peer: &[SocketAddr]) -> Result<AssociationId, Refused> {
        if self.standing.len() >= self.most {
            return Err(Refused::Full);
        }
        match self.socket.connect(peer) {
            Ok(association) => {
                self.standing.insert(association, Standing::default());
                Ok(name(association))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Refused::Exists),
            Err(error) if error.raw_os_error().is_some_and(is_standing) => Err(Refused::Exists),
            Err(_) => Err(Refused::Addresses),
        }
    }

    pub(crate) fn step(&mut self, now: Time, wish: In, out: &mut Vec<Out>) {
        let done = match wish {
            In::Send(id, message) => return self.send(now, id, &message, out),
            In::Shutdown(id) => self.end(id, EOF, &[]),
            In::Abort(id, reason) => {
                let standing = self.standing.get_mut(&number(id));
                standing.into_iter().for_each(|it| it.is_aborted_here = true);
                self.end(id, ABORT, &reason)
            }
            In::SetPrimary(id, address) => {
                let storage = storage(Some(SocketAddr::new(address, self.peer_port(id))));
                self.socket.set(PRIMARY_ADDR, &layout([&number(id).to_ne_bytes(), &storage]))
            }
            In::SetParameters(id, parameters) => self.apply(number(id), &parameters),
            In::SetPathParameters(id, address, path) => {
                self.apply_path(number(id), Some(address), &path)
            }
            // The kernel does these by itself or not at all.
            _ => Ok(()),
        };
        // An association that is over meanwhile has told so.
        drop(done);
    }

    fn peer_port(&self, id: AssociationId) -> u16 {
        self.status(id).map_or(0, |status| status.peer_port)
    }

    fn end(&self, id: AssociationId, flags: u16, reason: &[u8]) -> io::Result<()> {
        let info = SendInfo { flags, association: number(id), ..SendInfo::default() };
        self.socket.send(&info, reason)
    }

    fn send(&mut self, now: Time, id: AssociationId, message: &Outgoing, out: &mut Vec<Out>) {
        let mut flags = 0;
        if message.is_unordered {
            flags |= UNORDERED;
        }
        if message.is_immediate {
            flags |= SACK_IMMEDIATELY;
        }
        let info = SendInfo {
            stream: message.stream,
            flags,
            ppid: message.ppid.to_be(),
            // The kernel gives it back; ours are small.
            context: u32::try_from(message.context).unwrap_or(u32::MAX),
            association: number(id),
        };
        let failure = match self.socket.send(&info, &message.payload) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let full = self.full.get_or_insert_with(|| (now + RETRY, Vec::new()));
                if !full.1.contains(&number(id)) {
                    full.1.push(number(id));
                }
                Failure::BufferFull
            }
            Err(_) => Failure::Refused,
        };
        out.push(Out::Indicate(id, Indication::SendFailure(message.context, failure)));
    }

    /// Takes what the kernel has; true when there may be more.
    pub(crate) fn receive(&mut self, out: &mut Vec<Out>) -> bool {
        for _ in 0..TURN_MAX {
            let mut buffer = core::mem::take(&mut self.buffer);
            let received = self.socket.receive(&mut buffer);
            match received {
                Ok(Some(received)) => self.received(&received, &buffer, out),
                Ok(None) | Err(_) => {
                    self.buffer = buffer;
                    return false;
                }
            }
            self.buffer = buffer;
        }
        true
    }

    fn received(&mut self, received: &Received, buffer: &[u8], out: &mut Vec<Out>) {
        let bytes = &buffer[..received.length];
        if received.is_notification {
            return self.notified(bytes, out);
        }
        let (stream, flags, ppid, association) = received.info;
        let Some(partial) = self.standing.get_mut(&association) else { return };
        let payload = if received.is_end && partial.bytes.is_empty() {
            Bytes::copy_from_slice(bytes)
        } else {
            partial.bytes.extend_from_slice(bytes);
            if partial.bytes.len() > MESSAGE_MAX {
                partial.bytes.clear();
                // It may be over meanwhile: then that has been told.
                drop(self.end(name(association), ABORT, b"a message is too long"));
                return;
            }
            if !received.is_end {
                return;
            }
            Bytes::from(core::mem::take(&mut partial.bytes))
        };
        let (ppid, is_unordered) = (u32::from_be(ppid), flags & UNORDERED != 0);
        let message = Message { stream, ppid, is_unordered, payload };
        out.push(Out::Indicate(name(association), Indication::Data(message)));
    }

    fn notified(&mut self, bytes: &[u8], out: &mut Vec<Out>) {
        let Some(Event { association, what }) = read(bytes) else { return };
        let is_up = matches!(what, Indication::CommunicationUp(..));
        if is_up {
            let is_known = self.standing.contains_key(&association);
            if !is_known && self.standing.len() >= self.most {
                // More than there may be; nobody has been told of it.
                drop(self.end(name(association), ABORT, b"out of resource"));
                return;
            }
            self.standing.entry(association).or_default();
        }
        if !is_up && !self.standing.contains_key(&association) {
            return;
        }
        let is_over =
            matches!(what, Indication::ShutdownComplete | Indication::CommunicationLost(_));
        let over = if is_over { self.standing.remove(&association) } else { None };
        let what = match what {
            Indication::CommunicationLost(_) if over.is_some_and(|it| it.is_aborted_here) => {
                Indication::CommunicationLost(Lost::UserAborted)
            }
            Indication::CommunicationLost(Lost::PeerAborted(0)) => {
                Indication::CommunicationLost(Lost::Unreachable)
            }
            other => other,
        };
        out.push(Out::Indicate(name(association), what));
    }

    /// A send buffer that was full is worth another try.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.full.as_ref().is_some_and(|(at, _)| *at <= now)
            && let Some((_, waiting)) = self.full.take()
        {
            let standing = waiting.into_iter().filter(|it| self.standing.contains_key(it));
            out.extend(standing.map(|it| Out::Indicate(name(it), Indication::SendBufferFree)));
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.full.as_ref().map(|(at, _)| *at)
    }

    pub(crate) fn status(&self, id: AssociationId) -> Option<Status> {
        self.standing.get(&number(id))?;
        kernel_status::read(&self.socket, number(id))
    }

    pub(crate) fn associations(&self) -> Vec<AssociationId> {
        self.standing.keys().map(|number| name(*number)).collect()
    }

    pub(crate) fn set_limits(&mut self, parameters: Parameters, most: usize) {
        self.most = most;
        if parameters != self.parameters {
            self.parameters = parameters;
            // What the kernel refuses stays as it was.
            drop(self.apply(0, &parameters));
        }
    }

    /// Addresses come and go, in associations that stand as well where `net.sctp.addip_enable`
    /// lets them.
    pub(crate) fn set_addresses(&mut self, next: &[IpAddr]) {
        let changes = next.iter().filter(|it| !self.addresses.contains(it));
        let changes = changes.map(|it| (BINDX_ADD, *it));
        let gone = self.addresses.iter().filter(|it| !next.contains(it));
        let changes: Vec<(i32, IpAddr)> = changes.chain(gone.map(|it| (BINDX_REM, *it))).collect();
        for (option, address) in changes {
            // An address that this machine does not have is not used.
            drop(self.socket.set(option, &sockaddr(&SocketAddr::new(address, self.port))));
        }
        self.addresses = next.to_vec();
    }
}

/// Linux says either of these of an association that stands or is being set up.
const fn is_standing(errno: i32) -> bool {
    const EISCONN: i32 = 106;
    const EALREADY: i32 = 114;
    matches!(errno, EISCONN | EALREADY)
}

/// A `struct sockaddr_storage`; without an address all zero: every one.
pub(crate) fn storage(address: Option<SocketAddr>) -> [u8; STORAGE_BYTES] {
    let mut bytes = [0; STORAGE_BYTES];
    if let Some(address) = address {
        let packed = sockaddr(&address);
        bytes[..packed.len()].copy_from_slice(&packed);
    }
    bytes
}
