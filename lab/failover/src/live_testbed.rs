//! Where live runs happen: namespaces, a pair of interfaces and a link for every path, and a thread
//! for every endpoint.

use crate::course::{Case, Course};
use crate::live_end::{Carrier, Place, Shared, begin, end, sink, source};
use crate::pauses::{Pauses, Spoilt, spoilt};
use anyhow::Context;
use attack::{Namespace, Veth};
use link::{Change, Emulator, LinkPlan, Plan, Rate, Span, Way, Which};
use machine::Time;
use std::net::IpAddr;
use std::thread;

const PATHS: usize = 2;

/// A run that is over.
pub struct Run {
    /// Which pair of endpoints ran it.
    pub pair: usize,
    /// What it found.
    pub course: Course,
    /// The pause of the machine that has spoilt it.
    pub spoilt: Option<Spoilt>,
}

/// Address of a side of a pair on a path.
fn address(pair: usize, path: usize, side: usize) -> IpAddr {
    [10, 100 + pair as u8, path as u8, 1 + side as u8].into()
}

/// Cuts the primaries; between the first one and the time that is told the machine may pause.
fn cut_all(
    emulator: &Emulator,
    runs: &[(usize, Case)],
    shared: &Shared,
) -> anyhow::Result<(Time, Pauses)> {
    let before = shared.now();
    for (pair, _) in runs {
        emulator.change(&format!("{pair}p0"), Which::Both, Change::Cut)?;
    }
    let (at, mut pauses) = (shared.cut(), Pauses::default());
    pauses.note(before, at);
    Ok((at, pauses))
}

/// Namespaces with so many pairs of endpoints.
pub struct Testbed {
    left: Namespace,
    right: Namespace,
    middle: Namespace,
}

impl Testbed {
    /// Makes them.
    ///
    /// # Errors
    /// The kernel's, when it has no namespaces or no more of them.
    pub fn new(pairs: usize) -> anyhow::Result<Self> {
        let [left, right, middle] = ["sf-left", "sf-right", "sf-middle"].map(Namespace::new);
        let ground = Self { left: left?, right: right?, middle: middle? };
        for namespace in [&ground.left, &ground.right, &ground.middle] {
            // Only what the endpoints send shall cross the links.
            namespace.set("net.ipv6.conf.default.disable_ipv6", "1")?;
        }
        for pair in 0..pairs {
            for path in 0..PATHS {
                for (side, namespace) in [(0, &ground.left), (1, &ground.right)] {
                    ground.wire(pair, path, side, namespace)?;
                }
            }
        }
        Ok(ground)
    }

    fn wire(
        &self,
        pair: usize,
        path: usize,
        side: usize,
        namespace: &Namespace,
    ) -> anyhow::Result<()> {
        let mac = |end: u8| format!("02:5f:{end:02x}:{pair:02x}:{path:02x}:{side:02x}");
        let (near, far) = (format!("near{pair}p{path}"), format!("far{pair}p{path}s{side}"));
        let v4 = format!("{}/24", address(pair, path, side));
        let (near_mac, far_mac) = (mac(0), mac(1));
        Veth::pair(
            Veth { namespace, interface: &near, addresses: &[&v4], mac: &near_mac },
            Veth { namespace: &self.middle, interface: &far, addresses: &[], mac: &far_mac },
        )
    }

    /// A link for each path of each pair that runs.
    fn plan(&self, runs: &[(usize, Case)]) -> anyhow::Result<Plan> {
        let mut links = Vec::new();
        for (pair, case) in runs {
            for path in 0..PATHS {
                let place = |side: usize| {
                    let name = format!("{}/far{pair}p{path}s{side}", self.middle.name());
                    name.parse().map_err(anyhow::Error::msg)
                };
                let way = Way {
                    delay: Some(Span(case.delay)),
                    rate: Rate::new(crate::configuration::RATE),
                    ..Way::default()
                };
                let name = format!("{pair}p{path}");
                let between = [place(0)?, place(1)?];
                let link = LinkPlan::new(name, between, &way, &Way::default(), &[]);
                links.push(link.map_err(anyhow::Error::msg)?);
            }
        }
        Ok(Plan { seed: 1, links })
    }

    /// Where a side of a pair is in that round: half of them have each carrier.
    fn place(&self, pair: usize, side: usize, round: usize) -> Place<'_> {
        Place {
            namespace: [self.left.name(), self.right.name()][side],
            side,
            carrier: [Carrier::Udp, Carrier::Ip][(pair + round) % 2],
            here: [0, 1].map(|path| address(pair, path, side)),
            there: [0, 1].map(|path| address(pair, path, 1 - side)),
        }
    }

    /// Runs these pairs at once; what became of each, and how late packets left the links, us.
    pub fn run(
        &self,
        runs: &[(usize, Case)],
        round: usize,
    ) -> anyhow::Result<(Vec<Run>, Vec<f64>)> {
        let emulator = Emulator::start(&self.plan(runs)?)?;
        let shared = &Shared::start();
        let cut = runs.iter().find_map(|(_, case)| case.cut).context("a live run has a cut")?;
        let over = runs.iter().map(|(_, case)| end(case)).max().unwrap_or_else(begin);
        let found = thread::scope(|scope| {
            let cores = driver::cores().into_iter();
            let tickers: Vec<_> = cores
                .map(|core| scope.spawn(move || Pauses::on_core(core, over, shared)))
                .collect();
            let mut ends = Vec::new();
            for (pair, case) in runs {
                let (near, far) = (self.place(*pair, 0, round), self.place(*pair, 1, round));
                let sink = scope.spawn(move || sink(&far, case, shared));
                let source = scope.spawn(move || source(&near, case, shared));
                ends.push((source, sink));
            }
            thread::sleep((begin() + cut).since(shared.now()));
            let (cut_at, cutter) = cut_all(&emulator, runs, shared)?;
            let crashed = |_| anyhow::anyhow!("a thread of the lab crashed");
            let mut told = Vec::new();
            for (source, sink) in ends {
                told.push((source.join().map_err(crashed)??, sink.join().map_err(crashed)??));
            }
            let mut seen = vec![cutter];
            for ticker in tickers {
                seen.push(ticker.join().map_err(crashed)?);
            }
            let judged = runs.iter().zip(told).map(|((pair, case), (source, sink))| {
                let pauses = seen.iter().chain([&source.pauses, &sink.pauses]);
                let spoilt = spoilt(case, cut_at, pauses);
                let course = Course::together(source.course, sink.course);
                let course = course.settled(&sink.ledger, source.ledger.sent);
                Run { pair: *pair, course, spoilt }
            });
            Ok::<_, anyhow::Error>(judged.collect())
        })?;
        let summary = emulator.end()?;
        let ways = summary.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let late = ways.filter_map(|way| way.late_us.as_ref()).map(|late| late.p99);
        Ok((found, late.collect()))
    }
}
