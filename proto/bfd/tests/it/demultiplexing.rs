//! Which session a packet is for, and from where it may come.

use crate::field::ms;
use crate::packets::packet;
use bfd::{Discard, In, Limits, Packet, Path, SessionSettings, Sessions, State, Timers};
use machine::{Machine as _, Time};

const INTERFACE: Path =
    Path::SingleHop { interface: 3, remote: std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST) };

fn multihop(last: u8) -> Path {
    Path::Multihop { vrf: 1, local: [192, 0, 2, 1].into(), remote: [198, 51, 100, last].into() }
}

fn machine(settings: &[SessionSettings]) -> (Sessions, Vec<bfd::SessionId>) {
    let mut machine = Sessions::new(Limits::default(), [3; 32]);
    let ids = settings.iter().map(|it| machine.add(Time::ZERO, *it).unwrap()).collect();
    (machine, ids)
}

fn discriminator(machine: &Sessions, id: bfd::SessionId) -> u32 {
    machine.summary(id).unwrap().discriminator
}

fn hear(machine: &mut Sessions, path: Path, ttl: u8, packet: Packet) -> usize {
    let mut out = Vec::new();
    let _ = machine.receive(Time::from_millis(1), path, ttl, packet.write().octets(), &mut out);
    out.len()
}

fn first() -> Packet {
    Packet { state: State::Down, poll: false, your_discriminator: 0, ..packet() }
}

#[test]
fn a_first_packet_finds_its_session_by_its_path_and_later_ones_by_the_discriminator() {
    let timers = Timers::every(ms(10), 3);
    let paths = [INTERFACE, multihop(1), multihop(2), Path::Lsp { fec: 9 }];
    let (mut machine, ids) = machine(&paths.map(|path| SessionSettings::new(path, timers)));
    for (path, id) in paths.into_iter().zip(&ids) {
        assert!(hear(&mut machine, path, 255, first()) > 0);
        assert_eq!(machine.summary(*id).unwrap().state, State::Init, "{path:?}");
        let discriminator = discriminator(&machine, *id);
        let next = Packet { state: State::Init, your_discriminator: discriminator, ..first() };
        assert!(hear(&mut machine, path, 255, next) > 0);
        assert_eq!(machine.summary(*id).unwrap().state, State::Up, "{path:?}");
    }
    let lsp = discriminator(&machine, ids[3]);
    let back = Packet { state: State::Up, your_discriminator: lsp, poll: true, ..first() };
    assert_eq!(hear(&mut machine, multihop(7), 60, back), 1, "the way back may be by IP");
    let hop = discriminator(&machine, ids[0]);
    let stray = Packet { state: State::Up, your_discriminator: hop, poll: true, ..first() };
    assert_eq!(hear(&mut machine, multihop(7), 255, stray), 0, "but not that of a neighbour");
    assert_eq!(machine.discarded(Discard::Path), 1);
}

#[test]
fn a_packet_that_passed_a_router_is_no_neighbours_and_several_hops_have_their_own_bound() {
    let timers = Timers::every(ms(10), 3);
    let far = SessionSettings { ttl_min: 250, ..SessionSettings::new(multihop(1), timers) };
    let (mut machine, _) = machine(&[SessionSettings::new(INTERFACE, timers), far]);
    assert_eq!(hear(&mut machine, INTERFACE, 254, first()), 0);
    assert_eq!(hear(&mut machine, multihop(1), 249, first()), 0);
    assert_eq!(machine.discarded(Discard::Ttl), 2);
    assert!(hear(&mut machine, multihop(1), 250, first()) > 0);
}

#[test]
fn who_sees_nothing_of_a_session_does_not_end_it() {
    let timers = Timers::every(ms(10), 3);
    let (mut machine, ids) = machine(&[SessionSettings::new(INTERFACE, timers)]);
    assert!(hear(&mut machine, INTERFACE, 255, first()) > 0);
    let discriminator = discriminator(&machine, ids[0]);
    let next = Packet { state: State::Init, your_discriminator: discriminator, ..first() };
    assert!(hear(&mut machine, INTERFACE, 255, next) > 0);
    for state in [State::Down, State::AdminDown] {
        assert_eq!(hear(&mut machine, INTERFACE, 255, Packet { state, ..first() }), 0);
    }
    // Nor who has guessed our number, which is not all that the peer says.
    for state in [State::Down, State::AdminDown, State::Up] {
        let guess = Packet { state, my_discriminator: 99, ..next };
        assert_eq!(hear(&mut machine, INTERFACE, 255, guess), 0);
    }
    let summary = machine.summary(ids[0]).unwrap();
    assert_eq!((summary.state, summary.remote_discriminator), (State::Up, 0x0102_0304));
    assert_eq!((machine.discarded(Discard::Unproven), summary.misnamed), (5, 5));
    // A peer that began anew is heard once its silence was noticed.
    machine.tick(Time::from_millis(10_000), &mut Vec::new());
    assert_eq!(machine.summary(ids[0]).unwrap().state, State::Down);
    assert!(hear(&mut machine, INTERFACE, 255, first()) > 0);
    assert_eq!(machine.summary(ids[0]).unwrap().state, State::Init);
}

#[test]
fn a_session_that_was_up_begins_anew_under_another_discriminator() {
    let timers = Timers::every(ms(10), 3);
    let (mut machine, ids) = machine(&[SessionSettings::new(INTERFACE, timers)]);
    let state = |machine: &Sessions| machine.summary(ids[0]).unwrap().state;
    let mut before = discriminator(&machine, ids[0]);
    let named = |state, number| Packet { state, your_discriminator: number, ..first() };
    hear(&mut machine, INTERFACE, 255, first());
    assert_eq!(discriminator(&machine, ids[0]), before, "it has not been up");
    hear(&mut machine, INTERFACE, 255, named(State::Init, before));
    for round in 0..3 {
        assert_eq!(state(&machine), State::Up);
        // Down by the peer's word, by its silence, and by ours.
        match round {
            0 => {
                hear(&mut machine, INTERFACE, 255, named(State::Down, before));
            }
            1 => machine.tick(Time::from_millis(10_000), &mut Vec::new()),
            _ => {
                machine.step(Time::from_millis(1), In::Disabled(ids[0]), &mut Vec::new());
                assert_eq!(discriminator(&machine, ids[0]), before, "the peer hears its end");
                machine.step(Time::from_millis(1), In::Enabled(ids[0]), &mut Vec::new());
            }
        }
        assert_eq!(state(&machine), State::Down);
        let own = discriminator(&machine, ids[0]);
        assert!(own != before && machine.named(before).is_none());
        // A peer that does not know yet: it is heard, and hears nothing of this session yet.
        assert_eq!(hear(&mut machine, INTERFACE, 255, named(State::Up, before)), 0);
        assert_eq!(machine.discarded(Discard::Former), round + 1);
        hear(&mut machine, INTERFACE, 255, named(State::Init, before));
        hear(&mut machine, INTERFACE, 255, named(State::Init, before));
        assert_eq!(state(&machine), State::Init);
        hear(&mut machine, INTERFACE, 255, named(State::Init, own));
        before = own;
    }
    assert_eq!((state(&machine), machine.summary(ids[0]).unwrap().misnamed), (State::Up, 0));
}

#[test]
fn strangers_are_counted() {
    let timers = Timers::every(ms(10), 3);
    let (mut machine, ids) = machine(&[SessionSettings::new(INTERFACE, timers)]);
    assert_eq!(hear(&mut machine, multihop(1), 255, first()), 0);
    let up = Packet { state: State::Up, ..first() };
    assert_eq!(hear(&mut machine, INTERFACE, 255, up), 0);
    let own = discriminator(&machine, ids[0]);
    for guess in [own ^ 0x0001_0000, own ^ 1, 1, u32::MAX] {
        let guess = Packet { your_discriminator: guess, ..first() };
        assert_eq!(hear(&mut machine, INTERFACE, 255, guess), 0);
    }
    let counts = [Discard::NoSession, Discard::State, Discard::YourDiscriminator];
    assert_eq!(counts.map(|why| machine.discarded(why)), [1, 1, 4]);
    assert_eq!(machine.summary(ids[0]).unwrap().misnamed, 4, "it is told of who guesses");
}

#[test]
fn discriminators_are_chance_and_no_two_machines_have_one() {
    let timers = Timers::every(ms(10), 3);
    let all = |number: u32| {
        let mut machine = Sessions::new(Limits::default(), [number as u8; 32]).among(number, 3);
        let of = |fec| SessionSettings::new(Path::Lsp { fec }, timers);
        let ids: Vec<_> = (0..1_000).map(|fec| machine.add(Time::ZERO, of(fec)).unwrap()).collect();
        ids.into_iter().map(|id| discriminator(&machine, id)).collect::<Vec<u32>>()
    };
    let all = [0, 1, 2].map(all);
    for (own, number) in all.iter().zip(0..) {
        assert!(own.iter().all(|it| it % 3 == number), "so that no other has it");
        for bit in 0..32 {
            let set = own.iter().filter(|it| **it >> bit & 1 == 1).count();
            assert!((400..600).contains(&set), "bit {bit} of {number}: {set} of 1,000");
        }
    }
}
