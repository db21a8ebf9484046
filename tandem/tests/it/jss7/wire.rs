//! What passed between jSS7 and gateways, as tshark reads it: M3UA, SCCP, TCAP, MAP and CAP.

use m3ua::codec::{Data, Framing, frame};
use peers::Passed;
use sccp::codec::Unit;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What tshark remarks on associations whose beginning it has not seen.
const KNOWN: &[&str] = &["Unknown association"];
const FIELDS: [&str; 11] = [
    "tcap.begin_element",
    "tcap.continue_element",
    "tcap.end_element",
    "tcap.abort_element",
    "tcap.otid",
    "tcap.dtid",
    "gsm_old.localValue",
    "camel.local",
    "_ws.expert.message",
    "_ws.malformed",
    "sccp.calling.ssn",
];
/// The payload protocol of M3UA in SCTP.
const M3UA: u32 = 3;
/// The subsystem of CAP.
const CAP: u8 = 146;

/// Kinds of messages of TCAP, in the order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Begin,
    Continue,
    End,
    Abort,
}

/// A message of TCAP.
#[derive(Debug)]
pub struct Row {
    /// Whether it came from who connected.
    pub is_forth: bool,
    /// The subsystem that sends it, which has identifiers of its own at who is no cluster.
    pub subsystem: String,
    /// None: it is no message of TCAP.
    pub kind: Option<Kind>,
    pub otid: Option<String>,
    pub dtid: Option<String>,
    /// Numbers of operations of MAP.
    pub map: Vec<String>,
    /// Of CAP.
    pub cap: Vec<String>,
}

/// Whole messages of M3UA, each where its last octet passed.
pub fn messages(passed: Vec<Passed>) -> Vec<Passed> {
    let mut streams: BTreeMap<(u32, bool), Vec<u8>> = BTreeMap::new();
    let mut all = Vec::new();
    for it in passed {
        let stream = streams.entry((it.connection, it.is_forth)).or_default();
        stream.extend_from_slice(&it.octets);
        while let Framing::Message(length) = frame(stream) {
            all.push(Passed { octets: stream.drain(..length).collect(), ..it });
        }
    }
    all
}

/// As a classic pcap file of SCTP (link type 248): a packet for each message.
fn pcap(messages: &[Passed]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 248] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    let mut numbers: BTreeMap<(u32, bool), u32> = BTreeMap::new();
    for (seconds, it) in (0_u32..).zip(messages) {
        let number = numbers.entry((it.connection, it.is_forth)).or_default();
        *number += 1;
        let ends = [u16::try_from(it.connection).unwrap() + 10_000, 2_905];
        let [from, to] = if it.is_forth { ends } else { [ends[1], ends[0]] };
        let mut packet = [from.to_be_bytes(), to.to_be_bytes()].concat();
        let tag = it.connection << 1 | u32::from(it.is_forth);
        let length = u16::try_from(it.octets.len() + 16).unwrap();
        // DATA, the first and the last of its message.
        let chunk = 3 << 16 | u32::from(length);
        for word in [tag, 0, chunk, *number, 0, M3UA] {
            packet.extend(word.to_be_bytes());
        }
        packet.extend(&it.octets);
        packet.resize(packet.len().next_multiple_of(4), 0);
        let length = u32::try_from(packet.len()).unwrap();
        for word in [seconds, 0, length, length] {
            file.extend(word.to_be_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Whether it is of the subsystem of CAP.
fn is_cap(message: &Passed) -> bool {
    let message = m3ua::codec::Message::read(&message.octets).unwrap();
    let Ok(data) = Data::of(&message) else { return false };
    let message = sccp::codec::Message::read(data.protocol_data.payload).unwrap();
    let unit = Unit::of(&message).unwrap();
    unit.is_some_and(|it| it.calling.subsystem == Some(CAP))
}

/// What tshark reads of them: there must be nothing that it complains of. It takes dialogues of two
/// subsystems that have the same identifier for one: each is read by itself.
pub fn dissect(messages: &[Passed], folder: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for of_cap in [false, true] {
        let all = messages.iter().enumerate().filter(|it| is_cap(it.1) == of_cap);
        let (places, all): (Vec<usize>, Vec<Passed>) = all.map(|(at, it)| (at, it.clone())).unzip();
        rows.extend(places.into_iter().zip(read(&all, folder)));
    }
    rows.sort_by_key(|it| it.0);
    rows.into_iter().map(|it| it.1).collect()
}

fn read(messages: &[Passed], folder: &Path) -> Vec<Row> {
    let file = folder.join("passed.pcap");
    std::fs::write(&file, pcap(messages)).unwrap();
    let mut command = Command::new("tshark");
    for preference in ["mtp3.standard:ITU", "m3ua.version:RFC 4666", "sctp.tsn_analysis:FALSE"] {
        command.args(["-o", preference]);
    }
    command.args(["-T", "fields", "-E", "separator=|", "-r"]).arg(&file);
    command.args(FIELDS.iter().flat_map(|it| ["-e", it]));
    let output = command.output().expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), messages.len(), "{text}");
    text.lines().zip(messages).map(|(line, it)| row(line, it)).collect()
}

fn row(line: &str, message: &Passed) -> Row {
    let parts: Vec<&str> = line.split('|').collect();
    let remarks = parts[8].split(',').filter(|it| !it.is_empty());
    let mut remarks = remarks.filter(|it| !KNOWN.iter().any(|known| it.contains(known)));
    let octets = || message.octets.iter().map(|it| format!("{it:02x}")).collect::<String>();
    assert!(remarks.next().is_none() && parts[9].is_empty(), "{line}: {}", octets());
    let kinds = [Kind::Begin, Kind::Continue, Kind::End, Kind::Abort];
    let kind = kinds.into_iter().zip(&parts).find(|it| !it.1.is_empty()).map(|it| it.0);
    let word = |at: usize| Some(parts[at].to_owned()).filter(|it| !it.is_empty());
    let words = |at: usize| -> Vec<String> {
        parts[at].split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    let (map, cap, subsystem) = (words(6), words(7), parts[10].to_owned());
    Row { is_forth: message.is_forth, subsystem, kind, otid: word(4), dtid: word(5), map, cap }
}
