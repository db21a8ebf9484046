//! `tandem demo`: each scene without a terminal, from beginning to end.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
/// A scene that has not ended by then hangs.
const SCENE_MAX: Duration = Duration::from_secs(240);
/// Each scene, while it is played: what it sets up has names and networks of its own, and is there
/// once.
static STAGES: [Mutex<()>; SCENES.len()] = [const { Mutex::new(()) }; SCENES.len()];
const SCENES: [&str; 8] = ["sbc", "rr", "pe", "ss7", "cluster", "media", "ims", "sms"];

fn stage(scene: &str) -> MutexGuard<'static, ()> {
    let number = SCENES.iter().position(|it| *it == scene).expect("it is one");
    STAGES[number].lock().unwrap_or_else(PoisonError::into_inner)
}

/// A scene that was played.
struct Played {
    status: ExitStatus,
    said: String,
    /// The critical alarms of its site, and how often its site was asked for them.
    critical: BTreeSet<String>,
    looks: usize,
}

impl Played {
    /// The lines of what was measured: a tick or a cross, a number, and what it counts.
    fn figures(&self) -> Vec<&str> {
        let (_, measured) = self.said.rsplit_once("  measured\n").expect("figures are printed");
        measured.lines().take_while(|line| !line.is_empty()).map(str::trim).collect()
    }
}

fn end(child: Child) -> ExitStatus {
    end_watching(child, || {})
}

/// The same; `look` is called all the time.
fn end_watching(mut child: Child, mut look: impl FnMut()) -> ExitStatus {
    let until = Instant::now() + SCENE_MAX;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        look();
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("the scene has not ended after {SCENE_MAX:?}");
}

/// Plays a scene with its files below a directory of the test; `command` is the program.
fn played(mut command: Command, scene: &str) -> Played {
    let _stage = stage(scene);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("said");
    let file = std::fs::File::create(&path).unwrap();
    let files = folder.path().join("files");
    std::fs::create_dir(&files).unwrap();
    command.args(["demo", scene]).env("TMPDIR", &files).stdin(Stdio::null());
    let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
    let (mut critical, mut looks) = (BTreeSet::new(), 0);
    let status = end_watching(child, || {
        let Some(alarms) = alarms(&files) else { return };
        looks += 1;
        let raised = alarms.iter().filter(|alarm| alarm["severity"] == "critical");
        critical.extend(raised.map(|alarm| alarm["text"].to_string()));
    });
    let mut said = String::new();
    std::fs::File::open(&path).unwrap().read_to_string(&mut said).unwrap();
    let left: Vec<_> = std::fs::read_dir(&files).unwrap().flatten().collect();
    assert!(left.is_empty(), "left behind: {left:?}\n{said}");
    assert_eq!(standing_in(&files), 0, "programs are left behind\n{said}");
    Played { status, said, critical, looks }
}

/// Alarms of the site of a scene, those that stand and those that stood; none of one that does not
/// answer.
fn alarms(files: &Path) -> Option<Vec<serde_json::Value>> {
    let scene = std::fs::read_dir(files).unwrap().flatten().next()?;
    let site = scene.path().join("site.toml");
    let mut command = Command::new(TANDEM);
    command.args(["ctl", "--timeout", "2", "--output", "json", "--site"]).arg(site);
    let output = command.args(["alarms", "--history"]).stdin(Stdio::null()).output().unwrap();
    serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())
}

/// Processes that stand below this directory.
fn standing_in(directory: &Path) -> usize {
    let places = std::fs::read_dir("/proc").unwrap().flatten();
    let places = places.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
    places.filter(|place| place.starts_with(directory)).count()
}

/// It ended well, printed no address, and measured at least so many numbers, none of them zero.
#[track_caller]
fn holds(played: &Played, figures: usize) {
    let Played { status, said, critical, .. } = played;
    assert!(status.success(), "{status}\n{said}");
    assert!(critical.is_empty(), "what is only starting is no alarm: {critical:?}\n{said}");
    assert!(said.contains("all went as it should, nothing left behind"), "{said}");
    for dead in ["http:", "token=", "127.0.0.", "198.18.", "/tmp"] {
        assert!(!said.contains(dead), "`{dead}` is printed, and nobody is there\n{said}");
    }
    let measured = played.figures();
    assert!(measured.len() >= figures, "{said}");
    for line in measured {
        let number = line.strip_prefix('✓').expect(line).trim_start();
        let digits: String =
            number.chars().take_while(|c| c.is_ascii_digit() || *c == ' ').collect();
        let value: u64 = digits.replace(' ', "").parse().expect(line);
        assert!(value > 0, "{line}");
    }
}

fn scene(name: &str) -> Played {
    played(Command::new(TANDEM), name)
}

#[test]
fn without_a_name_the_scenes_are_listed_and_an_unknown_one_is_refused_with_them() {
    let listed = Command::new(TANDEM).arg("demo").output().unwrap();
    let said = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success());
    let mut names = String::new();
    for line in said.lines().take_while(|line| !line.is_empty()) {
        let (name, what) = line.split_once(' ').unwrap();
        assert!(!what.trim().is_empty(), "{line}");
        let _ = write!(names, "{name} ");
    }
    assert_eq!(names.trim_end().split(' ').collect::<Vec<_>>(), SCENES);
    let refused = Command::new(TANDEM).args(["demo", "tv"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("`tv`") && said.contains(&SCENES.join(", ")), "{said}");
}

#[test]
fn sbc_calls_are_right_in_sipp_and_in_the_sas() {
    let played = scene("sbc");
    holds(&played, 3);
    assert!(played.looks > 0, "the site was never asked for its alarms\n{}", played.said);
}

#[test]
fn rr_clients_hold_every_route_while_a_peer_flaps() {
    let played = scene("rr");
    holds(&played, 6);
    assert!(played.said.contains("100 of 100  host routes refused"), "{}", played.said);
}

#[test]
fn pe_forwards_while_its_control_is_killed() {
    let played = scene("pe");
    holds(&played, 4);
    assert!(played.said.contains("0 lost"), "{}", played.said);
}

#[test]
fn pe_without_root_says_so_and_forwards_between_memifs() {
    let is_root = {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self").unwrap().uid() == 0
    };
    let mut command = Command::new(if is_root { "setpriv" } else { TANDEM });
    if is_root {
        command.args(["--bounding-set=-all", "--inh-caps=-all", TANDEM]);
    }
    let played = played(command, "pe");
    holds(&played, 4);
    assert!(played.said.contains("no network namespaces"), "{}", played.said);
}

#[test]
fn ss7_msus_go_on_when_an_association_of_two_is_lost() {
    let played = scene("ss7");
    // One of them is the HLR in Python.
    holds(&played, 7);
    assert!(played.looks > 0, "the site was never asked for its alarms\n{}", played.said);
}

/// As in the image, which has this program and nothing else.
#[test]
fn scenes_play_where_no_other_program_is() {
    let scenes = [("rr", 6), ("ss7", 6), ("cluster", 5), ("pe", 4), ("ims", 7), ("sms", 8)];
    for (name, figures) in scenes {
        let mut command = Command::new(TANDEM);
        command.env("PATH", "/nowhere");
        let mut played = played(command, name);
        if name == "cluster" {
            played.critical.retain(|it| !is_of_the_moment(it));
        }
        holds(&played, figures);
    }
}

#[test]
fn media_of_two_phones_pass_from_srtp_to_rtp() {
    let played = scene("media");
    holds(&played, 5);
    assert!(played.said.contains("no stream stands"), "{}", played.said);
}

#[test]
fn ims_phone_registers_with_aka_and_calls_by_ipsec() {
    let played = scene("ims");
    holds(&played, 7);
    assert!(played.said.contains("its associations end with that"), "{}", played.said);
}

/// Until others serve the partitions of a node that was killed, nobody does, and that is an alarm.
fn is_of_the_moment(alarm: &str) -> bool {
    alarm.contains("served by no node")
}

#[test]
fn cluster_dialogues_go_on_when_a_node_of_three_is_killed_and_comes_back() {
    let mut played = scene("cluster");
    played.critical.retain(|it| !is_of_the_moment(it));
    holds(&played, 5);
    let said = &played.said;
    assert!(said.contains("300 of 300  dialogues that stood, went on and ended"), "{said}");
    assert!(said.contains("16 of 16  partitions that it has"), "{said}");
    assert!(said.contains("node 2 of the cluster is not heard"), "the alarm is shown\n{said}");
    assert!(played.looks > 0, "the site was never asked for its alarms\n{said}");
}

#[test]
fn sms_are_stored_delivered_and_reported_and_wait_for_who_is_away() {
    let played = scene("sms");
    holds(&played, 8);
    assert!(played.said.contains("in their order"), "{}", played.said);
    assert!(played.said.contains("the HSS tells"), "{}", played.said);
}

#[test]
fn a_scene_that_is_interrupted_ends_and_leaves_nothing() {
    let _stage = stage("ss7");
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(TANDEM);
    command.args(["demo", "ss7"]).env("TMPDIR", folder.path()).stdin(Stdio::null());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + SCENE_MAX;
    while standing_in(folder.path()) < 3 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    end(child);
    assert_eq!(standing_in(folder.path()), 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "its directory is gone");
}
