//! How a command ends: a status for programs, a sentence for people.

use crate::output::harmless_lines;
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
    /// Status 3; the text is printed as it stands (diagnostics).
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
        let (status, text) = self.said();
        eprint!("{text}");
        ExitCode::from(status)
    }

    /// The status, and what is printed: sites and site files of others steer no terminal.
    fn said(&self) -> (u8, String) {
        let (status, text) = match self {
            Self::Failed(text) => (1, text),
            Self::Usage(text) => (USAGE, text),
            Self::Invalid(text) => return (3, harmless_lines(text)),
            Self::Unreachable(text) => (4, text),
            Self::Conflict(text) => (5, text),
            Self::TimedOut(text) => (6, text),
            Self::ReaderGone => return (0, String::new()),
        };
        (status, format!("tandem: {}\n", harmless_lines(text)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_said_at_the_end_steers_a_terminal() {
        for make in [Exit::Invalid, Exit::Failed, Exit::Conflict] {
            let (_, said) = make("error: \u{1b}[2J\n  | \t\u{202e}x\n".to_owned()).said();
            assert!(said.contains("error: \\u{1b}[2J\n  | \t\\u{202e}x\n"), "{said}");
        }
    }
}
