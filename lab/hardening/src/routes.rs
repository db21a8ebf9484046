//! An attack on a route reflector by an external peer, beside routes between its internal clients.

use super::good::Served;
use super::raid::{Bench, Found, LOCAL, Raid, Target};
use bgp::family::{Family, FamilySet};
use bgp_load::{Clients, Error, Keys, Origin, Plan, Table};
use peers::free_port;
use report::scratch::Scratch;
use report::site_file::SiteFile;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const ASN: u32 = 65_000;
const CLUSTER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const CLIENTS: usize = 20;
/// Routes a second that the first client announces; all others shall have each.
const ROUTES: f64 = 20.0;
/// Time for a route to reach all.
const PATIENCE: Duration = Duration::from_secs(1);
const CONNECT_MAX: Duration = Duration::from_secs(20);
/// Sessions of the attacker a second.
const SESSIONS_RATE: u32 = 2;

/// Announces a route over and over, each time with other attributes, and counts the times that
/// every client holds it, and nothing that it could not read: a real one would end its session for
/// an UPDATE that it cannot.
fn announce(field: &mut Clients, revision: &mut u32, length: Duration) -> Served {
    let origin = Origin { client: 0, cluster: CLUSTER.to_bits() };
    let asked = (ROUTES * length.as_secs_f64()) as u64;
    let (table, begun) = (Table::synthetic(1, 1, 1), Instant::now());
    let mut served = 0;
    for number in 0..asked {
        if begun.elapsed() > length + PATIENCE {
            break; // what is late by so much is not served
        }
        let due = Duration::from_secs_f64(number as f64 / ROUTES);
        *revision += 1;
        let feed = table.announce(&origin, *revision, field.keys());
        (1..CLIENTS).for_each(|client| field.expect(client, Some(feed.sum)));
        field.feed(0, &feed);
        match field.converge(PATIENCE) {
            Ok(_) => served += 1,
            Err(Error::Late { .. }) => {}
            Err(_) => break,
        }
        if field.run(due.saturating_sub(begun.elapsed())).is_err() {
            break;
        }
    }
    Served { asked, served }
}

pub(super) fn widening(bench: &Bench) -> anyhow::Result<Found> {
    let scratch = Scratch::new("tandem-lab-")?;
    let (listen, api) = (free_port(LOCAL)?, free_port(LOCAL)?);
    let text = SiteFile::new("rr", scratch.path(), api)
        .with(format_args!("\n[[rr]]\nname = \"rr1\"\nasn = {ASN}\nidentifier = \"{CLUSTER}\""))
        .with(format_args!("listen = [\"{listen}\"]\n[[rr.group]]\nname = \"clients\""))
        .with("client = true\npassive = true\nranges = [\"127.16.0.0/12\"]\nhold_time_s = 0")
        .with("[[rr.group]]\nname = \"external\"\nasn = 64999\npassive = true")
        .with("ranges = [\"127.66.0.0/16\"]")
        .with(bench.line("rr.group", "default_policy", "\"accept\""))
        .text();
    let site = bench.site(scratch.path(), &text, api)?;
    let plan = Plan {
        reflector: listen,
        asn: ASN,
        cluster: CLUSTER.to_bits(),
        families: [Family::Ipv4Unicast].into_iter().collect::<FamilySet>(),
        hold_time_s: 0,
        clients: CLIENTS,
    };
    let mut field = Clients::new(plan, Keys::new())?;
    field.connect(0..CLIENTS, CONNECT_MAX)?;
    let mut revision = 0;
    let raid = Raid::new("widening-paths", listen, SESSIONS_RATE);
    bench.hold(&Target::new(&site, scratch.path()), &raid, |length| {
        Ok(announce(&mut field, &mut revision, length))
    })
}
