//! MTP3 users of this node: who takes an MSU for one of its point codes.
//!
//! This is the seam for what stands above: a user is a row of [`User`], found by its Service
//! Indicator, that is given MSUs and answers with MSUs.

use crate::config::Sgc;
use crate::sccp_node::SccpNode;
use m3ua::{PeerId, Transfer};
use machine::Time;
use sccp::codec::SERVICE_INDICATOR;

/// Service Indicators: four bits.
const INDICATORS: usize = 16;

/// A user of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Sends what it gets back to where it came from.
    Echo,
    /// SCCP, with what stands on it (`sccp_node`).
    Sccp,
}

/// The users, by Service Indicator.
#[derive(Debug, Default)]
pub(crate) struct Users {
    rows: [Option<User>; INDICATORS],
}

impl Users {
    /// SCCP has its own indicator, if it is there; echo has those that the section names.
    pub(crate) fn new(config: &Sgc) -> Self {
        let mut users = Self::default();
        if config.has_sccp() {
            users.rows[usize::from(SERVICE_INDICATOR)] = Some(User::Sccp);
        }
        for indicator in &config.echo_service_indicators {
            if let Some(row) = users.rows.get_mut(usize::from(*indicator)) {
                *row = Some(User::Echo);
            }
        }
        users
    }

    /// Who takes MSUs with that Service Indicator.
    pub(crate) fn of(&self, indicator: u8) -> Option<User> {
        self.rows.get(usize::from(indicator)).copied().flatten()
    }
}

impl User {
    /// An MSU for this user came from a peer; what it wants sent goes into `wants`. Returns whether
    /// all was carried out.
    pub(crate) fn transfer(
        self,
        now: Time,
        sccp: &mut SccpNode,
        from: PeerId,
        transfer: Transfer,
        wants: &mut Vec<Transfer>,
    ) -> bool {
        match self {
            Self::Sccp => sccp.step(now, sccp::In::TransferBy(from, transfer), wants),
            Self::Echo => {
                let (opc, dpc) = (transfer.dpc, transfer.opc);
                wants.push(Transfer { opc, dpc, ..transfer });
                true
            }
        }
    }
}
