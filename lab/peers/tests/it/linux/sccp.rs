//! SCCP of ours through osmo-stp, in the guest: two nodes that are ASPs of it speak to each other.
//! One of it serves all tests, whose nodes have point codes of their own.

use super::asp::pc;
use super::guest::guest;
use super::sccp_node::{BSSAP, Sccp, run};
use crate::node::{LIMIT, capture};
use bytes::Bytes;
use peers::{GUEST_ADDRESSES, Talk};
use sccp::codec::{ConnectionClass, LocalReference, RefusalCause};
use sccp::{
    Accept, ConnectionEvent as Event, ConnectionInput as Input, Disconnect, Disconnected, In,
    Indication,
};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const PORT: u16 = 2_899;
const STP: &str = "line vty
 bind 127.0.0.101
cs7 instance 0
 xua rkm routing-key-allocation dynamic-permitted
 listen m3ua PORT
  accept-asp-connections dynamic-permitted
  local-ip ADDRESS
";

/// osmo-stp; it ends with it.
pub struct Network {
    _stp: Talk,
}

static NETWORK: LazyLock<Mutex<Network>> = LazyLock::new(|| Mutex::new(Network::start()));

/// It is one test's at a time.
pub fn network() -> MutexGuard<'static, Network> {
    NETWORK.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn program(name: &str, words: &str) -> Talk {
    let words = words.replace("PORT", &PORT.to_string());
    let words = words.replace("ADDRESS", &GUEST_ADDRESSES[0].to_string());
    guest().run(&format!("cat >/tmp/{name}.cfg <<'END'\n{words}\nEND")).unwrap();
    // Their files stand where they start.
    guest().talk(&format!("sh -c 'cd /tmp; exec {name} -c {name}.cfg'")).unwrap()
}

#[track_caller]
fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !ready() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

impl Network {
    fn start() -> Self {
        let stp = program("osmo-stp", STP);
        let listens = format!("/debian/ss -San | grep -q :{PORT} ");
        until("osmo-stp does not listen", || guest().run(&listens).is_ok());
        Self { _stp: stp }
    }

    /// A node of ours, active at osmo-stp.
    pub fn node(&self, point_code: u32, concerned: u32) -> Sccp {
        let mut it = Sccp::new(point_code, concerned);
        it.asp.associate(PORT);
        run(&mut [&mut it], "it is active", |nodes| nodes[0].asp.is_active());
        it
    }
}

fn data(of: LocalReference, data: &[u8]) -> In {
    In::Connection(Input::Data(of, Bytes::copy_from_slice(data)))
}

/// Two nodes of ours behind osmo-stp, both active.
fn pair(network: &Network, own: [u32; 2]) -> [Sccp; 2] {
    let (mut a, mut b) = (network.node(own[0], own[1]), network.node(own[1], own[0]));
    let mut asked = Instant::now() - LIMIT;
    run(&mut [&mut a, &mut b], "osmo-stp relays SST and SSA", |nodes| {
        if asked.elapsed() > Duration::from_secs(1) {
            asked = Instant::now();
            nodes[0].step(In::Test(pc(own[1]), BSSAP));
        }
        nodes[0].heard.contains(&Indication::Tested(pc(own[1]), BSSAP, true))
    });
    [a, b]
}

#[test]
fn osmo_stp_relays_unitdata_whole_and_in_segments() {
    let network = network();
    let [mut a, mut b] = pair(&network, [30, 31]);
    let long: Vec<u8> = (0..2_500u32).map(|it| it.to_le_bytes()[0]).collect();
    for data in [&b"short"[..], &long] {
        a.unitdata(31, BSSAP, data);
        b.unitdata(30, BSSAP, data);
    }
    run(&mut [&mut a, &mut b], "they come", |nodes| {
        nodes.iter().all(|it| it.unitdata_heard().count() == 2)
    });
    for node in [&a, &b] {
        let came: Vec<&[u8]> = node.unitdata_heard().collect();
        assert_eq!(came, [&b"short"[..], &long]);
        capture::check(&node.asp.node.passed);
    }
}

#[test]
fn osmo_stp_relays_a_subsystem_that_goes_out_of_service_and_comes_back() {
    let network = network();
    let [mut a, mut b] = pair(&network, [32, 33]);
    for is_in_service in [false, true] {
        b.step(In::State(BSSAP, is_in_service));
        let told = Indication::State(pc(33), BSSAP, is_in_service);
        run(&mut [&mut a, &mut b], "SSP, SSA", |nodes| nodes[0].heard.contains(&told));
    }
}

#[test]
fn osmo_stp_relays_connections_of_classes_2_and_3_both_ways() {
    let network = network();
    let [mut a, mut b] = pair(&network, [34, 35]);
    for class in [ConnectionClass::Basic, ConnectionClass::FlowControl] {
        a.heard.clear();
        b.heard.clear();
        a.connect(35, class, b"hello");
        run(&mut [&mut a, &mut b], "CR", |nodes| nodes[1].events().next().is_some());
        let (there, offered) = b.events().next().unwrap();
        assert!(matches!(offered, Event::Offered { class: it, data, .. }
            if *it == class && data == "hello"));
        let accept = Accept { class, responding: None, data: Bytes::from_static(b"yes") };
        b.step(In::Connection(Input::Accept(there, accept)));
        let is_confirmed = |it: &Event| matches!(it, Event::Confirmed { .. });
        run(&mut [&mut a, &mut b], "CC", |nodes| nodes[0].events().any(|it| is_confirmed(it.1)));
        let (here, _) = a.events().next().unwrap();
        let long: Vec<u8> = (0..4_000u32).map(|it| it.to_le_bytes()[0]).collect();
        for it in [&b"first"[..], &long, b"last"] {
            a.step(data(here, it));
            b.step(data(there, it));
        }
        run(&mut [&mut a, &mut b], "data", |nodes| nodes.iter().all(|it| it.data().count() == 3));
        for node in [&a, &b] {
            assert_eq!(node.data().collect::<Vec<_>>(), [&b"first"[..], &long, b"last"]);
        }
        b.step(In::Connection(Input::Disconnect(
            there,
            Disconnect { cause: 0, data: Bytes::from_static(b"bye") },
        )));
        let ended = Event::Disconnected {
            why: Disconnected::Released(0),
            data: Bytes::from_static(b"bye"),
        };
        run(&mut [&mut a, &mut b], "RLSD, RLC", |nodes| {
            nodes[0].events().any(|it| *it.1 == ended) && nodes[1].node.connections().0 == 0
        });
    }
    // A subsystem that takes none refuses.
    b.step(In::Connection(Input::Serve(BSSAP, false)));
    a.connect(35, ConnectionClass::Basic, b"");
    let refused = Disconnected::Refused(RefusalCause::NoService.number());
    run(&mut [&mut a, &mut b], "CREF", |nodes| {
        nodes[0]
            .events()
            .any(|it| matches!(it.1, Event::Disconnected { why, .. } if *why == refused))
    });
    for node in [&a, &b] {
        capture::check(&node.asp.node.passed);
    }
}
