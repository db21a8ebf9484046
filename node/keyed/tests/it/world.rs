//! A store with its channel, as a shard drives it. Also a module of lab/peers' tests, where the
//! same laws are held before a real Cassandra.
#![allow(dead_code, reason = "two programs have it, and neither needs all")]

use channel::{Absent, Came, Channel};
use keyed::{Answer, Backend, Journal, Limits, Promise, Question, Store};
use machine::Time;
use runtime::{ChannelEvent, ChannelOrder, Effects, In, Mirrored, PortId, Term};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// For what the thread of a journal does.
const PATIENCE: Duration = Duration::from_secs(60);
const PORT: PortId = PortId(7);
pub const LIMITS: Limits = Limits { rows_max: 5_000, octets_max: 8 << 20 };

pub struct World {
    pub store: Store,
    pub now: Time,
    /// What the keys of its rows begin with.
    pub begin: String,
    limits: Limits,
    backend: Backend,
    channel: Option<Box<dyn Channel>>,
    /// The other node, which is told everything at once.
    standby: Option<Box<World>>,
    news: Vec<Result<(), String>>,
    tickets: u64,
}

impl World {
    pub fn new(limits: Limits, directory: Option<&Path>) -> Self {
        let journal = |it: &Path| Backend::Journal(Journal { directory: it.to_owned() });
        Self::with(limits, directory.map_or(Backend::Memory, journal))
    }

    pub fn with(limits: Limits, backend: Backend) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later");
        let now = Time::ZERO + since;
        let mut world = Self {
            store: Store::new(limits, backend.clone(), PORT, now),
            now,
            begin: String::new(),
            limits,
            backend,
            channel: None,
            standby: None,
            news: Vec::new(),
            tickets: 0,
        };
        world.turn();
        world
    }

    /// The active one of two, which have a journal each.
    pub fn paired(limits: Limits, directories: [&Path; 2]) -> Self {
        let [mut world, mut other] = directories.map(|it| Self::new(limits, Some(it)));
        other.store.mirrored(other.now, Mirrored::Deactivate);
        world.store.mirrored(world.now, Mirrored::Deactivate);
        world.open();
        other.open();
        other.store.mirrored(other.now, Mirrored::Forget);
        world.store.mirrored(world.now, Mirrored::Activate { is_current: true });
        world.store.mirrored(world.now, Mirrored::Term(Term { epoch: 1, served: true }));
        world.store.mirrored(world.now, Mirrored::Snapshot(1));
        world.standby = Some(Box::new(other));
        world.turn();
        world
    }

    /// The same once more, when this one has ended: the other node, if there is one.
    pub fn again(mut self) -> Self {
        if let Some(mut other) = self.standby.take() {
            other.store.mirrored(other.now, Mirrored::Activate { is_current: true });
            other.store.mirrored(other.now, Mirrored::Term(Term { epoch: 2, served: true }));
            other.store.mirrored(other.now, Mirrored::Followed(None));
            other.tickets = self.tickets;
            return *other;
        }
        let (limits, backend, begin) = (self.limits, self.backend.clone(), self.begin.clone());
        drop(self);
        let mut world = Self { begin, ..Self::with(limits, backend) };
        world.open();
        world
    }

    /// What stood is read.
    pub fn opened(limits: Limits, directory: Option<&Path>) -> Self {
        let mut world = Self::new(limits, directory);
        world.open();
        world
    }

    pub fn open(&mut self) {
        self.until(|it| it.store.status().is_open || it.store.status().trouble.is_some());
        assert_eq!(self.store.status().trouble, None);
    }

    pub fn key(&self, key: &str) -> Vec<u8> {
        format!("{}{key}", self.begin).into_bytes()
    }

    /// One turn of a shard.
    pub fn turn(&mut self) {
        for it in std::mem::take(&mut self.news) {
            let event = match &it {
                Ok(()) => ChannelEvent::Up,
                Err(why) => ChannelEvent::Absent(Some(why)),
            };
            self.store.takes(self.now, &In::Channel { port: PORT, event });
        }
        let mut over = None;
        if let Some(channel) = &mut self.channel {
            let (store, now) = (&mut self.store, self.now);
            let read = channel.read(&mut |came| {
                let Came::Message(words) = came else { return };
                let event = ChannelEvent::Message(words);
                assert!(store.takes(now, &In::Channel { port: PORT, event }));
            });
            over = read.err();
        }
        if let Some(why) = over {
            self.down(&why);
        }
        if self.store.deadline().is_some_and(|it| it <= self.now) {
            self.store.tick(self.now);
        }
        let mut out = Effects::default();
        self.store.flush(self.now, &mut out);
        if let Some(other) = &mut self.standby {
            other.now = self.now;
            out.deltas().for_each(|it| other.store.mirrored(self.now, Mirrored::Delta(it)));
            if let Some(mark) = out.marked() {
                self.store.mirrored(self.now, Mirrored::Followed(Some(mark)));
            }
            other.turn();
        }
        for (_, order) in out.channels.drain(..) {
            match order {
                ChannelOrder::Connect(to) => match to.connect() {
                    Ok(channel) => {
                        self.channel = Some(channel);
                        self.news.push(Ok(()));
                    }
                    Err(Absent::Failed(why)) => self.news.push(Err(why)),
                    Err(Absent::Starting) => self.news.push(Err("starting".to_owned())),
                },
                ChannelOrder::Write(octets) => {
                    let written = self.channel.as_mut().map(|it| it.write(octets));
                    if let Some(Err(why)) = written {
                        self.down(&why);
                    }
                }
                ChannelOrder::Send(_) | ChannelOrder::HangUp => self.channel = None,
            }
        }
    }

    fn down(&mut self, why: &str) {
        self.channel = None;
        let event = ChannelEvent::Down(why);
        self.store.takes(self.now, &In::Channel { port: PORT, event });
    }

    pub fn until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < end, "{:?}", self.store.status());
            self.turn();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn ask(&mut self, question: Question) -> Answer {
        self.tickets += 1;
        let ticket = self.tickets;
        self.store.ask(self.now, ticket, question);
        let mut found = None;
        self.until(|it| {
            found = it.store.answer();
            found.is_some()
        });
        let (of, answer) = found.expect("it is there");
        assert_eq!(of, ticket);
        answer
    }

    pub fn put(&mut self, key: &str, row: &str, seconds: u64, promise: Promise) -> bool {
        let (key, row) = (self.key(key), row.as_bytes().to_vec());
        let until = self.now + Duration::from_secs(seconds);
        self.ask(Question::Put { key, row, until, promise }) != Answer::Failed
    }

    pub fn row(&mut self, key: &str) -> Option<String> {
        match self.ask(Question::Get(self.key(key))) {
            Answer::Row(row) => row.map(|it| String::from_utf8(it).expect("it is text")),
            Answer::Failed => panic!("the store is shut"),
        }
    }

    pub fn take(&mut self, key: &str) -> Answer {
        self.ask(Question::Take(self.key(key)))
    }
}
