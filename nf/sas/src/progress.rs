//! What the messages of SIP of a trail have said so far.

use crate::media::Places;

/// What the messages of a trail have said so far.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of the request whose answer decides; `None` takes any.
    pub(crate) cseq: Option<u32>,
    pub(crate) has_request: bool,
    pub(crate) is_cancelled: bool,
    pub(crate) is_deregistration: bool,
    /// Where its ends receive media.
    pub(crate) media_places: Places,
}

impl Progress {
    /// That of a trail that is taken up again.
    pub(crate) fn resumed(has_request: bool) -> Self {
        Self { has_request, ..Self::default() }
    }
}
