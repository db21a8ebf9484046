//! What a monitoring station is told of a peer: its tables a piece at a time, its UPDATEs, its
//! statistics (RFC 7854 §4, §5).

use crate::Reflector;
use crate::config::{BmpTable, Rr};
use bgp::Negotiated;
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, Messages, Offer, Update};
use bgp::family::{Family, FamilySet, Routes};
use bgp::pack::{Announcement, Limits, Withdrawal, end_of_rib};
use bgp_stack::Peer;
use bmp::{In, Information, InformationType, PeerHeader, Statistic, StatisticType};
use machine::Time;
use rib::{Page, PathView, PeerId};
use std::net::{IpAddr, Ipv4Addr};

/// What was chosen, as stations number it.
pub(crate) const LOC_RIB: bmp::PeerId = bmp::PeerId(u32::MAX);
/// The name of what was chosen (RFC 9069 §4.4).
const TABLE_NAME: &[u8] = b"global";
/// Places of a table that are looked at for one piece, and routes of it, at most.
const PLACES_MAX: usize = 20_000;
const ROUTES_MAX: usize = 1_000;

/// How far a station was told of a peer.
#[derive(Debug)]
pub(crate) struct DumpCursor {
    steps: Vec<(BmpTable, Family)>,
    place: usize,
}

/// A route as a station is told it.
struct MonitoredRoute {
    /// With which attributes and next hop; `None`: it is withdrawn.
    content: Option<(Vec<u8>, Vec<u8>)>,
    path_id: u32,
    key: Vec<u8>,
    payload: Vec<u8>,
}

/// The header of a peer whose session stands: what it sends, before the policies.
pub(crate) fn header(now: Time, peer: &Peer) -> Option<PeerHeader> {
    Some(header_of(now, peer.settings.address, peer.negotiated.as_ref()?))
}

/// The same by what was agreed on with it.
pub(crate) fn header_of(now: Time, address: IpAddr, negotiated: &Negotiated) -> PeerHeader {
    let (asn, identifier) = (negotiated.peer.asn, negotiated.peer.identifier);
    at(now, PeerHeader::of(address.to_canonical(), asn, identifier))
}

/// The header of what was chosen.
pub(crate) fn loc_rib_header(now: Time, config: &Rr) -> PeerHeader {
    at(now, PeerHeader::loc_rib(config.asn, config.identifier.to_bits()))
}

fn at(now: Time, header: PeerHeader) -> PeerHeader {
    let (seconds, microseconds) = crate::recording::seconds_of(now);
    PeerHeader { seconds, microseconds, ..header }
}

/// Appends every UPDATE of `messages` as a Route Monitoring.
pub(crate) fn monitor(header: &PeerHeader, messages: &[u8], out: &mut Vec<u8>) {
    for (_, message) in Messages::new(messages, EXTENDED_MESSAGE_BYTES_MAX) {
        bmp::write_route_monitoring(header, message, out);
    }
}

/// The content of a path in a table; `None` if it is not there.
fn content(table: BmpTable, path: PathView) -> Option<(Vec<u8>, Vec<u8>)> {
    match table {
        BmpTable::PrePolicy => Some(path.came_with.unwrap_or((path.attributes, path.next_hop))),
        _ => (!path.is_refused).then_some((path.attributes, path.next_hop)),
    }
}

/// Writes routes as UPDATEs: those of equal attributes together.
fn pack(
    header: &PeerHeader,
    family: Family,
    add_path: bool,
    mut all: Vec<MonitoredRoute>,
    out: &mut Vec<u8>,
) {
    all.sort_by(|a, b| a.content.cmp(&b.content));
    let (mut updates, mut wire) = (Vec::new(), Vec::new());
    for run in all.chunk_by(|a, b| a.content == b.content) {
        updates.clear();
        for message_max in [MESSAGE_BYTES_MAX, EXTENDED_MESSAGE_BYTES_MAX] {
            let limits = Limits { message_max, add_path };
            let done = match &run[0].content {
                Some((attributes, next_hop)) => {
                    announce(family, limits, attributes, next_hop, run, &mut updates)
                }
                None => {
                    withdraw(family, limits, run, &mut updates, &mut wire);
                    true
                }
            };
            if done {
                break;
            }
            updates.clear();
        }
        monitor(header, &updates, out);
    }
}

/// Whether all of them fitted.
fn announce(
    family: Family,
    limits: Limits,
    attributes: &[u8],
    next_hop: &[u8],
    run: &[MonitoredRoute],
    out: &mut Vec<u8>,
) -> bool {
    let packing = match next_hop.is_empty() && family == Family::Ipv4Unicast {
        true => Announcement::plain(limits, attributes, out),
        false => Announcement::multiprotocol(limits, family, next_hop, attributes, out),
    };
    let Ok(mut packing) = packing else { return false };
    let (mut wire, mut fits) = (Vec::new(), true);
    for told in run {
        wire.clear();
        family.join(&told.key, &told.payload, &mut wire);
        fits &= packing.route(told.path_id, &wire).is_ok();
    }
    packing.finish();
    fits
}

fn withdraw(
    family: Family,
    limits: Limits,
    run: &[MonitoredRoute],
    out: &mut Vec<u8>,
    wire: &mut Vec<u8>,
) {
    let mut packing = match family {
        Family::Ipv4Unicast => Withdrawal::plain(limits, out),
        _ => Withdrawal::multiprotocol(limits, family, out),
    };
    for told in run {
        wire.clear();
        family.join_withdrawn(&told.key, wire);
        // What could be announced can be withdrawn.
        let _ = packing.route(told.path_id, wire);
    }
    packing.finish();
}

impl Reflector {
    /// The next piece of what a station is told of a peer, and whether more follows.
    pub(crate) fn piece(
        &mut self,
        now: Time,
        at: usize,
        peer: bmp::PeerId,
        is_first: bool,
    ) -> (Vec<u8>, bool) {
        let mut octets = Vec::new();
        if peer == LOC_RIB {
            self.write_loc_rib_up(now, &mut octets);
            self.watch(at, None, self.config.speaker().families());
            return (octets, false);
        }
        let id = PeerId(peer.0);
        let Some(negotiated) = self.speaker.peers().get(id).and_then(|it| it.negotiated.as_ref())
        else {
            return (octets, false);
        };
        let families = negotiated.context.families;
        if is_first {
            self.write_peer_up(now, id, &mut octets);
            let section = &self.stations.all[at].section;
            let told = [BmpTable::PrePolicy, BmpTable::PostPolicy];
            let tables = told.into_iter().filter(|it| section.has(*it));
            let of = |table| families.iter().map(move |family| (table, family));
            let steps = tables.flat_map(of).collect();
            if section.has(BmpTable::AdjRibOut) {
                self.watch(at, Some(id), families);
            }
            self.stations.all[at].cursor = Some(DumpCursor { steps, place: 0 });
        }
        let Some(mut cursor) = self.stations.all[at].cursor.take() else { return (octets, false) };
        self.go_on(now, id, &mut cursor, &mut octets);
        let more = !cursor.steps.is_empty();
        self.stations.all[at].cursor = Some(cursor).filter(|_| more);
        (octets, more)
    }

    /// Tells the next routes of a peer.
    fn go_on(&self, now: Time, id: PeerId, cursor: &mut DumpCursor, out: &mut Vec<u8>) {
        let Some(&(table, family)) = cursor.steps.first() else { return };
        let Some(peer) = self.speaker.peers().get(id) else { return };
        let Some((header, negotiated)) = header(now, peer).zip(peer.negotiated.as_ref()) else {
            return;
        };
        let header = PeerHeader { post_policy: table == BmpTable::PostPolicy, ..header };
        let mut page = Page {
            from: Some(id),
            place: cursor.place,
            places: PLACES_MAX,
            limit: ROUTES_MAX,
            is_last: self.rib.received(id, family) == 0,
        };
        if !page.is_last {
            let routes = self.rib.page(family, &mut page);
            let told = routes.into_iter().flat_map(|route| {
                let key = route.key;
                route.paths.into_iter().filter(|path| !path.is_stale).filter_map(move |path| {
                    let (path_id, payload) = (path.path_id, path.payload.clone());
                    let content = Some(content(table, path)?);
                    Some(MonitoredRoute { content, path_id, key: key.clone(), payload })
                })
            });
            let add_path = negotiated.context.add_path.has(family);
            pack(&header, family, add_path, told.collect(), out);
        }
        cursor.place = page.place;
        if page.is_last {
            let mut end = Vec::new();
            end_of_rib(family, &mut end);
            bmp::write_route_monitoring(&header, &end, out);
            cursor.steps.remove(0);
            cursor.place = 0;
        }
    }

    fn write_peer_up(&self, now: Time, id: PeerId, out: &mut Vec<u8>) {
        let Some(peer) = self.speaker.peers().get(id) else { return };
        let Some(connection) = peer.up.and_then(|id| peer.connections.get(&id)) else { return };
        let Some(header) = header(now, peer) else { return };
        let (local, remote) = (connection.flow.local, connection.flow.remote);
        let mut sent = Vec::new();
        bgp::codec::write_open(&peer.session.settings().offer, &mut sent);
        let opens = (&sent[..], &connection.open[..]);
        let ports = (local.port(), remote.port());
        let label = peer.settings.name.as_bytes();
        let label = Information { kind: InformationType::AdminLabel.number(), value: label };
        bmp::write_peer_up(&header, local.ip(), ports, opens, &[label], out);
    }

    fn write_loc_rib_up(&self, now: Time, out: &mut Vec<u8>) {
        let config = &self.config;
        let offer =
            Offer::modern(config.asn, config.identifier.to_bits(), 0, config.speaker().families());
        let mut open = Vec::new();
        bgp::codec::write_open(&offer, &mut open);
        let name = Information { kind: InformationType::TableName.number(), value: TABLE_NAME };
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let header = loc_rib_header(now, config);
        bmp::write_peer_up(&header, nowhere, (0, 0), (&open, &open), &[name], out);
    }

    /// An UPDATE came, and is in the tables now: stations are told of it. One that offended is
    /// told as what it came to.
    pub(crate) fn tell_update(&mut self, now: Time, id: PeerId, message: &[u8], offended: bool) {
        if self.stations.all.is_empty() {
            return;
        }
        let Some(peer) = self.speaker.peers().get(id) else { return };
        let Some((header, negotiated)) = header(now, peer).zip(peer.negotiated.as_ref()) else {
            return;
        };
        let has_policy = peer.policies[0] != 0;
        let two_octets = !negotiated.context.four_octet_as;
        for table in [BmpTable::PrePolicy, BmpTable::PostPolicy] {
            if !self.stations.listen_to(table) {
                continue;
            }
            let is_post = table == BmpTable::PostPolicy;
            let header = PeerHeader { post_policy: is_post, ..header };
            let mut octets = Vec::new();
            if offended || (is_post && has_policy) {
                self.look_up(id, table, &header, message, &mut octets);
            } else {
                let header = PeerHeader { two_octets, ..header };
                bmp::write_route_monitoring(&header, message, &mut octets);
            }
            self.tell_live(now, id, table, &octets);
        }
    }

    fn tell_live(&mut self, now: Time, id: PeerId, table: BmpTable, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        for station in self.stations.all.iter_mut().filter(|it| it.section.has(table)) {
            station.tell(now, In::Live(bmp::PeerId(id.0), octets.to_vec()));
        }
    }

    /// Writes what the routes of an UPDATE are in a table now.
    fn look_up(
        &self,
        id: PeerId,
        table: BmpTable,
        header: &PeerHeader,
        message: &[u8],
        out: &mut Vec<u8>,
    ) {
        let negotiated = self.speaker.peers().get(id).and_then(|it| it.negotiated.as_ref());
        let Some(context) = negotiated.map(|it| it.context) else { return };
        let Ok(update) = Update::read(message, &context) else { return };
        let reach = update.reach().map(|it| it.routes);
        let unreach = update.unreach().map(|it| it.routes);
        let plain = [Some(update.withdrawn()), Some(update.announced())];
        for routes in plain.into_iter().chain([unreach, reach]).flatten() {
            if routes.is_empty() {
                continue;
            }
            let told = self.found(id, table, routes);
            pack(header, routes.family(), context.add_path.has(routes.family()), told, out);
        }
        if let Some(family) = update.end_of_rib() {
            let mut end = Vec::new();
            end_of_rib(family, &mut end);
            bmp::write_route_monitoring(header, &end, out);
        }
    }

    fn found(&self, id: PeerId, table: BmpTable, routes: Routes<'_>) -> Vec<MonitoredRoute> {
        let found = routes.map(|route| {
            let (mut key, mut payload) = (Vec::new(), Vec::new());
            route.split(&mut key, &mut payload);
            self.route_in(id, table, route.family, key, route.path_id)
        });
        found.collect()
    }

    /// A path of a peer as it is in a table now.
    fn route_in(
        &self,
        id: PeerId,
        table: BmpTable,
        family: Family,
        key: Vec<u8>,
        path_id: u32,
    ) -> MonitoredRoute {
        let path = self.rib.path(family, &key, (id, path_id));
        let payload = path.as_ref().map(|it| it.payload.clone()).unwrap_or_default();
        let content = path.and_then(|path| content(table, path));
        MonitoredRoute { content, path_id, key, payload }
    }

    /// Policies judged paths anew: stations that look behind them are told.
    pub(crate) fn tell_rejudged(
        &mut self,
        now: Time,
        family: Family,
        changed: &[(PeerId, u32, Vec<u8>)],
    ) {
        if !self.stations.listen_to(BmpTable::PostPolicy) {
            return;
        }
        for of_peer in changed.chunk_by(|a, b| a.0 == b.0) {
            let id = of_peer[0].0;
            let Some(peer) = self.speaker.peers().get(id) else { continue };
            let Some((header, negotiated)) = header(now, peer).zip(peer.negotiated.as_ref()) else {
                continue;
            };
            let header = PeerHeader { post_policy: true, ..header };
            let add_path = negotiated.context.add_path.has(family);
            let told = of_peer.iter().map(|(_, path_id, key)| {
                self.route_in(id, BmpTable::PostPolicy, family, key.clone(), *path_id)
            });
            let mut octets = Vec::new();
            pack(&header, family, add_path, told.collect(), &mut octets);
            self.tell_live(now, id, BmpTable::PostPolicy, &octets);
        }
    }

    /// Tells a station the statistics of all peers, and of what was chosen.
    pub(crate) fn tell_statistics(&mut self, now: Time, at: usize) {
        let up = self.speaker.peers().iter().filter_map(|(id, peer)| {
            let header = header(now, peer)?;
            let mut octets = Vec::new();
            bmp::write_statistics(&header, &self.statistics(id, peer), &mut octets);
            Some((bmp::PeerId(id.0), octets))
        });
        let mut reports: Vec<(bmp::PeerId, Vec<u8>)> = up.collect();
        let sizes = Family::ALL.iter().map(|family| (*family, self.rib.sizes(*family).0));
        let sizes: Vec<(Family, usize)> = sizes.filter(|(_, routes)| *routes > 0).collect();
        let all = sizes.iter().map(|(_, routes)| *routes).sum();
        let mut statistics = vec![gauge(StatisticType::LocRib, None, all)];
        let of = |(family, routes): &(Family, usize)| {
            gauge(StatisticType::LocRibOfFamily, Some(*family), *routes)
        };
        statistics.extend(sizes.iter().map(of));
        let mut octets = Vec::new();
        bmp::write_statistics(&loc_rib_header(now, &self.config), &statistics, &mut octets);
        reports.push((LOC_RIB, octets));
        let station = &mut self.stations.all[at];
        reports.into_iter().for_each(|(peer, octets)| station.tell(now, In::Live(peer, octets)));
    }

    fn statistics(&self, id: PeerId, peer: &Peer) -> Vec<Statistic> {
        let families = peer.negotiated.as_ref().map(|it| it.context.families);
        let families = families.unwrap_or(FamilySet::EMPTY);
        let counted = self.rib.peer_counters(id).unwrap_or_default();
        let received = |family: Family| self.rib.received(id, family) as usize;
        let all = families.iter().map(received).sum();
        let number = |kind, value| Statistic { kind, family: None, value };
        let mut statistics = vec![
            number(StatisticType::RejectedByPolicy, counted.refused),
            number(StatisticType::TreatAsWithdraw, peer.tolerated),
            number(StatisticType::PrefixTreatAsWithdraw, counted.treated_as_withdrawn),
            gauge(StatisticType::AdjRibIn, None, all),
        ];
        let of = |family| gauge(StatisticType::AdjRibInOfFamily, Some(family), received(family));
        statistics.extend(families.iter().map(of));
        statistics
    }
}

const fn gauge(kind: StatisticType, family: Option<Family>, value: usize) -> Statistic {
    Statistic { kind, family, value: value as u64 }
}
