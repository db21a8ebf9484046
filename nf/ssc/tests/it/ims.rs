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
