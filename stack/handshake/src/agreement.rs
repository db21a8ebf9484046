//! What is agreed of an end beside signalling: what connectivity checks and DTLS found out, and
//! what was blocked for the time being.
//!
//! What checks and DTLS agreed on is of the description that they were made with. It is kept with
//! that, and is of no use to an end that is described in another way: a pair that was chosen with a
//! password before an ICE restart, or keys of a certificate that signalling names no more.

use anchor::{Checks, End, Guard, Local};
use core::net::SocketAddr;
use hashbrown::HashMap;
use media::program::Keys;
use srtp::dtls::Description;

/// Of one end, as it is described now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Where connectivity checks say that it is.
    pub nominated: Option<SocketAddr>,
    /// The keys that DTLS agreed on: of what comes, and of what leaves.
    pub keys: Option<Box<[Keys; 2]>>,
    /// Its packets go nowhere.
    pub is_blocked: bool,
    /// Its digits go nowhere.
    pub is_without_digits: bool,
    /// Digits were played to it that its other end did not send.
    pub is_played: bool,
}

/// Of one port, with what it was agreed under.
#[derive(Debug, Default)]
pub struct Kept {
    /// Where these checks say that the end is.
    pub nominated: Option<(Checks, SocketAddr)>,
    /// The keys that DTLS agreed on with who is described so.
    pub keys: Option<(Description, Box<[Keys; 2]>)>,
    /// Packets of the end go nowhere.
    pub is_blocked: bool,
    /// Its digits go nowhere.
    pub is_without_digits: bool,
    /// Digits were played to it that its other end did not send.
    pub is_played: bool,
}

impl Kept {
    /// What holds for the time being, a bit each.
    pub fn marks(&self) -> u64 {
        let all = [self.is_blocked, self.is_without_digits, self.is_played];
        (0..).zip(all).map(|(at, is)| u64::from(is) << at).sum()
    }

    /// Makes that hold.
    pub fn mark(&mut self, marks: u64) {
        let has = |at: u32| marks >> at & 1 == 1;
        (self.is_blocked, self.is_without_digits, self.is_played) = (has(0), has(1), has(2));
    }
}

/// Of all ends, by their ports.
#[derive(Debug, Default)]
pub struct Agreement {
    ends: HashMap<Local, Kept>,
}

impl Agreement {
    /// What is agreed of an end as it is described.
    pub fn of(&self, end: &End) -> Agreed {
        let Some(kept) = self.ends.get(&end.local) else { return Agreed::default() };
        let checks = end.checks.as_deref();
        let nominated = kept.nominated.as_ref().filter(|(of, _)| Some(of) == checks);
        let is_its = |of: &Description| match &end.guard {
            Guard::Dtls { peer, .. } => of.goes_on_as(peer),
            Guard::None | Guard::Keys { .. } => false,
        };
        let keys = kept.keys.as_ref().filter(|(of, _)| is_its(of));
        Agreed {
            nominated: nominated.map(|(_, place)| *place),
            keys: keys.map(|(_, keys)| keys.clone()),
            is_blocked: kept.is_blocked,
            is_without_digits: kept.is_without_digits,
            is_played: kept.is_played,
        }
    }

    /// What is kept of a port.
    pub fn kept(&self, local: Local) -> Option<&Kept> {
        self.ends.get(&local)
    }

    /// The ports of ends that were told to be otherwise for the time being.
    pub fn marked(&self) -> impl Iterator<Item = Local> + '_ {
        self.ends.iter().filter(|(_, kept)| kept.marks() != 0).map(|(local, _)| *local)
    }

    /// Changes that.
    pub fn change(&mut self, local: Local, change: impl FnOnce(&mut Kept)) {
        let kept = self.ends.entry(local).or_default();
        change(kept);
        let is_special = kept.is_blocked || kept.is_without_digits || kept.is_played;
        if kept.nominated.is_none() && kept.keys.is_none() && !is_special {
            self.ends.remove(&local);
        }
    }

    /// The port has no end any more.
    pub fn forget(&mut self, local: Local) {
        self.ends.remove(&local);
    }
}
