//! The protocols whose messages are joined into trails: each is a row.
//!
//! ```text
//!  octets ─ take ─→ what is kept, a Signal ─→ joins, marks ─→ a trail ─ observe ─→ kind, outcome
//!                                                               └ keys ─→ found
//!  octets ─ describe ─→ the line of a ladder, and what it says in full
//! ```
//! What has no row is kept as octets on the trail that its agent says ([`hep::signalling`]).

pub(crate) mod dialogue;
mod diameter;
mod sip;

use crate::config::Keep;
use crate::line::Line;
use crate::live::Live;
use dialogue::words::Talk;

/// A message that its row has understood, as trails see it.
pub(crate) trait Signal {
    /// What its leg is called, and found by: a Call-ID, a transaction. None: it has none of its
    /// own.
    fn leg(&self) -> Option<&[u8]>;

    /// What leads to its trail, the surest first.
    fn joins(&self, each: &mut dyn FnMut(&[u8]));

    /// Whether other names than that of its leg lead to its trail from now on.
    fn joins_more(&self) -> bool {
        false
    }

    /// What else may join it to a trail, as far as its sender is believed.
    fn marks(&self, _each: &mut dyn FnMut(&[u8])) {}

    /// Whether it begins something by itself: else it may be late.
    fn begins(&self) -> bool;

    /// Whether it is of a dialogue: its transactions are no names of anything else, and none of its
    /// messages is late.
    fn is_of_dialogue(&self) -> bool {
        false
    }

    /// Whether it begins a trail of its own although one with the same names is just over.
    fn begins_anew(&self) -> bool {
        false
    }

    /// Lets a trail learn from it: as the message of that leg, at that time.
    fn observe(&self, live: &mut Live, at_us: u64, leg: usize);
}

/// What is kept of a message.
pub(crate) struct Taken<'t> {
    /// The message, without what is secret.
    pub(crate) payload: &'t [u8],
    /// What it was understood as.
    pub(crate) signal: Option<&'t dyn Signal>,
    /// Something was taken out.
    pub(crate) is_redacted: bool,
    /// It could not be read.
    pub(crate) is_malformed: bool,
    /// Its trail is its own: what the agent says is of what carried it.
    pub(crate) is_carried: bool,
}

/// Who goes on with it.
pub(crate) type Then<'f> = dyn FnMut(Taken<'_>) + 'f;

/// A protocol.
pub(crate) struct Row {
    /// The kind that HEP has for it.
    pub(crate) kind: u8,
    /// Reads a message and takes out what is secret, but for what is to be kept.
    pub(crate) take: fn(&[u8], &[Keep], &mut Then<'_>),
    /// Describes a message; what was said in its trail before is in the talk.
    pub(crate) describe: fn(&[u8], &mut Talk) -> Line,
}

/// Every row.
const ROWS: &[Row] = &[self::sip::ROW, dialogue::ROW, self::diameter::ROW];

/// The row of a kind of HEP.
pub(crate) fn row(kind: u8) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.kind == kind)
}

/// Takes a message of a leg in; returns whether the outcome of its trail changed.
pub(crate) fn observe(live: &mut Live, at_us: u64, leg: usize, message: &dyn Signal) -> bool {
    let before = (live.phase, live.trail.outcome, live.trail.status);
    message.observe(live, at_us, leg);
    before != (live.phase, live.trail.outcome, live.trail.status)
}

/// Reads a message that was kept: nothing is taken out of it again.
pub(crate) fn read(kind: u8, payload: &[u8], then: &mut dyn FnMut(Option<&dyn Signal>)) {
    match row(kind) {
        Some(row) => (row.take)(payload, Keep::ALL, &mut |taken| then(taken.signal)),
        None => then(None),
    }
}
