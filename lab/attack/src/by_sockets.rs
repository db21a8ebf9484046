//! Which attack by ordinary sockets does what.

use crate::Report;
use crate::sockets::{Pace, SocketAttack, SocketKind};
use crate::{
    aka, arbiter, connections, esp, hep, init, msu, oversized, replica, strangers, widening,
};

/// Carries an attack out.
///
/// # Errors
/// When it is not allowed here, or no socket can be opened.
pub fn run_by_sockets(attack: &SocketAttack) -> anyhow::Result<Report> {
    attack.allowed()?;
    let mut pace = Pace::new(attack)?;
    match attack.kind {
        SocketKind::Idle => connections::hold(attack, &mut pace, connections::SILENCE),
        SocketKind::HalfTls => connections::hold(attack, &mut pace, connections::HALF_GREETING),
        SocketKind::SlowReading => connections::never_read(attack, &mut pace),
        SocketKind::Replica => replica::run(attack, &mut pace),
        SocketKind::Arbiter => arbiter::run(attack, &mut pace),
        SocketKind::Hep => hep::run(attack, &mut pace),
        SocketKind::Init => init::run(attack, &mut pace),
        SocketKind::InitFlood => init::flood(attack, &mut pace),
        SocketKind::ForgedMsu => msu::run(attack, &mut pace),
        SocketKind::Strangers => strangers::run(attack, &mut pace),
        SocketKind::Oversized => oversized::run(attack, &mut pace),
        SocketKind::Esp => esp::run(attack, &mut pace),
        SocketKind::HalfAka => aka::run(attack, &mut pace),
        SocketKind::WideningPath => widening::run(attack, &mut pace),
    }?;
    Ok(pace.report())
}
