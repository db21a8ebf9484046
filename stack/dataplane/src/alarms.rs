//! Alarms of a forwarder: that it is away, what it refused, links, and workers.

use crate::Dataplane;
use crate::numbers::Kind;
use forwarder::ipc::WorkerState;
use machine::{Duration, Time};
use question::Condition;

/// The alarm of a worker's crash stands so long.
const CRASHED: Duration = Duration::from_secs(600);

impl Dataplane {
    /// Alarms that stand; `name` is the function's.
    #[must_use]
    pub fn alarms(&self, now: Time, name: &str) -> Vec<Condition> {
        let mut rows = Vec::new();
        if !self.is_controlled() {
            let text = match &self.turned_away {
                Some(why) => format!("the forwarder takes no control from here: {why}"),
                None => "no forwarder is there: whatever it did before, it is told nothing new"
                    .to_owned(),
            };
            let is_starting = self.tally.adopted == 0 && self.turned_away.is_none();
            rows.push(alarm("forwarder-away", name, "critical", &text).starting(is_starting));
        }
        for (port, _) in self.links.iter().filter(|(_, it)| !it.up) {
            let name = self.numbers.name(Kind::Port, u32::from(*port)).unwrap_or("a port");
            let text = format!("the link of {name} is down");
            rows.push(alarm("link-down", name, "major", &text));
        }
        if let Some((what, why)) = self.refusals.back() {
            let text = format!("{} refused, the last: {what}: {why}", self.refusals.len());
            rows.push(alarm("program-refused", name, "major", &text));
        }
        self.worker_alarms(now, name, &mut rows);
        rows
    }

    fn worker_alarms(&self, now: Time, name: &str, rows: &mut Vec<Condition>) {
        let there = self.workers.iter().filter(|(_, (at, ..))| now < *at + CRASHED);
        for (worker, (_, state, why)) in there {
            let subject = format!("{name} worker {worker}");
            let (name, severity, text) = match state {
                WorkerState::Hung => {
                    let text = "it made no round for 5 s: the forwarder is started anew";
                    ("worker-hung", "critical", text.to_owned())
                }
                WorkerState::Dead => ("worker-crashed", "critical", format!("it rests: {why}")),
                WorkerState::Forwards => {
                    ("worker-crashed", "major", format!("it began anew after: {why}"))
                }
            };
            rows.push(alarm(name, &subject, severity, &text));
        }
    }
}

/// A row of an answer to `alarms`.
#[must_use]
pub fn alarm(name: &str, subject: &str, severity: &str, text: &str) -> Condition {
    Condition::new(name, subject, severity, text.to_owned()).caused_by("equipment-malfunction")
}
