//! Nodes that give each other MSUs.

use crate::every::point_code;
use bytes::Bytes;
use m3ua::Transfer;
use machine::{Machine, Time};
use sccp::codec::{Address, Class, Digits, Message, Routing, Title, Unit};
use sccp::{Change, Choice, Metric, Selector};
use sccp::{In, Indication, Node, Out, Parameters, Rule, Rules, Settings, Target, Unitdata};

/// Nodes with the point codes 1, 2, …; each has the subsystem 6.
pub struct World {
    pub nodes: Vec<Node>,
    pub now: Time,
    /// What passed, in order.
    pub msus: Vec<Transfer>,
    pub heard: Vec<(usize, Indication)>,
}

pub fn node(number: u32, parameters: Parameters, rules: Vec<Rule>) -> Node {
    let settings = Settings {
        network: None,
        point_code: point_code(number),
        aliases: Vec::new(),
        network_indicator: 2,
        concerned: Vec::new(),
        parameters,
    };
    let mut node = Node::new(settings, Rules::new(rules).unwrap());
    node.step(Time::ZERO, In::State(6, true), &mut Vec::new());
    node
}

impl World {
    pub fn new(nodes: Vec<Node>) -> Self {
        Self { nodes, now: Time::ZERO, msus: Vec::new(), heard: Vec::new() }
    }

    /// Nodes that keep what they hear of each other: a rule that no test asks for leads there.
    pub fn plain(count: u32) -> Self {
        let all: Vec<_> = (1..=count).map(|it| (Some(it), Routing::Subsystem)).collect();
        let rules = vec![rule("ffff", &all, Choice::Backup)];
        Self::new((1..=count).map(|it| node(it, Parameters::q714(), rules.clone())).collect())
    }

    /// One input to the node with that point code; MSUs that come of it are not carried yet.
    pub fn step(&mut self, number: usize, input: In) -> Vec<Transfer> {
        let mut out = Vec::new();
        self.nodes[number - 1].step(self.now, input, &mut out);
        self.sort(number, out)
    }

    fn sort(&mut self, number: usize, out: Vec<Out>) -> Vec<Transfer> {
        let mut sent = Vec::new();
        for effect in out {
            match effect {
                Out::Transfer(msu) => sent.push(msu),
                Out::Indicate(indication) => self.heard.push((number, indication)),
            }
        }
        self.msus.extend(sent.iter().cloned());
        sent
    }

    /// Carries MSUs, and those that come of them, until there are none.
    pub fn carry(&mut self, mut msus: Vec<Transfer>) {
        for _ in 0..10_000 {
            if msus.is_empty() {
                return;
            }
            let msu = msus.remove(0);
            let to = msu.dpc.number() as usize;
            msus.extend(self.step(to, In::Transfer(msu)));
        }
        panic!("MSUs go in a circle");
    }

    pub fn run(&mut self, number: usize, input: In) {
        let msus = self.step(number, input);
        self.carry(msus);
    }

    /// Lets time pass, firing what is due, MSUs carried.
    pub fn pass(&mut self, until: Time) {
        for _ in 0..10_000 {
            let due = self.nodes.iter().filter_map(Machine::deadline).min();
            self.now = due.unwrap_or(until).min(until);
            for number in 1..=self.nodes.len() {
                let mut out = Vec::new();
                self.nodes[number - 1].tick(self.now, &mut out);
                assert!(self.nodes[number - 1].deadline().is_none_or(|it| it > self.now));
                let msus = self.sort(number, out);
                self.carry(msus);
            }
            if self.now == until {
                return;
            }
        }
        panic!("deadlines do not advance");
    }

    pub fn count(&self, number: usize, metric: Metric) -> u64 {
        self.nodes[number - 1].metrics().read(metric)
    }

    /// Data that a node's users got.
    pub fn data(&self, number: usize) -> Vec<Bytes> {
        let of = |it: &(usize, Indication)| match it {
            (at, Indication::Unitdata(_, unitdata)) if *at == number => Some(unitdata.data.clone()),
            _ => None,
        };
        self.heard.iter().filter_map(of).collect()
    }

    /// Causes of the notices that a node's users got.
    pub fn notices(&self, number: usize) -> Vec<u8> {
        let of = |it: &(usize, Indication)| match it {
            (at, Indication::Notice { cause, .. }) if *at == number => Some(*cause),
            _ => None,
        };
        self.heard.iter().filter_map(of).collect()
    }
}

pub fn to(called: Address, from: u32, data: &[u8]) -> Unitdata {
    Unitdata {
        called,
        calling: Address::subsystem(Some(point_code(from)), 6),
        class: Class { is_sequenced: false, returns: true },
        sls: 0,
        importance: None,
        data: Bytes::copy_from_slice(data),
    }
}

pub fn at(number: u32, subsystem: u8) -> Address {
    Address::subsystem(Some(point_code(number)), subsystem)
}

pub fn title(digits: &str) -> Address {
    Address::title(Title::e164(Digits::parse(digits).unwrap()), 6)
}

pub fn rule(prefix: &str, targets: &[(Option<u32>, Routing)], choice: Choice) -> Rule {
    let target = |it: &(Option<u32>, Routing)| Target {
        point_code: it.0.map(point_code),
        subsystem: None,
        routing: it.1,
        weight: 1,
    };
    Rule {
        selector: Selector::default(),
        prefix: Digits::parse(prefix).unwrap().into(),
        change: Change::default(),
        targets: targets.iter().map(target).collect(),
        choice,
    }
}

pub fn unit(msu: &Transfer) -> Unit<'_> {
    Unit::of(&Message::read(&msu.payload).unwrap()).unwrap().unwrap()
}
