//! TLS in the controller: `sips:`, proven names, shared connections, keep-alives.

use crate::world::*;
use runtime::{ConnId, Flow, Frame, Function, In, PortId, Transport};

const TLS_SITE: &str = r#"
name = "ssc1"
[[realm]]
name = "access"
listen = ["udp:127.0.0.1:5060", "tls:127.0.0.1:5061"]
trusted_peers = ["Trunk.example.org"]
tls = { certificate = "c", key = "k", roots = "r", verify_clients = true }
[[realm]]
name = "core"
side = "core"
listen = ["udp:127.0.0.1:5070", "tls:127.0.0.1:5071"]
trusted = true
tls = { certificate = "c", key = "k", roots = "r", verify_clients = true }
[[next_hop]]
name = "switch"
realm = "core"
targets = ["udp:10.0.1.1:5080", "tls:10.0.1.2:5061"]
tls_name = "core.example.org"
probe_interval_s = 0
[[route]]
from = "access"
to = ["switch"]
[[route]]
from = "core"
to = ["switch"]
"#;

const SECURE: &str = "10.0.1.2:5061";
const CORE_TLS: &str = "127.0.0.1:5071";

fn flow(world: &World, local: &str, remote: &str, conn: u32) -> Flow {
    let port = world.port(local, Transport::Tls);
    let (local, remote) = (local.parse().unwrap(), remote.parse().unwrap());
    Flow { conn: ConnId(conn), ..Flow::to(port, Transport::Tls, local, remote) }
}

fn sips(call_id: &str) -> String {
    let mut caller = Caller::new(call_id);
    caller.target = String::from("sips:bob@example.org");
    let text = caller.request("INVITE", "", SDP);
    text.replace("SIP/2.0/UDP", "SIP/2.0/TLS").replace("<sip:alice@10", "<sips:alice@10")
}

#[test]
fn sips_goes_to_tls_targets_only_and_shows_a_sips_contact() {
    let mut world = World::new(TLS_SITE);
    let from = flow(&world, "127.0.0.1:5061", ALICE, 7);
    world.receive_on(from, &sips("s1"));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(SECURE, "INVITE sips:bob@example.org SIP/2.0");
    assert_eq!(header(&invite, "Contact"), "<sips:alice@127.0.0.1:5071>");
    let contact = "Contact: <sips:bob@10.0.1.2:5061>\r\n";
    let there = flow(&world, "127.0.0.1:5071", SECURE, 9);
    world.receive_on(there, &respond(&invite, "200 OK", "b", contact, SDP));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert_eq!(header(&ok, "Contact"), "<sips:bob@127.0.0.1:5061>");
}

#[test]
fn sips_over_udp_is_forbidden_and_sips_without_a_tls_target_is_unavailable() {
    let mut world = World::new(TLS_SITE);
    world.receive(ALICE, ACCESS, &sips("s2"));
    world.expect(ALICE, "SIP/2.0 403");
    let plain = TLS_SITE.replace(", \"tls:10.0.1.2:5061\"", "");
    let mut world = World::new(&plain);
    let from = flow(&world, "127.0.0.1:5061", ALICE, 7);
    world.receive_on(from, &sips("s3"));
    let refused = world.expect(ALICE, "SIP/2.0 480");
    assert!(header(&refused, "Warning").starts_with("380 "), "{refused}");
    world.expect_nothing();
}

#[test]
fn sip_fails_over_between_transports_and_sips_never_does() {
    let mut world = World::new(TLS_SITE);
    let mut alice = Caller::new("s4");
    alice.target = String::from("sip:bob@example.org");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.receive(BOB, CORE, &respond(&invite, "503 Busy", "b", "", ""));
    world.expect(SECURE, "INVITE");
    world.expect(BOB, "ACK");
}

fn asserted(world: &mut World, conn: u32) -> bool {
    let from = flow(world, "127.0.0.1:5061", ALICE, conn);
    let alice = Caller::new(&format!("p{conn}"));
    let identity = "P-Asserted-Identity: <sip:boss@example.com>\r\n";
    world.receive_on(from, &alice.request("INVITE", identity, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(BOB, "INVITE").contains("P-Asserted-Identity")
}

#[test]
fn who_proves_a_name_that_the_realm_trusts_is_believed_until_the_connection_ends() {
    let mut world = World::new(TLS_SITE);
    for (conn, name) in [(1, "trunk.example.org"), (2, "stranger.example.org")] {
        let flow = flow(&world, "127.0.0.1:5061", ALICE, conn);
        world.step(In::Proved { flow, names: &[name.to_owned()] });
    }
    assert!(asserted(&mut world, 1));
    assert!(!asserted(&mut world, 2), "another name");
    assert!(!asserted(&mut world, 3), "no name");
    let gone = flow(&world, "127.0.0.1:5061", ALICE, 1);
    world.step(In::Down { flow: gone, why: "closed" });
    world.sent.clear();
    let from = flow(&world, "127.0.0.1:5061", ALICE, 1);
    let identity = "P-Asserted-Identity: <sip:boss@example.com>\r\n";
    world.receive_on(from, &Caller::new("p9").request("INVITE", identity, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    assert!(!world.expect(BOB, "INVITE").contains("P-Asserted-Identity"), "the name went with it");
}

#[test]
fn a_believed_name_that_is_taken_out_of_the_configuration_is_believed_no_more() {
    let mut world = World::new(TLS_SITE);
    let known = flow(&world, "127.0.0.1:5061", ALICE, 1);
    world.step(In::Proved { flow: known, names: &["trunk.example.org".to_owned()] });
    world.configure(&TLS_SITE.replace("Trunk.example.org", "other.example.org"));
    assert!(!asserted(&mut world, 1));
}

#[test]
fn the_runtime_is_told_which_name_a_next_hop_must_prove() {
    let mut world = World::new(TLS_SITE);
    world.receive(ALICE, ACCESS, &Caller::new("n1").request("INVITE", "", SDP));
    assert_eq!(world.names, [(SECURE.parse().unwrap(), "core.example.org".to_owned())]);
}

fn offer(world: &mut World, conn: u32, name: &str) {
    let there = flow(world, "127.0.0.1:5071", "10.0.1.2:40000", conn);
    world.step(In::Proved { flow: there, names: &[name.to_owned()] });
    let text = Caller::new(&format!("o{conn}")).request("OPTIONS", "", "");
    let via = "SIP/2.0/TLS 10.0.1.2:5061;alias;branch=";
    let text = text.replace(&format!("SIP/2.0/UDP {ALICE};rport;branch="), via);
    world.receive_on(there, &text);
}

#[test]
fn a_connection_serves_both_ways_only_for_the_next_hop_whose_name_it_proved() {
    let mut world = World::new(TLS_SITE);
    offer(&mut world, 4, "stranger.example.org");
    assert!(world.aliases.is_empty(), "a name that the next hop does not have");
    offer(&mut world, 5, "core.example.org");
    let there = flow(&world, "127.0.0.1:5071", "10.0.1.2:40000", 5);
    assert_eq!(world.aliases, [(there, SECURE.parse().unwrap())]);
}

#[test]
fn our_via_offers_the_same_only_where_both_sides_show_a_certificate() {
    let mut world = World::new(TLS_SITE);
    let from = flow(&world, "127.0.0.1:5061", ALICE, 7);
    world.receive_on(from, &sips("v1"));
    world.expect(ALICE, "SIP/2.0 100");
    assert!(header(&world.expect(SECURE, "INVITE"), "Via").contains(";alias;"));
    let mut world = World::new(
        &TLS_SITE
            .replace(", verify_clients = true", "")
            .replace("trusted_peers = [\"Trunk.example.org\"]", ""),
    );
    world.receive_on(from, &sips("v2"));
    world.expect(ALICE, "SIP/2.0 100");
    assert!(!header(&world.expect(SECURE, "INVITE"), "Via").contains("alias"));
}

#[test]
fn a_ping_wants_its_pong_and_a_pong_wants_nothing() {
    let frame = |bytes: &[u8]| ssc::Controller::frame(PortId(0), bytes);
    assert_eq!(frame(b"\r\n\r\n"), Frame::Answer(4, b"\r\n"));
    assert_eq!(frame(b"\r\nINVITE"), Frame::Skip(2));
}

#[test]
fn a_target_found_by_its_domain_is_reached_over_the_connection_that_proved_the_domain() {
    use runtime::{Answer, Query};
    let site = TLS_SITE
        .replace("\"udp:10.0.1.1:5080\", \"tls:10.0.1.2:5061\"", "\"sips:core.example.org\"")
        .replace("tls_name = \"core.example.org\"\n", "");
    let mut world = World::new(&site);
    world.pass(machine::Duration::from_millis(1));
    for _ in 0..8 {
        let Some((query, question)) = world.queries.pop() else { break };
        let answer = match question {
            Query::Naptr(_) => Answer::Naptr(Vec::new()),
            Query::Srv(_) => Answer::Srv(vec![(1, 0, 5061, "host.example.org".to_owned())]),
            Query::Host(_) => Answer::Host(vec!["10.0.1.2".parse().unwrap()]),
        };
        world.step(In::Resolved { query, answer });
    }
    offer(&mut world, 4, "host.example.org");
    assert!(world.aliases.is_empty(), "the name that counts is the domain's (RFC 5922 §7.1)");
    offer(&mut world, 5, "core.example.org");
    let there = flow(&world, "127.0.0.1:5071", "10.0.1.2:40000", 5);
    assert_eq!(world.aliases, [(there, SECURE.parse().unwrap())]);
}

#[test]
fn a_request_on_a_connection_that_ends_has_failed_at_once() {
    let mut world = World::new(TLS_SITE);
    let from = flow(&world, "127.0.0.1:5061", ALICE, 7);
    world.receive_on(from, &sips("lost"));
    world.expect(ALICE, "SIP/2.0 100");
    world.expect(SECURE, "INVITE");
    // It was sent to the address; the connection got its number, and an address of ours, later.
    let ended =
        Flow { local: "127.0.0.1:45678".parse().unwrap(), ..flow(&world, CORE_TLS, SECURE, 9) };
    world.step(In::Down { flow: ended, why: "closed" });
    world.expect(ALICE, "SIP/2.0 503");
}

#[test]
fn the_end_of_a_connection_takes_no_proof_of_another_that_has_its_number_now() {
    let mut world = World::new(TLS_SITE);
    let own = flow(&world, "127.0.0.1:5061", ALICE, 1);
    world.step(In::Proved { flow: own, names: &["trunk.example.org".to_owned()] });
    let stale = flow(&world, "127.0.0.1:5061", "10.0.0.66:700", 1);
    world.step(In::Down { flow: stale, why: "the connection is gone" });
    assert!(asserted(&mut world, 1));
}
