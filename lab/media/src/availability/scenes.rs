//! The nodes, the calls through them, and what happens one after the other while phones speak.

use super::network::{Half, Host, Network, Node, Program, arbitration, settle, wait};
use super::streams::{Followers, Trials, hear};
use super::{Event, NEEDS_PAIR, Size};
use crate::anchored::{protection, within};
use crate::book::Book;
use crate::calls::Phones;
use crate::signalling::{Ends, Signalling, example};
use crate::sites::{MediaSide, MediaSite, SessionSite};
use crate::test_bed::{LEFT_V4, PORTS, RIGHT_V4};
use anyhow::Context;
use forwarder_bench::{Bench, Found, Tester};
use packet_load::StreamReport;
use report::contract::Options;
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use rtp::quality;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Media controllers, and those that calls are set up with at first.
const CONTROLLERS: usize = 4;
const AT_FIRST: usize = 3;
/// Octets of addresses of signalling: session controllers, and the first node of the first media
/// controller.
const SSC: u8 = 21;
const MSC: u8 = 31;
/// Where media controllers take session controllers.
const CONTROL_PORT: u16 = 2_970;
/// Addresses of a media controller on each side.
const ADDRESSES: u8 = 2;
/// The pair that has no arbiter: cut off, both of its nodes serve.
const WITHOUT_ARBITER: usize = 1;
/// Packets that a worker holds: six of them share the machine.
const PACKETS: u32 = 16_384;
/// The key of all, as lines of sites name it.
const KEY: &str = "key_file = \"../../pair.key\"";
/// Time until all is as it was after something happened.
const REST: Duration = Duration::from_millis(500);
const RELEASE_RATE: f64 = 2_000.0;

/// A stream of one direction of the calls of one media controller, or what is the worst of it.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    /// `access, msc1`.
    pub(super) name: String,
    /// Whether what happened, happened to its media controller.
    pub(super) is_hit: bool,
    pub(super) sent: u64,
    pub(super) lost: u64,
    /// The most that one call lost.
    pub(super) of_a_call: u64,
    /// The most that one call lost one after the other.
    pub(super) in_a_row: u32,
    /// Of what is lost, packets that came with an index that came before or is too old, and with a
    /// tag that is wrong.
    pub(super) replayed: u64,
    pub(super) forged: u64,
    /// The delay that 999 of 1,000 packets did not pass.
    pub(super) delay_ns: u64,
    /// As G.107 rates it.
    pub(super) mos: f64,
}

impl Stream {
    fn of(report: &StreamReport, is_hit: bool) -> Self {
        let loss = report.lost as f64 / report.sent.max(1) as f64;
        let packet = Duration::from_millis(20);
        let voice = report.voice.as_ref();
        let delay = packet + Duration::from_nanos(report.delays.p999_ns);
        let path = quality::Path { delay, loss, ..quality::Path::default() };
        Self {
            name: report.name.clone(),
            is_hit,
            sent: report.sent,
            lost: report.lost,
            of_a_call: report.flow_lost_max,
            in_a_row: report.loss_period_max,
            replayed: voice.map_or(0, |it| it.replayed),
            forged: voice.map_or(0, |it| it.forged),
            delay_ns: report.delays.p999_ns,
            mos: quality::rate(quality::Codec::G729, &path).mos(),
        }
    }

    pub(super) fn detail(&self) -> Value {
        json!({ "name": self.name, "hit": self.is_hit, "sent": self.sent, "lost": self.lost,
            "lost_of_a_call": self.of_a_call, "lost_in_a_row": self.in_a_row,
            "replayed": self.replayed, "forged": self.forged,
            "delay_p999_us": self.delay_ns / 1_000 })
    }
}

/// What was found in all scenes.
#[derive(Debug, Clone)]
pub(super) struct Played {
    pub(super) is_paired: bool,
    pub(super) scenes: Vec<(Event, Vec<Stream>)>,
    /// Why scenes were not played.
    pub(super) why_not: Vec<(Event, String)>,
    /// Calls of each of three media controllers, and of four.
    pub(super) spread: Vec<u64>,
    pub(super) spread_of_four: Vec<u64>,
    pub(super) calls_lost: u64,
    /// The first of them, in brackets.
    pub(super) example: String,
}

impl Played {
    pub(super) fn found(&self, event: Event) -> Option<&Vec<Stream>> {
        self.scenes.iter().find(|(other, _)| *other == event).map(|(_, streams)| streams)
    }

    pub(super) fn why(&self, event: Event) -> &str {
        let why = self.why_not.iter().find(|(other, _)| *other == event);
        why.map_or("it was not played", |(_, why)| why)
    }
}

/// What is played.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) size: Size,
    pub(super) phones: Phones,
    pub(super) bench: Bench,
}

/// All nodes, and the calls.
pub(super) struct Stand {
    // Nodes end before their places.
    signalling: Signalling,
    arbiter: Option<Node>,
    ssc: Vec<Node>,
    msc: Vec<Vec<Node>>,
    book: Arc<Book>,
    network: Network,
    size: Size,
    is_paired: bool,
}

/// All nodes: of the session controller, then of the media controllers.
fn hosts(is_paired: bool) -> Vec<Host> {
    let nodes = if is_paired { 2 } else { 1 };
    let host = |(name, last)| Host { name, last };
    let ssc = ["ssc-a", "ssc-b"].into_iter().map(str::to_owned).zip(SSC..);
    let msc = (0..CONTROLLERS as u8).flat_map(|number| {
        ["a", "b"][..nodes]
            .iter()
            .zip(0..)
            .map(move |(node, at)| (format!("msc{}-{node}", number + 1), MSC + 2 * number + at))
    });
    ssc.chain(msc).map(host).collect()
}

/// The addresses of a media controller's groups, at the access and at the core.
fn group(number: usize, net: u8) -> Vec<Ipv4Addr> {
    let first = 20 + 10 * number as u8;
    (first..first + ADDRESSES).map(|last| Ipv4Addr::new(10, 199, net, last)).collect()
}

/// The lines of a media controller's node.
fn msc(number: usize, last: u8, core: usize) -> MediaSite {
    let side = |name: &'static str, net, gateway| MediaSide {
        name,
        driver: format!("driver = \"af_xdp\"\ndevice = \"{name}\""),
        own: Ipv4Addr::new(10, 199, net, 100 + last),
        gateway,
        group: group(number, net),
    };
    MediaSite {
        name: format!("msc{}", number + 1),
        api: SocketAddr::from(([10, 213, 0, last], 0)),
        lines: format!("listen = \"10.213.0.{last}:{CONTROL_PORT}\"\n{KEY}"),
        core,
        packets: PACKETS,
        ports: PORTS,
        sides: [side("access", 1, LEFT_V4), side("core", 2, RIGHT_V4)],
    }
}

/// The session controller of both nodes.
fn ssc(phones: &Phones, is_paired: bool) -> SessionSite {
    let address = |last: u8, port| SocketAddr::from(([10, 213, 0, last], port));
    let controllers = (0..CONTROLLERS as u8).map(|number| {
        let last = MSC + 2 * number;
        let other = address(last + 1, CONTROL_PORT);
        let more = if is_paired { format!("other_address = \"{other}\"\n") } else { String::new() };
        (format!("msc{}", number + 1), address(last, CONTROL_PORT), more + KEY)
    });
    SessionSite {
        access: address(10, 5_060),
        core: address(11, 5_060),
        answerer: address(2, 5_060),
        lines: String::new(),
        media: String::new(),
        controllers: controllers.collect(),
        protection: protection(phones),
    }
}

/// Whether media controllers of this program may be pairs.
fn knows_pairs(tandem: &Path) -> anyhow::Result<bool> {
    let reference = Command::new(tandem).arg("reference").output().context("its reference")?;
    Ok(String::from_utf8_lossy(&reference.stdout).contains("[msc.replica]"))
}

impl Stand {
    /// Starts all, sets calls up, and lets everything happen.
    ///
    /// # Errors
    /// Without root or namespaces, when nodes do not come up, or calls are not set up.
    pub(super) fn play(
        scratch: &Scratch,
        options: &Options,
        setting: Setting,
        progress: &Progress,
    ) -> anyhow::Result<Played> {
        let is_paired = knows_pairs(&options.tandem)?;
        let mut all = hosts(is_paired);
        all.extend(is_paired.then(Host::arbiter));
        let network = Network::new(&all, scratch.path())
            .context("needs root, network namespaces and ip(8)")?;
        let hub = network.ground.sut.name().to_owned();
        within(Some(&hub), || {
            progress.say("nodes come up");
            let mut stand = Self::new(network, setting, is_paired, options)?;
            stand.run(setting.bench, progress)
        })
    }

    fn new(
        network: Network,
        setting: Setting,
        is_paired: bool,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let Setting { size, phones, bench } = setting;
        let phones = Phones { calls: size.calls + more(size), ..phones };
        let (own, core) = bench.cores;
        let control = if host::cores() > 2 { 2 } else { own };
        let program = Program { binary: &options.tandem, core: control };
        let arbiter = is_paired.then(|| start_arbiter(&network, program)).transpose()?;
        let (mut sscs, mut mscs) = (Vec::new(), Vec::new());
        for (at, host) in hosts(is_paired).iter().enumerate() {
            if at < 2 {
                let section = ssc(&phones, is_paired);
                let half = Half { has_arbiter: is_paired, ..half("ssc", 0, at, SSC) };
                sscs.push(Node::new(&network, host, "ssc", program, |site| {
                    let addresses =
                        "addresses = [\"10.213.0.10/24@eth0\", \"10.213.0.11/24@eth0\"]";
                    section
                        .add(site)
                        .with("[ssc.shield]\ntrusted = [\"10.213.0.0/24\"]")
                        .with(format_args!("{}\n{addresses}", half.text()))
                })?);
                continue;
            }
            let number = usize::from((host.last - MSC) / 2);
            let node = usize::from((host.last - MSC) % 2);
            let section = msc(number, host.last, core);
            let half = half("msc", 1 + number, node, MSC + 2 * number as u8);
            let half = Half { has_arbiter: number != WITHOUT_ARBITER, ..half };
            let made = Node::new(&network, host, &section.name, program, |site| {
                let site = section.add(site);
                if is_paired { site.with(half.text()) } else { site }
            })?;
            if node == 0 {
                mscs.push(Vec::new());
            }
            mscs[number].push(made);
        }
        let book = Arc::new(Book::new(phones));
        for pair in &mut mscs[..AT_FIRST] {
            begin(pair, is_paired)?;
        }
        begin(&mut sscs, true)?;
        let address = |last, port| SocketAddr::from(([10, 213, 0, last], port));
        let ends = Ends {
            caller: address(1, 5_060),
            answerer: address(2, 5_060),
            access: address(10, 5_060),
            core: own,
        };
        let signalling = Signalling::start(ends, Arc::clone(&book))?;
        let (ssc, msc) = (sscs, mscs);
        Ok(Self { signalling, arbiter, ssc, msc, book, network, size, is_paired })
    }

    fn run(&mut self, bench: Bench, progress: &Progress) -> anyhow::Result<Played> {
        self.leased(AT_FIRST)?;
        let Size { calls, speaking, rate, .. } = self.size;
        progress.say(&format!("{calls} calls are set up"));
        self.signalling.set_up(calls, rate)?;
        let spread = self.spread(AT_FIRST)?;
        progress.step();
        let groups: Vec<_> = (0..AT_FIRST).map(|number| group(number, 1)).collect();
        let speaking = speaking.min(calls);
        let parts = self.book.parts(speaking, &groups);
        let followers = Followers::new(Arc::clone(&self.book), speaking, parts);
        let (plan, pps) = followers.plan()?;
        let mut played = Played {
            is_paired: self.is_paired,
            scenes: Vec::new(),
            why_not: Vec::new(),
            spread,
            spread_of_four: Vec::new(),
            calls_lost: 0,
            example: String::new(),
        };
        let (ask, asked) = channel::<Duration>();
        let (tell, found) = channel::<Found>();
        let trials = Trials { ask, found };
        let (send, plans) = channel();
        std::thread::scope(|scope| {
            let plan = &plan;
            let followers = &followers;
            scope.spawn(move || followers.follow(&send));
            let place = self.network.ground.side.name().to_owned();
            let tester = scope.spawn(move || -> anyhow::Result<()> {
                let addresses: Vec<_> = (0..AT_FIRST)
                    .flat_map(|number| [group(number, 1), group(number, 2)].concat())
                    .collect();
                bench.in_place(&place, plan, move |tester: &mut Tester| {
                    tester.never_wake();
                    tester.resolve(&addresses)?;
                    tester.follow(plans);
                    hear(tester, pps, &asked, &tell);
                    Ok(())
                })
            });
            let mut scenes = || -> anyhow::Result<()> {
                for event in Event::ALL {
                    progress.say(&format!("{event:?}"));
                    self.scene(event, &trials, &mut played)?;
                    progress.step();
                }
                Ok(())
            };
            let scenes = scenes();
            drop(trials);
            let heard = tester.join().map_err(|_| anyhow::anyhow!("the tester failed"));
            followers.end();
            let heard = heard?;
            // Why the tester ended says more than that it did.
            heard.and(scenes)
        })?;
        progress.say("a fourth media controller is added");
        self.add_fourth(&mut played)?;
        let report = self.signalling.release(RELEASE_RATE)?;
        played.calls_lost = report.started.saturating_sub(report.completed);
        played.example = example(&report);
        progress.step();
        Ok(played)
    }

    fn scene(&mut self, event: Event, trials: &Trials, played: &mut Played) -> anyhow::Result<()> {
        let time = self.size.time;
        if event.needs_pair() && !self.is_paired {
            played.why_not.push((event, NEEDS_PAIR.to_owned()));
            return Ok(());
        }
        trials.ask.send(time).context("the tester has ended")?;
        std::thread::sleep(time / 3);
        let happened = self.happen(event);
        let found = trials.found.recv().context("the tester has ended")?;
        happened?;
        let hit = match event {
            Event::SscKilled => "",
            Event::ControlKilled | Event::CutOffAlone => "msc2",
            Event::ForwarderKilled => "msc3",
            Event::Planned | Event::MscKilled | Event::CutOff => "msc1",
            Event::Before | Event::After => "nobody",
        };
        let streams = found.report.streams.iter();
        let streams =
            streams.map(|stream| Stream::of(stream, stream.name.ends_with(hit) || hit.is_empty()));
        played.scenes.push((event, streams.collect()));
        std::thread::sleep(REST);
        Ok(())
    }

    /// Lets it happen, and sees to it that all stand again.
    fn happen(&mut self, event: Event) -> anyhow::Result<()> {
        let paired = self.is_paired;
        match event {
            Event::Before | Event::After => Ok(()),
            Event::SscKilled => {
                let at = active(&self.ssc)?;
                self.ssc[at].kill();
                self.ssc[at].start()?;
                settle(&self.ssc)
            }
            Event::ControlKilled => {
                let at = self.active_of(1)?;
                self.msc[1][at].crash()?;
                self.msc[1][at].start()?;
                stands(&self.msc[1], paired)
            }
            Event::ForwarderKilled => {
                let at = self.active_of(2)?;
                self.msc[2][at].kill_forwarder()?;
                stands(&self.msc[2], paired)
            }
            Event::Planned => {
                let at = self.active_of(0)?;
                self.msc[0][at].switch_over()?;
                stands(&self.msc[0], paired)
            }
            Event::MscKilled => {
                let at = self.active_of(0)?;
                self.msc[0][at].kill();
                self.msc[0][at].start()?;
                stands(&self.msc[0], paired)
            }
            Event::CutOff => self.cut_off(0),
            Event::CutOffAlone => self.cut_off(WITHOUT_ARBITER),
        }
    }

    /// Takes the node of a pair that serves from all others for a while.
    fn cut_off(&self, number: usize) -> anyhow::Result<()> {
        let at = self.active_of(number)?;
        let name = &self.msc[number][at].name;
        self.network.cut_off(name)?;
        std::thread::sleep(self.size.time / 3);
        self.network.give_back(name)?;
        stands(&self.msc[number], self.is_paired)
    }

    /// Which node of a media controller serves.
    fn active_of(&self, number: usize) -> anyhow::Result<usize> {
        if self.is_paired { active(&self.msc[number]) } else { Ok(0) }
    }

    /// A third more calls, with a fourth media controller.
    fn add_fourth(&mut self, played: &mut Played) -> anyhow::Result<()> {
        begin(&mut self.msc[AT_FIRST], self.is_paired)?;
        self.leased(CONTROLLERS)?;
        self.signalling.add(more(self.size), self.size.rate)?;
        played.spread_of_four = self.spread(CONTROLLERS)?;
        Ok(())
    }

    /// Waits until the session controller has ports of so many media controllers.
    fn leased(&self, count: usize) -> anyhow::Result<()> {
        for number in 0..count {
            wait(&format!("msc{} leases no ports", number + 1), || {
                self.media(number).is_ok_and(|media| {
                    let leases = media["leases"].as_array().into_iter().flatten();
                    leases.filter(|lease| lease["leased"].as_u64() > Some(0)).count() >= 2
                })
            })
            .with_context(|| self.log_ends(number))?;
        }
        Ok(())
    }

    fn log_ends(&self, number: usize) -> String {
        let nodes = self.msc[number].iter().chain(&self.ssc).chain(&self.arbiter);
        nodes.map(Node::log_end).collect::<Vec<_>>().join("\n")
    }

    fn media(&self, number: usize) -> anyhow::Result<Value> {
        let at = self.active_of(number)?;
        Ok(self.msc[number][at].ask("media")?[0].clone())
    }

    /// Calls of each of so many media controllers.
    fn spread(&self, count: usize) -> anyhow::Result<Vec<u64>> {
        let streams = |number| Ok(self.media(number)?["streams"].as_u64().unwrap_or(0));
        (0..count).map(streams).collect()
    }
}

/// Calls that are set up when there is a fourth media controller.
const fn more(size: Size) -> u32 {
    size.calls / AT_FIRST as u32
}

/// The place of a node in pair number `pair`.
fn half(of: &str, pair: usize, at: usize, first: u8) -> Half<'_> {
    Half { of, pair: 1 + pair as u32, at, first, has_arbiter: false }
}

/// Starts the arbiter of all pairs.
fn start_arbiter(network: &Network, program: Program<'_>) -> anyhow::Result<Node> {
    let pairs = 1..=1 + CONTROLLERS as u32;
    let more = |site| arbitration(site, pairs);
    let mut node = Node::new(network, &Host::arbiter(), "arbiter", program, more)?;
    node.start()?;
    Ok(node)
}

/// Starts the nodes of a pair, or the only one.
fn begin(nodes: &mut [Node], is_paired: bool) -> anyhow::Result<()> {
    for node in nodes.iter_mut() {
        node.start()?;
    }
    stands(nodes, is_paired)
}

/// Waits until a pair has settled, or the only node controls its forwarder.
fn stands(nodes: &[Node], is_paired: bool) -> anyhow::Result<()> {
    if is_paired {
        return settle(nodes);
    }
    let controls =
        || nodes[0].ask("media").is_ok_and(|media| media[0]["forwarder"] == "controlled");
    wait("it does not control its forwarder", controls).with_context(|| nodes[0].log_end())
}

fn active(nodes: &[Node]) -> anyhow::Result<usize> {
    nodes.iter().position(Node::is_active).context("no node is active")
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::site_file::SiteFile;

    #[test]
    fn every_node_has_its_own_name_address_and_ports() {
        let all = hosts(true);
        assert_eq!(all.len(), 2 + 2 * CONTROLLERS);
        assert_eq!((&*all[3].name, all[3].last, &*all[4].name), ("msc1-b", 32, "msc2-a"));
        let different: std::collections::BTreeSet<_> = all.iter().map(|host| host.last).collect();
        assert_eq!(different.len(), all.len());
        let mut alone = hosts(false).into_iter();
        assert!(alone.all(|host| !host.name.ends_with("-b") || host.name == "ssc-b"));
        let site = SiteFile::new("x", Path::new("/x"), SocketAddr::from(([127, 0, 0, 1], 1)));
        let text = msc(1, 33, 1).add(site).text();
        assert!(text.contains("addresses = [\"10.199.2.30\", \"10.199.2.31\"]"), "{text}");
        assert!(text.contains("addresses = [\"10.199.1.133/24\"]"), "{text}");
    }
}
