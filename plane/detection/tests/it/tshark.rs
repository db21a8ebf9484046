//! tshark reads what leaves, and has no complaint.

use super::world::{World, item, ms, session};
use bfd::{AuthType, Authentication, Key};
use std::process::Command;

#[test]
fn tshark_reads_packets_of_the_workers_without_a_complaint() {
    let mut world = World::new(1, 1);
    let kind = AuthType::KeyedSha1;
    let keys = vec![Key::new(kind, 1, b"secret").unwrap()];
    let authentication = Authentication::new(kind, keys);
    for side in 0..2 {
        world.routers[side].say(&item(&session(side, 1, ms(10))));
        let said = session(side, 2, ms(10));
        let authentication = authentication.clone();
        world.routers[side].say(&item(&detection::program::Said { authentication, ..said }));
    }
    let mut frames = Vec::new();
    for _ in 0..400 {
        world.run(ms(10));
        frames.append(&mut world.seen);
    }
    assert_eq!((world.states(1), world.states(2)), (["Up", "Up"], ["Up", "Up"]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("packets.pcap");
    let mut octets = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        octets.extend(word.to_le_bytes());
    }
    for (n, frame) in (0_u32..).zip(&frames) {
        for word in [n, 0, frame.len() as u32, frame.len() as u32] {
            octets.extend(word.to_le_bytes());
        }
        octets.extend_from_slice(frame);
    }
    std::fs::write(&file, octets).unwrap();
    let mut command = Command::new("tshark");
    for check in ["ip.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{check}:TRUE")]);
    }
    command.args(["-T", "fields", "-E", "separator=|"]);
    for field in ["bfd.sta", "ip.ttl", "_ws.expert.message", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(&file).output().expect("tshark is installed (make setup)");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), frames.len());
    for line in text.lines() {
        let words: Vec<&str> = line.split('|').collect();
        assert!(["0x01", "0x02", "0x03"].contains(&words[0]), "{line}");
        assert_eq!(words[1..], ["255", "", ""], "{line}");
    }
}
