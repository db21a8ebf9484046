//! An Ethernet frame on its way through a link, with what its sender left to the hardware.

use crate::Packet;
use driver::packet::{Offload, Received};

/// Octets of a header without a VLAN tag.
const ETHERNET: usize = 14;
const TAG: usize = 4;
/// EtherTypes of tags (IEEE 802.1Q, 802.1ad), IPv4 and IPv6.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// [`Offload::flags`]: the checksum is to be finished.
const UNFINISHED: u8 = 1;
/// [`Offload::kind`] without its ECN bit.
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
const ECN: u8 = 0x80;
/// Flags of TCP that stand in one segment only: FIN and PSH in the last, CWR in the first.
const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What is left to be done to it.
    pub offload: Offload,
    /// From the link-layer header on, without a check sequence.
    pub bytes: Vec<u8>,
}

impl Packet for Frame {
    fn octets(&self) -> usize {
        self.bytes.len()
    }

    /// Flips a bit behind the link-layer header: what hits that is seen by no program. The checksum
    /// is finished before, or the kernel would put a right one over the wrong bit.
    fn flip(&mut self, bit: usize) {
        self.finish();
        let bits = 8 * self.bytes.len();
        let first = if bits > 8 * ETHERNET { 8 * ETHERNET } else { 0 };
        self.bytes.flip(first + bit % (bits - first).max(1));
    }
}

impl Frame {
    /// Frames as they stand on a wire: those that the sender joined are cut apart, each given to
    /// `each` in order.
    pub fn read(received: &Received<'_>, mut each: impl FnMut(Self)) {
        let tag = received.tag.as_ref().map_or(&[][..], |tag| &tag[..]);
        let bytes = [received.head, tag, received.tail].concat();
        let whole = Self { offload: received.offload, bytes };
        match Joined::find(&whole) {
            Some(joined) => joined.split(&whole, each),
            None => each(whole),
        }
    }

    /// Finishes the checksum, if that was left to the hardware.
    pub fn finish(&mut self) {
        let Offload { flags, sum_from, sum_at, .. } = std::mem::take(&mut self.offload);
        let at = usize::from(sum_from) + usize::from(sum_at);
        if flags & UNFINISHED == 0 || at + 2 > self.bytes.len() {
            return;
        }
        // The field holds the sum over the pseudo-header. A sum of 0 is written as its other form,
        // since 0 means none in UDP (RFC 768).
        let sum = match !folded(words(&self.bytes[usize::from(sum_from)..])) {
            0 => 0xffff,
            sum => sum,
        };
        self.bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Where the headers of a joined frame stand.
struct Joined {
    network: usize,
    transport: usize,
    payload: usize,
    segment: usize,
    is_ipv4: bool,
    is_tcp: bool,
}

impl Joined {
    /// `None` for a frame that is one segment, or not what it says.
    fn find(frame: &Frame) -> Option<Self> {
        let (offload, bytes) = (frame.offload, &frame.bytes);
        let is_tcp = match offload.kind & !ECN {
            TCP4 | TCP6 => true,
            UDP => false,
            _ => return None,
        };
        let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let mut network = ETHERNET;
        while TAGS.contains(&word(network - 2)?) {
            network += TAG;
        }
        let is_ipv4 = match word(network - 2)? {
            IPV4 => true,
            IPV6 => false,
            _ => return None,
        };
        let transport = usize::from(offload.sum_from);
        let least = network + if is_ipv4 { 20 } else { 40 };
        let payload = match is_tcp {
            true => transport + usize::from(*bytes.get(transport + 12)? >> 4) * 4,
            false => transport + 8,
        };
        let segment = usize::from(offload.segment);
        let sound = offload.flags & UNFINISHED != 0
            && transport >= least
            && payload >= transport + if is_tcp { 20 } else { 8 }
            && payload < bytes.len()
            && segment > 0;
        sound.then_some(Self { network, transport, payload, segment, is_ipv4, is_tcp })
    }

    fn split(&self, whole: &Frame, mut each: impl FnMut(Frame)) {
        let (headers, payload) = whole.bytes.split_at(self.payload);
        let last = payload.len().div_ceil(self.segment) - 1;
        for (number, part) in payload.chunks(self.segment).enumerate() {
            let mut bytes = [headers, part].concat();
            self.number(&mut bytes, number, number == last);
            let sum_at = if self.is_tcp { 16 } else { 6 };
            self.put_pseudo_sum(&mut bytes, self.transport + usize::from(sum_at));
            let header = self.payload as u16;
            let sum_from = self.transport as u16;
            let offload = Offload { flags: UNFINISHED, header, sum_from, sum_at, ..whole.offload };
            each(Frame { offload: Offload { kind: 0, segment: 0, ..offload }, bytes });
        }
    }

    /// Lengths, identification, sequence number and flags of one segment.
    fn number(&self, bytes: &mut [u8], number: usize, is_last: bool) {
        let (network, transport) = (self.network, self.transport);
        let length = bytes.len();
        if self.is_ipv4 {
            put(bytes, network + 2, (length - network) as u16);
            let id = u16::from_be_bytes([bytes[network + 4], bytes[network + 5]]);
            put(bytes, network + 4, id.wrapping_add(number as u16));
            put(bytes, network + 10, 0);
            let sum = !folded(words(&bytes[network..transport]));
            put(bytes, network + 10, sum);
        } else {
            put(bytes, network + 4, (length - network - 40) as u16);
        }
        if !self.is_tcp {
            return put(bytes, transport + 4, (length - transport) as u16);
        }
        let at = transport + 4;
        let first = u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let sequence = first.wrapping_add((number * self.segment) as u32);
        bytes[at..at + 4].copy_from_slice(&sequence.to_be_bytes());
        if !is_last {
            bytes[transport + 13] &= !FIN_PSH;
        }
        if number > 0 {
            bytes[transport + 13] &= !CWR;
        }
    }

    /// The sum over the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1), which the kernel or
    /// [`Frame::finish`] continues.
    fn put_pseudo_sum(&self, bytes: &mut [u8], at: usize) {
        let first = self.network + if self.is_ipv4 { 12 } else { 8 };
        let addresses = &bytes[first..first + if self.is_ipv4 { 8 } else { 32 }];
        let protocol = if self.is_tcp { 6 } else { 17 };
        let length = (bytes.len() - self.transport) as u64;
        let sum = folded(words(addresses) + protocol + length);
        put(bytes, at, sum);
    }
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The sum of 16-bit words (RFC 1071); an odd octet at the end counts as the upper one.
fn words(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks_exact(2);
    let odd = pairs.remainder().first().map_or(0, |&octet| u64::from(octet) << 8);
    pairs.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u64>() + odd
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests;
