//! M3UA messages as trails of the service assurance: one for each association, from when it stands
//! until it is lost, with what SCCP could not deliver.

use crate::Gateway;
use crate::config::CAPTURE_PORT;
use crate::translations::show_address;
use m3ua::{In as Input, PeerId};
use m3ua_stack::Way;
use machine::Time;
use machine::identity::mix;
use runtime::{Flow, Transport};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use trail::{Capture, Event, Field, Seen, protocol_of};

/// What leaves for the service assurance.
pub(crate) struct Trails {
    pub(crate) capture: Capture,
    /// The trails of the associations that stand, and their ends.
    standing: BTreeMap<PeerId, Ends>,
}

/// The two ends of an association, and its trail.
#[derive(Clone, Copy)]
struct Ends {
    ours: SocketAddr,
    theirs: SocketAddr,
    protocol: u8,
    trail: u64,
}

impl Trails {
    pub(crate) const fn new(capture: Capture) -> Self {
        Self { capture, standing: BTreeMap::new() }
    }

    /// Tells that the association of a peer stands, or ended and why.
    fn session(&mut self, now: Time, ends: Ends, peer: &str, event: Event, text: &str) {
        let flow = Flow::to(CAPTURE_PORT, Transport::Tcp, ends.ours, ends.theirs);
        let (peer, text) = (Field::Text(peer.as_bytes()), Field::Text(text.as_bytes()));
        self.capture.event(now, &flow, ends.trail, event, &[("peer", peer), ("text", text)]);
    }
}

impl Gateway {
    /// Captures what came of a peer: a message, or that its association stands or is lost.
    pub(crate) fn captured_input(&mut self, now: Time, input: &Input) {
        match input {
            Input::Message(peer, _, bytes) => self.captured(now, *peer, bytes, false),
            Input::CommunicationUp(peer, _) if self.trails.capture.is_on() => {
                let Some(ends) = self.ends(*peer) else { return };
                self.trails.standing.insert(*peer, ends);
                let name = self.peer_name(*peer).to_owned();
                self.trails.session(now, ends, &name, Event::SessionEstablished, "");
            }
            Input::CommunicationLost(peer) => {
                let Some(ends) = self.trails.standing.remove(peer) else { return };
                let name = self.peer_name(*peer).to_owned();
                let why = self.links.link(*peer).map_or("", |link| link.why);
                self.trails.session(now, ends, &name, Event::SessionEnded, why);
            }
            _ => {}
        }
    }

    /// Captures a message of a peer, sent or received.
    pub(crate) fn captured(&mut self, now: Time, peer: PeerId, bytes: &[u8], is_ours: bool) {
        if !self.trails.capture.is_on() {
            return;
        }
        let Some(Ends { ours, theirs, protocol, trail }) = self.ends(peer) else { return };
        let (source, destination) = if is_ours { (ours, theirs) } else { (theirs, ours) };
        let seen = Seen { source, destination, protocol, trail: Some(trail), bytes };
        self.trails.capture.message(now, &seen, |_| true);
    }

    /// What SCCP could not deliver in this turn, told on the trail of the association that it came
    /// by; what came of this node itself is counted alone.
    pub(crate) fn undelivered(&mut self, now: Time, from: Option<PeerId>) {
        let ends = from.filter(|_| self.trails.capture.is_on()).and_then(|peer| self.ends(peer));
        let Some(Ends { ours: local, theirs: remote, trail, .. }) = ends else { return };
        let flow = Flow { local, remote, ..Flow::NOWHERE };
        let format = self.config.point_code_format;
        for it in self.sccp.take_undelivered() {
            let (from, to) = (show_address(format, &it.calling), show_address(format, &it.called));
            let fields = [
                ("status", Field::Number(it.cause.number().into())),
                ("text", Field::Text(it.cause.name().as_bytes())),
                ("method", Field::Text(b"SCCP")),
                ("from", Field::Text(from.as_bytes())),
                ("to", Field::Text(to.as_bytes())),
            ];
            self.trails.capture.event(now, &flow, trail, Event::RequestRejected, &fields);
        }
    }

    /// What rules have refused in this turn, told on the trail of the association that it came by.
    pub(crate) fn rules_refused(&mut self, now: Time) {
        for (from, it) in self.sccp.rules.take_refused() {
            let ends = from.filter(|_| self.trails.capture.is_on()).and_then(|it| self.ends(it));
            let Some(Ends { ours: local, theirs: remote, trail, .. }) = ends else { continue };
            let flow = Flow { local, remote, ..Flow::NOWHERE };
            let text = format!("screening: {}", it.action.name());
            let fields = [
                ("text", Field::Text(text.as_bytes())),
                ("method", Field::Text(it.operation.as_bytes())),
                ("from", Field::Text(it.calling.as_bytes())),
                ("to", Field::Text(it.called.as_bytes())),
                ("limit", Field::Text(it.by.as_bytes())),
            ];
            self.trails.capture.event(now, &flow, trail, Event::RequestRejected, &fields);
        }
    }

    fn ends(&self, peer: PeerId) -> Option<Ends> {
        let link = self.links.link(peer)?;
        let (ours, theirs, protocol) = match link.way {
            Some(Way::Stream(flow)) => (flow.local, flow.remote, protocol_of(flow.transport)),
            _ => {
                let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                let own = self.config.sctp.as_ref().and_then(|sctp| sctp.addresses.first());
                let port = link.config.port.unwrap_or(m3ua::codec::PORT);
                let remote = link.config.addresses.first().copied().unwrap_or(any);
                let local = SocketAddr::new(own.copied().unwrap_or(any), m3ua::codec::PORT);
                (local, SocketAddr::new(remote, port), hep::SCTP)
            }
        };
        let name = link.config.name.bytes().fold(0, |hash, octet| mix(hash ^ u64::from(octet)));
        Some(Ends { ours, theirs, protocol, trail: mix(name ^ link.since.as_nanos()) })
    }
}
