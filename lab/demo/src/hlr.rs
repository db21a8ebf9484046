//! An HLR in Python beside the relay of `ss7`: an application of a gateway with point code 2-100-3,
//! asked by another one, point code 2-100-4, for where subscribers are.
//!
//! ```text
//!   ask.py ──unix── smsc (point code 2-100-4) ──tcp── hlr (point code 2-100-3) ──unix── hlr.py
//! ```

use crate::place::Place;
use anyhow::Context;
use peers::{Process, ProcessSpec};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The client and the two programs on it, as they are installed.
const FILES: [(&str, &str); 3] = [
    ("tandem_tcu.py", include_str!("../../../clients/python/tandem_tcu.py")),
    ("examples/hlr.py", include_str!("../../../clients/python/examples/hlr.py")),
    ("examples/ask.py", include_str!("../../../clients/python/examples/ask.py")),
];
const SUBSCRIBERS: &str = "msisdn,imsi,msc,msrn\n\
    447700900001,234150000000001,447700000001,\n\
    447700900002,234150000000002,447700000002,\n";
const KNOWN: [&str; 2] = ["447700900001", "447700900002"];
const UNKNOWN: &str = "447700900009";
/// How long the two gateways, and the HLR, may take to find each other.
const UP_MAX: Duration = Duration::from_secs(30);

/// The two gateways; what passes between them is captured.
pub(crate) fn sections(listen: SocketAddr, collector: SocketAddr) -> String {
    let (ip, port) = (listen.ip(), listen.port());
    format!(
        r#"
[[sgc]]
name = "hlr"
point_codes = ["2-100-3"]
capture = "tcp:{collector}"
tcp = {{ listen = ["{listen}"] }}
peer = [{{ name = "smsc", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"] }}]
application_server = [
  {{ name = "smsc", peers = ["smsc"], routing_context = 4,
    destination = [{{ point_code = "2-100-4" }}] }},
]
subsystem = [{{ name = "hlr", number = 6, user = "tcap" }}]
translation = [
  {{ name = "here", digits = "4477", target = [{{ subsystem = 6 }}] }},
  {{ name = "back", digits = "4478", target = [{{ point_code = "2-100-4" }}] }},
]
[[sgc.application]]
name = "hlr"
subsystem = "hlr"
listen = ["unix:hlr.sock"]
[[sgc]]
name = "smsc"
point_codes = ["2-100-4"]
timers = {{ reconnect_ms = 200 }}
peer = [
  {{ name = "hlr", role = "ipsp", transport = "tcp", addresses = ["{ip}"], port = {port},
    connect = true }},
]
application_server = [
  {{ name = "hlr", peers = ["hlr"], routing_context = 4,
    destination = [{{ point_code = "2-100-3" }}] }},
]
subsystem = [{{ name = "smsc", number = 8, user = "tcap" }}]
translation = [
  {{ name = "hlrs", digits = "4477", target = [{{ point_code = "2-100-3", subsystem = 6 }}] }},
]
[[sgc.application]]
name = "smsc"
subsystem = "smsc"
titles = ["4478"]
listen = ["unix:smsc.sock"]
absent = "refused"
"#
    )
}

/// The HLR that runs.
pub(crate) struct Hlr {
    _process: Process,
    directory: PathBuf,
}

impl Hlr {
    /// Starts it where there is a Python to run it.
    pub(crate) fn start(place: &Place) -> anyhow::Result<Option<Self>> {
        if !Command::new("python3").arg("--version").output().is_ok_and(|it| it.status.success()) {
            return Ok(None);
        }
        let directory = place.directory.join("python");
        fs::create_dir_all(directory.join("examples"))?;
        for (name, text) in FILES {
            fs::write(directory.join(name), text)?;
        }
        fs::write(directory.join("subscribers.csv"), SUBSCRIBERS)?;
        let spec = ProcessSpec::new("hlr.py", "python3", &directory);
        let socket = socket(place, "hlr");
        let words = ["examples/hlr.py", &socket, "subscribers.csv"];
        let process = Process::start(&spec.with(words))?;
        Ok(Some(Self { _process: process, directory }))
    }

    /// What it says of a subscriber, as who asked prints it.
    fn asked(&self, place: &Place, msisdn: &str) -> anyhow::Result<String> {
        let mut command = Command::new("python3");
        command.args(["examples/ask.py", &socket(place, "smsc"), msisdn, "447800000009"]);
        let output = command.current_dir(&self.directory).output().context("python3")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Asks for each subscriber, and for one who is none; what was said, and how many answers were
    /// right.
    pub(crate) fn ask(&self, place: &Place) -> anyhow::Result<(String, u64)> {
        let mut said = String::new();
        let is_known = |said: &str| said.starts_with("IMSI 23415");
        place.must("an answer of the HLR", UP_MAX, || {
            said = self.asked(place, KNOWN[0])?;
            Ok(is_known(&said))
        })?;
        let second = is_known(&self.asked(place, KNOWN[1])?);
        let unknown = self.asked(place, UNKNOWN)? == "unknownSubscriber";
        Ok((said, 1 + u64::from(second) + u64::from(unknown)))
    }

    /// How many answers are right where all are.
    pub(crate) const fn questions() -> u64 {
        KNOWN.len() as u64 + 1
    }
}

fn socket(place: &Place, name: &str) -> String {
    let path: &Path = &place.directory;
    format!("unix:{}", path.join("var").join(format!("{name}.sock")).display())
}
