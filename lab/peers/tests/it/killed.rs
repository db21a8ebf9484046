//! A lab that is killed leaves nothing behind, what its programs forked included.

use peers::{Kamailio, KamailioSpec, free_port};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Where this program, started once more, is the lab that shall be killed.
const PLACE: &str = "LAB_TO_BE_KILLED";
const PATIENCE: Duration = Duration::from_secs(60);

/// A lab that holds a Kamailio until somebody kills it.
fn hold(directory: &Path) {
    let local = [127, 0, 0, 1].into();
    let spec = KamailioSpec::new(free_port(local).unwrap(), free_port(local).unwrap());
    let _kamailio = Kamailio::start(&spec, directory).unwrap();
    fs::write(directory.join("up"), "").unwrap();
    thread::sleep(3 * PATIENCE);
}

/// Processes that stand in this directory.
fn standing_in(directory: &Path) -> usize {
    let places = fs::read_dir("/proc").unwrap().flatten();
    let places = places.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
    places.filter(|place| place == directory).count()
}

#[track_caller]
fn wait(what: &str, until: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !until() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn lab(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::a_killed_lab_leaves_no_worker_of_kamailio_behind"]);
    command.env(PLACE, directory).stdin(Stdio::null()).stdout(Stdio::null());
    command.spawn().unwrap()
}

#[test]
fn a_killed_lab_leaves_no_worker_of_kamailio_behind() {
    if let Some(place) = std::env::var_os(PLACE) {
        return hold(&PathBuf::from(place));
    }
    for signal in ["-KILL", "-TERM"] {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().canonicalize().unwrap();
        let mut lab = lab(&directory);
        wait("Kamailio is up", || directory.join("up").exists());
        assert!(standing_in(&directory) > 2, "it forks workers");
        let id = lab.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        lab.wait().unwrap();
        wait("they end", || standing_in(&directory) == 0);
    }
}
