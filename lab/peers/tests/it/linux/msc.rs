//! osmo-msc and osmo-hlr behind osmo-stp, in the guest: a node of ours is the base station
//! controller that opens a connection of class 2 for a location update (TS 48.006 §9, TS 48.008
//! §3.1.16).

use super::guest::guest;
use super::sccp::{network, program};
use super::sccp_node::{BSSAP, Sccp, run};
use crate::node::{LIMIT, capture};
use bytes::Bytes;
use peers::Talk;
use sccp::codec::{ConnectionClass, LocalReference};
use sccp::{ConnectionEvent as Event, ConnectionInput as Input, Disconnected, In, Indication};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

/// osmo-msc's point code, in its words 0.23.1.
const MSC: u32 = 23 << 3 | 1;
const CONTROLLER: u32 = 40;

const HLR_WORDS: &str = "line vty
 bind 127.0.0.103
ctrl
 bind 127.0.0.103
hlr
 gsup
  bind ip 127.0.0.103
 subscriber-create-on-demand 5 cs+ps
";
const MSC_WORDS: &str = "line vty
 bind 127.0.0.102
ctrl
 bind 127.0.0.102
cs7 instance 0
 point-code 0.23.1
 asp one PORT 0 m3ua
  remote-ip ADDRESS
  local-ip ADDRESS
  role asp
  sctp-role client
 as one m3ua
  asp one
  routing-key 23 0.23.1
network
 network country code 001
 mobile network code 01
 authentication optional
 encryption a5 0
 mm info 0
msc
 cs7-instance-a 0
 no assign-tmsi
hlr
 remote-ip 127.0.0.103
 remote-port 4222
";

/// Octets of BSSMAP behind their head (TS 48.006 §9.3.2, TS 48.008 §3.2.2.1).
fn bssmap(octets: &[u8]) -> Vec<u8> {
    [&[0, octets.len().to_le_bytes()[0]], octets].concat()
}

const RESET: &[u8] = &[0x30, 0x04, 0x01, 0x20];
const RESET_ACKNOWLEDGE: u8 = 0x31;
const CLEAR_COMMAND: u8 = 0x20;
const CLEAR_COMPLETE: &[u8] = &[0x21];

/// LOCATION UPDATING REQUEST of IMSI 001010000000001, without a key, in 001-01 and area 1
/// (TS 24.008 §9.2.15); ACCEPT.
const LOCATION_UPDATE: &[u8] = &[
    0x05, 0x08, 0x70, 0x00, 0xf1, 0x10, 0x00, 0x01, 0x33, 0x08, 0x09, 0x10, 0x10, 0x00, 0x00, 0x00,
    0x00, 0x10,
];
const LOCATION_UPDATE_ACCEPT: [u8; 2] = [0x05, 0x02];

/// COMPLETE LAYER 3 INFORMATION: a cell of that area, and what the terminal says.
fn complete_layer_3(message: &[u8]) -> Vec<u8> {
    let cell = [0x05, 0x08, 0x00, 0x00, 0xf1, 0x10, 0x00, 0x01, 0x00, 0x01];
    let length = message.len().to_le_bytes()[0];
    bssmap(&[&[0x57], &cell[..], &[0x17, length], message].concat())
}

struct Core {
    _hlr: Talk,
    _msc: Talk,
}

/// Both, as long as these tests run.
static CORE: LazyLock<Mutex<Core>> = LazyLock::new(|| {
    let hlr = program("osmo-hlr", HLR_WORDS);
    let msc = program("osmo-msc", MSC_WORDS);
    Mutex::new(Core { _hlr: hlr, _msc: msc })
});

/// A controller that osmo-msc knows: RESET is answered.
fn controller(own: u32) -> Sccp {
    let network = network();
    LazyLock::force(&CORE);
    let mut it = network.node(own, MSC);
    let mut asked = Instant::now() - LIMIT;
    run(&mut [&mut it], "RESET is acknowledged", |nodes| {
        if asked.elapsed() > Duration::from_secs(1) {
            asked = Instant::now();
            nodes[0].unitdata(MSC, BSSAP, &bssmap(RESET));
        }
        nodes[0].unitdata_heard().any(|it| it.get(2) == Some(&RESET_ACKNOWLEDGE))
    });
    it
}

/// The messages that came in the connection, BSSMAP by its first octet and DTAP by two.
fn messages(of: &Sccp) -> (Vec<u8>, Vec<[u8; 2]>) {
    let (mut bssmap, mut dtap) = (Vec::new(), Vec::new());
    for data in of.data() {
        match data {
            [0, _, kind, ..] => bssmap.push(*kind),
            [1, _, _, a, b, ..] => dtap.push([*a, b & 0x3f]),
            other => panic!("{other:?}"),
        }
    }
    (bssmap, dtap)
}

#[test]
fn a_location_update_in_a_connection_of_class_2_is_accepted_by_osmo_msc_and_osmo_hlr() {
    let mut it = controller(CONTROLLER);
    it.heard.clear();
    let update = complete_layer_3(LOCATION_UPDATE);
    it.connect(MSC, ConnectionClass::Basic, &update);
    run(&mut [&mut it], "CC", |nodes| {
        nodes[0].events().any(|it| matches!(it.1, Event::Confirmed { .. }))
    });
    let (own, _): (LocalReference, _) = it.events().next().unwrap();
    run(&mut [&mut it], "the update is accepted", |nodes| {
        messages(nodes[0]).1.contains(&LOCATION_UPDATE_ACCEPT)
    });
    run(&mut [&mut it], "CLEAR COMMAND", |nodes| messages(nodes[0]).0.contains(&CLEAR_COMMAND));
    it.step(In::Connection(Input::Data(own, Bytes::from(bssmap(CLEAR_COMPLETE)))));
    run(&mut [&mut it], "RLSD", |nodes| {
        nodes[0]
            .events()
            .any(|it| matches!(it.1, Event::Disconnected { why: Disconnected::Released(_), .. }))
            && nodes[0].node.connections().0 == 0
    });
    capture::check(&it.asp.node.passed);
    // The HLR knows the subscriber now, and where.
    let shown = guest().run(
        "(sleep 1; echo enable; sleep 1; echo show subscriber imsi 001010000000001; sleep 1) \
         | socat - TCP:127.0.0.103:4258 | tr -cd '\\12\\40-\\176'",
    );
    let shown = shown.unwrap();
    let has = |text| shown.contains(text);
    assert!(has("IMSI: 001010000000001") && has("VLR number: "), "{shown}");
}

#[test]
fn the_subsystem_of_osmo_msc_answers_a_test() {
    let mut it = controller(CONTROLLER + 1);
    it.step(In::Test(super::asp::pc(MSC), BSSAP));
    let allowed = Indication::Tested(super::asp::pc(MSC), BSSAP, true);
    run(&mut [&mut it], "SST, SSA", |nodes| nodes[0].heard.contains(&allowed));
    capture::check(&it.asp.node.passed);
}
