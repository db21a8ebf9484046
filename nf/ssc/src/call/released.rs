//! How often further 2xx of one INVITE were answered by ACK and BYE: whoever sends very many draws
//! no more.

use crate::token::FORKS_MAX;
use machine::narrow::slot;

/// Further 2xx of one INVITE are released so often, repetitions of one among them.
const RELEASES_MAX: u8 = 2 * FORKS_MAX;
/// INVITEs that this is counted for at once; a younger one takes the place of an older one.
const RELEASING: usize = 256;

/// How often 2xx of the same INVITE were released.
#[derive(Debug)]
pub(crate) struct Released(Box<[(u64, u8)]>);

impl Default for Released {
    fn default() -> Self {
        Self(vec![(0, 0); RELEASING].into())
    }
}

impl Released {
    /// Whether one more may be, of the INVITE with this check in our tag.
    pub(super) fn may(&mut self, check: u64) -> bool {
        let row = &mut self.0[slot(check, RELEASING)];
        if row.0 != check {
            *row = (check, 0);
        }
        row.1 = row.1.saturating_add(1);
        row.1 <= RELEASES_MAX
    }
}
