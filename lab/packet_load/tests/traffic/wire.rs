//! Every kind of frame before tshark, which complains of nothing, and scapy, which builds the same
//! octets of what it read.

use crate::plans::every;
use machine::Time;
use packet_load::Plan;
use std::path::Path;
use std::process::Command;

const TSHARK: &str = "tshark is not installed (Debian: tshark)";
const SCAPY: &str = "python3 is not installed (Debian: python3-scapy)";
const REBUILD: &str = include_str!("../scapy/rebuild.py");
const PACKETS: usize = 60;

/// A classic pcap file of Ethernet frames.
fn capture(plan: &Plan, packets: usize) -> tempfile::NamedTempFile {
    let mut generator = plan.generator().unwrap();
    let mut octets = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, 1] {
        octets.extend_from_slice(&word.to_be_bytes());
    }
    let mut room = vec![0; generator.longest()];
    for number in 0..packets {
        let length = generator.write(Time::from_millis(number as u64), &mut room);
        for word in [number as u32, 0, length as u32, length as u32] {
            octets.extend_from_slice(&word.to_be_bytes());
        }
        octets.extend_from_slice(&room[..length]);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), octets).unwrap();
    file
}

fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    for check in ["ip", "udp", "tcp"] {
        command.args(["-o", &format!("{check}.check_checksum:TRUE")]);
    }
    command.args(["-d", "mpls.label==100-400,pwethcw", "-T", "fields", "-E", "separator=|"]);
    command.args(["-Y", filter]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.arg("-r").arg(file).output().expect(TSHARK);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn tshark_has_no_complaint_about_any_kind_of_frame() {
    let (plan, names) = every();
    for (stream, name) in plan.streams.into_iter().zip(names) {
        let file = capture(&Plan::of(stream, 5), PACKETS);
        let complaints = tshark(
            file.path(),
            "_ws.expert.severity >= 4194304 || _ws.malformed",
            &["frame.number", "frame.protocols", "_ws.expert.message"],
        );
        // An acknowledgement out of nowhere is what a capture of a part of a connection has.
        let known = ["retransmission", "Duplicate", "Out-Of-Order", "segment", "Not enough"];
        let is_known = |line: &&String| known.iter().any(|word| line.contains(word));
        let unknown: Vec<_> = complaints.iter().filter(|line| !is_known(line)).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        let sums = ["ip.checksum.status", "udp.checksum.status", "tcp.checksum.status"];
        let others = ["icmp.checksum.status", "icmpv6.checksum.status"];
        let told = tshark(file.path(), "frame", &[&sums[..], &others[..]].concat());
        assert_eq!(told.len(), PACKETS);
        for line in told {
            let is_good = line.split('|').all(|status| matches!(status, "" | "1"));
            assert!(is_good && (name == "Ether" || line.contains('1')), "{name}: {line}");
        }
    }
}

#[test]
fn scapy_builds_the_same_octets_of_what_it_reads() {
    let (plan, names) = every();
    for (stream, name) in plan.streams.into_iter().zip(names) {
        let file = capture(&Plan::of(stream, 5), PACKETS);
        let mut python = Command::new("/usr/bin/python3");
        let output = python.args(["-c", REBUILD]).arg(file.path()).output().expect(SCAPY);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "scapy: {words}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), PACKETS);
        assert!(text.lines().all(|line| line == name), "{name}: {text}");
    }
}

#[test]
fn a_wrong_checksum_would_be_seen() {
    let file = capture(&every().0, 1);
    let mut octets = std::fs::read(file.path()).unwrap();
    let last = octets.len() - 1;
    octets[last] ^= 1;
    std::fs::write(file.path(), octets).unwrap();
    let fields = ["udp.checksum.status", "tcp.checksum.status", "icmp.checksum.status"];
    let [line] = &tshark(file.path(), "frame", &fields)[..] else { panic!("one packet") };
    assert!(line.contains('0') || line == "||", "{line}");
}

#[test]
fn tshark_reads_speech_as_rtp() {
    let voice = packet_load::Voice {
        suppression: Some(packet_load::Suppression::CONVERSATION),
        ..packet_load::Voice::of(packet_load::Codec::G711)
    };
    let layers = vec![crate::plans::ETHERNET, crate::plans::ipv4(), crate::plans::UDP];
    let mut stream = packet_load::Stream::speech("", layers, 7, voice);
    stream.flows = 3;
    let file = capture(&Plan::of(stream, 5), 400);
    let mut command = Command::new("tshark");
    command.args(["-o", "udp.check_checksum:TRUE", "-d", "udp.port==50000,rtp", "-T", "fields"]);
    let fields = ["rtp.version", "rtp.ssrc", "rtp.p_type", "udp.checksum.status"];
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    command.args(["-e", "_ws.expert.message", "-E", "separator=|"]);
    let output = command.arg("-r").arg(file.path()).output().expect(TSHARK);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 400);
    for line in text.lines() {
        let [version, ssrc, kind, sum, complaint] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let is_ours = matches!(ssrc, "0x00000007" | "0x00000008" | "0x00000009");
        assert!(version == "2" && is_ours && matches!(kind, "8" | "13"), "{line}");
        assert!(sum == "1" && complaint.is_empty(), "{line}");
    }
}
