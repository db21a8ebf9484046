//! What a dialogue takes that stands and was answered: in TCAP and at its application's end.

use crate::world::{SECRET, SHORT_MESSAGE, settings};
use authentication::Keys;
use bytes::Bytes;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, Class, Digits, Title};
use tcap::codec::{Code, TransactionId, Writer};
use tcap::{In, Transactions};
use tcu::{
    Application, Client, Hello, InstanceId, Portion, Request, Settings, Side, Spelling, indications,
};

const DIALOGUES: u32 = 40_000;
/// Octets that a dialogue may take.
const OCTETS_MAX: i64 = 512;
const NOW: Time = Time::from_millis(1_000);

fn begin(number: u32) -> In {
    let mut data = Vec::new();
    let writer = Writer::begin(TransactionId::of(number)).request(SHORT_MESSAGE, &[]);
    let argument = [0x30, 5, 0x80, 3, 0x91, 0x44, 0x77];
    writer.write(&mut data, |out| out.invoke(1, None, Code::Local(45), Some(&argument)));
    let title = |digits| Title::e164(Digits::parse(digits).unwrap());
    In::UnitdataOf(
        7,
        sccp::Unitdata {
            called: Address::title(title("447700900006"), 6),
            calling: Address::title(title("447700900008"), 8),
            class: Class { is_sequenced: true, returns: true },
            sls: 3,
            importance: None,
            data: data.into(),
        },
    )
}

#[test]
fn a_dialogue_that_stands_takes_at_most_512_octets() {
    let (dialogues_max, queue_octets_max) = (DIALOGUES, 1 << 28);
    let all = Settings { dialogues_max, queue_octets_max, ..settings() };
    let tcap = tcap::Settings {
        shard: 0,
        secret: 1,
        dialogues_max,
        dialogues_per_source_max: dialogues_max,
        sources_elsewhere: false,
        idle: Duration::from_secs(300),
    };
    let mut transactions = Transactions::new(tcap, NOW);
    let mut application = Application::new(all, Keys::parse(SECRET).unwrap());
    let id = InstanceId(1);
    application.connected(NOW, id, false, None);
    let mut client = Client::new(Hello::new("hlr", "", "i"), Spelling::Tagged, None);
    let mut outs = Vec::new();
    let greeting = client.greeting();
    let mut side = Side { transactions: &mut transactions, outs: &mut outs };
    application.said(NOW, id, &greeting, &mut side);
    let counted = allocation_counter::measure(|| {
        for number in 0..DIALOGUES {
            let mut outs = Vec::new();
            transactions.step(NOW, begin(number), &mut outs);
            let mut octets = Vec::new();
            for it in indications(&outs) {
                let (dialogue, state) = (it.dialogue().unwrap(), Some(Bytes::from_static(b"1")));
                let portion = Portion::default();
                client.write(&Request::Continue { dialogue, state, portion }, &mut octets);
                let mut side = Side { transactions: &mut transactions, outs: &mut outs };
                application.indicated(NOW, it, &mut side);
            }
            let mut side = Side { transactions: &mut transactions, outs: &mut outs };
            application.said(NOW, id, &octets, &mut side);
            for wanted in application.take_wanted() {
                assert!(matches!(wanted, tcu::Wanted::Send(..)), "{wanted:?}");
            }
            let mut side = Side { transactions: &mut transactions, outs: &mut outs };
            application.written(NOW, id, 0, &mut side);
        }
    });
    assert_eq!(transactions.len(), DIALOGUES as usize);
    let octets = counted.bytes_current / i64::from(DIALOGUES);
    assert!((1..=OCTETS_MAX).contains(&octets), "{octets} octets a dialogue");
}
