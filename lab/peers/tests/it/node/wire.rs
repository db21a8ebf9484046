//! An IPv4 address at the end of a wire, over whole frames: protocol 132 in and out, ARP, and a
//! record of what passed. No kernel of the host stands between.

use bytes::Bytes;
use driver::packet::{Offload, PacketBatch, PacketSocket};
use sctp::{Packet, Transmit};
use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};

const ETHERNET: usize = 14;
const IP: usize = 20;
const ARP: [u8; 2] = [0x08, 0x06];
const IPV4: [u8; 2] = [0x08, 0x00];
const SCTP: u8 = 132;
const DONT_FRAGMENT: u8 = 0x40;
const MTU: usize = 1_500;

thread_local! {
    /// Room for frames, which cannot go from thread to thread.
    static BATCH: RefCell<PacketBatch> = RefCell::new(PacketBatch::new());
}

/// A wire, from this end.
pub struct Wire {
    socket: PacketSocket,
    pub address: Ipv4Addr,
    mac: [u8; 6],
    peer_mac: [u8; 6],
    /// Nothing passes.
    pub is_cut: bool,
    /// One of so many packets is lost, each way.
    pub loses_one_of: Option<u32>,
    passed: u32,
}

impl Wire {
    /// In the calling thread's namespace.
    pub fn open(interface: &str, address: Ipv4Addr, mac: [u8; 6], peer_mac: [u8; 6]) -> Self {
        let socket = PacketSocket::open(interface, 8 << 20).unwrap();
        let (is_cut, loses_one_of, passed) = (false, None, 0);
        Self { socket, address, mac, peer_mac, is_cut, loses_one_of, passed }
    }

    fn loses(&mut self) -> bool {
        self.passed += 1;
        self.is_cut || self.loses_one_of.is_some_and(|many| self.passed.is_multiple_of(many))
    }

    /// Sends a packet; returns it with its IP header when it was not lost.
    pub fn send(&mut self, source: IpAddr, sent: &Transmit) -> Option<Vec<u8>> {
        let (IpAddr::V4(source), IpAddr::V4(destination)) = (source, sent.destination.ip()) else {
            panic!("IPv4 only")
        };
        assert!(sent.bytes.len() + IP <= MTU, "{} octets do not fit", sent.bytes.len());
        if self.loses() {
            return None;
        }
        let mut packet = header(source, destination, sent.bytes.len(), !sent.may_fragment);
        packet.extend_from_slice(&sent.bytes);
        self.frame(self.peer_mac, IPV4, &packet);
        Some(packet)
    }

    fn frame(&self, to: [u8; 6], kind: [u8; 2], content: &[u8]) {
        let frame = [&to[..], &self.mac, &kind, content].concat();
        // What the kernel does not take is lost, as on any network.
        drop(self.socket.send([(Offload::default(), &frame[..])].into_iter()));
    }

    /// What has come for this address, and each packet with its IP header.
    pub fn receive(&mut self) -> Vec<(Packet, Vec<u8>)> {
        let frames: Vec<Vec<u8>> = BATCH.with_borrow_mut(|batch| {
            batch.receive(&self.socket).unwrap();
            batch.frames().map(|it| [it.head, it.tail].concat()).collect()
        });
        frames.iter().filter_map(|frame| self.take(frame)).collect()
    }

    fn take(&mut self, frame: &[u8]) -> Option<(Packet, Vec<u8>)> {
        let (head, content) = frame.split_at_checked(ETHERNET)?;
        if head[12..] == ARP {
            self.answer_arp(content);
            return None;
        }
        let is_ours = head[12..] == IPV4 && content.len() >= IP && content[9] == SCTP;
        if !is_ours || content[16..20] != self.address.octets() || self.loses() {
            return None;
        }
        assert_eq!(sum(&content[..IP]), 0, "the checksum of the IP header");
        assert_eq!(content[6] & 0x3F, 0, "it is not a fragment");
        let length = usize::from(u16::from_be_bytes([content[2], content[3]]));
        let content = &content[..length];
        let source: [u8; 4] = content[12..16].try_into().unwrap();
        let bytes = Bytes::copy_from_slice(&content[IP..]);
        let (source, destination) = ((source, 0).into(), self.address.into());
        Some((Packet { source, destination, bytes }, content.to_vec()))
    }

    /// RFC 826: a request for this address is answered.
    fn answer_arp(&self, request: &[u8]) {
        if request.len() < 28 || request[6..8] != [0, 1] || request[24..28] != self.address.octets()
        {
            return;
        }
        let asker: [u8; 6] = request[8..14].try_into().unwrap();
        let own = [&self.mac[..], &self.address.octets()].concat();
        let answer = [&[0, 1, 8, 0, 6, 4, 0, 2][..], &own, &request[8..18]].concat();
        self.frame(asker, ARP, &answer);
    }
}

pub fn header(from: Ipv4Addr, to: Ipv4Addr, length: usize, is_whole: bool) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, SCTP, 0, 0];
    header.extend_from_slice(&[from.octets(), to.octets()].concat());
    header[2..4].copy_from_slice(&((IP + length) as u16).to_be_bytes());
    header[6] = if is_whole { DONT_FRAGMENT } else { 0 };
    let sum = sum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    !((sum & 0xFFFF) + (sum >> 16)) as u16
}
