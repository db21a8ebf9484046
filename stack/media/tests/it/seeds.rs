//! Worlds by seed: calls begin, change and end while connections break, media controllers begin
//! anew and take leases back. No port is had twice, none is lost.

use crate::world::{Call, World, sdp};
use anchor::{Side, Trace, row};
use machine::Duration;
use machine::identity::mix;
use media_stack::{MediaMetric, Notice, Part, Refused};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        usize::try_from(mix(self.0) % n as u64).expect("below a small number")
    }
}

/// The addresses of a call's far ends: of one family.
fn ips(call: &Call) -> [&'static str; 2] {
    if call.owner.index.is_multiple_of(2) { V4 } else { ["2001:db8::1", "2001:db8::2"] }
}
const V4: [&str; 2] = ["10.1.0.1", "10.2.0.1"];

struct Run {
    world: World,
    random: Random,
    calls: Vec<Call>,
    next: u32,
    refused: u32,
    moved: u32,
}

impl Run {
    fn new(seed: u64, mscs: usize) -> Self {
        let mut world = World::new(mscs);
        world.pass(Duration::from_secs(1));
        Self { world, random: Random(seed), calls: Vec::new(), next: 1, refused: 0, moved: 0 }
    }

    fn step(&mut self) {
        let msc = self.random.below(self.world.mscs.len());
        match self.random.below(100) {
            0..45 => self.begin(),
            45..70 => self.finish(),
            70..85 => self.change(),
            85..88 => self.world.break_connections(msc),
            88..90 => {
                self.world.break_connections(msc);
                self.world.mscs[msc].restart();
            }
            90..92 => {
                let nth = self.random.below(9);
                self.world.mscs[msc].revoke(nth);
            }
            // Grants are others by then: a call may have ports that a later life does not lease.
            92..95 => self.world.pass(Duration::from_secs(1)),
            _ => self.world.pass(Duration::from_millis(20)),
        }
        self.world.pass(Duration::from_millis(3));
        self.notices();
    }

    fn notices(&mut self) {
        for notice in std::mem::take(&mut self.world.notices) {
            let Notice::Gone { owner } = notice else { continue };
            let Some(at) = self.calls.iter().position(|call| call.owner == owner) else { continue };
            let media = self.calls[at].media.expect("it has media");
            if self.world.client.relocate(self.world.now, media) {
                self.moved += 1;
                self.world.collect();
                self.reinvite(at);
            } else {
                let call = self.calls.remove(at);
                self.world.end(call);
            }
        }
    }

    fn begin(&mut self) {
        self.next += 1;
        let mut call = Call::new(self.next);
        let ips = ips(&call);
        let offered = self.world.cross(&mut call, Part::Invite, Side::A, &sdp(ips[0], 6_000));
        if [Err(Refused::ROOM), Err(Refused::AWAY)].contains(&offered) {
            self.refused += 1;
            return;
        }
        offered.expect("it is a description");
        match self.random.below(6) {
            0 => return self.world.end(call), // busy
            1 => {
                let part = Part::Provisional { is_reliable: self.random.below(2) == 0 };
                self.world.cross(&mut call, part, Side::B, &sdp(ips[1], 7_000)).expect("taken");
            }
            _ => {}
        }
        self.world.cross(&mut call, Part::Final, Side::B, &sdp(ips[1], 7_000)).expect("taken");
        let now = self.world.now;
        self.world.client.settle(now, call.media.expect("it is anchored"), 0, [0, 1]);
        self.world.collect();
        self.calls.push(call);
    }

    fn pick(&mut self) -> Option<usize> {
        let count = self.calls.len();
        (count > 0).then(|| self.random.below(count))
    }

    fn finish(&mut self) {
        let Some(at) = self.pick() else { return };
        let call = self.calls.swap_remove(at);
        self.world.end(call);
    }

    /// A change of the call, which is refused now and then.
    fn change(&mut self) {
        let Some(at) = self.pick() else { return };
        let mut call = self.calls[at];
        let from = if self.random.below(2) == 0 { Side::A } else { Side::B };
        let port = 8_000 + 2 * u16::try_from(self.random.below(100)).expect("below");
        let offer = sdp(ips(&call)[0], port);
        match self.world.cross(&mut call, Part::Update, from, &offer) {
            Ok(_) => {}
            Err(refused) => return assert_eq!(refused, Refused::ROOM),
        }
        if self.random.below(3) == 0 {
            let now = self.world.now;
            return self.world.client.reject(now, call.media.expect("it is anchored"));
        }
        let answer = sdp(ips(&call)[1], port);
        self.world.cross(&mut call, Part::Accepted, from.other(), &answer).expect("taken");
    }

    fn reinvite(&mut self, at: usize) {
        let mut call = self.calls[at];
        let offer = sdp(ips(&call)[0], 6_100);
        if self.world.cross(&mut call, Part::Invite, Side::A, &offer).is_ok() {
            let answer = sdp(ips(&call)[1], 7_100);
            self.world.cross(&mut call, Part::Final, Side::B, &answer).expect("taken");
        }
    }

    fn add(&mut self) -> Result<(), Refused> {
        self.next += 1;
        let call = self.world.call(self.next, V4)?;
        self.calls.push(call);
        Ok(())
    }

    /// Everything calms down; what stands there is what stands here, and nothing of it stays.
    fn settle(&mut self) {
        for _ in 0..4 {
            self.world.pass(Duration::from_secs(4));
            self.notices();
        }
        let streams: usize = self.world.mscs.iter().map(|msc| msc.streams()).sum();
        assert_eq!(streams, self.calls.len(), "one stream a call");
        let pairs = self.world.metric(MediaMetric::PairsInUse);
        assert_eq!(pairs, 2 * self.calls.len() as u64, "two pairs a stream");
        while let Some(call) = self.calls.pop() {
            self.world.end(call);
        }
        self.world.pass(Duration::from_millis(100));
        let streams: usize = self.world.mscs.iter().map(|msc| msc.streams()).sum();
        assert_eq!(
            (streams, self.world.metric(MediaMetric::PairsInUse)),
            (0, 0),
            "nothing is left"
        );
        assert!(self.world.client.is_empty());
    }
}

#[test]
fn no_port_is_had_twice_and_none_is_lost_whatever_breaks() {
    let mut moved = 0;
    for seed in 0..48 {
        let mut run = Run::new(seed, 1 + usize::try_from(seed % 3).expect("small"));
        for msc in &mut run.world.mscs {
            msc.claims = seed % 4 != 3;
        }
        for _ in 0..300 {
            run.step();
        }
        run.settle();
        moved += run.moved;
    }
    assert!(moved > 0, "some had to move");
}

#[test]
fn calls_are_spread_evenly_and_one_that_was_added_catches_up() {
    let mut run = Run::new(1, 4);
    run.world.is_cut[3] = true;
    run.world.break_connections(3);
    let counts = |run: &Run| run.world.mscs.iter().map(|msc| msc.streams()).collect::<Vec<_>>();
    for _ in 0..300 {
        run.add().expect("there is room");
        run.world.pass(Duration::from_millis(4));
    }
    assert_eq!(counts(&run), [100, 100, 100, 0]);
    run.world.is_cut[3] = false;
    run.world.pass(Duration::from_secs(1));
    for _ in 0..100 {
        run.add().expect("there is room");
        run.world.pass(Duration::from_millis(4));
    }
    assert_eq!(counts(&run), [100; 4]);
    run.world.mscs[0].load.is_draining = true;
    run.world.mscs[1].load.forwarder_permille = 990;
    run.world.pass(Duration::from_secs(1));
    for _ in 0..10 {
        run.add().expect("there is room");
    }
    run.world.pass(Duration::from_millis(10));
    assert_eq!(counts(&run), [100, 100, 105, 105], "one drains, one is busy");
}

/// As they come at 500 a second and ring for a moment: many are offered when one is answered.
#[test]
fn calls_that_begin_together_are_spread_evenly_too() {
    let mut run = Run::new(4, 3);
    let counts = |run: &Run| run.world.mscs.iter().map(|msc| msc.streams()).collect::<Vec<_>>();
    let mut ringing = std::collections::VecDeque::new();
    for owner in 1..=300 {
        let mut call = Call::new(owner);
        let offer = sdp(V4[0], 6_000);
        run.world.cross(&mut call, Part::Invite, Side::A, &offer).expect("there is room");
        ringing.push_back(call);
        // Some are refused, and leave their place to others.
        if owner % 7 == 0 {
            run.world.end(ringing.pop_back().expect("it rings"));
        }
        let most = 40 + run.random.below(40);
        while ringing.len() > most || owner == 300 && !ringing.is_empty() {
            let mut call = ringing.pop_front().expect("it rings");
            let answer = sdp(V4[1], 7_000);
            run.world.cross(&mut call, Part::Final, Side::B, &answer).expect("taken");
            let media = call.media.expect("it is anchored");
            run.world.client.settle(run.world.now, media, 0, [0, 1]);
            run.calls.push(call);
        }
        run.world.pass(Duration::from_millis(2));
    }
    run.world.pass(Duration::from_secs(1));
    let (counts, total) = (counts(&run), run.calls.len());
    assert_eq!((counts.iter().sum::<usize>(), total), (total, 258));
    let [least, most] = [counts.iter().min(), counts.iter().max()].map(|it| *it.expect("three"));
    assert!(most - least <= 2, "{counts:?}");
    run.settle();
}

#[test]
fn more_is_leased_before_calls_want_it_and_a_call_without_a_port_is_refused() {
    let mut run = Run::new(2, 1);
    let mut refused = 0;
    for _ in 0..1_500 {
        refused += u32::from(run.add() == Err(Refused::ROOM));
        run.world.pass(Duration::from_millis(20));
    }
    // 40 blocks of 32 pairs, of which each group has its own.
    assert_eq!((run.calls.len(), refused), (1_280, 220));
    assert_eq!(run.world.metric(MediaMetric::NoRoom), 220);
    run.settle();
}

#[test]
fn calls_of_a_media_controller_that_is_gone_for_long_are_told_to_move() {
    let mut run = Run::new(3, 2);
    for _ in 0..100 {
        run.add().expect("there is room");
        run.world.pass(Duration::from_millis(4));
    }
    run.world.is_cut[0] = true;
    run.world.break_connections(0);
    run.world.pass(Duration::from_secs(4));
    assert!(run.world.notices.is_empty(), "it may come back");
    run.add().expect("the other one has room");
    let media = run.calls[100].media.expect("it is anchored");
    assert_eq!(run.world.client.controller_of(media), Some("msc2"));
    for _ in 0..200 {
        run.world.pass(Duration::from_millis(10));
        run.notices();
    }
    assert_eq!(run.moved, 50);
    run.world.mscs[0].restart();
    run.world.is_cut[0] = false;
    run.settle();
}

#[test]
fn calls_of_a_media_controller_that_left_the_configuration_move_at_once() {
    let mut run = Run::new(6, 2);
    for _ in 0..20 {
        run.add().expect("there is room");
        run.world.pass(Duration::from_millis(4));
    }
    let (now, settings) = (run.world.now, crate::world::settings(1));
    run.world.client.configure(now, settings, &mut run.world.out);
    run.world.collect();
    for _ in 0..20 {
        run.world.pass(Duration::from_millis(5));
        run.notices();
    }
    assert_eq!((run.moved, run.world.mscs[0].streams()), (10, 20));
    assert_eq!(run.world.metric(MediaMetric::PairsInUse), 40);
}

#[test]
fn keys_are_of_one_life_of_a_media_controller() {
    let mut settings = crate::world::settings(1);
    let media = "anchor = true\nsrtp = 'required'";
    settings.realms[0].1 = Some(toml::from_str(media).expect("it is well-formed"));
    let mut world = World::with(1, settings, 7);
    world.pass(Duration::from_secs(1));
    let crypto = "a=crypto:1 AES_CM_128_HMAC_SHA1_80 \
        inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";
    let offer = sdp(V4[0], 6_000).replace("RTP/AVP", "RTP/SAVP") + crypto;
    let mut call = Call::new(7);
    let mut agree = |world: &mut World| {
        world.cross(&mut call, Part::Invite, Side::A, &offer).expect("taken");
        let answer = world.cross(&mut call, Part::Final, Side::B, &sdp(V4[1], 7_000));
        let answer = answer.expect("taken").expect("it is another one");
        world.client.settle(world.now, call.media.expect("it is anchored"), 0, [0, 1]);
        world.pass(Duration::from_millis(20));
        let key = answer.split_once("inline:").expect("a key").1;
        key.lines().next().expect("a line").to_owned()
    };
    let key = agree(&mut world);
    world.break_connections(0);
    world.pass(Duration::from_secs(1));
    assert_eq!((world.mscs[0].streams(), world.notices.len()), (1, 0), "the same life");
    world.break_connections(0);
    world.mscs[0].restart();
    world.pass(Duration::from_secs(1));
    assert_eq!(world.mscs[0].streams(), 0, "its keys are not said again");
    assert_eq!(world.notices, [Notice::Renew { owner: Call::new(7).owner }]);
    let media = world.client.calls().next().expect("it stands");
    world.notices.clear();
    world.client.renew_later(world.now, media);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.notices, [Notice::Renew { owner: Call::new(7).owner }], "once more");
    assert_ne!(agree(&mut world), key);
    assert_eq!(world.mscs[0].streams(), 1);
}

#[test]
fn media_may_come_from_whoever_signals_and_from_anyone_only_where_the_realm_says_so() {
    let mut settings = crate::world::settings(1);
    let media = "anchor = true\nlatching_anywhere = true";
    settings.realms[1].1 = Some(toml::from_str(media).expect("it is well-formed"));
    let mut world = World::with(1, settings, 7);
    world.pass(Duration::from_secs(1));
    world.call(7, [V4[0], V4[1]]).expect("it is taken");
    world.pass(Duration::from_millis(20));
    let (_, _, stream) = world.mscs[0].standing.values().flat_map(|it| it.iter()).next().unwrap();
    let said = stream.ends.each_ref().map(|end| (end.signaller, end.latching_anywhere));
    let signaller = Some([10, 9, 9, 9].into());
    assert_eq!(said, [(signaller, false), (signaller, true)]);
}

#[test]
fn what_a_media_controller_says_of_a_stream_reaches_its_call() {
    let mut run = Run::new(4, 1);
    let call = run.world.call(5, V4).expect("there is room");
    run.world.pass(Duration::from_millis(5));
    let msc = &mut run.world.mscs[0];
    let (id, _, _) = msc.standing.values().next().unwrap().iter().next().unwrap();
    let event = row::Event::TimedOut;
    msc.say_all(&row::Message::Event { stream: id, end: Side::B, event });
    let stranger = row::StreamId { call: id.call ^ 1 << 40, line: 0 };
    msc.say_all(&row::Message::Event { stream: stranger, end: Side::B, event });
    run.world.pass(Duration::from_millis(5));
    let owner = call.owner;
    let expected = Notice::Stream { owner, line: 0, end: Side::B, event, is_traced: false };
    assert_eq!(run.world.notices, [expected]);
    // One that writes to the service assurance itself says so, and of which call each stream is.
    let trace = Trace::of(call.owner.index.into(), b"a84b4c76e66710");
    let msc = &mut run.world.mscs[0];
    assert_eq!(msc.standing.values().next().unwrap().at(id).unwrap().trace, trace);
    msc.load.traces = true;
    msc.say_load();
    msc.say_all(&row::Message::Event { stream: id, end: Side::B, event });
    run.world.notices.clear();
    run.world.pass(Duration::from_millis(5));
    let expected = Notice::Stream { owner, line: 0, end: Side::B, event, is_traced: true };
    assert_eq!(run.world.notices, [expected]);
    assert!(run.world.client.play(call.media.unwrap(), Side::A, 5, 160));
    run.world.collect();
    run.world.pass(Duration::from_millis(5));
    assert_eq!(run.world.mscs[0].plays, [(id, 1, 5)]);
}
