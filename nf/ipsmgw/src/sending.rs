//! What leaves of its own accord: a MESSAGE to its next hop, from target to target until one takes
//! it; probes, and what becomes of them (RFC 3261 §11, RFC 3263 §4.3).

use crate::effects::{In as Input, Route, Sending, Sent};
use crate::function::{ShortMessageGateway, User};
use crate::wire::SipMetric;
use machine::Time;
use machine::identity::hex;
use rand_chacha::rand_core::RngCore;
use runtime::{Effects, Flow};
use sip_stack::next_hop::{Draw, Health, Probed};
use sip_stack::probe;
use smsip::Envelope;
use trail::{Event, Field};
use transaction::ClientId;

/// Probes sent in one go at most.
const PROBES_PER_TICK: usize = 64;

/// A message that waits for its final response, and where it was sent.
pub(crate) struct Leaving {
    pub sending: Sending,
    client: Option<ClientId>,
    hop: u16,
    target: u16,
}

impl ShortMessageGateway {
    /// A message of ours has its final response, or none came: the next target is tried, if that
    /// is a reason to.
    pub(crate) fn answered(&mut self, now: Time, sent: Sent, status: u16, out: &mut Effects) {
        let Some(mut leaving) = self.leaving.remove(&sent) else { return };
        let is_reason = status == 408 || self.border.hops.fails_over(leaving.hop, status);
        if is_reason && let Some(target) = leaving.target.checked_add(1) {
            leaving.target = target;
            if self.send_on(now, leaving, out) {
                return self.wire.metrics.add(SipMetric::Failovers, 1);
            }
        }
        self.tell(now, Input::Response { number: sent, status }, out);
    }

    pub(crate) fn send(&mut self, now: Time, sending: Sending, out: &mut Effects) {
        let number = sending.number;
        let (hop, target) = self.first(&sending.route);
        if !self.send_on(now, Leaving { sending, client: None, hop, target }, out) {
            self.wire.metrics.add(SipMetric::Unroutable, 1);
            self.unsent(number);
        }
    }

    /// The next hop and target where a message goes first: the S-CSCF's, where it is one of them.
    fn first(&self, route: &Route) -> (u16, u16) {
        let own = self.config.interrogating.as_deref();
        let rows = self.border.hops.rows();
        let named = rows.iter().position(|it| Some(it.name.as_str()) == own);
        let other = (u16::try_from(named.unwrap_or_default()).unwrap_or_default(), 0);
        let Route::Serving(uri) = route else { return other };
        let Ok(uri) = sip::Uri::parse(uri.as_bytes()) else { return other };
        let host = str::from_utf8(uri.host).unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().ok();
        let places = rows.iter().enumerate().flat_map(|(hop, row)| {
            let endpoints = row.endpoints.iter().enumerate();
            let direct = endpoints.filter(|(_, it)| {
                let is_port = uri.port.is_none_or(|port| it.flow.remote.port() == port);
                is_port && Some(it.flow.remote.ip()) == address
            });
            let direct = direct.map(|(target, _)| target);
            let is_domain = |it: &(u16, String)| {
                sip::Uri::parse(it.1.as_bytes())
                    .is_ok_and(|own| own.host.eq_ignore_ascii_case(uri.host))
            };
            let named = row.domains.iter().any(is_domain).then_some(0);
            direct.chain(named).map(move |target| (hop, target))
        });
        let found = places.into_iter().next();
        found
            .and_then(|(hop, target)| Some((u16::try_from(hop).ok()?, u16::try_from(target).ok()?)))
            .unwrap_or(other)
    }

    /// Sends a message to its hop's first usable target from where it is; false if there is none.
    fn send_on(&mut self, now: Time, mut leaving: Leaving, out: &mut Effects) -> bool {
        let draw = Draw { now, dice: Draw::EXEMPT };
        let way = self.border.hops.usable(leaving.hop, leaving.target, draw).next();
        let Some((target, _, flow)) = way else { return false };
        let Some(listener) = self.border.realms.listener(flow.port) else { return false };
        let Some((client, branch)) = self.transactions.reserve() else { return false };
        leaving.target = target;
        let via = listener.via.strip_prefix(b"Via: ").unwrap_or(&listener.via);
        let via = [via, &branch[..]].concat();
        let host = String::from_utf8_lossy(listener.host()).into_owned();
        let (own, tag) = (self.config.own_uri(), hex(self.random.next_u64()));
        let tag = String::from_utf8_lossy(&tag).into_owned();
        let domain = self.config.domain.clone();
        let envelope = Envelope { own: &own, domain: &domain, host: &host, via: &via, tag: &tag };
        let (number, trail) = (leaving.sending.number, leaving.sending.trail);
        self.wire.send(now, flow, Some(trail), out, |buffer| {
            smsip::write(&leaving.sending, &envelope, buffer);
        });
        let Some((_, bytes)) = out.last() else {
            self.transactions.release(client);
            return false;
        };
        let reliable = flow.transport.is_stream();
        leaving.client = Some(client);
        let user = User::Message(number);
        self.transactions.start_client(now, client, flow, reliable, bytes, user);
        self.leaving.insert(number, leaving);
        true
    }

    pub(crate) fn unanswered(
        &mut self,
        now: Time,
        id: ClientId,
        user: User,
        status: u16,
        out: &mut Effects,
    ) {
        match user {
            User::Message(sent) => {
                // That of a target which was given up for another one says nothing.
                if self.leaving.get(&sent).is_some_and(|it| it.client == Some(id)) {
                    self.answered(now, sent, status, out);
                }
            }
            User::Probe(probed, _) => self.probed(now, probed, false),
        }
    }

    /// An operator's text is stored: its trail begins, by the way that it is to take.
    pub(crate) fn text_taken(&mut self, now: Time, trail: u64, parts: usize) {
        let (hop, target) = self.first(&Route::Interrogating);
        let row = self.border.hops.rows().get(usize::from(hop));
        let endpoint = row.and_then(|it| it.endpoints.get(usize::from(target)));
        let mut listeners = self.border.realms.rows().iter().flat_map(|it| &it.listeners);
        let listener = || listeners.next().map(|it| it.flow(it.local));
        if let Some(flow) = endpoint.map(|it| it.flow).or_else(listener) {
            let fields = [("messages", Field::Number(parts as u64))];
            self.wire.event(now, &flow, trail, Event::TextStored, &fields);
        }
    }

    /// A far end went away: what was on its way there has failed.
    pub(crate) fn down(&mut self, now: Time, flow: Flow, why: &'static str, out: &mut Effects) {
        if self.wire.capture.owns(&flow) {
            return self.wire.capture.down(now, why);
        }
        self.transactions.transport_failed(now, flow, &mut self.outs);
        // What was sent before the connection stood was sent to the address alone.
        let asked =
            self.border.realms.listener(flow.port).map(|listener| listener.flow(flow.remote));
        if let Some(asked) = asked.filter(|&asked| flow.transport.is_stream() && asked != flow) {
            self.transactions.transport_failed(now, asked, &mut self.outs);
        }
        self.border.proofs.forget(&flow);
        self.transacted(now, out);
    }

    /// Sends the probes that are due; those before them that have no answer have failed.
    pub(crate) fn probe(&mut self, now: Time, out: &mut Effects) {
        while let Some(late) = self.border.hops.overdue(now) {
            self.probed(now, late, false);
        }
        for _ in 0..PROBES_PER_TICK {
            let Some((probed, flow)) = self.border.hops.due(now) else { return };
            let call = self.random.next_u64();
            let Some(listener) = self.border.realms.listener(flow.port) else { continue };
            let Some((client, branch)) = self.transactions.reserve() else {
                // That there is no room here says nothing of the target.
                return self.border.hops.unsent(probed);
            };
            self.wire.send(now, flow, Some(call), out, |buffer| {
                probe::write(buffer, listener, &flow, &branch, call);
            });
            let Some((_, bytes)) = out.last() else {
                self.transactions.release(client);
                self.border.hops.unsent(probed);
                continue;
            };
            self.wire.metrics.add(SipMetric::Probes, 1);
            let (user, reliable) = (User::Probe(probed, call), flow.transport.is_stream());
            self.transactions.start_client(now, client, flow, reliable, bytes, user);
        }
    }

    pub(crate) fn probed(&mut self, now: Time, probed: Probed, alive: bool) {
        let Some(health) = self.border.hops.probed(now, probed, alive) else { return };
        if health == Health::Up {
            self.told.push_back(Input::NextHop);
        }
        self.wire.metrics.set(SipMetric::TargetsDown, self.border.hops.down() as u64);
        let row = self.border.hops.rows().get(usize::from(probed.hop));
        let endpoint = row.and_then(|row| row.endpoints.get(usize::from(probed.target)));
        if let Some(flow) = endpoint.map(|it| it.flow) {
            let event = if health == Health::Up { Event::TargetUp } else { Event::TargetDown };
            let trail = self.random.next_u64();
            self.wire.event(now, &flow, trail, event, &[]);
        }
    }
}
