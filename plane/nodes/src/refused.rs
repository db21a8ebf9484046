//! Why the plane does not do as it is told.

use crate::program::INTERFACES_MAX;
use graph::PlanError;
use table::hop::HopError;

/// Why a program is refused. Nothing was changed then.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// A number is out of its range.
    #[error("{what} {number}: numbers go to {limit}")]
    Number {
        /// Of what.
        what: &'static str,
        /// The number.
        number: u64,
        /// The highest.
        limit: u64,
    },
    /// It names something that is not there.
    #[error("{what} {number} is not there")]
    Missing {
        /// What.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// Two things cannot be at once.
    #[error("{0}")]
    Conflict(String),
    /// A table is full.
    #[error("{0}: no room")]
    Full(&'static str),
    /// A chain of features cannot be.
    #[error(transparent)]
    Chain(#[from] graph::Refused),
    /// The graph's nodes do not fit together.
    #[error(transparent)]
    Graph(#[from] PlanError),
    /// A hop cannot be.
    #[error(transparent)]
    Hop(#[from] HopError),
}

impl Refused {
    /// Refuses a number above its limit.
    ///
    /// # Errors
    /// When it is above.
    pub fn above(what: &'static str, number: u32, limit: u32) -> Result<(), Self> {
        if number <= limit {
            return Ok(());
        }
        Err(Self::Number { what, number: number.into(), limit: limit.into() })
    }

    /// Refuses an interface that cannot be: what workers read is indexed by it.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn interface(number: u32) -> Result<(), Self> {
        Self::above("interface", number, INTERFACES_MAX - 1)
    }
}
