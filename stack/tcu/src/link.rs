//! One link: a connection, the client on it, and what is known of both.

use crate::config::{self, QUEUE_OCTETS_MAX};
use machine::{Duration, Time};
use runtime::{Effects, Flow};
use tcu::{Client, Hello, Request, Spelling};

/// Time for a connection and the greeting.
pub(crate) const GREETING: Duration = Duration::from_secs(10);
/// The pause before a gateway is connected to again.
pub(crate) const AGAIN: Duration = Duration::from_secs(1);
/// No dialogues begin while more than this waits for the gateway.
const CROWDED_OCTETS: u64 = QUEUE_OCTETS_MAX as u64 / 2;

/// How far a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is not opened before its time.
    Down,
    /// The connection is being opened, or the greeting is under way.
    Opening,
    /// The gateway took it in.
    Standing,
}

impl State {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Opening => "opening",
            Self::Standing => "standing",
        }
    }
}

/// A link.
#[derive(Debug)]
pub(crate) struct Link {
    pub config: config::Link,
    /// The way to the gateway.
    pub target: Flow,
    /// The connection, while there is one.
    pub flow: Option<Flow>,
    client: Client,
    pub state: State,
    pub since: Time,
    /// When something is to be done about it, unless it stands.
    pub due: Time,
    pub why: String,
    /// The subsystem that the application serves, and the gateway's name.
    pub subsystem: u8,
    pub gateway: String,
    /// The gateway says that it is read too slowly.
    pub is_slow: bool,
    /// Octets that wait for the gateway.
    pub waits: u64,
    pub dialogues: u64,
    pub received: u64,
    pub sent: u64,
    pub losses: u64,
}

impl Link {
    pub(crate) fn new(config: &config::Link, target: Flow, instance: &str, now: Time) -> Self {
        let hello = Hello::new(&config.application, &config.group, instance);
        Self {
            client: Client::new(hello, Spelling::Tagged, config.keys.clone()),
            config: config.clone(),
            target,
            flow: None,
            state: State::Down,
            since: now,
            due: now,
            why: String::new(),
            subsystem: 0,
            gateway: String::new(),
            is_slow: false,
            waits: 0,
            dialogues: 0,
            received: 0,
            sent: 0,
            losses: 0,
        }
    }

    /// Whether a dialogue of that subsystem may begin on it.
    pub(crate) fn takes(&self, subsystem: Option<u8>) -> bool {
        self.state == State::Standing
            && !self.is_slow
            && self.waits < CROWDED_OCTETS
            && subsystem == Some(self.subsystem)
    }

    /// It is in another state from now on.
    pub(crate) fn turn(&mut self, now: Time, state: State) {
        (self.state, self.since) = (state, now);
        self.due = match state {
            State::Down => now + AGAIN,
            State::Opening => now + GREETING,
            State::Standing => Time::MAX,
        };
    }

    /// The connection stands: the greeting leaves.
    pub(crate) fn greet(&mut self, flow: Flow, instance: &str, out: &mut Effects) {
        let hello = Hello::new(&self.config.application, &self.config.group, instance);
        // What the last connection has left half read is of no use.
        self.client = Client::new(hello, Spelling::Tagged, self.config.keys.clone());
        (self.flow, self.waits, self.is_slow) = (Some(flow), 0, false);
        let greeting = self.client.greeting();
        self.write(&greeting, out);
    }

    pub(crate) fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sends a request.
    pub(crate) fn request(&mut self, request: &Request, out: &mut Effects) {
        let mut octets = Vec::new();
        self.client.write(request, &mut octets);
        self.sent += 1;
        self.write(&octets, out);
    }

    pub(crate) fn write(&mut self, octets: &[u8], out: &mut Effects) {
        let Some(flow) = self.flow else { return };
        self.waits += octets.len() as u64;
        out.send(flow, |buffer| buffer.extend_from_slice(octets));
    }
}
