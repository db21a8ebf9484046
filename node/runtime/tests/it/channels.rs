//! Channels to other processes, and questions whose answer comes by one of them.

use machine::Time;
use runtime::*;
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PORT: PortId = PortId(3);
const LONG: Duration = Duration::from_secs(20);

/// A channel whose messages are lines.
struct Lines {
    stream: UnixStream,
    read: Vec<u8>,
    write: Vec<u8>,
}

impl Channel for Lines {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String> {
        let mut part = [0; 4_096];
        let over = match self.stream.read(&mut part) {
            Ok(0) => Err("the end".to_owned()),
            Ok(count) => {
                self.read.extend_from_slice(&part[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        while let Some(end) = self.read.iter().position(|&octet| octet == b'\n') {
            let line: Vec<u8> = self.read.drain(..=end).collect();
            take(Came::Message(&line[..end]));
        }
        over
    }

    fn write(&mut self, messages: Vec<u8>) -> Result<(), String> {
        self.write.extend(messages);
        while !self.write.is_empty() {
            match self.stream.write(&self.write) {
                Ok(count) => drop(self.write.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    fn waits(&self) -> bool {
        !self.write.is_empty()
    }
}

#[derive(Debug)]
struct To(PathBuf);

impl Connect for To {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let stream = UnixStream::connect(&self.0).map_err(|_| Absent::Starting)?;
        stream.set_nonblocking(true).unwrap();
        Ok(Box::new(Lines { stream, read: Vec::new(), write: Vec::new() }))
    }
}

/// The way to one that has spoken by the time the channel stands.
#[derive(Debug, Default)]
struct ToSpoken(Mutex<Vec<UnixStream>>);

impl Connect for ToSpoken {
    fn connect(&self) -> Result<Box<dyn Channel>, Absent> {
        let (stream, mut far) = UnixStream::pair().unwrap();
        stream.set_nonblocking(true).unwrap();
        far.write_all(b"welcome\n").unwrap();
        self.0.lock().unwrap().push(far);
        Ok(Box::new(Lines { stream, read: Vec::new(), write: Vec::new() }))
    }
}

/// Asks by its channel what it is asked.
struct Caller {
    to: Arc<dyn Connect>,
    seen: Vec<String>,
}

impl Function for Caller {
    type Config = PathBuf;

    fn step(&mut self, _now: Time, input: In<'_>, out: &mut Effects) {
        let In::Channel { port: PORT, event } = input else { return };
        match event {
            ChannelEvent::Up => self.seen.push("up".into()),
            ChannelEvent::Absent(why) => self.seen.push(format!("absent {why:?}")),
            ChannelEvent::Down(why) => self.seen.push(format!("down {why}")),
            ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => panic!("a channel of lines"),
            ChannelEvent::Message(line) => {
                let line = std::str::from_utf8(line).unwrap();
                assert_ne!(line, "panic");
                match line.split_once(' ') {
                    Some((ticket, answer)) => {
                        out.answer(Ticket(ticket.parse().unwrap()), Ok(json!(answer)));
                    }
                    None => self.seen.push(format!("heard {} octets", line.len())),
                }
            }
        }
    }

    fn tick(&mut self, _now: Time, _out: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _now: Time, _config: Arc<PathBuf>, _out: &mut Effects) {}

    fn frame(_port: PortId, _buffer: &[u8]) -> Frame {
        Frame::Partial
    }

    fn ask(&mut self, _now: Time, ask: &Ask, out: &mut Effects) -> Answered {
        match ask.path.as_str() {
            "connect" => out.connect(PORT, self.to.clone()),
            "hang up" => out.hang_up(PORT),
            "much" => out.write(PORT, |b| b.extend([vec![b'x'; 4 << 20], vec![b'\n']].concat())),
            _ => {}
        }
        Ok(json!(self.seen))
    }

    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        Ticket(ticket): Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        let Some(question) = ask.path.strip_prefix("far ") else {
            return Some(self.ask(now, ask, out));
        };
        out.write(PORT, |b| b.extend_from_slice(format!("{ticket} {question}\n").as_bytes()));
        None
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

fn caller(socket: &Path) -> Running<Caller> {
    by(socket, Arc::new(To(socket.to_owned())))
}

fn by(socket: &Path, to: Arc<dyn Connect>) -> Running<Caller> {
    let make = move |_, _| Caller { to: to.clone(), seen: vec![] };
    start(ShardSpec::default(), Arc::new(socket.to_owned()), make).unwrap()
}

fn ask(running: &Running<Caller>, path: &str) -> Answered {
    running.ask(Ask { path: path.into(), ..Ask::default() })
}

fn sees(running: &Running<Caller>, wanted: &[&str]) {
    let until = Instant::now() + LONG;
    while ask(running, "seen") != Ok(json!(wanted)) {
        assert!(Instant::now() < until, "{:?}", ask(running, "seen"));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_question_is_answered_by_another_process_while_the_shard_does_other_things() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("far");
    let running = Arc::new(caller(&socket));
    ask(&running, "connect").unwrap();
    sees(&running, &["absent None"]);
    let listener = UnixListener::bind(&socket).unwrap();
    ask(&running, "connect").unwrap();
    let (mut far, _) = listener.accept().unwrap();
    sees(&running, &["absent None", "up"]);
    let asker = Arc::clone(&running);
    let asked = std::thread::spawn(move || ask(&asker, "far how are you"));
    let mut read = vec![0; 64];
    let count = far.read(&mut read).unwrap();
    let began = Instant::now();
    sees(&running, &["absent None", "up"]);
    assert!(began.elapsed() < Duration::from_secs(1), "others are answered meanwhile");
    far.write_all(&read[..count]).unwrap();
    assert_eq!(asked.join().unwrap(), Ok(json!("how are you")));
    // Nobody answers: whoever asked is told within its time.
    let began = Instant::now();
    assert_eq!(ask(&running, "far and now"), Err(AskError::Unreachable));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_ne!(far.read(&mut read).unwrap(), 0);
    drop(far);
    sees(&running, &["absent None", "up", "down the end"]);
}

#[test]
fn a_channel_stands_before_the_first_word_of_the_other_side_comes() {
    let running = by(Path::new("unused"), Arc::new(ToSpoken::default()));
    ask(&running, "connect").unwrap();
    sees(&running, &["up", "heard 7 octets"]);
    ask(&running, "connect").unwrap();
    sees(&running, &["up", "heard 7 octets", "up", "heard 7 octets"]);
}

#[test]
fn what_the_other_side_is_slow_to_take_waits_and_a_channel_that_was_hung_up_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("far");
    let listener = UnixListener::bind(&socket).unwrap();
    let running = caller(&socket);
    ask(&running, "connect").unwrap();
    let (mut far, _) = listener.accept().unwrap();
    ask(&running, "much").unwrap();
    let mut read = Vec::new();
    let mut part = vec![0; 1 << 20];
    while read.last() != Some(&b'\n') {
        let count = far.read(&mut part).unwrap();
        read.extend_from_slice(&part[..count]);
    }
    assert_eq!(read.len(), (4 << 20) + 1);
    far.write_all(b"word\n").unwrap();
    sees(&running, &["up", "heard 4 octets"]);
    ask(&running, "hang up").unwrap();
    assert_eq!(far.read(&mut part).unwrap(), 0);
    sees(&running, &["up", "heard 4 octets"]);
}

#[test]
fn a_function_that_panics_begins_anew_without_its_channels() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("far");
    let listener = UnixListener::bind(&socket).unwrap();
    let running = caller(&socket);
    ask(&running, "connect").unwrap();
    let (mut far, _) = listener.accept().unwrap();
    sees(&running, &["up"]);
    far.write_all(b"panic\n").unwrap();
    assert_eq!(far.read(&mut [0; 8]).unwrap(), 0, "it is closed");
    sees(&running, &[]);
    assert_eq!(ask(&running, "seen"), Ok(Value::Array(Vec::new())));
}
