//! What the media of a call were like: what functions and RTCP say of each stream and direction.
//!
//! ```text
//!  session descriptions ─▶ Places ─┐ (whose address that is, which codec)
//!  events of media ────────────────┼─▶ Said ─▶ Stream: figures over the whole ─▶ record, keys
//!  RTCP as JSON ───────────────────┘     └──▶ Lane: figures over time, from the stored entries
//! ```
//! A trail keeps so many streams, a page so many points of each; what comes on top changes
//! neither.

mod condition;
mod key;
mod lane;
mod places;
mod said;
mod stream;
mod view;

pub(crate) use condition::conditions;
pub(crate) use key::{MOS_MAX, MOS_MIN, add as add_keys, mos_ranges};
pub use lane::{MarkView, PointView, StreamView, TermsView, lanes, of_entries};
pub(crate) use places::Places;
pub(crate) use said::{is_media, is_report};
pub use stream::{Figures, Id, STREAMS_MAX, Side, Stream};
pub use view::MediaView;

use crate::entry::Entry;
use said::{Said, What};

/// Takes in what an entry says of the streams of a trail. Returns whether a stream began, ended or
/// had trouble that it had not before.
pub(crate) fn take(streams: &mut Vec<Stream>, places: &Places, entry: &Entry<'_>) -> bool {
    let mut changed = false;
    for Said { id, what } in said::of(entry.kind, entry.source, entry.payload) {
        if let (What::Sent(packets), Id::Heard { ssrc, .. }) = (&what, id) {
            let heard = streams.iter_mut().filter(|stream| stream.is_of(ssrc));
            heard.for_each(|stream| stream.sent(*packets));
            continue;
        }
        let at = match streams.iter().position(|stream| stream.id == id) {
            Some(at) => at,
            None if streams.len() >= STREAMS_MAX => continue,
            None => {
                streams.push(Stream::new(id, entry.at_us, places));
                changed = true;
                streams.len() - 1
            }
        };
        changed |= streams[at].take(entry.at_us, &what);
    }
    changed
}
