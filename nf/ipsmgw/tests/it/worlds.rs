//! Worlds by seed: an S-CSCF with terminals, an HLR, MSCs, a service centre as simple models that
//! lose, repeat, delay, refuse and fall silent; a store that is slow or fails; a signalling gateway
//! that goes and comes. What must hold whatever they do is looked at as it happens and at the end.

use crate::network::{
    CENTRE, GATEWAY, MSC, address, deliver, deliver_invoke, error, forwarded, invoked, number,
    portion, result, routing_invoke, routing_read, routing_value, rp, submit, text_of,
};
use crate::world::settings;
use ipsmgw::store::Memory;
use ipsmgw::{
    Charged, Gateway, Imsi, In, Msisdn, Out, Received, Register, Seeds, Sending, Settings,
};
use machine::{Duration, Machine, Time};
use map::{Context, Error, Operation};
use sms::rp::{Failure, Kind, Message};
use sms::{Cause, Direction};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tcap::PAbort;
use tcu::{Component, Indication, Portion, Request};

const SUBSCRIBERS: u64 = 4;
const SENDERS: u64 = 2;

/// Numbers from a seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

fn identity(subscriber: u64) -> String {
    format!("sip:+44770090{subscriber:04}@ims.example.org")
}

fn msisdn(subscriber: u64) -> String {
    format!("44770090{subscriber:04}")
}

fn imsi(subscriber: u64) -> Imsi {
    Imsi::of(&format!("23415000000{subscriber:04}")).unwrap()
}

/// What comes to pass at a time.
enum Happening {
    Told(In),
    /// The service centre wants to deliver to a subscriber.
    Deliver(u64),
    /// A subscriber sends.
    Submit(u64),
    Register(u64, u32),
}

/// What was debited and refunded, by the flow that asked for it.
#[derive(Default)]
struct Purse {
    asked: BTreeSet<u64>,
    debited: BTreeSet<u64>,
    refunded: BTreeSet<u64>,
    /// Messages of terminals that were taken.
    taken: usize,
}

/// A dialogue of the service centre's with the gateway.
enum Centre {
    Routing { subscriber: u64 },
    Delivery,
}

struct World {
    gateway: Gateway,
    store: Memory,
    now: Time,
    draw: Draw,
    /// How unkind it is: 0 is kind.
    unkind: bool,
    agenda: BTreeMap<(Time, u64), Happening>,
    count: u64,
    dialogues: u64,
    /// Dialogues of the gateway's own: what is answered in each.
    own: HashMap<u64, (Operation, Option<bytes::Bytes>)>,
    centre: HashMap<u64, Centre>,
    /// Transactions that were not answered yet.
    unanswered: BTreeSet<u64>,
    /// Submissions of which the report did not come: by their Call-ID; the text.
    unreported: BTreeMap<String, String>,
    /// Texts that the service centre took.
    taken: BTreeMap<String, u32>,
    /// The number of the last message of each sender's that a terminal saw.
    seen: HashMap<(String, String), u64>,
    /// Whom each text is for.
    meant: BTreeMap<String, String>,
    delivered: u64,
    texts: u64,
    purse: Purse,
    trace: u64,
}

impl World {
    fn new(seed: u64, settings: Settings, unkind: bool) -> Self {
        let seeds = Seeds { proofs: [5; 16], correlations: [6; 16], share: (0, 1) };
        let now = Time::from_millis(1);
        let mut world = Self {
            gateway: Gateway::new(settings, seeds, now),
            store: Memory::new(1_000),
            now,
            draw: Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            unkind,
            agenda: BTreeMap::new(),
            count: 0,
            dialogues: 0,
            own: HashMap::new(),
            centre: HashMap::new(),
            unanswered: BTreeSet::new(),
            unreported: BTreeMap::new(),
            taken: BTreeMap::new(),
            seen: HashMap::new(),
            meant: BTreeMap::new(),
            delivered: 0,
            texts: 0,
            purse: Purse::default(),
            trace: 0,
        };
        world.at(0, Happening::Told(In::Connected(true)));
        for subscriber in 0..SUBSCRIBERS {
            world.at(1 + subscriber, Happening::Register(subscriber, 3600));
        }
        for _ in 0..40 {
            let after = 200 + world.draw.below(60_000);
            let subscriber = world.draw.below(SUBSCRIBERS + 1);
            let what = match world.draw.below(8) {
                0 if unkind => Happening::Register(subscriber % SUBSCRIBERS, 0),
                1 => Happening::Register(subscriber % SUBSCRIBERS, 3600),
                2..=4 => Happening::Submit(subscriber % SUBSCRIBERS),
                _ => Happening::Deliver(subscriber),
            };
            world.at(after, what);
        }
        if unkind && world.draw.one_in(3) {
            let after = 5_000 + world.draw.below(40_000);
            world.at(after, Happening::Told(In::Connected(false)));
            world.at(after + 4_000, Happening::Told(In::Connected(true)));
        }
        world
    }

    fn at(&mut self, after_ms: u64, what: Happening) {
        self.count += 1;
        let at = self.now + Duration::from_millis(after_ms);
        self.agenda.insert((at, self.count), what);
    }

    fn soon(&mut self, input: In) {
        let after = 1 + self.draw.below(if self.unkind { 3_000 } else { 30 });
        self.at(after, Happening::Told(input));
    }

    /// Runs to the end of all.
    fn run(&mut self) {
        loop {
            let next = self.agenda.keys().next().map(|it| it.0);
            let due = self.gateway.deadline();
            let Some(at) = next.into_iter().chain(due).min() else { return };
            self.now = self.now.max(at);
            let mut out = Vec::new();
            if due.is_some_and(|it| it <= self.now) {
                self.gateway.tick(self.now, &mut out);
                assert!(self.gateway.deadline().is_none_or(|it| it > self.now));
            } else if let Some((_, what)) = self.agenda.pop_first() {
                self.happen(what, &mut out);
            }
            out.into_iter().for_each(|it| self.wanted(it));
        }
    }

    fn happen(&mut self, what: Happening, out: &mut Vec<Out>) {
        let input = match what {
            Happening::Told(input) => input,
            Happening::Register(subscriber, expires_s) => {
                let register = Register {
                    identity: identity(subscriber),
                    s_cscf: "sip:scscf".into(),
                    expires_s,
                    msisdn: Msisdn::of(&msisdn(subscriber)),
                    imsi: Some(imsi(subscriber)),
                    contacts: None,
                };
                In::Register { transaction: self.transaction(), register }
            }
            Happening::Submit(subscriber) => self.submission(subscriber),
            Happening::Deliver(subscriber) => {
                let invoke = routing_invoke(&msisdn(subscriber));
                let portion = portion(Context::ShortMsgGateway, 3, vec![invoke]);
                self.peer_begins(Centre::Routing { subscriber }, portion)
            }
        };
        if let In::Network(Indication::End { dialogue, .. } | Indication::UAbort { dialogue, .. }) =
            &input
        {
            self.own.remove(dialogue);
        }
        self.gateway.step(self.now, input, out);
    }

    fn transaction(&mut self) -> u64 {
        self.count += 1;
        self.unanswered.insert(self.count);
        self.count
    }

    fn submission(&mut self, subscriber: u64) -> In {
        let transaction = self.transaction();
        self.texts += 1;
        let text = format!("m{}", self.texts);
        let reference = (self.texts & 0xff) as u8;
        let tpdu = submit(reference, "447700900999", &text);
        let body = rp(&Message::from_terminal(reference, number(CENTRE), &tpdu));
        let call_id = format!("call{}", self.texts);
        self.unreported.insert(call_id.clone(), text);
        let message = self.message(&identity(subscriber), &call_id, None, body);
        if self.unkind && self.draw.one_in(5) {
            // The terminal sends it again in another request (TS 24.011 §6.3).
            let message = message.clone();
            let transaction = self.transaction();
            self.soon(In::Message { transaction, message });
        }
        In::Message { transaction, message }
    }

    fn message(
        &self,
        identity: &str,
        call_id: &str,
        in_reply_to: Option<String>,
        body: Vec<u8>,
    ) -> Received {
        Received {
            to: "tel:+447700000099".into(),
            asserted: vec![identity.to_owned()],
            call_id: call_id.to_owned(),
            in_reply_to,
            content_type: sms::rp::CONTENT_TYPE.into(),
            body,
            trail: 7,
        }
    }

    fn peer_begins(&mut self, of: Centre, portion: Portion) -> In {
        self.dialogues += 1;
        let dialogue = self.dialogues;
        self.centre.insert(dialogue, of);
        let (called, calling) = (address(GATEWAY, 8), address(CENTRE, 8));
        In::Network(Indication::Begin { dialogue, called, calling, is_again: false, portion })
    }

    fn wanted(&mut self, out: Out) {
        let text = format!("{:?} {out:?}", self.now);
        self.trace = machine::identity::hash_combine(self.trace, text.as_bytes());
        match out {
            Out::Respond { transaction, .. } => {
                assert!(self.unanswered.remove(&transaction), "each request is answered once");
            }
            Out::Ask { ticket, question } => {
                let fails = self.unkind && self.draw.one_in(20);
                let answer = match fails {
                    true => ipsmgw::store::Answer::Failed,
                    false => self.store.ask(self.now, question),
                };
                // The store answers in the order in which it is asked.
                self.at(5, Happening::Told(In::Stored { ticket, answer }));
            }
            Out::Send(sending) => self.sent(*sending),
            Out::Request(request) => self.requested(*request),
            Out::Record(record) => {
                let is_submitted = record.direction == ipsmgw::Direction::Originated;
                self.purse.taken += usize::from(is_submitted && record.cause.is_none());
            }
            Out::Charge { ticket, is_refund, .. } => self.charge(ticket, is_refund),
            Out::Taken { .. } | Out::AskHome { .. } | Out::AskPeer(_) => {}
        }
    }

    /// The online charging system.
    fn charge(&mut self, ticket: u64, is_refund: bool) {
        if is_refund {
            assert!(self.purse.debited.contains(&ticket), "it was debited");
            assert!(self.purse.refunded.insert(ticket), "it is refunded once");
            return;
        }
        assert!(self.purse.asked.insert(ticket), "it is debited once");
        let charged = match self.draw.below(if self.unkind { 12 } else { 1 }) {
            11 => return,
            9 | 10 => Charged::Refused(Cause::OperatorBarring),
            _ => Charged::Debited,
        };
        if charged == Charged::Debited {
            self.purse.debited.insert(ticket);
        }
        self.soon(In::Charged { ticket, charged });
    }

    /// The S-CSCF and the terminal behind it.
    fn sent(&mut self, sending: Sending) {
        let (number, is_lost) = (sending.number, self.unkind && self.draw.one_in(6));
        if is_lost {
            self.at(32_000, Happening::Told(In::Response { number, status: 408 }));
            return;
        }
        let refuses = self.unkind && self.draw.one_in(8);
        let status = if refuses { 480 } else { 202 };
        self.soon(In::Response { number, status });
        let message = Message::read(sending.body.octets()).unwrap();
        assert_eq!(message.kind.direction(), Direction::ToTerminal);
        if refuses {
            return;
        }
        if message.kind != Kind::DataToTerminal {
            let answers = sending.in_reply_to.unwrap();
            self.unreported.remove(&answers);
            return;
        }
        self.terminal(&sending, &message);
    }

    fn terminal(&mut self, sending: &Sending, message: &Message<'_>) {
        let tpdu = message.user_data.unwrap();
        let (sender, text) = {
            let read = sms::Kind::Deliver.read(tpdu).unwrap();
            (read.address().unwrap().text(), text_of(sms::Kind::Deliver, tpdu))
        };
        assert_eq!(self.meant.get(&text), Some(&sending.to), "it reaches whom it is for");
        let order: u64 = text[1..].parse().unwrap();
        let last = self.seen.insert((sending.to.clone(), sender), order);
        assert!(last.is_none_or(|it| it < order), "messages of a sender keep their order");
        let cause = match self.draw.below(if self.unkind { 6 } else { 1 }) {
            0..=2 => None,
            3 => Some(Cause::MemoryCapacityExceeded),
            4 => Some(Cause::ProtocolError),
            _ => return,
        };
        let body = rp(&message.answer(cause.map(Failure::of), None));
        let in_reply_to = Some(format!("{}@gw", sending.call_id));
        for _ in 0..=u64::from(self.unkind && self.draw.one_in(5)) {
            let call_id = format!("report{}", self.count);
            let message = self.message(&sending.to, &call_id, in_reply_to.clone(), body.clone());
            let transaction = self.transaction();
            self.soon(In::Message { transaction, message });
        }
    }

    fn requested(&mut self, request: Request) {
        match request {
            Request::Begin { reference, portion, .. } => self.network_begin(reference, &portion),
            Request::Continue { dialogue, portion, .. } => match invoked(&portion.components) {
                Some(asked) => self.answer(dialogue, asked),
                None => assert!(self.centre.contains_key(&dialogue)),
            },
            Request::End { dialogue, portion, .. } => match self.centre.remove(&dialogue) {
                Some(centre) => self.centre_ended(centre, &portion.components),
                None => {
                    self.own.remove(&dialogue);
                }
            },
            Request::UAbort { dialogue, .. } => {
                self.own.remove(&dialogue);
                self.centre.remove(&dialogue);
            }
            other => panic!("{other:?}"),
        }
    }

    fn network_begin(&mut self, reference: u64, portion: &Portion) {
        if self.unkind && self.draw.one_in(30) {
            let (why, dialogue) = (tcu::Refusal::Full, None);
            let refused = Indication::Refused { reference: Some(reference), dialogue, why };
            return self.soon(In::Network(refused));
        }
        self.dialogues += 1;
        let dialogue = self.dialogues;
        self.at(0, Happening::Told(In::Network(Indication::Begun { reference, dialogue })));
        match invoked(&portion.components) {
            Some(asked) => self.answer(dialogue, asked),
            None => {
                let portion = Portion::default();
                self.soon(In::Network(Indication::Continue { dialogue, portion }));
            }
        }
    }

    /// HLR, service centre and MSCs: what they say to an operation.
    fn answer(&mut self, dialogue: u64, asked: (Operation, bytes::Bytes)) {
        let (operation, argument) = asked;
        let value = match operation {
            Operation::SendRoutingInfoForSm => Some(routing_value(&imsi(0).tbcd(), MSC)),
            _ => None,
        };
        let fault = if self.unkind { self.draw.below(12) } else { 99 };
        let it = match fault {
            0 => Indication::Cancel { dialogue, id: 1 },
            1 => Indication::PAbort { dialogue, cause: PAbort::Cause(4) },
            2 => Indication::Notice { dialogue, cause: 1 },
            3 => return,
            4 => Indication::UAbort { dialogue, refused: None, portion: Portion::default() },
            5 => {
                let portion = Portion::of(vec![error(Error::SystemFailure, None)]);
                Indication::End { dialogue, portion }
            }
            _ => {
                if operation == Operation::MoForwardSm {
                    let text = text_of(sms::Kind::Submit, &forwarded(&argument));
                    *self.taken.entry(text).or_default() += 1;
                }
                let portion = Portion::of(vec![result(operation, value.clone())]);
                Indication::End { dialogue, portion }
            }
        };
        self.own.insert(dialogue, (operation, value));
        // What ends a dialogue comes after what began it.
        let after = 2 + self.draw.below(50);
        self.at(after, Happening::Told(In::Network(it)));
    }

    fn centre_ended(&mut self, centre: Centre, components: &[Component]) {
        let is_answer = |it: &&Component| !matches!(it, Component::Invoke { .. });
        match (centre, components.iter().find(is_answer)) {
            (Centre::Routing { subscriber }, Some(Component::Result { result, .. })) => {
                let (_, value) = result.clone().unwrap();
                let (imsi, node) = routing_read(&value.unwrap());
                if node != GATEWAY {
                    return;
                }
                self.texts += 1;
                let sender = format!("44780000{:04}", self.draw.below(SENDERS));
                let tpdu = deliver(&sender, &format!("d{}", self.texts));
                let invoke = deliver_invoke(&imsi, &tpdu, 3);
                self.meant.insert(format!("d{}", self.texts), identity(subscriber));
                let portion = portion(Context::ShortMsgMtRelay, 3, vec![invoke]);
                let input = self.peer_begins(Centre::Delivery, portion);
                // In the order in which the routing information came.
                self.at(0, Happening::Told(input));
            }
            (Centre::Delivery, Some(Component::Result { .. })) => self.delivered += 1,
            (_, Some(Component::Error { .. } | Component::Reject { .. })) => {}
            (_, other) => panic!("{other:?}"),
        }
    }
}

fn world(seed: u64, unkind: bool) -> World {
    let mut settings = settings();
    if seed.is_multiple_of(3) {
        settings.networks[0].hlr = ipsmgw::Hlr::Suppressed;
    }
    if seed.is_multiple_of(4) {
        settings.networks[0].ways.reverse();
    }
    settings.home.charges = is_charged(seed);
    let mut world = World::new(seed, settings, unkind);
    world.run();
    world
}

const fn is_charged(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

fn at_the_end(world: &World, seed: u64) {
    if is_charged(seed) {
        let Purse { debited, refunded, taken, .. } = &world.purse;
        assert_eq!(debited.len(), taken + refunded.len(), "{seed}: who pays has what he paid for");
    } else {
        assert!(world.purse.asked.is_empty(), "{seed}");
    }
    assert_eq!(world.gateway.under_way(), (0, 0, 0), "{seed}: nothing is under way");
    assert!(world.unanswered.is_empty(), "{seed}: {:?}", world.unanswered);
    assert!(world.taken.values().all(|it| *it == 1), "{seed}: nothing is forwarded twice");
}

#[test]
fn in_a_kind_world_everything_is_delivered_and_reported() {
    for seed in 1..60 {
        let world = world(seed, false);
        at_the_end(&world, seed);
        assert!(world.unreported.is_empty(), "{seed}: {:?}", world.unreported);
        assert!(world.centre.is_empty(), "{seed}: each dialogue is answered");
        assert!(world.delivered > 0 && !world.taken.is_empty(), "{seed}");
    }
}

#[test]
fn in_an_unkind_world_nothing_is_forgotten_and_nothing_is_done_twice() {
    for seed in 1..400 {
        let world = world(seed, true);
        at_the_end(&world, seed);
    }
}

#[test]
fn the_same_seed_makes_the_same_trace() {
    for seed in 1..20 {
        assert_eq!(world(seed, true).trace, world(seed, true).trace);
    }
}
