//! An experiment as a list names it.

use crate::contract::{Options, Outcome};

/// An experiment as `tandem lab list` shows it.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// The name that `tandem lab run` takes.
    pub name: &'static str,
    /// What it measures, in a line.
    pub line: &'static str,
    /// Runs it. Progress goes to standard error.
    pub run: fn(&Options) -> anyhow::Result<Outcome>,
    takes: &'static [Takes],
}

/// Options that an experiment takes beside those that all take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Sizes of a reflection and a peer.
    Reflection,
    /// Sizes of the packet plane.
    Plane,
    /// Another `tandem` than this one.
    Binary,
    /// To run live: without, it is a simulation.
    Live,
}

impl Experiment {
    /// The experiment of that name, with a line for the list.
    #[must_use]
    pub const fn new(
        name: &'static str,
        line: &'static str,
        run: fn(&Options) -> anyhow::Result<Outcome>,
    ) -> Self {
        Self { name, line, run, takes: &[] }
    }

    /// The same with options of its own.
    #[must_use]
    pub const fn taking(self, takes: &'static [Takes]) -> Self {
        Self { takes, ..self }
    }

    /// Whether it takes these options.
    #[must_use]
    pub fn takes(&self, options: Takes) -> bool {
        self.takes.contains(&options)
    }
}
