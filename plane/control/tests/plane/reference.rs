//! The forwarder that was written a second time, with scapy (`tests/reference.py`): the same
//! router, the same packets, the same octets out.

use super::hostile::first_seed;
use super::world::World;
use nodes::Program;
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// Routers, each with packets of its own.
const SEEDS: u64 = 12;
const PACKETS: u32 = 300;

/// The Python that has scapy.
fn python() -> &'static str {
    let has_scapy = |python: &&str| {
        let tried = Command::new(python).args(["-c", "import scapy.all"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let found = ["/usr/bin/python3", "python3"].into_iter().find(has_scapy);
    found.expect("scapy is not installed (Debian: python3-scapy; `make setup` installs it)")
}

fn octets(hex: &Value) -> Vec<u8> {
    let text = hex.as_str().expect("a string of hex digits");
    let pair = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

fn frames(list: &Value) -> Vec<(u16, Vec<u8>)> {
    let frames = list.as_array().expect("a list of frames").iter();
    frames.map(|one| (one[0].as_u64().expect("a port") as u16, octets(&one[1]))).collect()
}

#[test]
fn the_reference_forwarder_has_the_same_verdict_and_the_same_octets() {
    let (sent, punted) = compared("reference.py", true);
    assert!(sent > 300 && punted > 50, "packets of all kinds: {sent} sent, {punted} punted");
}

#[test]
fn the_reference_forwarder_agrees_on_labels_cross_connects_and_bridges() {
    let (sent, _) = compared("reference_labels.py", false);
    assert!(sent > 1_500, "packets of all kinds: {sent} sent");
}

/// Frames sent and packets handed up by routers that the script makes, all as it says. Copies of
/// one frame leave in any order if not `ordered`.
fn compared(name: &str, ordered: bool) -> (usize, usize) {
    let python = python();
    let script = format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"));
    let first = first_seed();
    let (mut sent, mut punted) = (0, 0);
    for seed in first..first + SEEDS {
        let arguments = [script.clone(), seed.to_string(), PACKETS.to_string()];
        let said = Command::new(python).arg("-B").args(arguments).output().expect("Python runs");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let said: Value = serde_json::from_slice(&said.stdout).expect("it prints JSON");
        let programs: Vec<Program> =
            serde_json::from_value(said["programs"].clone()).expect("programs");
        let mut world = World::of(&programs);
        for (at, case) in said["packets"].as_array().expect("packets").iter().enumerate() {
            let port = case["port"].as_u64().expect("a port") as u16;
            world.pass(Duration::from_secs(1));
            let mut left = world.send(port, &octets(&case["frame"]));
            let arranged = |mut frames: Vec<(u16, Vec<u8>)>| {
                if !ordered {
                    frames.sort_unstable();
                }
                frames
            };
            left.sent = arranged(left.sent);
            let allowed = case["left"].as_array().expect("alternatives");
            let is_one = |one: &&Value| {
                let up = one[1].as_array().expect("packets").iter().map(octets);
                arranged(frames(&one[0])) == left.sent && up.eq(left.punted.iter().cloned())
            };
            assert!(
                allowed.iter().any(|one| is_one(&one)),
                "seed {seed} packet {at}: {case:#}\n{left:x?}\n{:?}",
                world.dropped()
            );
            sent += left.sent.len();
            punted += left.punted.len();
        }
    }
    (sent, punted)
}
