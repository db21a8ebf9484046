//! What the home subscriber server is asked: numbers of identities, and who can be reached.

use crate::world::{ALICE_NUMBER, World, settings};
use ipsmgw::store::{Answer, Key, Question, Row};
use ipsmgw::{Home, HomeAnswer, HomeQuestion, In, Msisdn, Register, Settings, Written};

const NAMED: &str = "sip:alice@ims.example.org";

fn asking() -> Settings {
    Settings {
        home: Home { numbers: true, reachability: true, ..Home::default() },
        ..crate::local::local()
    }
}

fn registers(world: &mut World, identity: &str, msisdn: Option<&str>, expires_s: u32) {
    let register = Register {
        identity: identity.into(),
        s_cscf: "sip:scscf.ims.example.org:6060".into(),
        expires_s,
        msisdn: msisdn.and_then(Msisdn::of),
        imsi: None,
        contacts: Some(vec!["sip:x@192.0.2.1".into()]),
    };
    world.step(In::Register { transaction: 1, register });
}

fn answers(world: &mut World, number: Option<&str>) {
    let (ticket, question) = world.home.remove(0);
    assert_eq!(question, HomeQuestion::Number(NAMED.into()));
    let answer = HomeAnswer::Number(number.and_then(Msisdn::of));
    world.step(In::Home { ticket, answer });
}

fn stands(world: &mut World) -> bool {
    let key = Key::Subscriber(Msisdn::of(ALICE_NUMBER).unwrap());
    matches!(world.store.ask(world.now, Question::Get(key)), Answer::Row(Some(Row::Subscriber(_))))
}

#[test]
fn the_number_of_an_identity_without_one_is_asked_for_once_and_stands_until_it_ends() {
    let mut world = World::new(asking());
    registers(&mut world, NAMED, None, 600);
    assert!(world.responses.is_empty(), "nothing is said before the number is known");
    answers(&mut world, Some(ALICE_NUMBER));
    assert_eq!(world.responses.pop(), Some((1, 200)));
    assert!(stands(&mut world));
    // A refresh, and the end, ask nobody.
    registers(&mut world, NAMED, None, 600);
    assert_eq!(world.responses.pop(), Some((1, 200)));
    registers(&mut world, NAMED, None, 0);
    assert_eq!(world.responses.pop(), Some((1, 200)));
    assert!(!stands(&mut world) && world.home.is_empty() && world.idle());
    // There is nothing to end any more.
    registers(&mut world, NAMED, None, 0);
    assert_eq!((world.responses.pop(), world.home.len()), (Some((1, 200)), 0));
}

#[test]
fn who_has_no_number_is_refused_and_who_cannot_be_told_it_may_come_again() {
    let mut world = World::new(asking());
    registers(&mut world, NAMED, None, 600);
    answers(&mut world, None);
    assert_eq!(world.responses.pop(), Some((1, 403)));
    registers(&mut world, NAMED, None, 600);
    let (ticket, _) = world.home.remove(0);
    world.step(In::Home { ticket, answer: HomeAnswer::Failed });
    assert_eq!(world.responses.pop(), Some((1, 503)));
    world.store_fails = true;
    registers(&mut world, NAMED, None, 600);
    assert_eq!(world.responses.pop(), Some((1, 503)));
    world.store_fails = false;
    // Nobody answers at all.
    registers(&mut world, NAMED, None, 600);
    world.pass(machine::Duration::from_secs(91));
    assert_eq!(world.responses.pop(), Some((1, 503)));
    assert!(world.idle());
    // An answer that comes too late is nobody's.
    let (ticket, _) = world.home.remove(0);
    let answer = HomeAnswer::Number(Msisdn::of(ALICE_NUMBER));
    world.step(In::Home { ticket, answer });
    assert!(world.responses.is_empty() && !stands(&mut world));
}

#[test]
fn two_numbers_that_differ_are_refused_without_asking_and_a_gateway_that_may_not_ask_does_not() {
    let mut world = World::new(asking());
    registers(&mut world, "sip:+447700900999@ims.example.org", Some(ALICE_NUMBER), 600);
    assert_eq!((world.responses.pop(), world.home.len()), (Some((1, 403)), 0));
    let mut world = World::new(Settings { home: Home::default(), ..asking() });
    registers(&mut world, NAMED, None, 600);
    assert_eq!((world.responses.pop(), world.home.len()), (Some((1, 403)), 0));
}

#[test]
fn word_of_who_did_not_answer_is_wanted_and_tries_what_waits() {
    let mut world = World::new(asking());
    registers(&mut world, crate::world::ALICE, None, 3_600);
    world.responses.clear();
    let to = Msisdn::of(ALICE_NUMBER).unwrap();
    let text = String::from("Hi");
    world.step(In::Operator { ticket: 5, to: to.clone(), from: None, text: Written(text) });
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 480 });
    let wanted =
        HomeQuestion::Reachability { identity: crate::world::ALICE.into(), msisdn: to.clone() };
    assert_eq!(world.home.remove(0).1, wanted);
    assert!(world.sent.is_empty());
    world.step(In::Retry(Some(to)));
    assert_eq!(world.sent.remove(0).to, crate::world::ALICE, "it is tried at once");
    // Who refuses is there: nothing is waited for.
    let mut world = World::new(Settings { home: Home::default(), ..settings() });
    registers(&mut world, crate::world::ALICE, None, 3_600);
    assert!(world.home.is_empty());
}
