//! Several shards, the management side, and what happens when things change or break.

use crate::echo::{self, Behaviour, Echo, Seen, count, framed, launch, port, say, until, wait_for};
use runtime::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

fn spec(shards: u16, transports: &[Transport]) -> ShardSpec {
    let ports = transports
        .iter()
        .enumerate()
        .map(|(id, &transport)| port(id as u16, transport, "127.0.0.1"))
        .collect();
    ShardSpec { shards, ports, ..ShardSpec::default() }
}

fn client() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn ask(running: &Running<Echo>, path: &str) -> Result<serde_json::Value, AskError> {
    running.ask(Ask { path: path.into(), ..Ask::default() })
}

fn steering() -> Behaviour {
    Behaviour { steer: true, ..Behaviour::default() }
}

#[test]
fn each_message_is_stepped_on_the_shard_that_owns_it_and_answered_from_the_same_address() {
    let (running, events) = launch(spec(3, &[Transport::Udp]), steering());
    let to = running.local_addr(PortId(0));
    for n in 0..60u8 {
        let socket = client(); // another source port: another shard by the kernel's choice
        socket.send_to(&[n, 1, 2], to).unwrap();
        let mut buffer = [0u8; 10];
        let (length, from) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from), (&[n, 1, 2][..], to));
        let shard = wait_for(&events, |seen| match seen {
            Seen::Message(shard, _, bytes) if bytes[0] == n => Some(*shard),
            _ => None,
        });
        assert_eq!(shard, u16::from(n) % 3);
    }
    assert!(count(&running, RuntimeMetric::Steered) > 0);
}

#[test]
fn an_answer_finds_its_connection_on_another_shard_and_its_end_is_told_to_all() {
    let (running, events) = launch(spec(2, &[Transport::Tcp]), steering());
    let to = running.local_addr(PortId(0));
    for round in 0..8u8 {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        for n in [round, round + 1] {
            stream.write_all(&framed(&[n, 9])).unwrap();
            let mut answer = [0u8; 6];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer[4..], [n, 9]);
        }
        drop(stream);
        let mut told = Vec::new();
        while told.len() < 2 {
            told.push(wait_for(&events, |seen| match seen {
                Seen::Down(shard, ..) => Some(*shard),
                _ => None,
            }));
        }
        told.sort_unstable();
        assert_eq!(told, [0, 1]);
    }
    // Closing from a shard that does not own the connection works too.
    for _ in 0..6 {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&framed(b"close")).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, framed(b"bye"));
    }
}

#[test]
fn questions_are_answered_by_all_shards_and_refused_with_the_functions_words() {
    let (running, _events) = launch(spec(3, &[Transport::Udp]), Behaviour::default());
    let rows = ask(&running, "counts").unwrap();
    let shards: Vec<u64> =
        rows.as_array().unwrap().iter().map(|row| row["shard"].as_u64().unwrap()).collect();
    assert_eq!(shards, [0, 1, 2]);
    assert_eq!(ask(&running, "only-zero").unwrap(), serde_json::json!({"shard": 0}));
    assert_eq!(ask(&running, "nothing"), Err(AskError::NotFound("nothing".into())));
    assert_eq!(ask(&running, "bad"), Err(AskError::BadParameter("no".into())));
}

#[test]
fn a_shard_that_is_too_busy_is_reported_as_unreachable() {
    let (running, _events) = launch(spec(1, &[Transport::Udp]), Behaviour::default());
    client().send_to(b"sleep:2600", running.local_addr(PortId(0))).unwrap();
    until("it sleeps", || ask(&running, "counts") == Err(AskError::Unreachable));
    until("it is back", || ask(&running, "counts").is_ok());
}

/// `panic:WORDS` over UDP, and that it was outlived `times` times by then.
fn break_shard(running: &Running<Echo>, words: &str, times: u64) {
    let to = running.local_addr(PortId(0));
    client().send_to(format!("panic:{words}").as_bytes(), to).unwrap();
    until("it crashed", || running.crashes().iter().any(|(_, it)| it.count == times));
}

#[test]
fn a_panic_costs_the_state_of_its_shard_and_everything_is_served_on() {
    let (running, events) = launch(spec(2, &[Transport::Udp, Transport::Tcp]), steering());
    let to = running.local_addr(PortId(0));
    let mut streams: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(running.local_addr(PortId(1))).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(&framed(&[1, 9])).unwrap();
            stream.read_exact(&mut [0u8; 6]).unwrap();
            stream
        })
        .collect();
    // 'p' is 112: shard 0.
    break_shard(&running, "of the test", 1);
    let crashes = running.crashes();
    assert_eq!((crashes.len(), crashes[0].0), (1, 0));
    let (_, why) = crashes[0].1.last.clone().unwrap();
    assert_eq!(why, "told to panic: of the test");
    assert_eq!(count(&running, RuntimeMetric::Crashed), 1);
    until("both run", || running.states().iter().all(|state| *state == ShardState::Running));
    assert!(running.failures().is_empty());
    for n in 0..20u8 {
        let socket = client();
        socket.send_to(&[n], to).unwrap();
        assert_eq!(socket.recv(&mut [0u8; 4]).unwrap(), 1);
    }
    // Connections that shard 0 had accepted are closed, and every shard hears it; others stand.
    let mut closed = 0;
    for stream in &mut streams {
        let wrote = stream.write_all(&framed(&[1, 9]));
        let answered = wrote.and_then(|()| stream.read_exact(&mut [0u8; 6]));
        closed += usize::from(answered.is_err());
    }
    let mut told = 0;
    while told < closed {
        let down = |seen: &Seen| matches!(seen, Seen::Down(1, _, why) if why.contains("crashed"));
        wait_for(&events, |seen| down(seen).then_some(()));
        told += 1;
    }
    let rows = ask(&running, "counts").unwrap();
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "both answer");
}

#[test]
fn a_panic_over_a_message_of_a_stream_leaves_the_shard_able_to_read_streams() {
    let (running, _events) =
        launch(spec(1, &[Transport::Udp, Transport::Tcp]), Behaviour::default());
    let connect = || {
        let stream = TcpStream::connect(running.local_addr(PortId(1))).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    };
    connect().write_all(&framed(b"panic:over TCP")).unwrap();
    until("it crashed", || running.crashes().iter().any(|(_, it)| it.count == 1));
    let mut stream = connect();
    stream.write_all(&framed(&[1, 9])).unwrap();
    stream.read_exact(&mut [0u8; 6]).expect("it is answered as before");
}

#[test]
fn a_panic_over_a_configuration_begins_anew_with_the_new_one() {
    let (running, _events) = launch(spec(1, &[Transport::Udp]), Behaviour::default());
    let behaviour = Behaviour { version: 7, refuses: true, ..Behaviour::default() };
    let ports = running.ports().into_iter().map(|it| it.0).collect();
    running.configure(Arc::new(behaviour), ports).unwrap();
    until("it crashed", || running.crashes().iter().any(|(_, it)| it.count == 1));
    until("it is back", || ask(&running, "counts").is_ok());
    assert_eq!(ask(&running, "counts").unwrap()[0]["version"], 7);
}

#[test]
fn a_second_death_within_a_minute_is_followed_by_a_rest_in_which_commands_are_taken() {
    let (running, _events) = launch(spec(1, &[Transport::Udp]), Behaviour::default());
    let to = running.local_addr(PortId(0));
    break_shard(&running, "once", 1);
    break_shard(&running, "again", 2);
    assert!(ask(&running, "counts").is_ok(), "commands are taken");
    let behaviour = Behaviour { version: 7, ..Behaviour::default() };
    running
        .configure(Arc::new(behaviour), running.ports().into_iter().map(|it| it.0).collect())
        .unwrap();
    let socket = client();
    socket.send_to(&[1], to).unwrap();
    assert_eq!(socket.recv(&mut [0u8; 4]).unwrap(), 1, "it waited in the socket");
    drop(running);
}

#[test]
fn a_panic_while_answering_a_question_is_an_unreachable_function_that_is_back_at_once() {
    let (running, _events) = launch(spec(1, &[Transport::Udp]), Behaviour::default());
    assert_eq!(ask(&running, "panic"), Err(AskError::Unreachable));
    until("it is back", || ask(&running, "counts").is_ok());
    assert_eq!(running.crashes()[0].1.count, 1);
}

#[test]
fn a_shard_that_does_not_come_back_is_seen_to_hang() {
    let (running, _events) = launch(spec(2, &[Transport::Udp]), steering());
    let limit = machine::Duration::from_millis(300);
    assert!(running.hung(limit).is_empty());
    // 's' is 115: shard 1.
    client().send_to(b"sleep:1500", running.local_addr(PortId(0))).unwrap();
    until("it hangs", || running.hung(limit) == [1]);
    until("it is back", || running.hung(limit).is_empty());
    std::thread::sleep(Duration::from_millis(400));
    assert!(running.hung(limit).is_empty(), "who waits for work does not hang");
}

#[test]
fn a_function_whose_making_panics_does_not_start() {
    let outcome =
        start::<Echo>(spec(2, &[Transport::Udp]), Arc::new(Behaviour::default()), |_, _| {
            panic!("cannot be made")
        });
    assert!(matches!(outcome, Err(RuntimeError::Failed)));
}

#[test]
fn limits_and_conflicts_are_refused_before_anything_is_bound() {
    let refused = |spec| echo::try_launch(spec, Behaviour::default()).err().unwrap().to_string();
    assert!(refused(spec(0, &[])).contains("0 shards"));
    assert!(refused(spec(65, &[])).contains("65 shards"));
    let mut twice = spec(1, &[Transport::Tcp, Transport::Tls]);
    twice.ports[0].listen = "127.0.0.1:5999".parse().unwrap();
    twice.ports[1].listen = twice.ports[0].listen;
    assert!(refused(twice).contains("both want 127.0.0.1:5999"));
    let mut same = spec(1, &[Transport::Udp, Transport::Udp]);
    same.ports[1].id = PortId(0);
    assert!(refused(same).contains("same number"));
    assert!(refused(spec(1, &[Transport::Tls])).contains("certificate"));
    let mut nowhere = spec(1, &[Transport::Udp]);
    nowhere.ports[0].listen = "192.0.2.1:0".parse().unwrap();
    assert!(refused(nowhere).contains("no interface"));
    let mut core = spec(1, &[Transport::Udp]);
    core.cores = vec![9_999];
    assert!(refused(core).contains("core 9999"));
}

#[test]
fn a_configuration_under_load_loses_no_message_and_no_connection() {
    let (running, _events) =
        launch(spec(2, &[Transport::Udp, Transport::Tcp]), Behaviour { quiet: true, ..steering() });
    let (udp, tcp) = (running.local_addr(PortId(0)), running.local_addr(PortId(1)));
    let load = std::thread::spawn(move || {
        let socket = client();
        let mut stream = TcpStream::connect(tcp).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        for n in 0..2_000u32 {
            let bytes = n.to_le_bytes();
            socket.send_to(&bytes, udp).unwrap();
            stream.write_all(&framed(&bytes)).unwrap();
            let mut answer = [0u8; 8];
            assert_eq!(socket.recv(&mut answer).unwrap(), 4, "datagram {n}");
            assert_eq!(answer[..4], bytes);
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer[4..], bytes);
        }
    });
    let mut version = 0;
    while !load.is_finished() {
        version += 1;
        let mut ports: Vec<PortSpec> =
            running.ports().into_iter().map(|(spec, _)| spec).take(2).collect();
        if version % 3 == 0 {
            ports.push(port(2, Transport::Udp, "127.0.0.1"));
        }
        running
            .configure(Arc::new(Behaviour { quiet: true, version, ..steering() }), ports)
            .unwrap();
    }
    load.join().unwrap();
    assert!(version > 1);
    let rows = ask(&running, "counts").unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["version"] == version));
}

#[test]
fn a_kept_port_may_change_its_number_and_keeps_its_connections() {
    let (running, _events) =
        launch(spec(1, &[Transport::Udp, Transport::Tcp]), Behaviour { quiet: true, ..steering() });
    let (udp, tcp) = (running.local_addr(PortId(0)), running.local_addr(PortId(1)));
    let socket = client();
    let mut stream = TcpStream::connect(tcp).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for round in 0..4u8 {
        socket.send_to(&[round], udp).unwrap();
        stream.write_all(&framed(&[round])).unwrap();
        let mut answer = [0u8; 5];
        assert_eq!(socket.recv(&mut answer).unwrap(), 1);
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[4], round);
        let mut ports: Vec<PortSpec> = running.ports().into_iter().map(|(spec, _)| spec).collect();
        (ports[0].id, ports[1].id) = (ports[1].id, ports[0].id);
        running.configure(Arc::new(Behaviour { quiet: true, ..steering() }), ports).unwrap();
    }
    assert_eq!(count(&running, RuntimeMetric::Accepted), 1);
}

#[test]
fn a_configuration_that_cannot_be_bound_changes_nothing() {
    let (running, _events) = launch(spec(2, &[Transport::Udp]), Behaviour::default());
    let taken = client();
    let mut ports: Vec<PortSpec> = running.ports().into_iter().map(|(spec, _)| spec).collect();
    ports.push(PortSpec {
        listen: taken.local_addr().unwrap(),
        ..port(1, Transport::Udp, "127.0.0.1")
    });
    assert!(running.check_ports(&ports).is_err());
    let next = Arc::new(Behaviour { version: 9, ..Behaviour::default() });
    assert!(running.configure(Arc::clone(&next), ports.clone()).is_err());
    assert_eq!(running.ports().len(), 1);
    assert_eq!(ask(&running, "counts").unwrap()[0]["version"], 0);
    drop(taken);
    running.check_ports(&ports).unwrap();
    running.configure(next, ports.clone()).unwrap();
    assert_eq!(running.local_addr(PortId(1)), ports[1].listen);
    assert_eq!(ask(&running, "counts").unwrap()[0]["version"], 9);
}

#[test]
fn a_removed_port_is_closed_its_connections_are_told_and_sends_to_it_are_counted() {
    let (running, events) =
        launch(spec(1, &[Transport::Udp, Transport::Tcp]), Behaviour::default());
    let udp = running.local_addr(PortId(0));
    let stream = TcpStream::connect(running.local_addr(PortId(1))).unwrap();
    let keep: Vec<PortSpec> = running.ports().into_iter().map(|(spec, _)| spec).take(1).collect();
    wait_for(&events, |seen| matches!(seen, Seen::Up(..)).then_some(()));
    running.configure(Arc::new(Behaviour::default()), keep).unwrap();
    let why = wait_for(&events, |seen| match seen {
        Seen::Down(_, _, why) => Some(*why),
        _ => None,
    });
    assert_eq!(why, "its port was removed");
    let remote: SocketAddr = stream.local_addr().unwrap();
    say(&running, 1, remote, &[("transport", "tcp")]);
    say(&running, 0, remote, &[("transport", "tcp")]); // a datagram port
    until("both are counted", || count(&running, RuntimeMetric::Unroutable) == 2);
    running.configure(Arc::new(Behaviour::default()), Vec::new()).unwrap();
    UdpSocket::bind(udp).expect("the address is free again");
}

#[test]
fn draining_waits_for_what_runs_and_stopping_frees_the_ports() {
    let (running, events) = launch(spec(2, &[Transport::Udp]), steering());
    let to = running.local_addr(PortId(0));
    client().send_to(b"timer:60000", to).unwrap(); // 't' is 116: shard 0 is busy for a minute
    wait_for(&events, |seen| matches!(seen, Seen::Message(0, ..)).then_some(()));
    running.drain();
    until("both know", || running.states().iter().all(|&state| state == ShardState::Draining));
    assert!(!running.is_idle());
    client().send_to(b"timer:0", to).unwrap();
    until("it is idle", || running.is_idle());
    running.stop(Duration::from_secs(5));
    UdpSocket::bind(to).expect("the address is free again");
    assert_eq!(events.iter().filter(|seen| matches!(seen, Seen::Drained(_))).count(), 2);
}

#[test]
fn a_buffer_that_overflows_in_the_kernel_is_counted() {
    let mut spec = spec(1, &[Transport::Udp]);
    spec.receive_buffer_bytes = 8_192;
    let (running, _events) = launch(spec, Behaviour { quiet: true, ..Behaviour::default() });
    let to = running.local_addr(PortId(0));
    let socket = client();
    socket.send_to(b"sleep:300", to).unwrap();
    until("it was taken", || count(&running, RuntimeMetric::MessageIn) == 1);
    for _ in 0..200 {
        socket.send_to(&[0; 1_000], to).unwrap();
    }
    until("the next datagram tells", || {
        socket.send_to(b"x", to).unwrap();
        count(&running, RuntimeMetric::KernelDropped) > 0
    });
}

#[test]
fn a_ring_that_is_full_sheds_and_counts() {
    let (running, _events) =
        launch(spec(2, &[Transport::Udp]), Behaviour { quiet: true, ..steering() });
    let to = running.local_addr(PortId(0));
    // 's' is 115: shard 1 sleeps, and everything for it piles up at its ring.
    let sockets: Vec<UdpSocket> = (0..16).map(|_| client()).collect();
    until("the ring overflows", || {
        sockets[0].send_to(b"sleep:150", to).unwrap();
        for _ in 0..200 {
            for socket in &sockets {
                // What the kernel does not take is lost, as datagrams are.
                let _ = socket.send_to(&[1, 2, 3], to);
            }
        }
        count(&running, RuntimeMetric::RingShed) > 0
    });
}
