//! Between the sessions and the rib: UPDATEs in, UPDATEs out.

use crate::Reflector;
use crate::facts::Fact;
use crate::peers::Ending;
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, Messages, Offence};
use bgp::{ConnectionId, In};
use machine::{Machine, Time};
use rib::{PeerId, Sending};
use runtime::Effects;

/// What the rib does in one tick at most, in routes: the sockets are read between two.
const WORK_MAX: usize = 20_000;

impl Reflector {
    /// Gives UPDATEs to the rib, one after another, while the session stands.
    pub(crate) fn updates(
        &mut self,
        now: Time,
        id: PeerId,
        (connection, messages): (ConnectionId, &[u8]),
        out: &mut Effects,
    ) {
        for (_, message) in Messages::new(messages, EXTENDED_MESSAGE_BYTES_MAX) {
            let Some(peer) = self.peers.get(id).filter(|it| it.up == Some(connection)) else {
                return;
            };
            let has_limits = peer.speaker.has_limits();
            self.facts.add(Fact::UpdatesIn, 1);
            self.record_update(now, id, message);
            match self.rib.update(id, message) {
                Ok(read) => {
                    self.facts.add(Fact::RoutesIn, u64::from(read.announced));
                    self.facts.add(Fact::WithdrawnIn, u64::from(read.withdrawn));
                    self.tell_update(now, id, message, read.offence.is_some());
                    if let Some(offence) = read.offence {
                        self.tolerate(now, id, &offence);
                    }
                    if let Some(family) = read.end_of_rib {
                        self.peers.get_mut(id).into_iter().for_each(|it| it.ended.insert(family));
                        self.tell(now, id, In::EndOfRib(family), out);
                    }
                }
                Err(offence) => {
                    self.facts.add(Fact::Offended, 1);
                    self.note(now, id, format!("it offended: {}", offence.malformed));
                    let mut data = Vec::new();
                    offence.write_data(message, &mut data);
                    self.tell(now, id, In::Refuse(connection, offence.notice, data), out);
                }
            }
            if has_limits {
                self.check_limits(now, id, out);
            }
        }
        self.has_work = true;
    }

    /// An UPDATE offended, and the session goes on (RFC 7606).
    fn tolerate(&mut self, now: Time, id: PeerId, offence: &Offence) {
        self.facts.add(Fact::Tolerated, 1);
        if let Some(peer) = self.peers.get_mut(id) {
            peer.tolerated += 1;
            let (approach, malformed) = (offence.approach.name(), offence.malformed);
            peer.offence = Some(Ending { at: now, text: format!("{malformed}: {approach}") });
        }
    }

    /// Lets the rib work for a while; what it has to say leaves.
    pub(crate) fn work(&mut self, now: Time, out: &mut Effects) {
        if !core::mem::take(&mut self.has_work) {
            return;
        }
        self.rejudge(now);
        self.has_work = self.is_rejudging();
        if !self.is_deferring(now, out) {
            self.has_work |= self.rib.work(now, WORK_MAX);
        }
        while let Some(sending) = self.rib.next_sending() {
            let Some(sending) = self.deliver(now, sending) else { continue };
            let Sending { peer: id, bytes, updates } = sending;
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let Some((connection, flow)) = peer.flow() else { continue };
            let updates = u64::from(updates);
            self.facts.add(Fact::UpdatesOut, updates);
            self.facts.add(Fact::OctetsOut, bytes.len() as u64);
            out.send_shared(flow, bytes);
            // The machine asks for nothing in return: it only winds its timers.
            let mut none = Vec::new();
            peer.session.step(now, In::Sent(connection, updates), &mut none);
            peer.session.step(now, In::Blocked(connection), &mut none);
            self.settle(id);
        }
        self.flush_stations(now, out);
        self.flush_records(now);
    }
}
