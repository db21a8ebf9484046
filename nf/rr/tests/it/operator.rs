//! What an operator does and sees: wrong sections, changes while sessions stand, what is shown,
//! clearing, shutting down.

use crate::world::{self, Speaker, World, issues, s};
use bgp::Cause;
use bgp::codec::{Cease, Notice};

const SITE: &str = r#"
name = "rr1"
asn = 65000
identifier = "10.0.0.1"
listen = ["10.0.0.1"]
[[group]]
name = "clients"
client = true
passive = true
[[group]]
name = "lab"
client = true
ranges = ["10.1.0.0/16"]
[[peer]]
name = "a"
address = "10.0.1.1"
group = "clients"
[[peer]]
name = "b"
address = "10.0.2.1"
group = "clients"
"#;

/// The reflector with both peers and one from the range.
fn site() -> (World, [usize; 3]) {
    let mut world = World::new(SITE);
    let addresses = ["10.0.1.1", "10.0.2.1", "10.1.0.1"];
    let ids = addresses.map(|address| world.add(Speaker::client(address)));
    world.pass(s(1));
    assert_eq!(world.metric("rr_peers_established"), 3);
    (world, ids)
}

/// Why the last session of a speaker ended, as it was told.
fn heard(world: &World, id: usize) -> Option<(Notice, Option<String>)> {
    world.speakers[id].endings.iter().rev().find_map(|cause| match cause {
        Cause::Received(notice, text) => Some((*notice, text.clone())),
        _ => None,
    })
}

fn cease(which: Cease) -> Option<(Notice, Option<String>)> {
    Some((Notice::cease(which), None))
}

#[test]
fn a_peer_that_is_added_and_one_that_is_removed_touch_nobody_else() {
    let (mut world, [a, b, dynamic]) = site();
    let c = world.add(Speaker::client("10.0.3.1"));
    let added =
        format!("{SITE}[[peer]]\nname = \"c\"\naddress = \"10.0.3.1\"\ngroup = \"clients\"\n");
    world.configure(&added);
    world.pass(s(10));
    assert!(world.speakers[c].is_up());
    let removed = added
        .replace("name = \"b\"\naddress = \"10.0.2.1\"", "name = \"d\"\naddress = \"10.0.4.1\"");
    world.configure(&removed);
    world.pass(s(10));
    assert_eq!(heard(&world, b), cease(Cease::PeerDeconfigured));
    assert!([a, c, dynamic].iter().all(
        |id| world.speakers[*id].endings.is_empty() || *id == c && world.speakers[*id].is_up()
    ));
    assert_eq!(world.speakers[a].session.counters().established, 1);
}

#[test]
fn another_password_ends_that_session_only_and_it_comes_back() {
    let (mut world, [a, b, dynamic]) = site();
    let changed =
        SITE.replace("address = \"10.0.1.1\"", "address = \"10.0.1.1\"\npassword = \"x\"");
    world.configure(&changed);
    world.pass(s(1));
    assert_eq!(heard(&world, a), cease(Cease::OtherConfigurationChange));
    world.pass(s(20));
    assert!(world.speakers[a].is_up());
    assert!([b, dynamic].iter().all(|id| world.speakers[*id].endings.is_empty()));
    let shown = format!("{:?}", world::read(&changed));
    assert!(!shown.contains("\"x\""), "{shown}");
}

#[test]
fn what_a_group_says_changes_its_peers_and_no_others() {
    let (mut world, [a, b, dynamic]) = site();
    let changed = SITE.replace("passive = true", "passive = true\nhold_time_s = 30");
    world.configure(&changed);
    world.pass(s(20));
    assert_eq!(heard(&world, a), cease(Cease::OtherConfigurationChange));
    assert_eq!(heard(&world, b), cease(Cease::OtherConfigurationChange));
    assert!(world.speakers[dynamic].endings.is_empty());
    let row = world.ask("bgp/peer", &[("peer", "a")]);
    assert_eq!(row[0]["agreed"]["hold_time_s"], 30);
}

#[test]
fn times_descriptions_and_limits_change_without_a_new_session() {
    let (mut world, [a, b, dynamic]) = site();
    let keys = "passive = true\nidle_hold_s = 7\nconnect_retry_s = 9\ndescription = \"spare\"\n\
        prefix_limit = [{ family = \"ipv4-unicast\", max = 1, excess = \"warn\" }]";
    world.configure(&SITE.replace("passive = true", keys));
    world.act(a, |it, _| it.announce(&["192.0.2.0/24", "198.51.100.0/24"]));
    world.pass(s(5));
    assert!([a, b, dynamic].iter().all(|id| world.speakers[*id].endings.is_empty()));
    let row = world.ask("bgp/peer", &[("peer", "a")]);
    assert_eq!(row[0]["timers"]["idle_hold_s"], 7);
    assert_eq!(row[0]["description"], "spare");
    assert_eq!(world.alarms(), ["prefix-limit-near a/ipv4-unicast"]);
}

#[test]
fn a_range_that_is_gone_takes_its_peers_along() {
    let (mut world, [a, b, dynamic]) = site();
    world.configure(&SITE.replace("ranges = [\"10.1.0.0/16\"]", "ranges = [\"10.2.0.0/16\"]"));
    world.pass(s(2));
    assert_eq!(heard(&world, dynamic), cease(Cease::PeerDeconfigured));
    assert!([a, b].iter().all(|id| world.speakers[*id].endings.is_empty()));
    assert_eq!(world.metric("rr_peers"), 2);
}

#[test]
fn another_identifier_begins_every_session_anew() {
    let (mut world, ids) = site();
    world.act(ids[0], |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    world.configure(&SITE.replace("identifier = \"10.0.0.1\"", "identifier = \"10.0.0.9\""));
    world.pass(s(200));
    for id in ids {
        assert_eq!(heard(&world, id), cease(Cease::OtherConfigurationChange));
        assert!(world.speakers[id].is_up());
    }
    assert_eq!(world.metric("rr_routes"), 0);
}

#[test]
fn a_peer_is_shut_down_with_a_word_and_let_in_again() {
    let (mut world, [a, ..]) = site();
    world.ask("bgp/shutdown", &[("peer", "a"), ("text", "new line card")]);
    world.pass(s(1));
    let told = Some((Notice::cease(Cease::AdministrativeShutdown), Some("new line card".into())));
    assert_eq!(heard(&world, a), told);
    assert_eq!(world.state("a"), "shut down");
    assert_eq!(world.alarms(), Vec::<String>::new());
    world.pass(s(200));
    assert!(!world.speakers[a].is_up());
    world.ask("bgp/enable", &[("peer", "a")]);
    world.pass(s(200));
    assert!(world.speakers[a].is_up());
    // What the configuration says, a command does not undo.
    let disabled = SITE.replace("name = \"a\"", "name = \"a\"\nenabled = false");
    world.configure(&disabled);
    world.pass(s(1));
    assert_eq!(heard(&world, a), cease(Cease::AdministrativeShutdown));
    assert!(world.try_ask("bgp/enable", &[("peer", "a")]).is_err());
    world.configure(SITE);
    world.pass(s(200));
    assert!(world.speakers[a].is_up());
}

#[test]
fn a_session_is_cleared_softly_plainly_and_hard() {
    let (mut world, [a, b, _]) = site();
    world.act(b, |it, _| it.announce(&["192.0.2.0/24"]));
    world.pass(s(1));
    let before = world.speakers[a].updates.len();
    world.ask("bgp/clear", &[("peer", "a"), ("how", "soft")]);
    world.pass(s(1));
    assert!(world.speakers[a].is_up() && world.speakers[a].endings.is_empty());
    assert_eq!(world.speakers[a].refreshes, 3); // ours, and beginning and end of what is told anew
    assert!(world.speakers[a].updates.len() > before);
    world.ask("bgp/clear", &[("peer", "a"), ("text", "again")]);
    world.pass(s(1));
    let told = Some((Notice::cease(Cease::AdministrativeReset), Some("again".into())));
    assert_eq!(heard(&world, a), told);
    world.pass(s(100));
    assert!(world.speakers[a].is_up());
    world.ask("bgp/clear", &[("peer", "10.0.1.1"), ("how", "hard"), ("text", "at once")]);
    world.pass(s(1));
    let told = Some((Notice::cease(Cease::HardReset), Some("at once".into())));
    assert_eq!(heard(&world, a), told);
    assert!(world.try_ask("bgp/clear", &[("peer", "a"), ("how", "gently")]).is_err());
    assert!(world.try_ask("bgp/clear", &[("peer", "nobody")]).is_err());
}

#[test]
fn everything_about_a_peer_is_shown() {
    let (mut world, _) = site();
    let rows = world.ask("bgp/peer", &[("peer", "a")]);
    let row = &rows[0];
    assert_eq!(row["kind"], "client");
    assert_eq!(row["offered_there"]["identifier"], "10.0.1.1");
    assert_eq!(row["agreed"]["families"][0], "ipv4-unicast");
    assert_eq!(row["agreed"]["message_max"], 65_535);
    assert_eq!(row["connections"][0]["established"], true);
    assert_eq!(row["received"]["open"], 1);
    assert_eq!(row["password"], false);
    assert!(world.try_ask("bgp/peer", &[]).is_err());
    assert!(world.try_ask("bgp/nothing", &[]).is_err());
}

/// What each mistake is answered with, where it stands.
#[test]
fn mistakes_are_told_with_their_place() {
    let cases = [
        ("name = \"rr1\"", "name = \"r r\"", "name", "is not a name"),
        ("asn = 65000", "asn = 0", "asn", "AS 0"),
        ("\"10.0.0.1\"]", "\"10.0.0.1\", \"10.0.0.1:179\"]", "listen[1]", "twice"),
        ("[\"10.0.0.1\"]", "[\"rr1:179\"]", "listen[0]", "no address"),
        ("[\"10.1.0.0/16\"]", "[\"10.1.0.1/16\"]", "group[1].ranges[0]", "no prefix"),
        (
            "[\"10.1.0.0/16\"]",
            "[\"10.1.0.0/16\", \"10.1.0.0/16\"]",
            "group[1].ranges[1]",
            "a range of `lab` already",
        ),
        ("\"10.0.2.1\"", "\"10.0.1.1\"", "peer[1].address", "is the address of `a`"),
        ("\"10.0.2.1\"", "\"224.0.0.1\"", "peer[1].address", "a group of hosts"),
        ("name = \"b\"", "name = \"a\"", "peer[1].name", "twice"),
        ("name = \"lab\"", "name = \"clients\"", "group[1].name", "twice"),
        ("group = \"clients\"", "group = \"client\"", "peer[0].group", "no group"),
        ("passive = true", "families = [\"ipv4\"]", "group[0].families[0]", "no family `ipv4`"),
        (
            "passive = true",
            "add_path_send = [\"evpn\"]",
            "group[0].add_path_send[0]",
            "not among `families`",
        ),
        ("passive = true", "hold_time_s = 2", "group[0].hold_time_s", "out of range"),
        ("passive = true", "long_lived_s = 9", "group[0].long_lived_s", "not offered"),
        ("passive = true", "asn = 65001", "group[0].client", "the same AS"),
        ("passive = true", "role = \"peer\"", "group[0].role", "external"),
        ("passive = true", "password = \"\"", "group[0].password", "0 octets"),
        ("passive = true", "ttl_security_hops = 0", "group[0].ttl_security_hops", "out of range"),
        (
            "passive = true",
            "prefix_limit = [{ family = \"ipv4-unicast\", max = 0 }]",
            "group[0].prefix_limit[0].max",
            "no route",
        ),
        ("ranges = [", "password = \"x\"\nranges = [\"10.0.0.0/8\", ", "peer[0]", "no password"),
        ("listen = [\"10.0.0.1\"]", "listen = []", "group[1].ranges", "nothing listens"),
        ("passive = true", "import = \"none\"", "group[0].import", "no policy"),
        ("name = \"rr1\"", "name = \"rr1\"\nshards = 0", "shards", "out of range"),
    ];
    assert_eq!(issues(SITE), []);
    for (from, to, path, what) in cases {
        let text = SITE.replacen(from, to, 1);
        assert_ne!(text, SITE, "{from} stands in the section");
        let found = issues(&text);
        let is_it = |issue: &config::Issue| issue.path == path && issue.what.contains(what);
        assert!(found.iter().any(is_it), "{to}: {found:?}");
        assert!(found.iter().all(|issue| !issue.hint.is_empty()), "{to}: {found:?}");
    }
}

#[test]
fn a_configured_peer_that_is_not_up_is_shown_with_the_as_that_it_is_to_have() {
    let external = "[[peer]]\nname = \"x\"\naddress = \"10.0.9.1\"\nasn = 65009\n";
    let mut world = World::new(&format!("{SITE}{external}"));
    world.pass(s(1));
    let rows = world.ask("bgp/summary", &[]);
    let shown = |name: &str| {
        let rows = rows.as_array().unwrap().iter();
        rows.clone().find(|row| row["peer"] == name).map(|row| row["asn"].clone())
    };
    assert_eq!((shown("a"), shown("x")), (Some(65_000.into()), Some(65_009.into())));
}

#[test]
fn a_family_that_there_is_not_in_a_policy_is_told_the_nearest() {
    let policy = "[[policy]]\nname = \"p\"\n[[policy.rule]]\nthen = \"accept\"\n\
        match = { families = [\"ipv4-unicst\"] }\n";
    let found = issues(&format!("{SITE}{policy}"));
    let at = "policy[0].rule[0].match.families[0]";
    let issue = found.iter().find(|it| it.path == at).unwrap_or_else(|| panic!("{found:?}"));
    assert!(issue.hint.starts_with("did you mean `ipv4-unicast`?"), "{issue:?}");
}
