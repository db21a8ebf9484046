//! Worlds by seed: whatever session controllers, NG and connections do, no port has two streams and
//! none is lost, and the forwarder has what stands and no more.

use super::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

/// A session controller of a test: its connection, what it leases and what it has said.
pub(super) struct Peer {
    pub name: &'static str,
    pub conn: u32,
    pub blocks: Vec<Block>,
    pub streams: BTreeMap<u64, (u32, Stream)>,
}

impl Peer {
    /// A pair that none of its streams has, if it finds one.
    fn free(&self, random: &mut ChaCha8Rng) -> Option<Local> {
        let block = *self.blocks.get(below(random, self.blocks.len().max(1)))?;
        let local = at(block, below(random, block.pairs.into()) as u16);
        let has = |it: &(u32, Stream)| it.1.ends.iter().any(|end| end.local == local);
        (!self.streams.values().any(has)).then_some(local)
    }
}

pub(super) fn below(random: &mut ChaCha8Rng, end: usize) -> usize {
    random.next_u32() as usize % end
}

pub(super) fn reconnects(world: &mut World, peer: &mut Peer, next: &mut u32) {
    world.disconnect(peer.conn);
    *next += 1;
    peer.conn = *next;
    world.greets(peer.conn, peer.name, 1);
    peer.blocks = world.leases(peer.conn, "access", 32);
    world.says(peer.conn, Message::Begin);
    for (call, (generation, stream)) in &peer.streams {
        world.puts(peer.conn, *call, *generation, stream);
    }
    world.says(peer.conn, Message::End);
}

pub(super) fn step(world: &mut World, peer: &mut Peer, random: &mut ChaCha8Rng) {
    let call = random.next_u64() % 24;
    match below(random, 4) {
        0 => {
            if let Some((generation, _)) = peer.streams.remove(&call) {
                world.removes(peer.conn, call, generation);
            }
        }
        1 => {
            // What was said comes again.
            if let Some((generation, stream)) = peer.streams.get(&call) {
                world.puts(peer.conn, call, *generation, stream);
            }
        }
        _ => {
            let ports = (peer.free(random), peer.free(random));
            let (Some(a), Some(b)) = ports else { return };
            if a == b {
                return;
            }
            let generation = peer.streams.get(&call).map_or(1, |it| it.0 + 1);
            let stream = stream(a, b);
            world.puts(peer.conn, call, generation, &stream);
            peer.streams.insert(call, (generation, stream));
        }
    }
}

pub(super) fn holds(world: &World, peers: &[Peer]) {
    let mut wanted: BTreeSet<(u16, u16)> = BTreeSet::new();
    for stream in peers.iter().flat_map(|peer| peer.streams.values()) {
        for end in &stream.1.ends {
            assert!(wanted.insert((end.local.address, end.local.port)), "a port has two");
        }
    }
    let state = world.msc.state();
    let rtp = |it: &FlowSaid| it.at.port.is_multiple_of(2);
    let flows = world.plane.flows();
    let has: BTreeSet<(u16, u16)> = flows
        .iter()
        .filter(|it| rtp(it))
        .map(|it| (state.address(&it.at).expect("ours"), it.at.port))
        .collect();
    let of_ng: BTreeSet<(u16, u16)> = has.difference(&wanted).copied().collect();
    assert_eq!(wanted.difference(&has).count(), 0, "a stream lacks");
    assert_eq!(of_ng.len() / 2, world.msc.state().calls(), "flows are of streams");
    assert_eq!(state.pairs_in_use(&[0, 1, 2]) as usize, has.len());
}

#[test]
fn no_port_has_two_streams_and_none_is_lost_whatever_comes() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut world = World::adopted(SITE);
        let peer = |name, conn| Peer { name, conn, blocks: vec![], streams: BTreeMap::new() };
        let (mut peers, mut next) = ([peer("ssc1", 0), peer("ssc2", 0)], 0);
        peers.iter_mut().for_each(|peer| reconnects(&mut world, peer, &mut next));
        let mut calls: BTreeSet<String> = BTreeSet::new();
        for round in 0..400 {
            let at = below(&mut random, 2);
            match below(&mut random, 40) {
                0 => reconnects(&mut world, &mut peers[at], &mut next),
                1 => {
                    world.channel(ChannelEvent::Down("it died"));
                    world.plane = Plane::default();
                    world.now += Duration::from_millis(250);
                    world.adopt();
                }
                2..6 => {
                    let call = format!("call-{}", below(&mut random, 5));
                    ng(&mut world, &call, round, &mut calls);
                }
                6 => world.passes(1),
                _ => step(&mut world, &mut peers[at], &mut random),
            }
            holds(&world, &peers);
        }
        for peer in &mut peers {
            peer.streams.clear();
            world.says(peer.conn, Message::Begin);
            world.says(peer.conn, Message::End);
        }
        for call in std::mem::take(&mut calls) {
            ng(&mut world, &call, 1_000, &mut [call.clone()].into());
        }
        holds(&world, &peers);
        assert_eq!((world.plane.flows(), world.msc.state().streams()), (vec![], 0), "seed {seed}");
        assert!(world.msc.state().latched(Local { address: 0, port: 20_000 }).is_none());
    }
}

/// A call of NG begins, or ends if it stands.
pub(super) fn ng(world: &mut World, call: &str, round: usize, calls: &mut BTreeSet<String>) {
    let sdp = "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n\
        m=audio 4000 RTP/AVP 8\r\n";
    let cookie = |n: usize| format!("{round}_{n}");
    if calls.remove(call) {
        let delete = [("command", "delete"), ("call-id", call), ("from-tag", "a")];
        assert!(world.commands(&cookie(0), &delete).contains("result2:ok"));
        return;
    }
    let both = [("call-id", call), ("from-tag", "a"), ("sdp", sdp)];
    let offer = [&[("command", "offer")][..], &both].concat();
    let answer = [&[("command", "answer"), ("to-tag", "b")][..], &both].concat();
    let reply = world.commands(&cookie(1), &offer);
    if reply.contains("result2:ok") {
        let reply = world.commands(&cookie(2), &answer);
        assert!(reply.contains("result2:ok"), "{reply}");
        calls.insert(call.to_owned());
    }
}
