//! Why the command ended before it was done.

/// Why the command ended before it was done, in words but for the last.
#[derive(Debug)]
pub enum Ended {
    /// It failed.
    Failed(String),
    /// It was called wrongly.
    Usage(String),
    /// The peer is not there.
    Unreachable(String),
    /// Whoever read its output has gone.
    ReaderGone,
}

impl From<std::io::Error> for Ended {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(error.to_string()),
        }
    }
}
