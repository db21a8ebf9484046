//! The feature: what it is told becomes sessions of workers, and what these show is told.

use crate::node::{BFD_INPUT, BfdInput, Owner, Owners};
use crate::policing::{Link, Police};
use crate::program::{FEATURE, Name, Notice, Said};
use crate::station::{News, Order, Programmed, Station, guard};
use graph::Plan;
use machine::{Duration, KeyedHash, Time, narrow};
use nodes::bucket::{Bucket, Rate};
use nodes::feature::{Change, Feature, Start, Watched, Worker};
use nodes::program::{Interface, Item, Mode, Program, Removed};
use nodes::view::Shared;
use nodes::{Out, Refused};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use table::epoch::Publisher;

/// Sessions at most.
pub const SESSIONS_MAX: u16 = 4_096;
/// Figures are told after this time at the latest, by so many parts of all sessions in turn.
const SHOWN: Duration = Duration::from_secs(1);
const PARTS: u16 = 20;
/// Notices of one session: whoever is on its link may have it change its state with every packet.
const TOLD: Rate = Rate { per_second: 50, burst: 20 };

/// A session as the writer knows it.
struct Row {
    at: u16,
    told: Programmed,
    police: Arc<Police>,
    /// What the control was told last; `None`: nothing.
    notice: Option<Notice>,
    is_lost: bool,
    budget: Bucket,
}

/// The feature.
pub struct Detection {
    rows: BTreeMap<Name, Row>,
    /// By place.
    names: Vec<Option<Name>>,
    /// Places that were given back, the one that has rested longest first.
    free: VecDeque<u16>,
    stations: Vec<Arc<Station>>,
    /// Orders that have not found room: the places whose they are.
    waiting: BTreeSet<u16>,
    /// Places that are gone whose workers have not heard it.
    ended: BTreeSet<u16>,
    news: Arc<News>,
    /// Places with news for which there was no budget.
    late: BTreeSet<u16>,
    owners: Publisher<Owners>,
    /// By interface.
    links: BTreeMap<u32, Arc<Link>>,
    is_changed: bool,
    interfaces: BTreeSet<u32>,
    watched: Vec<Watched>,
    shown: (Time, u16),
    seed: u32,
    workers: usize,
}

/// What a worker's chance is made from: it says nothing of the plane's key, nor of other workers'.
fn seed(key: u64, seed: u32, worker: u32) -> [u8; 32] {
    let mut random = [0; 32];
    random[..8].copy_from_slice(&key.to_le_bytes());
    random[8..12].copy_from_slice(&seed.to_le_bytes());
    random[16..20].copy_from_slice(&worker.to_le_bytes());
    let mut made = [0; 32];
    for (half, purpose) in made.chunks_exact_mut(16).zip([b"bfd 0", b"bfd 1"]) {
        half.copy_from_slice(&KeyedHash::derive(&random, purpose));
    }
    made
}

/// What an item says, or why it says nothing.
fn refused(why: wire::Malformed) -> Refused {
    Refused::Conflict(why.to_string())
}

impl Detection {
    /// How a session stands.
    #[must_use]
    pub fn notice(&self, name: &Name) -> Option<Notice> {
        self.rows.get(name).map(|row| row.told.figures.notice(row.told.said.turn))
    }

    fn session(&mut self, said: Said, change: &Change<'_>) -> Result<(), Refused> {
        let (name, hop) = (said.name, change.hop(said.hop)?);
        if !self.interfaces.contains(&name.interface) {
            let number = name.interface.into();
            return Err(Refused::Missing { what: "interface", number });
        }
        let known = self.rows.get(&name);
        if known.is_some_and(|it| *it.told.said == said && it.told.hop == hop) {
            return Ok(());
        }
        let goes_on = known.filter(|it| it.told.said.turn == said.turn);
        let figures = goes_on.map(|it| Arc::clone(&it.told.figures)).unwrap_or_default();
        let (notice, is_lost) = goes_on.map(|it| (it.notice, it.is_lost)).unwrap_or_default();
        let (at, police) = match known {
            Some(row) => (row.at, Arc::clone(&row.police)),
            None => {
                let at = self.place()?;
                let link = self.links.entry(name.interface).or_default();
                (at, Arc::new(Police::new(Arc::clone(link))))
            }
        };
        let told = Programmed { said: Arc::new(said), hop, figures };
        self.watch(name, guard(at), is_lost);
        self.names[usize::from(at)] = Some(name);
        let budget = Bucket::default();
        self.rows.insert(name, Row { at, told, police, notice, is_lost, budget });
        self.is_changed = true;
        self.order(at);
        Ok(())
    }

    /// A place for one more.
    fn place(&mut self) -> Result<u16, Refused> {
        let rested = self.free.iter().position(|it| !self.ended.contains(it));
        if let Some(at) = rested.and_then(|it| self.free.remove(it)) {
            return Ok(at);
        }
        if self.names.len() >= usize::from(SESSIONS_MAX) {
            return Err(Refused::Full("sessions of bfd"));
        }
        self.names.push(None);
        Ok(narrow::index(self.names.len() - 1))
    }

    fn end(&mut self, name: &Name) {
        let Some(row) = self.rows.remove(name) else { return };
        self.names[usize::from(row.at)] = None;
        self.free.push_back(row.at);
        self.ended.insert(row.at);
        self.watch(*name, 0, false);
        self.is_changed = true;
        self.order(row.at);
    }

    fn watch(&mut self, name: Name, guard: u16, is_lost: bool) {
        let Name { interface, address } = name;
        self.watched.push(Watched { interface, address, guard, is_lost });
    }

    /// The worker of a place.
    fn station(&self, at: u16) -> Option<&Arc<Station>> {
        self.stations.get(usize::from(at) % self.stations.len().max(1))
    }

    /// Tells the worker of a place what the place is; where there is no room, later.
    fn order(&mut self, at: u16) {
        self.waiting.insert(at);
        self.give_orders();
    }

    fn give_orders(&mut self) {
        for at in std::mem::take(&mut self.waiting) {
            let row = self.names[usize::from(at)].and_then(|name| self.rows.get(&name));
            let order = Order { at, told: row.map(|it| it.told.clone()) };
            match self.station(at).map(|it| it.orders.push(order)) {
                Some(Ok(())) => drop(self.ended.remove(&at)),
                Some(Err(_)) | None => drop(self.waiting.insert(at)),
            }
        }
    }

    /// Tells how a session stands, where that is news.
    fn tell(&mut self, at: u16, now: Time, out: &mut Vec<Out>) {
        let Some(name) = self.names.get(usize::from(at)).copied().flatten() else { return };
        let Some(row) = self.rows.get_mut(&name) else { return };
        let notice = row.told.figures.notice(row.told.said.turn);
        if std::mem::replace(&mut row.is_lost, notice.is_lost) != notice.is_lost {
            self.watch(name, guard(at), notice.is_lost);
        }
        let Some(row) = self.rows.get_mut(&name) else { return };
        if row.notice == Some(notice) {
            return;
        }
        if !row.budget.take(TOLD, now) {
            self.late.insert(at);
        } else {
            row.notice = Some(notice);
            let (feature, key, value) = (FEATURE.to_owned(), name.key(), notice.value());
            out.push(Out::Item(Item { feature, key, value }));
        }
    }

    /// Tells all that is new, and the figures of those whose turn it is.
    fn tell_news(&mut self, now: Time, out: &mut Vec<Out>) {
        for at in std::mem::take(&mut self.late) {
            self.tell(at, now, out);
        }
        while let Some(at) = self.news.next() {
            self.tell(at, now, out);
        }
        let all = 0..narrow::index(self.names.len());
        if self.news.take_more() {
            all.clone().for_each(|at| self.tell(at, now, out));
        }
        let (shown, part) = self.shown;
        if now.since(shown) >= SHOWN / u32::from(PARTS) {
            self.shown = (now, (part + 1) % PARTS);
            all.filter(|at| at % PARTS == part).for_each(|at| self.tell(at, now, out));
        }
    }
}

impl Feature for Detection {
    fn new(start: &Start<'_>) -> Self {
        Self {
            rows: BTreeMap::new(),
            names: Vec::new(),
            free: VecDeque::new(),
            stations: Vec::new(),
            waiting: BTreeSet::new(),
            ended: BTreeSet::new(),
            news: Arc::new(News::new()),
            late: BTreeSet::new(),
            owners: Publisher::new(start.domain, Owners::new()),
            links: BTreeMap::new(),
            is_changed: false,
            interfaces: BTreeSet::new(),
            watched: Vec::new(),
            shown: (Time::ZERO, 0),
            seed: start.seed,
            workers: 0,
        }
    }

    fn name(&self) -> &'static str {
        FEATURE
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Item(item) = program else { return Ok(false) };
        let said = Said::read(&item.key, &item.value).map_err(refused)?;
        self.session(said, change).map(|()| true)
    }

    fn remove(&mut self, removed: &Removed, _: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Item(_, key) = removed else { return Ok(false) };
        self.end(&Name::read(key).map_err(refused)?);
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        let names = self.rows.keys();
        names.map(|name| Removed::Item(FEATURE.to_owned(), name.key())).collect()
    }

    /// A control that may be another one is told how all stand: their sessions have gone on.
    fn begun(&mut self) {
        self.rows.values_mut().for_each(|row| row.notice = None);
        self.news.all();
    }

    fn interface(
        &mut self,
        _: Option<&Interface>,
        after: Option<&Interface>,
        _: &mut Change<'_>,
    ) -> Result<(), Refused> {
        let is_routed =
            |it: &Interface| matches!(it.mode, Mode::Routed { .. } | Mode::BridgeRouted { .. });
        let routed = after.filter(|it| is_routed(it)).map(|it| it.index);
        self.interfaces.extend(routed);
        Ok(())
    }

    fn workers(&mut self, workers: usize, _: Time) {
        self.workers = workers;
    }

    fn publish(&mut self, interfaces: &BTreeMap<u32, Interface>) {
        let gone = self.interfaces.extract_if(.., |it| !interfaces.contains_key(it));
        for interface in gone.collect::<Vec<u32>>() {
            let its = self.rows.keys().filter(|it| it.interface == interface).copied();
            its.collect::<Vec<Name>>().iter().for_each(|name| self.end(name));
            self.links.remove(&interface);
        }
        if std::mem::take(&mut self.is_changed) {
            let owner = |row: &Row| {
                let station = Arc::clone(self.station(row.at)?);
                let (figures, police) = (Arc::clone(&row.told.figures), Arc::clone(&row.police));
                Some(Owner { station, local: row.told.said.local, figures, police })
            };
            let owners = self.rows.iter().filter_map(|(name, row)| Some((*name, owner(row)?)));
            let owners = owners.collect();
            self.owners.publish(owners);
        }
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.give_orders();
        self.tell_news(now, out);
    }

    fn watched(&mut self) -> Vec<Watched> {
        std::mem::take(&mut self.watched)
    }

    fn share(&self, shared: &mut Shared) {
        shared.bfd = Some(BFD_INPUT);
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let station = match self.stations.get(worker.number) {
            Some(known) => Arc::clone(known),
            None => {
                let number = narrow::place(worker.number);
                let seed = seed(worker.shared.key, self.seed, number);
                let hops = Arc::clone(&worker.shared.hops);
                Arc::new(Station::new(number, seed, Arc::clone(&self.news), hops))
            }
        };
        // A plan that is made before there are workers is no worker's.
        if worker.number == self.stations.len() && self.workers > worker.number {
            self.stations.push(Arc::clone(&station));
        }
        plan.node(BfdInput::new(station, self.owners.published()))
    }
}
