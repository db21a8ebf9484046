//! Pseudowires (RFC 8077): what both ends say, and whether they meet.

use crate::codec::{Fec, PseudowireFec, PseudowireId};
use std::net::Ipv4Addr;

/// A pseudowire that shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PseudowireSettings {
    /// The router at the other end.
    pub peer: Ipv4Addr,
    /// Which.
    pub id: PseudowireId,
    /// Its type (RFC 4446 §3.2): 5 for Ethernet, 4 for tagged Ethernet.
    pub kind: u16,
    /// A control word is wanted.
    pub has_control_word: bool,
    /// The group that it is in.
    pub group: u32,
    /// The MTU of its interface.
    pub mtu: u16,
    /// Its own state, 0: nothing is wrong (RFC 4446 §3.5).
    pub status: u32,
}

/// How far a pseudowire is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PseudowireState {
    /// The other end does not say it.
    Unsaid,
    /// The other end says another type.
    OtherType,
    /// The other end says another MTU.
    OtherMtu,
    /// Something is wrong at one of both ends.
    Fault,
    /// Packets may pass.
    Up {
        /// The label by which they come.
        local: u32,
        /// The label by which they leave.
        remote: u32,
        /// A control word stands in front of each.
        has_control_word: bool,
    },
}

/// What the other end said.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) label: u32,
    pub(crate) fec: PseudowireFec,
    pub(crate) mtu: Option<u16>,
    pub(crate) status: u32,
}

#[derive(Debug)]
pub(crate) struct Pseudowire {
    pub(crate) settings: PseudowireSettings,
    pub(crate) label: u32,
    pub(crate) is_told: bool,
    pub(crate) said: Option<Said>,
    pub(crate) state: PseudowireState,
}

impl Pseudowire {
    /// Whether packets have a control word: if both ends want one (RFC 8077 §7).
    pub(crate) fn has_control_word(&self) -> bool {
        let theirs = self.said.as_ref().is_none_or(|it| it.fec.has_control_word);
        self.settings.has_control_word && theirs
    }

    pub(crate) fn fec(&self) -> Fec {
        let settings = &self.settings;
        Fec::Pseudowire(PseudowireFec {
            id: Some(settings.id.clone()),
            kind: settings.kind,
            has_control_word: self.has_control_word(),
            group: settings.group,
            mtu: matches!(settings.id, PseudowireId::Number(_)).then_some(settings.mtu),
        })
    }

    /// How far it is now.
    pub(crate) fn now(&self) -> PseudowireState {
        let Some(said) = self.said.as_ref().filter(|_| self.is_told) else {
            return PseudowireState::Unsaid;
        };
        if said.fec.kind != self.settings.kind {
            PseudowireState::OtherType
        } else if said.mtu.is_some_and(|mtu| mtu != self.settings.mtu) {
            PseudowireState::OtherMtu
        } else if said.status != 0 || self.settings.status != 0 {
            PseudowireState::Fault
        } else if said.fec.has_control_word && !self.has_control_word() {
            // The other end says it anew without one.
            PseudowireState::Unsaid
        } else {
            PseudowireState::Up {
                local: self.label,
                remote: said.label,
                has_control_word: self.has_control_word(),
            }
        }
    }
}
