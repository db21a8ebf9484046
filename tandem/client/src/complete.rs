//! What a shell completes beside commands and options: names that a running site knows. The command
//! line says which; who knows them (`known_by`) answers.

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use std::ffi::OsStr;
use std::sync::OnceLock;

/// What is completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Sites that run on this machine, and site files.
    Site,
    /// Functions of the site.
    Function,
    /// Peers of the function that stands on the line, or of all.
    Peer,
    /// Functions, and peers of those where the function may be left out.
    FunctionOrPeer,
    /// Those of them that came from a range and are away.
    AwayPeer,
    /// Names of metrics.
    Metric,
    /// Kept revisions of the configuration.
    Revision,
    /// Questions to a forwarder.
    Question,
    /// Parameters of the question that stands on the line.
    Parameter,
    /// Scenes of the demo.
    Scene,
    /// Experiments of the lab.
    Experiment,
    /// Families of routes.
    Family,
    /// Kinds of trails.
    TrailKind,
    /// Outcomes of trails.
    Outcome,
}

/// Names that begin with what was typed.
pub type Known = fn(Name, &OsStr) -> Vec<CompletionCandidate>;

static KNOWN: OnceLock<Known> = OnceLock::new();

/// Says who knows the names.
pub fn known_by(known: Known) {
    // Said once, when the program starts.
    let _ = KNOWN.set(known);
}

/// An argument that is such a name.
pub fn names(name: Name) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        KNOWN.get().map(|known| known(name, typed)).unwrap_or_default()
    })
}

/// An argument that is a site.
pub fn sites() -> ArgValueCompleter {
    names(Name::Site)
}

/// An argument that is a function.
pub fn functions() -> ArgValueCompleter {
    names(Name::Function)
}

/// An argument that is a function, or a peer because the function is left out.
pub fn functions_and_peers() -> ArgValueCompleter {
    names(Name::FunctionOrPeer)
}

/// An argument that is a peer.
pub fn peers() -> ArgValueCompleter {
    names(Name::Peer)
}
