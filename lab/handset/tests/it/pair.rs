//! A pair of session controllers with phones: whichever step is the last one of a node, calls and
//! registrations go on at the other one, by seed.

use crate::pair_world::{World, value};
use crate::world::Phone;
use handset::{Carrier, Handset, State};
use machine::Duration;
use secagree::Preference;
use sim::LinkSpec;

pub fn preferring(first: u64) -> Preference {
    let mut pairs = Preference::usual();
    pairs.pairs = vec![pairs.pairs[first as usize % 4]];
    pairs
}

pub fn bad() -> LinkSpec {
    LinkSpec { loss: 0.1, duplicate: 0.05, reorder: 0.1, ..LinkSpec::default() }
}

fn phones(seed: u64) -> Vec<Phone> {
    let nat = seed.is_multiple_of(3).then(|| ([198, 51, 100, 9].into(), 10_000 + seed as u16));
    vec![
        Phone::new(seed * 2 + 1, nat, preferring(seed)),
        Phone::new(seed * 2 + 2, None, preferring(seed + 1)),
    ]
}

const SECOND: Duration = Duration::from_secs(1);

/// Registers, calls, is asked, registers again, ends its call; as far as it comes.
pub fn scene(world: &mut World) {
    for phone in 0..2 {
        world.act(phone, Handset::register);
    }
    world.run(SECOND * 12);
    for phone in 0..2 {
        // One that began while the node died may begin anew.
        registered(world, phone);
        world.call(phone);
    }
    world.run(SECOND * 12);
    for phone in 0..2 {
        world.core_asks(phone, 1);
        world.act(phone, Handset::register);
    }
    world.run(SECOND * 20);
    for phone in 0..2 {
        registered(world, phone);
        if world.is_in_call(phone) {
            world.hang_up(phone);
        }
    }
    world.run(SECOND * 20);
}

/// A phone that nobody has answered in time begins anew, as phones do; whether it had to.
pub fn registered(world: &mut World, phone: usize) -> bool {
    let mut has_begun = false;
    for _ in 0..6 {
        if world.state(phone) == State::Registered {
            return has_begun;
        }
        if world.state(phone) != State::Registering {
            has_begun = true;
            world.act(phone, |handset, now, out| {
                handset.restart();
                handset.register(now, out);
            });
        }
        world.run(SECOND * 33);
    }
    panic!("phone {phone} is {:?}", world.state(phone));
}

/// What holds of any world that has come to rest.
pub fn assert_sound(world: &mut World, what: &str) {
    for phone in 0..2 {
        registered(world, phone);
        assert!(world.is_agreed(phone), "{what}: phone {phone}: {:?}", world.agreements(false));
    }
    world.run(SECOND * 2);
    assert_eq!(world.agreements(false), world.agreements(true), "{what}: the standby");
    for packet in world.air.iter().filter(|it| it.carrier == Carrier::Clear) {
        let text = String::from_utf8_lossy(&packet.bytes);
        let text = text.replace(',', " ");
        let may_be = text.starts_with("REGISTER ") || text.contains(" REGISTER\r\n");
        assert!(may_be && !text.contains(" ck=") && !text.contains(" ik="), "{what}: {text}");
    }
    for phone in 0..2 {
        world.act(phone, Handset::deregister);
    }
    world.run(SECOND * 40);
    world.run(SECOND * 900); // what was begun and not ended is over by now
    for standby in [false, true] {
        assert_eq!(world.agreements(standby), [] as [serde_json::Value; 0], "{what}");
    }
    assert_eq!((world.sets(), world.bindings()), ((0, 0), 0), "{what}: nothing is left");
    note(world);
}

/// Metrics that moved here.
fn note(world: &World) {
    for cells in world.cells() {
        crate::metrics::note_cells(&cells);
    }
}

#[test]
pub fn whichever_step_is_a_nodes_last_calls_and_registrations_go_on_and_no_phone_begins_anew() {
    for seed in 0..3 {
        let mut steps = 0;
        for dies_after in (1..).step_by(if seed == 0 { 1 } else { 3 }) {
            let spec = LinkSpec::perfect(Duration::from_millis(5));
            let mut world = World::new(seed, phones(seed), spec);
            world.dies_after = Some(dies_after);
            scene(&mut world);
            let what = format!("seed {seed}, dead after {dies_after} steps");
            assert_eq!(world.clear, 0, "{what}: who was registered stays so");
            for phone in 0..2 {
                assert_eq!(world.ended(phone), 1, "{what}: the call of phone {phone}");
                assert!(world.has_come(phone), "{what}: the core's request to phone {phone}");
            }
            steps = world.steps;
            assert_sound(&mut world, &what);
            if steps < dies_after {
                break;
            }
        }
        assert!(steps > 20, "{steps} steps");
    }
}

#[test]
pub fn whatever_is_lost_with_a_node_no_number_is_used_twice_and_both_ends_agree_at_rest() {
    for seed in 0..60_u64 {
        let mut world = World::new(seed, phones(seed), bad());
        world.dies_after = Some(1 + (seed * 7) as u32 % 60);
        world.loses = true;
        scene(&mut world);
        world.dies();
        world.run(SECOND);
        scene(&mut world);
        for phone in 0..2 {
            // Of what was lost with the node a phone hears when it registers again.
            world.act(phone, Handset::register);
            world.run(SECOND * 33);
            registered(&mut world, phone);
        }
        assert_sound(&mut world, &format!("seed {seed}"));
    }
}

#[test]
pub fn a_planned_change_loses_nothing() {
    for seed in 0..8 {
        let mut world = World::new(seed, phones(seed), LinkSpec::perfect(Duration::from_millis(5)));
        for phone in 0..2 {
            world.act(phone, Handset::register);
        }
        world.run(SECOND * 2);
        for phone in 0..2 {
            world.call(phone);
        }
        // Into the middle of it, and back: as a rolling upgrade does.
        world.run(Duration::from_millis(seed * 3));
        world.switch_over();
        world.run(SECOND * 5);
        world.switch_over();
        world.run(SECOND * 5);
        for phone in 0..2 {
            assert!(world.is_in_call(phone), "seed {seed}");
            world.core_asks(phone, 1);
            world.hang_up(phone);
        }
        world.run(SECOND * 10);
        assert_eq!((world.clear, world.ended(0), world.ended(1)), (0, 1, 1), "seed {seed}");
        assert!(world.has_come(0) && world.has_come(1), "seed {seed}");
        assert_eq!(world.home.counts().accepted, 2, "nobody has registered again");
        assert_sound(&mut world, &format!("seed {seed}"));
    }
}

#[test]
pub fn a_phone_hears_of_its_registration_by_its_own_subscription_also_after_a_takeover() {
    let mut world = World::new(1, phones(1), LinkSpec::perfect(Duration::from_millis(5)));
    world.act(0, Handset::register);
    world.run(SECOND * 2);
    world.subscribe(0);
    world.run(SECOND * 2);
    let asked = world.subscribed.clone().expect("it reaches the core");
    assert!(value(&asked, "Event") == "reg" && !asked.contains("sec-agree"), "{asked}");
    let state =
        |number| format!("<reginfo version=\"{number}\" state=\"full\"><registration/></reginfo>");
    let heard = |world: &World, body: &str| {
        world.requests(0).iter().any(|it| it.starts_with("NOTIFY ") && it.ends_with(body))
    };
    world.notify(&state(0));
    world.run(SECOND * 2);
    assert!(heard(&world, &state(0)), "{:?}", world.requests(0));
    world.dies();
    world.run(SECOND);
    world.notify(&state(1));
    world.run(SECOND * 2);
    assert!(heard(&world, &state(1)), "{:?}", world.requests(0));
    assert_eq!(world.clear, 0);
}

#[test]
pub fn who_takes_over_and_lacks_what_was_told_forgets_all_agreements_and_phones_begin_anew() {
    let mut world = World::new(1, phones(1), LinkSpec::perfect(Duration::from_millis(5)));
    for phone in 0..2 {
        world.act(phone, Handset::register);
    }
    world.run(SECOND * 2);
    assert_eq!((world.agreements(false).len(), world.agreements(true).len()), (2, 2));
    world.is_current = false;
    world.dies();
    world.run(SECOND);
    assert_eq!(world.agreements(false), [] as [serde_json::Value; 0]);
    for phone in 0..2 {
        world.act(phone, Handset::register);
        world.run(SECOND * 33);
        assert!(registered(&mut world, phone), "nobody hears it by what it has");
    }
    assert_sound(&mut world, "not current");
}

#[test]
pub fn an_emergency_call_in_the_clear_goes_on_at_the_other_node() {
    let host = "10.0.0.77:5060";
    let say = |method: &str, target: &str, tag: &str, cseq: u32| {
        format!(
            "{method} {target} SIP/2.0\r\nVia: SIP/2.0/UDP {host};branch=z9hG4bK{method}{cseq}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:anonymous@anonymous.invalid>;tag=1\r\n\
             To: <urn:service:sos>{tag}\r\nCall-ID: help\r\nCSeq: {cseq} {method}\r\n\
             Contact: <sip:a@{host}>\r\nContent-Length: 0\r\n\r\n"
        )
    };
    for is_current in [true, false] {
        let mut world = World::new(1, phones(1), LinkSpec::perfect(Duration::from_millis(5)));
        let heard = world.stranger(host, &say("INVITE", "urn:service:sos", "", 1));
        let ok = heard.iter().find(|it| it.starts_with("SIP/2.0 200")).expect("it is answered");
        let target = value(ok, "Contact").split(['<', '>']).nth(1).expect("an address").to_owned();
        let tag = value(ok, "To").split_once('>').expect("it has a tag").1.to_owned();
        world.stranger(host, &say("ACK", &target, &tag, 1));
        world.is_current = is_current;
        world.dies();
        world.run(SECOND);
        let heard = world.stranger(host, &say("MESSAGE", "sip:b@x", "", 2));
        assert!(heard[0].starts_with("SIP/2.0 403"), "{heard:?}");
        let heard = world.stranger(host, &say("BYE", &target, &tag, 2));
        assert!(heard.iter().any(|it| it.starts_with("SIP/2.0 200")), "{heard:?}");
    }
}

#[test]
pub fn a_registration_whose_agreement_was_not_told_ends_with_the_node_that_had_it() {
    let mut world = World::new(1, phones(1), LinkSpec::perfect(Duration::from_millis(5)));
    world.lacks_agreements = true;
    for phone in 0..2 {
        world.act(phone, Handset::register);
    }
    world.run(SECOND * 2);
    assert_eq!((world.bindings(), world.agreements(true).len()), (2, 0));
    world.dies();
    world.run(SECOND);
    assert_eq!(world.bindings(), 0, "whoever comes from there next is another one");
}
