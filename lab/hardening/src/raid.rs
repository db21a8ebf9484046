//! A site under attack: good traffic alone, then beside the attacker.

use super::good::Served;
use anyhow::Context;
use attack::Namespace;
use peers::{Process, ProcessSpec};
use report::contract::Options;
use report::site::Site;
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(super) const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The attackers' addresses, where nothing else is said: four hosts.
pub(super) const FEW: &str = "127.66.0.0/30";
/// Good traffic of the first moment, which finds caches and connections cold, does not count.
const WARM: Duration = Duration::from_millis(500);
/// The longest attack: it is ended when good traffic has been.
const ATTACK_MAX: Duration = Duration::from_secs(120);

/// What rows share.
pub(super) struct Bench {
    /// The program under attack.
    pub(super) tandem: PathBuf,
    /// The program that attacks: this one.
    attacker: PathBuf,
    /// How long good traffic is sent, each time.
    pub(super) length: Duration,
    /// The site file's reference of the program under attack.
    reference: String,
}

/// Why a row is not played: the program under attack is too old for it.
#[derive(Debug)]
struct Beyond(String);

impl std::fmt::Display for Beyond {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program under attack cannot play this: {}", self.0)
    }
}

impl std::error::Error for Beyond {}

/// The error that says so.
pub(super) fn beyond(why: &str) -> anyhow::Error {
    Beyond(why.to_owned()).into()
}

/// Whether a row was not played for that reason.
pub(super) fn is_beyond(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Beyond>().is_some()
}

impl Bench {
    pub(super) fn new(options: &Options) -> anyhow::Result<Self> {
        let attacker = std::env::current_exe()?;
        let told = Command::new(&options.tandem).arg("reference").output();
        let told = told.with_context(|| options.tandem.display().to_string())?;
        anyhow::ensure!(told.status.success(), "{} has no reference", options.tandem.display());
        let reference = String::from_utf8_lossy(&told.stdout).into_owned();
        let length = Duration::from_secs(if options.quick { 2 } else { 8 });
        Ok(Self { tandem: options.tandem.clone(), attacker, length, reference })
    }

    /// Whether the program under attack knows a key of a section: `ssc.replica`, `key_file`.
    pub(super) fn knows(&self, section: &str, key: &str) -> bool {
        knows(&self.reference, section, key)
    }

    /// A line of a site file where its key is known.
    pub(super) fn line(&self, section: &str, key: &str, value: &str) -> String {
        if self.knows(section, key) { format!("{key} = {value}") } else { String::new() }
    }

    /// Starts a site with this text in a directory, on the core of what is under attack.
    pub(super) fn site(
        &self,
        directory: &Path,
        text: &str,
        api: SocketAddr,
    ) -> anyhow::Result<Site> {
        self.site_in(None, directory, text, api)
    }

    /// The same in a namespace.
    pub(super) fn site_in(
        &self,
        namespace: Option<&Namespace>,
        directory: &Path,
        text: &str,
        api: SocketAddr,
    ) -> anyhow::Result<Site> {
        fs::create_dir_all(directory)?;
        let mut spec = Site::spec(&self.tandem, directory);
        spec.core = Some(0);
        spec.namespace = namespace.map(|place| place.name().to_owned());
        Site::start(&spec, text, api).map_err(|error| {
            let said = format!("{error:#}");
            // Exit status 3: the site file is refused, for another version's keys.
            let is_older = self.tandem != self.attacker && said.contains("exit status: 3");
            if is_older { beyond(&said) } else { error }
        })
    }

    /// Starts an attacker.
    pub(super) fn attack(&self, raid: &Raid, directory: &Path) -> anyhow::Result<Attacker> {
        let mut spec = ProcessSpec::new("attack", "nice", directory);
        spec.core = Some(1.min(report::host::cores() - 1));
        spec.namespace.clone_from(&raid.namespace);
        let program = self.attacker.as_os_str();
        let (to, rate) = (raid.to.to_string(), raid.rate.to_string());
        let seconds = ATTACK_MAX.as_secs().to_string();
        let mut spec = spec.with(["-n", "10"]).with([program]);
        spec = spec.with(["lab", "attack", raid.kind, "--to", &to, "--rate", &rate, "--json"]);
        spec = spec.with(["--seconds", &seconds, "--sources", &raid.sources]);
        spec = spec.with(raid.more.iter().flat_map(|(key, value)| [*key, value.as_str()]));
        let process = Process::start(&spec)?;
        Ok(Attacker { process, log: directory.join("attack.log") })
    }

    /// Good traffic without an attack, then beside it.
    pub(super) fn hold(
        &self,
        target: &Target<'_>,
        raid: &Raid,
        mut good: impl FnMut(Duration) -> anyhow::Result<Served>,
    ) -> anyhow::Result<Found> {
        good(WARM)?;
        let without = good(self.length)?;
        let before = target.resident();
        let attacker = self.attack(raid, target.directory)?;
        std::thread::sleep(raid.lead);
        let beside = good(self.length)?;
        let after = target.resident();
        let attack = attacker.end()?;
        let lives = after > 0 && target.site.get("counters").is_ok();
        Ok(Found {
            without,
            beside,
            attack,
            grown_octets: i64::try_from(after)? - i64::try_from(before)?,
            panics: panics(target.directory),
            lives,
            more: Value::Null,
        })
    }
}

/// Whether a reference has a key in a section.
fn knows(reference: &str, section: &str, key: &str) -> bool {
    let heads = [format!("## `[{section}]`"), format!("## `[[{section}]]`")];
    let mut lines = reference.lines().skip_while(|line| !heads.iter().any(|head| head == line));
    lines.next();
    let row = format!("| `{key}` |");
    lines.take_while(|line| !line.starts_with("## ")).any(|line| line.starts_with(&row))
}

/// Makes a key file in the directory of a site.
pub(super) fn make_key(directory: &Path, name: &str) -> anyhow::Result<()> {
    let own = directory.join("var");
    fs::create_dir_all(&own)?;
    let mut options = fs::OpenOptions::new();
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).open(own.join(name))?;
    Ok(writeln!(file, "a key of the laboratory, which is no secret")?)
}

/// What is under attack.
pub(super) struct Target<'a> {
    pub(super) site: &'a Site,
    /// Where its files are.
    pub(super) directory: &'a Path,
    /// All processes of it are counted, in whatever group.
    pub(super) namespace: Option<&'a Namespace>,
}

impl<'a> Target<'a> {
    pub(super) const fn new(site: &'a Site, directory: &'a Path) -> Self {
        Self { site, directory, namespace: None }
    }

    /// Octets of resident memory.
    fn resident(&self) -> u64 {
        match self.namespace {
            None => self.site.usage().resident_bytes,
            Some(place) => {
                let listed = attack::run_ip(&["netns", "pids", place.name()]).unwrap_or_default();
                listed.lines().map(|id| resident(id.trim())).sum()
            }
        }
    }
}

/// Octets of resident memory of a process (proc(5), `VmRSS`).
fn resident(id: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilo = line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilo.unwrap_or_default() * 1_024
}

/// Panics that the logs of a site tell of.
pub(super) fn panics(directory: &Path) -> u64 {
    let folders = [directory.to_owned(), directory.join("var")];
    let entries = folders.iter().flat_map(|it| fs::read_dir(it).into_iter().flatten().flatten());
    let logs = entries.map(|entry| entry.path());
    let logs = logs.filter(|path| path.extension().is_some_and(|it| it == "log"));
    logs.map(|path| {
        let log = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&log).matches("panicked at").count() as u64
    })
    .sum()
}

/// What an attack is.
pub(super) struct Raid {
    /// The word of `tandem lab attack`.
    pub(super) kind: &'static str,
    pub(super) to: SocketAddr,
    pub(super) rate: u32,
    pub(super) sources: String,
    /// Other options.
    pub(super) more: Vec<(&'static str, String)>,
    /// The attack goes on for so long before good traffic is counted.
    pub(super) lead: Duration,
    /// Where the attacker stands; `None`: here.
    pub(super) namespace: Option<String>,
}

impl Raid {
    /// By sockets from a few hosts of the loopback.
    pub(super) fn new(kind: &'static str, to: SocketAddr, rate: u32) -> Self {
        let (sources, more, namespace) = (FEW.to_owned(), Vec::new(), None);
        Self { kind, to, rate, sources, more, lead: Duration::from_secs(1), namespace }
    }
}

/// An attacker at work.
pub(super) struct Attacker {
    process: Process,
    log: PathBuf,
}

impl Attacker {
    /// Ends it; what it says it has sent.
    pub(super) fn end(mut self) -> anyhow::Result<Value> {
        self.process.stop();
        let said = fs::read_to_string(&self.log)?;
        let last = said.lines().last().unwrap_or_default();
        let told: Value =
            serde_json::from_str(last).with_context(|| format!("the attacker says: {said}"))?;
        Ok(json!({
            "frames": told["frames"],
            "frames_per_s": told["frames_per_s"],
            "seconds": told["seconds"],
            "octets": told["octets"],
        }))
    }
}

/// What a row found.
pub(super) struct Found {
    pub(super) without: Served,
    pub(super) beside: Served,
    /// What the attacker sent.
    pub(super) attack: Value,
    /// Growth of the resident memory of what is under attack.
    pub(super) grown_octets: i64,
    /// Panics in its log.
    pub(super) panics: u64,
    /// Whether it still runs and its API answers.
    pub(super) lives: bool,
    /// What else there is to say; a text in `fault` is one.
    pub(super) more: Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_where_its_section_has_it() {
        let text = "## `[ssc.replica]`\n\nA pair.\n\n| key | type |\n|---|---|\n| `pair` | x |\n\
            ## `[[rr.group]]`\n| `key_file` | y |\n";
        assert!(knows(text, "ssc.replica", "pair") && knows(text, "rr.group", "key_file"));
        assert!(!knows(text, "ssc.replica", "key_file") && !knows(text, "ssc", "pair"));
        assert!(is_beyond(&beyond("x")) && !is_beyond(&anyhow::anyhow!("x")));
    }
}
