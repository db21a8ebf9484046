//! What the instance says itself.

use crate::address::FragmentId;
use crate::pdu::LspFlags;
use crate::settings::{Advertised, Prefix};
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};

/// What the instance says itself, and when.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) advertised: BTreeMap<Prefix, Advertised>,
    /// What was said last.
    pub(crate) said: BTreeMap<FragmentId, (LspFlags, Vec<u8>)>,
    /// When each was originated last.
    pub(crate) at: BTreeMap<FragmentId, Time>,
    /// What others said in our name, or what is old: it is said anew whatever it says.
    pub(crate) contested: BTreeSet<FragmentId>,
    /// Other areas are reached in level 2.
    pub(crate) is_attached: bool,
    /// What we say may be another thing than what stands in the databases.
    pub(crate) is_stale: bool,
    /// When what had to wait is looked at.
    pub(crate) due: Option<Time>,
    /// What PDUs change is said from then on.
    pub(crate) paced_until: Time,
    /// When what others said in our name was answered, or is going to be.
    pub(crate) fought: Option<Time>,
}
