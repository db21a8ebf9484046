//! The pool of sessions across processes: one keeps it, controllers draw from it. The keeper is
//! killed and started again under calls; so is, for good, the active node of a pair, and its
//! standby comes back elsewhere.

use serde_json::Value;
use std::io::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
/// What must happen happens by then, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);
/// Sessions of the pool.
const SESSIONS: usize = 20;
/// Calls beyond its block that a controller may have while the keeper is away.
const OVERDRAFT: usize = 5;
/// The key of the pair.
const PAIR_KEY: &str = "what only these two nodes know";
/// Calls that a pair has.
const PAIRED: usize = 12;

fn free_port() -> u16 {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port()
}

/// A process of the site; killed when dropped.
struct Process {
    folder: tempfile::TempDir,
    child: Child,
    access: SocketAddr,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn launch(folder: &Path) -> Child {
    let mut command = Command::new(TANDEM);
    command.args(["run", "site.toml"]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Process {
    /// Starts a site of this text; `secret` is that of the keeper.
    fn start(text: &str, access: u16, secret: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        if let Some(secret) = secret {
            std::fs::create_dir(folder.path().join("var")).unwrap();
            for (name, octets) in [("pool-secret", secret), ("pair.key", PAIR_KEY)] {
                let mut options = std::fs::OpenOptions::new();
                let path = folder.path().join("var").join(name);
                let mut file = options.write(true).create_new(true).mode(0o600).open(path).unwrap();
                file.write_all(octets.as_bytes()).unwrap();
            }
        }
        let child = launch(folder.path());
        let process = Self { folder, child, access: ([127, 0, 0, 1], access).into() };
        process.ctl(&["wait"]);
        process
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ctl(&self, arguments: &[&str]) -> Vec<u8> {
        let file = self.folder.path().join("site.toml");
        let site = ["ctl", "--site", file.to_str().unwrap(), "--timeout", "60"];
        let output = Command::new(TANDEM).args(site).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        output.stdout
    }

    /// What `tandem ctl` says, as JSON.
    fn shown(&self, what: &str) -> Value {
        serde_json::from_slice(&self.ctl(&[what, "-o", "json"])).unwrap()
    }

    fn pool(&self) -> Value {
        self.shown("pool")
    }

    /// Commits this text; what hinders, in words.
    fn commit(&self, text: &str) -> Result<(), String> {
        std::fs::write(self.folder.path().join("next.toml"), text).unwrap();
        let next = self.folder.path().join("next.toml");
        self.ctl(&["config", "set-file", next.to_str().unwrap()]);
        let site = self.folder.path().join("site.toml");
        let arguments = ["ctl", "--site", site.to_str().unwrap(), "config", "commit"];
        let output = Command::new(TANDEM).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(said.into_owned()) }
    }

    /// Waits until the first row of `ctl pool` says so.
    fn wait(&self, key: &str, wanted: &str) {
        let until = Instant::now() + LONG;
        while self.pool()[0][key] != wanted {
            assert!(Instant::now() < until, "no {key} {wanted}: {}", self.pool());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// A call that rings on, or one that stands; the first final answer, or 180.
    fn call(&self, name: &str) -> u16 {
        self.phone(name).0
    }

    /// The same with its phone and what that was answered.
    fn phone(&self, name: &str) -> (u16, UdpSocket, String) {
        let phone = UdpSocket::bind("127.0.0.1:0").unwrap();
        phone.set_read_timeout(Some(LONG)).unwrap();
        let me = phone.local_addr().unwrap();
        let invite = format!(
            "INVITE sip:1@{} SIP/2.0\r\nVia: SIP/2.0/UDP {me};branch=z9hG4bK-{name}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:2@{me}>;tag=1\r\nTo: <sip:1@127.0.0.1>\r\n\
             Call-ID: {name}@{me}\r\nCSeq: 1 INVITE\r\nContact: <sip:2@{me}>\r\n\
             Content-Length: 0\r\n\r\n",
            self.access
        );
        phone.send_to(invite.as_bytes(), self.access).unwrap();
        let mut buffer = [0; 4096];
        loop {
            let length = phone.recv(&mut buffer).expect("an answer");
            let text = std::str::from_utf8(&buffer[..length]).unwrap();
            let status = text["SIP/2.0 ".len()..][..3].parse().unwrap();
            if status > 100 {
                return (status, phone, text.to_owned());
            }
        }
    }

    /// Calls until that many ring, and as many more; how many rang.
    fn calls(&self, name: &str, wanted: usize, more: usize) -> usize {
        calls(wanted, more, |n| match self.call(&format!("{name}{n}")) {
            180 => true,
            503 => false,
            other => panic!("{other}"),
        })
    }
}

/// Calls until that many stand, and as many more; how many do. Sessions are leased by blocks: a
/// call that comes before its block is refused, and another one is made.
fn calls(wanted: usize, more: usize, mut call: impl FnMut(usize) -> bool) -> usize {
    let (until, mut stand, mut made) = (Instant::now() + LONG, 0, 0);
    let mut calls = || {
        thread::sleep(Duration::from_millis(100));
        made += 1;
        call(made)
    };
    while stand < wanted && Instant::now() < until {
        stand += usize::from(calls());
    }
    stand + (0..more).filter(|_| calls()).count()
}

/// The ACK to an answer.
fn ack(answer: &str) -> String {
    let line = |name: &str| answer.lines().find(|line| line.starts_with(name)).unwrap();
    let contact = line("Contact: <").trim_start_matches("Contact: <").split('>').next().unwrap();
    let via = line("Via: ").split(";branch=").next().unwrap();
    let [from, to, call_id] = ["From: ", "To: ", "Call-ID: "].map(line);
    format!(
        "ACK {contact} SIP/2.0\r\n{via};branch=z9hG4bK-ack\r\nMax-Forwards: 70\r\n\
         {from}\r\n{to}\r\n{call_id}\r\nCSeq: 1 ACK\r\nContent-Length: 0\r\n\r\n"
    )
}

/// The far end of all calls: this is what it says to an INVITE. Who hears 180 only has a call that
/// rings for minutes.
fn far_end(socket: &UdpSocket, status: &str) {
    let mut buffer = [0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        let text = std::str::from_utf8(&buffer[..length]).unwrap();
        if !text.starts_with("INVITE") {
            continue;
        }
        let kept = text.lines().filter(|line| {
            ["Via", "From", "To", "Call-ID", "CSeq"].contains(&line.split(':').next().unwrap())
        });
        let mut answer = format!("SIP/2.0 {status}\r\n");
        for line in kept {
            let tag = if line.starts_with("To:") { ";tag=b" } else { "" };
            answer += &format!("{line}{tag}\r\n");
        }
        let me = socket.local_addr().unwrap();
        answer += &format!("Contact: <sip:b@{me}>\r\nContent-Length: 0\r\n\r\n");
        socket.send_to(answer.as_bytes(), from).unwrap();
    }
}

fn site(pool: &str, ssc: &str) -> String {
    format!(
        "[site]\nname = \"t\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
         drain_s = 1\n[pool]\n{pool}\n{ssc}"
    )
}

/// The site of a controller, `more` are lines of its section; and its port for calls.
fn controller(name: &str, keeper: u16, switch: SocketAddr, more: &str) -> (String, u16) {
    let (access, core) = (free_port(), free_port());
    let ssc = format!(
        "[[ssc]]\nname = \"{name}\"\n{more}[[ssc.realm]]\nname = \"access\"\n\
         listen = [\"udp:127.0.0.1:{access}\"]\n[[ssc.realm]]\nname = \"core\"\n\
         side = \"core\"\nlisten = [\"udp:127.0.0.1:{core}\"]\n[[ssc.next_hop]]\n\
         name = \"switch\"\nrealm = \"core\"\ntargets = [\"udp:{switch}\"]\n\
         probe_interval_s = 0\n[[ssc.route]]\nfrom = \"access\"\nto = [\"switch\"]\n"
    );
    let pool = format!("keeper = \"127.0.0.1:{keeper}\"\noverdraft = {OVERDRAFT}");
    (site(&pool, &ssc), access)
}

fn held(process: &Process) -> u64 {
    process.pool()[0]["held"].as_u64().unwrap()
}

/// A process that keeps the pool, and its secret; the port where it does.
fn keeper() -> (Process, String, u16) {
    let port = free_port();
    let text = site(&format!("sessions = {SESSIONS}\nlisten = \"127.0.0.1:{port}\""), "");
    let keeper = Process::start(&text, port, None);
    let secret = std::fs::read_to_string(keeper.folder.path().join("var/pool-secret")).unwrap();
    (keeper, secret, port)
}

/// Where the far end of all calls is.
fn switch(status: &'static str) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    thread::spawn(move || far_end(&socket, status));
    at
}

#[test]
fn two_controllers_share_the_pool_and_lose_no_call_while_its_keeper_is_away() {
    let at = switch("180 Ringing");
    let (mut keeper, secret, port) = keeper();
    let [one, two] = ["ssc1", "ssc2"].map(|name| {
        let (text, access) = controller(name, port, at, "");
        Process::start(&text, access, Some(&secret))
    });
    one.wait("keeper", "present");
    two.wait("keeper", "present");

    // All of it goes to where it is wanted, and not one more.
    // The last ones idle at the other controller until somebody was refused here.
    assert_eq!(one.calls("a", SESSIONS, 5), SESSIONS, "{}", keeper.pool());
    assert_eq!(two.calls("b", 0, 1), 0, "nothing is left: {}", keeper.pool());
    assert_eq!((held(&one), held(&two)), (SESSIONS as u64, 0));
    assert_eq!(keeper.pool()[0]["held"], SESSIONS);
    let alarms = String::from_utf8(keeper.ctl(&["alarms"])).unwrap();
    assert!(alarms.contains("pool-nearly-used"), "{alarms}");

    // The keeper dies: calls go on, new ones start in the overdraft.
    keeper.kill();
    one.wait("keeper", "away");
    two.wait("keeper", "away");
    assert_eq!(one.calls("c", OVERDRAFT, 1), OVERDRAFT);
    assert_eq!(two.calls("d", OVERDRAFT, 1), OVERDRAFT);
    let alarms = String::from_utf8(one.ctl(&["alarms"])).unwrap();
    assert!(alarms.contains("pool-keeper-away"), "{alarms}");

    // It comes back, learns what is held and leases no session twice; no call was touched.
    keeper.child = launch(keeper.folder.path());
    one.wait("keeper", "present");
    two.wait("keeper", "present");
    let rows = keeper.pool();
    assert!(rows[0]["held"].as_u64().unwrap() <= SESSIONS as u64, "{rows}");
    assert_eq!(rows[0]["live"], SESSIONS + 2 * OVERDRAFT);
    assert_eq!((one.calls("e", 0, 2), two.calls("f", 0, 2)), (0, 0), "{}", keeper.pool());
    assert_eq!(one.pool()[0]["live"], SESSIONS + OVERDRAFT);
}

/// Two nodes that stand in for each other. Each has an address of its own for calls: without root
/// there is none that moves.
fn pair(keeper: u16, secret: &str, at: SocketAddr) -> [Process; 2] {
    let link = [free_port(), free_port()];
    [0, 1].map(|n| {
        let (node, own, other) = (["a", "b"][n], link[n], link[1 - n]);
        // A busy machine is no dead node.
        let replica = format!(
            "[ssc.replica]\nnode = \"{node}\"\npriority = {}\nheartbeat_ms = 100\n\
             detect_ms = 4000\nkey_file = \"pair.key\"\nlisten = \"127.0.0.1:{own}\"\n\
             peer = \"127.0.0.1:{other}\"\n",
            1 - n
        );
        let (text, access) = controller("paired", keeper, at, &replica);
        Process::start(&text, access, Some(secret))
    })
}

#[test]
fn a_pair_has_one_account_and_no_session_is_lost_or_leased_twice_by_a_takeover() {
    let at = switch("200 OK");
    let (keeper, secret, port) = keeper();
    let [mut active, standby] = pair(port, &secret, at);
    let (text, access) = controller("alone", port, at, "");
    let alone = Process::start(&text, access, Some(&secret));
    active.wait("keeper", "present");
    alone.wait("keeper", "present");
    standby.wait("keeper", "standby");

    // Calls stand at the pair, and as many as there are left at the other controller.
    let call = |process: &Process, name: String| {
        let (status, phone, answer) = process.phone(&name);
        if status == 200 {
            phone.send_to(ack(&answer).as_bytes(), process.access).unwrap();
        }
        status == 200
    };
    let calls = |process: &Process, name: &str, wanted: usize, more: usize| {
        calls(wanted, more, |n| call(process, format!("{name}{n}")))
    };
    assert_eq!(calls(&active, "pair", PAIRED, 0), PAIRED, "{}", keeper.pool());
    assert_eq!(calls(&alone, "alone", SESSIONS - PAIRED, 5), SESSIONS - PAIRED);
    let account = |wanted: &str| {
        let rows = keeper.pool();
        let rows: Vec<Value> = rows.as_array().unwrap()[1..].to_vec();
        assert_eq!(rows.len(), 2, "{rows:?}");
        rows.into_iter().find(|row| row["drawer"] == wanted).unwrap()
    };
    assert_eq!((&account("pair-1/0")["live"], held(&keeper)), (&PAIRED.into(), SESSIONS as u64));

    // The active node dies: at no time is more leased than there is.
    active.kill();
    let until = Instant::now() + LONG;
    while standby.pool()[0]["keeper"] != "present" {
        assert!(held(&keeper) <= SESSIONS as u64, "{}", keeper.pool());
        assert!(calls(&alone, "between", 0, 1) == 0, "{}", keeper.pool());
        assert!(Instant::now() < until, "nobody took over: {}", standby.pool());
    }
    let own = account("pair-1/0");
    assert_eq!((&own["held"], &own["live"]), (&PAIRED.into(), &PAIRED.into()), "{own}");
    assert!(calls(&standby, "beyond", 0, 1) == 0, "the pool is used up: {}", keeper.pool());

    // No call was lost; each gives its session back when it ends.
    let rows: Value = serde_json::from_slice(&standby.ctl(&["calls", "-o", "json"])).unwrap();
    let ids: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|r| r["id"].as_str()).collect();
    assert_eq!(ids.len(), PAIRED, "{rows}");
    for id in ids {
        standby.ctl(&["terminate", "paired", id]);
    }
    assert_eq!(calls(&alone, "then", PAIRED, 5), PAIRED, "{}", keeper.pool());
    assert_eq!(keeper.pool()[0]["live"], SESSIONS);
}

/// The text of a site with another address after this key of the pair.
fn moved(text: &str, key: &str, port: u16) -> String {
    let section = text.find("[ssc.replica]").unwrap();
    let (before, pair) = text.split_at(section);
    let line = pair.lines().find(|line| line.starts_with(key)).unwrap();
    format!("{before}{}", pair.replacen(line, &format!("{key} = \"127.0.0.1:{port}\""), 1))
}

#[test]
fn a_standby_that_comes_back_elsewhere_is_found_by_a_commit_and_no_call_is_lost() {
    let at = switch("200 OK");
    let (_keeper, secret, port) = keeper();
    let [active, mut standby] = pair(port, &secret, at);
    active.wait("keeper", "present");
    standby.wait("keeper", "standby");
    let stand = calls(PAIRED, 0, |n| {
        let (status, phone, answer) = active.phone(&format!("moves{n}"));
        if status == 200 {
            phone.send_to(ack(&answer).as_bytes(), active.access).unwrap();
        }
        status == 200
    });
    assert_eq!(stand, PAIRED);
    let is_synced = |process: &Process, wanted: bool| {
        let until = Instant::now() + LONG;
        while (process.shown("replica")[0]["synced"] == true) != wanted {
            assert!(Instant::now() < until, "{}", process.shown("replica"));
            thread::sleep(Duration::from_millis(100));
        }
    };
    // The standby ends, and is missed: what it said last counts for `detect_ms`. Its peer is told
    // where it will be.
    standby.kill();
    is_synced(&active, false);
    let link = free_port();
    let text = |process: &Process| {
        std::fs::read_to_string(process.folder.path().join("site.toml")).unwrap()
    };
    let refused = active.commit(&moved(&text(&active), "listen", link)).unwrap_err();
    assert!(refused.contains("replica.listen"), "{refused}");
    active.commit(&moved(&text(&active), "peer", link)).unwrap();
    let rows = active.shown("replica");
    assert_eq!(
        (&rows[0]["peer"], &rows[0]["role"]),
        (&format!("127.0.0.1:{link}").into(), &"active".into())
    );

    let site = standby.folder.path().join("site.toml");
    std::fs::write(&site, moved(&text(&standby), "listen", link)).unwrap();
    standby.child = launch(standby.folder.path());
    standby.ctl(&["wait"]);
    is_synced(&active, true);
    // It has all calls, and ends them once it serves.
    active.ctl(&["switchover", "paired"]);
    let rows = standby.shown("calls");
    let ids: Vec<&str> = rows.as_array().unwrap().iter().filter_map(|r| r["id"].as_str()).collect();
    assert_eq!(ids.len(), PAIRED, "{rows}");
    ids.iter().for_each(|id| drop(standby.ctl(&["terminate", "paired", id])));
    assert_eq!(standby.shown("replica")[0]["role"], "active");
}
