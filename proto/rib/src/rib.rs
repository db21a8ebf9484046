//! The base: a table for each family, the peers, and what is to be sent.

use crate::adj_rib_in::{Arrival, ImportContext, Read};
use crate::adj_rib_out::{ExportContext, Scratch};
use crate::announced::EVERYBODY;
use crate::export::Own;
use crate::hash::Hash;
use crate::interest::{Interest, Turned};
use crate::key::Key;
use crate::output::{Output, Sending};
use crate::peers::{Peer, PeerCounters, Peers, is_constrained};
use crate::policy::{Changed, Policy};
use crate::reader::Reading;
use crate::table::{Path, Table};
use crate::{Audience, Metrics, Neighbour, PATIENCE, PEERS_MAX, PeerId, Reevaluation};
use bgp::codec::{
    Approach, Asn, AttributeType, Edit, Identifier, RefreshKind, Update, Violation, rewrite,
};
use bgp::family::{FAMILIES, Family, FamilySet, Ipv4Prefix, Ipv6Prefix, RouteKey, Routes};
use bgp::{Negotiated, codec::Context};
use machine::{Duration, Time};
use std::sync::Arc;

/// How long the routes of VPNs wait for the route targets of a peer (RFC 4684 §6).
const ROUTE_TARGETS_WAIT: Duration = Duration::from_secs(60);

/// What a base is made from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Our AS.
    pub asn: Asn,
    /// Our BGP Identifier.
    pub identifier: Identifier,
    /// Our cluster (RFC 4456 §7).
    pub cluster: Identifier,
    /// The owner's policies.
    pub policy: Option<Arc<dyn Policy>>,
    /// From a random source: nobody shall know how keys are spread.
    pub seed: u64,
    /// How much may wait.
    pub bounds: Bounds,
}

/// How much may wait for peers that are slower than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Octets that are encoded at once for a cohort. More is encoded when a peer of it has less
    /// than that to take.
    pub chunk_bytes: usize,
    /// Octets that wait for a peer beyond which it leaves its cohort, and with it all for whom half
    /// as much waits; two chunks at least. What waits for peers of one cohort is shared.
    pub behind_bytes: u64,
    /// Octets that wait for all together, shared ones once. Beyond it a sixteenth of
    /// [`Bounds::behind_bytes`] may wait for a peer.
    pub held_bytes: u64,
    /// Cohorts of a group. Beyond it those closest to each other become one, where that costs them
    /// no more than half of what they are told.
    pub cohorts_max: usize,
    /// Entries of a family without paths that stay because somebody who is behind is yet to be
    /// told that they are gone. Beyond it everybody is told at once. Entries of families with long
    /// keys count by what they take, 64 octets as one.
    pub gone_max: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            chunk_bytes: 64 << 10,
            behind_bytes: 16 << 20,
            held_bytes: 256 << 20,
            cohorts_max: 16,
            gone_max: 1 << 20,
        }
    }
}

/// What is counted of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Entries of all families.
    pub entries: usize,
    /// Paths of all families.
    pub paths: usize,
    /// Those of them that import policies refused.
    pub refused: usize,
    /// Attribute sets of all families.
    pub sets: usize,
    /// Octets that the tables take.
    pub bytes: usize,
    /// Update groups and their cohorts.
    pub groups: usize,
    /// As above.
    pub cohorts: usize,
}

/// Attributes and next hop as they stand in a table: NEXT_HOP beside MP_REACH_NLRI says nothing
/// (RFC 4760 §3); an IPv4 next hop of plain routes stands in NEXT_HOP, wherever it came.
pub(crate) fn plain_next_hop<'a>(
    family: Family,
    attributes: &'a [u8],
    next_hop: &'a [u8],
    moved: &'a mut Vec<u8>,
) -> (&'a [u8], &'a [u8]) {
    if next_hop.is_empty() {
        return (attributes, next_hop);
    }
    let is_plain = family == Family::Ipv4Unicast && next_hop.len() == 4;
    let value = is_plain.then_some(next_hop);
    let has_one = bgp::codec::Attributes::new(attributes).value(AttributeType::NextHop).is_some();
    if is_plain || has_one {
        let edit = Edit { kind: AttributeType::NextHop, value };
        let fits = rewrite(attributes, &[edit], moved);
        debug_assert!(fits, "four octets");
    }
    let attributes = if moved.is_empty() { attributes } else { moved.as_slice() };
    (attributes, if is_plain { &[] } else { next_hop })
}

/// A table of any family.
#[derive(Debug)]
pub(crate) enum Any {
    Ipv4(Table<Ipv4Prefix>),
    Ipv6(Table<Ipv6Prefix>),
    Other(Table<RouteKey>),
}

/// Does the same with a table of any family.
macro_rules! with {
    ($any:expr, $table:ident => $body:expr) => {
        match $any {
            Any::Ipv4($table) => $body,
            Any::Ipv6($table) => $body,
            Any::Other($table) => $body,
        }
    };
}
pub(crate) use with;

/// The routing information base of a speaker.
#[derive(Debug)]
pub struct Rib {
    pub(crate) own: Own,
    policy: Option<Arc<dyn Policy>>,
    hash: Hash,
    pub(crate) tables: [Option<Box<Any>>; FAMILIES],
    pub(crate) peers: Peers,
    bounds: Bounds,
    pub(crate) interest: Interest,
    metrics: Metrics,
    output: Output,
    scratch: Scratch,
    changed: Changed,
    /// Room for attributes that are not borrowed from their message.
    canonical: Vec<u8>,
    /// Peers whose route targets are waited for, and until when.
    held: Vec<(Time, PeerId)>,
    /// Who reads what changes, by number.
    pub(crate) readers: Vec<Option<Reading>>,
    pub(crate) follows_next_hops: bool,
}

impl Rib {
    /// An empty base.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let Settings { asn, identifier, cluster, policy, seed, bounds } = settings;
        Self {
            own: Own { asn, identifier, cluster },
            policy,
            hash: Hash::new(seed),
            tables: [const { None }; FAMILIES],
            peers: Peers::default(),
            bounds,
            interest: Interest::new(),
            metrics: Metrics::default(),
            output: Output::default(),
            scratch: Scratch::default(),
            changed: Changed::default(),
            canonical: Vec::new(),
            held: Vec::new(),
            readers: Vec::new(),
            follows_next_hops: false,
        }
    }

    pub(crate) fn table(&mut self, family: Family) -> &mut Any {
        let (hash, follows_next_hops) = (self.hash, self.follows_next_hops);
        self.tables[family as usize].get_or_insert_with(|| {
            let mut any = Box::new(match family {
                Family::Ipv4Unicast | Family::Ipv4Multicast => Any::Ipv4(Table::new(family, hash)),
                Family::Ipv6Unicast | Family::Ipv6Multicast => Any::Ipv6(Table::new(family, hash)),
                _ => Any::Other(Table::new(family, hash)),
            });
            if follows_next_hops {
                with!(&mut *any, table => table.follow_next_hops());
            }
            any
        })
    }

    /// A session is up: the peer is told everything, then every change. Numbers of
    /// [`PEERS_MAX`] and more are refused.
    pub fn up(&mut self, now: Time, peer: PeerId, about: Neighbour, negotiated: &Negotiated) {
        if peer.0 as usize >= PEERS_MAX || self.peers.find(peer).is_some() {
            return;
        }
        let families = negotiated.context.families;
        let is_held =
            |family: &Family| is_constrained(*family) && families.has(Family::RouteTarget);
        let held: FamilySet = families.iter().filter(is_held).collect();
        let fresh = Peer {
            audience: Audience::Peer,
            neighbour: about,
            context: negotiated.context,
            message_max: negotiated.message_max,
            add_path_send: negotiated.add_path_send,
            four_octet_as: negotiated.context.four_octet_as,
            long_lived: negotiated.long_lived,
            enhanced_refresh: negotiated.enhanced_refresh,
            waiting: 0,
            copied: 0,
            held,
            counters: PeerCounters::default(),
        };
        self.peers.insert(peer, fresh);
        for family in families.iter() {
            with!(self.table(family), table => table.source_mut(peer).is_disabled = false);
        }
        if !held.is_empty() {
            self.held.push((now + ROUTE_TARGETS_WAIT, peer));
        }
        families.without(held).iter().for_each(|family| self.join(peer, family));
    }

    pub(crate) fn join(&mut self, peer: PeerId, family: Family) {
        let Some(terms) = self.peers.find(peer).map(|it| it.terms(family)) else { return };
        with!(self.table(family), table => table.join(peer, terms));
    }

    /// The peer's route targets are known, or were waited for long enough.
    fn release(&mut self, peer: PeerId) {
        self.held.retain(|(_, held)| *held != peer);
        let Some(known) = self.peers.find_mut(peer) else { return };
        let families = std::mem::take(&mut known.held);
        families.iter().for_each(|family| self.join(peer, family));
    }

    /// When [`Rib::tick`] and [`Rib::work`] are to be called next, whatever else happens.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let waits = |any: &Any| with!(any, table => table.waits_since());
        let waits = self.tables.iter().flatten().filter_map(|any| waits(any)).min();
        let asks = |any: &Any| with!(any, table => table.refresh_at());
        let asks = self.tables.iter().flatten().filter_map(|any| asks(any));
        let held = self.held.iter().map(|(at, _)| *at).chain(asks).chain(self.interest.deadline());
        held.chain(waits.map(|since| since + PATIENCE)).min()
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) {
        let due = |(at, peer): &(Time, PeerId)| (*at <= now).then_some(*peer);
        let due: Vec<PeerId> = self.held.iter().filter_map(due).collect();
        due.into_iter().for_each(|peer| self.release(peer));
    }

    /// The session is down: routes of the `retained` families are stale, all others go.
    pub fn down(&mut self, peer: PeerId, retained: FamilySet) {
        let Some(gone) = self.peers.remove(peer) else { return };
        self.held.retain(|(_, held)| *held != peer);
        self.output.forget(peer, &gone);
        for family in Family::ALL {
            let Some(any) = &mut self.tables[*family as usize] else { continue };
            with!(&mut **any, table => {
                table.leave(peer);
                table.age(peer);
            });
        }
        let all = Family::ALL.iter().copied().collect::<FamilySet>();
        self.purge(peer, all.without(retained));
        if !retained.has(Family::RouteTarget) {
            self.interest.forget(peer);
        }
    }

    /// Routes of these families that are stale go.
    pub fn purge(&mut self, peer: PeerId, families: FamilySet) {
        for family in families.iter() {
            if let Some(any) = &mut self.tables[family as usize] {
                with!(&mut **any, table => table.purge(peer));
            }
        }
        if families.has(Family::RouteTarget) {
            self.sweep_route_targets();
        }
    }

    /// Route targets go at once, since what a peer wants hangs on them.
    fn sweep_route_targets(&mut self) {
        let mut gone = Vec::new();
        if let Some(Any::Other(table)) = self.tables[Family::RouteTarget as usize].as_deref_mut() {
            table.sweep(usize::MAX, |peer, key| gone.push((peer, key.clone())));
        }
        gone.iter().for_each(|(peer, key)| self.interest.want(*peer, key, false));
    }

    /// Stale routes of these families are stale for long from now on (RFC 9494 §4.2).
    pub fn long_lived(&mut self, peer: PeerId, families: FamilySet) {
        for family in families.iter() {
            if let Some(any) = &mut self.tables[family as usize] {
                let interest = &mut self.interest;
                match &mut **any {
                    Any::Other(table) if family == Family::RouteTarget => {
                        table.long_lived(peer, |key| interest.want(peer, key, false));
                    }
                    any => with!(any, table => table.long_lived(peer, |_| {})),
                }
            }
        }
    }

    /// A ROUTE-REFRESH came: the peer wants everything anew, or marks where its own routes that
    /// it sends anew begin and end (RFC 2918, RFC 7313). What it asks for again soon, or while it
    /// is being told, it is told once, later.
    pub fn refresh(&mut self, peer: PeerId, family: Family, kind: RefreshKind) {
        let Some(known) = self.peers.find(peer) else { return };
        let is_marked = known.enhanced_refresh;
        if !known.context.families.has(family) {
            return;
        }
        let Some(any) = &mut self.tables[family as usize] else { return };
        match kind {
            RefreshKind::Request => with!(&mut **any, table => table.refresh(peer, is_marked)),
            RefreshKind::Begin => with!(&mut **any, table => table.age(peer)),
            RefreshKind::End => self.purge(peer, FamilySet::only(family)),
        }
    }

    /// Takes a whole UPDATE.
    ///
    /// # Errors
    /// A violation that is answered by the end of the session.
    pub fn update(&mut self, peer: PeerId, message: &[u8]) -> Result<Read, Violation> {
        let Some(known) = self.peers.find_mut(peer) else { return Ok(Read::default()) };
        known.counters.updates_received += 1;
        let context: Context = known.context;
        let update = Update::read(message, &context)?;
        let mut read = Read { violation: update.violation().copied(), ..Read::default() };
        if let Some(Violation { approach: Approach::DisableFamily, family: Some(it), .. }) =
            read.violation
        {
            self.disable(peer, it);
        }
        if let Some(family) = update.end_of_rib() {
            read.end_of_rib = Some(family);
            if family == Family::RouteTarget {
                self.release(peer);
            }
            return Ok(read);
        }
        if !update.withdrawn().is_empty() {
            read.withdrawn += self.withdraw(peer, update.withdrawn());
        }
        if let Some(unreach) = update.unreach() {
            read.withdrawn += self.withdraw(peer, unreach.routes);
        }
        let reach = update.reach().map(|reach| (reach.routes, reach.next_hop));
        let plain = (update.announced(), &[][..]);
        let mut scratch = std::mem::take(&mut self.canonical);
        let attributes = update.canonical(&mut scratch);
        for (routes, next_hop) in [Some(plain), reach].into_iter().flatten() {
            if routes.is_empty() {
                continue;
            }
            if update.is_withdrawn() {
                let count = self.withdraw(peer, routes);
                self.count(peer, |it| it.treated_as_withdrawn += u64::from(count));
                read.withdrawn += count;
            } else {
                read.announced += self.announce(peer, routes, attributes, next_hop);
            }
        }
        self.canonical = scratch;
        self.count(peer, |it| {
            it.announced += u64::from(read.announced);
            it.withdrawn += u64::from(read.withdrawn);
        });
        Ok(read)
    }

    fn count(&mut self, peer: PeerId, count: impl FnOnce(&mut PeerCounters)) {
        if let Some(known) = self.peers.find_mut(peer) {
            count(&mut known.counters);
        }
    }

    /// What the peer says of a family does not count any more (RFC 7606 §2).
    fn disable(&mut self, peer: PeerId, family: Family) {
        with!(self.table(family), table => {
            table.source_mut(peer).is_disabled = true;
            table.age(peer);
        });
        self.purge(peer, FamilySet::only(family));
    }

    fn announce(
        &mut self,
        peer: PeerId,
        routes: Routes<'_>,
        attributes: &[u8],
        next_hop: &[u8],
    ) -> u32 {
        let family = routes.family();
        let mut moved = Vec::new();
        let (attributes, next_hop) = plain_next_hop(family, attributes, next_hop, &mut moved);
        let Self { own, policy, peers, interest, metrics, changed, tables, .. } = self;
        let Some(known) = peers.find_mut(peer) else { return 0 };
        let policy = policy.as_deref();
        let (own, number) = (*own, peer);
        let mut context =
            ImportContext { own, number, peer: known, interest, metrics, policy, changed };
        let mut marked = Vec::new();
        context.mark(attributes, &mut marked);
        let attributes = if marked.is_empty() { attributes } else { &marked };
        let arrival = Arrival { routes, attributes, next_hop };
        let Some(any) = &mut tables[family as usize] else { return 0 };
        if with!(&mut **any, table => table.source_mut(peer).is_disabled) {
            return 0;
        }
        match &mut **any {
            Any::Ipv4(table) => context.announce(table, arrival, |_, _| {}),
            Any::Ipv6(table) => context.announce(table, arrival, |_, _| {}),
            Any::Other(table) if family == Family::RouteTarget => {
                let mut turned = Vec::new();
                let count = context.announce(table, arrival, |key, stands| {
                    turned.push((key.clone(), stands));
                });
                turned.iter().for_each(|(key, stands)| interest.want(peer, key, *stands));
                count
            }
            Any::Other(table) => context.announce(table, arrival, |_, _| {}),
        }
    }

    fn withdraw(&mut self, peer: PeerId, routes: Routes<'_>) -> u32 {
        let family = routes.family();
        let Self { own, policy, peers, interest, metrics, changed, tables, .. } = self;
        let Some(known) = peers.find_mut(peer) else { return 0 };
        let policy = policy.as_deref();
        let (own, number) = (*own, peer);
        let mut context =
            ImportContext { own, number, peer: known, interest, metrics, policy, changed };
        let Some(any) = &mut tables[family as usize] else { return 0 };
        match &mut **any {
            Any::Ipv4(table) => context.withdraw(table, routes, |_| {}),
            Any::Ipv6(table) => context.withdraw(table, routes, |_| {}),
            Any::Other(table) if family == Family::RouteTarget => {
                let mut gone = Vec::new();
                let count = context.withdraw(table, routes, |key| gone.push(key.clone()));
                gone.iter().for_each(|key| interest.want(peer, key, false));
                count
            }
            Any::Other(table) => context.withdraw(table, routes, |_| {}),
        }
    }

    /// Peers get what they want by now: each has its classes looked at once, however many route
    /// targets came and went, and its routes of a table are walked once. Who has yet to read what
    /// waits for it gets what it wanted before until then. Whether others are due.
    fn turn_interest(&mut self, now: Time) -> bool {
        if !self.interest.is_touched() {
            return false;
        }
        let Self { interest, peers, output, tables, bounds, .. } = self;
        let chunk = bounds.chunk_bytes as u64;
        let (turned, more) = interest.turn(now, |peer| peers.waiting(peer) < chunk);
        for Turned { peer, gained, lost } in turned {
            for family in Family::ALL.iter().filter(|family| is_constrained(**family)) {
                if let Some(any) = &mut tables[*family as usize] {
                    with!(&mut **any, table => {
                        table.deny(peer, &lost, peers, output);
                        table.grant(peer, &gained);
                    });
                }
            }
        }
        more
    }

    /// The transport took so many octets of what was to be sent to a peer.
    pub fn written(&mut self, peer: PeerId, octets: u64) {
        if let Some(known) = self.peers.find_mut(peer) {
            self.output.written(known, octets);
        }
    }

    /// Goes on with what is to be done: takes out up to `budget` routes that shall go, and encodes
    /// a chunk for every cohort that can take one. Whether there is more to be done at once.
    pub fn work(&mut self, now: Time, mut budget: usize) -> bool {
        self.work_within(now, &mut budget)
    }

    /// The same with a budget that several tables share: what was taken out is taken off it.
    pub fn work_within(&mut self, now: Time, left: &mut usize) -> bool {
        let mut more = self.turn_interest(now);
        for family in 0..FAMILIES {
            let Some(any) = &mut self.tables[family] else { continue };
            let mut around = ExportContext {
                now,
                bounds: self.bounds,
                peers: &mut self.peers,
                interest: &self.interest,
                metrics: &self.metrics,
                output: &mut self.output,
                scratch: &mut self.scratch,
                own: self.own,
                policy: self.policy.as_deref(),
            };
            with!(&mut **any, table => {
                let mut swept = 0;
                table.sweep(*left, |_, _| swept += 1);
                *left -= swept;
                more |= table.produce(&mut around) | !table.sweeps.is_empty();
            });
        }
        more
    }

    /// What is to be sent next. [`Rib::written`] is told when the transport has taken it.
    pub fn next_sending(&mut self) -> Option<Sending> {
        self.output.pop()
    }

    /// Routes of a family that a peer has announced and its import policy has not refused.
    #[must_use]
    pub fn accepted(&self, peer: PeerId, family: Family) -> u32 {
        let Some(any) = &self.tables[family as usize] else { return 0 };
        with!(&**any, table => table.source(peer).map_or(0, |it| it.paths - it.refused))
    }

    /// Routes of a family that a peer has announced, those that its import policy refused among
    /// them.
    #[must_use]
    pub fn received(&self, peer: PeerId, family: Family) -> u32 {
        let Some(any) = &self.tables[family as usize] else { return 0 };
        with!(&**any, table => table.source(peer).map_or(0, |source| source.paths))
    }

    /// Octets of the attributes, and next hops, with which a peer's routes stand in all tables:
    /// each set once, however many routes have it. Of families whose keys may be long, those of key
    /// and payload of each route as well.
    #[must_use]
    pub fn attribute_octets(&self, peer: PeerId) -> u64 {
        let of = |any: &Any| with!(any, table => table.source(peer).map_or(0, |it| it.octets));
        self.tables.iter().flatten().map(|any| of(any)).sum()
    }

    /// Octets that were encoded and that some transport did not take yet, once where they are
    /// shared: all but short ones.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.output.held()
    }

    /// Octets that were encoded for a peer and that its transport did not take yet.
    #[must_use]
    pub fn waiting(&self, peer: PeerId) -> u64 {
        self.peers.waiting(peer)
    }

    /// What was counted of a peer whose session is up.
    #[must_use]
    pub fn peer_counters(&self, peer: PeerId) -> Option<PeerCounters> {
        self.peers.find(peer).map(|it| it.counters)
    }

    /// A peer has other numbers of policies from now on, and is told everything anew where that
    /// concerns it. What it told is judged by the next [`Rib::set_policy`] that names the number,
    /// or by [`Rib::judge_anew`].
    pub fn renumber(&mut self, peer: PeerId, import: u32, export: u32) {
        let Some(known) = self.peers.find_mut(peer) else { return };
        (known.neighbour.import, known.neighbour.export) = (import, export);
        for family in known.context.families.iter() {
            let terms = known.terms(family);
            if let Some(any) = &mut self.tables[family as usize] {
                with!(&mut **any, table => table.change_terms(peer, terms));
            }
        }
    }

    /// What a peer told is judged anew by its import policy; no route has to come again.
    pub fn judge_anew(&mut self, peer: PeerId) {
        Family::ALL.iter().for_each(|family| self.rejudge_peer(peer, *family));
    }

    /// Other policies. What came is judged anew by those numbers of them that are `imports`; peers
    /// with those that are `exports` are told everything anew.
    pub fn set_policy(
        &mut self,
        policy: Option<Arc<dyn Policy>>,
        imports: &[u32],
        exports: &[u32],
    ) {
        self.policy = policy;
        let is_concerned = |it: &Peer| imports.contains(&it.neighbour.import);
        for peer in self.peers.numbers(is_concerned) {
            self.judge_anew(peer);
        }
        for any in self.tables.iter_mut().flatten() {
            with!(&mut **any, table => exports.iter().for_each(|number| table.retell(*number)));
        }
    }

    fn rejudge_peer(&mut self, number: PeerId, family: Family) {
        let Some(any) = &mut self.tables[family as usize] else { return };
        let paths = with!(&mut **any, table => table.paths_from(number));
        self.rejudge_paths(family, paths.into_iter().map(|path| (number, path)), |_, _, _| {});
    }

    /// What policies look at beside a route has changed for the keys that are concerned, as the
    /// validity of their origin: they judge anew, `budget` entries at a time. Where to go on;
    /// `None`: that was all. What came later was judged by what holds now.
    pub fn rejudge(&mut self, family: Family, again: &mut Reevaluation<'_>, budget: usize) -> bool {
        let Some(any) = &mut self.tables[family as usize] else { return false };
        let mut paths = Vec::new();
        let more = with!(&mut **any, table => table.concerned(again, budget, &mut paths));
        let imports = again.imports;
        let peers = &self.peers;
        let looks = |peer: &PeerId| {
            peers.find(*peer).is_some_and(|it| imports.contains(&it.neighbour.import))
        };
        paths.retain(|(peer, _)| looks(peer));
        self.rejudge_paths(family, paths.into_iter(), &mut *again.changed);
        more
    }

    /// Each path of a peer that is another one now is told to `changed`, with its key.
    fn rejudge_paths(
        &mut self,
        family: Family,
        paths: impl Iterator<Item = (PeerId, u32)>,
        mut changed_path: impl FnMut(PeerId, u32, &[u8]),
    ) {
        let Self { own, policy, peers, interest, metrics, changed, tables, .. } = self;
        let Some(any) = &mut tables[family as usize] else { return };
        let (own, policy, mut key) = (*own, policy.as_deref(), Vec::new());
        for (number, path) in paths {
            let Some(peer) = peers.find_mut(number) else { continue };
            let mut context =
                ImportContext { own, number, peer, interest, metrics, policy, changed };
            with!(&mut **any, table => {
                if context.rejudge(table, path) {
                    key.clear();
                    let Path { entry, path_id, .. } = table.paths[path as usize];
                    Key::octets(&table.entries[entry as usize].key, &mut key);
                    changed_path(number, path_id, &key);
                }
            });
        }
    }

    /// Other metrics of next hops: everything that hangs on them is decided anew.
    pub fn set_metrics(&mut self, metrics: Metrics) {
        self.metrics = metrics;
        for any in self.tables.iter_mut().flatten() {
            with!(&mut **any, table => table.measure(&self.metrics));
        }
    }

    /// Whether a peer wants routes of everybody's class.
    pub(crate) fn is_interested(&self, class: u32, peer: PeerId) -> bool {
        class <= EVERYBODY || self.interest.has(class, peer)
    }

    /// What is counted of all.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for any in self.tables.iter().flatten() {
            with!(&**any, table => {
                let (entries, paths) = table.counts();
                sum.entries += entries;
                sum.paths += paths;
                sum.refused += table.refused();
                sum.sets += table.sets.in_use();
                sum.bytes += table.bytes();
                sum.groups += table.groups.len();
                sum.cohorts += table.groups.iter().map(|it| it.cohorts.len()).sum::<usize>();
            });
        }
        sum
    }
}
