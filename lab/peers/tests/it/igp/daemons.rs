//! FRR's daemons and BIRD: how each is started in a namespace, and asked. They must be installed
//! (Debian: frr, bird2).

use peers::{Process, ProcessSpec};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub enum Daemon {
    /// A daemon of FRR, with its configuration.
    Frr(&'static str, String),
    /// BIRD, with its configuration.
    Bird(String),
}

impl Daemon {
    pub fn zebra() -> Self {
        Self::Frr("zebra", "log stdout errors\n".into())
    }

    /// Starts it, and waits until it can be asked.
    pub fn start(&self, namespace: &str, directory: &Path) -> Process {
        let at = |name: &str| directory.join(name).display().to_string();
        let (spec, socket) = match self {
            Self::Frr(name, configuration) => {
                let file = at(&format!("{name}.conf"));
                std::fs::write(&file, configuration).unwrap();
                let program = format!("/usr/lib/frr/{name}");
                let pid = at(&format!("{name}.pid"));
                let words = ["-f", &file, "-i", &pid, "-z", &at("zserv.api"), "--vty_socket"];
                let rest = [&at("")[..], "-P", "0"];
                let spec = ProcessSpec::new(name, program, directory);
                let mut words =
                    words.iter().chain(&rest).map(ToString::to_string).collect::<Vec<_>>();
                if *name == "bfdd" {
                    words.extend(["--bfdctl".to_owned(), at("bfdd.sock")]);
                }
                (spec.with(words), format!("{name}.vty"))
            }
            Self::Bird(configuration) => {
                std::fs::write(directory.join("bird.conf"), configuration).unwrap();
                let words = ["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"];
                let spec = ProcessSpec::new("bird", "bird", directory).with(words);
                (spec, "bird.ctl".to_owned())
            }
        };
        let spec = ProcessSpec { namespace: Some(namespace.to_owned()), ..spec };
        let mut process = Process::start(&spec).expect("is it installed (make setup)?");
        let socket = directory.join(socket);
        process.wait_until(Duration::from_secs(20), || socket.exists()).unwrap();
        process
    }

    pub fn ask(&self, namespace: &str, directory: &Path, command: &str) -> String {
        let mut asking = Command::new("ip");
        asking.args(["netns", "exec", namespace]);
        match self {
            Self::Frr(name, _) => {
                asking.arg("vtysh").arg("--vty_socket").arg(directory);
                asking.args(["-d", name, "-c", command]);
            }
            Self::Bird(_) => {
                asking.arg("birdc").arg("-s").arg(directory.join("bird.ctl")).arg(command);
            }
        }
        let output = asking.current_dir(directory).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
