//! What stands after a process died, wherever its files were cut off.

use crate::world::{LIMITS, World};
use keyed::{Answer, Promise};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A copy of the files as they stand, as if the process died now.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("there is room");
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).expect("it is ours");
    for entry in fs::read_dir(from).expect("it is there") {
        let path = entry.expect("it is there").path();
        if let Some(name) = path.file_name().filter(|it| *it != "lock") {
            fs::copy(&path, to.join(name)).expect("there is room");
        }
    }
}

fn files(at: &Path, kind: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(at).expect("it is there").map(|it| it.expect("it is there").path());
    let mut found: Vec<_> = all
        .filter(|it| it.file_name().is_some_and(|it| it.to_string_lossy().starts_with(kind)))
        .collect();
    found.sort();
    found
}

#[test]
fn what_was_promised_to_the_disk_stands_in_whatever_state_the_process_dies() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    let mut world = World::opened(LIMITS, Some(&at));
    for n in 0..20 {
        assert!(world.put(&format!("k{n}"), &n.to_string(), 600, Promise::Disk));
        // Another row than the one that was promised: what takes it away waits for no disk.
        if n > 0 && n % 3 == 0 {
            world.take(&format!("k{}", n / 2));
        }
        let copied = folder.path().join(format!("copy{n}"));
        copy(&at, &copied);
        let mut other = World::opened(LIMITS, Some(&copied));
        assert_eq!(other.row(&format!("k{n}")), world.row(&format!("k{n}")));
    }
}

#[test]
fn a_log_that_is_cut_off_anywhere_gives_what_stands_before_the_cut() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    let mut world = World::opened(LIMITS, Some(&at));
    for n in 0..3 {
        assert!(world.put(&format!("k{n}"), "row", 600, Promise::Disk));
    }
    let log = files(&at, "log.").pop().expect("there is one");
    let whole = fs::read(&log).expect("it is there");
    let name = log.file_name().expect("it has one").to_owned();
    for cut in (0..whole.len()).step_by(3) {
        let copied = folder.path().join(format!("cut{cut}"));
        copy(&at, &copied);
        fs::write(copied.join(&name), &whole[..cut]).expect("there is room");
        let mut other = World::opened(LIMITS, Some(&copied));
        let stand: Vec<bool> = (0..3).map(|n| other.row(&format!("k{n}")).is_some()).collect();
        assert!(stand.windows(2).all(|it| it[0] || !it[1]), "in their order: {stand:?}");
        assert!(other.put("new", "row", 60, Promise::Disk));
    }
}

/// The only log, once its last octets say that all before them is on disk.
fn whole_log(at: &Path) -> (PathBuf, Vec<u8>) {
    let log = files(at, "log.").pop().expect("there is one");
    let end = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let whole = fs::read(&log).expect("it is there");
        if whole.iter().nth_back(16) == Some(&b's') {
            return (log, whole);
        }
        assert!(std::time::Instant::now() < end, "{whole:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_log_that_is_damaged_at_any_octet_loses_nothing_that_was_promised_in_silence() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    let mut world = World::opened(LIMITS, Some(&at));
    for n in 0..3 {
        assert!(world.put(&format!("k{n}"), "row", 600, Promise::Disk));
    }
    let (log, whole) = whole_log(&at);
    let name = log.file_name().expect("it has one").to_owned();
    let mut refused = 0;
    for octet in 0..whole.len() {
        let copied = folder.path().join(format!("damaged{octet}"));
        copy(&at, &copied);
        let mut damaged = whole.clone();
        damaged[octet] ^= 1 << (octet % 8);
        fs::write(copied.join(&name), &damaged).expect("there is room");
        let mut other = World::new(LIMITS, Some(&copied));
        other.until(|it| it.store.status().is_open || it.store.status().trouble.is_some());
        if !other.store.status().is_open {
            refused += 1;
            continue;
        }
        let stand: Vec<bool> = (0..3).map(|n| other.row(&format!("k{n}")).is_some()).collect();
        assert_eq!(stand, [true; 3], "octet {octet}");
    }
    // But for the number of the log, and for what says last that all of it is on disk.
    assert!(refused >= whole.len() - 8 - 25, "{refused} of {}", whole.len());
    // Who looks for it finds where, and may go on without what stands behind.
    let mut damaged = whole;
    damaged[20] ^= 1;
    fs::write(&log, &damaged).expect("there is room");
    drop(world);
    let mut world = World::new(LIMITS, Some(&at));
    world.until(|it| it.store.status().trouble.is_some());
    let trouble = world.store.status().trouble.expect("it says why");
    assert!(trouble.contains("damaged at octet 16"), "{trouble}");
    fs::write(&log, &damaged[..16]).expect("there is room");
    world.now += Duration::from_secs(5);
    world.until(|it| it.store.status().is_open);
    assert_eq!(world.row("k0"), None);
}

#[test]
fn a_log_that_is_missing_is_not_passed_over() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    for n in 0..3 {
        let mut world = World::opened(LIMITS, Some(&at));
        assert!(world.put(&n.to_string(), "row", 600, Promise::Disk));
    }
    let logs = files(&at, "log.");
    assert_eq!(logs.len(), 3);
    fs::remove_file(&logs[1]).expect("it is there");
    let mut world = World::new(LIMITS, Some(&at));
    world.until(|it| it.store.status().trouble.is_some());
    let trouble = world.store.status().trouble.expect("it says why");
    assert!(trouble.contains("log.2 is missing"), "{trouble}");
    fs::write(&logs[1], b"").expect("there is room");
    world.now += Duration::from_secs(5);
    world.until(|it| it.store.status().is_open);
    let rows = ["0", "1", "2"].map(|it| world.row(it).is_some());
    assert_eq!(rows, [true, false, true]);
}

#[test]
fn nothing_stays_of_an_attempt_to_read_that_broke_off() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    for n in 0..6 {
        let mut world = World::opened(LIMITS, Some(&at));
        assert!(world.put(&n.to_string(), "row", 600, Promise::Disk));
        if n == 5 {
            world.until(|_| !files(&at, "snapshot.").is_empty());
        }
    }
    let snapshot = files(&at, "snapshot.").pop().expect("there is one");
    let mut octets = fs::read(&snapshot).expect("it is there");
    let end = octets.len() - 1;
    octets[end] ^= 1;
    fs::write(&snapshot, octets).expect("there is room");
    let mut world = World::new(LIMITS, Some(&at));
    world.until(|it| it.store.status().trouble.is_some());
    // Somebody takes all of it away.
    for kind in ["snapshot.", "log."] {
        files(&at, kind).iter().for_each(|it| fs::remove_file(it).expect("it is there"));
    }
    world.now += Duration::from_secs(5);
    world.until(|it| it.store.status().is_open);
    assert_eq!(world.store.status().rows, 0);
}

#[test]
fn a_snapshot_takes_the_place_of_logs_while_rows_change_and_a_damaged_one_is_not_passed_over() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    let mut world = World::opened(LIMITS, Some(&at));
    for n in 0..2_000 {
        world.put(&format!("k{n:04}"), "old", 600, Promise::Memory);
    }
    // Each start begins another log; with the fifth a snapshot is wanted.
    for n in 0..6 {
        assert!(world.put("last", &n.to_string(), 600, Promise::Disk));
        drop(world);
        world = World::opened(LIMITS, Some(&at));
    }
    assert!(world.put("k0001", "new", 600, Promise::Memory));
    world.take("k1999");
    world.until(|_| !files(&at, "snapshot.").is_empty());
    assert!(world.put("last", "more", 600, Promise::Disk));
    drop(world);
    let mut world = World::opened(LIMITS, Some(&at));
    let rows = ["k0000", "k0001", "k1998", "k1999", "last"].map(|it| world.row(it));
    let expected = [Some("old"), Some("new"), Some("old"), None, Some("more")];
    assert_eq!(rows.each_ref().map(Option::as_deref), expected);
    assert_eq!(world.store.status().rows, 2_000);
    drop(world);
    let snapshot = files(&at, "snapshot.").pop().expect("there is one");
    let mut octets = fs::read(&snapshot).expect("it is there");
    let middle = octets.len() / 2;
    octets[middle] ^= 1;
    fs::write(&snapshot, octets).expect("there is room");
    let mut world = World::new(LIMITS, Some(&at));
    world.until(|it| it.store.status().trouble.is_some());
    assert!(world.store.status().trouble.expect("it says why").contains("damaged"));
    assert_eq!(world.take("last"), Answer::Failed);
}

#[test]
fn one_process_has_a_journal_and_what_it_cannot_write_is_refused_and_written_later() {
    let folder = tempfile::tempdir().expect("there is room");
    let at = folder.path().join("rows");
    let mut world = World::opened(LIMITS, Some(&at));
    assert!(world.put("a", "1", 600, Promise::Disk));
    let mut second = World::new(LIMITS, Some(&at));
    second.until(|it| it.store.status().trouble.is_some());
    assert!(!second.put("b", "1", 600, Promise::Disk), "it was never opened");
    drop(world);
    second.now += Duration::from_secs(5);
    second.until(|it| it.store.status().is_open);
    assert_eq!(second.row("a").as_deref(), Some("1"));
    let open = folder.path().join("open");
    fs::create_dir(&open).expect("there is room");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut third = World::new(LIMITS, Some(&open));
    third.until(|it| it.store.status().trouble.is_some());
    assert!(third.store.status().trouble.expect("it says why").contains("0700"));
}
