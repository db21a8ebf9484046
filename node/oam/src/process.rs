//! The process as the kernel sees it, under the names that every exporter of Prometheus gives it,
//! and the version of the program.

use crate::exposition::{escape, kind_name};
use event::Metric as _;
use std::fmt::Write as _;
use std::fs;

/// Ticks of a second in `/proc` (`USER_HZ`), the same on every Linux.
const TICKS: u64 = 100;

event::metrics! {
    /// What is known of the process; none of it has labels, but for site and version.
    pub enum ProcessMetric {
        /// Processor time that the process has taken, user and system, in seconds.
        Cpu = Counter, "process_cpu_seconds_total";
        /// Resident memory of the process in bytes.
        Resident = Gauge, "process_resident_memory_bytes";
        /// Virtual memory of the process in bytes.
        Virtual = Gauge, "process_virtual_memory_bytes";
        /// Open file descriptors.
        OpenFiles = Gauge, "process_open_fds";
        /// File descriptors that may be open.
        MaxFiles = Gauge, "process_max_fds";
        /// Start of the process in seconds since the UNIX epoch.
        Started = Gauge, "process_start_time_seconds";
        /// Always 1; its labels say the name of the site and the version of the program.
        Build = Gauge, "tandem_build_info";
    }
}

/// The metrics of this process, which runs that site, in Prometheus' text format; what the kernel
/// does not say is left out.
#[must_use]
pub fn exposition(site: &str, version: &str) -> String {
    let stat = read("self/stat");
    let status = read("self/status");
    let readings = [
        (ProcessMetric::Cpu, ticks(&stat).map(seconds)),
        (ProcessMetric::Resident, octets(&status, "VmRSS:")),
        (ProcessMetric::Virtual, octets(&status, "VmSize:")),
        (ProcessMetric::OpenFiles, open_files()),
        (ProcessMetric::MaxFiles, max_files(&read("self/limits"))),
        (ProcessMetric::Started, started(&stat, &read("stat"))),
    ];
    let mut out = String::new();
    for (metric, value) in readings {
        value.into_iter().for_each(|value| write(&mut out, metric, "", &value));
    }
    let labels = format!("{{site=\"{}\",version=\"{}\"}}", escape(site), escape(version));
    write(&mut out, ProcessMetric::Build, &labels, "1");
    out
}

fn write(out: &mut String, metric: ProcessMetric, labels: &str, value: &str) {
    let row = metric.row();
    let _ = writeln!(out, "# HELP {} {}", row.name, row.help());
    let _ = writeln!(out, "# TYPE {} {}", row.name, kind_name(row.kind));
    let _ = writeln!(out, "{}{labels} {value}", row.name);
}

fn read(name: &str) -> String {
    fs::read_to_string(format!("/proc/{name}")).unwrap_or_default()
}

/// A field of `/proc/PID/stat` by its number (proc(5)): the name of the program, field 2, may hold
/// blanks and brackets.
fn field(stat: &str, number: usize) -> Option<u64> {
    let behind = &stat[stat.rfind(')')? + 1..];
    behind.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

/// `utime` and `stime`.
fn ticks(stat: &str) -> Option<u64> {
    Some(field(stat, 14)? + field(stat, 15)?)
}

fn seconds(ticks: u64) -> String {
    format!("{}.{:02}", ticks / TICKS, ticks % TICKS)
}

/// A line of `/proc/PID/status` in KiB.
fn octets(status: &str, name: &str) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some((kib * 1_024).to_string())
}

fn open_files() -> Option<String> {
    // One of them is the directory itself.
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(open.saturating_sub(1).to_string())
}

fn max_files(limits: &str) -> Option<String> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = line.split_whitespace().next()?;
    soft.parse::<u64>().ok().map(|most| most.to_string())
}

/// `starttime`, which counts from the start of the machine.
fn started(stat: &str, machine: &str) -> Option<String> {
    let booted = machine.lines().find_map(|line| line.strip_prefix("btime "))?;
    let since = field(stat, 22)?;
    Some(format!("{}.{:02}", booted.trim().parse::<u64>().ok()? + since / TICKS, since % TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_of_the_process_has_a_value() {
        let text = exposition("edge", "1.2.3");
        for row in ProcessMetric::ROWS {
            assert!(text.contains(&format!("# TYPE {} ", row.name)), "{}: {text}", row.name);
        }
        assert!(text.ends_with("tandem_build_info{site=\"edge\",version=\"1.2.3\"} 1\n"), "{text}");
        let started =
            text.lines().find_map(|line| line.strip_prefix("process_start_time_seconds "));
        let started: f64 = started.unwrap().parse().unwrap();
        let now = crate::clock::now().as_millis() as f64 / 1_000.0;
        assert!((now - 86_400.0..=now + 1.0).contains(&started), "{started} is not today");
    }

    #[test]
    fn a_program_with_brackets_in_its_name_shifts_no_field() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4 0 0 0 0 12 34 0 0 20 0 9 0 555 1 1";
        assert_eq!((ticks(stat), field(stat, 22)), (Some(46), Some(555)));
        assert_eq!(seconds(4_605), "46.05");
    }
}
