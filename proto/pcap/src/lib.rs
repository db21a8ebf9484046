//! Capture files (pcap, pcapng) cut into the application payloads they hold.
//!
//! Links: Ethernet with VLANs, Linux cooked (1 and 2), raw IP, BSD loopback, Wireshark's upper
//! PDUs as the SAS writes them. IPv4 and IPv6 fragments are put together; TCP streams
//! are read in order, repetitions are dropped, segments that came early wait.
//!
//! ```text
//!   pcap ───┐
//!   pcapng ─┴→ packets, by their link ─→ IP, whole ─┬─ UDP ──────────────────┐
//!                          └─ upper PDU ────────────│─ TCP, in order: SIP ───┼→ payloads
//!                                                   └─ SCTP: M3UA, if asked ─┘
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test says no by panicking"))]

pub mod pcapng;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use machine::narrow;
use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

/// Fragments that may come until the next one of the same datagram; what waits longer is given up.
/// A waiting datagram takes up to 64 KiB, however short its fragments are.
const FRAGMENTS_APART_MAX: u64 = 256;

/// Largest file that is read.
pub const FILE_BYTES_MAX: usize = 32 << 20;
/// Packets of one file.
const PACKETS_MAX: usize = 1_000_000;
/// TCP directions followed at once.
const STREAMS_MAX: usize = 20_000;
/// Octets that one direction may hold without a whole message.
const STREAM_BYTES_MAX: usize = 256 * 1024;

/// A file that is not read, and why, for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadFile(pub String);

/// One datagram, or one whole message of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// When, microseconds since the UNIX epoch.
    pub at_us: u64,
    /// [`hep::UDP`], [`hep::TCP`] or [`hep::TLS`].
    pub protocol: u8,
    /// Sender.
    pub source: SocketAddr,
    /// Receiver.
    pub destination: SocketAddr,
    /// The octets.
    pub bytes: Vec<u8>,
}

/// Reads a file.
///
/// # Errors
/// It is neither pcap nor pcapng, or too large. A file that is cut short gives what it has.
pub fn read(bytes: &[u8]) -> Result<Vec<Payload>, BadFile> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(BadFile("the file is larger than 32 MiB".to_owned()));
    }
    let mut cutter = Cutter::default();
    if bytes.starts_with(&SECTION) {
        pcapng(bytes, &mut cutter)?;
    } else {
        pcap(bytes, &mut cutter)?;
    }
    Ok(cutter.out)
}

/// Reads the M3UA messages of a file: upper PDUs as the SAS writes them, and whole user
/// messages of SCTP over IP and UDP (RFC 6951).
///
/// # Errors
/// As [`read`].
pub fn signalling(bytes: &[u8]) -> Result<Vec<Payload>, BadFile> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(BadFile("the file is larger than 32 MiB".to_owned()));
    }
    let mut cutter = Cutter { takes_sctp: true, ..Cutter::default() };
    match bytes.starts_with(&SECTION) {
        true => pcapng(bytes, &mut cutter)?,
        false => pcap(bytes, &mut cutter)?,
    }
    Ok(cutter.out)
}

/// How a section of a pcapng file begins.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

fn bad(error: impl std::fmt::Display) -> BadFile {
    BadFile(format!("neither pcap nor pcapng: {error}"))
}

fn pcap(bytes: &[u8], cutter: &mut Cutter) -> Result<(), BadFile> {
    let mut reader = PcapReader::new(bytes).map_err(bad)?;
    let link = reader.header().datalink;
    for _ in 0..PACKETS_MAX {
        let Some(Ok(packet)) = reader.next_packet() else { break };
        cutter.packet(whole(packet.timestamp.as_micros()), link, &packet.data);
    }
    Ok(())
}

fn pcapng(bytes: &[u8], cutter: &mut Cutter) -> Result<(), BadFile> {
    let mut reader = PcapNgReader::new(bytes).map_err(bad)?;
    // Of each interface its link and the octet that tells the resolution of its clock.
    let mut interfaces: Vec<(DataLink, u8)> = Vec::new();
    for _ in 0..PACKETS_MAX {
        match reader.next_block() {
            Some(Ok(Block::SectionHeader(_))) => interfaces.clear(),
            Some(Ok(Block::InterfaceDescription(interface))) => {
                let resolution = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfTsResol(octet) => Some(*octet),
                    _ => None,
                });
                interfaces.push((interface.linktype, resolution.unwrap_or(6)));
            }
            Some(Ok(Block::EnhancedPacket(packet))) => {
                let interface = interfaces.get(packet.interface_id as usize);
                let Some(&(link, resolution)) = interface else { continue };
                // The crate takes every unit for a nanosecond.
                let at_us = micros(whole(packet.timestamp.as_nanos()), resolution);
                cutter.packet(at_us, link, &packet.data);
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => break,
        }
    }
    Ok(())
}

/// A time as a file says it; one beyond all times is the last one.
fn whole(units: u128) -> u64 {
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// Microseconds of a time in units of `10^-n` seconds, or `2^-n` with the highest bit set.
fn micros(units: u64, resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f).min(63);
    if resolution & 0x80 != 0 {
        return whole((u128::from(units) * 1_000_000) >> exponent);
    }
    let per_second = 10u128.pow(exponent.min(18));
    whole(u128::from(units) * 1_000_000 / per_second)
}

#[derive(Default)]
struct Cutter {
    fragments: etherparse::defrag::IpDefragPool<u64>,
    /// Fragments so far: the clock of those that wait.
    fragments_seen: u64,
    streams: HashMap<(SocketAddr, SocketAddr), Stream>,
    out: Vec<Payload>,
    /// Only what SCTP carries is wanted, beside upper PDUs.
    takes_sctp: bool,
}

impl Cutter {
    fn packet(&mut self, at_us: u64, link: DataLink, data: &[u8]) {
        let sliced = match link {
            DataLink::ETHERNET => SlicedPacket::from_ethernet(data),
            DataLink::LINUX_SLL => SlicedPacket::from_linux_sll(data),
            DataLink::LINUX_SLL2 => SlicedPacket::from_ip(data.get(20..).unwrap_or_default()),
            DataLink::NULL | DataLink::LOOP => {
                SlicedPacket::from_ip(data.get(4..).unwrap_or_default())
            }
            DataLink::RAW | DataLink::IPV4 | DataLink::IPV6 => SlicedPacket::from_ip(data),
            _ if u32::from(link) == 252 => return self.upper_pdu(at_us, data),
            _ => return,
        };
        let Ok(sliced) = sliced else { return };
        let Some(hosts) = Hosts::of(&sliced) else { return };
        if sliced.is_ip_payload_fragmented() {
            return self.fragment(at_us, hosts, &sliced);
        }
        if self.takes_sctp {
            return self.user_messages(at_us, hosts, &sliced);
        }
        match sliced.transport {
            Some(TransportSlice::Udp(udp)) => self.datagram(at_us, hosts, &udp),
            Some(TransportSlice::Tcp(tcp)) => self.segment(at_us, hosts, &tcp),
            _ => {}
        }
    }

    fn fragment(&mut self, at_us: u64, hosts: Hosts, sliced: &SlicedPacket<'_>) {
        let now = self.fragments_seen;
        self.fragments_seen += 1;
        if now.is_multiple_of(FRAGMENTS_APART_MAX) {
            self.fragments.retain(|&last| now - last <= FRAGMENTS_APART_MAX);
        }
        let Ok(Some(whole)) = self.fragments.process_sliced_packet(sliced, now, ()) else { return };
        if whole.ip_number == etherparse::IpNumber::UDP
            && let Ok(udp) = etherparse::UdpSlice::from_slice(&whole.payload)
        {
            self.datagram(at_us, hosts, &udp);
        }
        self.fragments.return_buf(whole);
    }

    /// The user messages of a packet of SCTP.
    fn user_messages(&mut self, at_us: u64, hosts: Hosts, sliced: &SlicedPacket<'_>) {
        let packet = match (&sliced.transport, sliced.ip_payload()) {
            (Some(TransportSlice::Udp(udp)), _) => udp.payload(),
            (None, Some(ip)) if ip.ip_number == etherparse::IpNumber::SCTP => ip.payload,
            _ => return,
        };
        let Some((&[a, b, c, d], _)) = packet.split_first_chunk::<4>() else { return };
        let source = SocketAddr::new(hosts.source, u16::from_be_bytes([a, b]));
        let destination = SocketAddr::new(hosts.destination, u16::from_be_bytes([c, d]));
        let protocol = hep::SCTP;
        let messages = user_messages(packet);
        self.out.extend(messages.map(|it| {
            let bytes = it.to_vec();
            Payload { at_us, protocol, source, destination, bytes }
        }));
    }

    fn datagram(&mut self, at_us: u64, hosts: Hosts, udp: &etherparse::UdpSlice) {
        self.out.push(Payload {
            at_us,
            protocol: hep::UDP,
            source: SocketAddr::new(hosts.source, udp.source_port()),
            destination: SocketAddr::new(hosts.destination, udp.destination_port()),
            bytes: udp.payload().to_vec(),
        });
    }

    fn segment(&mut self, at_us: u64, hosts: Hosts, tcp: &etherparse::TcpSlice) {
        let source = SocketAddr::new(hosts.source, tcp.source_port());
        let destination = SocketAddr::new(hosts.destination, tcp.destination_port());
        if tcp.syn() || tcp.rst() {
            self.streams.remove(&(source, destination));
        }
        if tcp.payload().is_empty() {
            return;
        }
        if self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&(source, destination)) {
            return;
        }
        let stream = self.streams.entry((source, destination)).or_default();
        let first = tcp.sequence_number().wrapping_add(u32::from(tcp.syn()));
        stream.take(first, tcp.payload());
        while let Some(bytes) = stream.message() {
            let protocol = hep::TCP;
            self.out.push(Payload { at_us, protocol, source, destination, bytes });
        }
    }

    /// Reads the tags of an exported PDU; only those that carry SIP are taken.
    fn upper_pdu(&mut self, at_us: u64, data: &[u8]) {
        let mut rest = data;
        let mut ips = [None, None];
        let mut ports = [0u16; 2];
        loop {
            let Some((&[a, b, c, d], after)) = rest.split_first_chunk::<4>() else { return };
            let length = usize::from(u16::from_be_bytes([c, d]));
            let Some((body, after)) = after.split_at_checked(length) else { return };
            rest = after;
            let tag = u16::from_be_bytes([a, b]);
            match (tag, body.len()) {
                (0, _) => break,
                (20 | 21, 4) => {
                    let octets: [u8; 4] = body.try_into().unwrap_or_default();
                    ips[usize::from(tag - 20)] = Some(IpAddr::from(octets));
                }
                (22 | 23, 16) => {
                    let octets: [u8; 16] = body.try_into().unwrap_or_default();
                    ips[usize::from(tag - 22)] = Some(IpAddr::from(octets));
                }
                (25 | 26, 4) => {
                    ports[usize::from(tag - 25)] = u16::from_be_bytes([body[2], body[3]]);
                }
                _ => {}
            }
        }
        if let [Some(from), Some(to)] = ips {
            let source = SocketAddr::new(from, ports[0]);
            let destination = SocketAddr::new(to, ports[1]);
            let bytes = rest.to_vec();
            self.out.push(Payload { at_us, protocol: hep::TLS, source, destination, bytes });
        }
    }
}

/// Octets of the common header of SCTP, and of a DATA chunk in front of its user data.
const SCTP_HEADER: usize = 12;
const DATA_HEADER: usize = 16;

/// The whole user messages of M3UA in a packet of SCTP (RFC 9260 §3.3.1; payload protocol 3).
fn user_messages(packet: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = packet.get(SCTP_HEADER..).unwrap_or_default();
    let chunks = core::iter::from_fn(move || {
        let &[kind, flags, a, b, ..] = rest else { return None };
        let length = usize::from(u16::from_be_bytes([a, b]));
        let chunk = rest.get(..length).filter(|_| length >= 4)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, flags, chunk))
    });
    let whole = chunks.filter(|(kind, flags, _)| *kind == 0 && flags & 3 == 3);
    whole.filter_map(|(.., chunk)| {
        let is_m3ua = chunk.get(12..DATA_HEADER)? == [0, 0, 0, 3];
        chunk.get(DATA_HEADER..).filter(|_| is_m3ua)
    })
}

/// The two ends of an IP packet.
#[derive(Clone, Copy)]
struct Hosts {
    source: IpAddr,
    destination: IpAddr,
}

impl Hosts {
    fn of(sliced: &SlicedPacket<'_>) -> Option<Self> {
        let (source, destination) = match &sliced.net {
            Some(NetSlice::Ipv4(ip)) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into())
            }
            Some(NetSlice::Ipv6(ip)) => {
                let header = ip.header();
                (header.source_addr().into(), header.destination_addr().into())
            }
            _ => return None,
        };
        Some(Self { source, destination })
    }
}

/// One direction of a TCP connection.
#[derive(Default)]
struct Stream {
    /// Place of the octet after the buffer. Its lower half is the sequence number, so that places
    /// do not wrap where those do (RFC 9293 §3.4).
    next: Option<u64>,
    buffer: Vec<u8>,
    /// Segments that came early, by their place.
    early: BTreeMap<u64, Vec<u8>>,
    /// Octets of them.
    held: usize,
}

impl Stream {
    fn take(&mut self, first: u32, payload: &[u8]) {
        // One round above zero: what comes first may have been sent before what was seen first.
        let next = *self.next.get_or_insert(u64::from(first) | 1 << 32);
        let ahead = first.wrapping_sub(narrow::half(next)) as i32;
        let first = next.saturating_add_signed(ahead.into());
        if ahead > 0 {
            return self.keep(first, payload);
        }
        self.append(first, payload);
        while let Some(entry) = self.early.first_entry()
            && self.next.is_some_and(|next| *entry.key() <= next)
        {
            let (first, payload) = entry.remove_entry();
            self.held -= payload.len();
            self.append(first, &payload);
        }
    }

    /// Keeps a segment that came early, while there is room.
    fn keep(&mut self, first: u64, payload: &[u8]) {
        let known = self.early.get(&first).map_or(0, Vec::len);
        let held = self.held - known + payload.len();
        if held <= STREAM_BYTES_MAX {
            self.held = held;
            self.early.insert(first, payload.to_vec());
        }
    }

    /// Appends what is new of a segment that begins at `next` or before; the rest is a repetition.
    fn append(&mut self, first: u64, payload: &[u8]) {
        let Some(next) = self.next else { return };
        let known = usize::try_from(next - first).unwrap_or(usize::MAX);
        if let Some(new) = payload.get(known..) {
            self.buffer.extend_from_slice(new);
            self.next = Some(next + new.len() as u64);
        }
    }

    /// The next whole message. What is no SIP is thrown away.
    fn message(&mut self) -> Option<Vec<u8>> {
        loop {
            match sip::frame(&self.buffer) {
                sip::Framing::Partial if self.buffer.len() <= STREAM_BYTES_MAX => return None,
                sip::Framing::Partial | sip::Framing::Broken(_) => {
                    self.buffer.clear();
                    return None;
                }
                sip::Framing::Skip(length) => drop(self.buffer.drain(..length)),
                sip::Framing::Message(length) if length <= self.buffer.len() => {
                    return Some(self.buffer.drain(..length).collect());
                }
                sip::Framing::Message(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_in_the_wrong_order_cost_no_stack_and_no_squares() {
        // A file of some megabytes: one octet each, the first one last. Each segment once took a
        // frame of the stack, and a walk over all the others.
        let text = vec![b'x'; STREAM_BYTES_MAX];
        for origin in [0, 5, u32::MAX - 1_000, 1 << 31] {
            let mut stream = Stream::default();
            stream.take(origin, b"y");
            for at in (1..STREAM_BYTES_MAX).rev() {
                let first = origin.wrapping_add(1).wrapping_add(narrow::half(at as u64));
                stream.take(first, &text[at..=at]);
            }
            assert_eq!(stream.early.len(), STREAM_BYTES_MAX - 1);
            stream.take(origin.wrapping_add(1), b"z");
            assert_eq!(stream.buffer.len(), STREAM_BYTES_MAX + 1);
            assert!(stream.early.is_empty() && stream.held == 0);
        }
    }

    #[test]
    fn early_segments_are_bounded_and_one_that_comes_again_counts_once() {
        let mut stream = Stream::default();
        stream.take(0, b"y");
        for at in [10, 10, 30_000, 60_000, 90_000, 120_000, 150_000, 180_000, 210_000, 240_000] {
            stream.take(at, &vec![b'x'; 30_000]);
            stream.take(at, &vec![b'x'; 30_000]);
        }
        assert!(stream.held <= STREAM_BYTES_MAX, "{}", stream.held);
        assert_eq!(stream.held, stream.early.values().map(Vec::len).sum::<usize>());
        assert_eq!(stream.held, 240_000);
        // What came before all that was seen is known already.
        stream.take(u32::MAX - 5, b"abcdefgh");
        assert_eq!(stream.buffer, b"yh");
    }

    #[test]
    fn datagrams_of_which_a_fragment_is_missing_are_given_up() {
        let mut cutter = Cutter::default();
        for id in 0..4_000_u16 {
            // 8 octets at offset 65,496: 64 KiB wait for the rest.
            let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0x3f, 0xfb, 64, 17, 0, 0];
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend([0; 8]);
            cutter.packet(0, DataLink::RAW, &packet);
        }
        let waiting = std::cell::Cell::new(0);
        cutter.fragments.retain(|_| {
            waiting.set(waiting.get() + 1);
            true
        });
        let waiting = waiting.get();
        assert!(waiting <= 2 * FRAGMENTS_APART_MAX, "{waiting}");
        assert!(waiting > 0, "they are fragments");
    }
}
