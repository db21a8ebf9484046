//! Segmentation and reassembly, under loss and out of order too.

use crate::every;
use crate::world::*;
use machine::Time;
use proptest::prelude::*;
use sccp::codec::{Class, ReturnCause};
use sccp::{In, Metric, Parameters, Unitdata};

fn message(seed: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + usize::from(seed)) as u8).collect()
}

#[test]
fn a_message_of_every_length_comes_as_it_was_sent() {
    for length in [0, 1, 200, 240, 241, 255, 256, 400, 1_000, 2_500, 3_500] {
        let mut world = World::plain(2);
        let data = message(1, length);
        let class = Class { is_sequenced: length % 2 == 0, returns: true };
        world.run(1, In::Unitdata(Unitdata { class, ..to(at(2, 6), 1, &data) }));
        assert_eq!(world.data(2), [data], "{length}");
        assert!(world.msus.iter().all(|it| it.payload.len() <= 268), "{length}");
        assert_eq!(world.nodes[1].waiting_octets(), 0);
        let Some((_, sccp::Indication::Unitdata(_, came))) = world.heard.last() else { panic!() };
        assert_eq!(came.class.is_sequenced, class.is_sequenced, "{length}");
        if world.msus.len() > 1 {
            let sls: Vec<u8> = world.msus.iter().map(|it| it.sls).collect();
            assert!(sls.iter().all(|it| *it == sls[0]), "segments keep their order");
            let returns = |it: &m3ua::Transfer| {
                matches!(unit(it).word, sccp::codec::Word::Data(Class { returns: true, .. }))
            };
            assert_eq!(world.msus.iter().filter(|it| returns(it)).count(), 1);
        }
    }
}

#[test]
fn what_needs_more_than_sixteen_segments_comes_back_at_once() {
    let mut world = World::plain(2);
    world.run(1, In::Unitdata(to(at(2, 6), 1, &[1; 5_000])));
    assert_eq!(world.notices(1), [ReturnCause::SegmentationFailure.number()]);
    assert!(world.msus.is_empty());
}

#[test]
fn what_is_not_whole_in_time_comes_back_and_leaves_nothing() {
    let mut world = World::plain(2);
    let mut msus = world.step(1, In::Unitdata(to(at(2, 6), 1, &[1; 600])));
    msus.pop();
    world.carry(msus);
    assert!(world.nodes[1].waiting_octets() > 0);
    world.pass(Time::from_millis(14_999));
    assert!(world.notices(1).is_empty());
    world.pass(Time::from_millis(15_000));
    assert_eq!(world.notices(1), [ReturnCause::ErrorInTransport.number()]);
    assert_eq!(world.nodes[1].waiting_octets(), 0);
    assert_eq!(world.count(2, Metric::ReassemblyExpired), 1);
}

#[test]
fn one_source_cannot_take_the_room_of_all() {
    let parameters = Parameters { reassembly_octets_max: 64 << 10, ..Parameters::q714() };
    let mut world = World::new((1..=3).map(|it| node(it, parameters, Vec::new())).collect());
    for seed in 0..=255 {
        let mut msus = world.step(1, In::Unitdata(to(at(3, 6), 1, &message(seed, 700))));
        msus.truncate(1);
        world.carry(msus);
        assert!(world.nodes[2].waiting_octets() <= 33 << 10, "half of it and a segment");
    }
    assert!(world.count(3, Metric::ReassemblyShed) > 100);
    let refused = world.notices(1);
    assert!(refused.iter().all(|it| *it == ReturnCause::NoReassembly.number()));
    world.run(2, In::Unitdata(to(at(3, 6), 2, &message(9, 700))));
    assert_eq!(world.data(3), [message(9, 700)], "another source finds room");
    world.pass(Time::from_millis(20_000));
    assert_eq!(world.nodes[2].waiting_octets(), 0);
}

#[test]
fn one_association_with_many_point_codes_leaves_room_to_others() {
    let max = 64 << 10;
    let parameters = Parameters { reassembly_octets_max: max, ..Parameters::q714() };
    let mut world = World::new((1..=3).map(|it| node(it, parameters, Vec::new())).collect());
    let mut process = m3ua::Process::new(m3ua::Settings {
        peers_max: 4,
        servers_max: 4,
        parameters: m3ua::Parameters::rfc4666(),
    })
    .unwrap();
    let settings = m3ua::PeerSettings::new(m3ua::Role::Sgp);
    let [liar, other] = [settings.clone(), settings].map(|it| process.add_peer(it).unwrap());
    let msus = world.step(1, In::Unitdata(to(at(3, 6), 1, &message(1, 700))));
    for number in 100..400 {
        let opc = every::point_code(number);
        world.step(3, In::TransferBy(liar, m3ua::Transfer { opc, ..msus[0].clone() }));
        assert!(world.nodes[2].waiting_octets() <= 33 << 10, "half of it and a segment");
    }
    assert!(world.nodes[2].waiting_octets() > max / 3);
    assert!(world.count(3, Metric::ReassemblyShed) > 100);
    // Another association has room, for more than one point code.
    for from in [1, 2] {
        for seed in 0..5 {
            for msu in world.step(from, In::Unitdata(to(at(3, 6), 1, &message(seed, 2_000)))) {
                world.step(3, In::TransferBy(other, msu));
            }
        }
    }
    assert_eq!(world.data(3).len(), 10);
    world.pass(Time::from_millis(20_000));
    assert_eq!(world.nodes[2].waiting_octets(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// MSUs of several messages lost, doubled and mixed: whatever is delivered is what was sent,
    /// and nothing is left when time has passed.
    #[test]
    fn what_is_delivered_under_loss_and_reorder_was_sent(
        lengths in prop::collection::vec(300usize..2_000, 1..6),
        fates in prop::collection::vec((0u8..20, any::<u16>()), 80),
        is_mixed: bool,
    ) {
        let mut world = World::plain(3);
        let mut msus = Vec::new();
        let mut sent = Vec::new();
        for (seed, length) in lengths.iter().enumerate() {
            let from = 1 + seed % 2;
            let data = message(seed as u8, *length);
            msus.extend(world.step(from, In::Unitdata(to(at(3, 6), from as u32, &data))));
            sent.push(data);
        }
        let count = msus.len();
        let mut carried: Vec<(usize, m3ua::Transfer)> = Vec::new();
        for (index, msu) in msus.into_iter().enumerate() {
            let (fate, place) = fates[index % fates.len()];
            let place = if is_mixed { index + usize::from(place) % 4 } else { index };
            match fate {
                0 => {}
                1 => carried.extend([(place, msu.clone()), (place, msu)]),
                _ => carried.push((place, msu)),
            }
        }
        carried.sort_by_key(|it| it.0);
        let has_all = fates[..count.min(80)].iter().all(|it| it.0 > 1);
        let is_intact = !is_mixed && has_all && count <= 80;
        for (_, msu) in carried {
            world.carry(vec![msu]);
        }
        let came = world.data(3);
        prop_assert!(came.iter().all(|it| sent.iter().any(|sent| sent[..] == it[..])));
        if is_intact {
            prop_assert_eq!(came.len(), sent.len());
        }
        world.pass(Time::from_millis(60_000));
        prop_assert_eq!(world.nodes[2].waiting_octets(), 0);
    }
}
