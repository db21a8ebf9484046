//! What is worth a line of a log: who came, who went, and whom nobody let in.

use super::{Application, InstanceId};
use core::net::IpAddr;

/// Notices that wait to be taken, at most; what is beyond is counted alone.
const NOTICES_MAX: usize = 64;

/// What happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// It was taken in.
    Welcomed,
    /// It was sent away: why.
    SentAway(String),
    /// It is over.
    Ended,
}

/// A connection of which something is to be noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it calls itself; empty before it has greeted.
    pub instance: String,
    /// Where it connects from; none: by a Unix socket.
    pub source: Option<IpAddr>,
    /// What happened.
    pub happened: Happened,
}

impl Application {
    /// Notes what happened to an instance.
    pub(super) fn note(&mut self, id: InstanceId, happened: Happened) {
        let Some(it) = self.instances.get(&id) else { return };
        if self.notices.len() < NOTICES_MAX {
            let (instance, source) = (it.name.clone(), it.source);
            self.notices.push(Notice { instance, source, happened });
        }
    }

    /// What is worth a line of a log since this was asked last.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        core::mem::take(&mut self.notices)
    }
}
