//! The store as a shard has it: rows of this node alone, and rows that the nodes of a ring share.

use crate::embedded::Embedded;
use crate::journal::Journal;
use crate::pair::PairStatus;
use crate::ring::{Ring, Written};
use crate::shared::{Shared, SharedStatus};
use crate::words::{REPLIED, Words};
use crate::{Answer, Question};
use channel::Connect;
use machine::Time;
use question::{Condition, rows};
use runtime::{ChannelEvent, Effects, In, Mirrored, PortId};
use std::sync::Arc;

/// Probable causes, in the words of X.733.
const STORAGE: &str = "storage-capacity-problem";
const UNREACHED: &str = "communications-subsystem-failure";

/// Where rows stand beside memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Backend {
    /// Nowhere: they are forgotten when the process ends.
    #[default]
    Memory,
    /// In a directory of this machine.
    Journal(Journal),
    /// In a ring of Apache Cassandra.
    Ring(Box<Ring>),
}

/// How much a store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rows; with a ring, of its own rows and of what it knows of those that are shared, each.
    pub rows_max: usize,
    /// Octets of memory for them.
    pub octets_max: usize,
}

/// How a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Rows that stand; with a ring, those of this node and what it knows of others.
    pub rows: usize,
    /// Octets of memory that they have.
    pub octets: usize,
    /// Whether questions are answered: what stood was read.
    pub is_open: bool,
    /// Octets of records that are not on disk, or in the ring, yet.
    pub unsynced: u64,
    /// Why the journal or the ring cannot be read or written.
    pub trouble: Option<String>,
    /// Octets of logs that could not be read when it was opened.
    pub unread: u64,
    /// The rows that the nodes of a ring share; none without one.
    pub shared: Option<SharedStatus>,
    /// The other node; none where this is not one of a pair.
    pub pair: Option<PairStatus>,
}

rows! {
    /// The store.
    pub struct StoreRow {
        /// `memory`, `journal` or `cassandra`.
        backend: &'static str,
        /// The directory of its journal; nothing without one.
        journal: Option<String>,
        /// The keyspace and the nodes of its ring; nothing without one.
        ring: Option<String>,
        /// `open`, or `shut`: what stood in it is not known.
        state: &'static str,
        /// `active` or `standby` of a pair; `alone`: there is no other node.
        role: &'static str,
        /// Of the active node, whether its standby `follows`: answers wait for it; of the standby,
        /// whether it is `whole`. Else `lacks`; nothing where there is no other node.
        standby: Option<&'static str>,
        /// Answers that wait until the standby has what they say.
        held: usize,
        rows: usize,
        octets: usize,
        /// Octets of changes that are not on disk, or in the ring, yet.
        unsynced_octets: u64,
        /// Octets of logs that could not be read when it was opened.
        unread_octets: u64,
        /// Questions to the ring that are not answered yet.
        under_way: usize,
        /// Rows that the ring has yet to be told.
        late: usize,
        trouble: Option<String>,
    }
}

/// A store.
#[derive(Debug)]
pub struct Store {
    backend: Backend,
    own: Embedded,
    shared: Option<Shared>,
}

impl Store {
    /// A store on a channel of that number.
    #[must_use]
    pub fn new(limits: Limits, backend: Backend, port: PortId, now: Time) -> Self {
        let (to, shared): (Option<Arc<dyn Connect>>, _) = match &backend {
            Backend::Memory => (None, None),
            Backend::Journal(journal) => (Some(Arc::new(journal.clone())), None),
            Backend::Ring(ring) => {
                let shared = Shared::new(halved(limits), ring.own.clone(), ring.answer_time, port);
                // What another store of this process wrote is read with all that stands.
                let ring = Ring { written: Written::default(), ..(**ring).clone() };
                (Some(Arc::new(ring)), Some(shared))
            }
        };
        let own = if shared.is_some() { halved(limits) } else { limits };
        Self { own: Embedded::new(own, to, port, now), shared, backend }
    }

    /// Takes other limits. What stands beyond them stays until its time is over.
    pub const fn configure(&mut self, limits: Limits) {
        match &mut self.shared {
            None => self.own.configure(limits),
            Some(shared) => {
                self.own.configure(halved(limits));
                shared.configure(halved(limits));
            }
        }
    }

    /// Asks; the answer comes from [`Store::answer`]: at once, but for a put that is promised to
    /// the disk, and for what the nodes of a ring share. What is asked of the key of such a put
    /// meanwhile sees it, though it may yet be refused.
    pub fn ask(&mut self, now: Time, ticket: u64, question: Question) {
        match &mut self.shared {
            Some(shared) if !shared.is_own(question.key()) => shared.ask(now, ticket, question),
            _ => self.own.ask(now, ticket, question),
        }
    }

    /// The next answer.
    pub fn answer(&mut self) -> Option<(u64, Answer)> {
        self.own.answer().or_else(|| self.shared.as_mut()?.answer())
    }

    /// Takes what came on its channel; false if it is another's.
    pub fn takes(&mut self, now: Time, input: &In<'_>) -> bool {
        if !self.own.takes(now, input) {
            return false;
        }
        if let (Some(shared), In::Channel { event, .. }) = (&mut self.shared, input) {
            match event {
                ChannelEvent::Message(words) => {
                    let told = Words(words).filter(|it| it.0 == REPLIED);
                    told.for_each(|(_, content)| shared.answered(now, content));
                }
                ChannelEvent::Down(why) => shared.alone(now, why),
                _ => {}
            }
        }
        true
    }

    /// Takes what the pair wants that the function is one of. Without it rows are this node's
    /// alone. The rows of a ring have no other node.
    pub fn mirrored(&mut self, now: Time, input: Mirrored<'_>) {
        self.own.mirrored(now, input);
    }

    /// Whether the other node serves, whose rows this one keeps: it answers nothing.
    #[must_use]
    pub fn is_standby(&self) -> bool {
        self.own.is_standby()
    }

    /// What every step ends with: the thread is told what there is for it.
    pub fn flush(&mut self, now: Time, out: &mut Effects) {
        self.own.flush(now, out);
        if let Some(shared) = &mut self.shared {
            shared.flush(now, self.own.is_up(), out);
        }
    }

    /// Lets time pass: rows whose time is over go, a snapshot goes on.
    pub fn tick(&mut self, now: Time) {
        self.own.tick(now);
        if let Some(shared) = &mut self.shared {
            shared.tick(now);
        }
    }

    /// When time has to pass next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let shared = self.shared.as_ref().and_then(Shared::deadline);
        self.own.deadline().into_iter().chain(shared).min()
    }

    /// Rows whose keys begin so, in their order, of those that stand: all, or with a ring those of
    /// this node and those that it wrote itself.
    pub fn beginning<'a>(
        &'a self,
        now: Time,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8], Time)> {
        let shared = self.shared.iter().flat_map(move |it| it.beginning(now, prefix));
        self.own.beginning(now, prefix).chain(shared)
    }

    /// How it is.
    #[must_use]
    pub fn status(&self) -> Status {
        let own = self.own.status();
        let Some(shared) = self.shared.as_ref().map(Shared::status) else { return own };
        Status {
            rows: own.rows + shared.rows,
            octets: own.octets + shared.octets,
            trouble: own.trouble.clone().or_else(|| shared.trouble.clone()),
            shared: Some(shared),
            ..own
        }
    }

    /// How it is, for people and programs.
    #[must_use]
    pub fn row(&self) -> StoreRow {
        let status = self.status();
        let (backend, journal, ring) = match &self.backend {
            Backend::Memory => ("memory", None, None),
            Backend::Journal(it) => ("journal", Some(it.directory.display().to_string()), None),
            Backend::Ring(it) => ("cassandra", None, Some(it.place())),
        };
        let (role, standby, held) = match &status.pair {
            None => ("alone", None, 0),
            Some(it) => {
                let (role, word) =
                    if it.is_active { ("active", "follows") } else { ("standby", "whole") };
                (role, Some(if it.is_followed { word } else { "lacks" }), it.held)
            }
        };
        let (under_way, late) = status.shared.map_or((0, 0), |it| (it.under_way, it.late));
        StoreRow {
            backend,
            journal,
            ring,
            state: if status.is_open { "open" } else { "shut" },
            role,
            standby,
            held,
            rows: status.rows,
            octets: status.octets,
            unsynced_octets: status.unsynced,
            unread_octets: status.unread,
            under_way,
            late,
            trouble: status.trouble,
        }
    }

    /// The conditions that stand.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        let status = self.status();
        let mut found = Vec::new();
        if let Some(why) = &status.trouble {
            let (what, cause) = match (&status.shared, status.is_open) {
                (None, true) => ("rows that are promised to the disk are refused", STORAGE),
                (None, false) => ("all rows are refused: the journal cannot be read", STORAGE),
                (Some(_), true) => ("this node goes on with what it knows itself", UNREACHED),
                (Some(_), false) => ("the ring is not open", UNREACHED),
            };
            let text = format!("{what}: {why}");
            // A ring that answers some questions is not away.
            let severity = if self.own.is_away() { "critical" } else { "major" };
            let row = Condition::new("store-unwritable", "store", severity, text);
            found.push(row.caused_by(cause));
        }
        if status.unread > 0 {
            let text = format!(
                "{} octets of the journal could not be read when it was opened; they are kept \
                 beside it",
                status.unread
            );
            found.push(Condition::new("store-unread", "store", "minor", text).caused_by(STORAGE));
        }
        if let Some(why) = status.pair.as_ref().and_then(|it| it.trouble.as_ref()) {
            let row = Condition::new("store-standby", "store", "critical", why.clone());
            found.push(row.caused_by("version-mismatch"));
        }
        found
    }
}

/// The half of the memory: a ring has two tables.
const fn halved(limits: Limits) -> Limits {
    Limits { rows_max: limits.rows_max, octets_max: limits.octets_max / 2 }
}
