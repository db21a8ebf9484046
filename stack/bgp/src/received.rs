//! Octets that came, on their way through the session of their peer: UPDATEs one after another,
//! each before what the session wants behind it.

use crate::Speaker;
use bgp::codec::HEADER_BYTES;
use bgp::{ConnectionId, Out};
use core::ops::Range;
use rib::PeerId;

/// What the session of a peer wants for octets that came, as far as it was not done yet.
#[derive(Debug, Default)]
pub(crate) struct Received {
    peer: Option<PeerId>,
    /// The last one first.
    outs: Vec<Out>,
    /// UPDATEs that are still to be handed on: places in the octets that came.
    updates: Option<(ConnectionId, Range<usize>)>,
}

impl Received {
    /// Where a session puts what it wants; [`Received::begin`] follows.
    pub(crate) fn outs(&mut self) -> Vec<Out> {
        debug_assert!(self.outs.is_empty(), "everything was taken");
        core::mem::take(&mut self.outs)
    }

    pub(crate) fn begin(&mut self, peer: PeerId, mut outs: Vec<Out>) {
        outs.reverse();
        *self = Self { peer: Some(peer), outs, updates: None };
    }

    /// What a peer's session wants next, and nothing at the end.
    pub(crate) fn next(&mut self) -> Option<(PeerId, Option<Out>)> {
        match self.outs.pop() {
            Some(wanted) => Some((self.peer?, Some(wanted))),
            None => self.peer.take().map(|peer| (peer, None)),
        }
    }

    /// Whole UPDATEs lie there; they are handed on before anything else that the session wants.
    pub(crate) fn updates(&mut self, connection: ConnectionId, range: Range<usize>) {
        self.updates = Some((connection, range));
    }
}

impl Speaker {
    /// The next UPDATE of those that came, as long as their session stands: what one of them leads
    /// to may have ended it.
    pub(crate) fn next_update<'b>(&mut self, bytes: &'b [u8]) -> Option<(PeerId, &'b [u8])> {
        let (connection, range) = self.received.updates.as_mut()?;
        let found = self.received.peer.and_then(|id| {
            let is_up = self.peers.get(id)?.up == Some(*connection);
            Some((id, first(bytes.get(range.clone()).filter(|_| is_up)?)?))
        });
        match found {
            Some((_, message)) => range.start += message.len(),
            None => self.received.updates = None,
        }
        found
    }
}

/// The first of whole messages. The session has framed them: only the length is read again.
fn first(messages: &[u8]) -> Option<&[u8]> {
    let length = messages.get(16..)?.first_chunk().copied().map(u16::from_be_bytes)?;
    messages.get(..length.into()).filter(|message| message.len() >= HEADER_BYTES)
}
