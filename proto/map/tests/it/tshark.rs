//! tshark reads what is written (Debian: tshark): every operation of every context in a BEGIN of
//! its own, with its result and its errors, by its number and without a fault in the encoding.

use crate::values::value;
use map::{Context, Operation};
use std::process::Command;
use tcap::codec::{Code, ComponentWriter, TransactionId, Writer};

/// A classic pcap file of SCCP messages (link type 142): a UDT to and from the subsystem 6, an HLR.
fn pcap(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 142] {
        file.extend_from_slice(&word.to_be_bytes());
    }
    for (number, octets) in messages.iter().enumerate() {
        // An LUDT has room for what a UDT has not.
        let length = u16::try_from(octets.len()).unwrap();
        let head = [19, 0, 15, 7, 0, 8, 0, 9, 0, 0, 0, 2, 0x42, 6, 2, 0x42, 6];
        let all = (head.len() + 2 + octets.len()) as u32;
        for word in [number as u32, 0, all, all] {
            file.extend_from_slice(&word.to_be_bytes());
        }
        file.extend_from_slice(&head);
        file.extend_from_slice(&length.to_le_bytes());
        file.extend_from_slice(octets);
    }
    file
}

/// A message, what it is, and the numbers that tshark has to find in it.
struct Case {
    octets: Vec<u8>,
    operation: Operation,
    version: u8,
    what: &'static str,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for context in Context::ALL {
        for version in context.versions() {
            for operation in version.initiator.iter().chain(version.responder) {
                let signature = operation.signature(version.version).unwrap();
                let oid = context.oid(version.version);
                for seed in 1..4 {
                    let of =
                        |it: Option<tcap::operation::Parameter>| it.map(|it| value(it.kind, seed));
                    let (argument, result) = (of(signature.argument), of(signature.result));
                    let code = Code::Local(operation.code());
                    let id = TransactionId::of(7);
                    let mut add =
                        |what, writer: Writer<'_>, write: &dyn Fn(&mut ComponentWriter<'_, '_>)| {
                            let mut octets = Vec::new();
                            writer.write(&mut octets, write);
                            let (operation, version) = (*operation, version.version);
                            cases.push(Case { octets, operation, version, what });
                        };
                    let begin = match version.version {
                        1 => Writer::begin(id),
                        _ => Writer::begin(id).request(&oid, &[]),
                    };
                    add("invoke", begin, &|out| out.invoke(1, None, code, argument.as_deref()));
                    let end = match version.version {
                        1 => Writer::end(id),
                        _ => Writer::end(id).accept(&oid, &[]),
                    };
                    if let Some(result) = &result {
                        add("result", end, &|out| out.result(1, true, Some((code, Some(result)))));
                    }
                    for error in signature.errors {
                        let parameter = of(error.parameter(version.version));
                        let code = Code::Local(error.code());
                        add(error.name(), end, &|out| out.error(1, code, parameter.as_deref()));
                    }
                }
            }
        }
    }
    cases
}

/// What tshark holds to be wrong and the specification does not; what it says of octets that are
/// numbers, cells or messages of other protocols (they are random here) is no fault of the
/// encoding.
fn is_known(complaint: &str, case: &Case) -> bool {
    // It reads versions 1 and 2 as if they were 3, here and there (pycrate knows them).
    // Codes of services have up to five octets (TS 29.002 §17.7.9, §17.7.10).
    case.version < 3 || complaint.contains("length of item (5) is not valid")
}

#[test]
fn tshark_finds_the_operation_and_no_fault() {
    let cases = cases();
    let octets: Vec<Vec<u8>> = cases.iter().map(|it| it.octets.clone()).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), pcap(&octets)).unwrap();
    let output = Command::new("tshark")
        .args([
            "-o",
            "mtp3.standard:ITU",
            "-T",
            "fields",
            "-E",
            "separator=|",
            "-E",
            "occurrence=a",
        ])
        .args(["-e", "gsm_old.localValue", "-e", "tcap.tid", "-e", "_ws.expert.message"])
        .arg("-r")
        .arg(file.path())
        .output()
        .expect("tshark is installed (make setup)");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.lines().count(), cases.len(), "{errors}");
    let mut faults = Vec::new();
    for (line, case) in text.lines().zip(&cases) {
        let fields: Vec<&str> = line.splitn(3, '|').collect();
        let is_named = case.what != "invoke" || fields[0] == case.operation.code().to_string();
        let mut complaints = fields[2].split("BER Error: ").skip(1);
        let is_well = complaints.all(|it| is_known(it, case));
        if !is_named || !is_well {
            let hex: String = case.octets.iter().map(|it| format!("{it:02x}")).collect();
            let (name, version, what) = (case.operation.name(), case.version, case.what);
            faults.push(format!("{name} v{version} {what}: {line} {hex}"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}
