//! Two connections with one peer: which one stays (RFC 4271 §6.8, RFC 6286 §2.3, RFC 4724 §4.2).

use super::connection::{Phase, Way};
use super::effects::{Cause, ConnectionId, Out};
use super::{Negotiated, Session};
use crate::codec::{Cease, Notice, Offer};
use machine::{Duration, Time};

/// For so long an established connection is one of two that were opened at the same time, and
/// loses like any other (RFC 4271 §8.1.1, CollisionDetectEstablishedState): what one side has
/// established, the other may have decided against, and both connections would go.
pub const COLLISION_WINDOW: Duration = Duration::from_secs(5);

/// Whose connection stays (RFC 6286 §2.3).
fn winning_way(ours: &Offer, theirs: &Offer) -> Way {
    let is_ours = (ours.identifier, ours.asn) > (theirs.identifier, theirs.asn);
    if is_ours { Way::Outgoing } else { Way::Incoming }
}

impl Session {
    /// The peer's OPEN came on connection `id`: whether it stays. Others that lose are ended.
    pub(super) fn collide(
        &mut self,
        now: Time,
        id: ConnectionId,
        negotiated: &Negotiated,
        out: &mut Vec<Out>,
    ) -> bool {
        let Some(index) = self.index(id) else { return false };
        let way = self.connections[index].way;
        let wins = winning_way(&self.settings.offer, &negotiated.peer) == way;
        let others: Vec<ConnectionId> = self.connections().filter(|it| *it != id).collect();
        for other in others {
            let Some(at) = self.index(other) else { continue };
            let other_connection = &self.connections[at];
            let (phase, other_way) = (other_connection.phase, other_connection.way);
            if phase < Phase::OpenConfirm {
                continue;
            }
            let age = now.since(other_connection.established_at);
            let is_old = phase == Phase::Established && age > COLLISION_WINDOW;
            let restarts = other_connection
                .negotiated
                .as_ref()
                .is_some_and(|it| !it.graceful_restart.is_empty());
            match (is_old, restarts) {
                // RFC 4724 §4.2: the peer has restarted, the old connection is dead.
                (true, true) => self.end(now, other, Cause::Replaced, out),
                (false, _) if wins || other_way == way => {
                    self.counters.collisions += 1;
                    self.end_collided(now, other, out);
                }
                _ => {
                    self.counters.collisions += 1;
                    self.end_collided(now, id, out);
                    return false;
                }
            }
        }
        true
    }

    fn end_collided(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        let notice = Notice::cease(Cease::ConnectionCollisionResolution);
        self.refuse(now, id, notice, &[], out);
    }
}
