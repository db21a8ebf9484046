//! The real binary: exit statuses, signals, the service manager, the configuration end to end.

use serde_json::Value;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
/// What must happen happens by then, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

pub fn tandem(arguments: &[&str]) -> Output {
    let variables = ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"];
    let mut command = Command::new(TANDEM);
    for name in variables {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn status(arguments: &[&str]) -> i32 {
    tandem(arguments).status.code().unwrap()
}

pub fn words(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn free_port() -> u16 {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port()
}

/// A site file with one controller whose next hop nobody probes.
pub fn site_text(access: u16, core: u16) -> String {
    format!(
        "[site]\nname = \"test\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
         drain_s = 1\n[[ssc]]\nname = \"ssc1\"\n[[ssc.realm]]\nname = \"access\"\n\
         side = \"access\"\nlisten = [\"udp:127.0.0.1:{access}\"]\n[[ssc.realm]]\n\
         name = \"core\"\nside = \"core\"\nlisten = [\"udp:127.0.0.1:{core}\"]\n\
         [[ssc.next_hop]]\nname = \"far\"\nrealm = \"core\"\n\
         targets = [\"udp:127.0.0.1:9\"]\nprobe_interval_s = 0\n[[ssc.route]]\n\
         from = \"access\"\nto = [\"far\"]\n"
    )
}

/// A running site; killed when dropped.
pub struct Site {
    folder: tempfile::TempDir,
    child: Child,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    pub fn start() -> Self {
        Self::of(&site_text(free_port(), free_port()), &[])
    }

    pub fn of(text: &str, environment: &[(&str, &Path)]) -> Self {
        Self::within(tempfile::tempdir().unwrap(), text, environment)
    }

    /// In a folder that is that user's.
    fn of_user(text: &str, user: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(user), None).unwrap();
        Self::within(folder, text, &[])
    }

    fn within(folder: tempfile::TempDir, text: &str, environment: &[(&str, &Path)]) -> Self {
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        // As systemd does: the watchdog is for this very process.
        let mut command = Command::new("sh");
        let script = "WATCHDOG_PID=$$ exec \"$0\" run site.toml";
        command.args(["-c", script, TANDEM]).current_dir(folder.path()).stderr(Stdio::piped());
        command.envs(environment.iter().copied());
        let site = Self { child: command.spawn().unwrap(), folder };
        let waited = site.ctl(&["wait"]);
        assert!(waited.status.success(), "{}", words(&waited.stderr));
        site
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("site.toml")
    }

    pub fn ctl(&self, arguments: &[&str]) -> Output {
        let file = self.file();
        let site = ["ctl", "--site", file.to_str().unwrap(), "--timeout", "60"];
        tandem(&[&site, arguments].concat())
    }

    pub fn status(&self, arguments: &[&str]) -> i32 {
        self.ctl(arguments).status.code().unwrap()
    }

    pub fn text(&self, arguments: &[&str]) -> String {
        let output = self.ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", words(&output.stderr));
        words(&output.stdout)
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[&["-o", "json"], arguments].concat())).unwrap()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// What the kernel says of each of its threads, under that name.
    fn of_threads(&self, name: &str) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let said = tasks.filter_map(|task| {
            let status = std::fs::read_to_string(task.unwrap().path().join("status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            Some(line?.trim().to_owned())
        });
        said.collect()
    }

    fn ended(&mut self) -> i32 {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the site does not end")
    }

    pub fn set(&self, text: &str) -> i32 {
        let file = self.folder.path().join("next.toml");
        std::fs::write(&file, text).unwrap();
        self.status(&["config", "set-file", file.to_str().unwrap()])
    }
}

#[test]
fn status_0_is_done_and_status_2_a_wrong_usage() {
    assert_eq!(status(&["--help"]), 0);
    assert_eq!(status(&["--version"]), 0);
    assert_eq!(status(&["lab", "list"]), 0);
    assert_eq!(status(&[]), 2);
    assert_eq!(status(&["fly"]), 2);
    assert_eq!(status(&["lab", "run", "no-such-experiment"]), 2);
    assert_eq!(status(&["ctl", "--url", "no url", "site"]), 2);
}

#[test]
fn status_3_is_an_invalid_configuration_with_file_line_column_and_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let path = file.to_str().unwrap();
    let (access, core) = (free_port(), free_port());
    let text = site_text(access, core).replace("realm = \"core\"", "raelm = \"core\"");
    std::fs::write(&file, &text).unwrap();
    let line = text.lines().position(|line| line.starts_with("raelm")).unwrap() + 1;
    for command in ["check", "run"] {
        let output = tandem(&[command, path]);
        assert_eq!(output.status.code(), Some(3), "{command}");
        let said = words(&output.stderr);
        assert!(said.contains(&format!("{path}:{line}:1")), "{said}");
        assert!(said.contains("unknown key `raelm`") && said.contains("`realm`?"), "{said}");
    }
    assert!(!folder.path().join("var").exists(), "nothing was changed");
    assert_eq!(status(&["check", "/no/such/file"]), 3);
}

#[test]
fn a_port_that_another_program_holds_is_an_invalid_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    std::fs::write(&file, site_text(port, free_port())).unwrap();
    for command in ["check", "run"] {
        let output = tandem(&[command, file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(3), "{command}");
        let said = words(&output.stderr);
        assert!(said.contains("is taken by another program"), "{said}");
        assert!(said.contains("at: ssc[0].realm[0].listen[0]"), "{said}");
        assert!(said.contains("hint: stop that program"), "{said}");
    }
    drop(taken);
    assert_eq!(status(&["check", file.to_str().unwrap()]), 0);
}

/// Whether this is root, who may become others; a failure unless it may be left out.
fn may_become_others() -> bool {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    let may_skip = std::env::var("TANDEM_MAY_SKIP").is_ok_and(|it| it == "1");
    assert!(is_root || may_skip, "needs root; TANDEM_MAY_SKIP=1 leaves this test out");
    is_root
}

/// The user of no files, on every machine.
const NOBODY: u32 = 65_534;
/// CAP_SYS_ADMIN, CAP_DAC_OVERRIDE, CAP_SETUID, CAP_SYS_PTRACE, CAP_SYS_MODULE, CAP_CHOWN.
const OTHERS: u64 = 1 << 21 | 1 << 1 | 1 << 7 | 1 << 19 | 1 << 16 | 1;

#[test]
fn a_site_becomes_its_user_in_every_thread_and_keeps_the_rights_of_the_network_alone() {
    if !may_become_others() {
        return;
    }
    let text = site_text(free_port(), free_port())
        .replace("directory = \"var\"", "directory = \"var\"\nuser = \"nobody\"");
    let site = Site::of_user(&text, NOBODY);
    let ids = site.of_threads("Uid");
    assert!(ids.len() > 2, "{ids:?}");
    assert!(ids.iter().all(|it| it.split_whitespace().all(|id| id == "65534")), "{ids:?}");
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        let sets = site.of_threads(set);
        let others = |it: &String| u64::from_str_radix(it, 16).unwrap() & OTHERS;
        assert!(sets.iter().all(|it| others(it) == 0), "{set}: {sets:?}");
    }
    assert!(site.of_threads("NoNewPrivs").iter().all(|it| it == "1"));
    assert!(site.of_threads("Seccomp").iter().all(|it| it == "2"));
    // It still has what it needs: ports below 1024 while it runs, and its own files.
    let (before, after) = (free_port(), 900 + std::process::id() % 100);
    let moved = site.text(&["config", "show"]).replace(
        "[[ssc.next_hop]]",
        &format!(
            "[[ssc.realm]]\nname = \"more\"\nside = \"core\"\n\
             listen = [\"udp:127.0.0.1:{after}\", \"udp:127.0.0.1:{before}\"]\n[[ssc.next_hop]]"
        ),
    );
    assert_eq!(site.set(&moved), 0);
    assert_eq!(site.status(&["config", "commit"]), 0);
    let owner = std::fs::metadata(site.folder.path().join("var/token")).unwrap().uid();
    assert_eq!(owner, NOBODY);
}

#[test]
fn a_site_that_drops_its_capabilities_has_none_in_any_thread_and_serves() {
    if !may_become_others() {
        return;
    }
    let port = 800 + std::process::id() % 100;
    let keys = "directory = \"var\"\nuser = \"nobody\"\ncapabilities = \"drop\"";
    let text =
        site_text(u16::try_from(port).unwrap(), free_port()).replace("directory = \"var\"", keys);
    let site = Site::of_user(&text, NOBODY);
    let until = Instant::now() + LONG;
    loop {
        let sets = [site.of_threads("CapPrm"), site.of_threads("CapEff")].concat();
        if sets.iter().all(|it| u64::from_str_radix(it, 16) == Ok(0)) {
            break;
        }
        assert!(Instant::now() < until, "{sets:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let ids = site.of_threads("Uid");
    assert!(ids.iter().all(|it| it.split_whitespace().all(|id| id == "65534")), "{ids:?}");
    assert_eq!(site.status(&["site"]), 0);
}

#[test]
fn root_obeys_no_site_file_of_another_and_no_commit_changes_what_the_process_may_do() {
    if !may_become_others() {
        return;
    }
    let text = site_text(free_port(), free_port());
    let site = Site::of_user(&text, NOBODY);
    let ids = site.of_threads("Uid");
    assert!(ids.iter().all(|it| it.split_whitespace().all(|id| id == "65534")), "{ids:?}");
    let own = "directory = \"var\"";
    for key in ["user = \"daemon\"", "filter_system_calls = false", "core_dumps = true"] {
        site.set(&text.replace(own, &format!("{own}\n{key}")));
        let refused = site.ctl(&["config", "commit"]);
        let said = words(&refused.stderr) + &words(&refused.stdout);
        assert!(!refused.status.success() && said.contains("restart the site"), "{key}: {said}");
    }
    drop(site);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    std::fs::write(&file, text.replace(own, &format!("{own}\nuser = \"daemon\""))).unwrap();
    std::os::unix::fs::chown(&file, Some(NOBODY), None).unwrap();
    let said = words(&tandem(&["run", file.to_str().unwrap()]).stderr);
    assert!(said.contains("user 65534 may write this file"), "{said}");
}

#[test]
fn a_token_made_by_root_is_the_sites_users_and_a_planted_link_leads_root_nowhere() {
    if !may_become_others() {
        return;
    }
    let (folder, else_where) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(NOBODY), None).unwrap();
    let (file, var) = (folder.path().join("site.toml"), folder.path().join("var"));
    std::fs::write(&file, site_text(free_port(), free_port())).unwrap();
    std::fs::create_dir(&var).unwrap();
    give(folder.path());
    give(&var);
    let site = file.to_str().unwrap();
    let make = || tandem(&["token", "new", site, "--role", "monitor", "--name", "x"]);
    std::os::unix::fs::symlink(else_where.path(), var.join("tokens")).unwrap();
    assert!(!make().status.success());
    assert_eq!(std::fs::metadata(else_where.path()).unwrap().uid(), 0);
    assert_eq!(std::fs::read_dir(else_where.path()).unwrap().count(), 0);
    std::fs::remove_file(var.join("tokens")).unwrap();
    let made = make();
    assert!(made.status.success(), "{}", words(&made.stderr));
    for path in ["tokens", "tokens/x"] {
        assert_eq!(std::fs::metadata(var.join(path)).unwrap().uid(), NOBODY, "{path}");
    }
}

#[test]
fn a_user_that_is_not_there_is_an_invalid_configuration() {
    if !may_become_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.toml");
    let text = site_text(free_port(), free_port());
    for (user, why) in [("no-such-user", "no user `no-such-user`"), ("root", "is root")] {
        let key = format!("directory = \"var\"\nuser = \"{user}\"");
        std::fs::write(&file, text.replace("directory = \"var\"", &key)).unwrap();
        let output = tandem(&["run", file.to_str().unwrap()]);
        let said = words(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(why) && said.contains("at: site.user"), "{said}");
    }
    let key = "directory = \"var\"\ncapabilities = \"drop\"";
    std::fs::write(&file, text.replace("directory = \"var\"", key)).unwrap();
    let said = words(&tandem(&["check", file.to_str().unwrap()]).stderr);
    assert!(said.contains("give `user` as well"), "{said}");
}

#[test]
fn status_4_is_unreachable_and_status_6_timed_out() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("http://{address}");
    assert_eq!(status(&["ctl", "--url", &url, "--timeout", "1", "site"]), 6);
    assert_eq!(status(&["ctl", "--url", &url, "--timeout", "1", "wait"]), 6);
    drop(silent);
    assert_eq!(status(&["ctl", "--url", &url, "--timeout", "2", "site"]), 4);
}

#[test]
fn status_1_is_a_refusal_and_status_5_a_conflict() {
    let site = Site::start();
    assert_eq!(site.status(&["--token", "wrong", "site"]), 1);
    assert_eq!(site.status(&["calls", "nobody"]), 1);
    assert_eq!(site.status(&["config", "confirm"]), 5, "nothing to confirm");
    let text = site.text(&["config", "show"]);
    assert_eq!(site.set(&text.replace("\"far\"", "\"away\"")), 0);
    assert_eq!(site.status(&["config", "commit", "--revision", "9"]), 5);
    let second = tandem(&["run", site.file().to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(5), "{}", words(&second.stderr));
}

#[test]
fn ctl_shows_the_site_as_table_json_and_csv() {
    let site = Site::start();
    let shown = site.json(&["site"]);
    assert_eq!(
        (&shown["name"], &shown["functions"][0]["state"]),
        (&"test".into(), &"running".into())
    );
    assert!(site.text(&["site"]).contains("ssc1"));
    let csv = site.text(&["realms", "-o", "csv"]);
    assert!(
        csv.starts_with("function,name,side,listen,trusted\r\nssc1,access,access,udp:"),
        "{csv}"
    );
    assert_eq!(site.json(&["calls"]), Value::Array(Vec::new()));
    assert_eq!(site.text(&["calls"]), "no call runs\n");
    assert!(site.text(&["next-hops"]).contains("far"));
    assert_eq!(site.json(&["alarms", "--history"]), Value::Array(Vec::new()));
    assert!(
        site.text(&["counters", "--name", "oam_", "--all"]).contains("oam_http_requests_total")
    );
    assert_eq!(site.text(&["log", "info,ssc=debug"]), "info,ssc=debug\n");
    assert_eq!(site.text(&["log"]), "info,ssc=debug\n");
    assert_eq!(site.status(&["log", "ssc=loud"]), 1);
}

#[test]
fn a_commit_changes_the_running_site_and_the_site_file() {
    let site = Site::start();
    let before = site.text(&["config", "show"]);
    let (new, other) = (free_port(), free_port());
    let after = before.replace("[[ssc.next_hop]]", &format!(
        "[[ssc.realm]]\nname = \"second\"\nside = \"core\"\nlisten = [\"udp:127.0.0.1:{new}\"]\n\
         [[ssc.next_hop]]"
    ));
    assert_eq!(site.set("[site"), 0, "a candidate may be wrong");
    assert_eq!(site.status(&["config", "check"]), 3);
    assert_eq!(site.status(&["config", "commit"]), 3);
    assert_eq!(site.set(&after), 0);
    assert!(site.text(&["config", "compare"]).contains("+name = \"second\""));
    assert_eq!(site.status(&["config", "check"]), 0);
    assert_eq!(site.text(&["config", "commit"]), "revision 2 runs\n");
    assert_eq!(std::fs::read_to_string(site.file()).unwrap(), after);
    assert!(site.text(&["realms"]).contains("second"));
    assert!(UdpSocket::bind(("127.0.0.1", new)).is_err(), "the new port is bound");

    // A second controller appears and goes; the first one's shard is the same all the time.
    let started = site.json(&["site"])["functions"][0]["uptime_s"].as_u64().unwrap();
    let extra = site_text(other, free_port());
    let extra = &extra[extra.find("[[ssc]]").unwrap()..].replace("ssc1", "ssc2");
    assert_eq!(site.set(&format!("{after}{extra}")), 0);
    assert_eq!(site.text(&["config", "commit"]), "revision 3 runs\n");
    assert_eq!(site.json(&["site"])["functions"].as_array().unwrap().len(), 2);
    assert_eq!(site.text(&["config", "rollback"]), "revision 4 runs\n");
    let functions = site.json(&["site"])["functions"].clone();
    assert_eq!(functions.as_array().unwrap().len(), 1);
    assert!(functions[0]["uptime_s"].as_u64().unwrap() >= started);
    assert!(UdpSocket::bind(("127.0.0.1", other)).is_ok(), "its port is free again");
    assert_eq!(site.json(&["config", "history"]).as_array().unwrap().len(), 4);
}

#[test]
fn a_commit_that_cannot_bind_changes_nothing() {
    let site = Site::start();
    let before = site.text(&["config", "show"]);
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let more = format!("listen = [\"udp:127.0.0.1:{port}\", \"udp:");
    let wrong = before.replacen("listen = [\"udp:", &more, 1);
    assert_eq!(site.set(&wrong), 0);
    let refused = site.ctl(&["config", "commit"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(words(&refused.stderr).contains("is taken by another program"));
    assert_eq!(site.text(&["config", "show"]), before);
    assert_eq!(site.text(&["config", "show", "--candidate"]), wrong, "still there to hint");
    drop(taken);
    assert_eq!(site.status(&["config", "commit"]), 0, "the same candidate");
}

#[test]
fn an_unconfirmed_commit_is_taken_back_without_a_restart() {
    let site = Site::start();
    let before = site.text(&["config", "show"]);
    assert_eq!(site.set(&before.replace("drain_s = 1", "drain_s = 2")), 0);
    let said = site.text(&["config", "commit", "--confirm", "1"]);
    assert!(said.starts_with("revision 2 runs; confirm within"), "{said}");
    assert_eq!(std::fs::read_to_string(site.file()).unwrap(), before, "the site file waits");
    let until = Instant::now() + LONG;
    while site.text(&["config", "show"]) != before {
        assert!(Instant::now() < until, "nobody took it back");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(site.text(&["config", "history"]).contains("not confirmed: back to 1"));
    assert_eq!(site.set(&before.replace("drain_s = 1", "drain_s = 3")), 0);
    assert_eq!(site.status(&["config", "commit", "--confirm", "60"]), 0);
    assert_eq!(site.text(&["config", "confirm"]), "revision 4 runs\n");
    assert!(std::fs::read_to_string(site.file()).unwrap().contains("drain_s = 3"));
}

#[test]
fn the_editor_changes_the_candidate() {
    let site = Site::start();
    let file = site.file();
    let arguments = ["ctl", "--site", file.to_str().unwrap(), "config", "edit"];
    let edit = |editor: &str| {
        let mut command = Command::new(TANDEM);
        command.args(arguments).env("VISUAL", "").env("EDITOR", editor).status().unwrap()
    };
    assert_eq!(edit("false").code(), Some(1));
    assert!(edit("sed -i s/drain_s.=.1/drain_s=7/").success());
    assert!(site.text(&["config", "compare"]).contains("+drain_s=7"));
    assert_eq!(site.status(&["config", "discard"]), 0);
    assert_eq!(site.text(&["config", "compare"]), "");
}

#[test]
fn sigterm_drains_and_the_service_manager_hears_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(LONG)).unwrap();
    let text = site_text(free_port(), free_port());
    let watchdog = [("NOTIFY_SOCKET", path.as_path()), ("WATCHDOG_USEC", Path::new("400000"))];
    let mut site = Site::of(&text, &watchdog);
    let mut heard = String::new();
    let mut hear = |word: &str| {
        let mut buffer = [0; 256];
        while !heard.contains(word) {
            let length = manager.recv(&mut buffer).unwrap_or_else(|e| panic!("{word}: {e}"));
            heard += &words(&buffer[..length]);
        }
    };
    hear("READY=1");
    hear("WATCHDOG=1");
    site.signal("-TERM");
    hear("STOPPING=1");
    assert_eq!(site.ended(), 0);
    assert!(!site.folder.path().join("var/address").exists());
}

#[test]
fn ctl_drain_ends_the_process() {
    let mut site = Site::start();
    assert_eq!(site.status(&["drain"]), 0);
    assert_eq!(site.ended(), 0);
    assert_eq!(site.status(&["site"]), 4);
}

/// An INVITE that nobody answers keeps a call alive; it has come to the far end.
fn call(access: u16, far: &UdpSocket) -> UdpSocket {
    let phone = UdpSocket::bind("127.0.0.1:0").unwrap();
    let me = phone.local_addr().unwrap();
    let invite = format!(
        "INVITE sip:1@127.0.0.1:{access} SIP/2.0\r\nVia: SIP/2.0/UDP {me};branch=z9hG4bK-1\r\n\
         Max-Forwards: 70\r\nFrom: <sip:2@{me}>;tag=1\r\nTo: <sip:1@127.0.0.1>\r\n\
         Call-ID: a@b\r\nCSeq: 1 INVITE\r\nContact: <sip:2@{me}>\r\nContent-Length: 0\r\n\r\n"
    );
    phone.send_to(invite.as_bytes(), ("127.0.0.1", access)).unwrap();
    let mut buffer = [0; 2048];
    far.set_read_timeout(Some(LONG)).unwrap();
    while !buffer.starts_with(b"INVITE ") {
        far.recv_from(&mut buffer).expect("the call reaches the far end");
    }
    phone
}

#[test]
fn a_second_signal_ends_at_once_though_a_call_stands() {
    let (access, core, far) = (free_port(), free_port(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let target = far.local_addr().unwrap().port();
    let text = site_text(access, core)
        .replace("drain_s = 1", "drain_s = 3600")
        .replace("127.0.0.1:9\"", &format!("127.0.0.1:{target}\""));
    let mut site = Site::of(&text, &[]);
    let _phone = call(access, &far);
    site.signal("-TERM");
    let until = Instant::now() + LONG;
    while site.json(&["site"])["functions"][0]["state"] != "draining" {
        assert!(Instant::now() < until, "it does not hear of the signal");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(site.child.try_wait().unwrap().is_none(), "a call stands: it drains");
    site.signal("-INT");
    assert_eq!(site.ended(), 1);
}

#[test]
fn the_drain_has_a_deadline() {
    let (access, core, far) = (free_port(), free_port(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let target = far.local_addr().unwrap().port();
    let text = site_text(access, core).replace("127.0.0.1:9\"", &format!("127.0.0.1:{target}\""));
    let mut site = Site::of(&text, &[]);
    let _phone = call(access, &far);
    site.signal("-TERM");
    assert_eq!(site.ended(), 0);
    let mut said = String::new();
    site.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("the deadline has passed"), "{said}");
}

#[test]
fn a_sas_is_part_of_the_site_and_brings_its_routes() {
    let hep = free_port();
    let text = site_text(free_port(), free_port())
        .replace("name = \"ssc1\"", &format!("name = \"ssc1\"\ncapture = \"tcp:127.0.0.1:{hep}\""))
        + &format!("[sas]\nlisten = [\"tcp:127.0.0.1:{hep}\"]\n");
    let site = Site::of(&text, &[]);
    assert_eq!(site.json(&["site"])["functions"].as_array().unwrap().len(), 2);
    assert_eq!(site.json(&["trails"])["trails"], Value::Array(Vec::new()));
    assert_eq!(site.status(&["trail", "77"]), 1);
    assert_eq!(site.json(&["alarms"]), Value::Array(Vec::new()), "the collector came first");
    let without = text[..text.find("[sas]").unwrap()]
        .replace(&format!("capture = \"tcp:127.0.0.1:{hep}\"\n"), "");
    assert_eq!(site.set(&without), 0);
    assert_eq!(site.status(&["config", "commit"]), 0);
    assert_eq!(site.status(&["trails"]), 1, "its routes are gone with it");
    let back = site.ctl(&["config", "rollback"]);
    assert!(back.status.success(), "{}", words(&back.stderr));
    assert_eq!(site.json(&["trails"])["trails"], Value::Array(Vec::new()), "and back with it");
}

#[test]
fn completion_and_man_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = words(&tandem(&["completion", shell]).stdout);
        assert!(script.contains("tandem") && script.contains("COMPLETE"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("man");
    assert_eq!(status(&["man", directory.to_str().unwrap()]), 0);
    for page in ["tandem.1", "tandem-run.1", "tandem-ctl.1", "tandem-ctl-config-commit.1"] {
        let text = std::fs::read_to_string(directory.join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

/// The commands of a page of the documentation that begin with `start`, without remarks.
fn documented<'a>(page: &'a str, start: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).filter(move |line| line.starts_with(start));
    lines.map(|line| line.split(['#', '>']).next().unwrap().split_whitespace().skip(1).collect())
}

#[test]
fn the_commands_on_tokens_do_what_the_page_says() {
    let site = Site::start();
    let file = site.file();
    let page = include_str!("../../../docs/operations.md");
    let mut printed = Vec::new();
    for command in documented(page, "tandem token ") {
        let given = command
            .iter()
            .map(|word| if *word == "site.toml" { file.to_str().unwrap() } else { word });
        let output = tandem(&given.collect::<Vec<_>>());
        assert!(output.status.success(), "{command:?}: {}", words(&output.stderr));
        printed.push((command[1], words(&output.stdout)));
    }
    let verbs: Vec<&str> = printed.iter().map(|(verb, _)| *verb).collect();
    assert_eq!(verbs, ["new", "list", "revoke", "new"]);
    assert!(printed[1].1.contains("prometheus") && printed[1].1.contains("monitor"));
    let (old, new) = (printed[0].1.trim(), printed[3].1.trim());
    assert_eq!(site.status(&["--token", old, "alarms"]), 1, "revoked");
    assert_eq!(site.status(&["--token", new, "alarms"]), 0);
    let refused = site.ctl(&["--token", new, "config", "show"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = words(&refused.stderr);
    assert!(
        said.contains("`prometheus` is of the role monitor; this needs administrator"),
        "{said}"
    );

    // Asked of every function as well: what one refuses is not nothing.
    let refused = site.ctl(&["--token", new, "calls"]);
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused.stdout));
    assert!(words(&refused.stderr).contains("this needs operator"));

    let of_site =
        |more: &[&str]| tandem(&[&["token", more[0], file.to_str().unwrap()], &more[1..]].concat());
    let again = of_site(&["new", "--role", "operator", "--name", "prometheus"]);
    assert_eq!(again.status.code(), Some(5), "{}", words(&again.stderr));
    assert_eq!(of_site(&["new", "--role", "operator", "--name", "../x"]).status.code(), Some(2));
    assert_eq!(of_site(&["revoke", "nobody"]).status.code(), Some(1));
    let listed = words(&of_site(&["list"]).stdout);
    assert!(listed.contains("administrator") && listed.contains("var/token"), "{listed}");
    let first = of_site(&["revoke", "administrator"]);
    let said = words(&first.stderr);
    assert!(first.status.code() == Some(1) && said.contains("write a new one there"), "{said}");
}

#[test]
fn a_request_that_is_refused_has_a_line_in_the_log() {
    let mut site = Site::start();
    let url = site.json(&["site"])["address"].as_str().map(str::to_owned);
    let url = url.unwrap_or_else(|| {
        std::fs::read_to_string(site.folder.path().join("var/address")).unwrap().trim().to_owned()
    });
    let ask = |name: &str, value: &str| {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = agent.get(format!("{url}/api/v1/site")).header(name, value);
        request.call().unwrap().status().as_u16()
    };
    assert_eq!(ask("host", "rebound.example"), 421);
    let guesses: Vec<u16> = (0..25).map(|_| ask("authorization", "Bearer wrong")).collect();
    assert!(guesses.contains(&401) && guesses.contains(&429), "{guesses:?}");
    site.signal("-TERM");
    let mut log = String::new();
    site.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    let lines = log.lines().filter(|line| line.contains("audit") && line.contains("refused"));
    let lines: Vec<&str> = lines.collect();
    assert!((2..=7).contains(&lines.len()), "bounded: {lines:#?}");
    assert!(lines[0].contains("status=421") && lines[0].contains("rebound.example"), "{lines:#?}");
    assert!(lines[1].contains("status=401") && lines[1].contains("127.0.0.1"), "{lines:#?}");
}

#[test]
fn every_route_of_a_running_site_has_a_row_that_says_its_role() {
    let sas = format!(
        "[sas]\nname = \"sas1\"\ndirectory = \"sas\"\nlisten = [\"udp:127.0.0.1:{}\"]\n",
        free_port()
    );
    let site = Site::of(&(site_text(free_port(), free_port()) + &sas), &[]);
    let read = |name: &str| std::fs::read_to_string(site.folder.path().join("var").join(name));
    let (url, token) = (read("address").unwrap(), read("token").unwrap());
    let request = ureq::get(format!("{}/api/v1/openapi.json", url.trim()));
    let mut answer =
        request.header("authorization", format!("Bearer {}", token.trim())).call().unwrap();
    let openapi: Value =
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
    let mut routes = std::collections::BTreeSet::new();
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        // Every question of every function has the right of one row.
        let function = path.strip_prefix("/api/v1/functions/{name}/");
        let path = function.map_or(&**path, |_| "/api/v1/functions/{name}/{path}");
        for method in methods.as_object().unwrap().keys() {
            routes.insert((method.to_uppercase(), path.to_owned()));
        }
    }
    let rows = oam::http::rights::RIGHTS.iter();
    let rows = rows.map(|right| (right.method.to_owned(), right.path.to_owned())).collect();
    assert_eq!(routes, rows);
}
