//! Calls that are set up by SIP through a session controller and a media controller, each a site of
//! its own, and their speech through the media controller's forwarder.
//!
//! ```text
//!   core 0: generator ── SIP ──→ SSC ── SIP ──→ generator           the calls of the report
//!                                 └─ rows ─→ MSC ─→ forwarder, core 1
//!   core 0: tester ══ RTP or SRTP, by memif or wires ══ forwarder ══ RTP ══ tester
//! ```

use crate::book::Book;
use crate::calls::{CORE_V4, Calls, INTERFACES, Phones};
use crate::signalling::{Ends, Signalling, example};
use crate::sites::{MediaSide, MediaSite, SessionSite};
use crate::test_bed::{FORWARDER_PACKETS, LEFT_V4, PORTS, RIGHT_V4, delays};
use forwarder_bench::{
    Bench, Found, IN, IN_MAC_TEXT, LEFT, OUT, OUT_MAC_TEXT, RIGHT, SUT_V4, Testbed,
};
use forwarder_bench::{Tester, Who};
use packet_load::Trial;
use peers::{Usage, free_port};
use report::host;
use report::scratch::Scratch;
use report::site::Site;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Addresses that each side has ports of, so that there are 100,000 pairs.
const ADDRESSES: u8 = 4;
const ADDRESS_FIRST: u8 = 16;
/// Packets that a memif holds: four milliseconds of 2 million a second.
const RING: usize = 8_192;
/// Calls before memory is looked at first: connections, buffers, tables.
const WARM_UP_CALLS: u32 = 50;
/// Time for the session controller to lease ports, and for streams to end.
const LEASED_MAX: Duration = Duration::from_secs(10);
const ENDED_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);
/// What is sent before, and does not count.
const WARM: Trial = Trial::Rate { pps: 2_000.0, duration: Duration::from_millis(300) };
/// A look at whether a level is borne at all, before it is held for its time.
const GLANCE: Duration = Duration::from_secs(5);
/// What a glance may lose more than is borne: it has fewer packets.
const GLANCE_LOSS: f64 = 10.0;

/// What carries the packets of the media controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// Shared memory.
    Memif,
    /// Packet sockets at wires.
    Packet,
}

/// How many calls, how quickly, for how long.
#[derive(Debug, Clone)]
pub(crate) struct Size {
    /// Calls that are tried, most first, until as many are borne.
    pub(crate) levels: Vec<u32>,
    /// Calls set up a second.
    pub(crate) rate: f64,
    /// How long they speak.
    pub(crate) time: Duration,
}

/// What a level found.
pub(crate) struct Level {
    pub(crate) calls: u32,
    pub(crate) loss: f64,
    pub(crate) note: String,
    pub(crate) detail: Value,
}

/// Resident memory, octets, and processor time of the three processes.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    /// SSC, MSC, forwarder.
    octets: [u64; 3],
    cpu: [Duration; 3],
}

const PROCESSES: [&str; 3] = ["ssc", "msc", "forwarder"];

impl Used {
    fn of(stage: &Stage) -> Self {
        let forwarder = Usage::of_all(&stage.msc.forwarders());
        let all = [stage.ssc.own_usage(), stage.msc.own_usage(), forwarder];
        Self { octets: all.map(|it| it.resident_bytes), cpu: all.map(|it| it.cpu) }
    }

    /// Cores that each used since then.
    fn cores(&self, before: &Self, time: Duration) -> Value {
        let of = |which: usize| {
            let spent = self.cpu[which].saturating_sub(before.cpu[which]).as_secs_f64();
            (spent / time.as_secs_f64().max(f64::MIN_POSITIVE) * 1e3).round() / 1e3
        };
        json!({ PROCESSES[0]: of(0), PROCESSES[1]: of(1), PROCESSES[2]: of(2) })
    }

    /// Octets by which each has grown since then for each of so many calls.
    fn grown(&self, before: &Self, calls: u32) -> Value {
        let of = |which: usize| {
            self.octets[which].saturating_sub(before.octets[which]) / u64::from(calls.max(1))
        };
        json!({ PROCESSES[0]: of(0), PROCESSES[1]: of(1), PROCESSES[2]: of(2) })
    }
}

/// Both sites, and where they are.
struct Stage {
    ssc: Site,
    msc: Site,
    ends: Ends,
}

/// The most calls that are borne of those tried, or what the last of them found.
///
/// # Errors
/// When sites do not come up, or calls are not set up or do not end as they should.
pub(crate) fn highest(
    phones: Phones,
    carried: Carried,
    size: &Size,
    bench: Bench,
    tandem: &Path,
) -> anyhow::Result<Level> {
    let mut last = None;
    for calls in &size.levels {
        let phones = Phones { calls: *calls, ..phones };
        let level = level(phones, carried, size, bench, tandem)?;
        if level.loss <= bench.loss {
            return Ok(level);
        }
        last = Some(level);
    }
    last.ok_or_else(|| anyhow::anyhow!("no number of calls was asked for"))
}

fn level(
    phones: Phones,
    carried: Carried,
    size: &Size,
    bench: Bench,
    tandem: &Path,
) -> anyhow::Result<Level> {
    let scratch = Scratch::new("tandem-lab-")?;
    let bench = Bench { ring: RING, ..bench };
    let ground = match carried {
        Carried::Memif => None,
        Carried::Packet => Some(Testbed::new(Who::Tandem, bench.cores, scratch.path())?),
    };
    let run = Run { phones, size, bench, tandem, directory: scratch.path(), ground };
    let place = run.ground.as_ref().map(|ground| ground.sut.name().to_owned());
    within(place.as_deref(), || run.run())
}

/// Does something in a thread of its own, in a namespace where there is one.
pub(crate) fn within<T: Send>(
    place: Option<&str>,
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            place.map_or(Ok(()), attack::enter)?;
            work()
        });
        inside.join().map_err(|_| anyhow::anyhow!("the thread failed"))?
    })
}

/// A level under way.
struct Run<'a> {
    phones: Phones,
    size: &'a Size,
    bench: Bench,
    tandem: &'a Path,
    directory: &'a Path,
    ground: Option<Testbed>,
}

impl Run<'_> {
    fn run(&self) -> anyhow::Result<Level> {
        let stage = self.stage()?;
        let book = Arc::new(Book::new(self.phones));
        let signalling = Signalling::start(stage.ends, Arc::clone(&book))?;
        let (calls, rate) = (self.phones.calls, self.size.rate);
        // Those end again.
        signalling.set_up(WARM_UP_CALLS.min(calls), rate)?;
        ended(&signalling, rate)?;
        let before = Used::of(&stage);
        let placed = signalling.set_up(calls, rate)?;
        let standing = Used::of(&stage);
        let (found, spoke) = self.speak(&book.calls()?)?;
        let after = Used::of(&stage);
        let drops = if found.measured.received < found.measured.intended {
            self.drops(&stage.msc)?
        } else {
            Value::Null
        };
        let streams = streams(&stage.msc)?;
        anyhow::ensure!(streams == u64::from(calls), "{streams} streams of {calls} calls");
        ended(&signalling, rate.max(2_000.0))?;
        gone(&stage.msc)?;
        let loss = found.measured.loss_ratio();
        let pps = self.phones.pps();
        let all = &found.report.all;
        let voice = all.voice.unwrap_or_default();
        let ppm = (loss * 1e6 * 10.0).round() / 10.0;
        let micro = |ns: u64| ns / 1_000;
        let note = format!(
            "{:.2} Mpps, {ppm} ppm lost, delay p50 {} p99.9 {} us, jitter p99.9 {} us",
            pps / 1e6,
            micro(all.delays.p50_ns),
            micro(all.delays.p999_ns),
            micro(voice.variation.p999_ns)
        );
        let detail = json!({
            "calls": calls,
            "set_up_per_s": rate,
            "set_up_p50_us": placed.setup.p50_us,
            "set_up_p99_us": placed.setup.p99_us,
            "spoke_s": spoke.as_secs_f64().round(),
            "pps": pps.round(),
            "packets": found.measured.intended,
            "lost": found.measured.intended.saturating_sub(found.measured.received),
            "not_sent": found.unsent,
            "lost_ppm": ppm,
            "lost_in_a_row_max": all.loss_period_max,
            "drops": drops,
            "reordered": all.reordered,
            "duplicates": all.duplicates,
            "foreign": found.report.foreign,
            "delay_us": delays(&all.delays),
            "jitter_us": delays(&voice.variation),
            "srtp": { "opened": voice.opened, "forged": voice.forged,
                "replayed": voice.replayed, "refused": voice.refused },
            "cores": after.cores(&standing, spoke),
            "tester_away_us": found.away.as_micros() as u64,
            "real_time": found.is_urgent,
            "octets_per_call": standing.grown(&before, calls),
            "resident_mb": { "ssc": standing.octets[0] >> 20, "msc": standing.octets[1] >> 20,
                "forwarder": standing.octets[2] >> 20 },
        });
        Ok(Level { calls, loss, note, detail })
    }

    /// Packets both ways for the time, and how long that was with all around it. A level that is
    /// not borne for a moment is not held any longer.
    fn speak(&self, calls: &Calls) -> anyhow::Result<(Found, Duration)> {
        let (pps, time) = (self.phones.pps(), self.size.time);
        let work = |tester: &mut Tester| {
            tester.never_wake();
            tester.trial(WARM);
            let begun = Instant::now();
            let glance = Trial::Rate { pps, duration: GLANCE.min(time) };
            let found = tester.trial(glance);
            let may_lose = self.bench.loss * GLANCE_LOSS;
            if time <= GLANCE || found.measured.loss_ratio() > may_lose {
                return Ok((found, begun.elapsed()));
            }
            let begun = Instant::now();
            Ok((tester.trial(Trial::Rate { pps, duration: time }), begun.elapsed()))
        };
        match &self.ground {
            Some(ground) => self.bench.on_wires(ground, &calls.plan(), work),
            None => self.bench.on_memifs(self.directory, &calls.plan(), work),
        }
    }

    /// What the forwarder's ports and the wires dropped so far.
    fn drops(&self, msc: &Site) -> anyhow::Result<Value> {
        let ports = msc.get("functions/msc1/plane/ports")?;
        let rows = ports.as_array().into_iter().flatten().flat_map(|port| {
            let name = port["port"].as_str().unwrap_or_default();
            let counts = port.as_object().into_iter().flatten();
            let drops = counts.filter(|(key, _)| key.starts_with("not_"));
            drops.map(move |(key, count)| (format!("{name} {key}"), count.as_u64().unwrap_or(0)))
        });
        let wires = self.ground.as_ref().map(Testbed::drops).transpose()?.unwrap_or_default();
        let all = rows.chain(wires).filter(|(_, count)| *count > 0);
        Ok(all.map(|(name, count)| (name, json!(count))).collect::<serde_json::Map<_, _>>().into())
    }

    /// Starts both sites. Control has a core of its own where there is one.
    fn stage(&self) -> anyhow::Result<Stage> {
        let (own, core) = self.bench.cores;
        let control = if host::cores() > 2 { 2 } else { own };
        let [msc_api, ssc_api, listen, access, outer, caller, answerer] = addresses()?;
        let place = |name: &str| -> anyhow::Result<_> {
            let directory = self.directory.join(name);
            std::fs::create_dir_all(&directory)?;
            Ok(directory)
        };
        let start = |name: &str, text: &str, api| -> anyhow::Result<Site> {
            let mut spec = Site::spec(self.tandem, &place(name)?);
            spec.core = Some(control);
            Site::start(&spec, text, api)
        };
        let msc = MediaSite {
            name: "msc1".to_owned(),
            api: msc_api,
            lines: format!("listen = \"{listen}\""),
            core,
            packets: FORWARDER_PACKETS,
            ports: (PORTS.0, PORTS.1 - 1),
            sides: self.sides(),
        };
        let text = msc.file(&place("msc")?).text();
        let msc = start("msc", &text, msc_api)?;
        let ssc = SessionSite {
            access,
            core: outer,
            answerer,
            lines: String::new(),
            media: String::new(),
            controllers: vec![("msc1".to_owned(), listen, String::new())],
            protection: protection(&self.phones),
        };
        let site = report::site_file::SiteFile::new("ssc", &place("ssc")?, ssc_api);
        let ssc = start("ssc", &ssc.add(site).text(), ssc_api)?;
        leased(&msc)?;
        Ok(Stage { ssc, msc, ends: Ends { caller, answerer, access, core: own } })
    }

    fn sides(&self) -> [MediaSide; 2] {
        let side = |number: usize, (device, memif), mac, gateway| {
            let (name, own) = INTERFACES[number];
            let driver = match &self.ground {
                Some(_) => format!("driver = \"af_packet\"\ndevice = \"{device}\""),
                None => {
                    let socket = self.directory.join(memif);
                    format!(
                        "driver = \"memif\"\nsocket = {socket:?}\nmaster = true\nmac = \"{mac}\""
                    )
                }
            };
            let [a, b, c, _] = own.octets();
            let group = (0..ADDRESSES).map(|at| Ipv4Addr::new(a, b, c, ADDRESS_FIRST + at));
            MediaSide { name, driver, own, gateway, group: group.collect() }
        };
        debug_assert_eq!([INTERFACES[0].1, INTERFACES[1].1], [SUT_V4, CORE_V4]);
        [side(0, (IN, LEFT), IN_MAC_TEXT, LEFT_V4), side(1, (OUT, RIGHT), OUT_MAC_TEXT, RIGHT_V4)]
    }
}

/// Addresses of the loopback, in the calling thread's namespace.
fn addresses<const COUNT: usize>() -> anyhow::Result<[SocketAddr; COUNT]> {
    let mut all = [SocketAddr::new(LOCAL, 0); COUNT];
    for address in &mut all {
        *address = free_port(LOCAL)?;
    }
    Ok(all)
}

/// What a realm's `media` says of the protection of these phones.
pub(crate) fn protection(phones: &Phones) -> &'static str {
    match phones.access {
        crate::calls::Access::Plain => "",
        crate::calls::Access::Secure(_) => {
            ", srtp = \"required\", suites = [\"AES_CM_128_HMAC_SHA1_80\"]"
        }
    }
}

/// Waits until a session controller has ports of a media controller.
pub(crate) fn leased(msc: &Site) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let media = msc.get("functions/msc1/media")?;
        let leases = media[0]["leases"].as_array().into_iter().flatten();
        if leases.filter(|lease| lease["leased"].as_u64() > Some(0)).count() >= INTERFACES.len() {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < LEASED_MAX, "no port was leased: {media}");
        std::thread::sleep(POLL);
    }
}

/// Streams of a media controller.
pub(crate) fn streams(msc: &Site) -> anyhow::Result<u64> {
    let media = msc.get("functions/msc1/media")?;
    media[0]["streams"].as_u64().ok_or_else(|| anyhow::anyhow!("no streams in {media}"))
}

/// Ends all calls, each of which must end as its flow says.
fn ended(signalling: &Signalling, rate: f64) -> anyhow::Result<()> {
    let report = signalling.release(rate)?;
    anyhow::ensure!(
        report.failed() == 0 && !report.running && report.completed == report.started,
        "{} of {} calls ended well{}",
        report.completed,
        report.started,
        example(&report)
    );
    Ok(())
}

/// Waits until no stream stands.
fn gone(msc: &Site) -> anyhow::Result<()> {
    let begun = Instant::now();
    while streams(msc)? > 0 {
        anyhow::ensure!(begun.elapsed() < ENDED_MAX, "{} streams are left", streams(msc)?);
        std::thread::sleep(POLL);
    }
    Ok(())
}
