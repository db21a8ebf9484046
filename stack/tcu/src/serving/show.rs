//! Applications and their instances, as they are shown.

use question::rows;
use tcu::Application;

rows! {
    /// An application.
    pub struct ApplicationRow {
        name: String,
        subsystem: u8,
        /// `available`, or `no instance`.
        state: &'static str,
        instances: Vec<String>,
        dialogues: usize,
        begun_there: u64,
        begun_here: u64,
        resumed: u64,
        lost: u64,
        shed: u64,
        malformed: u64,
        listens: Vec<String>,
    }

    /// An instance of an application.
    pub struct InstanceRow {
        application: String,
        name: String,
        group: String,
        /// `greeting`, `ready`, `slow` or `leaving`.
        state: &'static str,
        dialogues: usize,
        waiting_octets: usize,
    }
}

impl ApplicationRow {
    /// An application by its name, and where it is listened for.
    #[must_use]
    pub fn of(name: &str, end: &Application, listens: Vec<String>) -> Self {
        let status = end.status();
        let counts = status.counts;
        Self {
            name: name.to_owned(),
            subsystem: end.settings().subsystem,
            state: if end.is_available() { "available" } else { "no instance" },
            instances: status.instances.iter().map(|it| it.name.clone()).collect(),
            dialogues: status.dialogues + end.connections(),
            begun_there: counts.begun_there,
            begun_here: counts.begun_here,
            resumed: counts.resumed + counts.again,
            lost: counts.lost,
            shed: counts.shed_full + counts.shed_slow + counts.shed_late + counts.absent,
            malformed: counts.malformed,
            listens,
        }
    }
}

/// The instances of an application.
pub fn instance_rows(application: &str, end: &Application) -> impl Iterator<Item = InstanceRow> {
    end.status().instances.into_iter().map(move |it| InstanceRow {
        application: application.to_owned(),
        name: it.name,
        group: it.group,
        state: it.state,
        dialogues: it.dialogues,
        waiting_octets: it.waiting_octets,
    })
}
