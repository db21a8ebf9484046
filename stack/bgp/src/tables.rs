//! A speaker with the tables of its routes: what sessions mean to these, whoever has both.

use crate::config::Section;
use crate::{Out, PolicyChange, Speaker};
use bgp::codec::Asn;
use bgp::family::Family;
use machine::Time;
use rib::{PeerId, Rib};
use runtime::Effects;
use std::sync::Arc;

/// What is known beside speaker and tables.
pub trait Beside {
    /// What caches of validated prefixes say of a path's origin.
    fn validity(&self, _family: Family, _key: &[u8], _attributes: &[u8]) -> Option<&'static str> {
        None
    }

    /// The routing table of an edge whose these are; none: the global one.
    fn vrf(&self) -> Option<&str> {
        None
    }

    /// The name of who reads or writes the tables and is no peer.
    fn name_of(&self, _id: PeerId) -> Option<String> {
        None
    }
}

/// A speaker with the tables of its routes.
pub struct Tables<'a> {
    /// The speaker.
    pub speaker: &'a mut Speaker,
    /// The routes.
    pub rib: &'a mut Rib,
    /// Its AS.
    pub asn: Asn,
    /// What is known beside them.
    pub beside: &'a dyn Beside,
}

/// What an UPDATE meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Routes that it announced.
    pub announced: u32,
    /// Routes that it withdrew.
    pub withdrawn: u32,
    /// It offended, and the session goes on (RFC 7606).
    pub is_faulty: bool,
    /// It offended, and nothing of it was taken.
    pub is_refused: bool,
}

impl Tables<'_> {
    /// Makes the policies of `section` those of sessions and tables; what they mean to the sessions
    /// that stand. [`Speaker::configure`] follows.
    pub fn set_policies(&mut self, section: &Section<'_>) -> Option<PolicyChange> {
        let change = self.speaker.set_policies(section)?;
        for (id, [import, export]) in &change.rebound {
            self.rib.renumber(*id, *import, *export);
        }
        let table = Arc::clone(self.speaker.policies()) as Arc<dyn rib::Policy>;
        self.rib.set_policy(Some(table), &change.numbers, &change.numbers);
        let judged = |import: &u32| change.numbers.contains(import);
        let others = change.rebound.iter().filter(|(_, [import, _])| !judged(import));
        others.for_each(|(id, _)| self.rib.judge_anew(*id));
        Some(change)
    }

    /// Tells the tables what the speaker has to say, in order.
    pub fn take(&mut self, now: Time, said: &Out<'_>, out: &mut Effects) -> Taken {
        match said {
            Out::Update(id, message) => return self.update(now, *id, message, out),
            Out::Up(id, it) => self.rib.up(now, *id, it.neighbour.clone(), &it.negotiated),
            Out::Down(id, it) => self.rib.down(*id, it.retained),
            Out::Refresh(id, family, kind) => self.rib.refresh(*id, *family, *kind),
            Out::LongLived(id, families) => self.rib.long_lived(*id, *families),
            Out::Purge(id, families) => self.rib.purge(*id, *families),
            Out::Written(id, octets, left) => self.written(*id, *octets, *left),
            Out::Limits(id) => self.check_limits(now, *id, out),
            Out::Sent(_) => {}
        }
        Taken::default()
    }

    /// An UPDATE came.
    fn update(&mut self, now: Time, id: PeerId, message: &[u8], out: &mut Effects) -> Taken {
        let mut taken = Taken::default();
        match self.rib.update(id, message) {
            Ok(read) => {
                (taken.announced, taken.withdrawn) = (read.announced, read.withdrawn);
                taken.is_faulty = read.violation.is_some();
                if let Some(violation) = read.violation {
                    self.speaker.tolerate(now, id, &violation);
                }
                if let Some(family) = read.end_of_rib {
                    self.speaker.end_of_rib(now, id, family, out);
                }
            }
            Err(violation) => {
                self.speaker.refuse_update(now, id, &violation, message, out);
                taken.is_refused = true;
            }
        }
        // What the UPDATE led to may have ended the session.
        let peer = self.speaker.peers().get(id).filter(|it| it.up.is_some());
        if peer.is_some_and(|it| it.settings.has_limits()) {
            self.check_limits(now, id, out);
        }
        taken
    }

    fn check_limits(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        let rib = &*self.rib;
        let routes = |family| u64::from(rib.received(id, family));
        self.speaker.check_limits(now, id, routes, || rib.attribute_octets(id), out);
    }

    /// The transport took octets of the connection of a peer; `left` wait.
    fn written(&mut self, id: PeerId, octets: u64, left: u64) {
        // What the session said itself counts as if it were routes: where nothing waits any more,
        // the rib is told so, and the difference is gone.
        let taken = if left == 0 { self.rib.waiting(id) } else { octets };
        self.rib.written(id, taken);
    }
}
