//! tshark reads what is written (Debian: tshark): every RP message by seed, with its TPDU, as its
//! own dissector of GSM SMS does in GSM-A RP, without a complaint.

use crate::messages::{hex, rp, rp_json};
use sms::rp::{self, Message};
use std::process::Command;

/// A classic pcap file of `DLT_USER0`.
fn pcap(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 147] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, octets) in messages.iter().enumerate() {
        for word in [number as u32, 0, octets.len() as u32, octets.len() as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(octets);
    }
    file
}

/// The value of a JSON member that is a string of digits.
fn digits(text: &str) -> Option<&str> {
    text.split_once("\"digits\":\"").and_then(|it| it.1.split('"').next())
}

#[test]
fn tshark_finds_each_message_and_no_fault() {
    let kinds = rp::Kind::ALL.iter();
    let messages: Vec<Vec<u8>> =
        kinds.flat_map(|kind| (1..=150).map(|seed| rp(*kind, seed))).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&messages)).unwrap();
    let table = "uat:user_dlts:\"User 0 (DLT=147)\",\"gsm_a_rp\",\"0\",\"\",\"0\",\"\"";
    let output = Command::new("tshark")
        .args(["-o", table, "-T", "fields", "-E", "separator=|", "-E", "occurrence=a"])
        .args(["-e", "gsm_a.rp.msg_type", "-e", "gsm_a.rp.rp_message_reference"])
        .args(["-e", "_ws.expert.message", "-e", "gsm_sms.tp-mti", "-e", "_ws.malformed"])
        .arg("-r")
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), messages.len(), "{errors}");
    let (mut faults, mut found) = (Vec::new(), 0);
    for (line, octets) in text.lines().zip(&messages) {
        let fields: Vec<&str> = line.split('|').collect();
        let message = Message::read(octets).unwrap();
        let number = |field: &str| {
            let hex = field.strip_prefix("0x");
            hex.map_or_else(|| field.parse().ok(), |it| u8::from_str_radix(it, 16).ok())
        };
        let is_known =
            number(fields[0]) == Some(octets[0]) && number(fields[1]) == Some(message.reference);
        let has_tpdu = message.user_data.is_some();
        found += usize::from(!fields[3].is_empty());
        if !is_known || !fields[2].is_empty() || !fields[4].is_empty() {
            let text = rp_json(octets);
            faults.push(format!("{line} {has_tpdu} {:?} {} {text}", digits(&text), hex(octets)));
        }
    }
    assert!(faults.is_empty(), "{}:\n{}", faults.len(), faults.join("\n"));
    assert!(found > 300, "{found}");
}
