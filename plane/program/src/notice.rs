//! What the plane tells of by itself.

use crate::{BridgeMember, Mac};
use serde::{Deserialize, Serialize};

/// Something happened to a MAC address of a bridge domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacNotice {
    /// The domain.
    pub bridge: u32,
    /// The address.
    pub mac: Mac,
    /// What happened.
    pub what: MacChange,
}

/// What happens to a MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MacChange {
    /// It was heard behind another member.
    Moved {
        /// Where it was.
        from: BridgeMember,
        /// Where it is.
        to: BridgeMember,
    },
    /// It moved too often and stays where it is (RFC 7432 §15.1).
    Frozen {
        /// There.
        at: BridgeMember,
    },
    /// It may move again.
    Thawed,
    /// It is not learnt.
    Refused {
        /// Where it was heard.
        at: BridgeMember,
        /// What is full.
        limit: MacLimit,
    },
}

/// What is full of MAC addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MacLimit {
    /// The table of all domains.
    Table,
    /// The domain.
    Bridge,
    /// The member.
    Member,
}
