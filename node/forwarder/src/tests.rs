//! Workers that panic and workers that hang, on real threads.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "../tests/peer/mod.rs"]
mod peer;

use crate::Control;
use crate::serve::{Failed, Forwarder, Hand, Spec};
use crate::wire::{Driver, PortSpec, Reply, WorkerState};
use crate::worker::Order;
use peer::{Peer, ROUTER, awaited, numbers, programs};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// A forwarder of two workers in a thread of its own, and its control.
struct World {
    control: Control,
    said: Vec<Reply>,
    fail: mpsc::Sender<(usize, bool)>,
    forwarder: JoinHandle<Result<(), Failed>>,
    memif: PathBuf,
    _folder: tempfile::TempDir,
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (socket, memif) = (folder.path().join("control"), folder.path().join("memif"));
        let spec = Spec {
            socket: socket.clone(),
            workers: 2,
            cores: Vec::new(),
            packets: 2_048,
            stride: graph::STRIDE,
            host: None,
        };
        let (fail, failures) = mpsc::channel();
        let forwarder = std::thread::spawn(move || {
            let mut forwarder = Forwarder::start(&spec)?;
            while !forwarder.is_over() {
                forwarder.turn().unwrap();
                for (worker, hangs) in failures.try_iter() {
                    Hand::give(&forwarder.hands[worker], Order::Fail { hangs });
                }
            }
            forwarder.end()
        });
        let mut control = awaited("the forwarder", || Control::connect(&socket).ok());
        let driver = Driver::Memif { socket: memif.display().to_string(), id: 3, master: true };
        let name = "m".to_owned();
        control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
        control.apply(&programs()).unwrap();
        let said = Vec::new();
        awaited("the socket", || memif.exists().then_some(()));
        Self { control, said, fail, forwarder, memif, _folder: folder }
    }

    fn hears(&mut self, what: &str, wanted: impl Fn(&Reply) -> bool) -> Reply {
        awaited(what, || {
            self.said.extend(self.control.replies().unwrap_or_default());
            let at = self.said.iter().position(&wanted)?;
            self.said.drain(..=at).next_back()
        })
    }

    fn hears_of(&mut self, number: u16, wanted: WorkerState) -> String {
        let is_it = |reply: &Reply| {
            matches!(reply, Reply::Worker { worker, state, .. }
                if (*worker, *state) == (number, wanted))
        };
        match self.hears(wanted.name(), is_it) {
            Reply::Worker { why, .. } => why,
            other => panic!("{other:?}"),
        }
    }

    fn asks(&mut self, path: &str) -> serde_json::Value {
        self.control.ask(1, path, Vec::new()).unwrap();
        match self.hears("the answer", |reply| matches!(reply, Reply::Answer { .. })) {
            Reply::Answer { answer, .. } => answer.unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_worker_that_panics_begins_anew_with_its_ports_while_the_other_forwards() {
    let mut world = World::start();
    let mut peer = Peer::meet(&world.memif, 2);
    world.hears("the link", |reply| *reply == Reply::Link { port: 0, up: true });
    assert_eq!(peer.exchange(), [numbers(0), numbers(1)]);
    world.fail.send((1, false)).unwrap();
    assert_eq!(world.hears_of(1, WorkerState::Dead), "a test wants it");
    world.hears_of(1, WorkerState::Forwards);
    assert_eq!(peer.exchange(), [numbers(0), numbers(1)], "by the same rings");
    let workers = world.asks("workers");
    assert_eq!((&workers[0]["panics"], &workers[1]["panics"]), (&0.into(), &1.into()));
    assert_eq!(workers[1]["free_cells"], workers[1]["cells"], "nothing leaks");
    // The second death within a minute: it rests, and the other forwards meanwhile.
    world.fail.send((0, false)).unwrap();
    world.hears_of(0, WorkerState::Dead);
    world.hears_of(0, WorkerState::Forwards);
    world.fail.send((1, false)).unwrap();
    world.hears_of(1, WorkerState::Dead);
    assert_eq!(peer.exchange_of(1)[0], numbers(0));
    world.hears_of(1, WorkerState::Forwards);
    // Its ports were not trusted: the connection is made anew for all.
    drop(peer);
    let mut peer = Peer::meet(&world.memif, 2);
    assert_eq!(peer.exchange(), [numbers(0), numbers(1)]);
    world.control.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}

#[test]
fn a_worker_that_hangs_is_seen_and_ends_the_forwarder() {
    let mut world = World::start();
    world.fail.send((1, true)).unwrap();
    world.hears_of(1, WorkerState::Hung);
    let ended = world.forwarder.join().unwrap();
    assert!(matches!(ended, Err(Failed::Hung(1))), "{ended:?}");
}
