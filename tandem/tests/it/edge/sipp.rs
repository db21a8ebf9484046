//! SIPp as one end of a call, by a scenario of a test's own.

use super::{Host, LONG, Scene};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// SIPp in a host's namespace, for one call; killed when dropped.
pub(super) struct Sipp<'a> {
    scene: &'a Scene,
    program: Child,
}

impl<'a> Sipp<'a> {
    /// At port 5060 of an address, with these words more.
    pub fn start(
        scene: &'a Scene,
        host: &Host,
        [name, address]: [&str; 2],
        scenario: &str,
        more: &[&str],
    ) -> Self {
        let file = scene.folder.path().join(format!("{name}.xml"));
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
        let text = format!("{head}<scenario name=\"{name}\">{scenario}</scenario>\n");
        fs::write(&file, text).unwrap();
        let log = fs::File::create(file.with_extension("log")).unwrap();
        let mut program = Command::new("ip");
        program.args(["netns", "exec", host.namespace.name(), "sipp"]).args(more);
        program.arg("-sf").arg(&file);
        program.args(["-i", address, "-p", "5060", "-nostdin", "-m", "1", "-trace_err"]);
        program.current_dir(scene.folder.path()).stdin(Stdio::null());
        let program = program.stdout(log.try_clone().unwrap()).stderr(log).spawn();
        Self { scene, program: program.expect("sipp is installed (make setup)") }
    }

    /// Its call has gone as its scenario says.
    pub fn succeeds(mut self) {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            if let Some(status) = self.program.try_wait().unwrap() {
                assert!(status.success(), "{status}: {}", self.scene.logs());
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("the call does not end: {}", self.scene.logs());
    }
}

impl Drop for Sipp<'_> {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Sends a request of a scenario; its body follows.
pub(super) fn send(head: &str, body: &str) -> String {
    let kind = if body.is_empty() {
        ""
    } else if body.starts_with("v=0") {
        "Content-Type: application/sdp\n"
    } else {
        "Content-Type: application/dtmf-relay\n"
    };
    let contact = "Contact: <sip:[local_ip]:[local_port]>\nMax-Forwards: 70\n";
    let length = "Content-Length: [len]\n";
    format!("<send><![CDATA[\n{head}\n{contact}{kind}{length}\n{body}]]></send>\n")
}

/// A description of one line of media at this end's address.
pub(super) fn description(line: &str) -> String {
    let session = "o=- 1 1 IN IP4 [local_ip]\ns=-\nc=IN IP4 [local_ip]\nt=0 0\n";
    format!("v=0\n{session}{line}\n")
}
