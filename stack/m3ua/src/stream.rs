//! Peers over TCP: a connection is an association with no streams. A newcomer that claims a peer
//! whose connection stands waits, unheard, until that one has left a BEAT unanswered (RFC 4666
//! §3.5.5): whoever reaches the port from a peer's address would end its connection else.

use crate::config::Carriage;
use crate::links::{Link, Links, State, Way};
use bytes::Bytes;
use m3ua::codec::{MessageType, Writer};
use m3ua::{In, PeerId};
use machine::{Duration, Time};
use runtime::{Effects, Flow};

/// How long a connection that stands may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection that claims a peer whose own stands.
#[derive(Debug)]
pub(crate) struct Waiting {
    newcomer: Flow,
    until: Time,
}

impl Links {
    /// A connection stands, opened here or accepted.
    pub(crate) fn stream_up(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        let opened = self.opening(&flow);
        let remote = flow.remote;
        let id = opened.or_else(|| self.claimant(Carriage::Tcp, &[remote.ip()], remote.port()));
        let Some(id) = id.filter(|_| !self.is_closing) else {
            self.counts.refused += 1;
            return out.close(flow);
        };
        match self.rows.get(&id).filter(|link| link.state == State::Up).and_then(|link| link.way) {
            Some(Way::Stream(old)) => self.ask_stream(now, id, old, flow, out),
            _ => {
                self.close(now, id, out);
                self.stands(now, id, Way::Stream(flow), None);
            }
        }
    }

    /// Asks the connection that stands whether its peer lives. One newcomer at a time waits.
    fn ask_stream(&mut self, now: Time, id: PeerId, old: Flow, newcomer: Flow, out: &mut Effects) {
        if self.waiting.contains_key(&id) {
            self.counts.claims_refused += 1;
            return out.close(newcomer);
        }
        let ask = |buffer: &mut Vec<u8>| Writer::begin(buffer, MessageType::Beat).end();
        out.send(old, ask);
        self.waiting.insert(id, Waiting { newcomer, until: now + PATIENCE });
    }

    pub(crate) fn waiting_deadline(&self) -> Option<Time> {
        self.waiting.values().map(|waiting| waiting.until).min()
    }

    /// Connections that have said nothing since they were asked give their place to the newcomer.
    pub(crate) fn waiting_due(&mut self, now: Time, out: &mut Effects) {
        let due = |(id, it): (&PeerId, &Waiting)| (it.until <= now).then_some(*id);
        for id in self.waiting.iter().filter_map(due).collect::<Vec<_>>() {
            let Some(waiting) = self.waiting.remove(&id) else { continue };
            self.close(now, id, out);
            self.lost(now, id, "it did not answer, and another one came");
            self.stands(now, id, Way::Stream(waiting.newcomer), None);
        }
    }

    /// The peer is no more to be had: who waits for its place tries again.
    pub(crate) fn forget_waiting(&mut self, id: PeerId, out: &mut Effects) {
        if let Some(waiting) = self.waiting.remove(&id) {
            out.close(waiting.newcomer);
        }
    }

    /// A message came.
    pub(crate) fn stream_message(&mut self, flow: &Flow, bytes: &[u8], out: &mut Effects) {
        let Some(id) = self.streams.get(&flow.conn) else { return };
        if let Some(refused) = self.waiting.remove(id) {
            self.counts.claims_refused += 1; // it lives
            out.close(refused.newcomer);
        }
        self.told.push_back(In::Message(*id, 0, Bytes::copy_from_slice(bytes)));
    }

    /// A connection ended, or never stood.
    pub(crate) fn stream_down(&mut self, now: Time, flow: &Flow, why: &'static str) {
        self.waiting.retain(|_, waiting| waiting.newcomer.conn != flow.conn);
        let standing = self.streams.get(&flow.conn).copied();
        let Some(id) = standing.or_else(|| self.opening(flow)) else { return };
        self.lost(now, id, why);
        if let Some(waiting) = self.waiting.remove(&id) {
            self.stands(now, id, Way::Stream(waiting.newcomer), None);
        }
    }

    /// The peer that a connection to this far end was opened for.
    fn opening(&self, flow: &Flow) -> Option<PeerId> {
        let is_meant = |link: &Link| {
            let target = link.target.filter(|_| link.state == State::Opening);
            target.is_some_and(|it| (it.port, it.remote) == (flow.port, flow.remote))
        };
        self.iter().find(|(_, link)| is_meant(link)).map(|(id, _)| id)
    }
}
