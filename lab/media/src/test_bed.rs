//! A controller between two wires, and what it bears.

use crate::calls::{Calls, INTERFACES, Phones};
use crate::sites::{MediaSide, MediaSite};
use anyhow::Context;
use forwarder_bench::{Bench, Edge, Found, IN, LEFT_MAC, NEXT_MAC, OUT, Testbed, Tester};
use packet_load::{Delays, Trial};
use peers::{Ng, Rtpengine, RtpengineSpec, Usage};
use report::site::Site;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where it takes commands, inside its namespace.
const NG: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 2_223);
/// Where its API is, inside its namespace.
const API: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8_080);
/// Packets that its forwarder's worker holds.
pub(crate) const FORWARDER_PACKETS: u32 = 65_536;
/// Time to come up.
const READY_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(100);
/// Its ports of media.
pub(crate) const PORTS: (u16, u16) = (10_000, 60_000);
/// The tester's side of each wire, and the phones behind it.
pub(crate) const LEFT_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 1, 2);
pub(crate) const RIGHT_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 2, 2);
const ACCESS: &str = "198.18.0.0/15";
const CORE: &str = "198.20.0.0/15";
/// Loss that is borne, as in the report: 0.001 %.
pub(crate) const LOSS: f64 = 10e-6;
/// Part of a maximum at which delays are compared.
pub(crate) const LOAD: f64 = 0.8;
/// The first rate that is tried, and from one to the next: coarse, then fine, each from what was
/// borne so far and so often, as others may have had the machine.
const LEAST_PPS: f64 = 20_000.0;
const COARSE: f64 = 1.3;
const FINE: f64 = 1.05;
const ATTEMPTS: usize = 3;
const TRIALS_MAX: usize = 120;
/// Trials, so long that queues of sockets cannot hide what is not borne …
const TRIAL: Duration = Duration::from_secs(2);
const QUICK_TRIAL: Duration = Duration::from_millis(600);
/// … which shows in the mean of delays: the time of a packet.
const DELAY_MAX: Duration = Duration::from_millis(20);
/// A smaller share of time is not told well by ticks of 10 ms.
const BUSY_MIN: f64 = 0.1;
/// What is sent before all trials, and does not count.
const WARM: Trial = Trial::Rate { pps: 2_000.0, duration: Duration::from_millis(300) };
/// Trials at that load whose processor time is counted.
const TRIALS: usize = 5;

/// Who stands there.
enum Who {
    Rtpengine(Rtpengine),
    /// Tandem's forwarder, told of flows by the lab, and how often calls were set up.
    Plane(Mutex<(Edge, u64)>),
    /// Tandem's media controller, told of calls by NG.
    /// With the site's directory, which names its processes.
    Msc(Box<Site>, PathBuf),
}

impl Who {
    fn usage(&self) -> Usage {
        match self {
            Self::Rtpengine(rtpengine) => rtpengine.usage(),
            Self::Plane(plane) => held(plane).0.usage(),
            Self::Msc(site, directory) => {
                let mut usage = site.usage();
                // A group of its own, which the site does not count; its forwarder it does.
                usage.cpu += started("transcoder", directory);
                usage
            }
        }
    }
}

/// The processor time that a process of a site has used, by its socket.
fn started(program: &str, directory: &Path) -> Duration {
    let socket = format!("{}/", directory.display());
    let is_it = |entry: &std::fs::DirEntry| {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = words.split(|octet| *octet == 0).skip(1);
        words.next() == Some(program.as_bytes())
            && words.any(|word| word.starts_with(socket.as_bytes()))
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats =
        all.filter(is_it).filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
    // Behind the name, which is in brackets: fields 14 and 15 are times, in ticks of 10 ms.
    let times = stats.filter_map(|stat| {
        let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
        Some(fields.filter_map(|it| it.parse::<u64>().ok()).sum::<u64>())
    });
    Duration::from_millis(times.sum::<u64>() * 10)
}

fn held(plane: &Mutex<(Edge, u64)>) -> MutexGuard<'_, (Edge, u64)> {
    plane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A controller that stands there.
pub struct TestBed {
    controller: Who,
    ground: Testbed,
    /// Its name and version.
    pub name: String,
    bench: Bench,
}

/// A search under way.
#[derive(Debug, Default)]
struct Climb {
    pps: f64,
    at_best: Found,
    trials: usize,
    most_pps: f64,
}

/// What a controller bore.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The highest rate that was borne, packets a second.
    pub pps: f64,
    /// What was found there.
    pub at_best: Found,
    /// Trials until then.
    pub trials: usize,
    /// Packets a second at which [`Limit::spoken`] was found.
    pub load_pps: f64,
    /// What was found there.
    pub spoken: Spoken,
}

/// What was heard at a rate.
#[derive(Debug, Clone, Default)]
pub struct Spoken {
    /// The trial of the median of mean delays.
    pub found: Found,
    /// Processor time of the controller's process, nanoseconds a packet.
    pub process_ns: f64,
}

impl TestBed {
    /// rtpengine between the wires of a ground whose ends have addresses.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn rtpengine(ground: Testbed, bench: Bench) -> anyhow::Result<Self> {
        neighbours(&ground)?;
        let interfaces = INTERFACES.map(|(name, address)| (name.to_owned(), address.into()));
        let spec = RtpengineSpec {
            interfaces: interfaces.into(),
            ng: NG,
            ports: PORTS,
            core: Some(bench.cores.1),
            namespace: Some(ground.sut.name().to_owned()),
        };
        let rtpengine = Rtpengine::start(&spec, &ground.directory)?;
        let name = rtpengine.version.clone();
        let bed = Self { controller: Who::Rtpengine(rtpengine), ground, name, bench };
        let is_there = bed.inside(|ng| Ok(ng.is_there(READY_MAX)))?;
        anyhow::ensure!(is_there, "{} takes no commands", bed.name);
        Ok(bed)
    }

    /// Tandem's forwarder between the wires of a ground whose ends have no addresses; the lab tells
    /// it of the calls.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn plane(tandem: &Path, ground: Testbed, bench: Bench) -> anyhow::Result<Self> {
        let edge = Edge::on_wires(tandem, &ground, bench.cores.1)?;
        let controller = Who::Plane(Mutex::new((edge, 0)));
        Ok(Self { controller, ground, name: "Tandem's plane".to_owned(), bench })
    }

    /// Tandem's media controller between the wires of a ground whose ends have no addresses.
    ///
    /// # Errors
    /// When its site does not come up, or takes no commands.
    pub fn msc(tandem: &Path, ground: Testbed, bench: Bench) -> anyhow::Result<Self> {
        let place = ground.sut.name().to_owned();
        let directory = ground.directory.clone();
        let core = bench.cores.1;
        let site = std::thread::scope(|scope| {
            let inside = scope.spawn(|| -> anyhow::Result<Site> {
                attack::enter(&place)?;
                let spec = Site::spec(tandem, &directory);
                Site::start(&spec, &site_file(&directory, core), API)
            });
            inside.join().map_err(|_| anyhow::anyhow!("the starting thread failed"))?
        })?;
        let name = "Tandem's media controller".to_owned();
        let bed = Self { controller: Who::Msc(Box::new(site), directory), ground, name, bench };
        let is_there = bed.inside(|ng| Ok(ng.is_there(READY_MAX)))?;
        anyhow::ensure!(is_there, "{} takes no commands", bed.name);
        Ok(bed)
    }

    /// What the controller has used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.controller.usage()
    }

    /// Waits until a media controller has its transcoder.
    ///
    /// # Errors
    /// When it does not come to stand in time.
    pub fn transcodes(&self) -> anyhow::Result<()> {
        let Who::Msc(site, _) = &self.controller else { return Ok(()) };
        let until = Instant::now() + READY_MAX;
        while Instant::now() < until {
            let rows = self.inside(|_| site.get("functions/msc1/media"))?;
            if rows[0]["transcoder"] == "connected" {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        anyhow::bail!("its transcoder does not come")
    }

    /// Where the tester stands, and where files are.
    #[must_use]
    pub const fn ground(&self) -> &Testbed {
        &self.ground
    }

    /// Lets `work` have a client of the controller, in the controller's namespace.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn inside<T: Send>(
        &self,
        work: impl FnOnce(&mut Ng) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let place = self.ground.sut.name();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                attack::enter(place)?;
                work(&mut Ng::new(NG)?)
            });
            thread.join().map_err(|_| anyhow::anyhow!("the client failed"))?
        })
    }

    /// Sets calls up.
    ///
    /// # Errors
    /// What the controller says against one.
    pub fn call(&self, phones: Phones) -> anyhow::Result<Calls> {
        match &self.controller {
            Who::Rtpengine(_) | Who::Msc(..) => self.inside(|ng| phones.call(ng)),
            Who::Plane(plane) => {
                let mut plane = held(plane);
                plane.1 += 1;
                let calls = Calls::by_itself(phones, plane.1);
                plane.0.apply(&calls.programs())?;
                Ok(calls)
            }
        }
    }

    /// Ends calls.
    ///
    /// # Errors
    /// When the controller takes no commands.
    pub fn end(&self, calls: &Calls) -> anyhow::Result<()> {
        match &self.controller {
            Who::Rtpengine(_) | Who::Msc(..) => self.inside(|ng| calls.phones().end(ng)),
            Who::Plane(plane) => held(plane).0.apply(&calls.removals()).map(drop),
        }
    }

    /// The highest rate that it bears of these phones' speech, and what is heard at a part of it.
    /// `load_pps` is where delays are looked at; absent: at [`LOAD`] of what it bears itself.
    ///
    /// Rates are tried from below: what rtpengine could not read in time it does not read any
    /// more, so that calls are set up anew after a rate that was too high.
    ///
    /// # Errors
    /// When the tester's ends cannot be opened.
    pub fn limit(
        &self,
        phones: Phones,
        most_pps: f64,
        load_pps: Option<f64>,
    ) -> anyhow::Result<Limit> {
        let mut climb = Climb { most_pps, ..Climb::default() };
        for factor in [COARSE, FINE] {
            for _ in 0..ATTEMPTS {
                self.on_fresh(phones, |tester| {
                    self.climb(tester, factor, &mut climb);
                    Ok(())
                })?;
            }
        }
        let load_pps = load_pps.unwrap_or(climb.pps * LOAD);
        let spoken = self.on_fresh(phones, |tester| Ok(self.speak(tester, load_pps)))?;
        Ok(Limit { pps: climb.pps, at_best: climb.at_best, trials: climb.trials, load_pps, spoken })
    }

    /// Sets calls up, lets `work` have a tester that speaks through them, and ends them. The
    /// caller of `work` stands in the tester's namespace.
    ///
    /// # Errors
    /// When a call cannot be set up or the tester's ends cannot be opened, and those of `work`.
    pub fn on_fresh<T: Send>(
        &self,
        phones: Phones,
        work: impl FnOnce(&mut Tester) -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        let calls = self.call(phones)?;
        let done = self.bench.on_wires(&self.ground, &calls.plan(), |tester| {
            // Who is behind the wires is asked for by the first packets: at the core, too, where
            // nobody speaks.
            tester.hear_both_ends();
            tester.trial(WARM);
            work(tester)
        });
        self.end(&calls)?;
        done
    }

    /// How long trials are.
    const fn duration(&self) -> Duration {
        if self.bench.is_quick { QUICK_TRIAL } else { TRIAL }
    }

    /// Whether a rate was borne: next to nothing was lost, and no queue grew.
    fn is_borne(&self, found: &Found) -> bool {
        let is_prompt = found.measured.delays.mean_ns <= DELAY_MAX.as_nanos() as f64;
        is_prompt && found.measured.loss_ratio() <= self.bench.loss
    }

    /// Goes up from the highest rate that was borne, until one is not.
    fn climb(&self, tester: &mut Tester, factor: f64, climb: &mut Climb) {
        while climb.trials < TRIALS_MAX {
            let pps = (climb.pps * factor).max(LEAST_PPS).min(climb.most_pps);
            climb.trials += 1;
            let found = tester.trial(Trial::Rate { pps, duration: self.duration() });
            if !self.is_borne(&found) {
                return;
            }
            (climb.pps, climb.at_best) = (pps, found);
            if pps >= climb.most_pps {
                return;
            }
        }
    }

    /// What is heard of these phones at a packet every 20 ms.
    ///
    /// # Errors
    /// When calls cannot be set up or the tester's ends cannot be opened.
    pub fn at_its_pace(&self, phones: Phones) -> anyhow::Result<Spoken> {
        self.on_fresh(phones, |tester| {
            tester.never_wake();
            let pps = phones.pps() / if phones.is_one_way() { 2.0 } else { 1.0 };
            Ok(self.speak(tester, pps))
        })
    }

    /// What is heard at a rate.
    fn speak(&self, tester: &mut Tester, pps: f64) -> Spoken {
        let (before, mut packets) = (self.usage().cpu, 0);
        let duration = self.duration();
        let mut all: Vec<Found> = (0..TRIALS)
            .map(|_| tester.trial(Trial::Rate { pps: pps.max(1.0), duration }))
            .collect();
        // What was transcoded has lost its signature.
        let arrived = |found: &Found| found.report.all.received + found.report.foreign;
        packets += all.iter().map(arrived).sum::<u64>();
        let spent = self.usage().cpu.saturating_sub(before);
        let mean = |found: &Found| found.measured.delays.mean_ns;
        all.sort_by(|one, other| mean(one).total_cmp(&mean(other)));
        let found = all.into_iter().nth(TRIALS / 2).unwrap_or_default();
        let process_ns = spent.as_secs_f64() * 1e9 / (packets.max(1) as f64);
        Spoken { found, process_ns }
    }
}

/// A media controller with the same interfaces as rtpengine, each in a routing table of its own, as
/// both sides have their phones behind a router; its forwarder has a core.
fn site_file(directory: &Path, core: usize) -> String {
    let side = |number: usize, device, gateway| {
        let (name, own) = INTERFACES[number];
        let driver = format!("driver = \"af_xdp\"\ndevice = \"{device}\"");
        MediaSide { name, driver, own, gateway, group: vec![own] }
    };
    let site = MediaSite {
        name: "msc1".to_owned(),
        api: API,
        lines: format!("ng = \"{NG}\""),
        core,
        packets: FORWARDER_PACKETS,
        ports: (PORTS.0, PORTS.1 - 1),
        sides: [side(0, IN, LEFT_V4), side(1, OUT, RIGHT_V4)],
    };
    site.file(directory).text()
}

/// Who is behind the wires, for a kernel that is to send there.
fn neighbours(ground: &Testbed) -> anyhow::Result<()> {
    let sides = [(LEFT_V4, LEFT_MAC, IN, ACCESS), (RIGHT_V4, NEXT_MAC, OUT, CORE)];
    for (next, mac, device, phones) in sides {
        let text = mac.iter().fold(String::new(), |mut text, octet| {
            let colon = if text.is_empty() { "" } else { ":" };
            write!(text, "{colon}{octet:02x}").expect("a string takes everything");
            text
        });
        let next = next.to_string();
        ground.sut.ip(&["neigh", "replace", &next, "lladdr", &text, "dev", device])?;
        let route = ["route", "replace", phones, "via", &next, "dev", device];
        ground.sut.ip(&route).context("the phones")?;
    }
    Ok(())
}

pub(crate) fn micros(ns: f64) -> f64 {
    (ns / 10.0).round() / 100.0
}

pub(crate) fn delays(delays: &Delays) -> Value {
    json!({
        "p50": micros(delays.p50_ns as f64),
        "p99": micros(delays.p99_ns as f64),
        "p999": micros(delays.p999_ns as f64),
        "max": micros(delays.max_ns as f64),
        "mean": micros(delays.mean_ns),
    })
}

impl Limit {
    /// Packets a second that a busy core would bear.
    #[must_use]
    pub fn pps_a_core(&self) -> f64 {
        let busy = self.at_best.busy;
        if busy >= BUSY_MIN { self.pps / busy.min(1.0) } else { self.pps }
    }

    /// What a table says beside the value: delay and jitter at the load, 999 of 1,000.
    #[must_use]
    pub fn note(&self) -> String {
        let all = &self.spoken.found.report.all;
        let variation = all.voice.unwrap_or_default().variation.p999_ns as f64 / 1e3;
        let delay = all.delays.p999_ns as f64 / 1e3;
        let kpps = self.load_pps / 1e3;
        format!(
            "at {kpps:.0} kpps p99.9 of delay {delay:.0} us, of its variation {variation:.0} us"
        )
    }

    /// As a row's detail has it.
    #[must_use]
    pub fn detail(&self) -> Value {
        let all = &self.spoken.found.report.all;
        let voice = all.voice.unwrap_or_default();
        json!({
            "pps": self.pps.round(),
            "pps_a_busy_core": self.pps_a_core().round(),
            "core_busy": (self.at_best.busy * 1e3).round() / 1e3,
            "trials": self.trials,
            "process_ns_a_packet": self.spoken.process_ns.round(),
            "at_load": {
                "pps": self.load_pps.round(),
                "lost": all.lost,
                "reordered": all.reordered,
                "duplicates": all.duplicates,
                "delay_us": delays(&all.delays),
                "variation_us": delays(&voice.variation),
                "jitter_mean_us": micros(voice.jitter_mean_ns),
                "jitter_max_us": micros(voice.jitter_max_ns as f64),
                "srtp": {
                    "opened": voice.opened,
                    "forged": voice.forged,
                    "replayed": voice.replayed,
                    "refused": voice.refused,
                },
                "core_busy": (self.spoken.found.busy * 1e3).round() / 1e3,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_file_has_both_sides() {
        let text = site_file(Path::new("/somewhere"), 1);
        assert_eq!(text.matches("[[msc.group]]").count(), 2);
        assert!(text.contains("cores = [1]\npackets = 65536"), "{text}");
        let core = "addresses = [\"10.199.2.1/24\"]\ngateways = [\"10.199.2.2\"]";
        assert!(text.contains(core) && text.contains("ng = \"127.0.0.1:2223\""), "{text}");
    }
}
