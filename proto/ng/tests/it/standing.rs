//! Commands about a call that stands, to rtpengine and to us: the same verdicts, and what we tell
//! of the call is what rtpengine tells.

use crate::commands::{ANSWER, OFFER};
use crate::controller::{Controller, Reply, Says};
use crate::rtpengine::Daemon;
use ng::bencode::Value;

/// What differs from run to run, or counts packets that nobody sent.
const OWN: [&str; 7] =
    ["created", "last signal", "local port", "packets", "bytes", "errors", "uptime"];

/// Reasons in rtpengine's words and in ours: programs act on the verdict, people read these.
const WORDS: [(&str, &str); 2] = [
    ("From-tag given, but no such tag exists", "Unknown tag"),
    ("Unknown call-ID", "Unknown call-id"),
];

type Entries = Vec<(&'static str, Says)>;

fn of_call(command: &'static str, more: &[(&'static str, Says)]) -> Entries {
    let head = [("command", Says::Text(command)), ("call-id", Says::Text("standing"))];
    head.into_iter().chain(more.iter().cloned()).collect()
}

fn both(daemon: &mut Daemon, controller: &mut Controller, entries: &Entries) -> [Reply; 2] {
    [daemon.ask(entries), controller.ask(entries)]
}

fn call(daemon: &mut Daemon, controller: &mut Controller) {
    let [from, to] = [("from-tag", Says::Text("a")), ("to-tag", Says::Text("b"))];
    let offer = of_call("offer", &[from.clone(), ("sdp", Says::Text(OFFER))]);
    let answer = of_call("answer", &[from, to, ("sdp", Says::Text(ANSWER))]);
    for entries in [offer, answer] {
        for reply in both(daemon, controller, &entries) {
            assert_eq!(reply.text("result").as_deref(), Some("ok"), "{entries:?}");
        }
    }
}

/// Where ours says something that theirs does not, `at` in words.
fn difference(at: &str, theirs: &Value<'_>, ours: &Value<'_>) -> Vec<String> {
    match (theirs, ours) {
        (Value::Dictionary(_), Value::Dictionary(entries)) => {
            let each =
                entries.iter().filter(|(key, _)| !OWN.iter().any(|own| own.as_bytes() == *key));
            each.flat_map(|(key, ours)| {
                let key = String::from_utf8_lossy(key);
                let at = format!("{at}/{key}");
                match theirs.at(&key) {
                    Some(theirs) => difference(&at, theirs, ours),
                    None => vec![format!("{at} is ours alone")],
                }
            })
            .collect()
        }
        // Words in whatever order.
        (Value::List(theirs), Value::List(ours)) if ours.iter().all(|it| it.text().is_some()) => {
            let unknown = ours.iter().filter(|word| !theirs.contains(word));
            unknown.map(|word| format!("{at}: {word:?} is ours alone")).collect()
        }
        (Value::List(theirs), Value::List(ours)) if theirs.len() == ours.len() => {
            let pairs = theirs.iter().zip(ours);
            pairs.flat_map(|(theirs, ours)| difference(at, theirs, ours)).collect()
        }
        _ if theirs == ours => Vec::new(),
        _ => vec![format!("{at}: theirs {theirs:?}, ours {ours:?}")],
    }
}

fn value(reply: &Reply) -> Value<'_> {
    let at = reply.0.iter().position(|octet| *octet == b' ').expect("a cookie") + 1;
    Value::read(&reply.0[at..]).expect("sound").expect("whole").0
}

#[test]
fn what_is_ordered_of_a_standing_call_is_done_or_refused_alike() {
    let (mut daemon, mut controller) = (Daemon::start(), Controller::new());
    call(&mut daemon, &mut controller);
    let from = |tag| ("from-tag", Says::Text(tag));
    let mut table: Vec<Entries> = Vec::new();
    for command in ["block media", "unblock media", "block DTMF", "unblock DTMF"] {
        table.extend([
            of_call(command, &[from("a")]),
            of_call(command, &[from("b")]),
            of_call(command, &[from("nobody")]),
            of_call(command, &[]),
            of_call(command, &[("flags", Says::List(&["all"]))]),
            vec![("command", Says::Text(command))],
            vec![("command", Says::Text(command)), ("call-id", Says::Text("none")), from("a")],
        ]);
    }
    // A digit goes out here before the first packet, there not: "No SSRC context present".
    table.extend([
        of_call("play DTMF", &[from("a"), ("code", Says::Text("x"))]),
        of_call("play DTMF", &[from("a"), ("code", Says::Text("12x"))]),
        of_call("play DTMF", &[from("a")]),
        of_call("play DTMF", &[from("nobody"), ("code", Says::Text("1"))]),
        of_call("delete", &[from("nobody")]),
        vec![("command", Says::Text("delete")), ("call-id", Says::Text("none")), from("a")],
        vec![("command", Says::Text("delete"))],
        vec![("command", Says::Text("query"))],
        of_call("delete", &[from("a"), ("delete-delay", Says::Number(0))]),
        of_call("query", &[]),
    ]);
    let mut failures = Vec::new();
    for entries in &table {
        let [theirs, ours] = both(&mut daemon, &mut controller, entries);
        for key in ["result", "error-reason", "warning"] {
            let pair = (theirs.text(key), ours.text(key));
            let as_words = (pair.0.as_deref(), pair.1.as_deref());
            let is_known = WORDS.iter().any(|(one, other)| as_words == (Some(one), Some(other)));
            if pair.0 != pair.1 && !is_known {
                failures.push(format!("{entries:?}: {key}: theirs and ours {pair:?}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_we_tell_of_calls_is_what_rtpengine_tells() {
    let (mut daemon, mut controller) = (Daemon::start(), Controller::new());
    call(&mut daemon, &mut controller);
    let list: Entries = vec![("command", Says::Text("list"))];
    let none: Entries = vec![("command", Says::Text("list")), ("limit", Says::Number(0))];
    let of_a = of_call("query", &[("from-tag", Says::Text("a"))]);
    let statistics: Entries = vec![("command", Says::Text("statistics"))];
    for entries in [list, none, of_call("query", &[]), of_a] {
        let [theirs, ours] = both(&mut daemon, &mut controller, &entries);
        let found = difference("", &value(&theirs), &value(&ours));
        assert!(found.is_empty(), "{entries:?}: {}", found.join("\n"));
    }
    // Of its hundreds of numbers we have few; those bear its names.
    let [theirs, ours] = both(&mut daemon, &mut controller, &statistics);
    let names = |reply: &Reply| {
        let told = value(reply);
        let Some(Value::Dictionary(groups)) = told.at("statistics") else {
            panic!("no statistics")
        };
        let group = |(name, group): &(&[u8], Value<'_>)| {
            let name = String::from_utf8_lossy(name).into_owned();
            let keys: Vec<String> = match group {
                Value::Dictionary(keys) => {
                    keys.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect()
                }
                _ => Vec::new(),
            };
            keys.into_iter().map(move |key| format!("{name}/{key}")).collect::<Vec<_>>()
        };
        groups.iter().flat_map(group).collect::<Vec<_>>()
    };
    let (theirs, ours) = (names(&theirs), names(&ours));
    let unknown: Vec<_> = ours.iter().filter(|name| !theirs.contains(name)).collect();
    assert!(unknown.is_empty() && !ours.is_empty(), "{unknown:?} of {ours:?}");
}
