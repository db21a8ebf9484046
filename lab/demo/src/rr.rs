//! `rr`: a route reflector between clients, one of which comes and goes, and BIRD where it is
//! installed. Each client checks every route that it is told, attributes included.
//!
//! ```text
//!   feeder ── 20,000 routes ──→ reflector ──→ 6 clients, BIRD
//!   flapping peer ── 1,000 and 100 host routes ──→ import policy: the 100 are refused
//! ```

mod bird;

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use bgp::family::{Family, FamilySet};
use bgp_load::{Clients, Feed, InternetShape, Keys, Origin, Plan, Sum, Table};
use bird::Bird;
use report::site::Site;
use report::site_file::SiteFile;
use report::thousands;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

pub(crate) const SCENE: Scene = Scene {
    name: "rr",
    line: "a route reflector, its clients, a policy, and a peer that flaps",
    about: &[
        "Seven clients speak BGP with a reflector; one announces a table like a part of the",
        "Internet's, and all the others check each route of it. An import policy refuses host",
        "routes of a peer that comes and goes. BIRD is one more client where it is installed.",
    ],
    set,
};

const ASN: u32 = 65_000;
const CLUSTER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
/// The first of them announces.
const CLIENTS: usize = 7;
/// The number of the peer that flaps, behind theirs.
const FLAPPING: usize = CLIENTS;
const ROUTES: usize = 20_000;
/// Routes of the peer that flaps, and those of it that the policy refuses.
const OWN: usize = 1_000;
const REFUSED: usize = 100;
const FLAPS: u64 = 3;
const UP_MAX: Duration = Duration::from_secs(60);
/// Between two attempts of the peer that flaps to connect.
const RETRY: Duration = Duration::from_millis(200);
const TURN: Duration = Duration::from_secs(1);
/// Turns between two flaps of those that go on.
const TURNS: u64 = 5;

/// What is announced, and what others must hold of it.
struct Feeds {
    table: Feed,
    own: Feed,
    refused: Feed,
}

impl Feeds {
    /// The same octets each time; `keys` learns of the routes.
    fn new(keys: &mut Keys) -> Self {
        let shape = InternetShape::scaled(ROUTES + OWN);
        let (table, own) = split(shape.table());
        let cluster = CLUSTER.to_bits();
        let feeder = Origin { client: 0, cluster };
        let flapping = Origin { client: FLAPPING, cluster };
        Self {
            table: table.announce(&feeder, 1, keys),
            own: own.announce(&flapping, 1, keys),
            refused: Table::synthetic(REFUSED, REFUSED, 1).announce(&flapping, 1, keys),
        }
    }
}

/// The last sets of a table with at least [`OWN`] prefixes become a table of their own.
fn split(mut whole: Table) -> (Table, Table) {
    let mut own = Table::default();
    while own.len() < OWN
        && let (Some(set), Some(prefixes)) = (whole.sets.pop(), whole.prefixes.pop())
    {
        own.sets.push(set);
        own.prefixes.push(prefixes);
    }
    (whole, own)
}

/// How long the last client took, each time.
#[derive(Default)]
struct Times {
    worst: Duration,
    count: u64,
}

impl Times {
    fn add(&mut self, time: Duration) {
        self.worst = self.worst.max(time);
        self.count += 1;
    }

    /// Milliseconds, rounded up.
    fn worst_ms(&self) -> u64 {
        self.worst.as_micros().div_ceil(1_000) as u64
    }
}

struct Rr {
    place: Place,
    bird: Option<Bird>,
    flapping: Option<Clients>,
    field: Clients,
    feeds: Feeds,
    site: Site,
    listen: SocketAddr,
    /// Clients that hold all they must, with the routes of the peer that flaps and without.
    checked: u64,
    updates: u64,
    table_time: f64,
    gone: Times,
    back: Times,
    refused: u64,
    turn: u64,
}

fn plan(listen: SocketAddr, clients: usize) -> Plan {
    Plan {
        reflector: listen,
        asn: ASN,
        cluster: CLUSTER.to_bits(),
        families: [Family::Ipv4Unicast].into_iter().collect::<FamilySet>(),
        hold_time_s: 0,
        clients,
    }
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let api = place.address([127, 0, 0, 1], 8080)?;
    let collector = place.address([127, 0, 0, 1], 9060)?;
    let listen = place.address([127, 0, 0, 1], 1790)?;
    let text = text(place, [api, collector, listen]);
    let site = Site::start(&Site::spec(&place.tandem, &place.directory), &text, api)?;
    let mut keys = Keys::new();
    let feeds = Feeds::new(&mut keys);
    let field = Clients::new(plan(listen, CLIENTS), keys)?;
    let bird = Bird::start(listen, ASN, &place.directory)?;
    let (place, gone, back) = (place.clone(), Times::default(), Times::default());
    Ok(Box::new(Rr {
        place,
        bird,
        flapping: None,
        field,
        feeds,
        site,
        listen,
        checked: 0,
        updates: 0,
        table_time: 0.0,
        gone,
        back,
        refused: 0,
        turn: 0,
    }))
}

fn text(place: &Place, [api, collector, listen]: [SocketAddr; 3]) -> String {
    let flapping = Plan::address(FLAPPING);
    SiteFile::new("demo", &place.directory, api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\"]"))
        .with(format_args!("\n[[rr]]\nname = \"rr1\"\nasn = {ASN}\nidentifier = \"{CLUSTER}\""))
        .with(format_args!("listen = [\"{listen}\"]\ncapture = \"tcp:{collector}\""))
        .with("\n[[rr.policy]]\nname = \"no-host-routes\"\ndefault = \"accept\"")
        .with("[[rr.policy.rule]]\nmatch.prefixes = [\"0.0.0.0/0 ge 32\"]\nthen = \"reject\"")
        .with("\n[[rr.group]]\nname = \"clients\"\nclient = true\npassive = true")
        .with("ranges = [\"127.16.0.0/12\"]\nhold_time_s = 0")
        .with(format_args!("\n[[rr.group]]\nname = \"bird\"\nclient = true\npassive = true"))
        .with(format_args!("ranges = [\"{}/32\"]", bird::ADDRESS))
        .with(format_args!("\n[[rr.peer]]\nname = \"flapping\"\naddress = \"{flapping}\""))
        .with("client = true\npassive = true\nhold_time_s = 0\nidle_hold_max_s = 1")
        .with("import = \"no-host-routes\"")
        .text()
}

impl Play for Rr {
    fn programme(&self) -> Programme {
        let programme = Programme {
            look: "the routes, with the path of each; then the alarms, while the peer flaps".into(),
            tries: &[
                ["bgp", "the peers"],
                ["bgp routes rr1 --limit 5", "the first routes with their best path"],
                ["bgp peer rr1 flapping", "all about the peer that flaps"],
                ["bgp groups", "who is told the same, from one encoding"],
                ["bgp shutdown rr1 flapping", "keep it out; `bgp enable rr1 flapping` lets it in"],
            ],
            ..Programme::default()
        };
        let own = "the lab's BGP speakers";
        let flapping = Plan::address(FLAPPING);
        let programme = programme
            .with("rr1", "route reflector and SAS, `tandem run`", self.listen)
            .with("7 clients", own, "127.16.0.1 …")
            .with("flapping", own, flapping);
        match &self.bird {
            Some(bird) => programme.with("one more client", &bird.version, bird::ADDRESS),
            None => Programme {
                note: Some("BIRD is not installed (Debian: bird2); the scene goes without".into()),
                ..programme
            },
        }
    }

    fn console(&self) -> String {
        self.site.console_at("/routes")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        self.field.connect(0..CLIENTS, UP_MAX)?;
        screen.event(&format!("{CLIENTS} sessions stand"))?;
        let begun = self.feeds.table.sum;
        (1..CLIENTS).for_each(|client| self.field.expect(client, Some(begun)));
        self.field.feed(0, &self.feeds.table);
        let found = self.field.converge(UP_MAX)?;
        self.checked += found.clients as u64 * begun.held;
        (self.updates, self.table_time) = (found.updates, found.seconds);
        let routes = thousands(begun.held as f64);
        screen.event(&format!("{routes} routes announced; each of 6 clients holds all of them"))?;
        for flap in 0..FLAPS {
            if self.place.is_over() {
                return Ok(());
            }
            let back = self.comes()?;
            let routes = thousands(self.feeds.own.routes as f64);
            screen.event(&format!(
                "the peer comes with {routes} routes and {REFUSED} host routes: {} ms until all \
                have the {routes}",
                ms(back)
            ))?;
            if flap == 0 {
                self.refused = self.refused()?;
                screen
                    .event(&format!("{} routes of it were refused by the policy", self.refused))?;
            }
            let gone = self.goes()?;
            screen.event(&format!("it is gone: {} ms until nobody has them", ms(gone)))?;
        }
        self.comes()?;
        let held = self.feeds.table.sum.held + self.feeds.own.sum.held;
        if let Some(bird) = &mut self.bird {
            self.place.until(UP_MAX, || Ok(bird.routes()? == held))?;
            let routes = thousands(bird.routes()? as f64);
            screen.event(&format!("BIRD holds {routes} routes, and says so itself"))?;
        }
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "the peer goes on flapping, every ten seconds"
    }

    /// An operator may end sessions meanwhile, that of the peer for one.
    fn go_on(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        self.place.pause(TURN);
        self.turn += 1;
        if !self.turn.is_multiple_of(TURNS) {
            return Ok(self.field.run(Duration::from_millis(1))?);
        }
        if self.flapping.is_some() {
            let gone = self.goes()?;
            return Ok(screen.event(&format!("it is gone: {} ms", ms(gone)))?);
        }
        match self.comes() {
            Ok(back) => screen.event(&format!("it is back: {} ms", ms(back)))?,
            Err(why) => screen.event(&format!("it does not come: {why:#}"))?,
        }
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let held = self.feeds.table.sum.held + self.feeds.own.sum.held;
        let seconds = self.table_time.max(f64::MIN_POSITIVE);
        let rate = thousands(self.updates as f64 / seconds);
        let told = format!("in {:.0} ms, {rate} a second", seconds * 1_000.0);
        let trails = self.site.get("sas/trails?limit=500")?;
        let trails = trails["trails"].as_array().map_or(0, Vec::len) as u64;
        let times = |times: &Times| format!("the longest of {}", times.count);
        let mut figures = vec![
            Figure::some(self.checked, "routes checked at clients, attributes included"),
            Figure::some(self.updates, "routes told to clients at first").noting(told),
            Figure::all(self.refused, REFUSED as u64, "host routes refused by the policy"),
            Figure::some(self.gone.worst_ms(), "ms until the routes of a lost peer were gone")
                .noting(times(&self.gone)),
            Figure::some(self.back.worst_ms(), "ms until those of one that came were everywhere")
                .noting(times(&self.back)),
            Figure::some(trails, "BGP sessions with a trail in the SAS"),
        ];
        if let Some(bird) = &mut self.bird {
            let all = if self.flapping.is_some() { held } else { self.feeds.table.sum.held };
            figures.push(Figure::all(bird.routes()?, all, "routes in BIRD").noting(&bird.version));
        }
        Ok(figures)
    }

    fn logs(&self) -> Vec<(String, String)> {
        let bird = self.bird.iter().map(|bird| ("bird".to_owned(), bird.log_end()));
        bird.chain([("tandem".to_owned(), self.site.log_end())]).collect()
    }
}

fn ms(time: Duration) -> String {
    format!("{:.0}", (time.as_secs_f64() * 1_000.0).ceil())
}

impl Rr {
    /// The peer comes, is told the table and announces its own; how long until all have them.
    fn comes(&mut self) -> anyhow::Result<Duration> {
        let (feeds, mut flapping) = self.connected()?;
        flapping.expect(FLAPPING, Some(feeds.table.sum));
        let expected = self.expect(true);
        let begun = Instant::now();
        flapping.feed(FLAPPING, &feeds.refused);
        flapping.feed(FLAPPING, &feeds.own);
        flapping.converge(UP_MAX)?;
        let found = self.field.converge(UP_MAX)?;
        let time = begun.elapsed();
        self.checked += found.clients as u64 * expected.held + feeds.table.sum.held;
        self.flapping = Some(flapping);
        self.back.add(time);
        Ok(time)
    }

    /// The peer, connected. For a second after it was lost the reflector refuses it (RFC 4271
    /// §8.1.1, DampPeerOscillations).
    fn connected(&self) -> anyhow::Result<(Feeds, Clients)> {
        let begun = Instant::now();
        loop {
            let mut keys = Keys::new();
            let feeds = Feeds::new(&mut keys);
            let mut flapping = Clients::new(plan(self.listen, FLAPPING + 1), keys)?;
            match flapping.connect(FLAPPING..FLAPPING + 1, UP_MAX) {
                Ok(()) => return Ok((feeds, flapping)),
                Err(why) if begun.elapsed() > UP_MAX || self.place.is_over() => {
                    return Err(why.into());
                }
                Err(_) => self.place.pause(RETRY),
            }
        }
    }

    /// The peer's connection ends; how long until nobody has its routes.
    fn goes(&mut self) -> anyhow::Result<Duration> {
        let expected = self.expect(false);
        let begun = Instant::now();
        self.flapping = None;
        let found = self.field.converge(UP_MAX)?;
        let time = begun.elapsed();
        self.checked += found.clients as u64 * expected.held;
        self.gone.add(time);
        Ok(time)
    }

    /// What all clients but the feeder must hold from now on, with the peer or without.
    fn expect(&mut self, has_peer: bool) -> Sum {
        let table = self.feeds.table.sum;
        let expected = if has_peer { table.and(self.feeds.own.sum) } else { table };
        (1..CLIENTS).for_each(|client| self.field.expect(client, Some(expected)));
        expected
    }

    /// Routes that came from peers and that a client is not told, as the reflector counts them.
    fn refused(&self) -> anyhow::Result<u64> {
        let mut refused = 0;
        self.place.until(UP_MAX, || {
            let rows = self.site.get("functions/rr1/bgp/summary")?;
            let rows: Vec<Value> = rows.as_array().cloned().unwrap_or_default();
            let came: u64 = rows.iter().filter_map(|row| row["routes_in"].as_u64()).sum();
            let client = Plan::address(1).to_string();
            let row = rows.iter().find(|row| row["address"] == client);
            let told = row.and_then(|row| row["routes_out"].as_u64()).unwrap_or(0);
            refused = came.saturating_sub(told);
            Ok(refused == REFUSED as u64)
        })?;
        Ok(refused)
    }
}
