//! What rules match, what they change, who decides, and what a verdict depends on.

use crate::given::{Route, aigp, ask, attributes, compile, path_of, policy, route, words};
use bgp::codec::{AttributeType, SegmentKind};
use bgp::family::Family;
use policy::{Inputs, Scratch, Validation, Verdict};

/// Whether a rule with that `match` takes the route.
fn takes(condition: &str, route: &Route) -> bool {
    let text =
        format!("[[policy]]\nname = 'p'\n[[policy.rule]]\nmatch.{condition}\nthen = 'accept'\n");
    ask(&policy(&text), route) == "accept"
}

/// What a rule with that `set` makes of the route.
fn made(change: &str, route: &Route) -> String {
    let text = format!("[[policy]]\nname = 'p'\n[[policy.rule]]\nset.{change}\nthen = 'accept'\n");
    ask(&policy(&text), route)
}

#[test]
fn every_condition_takes_what_it_says() {
    for (condition, expected) in [
        ("prefixes = ['10.1.2.0/24']", true),
        ("prefixes = ['10.1.0.0/16']", false),
        ("prefixes = ['10.1.0.0/16 le 24']", true),
        ("prefixes = ['10.1.0.0/16 le 23']", false),
        ("prefixes = ['10.1.0.0/16 ge 24']", true),
        ("prefixes = ['10.1.0.0/16 ge 25']", false),
        ("prefixes = ['10.1.0.0/16 ge 20 le 28']", true),
        ("prefixes = ['10.1.2.0/25', '10.1.2.0/23', '0.0.0.0/0']", false),
        ("prefixes = ['::/0 le 128']", false),
        ("prefixes = ['192.0.2.0/24', '0.0.0.0/0 le 32']", true),
        ("families = ['ipv4-unicast']", true),
        ("families = ['evpn', 'vpnv4']", false),
        ("communities = ['65000:100']", true),
        ("communities = ['65000:101', 'no-export']", true),
        ("communities = ['65000:101', 'blackhole']", false),
        ("communities = ['65000:*']", true),
        ("communities = ['*:100']", true),
        ("communities = ['65000:90-99', '65000:101-110']", false),
        ("communities = ['64999-65001:90-110']", true),
        ("communities = ['large 65000:1:2']", true),
        ("communities = ['65000:1:2']", true),
        ("communities = ['large 65000:*:3']", false),
        ("communities = ['large 65000:0-1:*']", true),
        ("communities = ['rt 65000:7']", true),
        ("communities = ['rt:65000:7']", true),
        ("communities = ['ro 65000:7']", false),
        ("communities = ['ro 10.0.0.1:9']", true),
        ("communities = ['rt *:*']", true),
        ("communities = ['rt 10.0.0.1:*']", false),
        ("communities = ['0x0002fde800000007']", true),
        ("communities = ['0x0102fde800000007']", false),
        ("all_communities = ['65000:100', 'rt 65000:*', 'large 65000:1:2']", true),
        ("all_communities = ['65000:100', 'blackhole']", false),
        ("as_path = '^65001 65002 4200000000$'", true),
        ("as_path = '65002'", true),
        ("as_path = '^65002'", false),
        ("as_path = '^65001 .* [4200000000 1]$'", true),
        ("as_path_length = 3", true),
        ("as_path_length = '4-'", false),
        ("origin = 'igp'", true),
        ("origin = 'incomplete'", false),
        ("med = 10", true),
        ("med = '11-'", false),
        ("local_pref = '100-200'", true),
        ("local_pref = '-149'", false),
        ("next_hops = ['192.0.2.0/24']", true),
        ("next_hops = ['192.0.2.1', '10.0.0.1']", true),
        ("next_hops = ['10.0.0.0/8', '::/0']", false),
        ("validation = 'not-found'", true),
        ("validation = 'invalid'", false),
        ("peers = ['pe1']", true),
        ("peers = ['edges']", true),
        ("peers = ['as 65001']", true),
        ("peers = ['192.0.2.8/31']", true),
        ("peers = ['192.0.2.9']", true),
        ("peers = ['pe2', 'as 65002', '192.0.2.8']", false),
    ] {
        assert_eq!(takes(condition, &route()), expected, "{condition}");
    }
}

#[test]
fn what_a_route_lacks_matches_nothing() {
    let bare = Route { attributes: vec![], next_hop: vec![], validation: None, ..route() };
    for condition in [
        "communities = ['*:*', 'rt *:*', 'large *:*:*']",
        "origin = 'igp'",
        "med = '0-'",
        "local_pref = '0-'",
        "next_hops = ['0.0.0.0/0', '::/0']",
        "validation = 'not-found'",
        "as_path = '.'",
    ] {
        assert!(!takes(condition, &bare), "{condition}");
    }
    assert!(takes("as_path = '^$'", &bare));
    assert!(takes("as_path_length = 0", &bare));
}

#[test]
fn the_prefix_of_a_route_of_any_family_is_found() {
    let distinguisher = [0, 0, 0xFD, 0xE8, 0, 0, 0, 1];
    let behind = |head: &[u8], tail: &[u8]| [head, &distinguisher, tail].concat();
    let v6 = [0x20, 0x01, 0x0d, 0xb8, 0, 1];
    let mut address = [0; 16];
    address[..6].copy_from_slice(&v6);
    for (family, key, expected) in [
        (Family::Ipv4Unicast, vec![24, 10, 1, 2], true),
        (Family::Ipv4Labelled, vec![24, 10, 1, 2], true),
        (Family::Ipv4Multicast, vec![24, 10, 1, 3], false),
        (Family::Vpnv4, behind(&[64 + 24], &[10, 1, 2]), true),
        (Family::Vpnv4, behind(&[64 + 25], &[10, 1, 2, 0]), false),
        (Family::Ipv6Unicast, [&[48][..], &v6].concat(), true),
        (Family::Ipv6Labelled, [&[48][..], &v6].concat(), true),
        (Family::Ipv6Multicast, [&[40][..], &v6[..5]].concat(), false),
        (Family::Vpnv6, behind(&[64 + 48], &v6), true),
        (Family::Evpn, behind(&[5], &[0, 0, 0, 9, 24, 10, 1, 2, 0]), true),
        (Family::Evpn, behind(&[5], &[0, 0, 0, 9, 24, 10, 1, 3, 0]), false),
        (Family::Evpn, [&behind(&[5], &[0, 0, 0, 9, 48])[..], &address].concat(), true),
        (Family::Evpn, behind(&[3], &[0, 0, 0, 9, 24, 10, 1, 2, 0]), false),
        (Family::Ipv4FlowSpec, vec![24, 10, 1, 2], false),
        (Family::RouteTarget, vec![24, 10, 1, 2], false),
        (Family::Vpnv4, vec![24, 10, 1, 2], false),
        (Family::Ipv4Unicast, vec![], false),
    ] {
        let route = Route { family, key, ..route() };
        let condition = "prefixes = ['10.1.2.0/24', '2001:db8:1::/48']";
        assert_eq!(takes(condition, &route), expected, "{route:?}");
    }
}

#[test]
fn every_change_makes_what_it_says() {
    for (change, expected) in [
        ("local_pref = 200", "LOCAL_PREF 200"),
        ("local_pref = 150", "accept"),
        ("local_pref = '+5'", "LOCAL_PREF 155"),
        ("local_pref = '-200'", "LOCAL_PREF 0"),
        ("local_pref = '+4294967295'", "LOCAL_PREF 4294967295"),
        ("med = '+5'", "MULTI_EXIT_DISC 15"),
        ("med = 'none'", "MULTI_EXIT_DISC out"),
        ("communities.add = ['65000:1']", "COMMUNITIES 65000:100,no-export,65000:1"),
        ("communities.add = ['no-export']", "accept"),
        ("communities.remove = ['65000:*']", "COMMUNITIES no-export"),
        ("communities.remove = ['*:*']", "COMMUNITIES out"),
        ("communities = { remove = ['*:*'], add = ['65000:5'] }", "COMMUNITIES 65000:5"),
        ("communities.replace = ['65000:1', 'blackhole']", "COMMUNITIES 65000:1,blackhole"),
        ("communities.replace = ['65000:100', 'no-export']", "accept"),
        (
            "communities.add = ['rt 65000:8', 'large 1:2:3', 'rt 4200000000:1']",
            "EXTENDED_COMMUNITIES rt:65000:7,ro:10.0.0.1:9,rt:65000:8,rt:4200000000:1; \
             LARGE_COMMUNITY 65000:1:2,1:2:3",
        ),
        (
            "communities = { remove = ['ro *:*'], add = ['rt 10.0.0.1:1'] }",
            "EXTENDED_COMMUNITIES rt:65000:7,rt:10.0.0.1:1",
        ),
        ("communities.remove = ['rt *:*']", "EXTENDED_COMMUNITIES ro:10.0.0.1:9"),
        ("communities.replace = ['rt 1:1']", "EXTENDED_COMMUNITIES rt:1:1"),
        ("communities.remove = ['large 65000:1:*']", "LARGE_COMMUNITY out"),
        ("communities.remove = ['large 65000:2:*']", "accept"),
        ("next_hop = 'self'", "next hop self"),
        ("next_hop = '2001:db8::1'", "next hop 2001:db8::1"),
        ("prepend = { asn = 65000 }", "AS_PATH 65000 65001 65002 4200000000"),
        ("prepend = { asn = 9, times = 3 }", "AS_PATH 9 9 9 65001 65002 4200000000"),
        ("origin = 'incomplete'", "ORIGIN INCOMPLETE"),
        ("origin = 'igp'", "accept"),
        ("aigp = 7", "AIGP 7"),
        ("aigp = '+5'", "AIGP 55"),
        ("aigp = '-60'", "AIGP 0"),
        ("aigp = 'none'", "AIGP out"),
    ] {
        assert_eq!(made(change, &route()), expected, "{change}");
    }
}

#[test]
fn what_lacks_is_made() {
    let bare = Route { attributes: vec![], ..route() };
    for (change, expected) in [
        ("local_pref = '+5'", "LOCAL_PREF 105"),
        ("med = '+5'", "MULTI_EXIT_DISC 5"),
        ("med = 'none'", "accept"),
        ("aigp = '+5'", "accept"),
        ("aigp = 'none'", "accept"),
        ("aigp = 5", "AIGP 5"),
        ("communities.add = ['65000:1', '65000:1', '65000:2']", "COMMUNITIES 65000:1,65000:2"),
        ("communities.remove = ['65000:1']", "accept"),
        ("prepend = { asn = 65000, times = 2 }", "AS_PATH 65000 65000"),
        ("origin = 'egp'", "ORIGIN EGP"),
    ] {
        assert_eq!(made(change, &bare), expected, "{change}");
    }
}

#[test]
fn attributes_that_no_rule_changes_stay_as_they_came() {
    // An unknown one, a partial one, one with a long length: octet by octet.
    let odd = [&[0xE0, 99, 2, 1, 2][..], &[0x50, 5, 0, 4, 0, 0, 0, 1], &[0xC0, 8, 4, 0, 1, 0, 2]];
    let route = Route { attributes: odd.concat(), ..route() };
    let text = "[[policy]]\nname='p'\n[[policy.rule]]\nset.med = 3\nthen = 'accept'";
    let (policy, mut scratch) = (policy(text), Scratch::default());
    let verdict = policy.evaluate(&route.subject(), &mut scratch);
    let Verdict::Changed { attributes, next_hop: None } = verdict else { panic!("{verdict:?}") };
    let med = [0x80, 4, 4, 0, 0, 0, 3];
    // In the place that its number has among those that are greater.
    assert_eq!(attributes, [&med[..], odd[0], odd[1], odd[2]].concat());
}

#[test]
fn other_values_of_aigp_stay() {
    let value = [&[9, 0, 4, 1][..], &aigp(50), &[9, 0, 4, 2]].concat();
    let route = Route { attributes: attributes(&[(AttributeType::Aigp, value)]), ..route() };
    let text = "[[policy]]\nname='p'\n[[policy.rule]]\nset.aigp = '+1'\nthen = 'accept'";
    let (policy, mut scratch) = (policy(text), Scratch::default());
    let verdict = policy.evaluate(&route.subject(), &mut scratch);
    let Verdict::Changed { attributes: made, .. } = verdict else { panic!("{verdict:?}") };
    let value = [&[9, 0, 4, 1][..], &aigp(51), &[9, 0, 4, 2]].concat();
    assert_eq!(made, attributes(&[(AttributeType::Aigp, value)]));
}

#[test]
fn an_as_is_prepended_in_a_segment_of_its_own_where_the_first_has_no_room() {
    let many: Vec<u32> = (1..=255).collect();
    let set = [&[SegmentKind::Set.number(), 1][..], &words(&[5])].concat();
    let with = |path: Vec<u8>| Route {
        attributes: attributes(&[(AttributeType::AsPath, path)]),
        ..route()
    };
    let made = |route: Route| {
        let text = "[[policy]]\nname='p'\n[[policy.rule]]\n\
                    set.prepend = { asn = 9, times = 2 }\nthen = 'accept'";
        let (policy, mut scratch) = (policy(text), Scratch::default());
        match policy.evaluate(&route.subject(), &mut scratch) {
            Verdict::Changed { attributes, .. } => attributes.to_vec(),
            verdict => panic!("{verdict:?}"),
        }
    };
    let full = [&path_of(&[9, 9])[..], &path_of(&many)].concat();
    assert_eq!(made(with(path_of(&many))), attributes(&[(AttributeType::AsPath, full)]));
    let behind = [&path_of(&[9, 9])[..], &set].concat();
    assert_eq!(made(with(set)), attributes(&[(AttributeType::AsPath, behind)]));
}

#[test]
fn the_first_rule_that_accepts_or_rejects_decides_and_sees_what_those_above_changed() {
    let text = r#"
        [[policy]]
        name = "import"
        default = "accept"
        [[policy.rule]]
        match.prefixes = ["192.168.0.0/16 le 32"]
        then = "reject"
        [[policy.rule]]
        name = "customers"
        match.as_path = "^65001 "
        set.communities.add = ["65000:1"]
        set.local_pref = "+10"
        then = "next"
        [[policy.rule]]
        match.communities = ["65000:1"]
        match.local_pref = 160
        set.med = "none"
        set.next_hop = "192.0.2.77"
        then = "next"
        [[policy.rule]]
        match.next_hops = ["192.0.2.77"]
        match.med = "0-"
        then = "reject"
        [[policy.rule]]
        match.next_hops = ["192.0.2.77"]
        set.communities.remove = ["65000:1"]
        then = "accept"
        [[policy.rule]]
        then = "reject"
    "#;
    let policy = policy(text);
    let changed = "MULTI_EXIT_DISC out; LOCAL_PREF 160; next hop 192.0.2.77";
    assert_eq!(ask(&policy, &route()), changed);
    let (_, why) = policy.explain(&route().subject(), &mut Scratch::default());
    assert_eq!(why.decided().map(|step| step.rule), Some(5));
    let lines = "policy import rule 1: match.prefixes does not hold\n\
                 policy import rule 2 (customers): changes and goes on\n\
                 policy import rule 3: changes and goes on\n\
                 policy import rule 4: match.med does not hold\n\
                 policy import rule 5: accepts\n";
    assert_eq!(why.to_string(), lines);
}

#[test]
fn the_default_decides_where_no_rule_does() {
    for (default, expected) in [("", "reject"), ("default = 'accept'", "accept")] {
        let text = format!(
            "[[policy]]\nname = 'p'\n{default}\n[[policy.rule]]\nmatch.med = 11\nthen = 'reject'"
        );
        let policy = policy(&text);
        assert_eq!(ask(&policy, &route()), expected);
        let (_, why) = policy.explain(&route().subject(), &mut Scratch::default());
        assert_eq!(why.decided(), None);
        let lines =
            format!("policy p rule 1: match.med does not hold\npolicy p default: {expected}s\n");
        assert_eq!(why.to_string(), lines);
    }
}

#[test]
fn what_was_changed_on_the_way_to_the_default_is_told() {
    let text = "[[policy]]\nname = 'p'\ndefault = 'accept'\n\
                [[policy.rule]]\nset.med = 1\nthen = 'next'\n\
                [[policy.rule]]\nmatch.med = 1\nset.med = 10\nthen = 'next'";
    assert_eq!(ask(&policy(text), &route()), "accept", "it is what it was");
    let text = text.replace("set.med = 10", "set.med = 2");
    assert_eq!(ask(&policy(&text), &route()), "MULTI_EXIT_DISC 2");
}

#[test]
fn a_route_whose_attribute_becomes_too_long_is_rejected() {
    let communities: Vec<u32> = (0..16_383).collect();
    let all = [(AttributeType::Communities, words(&communities))];
    let full = Route { attributes: attributes(&all), ..route() };
    let text = "[[policy]]\nname = 'p'\n[[policy.rule]]\n\
                set.communities.add = ['65000:1']\nthen = 'accept'";
    let policy = policy(text);
    assert_eq!(ask(&policy, &full), "reject");
    let (_, why) = policy.explain(&full.subject(), &mut Scratch::default());
    assert!(why.to_string().ends_with("rule 1: an attribute became too long, rejects\n"), "{why}");
    let all = [(AttributeType::Communities, words(&communities[1..]))];
    let room = Route { attributes: attributes(&all), ..route() };
    assert!(ask(&policy, &room).ends_with(",65000:1"));
}

#[test]
fn it_is_told_what_a_verdict_depends_on() {
    let all = "[[policy]]\nname = 'p'\ndefault = 'accept'\n[[policy.rule]]\nthen = 'reject'\n";
    let none = Inputs::default();
    for (condition, inputs) in [
        ("prefixes = ['10.0.0.0/8']", Inputs { key: true, family: true, ..none }),
        ("validation = 'invalid'", Inputs { validation: true, ..none }),
        ("families = ['evpn']", Inputs { family: true, ..none }),
        ("peers = ['pe1']", Inputs { peer: true, ..none }),
        ("next_hops = ['10.0.0.1']", Inputs { next_hop: true, ..none }),
        ("communities = ['no-export']", Inputs { attributes: true, ..none }),
        ("as_path = '65001'", Inputs { attributes: true, ..none }),
    ] {
        let policy = policy(&all.replace("then", &format!("match.{condition}\nthen")));
        assert_eq!(policy.inputs(), inputs, "{condition}");
        assert_eq!(policy.depends_on_route(), inputs.key || inputs.validation);
        assert!(!policy.is_identity());
    }
    let changing = policy(&all.replace("then = 'reject'", "set.med = 1\nthen = 'accept'"));
    assert_eq!(changing.inputs(), Inputs { attributes: true, ..none });
    assert!(!changing.is_identity());
    assert!(policy("[[policy]]\nname = 'p'\ndefault = 'accept'").is_identity());
    assert!(!policy("[[policy]]\nname = 'p'").is_identity());
    let accepting = "match.med = 1\nthen = 'accept'";
    assert!(policy(&all.replace("then = 'reject'", accepting)).is_identity());
}

#[test]
fn policies_are_found_by_their_names_and_tell_whom_they_name() {
    let text = "[[policy]]\nname = 'a'\n[[policy]]\nname = 'b'\n[[policy.rule]]\n\
                match.peers = ['pe1', 'as 1', '10.0.0.1', 'edges']\nthen = 'accept'";
    let policies = compile(text).unwrap();
    let b = policies.named("b").unwrap();
    assert_eq!(policies.policy(b).name(), "b");
    assert_eq!(policies.policy(b).peer_names().collect::<Vec<_>>(), ["pe1", "edges"]);
    assert_eq!(policies.named("c"), None);
    let all: Vec<_> = policies.iter().map(|(id, policy)| (id, policy.name())).collect();
    assert_eq!(all, [(policies.named("a").unwrap(), "a"), (b, "b")]);
}

#[test]
fn validation_is_one_of_three() {
    for (word, validation) in [
        ("valid", Validation::Valid),
        ("invalid", Validation::Invalid),
        ("not-found", Validation::NotFound),
    ] {
        let route = Route { validation: Some(validation), ..route() };
        assert!(takes(&format!("validation = '{word}'"), &route));
        assert!(!takes(&format!("validation = '{word}'"), &Route { validation: None, ..route }));
    }
}
