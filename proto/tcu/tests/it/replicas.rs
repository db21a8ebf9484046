//! Dialogues that another node has served: they go on with the instance that has them.

use crate::world::{SECRET, SHORT_MESSAGE, settings};
use authentication::Keys;
use bytes::Bytes;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, Class};
use std::collections::BTreeMap;
use tcap::codec::{Code, TransactionId, Writer};
use tcap::{In, Out, Report, Transactions};
use tcu::{Application, Client, Hello, InstanceId, Portion, Request, Side, Spelling, indications};

const PARTITION: u8 = 3;

const fn ms(milliseconds: u64) -> Time {
    Time::from_millis(milliseconds)
}

/// A node: transactions, and an application with its instances.
struct Node {
    transactions: Transactions,
    application: Application,
    clients: BTreeMap<String, (InstanceId, Client)>,
    outs: Vec<Out>,
}

impl Node {
    fn new() -> Self {
        let tcap = tcap::Settings {
            shard: 0,
            secret: 1,
            dialogues_max: 100,
            dialogues_per_source_max: 100,
            sources_elsewhere: false,
            idle: Duration::from_secs(300),
        };
        Self {
            transactions: Transactions::shared(tcap, Time::ZERO),
            application: Application::new(settings(), Keys::parse(SECRET).unwrap()),
            clients: BTreeMap::new(),
            outs: Vec::new(),
        }
    }

    fn at<T>(&mut self, act: impl FnOnce(&mut Application, &mut Side<'_>) -> T) -> T {
        let Self { transactions, application, outs, .. } = self;
        act(application, &mut Side { transactions, outs })
    }

    fn connect(&mut self, now: Time, name: &str) {
        let id = InstanceId(self.clients.len() as u64 + 1);
        let client = Client::new(Hello::new("hlr", "", name), Spelling::Tagged, None);
        let greeting = client.greeting();
        self.clients.insert(name.to_owned(), (id, client));
        self.at(|application, side| {
            application.connected(now, id, false, None);
            application.said(now, id, &greeting, side);
        });
    }

    /// A dialogue begins, and its instance goes on with it.
    fn standing(&mut self, now: Time, number: u32, state: Option<&'static [u8]>) -> u64 {
        let mut data = Vec::new();
        let writer = Writer::begin(TransactionId::of(number)).request(SHORT_MESSAGE, &[]);
        let argument = [0x30, 5, 0x80, 3, 0x91, 0x44, 0x77];
        writer.write(&mut data, |out| out.invoke(1, None, Code::Local(45), Some(&argument)));
        let unitdata = sccp::Unitdata {
            called: Address::subsystem(None, 6),
            calling: Address::subsystem(None, 8),
            class: Class { is_sequenced: true, returns: true },
            sls: 3,
            importance: None,
            data: data.into(),
        };
        let first = self.outs.len();
        self.transactions.step(now, In::UnitdataOf(7, unitdata), &mut self.outs);
        let told = indications(&self.outs[first..]);
        let dialogue = told[0].dialogue().unwrap();
        for it in told {
            self.at(|application, side| application.indicated(now, it, side));
        }
        let (_, name) = self.application.instance_of(dialogue).unwrap();
        let (id, client) = self.clients.get_mut(name).unwrap();
        let (id, mut octets, portion) = (*id, Vec::new(), Portion::default());
        let state = state.map(Bytes::from_static);
        client.write(&Request::Continue { dialogue, state, portion }, &mut octets);
        self.at(|application, side| application.said(now, id, &octets, side));
        dialogue
    }

    /// What is told of dialogues that stand otherwise than before: slot, and record.
    fn told(&mut self, now: Time) -> Vec<(u32, Vec<u8>)> {
        let (application, mut all) = (&self.application, Vec::new());
        self.transactions.changes(now, false, &mut |_, it| {
            if let Report::Stands(id, slot, octets) = it {
                let mut record = octets.to_vec();
                application.write_record(id.number(), &mut record);
                all.push((slot, record));
            }
        });
        all
    }

    /// It serves the partition of another node, as that has told it.
    fn take(&mut self, now: Time, owners: &[(u8, u64)], records: &[(u32, Vec<u8>)]) {
        owners.iter().for_each(|(owner, secret)| self.transactions.own(PARTITION, *owner, *secret));
        for (slot, record) in records {
            let id = self.transactions.restore(now, PARTITION, *slot, record).unwrap();
            self.application.restore(id.number(), record).unwrap();
        }
        self.transactions.serve(PARTITION, 1, 12);
        self.at(|application, side| application.adopt(now, side));
    }

    fn leave(&mut self) {
        self.transactions.leave(PARTITION);
        self.application.leave(|it| Transactions::partition_of_number(it) == PARTITION);
    }

    fn instance_of(&self, dialogue: u64) -> Option<&str> {
        self.application.instance_of(dialogue).map(|it| it.1)
    }
}

fn serving() -> Node {
    let mut node = Node::new();
    node.transactions.serve(PARTITION, 0, 11);
    node
}

#[test]
fn who_stands_by_hears_when_another_instance_has_taken_a_dialogue() {
    let mut one = serving();
    one.connect(ms(0), "a");
    let dialogue = one.standing(ms(1), 1, Some(b"state"));
    assert_eq!(one.told(ms(1)).len(), 1);
    one.connect(ms(2), "b");
    let (id, _) = one.clients["a"];
    one.at(|application, side| application.lost(ms(3), id, side));
    assert_eq!(one.instance_of(dialogue), Some("b"));
    let told = one.told(ms(3));
    assert_eq!(told.len(), 1);
    // Where both are, it goes on with the one that has it.
    let mut two = Node::new();
    two.connect(ms(3), "a");
    two.connect(ms(3), "b");
    two.take(ms(4), &one.transactions.owners(PARTITION), &told);
    assert_eq!(two.instance_of(dialogue), Some("b"));
}

#[test]
fn a_dialogue_that_waited_for_its_instance_and_has_found_it_goes_on() {
    let mut one = serving();
    one.connect(ms(0), "a");
    let dialogue = one.standing(ms(1), 1, None);
    let (told, owners) = (one.told(ms(1)), one.transactions.owners(PARTITION));
    let mut two = Node::new();
    two.take(ms(10), &owners, &told);
    assert_eq!(two.instance_of(dialogue), None, "it waits for its instance");
    // The partition goes elsewhere and comes back; meanwhile the instance has connected.
    two.leave();
    two.connect(ms(500), "a");
    two.take(ms(1_000), &owners, &told);
    assert_eq!(two.instance_of(dialogue), Some("a"));
    two.at(|application, side| application.tick(ms(5_000), side));
    assert_eq!(two.instance_of(dialogue), Some("a"), "nobody waits for it any more");
    // One whose instance does not come ends.
    let mut three = Node::new();
    three.take(ms(10), &owners, &told);
    three.at(|application, side| application.tick(ms(5_000), side));
    assert!(!three.application.has(dialogue) && three.transactions.is_empty());
}
