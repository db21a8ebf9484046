//! Messages a second over UDP encapsulation on the loopback, one association: ours, each side on a
//! thread of its own with one system call a packet, and Debian's tsctp in the same run (a debug
//! build; a release build of usrsctp is some five times as fast). Nothing is asserted about time:
//! `cargo test --release -p tandem-peers --test sctp_throughput -- --ignored --nocapture`
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

mod node;

use node::{HERE, Node, OUR_PORT, program};
use peers::{Process, ProcessSpec, free_port};
use sctp::{Failure, In, Indication, Outgoing, Parameters, State};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const MESSAGES: usize = 2_000_000;
const BATCH: usize = 64;

fn parameters() -> Parameters {
    let mut parameters = Parameters::rfc9260();
    parameters.max_burst = Some(32);
    parameters.send_buffer = 1 << 20;
    // What the socket's buffer of the kernel holds: nothing is lost there.
    parameters.receive_buffer = 1 << 16;
    parameters
}

fn send_all(mut node: Node, to: SocketAddr, size: usize) {
    let id = node.associate(to.port(), OUR_PORT);
    node.run(|it| it.endpoint.status(id).is_some_and(|it| it.state == State::Established));
    node.told.clear();
    let payload = bytes::Bytes::from(vec![7; size]);
    let mut sent = 0;
    while sent < MESSAGES {
        for _ in 0..BATCH {
            node.step(In::Send(id, Outgoing::new(0, 0, payload.clone())));
        }
        sent += BATCH;
        let full = Indication::SendFailure(0, Failure::BufferFull);
        let refused = node.told.iter().filter(|(_, it)| *it == full).count();
        sent -= refused;
        node.told.clear();
        node.turn();
        if refused > 0 {
            while !node.was_told(&Indication::SendBufferFree) {
                node.turn();
            }
        }
    }
    node.step(In::Shutdown(id));
    node.run(|it| it.was_told(&Indication::ShutdownComplete));
}

/// Messages a second from the first to the last that arrives.
fn ours(size: usize) -> f64 {
    let mut receiver = Node::new(&[HERE], parameters(), true);
    receiver.keeps = false;
    let to = SocketAddr::new(HERE, receiver.udp_port());
    let sender = Node::new(&[HERE], parameters(), false);
    let thread = std::thread::spawn(move || send_all(sender, to, size));
    while receiver.arrived == 0 {
        receiver.turn();
    }
    let begun = Instant::now();
    while receiver.arrived < MESSAGES && begun.elapsed() < Duration::from_secs(60) {
        receiver.turn();
    }
    let rate = receiver.arrived as f64 / begun.elapsed().as_secs_f64();
    receiver.run(|it| it.was_told(&Indication::ShutdownComplete));
    thread.join().expect("the sender ends");
    rate
}

/// What tsctp as a client says of its own rate.
fn tsctp(size: usize) -> Option<String> {
    let program = program("tsctp");
    let directory = tempfile::tempdir().expect("a directory");
    let ports = [0, 1].map(|_| free_port(HERE).expect("a port").port().to_string());
    let local = HERE.to_string();
    let one = |name: &str, own: usize, more: &[&str]| {
        let (own, other) = (ports[own].as_str(), ports[1 - own].as_str());
        let spec = ProcessSpec::new(name, program.clone(), directory.path());
        let all = ["-E", own, "-U", other, "-L", local.as_str()];
        Process::start(&spec.with(all).with(more.iter().copied())).expect("it starts")
    };
    let _server = one("server", 0, &[]);
    std::thread::sleep(Duration::from_millis(500));
    let size = size.to_string();
    let mut client = one("client", 1, &["-n", "200000", "-l", &size, &local]);
    client.wait(Duration::from_secs(60)).expect("it ends");
    let log = std::fs::read_to_string(directory.path().join("client.log")).ok()?;
    let words = log.lines().find(|line| line.contains(" messages of length "));
    Some(words.unwrap_or("says nothing").into())
}

#[test]
#[ignore = "it measures; run it by hand"]
fn messages_a_second() {
    for size in [100, 1_024] {
        println!("ours, {size} octets: {:.0} messages/s", ours(size));
        if let Some(words) = tsctp(size) {
            println!("tsctp, {size} octets: {}", words.trim());
        }
    }
}
