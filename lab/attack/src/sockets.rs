//! Attacks that need no forged packet: ordinary sockets, bound to many addresses of the loopback.

use crate::namespace::is_in_the_lab;
use crate::{RATE_MAX, Report, Sources, TIME_MAX};
use std::net::SocketAddrV4;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A pause while nothing is due.
const PAUSE: Duration = Duration::from_millis(1);
/// What is due at once at most; the rest is due a moment later.
const DUE_MAX: u64 = 256;

/// What such an attack does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketKind {
    /// TCP connections on which nothing is ever said.
    Idle,
    /// TLS greetings of which the rest never comes.
    HalfTls,
    /// SIP requests over TCP whose answers are never read.
    SlowReading,
    /// Heartbeats of a pair's other node, active in a far epoch.
    Replica,
    /// Requests for the vote of an arbiter, for a minute.
    Arbiter,
    /// HEP3 packets of calls that nobody made.
    Hep,
    /// SCTP associations whose INIT names the address of somebody else.
    Init,
    /// SCTP INITs of which nothing follows.
    InitFlood,
    /// MSUs of an ASP in the name of another point code.
    ForgedMsu,
    /// SIP requests within dialogs that nobody has.
    Strangers,
    /// SIP dialogs whose names and contacts grow past what a datagram holds.
    Oversized,
    /// ESP with guessed indices, wrong codes, replays and old numbers.
    Esp,
    /// Registrations of IMS whose challenge is never answered.
    HalfAka,
    /// BGP paths of two-octet AS numbers that do not fit once they have four.
    WideningPath,
}

/// An attack by ordinary sockets.
#[derive(Debug, Clone)]
pub struct SocketAttack {
    /// What it does.
    pub kind: SocketKind,
    /// Where it goes.
    pub target: SocketAddrV4,
    /// Where it comes from.
    pub sources: Sources,
    /// Another address that some need: where the answerer of `Oversized` listens, the address that
    /// `Init` names as its own.
    pub other: Option<SocketAddrV4>,
    /// Datagrams, connections, dialogs, associations or sessions a second, at most [`RATE_MAX`].
    pub rate: u32,
    /// How long; at most [`TIME_MAX`].
    pub time: Duration,
}

impl SocketAttack {
    /// Whether it may be carried out here: from loopback to loopback, or inside a namespace that
    /// the lab made.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn allowed(&self) -> anyhow::Result<()> {
        anyhow::ensure!((1..=RATE_MAX).contains(&self.rate), "1 to {RATE_MAX} a second");
        anyhow::ensure!(self.time <= TIME_MAX, "at most {} s", TIME_MAX.as_secs());
        let is_local = self.target.ip().is_loopback() && self.sources.are_loopback();
        anyhow::ensure!(
            is_local || is_in_the_lab()?,
            "{} is no loopback address, and this is no namespace that the lab made: refused",
            self.target
        );
        Ok(())
    }

    /// The other address.
    pub(crate) fn other(&self) -> anyhow::Result<SocketAddrV4> {
        self.other.ok_or_else(|| anyhow::anyhow!("this attack needs another address (--other)"))
    }
}

/// When something is due, and what was sent so far.
#[derive(Debug)]
pub(crate) struct Pace {
    wall_us: u64,
    begun: Instant,
    time: Duration,
    rate: f64,
    begun_count: u64,
    sent: u64,
    octets: u64,
}

impl Pace {
    pub(crate) fn new(attack: &SocketAttack) -> anyhow::Result<Self> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Self {
            wall_us: u64::try_from(wall.as_micros())?,
            begun: Instant::now(),
            time: attack.time,
            rate: f64::from(attack.rate),
            begun_count: 0,
            sent: 0,
            octets: 0,
        })
    }

    /// How many are to begin now, after a pause when none is; `None`: the time is over.
    pub(crate) fn due(&mut self) -> Option<u64> {
        let elapsed = self.begun.elapsed();
        if elapsed >= self.time || crate::is_ended() {
            return None;
        }
        let all = (elapsed.as_secs_f64() * self.rate) as u64 + 1;
        let due = all.saturating_sub(self.begun_count).min(DUE_MAX);
        if due == 0 {
            std::thread::sleep(PAUSE.min(self.time.saturating_sub(elapsed)));
        }
        self.begun_count += due;
        Some(due)
    }

    /// One was sent, so many octets long.
    pub(crate) const fn sent(&mut self, octets: usize) {
        self.sent += 1;
        self.octets += octets as u64;
    }

    pub(crate) fn report(&self) -> Report {
        let seconds = self.begun.elapsed().as_secs_f64();
        Report {
            began_at_us: self.wall_us,
            frames: self.sent,
            octets: self.octets,
            seconds,
            frames_per_s: self.sent as f64 / seconds,
            mbit_s: self.octets as f64 * 8.0 / seconds / 1e6,
        }
    }
}

/// Numbers that look like chance and are the same in each run (SplitMix64).
#[derive(Debug)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn attack(kind: SocketKind, target: SocketAddrV4) -> SocketAttack {
        SocketAttack {
            kind,
            target,
            sources: "127.66.0.0/24".parse().unwrap(),
            other: None,
            rate: 200,
            time: Duration::from_millis(300),
        }
    }

    #[test]
    fn nobody_outside_is_attacked() {
        let kind = SocketKind::Idle;
        let mut asked = attack(kind, "127.0.0.1:5060".parse().unwrap());
        assert!(asked.allowed().is_ok());
        asked.sources = "10.0.0.0/8".parse().unwrap();
        assert!(asked.allowed().is_err());
        asked = attack(kind, "192.0.2.1:5060".parse().unwrap());
        assert!(asked.allowed().unwrap_err().to_string().contains("refused"));
        asked = attack(kind, "127.0.0.1:5060".parse().unwrap());
        asked.time = TIME_MAX + Duration::from_secs(1);
        assert!(asked.allowed().is_err());
        asked = SocketAttack { rate: 0, time: Duration::ZERO, ..asked };
        assert!(asked.allowed().is_err());
    }

    #[test]
    fn an_attack_ends_when_its_time_is_over_and_keeps_its_rate() {
        let target = "127.0.0.1:9".parse().unwrap();
        let mut pace = Pace::new(&attack(SocketKind::Idle, target)).unwrap();
        let mut count = 0;
        while let Some(due) = pace.due() {
            count += due;
            (0..due).for_each(|_| pace.sent(10));
        }
        assert!((1..=61).contains(&count), "{count} in 0.3 s at 200 a second");
        let report = pace.report();
        assert_eq!((report.frames, report.octets), (count, 10 * count));
    }
}
