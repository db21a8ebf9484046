//! Next hops that are overloaded and say so (RFC 7339): what they do not want goes elsewhere.

use crate::world::*;
use machine::Duration;

const CALLS: u32 = 200;
const OFFER: &str = ";oc;oc-algo=\"loss\"";

fn world() -> World {
    World::new(&SITE.replacen("name = \"switch\"", "name = \"switch\"\noverload_control = true", 1))
}

/// A call that the target at `at` refuses, with feedback.
fn tell(world: &mut World, call_id: &str, at: &str, feedback: &str) {
    let caller = Caller::new(call_id);
    world.receive(ALICE, ACCESS, &caller.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(at, "INVITE");
    assert!(header(&invite, "Via").ends_with(OFFER), "{invite}");
    let busy = respond(&invite, "486 Busy Here", "b1", "", "").replace(OFFER, feedback);
    world.receive(at, CORE, &busy);
    world.expect(ALICE, "SIP/2.0 486");
    world.expect(at, "ACK");
    let text = caller.request("ACK", "", "").replace("z9hG4bKACK", "z9hG4bKINVITE");
    world.receive(ALICE, ACCESS, &text);
}

/// Where calls go: to the first target, to the second one, nowhere.
fn ways(world: &mut World, name: &str) -> [u32; 3] {
    let mut counts = [0; 3];
    for n in 0..CALLS {
        let caller = Caller::new(&format!("{name}-{n}"));
        world.receive(ALICE, ACCESS, &caller.request("INVITE", "", SDP));
        let last = world.sent.pop_back().unwrap();
        let place = [BOB, BACKUP, ALICE].iter().position(|at| last.to == at.parse().unwrap());
        counts[place.unwrap()] += 1;
        if last.to == ALICE.parse().unwrap() {
            assert!(last.text.starts_with("SIP/2.0 503"), "{}", last.text);
            assert!(!last.text.contains("Retry-After"), "RFC 7339 §5.10.2: {}", last.text);
        }
        world.sent.clear();
    }
    counts
}

#[test]
fn what_an_overloaded_target_does_not_want_goes_to_the_next_one_or_is_refused() {
    let mut world = world();
    tell(&mut world, "one", BOB, ";oc=40;oc-algo=\"loss\";oc-validity=5000;oc-seq=2.5");
    tell_again_is_older(&mut world);
    let [first, second, none] = ways(&mut world, "some");
    assert!((100..140).contains(&first) && first + second == CALLS && none == 0, "{first}");
    let rows = world.ask("next-hops", &[]);
    assert_eq!(
        (&rows[0]["unwanted_percent"], &rows[1]["unwanted_percent"]),
        (&40.into(), &0.into())
    );
    world.pass(Duration::from_secs(5));
    world.sent.clear();
    assert_eq!(ways(&mut world, "later"), [CALLS, 0, 0], "it holds no more");
}

/// What was said before the last word does not count: a call that comes to Bob rings with it.
fn tell_again_is_older(world: &mut World) {
    let older = ";oc=100;oc-algo=\"loss\";oc-validity=5000;oc-seq=2.05";
    for n in 0..20 {
        world.receive(ALICE, ACCESS, &Caller::new(&format!("old-{n}")).request("INVITE", "", SDP));
        let last = world.sent.pop_back().unwrap();
        let ringing = respond(&last.text, "180 Ringing", "b1", "", "").replace(OFFER, older);
        if last.to == BOB.parse().unwrap() {
            world.receive(BOB, CORE, &ringing);
        }
        world.sent.clear();
    }
}

#[test]
fn when_no_target_wants_a_call_it_is_refused_and_emergency_calls_go_all_the_same() {
    let mut world = world();
    let all = ";oc=100;oc-algo=\"loss\";oc-validity=5000;oc-seq=1.0";
    tell(&mut world, "one", BOB, all);
    tell(&mut world, "two", BACKUP, all);
    assert_eq!(ways(&mut world, "none"), [0, 0, CALLS]);
    assert_eq!(world.metric("ssc_requests_withheld_total"), u64::from(CALLS));
    let mut help = Caller::new("help");
    help.target = "urn:service:sos.fire".into();
    world.receive(ALICE, ACCESS, &help.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE");
}

#[test]
fn calls_for_help_beyond_the_budget_of_a_source_go_as_next_hops_want_others() {
    let mut world = world();
    let all = ";oc=100;oc-algo=\"loss\";oc-validity=5000;oc-seq=1.0";
    tell(&mut world, "one", BOB, all);
    tell(&mut world, "two", BACKUP, all);
    let mut goes = |n: u32| {
        let mut help = Caller::new(&format!("help{n}"));
        help.target = "urn:service:sos".into();
        world.sent.clear();
        world.receive(ALICE, ACCESS, &help.request("INVITE", "", SDP));
        world.sent.iter().any(|sent| sent.text.starts_with("INVITE"))
    };
    assert_eq!((0..150).filter(|&n| goes(n)).count(), 100);
}

#[test]
fn feedback_that_was_not_asked_for_is_passed_over() {
    let mut world = World::new(SITE);
    let caller = Caller::new("one");
    world.receive(ALICE, ACCESS, &caller.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert!(!invite.contains(";oc"), "{invite}");
    let via = format!("{};oc=100;oc-algo=\"loss\";oc-seq=1.0", header(&invite, "Via"));
    let ringing = respond(&invite, "180 Ringing", "b1", "", "");
    world.receive(BOB, CORE, &ringing.replace(header(&invite, "Via"), &via));
    world.sent.clear();
    assert_eq!(ways(&mut world, "all"), [CALLS, 0, 0]);
}
