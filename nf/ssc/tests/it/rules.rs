//! Rules at the borders of the realms, and session timers.

use crate::world::*;
use machine::Duration;

const RULES: &str = r#"
[[rule]]
realm = "core"
direction = "out"
message = "request"
method = ["INVITE"]
[[rule.when]]
header = "User-Agent"
matches = "^Bad(.*)$"
[[rule.do]]
set = "User-Agent"
value = "Good$1"
[[rule.do]]
add = "X-Site"
value = "tandem"
[[rule]]
realm = "access"
direction = "in"
message = "request"
[[rule.do]]
remove = "Subject"
"#;

#[test]
fn rules_change_what_leaves_and_what_comes_in() {
    let mut world = World::new(&format!("{SITE}{RULES}"));
    let more = "User-Agent: BadPhone/1\r\nSubject: none of your business\r\n";
    world.receive(ALICE, ACCESS, &Caller::new("u1").request("INVITE", more, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert_eq!(header(&invite, "User-Agent"), "GoodPhone/1");
    assert_eq!(header(&invite, "X-Site"), "tandem");
    assert!(!invite.contains("Subject"));
    assert!(invite.ends_with(SDP));
    // What is sent again is what was sent.
    world.pass(Duration::from_millis(600));
    assert_eq!(world.expect(BOB, "INVITE"), invite);
}

const ADDS: &str = r#"
[[rule]]
direction = "out"
[[rule.do]]
add = "X-Site"
value = "tandem"
"#;

#[test]
fn rules_apply_once_to_what_is_sent_again() {
    let mut world = World::new(&format!("{SITE}{ADDS}"));
    let mut alice = Caller::new("again");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    world.pass(Duration::from_millis(600));
    assert_eq!(world.expect(BOB, "INVITE"), invite);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    alice.cseq = 2;
    let info = alice.request("INFO", "", "");
    world.receive(ALICE, ACCESS, &info);
    let theirs = world.expect(BOB, "INFO");
    world.receive(BOB, CORE, &respond(&theirs, "200 OK", "", "", ""));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    assert_eq!(ok.matches("X-Site: tandem\r\n").count(), 1);
    world.receive(ALICE, ACCESS, &info);
    assert_eq!(world.expect(ALICE, "SIP/2.0 200"), ok);
}

/// A call with session timers up to its ACK; returns the caller and the 2xx as he got it.
fn with_timer(world: &mut World, asks: &str, answers: &str) -> (Caller, String, String) {
    let mut alice = Caller::new("se");
    world.receive(ALICE, ACCESS, &alice.request("INVITE", asks, SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let more = format!("{BOB_CONTACT}{answers}");
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", &more, SDP));
    let ok = world.expect(ALICE, "SIP/2.0 200");
    alice.learn(&ok);
    world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    (alice, invite, ok)
}

#[test]
fn a_session_that_is_not_refreshed_ends_on_both_legs() {
    let mut world = World::new(SITE);
    let asks = "Supported: timer\r\nSession-Expires: 120\r\n";
    let answers = "Session-Expires: 120;refresher=uac\r\nRequire: timer\r\n";
    let (mut alice, invite, _) = with_timer(&mut world, asks, answers);
    assert_eq!(header(&invite, "Session-Expires"), "120");
    world.pass(Duration::from_secs(100));
    world.expect_nothing();
    alice.cseq = 2;
    world.receive(ALICE, ACCESS, &alice.request("UPDATE", asks, ""));
    let update = world.expect(BOB, "UPDATE");
    world.receive(BOB, CORE, &respond(&update, "200 OK", "", answers, ""));
    world.expect(ALICE, "SIP/2.0 200");
    world.pass(Duration::from_secs(119));
    world.expect_nothing();
    world.pass(Duration::from_secs(2));
    world.expect(ALICE, "BYE");
    world.expect(BOB, "BYE");
    world.expect_idle();
    assert_eq!(world.metric("ssc_sessions_expired_total"), 1);
}

#[test]
fn our_interval_is_asked_for_and_owed_when_nobody_else_names_one() {
    let mut world = World::new(&format!("{SITE}\n[timers]\nsession_expires_s = 600\n"));
    let (_, invite, ok) = with_timer(&mut world, "Supported: timer\r\n", "");
    assert_eq!(header(&invite, "Session-Expires"), "600");
    assert_eq!(header(&ok, "Session-Expires"), "600;refresher=uac");
    assert_eq!(header(&ok, "Require"), "timer");
}

#[test]
fn an_interval_too_brief_is_refused_with_ours() {
    let mut world = World::new(SITE);
    let asks = "Supported: timer\r\nSession-Expires: 30\r\n";
    world.receive(ALICE, ACCESS, &Caller::new("se").request("INVITE", asks, SDP));
    let refused = world.expect(ALICE, "SIP/2.0 422");
    assert_eq!(header(&refused, "Min-SE"), "90");
}

#[test]
fn a_rule_for_a_realm_that_there_is_not_is_told_the_nearest() {
    let rule =
        "[[rule]]\nname = \"mark\"\nrealm = \"acess\"\n[[rule.do]]\nadd = \"X-A\"\nvalue = \"y\"\n";
    let config: ssc::config::Ssc = toml::from_str(&format!("{SITE}{rule}")).unwrap();
    let mut issues = Vec::new();
    config.validate(&mut issues);
    let [issue] = &issues[..] else { panic!("{issues:?}") };
    assert_eq!(issue.path, "rule[0].realm");
    assert_eq!(
        (&*issue.what, &*issue.hint),
        ("no realm is called `acess`", "did you mean `access`?")
    );
}
