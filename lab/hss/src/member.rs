//! A running node: it answers as the home subscriber server, and asks what it is told to.

use crate::subscriber::{Hss, Subscriber};
use diameter::codec::{Flags, Message};
use diameter::{DisconnectCause, Indication, Outcome, Outgoing, SessionIds};
use diameter_stack::Peers;
use diameter_stack::config::{self, Section};
use machine::Time;
use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Seed};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;

/// Answers, and complaints, that are kept until somebody asks for them; what comes then is counted.
const ANSWERS_MAX: usize = 65_536;
const COMPLAINTS_MAX: usize = 1_024;

/// What a member is made from.
#[derive(Debug, Clone, Deserialize)]
pub struct MemberConfig {
    /// Who it is.
    pub diameter: config::Node,
    /// Its peers.
    #[serde(default)]
    pub peer: Vec<config::Peer>,
    /// Its routes.
    #[serde(default)]
    pub route: Vec<config::Route>,
    /// Applications that it speaks.
    pub applications: Vec<u32>,
    /// Its subscribers.
    #[serde(skip)]
    pub subscribers: Vec<Subscriber>,
}

impl MemberConfig {
    /// What the stack is lent.
    #[must_use]
    pub fn section(&self) -> Section<'_> {
        Section {
            key: "hss",
            name: &self.diameter.host,
            node: &self.diameter,
            peer: &self.peer,
            route: &self.route,
            applications: &self.applications,
            first_port: PortId(0),
        }
    }
}

/// A member.
#[derive(Debug)]
pub struct Member {
    peers: Peers,
    hss: Hss,
    sessions: SessionIds,
    /// What became of its requests: the token, and JSON or words.
    answers: VecDeque<(u64, String)>,
    asked: u64,
    again: u64,
    complaints: Vec<String>,
    /// Answers and complaints that found no room.
    shed: u64,
}

impl Member {
    /// A member.
    ///
    /// # Panics
    /// Its configuration was not checked.
    #[must_use]
    pub fn new(seed: Seed, config: &MemberConfig) -> Self {
        let peers = Peers::new(&config.section(), Arc::default(), seed);
        let peers = peers.expect("the configuration was checked");
        let (host, realm) = (&config.diameter.host, &config.diameter.realm);
        let hss = Hss::new(host, realm, config.subscribers.clone(), seed.now.as_nanos());
        Self {
            peers,
            hss,
            sessions: SessionIds::new(host, seed.now.as_millis() / 1_000),
            answers: VecDeque::new(),
            asked: 0,
            again: 0,
            complaints: Vec::new(),
            shed: 0,
        }
    }

    fn follow(&mut self, now: Time, out: &mut Effects) {
        while let Some(indication) = self.peers.indication() {
            match indication {
                Indication::Request(request, _, octets) => {
                    let Ok(message) = Message::read(&octets) else { continue };
                    self.asked += 1;
                    self.again += u64::from(message.header.flags.has(Flags::RETRANSMITTED));
                    let answer = self.hss.answer(&message);
                    self.peers.answer(now, request, answer, out);
                }
                Indication::Answer(token, outcome) => self.ended(token, &outcome),
                Indication::Complaint(..) if self.complaints.len() >= COMPLAINTS_MAX => {
                    self.shed += 1;
                }
                Indication::Complaint(_, violation) => self.complaints.push(violation.to_string()),
                Indication::PeerUp(_) | Indication::PeerDown(..) => {}
            }
        }
        self.peers.flush(out);
    }

    fn ended(&mut self, token: u64, outcome: &Outcome) {
        let words = match outcome {
            Outcome::Answer(octets) => {
                let mut text = String::new();
                let dictionary = self.peers.node().dictionary();
                match Message::read(octets).and_then(|it| dictionary.to_json(&it, &mut text)) {
                    Ok(()) => text,
                    Err(violation) => violation.to_string(),
                }
            }
            // An answer has keys, and what it says may not stand in words.
            Outcome::Malformed(_, violation) => format!("malformed: {violation}"),
            Outcome::NotSent(code) => format!("not sent: {}", code.name()),
            Outcome::Expired => String::from("expired"),
        };
        match self.answers.len() < ANSWERS_MAX {
            true => self.answers.push_back((token, words)),
            false => self.shed += 1,
        }
    }

    /// Sends a message that is written in JSON; `{session}` in it becomes a Session-Id.
    fn request(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Result<Value, AskError> {
        let of = |name: &str| ask.params.get(name).cloned().unwrap_or_default();
        let wrong = |what: String| AskError::BadParameter(what);
        let token = of("token").parse::<u64>().map_err(|_| wrong(String::from("token")))?;
        let text = of("message").replace("{session}", &self.sessions.next_id());
        let dictionary = self.peers.node().dictionary();
        let message = dictionary.from_json(&text).map_err(|it| wrong(it.to_string()))?;
        self.peers.request(now, Outgoing { token, message, timeout: None }, out);
        self.follow(now, out);
        Ok(json!({}))
    }

    /// A user can be reached: whoever watches is told.
    fn reachable(&mut self, now: Time, impu: &str, out: &mut Effects) -> Value {
        let Self { hss, sessions, .. } = self;
        let all = hss.reachable(impu, || sessions.next_id());
        let count = all.len();
        for message in all {
            self.peers.request(now, Outgoing { token: 0, message, timeout: None }, out);
        }
        self.follow(now, out);
        json!({ "told": count })
    }
}

impl Function for Member {
    type Config = MemberConfig;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        self.peers.step(now, &input, out);
        self.follow(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.peers.tick(now, out);
        self.follow(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.peers.deadline()
    }

    fn configure(&mut self, now: Time, config: Arc<MemberConfig>, out: &mut Effects) {
        self.peers.configure(now, &config.section(), out);
        self.follow(now, out);
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        diameter_stack::frame(buffer)
    }

    fn is_idle(&self) -> bool {
        self.peers.is_closed()
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.peers.node().metrics().cells()]
    }

    fn steer(_: &MemberConfig, _: &Flow, _: &[u8], _shards: u16) -> Option<u16> {
        Some(0)
    }

    fn ask(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Result<Value, AskError> {
        let of = |name: &str| ask.params.get(name).cloned().unwrap_or_default();
        match ask.path.as_str() {
            "peers" => Ok(json!(self.peers.peer_rows())),
            "connections" => Ok(json!(self.peers.connection_rows())),
            "request" => self.request(now, ask, out),
            "answers" => {
                let all = self.answers.drain(..);
                Ok(all.map(|(token, text)| json!({ "token": token, "text": text })).collect())
            }
            "counts" => Ok(json!({
                "asked": self.asked,
                "again": self.again,
                "complaints": self.complaints,
                "shed": self.shed,
            })),
            "reachable" => Ok(self.reachable(now, &of("impu"), out)),
            "stop" => {
                let id =
                    self.peers.find(&of("peer")).ok_or_else(|| AskError::NotFound(of("peer")))?;
                self.peers.stop(now, id, DisconnectCause::Rebooting, out);
                self.follow(now, out);
                Ok(json!({}))
            }
            "start" => {
                let id =
                    self.peers.find(&of("peer")).ok_or_else(|| AskError::NotFound(of("peer")))?;
                self.peers.start(now, id, out);
                self.follow(now, out);
                Ok(json!({}))
            }
            other => Err(AskError::NotFound(other.to_owned())),
        }
    }
}
