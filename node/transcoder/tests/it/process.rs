//! The test program is the process, too: it runs itself with the socket in a variable.

use channel::{Absent, Came, Channel, Connect};
use codec::message::Message;
use codec::{Codec, End, Format, Ledger, Side};
use machine::Time;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;
use transcoder::{Launch, Spec, ToTranscoder, serve};

const SOCKET: &str = "TANDEM_TEST_TRANSCODER";

/// Not a test but the process; as one it does nothing.
#[test]
fn as_a_process() {
    if let Some(socket) = std::env::var_os(SOCKET) {
        let folder = Path::new(&socket).parent().expect("a folder");
        fs::write(folder.join("pid"), std::process::id().to_string()).expect("written");
        let spec =
            Spec { socket: socket.clone().into(), streams_max: 10, core: None, packets: None };
        serve(&spec).expect("it stands");
    }
}

fn to(folder: &Path) -> ToTranscoder {
    let own = std::env::current_exe().expect("a program").display().to_string();
    let socket = folder.join("socket");
    let variable = format!("{SOCKET}={}", socket.display());
    let words = ["env", &variable, &own, "as_a_process", "--nocapture"];
    let command = words.map(str::to_owned).to_vec();
    ToTranscoder::new(Launch { socket, command, log: folder.join("log") })
}

fn connected(to: &ToTranscoder) -> Box<dyn Channel> {
    for _ in 0..1_000 {
        match to.connect() {
            Ok(channel) => return channel,
            Err(Absent::Starting) => thread::sleep(Duration::from_millis(10)),
            Err(Absent::Failed(why)) => panic!("{why}"),
        }
    }
    panic!("it does not come to stand");
}

/// Reads until a message is what is looked for.
fn until<T>(channel: &mut dyn Channel, mut found: impl FnMut(&Message<'_>) -> Option<T>) -> T {
    for _ in 0..1_000 {
        let mut it = None;
        let read = channel.read(&mut |came| {
            if let Came::Message(octets) = came
                && let Ok(Some(message)) = Message::read(octets)
            {
                it = it.take().or_else(|| found(&message));
            }
        });
        if let Some(it) = it {
            return it;
        }
        read.expect("it stands");
        thread::sleep(Duration::from_millis(5));
    }
    panic!("it says nothing");
}

fn ends() -> [End; 2] {
    let end = |codec| End::new(Format::new(codec), 8, 7);
    [end(Codec::Pcma), end(Codec::G722)]
}

fn say(channel: &mut dyn Channel, message: &Message<'_>) {
    let mut out = Vec::new();
    message.write(&mut out);
    channel.write(out).expect("it stands");
}

/// Numbers of a packet of RTP: sequence, timestamp, source.
type Numbers = (u16, u32, u32);

/// A packet goes there and comes back; the numbers that it comes with.
fn round(channel: &mut dyn Channel, sequence: u16) -> Numbers {
    let mut octets = vec![0x80, 8];
    octets.extend_from_slice(&sequence.to_be_bytes());
    octets.extend_from_slice(&(u32::from(sequence) * 160).to_be_bytes());
    octets.extend_from_slice(&[0, 0, 0, 1]);
    octets.resize(12 + 160, 0xD5);
    say(channel, &Message::Packet { stream: 3, end: Side::A, octets: &octets });
    until(channel, |message| match *message {
        Message::Packet { stream: 3, end: Side::B, octets } => {
            assert_eq!(octets.len(), 12 + 160);
            let word = |at: usize| octets[at..].first_chunk().copied().map(u32::from_be_bytes);
            let sequence = u16::from_be_bytes([octets[2], octets[3]]);
            Some((sequence, word(4)?, word(8)?))
        }
        _ => None,
    })
}

fn kill(folder: &Path) {
    let pid = fs::read_to_string(folder.join("pid")).expect("it stands");
    let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status();
    assert!(killed.expect("kill runs").success());
}

#[test]
fn a_process_that_crashes_is_started_again_and_its_streams_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (to, mut ledger) = (to(folder.path()), Ledger::default());
    let mut channel = connected(&to);
    let codecs = until(&mut *channel, |it| match it {
        Message::Welcome { codecs, streams_max: 10 } => Some(*codecs),
        _ => None,
    });
    assert_eq!(codecs & 0b1110, 0b1110, "G.711 and G.722 are always there");
    ledger.put(3, ends());
    let mut said = Vec::new();
    ledger.write(Time::ZERO, true, &mut said);
    channel.write(said).expect("it stands");
    let first = round(&mut *channel, 100);
    let second = round(&mut *channel, 101);
    assert_eq!((first.0, second.0), (0, 1));
    until(&mut *channel, |it| match *it {
        Message::Reached { stream: 3, end: Side::B, sequence, timestamp } => {
            ledger.reached(Time::ZERO, 3, Side::B, sequence, timestamp);
            (sequence == second.0).then_some(())
        }
        _ => None,
    });

    kill(folder.path());
    let lost = (0..1_000).find_map(|_| {
        thread::sleep(Duration::from_millis(5));
        channel.read(&mut |_| ()).err()
    });
    assert!(lost.is_some(), "the death is seen");
    let mut channel = connected(&to);
    let mut said = Vec::new();
    ledger.write(Time::from_millis(60), true, &mut said);
    channel.write(said).expect("it stands");
    let third = round(&mut *channel, 104);
    assert_eq!((third.0, third.2), (second.0 + 19, 7), "ahead of what may have left");
    assert_eq!(third.1, second.1 + 160 + 640, "by the clock");

    let over = until(&mut *channel, |it| match it {
        Message::Load { streams, packets: [received, ..], .. } => Some((*streams, *received)),
        _ => None,
    });
    assert_eq!(over, (1, 1));
    kill(folder.path());
}

#[test]
fn streams_that_are_not_said_again_are_forgotten_and_too_many_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = to(folder.path());
    let mut channel = connected(&to);
    for stream in 0..11 {
        say(&mut *channel, &Message::Put { stream, ends: ends() });
    }
    let refused = until(&mut *channel, |it| match it {
        Message::Refused { stream, .. } => Some(*stream),
        _ => None,
    });
    assert_eq!(refused, 10);
    say(&mut *channel, &Message::Begin);
    say(&mut *channel, &Message::Put { stream: 5, ends: ends() });
    say(&mut *channel, &Message::End);
    say(&mut *channel, &Message::Remove { stream: 7 });
    until(&mut *channel, |it| match it {
        Message::Load { streams: 1, .. } => Some(()),
        _ => None,
    });
    // Another control takes the place of the first, and finds the stream.
    let mut other = connected(&to);
    until(&mut *other, |it| match it {
        Message::Load { streams: 1, .. } => Some(()),
        _ => None,
    });
    kill(folder.path());
}

#[test]
fn one_that_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = Launch {
        socket: folder.path().join("socket"),
        command: vec!["false".to_owned()],
        log: folder.path().join("log"),
    };
    let to = ToTranscoder::new(launch);
    let failed = (0..1_000).find_map(|_| match to.connect() {
        Err(Absent::Failed(why)) => Some(why),
        _ => {
            thread::sleep(Duration::from_millis(5));
            None
        }
    });
    assert!(failed.expect("it is told").contains("it ended"));
}
