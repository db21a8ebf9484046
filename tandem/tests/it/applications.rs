//! The examples of the clients, as real processes at a real gateway: an HLR from a CSV file in
//! Python and TypeScript, a USSD menu of which an instance dies, a prepaid service.

mod play;

use application::{Address, Program};
use serde_json::Value;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tcu::{Hello, Hlr, Subscribers};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);
const SUBSCRIBERS: &str = "msisdn,imsi,msc,msrn\n447700900123,234150000000123,447700000001,\n\
    447700900124,234150000000124,,\n";

fn root() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::path::absolute(path).unwrap()
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Site {
    _running: Running,
    folder: tempfile::TempDir,
}

fn site(port: u16) -> String {
    format!(
        r#"
[site]
name = "test"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[sgc]]
name = "stp"
point_code_format = "decimal"
point_codes = ["3"]
tcp = {{ listen = ["127.0.0.1:{port}"] }}
peer = [{{ name = "far", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"] }}]
application_server = [
  {{ name = "far", peers = ["far"], routing_context = 4, destination = [{{ point_code = "4" }}] }},
]
subsystem = [
  {{ name = "hlr", number = 6, user = "tcap" }},
  {{ name = "ussd", number = 147, user = "tcap" }},
  {{ name = "scf", number = 146, user = "tcap" }},
]
translation = [
  {{ name = "here", digits = "4477", target = [{{ subsystem = 6 }}] }},
  {{ name = "back", digits = "4478", target = [{{ point_code = "4" }}] }},
]
application = [
  {{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"] }},
  {{ name = "ussd", subsystem = "ussd", listen = ["unix:ussd.sock"] }},
  {{ name = "scf", subsystem = "scf", listen = ["unix:scf.sock"] }},
]
[[sgc]]
name = "far"
point_code_format = "decimal"
point_codes = ["4"]
timers = {{ reconnect_ms = 100 }}
peer = [
  {{ name = "stp", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"],
    port = {port}, connect = true }},
]
application_server = [
  {{ name = "stp", peers = ["stp"], routing_context = 4, destination = [{{ point_code = "3" }}] }},
]
subsystem = [
  {{ name = "smsc", number = 8, user = "tcap" }},
  {{ name = "peer", number = 9, user = "tcap" }},
]
translation = [
  {{ name = "hlrs", digits = "4477", target = [{{ point_code = "3", subsystem = 6 }}] }},
]
application = [
  {{ name = "smsc", subsystem = "smsc", listen = ["unix:smsc.sock"], absent = "refused",
    titles = ["4478"] }},
  {{ name = "peer", subsystem = "peer", listen = ["unix:peer.sock"], absent = "refused" }},
]
"#
    )
}

/// The same site, whose gateways have so many shards.
fn on(shards: u16, text: &str) -> String {
    let format = "point_code_format = \"decimal\"";
    text.replace(format, &format!("{format}\nshards = {shards}"))
}

impl Site {
    fn start() -> Self {
        Self::start_with(|text| text)
    }

    /// Gateways on several shards.
    fn start_on(shards: u16) -> Self {
        Self::start_with(|text| on(shards, &text))
    }

    /// With another text; a key and a certificate are there.
    fn start_with(change: impl FnOnce(String) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = peers::free_port([127, 0, 0, 1].into()).unwrap().port();
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let var = folder.path().join("var");
        std::fs::create_dir(&var).unwrap();
        let files = [
            ("key", "0123456789abcdef\n".to_owned()),
            ("cert.pem", made.cert.pem()),
            ("key.pem", made.signing_key.serialize_pem()),
            ("subscribers.csv", SUBSCRIBERS.to_owned()),
        ];
        for (name, text) in files {
            std::fs::write(var.join(name), text).unwrap();
            std::fs::set_permissions(var.join(name), Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::write(folder.path().join("site.toml"), change(site(port))).unwrap();
        let mut command = Command::new(TANDEM);
        command.args(["run", "site.toml"]).current_dir(folder.path()).stderr(Stdio::null());
        let site = Self { _running: Running(command.spawn().unwrap()), folder };
        let waited = site.ctl(&["wait"]);
        assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
        let is_active = |it: &Value| it["state"] == "active";
        site.until(&["m3ua", "asps", "far"], |rows| rows.iter().any(is_active));
        site
    }

    fn ctl(&self, words: &[&str]) -> Output {
        let mut command = Command::new(TANDEM);
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        let file = self.folder.path().join("site.toml");
        command.args(["ctl", "--site", file.to_str().unwrap(), "--timeout", "60"]);
        command.args(words).stdin(Stdio::null()).output().unwrap()
    }

    /// Waits until what a command shows is as it should be.
    fn until(&self, words: &[&str], holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + LONG;
        loop {
            let output = self.ctl(&[&["-o", "json"], words].concat());
            let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let rows = rows.as_array().cloned().unwrap_or_default();
            if holds(&rows) {
                return rows;
            }
            assert!(Instant::now() < end, "{words:?}: {rows:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn socket(&self, name: &str) -> String {
        format!("unix:{}", self.folder.path().join("var").join(format!("{name}.sock")).display())
    }

    fn instances(&self, application: &str, count: usize) -> Vec<Value> {
        let rows = self.until(&["applications", "stp", "--instances"], |rows| {
            let own = rows.iter().filter(|it| it["application"] == application);
            own.filter(|it| it["state"] == "ready").count() == count
        });
        rows.into_iter().filter(|it| it["application"] == application).collect()
    }

    /// An example in Python.
    fn example(&self, name: &str, words: &[&str]) -> Running {
        let mut command = Command::new("python3");
        command.arg(root().join("clients/python/examples").join(name)).args(words);
        command.stdout(Stdio::null()).stdin(Stdio::null());
        Running(command.spawn().unwrap())
    }

    /// What the HLR says to who asks it by a title.
    fn asked(&self, msisdn: &str) -> String {
        let mut command = Command::new("python3");
        command.arg(root().join("clients/python/examples/ask.py"));
        command.args([&self.socket("smsc"), msisdn, "447800000009"]);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn peer(&self, what: &str) -> Peer {
        let mut command = Command::new("python3");
        command.arg(root().join("tandem/tests/it/applications/peer.py"));
        command.args([what, &self.socket("peer")]).arg(root().join("clients/python"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Peer { _running: Running(child), to, from: BufReader::new(from) }
    }

    fn subscribers(&self) -> String {
        let path = self.folder.path().join("subscribers.csv");
        std::fs::write(&path, SUBSCRIBERS).unwrap();
        path.display().to_string()
    }
}

struct Peer {
    _running: Running,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

fn the_hlr_answers(site: &Site) {
    site.instances("hlr", 1);
    assert_eq!(site.asked("447700900123"), "IMSI 234150000000123 at MSC 447700000001");
    assert_eq!(site.asked("447700900124"), "absentSubscriberSM");
    assert_eq!(site.asked("447700900125"), "unknownSubscriber");
}

#[test]
fn an_hlr_from_a_csv_file_answers_in_python_and_in_typescript() {
    let site = Site::start();
    let subscribers = site.subscribers();
    let hlr = site.example("hlr.py", &[&site.socket("hlr"), &subscribers]);
    the_hlr_answers(&site);
    drop(hlr);
    site.instances("hlr", 0);
    let esbuild = root().join("console/node_modules/.bin/esbuild");
    if !esbuild.exists() {
        eprintln!("console/node_modules is not there: TypeScript is not tried");
        return;
    }
    let bundle = site.folder.path().join("hlr.mjs");
    let mut command = Command::new(esbuild);
    command.args(["--bundle", "--platform=node", "--format=esm", "--log-level=warning"]);
    command.arg(format!("--outfile={}", bundle.display()));
    command.arg(root().join("clients/typescript/examples/hlr.ts"));
    assert!(command.status().unwrap().success());
    let mut command = Command::new("node");
    command.arg(&bundle).args([&site.socket("hlr"), &subscribers]);
    let _hlr = Running(command.stdin(Stdio::null()).spawn().unwrap());
    the_hlr_answers(&site);
}

/// A service is the same inside the gateway and in a program apart.
#[test]
fn one_hlr_in_rust_answers_inside_the_gateway_on_one_and_two_shards_and_in_a_program_apart() {
    let plain = "listen = [\"unix:hlr.sock\"]";
    let inside = "service = \"hlr\", file = \"subscribers.csv\", allowed = [\"*\"]";
    for shards in [1, 2] {
        let site = Site::start_with(|text| on(shards, &text.replace(plain, inside)));
        the_hlr_answers(&site);
        let rows = site.until(&["applications", "stp"], |rows| !rows.is_empty());
        let hlr = rows.iter().find(|it| it["name"] == "hlr").expect("it is there");
        assert_eq!(hlr["listens"], serde_json::json!(["inside"]), "{hlr}");
        assert_eq!(hlr["begun_there"], 3, "{hlr}");
        // A commit puts a program in its place.
        let folder = site.folder.path();
        let text = std::fs::read_to_string(folder.join("site.toml")).unwrap();
        let file = folder.join("next.toml");
        std::fs::write(&file, text.replace(inside, plain)).unwrap();
        assert!(site.ctl(&["config", "set-file", file.to_str().unwrap()]).status.success());
        assert!(site.ctl(&["config", "commit"]).status.success());
        let known = Arc::new(Subscribers::parse(SUBSCRIBERS).unwrap());
        let socket = site.socket("hlr").parse::<Address>().unwrap();
        std::thread::spawn(move || {
            let mut hlr = Hlr::new(known, &["*".to_owned()]);
            let end = Instant::now() + LONG;
            // Until the place is there, and then until the gateway ends.
            while Instant::now() < end {
                Program::new(Hello::new("hlr", "", "rust")).run(&socket, &mut hlr);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        the_hlr_answers(&site);
    }
}

#[test]
fn a_ussd_menu_goes_on_at_another_instance_when_its_own_is_killed() {
    a_menu_goes_on(&Site::start());
}

/// Links on the first shard, dialogues and applications on the second: nothing else is different.
#[test]
fn on_two_shards_an_hlr_answers_and_a_menu_goes_on_when_its_instance_is_killed() {
    let site = Site::start_on(2);
    let _hlr = site.example("hlr.py", &[&site.socket("hlr"), &site.subscribers()]);
    the_hlr_answers(&site);
    a_menu_goes_on(&site);
}

fn a_menu_goes_on(site: &Site) {
    let mut instances: Vec<Running> =
        (0..2).map(|_| site.example("ussd_menu.py", &[&site.socket("ussd")])).collect();
    site.instances("ussd", 2);
    let mut phone = site.peer("ussd");
    assert_eq!(phone.line(), "1 Balance 2 Top up");
    // The one that has the dialogue dies.
    let rows = site.instances("ussd", 2);
    let has = rows.iter().find(|it| it["dialogues"] == 1).expect("one of them has it");
    let name = has["name"].as_str().unwrap();
    let at = instances.iter().position(|it| name.ends_with(&format!("-{}", it.0.id())));
    drop(instances.remove(at.expect("it is one of ours")));
    site.instances("ussd", 1);
    phone.to.write_all(b"\n").unwrap();
    assert_eq!(phone.line(), "Which amount? 1: 10 2: 20");
    phone.to.write_all(b"\n").unwrap();
    assert_eq!(phone.line(), "10 were added");
    let rows = site.until(&["applications", "stp"], |rows| {
        rows.iter().any(|it| it["name"] == "ussd" && it["dialogues"] == 0)
    });
    assert!(rows.iter().any(|it| it["name"] == "ussd" && it["resumed"] == 1), "{rows:?}");
}

/// Over TLS and TCP a key is proved with the greeting; a commit changes where instances connect.
#[test]
fn who_connects_by_tls_or_tcp_has_the_key_and_a_commit_moves_the_place() {
    who_connects_has_the_key(1);
}

/// Each place is read by a shard of its own, whoever accepts there.
#[test]
fn on_three_shards_who_connects_by_tls_or_tcp_has_the_key_and_a_commit_moves_the_place() {
    who_connects_has_the_key(3);
}

fn who_connects_has_the_key(shards: u16) {
    let ports = [0; 2].map(|_| peers::free_port([127, 0, 0, 1].into()).unwrap().port());
    let [tls, tcp] = ports;
    let places = format!(
        "listen = [\"tls:127.0.0.1:{tls}\", \"tcp:127.0.0.1:{tcp}\"], key_file = \"key\", \
         tls = {{ certificate = \"cert.pem\", key = \"key.pem\" }}"
    );
    let plain = "listen = [\"unix:hlr.sock\"]";
    let site = Site::start_with(|text| on(shards, &text.replace(plain, &places)));
    let folder = site.folder.path();
    let program = format!(
        "import ssl, sys\nsys.path.append(sys.argv[1])\n\
         from tandem_tcu import Connection, Closed\n\
         context = ssl.create_default_context(cafile='var/cert.pem')\n\
         for place in ('tls:localhost:{tls}', 'tcp:127.0.0.1:{tcp}'):\n\
         \u{20}   for key in ('0123456789abcdef', 'fedcba9876543210', None):\n\
         \u{20}       try:\n\
         \u{20}           connection = Connection(place, 'hlr', key=key, tls=context)\n\
         \u{20}           print(connection.welcome['function'])\n\
         \u{20}       except Closed as why:\n\
         \u{20}           print(why)\n"
    );
    std::fs::write(folder.join("keys.py"), program).unwrap();
    let mut command = Command::new("python3");
    command.arg("keys.py").arg(root().join("clients/python")).current_dir(folder);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let once = "stp\nthe proof is not that of a key\nthe gateway wants a key\n";
    assert_eq!(said, once.repeat(2), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(folder.join("site.toml")).unwrap();
    std::fs::write(folder.join("next.toml"), text.replace(&places, plain)).unwrap();
    let file = folder.join("next.toml");
    assert!(site.ctl(&["config", "set-file", file.to_str().unwrap()]).status.success());
    assert!(site.ctl(&["config", "commit"]).status.success());
    let _hlr = site.example("hlr.py", &[&site.socket("hlr"), &site.subscribers()]);
    the_hlr_answers(&site);
}

/// A BSC behind one gateway, an MSC behind the other: their applications, over both of them.
#[test]
fn a_bsc_opens_a_location_update_at_an_msc_by_a_connection() {
    for shards in [1, 2] {
        let near = "subsystem = [\n  { name = \"hlr\"";
        let bsc = "subsystem = [\n  { name = \"bsc\", number = 254, user = \"sccp\" },\n  \
            { name = \"hlr\"";
        let far = "subsystem = [\n  { name = \"smsc\"";
        let msc = "subsystem = [\n  { name = \"msc\", number = 254, user = \"sccp\" },\n  \
            { name = \"smsc\"";
        let site = Site::start_with(|text| {
            let text = text.replace(near, bsc).replace(far, msc);
            let places = ["hlr", "smsc"].map(|it| format!("application = [\n  {{ name = \"{it}\""));
            let with = [("hlr", "bsc"), ("smsc", "msc")].map(|(it, more)| {
                format!(
                    "application = [\n  {{ name = \"{more}\", subsystem = \"{more}\", \
                     listen = [\"unix:{more}.sock\"] }},\n  {{ name = \"{it}\""
                )
            });
            let text = text.replace(&places[0], &with[0]).replace(&places[1], &with[1]);
            on(shards, &text)
        });
        let ask = || {
            let mut command = Command::new("python3");
            command.arg(root().join("clients/python/examples/bsc.py"));
            command.args([&site.socket("bsc"), "4", "3", "234150000000123"]);
            let output = command.output().unwrap();
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        let mut command = Command::new("python3");
        command.arg(root().join("tandem/tests/it/applications/msc.py"));
        command.arg(site.socket("msc")).arg(root().join("clients/python"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let from = child.stdout.take().unwrap();
        let _msc = Running(child);
        site.until(&["applications", "far", "--instances"], |rows| {
            rows.iter().any(|it| it["application"] == "msc" && it["state"] == "ready")
        });
        assert_eq!(ask(), "connected\nLOCATION UPDATING ACCEPT\ndone");
        let mut line = String::new();
        BufReader::new(from).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "released: 3");
        site.until(&["sccp", "connections", "stp"], |rows| rows.is_empty());
    }
}

#[test]
fn a_prepaid_call_is_granted_slices_until_the_balance_is_used() {
    let site = Site::start();
    let _scf = site.example("prepaid.py", &[&site.socket("scf")]);
    site.instances("scf", 1);
    let mut ssf = site.peer("call");
    assert_eq!(ssf.line(), "applyCharging requestReportBCSMEvent continue 60");
    assert_eq!((ssf.line(), ssf.line()), ("60".to_owned(), "30".to_owned()));
    site.until(&["applications", "stp"], |rows| {
        rows.iter().any(|it| it["name"] == "scf" && it["dialogues"] == 0)
    });
}
