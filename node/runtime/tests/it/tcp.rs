//! Streams through a running function, on real sockets.

use crate::echo::{Behaviour, Searched, Seen, count, framed, launch, port, say, until, wait_for};
use runtime::*;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

fn spec(ip: &str) -> ShardSpec {
    ShardSpec { ports: vec![port(0, Transport::Tcp, ip)], ..ShardSpec::default() }
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn receive(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = [0u8; 4];
    stream.read_exact(&mut head).unwrap();
    let mut payload = vec![0; u32::from_be_bytes(head) as usize];
    stream.read_exact(&mut payload).unwrap();
    payload
}

fn down(events: &std::sync::mpsc::Receiver<Seen>) -> (Flow, &'static str) {
    wait_for(events, |seen| match seen {
        Seen::Down(_, flow, why) => Some((*flow, *why)),
        _ => None,
    })
}

fn up(events: &std::sync::mpsc::Receiver<Seen>) -> Flow {
    wait_for(events, |seen| match seen {
        Seen::Up(_, flow) => Some(*flow),
        _ => None,
    })
}

#[test]
fn a_connection_is_told_up_its_messages_are_answered_and_its_end_is_told() {
    for ip in ["127.0.0.1", "::1"] {
        let (running, events) = launch(spec(ip), Behaviour::default());
        let mut stream = connect(running.local_addr(PortId(0)));
        let flow = up(&events);
        assert_eq!(flow.remote, stream.local_addr().unwrap());
        assert_eq!(flow.local, stream.peer_addr().unwrap());
        stream.write_all(&framed(b"ping")).unwrap();
        assert_eq!(receive(&mut stream), b"ping");
        drop(stream);
        assert_eq!(down(&events).0, flow);
        assert_eq!(count(&running, RuntimeMetric::Accepted), 1);
        until("the gauge falls", || count(&running, RuntimeMetric::Connections) == 0);
    }
}

#[test]
fn a_connection_can_be_opened_without_a_word_and_its_refusal_is_told() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let far = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = far.local_addr().unwrap();
    let silent = [("transport", "tcp"), ("times", "0")];
    say(&running, 0, remote, &silent);
    let (mut stream, _) = far.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(up(&events).remote, remote);
    say(&running, 0, remote, &silent);
    say(&running, 0, remote, &[("transport", "tcp"), ("text", "first")]);
    assert_eq!(receive(&mut stream), b"first", "on the connection that stands");
    drop((stream, far));
    assert_eq!(down(&events).0.remote, remote);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    say(&running, 0, nobody, &silent);
    assert_eq!(down(&events).0.remote, nobody);
}

#[test]
fn messages_are_cut_whole_however_the_bytes_arrive() {
    let (running, _events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    let payloads: Vec<Vec<u8>> =
        [1usize, 3, 4, 5, 100, 70_000, 2, 120_000].iter().map(|&n| vec![n as u8; n]).collect();
    let mut bytes = Vec::new();
    for payload in &payloads {
        bytes.push(0xFF); // a keep-alive between the messages
        bytes.extend(framed(payload));
    }
    for step in [1usize, 7, 1_000, 33_333, bytes.len()] {
        // One byte at a time only where it matters.
        let (slow, fast) = if step == 1 { bytes.split_at(150) } else { (&bytes[..], &[][..]) };
        for piece in slow.chunks(step) {
            stream.write_all(piece).unwrap();
        }
        stream.write_all(fast).unwrap();
        for payload in &payloads {
            assert_eq!(&receive(&mut stream), payload);
        }
    }
}

#[test]
fn what_is_no_message_or_too_long_ends_the_connection() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    for (bytes, want) in
        [(&[0xEEu8][..], "not a length"), (&[0, 0xF0, 0, 0][..], "its message is too long")]
    {
        let mut stream = connect(running.local_addr(PortId(0)));
        stream.write_all(bytes).unwrap();
        assert_eq!(down(&events).1, want);
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    assert_eq!(count(&running, RuntimeMetric::Broken), 2);
}

#[test]
fn what_is_due_to_the_messages_before_a_broken_one_is_sent_first() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    let bytes = [framed(b"one"), framed(b"two"), vec![0xEE]].concat();
    stream.write_all(&bytes).unwrap();
    assert_eq!([receive(&mut stream), receive(&mut stream)], [b"one", b"two"]);
    assert_eq!(down(&events).1, "not a length");
}

#[test]
fn speaking_first_opens_one_connection_and_keeps_it() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = listener.local_addr().unwrap();
    say(&running, 0, remote, &[("transport", "tcp"), ("times", "3")]);
    let (mut stream, _) = listener.accept().unwrap();
    for _ in 0..3 {
        assert_eq!(receive(&mut stream), b"hello");
    }
    assert_eq!(up(&events).remote, remote);
    say(&running, 0, remote, &[("transport", "tcp"), ("text", "again")]);
    assert_eq!(receive(&mut stream), b"again");
    assert_eq!(count(&running, RuntimeMetric::Opened), 1);
    // And what comes back over it arrives.
    stream.write_all(&framed(b"answer")).unwrap();
    assert_eq!(receive(&mut stream), b"answer");
}

#[test]
fn a_refused_connection_is_told_with_the_flow_as_sent_and_not_retried_at_once() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for _ in 0..3 {
        say(&running, 0, gone, &[("transport", "tcp")]);
        let (flow, why) = down(&events);
        assert_eq!((flow.remote, flow.conn), (gone, ConnId(0)));
        assert!(why.contains("refused"), "{why}");
    }
    assert!(count(&running, RuntimeMetric::ConnectFailed) < 3, "backing off");
}

#[test]
fn a_far_end_that_hangs_up_at_once_is_not_called_again_at_once() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = listener.local_addr().unwrap();
    let accepted = std::thread::spawn(move || listener.accept().map(drop));
    say(&running, 0, remote, &[("transport", "tcp")]);
    accepted.join().unwrap().unwrap();
    assert_ne!(down(&events).0.conn, ConnId(0), "it stood");
    say(&running, 0, remote, &[("transport", "tcp")]);
    assert_eq!(down(&events).0.conn, ConnId(0), "it was not opened again");
    assert_eq!(count(&running, RuntimeMetric::Opened), 1);
}

#[test]
fn a_slow_reader_loses_the_newest_messages_whole_and_keeps_its_connection() {
    let mut spec = spec("127.0.0.1");
    spec.streams.queue_bytes_max = 100_000;
    let (running, _events) =
        launch(spec, Behaviour { quiet: true, copies: 200, ..Behaviour::default() });
    let mut stream = connect(running.local_addr(PortId(0)));
    // 40 × 200 × 5,004 bytes is far more than the kernel and the queue hold.
    for n in 0..40u8 {
        stream.write_all(&framed(&[n; 5_000])).unwrap();
    }
    until("something is shed", || count(&running, RuntimeMetric::SendShed) > 0);
    until("all came in", || count(&running, RuntimeMetric::MessageIn) == 40);
    until("the gauge shows it", || count(&running, RuntimeMetric::Queued) > 50_000);
    let sent = count(&running, RuntimeMetric::MessageOut);
    let mut last = 0;
    for _ in 0..sent {
        let payload = receive(&mut stream);
        assert!(payload.iter().all(|&b| b == payload[0]) && payload.len() == 5_000);
        assert!(payload[0] >= last, "the order stays");
        last = payload[0];
    }
    assert_eq!(sent + count(&running, RuntimeMetric::SendShed), 40 * 200);
    stream.write_all(&framed(b"close")).unwrap();
    assert_eq!(receive(&mut stream), b"bye", "the connection still works");
}

#[test]
fn a_reader_that_stalls_for_too_long_is_given_up() {
    let mut spec = spec("127.0.0.1");
    spec.streams.stall_timeout = Duration::from_millis(100);
    let (running, events) =
        launch(spec, Behaviour { quiet: true, copies: 2_000, ..Behaviour::default() });
    let mut stream = connect(running.local_addr(PortId(0)));
    for _ in 0..4 {
        stream.write_all(&framed(&[1; 5_000])).unwrap();
    }
    assert_eq!(down(&events).1, "the far end does not read");
    assert_eq!(count(&running, RuntimeMetric::TimedOut), 1);
}

#[test]
fn a_connection_on_which_nothing_moves_is_closed() {
    let mut spec = spec("127.0.0.1");
    spec.streams.idle_timeout = Duration::from_millis(80);
    let (running, events) = launch(spec, Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    assert_eq!(down(&events).1, "nothing moved for too long");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn closing_sends_what_was_sent_before_and_tells_nothing() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    stream.write_all(&framed(b"close")).unwrap();
    assert_eq!(receive(&mut stream), b"bye");
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    drop(stream);
    until("it is gone", || count(&running, RuntimeMetric::Connections) == 0);
    drop(running);
    assert!(!events.iter().any(|seen| matches!(seen, Seen::Down(..))));
}

#[test]
fn what_a_far_end_sent_before_it_finished_is_still_answered_to() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    stream.write_all(&framed(b"last words")).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(receive(&mut stream), b"last words");
    assert_eq!(down(&events).1, "the far end closed the connection");
}

#[test]
fn a_table_full_of_those_who_speak_refuses_newcomers_and_counts_them() {
    let mut spec = spec("127.0.0.1");
    spec.streams.connections_max = 2;
    let (running, _events) = launch(spec, Behaviour::default());
    let to = running.local_addr(PortId(0));
    let (mut first, mut second) = (connect(to), connect(to));
    for stream in [&mut first, &mut second] {
        stream.write_all(&framed(b"here")).unwrap();
        assert_eq!(receive(stream), b"here");
    }
    let mut third = connect(to);
    assert_eq!(third.read(&mut [0]).unwrap_or(0), 0);
    assert_eq!(count(&running, RuntimeMetric::Refused), 1);
    drop((first, second));
}

#[test]
fn a_connection_is_opened_out_of_a_table_that_one_host_has_filled() {
    for spoken in [false, true] {
        let mut spec = spec("127.0.0.1");
        spec.streams.connections_max = 16;
        let (running, events) = launch(spec, Behaviour { quiet: true, ..Behaviour::default() });
        let mut host: Vec<_> = (0..16).map(|_| connect(running.local_addr(PortId(0)))).collect();
        until("they are taken", || count(&running, RuntimeMetric::Accepted) == 16);
        for stream in host.iter_mut().filter(|_| spoken) {
            stream.write_all(&framed(b"here")).unwrap();
            assert_eq!(receive(stream), b"here");
        }
        let core = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = core.local_addr().unwrap();
        say(&running, 0, remote, &[("transport", "tcp"), ("text", "INVITE")]);
        wait_for(&events, |seen| {
            matches!(seen, Seen::Up(_, flow) if flow.remote == remote).then_some(())
        });
        assert_eq!(receive(&mut core.accept().unwrap().0), b"INVITE");
        assert_eq!(count(&running, RuntimeMetric::Refused), 0);
    }
}

#[test]
fn a_megabyte_for_one_reader_arrives_in_order() {
    let (running, _events) =
        launch(spec("127.0.0.1"), Behaviour { quiet: true, ..Behaviour::default() });
    let mut stream = connect(running.local_addr(PortId(0)));
    let mut writer = stream.try_clone().unwrap();
    let feeder = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        for n in 0..2_000u32 {
            let mut payload = n.to_be_bytes().to_vec();
            payload.resize(500 + n as usize % 300, 7);
            bytes.extend(framed(&payload));
        }
        writer.write_all(&bytes).unwrap();
    });
    for n in 0..2_000u32 {
        let payload = receive(&mut stream);
        assert_eq!(payload[..4], n.to_be_bytes());
        assert_eq!(payload.len(), 500 + n as usize % 300);
    }
    feeder.join().unwrap();
}

#[test]
fn a_ping_is_answered_on_its_connection_in_order_with_what_came_before_it() {
    let (running, _events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    let mut bytes = framed(b"first");
    bytes.extend([0xFF, 0xFE]);
    bytes.extend(framed(b"second"));
    stream.write_all(&bytes).unwrap();
    assert_eq!(receive(&mut stream), b"first");
    let mut pong = [0; 4];
    stream.read_exact(&mut pong).unwrap();
    assert_eq!(&pong, b"pong", "what is to be skipped has no answer");
    assert_eq!(receive(&mut stream), b"second");
}

#[test]
fn what_goes_to_an_alias_goes_over_the_connection_that_bears_it() {
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    let alias = "127.0.0.1:9"; // nobody listens there
    stream.write_all(&framed(format!("alias:{alias}").as_bytes())).unwrap();
    stream.write_all(&framed(b"done")).unwrap();
    assert_eq!(receive(&mut stream), b"done");
    let params = [("transport", "tcp"), ("text", "back")];
    say(&running, 0, alias.parse().unwrap(), &params);
    assert_eq!(receive(&mut stream), b"back");
    assert_eq!(count(&running, RuntimeMetric::Opened), 0);
    drop(stream);
    let gone = down(&events).0;
    say(&running, 0, alias.parse().unwrap(), &params);
    let (flow, _) = down(&events);
    assert_ne!(flow, gone, "without its connection the alias is an address like any other");
}

#[test]
fn the_queue_for_a_slow_reader_is_as_long_as_its_port_says_now() {
    let mut spec = spec("127.0.0.1");
    spec.ports[0].stream_mut().unwrap().queue_bytes_max = Some(1_000);
    let (running, events) = launch(spec, Behaviour::default());
    let slow = connect(running.local_addr(PortId(0)));
    let flow = up(&events);
    let text = "x".repeat(60_000);
    let params = [("transport", "tcp"), ("text", text.as_str()), ("times", "400")];
    say(&running, 0, flow.remote, &params);
    until("what does not fit is shed", || count(&running, RuntimeMetric::SendShed) > 0);
    assert!(count(&running, RuntimeMetric::Queued) <= 61_000, "no more than the last one's rest");
    let mut ports: Vec<PortSpec> = running.ports().into_iter().map(|(spec, _)| spec).collect();
    ports[0].stream_mut().unwrap().queue_bytes_max = None;
    running.configure(std::sync::Arc::new(Behaviour::default()), ports).unwrap();
    let shed = count(&running, RuntimeMetric::SendShed);
    say(&running, 0, flow.remote, &[("transport", "tcp"), ("text", text.as_str()), ("times", "9")]);
    until("they wait", || count(&running, RuntimeMetric::Queued) > 9 * 60_000);
    assert_eq!(
        count(&running, RuntimeMetric::SendShed),
        shed,
        "the connection stands and takes more"
    );
    drop(slow);
}

#[test]
fn a_source_that_fills_the_table_with_idle_connections_makes_room_for_others() {
    let mut spec = spec("127.0.0.1");
    spec.ports.push(port(1, Transport::Tcp, "::1"));
    spec.streams.connections_max = 64;
    let (running, _events) = launch(spec, Behaviour { quiet: true, ..Behaviour::default() });
    let idle: Vec<_> = (0..100).map(|_| connect(running.local_addr(PortId(0)))).collect();
    until("they are taken", || count(&running, RuntimeMetric::Accepted) >= 100);
    let displaced = count(&running, RuntimeMetric::Displaced);
    assert!(displaced >= 36, "{displaced} made room for the others of their source");
    let mut honest: Vec<_> = (0..10).map(|_| connect(running.local_addr(PortId(1)))).collect();
    for (n, stream) in (0u8..).zip(&mut honest) {
        stream.write_all(&framed(&[n])).unwrap();
        assert_eq!(receive(stream), [n]);
    }
    // Another wave from the first source costs those who spoke nothing.
    let more: Vec<_> = (0..100).map(|_| connect(running.local_addr(PortId(0)))).collect();
    until("they are taken", || count(&running, RuntimeMetric::Accepted) >= 210);
    for (n, stream) in (0u8..).zip(&mut honest) {
        stream.write_all(&framed(&[n])).unwrap();
        assert_eq!(receive(stream), [n]);
    }
    assert_eq!(count(&running, RuntimeMetric::Refused), 0);
    drop((idle, more));
}

#[test]
fn an_octet_now_and_then_is_no_message_and_the_connection_is_closed() {
    let mut spec = spec("127.0.0.1");
    spec.streams.first_message_timeout = Some(Duration::from_millis(300));
    let (running, events) = launch(spec, Behaviour::default());
    let to = running.local_addr(PortId(0));
    let mut spoke = connect(to);
    spoke.write_all(&framed(b"whole")).unwrap();
    assert_eq!(receive(&mut spoke), b"whole");
    let mut slow = connect(to);
    let trickle = framed(&[7; 1_000]);
    for octet in trickle {
        if slow.write_all(&[octet]).is_err() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(down(&events).1, "no whole message came in time");
    assert_eq!(count(&running, RuntimeMetric::Mute), 1);
    spoke.write_all(&framed(b"still")).unwrap();
    assert_eq!(receive(&mut spoke), b"still", "who has spoken may be silent");
}

#[test]
fn a_message_that_comes_octet_by_octet_is_not_searched_anew_with_each() {
    let searched = Searched::begin();
    let (running, events) = launch(spec("127.0.0.1"), Behaviour::default());
    let mut stream = connect(running.local_addr(PortId(0)));
    let text = format!("~{}\n", "x".repeat(20_000));
    for octet in text.as_bytes() {
        stream.write_all(&[*octet]).unwrap();
    }
    let told = wait_for(&events, |seen| match seen {
        Seen::Message(_, _, bytes) => Some(bytes.clone()),
        _ => None,
    });
    assert_eq!(told, text.as_bytes());
    let searched = searched.octets();
    assert!(searched <= 4 * text.len(), "{searched} octets were searched");
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back).unwrap();
    assert_eq!(back, text.as_bytes());
}
