//! Every target with its corpus and with what was ever found, and each finding with octets changed
//! by seed: `TANDEM_MUTATIONS` says how many for a target (a million in `make test-long`).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Changed copies of the findings of a target unless the environment says otherwise.
const MUTATIONS: u64 = 300;

fn folder(of: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(of).join(target)
}

/// The inputs of a folder, in the order of their names; none where there is no folder.
fn inputs(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = list.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("readable"))).collect()
}

fn run_all(of: &str) -> usize {
    let (mut runs, mut failed) = (0, Vec::new());
    for target in fuzz::TARGETS {
        for (path, octets) in inputs(&folder(of, target.name)) {
            runs += 1;
            if catch_unwind(|| (target.run)(&octets)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    runs
}

#[test]
fn no_input_of_any_corpus_breaks_its_target() {
    assert!(run_all("corpus") > 100, "the corpora are there");
}

#[test]
fn nothing_that_was_ever_found_breaks_its_target_again() {
    assert!(run_all("findings") > 0, "the findings are there");
}

#[test]
fn every_target_has_a_corpus_and_every_folder_its_target() {
    for of in ["corpus", "findings"] {
        let all = folder(of, "");
        for entry in fs::read_dir(all).expect("readable") {
            let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
            assert!(fuzz::named(&name).is_some(), "{of}/{name}: no such target");
        }
    }
    for target in fuzz::TARGETS {
        let count = inputs(&folder("corpus", target.name)).len();
        assert!(count > 0, "{} has no corpus", target.name);
    }
}

/// Changes a few octets, takes a piece out or doubles it.
fn mutate(octets: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    for _ in 0..=random.next_u32() % 4 {
        let length = u32::try_from(octets.len()).unwrap_or(u32::MAX).max(1);
        let at = (random.next_u32() % length) as usize;
        let end = (at + 1 + (random.next_u32() % 32) as usize).min(octets.len());
        match random.next_u32() % 4 {
            0 if at < end => drop(octets.drain(at..end)),
            1 if at < end => {
                let piece = octets[at..end].to_vec();
                octets.splice(at..at, piece);
            }
            _ if at < octets.len() => octets[at] = random.next_u32() as u8,
            _ => {}
        }
    }
}

#[test]
fn findings_with_octets_changed_break_nothing() {
    let wanted = std::env::var("TANDEM_MUTATIONS").ok();
    let count = wanted.map_or(MUTATIONS, |text| text.parse().expect("a number"));
    for target in fuzz::TARGETS {
        let findings = inputs(&folder("findings", target.name));
        for (seed, (path, octets)) in (0..count).zip(findings.iter().cycle()) {
            let mut changed = octets.clone();
            mutate(&mut changed, &mut ChaCha8Rng::seed_from_u64(seed));
            let done = catch_unwind(|| (target.run)(&changed));
            assert!(done.is_ok(), "{}: seed {seed}", path.display());
        }
    }
}
