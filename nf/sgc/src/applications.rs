//! Applications on TCAP: which dialogues each has, and what they make of the subsystems they serve.
//!
//! ```text
//!   Transactions ── Indication ─→ tcu::Application ⇄ instances (`application_listeners`)
//!                             │                    └ a Service inside: `Hlr`, `Monitor`, `Echo`
//!                             └─→ of no application: `Refuse`, `Echo`
//! ```

use crate::config::Sgc;
use crate::config::application::subsystem_of_tag;
use crate::shards::{AGAIN, REFUSED};
use authentication::Keys;
use machine::Time;
use runtime::Seed;
use sccp::codec::{LocalReference, RefusalCause, ReleaseCause};
use sccp::{ConnectionEvent, ConnectionInput, Disconnect};
use std::collections::{BTreeMap, BTreeSet};
use tcap::{Out, Transactions};
use tcu::{Application, Indication, Side, Wanted};
use tcu_stack::serving::Absent;

/// What secrets of applications are drawn for: nothing else is made with this label.
const SECRET_LABEL: &[u8] = b"sgc applications";

/// Octets as a key of HMAC-SHA-256.
fn key(octets: &[u8]) -> Keys {
    let text: String = octets.iter().map(|it| format!("{it:02x}")).collect();
    Keys::parse(&text).expect("32 octets are a key")
}

/// A key made with another one: neither leads back to that, nor to any other made with it.
fn drawn(secret: &Keys, of: &[u8]) -> Keys {
    let octets = secret.prove(SECRET_LABEL, of).into_iter().next();
    key(&octets.expect("there is one key"))
}

/// The applications of a shard, by their names.
pub(crate) struct Applications {
    all: BTreeMap<String, Served>,
    /// Subsystems that an operator took out of service.
    blocked: BTreeSet<u8>,
    /// What the secrets of applications are made with; TCAP knows nothing of it.
    secret: Keys,
    /// Applications that were made.
    made: u64,
    /// What those want of the network service that are no more.
    left: Vec<tcu::Network>,
    /// The groups that take dialogues here, as the first shard was told of them.
    announced: Announced,
}

/// What of several shards the first one was told.
#[derive(Debug, Default)]
struct Announced {
    ranks: BTreeMap<u8, u8>,
    /// When everything is told again, where something of it was not taken.
    again: Option<Time>,
}

/// An application, and what its subsystem was told to be.
struct Served {
    end: Application,
    absent: Absent,
    /// Whether the subsystem is in service.
    is_in_service: Option<bool>,
}

impl Served {
    /// Whether its subsystem can do anything.
    fn can_serve(&self) -> bool {
        self.absent == Absent::Refused || self.end.is_available()
    }

    /// Which of its groups takes dialogues first; none: nobody does.
    fn rank(&self) -> Option<u8> {
        let group = self.end.first_group();
        let rank = group.map(|at| u8::try_from(at).unwrap_or(REFUSED).min(REFUSED - 1));
        rank.or((self.absent == Absent::Refused).then_some(REFUSED))
    }
}

impl Applications {
    pub(crate) fn new(seed: &Seed) -> Self {
        let secret = key(&seed.random);
        let secret = drawn(&secret, &seed.shard.to_be_bytes());
        let (all, blocked) = (BTreeMap::new(), BTreeSet::new());
        let announced = Announced::default();
        Self { all, blocked, secret, made: 0, left: Vec::new(), announced }
    }

    /// Takes another configuration, as far as it concerns that shard; what TCAP wants is added to
    /// `side`. Instances of what is gone are told, and dialogues of it end.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        next: &Sgc,
        shard: u16,
        side: &mut Side<'_>,
    ) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        let here = |it: &&tcu_stack::serving::Application| next.is_at(it, shard);
        let stays = |name: &String, served: &Served| {
            let same = next.application.iter().filter(here).find(|it| it.name == *name);
            let subsystem = same.and_then(|it| next.subsystem_of(it));
            subsystem == Some(served.end.settings().subsystem)
        };
        let gone = self.all.iter().filter(|(name, served)| !stays(name, served));
        for name in gone.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            if let Some(mut served) = self.all.remove(&name) {
                served.end.end(now, side);
                self.left.append(&mut served.end.take_network());
                wanted.append(&mut served.end.take_wanted());
            }
        }
        for it in next.application.iter().filter(here) {
            let Some(subsystem) = next.subsystem_of(it) else { continue };
            let settings = next.application_settings(it, subsystem, shard);
            match self.all.get_mut(&it.name) {
                Some(served) => {
                    served.end.set_settings(now, settings, side);
                    served.end.serve_inside(now, it.inside(), side);
                    wanted.append(&mut served.end.take_wanted());
                    served.absent = it.absent;
                }
                None => {
                    // Another one for each: no challenge comes twice.
                    self.made += 1;
                    let secret = drawn(&self.secret, &self.made.to_be_bytes());
                    let mut end = Application::new(settings, secret);
                    end.serve_inside(now, it.inside(), side);
                    let served = Served { end, absent: it.absent, is_in_service: None };
                    self.all.insert(it.name.clone(), served);
                }
            }
        }
        wanted
    }

    /// An operator takes a subsystem out of service, or gives it back; whether it is then in it.
    pub(crate) fn block(&mut self, subsystem: u8, is_blocked: bool) -> bool {
        match is_blocked {
            true => self.blocked.insert(subsystem),
            false => self.blocked.remove(&subsystem),
        };
        let served = self.all.values_mut().find(|it| it.end.settings().subsystem == subsystem);
        let is = !is_blocked && served.as_ref().is_none_or(|it| it.can_serve());
        if let Some(served) = served {
            served.is_in_service = Some(is);
        }
        is
    }

    /// Whether an operator took a subsystem out of service.
    pub(crate) fn is_blocked(&self, subsystem: u8) -> bool {
        self.blocked.contains(&subsystem)
    }

    /// Subsystems whose status is another now.
    pub(crate) fn changed(&mut self) -> Vec<(u8, bool)> {
        let blocked = &self.blocked;
        let changed = self.all.values_mut().filter_map(|served| {
            let subsystem = served.end.settings().subsystem;
            let is = served.can_serve() && !blocked.contains(&subsystem);
            (served.is_in_service.replace(is) != Some(is)).then_some((subsystem, is))
        });
        changed.collect()
    }

    /// Whether dialogues of a subsystem may begin here: it is no application's, or that has an
    /// instance here, or refuses them.
    pub(crate) fn takes(&self, subsystem: u8) -> bool {
        let mut all = self.all.values();
        let served = all.find(|it| it.end.settings().subsystem == subsystem);
        served.is_none_or(Served::can_serve)
    }

    /// Subsystems of applications: whether one can serve here, and whether an operator blocked it.
    pub(crate) fn availability(&self) -> impl Iterator<Item = (u8, bool, bool)> {
        self.all.values().map(|it| {
            let number = it.end.settings().subsystem;
            (number, it.can_serve(), self.blocked.contains(&number))
        })
    }

    /// Which groups take the dialogues of subsystems here.
    pub(crate) fn all_ranks(&self) -> BTreeMap<u8, u8> {
        let all = self.all.values();
        all.filter_map(|it| Some((it.end.settings().subsystem, it.rank()?))).collect()
    }

    /// What the application of a dialogue has of it, behind what its transaction has.
    pub(crate) fn write_record(&self, dialogue: u64, out: &mut Vec<u8>) {
        if let Some(it) = self.all.values().find(|it| it.end.has(dialogue)) {
            it.end.write_record(dialogue, out);
        }
    }

    /// Dialogues that another node has served go to their instances.
    pub(crate) fn adopt(&mut self, now: Time, side: &mut Side<'_>) {
        self.all.values_mut().for_each(|it| it.end.adopt(now, side));
    }

    /// What the application of a connection has of it, behind what SCCP has.
    pub(crate) fn write_connection(&self, of: LocalReference, out: &mut Vec<u8>) {
        if let Some(it) = self.all.values().find(|it| it.end.has_connection(of)) {
            it.end.write_connection(of, out);
        }
    }

    /// Connections that another node has served go to their instances.
    pub(crate) fn adopt_connections(&mut self, now: Time) {
        self.all.values_mut().for_each(|it| it.end.adopt_connections(now));
    }

    /// Another node serves these connections now.
    pub(crate) fn leave_connections(&mut self, is_of: impl Fn(LocalReference) -> bool) {
        for it in self.all.values_mut() {
            it.end.leave_connections(&is_of);
        }
    }

    /// Another node serves these dialogues now.
    pub(crate) fn leave(&mut self, is_of: impl Fn(u64) -> bool) {
        for it in self.all.values_mut() {
            it.end.leave(&is_of);
        }
    }

    /// Of several shards: which groups take the dialogues of subsystems here, where that is news.
    pub(crate) fn ranks(&mut self, now: Time) -> Vec<(u8, Option<u8>)> {
        match self.announced.again {
            Some(at) if at > now => return Vec::new(),
            _ => self.announced.again = None,
        }
        let ranks = self.all.values();
        let ranks = ranks.filter_map(|it| Some((it.end.settings().subsystem, it.rank()?)));
        let ranks: BTreeMap<u8, u8> = ranks.collect();
        let before = core::mem::replace(&mut self.announced.ranks, ranks);
        let ranks = &self.announced.ranks;
        let gone = before.keys().filter(|it| !ranks.contains_key(*it)).map(|it| (*it, None));
        let news = ranks.iter().filter(|(it, rank)| before.get(*it) != Some(*rank));
        gone.chain(news.map(|(it, rank)| (*it, Some(*rank)))).collect()
    }

    /// The first shard has begun anew, or has not taken what it was told: it is told everything
    /// again, in the second case a little later.
    pub(crate) fn tell_again(&mut self, not_taken: Option<Time>) {
        let again = not_taken.map(|at| at + AGAIN);
        self.announced = Announced { ranks: BTreeMap::new(), again };
    }

    /// The end of an application.
    pub(crate) fn of(&mut self, name: &str) -> Option<&mut Application> {
        self.all.get_mut(name).map(|it| &mut it.end)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Application)> {
        self.all.iter().map(|(name, it)| (&**name, &it.end))
    }

    /// What is worth a line of a log: each with the name of its application.
    pub(crate) fn take_notices(&mut self) -> Vec<(String, tcu::Notice)> {
        let all = self.all.iter_mut();
        let all = all.flat_map(|(name, it)| {
            it.end.take_notices().into_iter().map(|notice| (name.clone(), notice))
        });
        all.collect()
    }

    /// What all of them want.
    pub(crate) fn take_wanted(&mut self) -> Vec<Wanted> {
        self.all.values_mut().flat_map(|it| it.end.take_wanted()).collect()
    }

    /// TCAP tells something: it goes to the application whose dialogue it is, or that serves the
    /// subsystem where one begins. What is nobody's comes back.
    pub(crate) fn indicated(
        &mut self,
        now: Time,
        it: Indication,
        transactions: &mut Transactions,
        outs: &mut Vec<Out>,
    ) -> Option<Indication> {
        let found = match &it {
            Indication::Begin { called, .. } | Indication::Uni { called, .. } => {
                let number = called.subsystem;
                self.all.values_mut().find(|it| Some(it.end.settings().subsystem) == number)
            }
            other => {
                let dialogue = other.dialogue().unwrap_or_default();
                self.all.values_mut().find(|it| it.end.has(dialogue))
            }
        };
        let Some(served) = found else { return Some(it) };
        served.end.indicated(now, it, &mut Side { transactions, outs });
        None
    }

    /// The end of the application that serves a subsystem.
    pub(crate) fn serving(&mut self, subsystem: u8) -> Option<&mut Application> {
        let mut ends = self.all.values_mut().map(|it| &mut it.end);
        ends.find(|it| it.settings().subsystem == subsystem)
    }

    /// Something happened to a connection: its application is told, or, where it is offered or has
    /// just begun, the one that serves its subsystem. One that nobody has ends.
    pub(crate) fn connection_event(
        &mut self,
        now: Time,
        of: LocalReference,
        event: ConnectionEvent,
    ) {
        let end = match &event {
            ConnectionEvent::Offered { called, .. } => {
                self.serving(called.subsystem.unwrap_or_default())
            }
            ConnectionEvent::Begun(tag) => self.serving(subsystem_of_tag(*tag)),
            _ => self.all.values_mut().map(|it| &mut it.end).find(|it| it.has_connection(of)),
        };
        let cause = match (end, &event) {
            (Some(end), _) => return end.connection_event(now, of, event),
            // It is over already.
            (None, ConnectionEvent::Disconnected { .. } | ConnectionEvent::NotSent(_)) => return,
            (None, ConnectionEvent::Offered { .. }) => RefusalCause::SubsystemFailure.number(),
            (None, _) => ReleaseCause::SubsystemFailure.number(),
        };
        let what = Disconnect { cause, data: bytes::Bytes::new() };
        self.left.push(tcu::Network::Connection(ConnectionInput::Disconnect(of, what)));
    }

    /// SCCP has begun anew.
    pub(crate) fn connections_lost(&mut self, now: Time) {
        self.all.values_mut().for_each(|it| it.end.connections_lost(now));
    }

    /// What they want of the network service.
    pub(crate) fn take_network(&mut self) -> Vec<tcu::Network> {
        let mut wanted = core::mem::take(&mut self.left);
        wanted.extend(self.all.values_mut().flat_map(|it| it.end.take_network()));
        wanted
    }

    /// N-STATE and N-PCSTATE, for all of them.
    pub(crate) fn tell(&mut self, now: Time, it: &Indication) {
        self.all.values_mut().for_each(|served| served.end.tell(now, it));
    }

    pub(crate) fn tick(&mut self, now: Time, side: &mut Side<'_>) {
        for served in self.all.values_mut() {
            if served.end.deadline().is_some_and(|at| at <= now) {
                served.end.tick(now, side);
            }
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let ends = self.all.values().filter_map(|it| it.end.deadline());
        ends.chain(self.announced.again).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_no_application_has_is_released() {
        let seed = Seed { now: Time::ZERO, random: [7; 32], shard: 0, shards: 1 };
        let mut it = Applications::new(&seed);
        let of = LocalReference::truncated(5);
        it.connection_event(Time::ZERO, of, ConnectionEvent::Begun(9));
        let wanted = it.take_network();
        assert!(
            matches!(&wanted[..], [tcu::Network::Connection(ConnectionInput::Disconnect(it, _))]
                if *it == of),
            "{wanted:?}"
        );
        // What says that it is over is not answered.
        it.connection_event(Time::ZERO, of, ConnectionEvent::NotSent(bytes::Bytes::new()));
        assert!(it.take_network().is_empty());
    }
}
