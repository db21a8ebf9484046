//! Every metric that IMS access and ESP declare moves: those of the session controllers' own test
//! have no phone.

use crate::world::{PCSCF, Phone, World, section};
use crate::{hostile, identity, inside, pair, reg_event, seeds};
use handset::{Carrier, Handset, Packet, State};
use ims::Ipsec;
use machine::Duration;
use runtime::{Flow, Transport};
use secagree::Preference;
use sim::LinkSpec;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Mutex;

/// Metrics that have moved in some world of this program.
static MOVED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
/// A phone's own ESP does not send what its associations do not carry; nobody here is sent so much
/// that the other node has to know of more numbers first, and no connections hold so many octets
/// that one has to make way (tests of `stack/ipsec`).
const NOT_HERE: &[&str] = &[
    "ipsec_dropped_policy_total",
    "ipsec_blocks_granted_total",
    "ipsec_unsent_not_promised_total",
    "ipsec_tcp_made_way_total",
];

/// Notes what has moved in a world.
pub fn note(world: &World) {
    world.pcscf.access.cells().iter().for_each(note_cells);
}

/// Notes what has moved there.
pub fn note_cells(cells: &event::MetricCells) {
    let mut moved = MOVED.lock().unwrap();
    for (row, reading) in cells.samples() {
        let is_zero = matches!(reading, event::Sample::Value(0));
        if !is_zero {
            moved.insert(row.name);
        }
    }
}

/// Packets of who is no end, and messages that cannot leave.
fn strange_packets() {
    let nat = Some(([198, 51, 100, 9].into(), 10_000));
    let phones = vec![
        Phone::new(1, nat, Preference::usual()),
        Phone::new(2, None, Preference::usual()),
        Phone::new(3, None, Preference::usual()),
    ];
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let section = Ipsec { sets_max: 4, ..section() };
    let mut world = World::new(3, phones, section, spec);
    for phone in 0..2 {
        world.act(phone, Handset::register);
        world.run(Duration::from_secs(5));
    }
    note(&world);
    let esp = world.air.iter().rev().find(|it| it.carrier == Carrier::Esp).cloned().unwrap();
    let esp = if esp.from.ip() == std::net::IpAddr::from(PCSCF) {
        world.air.iter().find(|it| it.carrier == Carrier::Esp).cloned().unwrap()
    } else {
        esp
    };
    let in_udp = world.air.iter().find(|it| it.carrier == Carrier::InUdp).cloned().unwrap();
    let elsewhere: SocketAddr = "203.0.113.9:4500".parse().unwrap();
    let mut forged = esp.clone();
    let last = forged.bytes.len() - 1;
    forged.bytes[last] ^= 1;
    forged.bytes[7] = 200; // a number that has not come
    let mut packets = vec![
        forged,
        esp.clone(),
        Packet { from: elsewhere, ..esp.clone() },
        Packet { bytes: vec![1, 2, 3], ..esp.clone() },
        Packet { bytes: [[9; 4].as_slice(), &[0; 60]].concat(), ..esp },
        Packet { bytes: vec![0xff], ..in_udp.clone() },
    ];
    packets.extend((0..100).map(|_| Packet { from: elsewhere, ..in_udp.clone() }));
    packets.into_iter().for_each(|packet| world.fly(packet));
    world.run(Duration::from_secs(1));
    let flow = world.flow(1);
    let mut out = Vec::new();
    world.pcscf.send(world.now, flow, &vec![b'x'; 66_000], &mut out);
    let nobody = Flow::to(flow.port, Transport::Udp, flow.local, elsewhere);
    world.pcscf.send(world.now, nobody, b"OPTIONS", &mut out);
    assert!(out.is_empty());
    for _ in 0..4 {
        world.act(0, Handset::register);
        world.act(2, Handset::register);
        world.run(Duration::from_secs(2));
    }
    note(&world);
}

/// A registration that the core accepts again without a challenge, and one that it refuses.
fn answers_of_the_core() {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(1));
    let mut world = World::new(4, phones, section(), spec);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    world.pcscf.home.challenge_again(false);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    note(&world);
    world.pcscf.home.challenge_again(true);
    world.pcscf.home.refuse(true);
    world.act(0, Handset::register);
    world.run(Duration::from_secs(5));
    assert_eq!(world.phones[0].handset.state(), State::Refused(403));
    assert_eq!(world.current(0).len(), 1, "the agreement of before stands");
}

#[test]
fn every_fact_moves() {
    hostile::what_comes_in_the_clear_to_a_protected_port_is_dropped_and_counted();
    hostile::a_registration_without_an_agreement_is_refused_by_its_section();
    hostile::what_was_offered_must_come_again_under_protection();
    hostile::registrations_under_way_are_bounded_by_source_and_the_heaviest_makes_way();
    hostile::registrations_that_strangers_forge_in_the_name_of_a_phones_source_do_not_keep_it_off();
    hostile::agreements_that_stand_are_bounded_by_source_and_another_registration_is_none_more();
    hostile::an_emergency_call_passes_without_an_agreement_from_its_invite_to_its_end();
    hostile::keys_of_no_answer_reach_a_phone_or_the_function();
    hostile::a_wrong_response_ends_its_associations_and_no_others();
    hostile::a_challenge_that_the_core_repeats_makes_no_second_set_of_the_same_keys();
    seeds::worlds_come_to_rest_with_the_same_associations_at_both_ends_and_none_after_the_last_200(
    );
    seeds::through_another_registration_old_associations_serve_until_the_new_ones_are_used();
    seeds::a_deregistration_ends_all_of_a_phones_associations_once_its_200_has_left();
    pair::a_planned_change_loses_nothing();
    inside::a_phone_registers_and_is_called_by_the_connection_that_it_has_opened();
    inside::a_connection_to_a_phone_that_takes_none_fails_and_is_counted();
    identity::the_core_is_told_an_identity_that_is_registered_whatever_a_phone_says();
    reg_event::well_and_badly(210);
    strange_packets();
    answers_of_the_core();
    let world = World::new(1, Vec::new(), section(), LinkSpec::perfect(Duration::ZERO));
    let cells = world.pcscf.access.cells();
    let names = cells.iter().flat_map(|cells| cells.samples().map(|(row, _)| row.name));
    let declared: BTreeSet<&str> = names.filter(|name| !NOT_HERE.contains(name)).collect();
    drop(world);
    let still: Vec<&str> = declared.difference(&MOVED.lock().unwrap()).copied().collect();
    assert!(still.is_empty(), "these never moved: {still:?}");
}
