//! Between the speaker and the rib: sessions that stand or end, UPDATEs in, UPDATEs out.

use crate::Reflector;
use crate::metrics::Metric;
use bgp_stack::{Ended, Established, Out};
use machine::Time;
use rib::{PeerId, Sending};
use runtime::Effects;

/// What the rib does in one tick at most, in routes: the sockets are read between two.
const WORK_MAX: usize = 20_000;

impl Reflector {
    /// Does what the speaker wants of the tables, in order; `bytes` are those that UPDATEs lie in.
    pub(crate) fn follow(&mut self, now: Time, bytes: &[u8], out: &mut Effects) {
        while let Some(wanted) = self.speaker.next(now, bytes, out) {
            self.has_work |= !matches!(wanted, Out::Sent(_));
            match &wanted {
                Out::Update(id, message) => {
                    self.update(now, *id, message, out);
                    continue;
                }
                Out::Sent(sent) => self.trail.sent(now, sent),
                Out::Down(id, session) => self.down(now, *id, session),
                _ => {}
            }
            self.tables(|it| it.take(now, &wanted, out));
            if let Out::Up(id, session) = &wanted {
                self.up(now, *id, session);
            }
        }
        self.publish_counts();
    }

    /// Routes may be exchanged with a peer.
    fn up(&mut self, now: Time, id: PeerId, session: &Established) {
        let function = &*self.config.name;
        let (peer, asn) = (self.speaker.name_of(id), session.negotiated.peer.asn);
        let address = session.neighbour.address;
        tracing::info!(target: "bgp", function, peer, %address, asn, "the session stands");
        self.stations_peer_up(now, id);
        self.trail.up(now, &self.speaker, id, session);
        self.recording.up(now, self.config.asn, session);
    }

    /// A session ended; routes of some families stay for a time.
    fn down(&mut self, now: Time, id: PeerId, session: &Ended) {
        let function = &*self.config.name;
        let Ended { name: peer, address, reason, .. } = session;
        tracing::warn!(target: "bgp", function, peer, %address, reason, "the session ended");
        self.trail.down(now, session);
        self.stations_peer_down(now, id, session);
        self.recording.down(now, self.config.asn, session);
    }

    /// An UPDATE came.
    fn update(&mut self, now: Time, id: PeerId, message: &[u8], out: &mut Effects) {
        self.metrics.add(Metric::UpdatesIn, 1);
        let peer = self.speaker.peers().get(id);
        self.recording.update(now, self.config.asn, peer, message);
        let taken = self.tables(|it| it.take(now, &Out::Update(id, message), out));
        if !taken.is_refused {
            self.metrics.add(Metric::RoutesIn, u64::from(taken.announced));
            self.metrics.add(Metric::WithdrawnIn, u64::from(taken.withdrawn));
            self.tell_update(now, id, message, taken.is_faulty);
        }
    }

    /// Lets the rib work for a while; what it has to say leaves.
    pub(crate) fn work(&mut self, now: Time, out: &mut Effects) {
        if !core::mem::take(&mut self.has_work) {
            return;
        }
        self.rejudge(now);
        self.has_work = self.is_rejudging();
        if !self.speaker.is_deferring(now, out) {
            self.has_work |= self.rib.work(now, WORK_MAX);
        }
        while let Some(sending) = self.rib.next_sending() {
            let Some(sending) = self.deliver(now, sending) else { continue };
            let Sending { peer: id, bytes, updates } = sending;
            self.trail.updates(now, &self.speaker, id, &bytes);
            let (octets, updates) = (bytes.len() as u64, u64::from(updates));
            if self.speaker.send_updates(now, id, bytes, updates, out) {
                self.metrics.add(Metric::UpdatesOut, updates);
                self.metrics.add(Metric::OctetsOut, octets);
            }
        }
        self.flush_stations(now, out);
        self.recording.flush(now, &self.metrics);
    }
}
