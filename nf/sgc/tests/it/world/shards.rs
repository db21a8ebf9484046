//! A gateway on one shard or several: what they hand to each other arrives at once, and in order.

use super::cluster::Home;
use machine::Time;
use runtime::{Ask, AskError, Effects, Flow, Function, In, Seed};
use serde_json::Value;
use sgc::Gateway;
use sgc::config::Sgc;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Pieces of work that one event may lead to, at most.
const WORKS_MAX: usize = 1_000_000;

pub struct Shards {
    pub all: Vec<Gateway>,
    pub config: Arc<Sgc>,
    /// Shards that take no work.
    pub full: BTreeSet<u16>,
    works: VecDeque<(u16, u16, bool, Vec<u8>)>,
    lives: u8,
    /// Its place in its cluster.
    pub home: Option<Home>,
}

impl Shards {
    pub fn new(now: Time, config: Arc<Sgc>) -> Self {
        Self::living(now, config, 7)
    }

    /// The same in another life.
    pub fn living(now: Time, config: Arc<Sgc>, lives: u8) -> Self {
        let (works, full) = (VecDeque::new(), BTreeSet::new());
        let home = Home::new(now, &config, lives.into());
        let mut it = Self { all: Vec::new(), config, full, works, lives, home };
        it.all = (0..it.config.shards).map(|shard| it.born(now, shard)).collect();
        it
    }

    fn born(&self, now: Time, shard: u16) -> Gateway {
        let random = [self.lives.wrapping_mul(31).wrapping_add(shard as u8); 32];
        let node = self.config.cluster.as_ref().map_or(0, |it| it.node);
        let random = if self.config.shards == 1 { [self.lives ^ node; 32] } else { random };
        let seed = Seed { shard, shards: self.config.shards, random, now };
        let it = Gateway::simulated(seed, Arc::clone(&self.config));
        match &self.home {
            Some(home) => it.of(Arc::new(home.clone())),
            None => it,
        }
    }

    /// What a shard has handed over goes with it.
    pub fn crash(&mut self, shard: u16) {
        self.works.retain(|it| it.0 != shard);
    }

    /// Its function is made anew.
    pub fn anew(&mut self, now: Time, shard: u16, out: &mut Effects) {
        self.lives += 1;
        self.all[usize::from(shard)] = self.born(now, shard);
        self.all[usize::from(shard)].tick(now, out);
        self.work(now, shard, out);
    }

    fn owner(&self, flow: &Flow) -> u16 {
        let count = self.config.shards;
        Gateway::steer(&self.config, flow, &[], count).filter(|it| *it < count).unwrap_or_default()
    }

    pub fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        let shard = match &input {
            In::Up { flow }
            | In::Message { flow, .. }
            | In::Down { flow, .. }
            | In::Written { flow, .. } => self.owner(flow),
            _ => 0,
        };
        self.all[usize::from(shard)].step(now, input, out);
        self.work(now, shard, out);
    }

    pub fn drain(&mut self, now: Time, out: &mut Effects) {
        for shard in 0..self.config.shards {
            self.all[usize::from(shard)].step(now, In::Drain, out);
            self.work(now, shard, out);
        }
    }

    pub fn configure(&mut self, now: Time, config: Arc<Sgc>, out: &mut Effects) {
        self.config = config;
        for shard in 0..self.config.shards {
            self.all[usize::from(shard)].configure(now, Arc::clone(&self.config), out);
            self.work(now, shard, out);
        }
    }

    /// Asks all of them, as the runtime does: rows are joined.
    pub fn ask(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Result<Value, AskError> {
        let mut joined = Err(AskError::NotFound(ask.path.clone()));
        for shard in 0..self.config.shards {
            let answer = self.all[usize::from(shard)].ask(now, ask, out);
            self.work(now, shard, out);
            joined = match (joined, answer) {
                (Ok(Value::Array(mut all)), Ok(Value::Array(mut more))) => {
                    all.append(&mut more);
                    Ok(Value::Array(all))
                }
                (Ok(first), _) => Ok(first),
                (Err(first), Err(_)) if shard > 0 => Err(first),
                (Err(_), answer) => answer,
            };
        }
        joined
    }

    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        for shard in 0..self.config.shards {
            let it = &mut self.all[usize::from(shard)];
            if it.deadline().is_some_and(|at| at <= now) {
                it.tick(now, out);
                self.work(now, shard, out);
            }
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(Gateway::deadline).min()
    }

    /// What that shard has handed over, and what follows.
    fn work(&mut self, now: Time, shard: u16, out: &mut Effects) {
        self.take_hands(shard, out);
        for _ in 0..WORKS_MAX {
            let Some((from, to, came_back, work)) = self.works.pop_front() else { return };
            let (at, input) = match came_back {
                true => (from, In::HandedBack { to, work: &work }),
                false => (to, In::Work { from, work: &work }),
            };
            self.all[usize::from(at)].step(now, input, out);
            self.take_hands(at, out);
        }
        panic!("shards keep each other busy");
    }

    fn take_hands(&mut self, from: u16, out: &mut Effects) {
        for (to, work) in out.handed_work() {
            let came_back = self.full.contains(&to) || usize::from(to) >= self.all.len();
            self.works.push_back((from, to, came_back, work.to_vec()));
        }
        out.clear_handed_work();
    }
}
