//! Malformed packets made by scapy (Debian `python3-scapy`, which must be there), thrown at an
//! endpoint of ours: what RFC 9260 wants done is done, the association outlives all that it may
//! outlive, and what we answer is whole in the eyes of scapy and tshark.

use crate::node::malformed::{Malformed, made_by_scapy};
use crate::node::{self, capture};
use machine::Time;
use sctp::{Endpoint, In, Indication, Out, Outgoing, Packet, Parameters, Settings, State};
use std::net::IpAddr;
use std::time::Duration;

const PORTS: [u16; 2] = [1_000, 2_000];
/// Packets of random chunks.
const FUZZED: usize = 2_000;
/// Packets that one packet may bring about at most.
const ANSWERS_MAX: usize = 3;
const HEADER: usize = 12;

fn address(end: usize) -> IpAddr {
    [10, 0, 0, end as u8 + 1].into()
}

/// A client (0) and a server (1) with an association between them, the same each time.
struct Duo {
    ends: [Endpoint; 2],
    now: Time,
    told: [Vec<Indication>; 2],
    /// What the server has sent.
    sent: Vec<Vec<u8>>,
    /// Tag of packets to the server, and the client's next TSN.
    tag: u32,
    tsn: u32,
}

impl Duo {
    fn new() -> Self {
        let mut parameters = Parameters::rfc9260();
        parameters.sack_delay = Duration::from_millis(10);
        let settings = |end: usize| Settings {
            port: PORTS[end],
            addresses: vec![address(end)],
            listens: end == 1,
            associations_max: 8,
            parameters,
        };
        let ends = [0, 1].map(|end| Endpoint::new(settings(end), [end as u8 + 1; 32]));
        let mut duo = Self {
            ends,
            now: Time::from_nanos(1),
            told: Default::default(),
            sent: Vec::new(),
            tag: 0,
            tsn: 0,
        };
        let mut out = Vec::new();
        duo.ends[0].associate(duo.now, &[(address(1), 0).into()], PORTS[1], &mut out).unwrap();
        duo.take(0, out);
        duo
    }

    fn take(&mut self, end: usize, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Indicate(_, what) => self.told[end].push(what),
                Out::Transmit(sent) => {
                    let word = |at| u32::from_be_bytes(sent.bytes[at..at + 4].try_into().unwrap());
                    let is_init = sent.bytes[HEADER] == 1;
                    match end {
                        0 if is_init => self.tsn = word(HEADER + 16),
                        0 => self.tag = word(4),
                        _ => self.sent.push(sent.bytes.clone()),
                    }
                    self.pass(1 - end, sent.bytes);
                }
            }
        }
    }

    fn pass(&mut self, to: usize, bytes: Vec<u8>) {
        let (source, destination) = ((address(1 - to), 0).into(), address(to));
        let mut out = Vec::new();
        let packet = Packet { source, destination, bytes: bytes.into() };
        self.ends[to].step(self.now, In::Packet(packet), &mut out);
        self.take(to, out);
    }

    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += Duration::from_millis(5);
            for end in 0..2 {
                let mut out = Vec::new();
                self.ends[end].tick(self.now, &mut out);
                self.take(end, out);
            }
        }
    }

    /// What the server sends when it gets that, the client being deaf.
    fn answers(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        let bytes = bytes.to_vec().into();
        let (source, destination) = ((address(0), 0).into(), address(1));
        let packet = Packet { source, destination, bytes };
        self.ends[1].step(self.now, In::Packet(packet), &mut out);
        self.ends[1].tick(self.now, &mut out);
        let mut answers = Vec::new();
        for effect in out {
            match effect {
                Out::Transmit(sent) => answers.push(sent.bytes),
                Out::Indicate(_, what) => self.told[1].push(what),
            }
        }
        answers
    }

    fn is_up(&self) -> bool {
        let id = self.ends[1].associations().next();
        id.and_then(|id| self.ends[1].status(id)).is_some_and(|it| it.state == State::Established)
    }

    fn send(&mut self, payload: &'static str) {
        let id = self.ends[0].associations().next().expect("the client has one");
        let mut out = Vec::new();
        self.ends[0].step(self.now, In::Send(id, Outgoing::new(0, 0, payload.into())), &mut out);
        self.take(0, out);
    }
}

fn all() -> Vec<Malformed> {
    let duo = Duo::new();
    assert!(duo.is_up());
    made_by_scapy(duo.tag, PORTS, duo.tsn, FUZZED)
}

#[test]
fn each_is_answered_as_it_should_be_and_by_few_packets() {
    let mut answered = Vec::new();
    for it in all() {
        let mut duo = Duo::new();
        let answers = duo.answers(&it.octets);
        it.expect(&answers);
        assert!(answers.len() <= ANSWERS_MAX, "{}: {} answers", it.name, answers.len());
        answered.extend(answers.into_iter().map(with_ip));
    }
    assert!(answered.len() > 100, "{}", answered.len());
    capture::check_quoting(&answered);
}

#[test]
fn an_association_that_they_do_not_end_serves_on() {
    let (mut ended, mut served) = (0, 0);
    for it in all() {
        let mut duo = Duo::new();
        duo.answers(&it.octets);
        if !duo.is_up() {
            ended += 1;
            continue;
        }
        // Its tag was right: what was forged is believed, and the client's next message may be
        // taken for one that came already. It may also end the association. It must not hang.
        duo.wait(Duration::from_millis(100));
        let id = duo.ends[0].associations().next();
        if id.is_some() {
            duo.send("on it goes");
        }
        duo.wait(Duration::from_secs(200));
        let status = id.and_then(|id| duo.ends[0].status(id));
        let is_done = status.is_none_or(|it| it.unacknowledged + it.queued == 0);
        assert!(is_done, "{}: {:?}", it.name, duo.told);
        let came =
            |it: &Indication| matches!(it, Indication::Data(it) if it.payload == "on it goes");
        served += usize::from(duo.told[1].iter().any(came));
    }
    assert!(ended > 10 && served > 100, "{ended} ended, {served} served");
}

fn with_ip(bytes: Vec<u8>) -> Vec<u8> {
    let mut packet =
        node::wire::header([10, 0, 0, 2].into(), [10, 0, 0, 1].into(), bytes.len(), true);
    packet.extend(bytes);
    packet
}
