//! A peer that sends anything at any time, and an owner that is told anything at any time: the
//! session stays within its limits and its timers ahead of now.

use crate::every;
use bgp::codec::{Cease, GracefulRestart, Notice, Offer, RefreshKind, keepalive, write_open};
use bgp::family::{Family, FamilySet};
use bgp::{CONNECTIONS_MAX, ConnectionId, In, Out, PeerAs, Session, Settings};
use machine::{Duration, Machine, Time};

struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn settings(chance: &mut Rng) -> Settings {
    let families: FamilySet = [Family::Ipv4Unicast, Family::Evpn].into_iter().collect();
    let mut offer = Offer::modern(65_000, 1, [0, 9, 90][chance.below(3)], families);
    if chance.below(2) == 0 {
        let restart = GracefulRestart { time_s: 5, families, ..GracefulRestart::default() };
        offer.graceful_restart = Some(GracefulRestart { notification: true, ..restart });
        offer.long_lived = every::offer().long_lived;
    }
    let mut settings = Settings::new(offer, PeerAs::Any);
    settings.passive = chance.below(2) == 0;
    settings.delay_open = Duration::from_secs([0, 3][chance.below(2)]);
    settings
}

fn input(chance: &mut Rng, id: ConnectionId) -> In {
    match chance.below(14) {
        0 => In::Start,
        1 => In::Stop(Cease::AdministrativeShutdown, Some("x".repeat(chance.below(400)))),
        2 => In::Reset(Cease::AdministrativeReset, None),
        3 | 4 => In::Connected(id),
        5 => In::ConnectFailed,
        6 | 7 => In::Accepted(id),
        8 => In::Closed(id),
        9 => In::Refuse(id, Notice { code: 3, subcode: 1 }, vec![0; chance.below(5_000)]),
        10 => In::Blocked(id),
        11 => In::Written(id, chance.below(2) == 0),
        12 => In::EndOfRib(Family::Evpn),
        _ => In::Refresh(Family::Ipv4Unicast, RefreshKind::Request),
    }
}

fn messages() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = every::messages().into_iter().map(|(_, bytes)| bytes).collect();
    for identifier in [1, 2, 3] {
        let mut open = Vec::new();
        let families = FamilySet::only(Family::Ipv4Unicast);
        write_open(&Offer::modern(65_000, identifier, 9, families), &mut open);
        all.extend([open.clone(), open.clone(), open.clone()]);
        let mut alive = Vec::new();
        keepalive(&mut alive);
        all.extend([alive.clone(), alive.clone(), alive.clone()]);
        // A peer that behaves, for once.
        let whole = [open, alive].concat();
        all.extend(core::iter::repeat_n(whole, 30));
    }
    all
}

/// What a session did, so that two runs can be compared.
fn run(seed: u64) -> (usize, u64) {
    let mut chance = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let messages = messages();
    let mut session = Session::new(settings(&mut chance), seed);
    let (mut now, mut out) = (Time::from_millis(1), Vec::new());
    let mut effects = 0;
    session.step(now, In::Start, &mut out);
    for _ in 0..400 {
        let id = ConnectionId(chance.below(5) as u32);
        match chance.below(10) {
            0 | 1 => {
                let input = input(&mut chance, id);
                session.step(now, input, &mut out);
            }
            2 => {
                now += Duration::from_millis(chance.below(20_000) as u64);
                session.tick(now, &mut out);
                assert!(session.deadline().is_none_or(|at| at > now), "seed {seed}");
            }
            _ => {
                let mut bytes = messages[chance.below(messages.len())].clone();
                if chance.below(6) == 0 {
                    let at = chance.below(bytes.len());
                    bytes[at] ^= 1 << chance.below(8);
                }
                let before = out.len();
                let taken = session.receive(now, id, &bytes, &mut out);
                assert!(taken <= bytes.len());
                for effect in &out[before..] {
                    if let Out::Updates(_, range) = effect {
                        assert!(range.end <= taken && range.len() >= 23, "seed {seed}");
                    }
                }
            }
        }
        assert!(session.connections().count() <= CONNECTIONS_MAX, "seed {seed}");
        effects += out.len();
        out.clear();
    }
    (effects, session.counters().established)
}

#[test]
fn a_session_stands_whatever_comes() {
    let mut established = 0;
    for seed in 0..500 {
        established += run(seed).1;
    }
    assert!(established > 200, "{established} sessions came up in between");
}

#[test]
fn the_same_seed_does_the_same() {
    assert_eq!(run(3), run(3));
}
