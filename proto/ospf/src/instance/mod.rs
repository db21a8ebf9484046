//! An instance of OSPF: a machine; packets and time go in, packets and routes come out.
//!
//! ```text
//! In::Packet → receive.rs → hello.rs                    neighbours, designated router
//!                         → exchange.rs                 databases are described and asked for
//!                         → update.rs → flood.rs        LSAs come, are installed, go on
//! every step: originate.rs (what we say) · run.rs (SPF, routes)
//! ```

mod change;
mod dying;
mod exchange;
mod flood;
mod hello;
mod originate;
mod receive;
mod restart;
mod run;
mod update;

pub use change::{Neighbouring, Ways};

use self::dying::Dying;
use crate::area::Area;
use crate::discard::Discard;
use crate::interface::{Interface, InterfaceState};
use crate::lsa::{Header, Key, LsaType, Scope};
use crate::lsdb::{DbId, Entry, Lsdb};
use crate::neighbour::{Neighbour, NeighbourState};
use crate::routes::{Route, Table};
use crate::settings::{AreaKind, InterfaceSettings, Prefix, Settings};
use machine::{Duration, Machine, Time, Wheel};
use spf::Backoff;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// Where all OSPF routers listen.
pub const ALL_SPF_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 5);
/// Where designated routers and their backups listen.
pub const ALL_D_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 6);

/// A neighbour: its interface and its address there.
type NeighbourId = (u32, Ipv4Addr);

/// A destination outside that others are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redistributed {
    /// What it costs.
    pub metric: u32,
    /// The metric is larger than any way inside.
    pub is_type2: bool,
    /// A tag for others.
    pub tag: u32,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// A packet of IP protocol 89 came.
    Packet {
        /// By which interface.
        interface: u32,
        /// From where.
        source: Ipv4Addr,
        /// To where.
        destination: Ipv4Addr,
        /// What follows the IP header.
        octets: Vec<u8>,
    },
    /// An interface carries packets now.
    InterfaceUp(u32),
    /// An interface carries none any more.
    InterfaceDown(u32),
    /// A neighbour is known to be gone, by BFD for one.
    NeighbourDown(u32, Ipv4Addr),
    /// A destination outside is reached by us.
    Redistribute(Prefix, Redistributed),
    /// It is not any more.
    WithdrawExternal(Prefix),
    /// An opaque LSA of our own, in an area: its type and number as link state ID, and its body.
    Opaque(u32, u32, Vec<u8>),
    /// It is not said any more.
    WithdrawOpaque(u32, u32),
    /// We are about to restart: neighbours are asked to bear it for so long (RFC 3623 §2.1).
    RestartAhead(Duration),
    /// Nothing shall pass through us, or again (RFC 6987).
    StubRouter(bool),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// A packet leaves, with TTL 1.
    Send {
        /// By which interface.
        interface: u32,
        /// To where.
        destination: Ipv4Addr,
        /// What follows the IP header.
        octets: Vec<u8>,
    },
    /// A route is this one now.
    Route(Prefix, Route),
    /// There is no route any more.
    Withdraw(Prefix),
    /// A neighbour's state is another one.
    Neighbour {
        /// Its interface.
        interface: u32,
        /// Its address.
        address: Ipv4Addr,
        /// Its number.
        router: u32,
        /// Its state now.
        state: NeighbourState,
    },
    /// An interface's state is another one. Those of backup and designated router listen to
    /// [`ALL_D_ROUTERS`].
    Interface {
        /// Which.
        interface: u32,
        /// Its state now.
        state: InterfaceState,
    },
}

/// Time between two looks at all that we say, as far as packets have them taken.
const PACE: Duration = Duration::from_millis(100);

/// When an own LSA may be said as another one (MinLSInterval), and when it may be taken back
/// (MinLSArrival of those who have it).
#[derive(Debug, Clone, Copy)]
struct May {
    again: Time,
    end: Time,
}

/// What the instance says itself, and when.
#[derive(Debug, Default)]
struct Own {
    externals: BTreeMap<Prefix, Redistributed>,
    opaque: BTreeMap<(u32, u32), Vec<u8>>,
    /// Until when neighbours are asked for patience, and the seconds that were asked for.
    grace: Option<Time>,
    grace_s: Option<u32>,
    /// We came back, and say nothing but that until then.
    restarting: Option<Time>,
    /// What may become of each when, since it was originated or taken back last.
    at: BTreeMap<(DbId, Key), May>,
    /// What we say may be another thing than what stands in the databases.
    is_stale: bool,
    /// Ways out are others, whatever databases say: own LSAs may still be to wait, and be the same
    /// again when their time comes.
    has_moved: bool,
    /// When what had to wait is looked at.
    due: Option<Time>,
    /// When what others said in our name was answered, or is going to be.
    fought: Option<Time>,
    /// What packets change is said from then on.
    paced_until: Time,
    /// Until when LSAs that die wait for those that learn the database, as long as somebody does.
    loads_until: Option<Time>,
}

impl Own {
    /// Sees to it that what waits is looked at.
    fn wait(&mut self, at: Time) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

/// Counters of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs of SPF.
    pub runs: u64,
    /// LSAs of ours that others had said, and that we took back.
    pub fought_back: u64,
    /// LSAs that were installed.
    pub installed: u64,
    /// LSAs that were originated.
    pub originated: u64,
    /// Adjacencies that had to begin anew.
    pub restarted: u64,
}

/// The instance.
#[derive(Debug)]
pub struct Instance {
    settings: Settings,
    areas: BTreeMap<u32, Area>,
    domain: Lsdb,
    links: BTreeMap<u32, Lsdb>,
    interfaces: BTreeMap<u32, Interface>,
    own: Own,
    routes: Table,
    backoff: Backoff,
    wheel: Wheel<(DbId, Key)>,
    /// LSAs of the greatest age, which go when everybody knows.
    dying: Dying,
    /// LSAs that leave at the end of the step, by interface.
    outgoing: BTreeMap<u32, BTreeSet<(DbId, Key)>>,
    discards: [u64; Discard::ALL.len()],
    counts: Counts,
}

impl Instance {
    /// An instance without areas.
    #[must_use]
    pub fn new(settings: Settings, now: Time) -> Self {
        Self {
            settings,
            areas: BTreeMap::new(),
            domain: Lsdb::default(),
            links: BTreeMap::new(),
            interfaces: BTreeMap::new(),
            own: Own {
                grace: settings.restart.map(|period| now + period),
                grace_s: settings.restart.map(restart::seconds),
                restarting: settings.restart.map(|period| now + period),
                ..Own::default()
            },
            routes: Table::new(),
            backoff: Backoff::new(settings.delays),
            wheel: Wheel::new(now),
            dying: Dying::default(),
            outgoing: BTreeMap::new(),
            discards: [0; Discard::ALL.len()],
            counts: Counts::default(),
        }
    }

    /// Adds an area. Nothing happens when it is there; the backbone is always normal.
    pub fn add_area(&mut self, id: u32, kind: AreaKind) {
        let kind = if id == 0 { AreaKind::Normal } else { kind };
        self.areas.entry(id).or_insert_with(|| Area::new(kind));
    }

    /// Adds an interface, which is down. Its area is made normal where it is not there. False when
    /// there is one of that number.
    pub fn add_interface(&mut self, settings: InterfaceSettings) -> bool {
        if self.interfaces.contains_key(&settings.index) {
            return false;
        }
        self.add_area(settings.area, AreaKind::Normal);
        self.links.insert(settings.index, Lsdb::default());
        self.interfaces.insert(settings.index, Interface::new(settings));
        true
    }

    /// The routes.
    pub fn routes(&self) -> impl ExactSizeIterator<Item = (&Prefix, &Route)> {
        self.routes.iter()
    }

    /// How many packets and LSAs were discarded for a reason.
    #[must_use]
    pub const fn discarded(&self, why: Discard) -> u64 {
        self.discards[why as usize]
    }

    /// Counters.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Full and partial runs of SPF in an area.
    #[must_use]
    pub fn runs(&self, area: u32) -> Option<[u64; 2]> {
        self.areas.get(&area).map(|it| [it.topology.full_runs, it.topology.updates])
    }

    /// Graph and tree of an area, for repairs.
    #[must_use]
    pub fn paths(&self, area: u32) -> Option<(&spf::Graph, &spf::Tree)> {
        let (graph, tree) = self.areas.get(&area)?.topology.paths();
        tree.map(|tree| (graph, tree))
    }

    /// The headers of an area's LSAs, and of the domain's where it takes them.
    pub fn headers(&self, area: u32, now: Time) -> Vec<Header> {
        let Some(own) = self.areas.get(&area) else { return Vec::new() };
        let domain = self.domain.iter().filter(|_| own.kind.is_normal());
        own.lsdb.iter().chain(domain).map(|(_, entry)| entry.header(now)).collect()
    }

    /// The body of an LSA.
    #[must_use]
    pub fn body(&self, area: u32, key: Key) -> Option<&[u8]> {
        let db = if key.kind.scope() == Scope::Domain { DbId::Domain } else { DbId::Area(area) };
        self.db(db)?.of(key).map(Entry::body)
    }

    /// States of an interface's neighbours, by their addresses.
    #[must_use]
    pub fn neighbours(&self, interface: u32) -> Vec<(Ipv4Addr, u32, NeighbourState)> {
        let found = self.interfaces.get(&interface).map(|it| it.neighbours.values());
        found.into_iter().flatten().map(|it| (it.address, it.router, it.state)).collect()
    }

    /// The state of an interface, its designated router and the backup.
    #[must_use]
    pub fn interface(&self, index: u32) -> Option<(InterfaceState, Ipv4Addr, Ipv4Addr)> {
        self.interfaces.get(&index).map(|it| (it.state, it.designated, it.backup))
    }

    fn db(&self, id: DbId) -> Option<&Lsdb> {
        match id {
            DbId::Domain => Some(&self.domain),
            DbId::Area(area) => self.areas.get(&area).map(|it| &it.lsdb),
            DbId::Link(link) => self.links.get(&link),
        }
    }

    fn db_mut(&mut self, id: DbId) -> Option<&mut Lsdb> {
        match id {
            DbId::Domain => Some(&mut self.domain),
            DbId::Area(area) => self.areas.get_mut(&area).map(|it| &mut it.lsdb),
            DbId::Link(link) => self.links.get_mut(&link),
        }
    }

    /// The database of an LSA that comes by an interface; none where it may not come.
    fn db_of(&self, kind: LsaType, interface: &Interface) -> Option<DbId> {
        let area = self.areas.get(&interface.settings.area)?;
        match kind.scope() {
            Scope::Link => Some(DbId::Link(interface.settings.index)),
            Scope::Domain => area.kind.is_normal().then_some(DbId::Domain),
            Scope::Area => {
                let is_nssa = matches!(area.kind, AreaKind::Nssa { .. });
                let may = kind != LsaType::Nssa || is_nssa;
                may.then_some(DbId::Area(interface.settings.area))
            }
        }
    }

    fn entry(&self, db: DbId, key: Key) -> Option<&Entry> {
        self.db(db)?.of(key)
    }

    fn discard(&mut self, why: Discard) {
        self.discards[why as usize] += 1;
    }

    /// Numbers of packets that are authenticated by digests do not go back.
    fn sequence(now: Time) -> u32 {
        machine::narrow::half(now.as_millis() / 1_000)
    }

    /// Says what is to be said: at once, and then at a pace, however often packets change it.
    fn originate_due(&mut self, now: Time) {
        let own = &mut self.own;
        if own.is_stale && now < own.paced_until {
            own.is_stale = false;
            own.due = Some(own.due.map_or(own.paced_until, |due| due.min(own.paced_until)));
        }
        if own.is_stale || own.due.is_some_and(|at| at <= now) {
            own.paced_until = now + PACE;
            self.originate_all(now);
        }
    }

    /// Since when somebody has learnt the database, whoever it was.
    fn note_loading(&mut self, now: Time) {
        let mut all = self.interfaces.values().flat_map(|it| it.neighbours.values());
        if all.any(Neighbour::is_loading) {
            self.own.loads_until.get_or_insert(now + exchange::LOADING_MAX);
        } else {
            self.own.loads_until = None;
        }
    }

    /// What every step ends with.
    fn settle(&mut self, now: Time, out: &mut Vec<Out>) {
        self.elect_all(now, out);
        self.end_restart(now, out);
        if core::mem::take(&mut self.own.has_moved) {
            self.backoff.change(now);
        }
        self.note_loading(now);
        self.originate_due(now);
        self.remove_dead(now);
        self.originate_due(now);
        self.flush_outgoing(now, out);
    }
}

impl Machine for Instance {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        if !matches!(input, In::Packet { .. }) {
            self.own.paced_until = Time::ZERO;
        }
        match input {
            In::Packet { interface, source, destination, octets } => {
                let ends = [source, destination];
                if let Err(why) = self.receive(now, interface, ends, &octets, out) {
                    self.discard(why);
                }
            }
            In::InterfaceUp(index) => self.interface_up(now, index, out),
            In::InterfaceDown(index) => self.interface_down(index, out),
            In::NeighbourDown(index, address) => self.kill((index, address), out),
            In::Redistribute(prefix, external) => {
                self.own.externals.insert(prefix, external);
                self.own.is_stale = true;
            }
            In::WithdrawExternal(prefix) => {
                self.own.is_stale |= self.own.externals.remove(&prefix).is_some();
            }
            In::Opaque(area, id, body) => {
                self.own.opaque.insert((area, id), body);
                self.own.is_stale = true;
            }
            In::WithdrawOpaque(area, id) => {
                self.own.is_stale |= self.own.opaque.remove(&(area, id)).is_some();
            }
            In::RestartAhead(period) => {
                self.own.grace = Some(now + period);
                self.own.grace_s = Some(restart::seconds(period));
                self.own.is_stale = true;
            }
            In::StubRouter(is_stub) => {
                self.settings.is_stub_router = is_stub;
                self.own.is_stale = true;
            }
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.tick_interfaces(now, out);
        self.age(now);
        self.settle(now, out);
        if self.backoff.take(now) {
            self.run(now, out);
            self.settle(now, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        let interfaces = self.interfaces.values().map(Interface::due).min();
        let interfaces = interfaces.filter(|at| *at != Time::MAX);
        let own = [interfaces, self.own.due, self.backoff.due(), self.wheel.deadline()];
        let own = own.into_iter().chain([self.own.grace, self.own.restarting, self.dying.due]);
        own.flatten().min()
    }
}
