//! Header manipulation: which messages a rule takes, what it does to them, what stays as it came,
//! and what is refused when rules are compiled.

use manipulation::{Applied, Direction, RuleConfig, Rules, Scratch, Violation};
use sip::Message;

const REALMS: [&str; 2] = ["access", "core"];
const CORE: u16 = 1;

const INVITE: &str = "INVITE sip:+15551230042@192.0.2.20:5060;transport=udp SIP/2.0\r\n\
    Via: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK776asdhds\r\n\
    Max-Forwards: 70\r\n\
    f: \"Alice\" <sip:alice@example.com>;tag=1928301774\r\n\
    To: <sip:+15551230042@example.com>\r\n\
    Call-ID: a84b4c76e66710@192.0.2.10\r\n\
    CSeq: 314159 INVITE\r\n\
    USER-agent:Softphone\r\n 1.2\r\n\
    X-Odd: ;;,,;\r\n\
    k: 100rel\r\n\
    Supported: timer\r\n\
    Content-Length: 4\r\n\
    \r\n\
    v=0\n";

const BUSY: &str = "SIP/2.0 486 Busy Here\r\n\
    Via: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK776asdhds\r\n\
    From: <sip:alice@example.com>;tag=1\r\n\
    To: <sip:bob@example.com>;tag=2\r\n\
    Call-ID: a84b4c76e66710@192.0.2.10\r\n\
    CSeq: 1 INVITE\r\n\
    Server: Peer\r\n\
    Content-Length: 0\r\n\r\n";

#[derive(serde::Deserialize)]
struct File {
    rule: Vec<RuleConfig>,
}

fn compile(text: &str) -> Result<Rules, Vec<Violation>> {
    let file: File = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Rules::compile(&file.rule, &REALMS)
}

/// What the rules make of a message on its way out to the core.
fn apply(rules: &str, message: &str) -> String {
    let rules = compile(rules).unwrap_or_else(|issues| panic!("{rules}: {issues:#?}"));
    let message = Message::parse(message.as_bytes()).expect("a message");
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    let applied = rules.apply(CORE, Direction::Out, &message, &mut scratch, &mut out);
    assert_ne!(applied, Applied::Failed, "{message:?}");
    if applied == Applied::Unchanged {
        assert!(out.is_empty(), "a message that does not change is not written");
        return String::from_utf8(message.raw().to_vec()).expect("UTF-8");
    }
    Message::parse(&out).expect("what rules make is a message");
    let mut unread = Vec::new();
    let applied =
        rules.apply_unread(CORE, Direction::Out, message.raw(), &mut scratch, &mut unread);
    assert_eq!(applied, Applied::Changed);
    assert_eq!(out, unread, "a message that is read before is changed in the same way");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn every_action_changes_what_it_says_and_not_an_octet_more() {
    for (rule, old, new) in [
        ("set = 'User-Agent'\nvalue = 'Tandem'", "Softphone\r\n 1.2", "Tandem"),
        (
            "set = 'Subject'\nvalue = 'x'",
            "Content-Length: 4\r\n",
            "Content-Length: 4\r\nSubject: x\r\n",
        ),
        (
            "add = 'X-New'\nvalue = 'a, b'",
            "Content-Length: 4\r\n",
            "Content-Length: 4\r\nX-New: a, b\r\n",
        ),
        ("add = 'User-Agent'\nvalue = 'second'", "", ""),
        ("remove = 'x-odd'", "X-Odd: ;;,,;\r\n", ""),
        ("remove = 'Supported'", "k: 100rel\r\nSupported: timer\r\n", ""),
        ("remove = 'Subject'", "", ""),
        ("set = 'k'\nvalue = 'path'", "k: 100rel\r\nSupported: timer\r\n", "k: path\r\n"),
        (
            "replace = 'Supported'\npattern = 'e'\nvalue = '[$0]'",
            "100rel\r\nSupported: timer",
            "100r[e]l\r\nSupported: tim[e]r",
        ),
        ("replace = 'X-Odd'\npattern = '^(;*)(,*);$'\nvalue = '$2$1$$'", ";;,,;", ",,;;$"),
        ("replace = 'X-Odd'\npattern = 'nothing'\nvalue = 'x'", "", ""),
        ("rename = 'X-Odd'\nto = 'X-Even'", "X-Odd: ;", "X-Even: ;"),
        (
            "rename = 'Supported'\nto = 'Allow'",
            "k: 100rel\r\nSupported:",
            "Allow: 100rel\r\nAllow:",
        ),
        (
            "set = 'From'\nvalue = 'anonymous <sip:a@invalid>'",
            "\"Alice\" <sip:alice@example.com>",
            "anonymous <sip:a@invalid>",
        ),
        ("replace = 'From'\npattern = 'alice@(.*)>'\nvalue = 'a@$1>'", "sip:alice@", "sip:a@"),
        ("uri_user = '112'", "+15551230042@192.0.2.20", "112@192.0.2.20"),
        ("uri_user = 'a@b'", "", ""),
        ("uri_host = '[2001:db8::1]'", "192.0.2.20:5060", "[2001:db8::1]:5060"),
        ("uri_host = 'a b'", "", ""),
        ("reason = 'Nope'", "", ""),
    ] {
        let changed = apply(&format!("[[rule]]\n[[rule.do]]\n{rule}"), INVITE);
        assert_eq!(changed, INVITE.replacen(old, new, 1), "{rule}");
    }
}

#[test]
fn groups_of_all_conditions_are_counted_through() {
    let rules = r#"
        [[rule]]
        [[rule.when]]
        header = "User-Agent"
        matches = '^(\w+)\s+([\d.]+)$'
        [[rule.when]]
        uri = '^sip:\+1(\d+)@'
        [[rule.do]]
        add = "X-Caught"
        value = "$3 by $1/$2 for $$1"
        [[rule.do]]
        uri_user = "0$3"
    "#;
    let changed = apply(rules, INVITE);
    assert!(changed.contains("\r\nX-Caught: 5551230042 by Softphone/1.2 for $1\r\n"), "{changed}");
    assert!(
        changed.starts_with("INVITE sip:05551230042@192.0.2.20:5060;transport=udp SIP/2.0\r\n")
    );
}

#[test]
fn user_and_host_of_the_request_uri_change_together() {
    let rules = "[[rule]]\n[[rule.do]]\nuri_host='h.example'\n[[rule.do]]\nuri_user='u'";
    let bare = INVITE.replacen("+15551230042@", "", 1);
    for message in [INVITE, &bare] {
        let changed = apply(rules, message);
        assert!(changed.starts_with("INVITE sip:u@h.example:5060;transport=udp "), "{changed}");
    }
}

#[test]
fn the_reason_phrase_of_a_response_changes() {
    let changed = apply("[[rule]]\nstatus='4xx'\n[[rule.do]]\nreason='Engaged'", BUSY);
    assert_eq!(changed, BUSY.replacen("Busy Here", "Engaged", 1));
}

#[test]
fn a_rule_takes_only_the_messages_it_names() {
    for (filter, invite, busy) in [
        ("", true, true),
        ("realm = 'core'", true, true),
        ("realm = 'access'", false, false),
        ("direction = 'out'", true, true),
        ("direction = 'in'", false, false),
        ("message = 'request'", true, false),
        ("message = 'response'", false, true),
        ("method = ['INVITE', 'NEWMETHOD']", true, true),
        ("method = ['BYE']", false, false),
        ("status = '486'", false, true),
        ("status = '1xx, 400-499'", false, true),
        ("status = '2xx'", false, false),
        ("[[rule.when]]\nheader = 'X-Odd'", true, false),
        ("[[rule.when]]\nheader = 'x-odd'\npresent = false", false, true),
        ("[[rule.when]]\nheader = 'Server'\nmatches = '(?i)PEER'", false, true),
        ("[[rule.when]]\nheader = 'k'\nmatches = '^timer$'", true, false),
        ("[[rule.when]]\nuri = 'transport=udp'", true, false),
        ("[[rule.when]]\nheader = 'X-Odd'\n[[rule.when]]\nheader = 'Server'", false, false),
    ] {
        let rule = format!("[[rule]]\n{filter}\n[[rule.do]]\nadd = 'X-Taken'\nvalue = 'yes'");
        assert_eq!(apply(&rule, INVITE).contains("X-Taken"), invite, "{filter}: INVITE");
        assert_eq!(apply(&rule, BUSY).contains("X-Taken"), busy, "{filter}: 486");
    }
}

#[test]
fn a_rule_sees_what_the_rules_before_it_did() {
    let rules = r#"
        [[rule]]
        [[rule.do]]
        set = "User-Agent"
        value = "first"
        [[rule.do]]
        add = "X-Step"
        value = "1"
        [[rule]]
        [[rule.when]]
        header = "User-Agent"
        matches = "^(fir)st$"
        [[rule.do]]
        set = "User-Agent"
        value = "$1"
        [[rule]]
        [[rule.do]]
        replace = "X-Step"
        pattern = "1"
        value = "2"
        [[rule]]
        [[rule.when]]
        header = "User-Agent"
        matches = "Softphone"
        [[rule.do]]
        remove = "X-Step"
    "#;
    let changed = apply(rules, INVITE);
    assert!(changed.contains("USER-agent:fir\r\n"), "{changed}");
    assert!(changed.contains("\r\nX-Step: 2\r\n"), "{changed}");
}

#[test]
fn lines_added_by_several_rules_keep_their_order() {
    let rule = |n: u32| format!("[[rule]]\n[[rule.do]]\nadd = 'X-N'\nvalue = '{n}'\n");
    let changed = apply(&(rule(1) + &rule(2) + &rule(3)), INVITE);
    assert!(changed.contains("\r\nX-N: 1\r\nX-N: 2\r\nX-N: 3\r\n\r\nv=0\n"), "{changed}");
}

#[test]
fn applies_is_a_cheap_yes_for_messages_some_rule_takes() {
    let rules =
        compile("[[rule]]\nrealm='core'\nmethod=['BYE']\n[[rule.do]]\nremove='X-A'").unwrap();
    let message = Message::parse(INVITE.as_bytes()).unwrap();
    assert!(rules.has_any(CORE, Direction::In));
    assert!(!rules.has_any(0, Direction::In));
    assert!(!rules.has_any(9, Direction::In), "a realm that is not there has no rules");
    assert!(!rules.applies(CORE, Direction::In, &message));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place_and_its_hint() {
    let add = "[[rule.do]]\nadd = 'X-A'\nvalue = 'y'\n";
    for (rule, path, what, hint) in [
        (
            format!("realm = 'cor'\n{add}"),
            "rule[0].realm",
            "no realm is called `cor`",
            "the realms are access, core",
        ),
        (format!("method = ['invite']\n{add}"), "rule[0].method[0]", "case counts", "write INVITE"),
        (format!("method = ['IN VITE']\n{add}"), "rule[0].method[0]", "is no method", "INVITE"),
        (format!("status = '7xx'\n{add}"), "rule[0].status", "no status", "486, 2xx"),
        (format!("status = '499-400'\n{add}"), "rule[0].status", "no status", "400-499"),
        (
            format!("message = 'request'\nstatus = '486'\n{add}"),
            "rule[0].status",
            "requests have no status",
            "message",
        ),
        (String::new(), "rule[0].do", "does nothing", "[[ssc.rule.do]]"),
        (format!("[[rule.when]]\n{add}"), "rule[0].when[0]", "looks at a header", "exactly one"),
        (
            format!("[[rule.when]]\nheader = 'A B'\n{add}"),
            "rule[0].when[0].header",
            "no header name",
            "letters",
        ),
        (
            format!("[[rule.when]]\nheader = 'A'\nmatches = '(x'\n{add}"),
            "rule[0].when[0].matches",
            "bad regular expression: unclosed group, at character 1",
            "a regular expression",
        ),
        (
            format!("[[rule.when]]\nheader = 'A'\nmatches = 'x'\npresent = false\n{add}"),
            "rule[0].when[0]",
            "missing matches nothing",
            "take",
        ),
        (
            format!("[[rule.when]]\nuri = '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)'\n{add}"),
            "rule[0].when[0].uri",
            "10 groups, 9 at most",
            "a regular expression",
        ),
        ("[[rule.do]]\n".to_owned(), "rule[0].do[0]", "does one thing", "exactly one"),
        (
            "[[rule.do]]\nadd = 'X-A'\nremove = 'Y'\n".to_owned(),
            "rule[0].do[0]",
            "does one thing",
            "exactly one",
        ),
        (
            "[[rule.do]]\nadd = 'X-A'\n".to_owned(),
            "rule[0].do[0]",
            "`add` needs `value`",
            "add value",
        ),
        (
            "[[rule.do]]\nremove = 'X-A'\nvalue = 'y'\n".to_owned(),
            "rule[0].do[0].value",
            "means nothing",
            "take it out",
        ),
        (
            "[[rule.do]]\nset = 'v'\nvalue = 'y'\n".to_owned(),
            "rule[0].do[0].set",
            "Via belongs to the transaction",
            "controller writes",
        ),
        (
            "[[rule.do]]\nremove = 'Call-ID'\n".to_owned(),
            "rule[0].do[0].remove",
            "Call-ID belongs",
            "controller writes",
        ),
        (
            "[[rule.do]]\nset = 'CSeq'\nvalue = '1 BYE'\n".to_owned(),
            "rule[0].do[0].set",
            "CSeq belongs",
            "controller",
        ),
        (
            "[[rule.do]]\nset = 'l'\nvalue = '1'\n".to_owned(),
            "rule[0].do[0].set",
            "Content-Length belongs",
            "controller",
        ),
        (
            "[[rule.do]]\nrename = 'X-A'\nto = 'Via'\n".to_owned(),
            "rule[0].do[0].to",
            "Via belongs",
            "controller",
        ),
        (
            "[[rule.do]]\nremove = 'From'\n".to_owned(),
            "rule[0].do[0].remove",
            "must stand exactly once",
            "keep its tag",
        ),
        (
            "[[rule.do]]\nset = 'Expires'\nvalue = 'soon'\n".to_owned(),
            "rule[0].do[0].value",
            "not what Expires looks like",
            "RFC 3261 §20.19",
        ),
        (
            "[[rule.do]]\nset = 'X-A'\nvalue = \"a\\r\\nVia: x\"\n".to_owned(),
            "rule[0].do[0].value",
            "control character",
            "one line",
        ),
        (
            "[[rule.do]]\nset = 'X-A'\nvalue = '$1'\n".to_owned(),
            "rule[0].do[0].value",
            "no group $1",
            "( )",
        ),
        (
            "[[rule.do]]\nset = 'X-A'\nvalue = '5 $'\n".to_owned(),
            "rule[0].do[0].value",
            "names no group",
            "$$",
        ),
        (
            "[[rule.do]]\nset = 'X-A'\nvalue = '$0'\n".to_owned(),
            "rule[0].do[0].value",
            "$0 is the match",
            "$1",
        ),
        (
            "[[rule.do]]\nset = 'X-A'\nvalue = 'a'\n[[rule.do]]\nremove = 'x-a'\n".to_owned(),
            "rule[0].do[1]",
            "two actions of one rule",
            "rule of its own",
        ),
        (
            "message = 'response'\n[[rule.do]]\nuri_user = 'x'\n".to_owned(),
            "rule[0].do[0].uri_user",
            "no Request-URI",
            "message",
        ),
        (
            "message = 'request'\n[[rule.do]]\nreason = 'x'\n".to_owned(),
            "rule[0].do[0].reason",
            "no reason phrase",
            "message",
        ),
    ] {
        let issues = compile(&format!("[[rule]]\n{rule}")).expect_err(&rule);
        let found = &issues[0];
        assert_eq!(found.path, path, "{rule}: {found:?}");
        assert!(found.what.contains(what), "{rule}: {found:?}");
        assert!(found.hint.contains(hint), "{rule}: {found:?}");
    }
}

#[test]
fn an_unknown_key_is_refused_by_name() {
    for text in ["[[rule]]\nrealms = 'x'", "[[rule]]\n[[rule.do]]\nadds = 'x'"] {
        let error = toml::from_str::<File>(text).err().expect("unknown keys are refused");
        assert!(error.to_string().contains("unknown field"), "{error}");
    }
}

#[test]
fn untouched_octets_never_change_whatever_the_torture_message() {
    let directory = format!("{}/../../proto/sip/tests/vectors/rfc4475", env!("CARGO_MANIFEST_DIR"));
    let rules = compile("[[rule]]\n[[rule.do]]\nadd = 'X-Mark'\nvalue = 'here'").unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Ok(message) = Message::parse(&bytes) else { continue };
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        let applied = rules.apply(CORE, Direction::Out, &message, &mut scratch, &mut out);
        assert_eq!(applied, Applied::Changed);
        let (head, tail) = message.raw().split_at(message.head_end());
        assert_eq!(out, [head, b"X-Mark: here\r\n", tail].concat());
        seen += 1;
    }
    assert!(seen > 25, "{seen} messages");
}

/// `apply` plans splices on a message that was read, `apply_unread` copies it once: both are asked
/// by [`apply`], for every two actions on every message, in one rule and in two.
#[test]
fn rules_without_conditions_change_a_message_that_was_not_read_in_the_same_way() {
    let actions = [
        "set = 'User-Agent'\nvalue = 'Tandem'",
        "set = 'Supported'\nvalue = 'path'",
        "set = 'Subject'\nvalue = ''",
        "set = 'X-Odd'\nvalue = 'even'",
        "add = 'X-New'\nvalue = 'a, b'",
        "add = 'User-Agent'\nvalue = 'second'",
        "add = 'Server'\nvalue = 'first'",
        "add = 'x-odd'\nvalue = 'more'",
        "remove = 'Supported'",
        "remove = 'x-ODD'",
        "remove = 'Subject'",
    ];
    let twice = INVITE.replace("k: 100rel", "x-odd: 2\r\nk: 100rel\r\nX-ODD: 3\r\n\tfolded");
    let mut tried = 0;
    for first in actions {
        for second in actions {
            let one_rule = format!("[[rule]]\n[[rule.do]]\n{first}\n[[rule.do]]\n{second}");
            let two_rules = format!(
                "[[rule]]\n[[rule.do]]\n{first}\n[[rule]]\ndirection = 'out'\n[[rule.do]]\n{second}"
            );
            for rules in [one_rule, two_rules] {
                if compile(&rules).is_ok() {
                    for message in [INVITE, BUSY, &twice] {
                        apply(&rules, message);
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 400, "{tried} were tried");
}

#[test]
fn rules_that_cannot_be_applied_to_the_end_say_so_and_write_nothing() {
    let doubled = "[[rule]]\n[[rule.do]]\nreplace = 'Subject'\npattern = '(.+)'\n\
        value = '$1$1'\n";
    let two_passes = "[[rule]]\n[[rule.do]]\nadd = 'X-Mark'\nvalue = 'here'\n\
        [[rule]]\n[[rule.when]]\nheader = 'X-Mark'\n[[rule.do]]\nremove = 'Subject'\n";
    let long =
        INVITE.replace("Max-Forwards", &format!("Subject: {}\r\nMax-Forwards", "s".repeat(40_000)));
    let many = INVITE.replace("Max-Forwards", &("X-Pad: 1\r\n".repeat(117) + "Max-Forwards"));
    for (rules, text) in [(doubled, long), (two_passes, many)] {
        let rules = compile(rules).unwrap();
        let message = Message::parse(text.as_bytes()).expect("a message");
        let (mut scratch, mut out) = (Scratch::default(), b"before".to_vec());
        for unread in [false, true] {
            let applied = if unread {
                rules.apply_unread(CORE, Direction::Out, message.raw(), &mut scratch, &mut out)
            } else {
                rules.apply(CORE, Direction::Out, &message, &mut scratch, &mut out)
            };
            assert_eq!((applied, &out[..]), (Applied::Failed, &b"before"[..]));
        }
    }
}

#[test]
fn a_folded_value_is_searched_as_it_reads() {
    // Whoever folds his line would pass by a rule otherwise.
    let folded = INVITE.replace("Softphone\r\n 1.2", "Soft\t \r\n\t phone\r\n 1.2");
    let rule = |pattern: &str, value: &str| {
        format!(
            "[[rule]]\n[[rule.when]]\nheader = 'User-Agent'\nmatches = '{pattern}'\n\
             [[rule.do]]\nset = 'Subject'\nvalue = '{value}'\n"
        )
    };
    for (pattern, value, subject) in [
        ("^Soft phone 1\\.2$", "met", "met"),
        ("^Soft (p.*e) (1.2)$", "$1/$2", "phone/1.2"),
        ("^(Soft) phone", "$1", "Soft"),
    ] {
        let changed = apply(&rule(pattern, value), &folded);
        assert!(changed.contains(&format!("Subject: {subject}\r\n")), "{pattern}: {changed}");
    }
    let replace =
        "[[rule]]\n[[rule.do]]\nreplace = 'User-Agent'\npattern = 'Soft phone'\nvalue = 'x'\n";
    assert!(apply(replace, &folded).contains("USER-agent:x 1.2\r\n"));
}

#[test]
fn what_must_change_and_cannot_is_refused() {
    for rule in [
        "replace = 'From'\npattern = '>'\nvalue = ''",
        "replace = 'From'\npattern = 'sip:alice'\nvalue = ''",
    ] {
        let rules = compile(&format!("[[rule]]\n[[rule.do]]\n{rule}")).unwrap();
        let message = Message::parse(INVITE.as_bytes()).expect("a message");
        let (mut scratch, mut out) = (Scratch::default(), Vec::new());
        let applied = rules.apply(CORE, Direction::Out, &message, &mut scratch, &mut out);
        assert_eq!((applied, out.len()), (Applied::Failed, 0), "{rule}");
    }
}
