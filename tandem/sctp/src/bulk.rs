//! `tandem sctp throughput`: messages as fast as the peer takes them.

use crate::command::SctpThroughput;
use crate::{endpoint, words};
use bytes::Bytes;
use client::Exit;
use client::output::text;
use machine::Time;
use sctp::{Failure, In, Indication, Outgoing, Part};
use sctp_stack::host::{self, User};
use sctp_stack::{AssociationId, Peer, SctpEndpoint};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Messages given to the association before the network is looked at.
const FILL_MAX: usize = 4_096;
/// Octets of a message at most.
const SIZE_MAX: u32 = 1 << 18;
/// Reports that wait to be printed.
const REPORTS_MAX: usize = 1_024;
/// Associations that are counted at one time.
const COUNTED_MAX: usize = 10_000;
/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// Seconds to send when nothing is said.
const SECONDS: u64 = 10;

/// What was counted of an association, or why there was nothing to count.
type Report = Result<Count, String>;

/// What went over an association.
#[derive(Debug, Clone, Copy)]
struct Count {
    messages: u64,
    octets: u64,
    begun: Time,
    ended: Time,
}

impl Count {
    const fn new(now: Time) -> Self {
        Self { messages: 0, octets: 0, begun: now, ended: now }
    }

    fn seconds(&self) -> f64 {
        self.ended.since(self.begun).as_secs_f64()
    }

    fn json(&self, role: &str) -> Value {
        let seconds = self.seconds().max(1e-9);
        json!({
            "role": role,
            "messages": self.messages,
            "octets": self.octets,
            "seconds": self.seconds(),
            "messages_per_s": self.messages as f64 / seconds,
            "mbit_per_s": self.octets as f64 * 8.0 / seconds / 1e6,
        })
    }

    fn words(&self, role: &str) -> String {
        let row = self.json(role);
        let rate = |key: &str| row[key].as_f64().unwrap_or_default();
        let done = if role == "sender" { "sent" } else { "received" };
        format!(
            "{} messages, {} octets {done} in {:.2} s: {:.0} messages/s, {:.0} Mbit/s\n",
            self.messages,
            self.octets,
            self.seconds(),
            rate("messages_per_s"),
            rate("mbit_per_s")
        )
    }
}

/// Sends.
struct Source {
    peer: Option<Peer>,
    reports: SyncSender<Report>,
    payload: Bytes,
    streams: u16,
    is_unordered: bool,
    /// Messages still to be sent; `None`: as many as the time allows.
    left: Option<u64>,
    time: Duration,
    /// The association once it stands, and when sending ends.
    current: Option<(AssociationId, Time)>,
    is_full: bool,
    is_ending: bool,
    count: Count,
}

impl User for Source {
    fn indicated(&mut self, _: &mut SctpEndpoint, now: Time, id: AssociationId, what: Indication) {
        match what {
            Indication::CommunicationUp(out, _) => {
                self.streams = self.streams.min(out).max(1);
                self.current = Some((id, now + self.time));
                self.count = Count::new(now);
            }
            Indication::SendFailure(_, Failure::BufferFull) => {
                self.is_full = true;
                self.count.messages -= 1;
                self.left = self.left.map(|left| left + 1);
            }
            Indication::SendBufferFree => self.is_full = false,
            Indication::ShutdownComplete => {
                self.count.ended = now;
                self.count.octets = self.count.messages * self.payload.len() as u64;
                self.report(Ok(self.count));
            }
            Indication::CommunicationLost(lost) => self.report(Err(words::why(lost))),
            _ => {}
        }
    }

    fn pump(&mut self, endpoint: &mut SctpEndpoint, now: Time) {
        if let Some(peer) = self.peer.take()
            && let Err(refused) = endpoint.associate(now, &peer)
        {
            self.report(Err(format!("{refused:?}")));
        }
        let Some((id, end)) = self.current.filter(|_| !self.is_ending) else { return };
        for _ in 0..FILL_MAX {
            if self.left == Some(0) || now >= end {
                self.is_ending = true;
                return endpoint.wish(now, In::Shutdown(id));
            }
            if self.is_full {
                return;
            }
            self.send(endpoint, now, id);
        }
    }

    /// At once while there is room for more, else when sending ends.
    fn deadline(&self) -> Option<Time> {
        let (_, end) = self.current.filter(|_| !self.is_ending)?;
        Some(if self.is_full { end } else { Time::ZERO })
    }
}

impl Source {
    fn send(&mut self, endpoint: &mut SctpEndpoint, now: Time, id: AssociationId) {
        let stream = (self.count.messages % u64::from(self.streams)) as u16;
        let mut message = Outgoing::new(stream, 0, self.payload.clone());
        message.is_unordered = self.is_unordered;
        self.count.messages += 1;
        self.left = self.left.map(|left| left - 1);
        endpoint.wish(now, In::Send(id, message));
        while let Some((id, what)) = endpoint.next() {
            self.indicated(endpoint, now, id, what);
        }
    }

    fn report(&self, report: Report) {
        // Whoever prints may have ended already.
        let _ = self.reports.try_send(report);
    }
}

/// Takes.
struct Sink {
    reports: SyncSender<Report>,
    counts: BTreeMap<AssociationId, Count>,
}

impl User for Sink {
    fn indicated(&mut self, _: &mut SctpEndpoint, now: Time, id: AssociationId, what: Indication) {
        let goes_on = matches!(what, Indication::DataPart(_, Part::First | Part::Middle));
        match what {
            Indication::Data(message) | Indication::DataPart(message, _) => {
                if self.counts.len() >= COUNTED_MAX && !self.counts.contains_key(&id) {
                    return;
                }
                let count = self.counts.entry(id).or_insert_with(|| Count::new(now));
                count.messages += u64::from(!goes_on);
                count.octets += message.payload.len() as u64;
                count.ended = now;
            }
            Indication::ShutdownComplete => {
                let count = self.counts.remove(&id).unwrap_or(Count::new(now));
                let _ = self.reports.try_send(Ok(count));
            }
            Indication::CommunicationLost(lost) => {
                self.counts.remove(&id);
                let _ = self.reports.try_send(Err(words::why(lost)));
            }
            _ => {}
        }
    }

    fn pump(&mut self, _: &mut SctpEndpoint, _: Time) {}
}

/// Sends to the peer, or takes what comes.
pub fn run(asked: &SctpThroughput) -> Result<(), Exit> {
    if asked.size == 0 || asked.size > SIZE_MAX {
        return Err(Exit::Usage(format!("--size {}: 1 to {SIZE_MAX} octets", asked.size)));
    }
    let (mut config, peer) = endpoint::read(&asked.endpoint, &asked.peer, asked.peer_udp_port)?;
    if asked.nagle {
        config.parameters.nagle = Some(true);
    }
    let failed = |error: runtime::RuntimeError| Exit::Failed(error.to_string());
    let (reports, reported) = sync_channel(REPORTS_MAX);
    let json = asked.endpoint.json;
    if peer.is_none() {
        let sink = Sink { reports, counts: BTreeMap::new() };
        let running = host::start(config, sink).map_err(failed)?;
        host::pump(&running).map_err(|error| Exit::Failed(error.to_string()))?;
        return print(&reported, "receiver", json, asked.once);
    }
    let source = Source {
        peer,
        reports,
        payload: vec![0x55; asked.size as usize].into(),
        streams: asked.streams,
        is_unordered: asked.unordered,
        left: asked.count,
        time: match asked.count {
            Some(_) => Duration::MAX,
            None => Duration::from_secs(asked.seconds.unwrap_or(SECONDS)),
        },
        current: None,
        is_full: false,
        is_ending: false,
        count: Count::new(Time::ZERO),
    };
    let running = host::start(config, source).map_err(failed)?;
    host::pump(&running).map_err(|error| Exit::Failed(error.to_string()))?;
    print(&reported, "sender", json, true)
}

/// Prints reports until a signal, or the first one only.
fn print(reports: &Receiver<Report>, role: &str, json: bool, once: bool) -> Result<(), Exit> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    while !ended.load(SeqCst) {
        let report = match reports.recv_timeout(LOOK) {
            Ok(report) => report,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Exit::Failed("the endpoint has failed".into()));
            }
        };
        match report {
            Ok(count) if json => text(&format!("{}\n", count.json(role)))?,
            Ok(count) => text(&count.words(role))?,
            Err(why) if once => {
                return Err(Exit::Unreachable(format!("the association is lost: {why}")));
            }
            Err(why) => eprintln!("tandem: an association is lost: {why}"),
        }
        if once {
            break;
        }
    }
    Ok(())
}
