//! By which node an answer leaves: one application at the node 1, peers at others.

use super::{
    Asp, CONTEXT, Code, In, Message, MessageType, Site, Unit, Word, World, Writer, ms, program,
    section,
};
use tcap::codec::TransactionId;

/// Three nodes, an instance at the first alone, and nobody else yet.
fn site(more: &str) -> Site {
    let mut world = World::on(1);
    let text = |node| section(node, 3, more).replace("t_r_ms = 100", "t_r_ms = 2000");
    let gateways = (1..=3).map(|it| world.gateway(&text(it))).collect();
    let programs = vec![world.program(program(1))];
    world.pass(ms(4_000));
    Site { world, gateways, asps: Vec::new(), programs }
}

impl Site {
    /// The peer comes up at that node.
    fn comes(&mut self, node: u8) -> usize {
        let asp = Asp::of(&format!("10.0.1.{node}"), &format!("10.0.0.{node}:2905"), 1, 1);
        self.world.asp(asp)
    }

    /// It begins a dialogue with that operation: of the ninth it is the only message.
    fn begins(&mut self, asp: usize, number: u32, operation: i8) {
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(number)).request(CONTEXT, &[]).write(&mut message, |out| {
            out.invoke(operation, None, Code::Local(45), Some(&[0x30, 0]));
        });
        self.send_from(asp, 1, &message);
    }

    /// It begins a dialogue of two messages each millisecond.
    fn plays(&mut self, asp: usize, count: u32) {
        for number in 0..count {
            self.begins(asp, number, 9);
            self.world.pass(ms(1));
        }
    }

    /// What came of TCAP.
    fn kinds(&mut self, asp: usize) -> Vec<MessageType> {
        let all = core::mem::take(&mut self.world.asp_of(asp).received);
        let read = all.iter().filter_map(|msu| {
            let message = Message::read(&msu.payload).unwrap();
            let unit = Unit::of(&message).unwrap()?;
            let read = tcap::codec::Message::read(unit.data).ok()?;
            matches!(unit.word, Word::Data(_)).then_some(read.kind)
        });
        read.collect()
    }

    /// How many dialogues of it ended.
    fn ended(&mut self, asp: usize) -> u64 {
        self.kinds(asp).iter().filter(|it| **it == MessageType::End).count() as u64
    }

    fn counts(&mut self, node: usize) -> [u64; 2] {
        let gateway = self.gateways[node - 1];
        ["sgc_msus_no_route_total", "m3ua_unroutable_total"]
            .map(|name| self.world.metric(gateway, name))
    }

    fn received(&mut self, node: usize) -> u64 {
        self.world.metric(self.gateways[node - 1], "sgc_msus_received_total")
    }
}

const NONE: [u64; 2] = [0, 0];

#[test]
fn the_first_answer_by_another_node_finds_the_way_that_has_just_come() {
    // However the peer comes up between two looks at the ways.
    for after in 0..20 {
        let mut site = site("");
        site.world.pass(ms(after));
        let asp = site.comes(2);
        // What it sends before it is active stays there.
        site.plays(asp, 60);
        site.world.pass(ms(500));
        let received = site.received(2);
        assert!(received > 20, "{received}");
        assert_eq!(site.ended(asp), received, "{after}");
        let crossed = site.world.metric(site.gateways[0], "sgc_cluster_crossed_total");
        assert!(crossed >= received, "{crossed}");
        (1..=3).for_each(|node| assert_eq!(site.counts(node), NONE, "{node}: they arrived"));
    }
}

#[test]
fn answers_leave_where_the_peer_is_active_and_not_where_it_is_waited_for() {
    let mut site = site("");
    let old = site.comes(2);
    site.plays(old, 100);
    site.world.pass(ms(500));
    site.world.at(old, |asp, now| asp.tell(now, In::AspDown(asp.peer(0))));
    site.world.pass(ms(100));
    let new = site.comes(3);
    site.plays(new, 300);
    site.world.pass(ms(500));
    let received = site.received(3);
    assert!(received > 50, "{received}");
    assert_eq!(site.ended(new), received);
    (1..=3).for_each(|node| assert_eq!(site.counts(node), NONE, "{node}"));
}

#[test]
fn of_two_active_ways_the_one_by_which_a_peer_came_last() {
    let mut site = site("");
    let asps = [2, 3].map(|node| site.comes(node));
    site.world.pass(ms(2_000));
    for (asp, other) in [(asps[1], asps[0]), (asps[0], asps[1]), (asps[1], asps[0])] {
        site.plays(asp, 20);
        site.world.pass(ms(500));
        assert_eq!((site.ended(asp), site.ended(other)), (20, 0));
    }
}

#[test]
fn what_finds_no_active_way_waits_where_the_peer_is_waited_for() {
    let mut site = site("[tcap]\nt_idle_ms = 1000");
    let asp = site.comes(2);
    site.world.pass(ms(1_000));
    site.begins(asp, 7, 1);
    site.world.pass(ms(400));
    let tell = |site: &mut Site, input: fn(m3ua::PeerId) -> In| {
        site.world.at(asp, |asp, now| asp.tell(now, input(asp.peer(0))));
        site.world.pass(ms(900));
        site.kinds(asp)
    };
    // The dialogue is over while the peer is away.
    assert_eq!(tell(&mut site, In::AspDown), [MessageType::Continue]);
    assert_eq!(tell(&mut site, In::AspUp), [MessageType::Abort]);
    (1..=3).for_each(|node| assert_eq!(site.counts(node), NONE, "{node}"));
}
