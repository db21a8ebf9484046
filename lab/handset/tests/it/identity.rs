//! Who has sent a request, as the core is told (RFC 3325, TS 24.229 §5.2.6.3, §5.2.6.4): one of the
//! identities that it has registered with the phone, whatever the phone says.

use crate::pair_world::{World, value};
use crate::world::Phone;
use handset::Handset;
use machine::Duration;
use secagree::Preference;
use sim::LinkSpec;

const SECOND: Duration = Duration::from_secs(1);
const IMPI: &str = "001010000000001@ims.example.org";
const OWN: &str = "<sip:+490000000001@ims.example.org>";
const LISTED: &str =
    "\"Alice\" <sip:alice@ims.example.org>, <tel:+49-1>, <sip:+490000000001@ims.example.org>";
const DEFAULT: &str = "\"Alice\" <sip:alice@ims.example.org>";
const CLAIM: &str = "P-Asserted-Identity: <sip:boss@ims.example.org>\r\n";
/// The realm of phones lets pass what it may: of identities nothing all the same.
const PASSING: &str = "register_required = true\npass_headers = [\"P-Asserted-Identity\"]";

/// A phone that is registered, with that implicit set.
fn registered(associated: Option<&str>) -> World {
    let site = crate::pair_world::SITE.replacen("register_required = true", PASSING, 1);
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let mut world = World::of(&site, 1, phones, LinkSpec::perfect(Duration::from_millis(5)));
    if let Some(associated) = associated {
        world.home.associate(IMPI, associated);
    }
    world.act(0, Handset::register);
    world.run(SECOND * 2);
    world
}

/// The lines of a message that name its sender.
fn named(text: &str) -> Vec<&str> {
    let names = ["P-Asserted-Identity", "P-Preferred-Identity"];
    let is_one = |line: &&str| names.contains(&line.split(':').next().unwrap_or_default());
    text.lines().filter(is_one).collect()
}

/// A request of the phone.
fn request(
    world: &World,
    method: &str,
    uri: &str,
    number: usize,
    carrier: &str,
    more: &str,
) -> String {
    let contact = world.contact(0);
    format!(
        "{method} {uri} SIP/2.0\r\n\
         Via: SIP/2.0/{carrier} {contact};branch=z9hG4bKi{number}\r\nMax-Forwards: 70\r\n\
         From: <sip:boss@ims.example.org>;tag=i{number}\r\nTo: <sip:bob@ims.example.org>\r\n\
         Call-ID: i{number}\r\nCSeq: 1 {method}\r\nContact: <sip:p@{contact}>\r\n\
         Event: presence\r\n{more}Content-Length: 0\r\n\r\n"
    )
}

/// The phone asks, and its request reaches the core.
fn asks(world: &mut World, method: &str, number: usize, carrier: &str, more: &str) -> String {
    let text = request(world, method, "sip:bob@ims.example.org", number, carrier, more);
    let before = world.reached.len();
    world.act(0, |handset, _, out| handset.send(text.as_bytes(), out));
    world.run(SECOND);
    let mut new = world.reached[before..].iter();
    new.find(|it| it.starts_with(method)).expect("it reaches the core").clone()
}

#[test]
pub fn the_core_is_told_an_identity_that_is_registered_whatever_a_phone_says() {
    let mut world = registered(Some(LISTED));
    let cases = [
        ("", DEFAULT),
        ("P-Preferred-Identity: <tel:+491>\r\n", "<tel:+49-1>"),
        ("P-Preferred-Identity: \"Boss\" <sip:+490000000001@ims.example.org>\r\n", OWN),
        ("P-Preferred-Identity: <sip:boss@ims.example.org>\r\n", DEFAULT),
        ("P-Preferred-Identity: <sip:boss@ims.example.org>, <tel:+491>\r\n", "<tel:+49-1>"),
        ("P-Preferred-Identity: nobody\r\n", DEFAULT),
    ];
    let mut number = 0;
    for method in ["MESSAGE", "SUBSCRIBE", "PUBLISH", "OPTIONS", "INVITE"] {
        for (preferred, told) in cases {
            for claim in ["", CLAIM] {
                number += 1;
                let sent = asks(&mut world, method, number, "UDP", &format!("{claim}{preferred}"));
                let told = format!("P-Asserted-Identity: {told}");
                assert_eq!(named(&sent), [told], "{method} {preferred}{claim}");
            }
        }
    }
    world.cells().iter().for_each(crate::metrics::note_cells);
}

#[test]
pub fn an_identity_that_is_barred_is_not_told_and_without_a_list_the_registered_one_is() {
    let preferred = format!("P-Preferred-Identity: {OWN}\r\n");
    for (associated, told) in [
        (Some("<tel:+49-1>, <sip:alice@ims.example.org>"), "<tel:+49-1>"),
        (Some(""), OWN),
        (None, OWN),
    ] {
        let mut world = registered(associated);
        let sent = asks(&mut world, "MESSAGE", 1, "UDP", &preferred);
        assert_eq!(named(&sent), [format!("P-Asserted-Identity: {told}")], "{associated:?}");
    }
}

#[test]
pub fn a_phone_is_the_same_whichever_transport_it_takes_inside_of_its_associations() {
    let mut world = registered(Some(LISTED));
    let preferred = "P-Preferred-Identity: <tel:+491>\r\n";
    for (number, over_tcp) in [true, false, true].into_iter().enumerate() {
        world.act(0, |handset, _, _| handset.speak_tcp(over_tcp));
        let carrier = if over_tcp { "TCP" } else { "UDP" };
        let sent = asks(&mut world, "MESSAGE", number, carrier, preferred);
        assert_eq!(named(&sent), ["P-Asserted-Identity: <tel:+49-1>"], "{carrier}");
    }
}

#[test]
pub fn a_phone_that_has_registered_for_emergencies_asks_for_help_alone() {
    let phones = vec![Phone::new(1, None, Preference::usual())];
    let spec = LinkSpec::perfect(Duration::from_millis(5));
    let mut world = World::of(crate::pair_world::SITE, 1, phones, spec);
    world.act(0, |handset, now, out| {
        handset.call_for_help(true);
        handset.register(now, out);
    });
    world.run(SECOND * 2);
    assert_eq!(world.bindings(), 1);
    for (number, method) in ["MESSAGE", "INVITE"].into_iter().enumerate() {
        let text = request(&world, method, "sip:bob@ims.example.org", number, "UDP", "");
        let before = world.reached.len();
        world.act(0, |handset, _, out| handset.send(text.as_bytes(), out));
        world.run(SECOND);
        let new = &world.reached[before..];
        assert!(!new.iter().any(|it| it.starts_with(method)), "{new:?}");
    }
    let text = request(&world, "INVITE", "urn:service:sos", 2, "UDP", "");
    world.act(0, |handset, _, out| handset.send(text.as_bytes(), out));
    world.run(SECOND);
    assert!(world.reached.iter().any(|it| it.starts_with("INVITE urn:service:sos")));
}

#[test]
pub fn within_a_dialog_a_phone_says_nothing_of_itself_and_its_answers_say_who_was_called() {
    let mut world = registered(Some(LISTED));
    world.call(0);
    world.run(SECOND * 2);
    assert!(world.is_in_call(0));
    let info = world.request(0, "INFO", 2, "");
    let said = format!("{CLAIM}P-Preferred-Identity: <tel:+491>\r\nContent-Length");
    let info = info.replacen("Content-Length", &said, 1);
    world.act(0, |handset, _, out| handset.send(info.as_bytes(), out));
    world.run(SECOND);
    let is_info = |it: &&String| it.starts_with("INFO ");
    let sent = world.reached.iter().find(is_info).expect("it reaches the core");
    assert_eq!(named(sent), [] as [&str; 0], "{sent}");

    let called = "P-Called-Party-ID: \"A\" <tel:+49-1>;x=1\r\n";
    for (number, more) in [(1, called), (2, "P-Called-Party-ID: nobody\r\n"), (3, "")] {
        world.core_asks_saying(0, number, more);
        world.run(SECOND);
        let name = format!("o{number}p0");
        let is_it = |it: &&String| it.starts_with("SIP/2.0 200") && value(it, "Call-ID") == name;
        let answer = world.reached.iter().find(is_it).expect("it is answered");
        let told: &[&str] = if number == 1 { &["P-Asserted-Identity: <tel:+49-1>"] } else { &[] };
        assert_eq!(named(answer), told, "{more}");
    }
}
