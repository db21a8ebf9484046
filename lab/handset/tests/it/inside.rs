//! TCP inside of ESP: phones that register, ask and are asked by connections, which either end
//! opens, loses and closes.

use crate::world::{INSIDE, PCSCF, Phone, World, section};
use handset::{Carrier, Event, Handset, State};
use ims::Ipsec;
use machine::Duration;
use runtime::{Flow, Transport};
use secagree::Preference;
use sim::LinkSpec;
use std::net::SocketAddr;

fn perfect() -> LinkSpec {
    LinkSpec::perfect(Duration::from_millis(10))
}

fn bad() -> LinkSpec {
    LinkSpec { loss: 0.1, duplicate: 0.1, reorder: 0.1, ..LinkSpec::default() }
}

/// A request with a body of so many octets.
fn request(to: &str, number: usize, octets: usize) -> Vec<u8> {
    let body = "b".repeat(octets);
    format!(
        "MESSAGE {to} SIP/2.0\r\nVia: SIP/2.0/TCP 10.0.0.11:6100;branch=z9hG4bK{number}\r\n\
         From: <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\nCall-ID: c{number}\r\n\
         CSeq: {number} MESSAGE\r\nContent-Length: {octets}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A phone that speaks TCP, registered.
fn registered(seed: u64, nat: bool, section: Ipsec, spec: LinkSpec) -> World {
    let nat = nat.then(|| ([198, 51, 100, 9].into(), 10_000));
    let mut world = World::new(seed, vec![Phone::new(1, nat, Preference::usual())], section, spec);
    world.phones[0].handset.speak_tcp(true);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(30));
    assert_eq!(world.phones[0].handset.state(), State::Registered, "{seed}");
    world
}

/// By what the function knows it.
fn flow(world: &World) -> Flow {
    let known = world.flow(0);
    Flow { port: INSIDE, transport: Transport::Tcp, ..known }
}

/// The phone asks: what comes out, and by which flow.
fn asks(world: &mut World, number: usize, octets: usize) {
    let asked = request("sip:b@ims.example.org", number, octets);
    world.act(0, |handset, _, out| handset.send(&asked, out));
    world.run(Duration::from_secs(60));
    let (by, text) = world.pcscf.passed.pop().expect("it came");
    assert!(text.starts_with(b"MESSAGE ") && text.ends_with(&vec![b'b'; octets]), "{number}");
    assert_eq!(by, flow(world));
    assert_eq!(world.pcscf.passed.len(), 0, "once");
}

/// The network asks the phone, which answers.
fn is_asked(world: &mut World, number: usize, octets: usize) {
    let (to, mut out) = (flow(world), Vec::new());
    let asked = request("sip:a@10.0.0.11:6100", number, octets);
    world.phones[0].events.clear();
    world.pcscf.send(world.now, to, &asked, &mut out);
    out.into_iter().for_each(|packet| world.fly(packet));
    world.run(Duration::from_secs(60));
    let events = core::mem::take(&mut world.phones[0].events);
    assert!(events == [Event::Came(asked.clone())], "{number}: {} events", events.len());
    world.act(0, |handset, _, out| handset.answer(&asked, 200, b"", out));
    world.run(Duration::from_secs(60));
    let (by, text) = world.pcscf.passed.pop().expect("its answer came");
    assert!(text.starts_with(b"SIP/2.0 200 ") && by == to);
}

fn live(world: &World) -> u64 {
    world.pcscf.access.esp_count(ipsec::Metric::StreamsLive)
}

fn opened(world: &World) -> u64 {
    world.pcscf.access.esp_count(ipsec::Metric::StreamsOpened)
}

#[test]
pub fn a_phone_registers_and_is_called_by_the_connection_that_it_has_opened() {
    for nat in [false, true] {
        let mut world = registered(1, nat, section(), perfect());
        assert_eq!((live(&world), world.phones[0].handset.connections()), (1, 1));
        let told = String::from_utf8_lossy(&world.pcscf.told[1]).into_owned();
        assert!(told.contains("SIP/2.0/TCP") && told.contains(";transport=tcp>"), "{told}");
        asks(&mut world, 1, 0);
        is_asked(&mut world, 2, 0);
        asks(&mut world, 3, 30_000);
        is_asked(&mut world, 4, 30_000);
        assert_eq!(opened(&world), 1);
        let clear = world.air.iter().filter(|it| it.carrier == Carrier::Clear).count();
        assert_eq!(clear, 2, "the first REGISTER and its challenge");
    }
}

#[test]
pub fn without_that_connection_one_is_opened_from_the_client_port_to_the_phones_server_port() {
    let mut world = registered(2, false, section(), perfect());
    world.act(0, |handset, _, out| handset.hang_up(out));
    world.run(Duration::from_secs(40));
    assert_eq!((live(&world), world.phones[0].handset.connections()), (0, 0));
    is_asked(&mut world, 1, 5_000);
    assert_eq!((live(&world), opened(&world)), (1, 2));
    // What the phone asks goes by one of its own.
    asks(&mut world, 2, 0);
    assert_eq!((live(&world), opened(&world)), (2, 3));
    is_asked(&mut world, 3, 0);
    assert_eq!(opened(&world), 3);
}

#[test]
pub fn a_connection_that_passes_nothing_is_closed_and_the_next_message_opens_another() {
    let section = Ipsec { tcp_idle_s: 60, ..section() };
    let mut world = registered(3, false, section, perfect());
    assert_eq!(live(&world), 1);
    world.run(Duration::from_secs(120));
    assert_eq!((live(&world), world.phones[0].handset.connections()), (0, 0));
    is_asked(&mut world, 1, 0);
    world.run(Duration::from_secs(120));
    assert_eq!(live(&world), 0);
    asks(&mut world, 2, 0);
    assert_eq!(opened(&world), 3);
}

#[test]
pub fn through_other_registrations_and_a_bad_network_each_message_comes_once_and_whole() {
    for seed in 0..12 {
        let mut world = registered(seed, seed % 2 == 0, section(), bad());
        for number in 1..4 {
            asks(&mut world, number * 10, number * 4_000);
            is_asked(&mut world, number * 10 + 1, number * 3_000);
            world.act(0, Handset::register);
            world.run(Duration::from_secs(60));
            let handset = &world.phones[0].handset;
            assert_eq!(handset.state(), State::Registered, "{seed}");
        }
        world.act(0, Handset::deregister);
        world.run(Duration::from_secs(60));
        assert_eq!(world.phones[0].handset.state(), State::Off, "{seed}");
        world.run(Duration::from_secs(2_000));
        assert_eq!(live(&world), 0, "{seed}");
    }
}

#[test]
pub fn what_is_no_sip_ends_its_connection_and_who_lost_one_is_told() {
    let mut world = registered(5, false, section(), perfect());
    let nonsense = vec![0x16; 300];
    world.act(0, |handset, _, out| handset.send(&nonsense, out));
    world.run(Duration::from_secs(1));
    assert_eq!((live(&world), world.phones[0].handset.connections()), (0, 0));
    asks(&mut world, 1, 0);
    // The node that takes over knows of no connection.
    world.pcscf.access.forget_inside();
    let asked = request("sip:b@ims.example.org", 2, 0);
    world.act(0, |handset, _, out| handset.send(&asked, out));
    world.run(Duration::from_secs(1));
    assert_eq!(world.phones[0].handset.connections(), 0, "it was reset");
    asks(&mut world, 3, 0);
    is_asked(&mut world, 4, 0);
}

#[test]
pub fn a_connection_to_a_phone_that_takes_none_fails_and_is_counted() {
    let mut world = registered(6, false, section(), perfect());
    let to = flow(&world);
    world.phones[0].handset.speak_tcp(false);
    world.act(0, |handset, _, out| handset.hang_up(out));
    world.run(Duration::from_secs(40));
    let mut out = Vec::new();
    world.pcscf.send(world.now, to, &request("sip:a@x", 1, 0), &mut out);
    out.into_iter().for_each(|packet| world.fly(packet));
    world.run(Duration::from_secs(1));
    assert_eq!(world.pcscf.access.esp_count(ipsec::Metric::StreamsFailed), 1);
    assert_eq!((live(&world), world.phones[0].events.len()), (0, 1), "only Registered");
}

#[test]
fn without_the_key_no_tcp_is_carried() {
    let section = Ipsec { tcp_idle_s: 0, ..section() };
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let mut world = World::new(7, phones, section, perfect());
    world.pcscf.access.configure(&ims::Settings {
        realms: crate::world::settings(Ipsec { tcp_idle_s: 0, ..crate::world::section() })
            .realms
            .into_iter()
            .map(|mut realm| {
                realm.listeners.retain(|listener| !listener.is_inside);
                realm
            })
            .collect(),
    });
    world.phones[0].handset.speak_tcp(true);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(60));
    assert_eq!(world.phones[0].handset.state(), State::Failed("nobody answers"));
    assert_eq!(live(&world), 0);
    let server = SocketAddr::from((PCSCF, 5_062));
    assert!(world.air.iter().all(|packet| packet.to != server), "nothing in the clear");
}

#[test]
pub fn connections_end_with_their_agreements_whatever_they_have_begun_to_say() {
    let mut world = registered(8, false, section(), perfect());
    let half = request("sip:b@ims.example.org", 1, 60_000);
    for round in 0..10 {
        world.act(0, |handset, _, out| handset.send(&half[..50_000], out));
        world.run(Duration::from_secs(1));
        // It is switched off and on, and registers in the clear.
        world.phones[0].handset.restart();
        world.act(0, Handset::register);
        world.run(Duration::from_secs(60));
        assert_eq!(world.phones[0].handset.state(), State::Registered, "{round}");
        assert_eq!(live(&world), 1, "{round}");
    }
    world.act(0, Handset::deregister);
    world.run(Duration::from_secs(60));
    assert_eq!((live(&world), world.pcscf.passed.len()), (0, 0));
}

#[test]
fn what_a_phone_has_begun_to_say_counts_as_its_memory() {
    let mut world = registered(21, false, section(), perfect());
    let octets = |world: &World| world.current(0).iter().map(|row| row.octets).sum::<u64>();
    let before = octets(&world);
    let half = request("sip:b@ims.example.org", 1, 60_000);
    world.act(0, |handset, _, out| handset.send(&half[..50_000], out));
    world.run(Duration::from_secs(60));
    assert!(octets(&world) >= before + 49_000, "{before} {}", octets(&world));
}

#[test]
pub fn a_head_that_comes_octet_by_octet_is_taken_when_it_is_whole() {
    let mut world = registered(9, false, section(), perfect());
    let asked = request("sip:b@ims.example.org", 1, 5);
    let asked = world.phones[0].handset.verified(&asked);
    for at in 0..asked.len() {
        assert_eq!(world.pcscf.passed.len(), 0, "{at}");
        world.act(0, |handset, _, out| handset.say(&asked[at..=at], out));
        world.run(Duration::from_millis(30));
    }
    let (_, text) = world.pcscf.passed.pop().expect("it came");
    assert!(text.starts_with(b"MESSAGE ") && text.ends_with(b"bbbbb"));
    asks(&mut world, 2, 0);
}

#[test]
pub fn a_connection_that_is_idle_is_closed_in_order_and_not_reset() {
    let section = Ipsec { tcp_idle_s: 60, ..section() };
    let mut world = registered(10, false, section, perfect());
    world.run(Duration::from_secs(120));
    assert_eq!((live(&world), world.phones[0].handset.connections()), (0, 0));
    let failed = world.pcscf.access.esp_count(ipsec::Metric::StreamsFailed);
    assert_eq!((failed, world.phones[0].handset.failed_connections()), (0, 0));
}

#[test]
pub fn connections_of_a_realm_that_carries_none_any_more_are_given_up() {
    let mut world = registered(11, false, section(), perfect());
    assert_eq!(live(&world), 1);
    let mut settings = crate::world::settings(Ipsec { tcp_idle_s: 0, ..section() });
    settings.realms[0].listeners.retain(|listener| !listener.is_inside);
    world.pcscf.access.configure(&settings);
    world.run(Duration::from_secs(1));
    assert_eq!((live(&world), world.phones[0].handset.connections()), (0, 0));
}
