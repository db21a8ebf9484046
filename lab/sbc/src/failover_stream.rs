//! One call over TCP across a takeover: connections end with the node that held them, the dialog
//! does not (RFC 3261 §18.1.1, §18.2.2; RFC 5923 §8).
//!
//! ```text
//! caller ── connection 1 ──→ node that goes ── connection 1 ──→ callee     INVITE 200 ACK
//! caller ── connection 2 ──→ node that came ── connection 2 ──→ callee     BYE 200
//! ```

use super::failover_ends::{body, header, uri};
use anyhow::Context;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for an answer.
const ANSWER_MAX: Duration = Duration::from_millis(1_500);
/// Longest wait for a connection to the node that came.
const CONNECT_MAX: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);
/// Connections over which the caller tries to end its call.
const BYES_MAX: usize = 4;
/// Octets of the longest message.
const MESSAGE_MAX: usize = 8_192;

/// Who is called: answers everything with 200, notes what came over which connection.
#[derive(Debug)]
pub struct Callee {
    seen: Arc<Mutex<Vec<(u32, String)>>>,
    is_ending: Arc<AtomicBool>,
}

/// What became of the call.
#[derive(Debug, Default, Clone)]
pub struct Ended {
    /// Whether the caller's old connection was of no use.
    pub old_is_dead: bool,
    /// Status of the answer to its BYE over a new one.
    pub status: String,
    /// The number of the connection over which the callee got it.
    pub connection: u32,
    /// From the new connection's SYN to that answer, milliseconds.
    pub took_ms: f64,
}

/// The caller's end.
#[derive(Debug)]
pub struct StreamCall {
    callee: Callee,
    access: SocketAddr,
    own: SocketAddr,
    old: TcpStream,
    to: String,
    target: String,
}

impl Drop for Callee {
    fn drop(&mut self) {
        self.is_ending.store(true, Relaxed);
    }
}

impl Callee {
    fn start(at: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let seen = Arc::default();
        let is_ending = Arc::new(AtomicBool::new(false));
        let callee = Self { seen: Arc::clone(&seen), is_ending: Arc::clone(&is_ending) };
        thread::spawn(move || {
            let count = AtomicU32::new(0);
            thread::scope(|scope| {
                while !is_ending.load(Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => {
                            let number = count.fetch_add(1, Relaxed) + 1;
                            let (seen, is_ending) = (&seen, &is_ending);
                            scope.spawn(move || attend(stream, at, number, seen, is_ending));
                        }
                        Err(_) => thread::sleep(POLL),
                    }
                }
            });
        });
        Ok(callee)
    }

    /// The connection over which a request of that method came.
    fn connection_of(&self, method: &str) -> u32 {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().rev().find(|(_, name)| name == method).map_or(0, |&(number, _)| number)
    }
}

fn attend(
    mut stream: TcpStream,
    own: SocketAddr,
    number: u32,
    seen: &Mutex<Vec<(u32, String)>>,
    is_ending: &AtomicBool,
) {
    // Accepted sockets are as the listener is on some systems.
    let _ = stream.set_nonblocking(false);
    while !is_ending.load(Relaxed) {
        let Ok(text) = read(&mut stream, POLL) else { return };
        for text in messages(&text.unwrap_or_default()) {
            let method = text.split(' ').next().unwrap_or_default().to_owned();
            let is_ack = method == "ACK";
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((number, method));
            if !is_ack && stream.write_all(answer(text, own).as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// The messages of one read, by their lengths.
fn messages(mut text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    while let Some((head, rest)) = text.split_once("\r\n\r\n") {
        let body = header(head, "Content-Length").parse().unwrap_or(0).min(rest.len());
        let (message, next) = text.split_at(head.len() + 4 + body);
        all.push(message);
        text = next;
    }
    all
}

fn answer(request: &str, own: SocketAddr) -> String {
    let mut reply = String::from("SIP/2.0 200 OK\r\n");
    for line in request.lines().take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default();
        let is_open = name == "To" && !line.contains(";tag=");
        if matches!(name, "Via" | "From" | "To" | "Call-ID" | "CSeq") {
            reply += line;
            reply += if is_open { ";tag=far\r\n" } else { "\r\n" };
        }
    }
    reply += &format!("Contact: <sip:far@{own};transport=tcp>\r\n");
    body(&mut reply, request.starts_with("INVITE"));
    reply
}

/// What came; `None` when nothing came in time. The messages of this test come whole.
fn read(stream: &mut TcpStream, most: Duration) -> std::io::Result<Option<String>> {
    stream.set_read_timeout(Some(most))?;
    let mut buffer = [0; MESSAGE_MAX];
    match stream.read(&mut buffer) {
        Ok(0) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        Ok(length) => Ok(Some(String::from_utf8_lossy(&buffer[..length]).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads until the final answer; its text.
fn final_answer(stream: &mut TcpStream) -> anyhow::Result<String> {
    let until = Instant::now() + ANSWER_MAX;
    while Instant::now() < until {
        let text = read(stream, ANSWER_MAX)?.unwrap_or_default();
        // A provisional answer and the final one may come at once.
        if let Some(at) = text.rfind("SIP/2.0 ").filter(|&at| !text[at + 8..].starts_with('1')) {
            return Ok(text[at..].to_owned());
        }
    }
    anyhow::bail!("no answer over TCP within {ANSWER_MAX:?}")
}

impl StreamCall {
    /// Makes a call from `own` by `access` to a callee at `far`.
    ///
    /// # Errors
    /// When it does not come about.
    pub fn make(access: SocketAddr, own: SocketAddr, far: SocketAddr) -> anyhow::Result<Self> {
        let callee = Callee::start(far)?;
        let old = TcpStream::connect_timeout(&access, CONNECT_MAX)?;
        let (to, target) = ("<sip:far@example.org>".to_owned(), format!("sip:far@{access}"));
        let mut call = Self { callee, access, own, old, to, target };
        let invite = call.request("INVITE", 1);
        call.old.write_all(invite.as_bytes())?;
        let answer = final_answer(&mut call.old).context("the INVITE over TCP")?;
        anyhow::ensure!(answer.starts_with("SIP/2.0 200"), "INVITE over TCP: {answer}");
        header(&answer, "To").clone_into(&mut call.to);
        uri(header(&answer, "Contact")).clone_into(&mut call.target);
        let ack = call.request("ACK", 1);
        call.old.write_all(ack.as_bytes())?;
        Ok(call)
    }

    fn request(&self, method: &str, number: u32) -> String {
        let own = self.own;
        let mut text = format!(
            "{method} {} SIP/2.0\r\nVia: SIP/2.0/TCP {own};branch=z9hG4bKstream{method}{number}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:near@example.com>;tag=near\r\nTo: {}\r\n\
             Call-ID: stream-1\r\nCSeq: {number} {method}\r\n\
             Contact: <sip:near@{own};transport=tcp>\r\n",
            self.target, self.to,
        );
        body(&mut text, method == "INVITE");
        text
    }

    /// Ends the call after another node took over.
    ///
    /// # Errors
    /// When no new connection comes about, or no answer over it.
    pub fn end(mut self) -> anyhow::Result<Ended> {
        let options = self.request("OPTIONS", 2);
        let old = &mut self.old;
        let old_is_dead = old.write_all(options.as_bytes()).is_err() || final_answer(old).is_err();
        let begun = Instant::now();
        let mut answer = self.bye(3);
        for number in (4..).take(BYES_MAX - 1) {
            if answer.is_ok() {
                break;
            }
            answer = self.bye(number);
        }
        let answer = answer?;
        let status = answer.split(' ').nth(1).unwrap_or_default().to_owned();
        let took_ms = begun.elapsed().as_secs_f64() * 1_000.0;
        let connection = self.callee.connection_of("BYE");
        Ok(Ended { old_is_dead, status, connection, took_ms })
    }

    /// A BYE over a new connection; its answer.
    fn bye(&self, number: u32) -> anyhow::Result<String> {
        let mut fresh = TcpStream::connect_timeout(&self.access, CONNECT_MAX)
            .context("a new connection after the takeover")?;
        fresh.write_all(self.request("BYE", number).as_bytes())?;
        final_answer(&mut fresh).context("the BYE over a new connection")
    }
}
