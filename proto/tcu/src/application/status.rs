//! What is shown of an application.

use super::{Application, Count};

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceStatus {
    /// What it calls itself.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Dialogues that it has.
    pub dialogues: usize,
    /// Octets that wait for it.
    pub waiting_octets: usize,
    /// `greeting`, `ready`, `slow` or `leaving`.
    pub state: &'static str,
}

/// An application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its instances.
    pub instances: Vec<InstanceStatus>,
    /// Dialogues that stand.
    pub dialogues: usize,
    /// Those of them whose instance was lost and that wait for another.
    pub orphans: usize,
    /// What was counted.
    pub counts: Count,
}

impl Application {
    /// What it is now.
    #[must_use]
    pub fn status(&self) -> Status {
        let instances = self.instances.values().map(|it| InstanceStatus {
            name: it.name.clone(),
            group: it.group.clone(),
            dialogues: it.dialogues.len(),
            waiting_octets: it.queue.octets() + it.outstanding,
            state: match () {
                () if !it.is_ready() => "greeting",
                () if it.is_slow => "slow",
                () if !it.takes_new() => "leaving",
                () => "ready",
            },
        });
        let held = self.instances.values().map(|it| it.dialogues.len()).sum::<usize>();
        Status {
            instances: instances.collect(),
            dialogues: self.dialogues.len(),
            orphans: self.dialogues.len() - held,
            counts: self.counts,
        }
    }
}
