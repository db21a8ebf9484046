//! pycrate 0.8.1 beside the rows (`make setup-python` installs it): messages by seed, ours read by
//! it and written again the same, its own read by us, with the same address and text, and equal.

use crate::messages::{hex, json, octets, rp, rp_json, tpdu};
use crate::peer::Peer;
use sms::alphabet::Alphabet;
use sms::rp::{self, Message};
use sms::{Kind, Parameter, Tpdu, Value};

const SCRIPT: &str = include_str!("pycrate.py");
/// Messages a kind, each way.
const SEEDS: u64 = 150;

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Deliver => "SMS_DELIVER",
        Kind::DeliverReportError => "SMS_DELIVER_REPORT_RP_ERROR",
        Kind::DeliverReport => "SMS_DELIVER_REPORT_RP_ACK",
        Kind::Submit => "SMS_SUBMIT",
        Kind::SubmitReportError => "SMS_SUBMIT_REPORT_RP_ERROR",
        Kind::SubmitReport => "SMS_SUBMIT_REPORT_RP_ACK",
        Kind::StatusReport => "SMS_STATUS_REPORT",
        Kind::Command => "SMS_COMMAND",
    }
}

fn rp_class(kind: rp::Kind) -> &'static str {
    match kind {
        rp::Kind::DataFromTerminal => "RP_DATA_MO",
        rp::Kind::DataToTerminal => "RP_DATA_MT",
        rp::Kind::AckFromTerminal => "RP_ACK_MO",
        rp::Kind::AckToTerminal => "RP_ACK_MT",
        rp::Kind::ErrorFromTerminal => "RP_ERROR_MO",
        rp::Kind::ErrorToTerminal => "RP_ERROR_MT",
        rp::Kind::MemoryAvailable => "RP_SMMA",
    }
}

/// What it answered: octets, address and text.
struct Answer {
    octets: Vec<u8>,
    number: String,
    text: String,
}

fn answer(line: &str) -> Result<Answer, String> {
    let parts: Vec<_> = line.split(' ').collect();
    let [hex, number, text] = parts[..] else { return Err(line.to_owned()) };
    let field = |it: &str| if it == "-" { Vec::new() } else { octets(it) };
    let units: Vec<u16> =
        field(text).chunks(2).map(|it| u16::from_le_bytes([it[0], it[1]])).skip(1).collect();
    let number = String::from_utf8(field(number)).unwrap();
    Ok(Answer { octets: octets(hex), number, text: String::from_utf16_lossy(&units) })
}

/// Its texts in septets end with a carriage return or a commercial at of its own where a septet is
/// left over, and it takes either from the end of ours.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(['\r', '@'])
}

fn is_same(ours: &Tpdu<'_>, theirs: &Answer) -> bool {
    let number = ours.address().map(|it| it.text()).unwrap_or_default();
    let data = ours.user_data();
    let of_default = data
        .is_none_or(|it| it.header().is_ok_and(|header| header.alphabet() == Alphabet::DEFAULT));
    let text = match data.map(|it| (it.text().unwrap(), it.body().unwrap())) {
        None => String::new(),
        Some((Some(text), _)) => text,
        Some((None, body)) => hex(body),
    };
    number == theirs.number && (!of_default || trimmed(&text) == trimmed(&theirs.text))
}

/// Whether it wrote ours as they were. Of command data it keeps as many bits as there are octets:
/// what stands before them alone is compared.
fn is_written(kind: Kind, theirs: &[u8], ours: &[u8]) -> bool {
    let data = match kind.read(ours).unwrap().get(Parameter::CommandData) {
        Some(Value::Octets(octets)) => octets.len(),
        _ => 0,
    };
    theirs.get(..ours.len() - data) == ours.get(..ours.len() - data)
        && (data > 0 || theirs.len() == ours.len())
}

#[test]
fn tpdus_that_are_written_here_are_read_there() {
    let (mut peer, mut faults) = (Peer::start(SCRIPT), Vec::new());
    for kind in Kind::ALL {
        for seed in 1..=SEEDS {
            let ours = tpdu(*kind, seed);
            let line = peer.ask(&format!("read {} {}", class(*kind), hex(&ours)));
            let is_well = answer(&line).is_ok_and(|it| {
                is_written(*kind, &it.octets, &ours) && is_same(&kind.read(&ours).unwrap(), &it)
            });
            if !is_well {
                faults.push(format!("{line} of {} {}", hex(&ours), json(*kind, &ours)));
            }
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}

#[test]
fn tpdus_that_are_written_there_are_read_here_and_written_the_same() {
    let (mut peer, mut faults) = (Peer::start(SCRIPT), Vec::new());
    for kind in Kind::ALL {
        for seed in 1..=SEEDS {
            let line = peer.ask(&format!("make {} {seed}", class(*kind)));
            let theirs = answer(&line).unwrap_or_else(|it| panic!("{it}"));
            let read = match kind.read(&theirs.octets) {
                Ok(read) => read,
                Err(violation) => {
                    faults.push(format!("{violation} of {line}"));
                    continue;
                }
            };
            let (mut again, mut by_json) = (Vec::new(), Vec::new());
            read.write(&mut again).unwrap();
            Kind::from_json(&json(*kind, &theirs.octets), &mut by_json).unwrap();
            let is_written = again == theirs.octets && by_json == again;
            if !is_written || !is_same(&read, &theirs) {
                faults.push(format!("{} of {line}", json(*kind, &theirs.octets)));
            }
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}

#[test]
fn rp_messages_go_both_ways() {
    let (mut peer, mut faults) = (Peer::start(SCRIPT), Vec::new());
    for kind in rp::Kind::ALL {
        for seed in 1..=SEEDS {
            let ours = rp(*kind, seed);
            let has_diagnostic =
                Message::read(&ours).unwrap().failure.is_some_and(|it| !it.diagnostic.is_empty());
            let line = peer.ask(&format!("read {} {}", rp_class(*kind), hex(&ours)));
            let is_command = Message::read(&ours).unwrap().tpdu_kind() == Some(Kind::Command);
            // What its own type of causes says of a diagnostic it takes back when it writes.
            let is_known = has_diagnostic || is_command;
            if !is_known && !answer(&line).is_ok_and(|it| it.octets == ours) {
                faults.push(format!("{line} of {} {}", hex(&ours), rp_json(&ours)));
            }
            let line = peer.ask(&format!("make {} {seed}", rp_class(*kind)));
            let theirs = answer(&line).unwrap_or_else(|it| panic!("{it}")).octets;
            let mut again = Vec::new();
            rp::from_json(&rp_json(&theirs), &mut again).unwrap();
            let read = Message::read(&theirs).unwrap();
            let inner = read.tpdu_kind().zip(read.user_data);
            let is_read = inner.is_none_or(|(kind, octets)| kind.read(octets).is_ok());
            if again != theirs || !is_read || read.kind != *kind {
                faults.push(format!("{} of {line}", rp_json(&theirs)));
            }
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}
