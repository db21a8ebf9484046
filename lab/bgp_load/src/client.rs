//! One emulated client: its connection, its session, what it still has to send, what it got.

use crate::plan::Plan;
use crate::streams::{Reader, Streams};
use bgp::{Cause, ConnectionId, In, Indication, Out, Session};
use driver::{SocketOptions, tcp};
use machine::{Machine, Time};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// Octets that are written at once at most.
pub const WRITE_BYTES: usize = 256 << 10;

/// How far a client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// No connection.
    Idle,
    /// The connection is being opened.
    Connecting,
    /// OPENs are exchanged.
    Opening,
    /// Routes are exchanged.
    Up,
    /// The session ended, and why.
    Lost(String),
}

/// A client.
#[derive(Debug)]
pub(crate) struct Client {
    number: usize,
    pub(crate) state: State,
    pub(crate) stream: Option<TcpStream>,
    session: Session,
    connection: ConnectionId,
    pub(crate) reader: Option<Reader>,
    /// Octets that begin a message which is not whole.
    cut: Vec<u8>,
    outgoing: VecDeque<(Arc<[u8]>, usize)>,
    /// Whether it is told when its stream takes more.
    pub(crate) waits_to_write: bool,
    out: Vec<Out>,
}

impl Client {
    pub(crate) fn new(plan: &Plan, number: usize) -> Self {
        let mut session = Session::new(plan.settings(number), number as u64);
        let mut out = Vec::new();
        session.step(Time::ZERO, In::Start, &mut out);
        Self {
            number,
            state: State::Idle,
            stream: None,
            session,
            connection: ConnectionId(0),
            reader: None,
            cut: Vec::new(),
            outgoing: VecDeque::new(),
            waits_to_write: false,
            out: Vec::new(),
        }
    }

    /// Opens a connection.
    pub(crate) fn connect(&mut self, plan: &Plan) -> io::Result<()> {
        let source = SocketAddr::from((Plan::address(self.number), 0));
        let receive_buffer_bytes = plan.receive_buffer_bytes();
        let options = SocketOptions { receive_buffer_bytes, ..SocketOptions::default() };
        let stream = tcp::connect(Some(source), plan.reflector, &options, |_| Ok(()))?;
        self.stream = Some(stream);
        self.connection = ConnectionId(self.connection.0 + 1);
        self.state = State::Connecting;
        Ok(())
    }

    /// The connection is there, or it is refused: then it is to be tried again.
    pub(crate) fn connected(&mut self, now: Time) {
        let is_there = self.stream.as_ref().is_some_and(|stream| tcp::outcome(stream).is_ok());
        if !is_there {
            self.stream = None;
            self.state = State::Idle;
            return;
        }
        self.state = State::Opening;
        let mut out = std::mem::take(&mut self.out);
        self.session.step(now, In::Connected(self.connection), &mut out);
        self.obey(&mut out);
        self.out = out;
    }

    fn obey(&mut self, out: &mut Vec<Out>) {
        for effect in out.drain(..) {
            match effect {
                Out::Send(_, octets) => self.send(octets.into()),
                Out::Close(_) if !matches!(self.state, State::Lost(_)) => {
                    self.state = State::Lost("the session closed the connection".into());
                }
                Out::Indicate(Indication::Down(cause, _) | Indication::Failed(cause)) => {
                    self.state = State::Lost(words(&cause));
                }
                Out::Indicate(Indication::Offended(violation)) => {
                    self.state = State::Lost(violation.malformed.to_string());
                }
                _ => {}
            }
        }
    }

    /// Octets to be sent.
    pub(crate) fn send(&mut self, octets: Arc<[u8]>) {
        if !octets.is_empty() {
            self.outgoing.push_back((octets, 0));
        }
    }

    /// Whether all was sent.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Writes what the connection takes, at most [`WRITE_BYTES`].
    pub(crate) fn write(&mut self) {
        let Some(stream) = &self.stream else { return };
        let Some((octets, at)) = self.outgoing.front_mut() else { return };
        let end = octets.len().min(*at + WRITE_BYTES);
        match tcp::write(stream, &[IoSlice::new(&octets[*at..end])]) {
            Ok(taken) => *at += taken.unwrap_or(0),
            Err(error) => self.state = State::Lost(format!("writing: {error}")),
        }
        if *at == octets.len() {
            self.outgoing.pop_front();
        }
    }

    /// Reads once, into `buffer`.
    pub(crate) fn read(&mut self, now: Time, streams: &mut Streams, buffer: &mut [u8]) {
        let Some(stream) = &self.stream else { return };
        let before = self.cut.len();
        buffer[..before].copy_from_slice(&self.cut);
        let count = match tcp::read(stream, &mut buffer[before..]) {
            Ok(None) => return,
            Ok(Some(0)) => return self.lost("the connection was closed".into()),
            Ok(Some(count)) => count,
            Err(error) => return self.lost(format!("reading: {error}")),
        };
        let octets = &buffer[..before + count];
        match &mut self.reader {
            None => self.open(now, streams, octets),
            Some(reader) => {
                let mut others = Vec::new();
                self.cut = reader.take(streams, octets, &mut others);
                others.iter().for_each(|message| self.other(now, message));
            }
        }
    }

    fn lost(&mut self, why: String) {
        if !matches!(self.state, State::Lost(_)) {
            self.state = State::Lost(why);
        }
        self.stream = None;
    }

    /// Before routes are exchanged, the session reads all.
    fn open(&mut self, now: Time, streams: &mut Streams, octets: &[u8]) {
        let mut out = std::mem::take(&mut self.out);
        let done = self.session.receive(now, self.connection, octets, &mut out);
        let mut routes = Vec::new();
        for effect in &out {
            match effect {
                Out::Indicate(Indication::Up(_, negotiated)) => {
                    self.reader = Some(Reader::new(streams, negotiated.context));
                    self.state = State::Up;
                }
                Out::Updates(_, range) => routes.push(range.clone()),
                _ => {}
            }
        }
        self.obey(&mut out);
        self.out = out;
        if let Some(reader) = &mut self.reader {
            for range in routes {
                // Whole UPDATEs: nothing is cut off, and nothing else is among them.
                reader.take(streams, &octets[range], &mut Vec::new());
            }
        }
        self.cut = octets[done..].to_vec();
    }

    /// A message that is no UPDATE.
    fn other(&mut self, now: Time, message: &[u8]) {
        let mut out = std::mem::take(&mut self.out);
        self.session.receive(now, self.connection, message, &mut out);
        self.obey(&mut out);
        self.out = out;
    }
}

fn words(cause: &Cause) -> String {
    match cause {
        Cause::Received(notice, text) => {
            let text = text.as_deref().unwrap_or_default();
            format!("NOTIFICATION {notice} {text}")
        }
        Cause::Sent(notice) => format!("we sent NOTIFICATION {notice}"),
        Cause::Lost => "the connection was lost".into(),
        Cause::Replaced => "another connection took its place".into(),
    }
}
