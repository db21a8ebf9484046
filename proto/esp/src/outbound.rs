//! Packets that leave (RFC 4303 §3.3).

use crate::batch::{Notice, Packet};
use crate::checksum::{folded, sum};
use crate::ip::{self, Head, Part, UDP_HEADER, Walk, set_next};
use crate::lifetime::{Meter, Stage};
use crate::plan::{ESP_HEADER, Frame, Plan};
use crate::selector::{Carried, Way};
use crate::transform::{Keys, Transform};
use crate::tunnel::Inner;
use crate::{Dropped, Material, Mode, Parameters, Spi, Tunnel, Udp, Unfit, Usage};
use cipher::Op;
use core::net::IpAddr;
use zeroize::Zeroize;

/// An association by which packets leave. It cannot be cloned: two of it would use the same
/// numbers.
#[derive(Debug)]
pub struct Outbound {
    keys: Keys,
    spi: Spi,
    extended: bool,
    /// The last number that was used.
    used: u64,
    /// The last number that may be used, and the last one there is.
    granted: u64,
    last: u64,
    block: u32,
    /// Whether a further grant was asked for.
    asked: bool,
    /// Of CBC alone.
    seed: Option<Box<Seed>>,
    tunnel: Option<Box<Tunnel>>,
    udp: Option<Udp>,
    meter: Meter,
    carried: Carried,
}

/// What IVs of CBC are made of beside the number.
struct Seed([u8; 16]);

impl Drop for Seed {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl core::fmt::Debug for Seed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a seed")
    }
}

/// Where the parts of a packet will stand.
struct Layout {
    /// Octets of IP headers in front, the packet's own or the tunnel's.
    header: usize,
    /// Octets between them and the IV.
    udp: usize,
    /// Octets that are inside, and of padding.
    payload: usize,
    pad: usize,
    frame: Frame,
    /// Octets of the whole.
    length: usize,
}

impl Outbound {
    /// An association whose keys nobody has used. `seed` was drawn at random: IVs of CBC are made
    /// of it.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn new(
        parameters: Parameters,
        material: Material<'_>,
        seed: [u8; 16],
    ) -> Result<Self, Unfit> {
        let keys = Keys::of(&parameters, material)?;
        Self::made(parameters, keys, seed)
    }

    /// An association that shares its keys with others, and that nobody has used. `seed` as in
    /// [`Outbound::new`].
    ///
    /// # Errors
    /// [`Unfit`]: the keys are of another algorithm, or may be shared with nobody.
    pub fn with_keys(parameters: Parameters, keys: &Keys, seed: [u8; 16]) -> Result<Self, Unfit> {
        let keys = keys.shared(&parameters)?;
        Self::made(parameters, keys, seed)
    }

    fn made(parameters: Parameters, keys: Keys, seed: [u8; 16]) -> Result<Self, Unfit> {
        let (last, lifetime) = (parameters.last(), parameters.bounded());
        let tunnel = match parameters.mode {
            Mode::Transport => None,
            Mode::Tunnel(tunnel) => Some(Box::new(tunnel)),
        };
        let seed = keys.transform().algorithm.is_cbc().then(|| Box::new(Seed(seed)));
        Ok(Self {
            keys,
            spi: parameters.spi,
            extended: parameters.extended,
            used: 0,
            granted: if parameters.block == 0 { last } else { 0 },
            last,
            block: parameters.block,
            asked: false,
            seed,
            tunnel,
            udp: parameters.udp,
            meter: Meter::new(lifetime, Usage::default()),
            carried: Carried::new(parameters.selectors),
        })
    }

    /// An association that goes on where another one stopped: behind all numbers that were ever
    /// granted to it. `usage` is what was told of it last.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn resume(
        parameters: Parameters,
        material: Material<'_>,
        seed: [u8; 16],
        granted: u64,
        usage: Usage,
    ) -> Result<Self, Unfit> {
        let lifetime = parameters.bounded();
        let mut outbound = Self::new(parameters, material, seed)?;
        outbound.used = granted.min(outbound.last);
        outbound.granted = outbound.granted.max(outbound.used);
        outbound.meter = Meter::new(lifetime, usage);
        Ok(outbound)
    }

    /// Its index.
    #[must_use]
    pub const fn spi(&self) -> Spi {
        self.spi
    }

    /// The last number that was used.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The last number that may be used.
    #[must_use]
    pub const fn granted(&self) -> u64 {
        self.granted
    }

    /// What has passed.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.meter.usage
    }

    /// What it is to be granted next: a block behind what was granted. It is told to whoever may
    /// take over before it is granted.
    #[must_use]
    pub const fn wanted(&self) -> u64 {
        let wanted = self.granted.saturating_add(self.block as u64);
        if wanted < self.last { wanted } else { self.last }
    }

    /// Behind what another one goes on that takes its place: what was granted, or what it is to be
    /// granted next where that was asked for.
    #[must_use]
    pub const fn promised(&self) -> u64 {
        if self.asked { self.wanted() } else { self.granted }
    }

    /// Follows another one that is in use, to go on behind what that one has promised
    /// ([`Outbound::promised`]); so much has passed. It has the block behind that: whoever follows
    /// it is told so first ([`Outbound::resume`] for one that stands).
    pub fn follow(&mut self, promised: u64, usage: Usage) {
        self.used = self.used.max(promised.min(self.last));
        self.granted = self.granted.max(self.used);
        if self.granted == self.used {
            self.grant(self.wanted());
        }
        self.meter.usage = usage;
    }

    /// Grants the numbers up to this one. What was granted stays so.
    pub fn grant(&mut self, up_to: u64) {
        self.granted = self.granted.max(up_to.min(self.last));
        self.asked = false;
    }

    /// The other end has come to another address or port: its NAT has. The address of a tunnel's
    /// end changes only within its version of IP.
    pub fn set_peer(&mut self, address: IpAddr, port: u16) {
        if let Some(tunnel) = &mut self.tunnel
            && tunnel.remote.is_ipv4() == address.is_ipv4()
        {
            tunnel.remote = address;
        }
        if let Some(udp) = &mut self.udp {
            udp.remote = port;
        }
    }

    /// By how many octets a packet of that length grows, of which `header` stay in front in
    /// transport mode.
    #[must_use]
    pub fn growth(&self, length: usize, header: usize) -> usize {
        let inside = if self.tunnel.is_some() { length } else { length.saturating_sub(header) };
        let algorithm = self.transform().algorithm;
        self.tunnel.as_ref().map_or(0, |it| it.header())
            + self.udp.map_or(0, |_| UDP_HEADER)
            + ESP_HEADER
            + algorithm.iv()
            + padding(inside, algorithm.block())
            + 2
            + algorithm.icv()
    }

    /// Octets of memory, those on the heap with it.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + self.keys.size()
            + self.seed.as_ref().map_or(0, |it| size_of_val(&**it))
            + self.tunnel.as_ref().map_or(0, |it| size_of_val(&**it))
            + self.meter.size()
            + self.carried.size()
    }

    #[inline]
    pub(crate) fn transform(&self) -> &Transform {
        self.keys.transform()
    }

    /// Writes all of a packet but what the cipher writes; its number is spent.
    pub(crate) fn plan(
        &mut self,
        buffer: &mut [u8],
        packet: &mut Packet,
        notices: &mut Vec<Notice>,
    ) -> Result<Plan, Dropped> {
        if self.meter.is_expired() {
            return Err(Dropped::Expired);
        }
        let octets = packet.octets(buffer)?;
        let head = Head::read(octets, Walk::Insertion)?;
        let octets = &octets[..head.length];
        if !packet.is_dummy {
            self.carried.check(Way::Out, octets)?;
        }
        if self.tunnel.is_none() && head.part != Part::Whole {
            return Err(Dropped::Fragment);
        }
        let inner = Inner::of(octets, head.is_v6);
        let layout = self.layout(packet, &head)?;
        let number = self.number(packet.association, notices)?;
        let next = match (packet.is_dummy, &self.tunnel) {
            (true, _) => ip::NONE,
            (false, None) => head.next,
            (false, Some(_)) => {
                if head.is_v6 {
                    ip::IPV6
                } else {
                    ip::IPV4
                }
            }
        };
        let whole = &mut buffer[packet.room.clone()];
        let (at, base) = (packet.at - packet.room.start, layout.frame.base - packet.room.start);
        match &self.tunnel {
            None => moved(whole, at, base, head.header),
            Some(tunnel) => {
                let header = &mut whole[base..base + layout.header];
                tunnel.write(header, inner, u16::from_be_bytes(low(number)));
            }
        }
        let whole = &mut whole[base..base + layout.length];
        let head = self.outer(&head, layout.header);
        set_next(whole, &head, if self.udp.is_some() { ip::UDP } else { ip::ESP })?;
        let iv = self.fill(whole, &layout, number, next);
        let octets = layout.payload + layout.pad + 2;
        self.count(octets, packet.association, notices);
        packet.at = layout.frame.base;
        packet.length = layout.length;
        let number = (number, self.extended);
        let mut plan = Plan::new(self.transform(), Op::Protect, layout.frame, iv, number);
        plan.displace(buffer, number.0);
        Ok(plan)
    }

    /// Writes what is made of what the cipher has written: IPv6 takes no UDP without a checksum
    /// (RFC 8200 §8.1).
    pub(crate) fn finish(&self, packet: &mut [u8]) {
        let is_v6 = packet.first().is_some_and(|octet| octet >> 4 == 6);
        if self.udp.is_none() || !is_v6 {
            return;
        }
        let Ok(head) = Head::read(packet, Walk::Upper) else { return };
        let upper = &packet[head.header..];
        let pseudo = sum(&packet[8..40]) + u64::from(ip::UDP) + upper.len() as u64;
        let checksum = match !folded(pseudo + sum(upper)) {
            0 => u16::MAX,
            checksum => checksum,
        };
        if let Some(field) = packet.get_mut(head.header + 6..head.header + 8) {
            field.copy_from_slice(&checksum.to_be_bytes());
        }
    }

    fn count(&mut self, octets: usize, association: usize, notices: &mut Vec<Notice>) {
        match self.meter.count(octets) {
            Some(Stage::Soft) => notices.push(Notice::Soft { association }),
            Some(Stage::Hard) => notices.push(Notice::Hard { association }),
            _ => {}
        }
    }

    /// The headers in front of ESP.
    fn outer(&self, head: &Head, header: usize) -> Head {
        match &self.tunnel {
            None => *head,
            Some(tunnel) => {
                let is_v6 = tunnel.local.is_ipv6();
                Head { is_v6, header, next_at: if is_v6 { 6 } else { 9 }, ..*head }
            }
        }
    }

    fn layout(&self, packet: &Packet, head: &Head) -> Result<Layout, Dropped> {
        let algorithm = self.transform().algorithm;
        let (header, own) = match &self.tunnel {
            None => (head.header, head.header),
            Some(tunnel) => (tunnel.header(), 0),
        };
        let udp = self.udp.map_or(0, |_| UDP_HEADER);
        let payload = head.length - own;
        let pad = padding(payload, algorithm.block());
        let before = header + udp + ESP_HEADER + algorithm.iv();
        let end = before + payload + pad + 2;
        let length = end + algorithm.icv();
        let base = (packet.at + own).checked_sub(before).ok_or(Dropped::NoRoom)?;
        if base < packet.room.start || base + length > packet.room.end {
            return Err(Dropped::NoRoom);
        }
        let is_v6 = self.tunnel.as_ref().map_or(head.is_v6, |it| it.local.is_ipv6());
        if length - if is_v6 { ip::V6_HEADER } else { 0 } > usize::from(u16::MAX) {
            return Err(Dropped::NoRoom);
        }
        let frame = Frame { base, esp: header + udp, end };
        Ok(Layout { header, udp, payload, pad, frame, length })
    }

    /// Spends a number.
    fn number(&mut self, association: usize, notices: &mut Vec<Notice>) -> Result<u64, Dropped> {
        if self.used == self.last {
            return Err(Dropped::Exhausted);
        }
        let left = self.granted - self.used;
        if !self.asked && self.block > 0 && left <= u64::from(self.block / 2) {
            self.asked = true;
            notices.push(Notice::Wanted { association, up_to: self.wanted() });
        }
        if left == 0 {
            return Err(Dropped::NotGranted);
        }
        self.used += 1;
        Ok(self.used)
    }

    /// Writes UDP, SPI, number, IV and trailer into a packet; what the cipher takes as its IV.
    fn fill(&self, whole: &mut [u8], layout: &Layout, number: u64, next: u8) -> [u8; 16] {
        let Frame { esp, end, .. } = layout.frame;
        if let Some(udp) = self.udp {
            let length = u16::try_from(whole.len() - layout.header).unwrap_or(u16::MAX);
            let header = &mut whole[esp - layout.udp..esp];
            header[..2].copy_from_slice(&udp.local.to_be_bytes());
            header[2..4].copy_from_slice(&udp.remote.to_be_bytes());
            header[4..6].copy_from_slice(&length.to_be_bytes());
            // RFC 3948 §2.1: IPv4 needs none; see `Outbound::finish`.
            header[6..].fill(0);
        }
        let [.., a, b, c, d] = number.to_be_bytes();
        whole[esp..esp + 4].copy_from_slice(&self.spi.0.to_be_bytes());
        whole[esp + 4..esp + 8].copy_from_slice(&[a, b, c, d]);
        let (field, iv) = self.iv(number);
        let count = self.transform().algorithm.iv();
        whole[esp + ESP_HEADER..][..count].copy_from_slice(&field[..count]);
        let trailer = &mut whole[end - layout.pad - 2..end];
        for (octet, value) in trailer.iter_mut().zip(1u8..) {
            *octet = value;
        }
        trailer[layout.pad] = u8::try_from(layout.pad).unwrap_or(0);
        trailer[layout.pad + 1] = next;
        iv
    }

    /// What stands in the field of the IV before the cipher has run, and what it takes as its own.
    ///
    /// Counters have the number in it and the SPI: associations that share a key have other SPIs,
    /// and numbers of 32 bits ([`crate::Unfit::SharedKey`]).
    /// The IV of CBC must not be foreseen: it is the number, SPI and a secret seed, encrypted as a
    /// first block under an IV of zeros (SP 800-38A appendix C).
    fn iv(&self, number: u64) -> ([u8; 16], [u8; 16]) {
        let unique = (number ^ u64::from(self.spi.0) << 32).to_be_bytes();
        let (mut field, mut iv) = ([0; 16], [0; 16]);
        if let Some(seed) = &self.seed {
            field = seed.0;
            for (octet, other) in field.iter_mut().zip(unique) {
                *octet ^= other;
            }
        } else {
            field[..8].copy_from_slice(&unique);
            iv[..4].copy_from_slice(&self.transform().salt);
            iv[4..12].copy_from_slice(&unique);
        }
        (field, iv)
    }
}

/// Moves headers to the front; most have twenty octets, which is no call.
fn moved(whole: &mut [u8], from: usize, to: usize, octets: usize) {
    if octets == ip::V4_HEADER
        && let Some(header) = whole[from..].first_chunk::<{ ip::V4_HEADER }>().copied()
    {
        whole[to..to + octets].copy_from_slice(&header);
    } else {
        whole.copy_within(from..from + octets, to);
    }
}

/// The last two octets of a number.
fn low(number: u64) -> [u8; 2] {
    let [.., a, b] = number.to_be_bytes();
    [a, b]
}

/// Octets of padding, so that payload, padding and two octets are whole blocks.
const fn padding(payload: usize, block: usize) -> usize {
    (payload + 2).next_multiple_of(block) - payload - 2
}
