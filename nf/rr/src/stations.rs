//! Monitoring stations (BMP, RFC 7854): their connections, and what each of them is told when.
//!
//! ```text
//!   peer up, peer down, UPDATE ─→ Sender, one a station ─ Out ─→ flush: TCP
//!         rib: Sending to a watcher ──↑      ↑   └─ Ask ─→ bmp_monitoring: a piece of the tables
//! ```
//! A station never holds up a peer: what it does not take waits in its sender, to a limit, or in
//! the rib; beyond that it is disconnected and begins anew.

use crate::Reflector;
use crate::bmp_monitoring::{DumpCursor, LOC_RIB, header, header_of, loc_rib_header, monitor};
use crate::config::{Bmp, BmpTable, Rr, STATIONS_MAX};
use crate::metrics::Metric;
use bgp::Cause;
use bgp_stack::config::PEERS_MAX;
use bgp_stack::{Ended, Ending};
use bmp::{DownReason, In, Out, Sender, Settings, State};
use machine::{Duration, Machine, Time};
use rib::{PeerId, Sending};
use runtime::{Effects, Flow};
use std::sync::Arc;

/// What a station hears when it is told no more.
const FAREWELL: &str = "it is told no more";
/// Numbers of peers in the rib that are stations: those that look at what a peer is sent, so many
/// for each station, and behind them those that look at what was chosen.
const WATCHERS: u32 = 8_192;
const STATIONS: u32 = 6;

const _: () = assert!(WATCHERS as usize == PEERS_MAX);
const _: () = assert!(STATIONS as usize == STATIONS_MAX);
const _: () = assert!((STATIONS_MAX + 2) * PEERS_MAX <= rib::PEERS_MAX);

/// The number in the rib of a station that looks at a peer, or at what was chosen.
fn watcher(station: usize, of: Option<PeerId>) -> PeerId {
    let station = u32::try_from(station).expect("at most STATIONS_MAX");
    PeerId(match of {
        Some(of) => WATCHERS * (1 + station) + of.0,
        None => WATCHERS * (1 + STATIONS) + station,
    })
}

/// The station of a number in the rib, and what it looks at.
pub(crate) fn watching(number: PeerId) -> Option<(usize, Option<PeerId>)> {
    let station = (number.0 / WATCHERS).checked_sub(1)? as usize;
    let rest = number.0 % WATCHERS;
    Some(match station {
        STATIONS_MAX => (rest as usize, None),
        _ => (station, Some(PeerId(rest))),
    })
}

/// A station.
#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) section: Bmp,
    pub(crate) target: Flow,
    pub(crate) flow: Option<Flow>,
    pub(crate) sender: Sender,
    pub(crate) ending: Option<Ending>,
    /// The peer that it is being told of, and how far that is.
    pub(crate) cursor: Option<DumpCursor>,
    /// What its sender wants and was not done yet.
    outs: Vec<Out>,
    /// Numbers under which it looks on in the rib, and octets that the rib is still to be told of.
    watchers: Vec<(PeerId, u64)>,
    /// It is to be connected as soon as the old connection is closed.
    is_awaited: bool,
}

impl Station {
    fn new(section: Bmp, name: &str) -> Self {
        let description = format!("Tandem {}", env!("CARGO_PKG_VERSION"));
        let mut settings = Settings::new(description, name.to_owned());
        settings.retry = Duration::from_secs(section.retry_s.into());
        let statistics = Duration::from_secs(section.statistics_s.into());
        settings.statistics = Some(statistics).filter(|it| !it.is_zero());
        Self {
            target: section.target(),
            section,
            flow: None,
            sender: Sender::new(settings),
            ending: None,
            cursor: None,
            outs: Vec::new(),
            watchers: Vec::new(),
            is_awaited: false,
        }
    }

    pub(crate) fn tell(&mut self, now: Time, input: In) {
        self.sender.step(now, input, &mut self.outs);
    }

    fn is_up(&self) -> bool {
        self.sender.state() == State::Up
    }

    fn deadline(&self) -> Option<Time> {
        if !self.outs.is_empty() || self.is_awaited {
            return Some(Time::ZERO);
        }
        self.sender.deadline()
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Stations {
    pub(crate) all: Vec<Station>,
}

impl Stations {
    pub(crate) fn new(config: &Rr) -> Self {
        let station = |section: &Bmp| Station::new(section.clone(), &config.name);
        Self { all: config.bmp.iter().map(station).collect() }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(Station::deadline).min()
    }

    /// Whether one that listens is told of that table.
    pub(crate) fn listen_to(&self, table: BmpTable) -> bool {
        self.all.iter().any(|it| it.is_up() && it.section.has(table))
    }

    fn of(&self, flow: &Flow) -> Option<usize> {
        let is_it = |it: &Station| {
            let own = it.flow.unwrap_or(it.target);
            (own.port, own.remote) == (flow.port, flow.remote)
        };
        self.all.iter().position(is_it)
    }
}

impl Reflector {
    /// The stations shall be told.
    pub(crate) fn start_stations(&mut self, now: Time) {
        let peers = self.speaker.peers().iter();
        let up: Vec<PeerId> =
            peers.filter(|(_, peer)| peer.up.is_some()).map(|(id, _)| id).collect();
        for station in &mut self.stations.all {
            up.iter().for_each(|id| station.tell(now, In::PeerUp(bmp::PeerId(id.0))));
            if station.section.has(BmpTable::LocRib) {
                station.tell(now, In::PeerUp(LOC_RIB));
            }
            station.tell(now, In::Start);
        }
        self.has_work = true;
    }

    /// They are told no more; what they are to hear last is sent.
    pub(crate) fn stop_stations(&mut self, now: Time, out: &mut Effects) {
        for at in 0..self.stations.all.len() {
            self.stations.all[at].tell(now, In::Stop(FAREWELL.to_owned()));
            self.flush_station(now, at, out);
        }
    }

    /// Other stations, or other tables behind the policies: all of them begin anew.
    pub(crate) fn change_stations(&mut self, now: Time, out: &mut Effects) {
        self.stop_stations(now, out);
        let config = Arc::clone(&self.config);
        self.stations = Stations::new(&config);
        self.start_stations(now);
    }

    /// A connection with a station stands.
    pub(crate) fn station_stands(&mut self, now: Time, flow: Flow, out: &mut Effects) {
        let Some(at) = self.stations.of(&flow) else { return out.close(flow) };
        let station = &mut self.stations.all[at];
        station.flow = Some(flow);
        self.metrics.add(Metric::StationsUp, 1);
        station.tell(now, In::Connected);
        self.has_work = true;
    }

    /// One ended, or never stood.
    pub(crate) fn station_lost(&mut self, now: Time, flow: &Flow, why: &str) {
        let Some(at) = self.stations.of(flow) else { return };
        let station = &mut self.stations.all[at];
        let input = if station.flow.take().is_some() { In::Closed } else { In::ConnectFailed };
        station.ending = Some(Ending::new(now, why.to_owned()));
        station.tell(now, input);
        self.has_work = true;
    }

    /// The kernel took octets of the connection with a station; `left` wait.
    pub(crate) fn station_written(&mut self, now: Time, flow: &Flow, left: u64) {
        let Some(at) = self.stations.of(flow) else { return };
        let station = &mut self.stations.all[at];
        station.tell(now, In::Written(left > 0));
        if left == 0 && station.sender.waiting_bytes() == 0 {
            for (number, octets) in &mut station.watchers {
                self.rib.written(*number, core::mem::take(octets));
            }
        }
        self.has_work = true;
    }

    /// The session of a peer stands.
    pub(crate) fn stations_peer_up(&mut self, now: Time, id: PeerId) {
        for station in &mut self.stations.all {
            station.tell(now, In::PeerUp(bmp::PeerId(id.0)));
        }
    }

    /// It ended.
    pub(crate) fn stations_peer_down(&mut self, now: Time, id: PeerId, session: &Ended) {
        if self.stations.all.is_empty() {
            return;
        }
        let mut octets = Vec::new();
        if let Some(negotiated) = &session.negotiated {
            let header = header_of(now, session.address, negotiated);
            let (reason, data) = reason(&session.cause);
            bmp::write_peer_down(&header, reason, &data, &mut octets);
        }
        for at in 0..self.stations.all.len() {
            self.unwatch(at, |number| number == watcher(at, Some(id)));
            let station = &mut self.stations.all[at];
            station.tell(now, In::PeerDown(bmp::PeerId(id.0), octets.clone()));
        }
    }

    /// A station looks on no more.
    fn unwatch(&mut self, at: usize, is_it: impl Fn(PeerId) -> bool) {
        let station = &mut self.stations.all[at];
        for (number, _) in station.watchers.extract_if(.., |(number, _)| is_it(*number)) {
            self.rib.down(number, bgp::family::FamilySet::EMPTY);
        }
    }

    /// A station looks on in the rib from now on.
    pub(crate) fn watch(
        &mut self,
        at: usize,
        of: Option<PeerId>,
        families: bgp::family::FamilySet,
    ) {
        let number = watcher(at, of);
        self.unwatch(at, |it| it == number);
        self.rib.watch(number, of, families);
        self.stations.all[at].watchers.push((number, 0));
        self.has_work = true;
    }

    /// What the rib says to one of its peers that is a station; `None` if it was.
    pub(crate) fn deliver(&mut self, now: Time, sending: Sending) -> Option<Sending> {
        let Some((at, of)) = watching(sending.peer) else { return Some(sending) };
        let header = match of {
            None => Some(loc_rib_header(now, &self.config)),
            Some(of) => {
                self.speaker.peers().get(of).and_then(|peer| header(now, peer)).map(|header| {
                    bmp::PeerHeader { adj_rib_out: true, post_policy: true, ..header }
                })
            }
        };
        let station = self.stations.all.get_mut(at)?;
        let mut octets = Vec::with_capacity(sending.bytes.len() * 2);
        monitor(&header?, &sending.bytes, &mut octets);
        let peer = of.map_or(LOC_RIB, |of| bmp::PeerId(of.0));
        station.tell(now, In::Live(peer, octets));
        let number = sending.peer;
        if let Some((_, waiting)) = station.watchers.iter_mut().find(|it| it.0 == number) {
            *waiting += sending.bytes.len() as u64;
        }
        None
    }

    /// Does what the senders want.
    pub(crate) fn flush_stations(&mut self, now: Time, out: &mut Effects) {
        for at in 0..self.stations.all.len() {
            let station = &mut self.stations.all[at];
            if core::mem::take(&mut station.is_awaited) {
                out.open(station.target);
            }
            if station.sender.deadline().is_some_and(|at| at <= now) {
                station.sender.tick(now, &mut station.outs);
            }
            self.flush_station(now, at, out);
        }
    }

    fn flush_station(&mut self, now: Time, at: usize, out: &mut Effects) {
        for wanted in core::mem::take(&mut self.stations.all[at].outs) {
            let station = &mut self.stations.all[at];
            match wanted {
                Out::Connect => {
                    // Connections are opened before others are closed.
                    let target = station.target;
                    let is_closing = out.closes.iter().any(|it| it.remote == target.remote);
                    station.is_awaited = is_closing;
                    if !is_closing {
                        out.open(target);
                    }
                }
                Out::Send(octets) => {
                    let Some(flow) = station.flow else { continue };
                    out.send(flow, |buffer| buffer.extend_from_slice(&octets));
                    station.tell(now, In::Blocked);
                }
                Out::Close => {
                    out.close(station.flow.take().unwrap_or(station.target));
                    station.is_awaited = false;
                }
                Out::Ask(token, peer, is_first) => {
                    let (octets, more) = self.piece(now, at, peer, is_first);
                    self.stations.all[at].tell(now, In::Piece(token, octets, more));
                }
                Out::Complete => self.metrics.add(Metric::StationsComplete, 1),
                Out::Statistics => self.tell_statistics(now, at),
                Out::Overflowed => {
                    let text = "it read too slowly".to_owned();
                    station.ending = Some(Ending::new(now, text));
                    self.metrics.add(Metric::StationsSlow, 1);
                }
            }
        }
        if !self.stations.all[at].is_up() {
            self.unwatch(at, |_| true);
        }
    }
}

/// The reason of a Peer Down, and its data (RFC 7854 §4.9).
fn reason(cause: &Cause) -> (DownReason, Vec<u8>) {
    let message = |notice, text: Option<&String>| {
        let (mut data, mut octets) = (Vec::new(), Vec::new());
        text.into_iter().for_each(|text| bgp::codec::write_communication(text, &mut data));
        let max = bgp::codec::MESSAGE_BYTES_MAX;
        bgp::codec::write_notification(notice, &data, max, &mut octets);
        octets
    };
    match cause {
        Cause::Sent(notice) => (DownReason::LocalNotification, message(*notice, None)),
        Cause::Received(notice, text) => {
            (DownReason::RemoteNotification, message(*notice, text.as_ref()))
        }
        Cause::Lost | Cause::Replaced => (DownReason::RemoteClosed, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_the_rib_is_a_peer_or_one_station_that_looks_at_one_thing() {
        assert_eq!(watching(PeerId(0)), None);
        assert_eq!(watching(PeerId(WATCHERS - 1)), None);
        for station in 0..STATIONS_MAX {
            for of in [None, Some(PeerId(0)), Some(PeerId(WATCHERS - 1))] {
                let number = watcher(station, of);
                assert!((number.0 as usize) < rib::PEERS_MAX);
                assert_eq!(watching(number), Some((station, of)));
            }
        }
    }
}
