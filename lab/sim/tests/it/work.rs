//! Shards that hand work to each other, in a world: the same seed, the same run.

use machine::{Duration, Time};
use runtime::{Ask, AskError, Effects, Flow, Frame, Function, In, PortId, Transport};
use sim::{Hosted, LinkSpec, Node, Outbox, World};
use std::net::SocketAddr;
use std::sync::Arc;

const SHARDS: u16 = 3;
const MESSAGES: u8 = 200;

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Whatever shard a datagram comes to, the one that its first octet names answers it.
#[derive(Default)]
struct Dispatcher {
    shard: u16,
    answered: Vec<(u16, u8)>,
    came_back: Vec<u8>,
}

impl Function for Dispatcher {
    type Config = ();

    fn step(&mut self, _: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => {
                let port = flow.remote.port().to_be_bytes();
                let work = [bytes, &port[..]].concat();
                out.hand(u16::from(bytes[0]), |out| out.extend_from_slice(&work));
            }
            In::Work { from, work } => {
                let &[_, number, high, low] = work else { panic!("{work:?}") };
                self.answered.push((from, number));
                let mut remote = address("10.0.0.2:0");
                remote.set_port(u16::from_be_bytes([high, low]));
                let flow = Flow::to(PortId(0), Transport::Udp, address("10.0.0.1:1"), remote);
                out.send(flow, |out| out.extend_from_slice(&[self.shard.to_be_bytes()[1], number]));
            }
            In::HandedBack { work, .. } => self.came_back.push(work[1]),
            _ => {}
        }
    }

    fn tick(&mut self, _: Time, _: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _: Time, _: Arc<()>, _: &mut Effects) {}

    fn frame(_: PortId, buffer: &[u8]) -> Frame {
        Frame::Message(buffer.len())
    }

    fn ask(&mut self, _: Time, _: &Ask, _: &mut Effects) -> Result<serde_json::Value, AskError> {
        Err(AskError::Unreachable)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

/// Sends a datagram a millisecond, each for another shard.
struct Asker {
    sent: u8,
    next: Time,
    answers: Vec<Vec<u8>>,
}

impl Node for Asker {
    fn receive(&mut self, _: Time, _: SocketAddr, _: SocketAddr, bytes: &[u8], _: &mut Outbox) {
        self.answers.push(bytes.to_vec());
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        if self.sent < MESSAGES && now >= self.next {
            let own = SocketAddr::new([10, 0, 0, 2].into(), 2_000 + u16::from(self.sent));
            out.send(own, address("10.0.0.1:1"), [self.sent / 3 % 3, self.sent]);
            self.sent += 1;
            self.next = now + Duration::from_millis(1);
        }
    }

    fn deadline(&self) -> Option<Time> {
        (self.sent < MESSAGES).then_some(self.next)
    }
}

/// What one run leaves: its digest, the answers, and what each shard answered.
type Outcome = (u64, Vec<Vec<u8>>, Vec<Vec<(u16, u8)>>);

fn run(seed: u64) -> Outcome {
    let mut world = World::new(seed, LinkSpec::default(), Time::ZERO);
    let shards = (0..SHARDS).map(|shard| Dispatcher { shard, ..Dispatcher::default() }).collect();
    let here = address("10.0.0.1:1");
    let hosted = Hosted::sharded(shards, Arc::new(()), &[(PortId(0), here)]);
    let dispatcher = world.add(hosted, &[here]);
    let homes: Vec<SocketAddr> = (0..u16::from(MESSAGES))
        .map(|number| SocketAddr::new([10, 0, 0, 2].into(), 2_000 + number))
        .collect();
    let asker = world.add(Asker { sent: 0, next: Time::ZERO, answers: Vec::new() }, &homes);
    world.run_until(Time::from_millis(2_000));
    let answers = world.node::<Asker>(asker).expect("it is there").answers.clone();
    let hosted = world.node::<Hosted<Dispatcher>>(dispatcher).expect("it is there");
    let answered = hosted.functions().map(|dispatcher| dispatcher.answered.clone()).collect();
    (world.digest(), answers, answered)
}

#[test]
fn each_shard_does_its_work_and_the_same_seed_does_it_the_same_way() {
    let (digest, answers, answered) = run(7);
    assert!(answers.len() > usize::from(MESSAGES) / 2);
    assert!(answers.iter().all(|answer| answer[0] == answer[1] / 3 % 3), "{answers:?}");
    for shard in &answered {
        assert!((0..SHARDS).all(|from| shard.iter().any(|&(other, _)| other == from)));
    }
    assert_eq!((digest, answers, answered), run(7));
    assert_ne!(digest, run(8).0);
}

#[test]
fn what_finds_no_room_between_two_shards_comes_back() {
    let shards = (0..2).map(|shard| Dispatcher { shard, ..Dispatcher::default() }).collect();
    let here = address("10.0.0.1:1");
    let mut hosted = Hosted::sharded(shards, Arc::new(()), &[(PortId(0), here)]);
    hosted.limit_works(2);
    let (_, effects) = hosted.function_mut();
    (0..4).for_each(|number| effects.hand(1, |out| out.extend_from_slice(&[1, number, 0, 9])));
    hosted.tick(Time::ZERO, &mut Outbox::default());
    let shards: Vec<&Dispatcher> = hosted.functions().collect();
    assert_eq!(shards[1].answered, [(0, 0), (0, 1)]);
    assert_eq!(shards[0].came_back, [2, 3]);
}
