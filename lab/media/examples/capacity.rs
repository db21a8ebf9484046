//! Rows of `media-capacity` by themselves, and floods beside good streams, as root and without the
//! rest of `tandem`: this program is its own forwarder.
//!
//! ```text
//! cargo run --release -p tandem-lab-media --example capacity -- "Plain RTP, wires"
//! cargo run --release -p tandem-lab-media --example capacity -- availability
//! cargo run --release -p tandem-lab-media --example capacity -- flood rtp
//! ```

use anyhow::Context;
use attack::{Attack, Kind, Place};
use forwarder_bench::{Bench, IN_MAC_TEXT, LEFT, Testbed, Tester, Who};
use media_lab::{AVAILABILITY, Access, CAPACITY, FIRST_PORT, Phones, TRANSCODING, TestBed};
use packet_load::{Codec, Trial};
use report::Experiment;
use report::contract::Options;
use report::scratch::Scratch;
use srtp::Suite;
use std::io::Write;
use std::time::Duration;

const CALLS: u32 = 200;
const RATE: u32 = 50_000;
const TIME: Duration = Duration::from_secs(2);

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("forwarder") => forward(&words[1..]),
        Some("transcoding") => run_one(TRANSCODING, words[1..].to_vec()),
        Some("availability") => run_one(AVAILABILITY, words[1..].to_vec()),
        Some("flood") => flood(words.get(1).context("flood rtp|rtcp|stun|dtls")?),
        _ => run_one(CAPACITY, words),
    }
}

/// As `tandem forwarder` with the same options.
fn forward(words: &[String]) -> anyhow::Result<()> {
    let of = |name: &str| words.iter().skip_while(|word| *word != name).nth(1).cloned();
    let number = |name: &str| of(name).and_then(|text| text.parse().ok());
    let spec = forwarder::Spec {
        socket: of("--socket").context("--socket")?.into(),
        workers: 1,
        cores: number("--core").into_iter().collect(),
        packets: number("--packets").context("--packets")?,
        stride: forwarder::STRIDE,
        host: of("--host"),
        keys: None,
        users: Vec::new(),
    };
    Ok(forwarder::serve(&spec)?)
}

fn run_one(experiment: Experiment, scenarios: Vec<String>) -> anyhow::Result<()> {
    let mut options = Options { scenarios, ..Options::of_this_executable(true)? };
    // Rows of a whole site need the whole program.
    if let Some(tandem) = std::env::var_os("TANDEM") {
        options.tandem = tandem.into();
    }
    let outcome = (experiment.run)(&options)?;
    let told = outcome.json(&options, std::time::UNIX_EPOCH);
    Ok(writeln!(std::io::stdout(), "{told}")?)
}

/// What is lost of good streams alone, and beside a flood.
fn flood(kind: &str) -> anyhow::Result<()> {
    let kind = match kind {
        "rtp" => Kind::Rtp,
        "rtcp" => Kind::Rtcp,
        "stun" => Kind::Stun,
        _ => Kind::Dtls,
    };
    let scratch = Scratch::new("tandem-lab-")?;
    let bench = Bench::new(report::host::cores(), true);
    let ground = Testbed::new(Who::Tandem, bench.cores, scratch.path())?;
    let bed = TestBed::plane(&std::env::current_exe()?, ground, bench)?;
    let access = Access::Secure(Suite::AesCm128HmacSha1_80);
    let (codec, suppression, is_v6, becomes) = (Codec::G711, None, false, None);
    let phones = Phones { calls: CALLS, codec, suppression, access, is_v6, becomes };
    let good =
        |tester: &mut Tester| tester.trial(Trial::Rate { pps: phones.pps(), duration: TIME });
    let resident = || bed.usage().resident_bytes / 1_024;
    let (before, found, sent, after) = bed.on_fresh(phones, |tester| {
        let (before, memory) = (good(tester), resident());
        let attacker = std::thread::spawn(move || {
            let place = Place::find(LEFT, *FIRST_PORT.ip(), Some(IN_MAC_TEXT))?;
            let sources = "203.0.113.0/24".parse().map_err(anyhow::Error::msg)?;
            let time = TIME + Duration::from_secs(1);
            let ports = u16::try_from(CALLS)?;
            let flood = Attack { kind, target: FIRST_PORT, ports, sources, rate: RATE, time };
            attack::run(&flood, &place)
        });
        std::thread::sleep(Duration::from_millis(300));
        let found = good(tester);
        let sent = attacker.join().map_err(|_| anyhow::anyhow!("the attacker failed"))??;
        Ok(((before, memory), found, sent, resident()))
    })?;
    let ((before, memory), all) = (before, &found.report.all);
    writeln!(
        std::io::stdout(),
        "{kind:?}: {:.0} forged a second; good: {} of {} ({} not sent) lost beside it, {} of {} \
         before; packets of nobody's that arrived {} and {}; memory {memory} -> {after} KB",
        sent.frames_per_s,
        all.lost,
        all.sent,
        found.unsent,
        before.report.all.lost,
        before.report.all.sent,
        found.report.foreign,
        before.report.foreign,
    )?;
    Ok(())
}
