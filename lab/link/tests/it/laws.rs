//! Laws of a pipe, in virtual time: whatever it is told to do and however it is called.

use link::{Arrival, Change, Loss, Pipe, PipeSpec, Probability, Schedule, Way};
use machine::{Duration, Machine, Time};
use proptest::prelude::*;

type Packets = Vec<(Duration, usize)>;

const OCTETS_MAX: usize = 1_500;

fn spec(toml: &str) -> PipeSpec {
    toml::from_str::<Way>(toml).unwrap().over(&PipeSpec::default()).unwrap()
}

/// A packet that carries its number.
fn packet(number: usize, octets: usize) -> Vec<u8> {
    let mut bytes = vec![0; octets.max(4)];
    bytes[..4].copy_from_slice(&(number as u32).to_be_bytes());
    bytes
}

fn number(arrival: &Arrival<Vec<u8>>) -> usize {
    u32::from_be_bytes(arrival.packet[..4].try_into().unwrap()) as usize
}

/// Packets after pauses, and the machine called at each of its deadlines up to each packet, and
/// `more` times evenly in each pause; then to its end.
fn run(pipe: &mut Pipe<Vec<u8>>, packets: &Packets, more: u32) -> Vec<Arrival<Vec<u8>>> {
    let (mut now, mut out) = (Time::ZERO, Vec::new());
    for (number, (pause, octets)) in packets.iter().enumerate() {
        let next = now + *pause;
        while let Some(at) = pipe.deadline().filter(|&at| at < next) {
            pipe.tick(at, &mut out);
            assert!(pipe.deadline().is_none_or(|later| later > at), "the deadline advances");
        }
        for part in 1..=more {
            pipe.tick(now + *pause * part / (more + 1), &mut out);
        }
        now = next;
        pipe.step(now, packet(number, *octets), &mut out);
        balanced(pipe);
    }
    while let Some(at) = pipe.deadline() {
        pipe.tick(at, &mut out);
    }
    assert_eq!(pipe.standing(), 0);
    balanced(pipe);
    out
}

/// Every packet is accounted for.
fn balanced(pipe: &Pipe<Vec<u8>>) {
    let counts = pipe.counts();
    let gone = counts.delivered + counts.lost + counts.dropped + counts.cut + counts.shed;
    assert_eq!(counts.offered + counts.duplicated, gone + pipe.standing() as u64, "{counts:?}");
}

/// One that says nothing, or one of these.
fn or(values: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![1 => Just(""), 2 => prop::sample::select(values)]
}

fn specs() -> impl Strategy<Value = PipeSpec> {
    let jitter = or(&[
        "jitter = '2ms'\n",
        "jitter = '2ms'\novertake = true\n",
        "jitter = '20ms'\ndistribution = 'pareto'\ncorrelation = '50%'\n",
        "jitter = '1ms'\ndistribution = 'normal'\novertake = true\n",
    ]);
    let rate = or(&[
        "rate = '10mbit'\nqueue = '20'\n",
        "rate = '3mbit'\nqueue = '8kB'\noverhead = 24\n",
        "rate = '1gbit'\n",
    ]);
    let loss = or(&["loss = '10%'\n", "gilbert_elliott = '5%,20%'\n"]);
    let rest = or(&[
        "duplicate = '5%'\nreorder = '5%'\ncorrupt = '5%'\ncorrupt_bits = 3\n",
        "reorder = '30%'\nhold = '3ms'\nspill = true\n",
    ]);
    let delay = or(&["delay = '10ms'\n", "delay = '100us'\n"]);
    (delay, jitter, rate, loss, rest).prop_map(|(a, b, c, d, e)| spec(&[a, b, c, d, e].concat()))
}

fn packets() -> impl Strategy<Value = Packets> {
    let pause = prop_oneof![Just(0u64), 0u64..200, 0u64..5_000].prop_map(Duration::from_micros);
    prop::collection::vec((pause, 4usize..OCTETS_MAX), 1..300)
}

type Changes = Vec<(Duration, Change)>;

fn changes() -> impl Strategy<Value = Changes> {
    let change =
        prop_oneof![Just(Change::Cut), Just(Change::Heal), specs().prop_map(Change::Become)];
    prop::collection::vec(((0u64..500).prop_map(Duration::from_millis), change), 0..6)
}

proptest! {
    #[test]
    fn arrivals_depend_on_the_seed_and_not_on_when_the_machine_is_called(
        spec in specs(), changes in changes(), packets in packets(), seed: u64,
    ) {
        let schedule = Schedule::new(Time::ZERO, &changes);
        let mut usual = Pipe::new(seed, spec, schedule.clone());
        let mut often = Pipe::new(seed, spec, schedule);
        let (one, two) = (run(&mut usual, &packets, 0), run(&mut often, &packets, 3));
        prop_assert_eq!(usual.counts(), often.counts());
        prop_assert_eq!(one, two);
    }

    #[test]
    fn without_overtaking_and_reordering_packets_keep_their_order(
        spec in specs(), changes in changes(), packets in packets(), seed: u64,
    ) {
        let never = Probability::NEVER;
        let keeps = |spec: PipeSpec| {
            let jitter = link::Jitter { overtakes: false, ..spec.jitter };
            PipeSpec { jitter, reorder: never, corrupt: never, ..spec }
        };
        let changes: Changes = changes.into_iter().map(|(at, change)| match change {
            Change::Become(spec) => (at, Change::Become(keeps(spec))),
            other => (at, other),
        }).collect();
        let schedule = Schedule::new(Time::ZERO, &changes);
        let out = run(&mut Pipe::new(seed, keeps(spec), schedule), &packets, 0);
        prop_assert!(out.iter().map(number).is_sorted());
        prop_assert!(out.iter().map(|arrival| arrival.at).is_sorted());
    }
}

#[test]
fn a_rate_is_exact_to_the_nanosecond_however_long_the_queue_stands() {
    for (rate, overhead) in [("7mbit", 0u32), ("100mbit", 24), ("333kbit", 0), ("9.999gbit", 38)] {
        let spec = spec(&format!("rate = '{rate}'\noverhead = {overhead}\nqueue = '100000'"));
        let bits_per_s = u128::from(spec.rate.unwrap().bits_per_s());
        let packets: Packets =
            (0..5_000).map(|number| (Duration::ZERO, 60 + number * 37 % 1_400)).collect();
        let out = run(&mut Pipe::new(1, spec, Schedule::default()), &packets, 0);
        let mut bits = 0;
        for arrival in &out {
            bits += (arrival.packet.len() as u128 + u128::from(overhead)) * 8;
            let exact = bits * 1_000_000_000 / bits_per_s;
            assert_eq!(u128::from(arrival.at.as_nanos()), exact, "{rate}");
        }
        assert_eq!(out.len(), packets.len());
    }
}

#[test]
fn offered_twice_its_rate_a_pipe_carries_its_rate_and_drops_the_rest_at_the_tail() {
    let spec = spec("rate = '10mbit'\nqueue = '50'\ndelay = '5ms'");
    // 1,250 octets take 1 ms; one comes every 0.5 ms for 10 s.
    let packets: Packets = vec![(Duration::from_micros(500), 1_250); 20_000];
    let mut pipe = Pipe::new(1, spec, Schedule::default());
    let out = run(&mut pipe, &packets, 0);
    let counts = pipe.counts();
    assert_eq!((counts.delivered + counts.dropped, counts.waiting_max), (20_000, 50));
    assert_eq!(counts.delivered, 10_000 + 50, "what waited at the end is carried too");
    let gaps = out.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.into_iter().all(|gap| gap == Duration::from_millis(1)));
    // A full queue delays by its length: 50 ms, and one's own 1 ms, and the way.
    let last = out.last().unwrap();
    let sent = Time::ZERO + Duration::from_micros(500) * (number(last) as u32 + 1);
    assert!(last.at - sent <= Duration::from_millis(50 + 1 + 5), "{:?}", last.at - sent);
}

#[test]
fn a_queue_of_octets_takes_small_packets_where_a_large_one_finds_no_room() {
    let mut pipe = Pipe::new(1, spec("rate = '1mbit'\nqueue = '1000B'"), Schedule::default());
    let mut out = Vec::new();
    for (octets, dropped) in [(900, 0), (900, 0), (200, 1), (100, 1), (4, 2)] {
        pipe.step(Time::ZERO, vec![0; octets], &mut out);
        assert_eq!(pipe.counts().dropped, dropped, "{octets} octets");
    }
    assert_eq!(pipe.waiting(), 2);
}

#[test]
fn uniform_jitter_stays_between_its_bounds_and_reaches_them() {
    let spec = spec("delay = '10ms'\njitter = '4ms'\novertake = true");
    let packets: Packets = vec![(Duration::from_micros(100), 100); 20_000];
    let out = run(&mut Pipe::new(3, spec, Schedule::default()), &packets, 0);
    let delays: Vec<Duration> = out
        .iter()
        .map(|arrival| {
            arrival.at - (Time::ZERO + Duration::from_micros(100) * (number(arrival) as u32 + 1))
        })
        .collect();
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!((Duration::from_millis(6)..Duration::from_micros(6_020)).contains(least), "{least:?}");
    assert!((Duration::from_micros(13_980)..=Duration::from_millis(14)).contains(most), "{most:?}");
    assert!(!out.iter().map(number).is_sorted(), "they overtake each other");
}

#[test]
fn between_cut_and_heal_nothing_is_taken_and_before_and_after_everything_arrives() {
    let s = Duration::from_secs;
    let schedule = || Schedule::new(Time::ZERO, &[(s(3), Change::Cut), (s(6), Change::Heal)]);
    let packets: Packets = vec![(Duration::from_millis(1), 100); 9_000];
    let mut pipe = Pipe::new(1, spec("delay = '10ms'"), schedule());
    let out = run(&mut pipe, &packets, 0);
    // Packet n is given at n + 1 ms. The cut comes first: that of 3 s is lost, that of 6 s not.
    let expected: Vec<usize> = (0..2_999).chain(5_999..9_000).collect();
    assert_eq!(out.iter().map(number).collect::<Vec<_>>(), expected);
    assert_eq!(pipe.counts().cut, 3_000);
    let arrived = |range: std::ops::Range<u64>| {
        let range = Time::from_millis(range.start)..Time::from_millis(range.end);
        out.iter().filter(|arrival| range.contains(&arrival.at)).count()
    };
    assert_eq!((arrived(3_000..3_010), arrived(3_010..6_010)), (10, 0), "what was on its way");

    let mut pipe = Pipe::new(1, spec("delay = '10ms'\nspill = true"), schedule());
    let out = run(&mut pipe, &packets, 0);
    let until = Time::from_millis(3_000);
    let before = out.iter().filter(|arrival| arrival.at <= until).count();
    assert_eq!((before, number(&out[before])), (2_990, 5_999), "a cut that spills");
    assert_eq!(pipe.counts().cut, 3_000 + 9);
}

#[test]
fn a_new_rate_holds_from_the_next_packet_on_and_none_empties_the_queue() {
    let (slow, fast) = (spec("rate = '1mbit'"), spec("rate = '2mbit'"));
    let ms = Duration::from_millis;
    let changes = [(ms(5), Change::Become(fast)), (ms(11), Change::Become(PipeSpec::default()))];
    let packets: Packets = vec![(Duration::ZERO, 250); 8]; // 2 ms at 1 Mbit/s
    let out = run(&mut Pipe::new(1, slow, Schedule::new(Time::ZERO, &changes)), &packets, 0);
    let at: Vec<u64> = out.iter().map(|arrival| arrival.at.as_millis()).collect();
    assert_eq!(at, [2, 4, 6, 7, 8, 9, 10, 11]);
    let changes = [(ms(5), Change::Become(PipeSpec::default()))];
    let out = run(&mut Pipe::new(1, slow, Schedule::new(Time::ZERO, &changes)), &packets, 0);
    let at: Vec<u64> = out.iter().map(|arrival| arrival.at.as_millis()).collect();
    assert_eq!(at, [2, 4, 5, 5, 5, 5, 5, 5]);
}

#[test]
fn the_losses_of_many_seeds_spread_around_the_stationary_share_as_chance_does() {
    let spec = spec("gilbert_elliott = '2%,25%,80%,0.5%'");
    let Loss::GilbertElliott(model) = spec.loss else { panic!("a model") };
    let (p, r, mean) = (model.to_bad.value(), model.to_good.value(), model.mean());
    const PACKETS: u64 = 20_000;
    let correlated = (2.0 - p - r) / (p + r);
    let deviation = (mean * (1.0 - mean) * correlated / PACKETS as f64).sqrt();
    let share = |seed: u64| {
        let mut pipe = Pipe::new(seed, spec, Schedule::default());
        for _ in 0..PACKETS {
            pipe.step(Time::ZERO, Vec::new(), &mut Vec::new());
        }
        pipe.counts().lost as f64 / PACKETS as f64
    };
    let shares: Vec<f64> = (0..60).map(share).collect();
    let off = |share: &f64| (share - mean).abs() / deviation;
    assert!(shares.iter().all(|share| off(share) < 4.5), "{mean}: {shares:?}");
    let together = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((together - mean).abs() < 3.5 * deviation / (shares.len() as f64).sqrt(), "{together}");
}

#[test]
fn faults_come_as_often_as_asked_for_and_are_counted() {
    let spec =
        spec("delay = '1ms'\nduplicate = '5%'\nreorder = '2%'\nhold = '5ms'\ncorrupt = '3%'");
    let packets: Packets = vec![(Duration::from_micros(500), 200); 50_000];
    let mut pipe = Pipe::new(11, spec, Schedule::default());
    let out = run(&mut pipe, &packets, 0);
    let counts = pipe.counts();
    let near = |count: u64, share: f64| {
        let expected = share * 50_000.0;
        assert!((count as f64 - expected).abs() < 4.0 * expected.sqrt(), "{count}: {expected}");
    };
    near(counts.duplicated, 0.05);
    near(counts.reordered, 0.02 * 1.05);
    near(counts.corrupted, 0.03);
    let changed = |arrival: &&Arrival<Vec<u8>>| {
        let number = u32::from_be_bytes(arrival.packet[..4].try_into().unwrap());
        number >= 50_000 || arrival.packet[4..].iter().any(|&octet| octet != 0)
    };
    let changed = out.iter().filter(changed).count() as u64;
    // A flipped bit in the number itself may go unseen; a copy carries its original's bit.
    assert!(changed > counts.corrupted * 9 / 10 && changed < counts.corrupted * 6 / 5, "{changed}");
    assert!(!out.iter().map(number).is_sorted());
}

#[test]
fn with_a_million_on_their_way_further_ones_are_shed() {
    let mut pipe = Pipe::new(1, spec("delay = '10s'"), Schedule::default());
    for _ in 0..link::FLYING_MAX + 10 {
        pipe.step(Time::ZERO, Vec::new(), &mut Vec::new());
    }
    assert_eq!((pipe.counts().shed, pipe.standing()), (10, link::FLYING_MAX));
}
