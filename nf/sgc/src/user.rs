//! MTP3 users of this node: who takes an MSU for one of its point codes.
//!
//! This is the seam for what stands above: a user is a row of [`User`], found by its Service
//! Indicator, that is given MSUs and answers with MSUs. SCCP will be one.

use m3ua::Transfer;

/// Service Indicators: four bits.
const INDICATORS: usize = 16;

/// A user of this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Sends what it gets back to where it came from.
    Echo,
}

/// The users, by Service Indicator.
#[derive(Debug, Default)]
pub(crate) struct Users {
    rows: [Option<User>; INDICATORS],
}

impl Users {
    /// Echo has these indicators.
    pub(crate) fn new(echo: &[u8]) -> Self {
        let mut users = Self::default();
        for indicator in echo {
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
    /// An MSU for this user came; what it wants sent goes into `wants`.
    pub(crate) fn transfer(self, transfer: Transfer, wants: &mut Vec<Transfer>) {
        match self {
            Self::Echo => {
                let (opc, dpc) = (transfer.dpc, transfer.opc);
                wants.push(Transfer { opc, dpc, ..transfer });
            }
        }
    }
}
