//! Authentication: digests against vectors by another program (Python's hashlib), replay, keys that
//! change.

use crate::field::{Field, ms, neighbour};
use bfd::{
    AuthType, Authentication, Discard, In, Key, Limits, Out, Packet, Received, SessionSettings,
    Sessions, State, Timers,
};
use machine::{Machine, Time};

fn authentication(kind: AuthType, secrets: &[(u8, &[u8])]) -> Authentication {
    let keys = secrets.iter().map(|(id, secret)| Key::new(kind, *id, secret).unwrap()).collect();
    Authentication::new(kind, keys).unwrap()
}

fn settings() -> [SessionSettings; 2] {
    [0, 1].map(|side| SessionSettings {
        authentication: Some(0),
        ..SessionSettings::new(neighbour(side), Timers::every(ms(10), 3))
    })
}

fn field(kind: AuthType) -> Field {
    Field::with(1, settings(), |machine| {
        machine.keys.add(authentication(kind, &[(7, b"secret"), (8, b"other")])).unwrap();
    })
}

#[test]
fn sessions_come_up_with_each_kind_and_stay_up_although_packets_are_lost() {
    for &kind in AuthType::ALL {
        let mut field = field(kind);
        field.run(ms(3_000));
        assert!(field.are_up(), "{kind:?}");
        field.loss = [3, 3];
        field.run(ms(20_000));
        field.loss = [0, 0];
        field.run(ms(5_000));
        assert!(field.are_up(), "{kind:?}");
    }
}

#[test]
fn what_was_recorded_is_not_believed_again() {
    for (kind, repeats) in [(AuthType::MeticulousKeyedSha1, 0), (AuthType::KeyedMd5, 1)] {
        let mut field = field(kind);
        field.run(ms(3_000));
        let recorded = field.sides[1].sent.clone();
        let machine = &mut field.sides[0].machine;
        let before = machine.discarded(Discard::AuthSequence);
        let newest = recorded.len() - 1;
        for (at, (_, octets)) in recorded.iter().enumerate() {
            let received = Received { path: neighbour(0), ttl: 255, octets: octets.clone() };
            machine.step(field.now, In::Received(received), &mut Vec::new());
            let refused = machine.discarded(Discard::AuthSequence) - before;
            let believed = if at == newest { repeats } else { 0 };
            // The newest one may still be on its way to it.
            assert!(refused + 1 + believed > at as u64, "{kind:?} {at} {refused}");
        }
        assert!(field.are_up());
    }
}

#[test]
fn what_was_recorded_of_a_session_that_is_over_brings_none_up() {
    for kind in [AuthType::MeticulousKeyedSha1, AuthType::KeyedMd5, AuthType::SimplePassword] {
        let mut field = field(kind);
        field.run(ms(3_000));
        assert!(field.are_up());
        let recorded = field.sides[1].sent.clone();
        field.loss = [100, 100];
        field.run(ms(5_000));
        assert_eq!(field.state(0), State::Down);
        // As it came, until numbers are forgotten, and again.
        for (_, octets) in recorded.iter().chain(&recorded) {
            let received = Received { path: neighbour(0), ttl: 255, octets: octets.clone() };
            field.step(0, In::Received(received));
            field.run(ms(40));
            assert_ne!(field.state(0), State::Up, "{kind:?}");
        }
        field.loss = [0, 0];
        field.run(ms(20_000));
        assert!(field.are_up(), "{kind:?}: and the neighbour itself is heard");
    }
}

#[test]
fn forged_packets_are_counted_by_their_reasons_and_change_nothing() {
    let mut field = field(AuthType::MeticulousKeyedMd5);
    field.run(ms(3_000));
    let good = field.sides[1].sent.last().unwrap().1.clone();
    let machine = &mut field.sides[0].machine;
    let mut offer = |octets: Vec<u8>, ttl: u8, why: Discard| {
        let before = machine.discarded(why);
        let received = Received { path: neighbour(0), ttl, octets };
        let mut out = Vec::new();
        machine.step(field.now, In::Received(received), &mut out);
        assert_eq!((machine.discarded(why), out), (before + 1, Vec::new()), "{why:?}");
    };
    let changed = |at: usize, to: u8| {
        let mut octets = good.clone();
        octets[at] = to;
        octets
    };
    let next = good[31].wrapping_add(2);
    offer(changed(31, next), 255, Discard::AuthDigest);
    offer(changed(24, 2), 255, Discard::AuthMissing);
    offer(changed(24, 99), 255, Discard::AuthMissing);
    offer(changed(26, 9), 255, Discard::AuthKey);
    offer(changed(25, 23), 255, Discard::AuthLength);
    offer(changed(28, good[28] ^ 0x80), 255, Discard::AuthSequence);
    offer(good.clone(), 254, Discard::Ttl);
    let mut plain = good[..24].to_vec();
    (plain[1], plain[3]) = (plain[1] & !4, 24);
    offer(plain, 255, Discard::AuthMissing);
    assert!(field.are_up());
    let mut open = Field::plain(ms(10));
    open.run(ms(3_000));
    let mut octets = good;
    octets[4..8].copy_from_slice(&open.discriminator(1).to_be_bytes());
    octets[8..12].copy_from_slice(&open.discriminator(0).to_be_bytes());
    open.step(0, In::Received(Received { path: neighbour(0), ttl: 255, octets }));
    assert_eq!(open.sides[0].machine.discarded(Discard::AuthUnexpected), 1);
}

#[test]
fn keys_change_without_a_gap() {
    let kind = AuthType::MeticulousKeyedSha1;
    let mut field = Field::with(1, settings(), |machine| {
        machine.keys.add(authentication(kind, &[(7, b"old")])).unwrap();
    });
    field.run(ms(3_000));
    let steps: [&[(u8, &[u8])]; 3] =
        [&[(7, b"old"), (8, b"new")], &[(8, b"new"), (7, b"old")], &[(8, b"new")]];
    for keys in steps {
        for side in 0..2 {
            field.sides[side].machine.keys.set(0, Some(authentication(kind, keys)));
            field.run(ms(500));
        }
    }
    assert!(field.are_up() && field.sides.iter().all(|side| side.states.len() <= 2));
}

#[test]
fn a_peer_that_restarts_is_believed_after_twice_the_detection_time() {
    let mut field = field(AuthType::MeticulousKeyedSha1);
    field.run(ms(3_000));
    let mut fresh = Sessions::new(Limits::default(), [77; 32]);
    fresh.keys.add(authentication(AuthType::MeticulousKeyedSha1, &[(7, b"secret")])).unwrap();
    let id = fresh.add(field.now, settings()[1]).unwrap();
    (field.sides[1].machine, field.sides[1].id) = (fresh, id);
    field.run(ms(5_000));
    assert!(field.are_up());
}

#[test]
fn secrets_have_their_lengths() {
    assert!(Key::new(AuthType::KeyedMd5, 1, &[1; 17]).is_none());
    assert!(Key::new(AuthType::KeyedSha1, 1, &[1; 20]).is_some());
    assert!(Key::new(AuthType::SimplePassword, 1, b"").is_none());
    assert!(Authentication::new(AuthType::KeyedMd5, Vec::new()).is_none());
    let key = Key::new(AuthType::KeyedMd5, 1, b"hidden").unwrap();
    assert!(!format!("{key:?}").contains("hidden"));
}

/// SHA-1 and MD5 of a whole packet, as `hashlib` computes them with the key in the digest's place.
#[test]
fn digests_are_those_of_another_program() {
    for kind in [AuthType::KeyedMd5, AuthType::KeyedSha1] {
        let mut machine = Sessions::new(Limits::default(), [9; 32]);
        machine.keys.add(authentication(kind, &[(5, b"tandem")])).unwrap();
        machine.add(Time::ZERO, settings()[0]).unwrap();
        let mut out = Vec::new();
        machine.tick(Time::ZERO, &mut out);
        let [Out::Send { datagram, .. }] = &out[..] else { panic!("{out:?}") };
        let octets = datagram.octets();
        assert_eq!(Packet::read(octets).unwrap().0.state, State::Down);
        let hash = if kind == AuthType::KeyedMd5 { "md5" } else { "sha1" };
        let hexadecimal: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        let script = format!(
            "import hashlib; p = bytes.fromhex('{hexadecimal}'); n = len(p) - 32; \
            q = p[:32] + b'tandem'.ljust(n, b'\\0'); \
            print(hashlib.{hash}(q).digest() == p[32:], n)"
        );
        let output = std::process::Command::new("python3").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let length = if kind == AuthType::KeyedMd5 { 16 } else { 20 };
        assert_eq!(said.trim(), format!("True {length}"));
    }
}
