//! What cannot be meant is refused, with its place and its hint.

use crate::given::{compile, read};
use policy::{Policies, Violation};

/// The faults of a policy with one rule.
fn faults(rule: &str) -> Vec<Violation> {
    let then = if rule.contains("then =") { "" } else { "then = 'accept'" };
    let text = format!("[[policy]]\nname = 'p'\n[[policy.rule]]\n{rule}\n{then}");
    compile(&text).err().unwrap_or_default()
}

#[test]
fn every_fault_names_policy_rule_and_field_and_says_what_to_do() {
    for (rule, expected) in [
        (
            "match.prefixes = []",
            "match.prefixes: the list is empty: no route would match; fill it, or take it out to \
             match every route",
        ),
        (
            "match.prefixes = ['10.0.0.0/8', '10.0.0']",
            "match.prefixes[1]: `10.0.0` is no prefix; write 10.0.0.0/8 or 2001:db8::/32",
        ),
        (
            "match.prefixes = ['10.0.0.1/8']",
            "match.prefixes[0]: `10.0.0.1/8` has bits behind its length; write 10.0.0.0/8",
        ),
        (
            "match.prefixes = ['10.0.0.0/33']",
            "match.prefixes[0]: `10.0.0.0/33` is longer than an address; at most /32",
        ),
        (
            "match.prefixes = ['10.0.0.0/8 to 9']",
            "match.prefixes[0]: `to` means nothing behind a prefix; write ge or le and a length",
        ),
        (
            "match.prefixes = ['10.0.0.0/8 le 7']",
            "match.prefixes[0]: `10.0.0.0/8 le 7`: le takes one length from 8 to 32; lengths \
             count from the start of the address",
        ),
        (
            "match.prefixes = ['10.0.0.0/8 ge 24 le 20']",
            "match.prefixes[0]: `10.0.0.0/8 ge 24 le 20` allows no length; write ge 20 le 24",
        ),
        (
            "match.next_hops = ['10.0.0.0/8 le 32']",
            "match.next_hops[0]: `10.0.0.0/8 le 32` is no prefix; write 10.0.0.0/8 or \
             2001:db8::/32",
        ),
        (
            "match.families = ['ipv4']",
            "match.families[0]: no family is called `ipv4`; the families are ipv4-unicast, \
             ipv6-unicast, …",
        ),
        (
            "match.communities = ['65000']",
            "match.communities[0]: `65000` is no community; write 65000:100, no-export, large \
             65000:1:2, rt 65000:7 or ro 65000:7; a number may be * or 1-9",
        ),
        ("match.communities = ['65536:1']", "match.communities[0]: `65536:1` is no community; …"),
        (
            "match.communities = ['65000:9-1']",
            "match.communities[0]: `65000:9-1` is no community; …",
        ),
        (
            "match.communities = ['large 1:2']",
            "match.communities[0]: `large 1:2` is no community; …",
        ),
        (
            "match.communities = ['rt 65536:65536']",
            "match.communities[0]: `rt 65536:65536` is no community; …",
        ),
        ("match.communities = ['0x12']", "match.communities[0]: `0x12` is no community; …"),
        ("match.all_communities = ['x']", "match.all_communities[0]: `x` is no community; …"),
        (
            "match.as_path = ''",
            "match.as_path: the expression is empty; take it out, or write ^$ for the empty path",
        ),
        (
            "match.as_path = '_65001_'",
            "match.as_path: `_` is no AS, at character 1 of the expression; ASes are whole here: \
             write a blank, ^ at the start, $ at the end",
        ),
        (
            "match.as_path = '(65001'",
            "match.as_path: a `(` without `)`, at character 7 of the expression; add the other one",
        ),
        (
            "match.as_path = '65001)'",
            "match.as_path: a `)` without `(`, at character 6 of the expression; take it out, or \
             add the other one",
        ),
        (
            "match.as_path = '[65001'",
            "match.as_path: a `[` without `]`, at character 7 of the expression; add the other one",
        ),
        (
            "match.as_path = '[]'",
            "match.as_path: the set is empty, at character 3 of the expression; write ASes \
             inside of [ ]",
        ),
        (
            "match.as_path = '[a]'",
            "match.as_path: no AS, at character 2 of the expression; write ASes and blanks \
             inside of [ ]",
        ),
        (
            "match.as_path = '1 4294967296'",
            "match.as_path: no AS, at character 3 of the expression; write 65001, or \
             64512-65534, of at most 4294967295",
        ),
        ("match.as_path = '5-4'", "match.as_path: no AS, at character 1 of the expression; …"),
        (
            "match.as_path = '*'",
            "match.as_path: nothing stands before the repetition, at character 1 of the \
             expression; write an AS, . or ( )",
        ),
        (
            "match.as_path = '1**'",
            "match.as_path: two repetitions, at character 3 of the expression; take one of them \
             out",
        ),
        (
            "match.as_path = '^*'",
            "match.as_path: an end of the path is repeated, at character 2 of the expression; \
             take the repetition out",
        ),
        (
            "match.as_path = '1{3,2}'",
            "match.as_path: no repetition, at character 2 of the expression; write {2}, {2,} or \
             {2,5}, of at most 64",
        ),
        (
            "match.as_path = '1{65}'",
            "match.as_path: no repetition, at character 2 of the expression; …",
        ),
        (
            "match.as_path = 'x'",
            "match.as_path: a character that means nothing, at character 1 of the expression; \
             write ASes, . [ ] ( ) | * + ? { } ^ $ and blanks",
        ),
        (
            "match.as_path = '(1{64}){64}'",
            "match.as_path: the expression is too large; repeat less, or split the rule",
        ),
        (
            "match.as_path_length = '5-4'",
            "match.as_path_length: `5-4` are no bounds; write 10, \"10-20\", \"10-\" or \"-20\", \
             of at most 4294967295",
        ),
        ("match.med = '-'", "match.med: `-` are no bounds; …"),
        ("match.local_pref = '+5'", "match.local_pref: `+5` are no bounds; …"),
        (
            "match.peers = ['']",
            "match.peers[0]: an empty name; write the name of a peer or of a group",
        ),
        ("match.peers = ['as x']", "match.peers[0]: `as x` is no AS; write as 65001"),
        (
            "set.local_pref = 4294967296",
            "set.local_pref: `4294967296` is no number and no change; write 10, \"+5\", \"-5\" \
             or \"none\", of at most 4294967295",
        ),
        (
            "set.local_pref = 'none'",
            "set.local_pref: LOCAL_PREF does not go: internal peers must have it; set a number",
        ),
        ("set.med = '5'", "set.med: `5` is no number and no change; …"),
        ("set.aigp = '+-5'", "set.aigp: `+-5` is no number and no change; …"),
        (
            "set.communities = {}",
            "set.communities: it changes nothing; write add, remove or replace",
        ),
        (
            "set.communities = { add = ['1:1'], replace = ['1:2'] }",
            "set.communities: what is replaced needs no `add` and no `remove`; write all that \
             shall stand there in `replace`",
        ),
        (
            "set.communities.add = ['1:*']",
            "set.communities.add: `*` and ranges name no community that could come; write single \
             communities",
        ),
        (
            "set.communities.replace = ['rt 65535-65536:1']",
            "set.communities.replace: `*` and ranges name no community that could come; …",
        ),
        ("set.communities.remove = ['y']", "set.communities.remove[0]: `y` is no community; …"),
        ("set.next_hop = 'me'", "set.next_hop: `me` is no next hop; write self or an address"),
        (
            "set.prepend = { asn = 0 }",
            "set.prepend.asn: AS 0 stands in no path (RFC 7607); write your own AS",
        ),
        (
            "set.prepend = { asn = 1, times = 33 }",
            "set.prepend.times: an AS is prepended 1 to 32 times; write another number",
        ),
        (
            "then = 'reject'\nset.med = 5",
            "set: a route that is rejected is not changed; take `set` out",
        ),
        ("then = 'next'", "then: the rule does nothing; set something, accept or reject"),
    ] {
        let faults = faults(rule);
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{rule}: {told:#?}");
        let expected = format!("policy p, rule 1, {expected}");
        match expected.strip_suffix('…') {
            Some(start) => assert!(told[0].starts_with(start), "{}\nnot {start}", told[0]),
            None => assert_eq!(told[0], expected),
        }
        let field = expected.split(", ").nth(2).unwrap().split(": ").next().unwrap();
        assert_eq!(faults[0].path, format!("policy[0].rule[0].{field}"));
    }
}

#[test]
fn every_fault_of_a_site_is_told_at_once() {
    let text = "[[policy]]\nname = ''\n[[policy]]\nname = 'a'\n[[policy]]\nname = 'a'\n\
                [[policy.rule]]\nmatch.med = 'x'\nset.med = 'x'\nthen = 'accept'\n\
                [[policy.rule]]\nthen = 'accept'\n[[policy.rule]]\nthen = 'reject'";
    let told: Vec<String> = compile(text).unwrap_err().iter().map(ToString::to_string).collect();
    let starts = [
        "policy , name: a policy without a name; write name",
        "policy a, name: two policies have this name; rename one of them",
        "policy a, rule 1, set.med: `x` is no number",
        "policy a, rule 1, match.med: `x` are no bounds",
        "policy a, rule 2: it decides about every route, so that no rule below it is asked; give",
    ];
    assert_eq!(told.len(), starts.len(), "{told:#?}");
    for (told, start) in told.iter().zip(starts) {
        assert!(told.starts_with(start), "{told}\nnot {start}");
    }
}

#[test]
fn limits_are_kept() {
    let lines = |count: usize, line: &str| vec![line.to_owned(); count];
    let mut config = read("[[policy]]\nname = 'p'\n[[policy.rule]]\nthen = 'accept'").remove(0);
    let told = |config: &policy::PolicyConfig| {
        let faults = Policies::compile(std::slice::from_ref(config)).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    config.rule[0].matches.communities = Some(lines(65_537, "1:1"));
    config.rule[0].matches.prefixes = Some(lines(250_001, "10.0.0.0/8"));
    config.rule[0].matches.all_communities = Some(lines(65, "1:1"));
    config.rule[0].matches.peers = Some(lines(4_097, "pe1"));
    config.rule[0].matches.as_path = Some("1 ".repeat(4_097));
    for limit in ["65536 at most", "250000 at most", "64 at most", "4096 at most", "8192 octets"] {
        assert!(told(&config).contains(limit), "{limit}: {}", told(&config));
    }
    for (expression, what) in [
        ("(".repeat(33), "more than 32 parentheses"),
        ("(1 .{20} 1|2 .{30} 2)".to_owned(), ""),
        // Each AS may begin a window of sixty: sets of states without end.
        ("1 .{60} 2".to_owned(), "the expression is too large"),
        (".{64}".repeat(16), "the expression is too large"),
        ((1..1_200).map(|asn| format!("{asn}?")).collect::<Vec<_>>().join(" "), "too large"),
    ] {
        config.rule[0].matches = policy::MatchConfig::default();
        config.rule[0].matches.as_path = Some(expression);
        assert!(told(&config).contains(what), "{}", told(&config));
    }
    config.rule = vec![config.rule[0].clone(); 1_025];
    config.rule.iter_mut().for_each(|rule| rule.matches.as_path = Some("1".into()));
    assert!(told(&config).contains("more than 1024 rules"));
    let many: Vec<_> = (0..1_025)
        .map(|number| policy::PolicyConfig { name: format!("p{number}"), ..Default::default() })
        .collect();
    assert!(Policies::compile(&many).unwrap_err()[0].to_string().contains("1024 policies"));
}

#[test]
fn what_is_no_table_of_a_policy_is_refused_with_words() {
    for (rule, expected) in [
        ("match.prefix = ['x']\nthen = 'accept'", "unknown field `prefix`"),
        ("match.med = 1", "missing field `then`"),
        ("match.med = -1\nthen = 'accept'", "a number, or bounds as \"10-20\""),
        ("set.med = -1\nthen = 'accept'", "a number that is not negative, or \"+5\""),
        ("then = 'drop'", "unknown variant `drop`, expected one of `accept`, `reject`, `next`"),
    ] {
        #[derive(Debug, serde::Deserialize)]
        struct Site {
            #[allow(dead_code, reason = "only the error counts")]
            policy: Vec<policy::PolicyConfig>,
        }
        let text = format!("[[policy]]\nname = 'p'\n[[policy.rule]]\n{rule}");
        let error = toml::from_str::<Site>(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nnot {expected}");
    }
}
