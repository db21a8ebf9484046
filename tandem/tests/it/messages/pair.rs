//! Two gateways as a pair, a process each: whichever of them is killed, terminals go on at the
//! other one, and what was answered is there; before a service centre, that one has each message
//! once.

use super::gateway::{CENTRE, GATEWAY, Network, is_active, signalling, with_key};
use super::{ALICE, BOB, Core, Site, port};
use serde_json::{Value, json};

fn site(name: &str, shards: u16, [gateway, core]: [u16; 2], [own, other]: [u16; 2]) -> Site {
    let text = format!(
        r#"
[site]
name = "{name}"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[ipsmgw]]
name = "sms1"
shards = {shards}
number = "447700000099"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:{gateway}"]
next_hop = [{{ name = "scscf", targets = ["udp:127.0.0.1:{core}"], probe_interval_s = 1 }}]
[ipsmgw.centre]
numbers = ["4477"]
country_code = "44"
retries_s = [3600]
[ipsmgw.replica]
node = "{name}"
listen = "127.0.0.1:{own}"
peer = "127.0.0.1:{other}"
"#
    );
    Site::of(tempfile::tempdir().unwrap(), &text, [gateway, core])
}

fn is(site: &Site, role: &str) {
    site.until(&["replica"], |rows| rows.first().is_some_and(|it| it["role"] == role));
    let word = if role == "active" { "follows" } else { "whole" };
    site.until(&["store"], |rows| {
        rows.first().is_some_and(|it| (&it["role"], &it["standby"]) == (&json!(role), &json!(word)))
    });
}

/// Which serves, once the other one has everything.
fn serving(sites: &[Site; 2]) -> usize {
    let row = |site: &Site| site.rows(&["replica"]).first().cloned().unwrap_or_default();
    let is_active = |site: &Site| row(site)["role"] == "active";
    sites[0].until(&["replica"], |_| sites.iter().any(is_active));
    let at = usize::from(is_active(&sites[1]));
    is(&sites[at], "active");
    is(&sites[1 - at], "standby");
    at
}

fn goes_on(shards: u16) {
    let (gateways, links, own) = ([port(), port()], [port(), port()], port());
    let both = format!("{},127.0.0.1:{}", gateways[0], gateways[1]);
    let mut core = Core::start_at("udp", own, &both, "447700000099");
    let mut sites = [
        site("a", shards, [gateways[0], own], links),
        site("b", shards, [gateways[1], own], [links[1], links[0]]),
    ];
    let first = serving(&sites);
    for number in [ALICE, BOB] {
        assert_eq!(core.does(&format!("register {number} sms 3600"))["status"], 200);
    }
    core.does(&format!("mode {BOB} absent"));
    for n in 1..=3 {
        core.submits(&format!("{ALICE} {BOB} {n} plain Message {n}"));
    }
    // As by `kill -9`.
    sites[first].running = None;
    let other = 1 - first;
    let is_active = |rows: &[Value]| rows.first().is_some_and(|it| it["role"] == "active");
    sites[other].until(&["replica"], is_active);
    assert_eq!(sites[other].rows(&["sms", "registrations"]).len(), 2);
    assert_eq!(sites[other].until(&["sms", "pending"], |rows| rows.len() == 3).len(), 3);
    core.does(&format!("mode {BOB} ok"));
    assert!(sites[other].ctl(&["sms", "retry", BOB]).status.success());
    for n in 1..=3 {
        let message = core.does(&format!("take {BOB}"));
        assert_eq!(message["text"], format!("Message {n}"), "in their order");
    }
    core.submits(&format!("{BOB} {ALICE} 9 plain And back"));
    assert_eq!(core.does(&format!("take {ALICE}"))["text"], "And back");
    sites[other].until(&["sms", "pending"], <[Value]>::is_empty);
    // It comes back, has everything, and serves again in order.
    sites[first].run();
    is(&sites[first], "standby");
    let refused = sites[first].ctl(&["sms", "send", BOB, "Hi"]);
    assert!(!refused.status.success(), "it stands by");
    let changed = sites[other].ctl(&["switchover", "sms1"]);
    assert!(changed.status.success(), "{}", String::from_utf8_lossy(&changed.stderr));
    is(&sites[first], "active");
    is(&sites[other], "standby");
    core.does(&format!("mode {BOB} absent"));
    core.submits(&format!("{ALICE} {BOB} 4 plain Message 4"));
    // Both die, and the one that served last is believed, whichever begins first.
    sites.iter_mut().for_each(|it| it.running = None);
    sites[other].launch();
    sites[first].launch();
    let serves = serving(&sites);
    assert_eq!(serves, first);
    assert_eq!(sites[serves].rows(&["sms", "registrations"]).len(), 2);
    core.does(&format!("mode {BOB} ok"));
    assert!(sites[serves].ctl(&["sms", "retry", BOB]).status.success());
    assert_eq!(core.does(&format!("take {BOB}"))["text"], "Message 4");
    sites[serves].until(&["sms", "pending"], <[Value]>::is_empty);
}

#[test]
fn terminals_go_on_at_the_other_node_when_one_is_killed() {
    goes_on(1);
}

#[test]
fn terminals_go_on_at_the_other_node_of_a_pair_with_several_shards() {
    goes_on(3);
}

/// A node of a pair before the service centres of an SS7 network.
fn before_centres(name: &str, listener: u16, [gateway, core]: [u16; 2], replica: [u16; 2]) -> Site {
    let [own, other] = replica;
    let text = format!(
        r#"
[site]
name = "{name}"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[ipsmgw]]
name = "sms1"
mode = "gateway"
number = "{GATEWAY}"
domain = "ims.example.org"
listen = ["udp:127.0.0.1:{gateway}"]
next_hop = [{{ name = "scscf", targets = ["udp:127.0.0.1:{core}"], probe_interval_s = 1 }}]
[[ipsmgw.link]]
name = "stp"
address = "tcp:127.0.0.1:{listener}"
application = "ipsmgw"
key_file = "link.key"
[[ipsmgw.network]]
name = "own"
numbers = ["4477009"]
hlr_translation_type = 9
centres = ["4478"]
[ipsmgw.signalling]
allowed = ["4478"]
correlation_prefix = "23415"
[ipsmgw.replica]
node = "{name}"
listen = "127.0.0.1:{own}"
peer = "127.0.0.1:{other}"
"#
    );
    let folder = tempfile::tempdir().unwrap();
    with_key(&folder);
    Site::of(folder, &text, [gateway, core])
}

#[test]
fn a_service_centre_has_once_what_a_terminal_says_again_after_a_takeover() {
    let (gateways, links, own, listener) = ([port(), port()], [port(), port()], port(), port());
    let folder = tempfile::tempdir().unwrap();
    with_key(&folder);
    let head = "[site]\nname = \"ss7\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n";
    let ss7 = Site::launched(folder, &(head.to_owned() + &signalling(listener, port(), "")));
    is_active(&ss7);
    let mut network = Network::start(&ss7);
    let both = format!("{},127.0.0.1:{}", gateways[0], gateways[1]);
    let mut core = Core::start_at("udp", own, &both, CENTRE);
    let mut sites = [
        before_centres("a", listener, [gateways[0], own], links),
        before_centres("b", listener, [gateways[1], own], [links[1], links[0]]),
    ];
    let stands = |site: &Site| {
        site.until(&["sms", "links"], |rows| rows.iter().any(|it| it["state"] == "standing"));
    };
    let first = serving(&sites);
    stands(&sites[first]);
    assert_eq!(core.does(&format!("register {ALICE} sms 3600"))["status"], 200);
    network.told(&["anyTimeModification"]);
    core.submits(&format!("{ALICE} {BOB} 7 plain Reported"));
    let given = |text: &str| json!({"operation": "mo-ForwardSM", "msisdn": ALICE, "text": text});
    assert_eq!(network.does("took smsc"), given("Reported"));
    // The centre has another one, and does not get to say so.
    network.does("smsc silent");
    assert_eq!(core.does(&format!("begin {ALICE} {BOB} 8 Unreported"))["status"], 202);
    assert_eq!(network.does("took smsc"), given("Unreported"));
    network.does("smsc ok");
    sites[first].running = None;
    let other = &sites[1 - first];
    other.until(&["replica"], |rows| rows.first().is_some_and(|it| it["role"] == "active"));
    stands(other);
    // Both are said again, and acknowledged: of the first one this node knows that, of the other
    // one the centre.
    core.submits(&format!("{ALICE} {BOB} 7 plain Reported"));
    core.submits(&format!("{ALICE} {BOB} 8 plain Unreported"));
    core.submits(&format!("{ALICE} {BOB} 9 plain Another"));
    let mut again = given("Unreported");
    again["rejects"] = json!("duplicates");
    assert_eq!(network.does("took smsc"), again);
    assert_eq!(network.does("took smsc"), given("Another"));
}
