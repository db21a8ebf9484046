//! A forwarder whose workers share one memif, and a peer with as many rings and with fewer.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod peer;

use forwarder::wire::{Driver, PortSpec, Reply};
use forwarder::{Control, STRIDE, Spec, serve};
use peer::{PACKETS, Peer, ROUTER, awaited, numbers, programs};
use serde_json::json;

const WORKERS: u16 = 2;

#[test]
fn workers_forward_what_comes_by_the_rings_of_one_memif() {
    let folder = tempfile::tempdir().unwrap();
    let (doorway, socket) = (folder.path().join("control"), folder.path().join("memif"));
    let spec = Spec {
        socket: doorway.clone(),
        workers: WORKERS,
        cores: Vec::new(),
        packets: 2_048,
        stride: STRIDE,
        host: None,
        keys: None,
        users: Vec::new(),
    };
    let forwarder = std::thread::spawn(move || serve(&spec));
    let mut control = awaited("the forwarder", || Control::connect(&doorway, None).ok());
    let driver = Driver::Memif { socket: socket.display().to_string(), id: 3, master: true };
    let name = "m".to_owned();
    control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
    control.apply(&programs()).unwrap();
    let is_up = |control: &mut Control, wanted: bool| {
        awaited("the link", || {
            let said = control.replies().unwrap();
            let refused = said.iter().find(|reply| matches!(reply, Reply::Refused { .. }));
            assert_eq!(refused, None);
            said.contains(&Reply::Link { port: 0, up: wanted }).then_some(())
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
