//! tshark reads what is written (Debian: tshark): every command of every application, with values
//! by seed, by its number and without a complaint.

use crate::random::random;
use diameter::Dictionary;
use diameter::codec::Message;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// A classic pcap file of IPv4 packets (link type 228) with SCTP DATA chunks of Diameter: each
/// message has a packet of its own.
fn pcap(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 262_144, 228] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, octets) in (1u32..).zip(messages) {
        let chunk = 16 + octets.len();
        let total = 20 + 12 + chunk;
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&u16::try_from(total).unwrap().to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        // Ports, verification tag, no checksum.
        packet.extend_from_slice(&[0x0f, 0x1c, 0x0f, 0x1c, 0, 0, 0, 1, 0, 0, 0, 0]);
        packet.extend_from_slice(&[0, 3]);
        packet.extend_from_slice(&u16::try_from(chunk).unwrap().to_be_bytes());
        packet.extend_from_slice(&number.to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 46]);
        packet.extend_from_slice(octets);
        let length = u32::try_from(packet.len()).unwrap();
        for word in [number, 0, length, length] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&packet);
    }
    file
}

/// What tshark 4.0 does not know: AVPs of later releases (TS 29.329 and TS 29.338 Release 13).
fn is_known(complaint: &str) -> bool {
    let unknown = complaint.strip_prefix("Unknown AVP ");
    let code = unknown.and_then(|it| it.split([' ', ',']).next()).and_then(|it| it.parse().ok());
    code.is_some_and(|it: u32| matches!(it, 720..=722 | 3324..=3328))
}

fn hex(text: &str) -> String {
    text.bytes().map(|it| format!("{it:02x}")).collect()
}

/// Octets and text that tshark reads as other protocols: numbers, short messages, SIP.
fn content(name: &str, command: &str) -> Option<Value> {
    let number = "94710100f0";
    let time = "42101010101000";
    let to = "0a919417010000";
    Some(Value::from(match name {
        "MSISDN" | "SC-Address" | "SM-RP-SMEA" | "SMS-GMSC-Address" | "AS-Number" => number.into(),
        "SGSN-Number" | "MSC-Number" | "MME-Number-for-MT-SMS" | "IP-SM-GW-Number" => number.into(),
        "SM-RP-UI" => match command {
            "OFR" => format!("0100{to}000005e8329bfd06"),
            "TFR" => format!("04{to}0000{time}05e8329bfd06"),
            // tshark reads reports in the direction of their requests: a DELIVER-REPORT here, a
            // SUBMIT-REPORT there, where it is the other way round.
            "OFA" => "0000".into(),
            _ => format!("0100{time}"),
        },
        "Subscription-Id-Data" => "001010000000001".into(),
        "3GPP-IMSI-MCC-MNC" => "00101".into(),
        "User-Equipment-Info-Type" => "EUI64".into(),
        "User-Equipment-Info-Value" => "0001020304050607".into(),
        "From-SIP-Header" | "To-SIP-Header" => hex("<sip:a@home>;tag=1"),
        "Contact" | "Path" | "Record-Route" => hex("<sip:a@home>"),
        "Call-ID-SIP-Header" => hex("a@home"),
        _ => return None,
    }))
}

/// Puts it in, within groups too.
fn fill(avps: &mut Value, command: &str) {
    for avp in avps.as_array_mut().into_iter().flatten() {
        for (name, value) in avp.as_object_mut().into_iter().flatten() {
            match content(name, command) {
                Some(content) => *value = content,
                None => fill(value, command),
            }
        }
    }
}

/// A message by seed whose content is what others can read.
fn sample(
    dictionary: &Dictionary,
    application: u32,
    command: &diameter::row::Command,
    (seed, is_request): (u64, bool),
) -> Vec<u8> {
    let (mut octets, mut json) = (Vec::new(), String::new());
    command.sample(application, is_request, &mut random(seed), &mut octets).unwrap();
    dictionary.to_json(&Message::read(&octets).unwrap(), &mut json).unwrap();
    let mut value: Value = serde_json::from_str(&json).unwrap();
    let name = if is_request { command.request } else { command.answer };
    fill(&mut value["avps"], name);
    dictionary.from_json(&value.to_string()).unwrap()
}

#[test]
fn tshark_finds_every_command_and_has_no_complaint() {
    let dictionary = Dictionary::default();
    let mut cases = Vec::new();
    for application in dictionary.applications() {
        for command in application.commands {
            for (seed, is_request) in (0..25).flat_map(|seed| [(seed, true), (seed, false)]) {
                let octets = sample(&dictionary, application.id, command, (seed, is_request));
                cases.push((application.id, *command, octets));
            }
        }
    }
    let octets: Vec<Vec<u8>> = cases.iter().map(|it| it.2.clone()).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&octets)).unwrap();
    let fields = ["diameter.cmd.code", "diameter.applicationId", "_ws.expert.message"];
    let output = Command::new("tshark")
        .args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;"])
        .args(fields.iter().flat_map(|it| ["-e", it]))
        .arg("-r")
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), cases.len(), "{errors}");
    let mut faults = BTreeMap::new();
    for (line, (application, command, octets)) in text.lines().zip(&cases) {
        let fields: Vec<&str> = line.splitn(3, '|').collect();
        let is_named =
            fields[0] == command.code.to_string() && fields[1] == application.to_string();
        let complaints = fields[2].split(';').filter(|it| !it.is_empty());
        let wrong: Vec<&str> = complaints.filter(|it| !is_known(it)).collect();
        if !is_named || !wrong.is_empty() {
            let hex: String = octets.iter().map(|it| format!("{it:02x}")).collect();
            let what = format!("{} {wrong:?}", command.name);
            faults.entry(what).or_insert(hex);
        }
    }
    assert!(faults.is_empty(), "{} of {}: {faults:#?}", faults.len(), cases.len());
}
