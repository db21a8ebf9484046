//! Scenarios against real gateways: both roles as applications, one role against the examples in
//! Python, and a role with a stack of its own over M3UA.

use super::{Running, Site, TANDEM};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Plays, and what `--json` says.
fn play(words: &[&str]) -> Value {
    let mut command = Command::new(TANDEM);
    command.args(["lab", "play"]).args(words).arg("--json").stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn completed(report: &Value, scenario: &str) -> u64 {
    let all = report["scenarios"].as_array().unwrap();
    let found = all.iter().find(|it| it["name"] == scenario);
    let found = found.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(found["failures"], serde_json::json!({}), "{report}");
    assert_eq!(found["begun"], found["completed"], "{report}");
    found["completed"].as_u64().unwrap()
}

fn no_dialogues(site: &Site, gateway: &str) {
    site.until(&["tcap", gateway], |rows| rows.iter().all(|it| it["dialogues"] == 0));
}

#[test]
fn both_roles_are_applications_of_two_gateways() {
    let site = Site::start();
    let at = |role: &str| format!("{role}={}", site.socket(role));
    let (smsc, hlr) = (at("smsc"), at("hlr"));
    for spelling in ["tagged", "json"] {
        let spelled = format!("smsc.spelling={spelling}");
        let words = ["map-sri-for-sm", "--at", &smsc, "--at", &hlr, "--role", &spelled];
        let report = play(&[&words[..], &["-n", "200", "--rate", "500"]].concat());
        assert_eq!((completed(&report, "ask"), completed(&report, "tell")), (200, 200));
        assert_eq!((&report["late"], &report["dialogues"]), (&Value::from(0), &Value::from(0)));
    }
    no_dialogues(&site, "stp");
    no_dialogues(&site, "far");
}

#[test]
fn an_smsc_asks_the_hlr_in_python_about_the_subscribers_of_its_file() {
    let site = Site::start();
    let subscribers = site.subscribers();
    std::fs::write(&subscribers, "msisdn,imsi,msc,msrn\n447700900123,234150000000123,44770,\n")
        .unwrap();
    let _hlr = site.example("hlr.py", &[&site.socket("hlr"), &subscribers]);
    site.instances("hlr", 1);
    let (smsc, table) =
        (format!("smsc={}", site.socket("smsc")), format!("subscribers={subscribers}"));
    let report = play(&["map-sri-for-sm", "--at", &smsc, "--table", &table, "-n", "50"]);
    assert_eq!(completed(&report, "ask"), 50);
    assert_eq!(report["scenarios"].as_array().unwrap().len(), 1, "the HLR is played elsewhere");
    no_dialogues(&site, "stp");
}

#[test]
fn a_phone_asks_the_ussd_menu_in_python() {
    let peer = "{ name = \"peer\", subsystem = \"peer\", listen = [\"unix:peer.sock\"],";
    let site = Site::start_with(|text| {
        let menu = "{ name = \"menu\", digits = \"447700000147\",\n    \
                    target = [{ point_code = \"3\", subsystem = 147 }] },\n  { name = \"hlrs\"";
        let text = text.replace("{ name = \"hlrs\"", menu);
        text.replace(peer, &format!("{peer} titles = [\"4478\"],"))
    });
    let _menu = site.example("ussd_menu.py", &[&site.socket("ussd")]);
    site.instances("ussd", 1);
    let at = format!("msc={}", site.socket("peer"));
    let words =
        ["ussd", "--at", &at, "--role", "msc.application=peer", "--role", "msc.subsystem=9"];
    let report = play(&[&words[..], &["--role", "msc.title=447800000001", "-n", "20"]].concat());
    assert_eq!(completed(&report, "ask"), 20);
    no_dialogues(&site, "stp");
}

/// The SMSC has a stack of its own, an ASP of the gateway at which the HLR is an application.
#[test]
fn a_stack_of_its_own_comes_up_over_m3ua_and_asks() {
    let folder = tempfile::tempdir().unwrap();
    let port = peers::free_port([127, 0, 0, 1].into()).unwrap().port();
    let text = format!(
        r#"
[site]
name = "test"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[sgc]]
name = "stp"
point_codes = ["2-100-3"]
tcp = {{ listen = ["127.0.0.1:{port}"] }}
peer = [{{ name = "smsc", role = "asp", transport = "tcp", addresses = ["127.0.0.1"] }}]
application_server = [
  {{ name = "smsc", peers = ["smsc"], routing_context = 4,
    destination = [{{ point_code = "2-100-4" }}] }},
]
subsystem = [{{ name = "hlr", number = 6, user = "tcap" }}]
translation = [
  {{ name = "here", digits = "4477", target = [{{ subsystem = 6 }}] }},
  {{ name = "back", digits = "4478", target = [{{ point_code = "2-100-4" }}] }},
]
application = [{{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"] }}]
"#
    );
    std::fs::write(folder.path().join("site.toml"), text).unwrap();
    let mut command = Command::new(TANDEM);
    command.args(["run", "site.toml"]).current_dir(folder.path()).stderr(Stdio::null());
    let site = Site { _running: Running(command.spawn().unwrap()), folder };
    assert!(site.ctl(&["wait"]).status.success());
    let (smsc, hlr) =
        (format!("smsc=m3ua:127.0.0.1:{port}"), format!("hlr={}", site.socket("hlr")));
    let keys = ["point_code=2-100-4", "peer=2-100-3", "routing_context=4"];
    let keys = keys.map(|it| format!("smsc.{it}"));
    let mut words = vec!["map-sri-for-sm", "--at", &smsc, "--at", &hlr];
    keys.iter().for_each(|it| words.extend(["--role", it]));
    words.extend(["-n", "200", "--rate", "500"]);
    let report = play(&words);
    assert_eq!((completed(&report, "ask"), completed(&report, "tell")), (200, 200));
    no_dialogues(&site, "stp");
}
