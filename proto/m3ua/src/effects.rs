//! What a process is told and what it wants done: the interface to the MTP3 user, to layer
//! management (RFC 4666 §1.6) and to the transport below.

use crate::codec::{
    Affected, ErrorCode, MessageType, NetworkAppearance, Notification, PointCode, ServerState,
    UserCause,
};
use crate::id::{PeerId, ServerId};
use crate::parameters::Parameters;
use bytes::Bytes;

/// An MSU with its routing label: MTP-TRANSFER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Which SS7 network.
    pub network: Option<NetworkAppearance>,
    /// Originating Point Code.
    pub opc: PointCode,
    /// Destination Point Code.
    pub dpc: PointCode,
    /// Service Indicator.
    pub si: u8,
    /// Network Indicator.
    pub ni: u8,
    /// Message Priority.
    pub mp: u8,
    /// Signalling Link Selection: MSUs with the same one keep their order.
    pub sls: u8,
    /// What the user sends.
    pub payload: Bytes,
}

/// What happened, or what is wanted.
#[derive(Debug, Clone)]
pub enum In {
    /// The association came up, with that many outbound streams; `None` for a transport without
    /// streams (TCP).
    CommunicationUp(PeerId, Option<u16>),
    /// The association was lost or shut down.
    CommunicationLost(PeerId),
    /// The peer restarted its end of the association (SCTP-RESTART).
    CommunicationRestart(PeerId),
    /// The transport is congested to that level, 0 when it is not any more.
    TransportCongestion(PeerId, u8),
    /// A message came on a stream.
    Message(PeerId, u16, Bytes),
    /// MTP-TRANSFER request.
    Transfer(Transfer),
    /// The SS7 network behind this SGP: destinations are unavailable (MTP-PAUSE).
    Pause(Option<NetworkAppearance>, Affected),
    /// They are available again (MTP-RESUME).
    Resume(Option<NetworkAppearance>, Affected),
    /// They are restricted.
    Restrict(Option<NetworkAppearance>, Affected),
    /// They are congested, or a user part is unavailable there (MTP-STATUS).
    Status(Option<NetworkAppearance>, Affected, Cause),
    /// The SS7 network behind this SGP is isolated until its MTP3 has restarted: no destination of
    /// it can be reached, whatever is said meanwhile (RFC 4666 §4.6).
    RestartBegins(Option<NetworkAppearance>),
    /// The MTP3 restart is complete: ASPs are told what was said meanwhile.
    RestartEnds(Option<NetworkAppearance>),
    /// An ASP asks an SGP for the status of destinations (DAUD).
    Audit(PeerId, Option<NetworkAppearance>, Vec<Affected>),
    /// An MSU of that ASP has no way to its destination (DUNA), or there is no such user part
    /// there (DUPU): the ASP is told, nobody else is (RFC 4666 §3.4.1, §3.4.5).
    Unreachable(PeerId, Option<NetworkAppearance>, PointCode, Option<UserCause>),
    /// M-ASP_UP request: this process is to be up at that peer.
    AspUp(PeerId),
    /// M-ASP_DOWN request.
    AspDown(PeerId),
    /// M-ASP_ACTIVE request: this process is to serve that Application Server at that peer.
    AspActive(PeerId, ServerId),
    /// M-ASP_INACTIVE request.
    AspInactive(PeerId, ServerId),
    /// M-RK_DEREG request: the Routing Context is given back.
    Deregister(PeerId, ServerId),
    /// The management locks the peer out, or lets it in again (RFC 4666 §4.7).
    Block(PeerId, bool),
    /// New parameters; those that are not valid change nothing.
    SetParameters(Parameters),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Send a message on that stream, with payload protocol identifier
    /// [`crate::codec::SCTP_PPID`].
    Send(PeerId, u16, Bytes),
    /// Abort the association; it is taken for lost already.
    Abort(PeerId),
    /// Tell the user or the management.
    Indicate(Indication),
}

/// Why a destination is not as it should be: the cause of MTP-STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Congested to that level: 1 to 3, 0 when it is over; `None` in networks without levels.
    Congestion(Option<u8>),
    /// The user part there is unavailable.
    UserPartUnavailable(UserCause),
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// MTP-TRANSFER: from which peer, for which Application Server, and the Correlation Id of a
    /// broadcast.
    Transfer(PeerId, ServerId, Option<u32>, Transfer),
    /// An MTP-TRANSFER request found neither Application Server nor way and was discarded.
    Unroutable(Option<NetworkAppearance>, PointCode),
    /// MTP-PAUSE: there is no way to these destinations any more.
    Pause(Option<NetworkAppearance>, Affected),
    /// MTP-RESUME: there is a way again.
    Resume(Option<NetworkAppearance>, Affected),
    /// There is a way again or still, but another one, if there is any, is better (DRST).
    Restrict(Option<NetworkAppearance>, Affected),
    /// MTP-STATUS; the last is the Concerned Destination of an ASP's SCON.
    Status(Option<NetworkAppearance>, Affected, Cause, Option<PointCode>),
    /// One of the last four, as an ASP or an IPSP says it of destinations behind it. Nothing
    /// proves that they are: who knows what may come from the peer has to ask.
    Said(PeerId, Box<Indication>),
    /// M-ASP_STATUS: the ASP at the other end of that association, or this process there, is up
    /// or down.
    AspUp(PeerId, bool),
    /// M-ASP_STATUS: the same ASP is active or inactive for that Application Server.
    AspActive(PeerId, ServerId, bool),
    /// M-AS_STATUS.
    Server(ServerId, ServerState),
    /// M-NOTIFY: what was told by NTFY, with the ASP Identifier it names.
    Notified(PeerId, Option<ServerId>, Notification, Option<u32>),
    /// M-ERROR: the peer sent an ERR with that number.
    Error(PeerId, u32),
    /// M-ERROR: the peer's message was answered by an ERR.
    Offended(PeerId, ErrorCode),
    /// The peer did not answer in all the time that there is; asking has ended.
    Unanswered(PeerId, MessageType),
    /// M-RK_REG: the number of the Registration Status.
    Registered(PeerId, Option<ServerId>, u32),
    /// M-RK_DEREG: the number of the Deregistration Status.
    Deregistered(PeerId, Option<ServerId>, u32),
}
