//! Workers that panic and workers that hang, on real threads.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod leading;
#[path = "../tests/peer/mod.rs"]
mod peer;

use crate::control_listener::ControlListener;
use crate::guard::{self, Watched};
use crate::ipc::{Driver, PortSpec, Reply, Request, WorkerState};
use crate::serve::{Forwarder, WorkerHandle};
use crate::spec::{Failed, Spec};
use crate::worker::Order;
use crate::{Control, Keys, Lost, ToPackets};
use channel::{Came, Channel, Connect as _, PacketRecord};
use driver::{Interest, Poll};
use nodes::Program;
use nodes::program::{Item, Removed};
use peer::{Peer, ROUTER, awaited, numbers, programs};
use plane_control::FEATURES;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

fn spec(socket: &Path, keys: Option<Keys>) -> Spec {
    Spec {
        socket: socket.to_owned(),
        workers: 2,
        cores: Vec::new(),
        packets: 2_048,
        stride: graph::STRIDE,
        host: None,
        keys,
        users: Vec::new(),
    }
}

/// A forwarder of two workers in a thread of its own, and its control.
struct World {
    control: Control,
    said: Vec<Reply>,
    fail: mpsc::Sender<(usize, bool)>,
    forwarder: JoinHandle<Result<(), Failed>>,
    memif: PathBuf,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

impl World {
    fn start() -> Self {
        Self::with(None)
    }

    fn with(keys: Option<Keys>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (socket, memif) = (folder.path().join("control"), folder.path().join("memif"));
        let spec = spec(&socket, keys.clone());
        let (fail, failures) = mpsc::channel();
        let forwarder = std::thread::spawn(move || {
            let mut forwarder = Forwarder::start(&spec, FEATURES)?;
            while !forwarder.is_over() {
                forwarder.turn().unwrap();
                for (worker, hangs) in failures.try_iter() {
                    WorkerHandle::give(&forwarder.hands[worker], Order::Fail { hangs });
                }
            }
            forwarder.end()
        });
        let mut control = awaited("the forwarder", || Control::connect(&socket, keys.clone()).ok());
        let mut said = Vec::new();
        awaited("the welcome", || {
            said.extend(control.replies().unwrap());
            said.iter().any(|it| matches!(it, Reply::Welcome { .. })).then_some(())
        });
        let driver = Driver::Memif { socket: memif.display().to_string(), id: 3, master: true };
        let name = "m".to_owned();
        control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
        control.apply(&programs()).unwrap();
        awaited("the socket", || memif.exists().then_some(()));
        Self { control, said, fail, forwarder, memif, socket, _folder: folder }
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
    world.hears("the link", |reply| matches!(reply, Reply::Link { port: 0, up: true, .. }));
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
fn what_takes_its_time_on_the_main_thread_is_no_hang() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(&folder.path().join("control"), None);
    let started = Forwarder::start(&spec, FEATURES);
    let mut forwarder = started.unwrap_or_else(|why| panic!("{why}"));
    let mut was_opening = false;
    forwarder.taking_time(|it| was_opening = it.watched.pulse.is_opening());
    assert!(was_opening && !forwarder.watched.pulse.is_opening());
    forwarder.end().unwrap();
}

#[test]
fn a_worker_that_hangs_is_seen_and_ends_the_forwarder() {
    let mut world = World::start();
    world.fail.send((1, true)).unwrap();
    world.hears_of(1, WorkerState::Hung);
    let ended = world.forwarder.join().unwrap();
    assert!(matches!(ended, Err(Failed::Hung(1))), "{ended:?}");
}

#[test]
fn questions_hold_up_nobody_while_a_worker_says_nothing() {
    let mut world = World::start();
    world.fail.send((1, true)).unwrap();
    for id in 0..60 {
        world.control.ask(id, "workers", Vec::new()).unwrap();
    }
    world.hears_of(1, WorkerState::Hung);
    assert!(matches!(world.forwarder.join().unwrap(), Err(Failed::Hung(1))));
}

#[test]
fn who_holds_all_places_keeps_no_control_out() {
    let key = Keys::parse("0123456789abcdef").unwrap();
    let World { control, socket, forwarder, .. } = &mut World::with(Some(key.clone()));
    let held: Vec<_> = (0..100)
        .map(|_| awaited("a place in the queue", || Control::questions(socket).ok()))
        .collect();
    assert!(control.replies().is_ok(), "the one that controls stays");
    let (mut next, answer) = answered(socket, Some(&key));
    assert_eq!(answer, Ok(()));
    drop(held);
    // Who may not change anything is sent away, and the control hears of one of them.
    for _ in 0..50 {
        let mut stranger = Control::questions(socket).unwrap();
        let _ = stranger.apply(&programs());
        awaited("the end", || stranger.replies().err());
    }
    let refused = next.replies().unwrap();
    let refused = refused.iter().filter(|it| matches!(it, Reply::Refused { .. })).count();
    assert!((1..=5).contains(&refused), "{refused} refusals");
    next.stop().unwrap();
    awaited("the end", || forwarder.is_finished().then_some(()));
}

#[test]
fn who_asks_without_reading_is_kept_waiting_and_gets_every_answer_when_he_reads() {
    const QUESTIONS: u64 = 100_000;
    let mut world = World::start();
    let mut stranger = UnixStream::connect(&world.socket).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let mut question = Vec::new();
    let ask = Request::Ask { id: 0, path: String::new(), params: Vec::new() };
    crate::ipc::write(&ask, &mut question).unwrap();
    let (asked, mut sent) = (question.repeat(QUESTIONS as usize), 0);
    let mut idle = 0;
    // Until the forwarder has taken nothing for a second.
    while sent < asked.len() && idle < 100 {
        match stranger.write(&asked[sent..]) {
            Ok(octets) => (sent, idle) = (sent + octets, 0),
            Err(_) => idle += 1,
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(sent < asked.len() / 2, "{sent} octets of questions were taken");
    assert!(world.asks("workers").is_array(), "others are answered");
    let (mut answers, mut buffer, mut came) = (0, vec![0; 1 << 16], Vec::new());
    awaited("the answers", || {
        sent += stranger.write(&asked[sent..]).unwrap_or(0);
        while let Ok(octets @ 1..) = stranger.read(&mut buffer) {
            came.extend_from_slice(&buffer[..octets]);
        }
        let mut at = 0;
        while let Some((Reply::Answer { .. }, octets)) = crate::ipc::read(&came[at..]).unwrap() {
            (at, answers) = (at + octets, answers + 1);
        }
        came.drain(..at);
        (answers == QUESTIONS).then_some(())
    });
    // Nor does a message without an end wait here.
    let mut stranger = UnixStream::connect(&world.socket).unwrap();
    let (length, silence) = (1_u32 << 20, std::time::Duration::from_secs(60));
    stranger.write_all(&length.to_be_bytes()).unwrap();
    stranger.set_read_timeout(Some(silence)).unwrap();
    assert_eq!(stranger.read(&mut buffer).unwrap(), 0, "it is closed");
    world.control.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}

/// Has whoever writes to the other end of a socket, or reads there, walk over tens of thousands of
/// waiters.
fn crowd(socket: &UnixStream) -> (Vec<UnixStream>, Vec<Poll>) {
    let copies: Vec<_> = (0..60).map(|_| socket.try_clone().unwrap()).collect();
    let polls: Vec<_> = (0..300).map(|_| Poll::new().unwrap()).collect();
    for poll in &polls {
        copies.iter().for_each(|copy| poll.add(copy, 0, Interest::ReadWrite).unwrap());
    }
    (copies, polls)
}

#[test]
fn who_makes_each_answer_take_its_time_is_let_go() {
    let mut world = World::start();
    let mut stranger = UnixStream::connect(&world.socket).unwrap();
    let _crowd = crowd(&stranger);
    let mut question = Vec::new();
    let ask = Request::Ask { id: 0, path: String::new(), params: Vec::new() };
    crate::ipc::write(&ask, &mut question).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 1 << 16];
    awaited("the end", || {
        let _ = stranger.write(&question);
        match stranger.read(&mut buffer) {
            Ok(octets) => (octets == 0).then_some(()),
            Err(error) => (error.kind() != std::io::ErrorKind::WouldBlock).then_some(()),
        }
    });
    assert!(world.asks("workers").is_array(), "the control stays");
    world.control.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}

#[test]
fn a_trace_ends_with_who_asked_for_it_and_he_begins_no_other_at_once() {
    let mut world = World::start();
    let mut peer = Peer::meet(&world.memif, 2);
    let ask = |asker: &mut Control, path: &str, params: &[(&str, &str)]| {
        let params = params.iter().map(|(key, it)| ((*key).to_owned(), (*it).to_owned()));
        asker.ask(1, path, params.collect()).unwrap();
        awaited("the answer", || {
            asker.replies().unwrap().into_iter().find_map(|reply| match reply {
                Reply::Answer { answer, .. } => Some(answer),
                _ => None,
            })
        })
    };
    let all = [("packets", "256"), ("containing", "45")];
    let mut stranger = Control::questions(&world.socket).unwrap();
    ask(&mut stranger, "trace", &all).unwrap();
    assert!(ask(&mut stranger, "trace", &all).is_err(), "one of them in a while");
    drop(stranger);
    let mut other = Control::questions(&world.socket).unwrap();
    assert!(ask(&mut other, "trace", &all).is_err());
    // The turn in which it was asked is over by then, and the end of the first was read in it.
    world.asks("workers");
    peer.exchange();
    assert_eq!(world.asks("traced"), serde_json::json!([]));
    world.control.ask(1, "trace", vec![("packets".to_owned(), "1".to_owned())]).unwrap();
    world.hears("the answer", |reply| matches!(reply, Reply::Answer { .. }));
    peer.exchange();
    assert!(!world.asks("traced").as_array().unwrap().is_empty(), "the control may at any time");
    world.control.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}

/// A packet channel of one class, and what came by it.
struct Far {
    channel: Box<dyn Channel>,
    packets: Vec<(PacketRecord, Vec<u8>)>,
    is_open: bool,
}

impl Far {
    fn of(socket: &Path, keys: Option<&Keys>, class: &str, share: u16) -> Self {
        let classes = vec![(class.to_owned(), share)];
        let socket = socket.to_owned();
        Self::by(&ToPackets { socket, keys: keys.cloned(), classes, epoch: None })
    }

    fn by(to: &ToPackets) -> Self {
        let channel = to.connect().unwrap_or_else(|why| panic!("{why:?}"));
        Self { channel, packets: Vec::new(), is_open: false }
    }

    fn look(&mut self) -> Result<(), String> {
        let Self { channel, packets, is_open } = self;
        channel.read(&mut |came| match came {
            Came::Message(_) => *is_open = true,
            Came::Packet(record, packet) => packets.push((record, packet.to_vec())),
        })
    }

    fn opens(mut self) -> Self {
        awaited("the packet channel", || {
            self.look().unwrap();
            self.is_open.then_some(())
        });
        self
    }

    /// Why it is over.
    fn ends(&mut self) -> String {
        awaited("its end", || self.look().err())
    }
}

#[test]
fn a_packet_channel_takes_what_the_control_plane_is_sent_and_is_over_when_a_worker_dies() {
    let mut world = World::start();
    let mut peer = Peer::meet(&world.memif, 2);
    let mut far = Far::of(&world.socket, None, "other", 100).opens();
    peer.sends_to([10, 0, 0, 1], 0, 99, 1);
    awaited("the packet", || {
        far.look().unwrap();
        (!far.packets.is_empty()).then_some(())
    });
    let (record, packet) = &far.packets[0];
    assert_eq!((record.interface, record.vrf, record.class), (1, 0, 0));
    assert_eq!((packet[0], packet[9], &packet[16..20]), (0x45, 99, &[10, 0, 0, 1][..]));
    // The same class has no second packet channel, and shares are no more than a ring.
    let second = Far::of(&world.socket, None, "other", 1).ends();
    assert_eq!(second, "packets of class other have a packet channel");
    assert_eq!(Far::of(&world.socket, None, "what", 1).ends(), "there is no class what");
    let (long, cut) = ("é".repeat(20_000), "é".repeat(64));
    let refused = Far::of(&world.socket, None, &long, 1).ends();
    assert_eq!(refused, format!("there is no class {cut}"));
    assert!(Far::of(&world.socket, None, "bgp", 513).ends().starts_with("a packet channel: "));
    world.fail.send((1, false)).unwrap();
    assert_eq!(far.ends(), "a worker began anew");
    world.hears_of(1, WorkerState::Forwards);
    let mut next = Far::of(&world.socket, None, "other", 100).opens();
    assert_eq!(next.look(), Ok(()));
    drop(next);
    awaited("the end of the packet channels", || {
        (world.asks("doors") == serde_json::json!([])).then_some(())
    });
    world.control.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}

#[test]
fn who_holds_all_places_takes_nobodys_packet_channel() {
    let World { control, socket, forwarder, .. } = &mut World::start();
    let mut far = Far::of(socket, None, "bgp", 8).opens();
    let mut held: Vec<_> = (0..100)
        .map(|_| awaited("a place in the queue", || Control::questions(socket).ok()))
        .collect();
    // The first of them has given way by then.
    awaited("the end", || held[0].replies().err());
    assert_eq!(far.look(), Ok(()));
    assert!(control.replies().is_ok());
    control.stop().unwrap();
    awaited("the end", || forwarder.is_finished().then_some(()));
}

#[test]
fn with_a_key_who_does_not_prove_it_gets_no_packets() {
    let own = Keys::parse("0123456789abcdef").unwrap();
    let mut world = World::with(Some(own.clone()));
    let refused = Far::of(&world.socket, None, "bgp", 8).ends();
    assert_eq!(refused, "packets go to who has this forwarder's key");
    let wrong = Keys::parse("another key of some length").unwrap();
    let refused = Far::of(&world.socket, Some(&wrong), "bgp", 8).ends();
    assert_eq!(refused, "it does not have the key");
    let mut far = Far::of(&world.socket, Some(&own), "bgp", 8).opens();
    assert_eq!(far.look(), Ok(()));
    world.control.stop().unwrap();
    world.forwarder.join().unwrap().unwrap();
}

/// How a forwarder answers a control: `Ok` it is welcome, else why not.
fn answer_of(control: &mut Control) -> Result<(), String> {
    awaited("an answer", || match control.replies() {
        Ok(replies) => replies.into_iter().find_map(|reply| match reply {
            Reply::Welcome { .. } => Some(Ok(())),
            Reply::Refused { why, .. } => Some(Err(why)),
            _ => None,
        }),
        Err(lost) => Some(Err(lost.to_string())),
    })
}

fn answered(socket: &Path, keys: Option<&Keys>) -> (Control, Result<(), String>) {
    let mut control = Control::connect(socket, keys.cloned()).unwrap();
    let answer = answer_of(&mut control);
    (control, answer)
}

#[test]
fn without_a_key_nobody_takes_over_from_a_control_that_lives() {
    let World { mut control, socket, forwarder, _folder, .. } = World::start();
    let (mut other, answer) = answered(&socket, None);
    assert_eq!(answer, Err("another control stands and lives".to_owned()));
    let gone = awaited("the end", || other.replies().err());
    assert!(matches!(gone, Lost::Closed | Lost::Kernel(_)), "{gone:?}");
    assert!(control.replies().is_ok(), "the first is still there");
    drop(control);
    let (mut next, answer) = answered(&socket, None);
    assert_eq!(answer, Ok(()));
    next.stop().unwrap();
    awaited("the end", || forwarder.is_finished().then_some(()));
}

#[test]
fn with_a_key_who_proves_it_takes_over_and_nobody_else_does_anything() {
    let key = |text: &str| Keys::parse(text).unwrap();
    let (own, next) = (key("0123456789abcdef"), key("fedcba9876543210\n0123456789abcdef"));
    let World { control, socket, forwarder, .. } = &mut World::with(Some(own.clone()));
    let (_, none) = answered(socket, None);
    assert_eq!(none, Err("this forwarder is controlled by who has its key".to_owned()));
    let (_, wrong) = answered(socket, Some(&key("another key of some length")));
    assert_eq!(wrong, Err("it does not have the key".to_owned()));
    assert!(control.replies().is_ok(), "the first is still there");
    let mut questions = Control::questions(socket).unwrap();
    questions.ask(7, "workers", Vec::new()).unwrap();
    let answer = awaited("the answer", || {
        let said = questions.replies().unwrap();
        said.into_iter().find_map(|reply| match reply {
            Reply::Answer { id: 7, answer } => Some(answer.unwrap()),
            _ => None,
        })
    });
    assert_eq!(answer.as_array().map(Vec::len), Some(2), "asking needs no proof");
    let (mut second, answer) = answered(socket, Some(&next));
    assert_eq!(answer, Ok(()), "its file has a new key, and the old one still");
    control.stop().unwrap();
    awaited("the refusal", || {
        let said = second.replies().unwrap();
        said.iter().any(|it| matches!(it, Reply::Refused { .. })).then_some(())
    });
    second.stop().unwrap();
    awaited("the end", || forwarder.is_finished().then_some(()));
}

#[test]
fn why_a_forwarder_left_is_heard_though_it_left_before_all_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut control = Control::connect(&socket, Keys::parse("0123456789abcdef").ok()).unwrap();
    let (mut there, _) = listener.accept().unwrap();
    let mut octets = Vec::new();
    crate::ipc::write(&Reply::Challenge { challenge: vec![7; 32] }, &mut octets).unwrap();
    let why = "it does not have the key".to_owned();
    crate::ipc::write(
        &Reply::Refused { what: "control".into(), why: why.clone(), of: None },
        &mut octets,
    )
    .unwrap();
    there.write_all(&octets).unwrap();
    drop(there);
    let said = control.replies().unwrap();
    assert!(matches!(&said[..], [Reply::Refused { why: told, .. }] if *told == why), "{said:?}");
    assert!(control.replies().is_err());
}

#[test]
fn what_is_refused_is_named_as_it_was_said() {
    let World { mut control, forwarder, _folder, .. } = World::start();
    let item = Item { feature: "media".to_owned(), key: vec![2, 7], value: vec![1] };
    control.apply(&[Program::Item(item)]).unwrap();
    let of = awaited("the refusal", || {
        let said = control.replies().unwrap();
        said.into_iter().find_map(|it| match it {
            Reply::Refused { of, .. } => Some(of),
            _ => None,
        })
    });
    assert_eq!(of, Some(Removed::Item("media".to_owned(), vec![2, 7])));
    control.stop().unwrap();
    awaited("the end", || forwarder.is_finished().then_some(()));
}

#[test]
fn a_main_thread_that_hangs_ends_the_process_once_somebody_starts_another() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let (tell, told) = mpsc::channel();
    let start = |has_control: bool| {
        let (watched, tell) = (Arc::new(Watched::default()), tell.clone());
        watched.turn(has_control);
        guard::watch(&watched, listener.try_clone().unwrap(), move || {
            tell.send(has_control).unwrap()
        });
        watched
    };
    let (_alone, _controlled) = (start(false), start(true));
    let long = std::time::Duration::from_secs(60);
    assert_eq!(told.recv_timeout(long), Ok(true));
    assert!(told.try_recv().is_err(), "the workers of the other forward on");
    let _knocks = UnixStream::connect(&socket).unwrap();
    assert_eq!(told.recv_timeout(long), Ok(false));
}

#[test]
fn the_folder_of_a_listener_is_made_for_those_who_may_open_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    for (name, users, rights) in [("own", vec![], 0o700), ("shared", vec![4_711], 0o755)] {
        let socket = folder.path().join(name).join("pe1.forwarder");
        let _listener = ControlListener::open(&Spec { users, ..spec(&socket, None) }).unwrap();
        let made = std::fs::metadata(folder.path().join(name)).unwrap();
        assert_eq!(made.permissions().mode() & rights, made.permissions().mode() & 0o777);
        assert_eq!(made.permissions().mode() & 0o700, 0o700);
    }
}
