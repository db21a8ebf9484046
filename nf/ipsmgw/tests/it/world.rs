//! The gateway and a store in memory, driven by hand: what it wants of its neighbours is kept until
//! a test looks.

use crate::network::{CENTRE, GATEWAY, address, number, rp};
use ipsmgw::store::{Answer, Key, Memory, Question, Row};
use ipsmgw::{
    Gateway, Hlr, Imsi, In, Msisdn, Network, Out, Received, Record, Register, Seeds, Sending,
    Settings, Shares, Subsystems, Terminals, Way,
};
use machine::bucket::Rate;
use machine::{Duration, Machine, Time};
use mapsms::informed::MwStatus;
use sms::rp::Message;
use tcu::{Indication, Portion, Request};

pub const ALICE: &str = "sip:+447700900123@ims.example.org";
pub const ALICE_NUMBER: &str = "447700900123";
pub const ALICE_IMSI: &str = "234150000000123";

pub fn settings() -> Settings {
    Settings {
        number: Msisdn::of(GATEWAY).unwrap(),
        address: address(GATEWAY, 8),
        subsystems: Subsystems { hlr: 6, centre: 8, msc: 8 },
        networks: vec![network()],
        shares: Shares {
            correlations_max: 1_000,
            waiting_max: 100,
            waiting_rate: Rate::new(1.0, Some(100)),
            deliveries_max: 8,
        },
        correlation_prefix: "23415".into(),
        correlation_time: Duration::from_secs(600),
        report_time: Duration::from_secs(40),
        flow_time: Duration::from_secs(90),
        duplicate_time: Duration::from_secs(120),
        waiting_time: Duration::from_secs(86_400),
        final_causes: vec![22],
        begin_octets_max: 120,
        sender_rate: Rate::new(1000.0, None),
        allowed: vec!["4477".into(), "4478".into()],
        flows_max: 1_000,
        has_standby: false,
        terminals: Terminals { domains: vec!["ims.example.org".to_owned()], take_by_default: true },
        local: None,
        home: ipsmgw::Home::default(),
    }
}

/// What stands behind the head of a message of SIP.
pub fn of_octets(octets: &[u8]) -> &[u8] {
    let at = octets.windows(4).position(|it| it == b"\r\n\r\n");
    at.map(|at| &octets[at + 4..]).unwrap_or_default()
}

pub fn network() -> Network {
    Network {
        name: "own".to_owned(),
        numbers: vec!["4477".into()],
        hlr: Hlr::Number(9),
        ways: vec![Way::PacketSwitched, Way::CircuitSwitched],
        centres: vec!["4477".into(), "4478".into()],
    }
}

/// Without an HLR.
pub fn suppressed() -> Settings {
    Settings { networks: vec![Network { hlr: Hlr::Suppressed, ..network() }], ..settings() }
}

/// The gateway, its store, and what it wanted.
pub struct World {
    pub gateway: Gateway,
    pub store: Memory,
    pub now: Time,
    pub store_fails: bool,
    /// What the store is asked waits until it is released.
    pub holds_store: bool,
    asked: Vec<(u64, Question)>,
    pub responses: Vec<(u64, u16)>,
    pub sent: Vec<Sending>,
    pub requests: Vec<Request>,
    pub records: Vec<Record>,
    pub taken: Vec<(u64, Result<usize, &'static str>)>,
    pub home: Vec<(u64, ipsmgw::HomeQuestion)>,
    pub peers: Vec<ipsmgw::PeerQuestion>,
    pub charges: Vec<(u64, ipsmgw::Charge, bool)>,
    /// What was told of messages that wait, in the dialogue whose end was asked for last.
    pub told: Option<MwStatus>,
    /// Dialogues that were begun there.
    dialogues: u64,
}

impl World {
    pub fn new(settings: Settings) -> Self {
        let seeds = Seeds { proofs: [3; 16], correlations: [4; 16], share: (0, 1) };
        let now = Time::from_millis(1);
        let mut world = Self {
            gateway: Gateway::new(settings, seeds, now),
            store: Memory::new(10_000),
            now,
            store_fails: false,
            holds_store: false,
            asked: Vec::new(),
            responses: Vec::new(),
            sent: Vec::new(),
            requests: Vec::new(),
            records: Vec::new(),
            taken: Vec::new(),
            home: Vec::new(),
            peers: Vec::new(),
            charges: Vec::new(),
            told: None,
            dialogues: 1_000,
        };
        world.step(In::Connected(true));
        world
    }

    /// Another node that goes on with the rows of this one, which is gone.
    pub fn taken_over(self, settings: Settings) -> Self {
        let mut other = Self::new(settings);
        let seeds = Seeds { proofs: [8; 16], correlations: [9; 16], share: (0, 1) };
        other.gateway.begin_anew(seeds, self.now);
        (other.now, other.store) = (self.now, self.store);
        other.step(In::Connected(true));
        let rows: Vec<(Key, Row)> =
            other.store.iter().map(|(key, row)| (key.clone(), row.clone())).collect();
        for row in rows {
            match row {
                (Key::Submission(sum), Row::Submission(it)) => other.step(In::Submitted(sum, it)),
                (Key::Used(limit, whose), Row::Used(until)) => {
                    other.step(In::Used(limit, whose, until));
                }
                _ => {}
            }
        }
        other
    }

    /// Takes an input, and all that the store answers to it.
    pub fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.gateway.step(self.now, input, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, mut out: Vec<Out>) {
        while !out.is_empty() {
            let mut next = Vec::new();
            for it in out {
                match it {
                    Out::Respond { transaction, status } => {
                        self.responses.push((transaction, status));
                    }
                    Out::Send(sending) => self.sent.push(*sending),
                    Out::Request(request) => self.requests.push(*request),
                    Out::Record(record) => self.records.push(*record),
                    Out::Taken { ticket, outcome, .. } => self.taken.push((ticket, outcome)),
                    Out::AskHome { ticket, question } => self.home.push((ticket, question)),
                    Out::Charge { ticket, charge, is_refund } => {
                        self.charges.push((ticket, charge, is_refund));
                    }
                    Out::AskPeer(question) => self.peers.push(*question),
                    Out::Ask { ticket, question } if self.holds_store => {
                        self.asked.push((ticket, question));
                    }
                    Out::Ask { ticket, question } => {
                        let answer = self.answer(question);
                        self.gateway.step(self.now, In::Stored { ticket, answer }, &mut next);
                    }
                }
            }
            out = next;
        }
    }

    /// The store answers what it was asked, the last question first, until none is left.
    pub fn release_store(&mut self) {
        while let Some((ticket, question)) = self.asked.pop() {
            let answer = self.answer(question);
            self.step(In::Stored { ticket, answer });
        }
    }

    fn answer(&mut self, question: Question) -> Answer {
        if self.store_fails { Answer::Failed } else { self.store.ask(self.now, question) }
    }

    pub fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.gateway.deadline().filter(|it| *it <= until) {
            self.now = at.max(self.now);
            let mut out = Vec::new();
            self.gateway.tick(self.now, &mut out);
            self.carry_out(out);
        }
        self.now = until;
    }

    pub fn register(&mut self, transaction: u64, expires_s: u32) {
        let register = Register {
            identity: ALICE.into(),
            s_cscf: "sip:scscf.ims.example.org:6060".into(),
            expires_s,
            msisdn: Msisdn::of(ALICE_NUMBER),
            imsi: Imsi::of(ALICE_IMSI),
            contacts: Some(vec!["sip:alice@192.0.2.1".into()]),
        };
        self.step(In::Register { transaction, register });
    }

    /// Alice is registered, and whoever was told of it has answered.
    pub fn registered() -> Self {
        let mut world = Self::new(settings());
        world.register(1, 3600);
        world.answer_all();
        world
    }

    /// Every dialogue of the gateway's own ends without more: a result without a value.
    pub fn answer_all(&mut self) {
        while let Some(dialogue) = self.begun() {
            let ok = crate::network::result(map::Operation::ReadyForSm, None);
            self.end(dialogue, vec![ok]);
        }
        self.responses.clear();
        self.requests.clear();
    }

    /// The first dialogue that the gateway asked for is begun.
    pub fn begun(&mut self) -> Option<u64> {
        let is_begin = |it: &Request| matches!(it, Request::Begin { .. });
        let at = self.requests.iter().position(is_begin)?;
        let Request::Begin { reference, .. } = self.requests.remove(at) else { return None };
        self.dialogues += 1;
        let dialogue = self.dialogues;
        self.step(In::Network(Indication::Begun { reference, dialogue }));
        Some(dialogue)
    }

    /// What the gateway asks, in the first BEGIN that waits.
    pub fn asked(&self) -> (map::Operation, bytes::Bytes) {
        let found = self.requests.iter().find_map(|it| match it {
            Request::Begin { portion, .. } => crate::network::invoked(&portion.components),
            _ => None,
        });
        found.expect("an operation is asked")
    }

    pub fn end(&mut self, dialogue: u64, components: Vec<tcu::Component>) {
        let portion = Portion::of(components);
        self.step(In::Network(Indication::End { dialogue, portion }));
    }

    pub fn peer_begins(&mut self, dialogue: u64, portion: Portion) {
        self.title_begins(dialogue, CENTRE, portion);
    }

    /// A peer with that title begins a dialogue.
    pub fn title_begins(&mut self, dialogue: u64, title: &str, portion: Portion) {
        let (called, calling) = (address(GATEWAY, 8), address(title, 8));
        let is_again = false;
        self.step(In::Network(Indication::Begin { dialogue, called, calling, is_again, portion }));
    }

    /// How the gateway ended a dialogue of a peer. What it told beside is kept.
    pub fn ended(&mut self, dialogue: u64) -> Vec<tcu::Component> {
        let at = self.requests.iter().position(|it| it.dialogue() == Some(dialogue));
        match self.requests.remove(at.expect("the dialogue is answered")) {
            Request::End { portion, .. } => {
                let mut components = portion.components;
                self.told = MwStatus::of_components(&components);
                components.retain(|it| !matches!(it, tcu::Component::Invoke { .. }));
                components
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn message(&mut self, transaction: u64, in_reply_to: Option<&str>, body: &Message<'_>) {
        self.octets(transaction, in_reply_to, rp(body));
    }

    pub fn octets(&mut self, transaction: u64, in_reply_to: Option<&str>, body: Vec<u8>) {
        let message = Received {
            to: "tel:+447700000099".into(),
            asserted: vec![ALICE.into(), format!("tel:+{ALICE_NUMBER}")],
            call_id: format!("call-{transaction}"),
            in_reply_to: in_reply_to.map(ToOwned::to_owned),
            content_type: sms::rp::CONTENT_TYPE.into(),
            body,
            trail: 7,
        };
        self.step(In::Message { transaction, message });
    }

    /// Alice sends a message.
    pub fn submits(&mut self, transaction: u64, reference: u8, text: &str) {
        let tpdu = crate::network::submit(reference, "447700900999", text);
        self.message(transaction, None, &Message::from_terminal(reference, number(CENTRE), &tpdu));
    }

    pub fn idle(&self) -> bool {
        self.gateway.under_way() == (0, 0, 0)
    }
}
