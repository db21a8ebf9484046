//! Peers over TCP: a connection is an association with no streams.

use super::{Links, State, Way};
use crate::config::Carriage;
use crate::facts::Fact;
use bytes::Bytes;
use event::Sheet;
use m3ua::In;
use machine::Time;
use runtime::{Effects, Flow};

impl Links {
    /// A connection stands, opened here or accepted.
    pub(crate) fn stream_up(
        &mut self,
        now: Time,
        flow: Flow,
        told: &mut Vec<In>,
        (facts, out): (&Sheet<Fact>, &mut Effects),
    ) {
        let opened = self.opening(&flow);
        let remote = flow.remote;
        let id = opened.or_else(|| self.claimant(Carriage::Tcp, &[remote.ip()], remote.port()));
        let Some(id) = id.filter(|_| !self.is_closing) else {
            facts.add(Fact::Refused, 1);
            return out.close(flow);
        };
        self.close(now, id, out);
        self.stands(now, id, Way::Stream(flow), (None, told));
    }

    /// A message came.
    pub(crate) fn stream_message(&self, flow: &Flow, bytes: &[u8], told: &mut Vec<In>) {
        if let Some(id) = self.streams.get(&flow.conn) {
            told.push(In::Message(*id, 0, Bytes::copy_from_slice(bytes)));
        }
    }

    /// A connection ended, or never stood.
    pub(crate) fn stream_down(
        &mut self,
        now: Time,
        flow: &Flow,
        why: &'static str,
        told: &mut Vec<In>,
    ) {
        let standing = self.streams.get(&flow.conn).copied();
        if let Some(id) = standing.or_else(|| self.opening(flow)) {
            self.lost(now, id, why, told);
        }
    }

    /// The peer that a connection to this far end was opened for.
    fn opening(&self, flow: &Flow) -> Option<m3ua::PeerId> {
        let is_meant = |link: &super::Link| {
            let target = link.target.filter(|_| link.state == State::Opening);
            target.is_some_and(|it| (it.port, it.remote) == (flow.port, flow.remote))
        };
        self.iter().find(|(_, link)| is_meant(link)).map(|(id, _)| id)
    }
}
