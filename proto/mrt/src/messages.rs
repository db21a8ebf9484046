//! BGP4MP: messages and changes of state (RFC 6396 §4.4, RFC 8050 §3).

use crate::peers::{read_address, read_asn};
use crate::records::MessageSubtype;
use bgp::codec::{Asn, Context, EXTENDED_MESSAGE_BYTES_MAX, Framing, MessageType, Peering, frame};
use bgp::family::{Family, FamilySet};
use core::net::IpAddr;
use wire::{Cursor, Malformed};

const AFI_IPV4: u16 = 1;
const AFI_IPV6: u16 = 2;

wire::rows! {
    /// States of the session, as they are numbered in a file.
    pub enum FsmState: u16 {
        /// Nothing is wanted.
        Idle = 1, "Idle", "RFC 6396 §4.4.1";
        /// A connection is being opened.
        Connect = 2, "Connect", "RFC 6396 §4.4.1";
        /// The peer may open a connection.
        Active = 3, "Active", "RFC 6396 §4.4.1";
        /// Our OPEN was sent.
        OpenSent = 4, "OpenSent", "RFC 6396 §4.4.1";
        /// Both OPENs are there.
        OpenConfirm = 5, "OpenConfirm", "RFC 6396 §4.4.1";
        /// Routes are exchanged.
        Established = 6, "Established", "RFC 6396 §4.4.1";
    }
}

/// Between whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ends {
    /// The peer's AS.
    pub peer_as: Asn,
    /// The collector's AS.
    pub local_as: Asn,
    /// The number of the interface, zero for none.
    pub interface: u16,
    /// The peer's address.
    pub peer: IpAddr,
    /// The collector's address.
    pub local: IpAddr,
}

impl Ends {
    /// Takes them; `None` if the addresses are neither IPv4 nor IPv6.
    fn read(cursor: &mut Cursor<'_>, is_as4: bool) -> Result<Option<Self>, Malformed> {
        let peer_as = read_asn(cursor, is_as4)?;
        let local_as = read_asn(cursor, is_as4)?;
        let interface = cursor.be16("the number of the interface is cut off")?;
        let afi = cursor.be16("the address family is cut off")?;
        if afi != AFI_IPV4 && afi != AFI_IPV6 {
            return Ok(None);
        }
        let peer = read_address(cursor, afi == AFI_IPV6)?;
        let local = read_address(cursor, afi == AFI_IPV6)?;
        Ok(Some(Self { peer_as, local_as, interface, peer, local }))
    }
}

/// A session changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateChange {
    /// Between whom.
    pub ends: Ends,
    /// The state it left; `None` if the number is none of a state.
    pub from: Option<FsmState>,
    /// The state it is in.
    pub to: Option<FsmState>,
}

impl StateChange {
    /// `None`: its address family is not understood.
    pub(crate) fn read(body: &[u8], at: usize, is_as4: bool) -> Result<Option<Self>, Malformed> {
        let mut cursor = Cursor::new(body, at, "RFC 6396 §4.4.1");
        let Some(ends) = Ends::read(&mut cursor, is_as4)? else { return Ok(None) };
        let from = FsmState::of(cursor.be16("the old state is cut off")?);
        let to = FsmState::of(cursor.be16("the new state is cut off")?);
        match cursor.is_empty() {
            true => Ok(Some(Self { ends, from, to })),
            false => Err(cursor.violation("octets follow the states")),
        }
    }
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The peer sent it.
    Received,
    /// The collector sent it.
    Sent,
}

/// A BGP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Between whom.
    pub ends: Ends,
    /// Which way.
    pub direction: Direction,
    /// ASes in it have four octets.
    pub four_octet_as: bool,
    /// Its routes have path identifiers.
    pub add_path: bool,
    /// What it is.
    pub kind: MessageType,
    /// Offset in the file of the message.
    pub at: usize,
    /// The message with its header.
    pub message: &'a [u8],
}

/// Four-octet ASes, direction, path identifiers.
const fn form(subtype: MessageSubtype) -> (bool, Direction, bool) {
    use MessageSubtype as S;
    match subtype {
        S::Message | S::StateChange => (false, Direction::Received, false),
        S::MessageAs4 | S::StateChangeAs4 => (true, Direction::Received, false),
        S::MessageLocal => (false, Direction::Sent, false),
        S::MessageAs4Local => (true, Direction::Sent, false),
        S::MessageAddPath => (false, Direction::Received, true),
        S::MessageAs4AddPath => (true, Direction::Received, true),
        S::MessageLocalAddPath => (false, Direction::Sent, true),
        S::MessageAs4LocalAddPath => (true, Direction::Sent, true),
    }
}

impl<'a> Message<'a> {
    /// `None`: its address family is not understood.
    pub(crate) fn read(
        body: &'a [u8],
        at: usize,
        subtype: MessageSubtype,
    ) -> Result<Option<Self>, Malformed> {
        let mut cursor = Cursor::new(body, at, "RFC 6396 §4.4.2");
        let (four_octet_as, direction, add_path) = form(subtype);
        let Some(ends) = Ends::read(&mut cursor, four_octet_as)? else {
            return Ok(None);
        };
        let at = cursor.at();
        let (kind, message) = match frame(cursor.rest(), EXTENDED_MESSAGE_BYTES_MAX) {
            Framing::Message(kind, message) => (kind, message),
            Framing::Partial => return Err(cursor.violation("the message is cut off")),
            Framing::Broken(violation) => return Err(violation.malformed.shifted(at)),
        };
        if message.len() != cursor.rest().len() {
            return Err(cursor.violation("octets follow the message"));
        }
        let message = Self { ends, direction, four_octet_as, add_path, kind, at, message };
        Ok(Some(message))
    }

    /// In what context an UPDATE is read: every family, what is internal is taken from everybody.
    #[must_use]
    pub fn context(&self) -> Context {
        let all: FamilySet = Family::ALL.iter().copied().collect();
        Context {
            peering: Peering::Internal,
            four_octet_as: self.four_octet_as,
            families: all,
            add_path: if self.add_path { all } else { FamilySet::EMPTY },
            extended_next_hop: all,
            multiple_labels: all,
            aigp: true,
            first_as: None,
        }
    }
}
