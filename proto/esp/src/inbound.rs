//! Packets that come (RFC 4303 §3.4).

use crate::batch::{Notice, Packet};
use crate::ip::{self, Head, Part, UDP_HEADER, Walk};
use crate::lifetime::{Meter, Stage};
use crate::plan::{ESP_HEADER, Frame, Plan};
use crate::selector::Carried;
use crate::transform::{Keys, Transform};
use crate::window::Window;
use crate::{Dropped, Material, Mode, Parameters, Spi, Unfit, Usage};
use cipher::Op;
use core::net::IpAddr;

/// What becomes of the checksum of TCP or UDP in transport mode, when a NAT has changed the
/// addresses that it is made of (RFC 3948 §3.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repair {
    /// Nothing: there is no NAT.
    None,
    /// It is changed by what these addresses and those of the packet differ.
    Original {
        /// The source that the sender knows.
        source: IpAddr,
        /// The destination that the sender knows.
        destination: IpAddr,
    },
    /// It is made anew: the ICV has proved the packet.
    Anew,
}

/// What an association has dropped; more than fit are as many as fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Failures {
    /// Packets that came before or too late.
    pub replayed: u32,
    /// Packets whose ICV is wrong.
    pub forged: u32,
    /// All others.
    pub others: u32,
}

/// An association by which packets come.
#[derive(Debug)]
pub struct Inbound {
    keys: Keys,
    spi: Spi,
    extended: bool,
    is_udp: bool,
    pub(crate) is_tunnel: bool,
    pub(crate) repair: Option<Box<Repair>>,
    block: u32,
    window: Option<Window>,
    /// The highest number that was told.
    told: u64,
    /// Where the other end is seen, if it may move.
    peer: Option<Box<(IpAddr, u16)>>,
    meter: Meter,
    failures: Failures,
    pub(crate) carried: Carried,
}

/// A packet whose ICV is looked at next.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub plan: Plan,
    /// Its headers in front of UDP or ESP.
    pub head: Head,
    /// Where its payload begins and ends in the buffer.
    pub text: usize,
    pub end: usize,
    number: u64,
    /// Where it came from, if that may change.
    from: Option<(IpAddr, u16)>,
}

impl Inbound {
    /// An association whose keys nobody has used.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn new(parameters: Parameters, material: Material<'_>) -> Result<Self, Unfit> {
        Self::resume(parameters, material, 0, Usage::default())
    }

    /// An association that goes on where another one stopped. All numbers up to `edge` count as
    /// seen. What the other one has seen beyond what it told could be replayed: who does not want
    /// that adds a block, and loses the packets of as many numbers.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn resume(
        parameters: Parameters,
        material: Material<'_>,
        edge: u64,
        usage: Usage,
    ) -> Result<Self, Unfit> {
        let keys = Keys::of(&parameters, material)?;
        Self::made(parameters, keys, edge, usage)
    }

    /// An association that shares its keys with others, and that nobody has used.
    ///
    /// # Errors
    /// [`Unfit`]: the keys are of another algorithm, or may be shared with nobody.
    pub fn with_keys(parameters: Parameters, keys: &Keys) -> Result<Self, Unfit> {
        let keys = keys.shared(&parameters)?;
        Self::made(parameters, keys, 0, Usage::default())
    }

    fn made(parameters: Parameters, keys: Keys, edge: u64, usage: Usage) -> Result<Self, Unfit> {
        let edge = edge.min(parameters.last());
        let window = parameters.window;
        let peer = match (&parameters.mode, parameters.udp) {
            (Mode::Tunnel(tunnel), Some(udp)) => Some(Box::new((tunnel.remote, udp.remote))),
            _ => None,
        };
        Ok(Self {
            keys,
            spi: parameters.spi,
            extended: parameters.extended,
            is_udp: parameters.udp.is_some(),
            is_tunnel: matches!(parameters.mode, Mode::Tunnel(_)),
            repair: None,
            block: parameters.block,
            window: (window > 0).then(|| Window::new(window, edge)),
            told: edge,
            peer,
            meter: Meter::new(parameters.bounded(), usage),
            failures: Failures::default(),
            carried: Carried::new(parameters.selectors),
        })
    }

    /// With checksums repaired behind a NAT.
    #[must_use]
    pub fn with_repair(self, repair: Repair) -> Self {
        Self { repair: (repair != Repair::None).then(|| Box::new(repair)), ..self }
    }

    #[inline]
    pub(crate) fn transform(&self) -> &Transform {
        self.keys.transform()
    }

    /// Its index.
    #[must_use]
    pub const fn spi(&self) -> Spi {
        self.spi
    }

    /// The highest number that was seen; zero without a window.
    #[must_use]
    pub fn edge(&self) -> u64 {
        self.window.as_ref().map_or(0, Window::edge)
    }

    /// What has passed.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.meter.usage
    }

    /// Follows another one that is in use: all numbers up to `edge` count as seen, and so much has
    /// passed. [`Inbound::resume`] for one that stands.
    pub fn follow(&mut self, edge: u64, usage: Usage) {
        if let Some(window) = &mut self.window {
            // As in `resume`: behind the last number there is none that could still come.
            let last = if self.extended { u64::MAX - 1 } else { u32::MAX.into() };
            window.skip(edge.min(last));
            self.told = self.told.max(window.edge());
        }
        self.meter.usage = usage;
    }

    /// Its peer has proven by another association that it sends from elsewhere now; of an
    /// association outside of UDP nothing changes.
    pub fn set_peer(&mut self, address: IpAddr, port: u16) {
        if let Some(peer) = &mut self.peer {
            **peer = (address, port);
        }
    }

    /// What has been dropped.
    #[must_use]
    pub const fn failures(&self) -> Failures {
        self.failures
    }

    /// Octets of memory, those on the heap with it.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + self.keys.size()
            + self.window.as_ref().map_or(0, Window::size)
            + self.meter.size()
            + self.repair.as_ref().map_or(0, |it| size_of_val(&**it))
            + self.peer.as_ref().map_or(0, |it| size_of_val(&**it))
            + self.carried.size()
    }

    /// Looks at all of a packet that can be looked at before its ICV.
    pub(crate) fn plan(&self, buffer: &mut [u8], packet: &Packet) -> Result<Waiting, Dropped> {
        if self.meter.is_expired() {
            return Err(Dropped::Expired);
        }
        let octets = packet.octets(buffer)?;
        let head = Head::read(octets, Walk::Upper)?;
        if head.part != Part::Whole {
            return Err(Dropped::Fragment);
        }
        let octets = &octets[..head.length];
        let (esp, from) = self.encapsulated(octets, &head)?;
        let transform = self.transform();
        let algorithm = transform.algorithm;
        let text = esp + ESP_HEADER + algorithm.iv();
        let end = octets.len().checked_sub(algorithm.icv()).ok_or(Dropped::Short)?;
        let inside = end.checked_sub(text).filter(|inside| *inside >= 2);
        let is_whole =
            |inside: usize| !algorithm.is_cbc() || inside.is_multiple_of(algorithm.block());
        if !inside.is_some_and(is_whole) {
            return Err(Dropped::Short);
        }
        let field: &[u8; ESP_HEADER] = octets[esp..].first_chunk().ok_or(Dropped::Short)?;
        let [spi, low] = [[0, 1, 2, 3], [4, 5, 6, 7]]
            .map(|at| u32::from_be_bytes(at.map(|at: usize| field[at])));
        if spi != self.spi.0 {
            return Err(Dropped::OtherSpi);
        }
        let number = self.number(low)?;
        let mut iv = [0; 16];
        let field = &octets[esp + ESP_HEADER..text];
        if algorithm.is_cbc() {
            iv[..field.len()].copy_from_slice(field);
        } else {
            iv[..4].copy_from_slice(&transform.salt);
            iv[4..4 + field.len()].copy_from_slice(field);
        }
        let frame = Frame { base: packet.at, esp, end };
        let known = (number, self.extended);
        let mut plan = Plan::new(transform, Op::Unprotect, frame, iv, known);
        plan.displace(buffer, number);
        let (text, end) = (packet.at + text, packet.at + end);
        Ok(Waiting { plan, head, text, end, number, from })
    }

    /// Where ESP begins behind the headers, and by UDP where it came from.
    fn encapsulated(
        &self,
        octets: &[u8],
        head: &Head,
    ) -> Result<(usize, Option<(IpAddr, u16)>), Dropped> {
        match (self.is_udp, head.next) {
            (false, ip::ESP) => Ok((head.header, None)),
            (true, ip::UDP) => {
                let rest = &octets[head.header..];
                let udp: &[u8; UDP_HEADER] = rest.first_chunk().ok_or(Dropped::Short)?;
                if usize::from(u16::from_be_bytes([udp[4], udp[5]])) != rest.len() {
                    return Err(Dropped::Malformed);
                }
                let from = (head.source(octets), u16::from_be_bytes([udp[0], udp[1]]));
                Ok((head.header + UDP_HEADER, self.peer.as_ref().map(|_| from)))
            }
            _ => Err(Dropped::Encapsulation),
        }
    }

    /// The whole number, if it may come.
    fn number(&self, low: u32) -> Result<u64, Dropped> {
        let Some(window) = &self.window else { return Ok(u64::from(low)) };
        let number = match self.extended {
            true => window.infer(low).ok_or(Dropped::Old)?,
            false => u64::from(low),
        };
        window.check(number).map(|()| number)
    }

    /// Whether a packet may still come: others of its batch may have had its number.
    pub(crate) fn admits(&self, waiting: &Waiting) -> Result<(), Dropped> {
        if self.meter.is_expired() {
            return Err(Dropped::Expired);
        }
        self.window.as_ref().map_or(Ok(()), |window| window.check(waiting.number))
    }

    /// A packet whose ICV is right: its number is seen.
    pub(crate) fn proven(
        &mut self,
        waiting: &Waiting,
        association: usize,
        notices: &mut Vec<Notice>,
    ) {
        // Without a window nobody knows whether it came before: it tells nothing of where its
        // sender is now.
        let mut is_newest = false;
        if let Some(window) = &mut self.window {
            is_newest = window.take(waiting.number);
            let edge = window.edge();
            if self.block > 0 && edge - self.told >= u64::from(self.block) {
                self.told = edge;
                notices.push(Notice::Edge { association, edge });
            }
        }
        if let (Some(from), Some(peer), true) = (waiting.from, &mut self.peer, is_newest)
            && **peer != from
        {
            **peer = from;
            notices.push(Notice::Moved { association, address: from.0, port: from.1 });
        }
        match self.meter.count(waiting.end - waiting.text) {
            Some(Stage::Soft) => notices.push(Notice::Soft { association }),
            Some(Stage::Hard) => notices.push(Notice::Hard { association }),
            _ => {}
        }
    }

    /// Counts a packet that was dropped.
    pub(crate) fn failed(&mut self, why: Dropped) {
        let count = match why {
            Dropped::Replayed | Dropped::Old => &mut self.failures.replayed,
            Dropped::Forged => &mut self.failures.forged,
            _ => &mut self.failures.others,
        };
        *count = count.saturating_add(1);
    }
}
