//! A store whose files somebody changed, cut and lengthened while it was closed: it opens or says
//! what is damaged, and whatever it then finds, reads and replays does not panic. A store whose
//! files nobody touched has everything.

use crate::script::Script;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;
use store::{Head, Key, KeyRange, Opened, Options, Query, Record, Store};

const RECORDS: u64 = 12;
const START_US: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(20);
/// Octets that a file may grow to.
const FILE_MAX: usize = 1 << 20;

/// Name and octets of each file of a small store: one partition sealed with its index, one open.
static FILES: LazyLock<BTreeMap<PathBuf, Vec<u8>>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let mut opened = open(folder.path()).expect("an empty folder is a store");
    for id in 1..=RECORDS {
        if id == RECORDS / 2 {
            opened.writer.roll(START_US + id);
        }
        let text = format!("message of {id}");
        let write = |out: &mut Vec<u8>| out.extend_from_slice(text.as_bytes());
        let place = opened.writer.append(START_US + id, id, write).expect("there is room");
        let body = place.block.to_le_bytes().to_vec();
        let keys = vec![Key { class: 0, value: id }, Key { class: 1, value: id % 3 }];
        let record =
            Record { head: Head { id, start_us: START_US + id, tags: [0; 4] }, keys, body };
        assert_eq!(opened.writer.record(START_US + id, record), Ok(()), "there is room");
    }
    let end = opened.writer.flush(START_US);
    assert!(opened.store.wait(end, PATIENCE), "the disk takes it");
    drop(opened);
    let mut files = BTreeMap::new();
    collect(folder.path(), folder.path(), &mut files);
    files
});

fn open(folder: &Path) -> Result<Opened, store::StoreError> {
    Store::open(Options::new(folder, Duration::from_secs(3_600), 64 << 20))
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let octets = fs::read(&path).expect("readable");
            files.insert(path.strip_prefix(root).expect("below it").to_owned(), octets);
        }
    }
}

fn meddle(octets: &mut Vec<u8>, script: &mut Script<'_>) {
    let at = script.number() % octets.len().max(1);
    match script.octet() % 5 {
        0 => octets[at..].iter_mut().take(1).for_each(|octet| *octet ^= 1 << (at % 8)),
        1 => {
            let piece = script.piece();
            let end = (at + piece.len()).min(octets.len());
            octets.splice(at..end, piece.iter().copied());
        }
        2 => octets.truncate(at),
        3 => octets.extend_from_slice(script.piece()),
        _ => {
            let end = (at + script.number()).min(octets.len());
            octets.extend_from_within(at..end);
        }
    }
    octets.truncate(FILE_MAX);
}

pub fn run(input: &[u8]) {
    let mut script = Script::new(input);
    let mut files = FILES.clone();
    while !script.is_over() {
        let nth = usize::from(script.octet()) % files.len();
        if let Some(octets) = files.values_mut().nth(nth) {
            meddle(octets, &mut script);
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (name, octets) in &files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        fs::write(path, octets).expect("writable");
    }
    let Ok(opened) = open(folder.path()) else {
        assert_ne!(files, *FILES, "a sound store opens");
        return;
    };
    let mut found = 0;
    for id in 1..=RECORDS {
        let all_of = vec![vec![KeyRange::exactly(0, id)]];
        let query = Query { all_of, limit: 10, ..Query::default() };
        let Ok(hits) = opened.store.search(&query) else { continue };
        let mut reader = opened.store.reader();
        for hit in hits {
            found += usize::from(matches!(reader.record(hit.place), Ok(Some(_))));
        }
    }
    assert!(files != *FILES || found == 12, "a sound store has everything");
    let _ = opened.recovery.replay(|_| {});
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_store_that_nobody_touches_has_everything() {
        super::run(&[]);
    }
}
