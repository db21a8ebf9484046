//! SIPp, with its own scenarios or ours, and what it counted.

use crate::process::{Process, ProcessSpec};
use anyhow::Context;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Lines of an error log that are quoted.
const ERROR_LINES_MAX: usize = 12;
/// Words by which SIPp tells that it gave a call up.
const FATAL: &[&str] = &["Aborting", "aborted", "Unexpected", "retransmission", "imeout"];

/// What SIPp plays.
#[derive(Debug, Clone)]
pub struct SippSpec {
    /// Name for people and files; unique in its directory.
    pub name: String,
    /// `uac`, `uas` or another of SIPp's own scenarios; or a file that ends in `.xml`.
    pub scenario: String,
    /// Where it speaks from.
    pub local: SocketAddr,
    /// Where calls go; `None` for a scenario that waits for them.
    pub remote: Option<SocketAddr>,
    /// Calls in all; a waiting scenario ends after them.
    pub calls: Option<u64>,
    /// Calls per second.
    pub rate: f64,
    /// Anything else.
    pub arguments: Vec<String>,
    /// The core to pin it to.
    pub core: Option<usize>,
}

impl SippSpec {
    /// A scenario at `local`, one call a second.
    #[must_use]
    pub fn new(name: &str, scenario: &str, local: SocketAddr) -> Self {
        Self {
            name: name.into(),
            scenario: scenario.into(),
            local,
            remote: None,
            calls: None,
            rate: 1.0,
            arguments: Vec::new(),
            core: None,
        }
    }
}

/// What SIPp counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SippCounts {
    /// Calls that went as the scenario says.
    pub succeeded: u64,
    /// The others.
    pub failed: u64,
    /// Messages sent again.
    pub retransmissions: u64,
}

/// A running SIPp.
#[derive(Debug)]
pub struct Sipp {
    process: Process,
    statistics: PathBuf,
    errors: PathBuf,
}

impl Sipp {
    /// Starts it; its files go to `directory`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(spec: &SippSpec, directory: &Path) -> anyhow::Result<Self> {
        let statistics = directory.join(format!("{}.csv", spec.name));
        let errors = directory.join(format!("{}.errors", spec.name));
        let kind = if spec.scenario.ends_with(".xml") { "-sf" } else { "-sn" };
        let mut arguments: Vec<String> = vec![kind.into(), spec.scenario.clone()];
        if let Some(remote) = spec.remote {
            arguments.push(remote.to_string());
        }
        let mut option = |name: &str, value: String| arguments.extend([name.into(), value]);
        option("-i", spec.local.ip().to_string());
        option("-p", spec.local.port().to_string());
        option("-r", format!("{}", spec.rate));
        option("-stf", statistics.display().to_string());
        option("-error_file", errors.display().to_string());
        option("-fd", "1".into());
        option("-buff_size", "4000000".into());
        if let Some(calls) = spec.calls {
            option("-m", calls.to_string());
        }
        arguments.extend(["-trace_stat", "-trace_err", "-nostdin"].map(String::from));
        arguments.extend(spec.arguments.iter().cloned());
        let mut process = ProcessSpec::new(&spec.name, "sipp", directory).with(arguments);
        process.core = spec.core;
        let process = Process::start(&process).context("SIPp (Debian: sip-tester)")?;
        Ok(Self { process, statistics, errors })
    }

    /// Waits for its end, at most `limit`.
    ///
    /// # Errors
    /// When it still runs then.
    pub fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        self.process.wait(limit)
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.process.ended()
    }

    /// What it has counted, as of its last report (each second, and at its end).
    ///
    /// # Errors
    /// When its statistics cannot be read.
    pub fn counts(&self) -> anyhow::Result<SippCounts> {
        let text = fs::read_to_string(&self.statistics)
            .with_context(|| format!("{} tells nothing", self.statistics.display()))?;
        read_counts(&text).with_context(|| format!("{} is odd", self.statistics.display()))
    }

    /// The first errors it logged that made a call fail, and what came next in the log.
    #[must_use]
    pub fn errors(&self) -> String {
        let text = fs::read_to_string(&self.errors).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let fatal = |line: &&str| FATAL.iter().any(|word| line.contains(word));
        let first = lines.iter().position(fatal).unwrap_or(0);
        lines[first..].iter().take(ERROR_LINES_MAX).copied().collect::<Vec<_>>().join("\n")
    }

    /// The last lines it printed.
    #[must_use]
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }

    /// Asks it to end.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.stop()
    }
}

/// Cumulative columns of the last line of SIPp's statistics.
fn read_counts(text: &str) -> Option<SippCounts> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let names: Vec<&str> = lines.next()?.split(';').collect();
    let values: Vec<&str> = lines.next_back()?.split(';').collect();
    let column = |name: &str| -> Option<u64> {
        values.get(names.iter().position(|n| *n == name)?)?.parse().ok()
    };
    Some(SippCounts {
        succeeded: column("SuccessfulCall(C)")?,
        failed: column("FailedCall(C)")?,
        retransmissions: column("Retransmissions(C)")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::free_port;

    #[test]
    fn sipp_calls_itself_and_its_counts_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let local = [127, 0, 0, 1].into();
        let answerer = SippSpec::new("uas", "uas", free_port(local).unwrap());
        let mut caller = SippSpec::new("uac", "uac", free_port(local).unwrap());
        caller.remote = Some(answerer.local);
        (caller.calls, caller.rate) = (Some(20), 50.0);
        caller.arguments = vec!["-d".into(), "10".into()];
        let _answerer = Sipp::start(&answerer, directory.path()).unwrap();
        let mut caller = Sipp::start(&caller, directory.path()).unwrap();
        let status = caller.wait(Duration::from_secs(20)).unwrap();
        assert!(status.success(), "{}", caller.errors());
        let counts = caller.counts().unwrap();
        assert_eq!((counts.succeeded, counts.failed), (20, 0));
    }
}
