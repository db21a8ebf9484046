//! M3UA messages as trails of the service assurance: one for each association, from when it stands
//! until it is lost, with what SCCP could not deliver.

use crate::config::{CAPTURE_PORT, PointCodeFormat, Sgc};
use crate::sccp_node::SccpNode;
use crate::translations::show_address;
use m3ua::{In as Input, PeerId};
use m3ua_stack::{Links, Way};
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
    /// Our address where an association has several.
    own: IpAddr,
    format: PointCodeFormat,
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
    pub(crate) fn new(config: &Sgc) -> Self {
        let capture = Capture::new(hep::KIND_M3UA, CAPTURE_PORT, config.capture_settings());
        let (own, format) = said_of(config);
        Self { capture, standing: BTreeMap::new(), own, format }
    }

    /// What is said from now on goes by another configuration.
    pub(crate) fn configure(&mut self, config: &Sgc) {
        (self.own, self.format) = said_of(config);
    }

    /// Tells that the association of a peer stands, or ended and why.
    fn session(&mut self, now: Time, ends: Ends, peer: &str, event: Event, text: &str) {
        let flow = Flow::to(CAPTURE_PORT, Transport::Tcp, ends.ours, ends.theirs);
        let (peer, text) = (Field::Text(peer.as_bytes()), Field::Text(text.as_bytes()));
        self.capture.event(now, &flow, ends.trail, event, &[("peer", peer), ("text", text)]);
    }

    /// Captures what came of a peer: a message, or that its association stands or is lost.
    pub(crate) fn input(&mut self, now: Time, input: &Input, links: &Links) {
        match input {
            Input::Message(peer, _, bytes) => self.message(now, *peer, bytes, false, links),
            Input::CommunicationUp(peer, _) if self.capture.is_on() => {
                let Some(ends) = self.ends(*peer, links) else { return };
                self.standing.insert(*peer, ends);
                let name = name_of(*peer, links);
                self.session(now, ends, name, Event::SessionEstablished, "");
            }
            Input::CommunicationLost(peer) => {
                let Some(ends) = self.standing.remove(peer) else { return };
                let name = name_of(*peer, links);
                let why = links.link(*peer).map_or("", |link| link.why);
                self.session(now, ends, name, Event::SessionEnded, why);
            }
            _ => {}
        }
    }

    /// Captures a message of a peer, sent or received.
    pub(crate) fn message(
        &mut self,
        now: Time,
        peer: PeerId,
        bytes: &[u8],
        is_ours: bool,
        links: &Links,
    ) {
        if !self.capture.is_on() {
            return;
        }
        let Some(Ends { ours, theirs, protocol, trail }) = self.ends(peer, links) else { return };
        let (source, destination) = if is_ours { (ours, theirs) } else { (theirs, ours) };
        let seen = Seen { source, destination, protocol, trail: Some(trail), bytes };
        self.capture.message(now, &seen, |_| true);
    }

    /// What SCCP could not deliver in this turn, told on the trail of the association that it came
    /// by; what came of this node itself is counted alone.
    pub(crate) fn undelivered(
        &mut self,
        now: Time,
        from: Option<PeerId>,
        links: &Links,
        sccp: &mut SccpNode,
    ) {
        let ends = from.filter(|_| self.capture.is_on()).and_then(|peer| self.ends(peer, links));
        let Some(Ends { ours: local, theirs: remote, trail, .. }) = ends else { return };
        let flow = Flow { local, remote, ..Flow::NOWHERE };
        let format = self.format;
        for it in sccp.take_undelivered() {
            let (from, to) = (show_address(format, &it.calling), show_address(format, &it.called));
            let fields = [
                ("status", Field::Number(it.cause.number().into())),
                ("text", Field::Text(it.cause.name().as_bytes())),
                ("method", Field::Text(b"SCCP")),
                ("from", Field::Text(from.as_bytes())),
                ("to", Field::Text(to.as_bytes())),
            ];
            self.capture.event(now, &flow, trail, Event::RequestRejected, &fields);
        }
    }

    /// What rules have refused in this turn, told on the trail of the association that it came by.
    pub(crate) fn rules_refused(&mut self, now: Time, links: &Links, sccp: &mut SccpNode) {
        for (from, it) in sccp.rules.take_refused() {
            let ends = from.filter(|_| self.capture.is_on()).and_then(|it| self.ends(it, links));
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
            self.capture.event(now, &flow, trail, Event::RequestRejected, &fields);
        }
    }

    fn ends(&self, peer: PeerId, links: &Links) -> Option<Ends> {
        let link = links.link(peer)?;
        let (ours, theirs, protocol) = match link.way {
            Some(Way::Stream(flow)) => (flow.local, flow.remote, protocol_of(flow.transport)),
            _ => {
                let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                let port = link.config.port.unwrap_or(m3ua::codec::PORT);
                let remote = link.config.addresses.first().copied().unwrap_or(any);
                let local = SocketAddr::new(self.own, m3ua::codec::PORT);
                (local, SocketAddr::new(remote, port), hep::SCTP)
            }
        };
        let name = link.config.name.bytes().fold(0, |hash, octet| mix(hash ^ u64::from(octet)));
        Some(Ends { ours, theirs, protocol, trail: mix(name ^ link.since.as_nanos()) })
    }
}

/// Our address where an association has several, and how point codes are written.
fn said_of(config: &Sgc) -> (IpAddr, PointCodeFormat) {
    let own = config.sctp.as_ref().and_then(|sctp| sctp.addresses.first()).copied();
    (own.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), config.point_code_format)
}

fn name_of(peer: PeerId, links: &Links) -> &str {
    links.link(peer).map_or("", |link| &link.config.name)
}
