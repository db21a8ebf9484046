//! One direction of a link as a machine.
//!
//! ```text
//!            ┌ cut ┐   ┌──── queue ────┐   ┌ wire ┐   ┌ loss, corruption, duplicates ┐
//!  packet ──→│  ✕  │──→│ waiting, else │──→│ rate │──→│ delay + jitter, reordering   │──→ out
//!            └─────┘   │   dropped     │   └──────┘   └──────────────────────────────┘
//! ```
//!
//! Everything is computed from the times at which things were due, never from when the machine was
//! called: a caller that is late hands packets over late, but the next ones are on time again and
//! the rate is exact.

use crate::flying::Flying;
use crate::jitter::Wander;
use crate::loss::LossState;
use crate::{Change, PipeSpec, Probability, Random, Rate, Schedule};
use machine::{Duration, Machine, Time};
use serde::Serialize;
use std::collections::VecDeque;

/// Packets on their way at once; further ones are shed.
pub const FLYING_MAX: usize = 1 << 20;
const NS_PER_S: u64 = 1_000_000_000;

/// What a pipe carries.
pub trait Packet: Clone {
    /// Its length: what its rate and its queue count.
    fn octets(&self) -> usize;
    /// Flips one of its bits, `0 .. 8 * octets()`.
    fn flip(&mut self, bit: usize);
}

impl Packet for Vec<u8> {
    fn octets(&self) -> usize {
        self.len()
    }

    fn flip(&mut self, bit: usize) {
        self[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Octets with the addresses of a simulation.
impl<A: Clone> Packet for (A, Vec<u8>) {
    fn octets(&self) -> usize {
        self.1.len()
    }

    fn flip(&mut self, bit: usize) {
        self.1.flip(bit);
    }
}

/// A packet at the far end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival<P> {
    /// When it was due there.
    pub at: Time,
    /// The packet.
    pub packet: P,
}

/// What became of the packets. `offered + duplicated` is `delivered + lost + dropped + cut +
/// shed` and those that wait or are on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Given to the pipe.
    pub offered: u64,
    /// Their octets.
    pub offered_octets: u64,
    /// Taken out at the far end.
    pub delivered: u64,
    /// Their octets.
    pub delivered_octets: u64,
    /// Lost on the wire.
    pub lost: u64,
    /// Found the queue full.
    pub dropped: u64,
    /// Lost because the pipe was cut.
    pub cut: u64,
    /// Not taken because [`FLYING_MAX`] were on their way.
    pub shed: u64,
    /// Sent once more.
    pub duplicated: u64,
    /// Held back.
    pub reordered: u64,
    /// With flipped bits.
    pub corrupted: u64,
    /// Most packets that waited at once.
    pub waiting_max: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Pipe<P> {
    spec: PipeSpec,
    schedule: Schedule,
    random: Random,
    loss: LossState,
    wander: Wander,
    is_cut: bool,
    /// Wait for the wire, with the time since when.
    waiting: VecDeque<(Time, P)>,
    waiting_octets: usize,
    /// Is being sent until then.
    wire: Option<(Time, P)>,
    /// When the wire became free.
    free_at: Time,
    /// What the last packet's time was rounded down by, in billionths of a bit at this rate.
    rest: u64,
    flying: Flying<P>,
    /// When the last packet that kept its place arrives.
    last: Time,
    counts: Counts,
}

impl<P: Packet> Pipe<P> {
    /// A pipe with chance from `seed`, and what shall happen to it.
    #[must_use]
    pub fn new(seed: u64, spec: PipeSpec, schedule: Schedule) -> Self {
        Self {
            spec,
            schedule,
            random: Random::new(seed),
            loss: LossState::default(),
            wander: Wander::default(),
            is_cut: false,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            wire: None,
            free_at: Time::ZERO,
            rest: 0,
            flying: Flying::default(),
            last: Time::ZERO,
            counts: Counts::default(),
        }
    }

    /// What became of the packets so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// How it behaves now.
    #[must_use]
    pub const fn spec(&self) -> &PipeSpec {
        &self.spec
    }

    /// Whether it is cut.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Packets that wait, that on the wire left out.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Packets between the two ends: those that wait, are being sent, or are on their way.
    #[must_use]
    pub fn standing(&self) -> usize {
        self.waiting.len() + usize::from(self.wire.is_some()) + self.flying.len()
    }

    /// Makes a change now; what is due before it happens first, at the next step or tick.
    pub fn change(&mut self, now: Time, change: Change) {
        self.advance(now);
        self.apply(now, change);
    }

    fn apply(&mut self, now: Time, change: Change) {
        match change {
            Change::Cut => {
                self.is_cut = true;
                if self.spec.spill {
                    self.spill(now);
                }
            }
            Change::Heal => self.is_cut = false,
            Change::Become(spec) => {
                self.spec = spec;
                self.rest = 0;
                if spec.rate.is_none() {
                    self.release(now);
                }
            }
        }
    }

    /// Loses all that has not arrived by `now`.
    fn spill(&mut self, now: Time) {
        let before = self.standing();
        self.waiting.clear();
        self.waiting_octets = 0;
        self.wire = None;
        self.flying.forget_after(now);
        self.counts.cut += (before - self.standing()) as u64;
    }

    /// Without a rate nothing waits: everything leaves at once.
    fn release(&mut self, now: Time) {
        if let Some((_, packet)) = self.wire.take() {
            self.launch(now, packet);
        }
        while let Some((_, packet)) = self.waiting.pop_front() {
            self.launch(now, packet);
        }
        self.waiting_octets = 0;
    }

    /// Everything that is due by `now` but arrivals, in the order of its times.
    fn advance(&mut self, now: Time) {
        loop {
            let sent = self.wire.as_ref().map_or(Time::MAX, |(at, _)| *at);
            let changes = self.schedule.next_at().unwrap_or(Time::MAX);
            if sent.min(changes) > now {
                return;
            }
            if sent <= changes {
                self.finish();
            } else if let Some((at, change)) = self.schedule.take() {
                self.apply(at, change);
            }
        }
    }

    /// The packet on the wire has been sent; the next one follows.
    fn finish(&mut self) {
        let Some((at, packet)) = self.wire.take() else { return };
        self.free_at = at;
        self.launch(at, packet);
        if let Some((since, packet)) = self.waiting.pop_front() {
            self.waiting_octets -= packet.octets();
            self.send(since, packet);
        }
    }

    /// Begins to send a packet that was there at `since`: at once, or when the wire became free.
    fn send(&mut self, since: Time, packet: P) {
        let Some(rate) = self.spec.rate else { return self.launch(since, packet) };
        if since > self.free_at {
            self.rest = 0;
        }
        let octets = packet.octets() as u64 + u64::from(self.spec.overhead);
        let until = since.max(self.free_at) + self.time_on_wire(octets, rate);
        self.wire = Some((until, packet));
    }

    /// How long so many octets take, with the fraction of a nanosecond that the last one left.
    fn time_on_wire(&mut self, octets: u64, rate: Rate) -> Duration {
        let bits = octets.saturating_mul(8 * NS_PER_S).saturating_add(self.rest);
        let rate = rate.bits_per_s();
        self.rest = bits % rate;
        Duration::from_nanos(bits / rate)
    }

    /// A packet has left the wire's near end.
    fn launch(&mut self, at: Time, mut packet: P) {
        if self.loss.takes(&self.spec.loss, &mut self.random) {
            self.counts.lost += 1;
            return;
        }
        if self.happens(self.spec.corrupt) {
            self.corrupt(&mut packet);
        }
        if self.happens(self.spec.duplicate) {
            self.counts.duplicated += 1;
            self.fly(at, packet.clone());
        }
        self.fly(at, packet);
    }

    /// Chance is not asked about what never happens: it costs more than all the rest.
    fn happens(&mut self, probability: Probability) -> bool {
        probability > Probability::NEVER && self.random.chance(probability.value())
    }

    fn corrupt(&mut self, packet: &mut P) {
        let bits = 8 * packet.octets() as u64;
        if bits == 0 {
            return;
        }
        self.counts.corrupted += 1;
        for _ in 0..self.spec.corrupt_bits {
            packet.flip(self.random.below(bits) as usize);
        }
    }

    fn fly(&mut self, sent: Time, packet: P) {
        if self.flying.len() >= FLYING_MAX {
            self.counts.shed += 1;
            return;
        }
        let (delay, jitter) = (self.spec.delay, &self.spec.jitter);
        let mut at = sent + self.wander.next(delay, jitter, &mut self.random);
        if self.happens(self.spec.reorder) {
            self.counts.reordered += 1;
            at += self.spec.hold;
        } else if !self.spec.jitter.overtakes {
            at = at.max(self.last);
            self.last = at;
        }
        self.flying.push(at, packet);
    }

    fn deliver(&mut self, now: Time, out: &mut Vec<Arrival<P>>) {
        while self.flying.next_at().is_some_and(|at| at <= now) {
            let Some((at, packet)) = self.flying.pop() else { return };
            self.counts.delivered += 1;
            self.counts.delivered_octets += packet.octets() as u64;
            out.push(Arrival { at, packet });
        }
    }

    fn take(&mut self, now: Time, packet: P) {
        let octets = packet.octets();
        self.counts.offered += 1;
        self.counts.offered_octets += octets as u64;
        if self.is_cut {
            self.counts.cut += 1;
        } else if self.wire.is_none() {
            self.send(now, packet);
        } else if self.waiting.len() >= self.spec.queue.packets
            || self.waiting_octets + octets > self.spec.queue.octets
        {
            self.counts.dropped += 1;
        } else {
            self.waiting.push_back((now, packet));
            self.waiting_octets += octets;
            self.counts.waiting_max = self.counts.waiting_max.max(self.waiting.len() as u64);
        }
    }
}

impl<P: Packet> Machine for Pipe<P> {
    type In = P;
    type Out = Arrival<P>;

    fn step(&mut self, now: Time, packet: P, out: &mut Vec<Arrival<P>>) {
        self.advance(now);
        self.take(now, packet);
        self.deliver(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Arrival<P>>) {
        self.advance(now);
        self.deliver(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let wire = self.wire.as_ref().map(|(at, _)| *at);
        wire.into_iter().chain(self.flying.next_at()).chain(self.schedule.next_at()).min()
    }
}
