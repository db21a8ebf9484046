//! The MAC table against a map, alone and with workers that race its writer.

use crate::rules::Random;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use table::epoch::{Domain, Reader};
use table::lanes::Lanes;
use table::mac::{
    BridgeRule, Entry, Kind, Learner, MacEvent, MacKey, MacRefused, MacWriter, Macs, MoveRule,
    OnMoves, RING_LENGTH, Seen, Source,
};

fn key(bridge: u16, station: u64) -> MacKey {
    MacKey::from_bits(bridge, 0x0200_0000_0000 | station)
}

/// One worker that sees one frame.
fn sees(
    macs: &Macs,
    (reader, learner): &mut (Reader, Learner),
    key: MacKey,
    port: u32,
    now: u32,
) -> Source {
    let mut source = [Source::Group];
    let seen = Seen { keys: &[key], ports: &[port], now_s: now };
    macs.check(reader, learner, seen, &mut source);
    reader.quiesce();
    source[0]
}

fn find(macs: &Macs, reader: &Reader, key: MacKey) -> Entry {
    let mut entry = [Entry::UNKNOWN];
    macs.lookup(reader, &[key], &mut entry);
    entry[0]
}

fn polled(writer: &mut MacWriter, now: u32) -> Vec<MacEvent> {
    let mut events = Vec::new();
    writer.poll(now, |event| events.push(event));
    events
}

fn worker(domain: &std::sync::Arc<Domain>, writer: &mut MacWriter) -> (Reader, Learner) {
    (domain.reader().unwrap(), writer.learner())
}

#[test]
fn a_key_says_its_bridge_and_address() {
    let key = MacKey::new(65_000, [2, 3, 4, 5, 6, 7]);
    assert_eq!((key.bridge(), key.mac(), key.is_group()), (65_000, [2, 3, 4, 5, 6, 7], false));
    assert!(MacKey::new(0, [1, 0, 0, 0, 0, 0]).is_group());
    assert_eq!(MacKey::new(0, [0; 6]).bridge(), 0);
}

#[test]
fn a_station_is_learnt_found_moved_and_forgotten() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 100, 3);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    assert_eq!(sees(&macs, &mut worker, key(1, 1), 7, 10), Source::New);
    assert_eq!(polled(&mut writer, 10), [MacEvent::Learnt(key(1, 1), 7)]);
    assert_eq!(sees(&macs, &mut worker, key(1, 1), 7, 11), Source::Known);
    assert_eq!(find(&macs, &worker.0, key(1, 1)).port(), 7);
    assert!(!find(&macs, &worker.0, key(2, 1)).is_known(), "another bridge");
    assert_eq!(sees(&macs, &mut worker, key(1, 1), 8, 200), Source::Moved);
    assert_eq!(polled(&mut writer, 200), [MacEvent::Moved(key(1, 1), 7, 8)]);
    assert_eq!((writer.port_len(7), writer.port_len(8)), (0, 1));
    let mut events = Vec::new();
    for now in 201..600 {
        events.extend(polled(&mut writer, now).into_iter().map(|event| (now, event)));
    }
    let [(aged, MacEvent::Aged(_, 8))] = events[..] else { panic!("{events:?}") };
    assert!((500..=505).contains(&aged), "300 seconds after it was last seen: {aged}");
    assert_eq!((writer.len(), writer.bridge_len(1), writer.port_len(8)), (0, 0, 0));
    assert!(!find(&macs, &worker.0, key(1, 1)).is_known());
}

#[test]
fn a_source_that_is_seen_does_not_age() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 100, 3);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    for now in 0..if cfg!(miri) { 400 } else { 2_000 } {
        let source = sees(&macs, &mut worker, key(1, 1), 7, now);
        assert_eq!(source == Source::New, now == 0);
        assert_eq!(polled(&mut writer, now).is_empty(), now > 0);
    }
}

#[test]
fn a_station_that_moves_too_often_is_frozen_and_thawed() {
    for then in [OnMoves::Freeze, OnMoves::Block] {
        let domain = Domain::new();
        let mut writer = MacWriter::new(&domain, 100, 3);
        let macs = writer.macs();
        let moves = Some(MoveRule { moves: 5, window_s: 180, hold_s: 60, then });
        writer.rule_bridge(1, BridgeRule { moves, ..BridgeRule::default() });
        let mut worker = worker(&domain, &mut writer);
        let mut events = Vec::new();
        for now in 0..6 {
            sees(&macs, &mut worker, key(1, 1), now % 2, now);
            events.extend(polled(&mut writer, now));
        }
        assert_eq!(events[0], MacEvent::Learnt(key(1, 1), 0));
        assert_eq!(events[5], MacEvent::Frozen(key(1, 1), 0), "the fifth move is one too many");
        let (there, elsewhere) = match then {
            OnMoves::Freeze => (Source::Known, Source::Misplaced),
            OnMoves::Block => (Source::Blocked, Source::Blocked),
        };
        assert_eq!(sees(&macs, &mut worker, key(1, 1), 0, 6), there);
        assert_eq!(sees(&macs, &mut worker, key(1, 1), 1, 6), elsewhere);
        assert_eq!(find(&macs, &worker.0, key(1, 1)).is_blocked(), then == OnMoves::Block);
        assert_eq!(polled(&mut writer, 64), []);
        assert_eq!(polled(&mut writer, 65), [MacEvent::Thawed(key(1, 1))]);
        assert_eq!(sees(&macs, &mut worker, key(1, 1), 1, 66), Source::Moved);
    }
}

#[test]
fn a_station_that_a_full_port_refuses_has_not_moved() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 100, 3);
    let moves = Some(MoveRule { moves: 2, window_s: 180, hold_s: 60, then: OnMoves::Freeze });
    writer.rule_bridge(1, BridgeRule { moves, ..BridgeRule::default() });
    writer.limit_port(9, 0);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    sees(&macs, &mut worker, key(1, 1), 1, 0);
    polled(&mut writer, 0);
    for now in 1..5 {
        sees(&macs, &mut worker, key(1, 1), 9, now);
        let refused = MacEvent::Refused(key(1, 1), 9, MacRefused::PortFull);
        assert_eq!(polled(&mut writer, now), [refused]);
    }
    writer.limit_port(9, 1);
    sees(&macs, &mut worker, key(1, 1), 9, 5);
    assert_eq!(polled(&mut writer, 5), [MacEvent::Moved(key(1, 1), 1, 9)]);
}

#[test]
fn slow_moves_are_no_violation() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 100, 3);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    for turn in 0..40 {
        sees(&macs, &mut worker, key(1, 1), turn % 2, turn * 46);
        let events = polled(&mut writer, turn * 46);
        assert!(!events.iter().any(|event| matches!(event, MacEvent::Frozen(..))), "{events:?}");
    }
}

#[test]
fn configured_stations_stay_and_those_of_the_control_plane_do_not_age() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 100, 3);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    writer.set(key(1, 1), 5, Kind::Static, 0).unwrap();
    writer.set(key(1, 2), 6, Kind::Control, 0).unwrap();
    (0..1_000).for_each(|now| assert!(polled(&mut writer, now).is_empty()));
    assert_eq!(sees(&macs, &mut worker, key(1, 1), 9, 1_000), Source::Misplaced);
    assert_eq!(sees(&macs, &mut worker, key(1, 2), 9, 1_000), Source::Moved);
    assert_eq!(polled(&mut writer, 1_000), [MacEvent::Moved(key(1, 2), 6, 9)]);
    assert!(!writer.entry(key(1, 2)).is_control(), "now it is a local one");
    assert_eq!(writer.flush_bridge(1), 1, "the configured one stays");
    assert!(writer.entry(key(1, 1)).is_static());
    assert_eq!(
        writer.set(MacKey::from_bits(1, 1 << 40), 1, Kind::Static, 0),
        Err(MacRefused::Malformed)
    );
}

#[test]
fn limits_hold_for_table_bridge_and_port() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 6, 3);
    writer.rule_bridge(1, BridgeRule { macs_max: 2, ..BridgeRule::default() });
    writer.limit_port(9, 1);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    let mut learns = |writer: &mut MacWriter, bridge, station, port| {
        sees(&macs, &mut worker, key(bridge, station), port, 1);
        polled(writer, 1).pop()
    };
    let refused =
        |bridge, station, port, why| Some(MacEvent::Refused(key(bridge, station), port, why));
    learns(&mut writer, 1, 1, 1);
    learns(&mut writer, 1, 2, 1);
    assert_eq!(learns(&mut writer, 1, 3, 1), refused(1, 3, 1, MacRefused::BridgeFull));
    learns(&mut writer, 2, 4, 9);
    assert_eq!(learns(&mut writer, 2, 5, 9), refused(2, 5, 9, MacRefused::PortFull));
    assert_eq!(learns(&mut writer, 1, 1, 9), refused(1, 1, 9, MacRefused::PortFull));
    (6..9).for_each(|station| assert!(learns(&mut writer, 2, station, 1).is_some()));
    assert_eq!(learns(&mut writer, 3, 9, 1), refused(3, 9, 1, MacRefused::TableFull));
    assert_eq!(writer.flush_port(1), 5);
    assert_eq!(writer.len(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "too many stations to interpret")]
fn what_the_ring_cannot_take_is_dropped_and_counted() {
    let domain = Domain::new();
    let mut writer = MacWriter::new(&domain, 100_000, 3);
    let macs = writer.macs();
    let mut worker = worker(&domain, &mut writer);
    let more = 1_000;
    for station in 0..(RING_LENGTH + more) as u64 {
        assert_eq!(sees(&macs, &mut worker, key(1, station), 1, 1), Source::New);
    }
    let tally = worker.1.tally();
    assert_eq!((tally.told, tally.shed), (RING_LENGTH as u64, more as u64));
    (0..8).for_each(|_| drop(polled(&mut writer, 1)));
    assert_eq!(writer.len(), RING_LENGTH);
    sees(&macs, &mut worker, key(2, 1), 1, 1);
    sees(&macs, &mut worker, key(2, 1), 1, 1);
    assert_eq!(worker.1.tally().repeated, 1, "told once a second");
}

#[test]
fn the_table_says_what_a_map_says_whatever_is_done_to_it() {
    for (lanes, seed) in Lanes::all().into_iter().flat_map(|lanes| (0..3).map(move |s| (lanes, s)))
    {
        let domain = Domain::new();
        let mut writer = MacWriter::with_lanes(&domain, 1 << 20, seed, lanes);
        let (macs, mut reader) = (writer.macs(), domain.reader().unwrap());
        let (mut map, mut random) = (BTreeMap::new(), Random(seed));
        let steps = if cfg!(miri) { 400 } else { 40_000 };
        for step in 0..steps {
            let key = key(random.below(3) as u16, random.below(steps / 3));
            let port = random.below(1 << 24) as u32;
            match random.below(3) {
                0 => assert_eq!(writer.remove(key).map(Entry::port), map.remove(&key)),
                _ => {
                    writer.set(key, port, Kind::Learnt, 0).unwrap();
                    map.insert(key, port);
                }
            }
            if step % 100 == 0 {
                reader.quiesce();
            }
        }
        let keys: Vec<_> = (0..steps).map(|at| key((at % 3) as u16, at / 3)).collect();
        let mut entries = vec![Entry::UNKNOWN; keys.len()];
        macs.lookup(&reader, &keys, &mut entries);
        for (key, entry) in keys.iter().zip(entries) {
            assert_eq!(entry.is_known().then_some(entry.port()), map.get(key).copied());
        }
        let mut walked = BTreeMap::new();
        writer.for_each(|key, entry, _| assert_eq!(walked.insert(key, entry.port()), None));
        assert_eq!((walked, writer.len()), (map.clone(), map.len()));
    }
}

/// Stations below `STAY` are always there, at the port their number says; the others come and go.
#[test]
fn workers_never_miss_a_station_that_stays_nor_see_the_port_of_another() {
    const STAY: u64 = 64;
    for lanes in Lanes::all() {
        let domain = Domain::new();
        let mut writer = MacWriter::with_lanes(&domain, 1 << 20, 11, lanes);
        for station in 0..STAY {
            writer.set(key(1, station), station as u32, Kind::Static, 0).unwrap();
        }
        let done = AtomicBool::new(false);
        let rounds = if cfg!(miri) { 80 } else { 60_000 };
        std::thread::scope(|scope| {
            for seed in 0..2 {
                let (macs, done) = (writer.macs(), &done);
                let (mut reader, mut learner) = worker(&domain, &mut writer);
                scope.spawn(move || {
                    let mut random = Random(seed);
                    while !done.load(Ordering::Relaxed) {
                        let stations: [u64; 24] = std::array::from_fn(|at| {
                            random.below(if at < 12 { STAY } else { rounds })
                        });
                        let keys = stations.map(|station| key(1, station));
                        let ports = stations.map(|station| station as u32);
                        let mut sources = [Source::Group; 24];
                        let now_s = random.below(9) as u32;
                        let seen = Seen { keys: &keys, ports: &ports, now_s };
                        macs.check(&reader, &mut learner, seen, &mut sources);
                        let mut entries = [Entry::UNKNOWN; 24];
                        macs.lookup(&reader, &keys, &mut entries);
                        for at in 0..24 {
                            let stays = stations[at] < STAY;
                            let right = entries[at].port() == ports[at];
                            assert!(if entries[at].is_known() { right } else { !stays });
                            let source = sources[at];
                            assert!(source == Source::Known || source == Source::New && !stays);
                        }
                        reader.quiesce();
                    }
                });
            }
            let mut random = Random(5);
            for round in 0..rounds {
                let station = STAY + random.below(rounds - STAY);
                if random.percent(50) {
                    writer.set(key(1, station), station as u32, Kind::Learnt, 0).unwrap();
                } else {
                    writer.remove(key(1, station));
                }
                if round % 64 == 0 {
                    writer.poll(8, |_| ());
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn what_hosts_make_up_leaves_room_for_what_is_configured() {
    let mut writer = MacWriter::new(&Domain::new(), 128, 3);
    let mut set = |station, kind| writer.set(key(1, station), 1, kind, 0);
    (0..126).for_each(|station| assert_eq!(set(station, Kind::Learnt), Ok(())));
    assert_eq!(set(126, Kind::Learnt), Err(MacRefused::TableFull));
    (200..202).for_each(|station| assert_eq!(set(station, Kind::Static), Ok(())));
    assert_eq!(set(202, Kind::Static), Err(MacRefused::TableFull));
}
