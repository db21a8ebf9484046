//! Datagrams through a running function, on real sockets.

use crate::echo::{self, Behaviour, Seen, count, launch, port, say, until, wait_for};
use runtime::*;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

fn client(ip: &str) -> UdpSocket {
    let socket = UdpSocket::bind((ip, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn one(ip: &str) -> ShardSpec {
    ShardSpec { ports: vec![port(0, Transport::Udp, ip)], ..ShardSpec::default() }
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0u8; 65_536];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    (buffer[..length].to_vec(), from)
}

#[test]
fn a_datagram_is_answered_from_the_address_it_was_sent_to_with_either_family() {
    for (listen, at) in
        [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("0.0.0.0", "127.0.0.9"), ("::", "::1")]
    {
        let (running, events) = launch(one(listen), Behaviour::default());
        let socket = client(if at.contains(':') { "::1" } else { "127.0.0.1" });
        let to = SocketAddr::new(at.parse().unwrap(), running.local_addr(PortId(0)).port());
        socket.send_to(b"ping", to).unwrap();
        assert_eq!(receive(&socket), (b"ping".to_vec(), to));
        let flow = wait_for(&events, |seen| match seen {
            Seen::Message(_, flow, _) => Some(*flow),
            _ => None,
        });
        assert_eq!((flow.local, flow.remote), (to, socket.local_addr().unwrap()));
    }
}

#[test]
fn runs_of_many_sizes_arrive_whole_and_in_order() {
    // As many as the client's receive buffer surely holds.
    for (copies, sizes) in [(40, [1usize, 100, 700, 1_400]), (3, [2_000, 9_000, 30_000, 40_000])] {
        let (running, _events) =
            launch(one("127.0.0.1"), Behaviour { copies, ..Behaviour::default() });
        let socket = client("127.0.0.1");
        for size in sizes {
            for n in 0..3u8 {
                socket.send_to(&vec![n; size], running.local_addr(PortId(0))).unwrap();
                for _ in 0..copies {
                    assert_eq!(receive(&socket).0, vec![n; size]);
                }
            }
        }
        let messages = 4 * 3 * copies as u64;
        until("the count", || count(&running, RuntimeMetric::MessageOut) == messages);
        assert!(count(&running, RuntimeMetric::SendBatch) < messages, "runs travel as one");
    }
}

#[test]
fn runs_travel_one_by_one_where_they_are_switched_off() {
    for runs in [true, false] {
        let mut spec = one("127.0.0.1");
        spec.ports[0].carrier = Carrier::Udp { whole: false, runs };
        let (running, _events) = launch(spec, Behaviour { copies: 20, ..Behaviour::default() });
        let any = "127.0.0.1:0".parse().unwrap();
        let socket = driver::DatagramSocket::bind(any, &driver::SocketOptions::default()).unwrap();
        say(&running, 0, socket.local(), &[("times", "20")]);
        let mut batch = driver::ReceiveBatch::new();
        let (mut messages, mut pieces) = (0, 0);
        until("all came", || {
            pieces += batch.receive(&socket).unwrap();
            messages +=
                batch.datagrams().map(|datagram| datagram.segments().count()).sum::<usize>();
            messages == 20
        });
        assert_eq!(pieces == 20, !runs, "{pieces} pieces");
    }
}

#[test]
fn a_descriptor_of_the_functions_own_is_watched_as_long_as_it_can_be_read() {
    let (running, events) = launch(one("127.0.0.1"), Behaviour::default());
    let ask = Ask { path: "watch".into(), ..Ask::default() };
    let to: SocketAddr = running.ask(ask).unwrap().as_str().unwrap().parse().unwrap();
    let socket = client("127.0.0.1");
    for _ in 0..3 {
        socket.send_to(b"x", to).unwrap();
    }
    for _ in 0..3 {
        let port = wait_for(&events, |seen| match seen {
            Seen::Ready(port) => Some(*port),
            _ => None,
        });
        assert_eq!(port, PortId(77));
    }
    std::thread::sleep(Duration::from_millis(20));
    assert!(events.try_recv().is_err(), "nothing is left to be told");
}

#[test]
fn many_far_ends_get_their_own_answers() {
    let (running, _events) =
        launch(one("127.0.0.1"), Behaviour { copies: 3, ..Behaviour::default() });
    let to = running.local_addr(PortId(0));
    let clients: Vec<UdpSocket> = (0..50).map(|_| client("127.0.0.1")).collect();
    for round in 0..5u8 {
        for (n, socket) in clients.iter().enumerate() {
            socket.send_to(&[n as u8, round], to).unwrap();
        }
    }
    for (n, socket) in clients.iter().enumerate() {
        for round in 0..5u8 {
            for _ in 0..3 {
                assert_eq!(receive(socket).0, [n as u8, round]);
            }
        }
    }
}

#[test]
fn a_far_end_that_is_not_there_is_told_to_the_function() {
    for ip in ["127.0.0.1", "::1"] {
        let (running, events) = launch(one(ip), Behaviour::default());
        let gone = client(ip).local_addr().unwrap();
        say(&running, 0, gone, &[]);
        let remote = wait_for(&events, |seen| match seen {
            Seen::Down(_, flow, _) => Some(flow.remote),
            _ => None,
        });
        assert_eq!(remote, gone);
        // The port lives on.
        let socket = client(ip);
        socket.send_to(b"ping", running.local_addr(PortId(0))).unwrap();
        assert_eq!(receive(&socket).0, b"ping");
        assert_eq!(count(&running, RuntimeMetric::Unreachable), 1);
    }
}

#[test]
fn timers_fire_while_nothing_else_happens() {
    let (running, _events) = launch(one("127.0.0.1"), Behaviour::default());
    client("127.0.0.1").send_to(b"timer:30", running.local_addr(PortId(0))).unwrap();
    until("the tick", || {
        let ask = Ask { path: "counts".into(), ..Ask::default() };
        running.ask(ask).unwrap()[0]["ticks"] == 1
    });
}

#[test]
fn an_address_that_another_socket_holds_is_refused_with_the_port_and_the_hint() {
    let taken = client("127.0.0.1");
    let mut spec = one("127.0.0.1");
    spec.ports[0].listen = taken.local_addr().unwrap();
    let error = echo::try_launch(spec, Behaviour::default()).err().unwrap().to_string();
    assert!(error.contains("port 0") && error.contains("another program"), "{error}");
}

#[test]
fn an_address_that_another_function_of_ours_holds_is_refused_too() {
    let (running, _events) = launch(one("127.0.0.1"), Behaviour::default());
    let mut spec = one("127.0.0.1");
    spec.ports[0].listen = running.local_addr(PortId(0));
    assert!(matches!(echo::try_launch(spec, Behaviour::default()), Err(RuntimeError::Bind { .. })));
}

#[test]
fn a_datagram_that_the_kernel_refuses_is_counted_and_told_and_the_others_leave() {
    let (running, events) = launch(one("0.0.0.0"), Behaviour::default());
    // Broadcasts are not asked for; and nothing is longer than IP.
    let refused: SocketAddr = "255.255.255.255:9".parse().unwrap();
    say(&running, 0, refused, &[("times", "3")]);
    let socket = client("127.0.0.1");
    let text = "x".repeat(66_000);
    say(&running, 0, socket.local_addr().unwrap(), &[("text", &text)]);
    say(&running, 0, socket.local_addr().unwrap(), &[]);
    assert_eq!(receive(&socket).0, b"hello");
    until("all are counted", || count(&running, RuntimeMetric::SendRefused) == 4);
    let remote = wait_for(&events, |seen| match seen {
        Seen::Down(_, flow, _) => Some(flow.remote),
        _ => None,
    });
    assert_eq!(remote, refused);
}

#[test]
fn the_plain_counters_add_up() {
    let (running, _events) = launch(one("127.0.0.1"), Behaviour::default());
    let socket = client("127.0.0.1");
    for _ in 0..10 {
        socket.send_to(b"12345", running.local_addr(PortId(0))).unwrap();
        receive(&socket);
    }
    until("the last is counted", || count(&running, RuntimeMetric::MessageOut) == 10);
    assert_eq!(count(&running, RuntimeMetric::MessageIn), 10);
    assert_eq!(count(&running, RuntimeMetric::BytesIn), 50);
    assert_eq!(count(&running, RuntimeMetric::BytesOut), 50);
    assert!(count(&running, RuntimeMetric::ReceiveBatch) > 0);
    until("the turns are timed", || count(&running, RuntimeMetric::TurnTime) > 0);
}

#[test]
fn the_handle_may_be_used_from_any_thread() {
    fn any_thread<T: Send + Sync>(_: &T) {}
    any_thread(&launch(one("127.0.0.1"), Behaviour::default()).0);
}
