//! A forwarder whose workers share one memif, and a peer with as many rings and with fewer.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod peer;

use forwarder::ipc::{Driver, PortSpec, Reply};
use forwarder::{Control, STRIDE, Spec, serve};
use media::program::{FEATURE, FlowSaid, Guard, Name, Notice, Place, Range, Said};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::Program;
use nodes::program::Item;
use peer::{PACKETS, Peer, ROUTER, awaited, numbers, programs};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};

const WORKERS: u16 = 2;

#[test]
fn workers_forward_what_comes_by_the_rings_of_one_memif() {
    let folder = tempfile::tempdir().unwrap();
    let (listen, socket) = (folder.path().join("control"), folder.path().join("memif"));
    let spec = Spec {
        socket: listen.clone(),
        workers: WORKERS,
        cores: Vec::new(),
        packets: 2_048,
        stride: STRIDE,
        host: None,
        keys: None,
        users: Vec::new(),
    };
    let forwarder = std::thread::spawn(move || serve(&spec));
    let mut control = awaited("the forwarder", || Control::connect(&listen, None).ok());
    let driver = Driver::Memif { socket: socket.display().to_string(), id: 3, master: true };
    let name = "m".to_owned();
    control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
    control.apply(&programs()).unwrap();
    let is_up = |control: &mut Control, wanted: bool| {
        awaited("the link", || {
            let said = control.replies().unwrap();
            let refused = said.iter().find(|reply| matches!(reply, Reply::Refused { .. }));
            assert_eq!(refused, None);
            let is_it = |it: &Reply| matches!(it, Reply::Link { port: 0, up, .. } if *up == wanted);
            said.iter().any(is_it).then_some(())
        });
    };
    awaited("the socket", || socket.exists().then_some(()));
    let mut peer = Peer::meet(&socket, 2);
    is_up(&mut control, true);
    // Ring n is worker n's both ways.
    assert_eq!(peer.exchange(), [numbers(0), numbers(1)]);
    drop(peer);
    is_up(&mut control, false);
    // One ring: the first worker hears, and all is there as before.
    let mut peer = Peer::meet(&socket, 1);
    is_up(&mut control, true);
    assert_eq!(peer.exchange(), [numbers(0)]);
    control.ask(1, "ports", Vec::new()).unwrap();
    let answer = awaited("the answer", || {
        control.replies().unwrap().into_iter().find_map(|reply| match reply {
            Reply::Answer { id: 1, answer } => Some(answer.unwrap()),
            _ => None,
        })
    });
    let port = &answer[0];
    assert_eq!((&port["workers"], &port["received"]), (&json!(2), &json!(3 * PACKETS)), "{port}");
    assert_eq!(port["sent"], json!(3 * PACKETS), "{port}");
    control.stop().unwrap();
    forwarder.join().unwrap().unwrap();
}

/// A flow of this system's address: what comes to a port from a peer goes on to another port's.
fn flow(port: u16, to: u16, peer: SocketAddr) -> Program {
    let address = IpAddr::from([10, 0, 0, 1]);
    let settings = Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::ALL,
        untimed: PayloadTypes::default(),
        ssrcs: Sources::ANY,
        clock: media::ClockRate::TELEPHONY,
        rate: Rate::bits(10_000_000),
        rewrite: media::Rewrite::default(),
    };
    item(&Said::Flow(Box::new(FlowSaid {
        at: Place { vrf: 0, address, port },
        to: Some(Place { vrf: 0, address, port: to }),
        settings,
        expected: Expected::at(peer),
        guard: Guard::None,
        dscp: Some(46),
        timeout: None,
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default(),
        stun: false,
        dtls: false,
        association: None,
        resume: None,
    })))
}

fn item(said: &Said) -> Program {
    let (key, value) = (said.name().key(), said.value());
    Program::Item(Item { feature: FEATURE.to_owned(), key, value })
}

#[test]
fn media_of_a_call_passes_the_forwarder_and_its_control_hears_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (listen, socket) = (folder.path().join("control"), folder.path().join("memif"));
    let spec = Spec {
        socket: listen.clone(),
        workers: WORKERS,
        cores: Vec::new(),
        packets: 2_048,
        stride: STRIDE,
        host: None,
        keys: None,
        users: Vec::new(),
    };
    let forwarder = std::thread::spawn(move || serve(&spec));
    let mut control = awaited("the forwarder", || Control::connect(&listen, None).ok());
    let driver = Driver::Memif { socket: socket.display().to_string(), id: 3, master: true };
    let name = "m".to_owned();
    control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
    let range = Range { vrf: 0, address: [10, 0, 0, 1].into(), first: 20_000, ports: 100 };
    let (phone, core) = (([10, 0, 0, 2], 4_000).into(), ([192, 0, 2, 7], 5_000).into());
    let call = [flow(20_000, 20_002, phone), flow(20_002, 20_000, core)];
    control.apply(&programs()).unwrap();
    control.apply(&[item(&Said::Range(range))]).unwrap();
    control.apply(&call).unwrap();
    awaited("the socket", || socket.exists().then_some(()));
    let mut peer = Peer::meet(&socket, 2);
    let mut said = Vec::new();
    awaited("the link", || {
        said.extend(control.replies().unwrap());
        let is_it = |it: &Reply| matches!(it, Reply::Link { port: 0, up: true, .. });
        said.iter().any(is_it).then_some(())
    });
    let heard = peer.media(0, ([10, 0, 0, 2], 4_000), ([10, 0, 0, 1], 20_000), 50);
    for (number, frame) in (0_u8..).zip(&heard) {
        let (from, to, udp) = (&frame[26..30], &frame[30..34], &frame[34..42]);
        assert_eq!((from, to), (&[10, 0, 0, 1][..], &[192, 0, 2, 7][..]));
        assert_eq!(udp[..4], [20_002_u16.to_be_bytes(), 5_000_u16.to_be_bytes()].concat());
        assert_eq!((frame[15], frame[22], frame[45]), (46 << 2, 63, number), "in their order");
    }
    let latched = awaited("the notice", || {
        said.extend(control.replies().unwrap());
        said.iter().find_map(|reply| match reply {
            Reply::Item(item) => Some((item.key.clone(), Notice::read(&item.value).unwrap())),
            Reply::Refused { .. } => panic!("{reply:?}"),
            _ => None,
        })
    });
    let place = Place { vrf: 0, address: [10, 0, 0, 1].into(), port: 20_000 };
    assert_eq!((latched.0, latched.1.latched), (Name::Flow(place).key(), Some(phone)));
    control.stop().unwrap();
    forwarder.join().unwrap().unwrap();
}
