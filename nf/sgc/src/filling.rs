//! Alarms about tables that fill, and about destinations that are congested.

use crate::Gateway;
use question::Condition;

/// Of ten parts of a table so many make an alarm.
const FILLING: usize = 8;
/// Congested destinations that are told, at most.
const CONGESTED_MAX: usize = 100;

/// Tables of SCCP and of applications.
pub(crate) fn filling(of: &Gateway, rows: &mut Vec<Condition>) {
    let remotes = of.sccp.node.remotes().count();
    let most = of.config.sccp.destinations_max as usize;
    if is_filling(remotes, most) {
        let text = format!("something is kept of {remotes} of {most} other nodes");
        rows.push(alarm("remotes-filling", "sccp", "minor", text));
    }
    for (name, end) in of.sccp.applications().iter() {
        let (dialogues, most) = (end.dialogues(), end.settings().dialogues_max as usize);
        if is_filling(dialogues, most) {
            let text = format!("{dialogues} of {most} dialogues of {name} stand");
            rows.push(alarm("application-filling", name, "major", text));
        }
    }
}

/// Destinations that gateways and peers have told to be congested (SCON).
pub(crate) fn congested(of: &Gateway, rows: &mut Vec<Condition>) {
    let format = of.config.point_code_format;
    let all = of.process.destinations(usize::MAX);
    let congested = all.iter().filter(|it| it.congestion > 0 && it.affected.mask == 0);
    for it in congested.take(CONGESTED_MAX) {
        let at = format.show(it.affected.point_code);
        let level = it.congestion;
        let text = format!("the way to {at} is congested, level {level}");
        rows.push(alarm("destination-congested", &at, "minor", text));
    }
}

const fn is_filling(count: usize, most: usize) -> bool {
    count * 10 >= most * FILLING
}

fn alarm(name: &str, subject: &str, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("performance-degraded")
}
