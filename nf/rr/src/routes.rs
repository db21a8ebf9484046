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
            match wanted {
                Out::Update(id, message) => self.update(now, id, message, out),
                Out::Up(id, session) => self.up(now, id, &session),
                Out::Down(id, session) => self.down(now, id, &session),
                Out::Refresh(id, family, kind) => self.rib.refresh(id, family, kind),
                Out::LongLived(id, families) => self.rib.long_lived(id, families),
                Out::Purge(id, families) => self.rib.purge(id, families),
                Out::Written(id, octets, left) => self.written(id, octets, left),
                Out::Limits(id) => self.check_limits(now, id, out),
                Out::Sent(sent) => self.trail.sent(now, &sent),
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
        self.rib.up(now, id, session.neighbour.clone(), &session.negotiated);
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
        self.rib.down(id, session.retained);
    }

    /// An UPDATE came.
    fn update(&mut self, now: Time, id: PeerId, message: &[u8], out: &mut Effects) {
        self.metrics.add(Metric::UpdatesIn, 1);
        let peer = self.speaker.peers().get(id);
        self.recording.update(now, self.config.asn, peer, message);
        match self.rib.update(id, message) {
            Ok(read) => {
                self.metrics.add(Metric::RoutesIn, u64::from(read.announced));
                self.metrics.add(Metric::WithdrawnIn, u64::from(read.withdrawn));
                self.tell_update(now, id, message, read.violation.is_some());
                if let Some(violation) = read.violation {
                    self.speaker.tolerate(now, id, &violation);
                }
                if let Some(family) = read.end_of_rib {
                    self.speaker.end_of_rib(now, id, family, out);
                }
            }
            Err(violation) => self.speaker.refuse_update(now, id, &violation, message, out),
        }
        // What the UPDATE led to may have ended the session.
        let peer = self.speaker.peers().get(id).filter(|it| it.up.is_some());
        if peer.is_some_and(|it| it.settings.has_limits()) {
            self.check_limits(now, id, out);
        }
    }

    fn check_limits(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        let rib = &self.rib;
        let routes = |family| u64::from(rib.received(id, family));
        self.speaker.check_limits(now, id, routes, || rib.attribute_octets(id), out);
    }

    /// The kernel took octets of the connection of a peer; `left` wait.
    fn written(&mut self, id: PeerId, octets: u64, left: u64) {
        // What the session said itself counts as if it were routes: where nothing waits any more,
        // the rib is told so, and the difference is gone.
        let taken = if left == 0 { self.rib.waiting(id) } else { octets };
        self.rib.written(id, taken);
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
