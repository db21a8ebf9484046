//! What the commands of `tandem` have in common: the client of a site's API, what a command is told
//! of functions, what it prints, what a shell completes, and how it ends.
//!
//! ```text
//!  words of a function ─→ asked, act ─→ Client ─→ a site's API
//!                            └─→ output: a table, JSON, CSV        Exit: status and sentence
//! ```
#![forbid(unsafe_code)]

mod api;
mod asked;
mod bgp;
mod capture;
pub mod complete;
pub mod configuration;
mod diameter;
mod exit;
pub mod output;
mod range;
mod sctp;

pub use api::{Client, Target, URL_DEFAULT, only};
pub use asked::{Action, Of, OfPeer, act, alarms, asked, asked_and, counters};
pub use asked::{function_or_address, pages, site};
pub use bgp::BgpWords;
pub use capture::{Capture, capture};
pub use configuration::ConfigCommand;
pub use diameter::{DiameterCommand, diameter};
pub use exit::{Exit, USAGE};
pub use local::{query, segment};
pub use output::Output;
pub use range::seconds;
pub use sctp::{SctpCommand, sctp};

use clap::Subcommand;

/// What `tandem ctl` says to one kind of functions, beside what it says to all.
pub trait Words: Subcommand {
    /// Asks, or acts, and prints the answer.
    ///
    /// # Errors
    /// What the exit status shall say.
    fn run(self, client: &Client, form: Output) -> Result<(), Exit>;
}
