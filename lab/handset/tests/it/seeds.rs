//! Registrations from the first REGISTER to the last 200, by seed.

use crate::world::{Phone, World, section};
use handset::{Carrier, Event, Handset, State};
use ims::Metric;
use machine::Duration;
use secagree::Preference;
use sim::LinkSpec;

fn bad() -> LinkSpec {
    LinkSpec { loss: 0.15, duplicate: 0.1, reorder: 0.1, ..LinkSpec::default() }
}

fn perfect() -> LinkSpec {
    LinkSpec::perfect(Duration::from_millis(10))
}

/// The same pairs, another one first.
fn preferring(first: usize) -> Preference {
    let mut pairs = Preference::usual();
    pairs.pairs = vec![pairs.pairs[first]];
    pairs
}

/// A request with this method and Request-URI, from there.
fn request(line: &str, via: &str) -> Vec<u8> {
    let method = line.split(' ').next().unwrap_or_default();
    format!(
        "{line} SIP/2.0\r\nVia: SIP/2.0/UDP {via};branch=z9hG4bK{method}\r\n\
         From: <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\nCall-ID: {method}\r\n\
         CSeq: 1 {method}\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

/// Both ends have the same indices.
fn assert_agreed(world: &World, phone: usize) {
    let rows = world.current(phone);
    let handset = &world.phones[phone].handset;
    assert_eq!(handset.state(), State::Registered);
    let [to_server, to_client, own_client, own_server] =
        handset.indices().expect("it has an agreement").map(|spi| spi.0);
    let row = rows.last().expect("the P-CSCF has it");
    assert_eq!(row.spi_in, [to_server, to_client]);
    assert_eq!(row.spi_out, [own_client, own_server]);
}

#[test]
pub fn a_phone_registers_with_each_pair_of_algorithms_and_nothing_but_two_messages_is_in_the_clear()
{
    for first in 0..4 {
        let mut world =
            World::new(1, vec![Phone::new(1, None, preferring(first))], section(), perfect());
        world.act(0, Handset::register);
        world.run(Duration::from_secs(5));
        assert_agreed(&world, 0);
        let clear = world.air.iter().filter(|it| it.carrier == Carrier::Clear).count();
        assert_eq!((clear, world.air.len()), (2, 4), "pair {first}");
        assert_eq!(world.pcscf.home.counts().accepted, 1);
        assert_eq!(world.pcscf.access.count(Metric::Established), 1);
        assert_eq!(world.pcscf.access.count(Metric::KeysTaken), 1);
        let row = world.current(0).remove(0);
        assert!(row.octets < 2_048, "{} octets a phone", row.octets);
        assert_eq!(row.ue, "10.0.0.11:6100");
    }
}

#[test]
pub fn requests_and_answers_go_both_ways_by_the_ports_of_the_agreement() {
    let mut world = World::new(2, vec![Phone::new(1, None, preferring(0))], section(), perfect());
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    let invite = &request("INVITE sip:b@ims.example.org", "10.0.0.11:6100");
    world.act(0, |handset, _, out| handset.send(invite, out));
    world.run(Duration::from_secs(1));
    let (flow, text) = world.pcscf.passed.pop().expect("it came");
    assert_eq!(flow, world.flow(0));
    assert!(text.starts_with(b"INVITE "), "{}", String::from_utf8_lossy(&text));
    let ours = &request("OPTIONS sip:a@10.0.0.11:6100", "192.0.2.1:5062");
    let mut out = Vec::new();
    world.pcscf.send(world.now, flow, ours, &mut out);
    assert!(out.iter().all(|it| it.carrier == Carrier::Esp) && out.len() == 1);
    out.into_iter().for_each(|packet| world.fly(packet));
    world.run(Duration::from_secs(1));
    let came = world.phones[0].events.pop();
    let Some(Event::Came(request)) = came else { panic!("{came:?}") };
    world.act(0, |handset, _, out| handset.answer(&request, 200, b"", out));
    world.run(Duration::from_secs(1));
    let (_, answer) = world.pcscf.passed.pop().expect("it came");
    assert!(answer.starts_with(b"SIP/2.0 200"));
}

#[test]
pub fn worlds_come_to_rest_with_the_same_associations_at_both_ends_and_none_after_the_last_200() {
    for seed in 0..60 {
        let nat = (seed % 3 == 0).then(|| ([198, 51, 100, 9].into(), 10_000 + seed as u16));
        let phones = vec![
            Phone::new(seed, nat, preferring(seed as usize % 4)),
            Phone::new(seed + 1, None, preferring(seed as usize % 3)),
        ];
        let mut world = World::new(seed, phones, section(), bad());
        for round in 0..4 {
            for phone in 0..2 {
                world.act(phone, Handset::register);
            }
            world.run(Duration::from_secs(40));
            for phone in 0..2 {
                // One whose answer was lost begins anew, as phones do.
                for _ in 0..5 {
                    if world.phones[phone].handset.state() != State::Registered {
                        world.phones[phone].handset.restart();
                        world.act(phone, Handset::register);
                        world.run(Duration::from_secs(40));
                    }
                }
                assert_agreed(&world, phone);
            }
            if round == 2 {
                world.phones[0].handset.restart(); // switched off and on: its old ones are there
            }
        }
        for phone in 0..2 {
            world.act(phone, Handset::deregister);
        }
        world.run(Duration::from_secs(40));
        world.run(Duration::from_secs(800)); // what was not de-registered is over by now
        assert_eq!(world.pcscf.access.show(None, 100), [], "seed {seed}");
        let clear = world.air.iter().filter(|it| it.carrier == Carrier::Clear);
        for packet in clear {
            let text = String::from_utf8_lossy(&packet.bytes);
            let may_be = text.starts_with("REGISTER ") || text.contains("REGISTER\r\n");
            assert!(may_be && !text.contains("ck=") && !text.contains("ik="), "{text}");
        }
    }
}

#[test]
pub fn the_same_seed_makes_the_same_packets() {
    let run = || {
        let phones = vec![Phone::new(3, None, preferring(1)), Phone::new(4, None, preferring(2))];
        let mut world = World::new(9, phones, section(), bad());
        for phone in 0..2 {
            world.act(phone, Handset::register);
        }
        world.run(Duration::from_secs(60));
        core::mem::take(&mut world.air)
    };
    assert_eq!(run(), run());
}

#[test]
pub fn through_another_registration_old_associations_serve_until_the_new_ones_are_used() {
    let mut world = World::new(5, vec![Phone::new(1, None, preferring(0))], section(), perfect());
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    let first = world.current(0).remove(0);
    let flow = world.flow(0);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    let states: Vec<_> = world.pcscf.access.show(None, 9).iter().map(|row| row.state).collect();
    assert_eq!(states, ["old", "current"], "both stand: the phone has not used the new one");
    assert_eq!(world.flow(0), flow, "the function knows the phone as before");
    let second = world.current(0).remove(0);
    assert_ne!(first.spi_in, second.spi_in);
    assert_ne!(first.own_ports, second.own_ports, "the client port is another one");
    let message = &request("MESSAGE sip:b@x", "10.0.0.11:6100");
    world.act(0, |handset, _, out| handset.send(message, out));
    world.run(Duration::from_secs(1));
    assert_eq!(world.current(0), {
        let mut rows = world.current(0);
        rows.retain(|row| row.spi_in == second.spi_in);
        rows
    });
    assert_eq!(world.pcscf.access.count(Metric::Replaced), 1);
    world.run(Duration::from_secs(40));
    assert_eq!(world.pcscf.access.show(None, 10).len(), 1, "the old ones are gone");
    assert_agreed(&world, 0);
}

#[test]
pub fn two_phones_behind_one_nat_with_one_address_are_told_apart_and_followed() {
    let nat = |shift| Some(([198, 51, 100, 9].into(), shift));
    let phones =
        vec![Phone::new(1, nat(10_000), preferring(0)), Phone::new(2, nat(20_000), preferring(1))];
    let mut world = World::new(6, phones, section(), perfect());
    for phone in 0..2 {
        world.act(phone, Handset::register);
        world.run(Duration::from_secs(5));
        assert_agreed(&world, phone);
    }
    let flows = [0, 1].map(|phone| world.flow(phone));
    assert_ne!(flows[0], flows[1]);
    world.phones[0].nat = nat(30_000);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_agreed(&world, 0);
    assert_eq!(world.flow(0), flows[0], "for the function it has not moved");
    assert!(world.pcscf.access.esp_count(ipsec::Metric::Moved) >= 2);
    for (phone, flow) in flows.into_iter().enumerate() {
        let ours = &request("OPTIONS sip:a@10.0.0.5:6100", "192.0.2.1:5062");
        let mut out = Vec::new();
        world.pcscf.send(world.now, flow, ours, &mut out);
        out.into_iter().for_each(|packet| world.fly(packet));
        world.phones[phone].events.clear();
        world.run(Duration::from_secs(1));
        assert!(matches!(world.phones[phone].events[..], [Event::Came(_)]), "phone {phone}");
    }
}

#[test]
pub fn a_card_whose_numbers_were_forgotten_is_resynchronised_in_the_clear_and_then_registered() {
    let mut world = World::new(7, vec![Phone::new(1, None, preferring(0))], section(), perfect());
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    world.phones[0].handset.restart();
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    world.pcscf.home.forget_numbers(&impi);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_eq!(world.pcscf.home.counts().resynchronised, 1);
    assert_agreed(&world, 0);
}

#[test]
pub fn a_deregistration_ends_all_of_a_phones_associations_once_its_200_has_left() {
    let mut world = World::new(8, vec![Phone::new(1, None, preferring(0))], section(), perfect());
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    world.act(0, Handset::deregister);
    world.run(Duration::from_secs(5));
    assert_eq!(world.phones[0].events.last(), Some(&Event::Deregistered));
    assert_eq!(world.current(0), []);
    assert_eq!(world.pcscf.home.counts().removed, 1);
    world.run(Duration::from_secs(33));
    assert_eq!(world.pcscf.access.show(None, 10), []);
    assert_eq!(world.pcscf.access.esp_count(ipsec::Metric::SetsLive), 0);
}

#[test]
pub fn associations_end_with_the_last_public_identity_of_a_phone() {
    let mut world = World::new(8, vec![Phone::new(1, None, preferring(0))], section(), perfect());
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    world.pcscf.home.challenge_again(false);
    let impi = world.phones[0].handset.config().subscriber.impi.clone();
    for (number, expires) in [(1, 600), (2, 0)] {
        let register = format!(
            "REGISTER sip:ims.example.org SIP/2.0\r\n\
             Via: SIP/2.0/UDP 10.0.0.11:6100;branch=z9hG4bKo{number}\r\n\
             From: <sip:other@ims.example.org>;tag=1\r\nTo: <sip:other@ims.example.org>\r\n\
             Call-ID: o\r\nCSeq: {number} REGISTER\r\n\
             Contact: <sip:o@10.0.0.11:6100>;expires={expires}\r\n\
             Authorization: Digest username=\"{impi}\", realm=\"ims.example.org\", nonce=\"\", \
             uri=\"sip:ims.example.org\", response=\"\"\r\nContent-Length: 0\r\n\r\n"
        );
        world.act(0, |handset, _, out| handset.send(register.as_bytes(), out));
        world.run(Duration::from_secs(1));
        assert_eq!(world.current(0).len(), 1, "the first one stands");
    }
    assert_eq!(world.pcscf.home.counts().removed, 1);
    world.act(0, Handset::deregister);
    world.run(Duration::from_secs(5));
    assert_eq!(world.current(0), []);
}
