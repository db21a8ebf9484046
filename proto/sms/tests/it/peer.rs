//! A program in Python, a line in and a line out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

const LACKS: &str = "a peer in Python does not run (make setup-python)";

pub struct Peer {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl Peer {
    pub fn start(script: &str) -> Self {
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-B", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().expect(LACKS);
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, out }
    }

    pub fn ask(&mut self, line: &str) -> String {
        let stdin = self.child.stdin.as_mut().expect("it is piped");
        writeln!(stdin, "{line}").expect(LACKS);
        let mut answer = String::new();
        self.out.read_line(&mut answer).expect("it says text");
        assert!(!answer.is_empty(), "{LACKS}");
        answer.trim_end().to_owned()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
