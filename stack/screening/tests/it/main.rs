//! Sets of rules tried on recorded messages, and what is said of those that do less than they seem.
#![allow(missing_docs, clippy::unwrap_used)]

use m3ua::codec::{Data, NetworkAppearance, PointCode, ProtocolData};
use sccp::codec::{Address, Class, Digits, Form, Segmentation, Title, Unit, Word};
use screening_stack::{Recorded, RuleSet, Trial};
use std::net::IpAddr;
use tcap::codec::{Code, TransactionId, Writer};

const OWN: &str = "10.0.0.1";
const PEER: &str = "10.0.1.1";
const FRENCH: &str = "33609000001";
const JAPANESE: &str = "819000000001";

fn set(text: &str) -> RuleSet {
    toml::from_str(text).unwrap()
}

/// A set with a file of networks, compiled.
fn loaded(text: &str, file: &str) -> RuleSet {
    let mut set = set(text);
    set.compiled = set.compile(&|_| None, Some(toml::from_str(file).unwrap())).unwrap();
    set
}

fn trial(set: RuleSet, network: Option<NetworkAppearance>) -> Trial {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let peers = vec![("abroad".to_owned(), vec![address(PEER)])];
    Trial::new(&[set], &|_| None, peers, vec![address(OWN)], network)
}

fn title(digits: &str, subsystem: u8) -> Address {
    Address::title(Title::e164(Digits::parse(digits).unwrap()), subsystem)
}

fn begin(operation: i64) -> Vec<u8> {
    let mut data = Vec::new();
    // An own IMSI, and nothing else.
    let argument = [0x30, 10, 4, 8, 0x62, 0x02, 0x11, 0x32, 0x54, 0x76, 0x98, 0xf0];
    let writer = Writer::begin(TransactionId::of(77)).request(&[4, 0, 0, 1, 0, 1, 3], &[]);
    writer.write(&mut data, |out| out.invoke(1, None, Code::Local(operation), Some(&argument)));
    data
}

fn sccp(calling: &str, data: &[u8], segmentation: Option<Segmentation>) -> Vec<u8> {
    let mut payload = Vec::new();
    let unit = Unit {
        form: if segmentation.is_some() { Form::Extended } else { Form::Basic },
        word: Word::Data(Class { is_sequenced: false, returns: false }),
        hops: 15,
        called: title("491710000001", 6),
        calling: title(calling, 7),
        segmentation,
        importance: None,
        data,
    };
    unit.write(&mut payload).unwrap();
    payload
}

fn take(trial: &mut Trial, at_s: u64, source: &str, payload: &[u8]) {
    let code = |number| PointCode::new(number).unwrap();
    let protocol_data =
        ProtocolData { opc: code(1), dpc: code(9), si: 3, ni: 2, mp: 0, sls: 5, payload };
    let mut octets = Vec::new();
    let data = Data { network: None, routing_context: None, protocol_data, correlation: None };
    data.write(&mut octets);
    let (own, peer) = (OWN.parse().unwrap(), PEER.parse().unwrap());
    let (source, destination) = if source == OWN { (own, peer) } else { (peer, own) };
    trial.take(&Recorded { at_us: at_s * 1_000_000, source, destination, octets: &octets });
}

const RULES: &str = r#"
name = "abroad"
peers = ["abroad"]
network_appearances = [7]
own = { imsi = ["26201"], titles = ["49171"] }
rule = [{ name = "interrogation", operations = ["anyTimeInterrogation"] }]
"#;

fn by(trial: &Trial) -> Vec<(u64, &str)> {
    trial.refused.iter().map(|it| (it.at_us / 1_000_000, it.by.as_str())).collect()
}

#[test]
fn what_would_be_refused_is_told_and_what_this_node_has_sent_is_passed_over() {
    // The messages name no network: they are of that of the section.
    let mut trial = trial(set(RULES), Some(NetworkAppearance(7)));
    for (at, source, operation) in [(1, PEER, 2), (2, PEER, 71), (3, OWN, 71)] {
        take(&mut trial, at, source, &sccp(FRENCH, &begin(operation), None));
    }
    assert_eq!(by(&trial), [(2, "abroad/interrogation")]);
    assert_eq!((trial.judged, trial.passed_over), (2, 1));
    let refused = &trial.refused[0];
    let said = (refused.peer.as_deref(), refused.action, &*refused.operation, &*refused.calling);
    assert_eq!(said, (Some("abroad"), "discard", "anyTimeInterrogation", FRENCH));
}

#[test]
fn what_is_not_well_formed_would_be_refused_as_well() {
    let mut trial = trial(set(RULES), Some(NetworkAppearance(7)));
    take(&mut trial, 1, PEER, &[9, 0, 3, 200, 201]);
    take(&mut trial, 2, PEER, &sccp(FRENCH, b"\x62\x03abc", None));
    assert_eq!(by(&trial), [(1, "abroad/unreadable"), (2, "abroad/unreadable")]);
}

#[test]
fn messages_in_segments_are_judged_whole_and_their_ends_alone_are_not() {
    let mut trial = trial(set(RULES), Some(NetworkAppearance(7)));
    let data = begin(71);
    let (head, rest) = data.split_at(data.len() / 2);
    let part = |is_first, remaining, reference| {
        Some(Segmentation { is_first, is_sequenced: false, remaining, reference })
    };
    // Two at once, from two nodes with the same number for theirs.
    take(&mut trial, 1, PEER, &sccp(FRENCH, head, part(true, 1, 7)));
    take(&mut trial, 1, PEER, &sccp(JAPANESE, head, part(true, 1, 7)));
    take(&mut trial, 2, PEER, &sccp(FRENCH, rest, part(false, 0, 7)));
    take(&mut trial, 3, PEER, &sccp(JAPANESE, rest, part(false, 0, 7)));
    // The beginning of this one is not recorded.
    take(&mut trial, 4, PEER, &sccp(FRENCH, &data, part(false, 0, 8)));
    assert_eq!(by(&trial), [(2, "abroad/interrogation"), (3, "abroad/interrogation")]);
    assert_eq!((trial.judged, trial.segmented), (2, 2));
}

const NETWORKS: &str = r#"
[[operator]]
name = "France"
titles = ["33"]
at = [46.6, 2.4]
radius_km = 600
[[operator]]
name = "Japan"
titles = ["81"]
at = [36.5, 138.0]
radius_km = 1500
"#;

const PLACES: &str = r#"
name = "abroad"
own = { imsi = ["26201"], titles = ["49171"] }
rule = [{ name = "fast", operations = ["updateLocation"], location = "implausible" }]
"#;

#[test]
fn places_follow_from_what_was_recorded_before() {
    let mut trial = trial(loaded(PLACES, NETWORKS), None);
    for (at, calling) in [(0, FRENCH), (60, JAPANESE), (14 * 3_600, JAPANESE)] {
        take(&mut trial, at, PEER, &sccp(calling, &begin(2), None));
    }
    assert_eq!(by(&trial), [(60, "abroad/fast")]);
}

#[test]
fn rules_about_places_that_no_network_has_are_doubted() {
    let doubts = |set: &RuleSet| {
        let mut found = Vec::new();
        let compiled = set.compile(&|_| None, None).unwrap();
        let compiled = if set.compiled.screen().is_some() { &set.compiled } else { &compiled };
        set.doubts("screening[0]", compiled, &mut found);
        found.into_iter().map(|it| (it.path, it.what)).collect::<Vec<_>>()
    };
    let said = doubts(&set(PLACES));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].0 == "screening[0].file" && said[0].1.contains("no network has a place"));
    assert_eq!(doubts(&loaded(PLACES, NETWORKS)), []);
    assert_eq!(doubts(&set(RULES)), []);
}
