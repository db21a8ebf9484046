//! tshark decodes what the codec writes: every message by its name, no complaint. tshark must be
//! there (Debian: tshark).

use crate::every;
use sccp::codec::{Address, Message, MessageType, Parameter, Unit};
use std::process::Command;

/// tshark 4.0 names an SSC and reads its fields, and then says this.
const SSC_REMARK: &str = "Unknown message";

/// A classic pcap file of SCCP messages (link type 142).
fn pcap<'a>(messages: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 142] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, octets) in messages.enumerate() {
        for word in [number as u32, 0, octets.len() as u32, octets.len() as u32] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(octets);
    }
    file
}

/// A line of fields a message.
fn fields(messages: &[&[u8]], names: &[&str]) -> Vec<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(messages.iter().copied())).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-o", "mtp3.standard:ITU"]);
    command.args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for name in names.iter().chain(&["_ws.expert.message", "_ws.malformed"]) {
        command.args(["-e", name]);
    }
    let output = command.arg("-r").arg(file.path()).output();
    let output = output.expect("tshark is installed (make setup)");
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<Vec<String>> =
        text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect();
    assert_eq!(lines.len(), messages.len(), "{text}{errors}");
    for line in &lines {
        let complaints = line[names.len()..].iter().filter(|it| *it != SSC_REMARK);
        assert!(complaints.into_iter().all(String::is_empty), "{line:?}");
    }
    lines
}

fn number(text: &str) -> u32 {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

#[test]
fn tshark_names_every_message_and_finds_no_fault() {
    let mut all = every::units();
    all.extend(every::connection_messages());
    let octets: Vec<&[u8]> = all.iter().map(|(_, octets)| &octets[..]).collect();
    let lines = fields(&octets, &["sccp.message_type"]);
    for (line, (kind, _)) in lines.iter().zip(&all) {
        assert_eq!(number(&line[0]), u32::from(kind.number()), "{}: {line:?}", kind.name());
    }
    let seen = |kind: &&MessageType| all.iter().any(|(it, _)| it == *kind);
    assert_eq!(MessageType::ALL.iter().filter(seen).count(), MessageType::ALL.len());
}

#[test]
fn tshark_finds_no_fault_in_what_a_relay_sends_that_couples() {
    let all = crate::coupling::passes();
    let octets: Vec<&[u8]> = all.iter().map(|msu| &msu.payload[..]).collect();
    let lines = fields(&octets, &["sccp.message_type"]);
    let kinds: std::collections::BTreeSet<u32> = lines.iter().map(|it| number(&it[0])).collect();
    // CR, CC, RLSD, RLC, DT1, DT2, AK, ED, EA, RSR, RSC, IT.
    let expected = [1, 2, 4, 5, 6, 7, 8, 11, 12, 13, 14, 16];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn tshark_reads_addresses_and_data_as_they_were_written() {
    let all = every::units();
    let octets: Vec<&[u8]> = all.iter().map(|(_, octets)| &octets[..]).collect();
    let names = [
        "sccp.called.digits",
        "sccp.calling.digits",
        "sccp.called.ssn",
        "sccp.called.pc",
        "sccp.return_cause",
    ];
    for (line, (_, octets)) in fields(&octets, &names).iter().zip(&all) {
        let message = Message::read(octets).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        let digits = |of: &Address| of.title.map(|it| it.digits.to_string()).unwrap_or_default();
        assert_eq!((&line[0], &line[1]), (&digits(&unit.called), &digits(&unit.calling)));
        assert_eq!(number(&line[2]), u32::from(unit.called.subsystem.unwrap()), "{line:?}");
        let point_code = unit.called.point_code.map(|it| it.number());
        assert_eq!((!line[3].is_empty()).then(|| number(&line[3])), point_code, "{line:?}");
        let cause = message.octet(Parameter::ReturnCause).map(u32::from);
        assert_eq!((!line[4].is_empty()).then(|| number(&line[4])), cause, "{line:?}");
    }
}

#[test]
fn tshark_reads_management_as_it_was_written() {
    let all = every::management();
    let octets: Vec<&[u8]> = all.iter().map(|(_, octets)| &octets[..]).collect();
    let names = ["sccpmg.message_type", "sccpmg.ssn", "sccpmg.pc"];
    for (line, (management, _)) in fields(&octets, &names).iter().zip(&all) {
        assert_eq!(number(&line[0]), u32::from(management.kind.number()));
        assert_eq!(number(&line[1]), u32::from(management.subsystem));
        assert_eq!(number(&line[2]), management.point_code.number(), "{line:?}");
    }
}

#[test]
fn tshark_reads_every_field_of_connections_as_it_was_written() {
    use sccp::codec::ConnectionMessage as M;
    let all = crate::connection_codec::vectors();
    let octets: Vec<&[u8]> = all.iter().map(|(octets, _)| &octets[..]).collect();
    let names = [
        "sccp.dlr",
        "sccp.slr",
        "sccp.class",
        "sccp.credit",
        "sccp.sequencing_segmenting.ssn",
        "sccp.sequencing_segmenting.rsn",
        "sccp.sequencing_segmenting.more",
        "sccp.rsn",
        "sccp.more",
        "sccp.release_cause",
        "sccp.refusal_cause",
        "sccp.reset_cause",
        "sccp.error_cause",
    ];
    for (line, (_, message)) in fields(&octets, &names).iter().zip(&all) {
        let reference = |it: Option<sccp::codec::LocalReference>| it.map(|it| it.number());
        let mut expected = vec![None; names.len()];
        expected[0] = reference(message.destination());
        expected[1] = reference(message.source());
        let mut set = |at: usize, value: u32| expected[at] = Some(value);
        let mut sequencing = None;
        match *message {
            M::Request(request) => {
                set(2, request.class.number().into());
                request.credit.into_iter().for_each(|it| set(3, it.into()));
            }
            M::Confirm { class, credit, .. } => {
                set(2, class.number().into());
                credit.into_iter().for_each(|it| set(3, it.into()));
            }
            M::InactivityTest { class, credit, sequencing: numbers, .. } => {
                set(2, class.number().into());
                set(3, credit.into());
                sequencing = Some(numbers);
            }
            M::Data2 { sequencing: numbers, .. } => sequencing = Some(numbers),
            M::Acknowledgement { receive, credit, .. } => {
                set(7, receive.into());
                set(3, credit.into());
            }
            M::Data1 { more, .. } => set(8, more.into()),
            M::Released { cause, .. } => set(9, cause.into()),
            M::Refused { cause, .. } => set(10, cause.into()),
            M::ResetRequest { cause, .. } => set(11, cause.into()),
            M::Error { cause, .. } => set(12, cause.into()),
            _ => {}
        }
        if let Some(numbers) = sequencing {
            set(4, numbers.send.into());
            set(5, numbers.receive.into());
            set(6, numbers.more.into());
        }
        let read = line[..names.len()].iter().map(|it| (!it.is_empty()).then(|| number(it)));
        assert_eq!(read.collect::<Vec<_>>(), expected, "{message:?}");
    }
}
