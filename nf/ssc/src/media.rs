//! The seam of the media controller: every session description that crosses is shown here.
//!
//! In media bypass nobody changes it; the controller that anchors media will take
//! [`Out::Media`] and answer with the description to send instead.

use crate::facts::Fact;
use crate::token::Side;
use crate::wire::Wire;
use machine::slots::Key;
use sip::{Header, Message};

/// What the calls want from the media side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Out<'a> {
    /// A description came from one leg and is about to go to the other: an offer or its answer
    /// (RFC 3264).
    Media {
        /// The call.
        call: Key,
        /// The leg it came from.
        from: Side,
        /// The description.
        sdp: &'a [u8],
    },
}

impl Wire {
    /// Shows the description in a message, if it has one.
    #[inline]
    pub(crate) fn describe(&mut self, call: Key, from: Side, message: &Message<'_>) {
        let sdp = message.body();
        if sdp.is_empty() {
            return;
        }
        let kind = message.header(Header::ContentType).unwrap_or_default();
        if kind.len() >= 15 && kind[..15].eq_ignore_ascii_case(b"application/sdp") {
            self.media(Out::Media { call, from, sdp });
        }
    }

    /// Media bypass: the description is counted and passed as it is.
    fn media(&mut self, wanted: Out<'_>) {
        let Out::Media { call: _, from: _, sdp } = wanted;
        debug_assert!(!sdp.is_empty());
        self.facts.add(Fact::Descriptions, 1);
    }
}
