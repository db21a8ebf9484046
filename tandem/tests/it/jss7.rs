//! jSS7 (Java) and a gateway with an application of ours, both ways: whoever asks, each side reads
//! what the other means, and tshark names the same. Needs Maven and Java (make setup); the first
//! time it fetches jars.

pub mod roles;
pub mod sequence;
pub mod wire;

use application::{Address, Program};
use peers::{Jss7, Jss7Spec};
use roles::{ANSWER, RELEASE, Roles, argument, begin, result, speech, written};
use sccp::codec::{Digits, Title};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tcu::{Hello, Request};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);
const HLR: u8 = 6;
const SCF: u8 = 146;

/// Behind it stands what jSS7 cannot leave out of a subscriber's data.
const SUBSCRIBER: &str = "invoke insertSubscriberData ";

struct Site {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Site {
    fn start(connects: bool, port: u16) -> Self {
        let (tcp, peer) = match connects {
            true => (String::new(), format!(", port = {port}, connect = true")),
            false => (format!("tcp = {{ listen = [\"127.0.0.1:{port}\"] }}"), String::new()),
        };
        let text = format!(
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
timers = {{ reconnect_ms = 100 }}
{tcp}
peer = [
  {{ name = "far", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"]{peer} }},
]
application_server = [
  {{ name = "far", peers = ["far"], routing_context = 10, traffic_mode = "loadshare",
    destination = [{{ point_code = "4" }}] }},
]
subsystem = [
  {{ name = "hlr", number = 6, user = "tcap" }},
  {{ name = "scf", number = 146, user = "tcap" }},
]
translation = [
  {{ name = "here", digits = "4477", target = [{{ subsystem = 6 }}] }},
  {{ name = "there", digits = "4478", target = [{{ point_code = "4", subsystem = 6 }}] }},
]
application = [
  {{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"] }},
  {{ name = "scf", subsystem = "scf", listen = ["unix:scf.sock"] }},
]
"#
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        let mut command = Command::new(TANDEM);
        command.args(["run", "site.toml"]).current_dir(folder.path()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap(), folder }
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

    /// Until the association is active.
    fn wait(&self) {
        let end = Instant::now() + LONG;
        loop {
            let output = self.ctl(&["-o", "json", "m3ua", "asps", "stp"]);
            let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let rows = rows.as_array().cloned().unwrap_or_default();
            if rows.iter().any(|it| it["state"] == "active") {
                return;
            }
            assert!(Instant::now() < end, "{rows:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// An application of ours that begins these dialogues; what it hears.
    fn application(&self, name: &'static str, asks: Vec<(&str, Request)>) -> Receiver<String> {
        let (told, heard) = channel();
        let socket = self.folder.path().join("var").join(format!("{name}.sock"));
        let mut roles = Roles::new(told);
        for (operation, request) in &asks {
            let Request::Begin { reference, .. } = request else { panic!("{operation}") };
            roles.begun.insert(*reference, speech(operation));
        }
        let first = asks.into_iter().map(|it| it.1).collect();
        std::thread::spawn(move || {
            let mut program = Program::new(Hello::new(name, "", "test")).asking(first);
            let why = program.run(&Address::Unix(socket), &mut roles);
            let _ = roles.told.send(format!("{why}"));
        });
        heard
    }
}

/// So many lines, in the order of their letters: dialogues go side by side.
fn lines(heard: &Receiver<String>, count: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    while lines.len() < count {
        let line = heard.recv_timeout(LONG);
        lines.push(line.unwrap_or_else(|_| panic!("{count} of {lines:#?}")));
    }
    lines.sort();
    lines
}

/// So many messages that jSS7 told; they are forgotten.
fn messages(jss7: &mut Jss7, count: usize) -> Vec<String> {
    let end = Instant::now() + LONG;
    loop {
        let of = |it: &&String| it.starts_with("message ");
        let said = jss7.talk.heard();
        let mut found: Vec<String> = said.iter().filter(of).cloned().collect();
        let strange = |it: &&String| {
            !["message ", "begin ", "end", "ready", "up "].iter().any(|word| it.starts_with(word))
        };
        assert_eq!(said.iter().find(strange), None, "{said:#?}");
        if found.len() >= count {
            jss7.talk.forget();
            found.sort();
            return found;
        }
        assert!(Instant::now() < end, "{count} of {said:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn sorted(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.into_iter().collect();
    lines.sort();
    lines
}

/// What jSS7 tells of an operation: as we write it, and as it writes it again.
fn told(name: &str, of: &str, first: &str, json: &str) -> String {
    let octets = written(speech(first), of, json, name.ends_with("_Response"));
    format!("message {name} {octets}")
}

fn we_ask(site: &Site, jss7: &mut Jss7) -> [Receiver<String>; 2] {
    let there = sccp::codec::Address::subsystem(m3ua::codec::PointCode::new(4), HLR);
    let title = Title::e164(Digits::parse("447800900123").unwrap());
    let by_title = sccp::codec::Address::title(title, HLR);
    let ask = |number, operation, called, own| (operation, begin(number, operation, called, own));
    let hlr = site.application(
        "hlr",
        vec![
            ask(1, "sendRoutingInfoForSM", there, HLR),
            ask(2, "sendRoutingInfoForSM", by_title, HLR),
            ask(3, "updateLocation", there, HLR),
            ask(4, "processUnstructuredSS-Request", there, HLR),
        ],
    );
    let scf = sccp::codec::Address::subsystem(m3ua::codec::PointCode::new(4), SCF);
    let scf = site.application("scf", vec![ask(1, "initialDP", scf, SCF)]);
    let heard = lines(&hlr, 10);
    let (ussd, asks) = ("processUnstructuredSS-Request", "unstructuredSS-Request");
    let routing = format!("result sendRoutingInfoForSM {}", result("sendRoutingInfoForSM"));
    let data = "insertSubscriberData";
    let subscriber = heard.iter().find(|it| it.starts_with(SUBSCRIBER)).unwrap();
    let msisdn = argument(data).trim_matches(['{', '}']);
    assert!(subscriber.contains(msisdn), "{subscriber}");
    let expected = sorted([
        routing.clone(),
        routing,
        subscriber.clone(),
        format!("result updateLocation {}", result("updateLocation")),
        format!("invoke {asks} {}", argument(asks)),
        format!("result {ussd} {}", result(ussd)),
        "end".into(),
        "end".into(),
        "end".into(),
        "end".into(),
    ]);
    assert_eq!(heard, expected);
    let expected = ["requestReportBCSMEvent", "continue"];
    let expected = expected.map(|it| format!("invoke {it} {}", argument(it)).trim().to_owned());
    assert_eq!(lines(&scf, 2), sorted(expected));
    let of = |name, operation, json| told(name, operation, operation, json);
    let sri = of(
        "sendRoutingInfoForSM_Request",
        "sendRoutingInfoForSM",
        argument("sendRoutingInfoForSM"),
    );
    let expected = sorted([
        sri.clone(),
        sri,
        of("updateLocation_Request", "updateLocation", argument("updateLocation")),
        told("insertSubscriberData_Response", data, "updateLocation", result(data)),
        of("processUnstructuredSSRequest_Request", ussd, argument(ussd)),
        told("unstructuredSSRequest_Response", asks, ussd, result(asks)),
        of("initialDP_Request", "initialDP", argument("initialDP")),
        told("eventReportBCSM_Request", "eventReportBCSM", "initialDP", ANSWER),
        told("eventReportBCSM_Request", "eventReportBCSM", "initialDP", RELEASE),
    ]);
    assert_eq!(messages(jss7, 9), expected);
    [hlr, scf]
}

fn jss7_asks(jss7: &mut Jss7, [hlr, scf]: [Receiver<String>; 2]) {
    let data = "insertSubscriberData";
    let (ussd, asks) = ("processUnstructuredSS-Request", "unstructuredSS-Request");
    for line in ["sri", "sri 447700900123", "location", "ussd", "call"] {
        jss7.talk.say(line).unwrap();
    }
    let invoke = |it: &str| format!("invoke {it} {}", argument(it));
    let expected = sorted([
        invoke("sendRoutingInfoForSM"),
        invoke("sendRoutingInfoForSM"),
        invoke("updateLocation"),
        format!("result {data} {}", result(data)),
        // jSS7 says whose it is as well.
        invoke(ussd).replace("\"}", "\",\"msisdn\":\"91447700091032\"}"),
        format!("result {asks} {}", result(asks)),
    ]);
    assert_eq!(lines(&hlr, 6), expected);
    let expected = sorted([
        invoke("initialDP"),
        format!("invoke eventReportBCSM {ANSWER}"),
        format!("invoke eventReportBCSM {RELEASE}"),
    ]);
    assert_eq!(lines(&scf, 3), expected);
    let of = |name, operation, json| told(name, operation, operation, json);
    let sri =
        of("sendRoutingInfoForSM_Response", "sendRoutingInfoForSM", result("sendRoutingInfoForSM"));
    let expected = sorted([
        sri.clone(),
        sri,
        told("insertSubscriberData_Request", data, "updateLocation", argument(data)),
        of("updateLocation_Response", "updateLocation", result("updateLocation")),
        told("unstructuredSSRequest_Request", asks, ussd, argument(asks)),
        of("processUnstructuredSSRequest_Response", ussd, result(ussd)),
        told(
            "requestReportBCSMEvent_Request",
            "requestReportBCSMEvent",
            "initialDP",
            argument("requestReportBCSMEvent"),
        ),
        "message continue_Request ".into(),
    ]);
    assert_eq!(messages(jss7, 8), expected);
}

/// tshark names every operation of both directions, and finds nothing wrong.
fn tshark(jss7: &Jss7, folder: &Path, jss7_connects: bool) {
    let rows = wire::dissect(&wire::messages(jss7.passed().unwrap()), folder);
    let all = |of: fn(&wire::Row) -> &Vec<String>| sorted(rows.iter().flat_map(of).cloned());
    let (map, cap) = (all(|it| &it.map), all(|it| &it.cap));
    let code = |name: &str| map::Operation::named(name).unwrap().code().to_string();
    // Each both ways, asked and answered; two of the first.
    let of = |name: &str, count: usize| vec![code(name); count];
    let expected = [
        of("sendRoutingInfoForSM", 8),
        of("updateLocation", 4),
        of("insertSubscriberData", 4),
        of("processUnstructuredSS-Request", 4),
        of("unstructuredSS-Request", 4),
    ];
    assert_eq!(map, sorted(expected.concat()), "{rows:#?}");
    let code = |name: &str| cap::Operation::named(name).unwrap().code().to_string();
    let calls =
        ["initialDP", "requestReportBCSMEvent", "continue", "eventReportBCSM", "eventReportBCSM"];
    assert_eq!(cap, sorted(calls.iter().flat_map(|it| vec![code(it); 2])), "{rows:#?}");
    assert_eq!(sequence::check(&rows, !jss7_connects).aborts, 0, "{rows:#?}");
}

fn beside(jss7_connects: bool) {
    let port = peers::free_port([127, 0, 0, 1].into()).unwrap().port();
    let site = Site::start(!jss7_connects, port);
    let spec = Jss7Spec { connects: jss7_connects, ports: vec![port], own: 4, far: 3, context: 10 };
    let mut jss7 = Jss7::start(spec).unwrap();
    site.wait();
    let heard = we_ask(&site, &mut jss7);
    jss7_asks(&mut jss7, heard);
    tshark(&jss7, site.folder.path(), jss7_connects);
}

#[test]
fn jss7_that_connects_and_we_understand_each_other() {
    beside(true);
}

#[test]
fn jss7_that_listens_and_we_understand_each_other() {
    beside(false);
}
