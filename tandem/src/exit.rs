//! How a command ends: a status for programs, a sentence for people.

use std::process::ExitCode;

/// The command was called wrongly.
pub const USAGE: u8 = 2;

/// Why a command did not do what it was told.
#[derive(Debug)]
pub enum Exit {
    /// Status 1.
    Failed(String),
    /// Status 2.
    Usage(String),
    /// Status 3; the text is printed as it is (diagnostics).
    Invalid(String),
    /// Status 4.
    Unreachable(String),
    /// Status 5.
    Conflict(String),
    /// Status 6.
    TimedOut(String),
    /// Status 0 and nothing to say: whoever read our output has gone.
    ReaderGone,
}

impl Exit {
    /// Prints the sentence and gives the status.
    pub fn report(&self) -> ExitCode {
        let (status, text) = match self {
            Self::Failed(text) => (1, text),
            Self::Usage(text) => (USAGE, text),
            Self::Invalid(text) => {
                eprint!("{text}");
                return ExitCode::from(3);
            }
            Self::Unreachable(text) => (4, text),
            Self::Conflict(text) => (5, text),
            Self::TimedOut(text) => (6, text),
            Self::ReaderGone => return ExitCode::SUCCESS,
        };
        eprintln!("tandem: {}", crate::output::harmless_lines(text));
        ExitCode::from(status)
    }
}

impl From<anyhow::Error> for Exit {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(format!("{error:#}"))
    }
}

impl From<std::io::Error> for Exit {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::ReaderGone;
        }
        Self::Failed(error.to_string())
    }
}
