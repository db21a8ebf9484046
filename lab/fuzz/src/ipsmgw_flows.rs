//! Any octets as what neighbours of an IP short message gateway do: bodies of messages, operations
//! with any argument, answers, silence and time: nothing panics, the deadline advances, the tables
//! keep their limits, and when all time is over nothing is under way.

use bytes::Bytes;
use ipsmgw::store::{Answer, Memory};
use ipsmgw::{
    Gateway, Hlr, Imsi, In, Msisdn, Network, Out, Received, Register, Seeds, Sent, Settings,
    Shares, Subsystems, Terminals, Way,
};
use machine::bucket::Rate;
use machine::{Duration, Machine, Time};
use map::Context;
use sccp::codec::{Address, Digits, Title};
use tcap::PAbort;
use tcu::{Code, Component, Indication, Portion, Request};

const FLOWS_MAX: u32 = 8;
const IDENTITY: &str = "sip:+447700900123@ims.example.org";
const NUMBER: &str = "447700900123";

fn title(digits: &str) -> Address {
    Address::title(Title::e164(Digits::parse(digits).expect("they are digits")), 8)
}

fn settings(choice: u8) -> Settings {
    let ways = match choice & 1 {
        0 => vec![Way::PacketSwitched, Way::CircuitSwitched],
        _ => vec![Way::CircuitSwitched, Way::PacketSwitched],
    };
    Settings {
        number: Msisdn::of("447700000099").expect("it is a number"),
        address: title("447700000099"),
        subsystems: Subsystems { hlr: 6, centre: 8, msc: 8 },
        networks: vec![Network {
            name: "own".to_owned(),
            numbers: Vec::new(),
            hlr: if choice & 2 == 0 { Hlr::Number(9) } else { Hlr::Suppressed },
            ways,
            centres: vec!["*".to_owned()],
        }],
        shares: Shares {
            correlations_max: 4,
            waiting_max: 4,
            waiting_rate: Rate::new(1.0, Some(3)),
            deliveries_max: 3,
        },
        correlation_prefix: "23415".to_owned(),
        correlation_time: Duration::from_secs(60),
        report_time: Duration::from_secs(40),
        flow_time: Duration::from_secs(90),
        duplicate_time: Duration::from_secs(60),
        waiting_time: Duration::from_secs(600),
        final_causes: vec![22],
        begin_octets_max: 120,
        sender_rate: Rate::new(1.0, Some(3)),
        allowed: vec!["*".to_owned()],
        flows_max: FLOWS_MAX,
        has_standby: choice & 8 == 0,
        terminals: Terminals {
            domains: vec!["ims.example.org".to_owned()],
            take_by_default: choice & 4 == 0,
        },
        local: None,
        home: ipsmgw::Home::default(),
    }
}

struct World {
    gateway: Gateway,
    store: Memory,
    now: Time,
    /// Begins that were asked for, dialogues, and messages that were sent.
    begins: Vec<u64>,
    dialogues: Vec<u64>,
    sent: Vec<(Sent, String)>,
    next: u64,
}

impl World {
    fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.gateway.step(self.now, input, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, mut out: Vec<Out>) {
        while !out.is_empty() {
            let mut more = Vec::new();
            for it in out {
                match it {
                    Out::Ask { ticket, question } => {
                        let answer = self.store.ask(self.now, question);
                        self.gateway.step(self.now, In::Stored { ticket, answer }, &mut more);
                    }
                    Out::Send(it) => self.sent.push((it.number, it.call_id.clone())),
                    Out::Request(it) => {
                        if let Request::Begin { reference, .. } = *it {
                            self.begins.push(reference);
                        }
                    }
                    Out::Respond { .. }
                    | Out::Record(_)
                    | Out::Taken { .. }
                    | Out::AskHome { .. }
                    | Out::Charge { .. }
                    | Out::AskPeer(_) => {}
                }
            }
            out = more;
        }
        let (flows, dialogues, _) = self.gateway.under_way();
        assert!(flows <= FLOWS_MAX as usize && dialogues <= 2 * FLOWS_MAX as usize);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let mut out = Vec::new();
        self.gateway.tick(self.now, &mut out);
        assert!(self.gateway.deadline().is_none_or(|it| it > self.now), "the deadline advances");
        self.carry_out(out);
    }

    fn message(&mut self, answers: Option<usize>, body: &[u8]) {
        let call_id = answers.and_then(|it| self.sent.get(it)).map(|it| it.1.clone());
        let message = Received {
            to: "tel:+447700000099".into(),
            asserted: vec![IDENTITY.to_owned()],
            call_id: "call".to_owned(),
            in_reply_to: call_id,
            content_type: sms::rp::CONTENT_TYPE.to_owned(),
            body: body.to_vec(),
            trail: 7,
        };
        self.next += 1;
        self.step(In::Message { transaction: self.next, message });
    }

    fn dialogue(&self, choice: u8) -> u64 {
        let index = usize::from(choice) % self.dialogues.len().max(1);
        self.dialogues.get(index).copied().unwrap_or_default()
    }

    fn indicate(&mut self, what: u8, choice: u8, octets: &[u8]) {
        let dialogue = self.dialogue(choice);
        let parameter = Some(Bytes::copy_from_slice(octets));
        let code = Code::Local(i64::from(choice));
        let answer = match what & 1 {
            0 => Component::Result { id: 1, is_last: true, result: Some((code, parameter)) },
            _ => Component::Error { id: 1, code, parameter },
        };
        let portion = Portion::of(vec![answer]);
        self.step(In::Network(match what % 7 {
            0 | 1 => Indication::End { dialogue, portion },
            2 => Indication::Continue { dialogue, portion },
            3 => {
                let context = Some(Bytes::copy_from_slice(octets));
                let portion = Portion { context, ..Portion::default() };
                let refused = Some(tcap::codec::Diagnostic::User(2));
                Indication::UAbort { dialogue, refused, portion }
            }
            4 => Indication::PAbort { dialogue, cause: PAbort::Cause(i64::from(choice % 5)) },
            5 => Indication::Cancel { dialogue, id: 1 },
            _ => Indication::Notice { dialogue, cause: choice },
        }));
    }

    fn peer(&mut self, what: u8, octets: &[u8]) {
        let (context, code) = match what % 4 {
            0 => (Context::ShortMsgGateway, 45),
            1 => (Context::ShortMsgMtRelay, 44),
            2 => (Context::ShortMsgGateway, 47),
            _ => (Context::ShortMsgMtRelay, i64::from(what)),
        };
        let invoke = Component::Invoke {
            id: 1,
            linked: None,
            code: Code::Local(code),
            parameter: Some(Bytes::copy_from_slice(octets)),
            class: None,
            time_ms: None,
        };
        self.next += 1;
        let (dialogue, calling) = (self.next, title("447800000009"));
        self.dialogues.push(dialogue);
        let context = Some(Bytes::copy_from_slice(&context.oid(1 + what / 4 % 3)));
        let components = if octets.is_empty() { Vec::new() } else { vec![invoke] };
        let portion = Portion { context, components, ..Portion::default() };
        let (called, is_again) = (title("447700000099"), false);
        let begin = Indication::Begin { dialogue, called, calling, is_again, portion };
        self.step(In::Network(begin));
    }

    fn act(&mut self, kind: u8, choice: u8, octets: &[u8]) {
        match kind % 8 {
            0 => self.message(None, octets),
            1 => self.message(Some(usize::from(choice) % self.sent.len().max(1)), octets),
            2 => self.peer(choice, octets),
            3 => {
                let Some(reference) = self.begins.pop() else { return };
                self.next += 1;
                let dialogue = self.next;
                self.dialogues.push(dialogue);
                self.step(In::Network(Indication::Begun { reference, dialogue }));
            }
            4 => self.indicate(choice, choice >> 3, octets),
            5 => {
                let index = usize::from(choice) % self.sent.len().max(1);
                let Some((number, _)) = self.sent.get(index).cloned() else { return };
                let status = 200 + 20 * u16::from(choice % 16);
                self.step(In::Response { number, status });
            }
            6 => self.pass(Duration::from_millis(u64::from(choice) * 400)),
            _ => {
                let register = Register {
                    identity: IDENTITY.to_owned(),
                    s_cscf: "sip:scscf".to_owned(),
                    expires_s: u32::from(choice % 3) * 300,
                    msisdn: Msisdn::of(NUMBER),
                    imsi: Imsi::of("234150000000123"),
                    contacts: (choice & 8 != 0).then(|| vec!["sip:a".to_owned()]),
                };
                self.next += 1;
                self.step(In::Register { transaction: self.next, register });
                if choice & 0xf0 == 0xf0 {
                    self.step(In::Connected(choice & 1 != 0));
                    let answer = Answer::Failed;
                    self.step(In::Stored { ticket: u64::from(choice), answer });
                }
            }
        }
    }
}

/// Runs one input: an octet that sets the gateway up, then what happens: kind, choice, length and
/// octets each.
pub fn run(bytes: &[u8]) {
    let Some((choice, mut rest)) = bytes.split_first() else { return };
    let now = Time::from_millis(1);
    let seeds = Seeds { proofs: [1; 16], correlations: [2; 16], share: (0, 1) };
    let mut world = World {
        gateway: Gateway::new(settings(*choice), seeds, now),
        store: Memory::new(16),
        now,
        begins: Vec::new(),
        dialogues: Vec::new(),
        sent: Vec::new(),
        next: 100,
    };
    world.step(In::Connected(true));
    while let Some((&[kind, choice, length], tail)) = rest.split_first_chunk::<3>() {
        let (octets, tail) = tail.split_at(tail.len().min(usize::from(length)));
        rest = tail;
        world.act(kind, choice, octets);
    }
    for _ in 0..40 {
        world.pass(Duration::from_secs(100));
    }
    assert_eq!(world.gateway.under_way(), (0, 0, 0), "all time is over");
}
