//! What is not of a call, what nobody answers, what nobody ends, and what is shown.

use crate::commands::{ANSWER, OFFER};
use crate::controller::{Controller, Reply, Says};
use anchor::Side;
use ng::bencode::Value;
use ng::{Command, Effect, Engine};

const HELD: &str = "v=0\r\no=alice 1 2 IN IP4 192.0.2.1\r\ns=call\r\nc=IN IP4 192.0.2.1\r\n\
    t=0 0\r\nm=audio 4000 RTP/AVP 8\r\na=inactive\r\n";

/// A command of the call "call".
fn ask(
    controller: &mut Controller,
    command: &'static str,
    from: &'static str,
    more: &[(&'static str, Says)],
) -> Reply {
    let head = [
        ("command", Says::Text(command)),
        ("call-id", Says::Text("call")),
        ("from-tag", Says::Text(from)),
    ];
    let entries: Vec<_> = head.into_iter().chain(more.iter().cloned()).collect();
    controller.ask(&entries)
}

fn offer(controller: &mut Controller, from: &'static str) -> Reply {
    ask(controller, "offer", from, &[("sdp", Says::Text(OFFER))])
}

fn answer(
    controller: &mut Controller,
    from: &'static str,
    to: &'static str,
    branch: &'static str,
) -> Reply {
    let more = [
        ("to-tag", Says::Text(to)),
        ("via-branch", Says::Text(branch)),
        ("sdp", Says::Text(ANSWER)),
    ];
    ask(controller, "answer", from, &more)
}

fn failure(reply: &Reply) -> Option<String> {
    reply.text("error-reason")
}

fn call() -> Controller {
    let mut controller = Controller::new();
    assert_eq!(failure(&offer(&mut controller, "a")), None);
    assert_eq!(failure(&answer(&mut controller, "a", "b", "z1")), None);
    controller
}

#[test]
fn a_strangers_tag_neither_joins_a_call_nor_ends_it() {
    let mut controller = call();
    let standing = controller.engine.stream(1, 0).expect("it stands").0.clone();
    let unknown = Some("Unknown tag".to_owned());
    assert_eq!(failure(&offer(&mut controller, "x")), unknown);
    assert_eq!(failure(&answer(&mut controller, "x", "b", "z")), unknown);
    assert_eq!(failure(&answer(&mut controller, "x", "y", "z")), unknown);
    assert_eq!(failure(&answer(&mut controller, "b", "x", "z")), unknown, "B offered nothing");
    assert_eq!(failure(&answer(&mut controller, "a", "a", "z")), unknown);
    let more = [("to-tag", Says::Text("y")), ("sdp", Says::Text(OFFER))];
    assert_eq!(failure(&ask(&mut controller, "offer", "x", &more)), unknown);
    for (from, to) in [("x", None), ("x", Some("b")), ("a", Some("x")), ("x", Some("a"))] {
        let to: Vec<_> = to.map(|tag| ("to-tag", Says::Text(tag))).into_iter().collect();
        let told = ask(&mut controller, "delete", from, &to);
        assert!(told.text("warning").is_some(), "{from} {to:?}");
    }
    assert_eq!(controller.engine.stream(1, 0).expect("it stands").0, &standing);
    assert_eq!(controller.engine.len(), 1);
    // Who was refused has not learned a tag either.
    let wrong = ask(
        &mut controller,
        "answer",
        "a",
        &[("to-tag", Says::Text("c")), ("sdp", Says::Text("v=0"))],
    );
    assert!(failure(&wrong).is_some());
    assert!(ask(&mut controller, "delete", "c", &[]).text("warning").is_some());
    assert!(
        ask(&mut controller, "delete", "b", &[("to-tag", Says::Text("a"))])
            .text("warning")
            .is_none()
    );
    assert!(controller.engine.is_empty() && controller.place.taken.is_empty());
}

#[test]
fn a_dialog_of_the_other_side_that_knows_the_first_tag_may_offer() {
    let mut controller = call();
    let more = [("to-tag", Says::Text("a")), ("sdp", Says::Text(OFFER))];
    assert_eq!(failure(&ask(&mut controller, "offer", "c", &more)), None);
    assert_eq!(failure(&answer(&mut controller, "c", "a", "z")), None);
    assert!(controller.engine.stream(1, 0).is_some());
}

#[test]
fn a_fork_that_ends_leaves_the_others() {
    for (key, name) in [("to-tag", "b"), ("via-branch", "z1")] {
        let mut controller = call();
        assert_eq!(failure(&answer(&mut controller, "a", "c", "z2")), None);
        let told = ask(&mut controller, "delete", "a", &[(key, Says::Text(name))]);
        assert_eq!(told.text("warning"), None);
        assert_eq!(controller.engine.len(), 1, "{key}: c is heard");
        assert!(ask(&mut controller, "delete", "b", &[]).text("warning").is_some(), "b is gone");
        ask(&mut controller, "delete", "a", &[("to-tag", Says::Text("c"))]);
        assert!(controller.engine.is_empty() && controller.place.taken.is_empty());
    }
}

#[test]
fn while_nobody_has_answered_the_offerer_ends_the_call_whoever_it_says_refused() {
    let mut controller = Controller::new();
    offer(&mut controller, "a");
    assert!(ask(&mut controller, "delete", "x", &[]).text("warning").is_some());
    ask(&mut controller, "delete", "a", &[("to-tag", Says::Text("busy"))]);
    assert!(controller.engine.is_empty() && controller.place.taken.is_empty());
}

#[test]
fn a_call_that_nobody_answers_ends_and_gives_its_ports_back() {
    let mut controller = Controller::new();
    offer(&mut controller, "a");
    controller.pass(590, 0);
    assert_eq!(controller.engine.len(), 1);
    controller.pass(20, 0);
    assert!(controller.engine.is_empty() && controller.place.taken.is_empty());
    assert_eq!((controller.engine.octets(), controller.engine.deadline()), (0, None));
    let told = controller.ask(&[("command", Says::Text("statistics"))]);
    let text = String::from_utf8_lossy(&told.0).into_owned();
    assert!(text.contains("15:timeoutsessionsi1e"), "{text}");
}

#[test]
fn a_call_without_media_ends_and_one_with_media_goes_on() {
    let mut controller = call();
    controller.effects.clear();
    controller.pass(1_300, 1);
    assert_eq!(controller.effects, [], "packets came");
    controller.pass(70, 0);
    assert_eq!(controller.effects, [Effect::Remove(1, 0)]);
    assert!(controller.engine.is_empty() && controller.place.taken.is_empty());
}

#[test]
fn a_call_on_hold_may_be_silent_for_longer() {
    let mut controller = call();
    controller.pass(10, 1);
    ask(&mut controller, "offer", "a", &[("sdp", Says::Text(HELD))]);
    answer(&mut controller, "a", "b", "z1");
    let (stream, _) = controller.engine.stream(1, 0).expect("it stands");
    assert!(!stream.passes(Side::A) && !stream.passes(Side::B));
    controller.pass(3_500, 0);
    assert_eq!(controller.engine.len(), 1);
    controller.pass(200, 0);
    assert!(controller.engine.is_empty());
}

#[test]
fn an_offer_of_a_standing_call_that_nobody_answers_is_withdrawn() {
    let mut controller = call();
    let more = format!("{OFFER}m=video 5000 RTP/AVP 31\r\n");
    ask(&mut controller, "offer", "a", &[("sdp", Says::Long(more))]);
    assert_eq!(controller.place.taken.len(), 4);
    controller.pass(620, 1);
    assert_eq!(controller.place.taken.len(), 2, "the ports of the second stream came back");
    assert!(controller.engine.stream(1, 0).is_some());
    assert!(failure(&answer(&mut controller, "a", "b", "z1")).is_some(), "it is too late");
}

#[test]
fn after_a_while_no_fork_comes_in_the_place_of_the_one_that_is_heard() {
    let mut controller = call();
    controller.pass(620, 1);
    assert!(failure(&answer(&mut controller, "a", "x", "z9")).is_some());
    assert!(controller.engine.stream(1, 0).is_some());
}

#[test]
fn what_calls_take_is_counted_and_comes_back() {
    let mut controller = Controller::new();
    offer(&mut controller, "a");
    let offered = controller.engine.octets();
    assert!(offered > 2 * OFFER.len(), "{offered}");
    answer(&mut controller, "a", "b", "z1");
    assert!(controller.engine.octets() > offered);
    ask(&mut controller, "delete", "a", &[]);
    assert_eq!(controller.engine.octets(), 0);
}

#[test]
fn octets_are_refused_before_they_fill_the_memory_and_calls_that_stand_go_on() {
    const OCTETS_MAX: usize = 1_000_000;
    let mut controller = Controller::new();
    controller.engine = Engine::new(controller.now, 7).with_octets_max(OCTETS_MAX);
    offer(&mut controller, "a");
    answer(&mut controller, "a", "b", "z1");
    let long = format!("{OFFER}{}", "a=tool:x\r\n".repeat(3_000));
    let refused = (0..100).find_map(|serial| {
        let name = format!("call {serial}");
        let entries = [
            ("command", Says::Text("offer")),
            ("call-id", Says::Long(name)),
            ("from-tag", Says::Text("a")),
            ("sdp", Says::Long(long.clone())),
        ];
        failure(&controller.ask(&entries))
    });
    assert_eq!(refused.as_deref(), Some("Too many calls"));
    let octets = controller.engine.octets();
    assert!((OCTETS_MAX / 2..OCTETS_MAX).contains(&octets), "{octets}");
    assert_eq!(failure(&offer(&mut controller, "a")), None, "this one stood before");
    controller.pass(610, 0);
    assert_eq!((controller.engine.len(), controller.engine.octets()), (0, 0));
}

#[test]
fn nothing_that_is_shown_has_a_description() {
    let key = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
    let secure = OFFER.replace("RTP/AVP", "RTP/SAVP");
    let secure = format!("{secure}a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{key}\r\n");
    let mut controller = Controller::new();
    ask(&mut controller, "offer", "a", &[("sdp", Says::Long(secure.clone()))]);
    let text = format!("7_1 d3:sdp{}:{secure}e", secure.len());
    let command = Command::read(text.as_bytes()).expect("sound");
    let value = Value::read(&text.as_bytes()[4..]).expect("sound");
    let shown = format!("{:?}{command:?}{value:?}", controller.engine);
    let octets = format!("{:?}", &key.as_bytes()[..8]);
    assert!(shown.len() > 200 && !shown.contains(key), "{shown}");
    assert!(!shown.contains(octets.trim_matches(['[', ']'])), "{shown}");
}
