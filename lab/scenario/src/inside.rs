//! Roles that play with each other inside this process: each has its own TCAP, and what that sends
//! goes to the role with the subsystem that is called.

use crate::endpoint::TcUser;
use crate::file::Role;
use bytes::Bytes;
use machine::identity::mix;
use machine::{Duration, Time};
use sccp::Unitdata;
use sccp::codec::{Address, Digits};
use std::collections::BTreeMap;
use tcap::Out;
use tcu::{Indication, Request};

/// What becomes of a message on its way: the delays of the copies that arrive; none: it is lost.
pub type Delivery = Box<dyn FnMut(&Unitdata) -> Vec<Duration> + Send>;

struct User {
    subsystem: u8,
    title: Option<Digits>,
    tcap: TcUser,
}

/// The roles of one process.
pub struct Inside {
    users: Vec<User>,
    flying: BTreeMap<(Time, u64), (usize, Unitdata)>,
    count: u64,
    delivery: Option<Delivery>,
    /// The messages of TCAP, if somebody wants them.
    seen: Option<Vec<Bytes>>,
    outs: Vec<Out>,
    told: Vec<Indication>,
}

impl core::fmt::Debug for Inside {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Inside").field("flying", &self.flying.len()).finish_non_exhaustive()
    }
}

impl Inside {
    /// Without messages on their way.
    #[must_use]
    pub fn new(roles: &[Role], seed: u64, now: Time) -> Self {
        let user = |(at, role): (u64, &Role)| User {
            subsystem: role.subsystem,
            title: role.title.as_deref().and_then(Digits::parse),
            tcap: TcUser::new(mix(seed ^ at), now),
        };
        Self {
            users: (1..).zip(roles).map(user).collect(),
            flying: BTreeMap::new(),
            count: 0,
            delivery: None,
            seen: None,
            outs: Vec::new(),
            told: Vec::new(),
        }
    }

    /// The same, where messages have a delivery.
    #[must_use]
    pub fn fated(self, delivery: Delivery) -> Self {
        Self { delivery: Some(delivery), ..self }
    }

    /// The same, keeping every message of TCAP.
    #[must_use]
    pub fn seeing(self) -> Self {
        Self { seen: Some(Vec::new()), ..self }
    }

    /// The messages so far.
    pub fn take_seen(&mut self) -> Vec<Bytes> {
        self.seen.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Dialogues of TCAP that stand, of all roles.
    #[must_use]
    pub fn dialogues(&self) -> usize {
        self.users.iter().map(|it| it.tcap.transactions.len()).sum()
    }

    /// A role asks for something.
    pub fn request(
        &mut self,
        now: Time,
        role: usize,
        request: &Request,
        told: &mut Vec<(usize, Indication)>,
    ) {
        let Some(user) = self.users.get_mut(role) else { return };
        user.tcap.request(now, request, &mut self.outs, &mut self.told);
        self.went(now, role, told);
    }

    /// Lets messages arrive, and timers fire.
    pub fn tick(&mut self, now: Time, told: &mut Vec<(usize, Indication)>) {
        while let Some(first) = self.flying.first_entry().filter(|it| it.key().0 <= now) {
            let (to, unitdata) = first.remove();
            let input = tcap::In::Unitdata(unitdata);
            self.users[to].tcap.received(now, input, &mut self.outs, &mut self.told);
            self.went(now, to, told);
        }
        for role in 0..self.users.len() {
            self.users[role].tcap.tick(now, &mut self.outs, &mut self.told);
            self.went(now, role, told);
        }
    }

    /// What TCAP of a role wants goes on its way.
    fn went(&mut self, now: Time, role: usize, told: &mut Vec<(usize, Indication)>) {
        told.extend(self.told.drain(..).map(|it| (role, it)));
        for out in core::mem::take(&mut self.outs) {
            let Out::Unitdata(unitdata) = out else { continue };
            if let Some(seen) = &mut self.seen {
                seen.push(unitdata.data.clone());
            }
            let Some(to) = self.called(role, &unitdata.called) else { continue };
            let delays = match &mut self.delivery {
                Some(delivery) => delivery(&unitdata),
                None => vec![Duration::ZERO],
            };
            for delay in delays {
                self.count += 1;
                self.flying.insert((now + delay, self.count), (to, unitdata.clone()));
            }
        }
    }

    /// The role with that subsystem and title; of several with the subsystem, another than who
    /// calls.
    fn called(&self, from: usize, address: &Address) -> Option<usize> {
        let is = |at: &usize| Some(self.users[*at].subsystem) == address.subsystem;
        let all = || (0..self.users.len()).filter(is);
        let digits = address.title.map(|it| it.digits);
        let has = |at: &usize| digits.is_some() && self.users[*at].title == digits;
        all().find(has).or_else(|| all().find(|at| *at != from)).or_else(|| all().next())
    }

    /// When something arrives, or a timer fires.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let timers = self.users.iter().filter_map(|it| it.tcap.deadline());
        self.flying.keys().next().map(|it| it.0).into_iter().chain(timers).min()
    }
}
