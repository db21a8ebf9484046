//! The sender with a station that comes, goes, is slow, or is not there.

use bmp::{
    Framing, In, Message, Out, PEERS_MAX, PeerId, QUEUE_BYTES_MAX, Sender, Settings, State, Token,
    frame,
};
use machine::{Duration, Machine, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn seconds(it: u64) -> Time {
    Time::ZERO + Duration::from_secs(it)
}

struct World {
    sender: Sender,
    now: Time,
    out: Vec<Out>,
}

impl World {
    fn new() -> Self {
        let sender = Sender::new(Settings::new("test".into(), "rr1".into()));
        Self { sender, now: Time::ZERO, out: Vec::new() }
    }

    /// Started and connected, with these peers.
    fn up(peers: &[u32]) -> Self {
        let mut world = Self::new();
        peers.iter().for_each(|peer| world.step(In::PeerUp(PeerId(*peer))));
        world.step(In::Start);
        assert_eq!(world.take(), [Out::Connect]);
        world.step(In::Connected);
        let Out::Send(initiation) = world.out.remove(0) else { panic!() };
        assert!(matches!(frame(&initiation), Framing::Message(Message::Initiation(_), _)));
        world
    }

    fn step(&mut self, input: In) {
        self.sender.step(self.now, input, &mut self.out);
    }

    fn tick(&mut self, now: Time) {
        self.now = now;
        self.sender.tick(now, &mut self.out);
        assert!(self.sender.deadline().is_none_or(|at| at > now));
    }

    fn take(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }

    /// The question that was asked last.
    fn asked(&self) -> (Token, PeerId, bool) {
        let asked = self.out.iter().rev().find_map(|out| match out {
            Out::Ask(token, peer, is_first) => Some((*token, *peer, *is_first)),
            _ => None,
        });
        asked.unwrap()
    }
}

#[test]
fn the_peers_are_told_one_after_the_other_a_piece_at_a_time() {
    let mut world = World::up(&[1, 2]);
    let (token, peer, is_first) = world.asked();
    assert_eq!((peer, is_first), (PeerId(1), true));
    world.take();
    world.step(In::Piece(token, b"up 1".to_vec(), true));
    assert_eq!(world.out[0], Out::Send(b"up 1".to_vec()));
    let (token, peer, is_first) = world.asked();
    assert_eq!((peer, is_first), (PeerId(1), false));
    world.step(In::Piece(token, b"rest of 1".to_vec(), false));
    let (token, peer, is_first) = world.asked();
    assert_eq!((peer, is_first), (PeerId(2), true));
    assert!(!world.sender.is_complete());
    world.take();
    world.step(In::Piece(token, b"up 2".to_vec(), false));
    assert_eq!(world.out, [Out::Send(b"up 2".to_vec()), Out::Complete]);
    assert!(world.sender.is_complete());
}

#[test]
fn what_happens_is_told_of_peers_that_the_station_knows_and_of_no_others() {
    let mut world = World::up(&[1, 2]);
    let (token, ..) = world.asked();
    world.take();
    world.step(In::Live(PeerId(2), b"not yet".to_vec()));
    world.step(In::Live(PeerId(9), b"nobody".to_vec()));
    assert_eq!(world.out, []);
    world.step(In::Live(PeerId(1), b"change".to_vec()));
    assert_eq!(world.out, [], "its Peer Up was not told yet");
    world.step(In::Piece(token, b"up 1".to_vec(), true));
    let (token, ..) = world.asked();
    world.take();
    world.step(In::Live(PeerId(1), b"change".to_vec()));
    assert_eq!(world.take(), [Out::Send(b"change".to_vec())]);
    world.step(In::PeerDown(PeerId(2), b"down 2".to_vec()));
    assert_eq!(world.out, [], "the station does not know of it");
    world.step(In::PeerDown(PeerId(1), b"down 1".to_vec()));
    assert_eq!(world.take(), [Out::Send(b"down 1".to_vec()), Out::Complete]);
    world.step(In::Piece(token, b"late".to_vec(), true));
    assert_eq!(world.out, [], "nobody asks for that any more");
    world.step(In::PeerUp(PeerId(1)));
    assert_eq!(world.asked().1, PeerId(1), "it came again, and is told anew");
}

#[test]
fn nothing_is_asked_for_while_the_transport_takes_nothing() {
    let mut world = World::up(&[1, 2]);
    let (token, ..) = world.asked();
    world.take();
    world.step(In::Blocked);
    world.step(In::Piece(token, b"piece".to_vec(), true));
    world.step(In::Live(PeerId(1), b"change".to_vec()));
    assert_eq!((world.take(), world.sender.waiting_bytes()), (vec![], 11));
    world.step(In::Written(true));
    assert_eq!(world.out, []);
    world.step(In::Written(false));
    assert_eq!(world.out[..2], [Out::Send(b"piece".to_vec()), Out::Send(b"change".to_vec())]);
    let (_, peer, is_first) = world.asked();
    assert_eq!((peer, is_first, world.sender.waiting_bytes()), (PeerId(1), false, 0));
}

#[test]
fn a_station_that_lets_too_much_come_together_begins_anew() {
    let mut world = World::up(&[1]);
    let (token, ..) = world.asked();
    world.step(In::Piece(token, b"up".to_vec(), false));
    world.step(In::Blocked);
    world.take();
    let message = vec![0; 1 << 20];
    for _ in 0..QUEUE_BYTES_MAX >> 20 {
        world.step(In::Live(PeerId(1), message.clone()));
    }
    assert_eq!((world.take(), world.sender.waiting_bytes()), (vec![], QUEUE_BYTES_MAX));
    world.step(In::Live(PeerId(1), vec![0]));
    assert_eq!(world.take(), [Out::Overflowed, Out::Close]);
    assert_eq!((world.sender.waiting_bytes(), world.sender.state()), (0, State::Idle));
    world.step(In::Live(PeerId(1), message));
    assert_eq!(world.out, []);
    world.tick(seconds(30));
    assert_eq!(world.take(), [Out::Connect]);
    world.step(In::Connected);
    assert_eq!(world.asked().1, PeerId(1));
    assert_eq!(world.sender.counters().overflows, 1);
}

#[test]
fn a_station_that_takes_nothing_for_two_minutes_begins_anew() {
    let mut world = World::up(&[]);
    world.take();
    world.step(In::Blocked);
    world.tick(seconds(119));
    world.step(In::Written(true));
    world.tick(seconds(200));
    assert_eq!(world.sender.state(), State::Up, "it takes something");
    world.tick(seconds(239));
    assert_eq!(world.take(), [Out::Overflowed, Out::Close]);
}

#[test]
fn attempts_come_less_and_less_often() {
    let mut world = World::new();
    world.step(In::Start);
    let mut times = Vec::new();
    for _ in 0..8 {
        world.step(In::ConnectFailed);
        let at = world.sender.deadline().unwrap();
        times.push(at.since(world.now).as_secs());
        world.tick(at);
    }
    assert_eq!(times, [30, 60, 120, 240, 480, 720, 720, 720]);
    // A connection that nobody answers for is given up.
    world.take();
    let now = world.now + Duration::from_secs(30);
    world.tick(now);
    assert_eq!(world.take(), [Out::Close]);
    // A station that was told everything is one that works.
    let at = world.sender.deadline().unwrap();
    world.tick(at);
    world.step(In::Connected);
    world.step(In::Closed);
    assert_eq!(world.sender.deadline().unwrap().since(world.now).as_secs(), 30);
}

#[test]
fn stopping_says_why() {
    let mut world = World::up(&[1]);
    world.take();
    world.step(In::Stop("maintenance".into()));
    let Out::Send(octets) = &world.out[0] else { panic!() };
    assert!(matches!(frame(octets), Framing::Message(Message::Termination(_), _)));
    assert_eq!(world.out[1..], [Out::Close]);
    assert_eq!(world.sender.deadline(), None);
}

#[test]
fn statistics_are_asked_for_at_their_time() {
    let mut settings = Settings::new("test".into(), "rr1".into());
    settings.statistics = Some(Duration::from_secs(60));
    let mut world = World { sender: Sender::new(settings), now: Time::ZERO, out: Vec::new() };
    world.step(In::Start);
    world.step(In::Connected);
    world.take();
    world.tick(seconds(60));
    assert_eq!(world.take(), [Out::Statistics]);
    assert_eq!(world.sender.deadline(), Some(seconds(120)));
    world.step(In::Blocked);
    world.tick(seconds(121));
    assert_eq!(world.take(), [], "a station that is slow already is not told more");
}

#[test]
fn peers_past_the_limit_are_refused_and_counted() {
    let mut world = World::new();
    for peer in 0..=PEERS_MAX as u32 {
        world.step(In::PeerUp(PeerId(peer)));
    }
    assert_eq!(world.sender.counters().refused_peers, 1);
}

/// A station's view: peers it was told of; and an owner's.
#[derive(Default)]
struct Station {
    known: BTreeMap<u32, bool>,
}

impl Station {
    /// `u7` peer 7 is up, `d7` down, `r7` a route of it.
    fn hear(&mut self, octets: &[u8]) {
        let Ok(text) = std::str::from_utf8(octets) else { return };
        for word in text.split_ascii_whitespace() {
            let (what, peer) = word.split_at(1);
            let Ok(peer) = peer.parse::<u32>() else { return };
            let was = self.known.get(&peer).copied().unwrap_or(false);
            match what {
                "u" => assert!(!was, "peer {peer} came up twice"),
                "d" | "r" => assert!(was, "{word} of a peer that is not up"),
                _ => return,
            }
            self.known.insert(peer, what != "d");
        }
    }
}

#[derive(Debug, Clone)]
enum Act {
    Up(u32),
    Down(u32),
    Live(u32),
    Answer(bool),
    Block,
    Write(bool),
    Lose,
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0u32..5).prop_map(Act::Up),
        (0u32..5).prop_map(Act::Down),
        (0u32..5).prop_map(Act::Live),
        any::<bool>().prop_map(Act::Answer),
        any::<bool>().prop_map(Act::Answer),
        Just(Act::Block),
        any::<bool>().prop_map(Act::Write),
        Just(Act::Lose),
        (1u64..100).prop_map(Act::Wait),
    ]
}

proptest! {
    #[test]
    fn the_station_hears_of_each_peer_up_then_routes_then_down(
        acts in proptest::collection::vec(act(), 1..120),
    ) {
        let mut world = World::new();
        let (mut station, mut there) = (Station::default(), BTreeMap::new());
        let mut question: Option<(Token, PeerId, bool)> = None;
        world.step(In::Start);
        for act in acts {
            match act {
                Act::Up(peer) if !there.contains_key(&peer) => {
                    there.insert(peer, ());
                    world.step(In::PeerUp(PeerId(peer)));
                }
                Act::Down(peer) if there.remove(&peer).is_some() => {
                    world.step(In::PeerDown(PeerId(peer), format!("d{peer} ").into_bytes()));
                }
                Act::Live(peer) => {
                    if there.contains_key(&peer) {
                        world.step(In::Live(PeerId(peer), format!("r{peer} ").into_bytes()));
                    }
                }
                Act::Answer(more) => {
                    if let Some((token, PeerId(peer), is_first)) = question.take() {
                        let up = if is_first { format!("u{peer} ") } else { String::new() };
                        let text = format!("{up}r{peer} ");
                        world.step(In::Piece(token, text.into_bytes(), more));
                    }
                }
                Act::Block => world.step(In::Blocked),
                Act::Write(more) => world.step(In::Written(more)),
                Act::Lose => world.step(In::Closed),
                Act::Wait(time) => {
                    let now = world.now + Duration::from_secs(time);
                    world.tick(now);
                }
                Act::Up(_) | Act::Down(_) => {}
            }
            let mut index = 0;
            while index < world.out.len() {
                match world.out[index].clone() {
                    Out::Connect => {
                        station.known.clear();
                        question = None;
                        world.step(In::Connected);
                    }
                    Out::Send(octets) => station.hear(&octets),
                    Out::Ask(token, peer, is_first) => question = Some((token, peer, is_first)),
                    Out::Close | Out::Complete | Out::Statistics | Out::Overflowed => {}
                }
                index += 1;
            }
            world.out.clear();
        }
        // Everything taken and answered, the station knows the peers that are there.
        world.step(In::Written(false));
        for _ in 0..1_000 {
            for out in world.take() {
                match out {
                    Out::Connect => {
                        station.known.clear();
                        question = None;
                        world.step(In::Connected);
                    }
                    Out::Send(octets) => station.hear(&octets),
                    Out::Ask(token, peer, is_first) => question = Some((token, peer, is_first)),
                    _ => {}
                }
            }
            match question.take() {
                Some((token, PeerId(peer), true)) => {
                    world.step(In::Piece(token, format!("u{peer} ").into_bytes(), false));
                }
                Some((token, _, false)) => world.step(In::Piece(token, Vec::new(), false)),
                None if !world.out.is_empty() => {}
                None if world.sender.state() == State::Up => break,
                None => {
                    let next = world.sender.deadline().unwrap();
                    world.tick(next);
                }
            }
        }
        let known: Vec<u32> = station.known.iter().filter(|it| *it.1).map(|it| *it.0).collect();
        prop_assert_eq!(known, there.keys().copied().collect::<Vec<_>>());
    }
}
