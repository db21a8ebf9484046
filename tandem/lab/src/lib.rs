//! `tandem lab`: the published tables, rerun; `tandem demo`: scenes that show what functions do.
#![forbid(unsafe_code)]

pub mod command;
#[cfg(feature = "experiments")]
pub mod trials;
#[cfg(not(feature = "experiments"))]
#[path = "no_trials.rs"]
pub mod trials;

use client::{Exit, Output, output};
use command::{Attack, AttackKind, Demo, Lab, LabCommand};
use serde_json::{Value, json};
use std::time::Duration;

/// Prints each line that a command says, as it says it.
fn said<E>(run: impl FnOnce(&mut dyn FnMut(&str)) -> Result<(), E>) -> Result<(), Exit>
where
    Exit: From<E>,
{
    let mut said = Ok(());
    let ended = run(&mut |line| {
        if said.is_ok() {
            said = output::text(&format!("{line}\n"));
        }
    });
    said?;
    Ok(ended?)
}

/// Runs emulated links, and prints what passed them.
fn emulate(asked: &link_command::command::Link) -> Result<(), Exit> {
    let summary = link_command::run(asked)?;
    if asked.json {
        return output::text(&format!("{}\n", json!(summary)));
    }
    let rows = link_command::rows(&summary);
    output::rows(Output::Table, &Value::Null, &rows, &link_command::WAYS)
}

/// Lists or runs experiments.
///
/// # Errors
/// The words have no sense, or what they ask for has failed.
pub fn lab(lab: Lab) -> Result<(), Exit> {
    match lab.command {
        LabCommand::List => trials::list(),
        LabCommand::Attack(asked) => attack(&asked),
        LabCommand::Msu(asked) => said(|say| msu_command::run(&asked, say)),
        LabCommand::Operation(asked) => output::text(&msu_command::operation(&asked)?),
        LabCommand::Phone(asked) => said(|say| phone_command::run(&asked, say)),
        LabCommand::Terminal(asked) => said(|say| phone_command::terminal::run(&asked, say)),
        LabCommand::Play(asked) => said(|say| play_command::run(&asked, say)),
        LabCommand::Link(asked) => emulate(&asked),
        LabCommand::Run(trial) => trials::run(*trial),
    }
}

/// How an attack is carried out.
enum Means {
    Frames(attack::Kind),
    Sockets(attack::SocketKind),
}

const fn means(kind: AttackKind) -> Means {
    use attack::{Kind, SocketKind};
    match kind {
        AttackKind::Invite => Means::Frames(Kind::Invite),
        AttackKind::Register => Means::Frames(Kind::Register),
        AttackKind::Icmp => Means::Frames(Kind::Icmp),
        AttackKind::Syn => Means::Frames(Kind::Syn),
        AttackKind::NeighbourScan => Means::Frames(Kind::Scan),
        AttackKind::Fragments => Means::Frames(Kind::Fragment),
        AttackKind::Rtp => Means::Frames(Kind::Rtp),
        AttackKind::Rtcp => Means::Frames(Kind::Rtcp),
        AttackKind::Stun => Means::Frames(Kind::Stun),
        AttackKind::Dtls => Means::Frames(Kind::Dtls),
        AttackKind::IdleConnections => Means::Sockets(SocketKind::Idle),
        AttackKind::HalfHandshakes => Means::Sockets(SocketKind::HalfTls),
        AttackKind::SlowReading => Means::Sockets(SocketKind::SlowReading),
        AttackKind::Replica => Means::Sockets(SocketKind::Replica),
        AttackKind::Arbiter => Means::Sockets(SocketKind::Arbiter),
        AttackKind::Hep => Means::Sockets(SocketKind::Hep),
        AttackKind::Init => Means::Sockets(SocketKind::Init),
        AttackKind::InitFlood => Means::Sockets(SocketKind::InitFlood),
        AttackKind::ForgedMsu => Means::Sockets(SocketKind::ForgedMsu),
        AttackKind::StrangersDialogs => Means::Sockets(SocketKind::Strangers),
        AttackKind::OversizedDialogs => Means::Sockets(SocketKind::Oversized),
        AttackKind::Esp => Means::Sockets(SocketKind::Esp),
        AttackKind::Aka => Means::Sockets(SocketKind::HalfAka),
        AttackKind::WideningPaths => Means::Sockets(SocketKind::WideningPath),
    }
}

/// Attacks, and says what was sent.
fn attack(asked: &Attack) -> Result<(), Exit> {
    let time = Duration::from_secs(asked.seconds);
    attack::end_at_signals()?;
    let sources = |usual: &str| {
        let text = asked.sources.as_deref().unwrap_or(usual);
        text.parse().map_err(|why| Exit::Usage(format!("--sources: {why}")))
    };
    let Attack { to: target, ports, other, rate, .. } = *asked;
    let report = match means(asked.kind) {
        Means::Frames(kind) => {
            let missing = || Exit::Usage("--interface: a flood of packets needs one".into());
            let interface = asked.interface.as_deref().ok_or_else(missing)?;
            let sources = sources("198.18.0.0/15")?;
            let place = attack::Place::find(interface, *target.ip(), asked.mac.as_deref())?;
            let flood = attack::Attack { kind, target, ports, sources, rate, time };
            attack::run(&flood, &place)?
        }
        Means::Sockets(kind) => {
            let sources = sources("127.66.0.0/30")?;
            let asked = attack::SocketAttack { kind, target, sources, other, rate, time };
            attack::run_by_sockets(&asked)?
        }
    };
    if asked.json {
        return output::text(&format!("{}\n", serde_json::json!(report)));
    }
    output::text(&format!(
        "{} sent in {:.1} s: {:.0} a second, {:.0} Mbit/s\n",
        report.frames, report.seconds, report.frames_per_s, report.mbit_s
    ))
}

/// Lists the scenes, or plays one.
///
/// # Errors
/// There is no such scene, or not everything in it went as it should.
pub fn demo(asked: &Demo) -> Result<(), Exit> {
    let Some(name) = &asked.scene else { return scenes() };
    let Some(scene) = demo::scene(name) else {
        let names: Vec<&str> = demo::SCENES.iter().map(|scene| scene.name).collect();
        let names = names.join(", ");
        return Err(Exit::Usage(format!("no scene is called `{name}`; the scenes are {names}")));
    };
    let tandem = std::env::current_exe()?;
    let right = demo::run(scene, &demo::Options { tandem, once: asked.once })?;
    if right { Ok(()) } else { Err(Exit::Failed("not everything went as it should".into())) }
}

fn scenes() -> Result<(), Exit> {
    let width = demo::SCENES.iter().map(|scene| scene.name.len()).max().unwrap_or(0) + 2;
    let line = |scene: &demo::Scene| format!("{:<width$}{}\n", scene.name, scene.line);
    let lines: String = demo::SCENES.iter().map(line).collect();
    output::text(&format!("{lines}\n`tandem demo NAME` plays one, with its page in the console.\n"))
}
