//! A packet came: to which association it belongs, or what is answered without one
//! (RFC 9260 §8.4, §8.5; RFC 4895 §6.3; RFC 5061 §5.2; RFC 9653 §5.3).

use crate::association::{Incoming, State};
use crate::codec::{self, ChunkType, HEADER_BYTES};
use crate::effects::{Icmp, IcmpError, Lost, Out, Packet};
use crate::endpoint::Endpoint;
use crate::id::low16;
use crate::offer::is_unicast;
use core::net::{IpAddr, SocketAddr};
use machine::Time;

/// A packet whose checksum was right.
pub(crate) struct Arrived<'a> {
    pub(crate) now: Time,
    pub(crate) source: SocketAddr,
    pub(crate) local: IpAddr,
    pub(crate) bytes: &'a bytes::Bytes,
    pub(crate) packet: codec::Packet<'a>,
    /// The first chunk that is not AUTH.
    pub(crate) first: codec::RawChunk<'a>,
    /// AUTH stands before it.
    pub(crate) has_auth: bool,
}

impl Endpoint {
    /// Takes a packet.
    pub(crate) fn packet(&mut self, now: Time, incoming: &Packet, out: &mut Vec<Out>) {
        let Ok(packet) = codec::Packet::read(&incoming.bytes) else {
            self.counts.malformed += 1;
            return;
        };
        let header = packet.header;
        // Where it came to may not be known.
        let local = incoming.destination;
        let is_to_one = local.is_unspecified() || is_unicast(local);
        if !is_unicast(incoming.source.ip()) || !is_to_one {
            self.counts.out_of_the_blue += 1;
            return;
        }
        let mut chunks = packet.chunks();
        let Some(Ok(mut first)) = chunks.next() else {
            self.counts.malformed += 1;
            return;
        };
        if header.destination_port != self.settings.port {
            self.counts.out_of_the_blue += 1;
            return;
        }
        let has_auth = first.kind == ChunkType::Auth.number();
        if let (true, Some(Ok(second))) = (has_auth, chunks.next()) {
            first = second;
        }
        if !self.is_intact(&packet, first.kind) {
            self.counts.checksum += 1;
            return;
        }
        let (source, bytes) = (incoming.source, &incoming.bytes);
        let arrived = Arrived { now, source, local, bytes, packet, first, has_auth };
        if self.greet(&arrived, out) {
            return;
        }
        match self.index_of(&arrived) {
            Some(index) => self.pass(&arrived, index, out),
            None => self.out_of_the_blue(&arrived, out),
        }
    }

    /// The association of a packet. Several may have listed one address while none has confirmed
    /// it: the tag says which of them is meant.
    fn index_of(&self, arrived: &Arrived<'_>) -> Option<u32> {
        let (source, header) = (arrived.source.ip(), arrived.packet.header);
        let index = self.peer(source, header.source_port);
        let listed = index.and_then(|index| self.association(index));
        if listed.is_none_or(|it| it.paths.has_confirmed(source)) {
            return index.or_else(|| self.index_by_tag(arrived));
        }
        let tagged = self.tagged(header.verification_tag).filter(|tagged| {
            self.association(*tagged).is_some_and(|it| {
                it.peer_port == header.source_port && it.paths.of(source).is_some()
            })
        });
        tagged.or(index)
    }

    /// The association of a packet from an address that nobody has spoken of yet: INIT ACK may
    /// come from one (RFC 9260 §5.1.2), and an ASCONF that adds it (RFC 5061 §5.2).
    fn index_by_tag(&self, arrived: &Arrived<'_>) -> Option<u32> {
        let kind = ChunkType::of(arrived.first.kind);
        let is_asconf = kind == Some(ChunkType::Asconf) && arrived.has_auth;
        if !is_asconf && kind != Some(ChunkType::InitAck) {
            return None;
        }
        let header = arrived.packet.header;
        let index = self.tagged(header.verification_tag)?;
        (self.association(index)?.peer_port == header.source_port).then_some(index)
    }

    /// Takes an ICMP message when the packet that it quotes is one of ours (RFC 9260 §10).
    pub(crate) fn icmp(&mut self, now: Time, icmp: &Icmp, out: &mut Vec<Out>) {
        let word = |at: usize| {
            let octets = icmp.quoted.get(at..at + 4)?;
            Some(octets.iter().fold(0u32, |word, octet| word << 8 | u32::from(*octet)))
        };
        let (Some(ports), Some(tag)) = (word(0), word(4)) else { return };
        let Some(index) = self.peer(icmp.destination, low16(ports.into())) else { return };
        let Some(association) = self.association(index) else { return };
        // An INIT is quoted long after it was answered only by those who have kept it (§10 ICMP8).
        let is_waiting = association.state == State::CookieWait;
        let is_init =
            is_waiting && icmp.quoted.get(HEADER_BYTES) == Some(&(ChunkType::Init.number()));
        let is_ours = match tag {
            0 => is_init && word(HEADER_BYTES + 4) == Some(association.local_tag),
            tag => tag == association.peer_tag,
        };
        if !is_ours || low16(u64::from(ports) >> 16) != self.settings.port {
            self.counts.tag += 1;
            return;
        }
        self.with(now, index, out, |association, cx| match icmp.error {
            IcmpError::ProtocolUnreachable => association.lose(cx, Lost::Unreachable),
            IcmpError::PacketTooBig(pmtu) => {
                if let Some(path) = association.paths.of(icmp.destination) {
                    association.paths[path].too_big(now, usize::from(pmtu));
                }
            }
        });
    }

    /// Whether the checksum is right, or a zero that is acceptable (RFC 9653 §5.3).
    fn is_intact(&self, packet: &codec::Packet<'_>, first: u8) -> bool {
        let is_special = first == ChunkType::Init.number()
            || first == ChunkType::InitAck.number()
            || first == ChunkType::CookieEcho.number();
        let is_acceptable = self.settings.parameters.extensions.zero_checksum.is_some();
        (packet.is_checksum_zero() && is_acceptable && !is_special) || packet.checksum_holds()
    }

    /// Gives the packet to its association when the Verification Tag is right.
    pub(crate) fn pass(&mut self, arrived: &Arrived<'_>, index: u32, out: &mut Vec<Out>) {
        let Some(association) = self.association(index) else { return };
        let tag = arrived.packet.header.verification_tag;
        let (own, peers) = (association.local_tag, association.peer_tag);
        let is_early = matches!(association.state, State::CookieWait | State::CookieEchoed);
        let is_right = match ChunkType::of(arrived.first.kind) {
            Some(ChunkType::Abort | ChunkType::ShutdownComplete)
                if arrived.first.flags & 1 != 0 =>
            {
                tag == peers && peers != 0
            }
            Some(ChunkType::ShutdownAck) if is_early => {
                return self.out_of_the_blue(arrived, out);
            }
            _ => tag == own,
        };
        if !is_right {
            self.counts.tag += 1;
            return;
        }
        // These are never bundled (§6.10).
        let is_lone = matches!(
            ChunkType::of(arrived.first.kind),
            Some(ChunkType::InitAck | ChunkType::ShutdownComplete)
        );
        if is_lone && arrived.packet.chunks().count() != 1 + usize::from(arrived.has_auth) {
            self.counts.malformed += 1;
            return;
        }
        let Arrived { now, source, local, packet, bytes, .. } = arrived;
        let incoming = Incoming { source: *source, bytes, packet: *packet };
        self.with(*now, index, out, |association, cx| {
            if let Some(path) = association.paths.of(source.ip()) {
                association.learn_local(path, *local);
            }
            association.packet(cx, &incoming);
        });
    }
}
