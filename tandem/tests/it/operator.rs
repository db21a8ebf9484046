//! `tandem ctl` on the machine of the sites: found without options, asked as whom the kernel knows,
//! completed by a shell, and what it shows of MSUs.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const VARIABLES: [&str; 6] =
    ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET", "NO_COLOR", "RUNTIME_DIRECTORY"];

/// The program with this folder for control sockets.
fn command(program: &str, run: &Path) -> Command {
    let mut command = Command::new(program);
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.env("TANDEM_RUN", run).stdin(Stdio::null());
    command
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sites of one folder of control sockets; killed when dropped.
struct Machine {
    folder: tempfile::TempDir,
    sites: Vec<Child>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        for site in &mut self.sites {
            let _ = site.kill();
            let _ = site.wait();
        }
    }
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("run")).unwrap();
        Self { folder, sites: Vec::new() }
    }

    fn run(&self) -> std::path::PathBuf {
        self.folder.path().join("run")
    }

    /// Starts a site of that name with these sections, and waits for it by its name.
    fn start(&mut self, name: &str, sections: &str) {
        let folder = self.folder.path().join(format!("of-{name}"));
        std::fs::create_dir(&folder).unwrap();
        let head = format!(
            "[site]\nname = \"{name}\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
             drain_s = 1\n"
        );
        std::fs::write(folder.join("site.toml"), head + sections).unwrap();
        let mut site = command(TANDEM, &self.run());
        site.args(["run", "site.toml"]).current_dir(&folder).stderr(Stdio::null());
        self.sites.push(site.spawn().unwrap());
        let waited = self.ctl(&["--site", name, "--timeout", "60", "wait"]);
        assert!(waited.status.success(), "{}", words(&waited.stderr));
    }

    fn tandem(&self, arguments: &[&str]) -> Output {
        command(TANDEM, &self.run()).args(arguments).output().unwrap()
    }

    fn ctl(&self, arguments: &[&str]) -> Output {
        self.tandem(&[&["ctl"], arguments].concat())
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.ctl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", words(&output.stderr));
        words(&output.stdout)
    }
}

fn free_port() -> u16 {
    peers::free_port([127, 0, 0, 1].into()).unwrap().port()
}

fn free_udp_port() -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// A gateway that sends what it gets back from its own point code 2, and serves 1 by an ASP.
fn gateway(name: &str, port: u16, more: &str) -> String {
    format!(
        r#"[[sgc]]
name = "{name}"
point_code_format = "decimal"
point_codes = ["2"]
echo_service_indicators = [15]
tcp = {{ listen = ["127.0.0.1:{port}"] }}
{more}
peer = [{{ name = "hlr", role = "asp", transport = "tcp", addresses = ["127.0.0.1"] }}]
application_server = [
  {{ name = "one", peers = ["hlr"], routing_context = 1, destination = [{{ point_code = "1" }}] }},
]
"#
    )
}

#[test]
fn one_site_is_found_by_itself_and_of_several_one_is_named() {
    let mut machine = Machine::new();
    machine.start("north", &gateway("sgc1", free_port(), ""));
    let shown = machine.text(&["site"]);
    assert!(shown.starts_with("north  tandem ") && shown.contains("sgc1"), "{shown}");
    // Who waits without a name is told which one it is: it may have run before.
    let waited = machine.ctl(&["wait"]);
    assert_eq!((waited.status.code(), words(&waited.stdout)), (Some(0), String::new()));
    assert_eq!(words(&waited.stderr), "the site `north` serves\n");
    assert_eq!(
        machine.text(&["calls"]),
        "no function of this site has `calls`, which is of session controllers ([[ssc]]); \
         there are: sgc1 (sgc)\n"
    );
    // What is not there says where it would be.
    let asked = |path: &str| {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "5", "--unix-socket"]);
        curl.arg(machine.run().join("north.sock")).arg(format!("http://127.0.0.1{path}"));
        words(&curl.output().unwrap().stdout)
    };
    for path in ["/api/v1/functions", "/api/v1/functions/"] {
        assert!(asked(path).contains("`GET /api/v1/site` lists the functions"), "{}", asked(path));
    }
    let absent = "`[sas]` does not stand in its site file";
    assert!(asked("/api/v1/sas/trails").contains(absent), "{}", asked("/api/v1/sas/trails"));
    assert!(asked("/api/v1/sbs/trails").contains("no such path"));
    machine.start("south", &gateway("sgc2", free_port(), ""));
    let which = machine.ctl(&["site"]);
    let said = words(&which.stderr);
    assert_eq!(which.status.code(), Some(2), "{said}");
    assert!(said.contains("these run: north, south") && said.contains("--site NAME"), "{said}");
    let which = machine.ctl(&["wait"]);
    assert_eq!(which.status.code(), Some(2), "{}", words(&which.stderr));
    assert!(words(&which.stderr).contains("these run: north, south"), "{}", words(&which.stderr));
    let named = machine.ctl(&["--site", "south", "wait"]);
    assert_eq!((named.status.code(), words(&named.stderr)), (Some(0), String::new()));
    assert!(machine.text(&["--site", "south", "site"]).starts_with("south"));
    let by_variable = command(TANDEM, &machine.run())
        .env("TANDEM_SITE", "north")
        .args(["ctl", "site"])
        .output()
        .unwrap();
    assert!(words(&by_variable.stdout).starts_with("north"));
    let none = machine.ctl(&["--site", "west", "site"]);
    assert_eq!(none.status.code(), Some(4), "{}", words(&none.stderr));
    // A token may take rights away, and the old way stands.
    let wrong = machine.ctl(&["--site", "north", "--token", "x", "site"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", words(&wrong.stderr));
    let file = machine.folder.path().join("of-north/site.toml");
    assert!(machine.text(&["--site", file.to_str().unwrap(), "site"]).starts_with("north"));
    let read = |name: &str| {
        std::fs::read_to_string(machine.folder.path().join("of-north/var").join(name)).unwrap()
    };
    let (url, token) = (read("address"), read("token"));
    let remote = ["--url", url.trim(), "--token", token.trim(), "site"];
    assert!(machine.text(&remote).starts_with("north"));
    // Its socket goes with a site.
    machine.text(&["--site", "south", "drain"]);
    machine.sites[1].wait().unwrap();
    assert!(!machine.run().join("south.sock").exists());
    assert!(machine.text(&["site"]).starts_with("north"));
}

#[test]
fn nothing_that_runs_and_a_socket_that_is_not_believed_are_told() {
    let mut machine = Machine::new();
    let none = machine.ctl(&["site"]);
    let said = words(&none.stderr);
    assert!(said.contains("no site runs on this machine"), "{said}");
    machine.start("edge", &gateway("sgc1", free_port(), ""));
    std::fs::set_permissions(machine.run(), Permissions::from_mode(0o1777)).unwrap();
    for asked in [&["site"][..], &["--site", "edge", "site"], &["--timeout", "1", "wait"]] {
        let doubted = machine.ctl(asked);
        let said = words(&doubted.stderr);
        assert!(!doubted.status.success() && said.contains("edge.sock is not asked"), "{said}");
        assert!(said.contains("(mode 1777)") && said.contains("chmod go-w"), "{said}");
    }
    // With a token the default address is asked, where nobody listens; the socket is named too.
    let mut asked = command(TANDEM, &machine.run());
    asked.env("TANDEM_TOKEN", "x").args(["ctl", "--timeout", "5", "site"]);
    let said = words(&asked.output().unwrap().stderr);
    assert!(said.contains("edge.sock is not asked") && said.contains("127.0.0.1:8080"), "{said}");
    // Its own log says it as well.
    let folder = machine.folder.path().join("of-edge");
    std::fs::write(
        folder.join("other.toml"),
        "[site]\nname = \"other\"\ndirectory = \"other\"\n\
        [oam]\nlisten = \"127.0.0.1:0\"\n",
    )
    .unwrap();
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let mut site = command(TANDEM, &machine.run());
    site.args(["run", "other.toml"]).current_dir(&folder).stderr(log);
    machine.sites.push(site.spawn().unwrap());
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut said = String::new();
    while std::time::Instant::now() < until && !said.contains("other.sock is not asked") {
        said = std::fs::read_to_string(folder.join("log")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(said.contains("other.sock is not asked"), "{said}");
}

#[test]
fn a_site_is_waited_for_until_somebody_forwards_for_its_routers() {
    let mut machine = Machine::new();
    let folder = machine.folder.path().to_owned();
    let text = "[site]\nname = \"edge\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
        [[pe]]\nname = \"pe1\"\nforwarder = \"external\"\n";
    std::fs::write(folder.join("site.toml"), text).unwrap();
    let mut site = command(TANDEM, &machine.run());
    site.args(["run", "site.toml"]).current_dir(&folder).stderr(Stdio::null());
    machine.sites.push(site.spawn().unwrap());
    let waited = machine.ctl(&["--timeout", "3", "wait"]);
    let said = words(&waited.stderr);
    assert_eq!(waited.status.code(), Some(6), "{said}");
    assert!(said.contains("the forwarder of pe1 is away"), "{said}");
}

#[test]
fn a_socket_answers_its_user_and_root_in_every_network_namespace_and_nobody_else() {
    let mut machine = Machine::new();
    machine.start("edge", &gateway("sgc1", free_port(), ""));
    let socket = machine.run().join("edge.sock");
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let elsewhere = command("unshare", &machine.run())
        .args(["--user", "--map-root-user", "--net", TANDEM, "ctl", "site"])
        .output()
        .unwrap();
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    if elsewhere.status.code() != Some(1) {
        assert!(words(&elsewhere.stdout).starts_with("edge"), "{}", words(&elsewhere.stderr));
    }
    if !is_root {
        return; // nobody else can be become
    }
    // Even where the file lets anybody in, the site asks the kernel who it is.
    for path in [machine.folder.path(), &machine.run()] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let asked = |user: &str| {
        let mut asks = Command::new("setpriv");
        asks.args(["--reuid", user, "--clear-groups", "curl", "--silent", "--max-time", "5"]);
        asks.args(["--unix-socket", socket.to_str().unwrap(), "http://127.0.0.1/api/v1/log"]);
        asks.output().unwrap()
    };
    std::fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    assert!(words(&asked("0").stdout).contains("filter"), "root is an administrator");
    let nobody = asked("65534");
    assert!(nobody.stdout.is_empty() && !nobody.status.success(), "{}", words(&nobody.stdout));
    // And `ctl` says whose it is.
    let mut other = command("setpriv", &machine.run());
    other.args(["--reuid", "65534", "--clear-groups", TANDEM, "ctl", "site"]);
    let other = other.output().unwrap();
    if other.status.code() != Some(126) {
        assert!(words(&other.stderr).contains("of user 0"), "{}", words(&other.stderr));
    }
    // A socket that a stranger has placed is not believed.
    std::os::unix::fs::chown(&socket, Some(65_534), None).unwrap();
    let strange = machine.ctl(&["--site", "edge", "site"]);
    assert_eq!(strange.status.code(), Some(4), "{}", words(&strange.stderr));
}

#[test]
fn a_shell_completes_functions_and_peers() {
    let mut machine = Machine::new();
    machine.start("edge", &gateway("sgc1", free_port(), ""));
    let completed = |line: &[&str]| {
        let mut shell = command(TANDEM, &machine.run());
        shell.env("COMPLETE", "fish").args(["--", "tandem"]).args(line);
        words(&shell.output().unwrap().stdout)
    };
    let first = completed(&["ctl", "m3ua", "block", ""]);
    assert!(first.contains("sgc1") && first.contains("hlr"), "the one gateway is meant: {first}");
    let peers = completed(&["ctl", "m3ua", "block", "sgc1", ""]);
    assert!(peers.contains("hlr"), "{peers}");
    assert!(!completed(&["ctl", "m3ua", "block", "sgc1", "x"]).contains("hlr"));
    assert!(completed(&["ctl", "--site", ""]).contains("edge"));
    assert!(completed(&["ctl", "next"]).contains("next-hops"));
    assert!(completed(&["ctl", "counters", "--name", "m3ua_exp"]).contains("m3ua_expired_total"));
    assert!(completed(&["ctl", "config", "rollback", ""]).contains("1\t"));
    assert!(completed(&["demo", ""]).contains("ss7"));
    let questions = completed(&["ctl", "plane", "ask", "edge", "ne"]);
    assert!(questions.starts_with("neighbours\t"), "{questions}");
    let parameters = completed(&["ctl", "plane", "ask", "edge", "macs", "li"]);
    assert!(parameters.starts_with("limit="), "{parameters}");
    assert!(completed(&["ctl", "bgp", "peer"]).contains("peers"));
    for line in [&["ctl", "bgp", "peer", ""][..], &["ctl", "bgp", "peer", "sgc1", ""]] {
        assert!(!completed(line).contains("hlr"), "no peer of BGP: {line:?}");
    }
}

#[test]
fn msus_are_traced_sent_and_captured_for_wireshark() {
    let mut machine = Machine::new();
    let (port, hep) = (free_port(), free_port());
    let capture = format!("capture = \"tcp:127.0.0.1:{hep}\"");
    let sas = format!("[sas]\nlisten = [\"tcp:127.0.0.1:{hep}\"]\n");
    let udp = free_udp_port().to_string();
    let endpoint = format!(
        "{capture}\nsctp = {{ addresses = [\"127.0.0.1\"], carrier = \"udp\", \
         encapsulation_port = {udp} }}"
    );
    let far = "{ name = \"far\", role = \"asp\", addresses = [\"127.0.0.2\"] }]";
    let sections = gateway("sgc1", port, &endpoint).replace(
        "addresses = [\"127.0.0.1\"] }]",
        &format!("addresses = [\"127.0.0.1\"] }}, {far}"),
    );
    let sections = sections.replace("peers = [\"hlr\"]", "peers = [\"hlr\", \"far\"]");
    machine.start("edge", &(sections + &sas));
    let trace = |more: &[&str]| machine.text(&[&["m3ua", "trace", "sgc1"], more].concat());
    let away = trace(&["--dpc", "1"]);
    assert!(away.starts_with("2 → 1  SI 3  SLS 0  discarded"), "{away}");
    assert!(away.contains("no ASP is active") && away.contains("hlr"), "{away}");
    let echo = trace(&["--dpc", "2", "--si", "15", "--from", "hlr", "--opc", "1"]);
    assert!(echo.contains("local") && echo.contains("Echo"), "{echo}");
    let to = format!("127.0.0.1:{port}");
    let msu = ["lab", "msu", &to, "--opc", "1", "--dpc", "2", "--format", "decimal"];
    let echoed = [&msu[..], &["--context", "1", "--si", "15", "-n", "3", "--quiet", "1"]].concat();
    let sent = machine.tandem(&echoed);
    let said = words(&sent.stdout);
    assert!(sent.status.success(), "{said}{}", words(&sent.stderr));
    assert!(said.contains("3 sent, 3 came") && said.contains("MSU 2 → 1  SI 15"), "{said}");
    let over = ["--transport", "sctp", "--udp-port", &udp, "--local", "127.0.0.2"];
    let associated = [&echoed[..], &over].concat();
    let associated = [&["lab", "msu", "127.0.0.1:2905"], &associated[3..]].concat();
    let sent = machine.tandem(&associated);
    let said = words(&sent.stdout);
    assert!(sent.status.success(), "{said}{}", words(&sent.stderr));
    assert!(said.contains("3 sent, 3 came") && said.contains("MSU 2 → 1  SI 15"), "{said}");
    let nowhere = [&msu[..], &["--context", "1", "--si", "5", "--quiet", "1"]].concat();
    let told = machine.tandem(&nowhere);
    assert_eq!(told.status.code(), Some(1), "{}", words(&told.stdout));
    let file = machine.folder.path().join("msus.pcapng");
    let write = ["capture", "-w", file.to_str().unwrap(), "--kind", "session"];
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let (mut written, mut lines) = (String::new(), String::new());
    while std::time::Instant::now() < until && !lines.contains("m3ua") {
        let _ = std::fs::remove_file(&file);
        written = words(&machine.ctl(&write).stderr);
        let read = Command::new("tshark")
            .args(["-T", "fields", "-e", "frame.protocols", "-e", "m3ua.message_type"])
            .args(["-e", "m3ua.protocol_data_dpc", "-e", "_ws.malformed", "-r"])
            .arg(&file)
            .output()
            .expect("tshark is installed (make setup)");
        lines = words(&read.stdout);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(lines.contains("m3ua") && !lines.contains("Malformed"), "{written} {lines}");
    assert_ne!(machine.ctl(&write).status.code(), Some(0), "no file is written over");
}
