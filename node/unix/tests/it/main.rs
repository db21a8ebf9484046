//! Programs connect to a socket; a function hears them by one channel.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use channel::{Absent, Came, Channel, Connect};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use unix::{Cut, Event, Framing, Listen, Order};

fn cut(buffer: &[u8]) -> Cut {
    match buffer.iter().position(|it| *it == b'\n') {
        _ if buffer.first() == Some(&b'!') => Cut::Broken("an exclamation"),
        Some(end) => Cut::Message(end + 1),
        None => Cut::Partial,
    }
}

fn listen(path: &Path) -> Listen {
    let framing = Framing { cut, ends_within: |buffer, seen| buffer[seen..].contains(&b'\n') };
    let path = path.to_owned();
    Listen { path, connections_max: 2, queue_octets_max: 1 << 20, framing }
}

/// What is told, until there are so many.
fn told(channel: &mut dyn Channel, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut poll = driver::Poll::new().unwrap();
    poll.add(&channel.descriptor(), 1, driver::Interest::Read).unwrap();
    for _ in 0..1_000 {
        if all.len() >= count {
            break;
        }
        poll.wait(Some(std::time::Duration::from_millis(10))).unwrap();
        channel
            .read(&mut |came| {
                let Came::Message(message) = came else { return };
                let (connection, event) = Event::read(message).expect("an event");
                all.push(match event {
                    Event::Up(_) => format!("{connection} up"),
                    Event::Message(octets) => {
                        format!("{connection} {}", String::from_utf8_lossy(octets).trim())
                    }
                    Event::Written(left) => format!("{connection} left {left}"),
                    Event::Down(why) => format!("{connection} down: {why}"),
                });
            })
            .unwrap();
    }
    all
}

fn order(channel: &mut dyn Channel, connection: u64, order: Order<'_>) {
    let mut octets = Vec::new();
    order.write(connection, &mut octets);
    channel.write(octets).unwrap();
}

#[test]
fn programs_come_speak_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let mut channel = listen(&path).connect().unwrap();
    let mut one = UnixStream::connect(&path).unwrap();
    one.write_all(b"hello\nwor").unwrap();
    assert_eq!(told(&mut *channel, 2), ["1 up", "1 hello"]);
    one.write_all(b"ld\n").unwrap();
    assert_eq!(told(&mut *channel, 1), ["1 world"]);
    let mut two = UnixStream::connect(&path).unwrap();
    assert_eq!(told(&mut *channel, 1), ["2 up"]);
    order(&mut *channel, 2, Order::Send(b"welcome\n"));
    assert_eq!(told(&mut *channel, 1), ["2 left 0"]);
    let mut octets = [0; 8];
    two.read_exact(&mut octets).unwrap();
    assert_eq!(&octets, b"welcome\n");
    // A third one finds no room.
    let mut three = UnixStream::connect(&path).unwrap();
    assert!(told(&mut *channel, 1).is_empty() || three.read(&mut octets).unwrap_or(0) == 0);
    drop(one);
    assert_eq!(told(&mut *channel, 1), ["1 down: the program has closed it"]);
    two.write_all(b"!").unwrap();
    assert_eq!(told(&mut *channel, 1), ["2 down: an exclamation"]);
    assert_eq!(two.read(&mut octets).unwrap_or(0), 0);
}

#[test]
fn what_a_slow_program_does_not_read_is_told_and_ends_its_connection_at_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let mut channel = listen(&path).connect().unwrap();
    let mut slow = UnixStream::connect(&path).unwrap();
    assert_eq!(told(&mut *channel, 1), ["1 up"]);
    let piece = vec![b'x'; 400_000];
    order(&mut *channel, 1, Order::Send(&piece));
    let left = told(&mut *channel, 1).remove(0);
    let left: usize = left.strip_prefix("1 left ").expect(&left).parse().unwrap();
    assert!(left > 0 && left < 400_000);
    // It reads: the rest leaves by itself.
    let mut all = vec![0; 400_000];
    let reader = std::thread::spawn(move || {
        slow.read_exact(&mut all).unwrap();
        slow
    });
    while told(&mut *channel, 1) != ["1 left 0"] {}
    let _slow = reader.join().unwrap();
    for _ in 0..5 {
        order(&mut *channel, 1, Order::Send(&piece));
    }
    let all = told(&mut *channel, 2);
    let last = all.last().expect("it was told");
    assert_eq!(last, "1 down: more waits for the program than its queue may hold");
}

#[test]
fn what_is_closed_gets_what_was_sent_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let mut channel = listen(&path).connect().unwrap();
    let mut one = UnixStream::connect(&path).unwrap();
    assert_eq!(told(&mut *channel, 1), ["1 up"]);
    order(&mut *channel, 1, Order::Send(b"bye\n"));
    order(&mut *channel, 1, Order::Close);
    let mut text = String::new();
    one.read_to_string(&mut text).unwrap();
    assert_eq!(text, "bye\n");
}

#[test]
fn what_a_dead_process_left_is_removed_and_what_lives_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let first = listen(&path).connect().unwrap();
    let second = listen(&path).connect();
    assert!(matches!(second, Err(Absent::Failed(_))));
    drop(first);
    assert!(!path.exists());
    std::fs::write(&path, "a file").unwrap();
    assert!(listen(&path).connect().is_err() && path.exists());
}

#[test]
fn one_program_that_says_much_leaves_others_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let mut channel = listen(&path).connect().unwrap();
    let mut loud = UnixStream::connect(&path).unwrap();
    let mut other = UnixStream::connect(&path).unwrap();
    assert_eq!(told(&mut *channel, 2).len(), 2);
    loud.write_all("x\n".repeat(10_000).as_bytes()).unwrap();
    other.write_all(b"me\n").unwrap();
    let all = told(&mut *channel, 10_001);
    assert_eq!(all.len(), 10_001, "what is left comes by itself");
    let place = all.iter().position(|it| it == "2 me").expect("it was heard");
    assert!(place <= 2_000, "{place}");
}

#[test]
fn who_is_closed_and_reads_nothing_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sock");
    let mut channel = listen(&path).connect().unwrap();
    let silent = [0; 2].map(|_| UnixStream::connect(&path).unwrap());
    assert_eq!(told(&mut *channel, 2).len(), 2);
    for id in [1, 2] {
        order(&mut *channel, id, Order::Send(&vec![b'x'; 900_000]));
        order(&mut *channel, id, Order::Close);
    }
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let _next = UnixStream::connect(&path).unwrap();
    let told = told(&mut *channel, 3);
    assert!(told.contains(&"3 up".to_owned()), "{told:?}");
    drop(silent);
}
