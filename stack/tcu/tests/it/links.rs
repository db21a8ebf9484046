//! Connections that come and go, and what becomes of dialogues.

use crate::config::{link, section};
use authentication::Keys;
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, In};
use sccp::codec::Address;
use tcu::{
    Indication, PROOF_LABEL, Portion, Refusal, Request, Speech, Spelling, ToApplication, ToGateway,
    Welcome, proof_text,
};
use tcu_stack::Links;
use tcu_stack::config::{Link, Section};

const SUBSYSTEM: u8 = 8;

fn address(subsystem: u8) -> Address {
    Address::subsystem(None, subsystem)
}

fn begin(reference: u64) -> Request {
    let (called, calling, portion) = (address(6), address(SUBSYSTEM), Portion::default());
    Request::Begin { reference, called, calling, state: None, portion }
}

fn said(message: &ToApplication) -> Vec<u8> {
    let mut octets = Vec::new();
    Spelling::Tagged.write(message, Speech::Unknown, &mut octets);
    octets
}

fn welcome(subsystem: u8) -> ToApplication {
    ToApplication::Welcome(Welcome {
        version: 1,
        function: "stp".into(),
        subsystem,
        message_octets_max: 65_536,
        state_octets_max: 256,
    })
}

/// The links, the gateways behind them, and the time.
struct World {
    links: Links,
    now: Time,
    opened: Vec<Flow>,
    closed: Vec<Flow>,
    heard: Vec<(Flow, ToGateway)>,
    told: Vec<Indication>,
    connections: u32,
}

impl World {
    fn new(link: &[Link]) -> Self {
        let now = Time::from_millis(5);
        let mut world = Self {
            links: Links::new(&section(link), now),
            now,
            opened: Vec::new(),
            closed: Vec::new(),
            heard: Vec::new(),
            told: Vec::new(),
            connections: 0,
        };
        world.pass(Duration::ZERO);
        world
    }

    fn does(&mut self, what: impl FnOnce(&mut Links, Time, &mut Effects)) {
        let mut out = Effects::default();
        what(&mut self.links, self.now, &mut out);
        self.opened.append(&mut out.opens.clone());
        self.closed.append(&mut out.closes.clone());
        for (flow, octets) in out.sends() {
            let read = Spelling::Tagged.read_request(octets, &|_| Speech::Unknown);
            self.heard.push((flow, read.unwrap()));
        }
        while let Some(it) = self.links.indication() {
            self.told.push(it);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.does(|links, now, out| links.tick(now, out));
    }

    /// The oldest connection that is being opened stands.
    fn up(&mut self) -> Flow {
        self.connections += 1;
        let flow = Flow { conn: ConnId(self.connections), ..self.opened.remove(0) };
        self.does(|links, now, out| assert!(links.step(now, &In::Up { flow }, out)));
        flow
    }

    fn says(&mut self, flow: Flow, message: &ToApplication) {
        let octets = said(message);
        let input = In::Message { flow, bytes: &octets };
        self.does(|links, now, out| assert!(links.step(now, &input, out)));
    }

    fn tells(&mut self, flow: Flow, it: Indication) {
        self.says(flow, &ToApplication::Indication(it));
    }

    /// A link that stands.
    fn standing(&mut self, subsystem: u8) -> Flow {
        let flow = self.up();
        self.says(flow, &welcome(subsystem));
        flow
    }

    fn asks(&mut self, request: Request) {
        self.does(|links, _, out| links.request(request, out));
    }

    fn last(&self) -> Option<&(Flow, ToGateway)> {
        self.heard.last()
    }
}

fn one() -> [Link; 1] {
    [link("a", "tcp:127.0.0.1:7700")]
}

fn two() -> [Link; 2] {
    [link("a", "tcp:127.0.0.1:7700"), link("b", "tcp:127.0.0.1:7701")]
}

#[test]
fn a_link_is_opened_greets_proves_its_key_and_stands() {
    let keys = Keys::parse("0123456789abcdef").unwrap();
    let mut links = one();
    links[0].keys = Some(keys.clone());
    let mut world = World::new(&links);
    let flow = world.up();
    let Some((_, ToGateway::Hello(hello))) = world.last().cloned() else { panic!() };
    assert_eq!((&*hello.application, &*hello.instance), ("ipsmgw", "sms1"));
    world.says(flow, &ToApplication::Challenge(b"nonce".as_slice().into()));
    let Some((_, ToGateway::Hello(proved))) = world.last().cloned() else { panic!() };
    let text = proof_text(b"nonce", &hello);
    assert!(keys.is_proof(PROOF_LABEL, &text, &proved.proof.unwrap()));
    assert!(!world.links.is_connected());
    world.says(flow, &welcome(SUBSYSTEM));
    assert!(world.links.is_connected() && world.links.deadline().is_none());
    let row = &world.links.rows(world.now)[0];
    assert_eq!((row.state, &*row.gateway, row.subsystem), ("standing", "stp", Some(SUBSYSTEM)));
}

#[test]
fn what_is_refused_silent_or_lost_is_opened_again_after_a_second() {
    let mut world = World::new(&one());
    let flow = world.opened[0];
    let down = In::Down { flow, why: "refused" };
    world.does(|links, now, out| assert!(links.step(now, &down, out)));
    assert_eq!(world.links.lacking().collect::<Vec<_>>(), [("a", "refused")]);
    world.opened.clear();
    world.pass(Duration::from_millis(999));
    assert!(world.opened.is_empty());
    world.pass(Duration::from_millis(1));
    world.up();
    world.pass(Duration::from_secs(10));
    assert_eq!(world.closed.len(), 1, "it greets nobody for ever");
    world.pass(Duration::from_secs(1));
    let flow = world.up();
    world.says(flow, &ToApplication::Bye("there are too many".into()));
    assert_eq!(world.links.lacking().collect::<Vec<_>>(), [("a", "there are too many")]);
    world.pass(Duration::from_secs(1));
    world.standing(SUBSYSTEM);
    let stale = In::Down { flow, why: "late" };
    world.does(|links, now, out| assert!(links.step(now, &stale, out)));
    assert!(world.links.is_connected(), "of a connection before this one");
}

#[test]
fn dialogues_of_two_links_are_told_apart_and_end_with_their_link() {
    let mut world = World::new(&two());
    let flows = [world.standing(SUBSYSTEM), world.standing(SUBSYSTEM)];
    world.asks(begin(71));
    world.asks(begin(72));
    let first = world.heard[world.heard.len() - 2].0;
    let second = world.last().unwrap().0;
    // With none under way both go to the first: what stands counts, not what is asked for.
    assert_eq!((first, second), (flows[0], flows[0]));
    world.tells(flows[0], Indication::Begun { reference: 71, dialogue: 5 });
    let calling = address(8);
    let came = Indication::Begin {
        dialogue: 5,
        called: address(SUBSYSTEM),
        calling,
        is_again: false,
        portion: Portion::default(),
    };
    world.tells(flows[1], came);
    let numbers: Vec<Option<u64>> = world.told.iter().map(Indication::dialogue).collect();
    assert_eq!(numbers, [Some(1), Some(2)], "5 at both ends");
    let end =
        |dialogue| Request::End { dialogue, is_prearranged: false, portion: Portion::default() };
    world.asks(end(2));
    let Some((flow, ToGateway::Request(Request::End { dialogue, .. }))) = world.last() else {
        panic!()
    };
    assert_eq!((*flow, *dialogue), (flows[1], 5));
    world.told.clear();
    let down = In::Down { flow: flows[0], why: "gone" };
    world.does(|links, now, out| assert!(links.step(now, &down, out)));
    let why = Refusal::Unknown;
    let expected = [
        Indication::Refused { reference: None, dialogue: Some(1), why },
        Indication::Refused { reference: Some(72), dialogue: None, why },
    ];
    assert_eq!(world.told, expected);
    assert!(world.links.is_connected() && world.links.dialogues() == 0);
    let heard = world.heard.len();
    world.asks(end(1));
    assert_eq!(world.heard.len(), heard, "it is over");
    world.asks(begin(73));
    assert_eq!(world.last().unwrap().0, flows[1]);
}

#[test]
fn a_dialogue_beyond_the_limit_of_another_subsystem_or_of_a_slow_link_does_not_begin() {
    let mut world = World::new(&one());
    world.asks(begin(1));
    let flow = world.standing(6);
    world.asks(begin(2));
    let full = |reference| Indication::Refused {
        reference: Some(reference),
        dialogue: None,
        why: Refusal::Full,
    };
    assert_eq!(world.told, [full(1), full(2)], "it serves another subsystem");
    let came = |dialogue| Indication::Begin {
        dialogue,
        called: address(6),
        calling: address(8),
        is_again: false,
        portion: Portion::default(),
    };
    (0..4).for_each(|dialogue| world.tells(flow, came(dialogue)));
    assert_eq!((world.told.len(), world.links.dialogues()), (5, 3));
    let Some((_, ToGateway::Request(Request::UAbort { dialogue: 3, .. }))) = world.last() else {
        panic!("there is no room for it")
    };
    let mut world = World::new(&one());
    let flow = world.standing(SUBSYSTEM);
    world.tells(flow, Indication::Slow(true));
    world.asks(begin(3));
    world.tells(flow, Indication::Slow(false));
    let waits = In::Written { flow, octets: 0, left: 3 << 20 };
    world.does(|links, now, out| assert!(links.step(now, &waits, out)));
    world.asks(begin(4));
    assert_eq!(world.told, [full(3), full(4)]);
    assert_eq!(world.links.counts().shed, 2);
}

#[test]
fn what_was_asked_for_keeps_its_room_and_is_told_when_a_commit_has_taken_that() {
    let mut world = World::new(&one());
    let flow = world.standing(SUBSYSTEM);
    world.asks(begin(1));
    let came = |dialogue| Indication::Begin {
        dialogue,
        called: address(SUBSYSTEM),
        calling: address(8),
        is_again: false,
        portion: Portion::default(),
    };
    (0..3).for_each(|dialogue| world.tells(flow, came(dialogue)));
    assert_eq!((world.told.len(), world.links.dialogues()), (2, 2), "one is kept");
    world.tells(flow, Indication::Begun { reference: 1, dialogue: 9 });
    assert_eq!((world.told.len(), world.links.dialogues()), (3, 3));

    let mut world = World::new(&one());
    let flow = world.standing(SUBSYSTEM);
    world.asks(begin(1));
    let links = one();
    let none = Section { dialogues_max: 0, ..section(&links) };
    world.does(|links, now, out| links.configure(now, &none, out));
    world.tells(flow, Indication::Begun { reference: 1, dialogue: 9 });
    let (reference, why) = (Some(1), Refusal::Full);
    assert_eq!(world.told, [Indication::Refused { reference, dialogue: None, why }]);
}

#[test]
fn a_changed_section_closes_what_it_has_changed_and_leaves_the_rest() {
    let mut world = World::new(&two());
    let flows = [world.standing(SUBSYSTEM), world.standing(SUBSYSTEM)];
    let mut links = two();
    links[1].group = "spare".into();
    world.does(|all, now, out| all.configure(now, &section(&links), out));
    let (changed, kept): (Vec<_>, Vec<_>) =
        flows.into_iter().partition(|it| it.remote.port() == 7_701);
    assert_eq!(world.closed, changed);
    assert_eq!(world.opened.len(), 1, "it is opened at once");
    let states = world.links.rows(world.now).iter().map(|it| it.state).collect::<Vec<_>>();
    assert!(states.contains(&"standing") && states.contains(&"opening"));
    world.does(|links, now, out| assert!(!links.step(now, &In::Drain, out)));
    let state = ToGateway::Request(Request::State { in_service: false });
    assert_eq!(world.last(), Some(&(kept[0], state)), "no new dialogues come");
}
