//! rtpengine (Debian's `rtpengine-daemon`), in user space, driven by [`crate::Ng`].

use crate::process::{Process, ProcessSpec, Usage};
use anyhow::Context;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "rtpengine";

/// How it is started.
#[derive(Debug, Clone)]
pub struct RtpengineSpec {
    /// Its interfaces by the names that `direction` says.
    pub interfaces: Vec<(String, IpAddr)>,
    /// Where it takes commands.
    pub ng: SocketAddr,
    /// The first and the last port of media.
    pub ports: (u16, u16),
    /// The core to pin it to.
    pub core: Option<usize>,
    /// The named namespace that it stands in.
    pub namespace: Option<String>,
}

/// A running rtpengine. Dropping it ends it.
#[derive(Debug)]
pub struct Rtpengine {
    process: Process,
    /// `rtpengine 10.5.3.5`.
    pub version: String,
}

impl Rtpengine {
    /// Starts it with one thread and without the kernel's module. It takes commands as soon as
    /// [`crate::Ng::is_there`] says so.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn start(spec: &RtpengineSpec, directory: &Path) -> anyhow::Result<Self> {
        let version = version()?;
        let mut process = ProcessSpec::new(PROGRAM, PROGRAM, directory);
        process = process.with(["--config-file=none", "--foreground", "--log-stderr"]);
        process = process.with(["--log-level=3", "--table=-1", "--num-threads=1"]);
        // Ports of calls that ended are there for the next ones.
        process = process.with(["--delete-delay=0"]);
        // Streams of the lab stand still between two trials.
        process = process.with(["--timeout=3600", "--silent-timeout=3600"]);
        process = process.with([
            format!("--listen-ng={}", spec.ng),
            format!("--port-min={}", spec.ports.0),
            format!("--port-max={}", spec.ports.1),
        ]);
        for (name, address) in &spec.interfaces {
            process = process.with([format!("--interface={name}/{address}")]);
        }
        (process.core, process.namespace) = (spec.core, spec.namespace.clone());
        let process = Process::start(&process)?;
        Ok(Self { process, version })
    }

    /// What it has used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}

fn version() -> anyhow::Result<String> {
    let output = Command::new(PROGRAM).arg("--version").output();
    let output = output.context("rtpengine is not installed (Debian: rtpengine-daemon)")?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let number = text.split_whitespace().find(|word| word.starts_with(|it: char| it.is_numeric()));
    let number = number.unwrap_or_default().split('-').next().unwrap_or_default();
    Ok(format!("rtpengine {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ng, Says, free_port};
    use std::time::Duration;

    #[test]
    fn rtpengine_starts_anchors_a_call_and_is_gone_again() {
        let local = IpAddr::from([127, 0, 0, 1]);
        let directory = tempfile::tempdir().unwrap();
        let spec = RtpengineSpec {
            interfaces: vec![("access".into(), local)],
            ng: free_port(local).unwrap(),
            ports: (50_000, 50_100),
            core: None,
            namespace: None,
        };
        let rtpengine = Rtpengine::start(&spec, directory.path()).unwrap();
        assert!(rtpengine.version.starts_with("rtpengine 1"), "{}", rtpengine.version);
        let mut client = Ng::new(spec.ng).unwrap();
        assert!(client.is_there(Duration::from_secs(10)), "{}", rtpengine.log_end());
        let sdp = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
            m=audio 4000 RTP/AVP 8\r\n";
        let entries =
            [("call-id", Says::Text("x")), ("from-tag", Says::Text("a")), ("sdp", Says::Text(sdp))];
        let reply = client.order("offer", &entries).unwrap();
        assert!(reply.text("sdp").unwrap().contains("m=audio 50"));
        assert!(client.order("offer", &entries[..1]).is_err());
        assert!(rtpengine.usage().resident_bytes > 0);
    }
}
