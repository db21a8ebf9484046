//! `sctp-throughput`: messages a second over one association between two namespaces, beside
//! usrsctp's `tsctp` (a release build) in the same run.
//!
//! ```text
//!   core 0: sender ──veth, MTU 1500, UDP encapsulation or IP protocol 132──→ core 1: receiver
//! ```
//! IP protocol 132 twice: by raw sockets, as usrsctp has it both times, and by AF_XDP.

use anyhow::Context;
use attack::{Namespace, Veth};
use peers::{Priority, Process, ProcessSpec, tsctp};
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const NAME: &str = "sctp-throughput";
const UNIT: &str = "messages/s";
const LEFT: &str = "10.196.9.1";
const RIGHT: &str = "10.196.9.2";
/// Time for a receiver to listen.
const SETTLE: Duration = Duration::from_millis(500);
/// Time for one transfer.
const LIMIT: Duration = Duration::from_secs(60);
/// Where tsctp listens by default, and so do we.
const PORT: &str = "5001";

/// What our associations buffer, and tsctp when it is told so.
const BUFFER_BYTES: &str = "1048576";

/// One transfer.
#[derive(Debug, Clone, Copy)]
struct Scenario {
    name: &'static str,
    carrier: &'static str,
    size: u32,
    /// Messages of a full run.
    count: u64,
    /// How many times usrsctp's rate it shall be.
    bar: f64,
}

const SCENARIOS: [Scenario; 6] = [
    Scenario { name: "UDP, 100 octets", carrier: "udp", size: 100, count: 8_000_000, bar: 2.0 },
    Scenario { name: "UDP, 1024 octets", carrier: "udp", size: 1_024, count: 2_000_000, bar: 4.0 },
    Scenario { name: "IP, 100 octets", carrier: "ip", size: 100, count: 8_000_000, bar: 2.0 },
    Scenario { name: "IP, 1024 octets", carrier: "ip", size: 1_024, count: 2_000_000, bar: 4.0 },
    Scenario { name: "XDP, 100 octets", carrier: "xdp", size: 100, count: 8_000_000, bar: 2.0 },
    Scenario { name: "XDP, 1024 octets", carrier: "xdp", size: 1_024, count: 2_000_000, bar: 4.0 },
];

/// Two namespaces and the place for logs.
struct TestBed {
    left: Namespace,
    right: Namespace,
    scratch: Scratch,
}

impl TestBed {
    fn new() -> anyhow::Result<Self> {
        let (left, right) = (Namespace::new("left")?, Namespace::new("right")?);
        let addresses = [format!("{LEFT}/24"), format!("{RIGHT}/24")];
        let [one, two] = addresses.each_ref().map(|address| [address.as_str()]);
        Veth::pair(
            Veth { namespace: &left, interface: "near", addresses: &one, mac: "02:00:00:00:09:01" },
            Veth { namespace: &right, interface: "far", addresses: &two, mac: "02:00:00:00:09:02" },
        )?;
        Ok(Self { left, right, scratch: Scratch::new("tandem-lab-")? })
    }

    /// A program on one of the two sides.
    fn spec(&self, side: Side, program: &Path, arguments: &[&str]) -> ProcessSpec {
        let (name, namespace, core) = match side {
            Side::Sender => ("sender", &self.left, 0),
            Side::Receiver => ("receiver", &self.right, 1.min(host::cores() - 1)),
        };
        let spec = ProcessSpec::new(name, program, self.scratch.path()).with(arguments);
        ProcessSpec { core: Some(core), namespace: Some(namespace.name().to_owned()), ..spec }
    }

    /// Starts a receiver, then a sender; waits for the sender, and for the receiver if it ends by
    /// itself. What both have printed: the sender first.
    fn transfer(
        &self,
        receiver: &ProcessSpec,
        sender: &ProcessSpec,
        ends: bool,
    ) -> anyhow::Result<[String; 2]> {
        let mut receiving = Process::start(receiver)?;
        std::thread::sleep(SETTLE);
        let mut sending = Process::start(sender)?;
        let status = sending.wait(LIMIT)?;
        let said = |name: &str| std::fs::read_to_string(self.scratch.path().join(name));
        let sent = said("sender.log")?;
        anyhow::ensure!(status.success(), "the sender ended with {status}: {sent}");
        if ends {
            receiving.wait(LIMIT)?;
        } else {
            std::thread::sleep(SETTLE); // it prints its line after the association
            receiving.stop();
        }
        Ok([sent, said("receiver.log")?])
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Sender,
    Receiver,
}

/// Messages a second as the receiver counted them, and how many came.
#[derive(Debug, Clone, Copy)]
struct Rate {
    per_s: f64,
    messages: u64,
}

/// Runs it.
///
/// # Errors
/// When the namespaces or usrsctp cannot be had.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let program = tsctp()?;
    let priority = Priority::claim();
    let bed = TestBed::new()?;
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    let (runs, share) = if options.quick { (1, 8) } else { (3, 1) };
    let progress = Progress::new(NAME, SCENARIOS.len() as u64);
    for scenario in SCENARIOS.iter().filter(|scenario| options.wants(scenario.name)) {
        let scenario = Scenario { count: scenario.count / share, ..*scenario };
        progress.say(scenario.name);
        let (mut ours, mut theirs, mut large) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..runs {
            theirs.push(usrsctp(&bed, &program, scenario, false)?);
            large.push(usrsctp(&bed, &program, scenario, true)?);
            ours.push(tandem(&bed, &options.tandem, scenario)?);
        }
        let wrong = ours.iter().filter(|rate| rate.messages != scenario.count);
        let broken = wrong.map(|rate| {
            format!("{}: {} of {} messages came", scenario.name, rate.messages, scenario.count)
        });
        outcome.broken.extend(broken);
        let row = row(scenario, [&ours, &theirs, &large], priority.granted);
        outcome.rows.push(row);
        progress.step();
    }
    Ok(outcome)
}

fn row(scenario: Scenario, [ours, theirs, large]: [&[Rate]; 3], priority: bool) -> Row {
    let (tandem, peer) = (median(ours), median(theirs));
    let rates = |all: &[Rate]| all.iter().map(|rate| rate.per_s.round()).collect::<Vec<_>>();
    let mbit_s = tandem * f64::from(scenario.size) * 8.0 / 1e6;
    Row {
        scenario: scenario.name.into(),
        unit: UNIT.into(),
        published: None,
        peer: Some(Peer { name: "usrsctp 0.9.5 tsctp, release build".into(), value: peer }),
        tandem: Some(tandem),
        detail: json!({
            "note": format!(
                "{mbit_s:.0} Mbit/s; {:.1} x the peer with 1 MiB buffers",
                tandem / median(large)
            ),
            "bar": scenario.bar,
            "ratio": tandem / peer,
            "tandem_runs": rates(ours),
            "peer_runs": rates(theirs),
            "peer_large_buffers": median(large),
            "peer_large_buffers_runs": rates(large),
            "priority": priority,
        }),
    }
}

fn median(rates: &[Rate]) -> f64 {
    let mut sorted: Vec<f64> = rates.iter().map(|rate| rate.per_s).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn tandem(bed: &TestBed, program: &Path, scenario: Scenario) -> anyhow::Result<Rate> {
    let shape = ["sctp", "throughput", "--json", "--carrier", scenario.carrier, "--port", PORT];
    let receiver = [&shape[..], &["--once", "--local", RIGHT]].concat();
    let (size, count) = (scenario.size.to_string(), scenario.count.to_string());
    let messages = ["--local", LEFT, "--peer", RIGHT, "--size", &size, "--count", &count];
    let sender = [&shape[..], &messages].concat();
    let receiver = bed.spec(Side::Receiver, program, &receiver);
    let sender = bed.spec(Side::Sender, program, &sender);
    let [_, received] = bed.transfer(&receiver, &sender, true)?;
    let line = received.lines().rfind(|line| line.starts_with('{'));
    let row: Value = serde_json::from_str(line.context("the receiver printed no report")?)?;
    let read = || Some((row["messages_per_s"].as_f64()?, row["messages"].as_u64()?));
    let (per_s, messages) = read().with_context(|| format!("the receiver printed {row}"))?;
    Ok(Rate { per_s, messages })
}

/// `tsctp` without `-D`, so that it fills its packets as we do; with its own buffers of 256 KiB
/// and with such as ours.
fn usrsctp(
    bed: &TestBed,
    program: &Path,
    scenario: Scenario,
    has_large_buffers: bool,
) -> anyhow::Result<Rate> {
    let udp = if scenario.carrier == "udp" { "9899" } else { "0" };
    let large = |flag| if has_large_buffers { vec![flag, BUFFER_BYTES] } else { Vec::new() };
    // A quarter of our messages: it needs the longer for them.
    let (size, count) = (scenario.size.to_string(), (scenario.count / 4).to_string());
    let receiver = [&["-E", udp, "-U", udp, "-L", RIGHT][..], &large("-R")].concat();
    let sender = ["-E", udp, "-U", udp, "-L", LEFT, "-n", &count, "-l", &size];
    let sender = [&sender[..], &large("-S"), &[RIGHT]].concat();
    let receiver = bed.spec(Side::Receiver, program, &receiver);
    let sender = bed.spec(Side::Sender, program, &sender);
    let [_, received] = bed.transfer(&receiver, &sender, false)?;
    // first length, messages, calls, octets, seconds, octets/s, notifications
    let lines = received.lines().map(|line| line.split(", ").collect::<Vec<_>>());
    let fields = lines.rev().find(|fields| fields.len() == 7);
    let fields = fields.with_context(|| format!("tsctp printed {received}"))?;
    let (messages, seconds): (u64, f64) = (fields[1].parse()?, fields[4].parse()?);
    anyhow::ensure!(seconds > 0.0, "tsctp measured no time");
    Ok(Rate { per_s: messages as f64 / seconds, messages })
}
