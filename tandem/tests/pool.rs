//! The pool of sessions across processes: one keeps it, two controllers draw from it, and the
//! keeper is killed and started again under calls.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use serde_json::Value;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
/// Sessions of the pool.
const SESSIONS: usize = 20;
/// Calls beyond its block that a controller may have while the keeper is away.
const OVERDRAFT: usize = 5;

fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
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
            std::fs::write(folder.path().join("var/pool-secret"), secret).unwrap();
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

    fn pool(&self) -> Value {
        serde_json::from_slice(&self.ctl(&["pool", "-o", "json"])).unwrap()
    }

    /// Waits until the first row of `ctl pool` says so.
    fn wait(&self, key: &str, wanted: &str) {
        let until = Instant::now() + Duration::from_secs(40);
        while self.pool()[0][key] != wanted {
            assert!(Instant::now() < until, "no {key} {wanted}: {}", self.pool());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// A call that rings on; the first final answer, or 180.
    fn call(&self, name: &str) -> u16 {
        let phone = UdpSocket::bind("127.0.0.1:0").unwrap();
        phone.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
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
                return status;
            }
        }
    }

    /// That many calls, with a little time between them; how many rang.
    fn calls(&self, name: &str, count: usize) -> usize {
        let rings = |n: usize| {
            thread::sleep(Duration::from_millis(100));
            match self.call(&format!("{name}{n}")) {
                180 => true,
                503 => false,
                other => panic!("{other}"),
            }
        };
        (0..count).filter(|&n| rings(n)).count()
    }
}

/// Rings, and never answers, so that each call stands for minutes.
fn ring(socket: &UdpSocket) {
    let mut buffer = [0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer) {
        let text = std::str::from_utf8(&buffer[..length]).unwrap();
        if !text.starts_with("INVITE") {
            continue;
        }
        let kept = text.lines().filter(|line| {
            ["Via", "From", "To", "Call-ID", "CSeq"].contains(&line.split(':').next().unwrap())
        });
        let mut answer = "SIP/2.0 180 Ringing\r\n".to_owned();
        for line in kept {
            let tag = if line.starts_with("To:") { ";tag=b" } else { "" };
            answer += &format!("{line}{tag}\r\n");
        }
        answer += "Contact: <sip:b@127.0.0.1>\r\nContent-Length: 0\r\n\r\n";
        socket.send_to(answer.as_bytes(), from).unwrap();
    }
}

fn site(pool: &str, ssc: &str) -> String {
    format!(
        "[site]\nname = \"t\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
         drain_s = 1\n[pool]\n{pool}\n{ssc}"
    )
}

fn controller(name: &str, keeper: u16, switch: SocketAddr) -> (String, u16) {
    let (access, core) = (free_port(), free_port());
    let ssc = format!(
        "[[ssc]]\nname = \"{name}\"\n[[ssc.realm]]\nname = \"access\"\n\
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

#[test]
fn two_controllers_share_the_pool_and_lose_no_call_while_its_keeper_is_away() {
    let switch = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = switch.local_addr().unwrap();
    thread::spawn(move || ring(&switch));
    let port = free_port();
    let text = site(&format!("sessions = {SESSIONS}\nlisten = \"127.0.0.1:{port}\""), "");
    let mut keeper = Process::start(&text, port, None);
    let secret = std::fs::read_to_string(keeper.folder.path().join("var/pool-secret")).unwrap();
    let [one, two] = ["ssc1", "ssc2"].map(|name| {
        let (text, access) = controller(name, port, at);
        Process::start(&text, access, Some(&secret))
    });
    one.wait("keeper", "present");
    two.wait("keeper", "present");

    // All of it goes to where it is wanted, and not one more.
    // The last ones idle at the other controller until somebody was refused here.
    assert_eq!(one.calls("a", SESSIONS + 5), SESSIONS, "{}", keeper.pool());
    assert_eq!(two.calls("b", 1), 0, "nothing is left: {}", keeper.pool());
    assert_eq!((held(&one), held(&two)), (SESSIONS as u64, 0));
    assert_eq!(keeper.pool()[0]["held"], SESSIONS);
    let alarms = String::from_utf8(keeper.ctl(&["alarms"])).unwrap();
    assert!(alarms.contains("pool-nearly-used"), "{alarms}");

    // The keeper dies: calls go on, new ones start in the overdraft.
    keeper.kill();
    one.wait("keeper", "away");
    two.wait("keeper", "away");
    assert_eq!(one.calls("c", OVERDRAFT + 1), OVERDRAFT);
    assert_eq!(two.calls("d", OVERDRAFT + 1), OVERDRAFT);
    let alarms = String::from_utf8(one.ctl(&["alarms"])).unwrap();
    assert!(alarms.contains("pool-keeper-away"), "{alarms}");

    // It comes back, learns what is held and leases no session twice; no call was touched.
    keeper.child = launch(keeper.folder.path());
    one.wait("keeper", "present");
    two.wait("keeper", "present");
    let rows = keeper.pool();
    assert!(rows[0]["held"].as_u64().unwrap() <= SESSIONS as u64, "{rows}");
    assert_eq!(rows[0]["live"], SESSIONS + 2 * OVERDRAFT);
    assert_eq!((one.calls("e", 2), two.calls("f", 2)), (0, 0), "{}", keeper.pool());
    assert_eq!(one.pool()[0]["live"], SESSIONS + OVERDRAFT);
}
