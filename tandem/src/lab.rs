//! `tandem lab`: the published tables, rerun.

use crate::cli::{Attack, AttackKind, Demo, Lab, LabCommand, Plane, Reflection};
use crate::exit::Exit;
use crate::{emulate, output};
use experiments::Options;
use std::time::Duration;

/// Lists or runs experiments.
pub fn lab(lab: Lab) -> Result<(), Exit> {
    match lab.command {
        LabCommand::List => list(),
        LabCommand::Attack(attack) => flood(&attack),
        LabCommand::Link(link) => emulate::run(&link),
        LabCommand::Run { name, quick, json, scenarios, output, live, reflection, plane } => {
            let known = experiments::list().iter().find(|experiment| experiment.name == name);
            let Some(experiment) = known else {
                let what = format!("no experiment is called `{name}`; see `tandem lab list`");
                return Err(Exit::Usage(what));
            };
            if live && !experiment.has_live() {
                return Err(Exit::Usage(format!("--live: `{name}` is no simulation")));
            }
            let reflection = sizes(reflection);
            if reflection.is_some() && !experiment.has_sizes() {
                let flags = "--peer, --clients, --prefixes, --macs, --mrt";
                return Err(Exit::Usage(format!("{flags}: `{name}` has no such choice")));
            }
            let reflection = reflection.unwrap_or_default();
            let plane = plane_sizes(plane);
            if plane.is_some() && !experiment.has_plane() {
                let flags = "--full, --routes, --flows";
                return Err(Exit::Usage(format!("{flags}: `{name}` has no such choice")));
            }
            let plane = plane.unwrap_or_default();
            let options = Options::of_this_executable(quick)?;
            let options = Options { scenarios, output, live, reflection, plane, ..options };
            let outcome = experiments::run(&name, &options)?;
            let printed = if json { format!("{}\n", outcome.json()) } else { outcome.table() };
            output::text(&printed)?;
            if outcome.held() {
                return Ok(());
            }
            Err(Exit::Failed(format!("{} checks did not hold", outcome.broken.len())))
        }
    }
}

/// The sizes that were asked for; `None`: none was.
fn sizes(asked: Reflection) -> Option<experiments::Reflection> {
    let Reflection { peer, clients, prefixes, macs, mrt } = asked;
    let has_sizes = prefixes.is_some() || macs.is_some() || mrt.is_some();
    if peer.is_none() && clients.is_empty() && !has_sizes {
        return None;
    }
    let clients = clients.into_iter().map(usize::from).collect();
    let [prefixes, macs] = [prefixes, macs].map(|size| size.map(|size| size as usize));
    Some(experiments::Reflection { peer, clients, prefixes, macs, mrt })
}

/// The sizes of the packet plane that were asked for; `None`: none was.
fn plane_sizes(asked: Plane) -> Option<experiments::Plane> {
    let Plane { full, routes, flows } = asked;
    let is_asked = full || routes.is_some() || !flows.is_empty();
    let routes = routes.map(|routes| routes as usize);
    is_asked.then_some(experiments::Plane { full, routes, flows })
}

/// Sends a flood of forged packets.
fn flood(asked: &Attack) -> Result<(), Exit> {
    let sources = asked.sources.parse().map_err(|why| Exit::Usage(format!("--sources: {why}")))?;
    let kind = match asked.kind {
        AttackKind::Invite => attack::Kind::Invite,
        AttackKind::Register => attack::Kind::Register,
        AttackKind::Icmp => attack::Kind::Icmp,
        AttackKind::Syn => attack::Kind::Syn,
    };
    let place = attack::Place::find(&asked.interface, *asked.to.ip(), asked.mac.as_deref())?;
    let time = Duration::from_secs(asked.seconds);
    let flood = attack::Attack { kind, target: asked.to, sources, rate: asked.rate, time };
    let report = attack::run(&flood, &place)?;
    if asked.json {
        return output::text(&format!("{}\n", serde_json::json!(report)));
    }
    output::text(&format!(
        "{} packets in {:.1} s: {:.0} packets/s, {:.0} Mbit/s\n",
        report.frames, report.seconds, report.frames_per_s, report.mbit_s
    ))
}

fn list() -> Result<(), Exit> {
    let name = |experiment: &experiments::Experiment| experiment.name.len();
    let width = experiments::list().iter().map(name).max().unwrap_or_default();
    let line = |e: &experiments::Experiment| format!("{:width$}  {}\n", e.name, e.line);
    output::text(&experiments::list().iter().map(line).collect::<String>())
}

/// Shows live calls in the console.
pub fn demo(demo: &Demo) -> Result<(), Exit> {
    let tandem = std::env::current_exe()?;
    let right = experiments::demo::run(&experiments::demo::Options { tandem, once: demo.once })?;
    if right { Ok(()) } else { Err(Exit::Failed("not everything went as it should".into())) }
}
