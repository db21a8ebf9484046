//! Stores as their owner sees them: found again, after every kind of end, and never beyond limits.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests and the child they start")]

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};
use store::{Head, Key, KeyRange, Opened, Options, Place, Query, Record, Replayed, Store, Writer};

const PATIENCE: Duration = Duration::from_secs(120);

fn options(directory: &Path) -> Options {
    Options::new(directory, Duration::from_secs(3_600), 1 << 30)
}

fn open(directory: &Path) -> Opened {
    Store::open(options(directory)).unwrap()
}

fn record(id: u64, start_us: u64, places: &[Place]) -> Record {
    let mut body = Vec::new();
    for place in places {
        body.extend_from_slice(&place.partition.to_le_bytes());
        body.extend_from_slice(&place.block.to_le_bytes());
        body.extend_from_slice(&place.entry.to_le_bytes());
    }
    let keys = vec![Key { class: 0, value: id }, Key { class: 1, value: id % 10 }];
    Record { head: Head { id, start_us, tags: [(id % 3) as u16, 0, 0, 0] }, keys, body }
}

fn places(record: &Record) -> Vec<Place> {
    let four = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let place = |b: &[u8]| Place {
        partition: four(b),
        block: four(&b[4..]),
        entry: u16::from_le_bytes([b[8], b[9]]),
    };
    record.body.chunks_exact(10).map(place).collect()
}

fn by_id(id: u64) -> Query {
    let all_of = vec![vec![KeyRange::exactly(0, id)]];
    Query { all_of, limit: 10, ..Query::default() }
}

/// Writes ids `ids`, `each` entries an id, and their records; returns when all is durable.
fn fill(opened: &mut Opened, ids: std::ops::Range<u64>, each: u64, start_us: u64) {
    for id in ids {
        let now_us = start_us + id;
        let places: Vec<_> = (0..each)
            .map(|n| {
                let text = format!("message {n} of {id} {}", "x".repeat((id % 700) as usize));
                let writer = &mut opened.writer;
                loop {
                    let write = |out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
                    if let Some(place) = writer.append(now_us, id, write) {
                        break place;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
            .collect();
        keep(&mut opened.writer, now_us, &record(id, now_us, &places));
    }
    settle(opened, start_us);
}

/// Writes a record, however far the disk lags behind.
fn keep(writer: &mut Writer, now_us: u64, record: &Record) {
    while writer.record(now_us, record.clone()).is_err() {
        std::thread::sleep(Duration::from_millis(1));
        writer.tick(now_us);
    }
}

/// Waits until all is durable. A shard goes on ticking: what found no room in the queue is handed
/// over then.
fn settle(opened: &mut Opened, now_us: u64) {
    let end = opened.writer.flush(now_us);
    let until = Instant::now() + PATIENCE;
    while !opened.store.wait(end, Duration::from_millis(10)) {
        assert!(Instant::now() < until, "it is durable");
        opened.writer.tick(now_us);
    }
}

fn must_hold(store: &Store, id: u64, each: usize) {
    let hits = store.search(&by_id(id)).unwrap();
    assert_eq!(hits.len(), 1, "id {id}");
    let mut reader = store.reader();
    let record = reader.record(hits[0].place).unwrap().unwrap();
    assert_eq!((record.head, places(&record).len()), (hits[0].head, each));
    for (n, place) in places(&record).into_iter().enumerate() {
        let (owner, text) = reader.entry(place).unwrap().unwrap();
        assert_eq!(owner, id);
        assert!(text.starts_with(format!("message {n} of {id} ").as_bytes()));
    }
}

#[test]
fn what_was_written_is_found_newest_first_before_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = open(directory.path());
    fill(&mut opened, 1..70_001, 2, 1_000_000);
    let look = |store: &Store| {
        for id in [1, 2, 777, 65_536, 65_537, 70_000] {
            must_hold(store, id, 2);
        }
        let all_of = vec![vec![KeyRange::exactly(1, 7)]];
        let query = Query { all_of, limit: 3, ..Query::default() };
        let ids =
            |q: &Query| store.search(q).unwrap().iter().map(|h| h.head.id).collect::<Vec<_>>();
        assert_eq!(ids(&query), [69_997, 69_987, 69_977]);
        let next = Query { before: Some((1_000_000 + 69_977, 69_977)), ..query.clone() };
        assert_eq!(ids(&next), [69_967, 69_957, 69_947]);
        let tagged = Query { tags: [Some((2, 2)), None, None, None], ..query.clone() };
        assert!(ids(&tagged).iter().all(|id| id % 3 == 2));
        let others = ids(&Query { without: Some(2), ..query.clone() });
        assert!(others.len() == 3 && others.iter().all(|id| id % 3 != 2), "{others:?}");
        assert_eq!(ids(&by_id(0)), [0u64; 0]);
    };
    look(&opened.store);
    drop(opened);
    let opened = open(directory.path());
    look(&opened.store);
    opened.recovery.replay(|item| panic!("everything was finished, but {item:?}")).unwrap();
}

#[test]
fn a_store_that_is_open_is_not_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let opened = open(directory.path());
    let again = Store::open(options(directory.path()));
    assert!(matches!(again, Err(store::StoreError::InUse(_))));
    drop(opened);
    open(directory.path());
}

#[test]
fn a_store_that_ends_meanwhile_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let opened = open(directory.path());
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(opened);
    });
    open(directory.path());
    reader.join().unwrap();
}

#[test]
fn a_torn_tail_is_cut_and_everything_before_it_stays() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = open(directory.path());
    fill(&mut opened, 1..1_001, 3, 5);
    drop(opened);
    let partition = directory.path().join("p00000001");
    for name in ["blocks", "run-0"] {
        let _ = std::fs::remove_file(partition.join(name));
    }
    let journal = partition.join("journal");
    let whole = std::fs::read(&journal).unwrap();
    let mut torn = whole.clone();
    torn.extend_from_slice(&whole[..5_000]);
    torn.truncate(whole.len() + 4_000);
    std::fs::write(&journal, &torn).unwrap();
    let opened = open(directory.path());
    must_hold(&opened.store, 1_000, 3);
    assert!((1..=4_000).contains(&opened.recovery.torn_bytes));
    let repaired = opened.store.cells().samples().find(|(r, _)| r.name.contains("repaired"));
    let expected = event::Sample::Value(opened.recovery.torn_bytes);
    assert_eq!(repaired.map(|(_, reading)| reading), Some(expected));
    assert_eq!(
        std::fs::metadata(&journal).unwrap().len() + opened.recovery.torn_bytes,
        torn.len() as u64
    );
}

#[test]
fn a_damaged_index_file_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = open(directory.path());
    fill(&mut opened, 1..500, 2, 5);
    opened.writer.snapshot_done(9);
    drop(opened);
    drop(open(directory.path()));
    let run = directory.path().join("p00000001/run-0");
    let mut bytes = std::fs::read(&run).unwrap();
    let last = bytes.len() - 40;
    bytes[last] ^= 0xff;
    std::fs::write(&run, bytes).unwrap();
    must_hold(&open(directory.path()).store, 499, 2);
}

#[test]
fn the_oldest_partitions_go_by_size_and_by_age() {
    let directory = tempfile::tempdir().unwrap();
    let size_max = 16 << 20;
    let options = Options::new(directory.path(), Duration::from_secs(7_200), size_max);
    let mut opened = Store::open(options).unwrap();
    let mut id = 0;
    let mut noise = 1u64;
    for second in 1..60u64 {
        for _ in 0..1_000 {
            id += 1;
            let mut text = Vec::new();
            for _ in 0..100 {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                text.extend_from_slice(&noise.to_le_bytes());
            }
            let now_us = second * 1_000_000;
            let write = |out: &mut Vec<u8>| out.extend_from_slice(&text);
            let place = loop {
                match opened.writer.append(now_us, id, write) {
                    Some(place) => break place,
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            keep(&mut opened.writer, now_us, &record(id, now_us, &[place]));
        }
        settle(&mut opened, second * 1_000_000);
        if opened.writer.is_roll_due(second * 1_000_000) {
            opened.writer.roll(second * 1_000_000);
            opened.writer.snapshot_done(second * 1_000_000);
        }
    }
    let status = opened.store.status();
    assert!(status.bytes <= size_max + (2 << 20), "{status:?}");
    assert!(status.partitions > 8, "{status:?}");
    assert_eq!(opened.store.search(&by_id(1)).unwrap(), []);
    assert_eq!(opened.store.search(&by_id(id)).unwrap().len(), 1);
    // Three hours without traffic: only the partition that is written stays.
    for n in 0..200 {
        opened.writer.tick(3 * 3_600_000_000 + n * 2_000_000);
        std::thread::sleep(Duration::from_millis(5));
        if opened.store.status().partitions == 1 {
            break;
        }
    }
    assert_eq!(opened.store.status().partitions, 1);
}

#[test]
fn a_writer_whose_disk_stands_still_refuses_and_forgets_nothing_it_took() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = open(directory.path());
    let squatter = directory.path().join("p00000002");
    std::fs::write(&squatter, b"in the way").unwrap();
    opened.writer.append(1, 1, |out| out.push(1)).unwrap();
    opened.writer.roll(1);
    let mut taken = Vec::new();
    let text = vec![7; 60_000];
    while let Some(place) = opened.writer.append(1, 2, |out| out.extend_from_slice(&text)) {
        taken.push(place);
        assert!(taken.len() < 100_000, "the queue has a limit");
    }
    assert!(taken.len() > 500);
    assert_eq!(opened.writer.record(1, record(2, 1, &[])), Err(store::Refused::Full));
    let mut unsound = record(2, 1, &[]);
    unsound.keys = vec![store::Key { class: 0, value: 1 }; store::KEYS_MAX + 1];
    assert_eq!(opened.writer.record(1, unsound), Err(store::Refused::Unsound));
    std::fs::remove_file(&squatter).unwrap();
    settle(&mut opened, 3);
    let mut reader = opened.store.reader();
    for place in taken {
        assert_eq!(reader.entry(place).unwrap().unwrap(), (2, &text[..]));
    }
}

#[test]
fn every_fact_of_the_store_moves() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(directory.path(), Duration::from_secs(60), 1 << 30);
    let mut opened = Store::open(options).unwrap();
    fill(&mut opened, 1..70_000, 1, 1_000_000);
    let moved = |cells: &event::MetricCells, name: &str| {
        cells.samples().any(|(row, reading)| {
            row.name == name
                && match reading {
                    event::Sample::Value(value) => value > 0,
                    event::Sample::Histogram { count, .. } => count > 0,
                }
        })
    };
    let cells = opened.store.cells();
    // The index file follows what is acknowledged.
    let indexed = (0..10_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        moved(&cells, "store_runs_total")
    });
    assert!(indexed);
    for name in [
        "store_entries_total",
        "store_records_total",
        "store_raw_bytes_total",
        "store_stored_bytes_total",
        "store_sync_us",
        "store_partitions",
        "store_disk_bytes",
    ] {
        assert!(moved(&cells, name), "{name}");
    }
    opened.writer.roll(2_000_000);
    // Hands so much at once that the disk finds a queue.
    let mut seen = false;
    for n in 0..4_000_000u64 {
        opened.writer.append(200_000_000, n, |out| out.extend_from_slice(&[n as u8; 900]));
        seen |= n % 1_000 == 0 && moved(&cells, "store_queue_batches");
        if seen && moved(&cells, "store_partitions_deleted_total") {
            break;
        }
    }
    assert!(seen);
    assert!(moved(&cells, "store_partitions_deleted_total"));
}

#[test]
fn a_write_that_fails_is_counted_told_and_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut opened = open(directory.path());
    // The next partition's directory cannot be made: a file has its name.
    let squatter = directory.path().join("p00000002");
    std::fs::write(&squatter, b"in the way").unwrap();
    fill(&mut opened, 1..10, 1, 5);
    opened.writer.roll(6);
    let failing = || opened.store.status().failing.is_some();
    let waited = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        failing()
    });
    assert!(waited);
    std::fs::remove_file(&squatter).unwrap();
    let mut opened = opened;
    fill(&mut opened, 10..20, 1, 7);
    must_hold(&opened.store, 15, 1);
    assert_eq!(opened.store.status().failing, None);
    let errors = opened.store.cells().samples().find(|(r, _)| r.name == "store_write_errors_total");
    assert!(matches!(errors, Some((_, event::Sample::Value(n))) if n > 0));
}

const CHILD: &str = "TANDEM_STORE_CHILD";

/// Not a test of its own: the process that the next test kills. It adopts what the one before it
/// left, then writes, and prints how many entries are safe.
#[test]
fn child_that_is_killed() {
    let Ok(spec) = std::env::var(CHILD) else { return };
    let (directory, generation) = spec.split_once('|').unwrap();
    let generation: u64 = generation.parse().unwrap();
    let mut opened = open(Path::new(directory));
    adopt(&mut opened);
    let mut held = Vec::new();
    for n in 0..50_000_000u64 {
        let id = generation << 32 | (n / 10);
        let text = format!("entry {n} {}", "y".repeat((n % 300) as usize));
        let write = |out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
        let Some(place) = opened.writer.append(n, id, write) else { continue };
        held.push(place);
        if n % 10 == 9 {
            let _ = opened.writer.record(n, record(id, n, &held));
            held.clear();
        }
        if n % 337 == 0 {
            settle(&mut opened, n);
            println!("\nsafe {n}");
        }
        if n % 9_000 == 8_999 {
            opened.writer.roll(n);
            opened.writer.open_record(n, &record(id + 1, n, &[]));
            opened.writer.snapshot_done(n);
        }
    }
}

/// Gives every id that still ran a record, as its owner would.
fn adopt(opened: &mut Opened) {
    let mut found: HashMap<u64, Vec<Place>> = HashMap::new();
    let mut known: HashMap<u64, Vec<Place>> = HashMap::new();
    let recovery = std::mem::take(&mut opened.recovery);
    recovery
        .replay(|item| match item {
            Replayed::Open(record) => {
                known.insert(record.head.id, places(record));
            }
            Replayed::Entry { place, id, .. } => found.entry(id).or_default().push(place),
        })
        .unwrap();
    for (id, held) in known {
        let entries = found.entry(id).or_default();
        entries.extend(held);
        entries.sort();
        entries.dedup();
    }
    for (id, places) in found {
        keep(&mut opened.writer, 1, &record(id, 1, &places));
    }
    opened.writer.snapshot_done(1);
    settle(opened, 1);
}

#[test]
fn kill_at_any_moment_loses_nothing_that_was_acknowledged() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let directory = tempfile::tempdir().unwrap();
    let mut safe = Vec::new();
    for generation in 1..=6u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env(CHILD, format!("{}|{generation}", directory.path().display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Each generation dies a little later, at whatever it was doing.
        let mut last = None;
        let mut wanted = 20 + generation * 23;
        while wanted > 0 {
            let Some(Ok(line)) = lines.next() else { panic!("the child ended by itself") };
            if let Some(n) = line.strip_prefix("safe ") {
                last = Some(n.parse::<u64>().unwrap());
                wanted -= 1;
            }
        }
        std::thread::sleep(Duration::from_micros(generation * 777));
        child.kill().unwrap();
        child.wait().unwrap();
        // What it still said before it died was said truly.
        for line in lines.map_while(Result::ok) {
            if let Some(n) = line.strip_prefix("safe ") {
                last = n.parse().ok().or(last);
            }
        }
        safe.push((generation, last.unwrap()));
    }
    let mut opened = open(directory.path());
    adopt(&mut opened);
    for (generation, last) in safe {
        assert!(last > 1_000);
        let mut reader = opened.store.reader();
        for number in (0..=last).step_by(10) {
            let id = generation << 32 | (number / 10);
            let hits = opened.store.search(&by_id(id)).unwrap();
            assert_eq!(hits.len(), 1, "generation {generation}, id {id:x}");
            let record = reader.record(hits[0].place).unwrap().unwrap();
            let expected = (last - number + 1).min(10) as usize;
            let held = places(&record);
            assert!(held.len() >= expected, "generation {generation}, entry {number}");
            for (n, place) in held.into_iter().take(expected).enumerate() {
                let (_, text) = reader.entry(place).unwrap().unwrap();
                assert!(text.starts_with(format!("entry {} ", number + n as u64).as_bytes()));
            }
        }
    }
}

/// Offsets of the blocks of a journal: each says how long it is.
fn blocks_of(journal: &[u8]) -> Vec<std::ops::Range<usize>> {
    let (mut blocks, mut at) = (Vec::new(), 0);
    while at < journal.len() {
        let stored = u32::from_le_bytes(journal[at + 12..at + 16].try_into().unwrap()) as usize;
        blocks.push(at..at + 32 + stored);
        at += 32 + stored;
    }
    blocks
}

/// A store whose every entry and record has a block of its own, as a killed process leaves it.
fn spread(directory: &Path, ids: u64) -> Vec<Place> {
    let mut opened = open(directory);
    let mut places = Vec::new();
    for id in 1..=ids {
        let text = [id as u8; 300];
        places.push(opened.writer.append(5, id, |out| out.extend_from_slice(&text)).unwrap());
        opened.writer.flush(5);
        keep(&mut opened.writer, 5, &record(id, 5, &places[places.len() - 1..]));
        opened.writer.flush(5);
    }
    settle(&mut opened, 5);
    drop(opened);
    unseal(directory);
    places
}

fn unseal(directory: &Path) {
    let _ = std::fs::remove_dir_all(directory.join("p00000002"));
    for item in std::fs::read_dir(directory.join("p00000001")).unwrap() {
        let path = item.unwrap().path();
        if !path.ends_with("journal") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn good_blocks_behind_a_damaged_one_are_kept_whatever_octet_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let ids = 6;
    let places = spread(directory.path(), ids);
    let journal = directory.path().join("p00000001/journal");
    let whole = std::fs::read(&journal).unwrap();
    let blocks = blocks_of(&whole);
    assert_eq!(blocks.len() as u64, ids * 2);
    // One block in its middle, at every octet of its header and some of its payload; then several
    // in a row, by their first octets or as a whole.
    let header = (0..32).map(|at| (3..4, at, 1));
    let payload = [32, 40, blocks[3].len() - 1].map(|at| (3..4, at, 1));
    let first = [(0..1, 0, 4), (0..1, 12, 4), (0..2, 0, 8)];
    let rows = [(2..5, 0, 16), (2..5, 33, 4), (2..9, 12, 4), (3..8, 0, 40)];
    for (damaged, at, length) in header.chain(payload).chain(first).chain(rows) {
        let mut bytes = whole.clone();
        for block in damaged.clone() {
            let from = blocks[block].start + at;
            bytes[from..from + length].iter_mut().for_each(|octet| *octet ^= 0xa5);
        }
        std::fs::write(&journal, &bytes).unwrap();
        unseal(directory.path());
        for again in ["repaired", "sealed"] {
            let opened = open(directory.path());
            let text = format!("{damaged:?} at {at}, {again}");
            for id in 1..=ids {
                let (entry, found) = (2 * (id as usize - 1), 2 * (id as usize - 1) + 1);
                let mut reader = opened.store.reader();
                let read = reader.entry(places[id as usize - 1]).unwrap().map(|(id, _)| id);
                assert_eq!(read, (!damaged.contains(&entry)).then_some(id), "{text}, entry {id}");
                let hits = opened.store.search(&by_id(id)).unwrap();
                assert_eq!(hits.len(), usize::from(!damaged.contains(&found)), "{text}, {id}");
                for hit in hits {
                    assert_eq!(reader.record(hit.place).unwrap().unwrap().head.id, id, "{text}");
                }
            }
            assert!(opened.store.status().damaged_bytes > 0, "{text}");
            drop(opened);
            let _ = std::fs::remove_dir_all(directory.path().join("p00000002"));
        }
    }
}

#[test]
fn what_is_recorded_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("sas");
    // An earlier version left it open.
    std::fs::create_dir(&store).unwrap();
    std::fs::set_permissions(&store, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(store.join("lock"), b"").unwrap();
    let mut opened = open(&store);
    fill(&mut opened, 1..2_000, 2, 5);
    opened.writer.roll(6);
    fill(&mut opened, 2_000..2_100, 2, 5);
    drop(opened);
    let (mut folders, mut files) = (vec![store], 0);
    while let Some(folder) = folders.pop() {
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for item in std::fs::read_dir(&folder).unwrap() {
            let path = item.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 5, "journals, index, offsets, lock: {files}");
}
