//! Messages as they are read (RFC 7854 §4). Nothing is copied.

use crate::header::{HEADER_BYTES, MESSAGE_BYTES_MAX, MessageType, VERSION};
use crate::information::Tlvs;
use crate::peer::{PeerHeader, read_address};
use crate::statistics::Statistics;
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, Framing as Framed, MessageType as BgpType};
use core::net::IpAddr;
use wire::{Cursor, Malformed};

wire::rows! {
    /// Why a session ended.
    pub enum DownReason: u8 {
        /// We sent a NOTIFICATION.
        LocalNotification = 1, "local system closed with NOTIFICATION", "RFC 7854 §4.9";
        /// We ended it without one.
        LocalEvent = 2, "local system closed without NOTIFICATION", "RFC 7854 §4.9";
        /// The peer sent a NOTIFICATION.
        RemoteNotification = 3, "remote system closed with NOTIFICATION", "RFC 7854 §4.9";
        /// The peer ended it without one.
        RemoteClosed = 4, "remote system closed without data", "RFC 7854 §4.9";
        /// The station is told no more of the peer.
        DeConfigured = 5, "peer de-configured", "RFC 7854 §4.9";
        /// The table of the Loc-RIB is gone, information follows.
        LocalClosed = 6, "local system closed, TLV data follows", "RFC 9069 §5.3";
    }
}

wire::rows! {
    /// Why nobody speaks any more.
    pub enum TerminationReason: u16 {
        /// The operator wants it.
        AdministrativelyClosed = 0, "session administratively closed", "RFC 7854 §4.5";
        /// Not said.
        Unspecified = 1, "unspecified reason", "RFC 7854 §4.5";
        /// Something ran out.
        OutOfResources = 2, "out of resources", "RFC 7854 §4.5";
        /// There is another session with the station.
        Redundant = 3, "redundant connection", "RFC 7854 §4.5";
        /// The operator wants it, and it shall not come back.
        PermanentlyClosed = 4, "session permanently administratively closed", "RFC 7854 §4.5";
    }
}

/// A session that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerUp<'a> {
    /// Our address.
    pub local: IpAddr,
    /// Our port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
    /// The OPEN that we sent, with its header.
    pub sent: &'a [u8],
    /// The OPEN that came, with its header.
    pub received: &'a [u8],
    /// More: of a Loc-RIB the name of its table.
    pub information: Tlvs<'a>,
}

/// A session that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerDown<'a> {
    /// We sent this NOTIFICATION, with its header.
    LocalNotification(&'a [u8]),
    /// An event of the state machine, zero for none (RFC 4271 §8.1).
    LocalEvent(u16),
    /// This NOTIFICATION came, with its header.
    RemoteNotification(&'a [u8]),
    /// The peer ended it.
    RemoteClosed,
    /// The station is told no more of the peer.
    DeConfigured,
    /// The table of the Loc-RIB is gone.
    LocalClosed(Tlvs<'a>),
    /// A reason that is not known, and its data.
    Unknown(u8, &'a [u8]),
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// An UPDATE, with its header.
    RouteMonitoring(PeerHeader, &'a [u8]),
    /// Counters.
    StatisticsReport(PeerHeader, Statistics<'a>),
    /// A session ended.
    PeerDown(PeerHeader, PeerDown<'a>),
    /// A session is there.
    PeerUp(PeerHeader, PeerUp<'a>),
    /// Who speaks.
    Initiation(Tlvs<'a>),
    /// Why nobody speaks any more.
    Termination(Tlvs<'a>),
    /// What came, as [`crate::MirroringType`] says.
    RouteMirroring(PeerHeader, Tlvs<'a>),
    /// A message or a kind of peer that is not known: to be passed over.
    Unknown(u8),
}

/// What octets begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framing<'a> {
    /// A message, and how many octets it has.
    Message(Message<'a>, usize),
    /// One that is not whole.
    Partial,
    /// One that is malformed inside, and how many octets it has: the next one can be read.
    Malformed(Malformed, usize),
    /// None: the stream cannot be read any further.
    Broken(Malformed),
}

/// Finds the message that `bytes` begin with and reads it.
#[must_use]
pub fn frame(bytes: &[u8]) -> Framing<'_> {
    let Some(&[version, l0, l1, l2, l3, kind]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Framing::Partial;
    };
    let broken = |at, what| Framing::Broken(Malformed::new(at, what, "RFC 7854 §4.1"));
    if version != VERSION {
        return broken(0, "the version is not spoken");
    }
    let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
    if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
        return broken(1, "no message has that length");
    }
    let Some(octets) = bytes.get(..length) else { return Framing::Partial };
    match read(kind, &octets[HEADER_BYTES..]) {
        Ok(message) => Framing::Message(message, length),
        Err(malformed) => Framing::Malformed(malformed, length),
    }
}

fn read(number: u8, body: &[u8]) -> Result<Message<'_>, Malformed> {
    let Some(kind) = MessageType::of(number) else { return Ok(Message::Unknown(number)) };
    let mut cursor = Cursor::new(body, HEADER_BYTES, kind.spec());
    match kind {
        MessageType::Initiation => return Tlvs::read(&mut cursor).map(Message::Initiation),
        MessageType::Termination => return Tlvs::read(&mut cursor).map(Message::Termination),
        _ => {}
    }
    let Some(peer) = PeerHeader::read(&mut cursor)? else { return Ok(Message::Unknown(number)) };
    Ok(match kind {
        MessageType::RouteMonitoring => {
            let update = take_bgp(&mut cursor, BgpType::Update)?;
            match cursor.is_empty() {
                true => Message::RouteMonitoring(peer, update),
                false => return Err(cursor.violation("octets follow the UPDATE")),
            }
        }
        MessageType::StatisticsReport => {
            Message::StatisticsReport(peer, Statistics::read(&mut cursor)?)
        }
        MessageType::PeerDown => Message::PeerDown(peer, read_down(&mut cursor)?),
        MessageType::PeerUp => Message::PeerUp(peer, read_up(&mut cursor, &peer)?),
        MessageType::RouteMirroring => Message::RouteMirroring(peer, Tlvs::read(&mut cursor)?),
        MessageType::Initiation | MessageType::Termination => Message::Unknown(number),
    })
}

/// Takes a BGP message of that type, with its header.
fn take_bgp<'a>(cursor: &mut Cursor<'a>, kind: BgpType) -> Result<&'a [u8], Malformed> {
    match bgp::codec::frame(cursor.rest(), EXTENDED_MESSAGE_BYTES_MAX) {
        Framed::Message(found, message) if found == kind => {
            cursor.take(message.len(), "the BGP message is cut off")
        }
        Framed::Message(..) => Err(cursor.violation("the BGP message is of another type")),
        Framed::Partial => Err(cursor.violation("the BGP message is cut off")),
        Framed::Broken(violation) => Err(violation.malformed.shifted(cursor.at())),
    }
}

fn read_down<'a>(cursor: &mut Cursor<'a>) -> Result<PeerDown<'a>, Malformed> {
    let number = cursor.octet("the reason is cut off")?;
    Ok(match DownReason::of(number) {
        Some(DownReason::LocalNotification) => {
            PeerDown::LocalNotification(take_bgp(cursor, BgpType::Notification)?)
        }
        Some(DownReason::RemoteNotification) => {
            PeerDown::RemoteNotification(take_bgp(cursor, BgpType::Notification)?)
        }
        Some(DownReason::LocalEvent) => PeerDown::LocalEvent(cursor.be16("the event is cut off")?),
        Some(DownReason::RemoteClosed) => PeerDown::RemoteClosed,
        Some(DownReason::DeConfigured) => PeerDown::DeConfigured,
        Some(DownReason::LocalClosed) => PeerDown::LocalClosed(Tlvs::read(cursor)?),
        None => PeerDown::Unknown(number, cursor.rest()),
    })
}

fn read_up<'a>(cursor: &mut Cursor<'a>, peer: &PeerHeader) -> Result<PeerUp<'a>, Malformed> {
    let cut = "the ends of the session are cut off";
    let local = read_address(cursor.array(cut)?, peer.address.is_ipv6());
    let local_port = cursor.be16(cut)?;
    let remote_port = cursor.be16(cut)?;
    let sent = take_bgp(cursor, BgpType::Open)?;
    let received = take_bgp(cursor, BgpType::Open)?;
    let information = Tlvs::read(cursor)?;
    Ok(PeerUp { local, local_port, remote_port, sent, received, information })
}
