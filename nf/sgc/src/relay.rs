//! Where an MSU goes: to a user of this node, to the Application Server of its key, to a gateway
//! on the way to its destination, or nowhere, with a reason that is counted.
//!
//! ```text
//!                 not the peer's to send → screened
//!   from a peer ─┤ waited too long → shed
//!                │ own point code → user, or DUPU
//!                │ key of an Application Server, not of the sender → its ASPs
//!                │ no key, not from a gateway → the best gateway
//!                └ else → discarded, the sender hears DUNA
//! ```

use crate::Gateway;
use crate::metrics::Metric;
use crate::sccp_node::SccpNode;
use crate::screening::Context;
use crate::user::User;
use hashbrown::HashMap;
use m3ua::codec::{NetworkAppearance, PointCode, UserCause};
use m3ua::{In, Indication, Out, PeerId, Role, Transfer};
use machine::{Duration, Machine, Time};
use sccp::codec::{Routing, Unit};
use screening_stack::Course;

/// How often the same peer is told the same (Q.704 T8).
const TELL_AGAIN: Duration = Duration::from_secs(1);
/// DUPU: the user part is unequipped.
const UNEQUIPPED: u16 = 1;

/// What a peer was told last of MSUs that led nowhere, and when. One entry a peer.
pub(crate) type Told = HashMap<PeerId, (PointCode, Time)>;

impl Gateway {
    /// An MSU came from a peer.
    pub(crate) fn relay(&mut self, now: Time, from: PeerId, transfer: Transfer) {
        self.metrics.add(Metric::Received, 1);
        let of = Context { process: &self.process, own: &self.own, metrics: &self.metrics };
        if !self.screening.lets(now, from, &transfer, of) {
            return;
        }
        if self.has_waited(transfer.mp) {
            return self.metrics.add(Metric::Overload, 1);
        }
        match self.ruled(now, from, &transfer) {
            Some(sent) => self.refused(now, from, &transfer, sent),
            None => self.goes_on(now, from, transfer),
        }
    }

    /// An MSU that nothing stands in the way of.
    fn goes_on(&mut self, now: Time, from: PeerId, transfer: Transfer) {
        if self.is_own(transfer.network, transfer.dpc) {
            return self.local(now, from, transfer);
        }
        let server = self.process.server_for(&transfer);
        if server.is_some_and(|server| self.process.is_member(from, server)) {
            return self.metrics.add(Metric::Circular, 1);
        }
        let role = self.links.link(from).map(|link| link.config.role());
        if server.is_none() && role == Some(Role::Asp) {
            // From a gateway, with no key here: another gateway would send it back again.
            return self.metrics.add(Metric::NoRoute, 1);
        }
        let (network, dpc) = (transfer.network, transfer.dpc);
        if !self.crosses(&transfer) && !self.dispatch(now, transfer) {
            self.tell(now, from, network, dpc, None);
        }
    }

    /// What goes out in the place of an MSU that rules refuse; `None`: they do not.
    fn ruled(&mut self, now: Time, from: PeerId, msu: &Transfer) -> Option<Vec<Transfer>> {
        let is_own = self.is_own(msu.network, msu.dpc) && self.users.of(msu.si) == Some(User::Sccp);
        let SccpNode { rules, node, .. } = &mut self.sccp;
        rules.rule(now, from, msu, |unit| course(node, unit, msu.sls, is_own))
    }

    /// Sends what rules have left of an MSU: an answer, and an abort that goes on.
    fn refused(&mut self, now: Time, from: PeerId, msu: &Transfer, sent: Vec<Transfer>) {
        let goes_on = |it: &Transfer| (it.opc, it.dpc) == (msu.opc, msu.dpc);
        let (on, back): (Vec<_>, Vec<_>) = sent.into_iter().partition(goes_on);
        self.trails.rules_refused(now, &self.links, &mut self.sccp);
        self.send(now, Some(from), back);
        on.into_iter().for_each(|it| self.goes_on(now, from, it));
    }

    /// Whether an MSU of that priority came too late to be worth its while.
    fn has_waited(&self, priority: u8) -> bool {
        let limit = Duration::from_millis(self.config.limits.delay_max_ms.into());
        !limit.is_zero() && self.delay > limit * (u32::from(priority.min(3)) + 1)
    }

    /// What the MSUs of peers are held against.
    pub(crate) fn context(&self) -> Context<'_> {
        Context { process: &self.process, own: &self.own, metrics: &self.metrics }
    }

    /// What SCCP could not deliver in this turn is told, on the trail of that peer.
    pub(crate) fn undelivered(&mut self, now: Time, by: Option<PeerId>) {
        self.trails.undelivered(now, by, &self.links, &mut self.sccp);
    }

    /// Whether a destination is this node.
    pub(crate) fn is_own(&self, network: Option<NetworkAppearance>, dpc: PointCode) -> bool {
        self.own.has(network, dpc)
    }

    /// Gives an MSU to the M3UA process; `false` when that finds no way for it.
    pub(crate) fn dispatch(&mut self, now: Time, transfer: Transfer) -> bool {
        let first = self.outs.len();
        self.process.step(now, In::Transfer(transfer), &mut self.outs);
        let is_lost = |out: &Out| matches!(out, Out::Indicate(Indication::Unroutable(..)));
        let has_way = !self.outs[first..].iter().any(is_lost);
        self.metrics.add(if has_way { Metric::Relayed } else { Metric::NoRoute }, 1);
        has_way
    }

    /// An MSU for this node.
    fn local(&mut self, now: Time, from: PeerId, transfer: Transfer) {
        let (network, dpc, user) = (transfer.network, transfer.dpc, transfer.si);
        let Some(found) = self.users.of(user) else {
            self.metrics.add(Metric::NoUser, 1);
            let cause = UserCause { cause: UNEQUIPPED, user: user.into() };
            return self.tell(now, from, network, dpc, Some(cause));
        };
        self.metrics.add(Metric::Local, 1);
        if !self.sccp.serves_connection(&transfer, 0) {
            return;
        }
        self.tell_management(&transfer);
        let mut wants = Vec::new();
        let segment = self.sccp.segment_comes(now, from, &transfer);
        if !found.transfer(now, &mut self.sccp, from, transfer, &mut wants) {
            self.metrics.add(Metric::Circular, 1);
        }
        self.sccp.segment_came(segment);
        self.undelivered(now, Some(from));
        self.trails.rules_refused(now, &self.links, &mut self.sccp);
        self.send(now, Some(from), wants);
    }

    /// MSUs of users of this node. SCCP is told of those that find no way.
    pub(crate) fn send_all(&mut self, now: Time, wants: Vec<Transfer>) {
        self.send(now, None, wants);
    }

    /// The same, where an MSU of that peer led to them: they go to where it may send.
    pub(crate) fn send(&mut self, now: Time, because_of: Option<PeerId>, mut wants: Vec<Transfer>) {
        loop {
            if let Some(peer) = because_of {
                let of = Context { process: &self.process, own: &self.own, metrics: &self.metrics };
                self.screening.lets_reach(now, peer, &mut wants, of);
            }
            if wants.is_empty() {
                return;
            }
            for transfer in core::mem::take(&mut wants) {
                self.metrics.add(Metric::Sent, 1);
                if self.is_own(transfer.network, transfer.dpc) {
                    self.metrics.add(Metric::Circular, 1);
                    continue;
                }
                let is_sccp = self.users.of(transfer.si) == Some(User::Sccp);
                if is_sccp && self.crosses(&transfer) {
                    continue;
                }
                let copy = is_sccp.then(|| transfer.clone());
                if let (false, Some(copy)) = (self.dispatch(now, transfer), copy) {
                    // It comes back once: what brings it back does not come back itself.
                    self.sccp.step(now, sccp::In::Undeliverable(copy), &mut wants);
                    self.undelivered(now, None);
                }
            }
        }
    }

    /// Tells the sender of an MSU that it leads nowhere, not more often than it is good for.
    fn tell(
        &mut self,
        now: Time,
        to: PeerId,
        network: Option<NetworkAppearance>,
        dpc: PointCode,
        user: Option<UserCause>,
    ) {
        let is_asp = self.links.link(to).is_some_and(|link| link.config.role() == Role::Sgp);
        let last = self.told.get(&to);
        if !is_asp || last.is_some_and(|(of, at)| *of == dpc && now.since(*at) < TELL_AGAIN) {
            return;
        }
        self.told.insert(to, (dpc, now));
        self.process.step(now, In::Unreachable(to, network, dpc, user), &mut self.outs);
    }
}

/// Where SCCP leads what an MSU carries, which is for a point code of this node or of another one.
fn course(node: &sccp::Node, unit: &Unit<'_>, sls: u8, is_own: bool) -> Course {
    let is_here =
        |code: Option<PointCode>| code.is_none_or(|it| node.point_codes().any(|own| own == it));
    let named = Course { ends_here: is_own, subsystem: unit.called.subsystem };
    if unit.called.routing == Routing::Subsystem {
        return named;
    }
    // What is for another node is translated there, if at all.
    match node.translation(&unit.called, sls) {
        Ok(to) if is_own => Course { ends_here: is_here(to.point_code), subsystem: to.subsystem },
        _ => Course { ends_here: false, ..named },
    }
}
