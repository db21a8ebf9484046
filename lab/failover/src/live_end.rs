//! An endpoint with real sockets: one thread, a socket for each of its two addresses, and the
//! kernel's clock.

use crate::course::{Case, Course};
use crate::end::End;
use crate::ledger::Ledger;
use crate::pauses::Pauses;
use crate::simulation::EDGE;
use crate::watch::Watch;
use anyhow::Context;
use bytes::Bytes;
use driver::{DatagramSocket, Interest, Poll, ReceiveBatch, SendBatch, SocketOptions};
use machine::{Duration, Time};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Instant;

/// UDP port of SCTP (RFC 6951).
const ENCAPSULATION_PORT: u16 = 9899;
/// Its IP protocol.
const SCTP: u8 = 132;
/// After the end of traffic what is on its way may still arrive for so long.
const DRAIN: Duration = Duration::from_secs(2);
/// Associations have come up and paths are measured when traffic begins.
const SETTLED: Duration = Duration::from_secs(4);
/// The source asks for the association after the sink listens.
const HEAD_START: Duration = Duration::from_millis(300);
/// Longest sleep: cuts and pauses are noticed so soon.
const NAP: Duration = Duration::from_millis(2);
/// ICMP errors that are taken off a socket at once.
const RETURNED_MAX: usize = 16;
/// Nanoseconds of the clock as its first time.
const FIRST_NS: u64 = 1;

/// What all endpoints of a round share.
pub struct Shared {
    began: Instant,
    /// When the primaries were cut, nanoseconds of the clock; 0: not yet.
    cut_at: AtomicU64,
}

impl Shared {
    /// The clock starts.
    pub fn start() -> Self {
        Self { began: Instant::now(), cut_at: AtomicU64::new(0) }
    }

    pub fn now(&self) -> Time {
        let passed = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(passed.saturating_add(FIRST_NS))
    }

    /// The primaries are cut now.
    pub fn cut(&self) -> Time {
        let now = self.now();
        self.cut_at.store(now.as_nanos(), SeqCst);
        now
    }

    fn cut_at(&self) -> Option<Time> {
        Some(self.cut_at.load(SeqCst)).filter(|&at| at > 0).map(Time::from_nanos)
    }
}

/// When traffic begins.
pub fn begin() -> Time {
    Time::from_nanos(FIRST_NS) + SETTLED
}

/// When all is over.
pub fn end(case: &Case) -> Time {
    begin() + case.length + DRAIN
}

/// What carries SCTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// UDP (RFC 6951).
    Udp,
    /// IP protocol 132.
    Ip,
}

impl Carrier {
    fn socket(self, address: IpAddr) -> anyhow::Result<DatagramSocket> {
        let options = SocketOptions::default();
        let socket = match self {
            Self::Udp => DatagramSocket::bind((address, self.port()).into(), &options),
            Self::Ip => DatagramSocket::raw(address, SCTP, &options),
        };
        socket.with_context(|| format!("{self:?} at {address}"))
    }

    /// UDP port at both ends; 0: none.
    const fn port(self) -> u16 {
        match self {
            Self::Udp => ENCAPSULATION_PORT,
            Self::Ip => 0,
        }
    }
}

/// Where an endpoint is, and where its peer.
pub struct Place<'a> {
    pub namespace: &'a str,
    pub side: usize,
    pub carrier: Carrier,
    /// By path.
    pub here: [IpAddr; 2],
    pub there: [IpAddr; 2],
}

/// What an endpoint has to tell.
pub struct Observed {
    pub course: Course,
    pub ledger: Ledger,
    pub pauses: Pauses,
}

struct Live<'a> {
    end: End,
    place: &'a Place<'a>,
    sockets: [DatagramSocket; 2],
    received: ReceiveBatch,
    sending: SendBatch,
    poll: Poll,
    shared: &'a Shared,
    watch: Watch,
    ledger: Ledger,
    pauses: Pauses,
    knows_cut: bool,
}

impl<'a> Live<'a> {
    fn new(place: &'a Place<'a>, case: &Case, shared: &'a Shared) -> anyhow::Result<Self> {
        attack::enter(place.namespace)?;
        // Where that is not allowed, other programs are pauses of this one.
        let _ = driver::link::urgent();
        let sockets = [place.carrier.socket(place.here[0])?, place.carrier.socket(place.here[1])?];
        let poll = Poll::new()?;
        for (token, socket) in sockets.iter().enumerate() {
            poll.add(socket, token as u64, Interest::Read)?;
        }
        let seed = driver::random()?;
        Ok(Self {
            end: End::new(place.side, place.here.to_vec(), case.parameters, seed)?,
            place,
            sockets,
            poll,
            shared,
            received: ReceiveBatch::new(),
            sending: SendBatch::new(),
            watch: Watch::new(place.there[0], place.side == 0),
            ledger: Ledger::new(case.load.octets),
            pauses: Pauses::default(),
            knows_cut: false,
        })
    }

    /// Sleeps until something comes, or until `until`; takes what came and lets time pass.
    fn turn(&mut self, until: Time) -> anyhow::Result<()> {
        let next = self.end.deadline().map_or(until, |at| at.min(until));
        let before = self.shared.now();
        let gap = next.since(before).min(NAP);
        self.poll.wait(Some(gap))?;
        self.pauses.note(before + gap, self.shared.now());
        self.note_cut();
        for path in 0..2 {
            self.receive(path);
        }
        let now = self.shared.now();
        if self.end.deadline().is_some_and(|at| at <= now) {
            self.end.tick(now);
            self.launch();
        }
        if self.watch.is_waiting() {
            self.watch.step(now, &self.end);
        }
        Ok(())
    }

    fn note_cut(&mut self) {
        if !self.knows_cut
            && let Some(at) = self.shared.cut_at()
        {
            self.knows_cut = true;
            self.watch.cut(at, &self.end);
        }
    }

    fn receive(&mut self, path: usize) {
        let socket = &self.sockets[path];
        if self.received.receive(socket).is_err() {
            // Nobody answers at a path that is cut; the kernel says so once for each packet.
            socket.errors(RETURNED_MAX, &mut Vec::new());
            return;
        }
        let now = self.shared.now();
        let mut packets = Vec::new();
        for datagram in self.received.datagrams() {
            let (source, destination) = (datagram.remote, self.place.here[path]);
            let packet =
                |bytes| sctp::Packet { source, destination, bytes: Bytes::copy_from_slice(bytes) };
            packets.extend(datagram.segments().map(packet));
        }
        for packet in packets {
            self.end.receive(now, packet);
            self.launch();
        }
        for msu in self.end.arrived.drain(..) {
            self.ledger.read(now, &msu);
        }
    }

    fn launch(&mut self) {
        for packet in self.end.packets.drain(..) {
            let to = packet.destination.ip();
            let path = self.place.there.iter().position(|address| *address == to);
            let Some(path) = path else { continue };
            let mut filling = self.sending.fill();
            let parts = std::iter::once(&packet.bytes[..]);
            if filling.push(&packet.destination, None, 0, parts) {
                // What the kernel does not take (nobody answers at a path that is cut) is lost.
                let _ = filling.send(&self.sockets[path], 0);
            }
        }
    }

    fn run_until(&mut self, end: Time) -> anyhow::Result<()> {
        while self.shared.now() < end {
            self.turn(end)?;
        }
        Ok(())
    }

    fn observed(self) -> Observed {
        Observed { course: self.watch.observed(self.end), ledger: self.ledger, pauses: self.pauses }
    }
}

/// The endpoint that takes MSUs.
pub fn sink(place: &Place<'_>, case: &Case, shared: &Shared) -> anyhow::Result<Observed> {
    let mut live = Live::new(place, case, shared)?;
    live.ledger.judged = [begin() + EDGE, begin() + case.length.saturating_sub(EDGE)];
    live.run_until(begin())?;
    live.watch.begin(&live.end);
    live.run_until(end(case))?;
    Ok(live.observed())
}

/// The endpoint that sends them.
pub fn source(place: &Place<'_>, case: &Case, shared: &Shared) -> anyhow::Result<Observed> {
    let mut live = Live::new(place, case, shared)?;
    live.run_until(Time::from_nanos(FIRST_NS) + HEAD_START)?;
    let peer = SocketAddr::new(place.there[0], place.carrier.port());
    live.end.associate(shared.now(), peer)?;
    live.launch();
    live.run_until(begin())?;
    anyhow::ensure!(live.end.is_active, "M3UA is not up: {:?}", live.end.violations);
    live.watch.begin(&live.end);
    // Sources of a round are not in step with each other, nor with the cut.
    let phase = u64::from_be_bytes(*driver::random()?.first_chunk().unwrap_or(&[0; 8]));
    let gap = case.load.gap();
    let phase = Duration::from_nanos(phase % (2 * gap.as_nanos() as u64).max(1));
    let (mut next, last) = (begin() + phase, begin() + case.length);
    while next < last {
        live.run_until(next)?;
        let now = shared.now();
        let (sls, payload) = live.ledger.write(now);
        live.end.transfer(now, sls, payload);
        live.launch();
        next += gap;
    }
    live.run_until(end(case))?;
    Ok(live.observed())
}
