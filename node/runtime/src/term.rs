//! Which of two states of a pair is the later one.

/// How recent a state is: the greater is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// The epoch in which a node served.
    pub epoch: u64,
    /// Whether that was this node: it has all that was taken in that epoch.
    pub served: bool,
}
