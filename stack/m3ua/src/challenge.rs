//! A newcomer that claims a peer whose association stands. Whoever knows an address of a peer can
//! ask for an association in its name; whether the one that stands is dead is found out before it
//! is given up: both heartbeats of a challenge must go unanswered (RFC 9260 §8.3). Meanwhile the
//! newcomer waits; what it says is not listened to.

use crate::links::{Links, State, Way};
use m3ua::PeerId;
use machine::{Duration, Time};
use sctp::{PathState, PathStatus};
use sctp_stack::AssociationId;

/// Heartbeats that must go unanswered.
const ROUNDS: u16 = 2;
/// Time for an answer beyond the retransmission time-out of the slowest path.
const GRACE: Duration = Duration::from_millis(50);

/// A standing association that is being asked whether it lives.
#[derive(Debug)]
pub(crate) struct Challenge {
    newcomer: AssociationId,
    streams: u16,
    round: u16,
    at: Time,
}

impl Links {
    /// A newcomer claims a peer whose association `old` stands. One newcomer at a time waits.
    pub(crate) fn challenge(
        &mut self,
        now: Time,
        peer: PeerId,
        old: AssociationId,
        newcomer: AssociationId,
        streams: u16,
    ) {
        if self.challenges.contains_key(&peer) {
            self.counts.claims_refused += 1;
            return self.abort_association(now, newcomer);
        }
        let at = now + self.ask(now, old);
        self.challenges.insert(peer, Challenge { newcomer, streams, round: 1, at });
    }

    /// Sends a heartbeat on every path that has shown itself to be the peer's; the time in which
    /// one of them must be answered.
    fn ask(&mut self, now: Time, association: AssociationId) -> Duration {
        let Some(endpoint) = &mut self.endpoint else { return GRACE };
        let Some(status) = endpoint.status(association) else { return GRACE };
        let confirmed = status.paths.iter().filter(|path| path.state != PathState::Unconfirmed);
        let slowest = confirmed.clone().map(|path| path.rto).max().unwrap_or_default();
        for path in confirmed {
            endpoint.wish(now, sctp::In::RequestHeartbeat(association, path.address));
        }
        slowest + GRACE
    }

    pub(crate) fn challenge_deadline(&self) -> Option<Time> {
        self.challenges.values().map(|challenge| challenge.at).min()
    }

    /// Challenges whose time is over: the old association has answered, is asked again, or gives
    /// its place to the newcomer.
    pub(crate) fn challenges_due(&mut self, now: Time) {
        let due = |(peer, it): (&PeerId, &Challenge)| (it.at <= now).then_some(*peer);
        let due: Vec<PeerId> = self.challenges.iter().filter_map(due).collect();
        for peer in due {
            let Some(challenge) = self.challenges.remove(&peer) else { continue };
            let Some(old) = self.standing(peer) else {
                self.associated(now, peer, challenge.newcomer, challenge.streams);
                continue;
            };
            if self.unanswered(old) < challenge.round {
                self.counts.claims_refused += 1;
                self.abort_association(now, challenge.newcomer);
            } else if challenge.round < ROUNDS {
                let at = now + self.ask(now, old);
                let round = challenge.round + 1;
                self.challenges.insert(peer, Challenge { round, at, ..challenge });
            } else {
                self.lost(now, peer, "it did not answer, and another one came");
                self.abort_association(now, old);
                self.associated(now, peer, challenge.newcomer, challenge.streams);
            }
        }
    }

    /// The peer goes: its newcomer as well.
    pub(crate) fn end_challenge(&mut self, now: Time, peer: PeerId) {
        if let Some(challenge) = self.challenges.remove(&peer) {
            self.abort_association(now, challenge.newcomer);
        }
    }

    /// A newcomer is gone before its challenge was over.
    pub(crate) fn withdraw_challenge(&mut self, newcomer: AssociationId) {
        self.challenges.retain(|_, challenge| challenge.newcomer != newcomer);
    }

    /// The association of a peer, if one stands.
    pub(crate) fn standing(&self, peer: PeerId) -> Option<AssociationId> {
        let link = self.rows.get(&peer).filter(|link| link.state == State::Up)?;
        match link.way {
            Some(Way::Association(association)) => Some(association),
            _ => None,
        }
    }

    /// How many time-outs in a row every confirmed path of an association has had.
    fn unanswered(&self, association: AssociationId) -> u16 {
        let status = self.endpoint.as_ref().and_then(|endpoint| endpoint.status(association));
        let paths = status.map(|status| status.paths).unwrap_or_default();
        let confirmed = paths.iter().filter(|path| path.state != PathState::Unconfirmed);
        confirmed.map(time_outs).min().unwrap_or(u16::MAX)
    }
}

/// Time-outs in a row of a path. The kernel does not count them, but a path of which a heartbeat
/// was answered is active: what failed, or may have, has left all of them unanswered.
const fn time_outs(path: &PathStatus) -> u16 {
    match path.state {
        PathState::PotentiallyFailed | PathState::Inactive => u16::MAX,
        _ => path.errors,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_failed_is_silent_whether_its_time_outs_were_counted_or_not() {
        let path = |state, errors| PathStatus {
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            state,
            is_primary: true,
            srtt: None,
            rto: Duration::from_millis(100),
            cwnd: 1,
            ssthresh: 1,
            flight: 0,
            errors,
            pmtu: 1_500,
        };
        assert_eq!(time_outs(&path(PathState::Active, 0)), 0);
        assert_eq!(time_outs(&path(PathState::Active, 1)), 1);
        assert!(time_outs(&path(PathState::PotentiallyFailed, 0)) >= ROUNDS);
        assert!(time_outs(&path(PathState::Inactive, 0)) >= ROUNDS);
    }
}
