//! A client of the NG protocol, as a SIP proxy is one: rtpengine's, and whoever else speaks it.

use anyhow::Context;
use ng::bencode::{Value, Writer};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An answer that stays away so long is asked for again, with the same cookie.
const PATIENCE: Duration = Duration::from_millis(500);
/// So often one command is sent.
const TRIES: usize = 4;
const ROOM: usize = 65_535;
/// Between two looks at whether somebody is there.
const LOOK: Duration = Duration::from_millis(20);

/// The value of a key.
#[derive(Debug, Clone, Copy)]
pub enum Says<'a> {
    /// A string.
    Text(&'a str),
    /// A number.
    Number(u64),
    /// A list of strings.
    List(&'a [&'a str]),
}

/// The client.
#[derive(Debug)]
pub struct Ng {
    socket: UdpSocket,
    /// What its cookies begin with: one that came before gets the reply from then.
    own: String,
    serial: u64,
    room: Vec<u8>,
}

/// What came back, without its cookie.
#[derive(Debug, Clone)]
pub struct Reply(Vec<u8>);

impl Reply {
    /// The string of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<String> {
        let (value, _) = Value::read(&self.0).ok()??;
        Some(String::from_utf8_lossy(value.at(key)?.text()?).into_owned())
    }

    /// What it is in whole, for whom its parts interest.
    ///
    /// # Errors
    /// When it is no bencode.
    pub fn value(&self) -> anyhow::Result<Value<'_>> {
        let read = Value::read(&self.0).map_err(|violation| anyhow::anyhow!("{violation:?}"))?;
        Ok(read.context("the reply is cut off")?.0)
    }
}

/// A message: a cookie, a space, a dictionary.
fn write(cookie: &str, command: &str, entries: &[(&str, Says<'_>)]) -> Vec<u8> {
    let mut message = format!("{cookie} ").into_bytes();
    Writer::new(&mut message).dictionary(|out| {
        out.pair("command", command.as_bytes());
        for (key, says) in entries {
            out.text(key.as_bytes());
            match says {
                Says::Text(text) => drop(out.text(text.as_bytes())),
                Says::Number(number) => drop(out.number(*number)),
                Says::List(words) => drop(out.list(|out| {
                    for word in *words {
                        out.text(word.as_bytes());
                    }
                })),
            }
        }
    });
    message
}

impl Ng {
    /// A client of whoever listens there; from the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(to: SocketAddr) -> anyhow::Result<Self> {
        let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        let socket = UdpSocket::bind((any, 0))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.connect(to)?;
        let began = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        let own = format!("{began:x}_");
        Ok(Self { socket, own, serial: 0, room: vec![0; ROOM] })
    }

    /// Whether a ping is answered within a time.
    pub fn is_there(&mut self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        while Instant::now() < until {
            match self.ask("ping", &[]) {
                Ok(reply) => return reply.text("result").as_deref() == Some("pong"),
                Err(_) => std::thread::sleep(LOOK),
            }
        }
        false
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Errors
    /// When none comes.
    pub fn ask(&mut self, command: &str, entries: &[(&str, Says<'_>)]) -> anyhow::Result<Reply> {
        self.serial += 1;
        let cookie = format!("{}{}", self.own, self.serial);
        let message = write(&cookie, command, entries);
        let head = format!("{cookie} ");
        for _ in 0..TRIES {
            self.socket.send(&message)?;
            let until = Instant::now() + PATIENCE;
            // A late reply to what was asked before may come first.
            while Instant::now() < until {
                let Ok(length) = self.socket.recv(&mut self.room) else { break };
                if let Some(rest) = self.room[..length].strip_prefix(head.as_bytes()) {
                    return Ok(Reply(rest.to_vec()));
                }
            }
        }
        anyhow::bail!("{command}: no reply")
    }

    /// The same where the reply has to say that it was done.
    ///
    /// # Errors
    /// When none comes, or it says why not.
    pub fn order(&mut self, command: &str, entries: &[(&str, Says<'_>)]) -> anyhow::Result<Reply> {
        let reply = self.ask(command, entries)?;
        let result = reply.text("result").unwrap_or_default();
        let why = || reply.text("error-reason").unwrap_or_default();
        anyhow::ensure!(result == "ok", "{command}: {result} {}", why());
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_asked_until_its_own_reply_comes() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut client = Ng::new(server.local_addr().unwrap()).unwrap();
        let serve = std::thread::spawn(move || {
            let mut room = [0; 512];
            let (length, from) = server.recv_from(&mut room).unwrap();
            let asked = String::from_utf8_lossy(&room[..length]).into_owned();
            let (cookie, asked) = asked.split_once(' ').unwrap();
            server.send_to(b"earlier d6:result5:othere", from).unwrap();
            let reply = format!("{cookie} d6:result2:ok3:sdp3:v=0e");
            server.send_to(reply.as_bytes(), from).unwrap();
            asked.to_owned()
        });
        let flags = ["one", "two"];
        let entries =
            [("call-id", Says::Text("x")), ("n", Says::Number(7)), ("flags", Says::List(&flags))];
        let reply = client.order("offer", &entries).unwrap();
        assert_eq!(reply.text("sdp").as_deref(), Some("v=0"));
        assert!(reply.value().is_ok() && reply.text("none").is_none());
        let wanted = "d7:command5:offer7:call-id1:x1:ni7e5:flagsl3:one3:twoee";
        assert_eq!(serve.join().unwrap(), wanted);
    }
}
