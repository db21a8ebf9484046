//! Nodes that join and leave a cluster while dialogues go on. By seed: in which order the others
//! hear of it, what is said meanwhile, and who dies.

use crate::clusters::{CONTEXT, Peer, Site, ms, program, section_of, seeds};
use crate::world::Asp;
use sccp::codec::{Message, Unit, Word};
use std::collections::BTreeMap;
use tcap::codec::{Code, TransactionId, Writer};

/// A world by seed: nodes by their numbers, which count from one.
struct Walk {
    seed: u64,
    drawn: u64,
    site: Site,
    peer: Peer,
    /// Nodes that the configuration names now.
    members: Vec<u8>,
    /// Nodes that run.
    running: Vec<u8>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let members = vec![1, 2, 3];
        let running = members.clone();
        Self { seed, drawn: 0, site: Site::of(3, ""), peer: Peer::default(), members, running }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.drawn += 1;
        (machine::identity::mix(self.seed << 20 | self.drawn) % below as u64) as usize
    }

    fn gateway(&self, node: u8) -> usize {
        self.site.gateways[usize::from(node) - 1]
    }

    /// A node that runs, as its place.
    fn by(&mut self) -> usize {
        let at = self.draw(self.running.len());
        usize::from(self.running[at]) - 1
    }

    fn hear(&mut self) {
        for asp in self.site.asps.clone() {
            for msu in core::mem::take(&mut self.site.world.asp_of(asp).received) {
                let message = Message::read(&msu.payload).unwrap();
                let unit = Unit::of(&message).unwrap().unwrap();
                if let (Word::Data(_), Ok(it)) = (unit.word, tcap::codec::Message::read(unit.data))
                {
                    self.peer.hear(self.seed, &it);
                }
            }
        }
        self.check_owners();
    }

    fn pass(&mut self, most: usize) {
        let time = self.draw(most) + 1;
        self.site.world.pass(ms(time as u64));
        self.hear();
    }

    /// No two nodes may speak for a partition.
    fn check_owners(&mut self) {
        let mut owners = BTreeMap::new();
        for node in self.running.clone() {
            let gateway = self.gateway(node);
            let home = self.site.world.shards_of(gateway).home.clone().unwrap();
            home.at(self.site.world.now);
            for group in home.speaks() {
                let before = owners.insert(group, node);
                assert!(before.is_none(), "{}: {group}: {before:?} and {node}", self.seed);
            }
        }
    }

    fn begin(&mut self) {
        let (by, number) = (self.by(), self.peer.next);
        self.peer.next += 1;
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(number))
            .request(CONTEXT, &[])
            .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
        self.site.send(by, &message);
    }

    /// One that stands goes on by any node, and ends by that.
    fn go_on(&mut self, number: u32) {
        let here = self.peer.standing[&number];
        if self.peer.unsure.insert(number) {
            let by = self.by();
            let mut message = Vec::new();
            Writer::go_on(TransactionId::of(number), here).write(&mut message, |out| {
                out.invoke(2, None, Code::Local(45), Some(&[0x30, 0]));
            });
            self.site.send(by, &message);
        }
    }

    /// What goes on whatever the nodes do.
    fn traffic(&mut self) {
        for _ in 0..self.draw(8) {
            let all: Vec<u32> = self.peer.standing.keys().copied().collect();
            match self.draw(3) {
                0 if !all.is_empty() => {
                    let number = all[self.draw(all.len())];
                    self.go_on(number);
                }
                _ => self.begin(),
            }
            self.pass(60);
        }
        self.pass(600);
    }

    /// One node after the other hears who is of the cluster now.
    fn commit(&mut self) {
        let mut all: Vec<u8> = self.running.clone();
        all.retain(|it| self.members.contains(it));
        while !all.is_empty() {
            let at = self.draw(all.len());
            let node = all.swap_remove(at);
            let text = section_of(node, &self.members, "");
            let gateway = self.gateway(node);
            self.site.world.configure(gateway, &text);
            self.traffic();
        }
    }

    /// Another node joins: it starts before or after the others know of it.
    fn join(&mut self) {
        let node = u8::try_from(self.site.gateways.len() + 1).unwrap();
        self.members.push(node);
        let is_first = self.draw(2) == 0;
        if !is_first {
            self.commit();
        }
        let world = &mut self.site.world;
        self.site.gateways.push(world.gateway(&section_of(node, &self.members, "")));
        let asp = Asp::of(&format!("10.0.1.{node}"), &format!("10.0.0.{node}:2905"), 1, 1);
        self.site.asps.push(world.asp(asp));
        self.site.programs.push(world.program(program(node)));
        // It has an association and an instance before anything is said by it.
        self.site.world.pass(ms(1_500));
        self.hear();
        self.running.push(node);
        if is_first {
            self.commit();
        }
        self.settle();
    }

    /// A node leaves: its partitions go, the others forget it, it stops.
    fn leave(&mut self) {
        let at = self.draw(self.members.len());
        let node = self.members.remove(at);
        let gateway = self.gateway(node);
        self.site.world.ask(gateway, "cluster/drain", &[]);
        for _ in 0..40 {
            self.traffic();
            let rows = self.site.partitions(usize::from(node) - 1);
            if rows.iter().all(|it| it["here"] == false) {
                break;
            }
        }
        let stops_first = self.draw(2) == 0;
        if !stops_first {
            self.commit();
        }
        // What was said by it last has left.
        self.running.retain(|it| *it != node);
        self.site.world.pass(ms(500));
        self.hear();
        self.site.world.kill(gateway);
        if stops_first {
            self.commit();
        }
        self.settle();
    }

    /// A node dies, and comes back.
    fn die(&mut self) {
        let at = self.draw(self.running.len());
        let node = self.running.remove(at);
        let gateway = self.gateway(node);
        self.site.world.kill(gateway);
        self.traffic();
        self.site.world.pass(ms(2_500));
        self.hear();
        self.site.world.revive(gateway);
        self.site.programs[usize::from(node) - 1] = self.site.world.program(program(node));
        self.site.world.pass(ms(1_500));
        self.hear();
        self.running.push(node);
        self.settle();
    }

    /// Everything is as it shall be.
    fn settle(&mut self) {
        self.site.world.pass(ms(10_000));
        self.hear();
        let seed = self.seed;
        for node in self.running.clone() {
            let rows = self.site.partitions(usize::from(node) - 1);
            for row in &rows {
                assert_eq!(row["active"], row["first"], "{seed}: partitions settle: {rows:?}");
                let active = row["active"].as_u64().and_then(|it| u8::try_from(it).ok());
                let is_member = active.is_some_and(|it| self.members.contains(&it));
                assert!(is_member, "{seed}: {row}");
            }
            let own = rows.iter().filter(|it| it["here"] == true);
            let followed = |it: &serde_json::Value| it["standbys"].as_array().unwrap().len() == 1;
            assert!(own.clone().all(followed), "{seed}: {rows:?}");
            let alarms = self.site.world.alarms(self.gateway(node));
            assert!(alarms.iter().all(|it| !it.starts_with("cluster")), "{seed}: {alarms:?}");
        }
    }

    fn run(mut self) {
        (0..10).for_each(|_| self.begin());
        self.pass(200);
        for _ in 0..4 {
            match self.draw(5) {
                0 | 1 if self.members.len() < 5 => self.join(),
                0..=3 if self.members.len() > 2 => self.leave(),
                // Of two nodes none may die: nobody has the majority then.
                _ if self.members.len() > 2 => self.die(),
                _ => self.join(),
            }
            self.traffic();
        }
        for number in self.peer.standing.keys().copied().collect::<Vec<_>>() {
            self.peer.unsure.remove(&number);
            self.go_on(number);
            self.site.world.pass(ms(200));
            self.hear();
        }
        let left = &self.peer.standing;
        assert!(left.is_empty(), "{}: {left:?} are lost", self.seed);
    }
}

#[test]
fn nodes_join_and_leave_and_no_dialogue_is_lost() {
    seeds().for_each(|seed| Walk::new(seed).run());
}
