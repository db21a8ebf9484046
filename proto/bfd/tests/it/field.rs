//! Two machines and a link between them, in virtual time.

use bfd::{In, Limits, Out, Path, Received, SessionId, SessionSettings, Sessions, State, Timers};
use machine::{Duration, Machine, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::net::IpAddr;

pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn address(side: usize) -> IpAddr {
    [192, 0, 2, 1 + side as u8].into()
}

/// The neighbour of a side.
pub fn neighbour(side: usize) -> Path {
    Path::SingleHop { interface: 7, remote: address(1 - side) }
}

pub struct Side {
    pub machine: Sessions,
    pub id: SessionId,
    /// Changes of state, with their times.
    pub states: Vec<(Time, State)>,
    /// Times at which packets left, and the packets.
    pub sent: Vec<(Time, Vec<u8>)>,
    pub echoes: u32,
}

pub struct Field {
    pub now: Time,
    pub sides: [Side; 2],
    flying: Vec<(Time, usize, Vec<u8>)>,
    /// Share of packets that are lost towards each side, in percent.
    pub loss: [u64; 2],
    pub delay: Duration,
    pub echoes_return: bool,
    random: ChaCha8Rng,
}

impl Field {
    pub fn new(seed: u64, settings: [SessionSettings; 2]) -> Self {
        Self::with(seed, settings, |_| {})
    }

    pub fn with(seed: u64, settings: [SessionSettings; 2], keys: impl Fn(&mut Sessions)) -> Self {
        let now = Time::from_millis(1_000);
        let sides = [0, 1].map(|side| {
            let mut machine = Sessions::new(Limits::default(), [seed as u8 + side as u8; 32]);
            keys(&mut machine);
            let id = machine.add(now, settings[side]).unwrap();
            Side { machine, id, states: Vec::new(), sent: Vec::new(), echoes: 0 }
        });
        Self {
            now,
            sides,
            flying: Vec::new(),
            loss: [0; 2],
            delay: ms(1),
            echoes_return: true,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub fn plain(interval: Duration) -> Self {
        let timers = Timers::every(interval, 3);
        Self::new(1, [0, 1].map(|side| SessionSettings::new(neighbour(side), timers)))
    }

    pub fn step(&mut self, side: usize, input: In) {
        let mut out = Vec::new();
        self.sides[side].machine.step(self.now, input, &mut out);
        self.take(side, out);
    }

    pub fn state(&self, side: usize) -> State {
        self.sides[side].machine.summary(self.sides[side].id).unwrap().state
    }

    /// Our discriminator of a side's session.
    pub fn discriminator(&self, side: usize) -> u32 {
        self.sides[side].machine.summary(self.sides[side].id).unwrap().discriminator
    }

    pub fn are_up(&self) -> bool {
        [0, 1].iter().all(|side| self.state(*side) == State::Up)
    }

    fn take(&mut self, side: usize, out: Vec<Out>) {
        for out in out {
            match out {
                Out::State { from, to, .. } => {
                    assert_ne!(from, to);
                    self.sides[side].states.push((self.now, to));
                }
                Out::Send { datagram, .. } => {
                    let octets = datagram.octets().to_vec();
                    self.sides[side].sent.push((self.now, octets.clone()));
                    if self.random.next_u64() % 100 >= self.loss[1 - side] {
                        self.flying.push((self.now + self.delay, 1 - side, octets));
                    }
                }
                Out::SendEcho { octets, .. } => {
                    self.sides[side].echoes += 1;
                    let at = self.now + self.delay * 2;
                    if self.echoes_return {
                        self.flying.push((at, side, [&[0xEE][..], &octets].concat()));
                    }
                }
            }
        }
    }

    fn next(&self) -> Option<Time> {
        let machines = self.sides.iter().filter_map(|side| side.machine.deadline());
        machines.chain(self.flying.iter().map(|it| it.0)).min()
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            let arrived = self.flying.iter().position(|it| it.0 <= self.now);
            if let Some(place) = arrived {
                let (_, side, octets) = self.flying.remove(place);
                self.arrive(side, octets);
            }
            for side in 0..2 {
                let mut out = Vec::new();
                self.sides[side].machine.tick(self.now, &mut out);
                assert!(self.sides[side].machine.deadline().is_none_or(|at| at > self.now));
                self.take(side, out);
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, side: usize, octets: Vec<u8>) {
        if octets[0] == 0xEE {
            return self.step(side, In::EchoReturned(octets[1..].to_vec()));
        }
        let received = Received { path: neighbour(side), ttl: 255, octets };
        self.step(side, In::Received(received));
    }
}
