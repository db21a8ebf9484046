//! What hellos say in their TLVs.

use super::tlv::{TlvKind, VALUE_MAX, write_pieces, write_tlv};
use super::{Authentication, Hello, HelloKind, Pdu, PduKind, fill_length, header};
use crate::address::{AreaAddress, Level, Snpa, SystemId};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Malformed;

wire::rows! {
    /// How far the sender of a hello on a link of two is.
    pub enum ThreeWayState: u8 {
        /// It was heard.
        Up = 0, "Up", "RFC 5303 §3.1";
        /// It hears.
        Initializing = 1, "Initializing", "RFC 5303 §3.1";
        /// It hears nobody.
        Down = 2, "Down", "RFC 5303 §3.1";
    }
}

/// How far a link of two is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreeWay {
    /// How far the sender is.
    pub state: ThreeWayState,
    /// The sender's number of the circuit.
    pub circuit: u32,
    /// Who it hears, and that one's number of the circuit.
    pub neighbour: Option<(SystemId, u32)>,
}

impl ThreeWay {
    fn read(value: &[u8], at: usize) -> Result<Self, Malformed> {
        let mut cursor = wire::Cursor::new(value, at, "RFC 5303 §3.1");
        let what = "a three-way state is cut off";
        let unknown = cursor.violation("an unknown three-way state");
        let state = ThreeWayState::of(cursor.octet(what)?).ok_or(unknown)?;
        let circuit = if cursor.is_empty() { 0 } else { cursor.be32(what)? };
        let neighbour = if cursor.is_empty() {
            None
        } else {
            let system = SystemId(cursor.array(what)?);
            // Some speakers leave the number away.
            let number = if cursor.is_empty() { 0 } else { cursor.be32(what)? };
            Some((system, number))
        };
        Ok(Self { state, circuit, neighbour })
    }

    fn octets(&self) -> Vec<u8> {
        let mut out = vec![self.state.number()];
        out.extend_from_slice(&self.circuit.to_be_bytes());
        if let Some((system, circuit)) = self.neighbour {
            out.extend_from_slice(&system.0);
            out.extend_from_slice(&circuit.to_be_bytes());
        }
        out
    }
}

/// Restart (RFC 8706 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Restart {
    /// RR: the sender restarts, and asks for databases.
    pub is_request: bool,
    /// RA: the request was heard.
    pub is_answer: bool,
    /// SA: the adjacency shall not be told to others yet.
    pub suppresses: bool,
    /// PR: the sender will restart.
    pub is_planned: bool,
    /// PA: that was heard.
    pub is_planned_answer: bool,
    /// Seconds that are left, in answers.
    pub remaining_s: Option<u16>,
    /// Who is answered, on LANs.
    pub neighbour: Option<SystemId>,
}

impl Restart {
    fn read(value: &[u8], at: usize) -> Result<Self, Malformed> {
        let mut cursor = wire::Cursor::new(value, at, "RFC 8706 §3.1");
        let what = "a restart is cut off";
        let flags = cursor.octet(what)?;
        let remaining_s = if cursor.is_empty() { None } else { Some(cursor.be16(what)?) };
        let system = if cursor.is_empty() { None } else { Some(cursor.array(what)?) };
        Ok(Self {
            is_request: flags & 1 != 0,
            is_answer: flags & 2 != 0,
            suppresses: flags & 4 != 0,
            is_planned: flags & 8 != 0,
            is_planned_answer: flags & 16 != 0,
            remaining_s,
            neighbour: system.map(SystemId),
        })
    }

    fn octets(&self) -> Vec<u8> {
        let flags = u8::from(self.is_request)
            | u8::from(self.is_answer) << 1
            | u8::from(self.suppresses) << 2
            | u8::from(self.is_planned) << 3
            | u8::from(self.is_planned_answer) << 4;
        let mut out = vec![flags];
        out.extend_from_slice(&self.remaining_s.unwrap_or(0).to_be_bytes());
        self.neighbour.iter().for_each(|it| out.extend_from_slice(&it.0));
        out
    }
}

/// The TLVs of a hello.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HelloTlvs {
    /// Areas of the sender.
    pub areas: Vec<AreaAddress>,
    /// Protocols that it routes (NLPIDs).
    pub protocols: Vec<u8>,
    /// Its addresses of IPv4 on the link.
    pub addresses: Vec<Ipv4Addr>,
    /// Its link-local addresses of IPv6.
    pub ipv6: Vec<Ipv6Addr>,
    /// Who it hears on the LAN.
    pub neighbours: Vec<Snpa>,
    /// How far a link of two is.
    pub three_way: Option<ThreeWay>,
    /// Restart.
    pub restart: Option<Restart>,
}

impl HelloTlvs {
    /// Reads those of a hello.
    ///
    /// # Errors
    /// When one of them is not as it must be.
    pub fn read(pdu: &Pdu<'_>) -> Result<Self, Malformed> {
        let mut found = Self::default();
        for tlv in pdu.tlvs() {
            let tlv = tlv?;
            let mut cursor = tlv.cursor("ISO 10589 §9.5");
            match tlv.kind() {
                Some(TlvKind::AreaAddresses) => read_areas(&tlv, &mut found.areas)?,
                Some(TlvKind::Protocols) => found.protocols.extend_from_slice(tlv.value),
                Some(TlvKind::IpAddresses) => {
                    while !cursor.is_empty() {
                        found.addresses.push(cursor.be32("an address is cut off")?.into());
                    }
                }
                Some(TlvKind::Ipv6Addresses) => {
                    while !cursor.is_empty() {
                        let octets: [u8; 16] = cursor.array("an address is cut off")?;
                        found.ipv6.push(octets.into());
                    }
                }
                Some(TlvKind::LanNeighbours) => {
                    while !cursor.is_empty() {
                        found.neighbours.push(Snpa(cursor.array("a neighbour is cut off")?));
                    }
                }
                Some(TlvKind::ThreeWay) => {
                    found.three_way = Some(ThreeWay::read(tlv.value, tlv.at)?);
                }
                Some(TlvKind::Restart) => found.restart = Some(Restart::read(tlv.value, tlv.at)?),
                _ => {}
            }
        }
        Ok(found)
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_pieces(out, TlvKind::AreaAddresses, self.areas.iter().map(area_piece));
        if !self.protocols.is_empty() {
            write_tlv(out, TlvKind::Protocols.number(), &self.protocols);
        }
        write_pieces(out, TlvKind::IpAddresses, self.addresses.iter().map(Ipv4Addr::octets));
        write_pieces(out, TlvKind::Ipv6Addresses, self.ipv6.iter().map(Ipv6Addr::octets));
        if let Some(three_way) = &self.three_way {
            write_tlv(out, TlvKind::ThreeWay.number(), &three_way.octets());
        }
        if let Some(restart) = &self.restart {
            write_tlv(out, TlvKind::Restart.number(), &restart.octets());
        }
        write_pieces(out, TlvKind::LanNeighbours, self.neighbours.iter().map(|it| it.0));
    }
}

/// Reads the areas of a TLV.
pub(crate) fn read_areas(
    tlv: &super::Tlv<'_>,
    areas: &mut Vec<AreaAddress>,
) -> Result<(), Malformed> {
    let mut cursor = tlv.cursor("ISO 10589 §9.5");
    while !cursor.is_empty() {
        let length = usize::from(cursor.octet("an area is cut off")?);
        let violation = cursor.violation("an area of no length that one can have");
        let octets = cursor.take(length, "an area is cut off")?;
        areas.push(AreaAddress::new(octets).ok_or(violation)?);
    }
    Ok(())
}

/// An area as a TLV has it.
pub(crate) fn area_piece(area: &AreaAddress) -> Vec<u8> {
    let length = machine::narrow::at_most(area.octets().len() as u64, 13u8);
    [&[length][..], area.octets()].concat()
}

/// Makes a hello; it is padded to `octets` where they are more than it has.
#[must_use]
pub fn write_hello(
    level: Option<Level>,
    hello: &Hello,
    tlvs: &HelloTlvs,
    octets: u16,
    authentication: &Authentication,
) -> Vec<u8> {
    let kind = match level {
        None => PduKind::PointToPointHello,
        Some(Level::One) => PduKind::Hello1,
        Some(Level::Two) => PduKind::Hello2,
    };
    let mut out = header(kind);
    out.push(hello.levels.bits());
    out.extend_from_slice(&hello.system.0);
    out.extend_from_slice(&hello.hold_s.to_be_bytes());
    let length_at = out.len();
    out.extend_from_slice(&[0, 0]);
    match hello.kind {
        HelloKind::Lan { priority, lan } => {
            out.push(priority & 0x7F);
            out.extend_from_slice(&lan.octets());
        }
        HelloKind::PointToPoint { circuit } => out.push(circuit),
    }
    authentication.reserve(&mut out);
    tlvs.write(&mut out);
    // A padding has two octets at least: one too few are left.
    while usize::from(octets) >= out.len() + 2 {
        let value = (usize::from(octets) - out.len() - 2).min(VALUE_MAX);
        write_tlv(&mut out, TlvKind::Padding.number(), &[0; VALUE_MAX][..value]);
    }
    fill_length(&mut out, length_at);
    authentication.seal(&mut out, kind.octets().into(), false);
    out
}
