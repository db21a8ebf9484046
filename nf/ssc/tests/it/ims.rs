//! A realm with IPsec in the controller: what it does with phones that have no agreement.

use crate::world::*;

fn site() -> String {
    let access = "side = \"access\"\nregister_required = true\n[realm.ipsec]\n[[realm]]\n";
    let site = SITE.replacen("[[realm]]\nname = \"core\"", &format!("{access}name = \"core\""), 1);
    format!("{site}\n[registrar]\nenabled = true\n")
}

fn register(cseq: u32) -> String {
    format!(
        "REGISTER sip:example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP {ALICE};rport;branch=z9hG4bKreg{cseq}\r\nMax-Forwards: 70\r\n\
         From: <sip:alice@example.com>;tag=r\r\nTo: <sip:alice@example.com>\r\n\
         Call-ID: reg-1\r\nCSeq: {cseq} REGISTER\r\nContact: <sip:alice@{ALICE}>\r\n\
         Expires: 600\r\nRequire: sec-agree\r\nProxy-Require: sec-agree\r\n\
         Security-Client: ipsec-3gpp;alg=hmac-sha-1-96;ealg=aes-cbc;spi-c=1000;spi-s=1001;\
         port-c=2000;port-s=2001\r\nContent-Length: 0\r\n\r\n"
    )
}

#[test]
fn a_registration_that_the_core_accepts_in_the_clear_binds_nobody() {
    let mut world = World::new(&site());
    for cseq in 1..3 {
        world.receive(ALICE, ACCESS, &register(cseq));
        let forwarded = world.expect(BOB, "REGISTER");
        let more = format!("Contact: {};expires=1800\r\n", header(&forwarded, "Contact"));
        world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &more, ""));
        let refused = world.expect(ALICE, "SIP/2.0 494");
        assert!(header(&refused, "Security-Server").starts_with("ipsec-3gpp"), "{refused}");
        world.expect_nothing();
    }
    assert!(world.ask("registrations", &[]).as_array().unwrap().is_empty());
}

#[test]
fn the_trail_of_a_registration_is_told_why_there_is_no_agreement() {
    let capture = "name = \"ssc1\"\ncapture = \"udp:127.0.0.1:9060\"";
    let mut world = World::new(&site().replacen("name = \"ssc1\"", capture, 1));
    world.receive(ALICE, ACCESS, &register(1));
    let forwarded = world.expect(BOB, "REGISTER");
    world.receive(BOB, CORE, &respond(&forwarded, "403 Forbidden", "b", "", ""));
    world.expect(ALICE, "SIP/2.0 403");
    world.pass(machine::Duration::from_secs(1));
    let captured = String::from_utf8_lossy(&world.raw_to("127.0.0.1:9060")).into_owned();
    let told = "{\"event\":\"AgreementFailed\",\"impi\":\"alice@example.com\",\
        \"text\":\"the core answered 403 instead of a challenge\"}";
    assert!(captured.contains(told), "{captured}");
}

#[test]
fn an_emergency_call_of_a_phone_that_is_not_registered_is_answered_and_ended_in_the_clear() {
    let mut world = World::new(&site());
    let mut alice = Caller::new("sos");
    let sos = |text: String| {
        let (_, rest) = text.split_once(" SIP/2.0").unwrap();
        format!("INVITE urn:service:sos SIP/2.0{rest}")
    };
    let other = alice.request("INVITE", "", "");
    world.receive(ALICE, ACCESS, &other.replace("Call-ID: ", "Call-ID: other"));
    world.expect(ALICE, "SIP/2.0 403");
    let invite = sos(other);
    world.receive(ALICE, ACCESS, &invite);
    world.expect(ALICE, "SIP/2.0 100");
    let forwarded = world.expect(BOB, "INVITE urn:service:sos");
    let contact = format!("Contact: <sip:b@{BOB}>\r\n");
    world.receive(BOB, CORE, &respond(&forwarded, "200 OK", "b", &contact, ""));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    alice.learn(&ok);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    world.receive(BOB, CORE, &from_bob(&forwarded, "b", "BYE", 7, ""));
    let bye = world.expect(ALICE, "BYE");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    world.expect(BOB, "SIP/2.0 200");
}

/// What a P-CSCF alone says, as a phone would.
const CLAIMS: &str = "P-Visited-Network-ID: elsewhere.example\r\n\
    P-Charging-Vector: icid-value=stolen;orig-ioi=elsewhere.example\r\n";

/// The lines of a message with that name.
fn lines<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let is_it = |line: &&str| line.split(':').next().is_some_and(|it| it == name);
    text.lines().filter(is_it).collect()
}

/// The icid of a message, whose vector is the only one, and ours.
fn icid(text: &str) -> String {
    let all = lines(text, "P-Charging-Vector");
    let [vector] = all.as_slice() else { panic!("one vector: {text}") };
    let value = vector.strip_prefix("P-Charging-Vector: icid-value=").unwrap();
    let (icid, rest) = value.split_once(';').unwrap();
    assert_eq!(rest, "icid-generated-at=127.0.0.1;orig-ioi=visited.example");
    assert!(icid.len() == 32 && icid.bytes().all(|octet| octet.is_ascii_hexdigit()), "{icid}");
    icid.to_owned()
}

#[test]
fn the_core_is_told_of_the_visited_network_and_of_charging_by_nobody_but_the_controller() {
    let keys = "[realm.ipsec]\nvisited_network = \"Visited network 1\"\n\
        charging = \"visited.example\"\n";
    let passes = "register_required = true\npass_headers = [\"P-Charging-Vector\", \
        \"P-Visited-Network-ID\"]\n";
    let passing = |site: &str| site.replace("register_required = true\n", passes);
    for (at, site) in [site(), passing(&site())].iter().enumerate() {
        let mut world = World::new(&site.replace("[realm.ipsec]\n", keys));
        let claimed = |text: String| text.replace("Max-Forwards", &format!("{CLAIMS}Max-Forwards"));
        world.receive(ALICE, ACCESS, &claimed(register(1)));
        let first = world.expect(BOB, "REGISTER");
        let visited = ["P-Visited-Network-ID: \"Visited network 1\""];
        assert_eq!(lines(&first, "P-Visited-Network-ID"), visited);
        world.receive(BOB, CORE, &respond(&first, "403 Forbidden", "b", CLAIMS, ""));
        let refused = world.expect(ALICE, "SIP/2.0 403");
        assert!(at == 1 || !refused.contains("elsewhere"), "{refused}");
        world.receive(ALICE, ACCESS, &claimed(register(2)));
        let second = world.expect(BOB, "REGISTER");

        let sos = Caller::new("sos").request("INVITE", "", "");
        let (_, rest) = sos.split_once(" SIP/2.0").unwrap();
        let sos = claimed(format!("INVITE urn:service:sos SIP/2.0{rest}"));
        world.receive(ALICE, ACCESS, &sos);
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        assert!(lines(&invite, "P-Visited-Network-ID").is_empty(), "{invite}");
        let names = [icid(&first), icid(&second), icid(&invite)];
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    }
    let mut world = World::new(&site());
    world.receive(ALICE, ACCESS, &register(1));
    let register = world.expect(BOB, "REGISTER");
    assert!(!register.contains("P-Visited") && !register.contains("P-Charging"), "{register}");
}

/// A realm whose phones are charged, and may speak in the clear.
fn charged() -> String {
    let keys = "side = \"access\"\n[realm.ipsec]\nrequired = false\ncharging = \"visited.example\"";
    let site = SITE.replacen(
        "[[realm]]\nname = \"core\"",
        &format!("{keys}\n[[realm]]\nname = \"core\""),
        1,
    );
    format!("{site}\n[registrar]\nenabled = true\n")
}

const OF_CORE: &str = "P-Charging-Vector: icid-value=abc;icid-generated-at=10.0.1.1;\
    orig-ioi=home.example\r\n";
const ANSWERED: &str = "P-Charging-Vector: icid-value=abc;icid-generated-at=10.0.1.1;\
    orig-ioi=home.example;term-ioi=visited.example";
const WITHIN: &str = "P-Charging-Vector: icid-value=abc;icid-generated-at=10.0.1.1";

#[test]
fn what_a_phone_answers_is_charged_as_it_was_asked_and_its_requests_within_the_dialog_too() {
    let mut world = World::new(&charged());
    let vector = |text: &str| lines(text, "P-Charging-Vector").join("\n");
    let mut bob = Caller::new("core");
    (bob.at, bob.listener) = (BOB, CORE);
    world.receive(BOB, CORE, &bob.request("INVITE", OF_CORE, ""));
    world.expect(BOB, "SIP/2.0 100");
    let invite = world.expect(ALICE, "INVITE");
    assert_eq!(vector(&invite), "", "the phone is told nothing");
    let more = format!("{CLAIMS}Contact: <sip:alice@{ALICE}>\r\n");
    for status in ["180 Ringing", "200 OK"] {
        world.receive(ALICE, ACCESS, &respond(&invite, status, "a1", &more, ""));
        let answer = world.expect(BOB, &format!("SIP/2.0 {status}"));
        assert_eq!(vector(&answer), ANSWERED, "{answer}");
        if status.starts_with('2') {
            bob.learn(&answer);
        }
    }
    world.receive(BOB, CORE, &bob.request("ACK", "", ""));
    world.expect(ALICE, "ACK");

    let info = from_bob(&invite, "a1", "INFO", 7, CLAIMS).replace(BOB, ALICE);
    world.receive(ALICE, ACCESS, &info);
    let sent = world.expect(BOB, "INFO");
    assert_eq!(vector(&sent), WITHIN, "{sent}");
    world.receive(BOB, CORE, &respond(&sent, "200 OK", "", OF_CORE, ""));
    assert_eq!(vector(&world.expect(ALICE, "SIP/2.0 200")), "");

    bob.cseq = 2;
    for (asked, answered) in [(OF_CORE, ANSWERED), ("", "")] {
        world.receive(BOB, CORE, &bob.request("INFO", asked, ""));
        let asked = world.expect(ALICE, "INFO");
        assert_eq!(vector(&asked), "");
        world.receive(ALICE, ACCESS, &respond(&asked, "200 OK", "", "", ""));
        assert_eq!(vector(&world.expect(BOB, "SIP/2.0 200")), answered);
        bob.cseq += 1;
    }
    let mut alone = Caller::new("alone");
    (alone.at, alone.listener) = (BOB, CORE);
    world.receive(BOB, CORE, &alone.request("MESSAGE", OF_CORE, ""));
    let message = world.expect(ALICE, "MESSAGE");
    world.receive(ALICE, ACCESS, &respond(&message, "404 Nobody", "a2", CLAIMS, ""));
    let answer = world.expect(BOB, "SIP/2.0 404");
    assert_eq!(vector(&answer), ANSWERED);
    // The same answer for a copy.
    world.receive(BOB, CORE, &alone.request("MESSAGE", OF_CORE, ""));
    assert_eq!(world.expect(BOB, "SIP/2.0 404"), answer);
}

#[test]
fn requests_within_a_dialog_that_a_phone_has_begun_have_its_name() {
    let mut world = World::new(&charged());
    let mut alice = Caller::new("phone");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", CLAIMS, ""));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let named = icid(&invite);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, ""));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    let ack = world.expect(BOB, "ACK");
    assert!(lines(&ack, "P-Charging-Vector").is_empty(), "RFC 7315 §5.7: none in an ACK");
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("INFO", CLAIMS, ""));
    let info = world.expect(BOB, "INFO");
    let vector = format!("P-Charging-Vector: icid-value={named};icid-generated-at=127.0.0.1");
    assert_eq!(lines(&info, "P-Charging-Vector"), [vector]);
    // The core's own within that dialog lead to nothing but what answers them.
    world.receive(BOB, CORE, &from_bob(&invite, "b1", "BYE", 7, OF_CORE));
    let bye = world.expect(ALICE, "BYE");
    assert!(lines(&bye, "P-Charging-Vector").is_empty());
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", "", ""));
    assert_eq!(lines(&world.expect(BOB, "SIP/2.0 200"), "P-Charging-Vector"), [ANSWERED]);
}

#[test]
fn a_phone_without_an_agreement_tells_the_core_nothing_of_who_it_is() {
    let passes = "register_required = true\npass_headers = [\"P-Asserted-Identity\"]\n";
    let mut world = World::new(&site().replace("register_required = true\n", passes));
    let said = "P-Asserted-Identity: <sip:boss@example.org>\r\n\
        P-Preferred-Identity: <sip:boss@example.org>\r\n";
    let names = ["P-Asserted-Identity", "P-Preferred-Identity"];
    let mut alice = Caller::new("sos");
    let sos = alice.request("INVITE", said, "");
    let (_, rest) = sos.split_once(" SIP/2.0").unwrap();
    world.receive(ALICE, ACCESS, &format!("INVITE urn:service:sos SIP/2.0{rest}"));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE urn:service:sos");
    assert!(names.iter().all(|name| lines(&invite, name).is_empty()), "{invite}");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b", BOB_CONTACT, ""));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", said, ""));
    let ack = world.expect(BOB, "ACK");
    assert!(names.iter().all(|name| lines(&ack, name).is_empty()), "{ack}");
    world.receive(BOB, CORE, &from_bob(&invite, "b", "BYE", 7, ""));
    let bye = world.expect(ALICE, "BYE");
    world.receive(ALICE, ACCESS, &respond(&bye, "200 OK", "", said, ""));
    let answer = world.expect(BOB, "SIP/2.0 200");
    assert!(names.iter().all(|name| lines(&answer, name).is_empty()), "{answer}");
}
