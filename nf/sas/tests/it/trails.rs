//! What becomes a trail, how it went, and that it is found again.

use crate::bench::{Bench, CORE, Leg, SSC, SSC_CORE, UA};
use runtime::{Ask, Effects, Function as _, Ticket};
use sas::config::Keep;
use sas::trail::{Kind, Outcome, Trail};

/// Who is part of no call.
const MALLORY: &str = "203.0.113.66:5060";
const START: machine::Time = machine::Time::from_millis(1_800_000_000_000);
/// The agent of the bench.
const AGENT: u32 = 2001;

#[test]
fn both_legs_of_a_call_are_one_trail_with_its_times() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.call("+4930111222", "+4940333444", "one", "00000000000000aa");
    // Before it is closed it is found in memory, afterwards on disk: the same.
    let before = bench.only(&[("number", "030111222")]);
    bench.wait_ms(10_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    let trail = bench.only(&[("number", "030111222")]);
    assert_eq!(trail, before);
    assert_eq!((trail.kind, trail.outcome, trail.status), (Kind::Call, Outcome::Answered, 200));
    assert_eq!(trail.places.len(), 14);
    assert_eq!(trail.post_dial_delay_ms(), Some(120));
    assert_eq!(trail.duration_ms(), Some(30_005));
    assert_eq!(trail.call_ids.len(), 2);
    assert_eq!(trail.hosts.len(), 4);
    for (name, count) in [
        ("sas_packets_total", 14),
        ("sas_messages_total", 14),
        ("sas_trails_opened_total", 1),
        ("sas_trails_closed_total", 1),
        ("sas_post_dial_delay_ms", 1),
        ("sas_call_duration_ms", 1),
        ("store_entries_total", 14),
    ] {
        assert_eq!(bench.metric(name), count, "{name}");
    }
}

#[test]
fn a_trail_with_more_names_than_a_record_may_have_is_closed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "bob", "names");
    for round in 0..200 {
        let names: String = (0..90)
            .map(|n| format!("P-Asserted-Identity: <sip:u{round}x{n}@a{round}x{n}.example>\r\n"))
            .collect();
        let text = leg.request("REGISTER", round + 1);
        let text = text.replacen("CSeq: ", &format!("{names}CSeq: "), 1);
        bench.sip(UA, SSC, &text, "");
    }
    bench.wait_ms(60_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    assert_eq!(bench.metric("sas_trails_closed_total"), 1);
    assert_eq!(bench.only(&[("call_id", "names")]).call_ids.len(), 1);
}

#[test]
fn a_trail_is_found_by_everything_a_person_may_know_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.call("+4930111222", "+4940333444", "one", "aa");
    bench.call("alice", "bob", "two", "bb");
    for round in 0..2 {
        for pairs in [
            &[("number", "+4930111222")][..],
            &[("number", "111222")],
            &[("number", "4930*")],
            &[("q", "tel:+4940333444")],
            &[("q", "sip:+4930111222@access.example.org")],
            &[("call_id", "one-a")],
            &[("call_id", "one-b")],
            &[("q", "one-b")],
            &[("address", SSC), ("number", "333444")],
            &[("method", "INVITE"), ("status", "200"), ("q", "one-a")],
            &[
                ("outcome", "answered"),
                ("kind", "call"),
                ("address", "203.0.113.9"),
                ("q", "one-a"),
            ],
        ] {
            assert_eq!(&*bench.only(pairs).from, "sip:+4930111222@access.example.org");
        }
        assert_eq!(&*bench.only(&[("q", "Alice")]).to, "sip:bob@core.example.org");
        let none =
            [("q", "carol"), ("call_id", "one"), ("status", "486"), ("address", "192.0.2.2")];
        for pair in none {
            assert_eq!(bench.search(&[pair]).trails.len(), 0, "{pair:?} in round {round}");
        }
        assert_eq!(bench.search(&[("address", UA)]).trails.len(), 2);
        bench.wait_ms(10_000);
    }
}

#[test]
fn pages_follow_each_other_newest_first_over_memory_and_disk() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    for n in 0..25 {
        let leg = Leg::new("alice", "bob", &format!("options-{n}"));
        bench.sip(UA, SSC, &leg.request("OPTIONS", 1), "");
        bench.sip(SSC, UA, &leg.response(200, 1, "OPTIONS"), "");
        bench.wait_ms(300);
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = bench.search(&[("kind", "options"), ("limit", "4"), ("cursor", &cursor)]);
        seen.extend(page.trails.iter().map(|trail| trail.call_ids[0].to_string()));
        let Some(next) = page.next else { break };
        cursor = next;
    }
    let expected: Vec<_> = (0..25).rev().map(|n| format!("options-{n}")).collect();
    assert_eq!(seen, expected);
    assert!(bench.metric("sas_trails_live") > 0 && bench.metric("sas_trails_closed_total") > 0);
    let trails = bench.search(&[("limit", "25")]).trails;
    let (newest, oldest) = (trails[3].started_us, trails[9].started_us);
    let window = [("from_us", &*oldest.to_string()), ("to_us", &*newest.to_string())];
    assert_eq!(bench.search(&window).trails.len(), 7);
}

#[test]
fn legs_are_joined_by_the_marks_that_others_leave() {
    // The agent with this number captures on trusted networks only.
    let directory = tempfile::tempdir().unwrap();
    let config = sas::config::Sas { joins: vec![AGENT], ..sas::config::Sas::default() };
    let mut bench = Bench::with(directory.path(), config, START);
    for (n, (first, second)) in [
        ("", "X-CID: join-0-a\r\n"),
        (
            "Session-ID: ab30317f1a784dc48ff824d0d3715d86;remote=00\r\n",
            "Session-ID: ab30317f1a784dc48ff824d0d3715d86\r\n",
        ),
        (
            "P-Charging-Vector: icid-value=\"x9@y\";icid-generated-at=192.0.2.1\r\n",
            "P-Charging-Vector: orig-ioi=home1;icid-value=x9@y\r\n",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut a = Leg::new("alice", "bob", &format!("join-{n}-a"));
        let mut b = Leg::new("alice", "bob", &format!("join-{n}-b"));
        (a.extra, b.extra) = (first.to_owned(), second.to_owned());
        // Kamailio gives the Call-ID as correlation: each leg its own.
        bench.sip(UA, SSC, &a.request("INVITE", 1), &a.call_id);
        bench.sip(SSC_CORE, CORE, &b.request("INVITE", 1), &b.call_id);
        let trail = bench.only(&[("call_id", &a.call_id)]);
        assert_eq!(trail.call_ids.len(), 2, "{first}{second}");
        assert_eq!(bench.only(&[("call_id", &b.call_id)]).id, trail.id);
        bench.wait_ms(1);
    }
}

/// What a stranger may write to get into somebody else's call.
fn headers_for(victim: &Leg) -> [String; 4] {
    [
        format!("X-CID: {}\r\n", victim.call_id),
        format!("X-Call-ID: {}\r\n", victim.call_id),
        "Session-ID: ab30317f1a784dc48ff824d0d3715d86\r\n".to_owned(),
        "P-Charging-Vector: icid-value=x9@y\r\n".to_owned(),
    ]
}

#[test]
fn a_header_brings_nobody_into_a_call_that_he_is_no_part_of() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let mut victim = Leg::new("alice", "bob", "victim");
    victim.extra = "Session-ID: ab30317f1a784dc48ff824d0d3715d86\r\n\
        P-Charging-Vector: icid-value=x9@y\r\n"
        .to_owned();
    // Agents that say what belongs together, say the Call-ID, or say nothing.
    for (n, own) in ["0123456789abcdef", "victim", ""].into_iter().enumerate() {
        victim.call_id = format!("victim{n}");
        let own = if own == "victim" { victim.call_id.clone() } else { own.to_owned() };
        bench.sip(UA, SSC, &victim.request("INVITE", 1), &own);
        for (k, header) in headers_for(&victim).into_iter().enumerate() {
            let mut stranger = Leg::new("mallory", "bob", &format!("stranger{n}{k}"));
            stranger.extra = header.clone();
            let text = stranger.request("INVITE", 1);
            let tokens = [format!("fedcba98765432{n}{k}"), stranger.call_id.clone(), String::new()];
            bench.sip(MALLORY, SSC, &text, &tokens[n]);
            // What the controller makes of it comes from a host of every call.
            let mut second = Leg::new("mallory", "bob", &format!("second{n}{k}"));
            second.extra = header;
            if n == 0 {
                bench.sip(SSC, CORE, &second.request("INVITE", 1), &tokens[0]);
            }
        }
        let trail = bench.only(&[("call_id", &victim.call_id)]);
        assert_eq!(trail.call_ids, [victim.call_id.clone().into_boxed_str()], "agent {n}");
        let found = bench.only(&[("call_id", &format!("stranger{n}0"))]);
        assert_ne!(found.id, trail.id);
        bench.wait_ms(200_000);
    }
    assert!(bench.metric("sas_unjoined_messages_total") >= 8);
}

#[test]
fn a_back_to_back_user_agent_joins_the_legs_that_it_has_itself_and_not_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let a = Leg::new("alice", "bob", "first");
    bench.sip(UA, SSC, &a.request("INVITE", 1), &a.call_id);
    for n in 0..40 {
        let mut b = Leg::new("alice", "bob", &format!("second{n}"));
        b.extra = "X-CID: first\r\n".to_owned();
        bench.sip(SSC, CORE, &b.request("INVITE", 1), &b.call_id);
    }
    let trail = bench.only(&[("call_id", "first")]);
    assert_eq!(bench.only(&[("call_id", "second0")]).id, trail.id);
    assert_eq!(bench.only(&[("call_id", "second15")]).id, trail.id);
    assert_ne!(bench.only(&[("call_id", "second16")]).id, trail.id);
}

#[test]
fn what_an_agent_says_itself_is_stronger_than_a_call_id_that_somebody_chose() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let victim = Leg::new("alice", "bob", "victim");
    bench.sip(UA, SSC, &victim.request("INVITE", 1), "0123456789abcdef");
    let own = Leg::new("mallory", "bob", "own");
    bench.sip(MALLORY, SSC, &own.request("INVITE", 1), "fedcba9876543210");
    let copied = Leg::new("mallory", "bob", "victim");
    bench.sip(MALLORY, SSC, &copied.request("OPTIONS", 7), "fedcba9876543210");
    assert_eq!(bench.only(&[("call_id", "victim"), ("number", "alice")]).places.len(), 1);
}

#[test]
fn packets_without_the_key_are_dropped_and_counted_by_their_source() {
    let directory = tempfile::tempdir().unwrap();
    let keys = ["the new key of the agents", "the old key of the agents"];
    let config = sas::config::Sas {
        auth_key_file: Some("hep.key".to_owned()),
        auth_keys: keys.map(authentication::Password::new).to_vec(),
        ..sas::config::Sas::default()
    };
    let mut bench = Bench::with(directory.path(), config, START);
    // Questions are asked an hour after the start.
    bench.wait_ms(3_590_000);
    let all = ["", "the new key of the agent", keys[0], keys[1], "the new key of the agents!"];
    for (n, key) in all.into_iter().enumerate() {
        bench.key = key.as_bytes().to_vec();
        let leg = Leg::new("alice", "bob", &format!("keyed{n}"));
        bench.sip(UA, SSC, &leg.request("INVITE", 1), "");
    }
    assert_eq!(bench.metric("sas_unauthenticated_packets_total"), 3);
    assert_eq!(bench.metric("sas_messages_total"), 2);
    let ask =
        |path: &str| (bench.ask)(runtime::Ask { path: path.into(), params: Default::default() });
    let status = ask("status").unwrap();
    assert_eq!(status["unauthenticated"][0]["packets"], 3, "{status}");
    let alarms = ask("alarms").unwrap();
    assert_eq!(alarms[0]["name"], "sas-unauthenticated", "{alarms}");
    // A file that was not read lets nobody in.
    let unread =
        sas::config::Sas { auth_key_file: Some("hep.key".to_owned()), ..Default::default() };
    assert!(!unread.admits(b"") && !unread.admits(keys[0].as_bytes()));
}

#[test]
fn nothing_secret_reaches_the_disk_unless_it_shall() {
    let secrets = ["6629fae49393a05397450978507c4ef1", "d0RmdmcmVCspeEc3QGZi", "meet me at nine"];
    for keeps in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let keep = [Keep::Credentials, Keep::Keys, Keep::Bodies];
        let keep = if keeps { keep.to_vec() } else { Vec::new() };
        let config = sas::config::Sas { keep, ..sas::config::Sas::default() };
        let mut bench = Bench::with(directory.path(), config, START);
        let mut leg = Leg::new("alice", "bob", "secrets");
        leg.extra = format!(
            "Authorization: Digest username=\"alice\", realm=\"x\", response=\"{}\"\r\n",
            secrets[0]
        );
        let with = |text: String, body: &str| {
            let head = text.split("Content-Length").next().unwrap();
            format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
        };
        let sdp = format!("v=0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:{}\r\n", secrets[1]);
        bench.sip(UA, SSC, &with(leg.request("INVITE", 1), &sdp), "");
        let letter = Leg::new("alice", "bob", "letter");
        bench.sip(UA, SSC, &with(letter.request("MESSAGE", 1), secrets[2]), "");
        bench.captured(hep::KIND_SIP, UA, SSC, b"junk\nAuthorization: Basic c2VjcmV0\n\n", "");
        let (page, _) = bench.detail(bench.only(&[("call_id", "secrets")]).id);
        assert!(page.messages[0].text.contains("username=\"alice\""));
        let shown = page.messages[0].text.contains("response=\"<redacted 32 octets>\"");
        assert_eq!(shown, !keeps);
        bench.wait_ms(300_000);
        drop(bench);
        let kept = whole(directory.path());
        for secret in secrets.iter().chain(&["c2VjcmV0"]) {
            let is_there = kept.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert_eq!(is_there, keeps, "{secret}");
        }
    }
}

/// All octets of all files.
fn whole(folder: &std::path::Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(whole(&path));
        } else {
            all.extend(std::fs::read(path).unwrap());
        }
    }
    all
}

#[test]
fn every_end_has_its_outcome() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let rows: &[(&str, &[u16], bool, Outcome)] = &[
        ("INVITE", &[180, 486], false, Outcome::Busy),
        ("INVITE", &[180, 487], true, Outcome::Cancelled),
        ("INVITE", &[180, 480], false, Outcome::NoAnswer),
        ("INVITE", &[408], false, Outcome::NoAnswer),
        ("INVITE", &[404], false, Outcome::Rejected),
        ("INVITE", &[603], false, Outcome::Rejected),
        ("INVITE", &[503], false, Outcome::Failed),
        ("INVITE", &[302], false, Outcome::Redirected),
        ("INVITE", &[183], false, Outcome::NoAnswer),
        ("INVITE", &[200], false, Outcome::Answered),
        ("REGISTER", &[200], false, Outcome::Registered),
        ("REGISTER", &[403], false, Outcome::Rejected),
        ("REGISTER", &[], false, Outcome::NoAnswer),
        ("OPTIONS", &[200], false, Outcome::Ok),
        ("MESSAGE", &[202], false, Outcome::Ok),
        ("SUBSCRIBE", &[489], false, Outcome::Rejected),
        ("MESSAGE", &[500], false, Outcome::Failed),
    ];
    for (n, (method, statuses, cancel, _)) in rows.iter().enumerate() {
        let leg = Leg::new("alice", "bob", &format!("row-{n}"));
        bench.sip(UA, SSC, &leg.request(method, 1), "");
        for status in *statuses {
            bench.wait_ms(20);
            if *cancel && *status > 300 {
                bench.sip(UA, SSC, &leg.request("CANCEL", 1), "");
                bench.sip(SSC, UA, &leg.response(200, 1, "CANCEL"), "");
            }
            bench.sip(SSC, UA, &leg.response(*status, 1, method), "");
        }
    }
    // Longer than the longest patience: everything is closed.
    bench.wait_ms(5 * 3_600_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    for (n, (method, statuses, _, outcome)) in rows.iter().enumerate() {
        let trail = bench.only(&[("call_id", &format!("row-{n}"))]);
        assert_eq!(trail.outcome, *outcome, "{method} {statuses:?}");
        let last = statuses.last().copied().filter(|status| *status >= 200);
        assert_eq!(trail.status, last.unwrap_or(0));
    }
}

#[test]
fn the_agreement_of_a_phone_stands_in_the_ladder_of_its_registration() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "alice", "agreement");
    let (first, second) = ("00000000000000aa", "00000000000000ab");
    bench.sip(UA, SSC, &leg.request("REGISTER", 1), first);
    bench.sip(SSC, UA, &leg.response(401, 1, "REGISTER"), first);
    let chosen = br#"{"event":"AgreementChosen","impi":"a@x","algorithms":"null/aes-gcm"}"#;
    bench.captured(hep::KIND_LOG, UA, SSC, chosen, "agreement");
    bench.wait_ms(50);
    bench.sip(UA, SSC, &leg.request("REGISTER", 2), second);
    bench.sip(SSC, UA, &leg.response(200, 2, "REGISTER"), second);
    let established = br#"{"event":"AgreementEstablished","impi":"a@x","expires_s":630}"#;
    bench.captured(hep::KIND_LOG, UA, SSC, established, "agreement");
    bench.wait_ms(5_000);
    let trail = bench.only(&[("call_id", "agreement")]);
    assert_eq!((trail.outcome, trail.places.len()), (Outcome::Registered, 6));
    let (detail, _) = bench.detail(trail.id);
    let ladder = sas::ladder::draw(&detail, sas::ladder::Extent::Ladder);
    let at = |text: &str| ladder.find(text).unwrap_or_else(|| panic!("{text}: {ladder}"));
    assert!(at("401") < at("* AgreementChosen") && at("null/aes-gcm") < at("200"), "{ladder}");
    assert!(at("200") < at("* AgreementEstablished"), "{ladder}");
}

#[test]
fn a_challenge_is_not_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "alice", "challenge");
    bench.sip(UA, SSC, &leg.request("REGISTER", 1), "");
    bench.sip(SSC, UA, &leg.response(401, 1, "REGISTER"), "");
    bench.wait_ms(50);
    bench.sip(UA, SSC, &leg.request("REGISTER", 2), "");
    assert_eq!(bench.only(&[("q", "challenge")]).outcome, Outcome::InProgress);
    bench.sip(SSC, UA, &leg.response(200, 2, "REGISTER"), "");
    bench.wait_ms(5_000);
    let trail = bench.only(&[("q", "challenge")]);
    assert_eq!((trail.outcome, trail.places.len()), (Outcome::Registered, 4));
    let mut gone = Leg::new("alice", "alice", "gone");
    gone.extra = "Contact: *\r\nExpires: 0\r\n".to_owned();
    bench.sip(UA, SSC, &gone.request("REGISTER", 1), "");
    bench.sip(SSC, UA, &gone.response(200, 1, "REGISTER"), "");
    assert_eq!(bench.only(&[("q", "gone")]).outcome, Outcome::Deregistered);
}

#[test]
fn what_another_element_captured_first_is_no_trail_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (a, b) = (Leg::new("alice", "bob", "leg-a"), Leg::new("alice", "bob", "leg-b"));
    // The softswitch behind the controller sends its captures at once, the controller in batches.
    bench.agent = 7;
    bench.sip(SSC_CORE, CORE, &b.request("INVITE", 1), "");
    bench.sip(CORE, SSC_CORE, &b.response(100, 1, "INVITE"), "");
    bench.agent = AGENT;
    bench.sip(UA, SSC, &a.request("INVITE", 1), "0123456789abcdef");
    bench.sip(SSC_CORE, CORE, &b.request("INVITE", 1), "0123456789abcdef");
    bench.agent = 7;
    bench.sip(CORE, SSC_CORE, &b.response(180, 1, "INVITE"), "");
    let trail = bench.only(&[("number", "alice")]);
    assert_eq!(trail.call_ids.len(), 2);
    // The INVITE of the second leg was captured twice.
    assert_eq!((trail.places.len(), bench.metric("sas_duplicates_total")), (4, 1));
    assert_eq!(bench.only(&[("call_id", "leg-b")]).id, trail.id);
    let (detail, _) = bench.detail(trail.id);
    assert_eq!(detail.messages.len(), 4);
}

#[test]
fn a_call_id_that_a_stranger_has_copied_takes_nobodys_messages_away() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let victim = Leg::new("alice", "bob", "victim");
    bench.agent = 7;
    bench.sip(SSC_CORE, CORE, &victim.request("INVITE", 1), "");
    bench.agent = AGENT;
    let own = Leg::new("mallory", "bob", "own");
    bench.sip(MALLORY, SSC, &own.request("INVITE", 1), "fedcba9876543210");
    let copied = Leg::new("mallory", "bob", "victim");
    bench.sip(MALLORY, SSC, &copied.request("OPTIONS", 7), "fedcba9876543210");
    assert_eq!(bench.only(&[("call_id", "victim"), ("number", "alice")]).places.len(), 1);
}

#[test]
fn what_is_repeated_after_the_end_opens_no_call() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.call("alice", "bob", "one", "aa");
    bench.wait_ms(10_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    let leg = Leg::new("alice", "bob", "one-a");
    bench.sip(UA, SSC, &leg.request("BYE", 2), "");
    bench.sip(SSC, UA, &leg.response(200, 2, "BYE"), "");
    assert_eq!((bench.metric("sas_trails_live"), bench.metric("sas_late_messages_total")), (0, 2));
    // A new call with the name of an old one is one.
    bench.sip(UA, SSC, &leg.request("INVITE", 9), "");
    assert_eq!(bench.metric("sas_trails_live"), 1);
    // After 64 T1 what comes is no repetition.
    bench.wait_ms(240_000);
    bench.sip(UA, SSC, &leg.request("BYE", 11), "");
    assert_eq!((bench.metric("sas_trails_live"), bench.metric("sas_late_messages_total")), (1, 2));
}

#[test]
fn a_repetition_is_marked_and_a_second_capture_is_not_kept_twice() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "bob", "again");
    let invite = leg.request("INVITE", 1);
    bench.sip(UA, SSC, &invite, "");
    bench.wait_ms(500);
    bench.sip(UA, SSC, &invite, "");
    bench.agent = 7;
    bench.sip(UA, SSC, &invite, "");
    bench.agent = 2001;
    let busy = leg.response(486, 1, "INVITE");
    bench.sip(SSC, UA, &busy, "");
    let trail = bench.only(&[("call_id", "again")]);
    assert_eq!((trail.places.len(), trail.retransmissions), (3, 1));
    let (detail, _) = bench.detail(trail.id);
    let again: Vec<_> = detail.messages.iter().map(|m| m.retransmission_of).collect();
    assert_eq!(again, [None, Some(0), None]);
    assert_eq!(bench.metric("sas_duplicates_total"), 1);
    assert_eq!(bench.metric("sas_retransmissions_total"), 1);
}

#[test]
fn what_is_not_sip_is_kept_and_shown_as_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.sip(UA, SSC, "INVITE sip:bob SIP/2.0\r\nVia: nonsense\r\n\r\n", "0badbadbadbadbad");
    let event = br#"{"event":"MessageMalformed","text":"Via is broken","offset":24}"#;
    bench.captured(hep::KIND_LOG, UA, SSC, event, "0badbadbadbadbad");
    bench.wait_ms(5_000);
    let trail = bench.only(&[("kind", "rejected")]);
    assert_eq!((trail.outcome, trail.places.len()), (Outcome::Rejected, 2));
    let (detail, _) = bench.detail(trail.id);
    assert!(detail.messages[0].text.contains("nonsense"));
    assert_eq!(detail.events[0].name, "MessageMalformed");
    assert_eq!(detail.events[0].text, "Via is broken, offset 24");
    assert_eq!(bench.metric("sas_malformed_messages_total"), 1);
    assert_eq!(bench.metric("sas_events_total"), 1);
    bench.raw(b"HEP2 or whatever");
    bench.sip(UA, SSC, "\r\n\r\n", "");
    assert_eq!(bench.metric("sas_malformed_packets_total"), 1);
    assert_eq!(bench.metric("sas_refused_packets_total"), 1);
}

#[test]
fn a_compressed_payload_is_opened_and_a_wrong_key_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let config =
        sas::config::Sas { auth_key: Some("secret".to_owned()), ..sas::config::Sas::default() };
    let start = machine::Time::from_millis(1_800_000_000_000);
    let mut bench = Bench::with(directory.path(), config, start);
    let leg = Leg::new("alice", "bob", "deflated");
    bench.sip(UA, SSC, &leg.request("INVITE", 1), "");
    assert_eq!(bench.metric("sas_unauthenticated_packets_total"), 1);
    let deflated =
        miniz_oxide::deflate::compress_to_vec_zlib(leg.request("INVITE", 1).as_bytes(), 6);
    let mut bytes = Vec::new();
    hep::Packet {
        protocol: hep::UDP,
        source: UA.parse().unwrap(),
        destination: SSC.parse().unwrap(),
        seconds: 1_800_000_000,
        micros: 0,
        kind: hep::KIND_SIP,
        capture_id: 3,
        correlation: b"",
        auth_key: b"secret",
        tags: b"",
        payload: &deflated,
    }
    .write(&mut bytes);
    // The payload is the last chunk; 0x0f becomes 0x10.
    let at = bytes.len() - deflated.len() - 3;
    assert_eq!(bytes[at], 0x0f);
    bytes[at] = 0x10;
    bench.raw(&bytes);
    assert_eq!(bench.only(&[("call_id", "deflated")]).kind, Kind::Call);
}

#[test]
fn a_trail_goes_on_after_a_crash_as_if_nothing_had_happened() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "bob", "long");
    let other = Leg::new("alice", "bob", "long-b");
    bench.sip(UA, SSC, &leg.request("INVITE", 1), "cc");
    bench.sip(SSC_CORE, CORE, &other.request("INVITE", 1), "cc");
    bench.wait_ms(100);
    bench.sip(SSC, UA, &leg.response(180, 1, "INVITE"), "cc");
    bench.sip(SSC, UA, &leg.response(200, 1, "INVITE"), "cc");
    bench.wait_ms(1_000);
    let before = bench.only(&[("call_id", "long")]);
    for round in 0..3u64 {
        let now = bench.now;
        drop(bench);
        bench = Bench::with(directory.path(), sas::config::Sas::default(), now);
        assert_eq!(bench.metric("sas_trails_recovered_total"), 1, "round {round}");
        assert_eq!(bench.only(&[("call_id", "long-b")]), before);
        // Odd rounds die before the snapshot of the new partition is written.
        bench.wait_ms(if round % 2 == 0 { 1_000 } else { 0 });
    }
    bench.sip(UA, SSC, &leg.request("BYE", 2), "cc");
    bench.sip(SSC, UA, &leg.response(200, 2, "BYE"), "cc");
    bench.wait_ms(10_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    let trail = bench.only(&[("number", "alice")]);
    assert_eq!((trail.id, trail.outcome), (before.id, Outcome::Answered));
    assert_eq!(trail.places.len(), 6);
    assert_eq!(bench.detail(trail.id).0.messages.len(), 6);
    assert!(trail.duration_ms().is_some());
}

#[test]
fn the_quietest_trail_makes_room_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let config = sas::config::Sas { live_max: 1_000, ..sas::config::Sas::default() };
    let start = machine::Time::from_millis(1_800_000_000_000);
    let mut bench = Bench::with(directory.path(), config, start);
    for n in 0..1_100 {
        let leg = Leg::new("alice", "bob", &format!("many-{n}"));
        bench.sip(UA, SSC, &leg.request("INVITE", 1), "");
        bench.wait_ms(1);
    }
    assert_eq!(bench.metric("sas_trails_live"), 1_000);
    assert_eq!(bench.metric("sas_trails_evicted_total"), 100);
    for n in [0, 50, 99, 500, 1_099] {
        let trail = bench.only(&[("call_id", &format!("many-{n}"))]);
        assert_eq!(trail.outcome, Outcome::InProgress);
    }
    let ask = runtime::Ask { path: "alarms".to_owned(), ..runtime::Ask::default() };
    let alarms = (bench.ask)(ask).unwrap();
    assert_eq!(alarms[0]["name"], "sas-live-full");
}

#[test]
fn messages_of_a_link_that_are_no_text_are_a_trail_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (asp, gateway) = ("10.0.1.1:2905", "10.0.0.1:2905");
    bench.protocol = hep::SCTP;
    bench.captured(hep::KIND_M3UA, asp, gateway, &[1, 0, 3, 1, 0, 0, 0, 8], "00000000000000aa");
    bench.captured(hep::KIND_M3UA, gateway, asp, &[1, 0, 3, 4, 0, 0, 0, 8], "00000000000000aa");
    bench.captured(35, asp, gateway, b"{}", "00000000000000aa");
    assert_eq!(bench.metric("sas_refused_packets_total"), 1, "media are nobody's signalling");
    bench.wait_ms(60_000);
    let trail = bench.only(&[("kind", "session")]);
    assert_eq!((trail.outcome, trail.places.len()), (Outcome::InProgress, 2), "links stay quiet");
    assert_eq!(trail.hosts.len(), 2);
    let (detail, _) = bench.detail(trail.id);
    assert_eq!(detail.messages[0].transport, "sctp");
    assert_eq!(detail.messages[0].text, "M3UA\n01 00 03 01 00 00 00 08");
}

#[test]
fn events_of_a_session_are_a_trail_that_ends_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (peer, reflector) = ("10.0.1.1:179", "10.0.0.1:179");
    for event in [
        &br#"{"event":"SessionMessageReceived","peer":"a","message":"OPEN","octets":29}"#[..],
        br#"{"event":"SessionEstablished","peer":"a","text":""}"#,
        br#"{"event":"SessionEnded","peer":"a","text":"the connection was lost"}"#,
    ] {
        bench.captured(hep::KIND_LOG, peer, reflector, event, "00000000000000bb");
        bench.wait_ms(1_000);
    }
    bench.wait_ms(5_000);
    let trail = bench.only(&[("kind", "session")]);
    assert_eq!((trail.outcome, trail.places.len(), trail.hosts.len()), (Outcome::Ok, 3, 2));
    assert!(trail.ended_us > trail.started_us);
    assert_eq!((&*trail.from, &*trail.to), ("a", reflector));
    assert_eq!(bench.only(&[("q", "A")]).id, trail.id, "by the name of the peer");
    let (detail, _) = bench.detail(trail.id);
    assert_eq!(detail.messages[0].method.as_deref(), Some("OPEN"));
    let events: Vec<&str> = detail.events.iter().map(|it| &*it.name).collect();
    assert_eq!(events, ["SessionEstablished", "SessionEnded"]);
}

#[test]
fn a_session_that_never_stood_ends_with_its_notification() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    for message in ["OPEN", "NOTIFICATION"] {
        let event = format!(r#"{{"event":"SessionMessageSent","peer":"a","message":"{message}"}}"#);
        let (peer, own) = ("10.0.1.1:179", "10.0.0.1:179");
        bench.captured(hep::KIND_LOG, peer, own, event.as_bytes(), "00000000000000bb");
    }
    let trail = bench.only(&[("kind", "session")]);
    assert_eq!(trail.outcome, Outcome::Ok);
}

#[test]
fn a_trail_is_found_by_what_its_function_calls_it_while_it_runs_and_afterwards() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.call("alice", "bob", "named", "9655bb4902ab90d1");
    for _ in 0..2 {
        let trail = bench.only(&[("call_id", "9655bb4902ab90d1")]);
        assert_eq!(bench.read("9655bb4902ab90d1").unwrap().trail.id, Trail::id_text(trail.id));
        assert_eq!(bench.read("named-b").unwrap().trail.id, Trail::id_text(trail.id));
        bench.wait_ms(60_000);
    }
    assert!(bench.read("9655bb4902ab90d2").is_none());
}

#[test]
fn a_search_of_many_trails_in_memory_takes_several_turns_and_finds_the_newest() {
    const TRAILS: usize = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    for number in 0..TRAILS {
        let leg = Leg::new("100", &format!("2{number:05}"), &format!("many-{number}"));
        bench.now += machine::Duration::from_micros(10);
        bench.sip(UA, SSC, &leg.request("INVITE", 1), "");
    }
    let newest = bench.search(&[("limit", "3")]);
    let (mut now, mut out, mut turns) = (bench.now, Effects::default(), 0);
    let mut sas = bench.sas.lock().unwrap();
    let params = [("limit".to_owned(), "3".to_owned())].into();
    let ask = Ask { path: "live".to_owned(), params };
    assert!(sas.question(now, &ask, Ticket(7), &mut out).is_none(), "it takes turns");
    while out.answers.is_empty() {
        now = sas.deadline().expect("a turn comes").max(now);
        sas.tick(now, &mut out);
        turns += 1;
    }
    assert!(turns > TRAILS / 4_096, "{turns} turns");
    let (ticket, answer) = &out.answers[0];
    let rows = answer.as_ref().unwrap()["rows"].as_array().unwrap();
    assert_eq!((*ticket, rows.len()), (Ticket(7), 4), "one more says that there are more");
    assert_eq!(newest.trails.len(), 3);
}
