//! What an endpoint is told and what it wants done: the interface to the user (RFC 9260 §11) and
//! to the driver below.

use crate::association::{
    AddressRequest, Answer, Given, Message, Outgoing, Part, PathState, Request, Scheduler,
};
use crate::id::AssociationId;
use crate::parameters::{Parameters, PathParameters};
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use machine::Time;
use std::collections::BTreeMap;

/// What happened, or what the user wants.
#[derive(Debug)]
pub enum In {
    /// A packet came.
    Packet(Packet),
    /// An ICMP message came about a packet of ours.
    Icmp(Icmp),
    /// SEND.
    Send(AssociationId, Outgoing),
    /// SHUTDOWN: everything queued is sent before.
    Shutdown(AssociationId),
    /// ABORT, with a reason for the peer.
    Abort(AssociationId, Bytes),
    /// SET PRIMARY.
    SetPrimary(AssociationId, IpAddr),
    /// SET PROTOCOL PARAMETERS of an association and of all its paths.
    SetParameters(AssociationId, Parameters),
    /// SET PROTOCOL PARAMETERS of one path.
    SetPathParameters(AssociationId, IpAddr, PathParameters),
    /// Which message is sent next (RFC 8260 §3).
    SetScheduler(AssociationId, Scheduler),
    /// Priority or weight of a stream (RFC 8260 §3.4, §3.6).
    SetStreamValue(AssociationId, u16, u16),
    /// Streams are to be reset or added (RFC 6525 §6.3); answered by
    /// [`Indication::Reconfigured`].
    Reconfigure(AssociationId, Request),
    /// An address of ours changes its part (RFC 5061); answered by
    /// [`Indication::AddressAnswer`].
    ChangeAddress(AssociationId, AddressRequest),
    /// A key of the endpoint pair for AUTH, by its identifier (RFC 4895 §6.1); answered by
    /// [`Indication::SharedKeyRefused`] when there are too many.
    SetSharedKey(AssociationId, u16, Bytes),
    /// The key that our AUTH chunks name from now on; the same answer when it is not known.
    UseSharedKey(AssociationId, u16),
    /// A key is not valid any more; the same answer when it is in use or not known.
    RemoveSharedKey(AssociationId, u16),
    /// REQUEST HEARTBEAT.
    RequestHeartbeat(AssociationId, IpAddr),
    /// RECEIVE: the user has taken that many octets
    /// ([`counts_unread`](Parameters::counts_unread)).
    Consume(AssociationId, u32),
}

/// A packet that came.
#[derive(Debug, Clone)]
pub struct Packet {
    /// The peer's address, and its UDP port when the packet was encapsulated (RFC 6951), else 0.
    pub source: SocketAddr,
    /// The address here.
    pub destination: IpAddr,
    /// Common header and chunks.
    pub bytes: Bytes,
}

/// An ICMP or ICMPv6 message about a packet of ours (RFC 9260 §10). Those of other types
/// are not of interest.
#[derive(Debug, Clone)]
pub struct Icmp {
    /// Where the packet was to go.
    pub destination: IpAddr,
    /// What is the matter.
    pub error: IcmpError,
    /// The beginning of the packet from the common header on, as far as it is quoted.
    pub quoted: Bytes,
}

/// What is the matter with a packet of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IcmpError {
    /// It is larger than that many octets, IP header included.
    PacketTooBig(u16),
    /// There is no SCTP at the destination.
    ProtocolUnreachable,
}

/// A packet to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The address to send from; `None`: as the routes say.
    pub source: Option<IpAddr>,
    /// The peer's address, and its UDP port when the packet is to be encapsulated, else 0.
    pub destination: SocketAddr,
    /// The packet is larger than the PMTU of its path: IP may fragment it (no DF).
    pub may_fragment: bool,
    /// Common header and chunks. Give the buffer back with [`crate::Endpoint::recycle`].
    pub bytes: Vec<u8>,
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Send a packet.
    Transmit(Transmit),
    /// Tell the user of the association.
    Indicate(AssociationId, Indication),
}

/// What the user is told (RFC 9260 §11.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// COMMUNICATION UP: outbound and inbound streams.
    CommunicationUp(u16, u16),
    /// DATA ARRIVE and RECEIVE in one.
    Data(Message),
    /// The same for a part of a message that has not come whole yet
    /// ([`partial_delivery_point`](Parameters::partial_delivery_point)). Of the messages of a
    /// stream, ordered or unordered, only one at a time comes in parts; whole ones may come in
    /// between.
    DataPart(Message, Part),
    /// The rest of the message that came in parts on that stream, unordered or not, will not come:
    /// the peer has given it up (RFC 6458 §6.1.7).
    PartialDeliveryAborted(u16, bool),
    /// SEND FAILURE of the message with that context.
    SendFailure(u64, Failure),
    /// The send buffer has room again after a [`Failure::BufferFull`].
    SendBufferFree,
    /// NETWORK STATUS CHANGE.
    NetworkStatusChange(IpAddr, PathState),
    /// COMMUNICATION ERROR: the peer reports an error of that cause code.
    CommunicationError(u16),
    /// Streams were reset or added (RFC 6525 §6.1).
    Reconfigured(Reconfiguration),
    /// Adaptation Layer Indication of the peer (RFC 5061 §4.2.6).
    AdaptationLayer(u32),
    /// The peer has changed its addresses (RFC 5061).
    PeerAddress(IpAddr, AddressChange),
    /// What became of an [`In::ChangeAddress`].
    AddressAnswer(AddressRequest, Answer),
    /// The key with that identifier was not set, chosen or removed.
    SharedKeyRefused(u16),
    /// RESTART of the peer.
    Restart,
    /// SHUTDOWN COMPLETE; the association is gone.
    ShutdownComplete,
    /// COMMUNICATION LOST; the association is gone.
    CommunicationLost(Lost),
}

/// What the peer does with an address of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressChange {
    /// It can be reached there too.
    Added,
    /// It cannot be reached there any more.
    Removed,
    /// It wants to be reached there first.
    MadePrimary,
}

/// What became of streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reconfiguration {
    /// The numbers of these outgoing streams, or of all, begin anew.
    OutgoingReset(Vec<u16>),
    /// The numbers of these incoming streams, or of all, begin anew.
    IncomingReset(Vec<u16>),
    /// The numbers of all streams and the TSNs begin anew.
    AssociationReset,
    /// So many outgoing streams there are now.
    OutgoingStreams(u16),
    /// So many incoming streams there are now.
    IncomingStreams(u16),
    /// The request was refused, by the peer or here.
    Refused(Request),
}

/// Why a message did not arrive for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The send buffer is full; the message was not taken.
    BufferFull,
    /// There is no such stream, the message is empty, or the association takes no more.
    Refused,
    /// Its time ended before it was sent.
    Unsent,
    /// Its time ended after it was sent.
    Abandoned,
    /// The association ended before it was sent.
    LostUnsent,
    /// The association ended, or the peer restarted, before it was acknowledged.
    Lost,
}

/// Why an association was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// No answer: Association.Max.Retrans or Max.Init.Retransmits is exceeded.
    Unreachable,
    /// The peer sent an ABORT with that first cause code, 0 for none.
    PeerAborted(u16),
    /// The peer broke the rules.
    ProtocolViolation(&'static str),
    /// The user aborted it.
    UserAborted,
    /// The peer takes cookies for stale.
    StaleCookie,
}

/// Buffers kept for the next packets.
const BUFFERS_MAX: usize = 256;
/// Octets that a buffer begins with.
const BUFFER_BYTES: usize = 2048;

/// Buffers for packets, used again and again.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: Vec<Vec<u8>>,
}

impl Pool {
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES))
    }

    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.free.len() < BUFFERS_MAX {
            buffer.clear();
            self.free.push(buffer);
        }
    }
}

/// What an association needs from its endpoint for the time of one call.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) id: AssociationId,
    pub(crate) port: u16,
    pub(crate) addresses: &'a [IpAddr],
    /// The associations by the peer's address and port.
    pub(crate) peers: &'a BTreeMap<(IpAddr, u16), u32>,
    pub(crate) out: &'a mut Vec<Out>,
    pub(crate) pool: &'a mut Pool,
    pub(crate) random: &'a mut crate::random::Random,
}

impl Context<'_> {
    pub(crate) fn indicate(&mut self, indication: Indication) {
        self.out.push(Out::Indicate(self.id, indication));
    }

    /// Hands the user what reassembly gives; its octets are `unread` where that counts.
    pub(crate) fn hand(&mut self, mut unread: Option<&mut usize>) -> impl FnMut(Given) {
        move |given| {
            let indication = match given {
                Given::Whole(message) => Indication::Data(message),
                Given::Part(message, part) => Indication::DataPart(message, part),
                Given::Aborted(stream, is_unordered) => {
                    Indication::PartialDeliveryAborted(stream, is_unordered)
                }
            };
            if let (Some(unread), Indication::Data(message) | Indication::DataPart(message, _)) =
                (&mut unread, &indication)
            {
                **unread += message.payload.len();
            }
            self.indicate(indication);
        }
    }
}
