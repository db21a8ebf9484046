//! What a call is given: descriptions, policies, ports and random octets.

use crate::guard::is_end_to_end;
use crate::offer::Policies;
use crate::policy::Policy;
use crate::port::Source;
use crate::side::{Fork, Side};
use core::net::IpAddr;

/// What a call uses of what others have.
pub struct Means<'m> {
    /// What A and B want.
    pub policies: [&'m Policy; 2],
    /// Where ports come from.
    pub ports: &'m mut dyn Source,
    /// Fills octets with what nobody can guess.
    pub random: &'m mut dyn FnMut(&mut [u8]),
}

impl core::fmt::Debug for Means<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Means").field("policies", &self.policies).finish_non_exhaustive()
    }
}

impl<'m> Means<'m> {
    /// Whether media goes through a media controller.
    pub(crate) fn are_anchoring(&self) -> bool {
        self.policies.iter().any(|policy| policy.anchor)
    }

    /// The policies as one side speaks.
    pub(crate) fn as_speaks(&self, from: Side) -> Policies<'m> {
        Policies {
            from: self.policies[from.index()],
            to: self.policies[from.other().index()],
            is_end_to_end: is_end_to_end(self.policies),
            has_certificate: self.ports.fingerprint().is_some(),
            codecs: self.ports.codecs(),
        }
    }
}

/// A description that arrived.
#[derive(Clone, Copy)]
pub struct Heard<'a> {
    /// Its octets.
    pub text: &'a [u8],
    /// Who sent it.
    pub from: Side,
    /// In which dialog.
    pub fork: Fork,
    /// An address that stands for those in it, where they are not believed.
    pub source: Option<IpAddr>,
    /// The host that its signalling message came from, if that is known: its media may come from
    /// there ([`Policy::latching`]).
    pub signaller: Option<IpAddr>,
}

impl core::fmt::Debug for Heard<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Heard")
            .field("octets", &self.text.len())
            .field("from", &self.from)
            .field("fork", &self.fork)
            .field("source", &self.source)
            .field("signaller", &self.signaller)
            .finish()
    }
}

impl<'a> Heard<'a> {
    /// One that is believed, in the only dialog, of a host that is not known.
    #[must_use]
    pub fn new(from: Side, text: &'a [u8]) -> Self {
        Self { text, from, fork: Fork::default(), source: None, signaller: None }
    }
}
