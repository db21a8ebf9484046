//! The machines of SS7 above M3UA, held to the laws of `machine::Machine`; and that no machine of
//! the house is held to none.

use bytes::Bytes;
use m3ua::Transfer;
use m3ua::codec::{Affected, PointCode};
use machine::{Duration, Time};
use sccp::codec::{Address, Class};
use sim::{Random, hold};
use std::fs;
use std::path::{Path, PathBuf};
use tcap::codec::{Code, TransactionId, Writer};

const SEEDS: std::ops::Range<u64> = 0..40;
const HERE: PointCode = PointCode::truncated(1);

/// So many octets of anything.
fn octets(random: &mut Random, length: u64) -> Bytes {
    (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect()
}

fn unitdata(random: &mut Random, data: Bytes) -> sccp::Unitdata {
    let other = PointCode::truncated(2 + u32::try_from(random.below(3)).unwrap());
    let (called, calling) = (Address::subsystem(Some(other), 6), Address::subsystem(None, 6));
    let class = Class { is_sequenced: random.chance(0.5), returns: random.chance(0.5) };
    sccp::Unitdata { called, calling, class, sls: 3, importance: None, data }
}

#[test]
fn a_node_of_sccp() {
    let make = || {
        let settings = sccp::Settings {
            network: None,
            point_code: HERE,
            aliases: Vec::new(),
            network_indicator: 2,
            concerned: vec![PointCode::truncated(2)],
            parameters: sccp::Parameters::q714(),
        };
        sccp::Node::new(settings, sccp::Rules::new(Vec::new()).expect("there are none"))
    };
    let input = |random: &mut Random| {
        let opc = PointCode::truncated(2 + u32::try_from(random.below(3)).unwrap());
        match random.below(10) {
            0 => sccp::In::Pause(Affected::one(opc)),
            1 => sccp::In::Resume(Affected::one(opc)),
            2 | 3 => sccp::In::State(6, random.chance(0.7)),
            4 => sccp::In::Coordinate(6, vec![opc]),
            5 => sccp::In::Test(opc, 6),
            6 => {
                let length = random.below(700);
                let data = octets(random, length);
                sccp::In::Unitdata(unitdata(random, data))
            }
            _ => {
                // UDT (9) with management (SSA, SSP, SST …) of subsystem 6, or anything.
                let kind = u8::try_from(1 + random.below(6)).unwrap();
                let management = [9, 0, 3, 5, 7, 2, 0x42, 1, 2, 0x42, 1, 5, kind, 6, 2, 0, 0];
                let anything = octets(random, 12);
                let is_management = random.chance(0.7);
                let payload = if is_management { management.to_vec().into() } else { anything };
                let (network, dpc) = (None, HERE);
                sccp::In::Transfer(Transfer {
                    network,
                    opc,
                    dpc,
                    si: 3,
                    ni: 2,
                    mp: 0,
                    sls: 0,
                    payload,
                })
            }
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

#[test]
fn transactions_of_tcap() {
    let make = || {
        let settings = tcap::Settings {
            shard: 0,
            secret: 7,
            dialogues_max: 16,
            dialogues_per_source_max: 8,
            sources_elsewhere: false,
            idle: Duration::from_secs(60),
        };
        tcap::Transactions::new(settings, Time::from_millis(1))
    };
    let input = |random: &mut Random| {
        let id = |random: &mut Random| TransactionId::of(u32::try_from(random.below(9)).unwrap());
        let (ours, theirs) = (id(random), id(random));
        let mut message = Vec::new();
        let writer = match random.below(4) {
            0 => Writer::go_on(theirs, ours),
            _ => Writer::begin(theirs),
        };
        writer.write(&mut message, |out| out.invoke(1, None, Code::Local(45), None));
        match random.below(6) {
            0 => tcap::In::Notice(1, message.into()),
            1 => {
                let data = octets(random, 30);
                tcap::In::UnitdataOf(random.below(3), unitdata(random, data))
            }
            _ => tcap::In::Unitdata(unitdata(random, message.into())),
        }
    };
    SEEDS.for_each(|seed| hold(seed, make, input));
}

/// A machine that draws from the system's random source: two of a kind do not do the same.
const DRAWS: &str = "node/dtls/src/handshake.rs";

/// The sources below a folder, those of tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true if ["tests", "benches", "examples", "target"].contains(&name.as_str()) => {}
            true => sources(&path, found),
            false if name.ends_with(".rs") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn no_machine_is_held_to_no_law() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let laws = [include_str!("laws.rs"), include_str!("ss7_laws.rs")].concat();
    let mut found = Vec::new();
    ["kit", "proto", "plane", "node", "stack", "nf"]
        .iter()
        .for_each(|floor| sources(&root.join(floor), &mut found));
    let mut machines = 0;
    for path in found.iter().filter(|path| !path.ends_with(DRAWS)) {
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| line.starts_with("impl")) {
            let Some((_, of)) = line.split_once("Machine for ") else { continue };
            let name = of.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            let file = path.strip_prefix(&root).unwrap();
            let of_crate = file.components().nth(1).unwrap().as_os_str().to_str().unwrap();
            let is_named = |made: &str| laws.contains(&format!("{made}::new("));
            let is_held = is_named(name) && laws.contains(&format!("{of_crate}::"));
            assert!(is_held, "{name} of {}: lab/sim holds it to the laws", file.display());
            machines += 1;
        }
    }
    assert!(machines > 10, "{machines}");
}
