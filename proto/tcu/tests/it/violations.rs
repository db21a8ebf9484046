//! What an application says that is not in order, and how it hears of it; point codes in both ways.

use crate::world::{World, invoke, result, settings};
use bytes::Bytes;
use m3ua::codec::PointCode;
use sccp::codec::LocalReference;
use sccp::{ConnectionEvent, ConnectionInput};
use tcu::{
    ClientEvent, Happened, Indication, Misread, Named, Network, PointCodes, Portion, Refusal,
    Request, Settings, Speech, Spelling, ToApplication,
};

const JSON: Spelling = Spelling::Json;

fn misread(world: &mut World, id: tcu::InstanceId) -> Misread {
    let events = core::mem::take(&mut world.instances.get_mut(&id).unwrap().events);
    let found = events.into_iter().rev().find_map(|it| match it {
        ClientEvent::Malformed(it) => Some(it),
        _ => None,
    });
    found.expect("it was told that it was not understood")
}

#[test]
fn who_is_not_understood_hears_of_which_dialogue() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.begin(vec![invoke(1)]);
    let told = world.told_to(a);
    let dialogue = told[0].dialogue().unwrap();
    let line = format!(
        "{{\"tc\":\"end\",\"dialogue\":{dialogue},\"components\":[{{\"result\":1,\
         \"operation\":\"sendRoutingInfoForSM\",\"value\":{{\"imsy\":\"32140500000021f3\"}}}}]}}\n"
    );
    world.say(a, line.as_bytes());
    let of = misread(&mut world, a).of;
    assert_eq!(of, Named { dialogue: Some(dialogue), reference: None });
    world.say(a, b"{\"tc\":\"begin\",\"reference\":7,\"called\":{\"ssn\":6},\"colling\":1}\n");
    let of = misread(&mut world, a).of;
    assert_eq!(of, Named { dialogue: None, reference: Some(7) });
    // The dialogue stands, and is answered yet.
    let portion = Portion::of(vec![result(1)]);
    world.ask(a, &Request::End { dialogue, is_prearranged: false, portion });
    assert!(matches!(world.heard()[..], [Indication::End { .. }]));
}

#[test]
fn the_answer_to_a_dialogue_that_is_over_is_refused_and_not_malformed() {
    for spelling in [JSON, Spelling::Tagged] {
        let mut world = World::new(settings());
        let a = world.instance("", spelling);
        world.begin(vec![invoke(1)]);
        let dialogue = world.told_to(a)[0].dialogue().unwrap();
        let portion = Portion::of(vec![result(1)]);
        let answer = Request::End { dialogue, is_prearranged: false, portion };
        world.ask(a, &answer);
        let again = "{\"tc\":\"end\",\"dialogue\":DIALOGUE,\"components\":[{\"result\":1,\
                     \"operation\":\"sendRoutingInfoForSM\",\"value\":{}}]}\n";
        match spelling {
            JSON => world.say(a, again.replace("DIALOGUE", &dialogue.to_string()).as_bytes()),
            Spelling::Tagged => world.ask(a, &answer),
        }
        let refused = Indication::Refused {
            reference: None,
            dialogue: Some(dialogue),
            why: Refusal::Unknown,
        };
        assert_eq!(world.told_to(a), [refused], "{spelling:?}");
        let counts = world.status().counts;
        assert_eq!((counts.malformed, counts.refused), (0, 1), "{spelling:?}");
    }
}

#[test]
fn a_line_that_is_no_object_is_answered_before_and_after_the_greeting() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.say(a, b"GET / HTTP/1.1\r\n");
    assert!(!misread(&mut world, a).what.is_empty());
    let id = tcu::InstanceId(99);
    world.application.connected(world.now, id, false, None);
    world.say(id, b"hello?\n");
    assert_eq!(world.status().counts.malformed, 2);
}

#[test]
fn who_comes_goes_or_is_sent_away_is_noted() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.kill(a);
    let id = tcu::InstanceId(99);
    world.application.connected(world.now, id, false, "192.0.2.1".parse().ok());
    world.say(id, b"{\"tc\":\"hello\",\"version\":1,\"application\":\"other\"}\n");
    let notices = world.application.take_notices();
    let told: Vec<_> = notices.iter().map(|it| (&*it.instance, &it.happened)).collect();
    let why = "another application is spoken with here".to_owned();
    assert_eq!(
        told,
        [("i1", &Happened::Welcomed), ("i1", &Happened::Ended), ("", &Happened::SentAway(why))]
    );
    assert_eq!(notices[2].source, "192.0.2.1".parse().ok());
    for number in 0..1_000 {
        let id = tcu::InstanceId(1_000 + number);
        world.application.connected(world.now, id, false, None);
        world.say(id, b"{\"tc\":\"hello\",\"version\":9,\"application\":\"hlr\"}\n");
    }
    assert!(world.application.take_notices().len() < 100, "a stranger fills no memory");
}

#[test]
fn point_codes_are_read_by_number_and_by_fields_and_written_as_it_is_wished() {
    let line = |pc: &str| {
        format!(
            "{{\"tc\":\"uni\",\"called\":{{\"pc\":{pc},\"ssn\":6}},\"calling\":{{\"ssn\":8}}}}\n"
        )
    };
    let read = |pc: &str| {
        let read = JSON.read_request(line(pc).as_bytes(), &|_| Speech::Unknown);
        match read {
            Ok(tcu::ToGateway::Request(Request::Uni { called, .. })) => called.point_code,
            _ => None,
        }
    };
    for pc in ["4899", "\"4899\"", "\"2-100-3\"", "\"2.100.3\""] {
        assert_eq!(read(pc), PointCode::new(4_899), "{pc}");
    }
    for pc in ["16384", "\"8-0-0\"", "\"2-256-0\"", "\"2-100\"", "\"\"", "-1", "\"2-100-3-1\""] {
        assert_eq!(read(pc), None, "{pc}");
    }
    let written = |point_codes, number| {
        let it = Indication::State {
            point_code: PointCode::new(number).unwrap(),
            subsystem: 6,
            in_service: true,
        };
        let mut out = Vec::new();
        let message = ToApplication::Indication(it.clone());
        JSON.write_with(point_codes, &message, Speech::Unknown, &mut out);
        let read = JSON.read(&out, &|_| Speech::Unknown).unwrap();
        assert_eq!(read, ToApplication::Indication(it));
        String::from_utf8(out).unwrap()
    };
    assert!(written(PointCodes::Numbers, 4_899).contains("\"pc\":4899,"));
    assert!(written(PointCodes::Fields, 4_899).contains("\"pc\":\"2-100-3\","));
    assert!(written(PointCodes::Fields, 1 << 20).contains("\"pc\":1048576,"), "of 24 bits");
}

#[test]
fn of_a_connection_that_fills_the_queue_no_more_is_asked_for_until_it_was_read() {
    let mut world = World::new(Settings { is_network: true, ..settings() });
    let a = world.instance("", JSON);
    let (of, other) = (LocalReference::truncated(5), LocalReference::truncated(6));
    let busy = |world: &mut World| {
        let wanted = world.application.take_network().into_iter();
        let busy = wanted.filter_map(|it| match it {
            Network::Connection(ConnectionInput::Busy(of, is)) => Some((of, is)),
            _ => None,
        });
        busy.collect::<Vec<_>>()
    };
    for it in [of, other] {
        let event = ConnectionEvent::Offered {
            called: sccp::codec::Address::subsystem(None, 6),
            calling: None,
            class: sccp::codec::ConnectionClass::FlowControl,
            importance: None,
            data: Bytes::new(),
        };
        world.application.connection_event(world.now, it, event);
    }
    world.stick(a, true);
    // What was sent and not taken counts for nobody.
    for _ in 0..10 {
        let data = ConnectionEvent::Data(Bytes::from(vec![7; 8_000]));
        world.application.connection_event(world.now, of, data);
    }
    world.application.connection_event(world.now, other, ConnectionEvent::Data("x".into()));
    assert_eq!(busy(&mut world), [(of, true)], "once");
    world.stick(a, false);
    assert_eq!(busy(&mut world), [(of, false)]);
    assert_eq!(world.told_to(a).len(), 2 + 11);
}
