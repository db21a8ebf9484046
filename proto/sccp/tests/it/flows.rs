//! What is delivered, relayed, returned, refused.

use crate::every::{self, point_code};
use crate::world::*;
use m3ua::codec::Affected;
use sccp::codec::{
    Class, Form, Message, MessageType, Parameter, RefusalCause, ReturnCause, Routing, Word,
};
use sccp::{Choice, In, Indication, Metric, Parameters, Unitdata};

#[test]
fn data_reach_a_subsystem_elsewhere_and_here() {
    let mut world = World::plain(2);
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"there")));
    world.run(1, In::Unitdata(to(at(1, 6), 1, &[7; 3_000])));
    assert_eq!(world.data(2), [&b"there"[..]]);
    assert_eq!(world.data(1), [vec![7; 3_000]], "what stays here is not cut");
    assert_eq!((world.msus.len(), world.msus[0].si, world.msus[0].ni), (1, 3, 2));
    assert_eq!(unit(&world.msus[0]).form, Form::Basic);
}

#[test]
fn class_1_keeps_its_sls_and_class_0_is_spread() {
    let mut world = World::plain(2);
    for sls in [5, 5, 9] {
        let class = Class { is_sequenced: true, returns: false };
        world.run(1, In::Unitdata(Unitdata { class, sls, ..to(at(2, 6), 1, b"1") }));
    }
    for _ in 0..16 {
        world.run(1, In::Unitdata(to(at(2, 6), 1, b"0")));
    }
    let sls: Vec<u8> = world.msus.iter().map(|it| it.sls).collect();
    assert_eq!(sls[..3], [5, 5, 9]);
    let mut spread = sls[3..].to_vec();
    spread.sort_unstable();
    assert_eq!(spread, (0..16).collect::<Vec<_>>());
}

/// Every cause that a node finds itself, seen by who asked for the return; without the option
/// nothing comes back.
#[test]
fn what_cannot_be_delivered_comes_back_with_its_cause_when_it_was_asked_for() {
    let relay = vec![
        rule("44", &[(Some(3), Routing::Title)], Choice::Backup),
        rule("45", &[(Some(9), Routing::Title)], Choice::Backup),
        rule("46", &[(Some(3), Routing::Subsystem)], Choice::Backup),
    ];
    let world = || {
        let first = node(
            1,
            Parameters::q714(),
            vec![rule("4", &[(Some(2), Routing::Title)], Choice::Backup)],
        );
        let mut world = World::new(vec![
            first,
            node(2, Parameters::q714(), relay.clone()),
            node(3, Parameters::q714(), Vec::new()),
        ]);
        world.run(2, In::State(8, true));
        world.run(2, In::State(8, false));
        world.run(2, In::Pause(Affected::one(point_code(9))));
        world
    };
    let table = [
        (title("99"), ReturnCause::NoTranslationAddress),
        (title("49"), ReturnCause::NoTranslationAddress),
        (title("44"), ReturnCause::NoTranslationNature),
        (title("45"), ReturnCause::MtpFailure),
        (at(2, 8), ReturnCause::SubsystemFailure),
        (at(2, 9), ReturnCause::UnequippedUser),
    ];
    for (called, cause) in table {
        for importance in [None, Some(3)] {
            let mut world = world();
            let unitdata = Unitdata { importance, ..to(called, 1, b"ask") };
            world.run(1, In::Unitdata(unitdata.clone()));
            assert_eq!(world.notices(1), [cause.number()], "{called:?}");
            let Some((1, Indication::Notice { called: back, data, .. })) =
                world.heard.iter().rfind(|(_, it)| matches!(it, Indication::Notice { .. }))
            else {
                panic!("it came back")
            };
            assert_eq!((back.subsystem, &data[..]), (called.subsystem, &b"ask"[..]));
            let class = Class { is_sequenced: false, returns: false };
            world.run(1, In::Unitdata(Unitdata { class, ..unitdata }));
            assert_eq!(world.notices(1).len(), 1, "{called:?}");
            let discarded: u64 = (1..=3).map(|it| world.count(it, Metric::Discarded)).sum();
            assert_eq!(discarded, 1, "{called:?}");
        }
    }
}

#[test]
fn a_relay_lessens_the_hop_counter_and_says_where_the_message_came_from() {
    let mut world = World::new(vec![
        node(1, Parameters::q714(), vec![rule("4", &[(Some(2), Routing::Title)], Choice::Backup)]),
        node(
            2,
            Parameters::q714(),
            vec![rule("4", &[(Some(3), Routing::Subsystem)], Choice::Backup)],
        ),
        node(3, Parameters::q714(), Vec::new()),
    ]);
    let mut unitdata = Unitdata { importance: Some(1), ..to(title("4467"), 1, b"x") };
    unitdata.calling.point_code = None;
    world.run(1, In::Unitdata(unitdata));
    assert_eq!(world.data(3).len(), 1);
    let hops: Vec<u8> = world.msus.iter().map(|it| unit(it).hops).collect();
    assert_eq!(hops, [15, 14]);
    assert_eq!(unit(&world.msus[1]).calling, at(1, 6));
    assert_eq!(world.count(2, Metric::Relayed), 1);
}

#[test]
fn a_circle_of_translations_ends_by_the_hop_counter() {
    let circle = |next| vec![rule("4", &[(Some(next), Routing::Title)], Choice::Backup)];
    let mut world = World::new(vec![
        node(1, Parameters::q714(), circle(2)),
        node(2, Parameters::q714(), circle(3)),
        node(3, Parameters::q714(), circle(4)),
        node(4, Parameters::q714(), circle(2)),
    ]);
    world.run(1, In::Unitdata(Unitdata { importance: Some(0), ..to(title("4"), 1, b"round") }));
    assert_eq!(world.notices(1), [ReturnCause::HopCounterViolation.number()]);
    assert_eq!((2..=4).map(|it| world.count(it, Metric::HopsExceeded)).sum::<u64>(), 1);
}

#[test]
fn what_is_not_well_formed_is_counted_and_discarded() {
    let mut world = World::plain(2);
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    let msu = world.msus[0].clone();
    for payload in
        [&[][..], &[0x55], &msu.payload[..5], &[9, 2, 3, 5, 7, 2, 0x42, 6, 2, 0x42, 6, 0]]
    {
        let payload = bytes::Bytes::copy_from_slice(payload);
        world.run(2, In::Transfer(m3ua::Transfer { payload, ..msu.clone() }));
    }
    assert_eq!((world.count(2, Metric::Malformed), world.data(2).len()), (4, 1));
}

#[test]
fn messages_of_connections_are_refused_each_in_its_way() {
    let mut world = World::plain(2);
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    let msu = world.msus[0].clone();
    for (kind, octets) in every::connection_messages() {
        let payload = bytes::Bytes::from(octets);
        let answers = world.step(2, In::Transfer(m3ua::Transfer { payload, ..msu.clone() }));
        let answer = answers.first().map(|it| Message::read(&it.payload).unwrap());
        let expected = match kind {
            MessageType::ConnectionRequest => Some(MessageType::ConnectionRefused),
            MessageType::Released => Some(MessageType::ReleaseComplete),
            MessageType::ConnectionConfirm
            | MessageType::ResetRequest
            | MessageType::ResetConfirm => Some(MessageType::Error),
            _ => None,
        };
        assert_eq!(answer.map(|it| it.kind), expected, "{}", kind.name());
        if let Some(answer) = answer {
            let source =
                if kind == MessageType::ConnectionRequest { 0x03_02_01 } else { 0x06_05_04 };
            assert_eq!(answer.reference(Parameter::DestinationReference), Some(source));
            let cause = answer.octet(Parameter::RefusalCause);
            assert!(cause.is_none_or(|it| it == RefusalCause::UnequippedUser.number()));
        }
    }
}

#[test]
fn a_long_message_goes_as_ludt_where_that_is_agreed() {
    let parameters = Parameters { has_long: true, message_octets_max: 4_000, ..Parameters::q714() };
    let mut world = World::new((1..=2).map(|it| node(it, parameters, Vec::new())).collect());
    world.run(1, In::Unitdata(to(at(2, 6), 1, &[5; 3_000])));
    assert_eq!((world.msus.len(), unit(&world.msus[0]).form), (1, Form::Long));
    assert_eq!(world.data(2), [vec![5; 3_000]]);
    world.run(1, In::Unitdata(to(at(2, 9), 1, &[5; 3_000])));
    assert_eq!(world.notices(1), [ReturnCause::UnequippedUser.number()]);
    assert!(matches!(unit(world.msus.last().unwrap()).word, Word::Service(4)));
}
