//! Changes of a running site by the real binary: what a commit will interrupt, a site file edited
//! by hand, SIGHUP, the history.

use crate::binary::{Site, free_port, site_text, tandem, words};
use std::fs;
use std::time::{Duration, Instant};

/// Waits until `holds`; the site does what it was told on threads of its own.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn revisions(site: &Site) -> usize {
    site.json(&["config", "history"]).as_array().unwrap().len()
}

#[test]
fn what_a_commit_interrupts_is_said_by_compare_and_by_a_check_against_what_runs() {
    let (access, core) = (free_port(), free_port());
    let site = Site::of(&site_text(access, core), &[]);
    let before = site.text(&["config", "show"]);
    let file = site.file().with_file_name("next.toml");
    fs::write(&file, &before).unwrap();
    // The same directory leads to the same site.
    let check = || tandem(&["check", "--against-running", file.to_str().unwrap()]);
    let said = check();
    let nothing = format!("A commit interrupts nothing.\n{}: ok\n", file.display());
    assert_eq!(words(&said.stdout), nothing, "{}", words(&said.stderr));
    assert_eq!(said.status.code(), Some(0));
    let other = free_port();
    let moved = before.replace(&format!(":{access}\""), &format!(":{other}\""));
    fs::write(&file, &moved).unwrap();
    let closes = format!("  ssc1: UDP 127.0.0.1:{access} closes");
    let said = check();
    assert!(words(&said.stdout).contains(&closes), "{}", words(&said.stdout));
    assert_eq!(said.status.code(), Some(0), "{}", words(&said.stderr));
    assert_eq!(site.set(&moved), 0);
    let compared = site.text(&["config", "compare"]);
    assert!(compared.contains("+++ candidate") && compared.contains(&closes), "{compared}");
    let fixed = before.replace("name = \"ssc1\"", "name = \"ssc1\"\nshards = 2");
    fs::write(&file, &fixed).unwrap();
    let said = check();
    let why = "`shards` changes only with a restart of the site";
    assert_eq!(said.status.code(), Some(3));
    assert!(words(&said.stderr).contains(why), "{}", words(&said.stderr));
    assert_eq!(
        words(&said.stdout),
        "",
        "what is not committed interrupts neither something nor nothing"
    );
    assert_eq!(site.set(&fixed), 0);
    for wrong in [fixed, "[site".to_owned()] {
        assert_eq!(site.set(&wrong), 0);
        let compared = site.text(&["config", "compare"]);
        assert!(compared.contains("cannot be said: 1 mistake"), "{compared}");
        assert!(!compared.contains("nothing"), "{compared}");
    }
    assert_eq!(site.set(&before.replace("name = \"ssc1\"", "name = \"ssc1\"\nshards = 2")), 0);
    let refused = site.ctl(&["config", "check"]);
    assert!(words(&refused.stderr).contains(why), "the check says what the commit would");
}

#[test]
fn a_site_file_edited_by_hand_is_shown_loaded_or_overwritten_by_who_says_so() {
    let site = Site::start();
    let before = site.text(&["config", "show"]);
    let by_hand = before.replace("drain_s = 1", "drain_s = 2");
    fs::write(site.file(), &by_hand).unwrap();
    let compared = site.text(&["config", "compare"]);
    assert!(compared.contains("+++ site file, edited by hand"), "{compared}");
    assert!(compared.contains("+drain_s = 2"), "{compared}");
    assert_eq!(site.set(&before.replace("drain_s = 1", "drain_s = 3")), 0);
    let refused = site.ctl(&["config", "commit"]);
    assert_eq!(refused.status.code(), Some(5));
    let why = words(&refused.stderr);
    assert!(why.contains("edited by hand") && why.contains("config load"), "{why}");
    assert_eq!(fs::read_to_string(site.file()).unwrap(), by_hand, "nothing is lost");
    let file = site.file();
    assert_eq!(site.status(&["config", "load", file.to_str().unwrap()]), 0);
    assert_eq!(site.text(&["config", "commit", "--comment", "by hand"]), "revision 2 runs\n");
    // A file with mistakes leads to the site all the same; one that is none does not.
    fs::write(site.file(), before.replace("drain_s", "drian_s")).unwrap();
    assert_eq!(site.status(&["config", "compare"]), 0);
    fs::write(site.file(), "[site").unwrap();
    let last = before.replace("drain_s = 1", "drain_s = 4");
    let url = fs::read_to_string(site.file().with_file_name("var").join("address")).unwrap();
    let token = fs::read_to_string(site.file().with_file_name("var").join("token")).unwrap();
    let next = site.file().with_file_name("next.toml");
    fs::write(&next, &last).unwrap();
    let ctl = |words: &[&str]| {
        let way = ["ctl", "--url", url.trim(), "--token", token.trim(), "config"];
        tandem(&[&way, words].concat()).status.code()
    };
    assert_eq!(ctl(&["load", next.to_str().unwrap()]), Some(0));
    assert_eq!(ctl(&["commit"]), Some(5));
    assert_eq!(ctl(&["commit", "--force"]), Some(0));
    assert_eq!(fs::read_to_string(site.file()).unwrap(), last);
    let history = site.text(&["config", "history"]);
    for word in ["AUTHOR", "STATE", "COMMENT", "by hand", "active", "confirmed"] {
        assert!(history.contains(word), "{word}: {history}");
    }
}

#[test]
fn sighup_reads_the_site_file_again_or_leaves_everything_as_it_is() {
    let site = Site::start();
    let before = site.text(&["config", "show"]);
    let after = before.replace("drain_s = 1", "drain_s = 2");
    fs::write(site.file(), &after).unwrap();
    site.signal("-HUP");
    until("the file is read again", || revisions(&site) == 2);
    assert_eq!(site.text(&["config", "show"]), after);
    let history = site.json(&["config", "history"]);
    assert_eq!((&history[0]["by"], &history[0]["cause"]), (&"SIGHUP".into(), &"reload".into()));
    let wrong = after.replace("targets", "tragets");
    fs::write(site.file(), wrong).unwrap();
    site.signal("-HUP");
    let refused = "oam_config_commits_refused_total";
    let counters = || site.text(&["counters", "--name", refused]);
    until("the refusal is counted", || counters().contains(refused));
    assert_eq!(site.text(&["config", "show"]), after);
    assert_eq!(revisions(&site), 2);
}
