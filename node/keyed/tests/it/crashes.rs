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
