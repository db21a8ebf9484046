//! An application with instances that say anything, come and go, while dialogues begin: nothing
//! panics, its tables keep their limits, and nothing is left at the end.
//!
//! ```text
//! input = (what, length, octets)…     what: three bits say what happens, two where
//! ```

use authentication::Keys;
use bytes::Bytes;
use m3ua::codec::PointCode;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, Class};
use tcap::codec::{Code, Message, MessageType, TransactionId, Writer};
use tcap::{In, Out, Transactions};
use tcu::{
    Application, Client, GREETING_MAX, Hello, Indication, InstanceId, Settings, Side, Spelling,
    Wanted, indications,
};

const SECRET: &str = "a secret of sixteen";
const DIALOGUES_MAX: u32 = 8;
const QUEUE_OCTETS_MAX: u32 = 4_096;
/// Octets on their way to a connection at most, see the window of an instance.
const WINDOW: usize = 65_536 * 2;

struct World {
    now: Time,
    application: Application,
    transactions: Transactions,
    begun: u32,
    /// The last dialogue that an instance answered: its transactions at the peer, and here.
    answered: Option<(TransactionId, TransactionId)>,
}

impl World {
    fn new() -> Self {
        let settings = tcap::Settings {
            shard: 0,
            secret: 7,
            dialogues_max: 2 * DIALOGUES_MAX,
            dialogues_per_source_max: 2 * DIALOGUES_MAX,
            sources_elsewhere: false,
            idle: Duration::from_secs(60),
        };
        let now = Time::ZERO;
        let application = Settings {
            name: "a".to_owned(),
            function: "f".to_owned(),
            subsystem: 6,
            is_network: false,
            tag: 0,
            point_codes: Vec::new(),
            shown: tcu::PointCodes::default(),
            titles: Vec::new(),
            keys: None,
            groups: Vec::new(),
            instances_max: 3,
            dialogues_max: DIALOGUES_MAX,
            queue_octets_max: QUEUE_OCTETS_MAX,
            held_octets_max: 16_384,
            wait: Duration::from_secs(1),
            slow: Duration::from_secs(2),
            resume: Duration::from_secs(2),
        };
        Self {
            now,
            application: Application::new(application, Keys::parse(SECRET).expect("a key")),
            transactions: Transactions::new(settings, now),
            begun: 0,
            answered: None,
        }
    }

    fn act(&mut self, act: impl FnOnce(&mut Application, Time, &mut Side<'_>)) {
        let mut outs = Vec::new();
        let side = &mut Side { transactions: &mut self.transactions, outs: &mut outs };
        act(&mut self.application, self.now, side);
        for out in outs {
            let Out::Unitdata(unitdata) = out else { continue };
            let Ok(it) = Message::read(&unitdata.data) else { continue };
            if it.kind == MessageType::Continue {
                self.answered = it.dtid.zip(it.otid);
            }
        }
        for wanted in self.application.take_wanted() {
            if let Wanted::Send(_, octets) = wanted {
                assert!(matches!(tcu::cut(&octets), tcu::Cut::Message(it) if it == octets.len()));
            }
        }
        let status = self.application.status();
        assert!(
            status.dialogues <= DIALOGUES_MAX as usize
                && status.instances.len() <= 3 + GREETING_MAX
        );
        let most = WINDOW + QUEUE_OCTETS_MAX as usize;
        assert!(status.instances.iter().all(|it| it.waiting_octets <= most));
    }

    fn tell(&mut self, outs: &[Out]) {
        for it in indications(outs) {
            self.act(|application, now, side| application.indicated(now, it, side));
        }
    }

    fn unitdata(&mut self, data: Vec<u8>) {
        let end = Address::subsystem(None, 6);
        let class = Class { is_sequenced: false, returns: false };
        let (called, calling, sls, importance, data) = (end, end, 0, None, Bytes::from(data));
        let unitdata = sccp::Unitdata { called, calling, class, sls, importance, data };
        let mut outs = Vec::new();
        self.transactions.step(self.now, In::Unitdata(unitdata), &mut outs);
        self.tell(&outs);
    }

    /// A peer goes on with a dialogue that was answered, and other nodes come and go.
    fn flood(&mut self, times: usize) {
        for _ in 0..times {
            if let Some((there, here)) = self.answered {
                let mut data = Vec::new();
                Writer::go_on(there, here).write(&mut data, |out| {
                    out.invoke(2, None, Code::Local(45), Some(&[0x30, 0]));
                });
                self.unitdata(data);
            }
            let point_code = PointCode::MAX;
            let it = Indication::State { point_code, subsystem: 8, in_service: true };
            self.act(|application, now, _| application.tell(now, &it));
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let mut outs = Vec::new();
        self.transactions.tick(self.now, &mut outs);
        self.tell(&outs);
        self.act(|it, now, side| it.tick(now, side));
        assert!(self.application.deadline().is_none_or(|deadline| deadline > self.now));
    }
}

pub fn run(bytes: &[u8]) {
    let mut world = World::new();
    let mut rest = bytes;
    while let [what, length, tail @ ..] = rest {
        let (octets, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let id = InstanceId(u64::from(what >> 3 & 3));
        match what & 7 {
            0 => {
                let spelling = if what & 0x20 == 0 { Spelling::Json } else { Spelling::Tagged };
                let greeting = Client::new(Hello::new("a", "", "i"), spelling, None).greeting();
                world.act(|it, now, side| {
                    it.lost(now, id, side);
                    it.connected(now, id, false, None);
                    it.said(now, id, &greeting, side);
                });
            }
            1 => world.act(|it, now, side| it.lost(now, id, side)),
            2 => world.act(|it, now, side| it.written(now, id, usize::from(*length), side)),
            3 => {
                world.begun += 1;
                let mut data = Vec::new();
                let writer = Writer::begin(TransactionId::of(world.begun));
                writer.write(&mut data, |out| out.invoke(1, None, Code::Local(45), None));
                world.unitdata(data);
            }
            4 if what & 0x20 == 0 => world.unitdata(octets.to_vec()),
            4 => world.flood(usize::from(*length) + 1),
            5 => world.pass(Duration::from_millis(u64::from(*length) * 16 + 1)),
            _ => world.act(|it, now, side| it.said(now, id, octets, side)),
        }
    }
    for id in 0..4 {
        world.act(|it, now, side| it.lost(now, InstanceId(id), side));
    }
    for _ in 0..4 {
        world.pass(Duration::from_secs(61));
    }
    assert_eq!(world.application.status().dialogues, 0);
}
