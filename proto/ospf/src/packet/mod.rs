//! OSPF packets (RFC 2328 §A.3).
//!
//! ```text
//! version, 1 · type, 1 · length, 2 · router ID, 4 · area ID, 4
//! checksum, 2 · AuType, 2 · authentication, 8 · body
//! ```

mod authentication;

pub(crate) use authentication::Proof;
pub use authentication::{Algorithm, Authentication, AuthenticationKey, Means};

use crate::lsa::{self, Header as LsaHeader, Key, LsaType};
use std::net::Ipv4Addr;
use wire::{Cursor, Malformed};

/// Octets of the header.
pub const HEADER_OCTETS: usize = 24;
const VERSION: u8 = 2;
const SPEC: &str = "RFC 2328 §A.3.1";

wire::rows! {
    /// Types of packets.
    pub enum PacketType: u8 {
        /// Neighbours are found and kept.
        Hello = 1, "Hello", "RFC 2328 §A.3.2";
        /// What a database has.
        Description = 2, "Database Description", "RFC 2328 §A.3.3";
        /// Parts of it are asked for.
        Request = 3, "Link State Request", "RFC 2328 §A.3.4";
        /// Link state advertisements.
        Update = 4, "Link State Update", "RFC 2328 §A.3.5";
        /// That they came.
        Acknowledgment = 5, "Link State Acknowledgment", "RFC 2328 §A.3.6";
    }
}

/// A packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// What follows.
    pub kind: PacketType,
    /// Who sent it.
    pub router: u32,
    /// The area of the link.
    pub area: u32,
    /// How it is authenticated.
    pub authentication: u16,
}

/// A hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The network's mask.
    pub mask: u32,
    /// Seconds between two hellos.
    pub interval_s: u16,
    /// Options.
    pub options: u8,
    /// Priority as designated router.
    pub priority: u8,
    /// Seconds of silence after which a router is dead.
    pub dead_s: u32,
    /// The designated router's address.
    pub designated: Ipv4Addr,
    /// The backup's address.
    pub backup: Ipv4Addr,
    /// Routers that were heard.
    pub neighbours: Vec<u32>,
}

/// The I-bit of a description.
pub const DD_INIT: u8 = 4;
/// The M-bit.
pub const DD_MORE: u8 = 2;
/// The MS-bit.
pub const DD_MASTER: u8 = 1;

/// A database description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Octets that the interface carries in a packet.
    pub mtu: u16,
    /// Options.
    pub options: u8,
    /// I, M and MS.
    pub flags: u8,
    /// Its number.
    pub sequence: u32,
    /// What the database has.
    pub headers: Vec<LsaHeader>,
}

/// What a packet says.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// A hello.
    Hello(Hello),
    /// A database description.
    Description(Description),
    /// What is asked for.
    Request(Vec<Key>),
    /// LSAs, and violations of those that cannot be used.
    Update(Vec<Result<lsa::Read<'a>, Malformed>>),
    /// What came.
    Acknowledgment(Vec<LsaHeader>),
}

impl Head {
    /// Reads a header, and looks at version, length and checksum. Returns it with the packet
    /// proper: what follows is its authentication.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(octets: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        let what = "the header of a packet is cut off";
        let [version, kind] = cursor.array(what)?;
        let length = usize::from(cursor.be16(what)?);
        let (router, area) = (cursor.be32(what)?, cursor.be32(what)?);
        cursor.be16(what)?;
        let authentication = cursor.be16(what)?;
        cursor.array::<8>(what)?;
        if version != VERSION {
            return Err(Malformed::new(0, "another version", SPEC));
        }
        let unknown = Malformed::new(1, "an unknown type of packet", SPEC);
        let kind = PacketType::of(kind).ok_or(unknown)?;
        let short = Malformed::new(2, "a packet is cut off", SPEC);
        if length < HEADER_OCTETS {
            return Err(short);
        }
        let whole = octets.get(..length).ok_or(short)?;
        // With cryptographic authentication the checksum is not computed (§D.4.3).
        if authentication != authentication::CRYPTOGRAPHIC && !has_right_checksum(whole) {
            return Err(Malformed::new(12, "the checksum of a packet is wrong", SPEC));
        }
        Ok((Self { kind, router, area, authentication }, whole))
    }
}

fn sum(octets: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    octets.chunks(2).map(word).sum()
}

/// The sum in ones' complement of all but the authentication, whose eight octets do not count.
#[allow(clippy::cast_possible_truncation, reason = "it is folded to 16 bits")]
fn checksum(packet: &[u8]) -> u16 {
    let mut sum = sum(&packet[..16]) + sum(&packet[HEADER_OCTETS..]);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn has_right_checksum(packet: &[u8]) -> bool {
    checksum(packet) == 0
}

impl<'a> Body<'a> {
    /// Reads what follows the header of a packet proper.
    ///
    /// # Errors
    /// What is wrong, when it cannot be read.
    pub fn read(kind: PacketType, packet: &'a [u8]) -> Result<Self, Malformed> {
        let rest = packet.get(HEADER_OCTETS..).unwrap_or_default();
        let mut cursor = Cursor::new(rest, HEADER_OCTETS, kind.spec());
        Ok(match kind {
            PacketType::Hello => Self::Hello(read_hello(&mut cursor)?),
            PacketType::Description => Self::Description(read_description(&mut cursor)?),
            PacketType::Request => Self::Request(read_request(&mut cursor)?),
            PacketType::Update => Self::Update(read_update(&mut cursor)?),
            PacketType::Acknowledgment => Self::Acknowledgment(read_headers(&mut cursor)?),
        })
    }
}

fn read_hello(cursor: &mut Cursor<'_>) -> Result<Hello, Malformed> {
    let what = "a hello is cut off";
    let (mask, interval_s) = (cursor.be32(what)?, cursor.be16(what)?);
    let [options, priority] = cursor.array(what)?;
    let dead_s = cursor.be32(what)?;
    let (designated, backup) = (cursor.be32(what)?.into(), cursor.be32(what)?.into());
    let mut neighbours = Vec::with_capacity(cursor.rest().len() / 4);
    while !cursor.is_empty() {
        neighbours.push(cursor.be32("a neighbour is cut off")?);
    }
    Ok(Hello { mask, interval_s, options, priority, dead_s, designated, backup, neighbours })
}

fn read_description(cursor: &mut Cursor<'_>) -> Result<Description, Malformed> {
    let what = "a database description is cut off";
    let mtu = cursor.be16(what)?;
    let [options, flags] = cursor.array(what)?;
    let sequence = cursor.be32(what)?;
    Ok(Description { mtu, options, flags: flags & 7, sequence, headers: read_headers(cursor)? })
}

fn read_headers(cursor: &mut Cursor<'_>) -> Result<Vec<LsaHeader>, Malformed> {
    let mut headers = Vec::with_capacity(cursor.rest().len() / lsa::HEADER_OCTETS);
    while !cursor.is_empty() {
        headers.push(LsaHeader::read(cursor)?);
    }
    Ok(headers)
}

fn read_request(cursor: &mut Cursor<'_>) -> Result<Vec<Key>, Malformed> {
    let what = "a request is cut off";
    let mut keys = Vec::with_capacity(cursor.rest().len() / 12);
    while !cursor.is_empty() {
        let unknown = cursor.violation("an unknown type is asked for");
        let kind = u8::try_from(cursor.be32(what)?).ok().and_then(LsaType::of).ok_or(unknown)?;
        keys.push(Key { kind, id: cursor.be32(what)?, router: cursor.be32(what)? });
    }
    Ok(keys)
}

fn read_update<'a>(
    cursor: &mut Cursor<'a>,
) -> Result<Vec<Result<lsa::Read<'a>, Malformed>>, Malformed> {
    let count = cursor.be32("an update is cut off")? as usize;
    let mut found = Vec::with_capacity(count.min(cursor.rest().len() / lsa::HEADER_OCTETS));
    for _ in 0..count {
        found.push(lsa::read(cursor)?);
    }
    Ok(found)
}

/// A packet that is being written.
#[derive(Debug, Clone)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Its header, without what is known at its end only.
    #[must_use]
    pub fn new(kind: PacketType, router: u32, area: u32) -> Self {
        let mut out = vec![VERSION, kind.number(), 0, 0];
        out.extend_from_slice(&router.to_be_bytes());
        out.extend_from_slice(&area.to_be_bytes());
        out.resize(HEADER_OCTETS, 0);
        Self(out)
    }

    /// A hello.
    #[must_use]
    pub fn hello(mut self, hello: &Hello) -> Self {
        let out = &mut self.0;
        out.extend_from_slice(&hello.mask.to_be_bytes());
        out.extend_from_slice(&hello.interval_s.to_be_bytes());
        out.extend_from_slice(&[hello.options, hello.priority]);
        out.extend_from_slice(&hello.dead_s.to_be_bytes());
        out.extend_from_slice(&hello.designated.octets());
        out.extend_from_slice(&hello.backup.octets());
        hello.neighbours.iter().for_each(|it| out.extend_from_slice(&it.to_be_bytes()));
        self
    }

    /// A database description.
    #[must_use]
    pub fn description(mut self, description: &Description) -> Self {
        self.0.extend_from_slice(&description.mtu.to_be_bytes());
        self.0.extend_from_slice(&[description.options, description.flags]);
        self.0.extend_from_slice(&description.sequence.to_be_bytes());
        self.headers(&description.headers)
    }

    /// Headers of LSAs, as acknowledgments have them.
    #[must_use]
    pub fn headers(mut self, headers: &[LsaHeader]) -> Self {
        headers.iter().for_each(|header| header.write(&mut self.0));
        self
    }

    /// What is asked for.
    #[must_use]
    pub fn request(mut self, keys: &[Key]) -> Self {
        for key in keys {
            self.0.extend_from_slice(&u32::from(key.kind.number()).to_be_bytes());
            self.0.extend_from_slice(&key.id.to_be_bytes());
            self.0.extend_from_slice(&key.router.to_be_bytes());
        }
        self
    }

    /// LSAs, each with the age that it has when it arrives.
    #[must_use]
    pub fn update(mut self, lsas: &[(u16, &[u8])]) -> Self {
        self.0.extend_from_slice(&machine::narrow::place(lsas.len()).to_be_bytes());
        for (age, octets) in lsas {
            let start = self.0.len();
            self.0.extend_from_slice(octets);
            self.0[start..start + 2].copy_from_slice(&age.to_be_bytes());
        }
        self
    }

    /// The packet with length, checksum and authentication. `None` beyond 65,535 octets.
    #[must_use]
    pub fn finish(self, authentication: &Authentication, sequence: u32) -> Option<Vec<u8>> {
        let mut octets = self.0;
        let length = u16::try_from(octets.len()).ok()?;
        octets[2..4].copy_from_slice(&length.to_be_bytes());
        authentication.seal(&mut octets, sequence);
        Some(octets)
    }
}
