//! One started program: pinned, logged, and gone when its handle is.

use crate::reaper::Reaper;
use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time to end in peace before the program is killed.
const GRACE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(10);
/// Octets of a log that are quoted in an error.
const QUOTE_MAX: usize = 1_500;

/// What to start.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    /// Name for people and for the log's file.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The core to pin it to.
    pub core: Option<usize>,
    /// The named network namespace that it stands in; `None`: the caller's.
    pub namespace: Option<String>,
    /// Where it runs, and where its log is kept.
    pub directory: PathBuf,
}

impl ProcessSpec {
    /// A program in `directory`, not pinned.
    #[must_use]
    pub fn new(name: &str, program: impl Into<PathBuf>, directory: &Path) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            core: None,
            namespace: None,
            directory: directory.into(),
        }
    }

    /// The same with arguments.
    #[must_use]
    pub fn with<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// The command in a process group.
    pub(crate) fn command(&self, group: i32) -> Command {
        let words = self.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.directory).process_group(group);
        command
    }

    /// The command, its place first.
    fn words(&self) -> Vec<OsString> {
        let core = self.core.map(|core| ["taskset".into(), "--cpu-list".into(), format!("{core}")]);
        let place = self.namespace.iter().flat_map(|name| ["ip", "netns", "exec", name]);
        let mut words: Vec<OsString> = core.into_iter().flatten().map(Into::into).collect();
        words.extend(place.map(Into::into));
        words.push(self.program.clone().into());
        words.extend(self.arguments.iter().cloned());
        words
    }
}

/// What a program and its children have used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Processor time, user and system.
    pub cpu: Duration,
    /// Resident memory, bytes.
    pub resident_bytes: u64,
}

/// A process of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its number.
    pub id: u32,
    /// Its command, words apart by spaces.
    pub command: String,
    /// What it alone has used so far.
    pub usage: Usage,
}

impl Member {
    /// Processes of any program whose command has this text in it.
    #[must_use]
    pub fn find(text: &str) -> Vec<Self> {
        Self::all(|_, _, command| command.contains(text))
    }

    /// Processes by group, number and command.
    fn all(is_meant: impl Fn(i64, u32, &str) -> bool) -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let members = entries.flatten().filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (group, ticks, pages) = read_stat(&stat)?;
            let command = command(id);
            is_meant(group, id, &command).then(|| Self {
                id,
                command,
                usage: Usage::of(ticks, pages),
            })
        });
        members.collect()
    }

    /// Kills it.
    ///
    /// # Errors
    /// When it has ended, or the kernel does not let it.
    pub fn kill(&self) -> anyhow::Result<()> {
        let process = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        // Another one may have its number by now.
        let process = process.filter(|_| command(self.id) == self.command);
        let process = process.with_context(|| format!("{} has ended", self.command))?;
        Ok(kill_process(process, Signal::KILL)?)
    }
}

/// The words of a process's command, apart by spaces; none if it has ended.
fn command(id: u32) -> String {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

impl Usage {
    /// With that of others.
    #[must_use]
    pub fn of_all<'a>(members: impl IntoIterator<Item = &'a Member>) -> Self {
        members.into_iter().fold(Self::default(), |all, one| Self {
            cpu: all.cpu + one.usage.cpu,
            resident_bytes: all.resident_bytes + one.usage.resident_bytes,
        })
    }

    /// What this process itself has used so far.
    #[must_use]
    pub fn own() -> Self {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        read_stat(&stat).map_or_else(Self::default, |(_, ticks, pages)| Self::of(ticks, pages))
    }

    fn of(ticks: u64, pages: u64) -> Self {
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        Self {
            cpu: Duration::from_micros(ticks * 1_000_000 / per_second),
            resident_bytes: pages * rustix::param::page_size() as u64,
        }
    }
}

/// A running program. Dropping the handle ends it and its children.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    reaper: Reaper,
}

impl Process {
    /// Starts a program in a process group of its own, whose [`Reaper`] sees to it that nothing
    /// stays behind a killed lab.
    ///
    /// # Errors
    /// When the program cannot be started or its log cannot be written.
    pub fn start(spec: &ProcessSpec) -> anyhow::Result<Self> {
        let log = spec.directory.join(format!("{}.log", spec.name));
        let file =
            File::create(&log).with_context(|| format!("{} cannot be made", log.display()))?;
        let reaper = Reaper::start()?;
        let child = spec
            .command(i32::try_from(reaper.group())?)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{} cannot be started", spec.program.display()))?;
        Ok(Self { name: spec.name.clone(), child, log, reaper })
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for its end, at most `limit`.
    ///
    /// # Errors
    /// When it still runs then.
    pub fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let until = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            anyhow::ensure!(Instant::now() < until, "{} still runs after {limit:?}", self.name);
            std::thread::sleep(POLL);
        }
    }

    /// Waits until `ready` says yes, at most `limit`.
    ///
    /// # Errors
    /// When the program ends first or the time is over; the log's end is quoted.
    pub fn wait_until(
        &mut self,
        limit: Duration,
        mut ready: impl FnMut() -> bool,
    ) -> anyhow::Result<()> {
        let until = Instant::now() + limit;
        while !ready() {
            if let Some(status) = self.child.try_wait()? {
                anyhow::bail!("{} ended ({status}):\n{}", self.name, self.log_end());
            }
            if Instant::now() >= until {
                anyhow::bail!("{} is not ready after {limit:?}:\n{}", self.name, self.log_end());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// The last lines of what it printed.
    #[must_use]
    pub fn log_end(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let from = text.len().saturating_sub(QUOTE_MAX);
        String::from_utf8_lossy(&text[from..]).into_owned()
    }

    /// What it and its children have used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage::of_all(&self.members())
    }

    /// It and its children, each with what it has used so far.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let group = i64::from(self.reaper.group());
        Member::all(|own_group, id, _| own_group == group && i64::from(id) != group)
    }

    /// Sends a signal to it alone.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(process) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(process, signal);
        }
    }

    /// Kills it and its children at once.
    pub fn kill(&mut self) {
        self.reaper.signal(Signal::KILL);
    }

    /// Kills it alone, as a crash would: what it started goes on until the handle is dropped.
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub fn crash(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end and waits for that; kills it when it does not.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        let mut status = self.child.try_wait().ok().flatten();
        if status.is_none() {
            self.reaper.signal(Signal::TERM);
            status = self.wait(GRACE).ok();
        }
        self.kill(); // and the children that it left behind
        let status = status.or_else(|| self.child.wait().ok());
        let until = Instant::now() + GRACE;
        // They hold its ports until they are gone.
        while self.usage().resident_bytes > 0 && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        status
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Process group, ticks of processor time and resident pages from `/proc/PID/stat` (proc(5)).
fn read_stat(stat: &str) -> Option<(i64, u64, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    Some((fields.get(2)?.parse().ok()?, field(11)? + field(12)?, field(21)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_gone_when_its_handle_is() {
        let directory = tempfile::tempdir().unwrap();
        let spec = ProcessSpec::new("sleeper", "sh", directory.path())
            .with(["-c", "sleep 60 & echo started; wait"]);
        let mut process = Process::start(&spec).unwrap();
        let log = directory.path().join("sleeper.log");
        let started = || fs::read_to_string(&log).is_ok_and(|text| text.contains("started"));
        process.wait_until(Duration::from_secs(5), started).unwrap();
        let group = process.reaper.group();
        assert!(members(group) >= 3, "the shell, its child and the reaper");
        drop(process);
        let until = Instant::now() + Duration::from_secs(2);
        while members(group) > 0 && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        assert_eq!(members(group), 0);
    }

    #[test]
    fn what_a_program_started_outlives_its_crash_and_not_its_handle() {
        let directory = tempfile::tempdir().unwrap();
        let spec = ProcessSpec::new("crasher", "sh", directory.path())
            .with(["-c", "sleep 60 & echo started; wait"]);
        let mut process = Process::start(&spec).unwrap();
        let log = directory.path().join("crasher.log");
        let started = || fs::read_to_string(&log).is_ok_and(|text| text.contains("started"));
        process.wait_until(Duration::from_secs(5), started).unwrap();
        let group = process.reaper.group();
        process.crash().unwrap();
        assert!(process.ended().unwrap().is_some());
        assert!(members(group) >= 2, "its child and the reaper");
        let child = process.members().into_iter().find(|it| it.command.starts_with("sleep"));
        child.unwrap().kill().unwrap();
        drop(process);
        let until = Instant::now() + Duration::from_secs(2);
        while members(group) > 0 && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        assert_eq!(members(group), 0);
    }

    fn members(group: u32) -> usize {
        let stats = fs::read_dir("/proc").unwrap().flatten();
        let stats = stats.filter_map(|e| fs::read_to_string(e.path().join("stat")).ok());
        stats.filter_map(|s| read_stat(&s)).filter(|(g, ..)| *g == i64::from(group)).count()
    }

    #[test]
    fn a_program_that_ends_early_is_told_with_its_last_words() {
        let directory = tempfile::tempdir().unwrap();
        let spec = ProcessSpec::new("failing", "sh", directory.path())
            .with(["-c", "echo no such luck >&2; exit 3"]);
        let mut process = Process::start(&spec).unwrap();
        let error = process.wait_until(Duration::from_secs(5), || false).unwrap_err();
        assert!(error.to_string().contains("no such luck"), "{error}");
    }

    #[test]
    fn processor_time_and_memory_are_read() {
        let stat = "77 (a (b) c) S 1 70 70 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 9 1000 25 0";
        assert_eq!(read_stat(stat), Some((70, 200, 25)));
        let directory = tempfile::tempdir().unwrap();
        let spec = ProcessSpec::new("busy", "sh", directory.path())
            .with(["-c", "i=0; while [ $i -lt 300000000 ]; do i=$((i+1)); done"]);
        let process = Process::start(&spec).unwrap();
        let until = Instant::now() + Duration::from_secs(10);
        while process.usage().cpu < Duration::from_millis(50) && Instant::now() < until {
            std::thread::sleep(POLL);
        }
        let usage = process.usage();
        assert!(usage.cpu >= Duration::from_millis(50) && usage.resident_bytes > 0, "{usage:?}");
        let members = process.members();
        let is_shell = |one: &&Member| one.command.starts_with("sh -c i=0");
        let shell = members.iter().find(is_shell).unwrap_or_else(|| panic!("{members:?}"));
        assert!(shell.id == process.id() && shell.usage.cpu >= usage.cpu, "{members:?}");
        assert!(Member { command: "another".into(), ..shell.clone() }.kill().is_err());
    }
}
