//! A function on its shard, a forwarder on its threads, and a peer behind a memif: a feature of the
//! forwarder hands packets up to the function by its packet channel, and takes what the function
//! sends down.
#![allow(clippy::disallowed_methods, reason = "a real forwarder takes its time")]
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "../../../node/forwarder/tests/peer/mod.rs"]
mod peer;
#[path = "packet_channel/tap.rs"]
mod tap;

use dataplane::{PacketChannel, PacketChannelEvent};
use forwarder::ipc::{Driver, PortSpec, Reply};
use forwarder::{Control, STRIDE, Spec, ToPackets, serve_with};
use machine::Time;
use peer::{Peer, ROUTER, awaited, programs};
use plane_control::FEATURES;
use runtime::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

const PACKET_CHANNEL: PortId = PortId(2);
/// The function's classes, by their places in its list.
const PING: u8 = 0;
const FLOOD: u8 = 1;
/// The source of frames that the function sends by an interface, and of those of the feature.
const OWN: [u8; 6] = [2, 0, 0, 0, 7, 7];

/// Sends back what comes up of its first class: by the routes, by an interface, by the feature,
/// and to where nothing is.
struct Answerer {
    channel: PacketChannel,
    seen: Vec<Value>,
    closed: Vec<String>,
    opened: u32,
}

impl Answerer {
    fn answer(&mut self, packet: &[u8], out: &mut Effects) {
        let frame = [&[2, 0, 0, 0, 9, 9][..], &OWN, &[8, 0], packet].concat();
        let of_feature = |class| PacketTo::Feature { class, interface: 1, vrf: 0 };
        // To 192.0.2.0/24, behind the interface again.
        self.channel.send(out, PacketTo::Vrf(0), |b| b.extend_from_slice(packet));
        self.channel.send(out, PacketTo::Interface(1), |b| b.extend_from_slice(&frame));
        self.channel.send(out, of_feature(PING), |b| b.extend_from_slice(packet));
        self.channel.send(out, of_feature(FLOOD), |b| b.extend_from_slice(packet));
        self.channel.send(out, of_feature(9), |b| b.extend_from_slice(packet));
        self.channel.send(out, PacketTo::Interface(u32::MAX), |b| b.extend_from_slice(&frame));
        self.channel.send(out, PacketTo::Vrf(u32::MAX - 7), |b| b.extend_from_slice(packet));
    }
}

impl Function for Answerer {
    type Config = PathBuf;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        let In::Channel { port, event } = input else { return };
        match self.channel.step(now, port, event) {
            Some(PacketChannelEvent::Opened) => self.opened += 1,
            Some(PacketChannelEvent::Closed(why)) => self.closed.push(why.to_owned()),
            Some(PacketChannelEvent::Packet(record, packet)) => {
                let PacketRecord { class, interface, vrf, time_ns } = record;
                self.seen.push(json!([class, interface, vrf, packet.len(), time_ns > 0]));
                if class == PING {
                    self.answer(packet, out);
                }
            }
            None => {}
        }
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.channel.tick(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.channel.deadline()
    }

    fn configure(&mut self, _now: Time, _config: Arc<PathBuf>, _out: &mut Effects) {}

    fn frame(_port: PortId, _buffer: &[u8]) -> Frame {
        Frame::Partial
    }

    fn ask(&mut self, _now: Time, ask: &Ask, _out: &mut Effects) -> Answered {
        Ok(match ask.path.as_str() {
            "seen" => json!(self.seen),
            "closed" => json!(self.closed),
            _ => json!(self.opened),
        })
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

struct World {
    control: Control,
    function: Running<Answerer>,
    forwarder: JoinHandle<Result<(), forwarder::Failed>>,
    peer: Peer,
    asked: u64,
    socket: PathBuf,
    said: Vec<Reply>,
    _folder: tempfile::TempDir,
}

/// A function with a packet channel for both classes of the feature.
fn answerer(socket: &std::path::Path) -> Running<Answerer> {
    let make = |seed: Seed, socket: Arc<PathBuf>| {
        let classes = vec![("tap/ping".to_owned(), 300), ("tap/flood".to_owned(), 4)];
        let to = ToPackets { socket: (*socket).clone(), keys: None, classes, epoch: None };
        let channel = PacketChannel::new(seed.now, PACKET_CHANNEL, to);
        Answerer { channel, seen: Vec::new(), closed: Vec::new(), opened: 0 }
    };
    start(ShardSpec::default(), Arc::new(socket.to_owned()), make).unwrap()
}

fn says(function: &Running<Answerer>, path: &str) -> Value {
    function.ask(Ask { path: path.into(), ..Ask::default() }).unwrap()
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
            stride: STRIDE,
            host: None,
            keys: None,
            users: Vec::new(),
        };
        let features = [FEATURES, &[tap::ROW]].concat();
        let forwarder = std::thread::spawn(move || serve_with(&spec, &features));
        let mut control = awaited("the forwarder", || Control::connect(&socket, None).ok());
        let driver = Driver::Memif { socket: memif.display().to_string(), id: 3, master: true };
        let name = "m".to_owned();
        control.open(PortSpec { port: 0, name, driver, mac: Some(ROUTER), mtu: 1_500 }).unwrap();
        control.apply(&programs()).unwrap();
        control.apply(&[tap::of(1)]).unwrap();
        awaited("the memif", || memif.exists().then_some(()));
        let function = answerer(&socket);
        let peer = Peer::meet(&memif, 2);
        awaited("the packet channel", || (says(&function, "opened") == json!(1)).then_some(()));
        let (asked, said) = (0, Vec::new());
        Self { control, function, forwarder, peer, asked, socket, said, _folder: folder }
    }

    fn channels(&mut self) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.control.ask(id, "doors", Vec::new()).unwrap();
        awaited("the answer", || {
            self.said.extend(self.control.replies().unwrap());
            self.said.iter().find_map(|reply| match reply {
                Reply::Answer { id: of, answer } if *of == id => answer.clone().ok(),
                _ => None,
            })
        })
    }

    fn stop(mut self) {
        self.control.stop().unwrap();
        self.forwarder.join().unwrap().unwrap();
    }
}

#[test]
fn a_feature_hands_packets_up_to_a_function_and_takes_down_what_it_sends() {
    let mut world = World::start();
    let frames = world.peer.sends_and_hears(0, 253, 10, 30);
    let seen = says(&world.function, "seen");
    assert_eq!(seen.as_array().map(Vec::len), Some(10));
    assert_eq!(seen[0], json!([PING, 1, 0, 46, true]));
    let from = |mac: [u8; 6]| frames.iter().filter(|frame| frame[6..12] == mac).count();
    let counts = (from(ROUTER), from(OWN), from(tap::SOURCE));
    assert_eq!(counts, (10, 10, 10), "routed, as it was, and by the feature");
    let channels = world.channels();
    let row = &channels[0];
    assert_eq!((&row["up"], &row["down"]), (&json!(10), &json!(30)), "{row}");
    let lost = json!({ "no_feature": 20, "no_interface": 10, "no_table": 10 });
    assert_eq!(row["down_lost"], lost, "{row}");
    assert!(
        world.said.iter().any(|it| matches!(it, Reply::Item(item) if item.feature == "tap")),
        "what the feature tells its control: {:?}",
        world.said
    );
    world.stop();
}

#[test]
fn a_class_that_floods_sheds_and_another_does_not() {
    let mut world = World::start();
    for _ in 0..10 {
        world.peer.sends(0, 254, 20);
    }
    let frames = world.peer.sends_and_hears(0, 253, 10, 30);
    assert_eq!(frames.len(), 30);
    let channels = awaited("the count", || {
        let channels = world.channels();
        let shed = channels[0]["classes"][1]["shed"]["class_full"].as_u64().unwrap_or(0);
        (channels[0]["up"].as_u64().unwrap() + shed == 210).then_some(channels)
    });
    assert_eq!(channels[0]["classes"][0]["shed"], json!({}), "{channels}");
    world.stop();
}

#[test]
fn a_class_has_one_packet_channel_and_the_next_who_waits_for_it_gets_it() {
    let mut world = World::start();
    let second = answerer(&world.socket);
    awaited("its refusal", || (says(&second, "closed") != json!([])).then_some(()));
    assert_eq!(
        says(&second, "closed")[0],
        json!("packets of class tap/ping have a packet channel")
    );
    let _ = world.function.ask(Ask::default());
    world.function = second;
    awaited("the packet channel", || (says(&world.function, "opened") == json!(1)).then_some(()));
    assert_eq!(world.peer.sends_and_hears(1, 253, 3, 9).len(), 9);
    world.stop();
}
