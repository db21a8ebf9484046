//! What is agreed of an end beside signalling: what connectivity checks and DTLS found out, and what
//! was blocked for the time being.

use anchor::Local;
use core::net::SocketAddr;
use hashbrown::HashMap;
use media::program::Keys;

/// Of one end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Where connectivity checks say that it is.
    pub nominated: Option<SocketAddr>,
    /// The keys that DTLS agreed on: of what comes, and of what leaves.
    pub keys: Option<Box<[Keys; 2]>>,
    /// Its packets go nowhere.
    pub is_blocked: bool,
}

/// Of all ends, by their ports.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    ends: HashMap<Local, Agreed>,
}

impl Agreement {
    /// Of the end at a port.
    pub fn at(&self, local: Local) -> Agreed {
        self.ends.get(&local).cloned().unwrap_or_default()
    }

    /// Changes that.
    pub fn change(&mut self, local: Local, change: impl FnOnce(&mut Agreed)) {
        let agreed = self.ends.entry(local).or_default();
        change(agreed);
        if *agreed == Agreed::default() {
            self.ends.remove(&local);
        }
    }

    /// The port has no end any more.
    pub fn forget(&mut self, local: Local) {
        self.ends.remove(&local);
    }
}
