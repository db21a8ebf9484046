//! An IPv4 address at the end of a wire: packets of any protocol in and out, and ARP.

use driver::packet::{Offload, PacketBatch, PacketSocket};
use std::net::Ipv4Addr;

const ETHERNET: usize = 14;
const IP: usize = 20;
const ARP: [u8; 2] = [0x08, 0x06];
const IPV4: [u8; 2] = [0x08, 0x00];

/// A packet that came.
pub struct Arrived {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub protocol: u8,
    pub ttl: u8,
    pub payload: Vec<u8>,
}

/// A packet to be sent.
pub struct Leaving<'a> {
    pub destination: Ipv4Addr,
    pub protocol: u8,
    pub ttl: u8,
    pub payload: &'a [u8],
}

/// A wire, from this end.
pub struct Wire {
    socket: PacketSocket,
    batch: PacketBatch,
    pub address: Ipv4Addr,
    macs: [[u8; 6]; 2],
    pub is_cut: bool,
}

impl Wire {
    /// An interface's socket, in the calling thread's namespace.
    pub fn socket(interface: &str) -> PacketSocket {
        PacketSocket::open(interface, 8 << 20).unwrap()
    }

    /// A wire by its socket; our link-layer address, and the other end's.
    pub fn new(socket: PacketSocket, address: Ipv4Addr, macs: [[u8; 6]; 2]) -> Self {
        Self { socket, batch: PacketBatch::new(), address, macs, is_cut: false }
    }

    pub fn send(&self, leaving: &Leaving<'_>) {
        let Leaving { destination, protocol, ttl, payload } = *leaving;
        let length = u16::try_from(IP + payload.len()).unwrap().to_be_bytes();
        let mut packet = vec![0x45, 0xC0, length[0], length[1], 0, 0, 0, 0, ttl, protocol, 0, 0];
        packet.extend_from_slice(&[self.address.octets(), destination.octets()].concat());
        let sum = sum(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend_from_slice(payload);
        let [_, b, c, d] = destination.octets();
        let group = [0x01, 0, 0x5E, b & 0x7F, c, d];
        let to = if destination.is_multicast() { group } else { self.macs[1] };
        self.frame(to, IPV4, &packet);
    }

    fn frame(&self, to: [u8; 6], kind: [u8; 2], content: &[u8]) {
        let frame = [&to[..], &self.macs[0], &kind, content].concat();
        if !self.is_cut {
            // What the kernel does not take is lost, as on any network.
            drop(self.socket.send([(Offload::default(), &frame[..])].into_iter()));
        }
    }

    /// Our link-layer address.
    pub const fn mac(&self) -> [u8; 6] {
        self.macs[0]
    }

    /// Sends a frame of IEEE 802.3, whose content `llc` stands in front of.
    pub fn send_llc(&self, to: [u8; 6], llc: [u8; 3], content: &[u8]) {
        let length = u16::try_from(llc.len() + content.len()).unwrap().to_be_bytes();
        self.frame(to, length, &[&llc, content].concat());
    }

    /// What has come in frames of IEEE 802.3 with `llc`, and from whom.
    pub fn receive_llc(&mut self, llc: [u8; 3]) -> Vec<([u8; 6], Vec<u8>)> {
        self.batch.receive(&self.socket).unwrap();
        let frames = self.batch.frames().map(|it| [it.head, it.tail].concat());
        let take = |frame: Vec<u8>| {
            let (head, content) = frame.split_at_checked(ETHERNET)?;
            let length = usize::from(u16::from_be_bytes([head[12], head[13]]));
            let content = content.get(..length).filter(|_| length <= 1_500)?;
            let source = <[u8; 6]>::try_from(&head[6..12]).ok()?;
            Some((source, content.strip_prefix(&llc)?.to_vec()))
        };
        frames.filter(|_| !self.is_cut).filter_map(take).collect()
    }

    /// What has come.
    pub fn receive(&mut self) -> Vec<Arrived> {
        self.batch.receive(&self.socket).unwrap();
        let frames = self.batch.frames().map(|it| [it.head, it.tail].concat());
        let frames: Vec<Vec<u8>> = frames.collect();
        let frames = frames.iter().filter(|_| !self.is_cut);
        frames.filter_map(|frame| self.take(frame)).collect()
    }

    fn take(&self, frame: &[u8]) -> Option<Arrived> {
        let (head, content) = frame.split_at_checked(ETHERNET)?;
        if head[12..] == ARP {
            self.answer_arp(content);
            return None;
        }
        if head[12..] != IPV4 || content.len() < IP {
            return None;
        }
        let length = usize::from(u16::from_be_bytes([content[2], content[3]]));
        let header = usize::from(content[0] & 15) * 4;
        let source: [u8; 4] = content[12..16].try_into().unwrap();
        let destination: [u8; 4] = content[16..20].try_into().unwrap();
        Some(Arrived {
            source: source.into(),
            destination: destination.into(),
            protocol: content[9],
            ttl: content[8],
            payload: content.get(header..length)?.to_vec(),
        })
    }

    /// RFC 826: a request for this address is answered.
    fn answer_arp(&self, request: &[u8]) {
        if request.len() < 28 || request[6..8] != [0, 1] || request[24..28] != self.address.octets()
        {
            return;
        }
        let asker: [u8; 6] = request[8..14].try_into().unwrap();
        let own = [&self.macs[0][..], &self.address.octets()].concat();
        let answer = [&[0, 1, 8, 0, 6, 4, 0, 2][..], &own, &request[8..18]].concat();
        self.frame(asker, ARP, &answer);
    }
}

fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|it| u32::from(it[0]) << 8 | u32::from(it[1]));
    let sum: u32 = words.sum();
    !(((sum & 0xFFFF) + (sum >> 16)) as u16)
}
