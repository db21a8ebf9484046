//! The clients in Python and TypeScript: a handler that fails costs the dialogue or connection of
//! that message alone.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PYTHON: &str = r#"
import sys
sys.path.append(sys.argv[1])
import tandem_tcu

def handler(dialogue, message):
    if message["tc"] == "n-connect" or message.get("dialogue") in (1, 3):
        raise ValueError("nobody thought of it")
    if dialogue is not None:
        dialogue.end()

tandem_tcu.serve("unix:a.sock", "hlr", handler)
"#;

const TYPESCRIPT: &str = r#"
import { serve } from 'CLIENT'

serve('unix:a.sock', 'hlr', (dialogue, message) => {
  if (message.tc === 'n-connect' || message.dialogue === 1) throw new Error('nobody thought of it')
  if (message.dialogue === 3) return Promise.reject(new Error('later'))
  dialogue?.end()
})
"#;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may be over already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What the program that a command starts answers to a gateway that says these lines.
fn answers(folder: &Path, mut command: Command, lines: &str, count: usize) -> Vec<String> {
    let listener = UnixListener::bind(folder.join("a.sock")).unwrap();
    command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    let _running = Running(command.spawn().unwrap());
    let (mut stream, _): (UnixStream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut came = BufReader::new(stream.try_clone().unwrap()).lines();
    assert!(came.next().unwrap().unwrap().contains("hello"));
    stream.write_all(lines.as_bytes()).unwrap();
    let shown = came.take(count).map(|line| {
        let line = line.unwrap();
        let words = ["u-abort", "end", "n-disconnect"];
        let word = words.iter().find(|it| line.contains(&format!("\"{it}\""))).unwrap();
        let digits: String = line.chars().filter(char::is_ascii_digit).take(1).collect();
        format!("{word} {digits}")
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort_unstable();
    shown
}

fn begin(dialogue: u32) -> String {
    format!("{{\"tc\":\"begin\",\"dialogue\":{dialogue}}}\n")
}

fn lines() -> String {
    let welcome = "{\"tc\":\"welcome\"}\n";
    let connect = "{\"tc\":\"n-connect\",\"connection\":5}\n";
    format!("{welcome}{}{}{connect}{}{}", begin(1), begin(2), begin(3), begin(4))
}

const EXPECTED: [&str; 5] = ["end 2", "end 4", "n-disconnect 5", "u-abort 1", "u-abort 3"];

#[test]
fn what_a_handler_in_python_throws_over_ends_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("it.py"), PYTHON).unwrap();
    let mut command = Command::new("python3");
    command.arg("it.py").arg(root().join("clients/python"));
    assert_eq!(answers(folder.path(), command, &lines(), 5), EXPECTED);
}

#[test]
fn what_a_handler_in_typescript_throws_over_ends_alone() {
    let esbuild = root().join("console/node_modules/.bin/esbuild");
    if !esbuild.exists() {
        eprintln!("console/node_modules is not there: TypeScript is not tried");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let client = root().join("clients/typescript/tandem_tcu.ts");
    let text = TYPESCRIPT.replace("CLIENT", client.to_str().unwrap());
    std::fs::write(folder.path().join("it.ts"), text).unwrap();
    let mut command = Command::new(esbuild);
    command.args(["--bundle", "--platform=node", "--format=esm", "--log-level=warning"]);
    command.args(["--outfile=it.mjs", "it.ts"]).current_dir(folder.path());
    assert!(command.status().unwrap().success());
    let mut command = Command::new("node");
    command.arg("it.mjs");
    let lines = format!("no message\n{}", lines());
    assert_eq!(answers(folder.path(), command, &lines, 5), EXPECTED);
}
