//! Messages by TCP inside of ESP (TS 33.203 §7.1, TS 24.229 §5.2.1).
//!
//! ```text
//! phone port_uc ══ first lane ══→ port_ps   the connection that the phone opens: both ways
//! phone port_us ←══ second lane ══ port_pc  opened here, when that one is not there
//! ```
//! The function knows the phone by one flow, as over UDP, with a port of its own: what leaves by it
//! takes the connection that stands. Connections are not told to the other node of a pair: after a
//! takeover each end finds the other gone, and opens another one.

use crate::access::{Access, LINGERING};
use crate::metrics::Metric;
use crate::set::Stage;
use ipsec::{Arrived, Incoming, Lane, Progress, Way};
use machine::Time;
use machine::slots::Key;
use runtime::{Flow, Transport};
use sip::Framing;
use std::net::SocketAddr;

/// Octets of a ping, and what answers it (RFC 5626 §4.4.1).
const PING_OCTETS: usize = 4;
const PONG: &[u8] = b"\r\n";

/// A connection whose messages are taken, one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The agreement.
    key: Key,
    way: Way,
}

/// A segment of TCP came by an association; the flow of the first message that is whole with it.
pub(crate) fn segment(access: &mut Access, now: Time, arrived: &Arrived) -> Option<Flow> {
    let key = access.table.user_of(arrived.owner)?;
    let set = access.table.at(key).filter(|set| set.associations() == Some(arrived.set))?;
    access.rows.get(set.realm)?.inside(set.local)?;
    let to_server = SocketAddr::new(set.local, set.own()?.port_s);
    let may_begin = arrived.lane == Lane::First && arrived.destination == to_server;
    if set.stage == Stage::Challenged {
        access.prove(now, key)?;
    }
    access.streams.arrived(now, &mut access.esp, arrived, may_begin);
    let way = Way { set: arrived.set, lane: arrived.lane };
    access.reading = Some(Reading { key, way });
    next(access, now)
}

/// The next message of the connection that the last packet was of.
pub(crate) fn next(access: &mut Access, now: Time) -> Option<Flow> {
    let Reading { key, way } = access.reading?;
    while let Some(Incoming { octets, progress }) = access.streams.incoming(way) {
        if !is_worth_a_look(octets, *progress) {
            break;
        }
        let taken = match sip::frame(octets) {
            Framing::Message(taken) if taken <= octets.len() => taken,
            Framing::Skip(0) => break,
            Framing::Skip(skipped) => {
                octets.drain(..skipped);
                *progress = Progress::default();
                if skipped >= PING_OCTETS {
                    pong(access, now, way);
                }
                continue;
            }
            // Its head or its body is on its way.
            Framing::Partial if octets.len() < tcp::INCOMING_MAX => {
                *progress = Progress { seen: octets.len(), wanted: 0 };
                break;
            }
            Framing::Message(wanted) if wanted <= tcp::INCOMING_MAX => {
                *progress = Progress { seen: 0, wanted };
                break;
            }
            Framing::Partial | Framing::Message(_) | Framing::Broken(_) => {
                access.streams.abort(way); // where the next begins nobody knows
                break;
            }
        };
        access.text.clear();
        access.text.extend(octets.drain(..taken));
        *progress = Progress::default();
        let flow = flow(access, key)?;
        access.came_by(now, key);
        return Some(flow);
    }
    access.reading = None;
    None
}

/// Whether what has come may be whole now: a head that comes octet by octet is not read anew from
/// its beginning with each, nor one whose body is on its way.
fn is_worth_a_look(octets: &[u8], progress: Progress) -> bool {
    if octets.len() >= tcp::INCOMING_MAX {
        return true;
    }
    octets.len() >= progress.wanted && (progress.seen == 0 || sip::ends_head(octets, progress.seen))
}

fn pong(access: &mut Access, now: Time, way: Way) {
    let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
    if access.streams.is_open(way) {
        access.streams.send(now, &mut access.esp, way, (nowhere, nowhere), PONG);
    }
}

/// The flow by which the function knows the phone of an agreement.
fn flow(access: &Access, key: Key) -> Option<Flow> {
    let set = access.table.at(key)?;
    let listener = access.rows.get(set.realm)?.inside(set.local)?;
    let local = SocketAddr::new(set.local, set.own()?.port_s);
    Some(Flow::to(listener.port, Transport::Tcp, local, set.identity.remote))
}

/// A message leaves to a phone that speaks TCP: by a connection that stands, that of the phone
/// first, else by one that is opened to its server port. `first` is the agreement that is used; of
/// others one that ends soon, or that the core has not accepted, carries nothing. `false`: there is
/// none, or no room.
pub(crate) fn send(
    access: &mut Access,
    now: Time,
    flow: &Flow,
    first: Option<Key>,
    bytes: &[u8],
) -> bool {
    let stands = |key: &&Key| {
        let set = access.table.at(**key);
        set.is_some_and(|set| {
            matches!(set.stage, Stage::Current | Stage::Old) && set.expires > now + LINGERING
        })
    };
    let others = access.table.by_identity(access.known_by(flow)).iter().rev().filter(stands);
    let keys: Vec<Key> = first.into_iter().chain(others.copied()).collect();
    let sets = keys.iter().filter_map(|key| access.table.at(*key)?.associations());
    let lanes = |set| [Lane::First, Lane::Second].map(|lane| Way { set, lane });
    let open = sets.flat_map(lanes).find(|way| access.streams.is_open(*way));
    let set = first.and_then(|key| access.table.at(key));
    let opened = set.and_then(|set| Some((set.associations()?, set.ends()?)));
    let opened = opened.map(|(set, (lane, ends))| (Way { set, lane }, ends));
    let is_sent = opened.is_some_and(|(way, ends)| {
        let way = open.unwrap_or(way);
        let carries = |key: &Key| access.table.at(*key)?.associations();
        access.named.left = keys.iter().copied().find(|key| carries(key) == Some(way.set));
        access.streams.send(now, &mut access.esp, way, ends, bytes)
    });
    access.metrics.add(Metric::NoAssociations, u64::from(!is_sent));
    is_sent
}
