//! What happens where applications connect goes to them; what they are, as it is shown.

use crate::Gateway;
use crate::config::application::FIRST_PORT;
use crate::metrics::ApplicationMetric;
use event::Table;
use machine::Time;
use question::Condition;
use runtime::{Effects, In};
use std::sync::Arc;
use tcu_stack::serving::{
    Absent, ApplicationRow, Happening, Heard, InstanceRow, Listeners, instance_rows,
};

/// What is counted of each application.
pub type ApplicationTable = Table<ApplicationMetric, 1>;

/// An empty table.
#[must_use]
pub(crate) fn application_table() -> ApplicationTable {
    Table::new(&["application"])
}

/// Where instances connect.
pub(crate) struct ApplicationListeners {
    all: Listeners,
    /// Since when the places of the first configuration are to be opened.
    opens: Option<Time>,
}

impl ApplicationListeners {
    pub(crate) fn new(now: Time, is_real: bool) -> Self {
        Self { all: Listeners::new(FIRST_PORT, is_real), opens: Some(now) }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.all.deadline().into_iter().chain(self.opens).min()
    }

    /// Sends and closes.
    pub(crate) fn carry_out(&mut self, wanted: Vec<tcu::Wanted>, out: &mut Effects) {
        self.all.carry_out(wanted, out);
    }
}

impl Gateway {
    /// Takes the places of the configuration: those that are gone end, with who is connected there.
    pub(crate) fn open_listeners(&mut self, now: Time, out: &mut Effects) {
        self.listeners.opens = None;
        let config = Arc::clone(&self.config);
        let lost = self.listeners.all.configure(&config.serving(), self.sccp.shard(), out);
        for (name, happening) in lost {
            self.at_application(now, &name, happening);
        }
    }

    /// Tells an application; what its dialogues want goes to SCCP.
    fn at_application(&mut self, now: Time, name: &str, happening: Happening<'_>) {
        let mut wants = Vec::new();
        self.sccp.at_application(now, name, |it, side| happening.tell(now, it, side), &mut wants);
        self.undelivered(now, None);
        self.send_all(now, wants);
    }

    /// Whether something happened where applications connect: then it is carried out.
    pub(crate) fn at_listener(&mut self, now: Time, input: &In<'_>, out: &mut Effects) -> bool {
        if self.listeners.opens.is_some() {
            self.open_listeners(now, out);
        }
        match self.listeners.all.step(now, input, out) {
            Heard::Elsewhere => return false,
            Heard::Nothing => {}
            Heard::At(name, happening) => self.at_application(now, &name, happening),
        }
        true
    }

    /// What applications want leaves; sockets that could not be bound are tried again.
    pub(crate) fn flush_listeners(&mut self, now: Time, out: &mut Effects) {
        if self.listeners.opens.is_some() {
            self.open_listeners(now, out);
        }
        self.listeners.all.tick(now, out);
        let notices = self.sccp.take_notices();
        self.listeners.all.log(now, &self.config.name, notices);
        let wanted = self.sccp.take_application_wants();
        self.listeners.carry_out(wanted, out);
    }

    /// The applications, as they are shown.
    pub(crate) fn show_applications(&self) -> Vec<ApplicationRow> {
        let shard = self.sccp.shard();
        let rows = self.sccp.applications().iter().map(|(name, end)| {
            let config = self.config.application.iter().find(|it| it.name == name);
            let listens = match end.is_inside() {
                true => Some(vec!["inside".to_owned()]),
                false => config.map(|it| self.config.serving().listens_at(it, shard)),
            };
            ApplicationRow::of(name, end, listens.unwrap_or_default())
        });
        rows.collect()
    }

    /// Their instances.
    pub(crate) fn show_instances(&self) -> Vec<InstanceRow> {
        self.sccp.applications().iter().flat_map(|(name, end)| instance_rows(name, end)).collect()
    }

    /// What somebody should look at.
    pub(crate) fn application_alarms(&self, rows: &mut Vec<Condition>) {
        for (name, why) in self.listeners.all.failures() {
            let text = format!("instances cannot connect: {why}");
            let row = Condition::new("application-socket", name, "critical", text);
            rows.push(row.caused_by("communications-subsystem-failure"));
        }
        self.absent_alarms(rows);
        for (name, end) in self.sccp.applications().iter() {
            let status = end.status();
            for it in status.instances.iter().filter(|it| it.state == "slow") {
                let subject = format!("{name}/{}", it.name);
                let octets = it.waiting_octets;
                let text = format!("it reads too slowly: {octets} octets wait for it");
                let row = Condition::new("application-slow", &subject, "minor", text);
                rows.push(row.caused_by("performance-degraded"));
            }
        }
    }

    /// Applications without an instance: of several shards, the first one knows.
    pub(crate) fn absent_alarms(&self, rows: &mut Vec<Condition>) {
        for application in &self.config.application {
            let Some(subsystem) = self.config.subsystem_of(application) else { continue };
            let name = &application.name;
            let Some(has_had_some) = self.sccp.is_absent(name, subsystem) else { continue };
            let text = format!("no instance of {name} is there: its subsystem answers nobody");
            // Who only begins dialogues comes and goes.
            let severity = if application.absent == Absent::Refused { "minor" } else { "major" };
            let row = Condition::new("application-absent", name, severity, text);
            rows.push(row.caused_by("underlying-resource-unavailable").starting(!has_had_some));
        }
    }

    /// Brings the metrics of applications up to date.
    pub(crate) fn show_application_metrics(&self) {
        use ApplicationMetric as F;
        let rows = self.sccp.applications().iter().map(|(name, end)| {
            let status = end.status();
            let c = status.counts;
            let values = [
                (F::Instances, status.instances.len() as u64),
                (F::Dialogues, status.dialogues as u64),
                (F::BegunThere, c.begun_there),
                (F::BegunHere, c.begun_here),
                (F::Again, c.again),
                (F::Resumed, c.resumed),
                (F::Lost, c.lost),
                (F::ShedFull, c.shed_full),
                (F::ShedSlow, c.shed_slow),
                (F::ShedLate, c.shed_late),
                (F::TooLong, c.too_long),
                (F::Absent, c.absent),
                (F::Malformed, c.malformed),
                (F::Refused, c.refused),
                (F::TurnedAway, c.turned_away),
                (F::Ended, c.ended),
                (F::TooSlow, c.too_slow),
            ];
            ([name], values)
        });
        self.tables.applications.show(rows);
    }
}
