//! What a collector needs of a packet, and the fast way to write one.

use crate::chunk::{CHUNK_HEADER_BYTES, Chunk, Generic, chunks};
use crate::{HEADER_BYTES, PACKET_BYTES_MAX};
use core::ops::Range;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wire::Malformed;

/// One captured message and what is known about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of the protocol that carried it: [`crate::UDP`], [`crate::TCP`], [`crate::TLS`].
    pub protocol: u8,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver; of the same address family, else both are written as IPv6.
    pub destination: SocketAddr,
    /// Seconds since the UNIX epoch when it was captured.
    pub seconds: u32,
    /// Microseconds of that second.
    pub micros: u32,
    /// What the payload is: [`crate::KIND_SIP`], [`crate::KIND_LOG`].
    pub kind: u8,
    /// Who captured it.
    pub capture_id: u32,
    /// Messages with the same one belong together; empty when the agent knows none.
    pub correlation: &'a [u8],
    /// The agent's password; empty when it has none.
    pub auth_key: &'a [u8],
    /// What the agent says of the message beside that (chunk 0x0025); empty: nothing.
    pub tags: &'a [u8],
    /// The message.
    pub payload: &'a [u8],
}

/// How a stream's buffer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Its length is not known yet.
    Partial,
    /// A packet of so many octets.
    Packet(usize),
    /// Not HEP3: the stream cannot be understood any more.
    Broken(Malformed),
}

/// Looks at the head of a stream's buffer (EEP rev. 3 §3.1).
#[must_use]
pub fn frame(buffer: &[u8]) -> Framing {
    const SPEC: &str = "EEP rev. 3 §3.1";
    let magic = buffer.len().min(4);
    if buffer[..magic] != b"HEP3"[..magic] {
        return Framing::Broken(Malformed::new(0, "stream does not go on with HEP3", SPEC));
    }
    if buffer.len() < HEADER_BYTES {
        return Framing::Partial;
    }
    let length = usize::from(u16::from_be_bytes([buffer[4], buffer[5]]));
    if length < HEADER_BYTES {
        return Framing::Broken(Malformed::new(4, "packet shorter than its header", SPEC));
    }
    Framing::Packet(length)
}

/// The deflated payload of a packet (chunk 0x0010), for agents that compress.
#[must_use]
pub fn compressed_payload(bytes: &[u8]) -> Option<&[u8]> {
    let mut walk = chunks(bytes).ok()?.flatten();
    walk.find(|c| c.generic() == Some(Generic::CompressedPayload)).map(|c| c.body)
}

/// Where the tags stand in a packet, for who knows them later than the rest.
#[must_use]
pub fn tags_of(bytes: &[u8]) -> Option<Range<usize>> {
    let mut walk = chunks(bytes).ok()?.flatten();
    let found = walk.find(|c| c.generic() == Some(Generic::TagValues))?;
    let start = found.at + CHUNK_HEADER_BYTES;
    Some(start..start + found.body.len())
}

impl<'a> Packet<'a> {
    /// Reads a packet. Chunks of vendors and of unknown numbers are skipped; octets after the
    /// packet's length too. A packet without payload has an empty one.
    ///
    /// # Errors
    /// Header or a chunk does not fit, a generic chunk has the wrong length, or an address, the
    /// kind or a time stamp is missing.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::default();
        for chunk in chunks(bytes)? {
            let chunk = chunk?;
            if let Some(row) = chunk.generic() {
                fields.take(row, &chunk)?;
            }
        }
        fields.finish(bytes.len())
    }

    /// Appends the packet to `out`. A payload beyond what fits into the 16-bit length is cut at
    /// [`PACKET_BYTES_MAX`]; correlation, key and tags beyond 255 octets as well.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let mut head = HEAD_V4;
                head[V4_SOURCE..V4_SOURCE + 4].copy_from_slice(&source.octets());
                head[V4_DESTINATION..V4_DESTINATION + 4].copy_from_slice(&destination.octets());
                self.rest_of_head(&mut head, V4_TAIL);
                out.extend_from_slice(&head);
            }
            (source, destination) => {
                let mut head = HEAD_V6;
                head[V6_SOURCE..V6_SOURCE + 16].copy_from_slice(&v6(source).octets());
                head[V6_DESTINATION..V6_DESTINATION + 16]
                    .copy_from_slice(&v6(destination).octets());
                self.rest_of_head(&mut head, V6_TAIL);
                out.extend_from_slice(&head);
            }
        }
        append(out, Generic::Correlation, cut(self.correlation, 255));
        append(out, Generic::AuthKey, cut(self.auth_key, 255));
        append(out, Generic::TagValues, cut(self.tags, 255));
        let room = PACKET_BYTES_MAX - (out.len() - start) - 6;
        append(out, Generic::Payload, cut(self.payload, room));
        let length = length(out.len() - start);
        out[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
    }

    /// Ports, time, kind and agent: the part of the template that both families end with.
    #[inline]
    fn rest_of_head(&self, head: &mut [u8], at: usize) {
        head[PROTOCOL] = self.protocol;
        let tail = &mut head[at..];
        tail[6..8].copy_from_slice(&self.source.port().to_be_bytes());
        tail[14..16].copy_from_slice(&self.destination.port().to_be_bytes());
        tail[22..26].copy_from_slice(&self.seconds.to_be_bytes());
        tail[32..36].copy_from_slice(&self.micros.to_be_bytes());
        tail[42] = self.kind;
        tail[49..53].copy_from_slice(&self.capture_id.to_be_bytes());
    }
}

fn v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// A length as it stands on the wire; everything is cut before at what that can tell.
fn length(octets: usize) -> u16 {
    debug_assert!(octets <= PACKET_BYTES_MAX, "it was cut before");
    u16::try_from(octets).unwrap_or(u16::MAX)
}

fn cut(bytes: &[u8], max: usize) -> &[u8] {
    &bytes[..bytes.len().min(max)]
}

#[inline]
fn append(out: &mut Vec<u8>, row: Generic, body: &[u8]) {
    if body.is_empty() && row != Generic::Payload {
        return;
    }
    let [high, low] = length(body.len() + 6).to_be_bytes();
    let [above, number] = row.number().to_be_bytes();
    out.extend_from_slice(&[0, 0, above, number, high, low]);
    out.extend_from_slice(body);
}

/// Ports (7, 8), seconds, microseconds (9, 10), kind (11) and agent (12), all values zero.
const TAIL: [u8; 53] = [
    0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 8, 0, 8, 0, 0, 0, 0, 0, 9, 0, 10, 0, 0, 0, 0, 0, 0, 0, 10, 0,
    10, 0, 0, 0, 0, 0, 0, 0, 11, 0, 7, 0, 0, 0, 0, 12, 0, 10, 0, 0, 0, 0,
];
const PROTOCOL: usize = 19;
const V4_SOURCE: usize = 26;
const V4_DESTINATION: usize = 36;
const V4_TAIL: usize = 40;
const V6_SOURCE: usize = 26;
const V6_DESTINATION: usize = 48;
const V6_TAIL: usize = 64;
const HEAD_V4: [u8; V4_TAIL + 53] = template(2, 3, 4, 4);
const HEAD_V6: [u8; V6_TAIL + 53] = template(10, 5, 6, 16);

/// Everything before correlation and payload, with all values zero. `N` follows from the length
/// of an address.
const fn template<const N: usize>(family: u8, from: u8, to: u8, octets: u8) -> [u8; N] {
    let address = octets as usize;
    let mut head = [0; N];
    (head[0], head[1], head[2], head[3]) = (b'H', b'E', b'P', b'3');
    (head[9], head[11], head[12]) = (1, 7, family);
    (head[16], head[18]) = (2, 7);
    (head[23], head[25]) = (from, octets + 6);
    let second = 26 + address;
    (head[second + 3], head[second + 5]) = (to, octets + 6);
    let tail = second + 6 + address;
    let mut i = 0;
    while i < TAIL.len() {
        head[tail + i] = TAIL[i];
        i += 1;
    }
    head
}

/// What was found so far.
#[derive(Default)]
struct Fields<'a> {
    protocol: u8,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    ports: (u16, u16),
    seconds: Option<u32>,
    micros: u32,
    kind: Option<u8>,
    capture_id: u32,
    correlation: &'a [u8],
    auth_key: &'a [u8],
    tags: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, row: Generic, chunk: &Chunk<'a>) -> Result<(), Malformed> {
        let body = chunk.body;
        if row.body_bytes().is_some_and(|bytes| bytes != body.len()) {
            return Err(Malformed::new(chunk.at + 4, "chunk has the wrong length", row.spec()));
        }
        match row {
            Generic::IpProtocol => self.protocol = body[0],
            Generic::SourceV4 => self.source = Some(v4_of(body)),
            Generic::DestinationV4 => self.destination = Some(v4_of(body)),
            Generic::SourceV6 => self.source = Some(v6_of(body)),
            Generic::DestinationV6 => self.destination = Some(v6_of(body)),
            Generic::SourcePort => self.ports.0 = u16::from_be_bytes([body[0], body[1]]),
            Generic::DestinationPort => self.ports.1 = u16::from_be_bytes([body[0], body[1]]),
            Generic::Seconds => self.seconds = Some(u32_of(body)),
            Generic::Micros => self.micros = u32_of(body),
            Generic::Kind => self.kind = Some(body[0]),
            Generic::CaptureId => self.capture_id = u32_of(body),
            Generic::Correlation => self.correlation = body,
            Generic::AuthKey => self.auth_key = body,
            Generic::TagValues => self.tags = body,
            Generic::Payload => self.payload = body,
            _ => {}
        }
        Ok(())
    }

    fn finish(self, end: usize) -> Result<Packet<'a>, Malformed> {
        let missing = |what: &'static str| Malformed::new(end, what, "EEP rev. 3 §4");
        let source = self.source.ok_or_else(|| missing("source address is missing"))?;
        let destination =
            self.destination.ok_or_else(|| missing("destination address is missing"))?;
        Ok(Packet {
            protocol: self.protocol,
            source: SocketAddr::new(source, self.ports.0),
            destination: SocketAddr::new(destination, self.ports.1),
            seconds: self.seconds.ok_or_else(|| missing("time stamp is missing"))?,
            micros: self.micros,
            kind: self.kind.ok_or_else(|| missing("protocol type is missing"))?,
            capture_id: self.capture_id,
            correlation: self.correlation,
            auth_key: self.auth_key,
            tags: self.tags,
            payload: self.payload,
        })
    }
}

fn u32_of(body: &[u8]) -> u32 {
    u32::from_be_bytes([body[0], body[1], body[2], body[3]])
}

fn v4_of(body: &[u8]) -> IpAddr {
    Ipv4Addr::from(u32_of(body)).into()
}

fn v6_of(body: &[u8]) -> IpAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(body);
    Ipv6Addr::from(octets).into()
}
