//! Answers to those who ask: what the workers counted, what the plane knows.

use crate::ipc::Driver;
use crate::packets::channels::{self, PacketChannelRow, Passed};
use crate::params::{Params, mac, number, param};
use crate::serve::Forwarder;
use crate::tables::{self, HitRow, MacRow};
use crate::worker::Report;
use graph::Choice;
use nodes::Program;
use ports::{ReceiveDrop, SendDrop};
use question::{Either, Named, Page, Parameter, Question, questions, rows};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

rows! {
    /// A node of the graph, its workers added up.
    pub struct GraphNodeRow {
        node: String,
        packets: u64,
        vectors: u64,
        packets_a_vector: u64,
        clocks_a_packet: u64,
        /// Packets by the reason why they went no further.
        dropped: BTreeMap<&'static str, u64>,
        next: Vec<String>,
    }

    /// Packets that were lost for a reason: in a node, by a port, or for a neighbour at an
    /// interface.
    pub struct DropRow {
        node: Option<String>,
        port: Option<String>,
        interface: Option<Named>,
        reason: String,
        packets: u64,
    }

    /// An interface and what passed it.
    pub struct PlaneInterfaceRow {
        interface: Named,
        received: u64,
        received_octets: u64,
        sent: u64,
        sent_octets: u64,
    }

    /// A neighbour.
    pub struct NeighbourRow {
        interface: Named,
        address: IpAddr,
        mac: Option<String>,
        state: String,
    }

    /// Neighbours of an interface by number, and why others are not there.
    pub struct ResolutionRow {
        interface: Named,
        neighbours: usize,
        asked: usize,
        heard: usize,
        not_done: BTreeMap<&'static str, u64>,
    }

    /// A worker.
    pub struct WorkerRow {
        worker: usize,
        state: &'static str,
        panics: u64,
        last_panic: Option<String>,
        cells: Option<usize>,
        free_cells: Option<usize>,
        unwanted_punts: Option<u64>,
        /// How long it had packets since it began, milliseconds.
        busy_ms: Option<u64>,
    }

    /// Why packet channels were closed.
    pub struct ClosedPacketChannel {
        closed: String,
        times: u64,
    }

    /// A trace that began.
    pub struct TracingRow {
        /// How many packets are followed.
        tracing: usize,
    }

    /// A step of a traced packet.
    pub struct StepRow {
        packet: usize,
        node: String,
        note: String,
    }
}

/// A port, and what it counts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanePortRow {
    port: String,
    number: u16,
    driver: Driver,
    workers: usize,
    up: bool,
    mac: Option<String>,
    mtu: Option<u16>,
    /// What the host does to packets that this port cannot use, and how to end that.
    note: Option<String>,
    /// Packets and octets: `received`, `received_octets`, `sent`, `sent_octets`, and packets that
    /// were not, by reason: `not_received_…`, `not_sent_…`.
    #[serde(flatten)]
    counted: BTreeMap<String, u64>,
}

type Serve = fn(&mut Forwarder, &Asked<'_>) -> Result<Value, String>;

/// What a question comes with.
pub(crate) struct Asked<'a> {
    asker: u64,
    params: &'a Params,
}

/// How questions of a function to its forwarder begin.
const PLANE: &str = "plane/";
const SKIP: Parameter = Parameter::number("skip", "where the page begins");
const LIMIT: Parameter =
    Parameter::number("limit", "rows of the page, 100 if it is left out, at most 1000");

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The nodes of the packet plane, in the order in which packets pass them.
    Ask "plane/graph" [] -> Vec<GraphNodeRow>,
        |it, asked| Ok(graph(&it.reports(asked.asker, false)));
    /// What is lost and why, the most first.
    Ask "plane/drops" [] -> Vec<DropRow>,
        |it, asked| Ok(drops(&it.reports(asked.asker, false), it));
    /// The ports and what they count.
    Ask "plane/ports" [] -> Vec<PlanePortRow>,
        |it, asked| Ok(ports(&it.reports(asked.asker, false), it));
    /// What passed the interfaces.
    Ask "plane/interfaces" [] -> Vec<PlaneInterfaceRow>, |it, _| Ok(interfaces(it));
    /// The neighbours.
    Ask "plane/neighbours" [] -> Vec<NeighbourRow>, |it, _| Ok(neighbours(it));
    /// How many neighbours each interface has, and why others are not there.
    Ask "plane/resolution" [] -> Vec<ResolutionRow>, |it, _| Ok(resolution(it));
    /// The MAC addresses of bridge domains, a page at a time.
    Ask "plane/macs" [Parameter::text("bridge", "only of this one"), SKIP, LIMIT]
        -> Page<MacRow>, |it, asked| tables::macs(&it.plane, asked.params);
    /// What the rules of filters matched, a page at a time.
    Ask "plane/filters" [Parameter::text("filter", "only of this one"), SKIP, LIMIT]
        -> Page<HitRow>, |it, asked| tables::filters(&it.plane, asked.params);
    /// The workers.
    Ask "plane/workers" [] -> Vec<WorkerRow>,
        |it, asked| Ok(workers(&it.reports(asked.asker, false), it));
    /// The packet channels by which packets go up to functions, and why others were closed.
    Ask "plane/doors" [] -> Vec<Either<PacketChannelRow, ClosedPacketChannel>>,
        |it, asked| Ok(channels(&it.reports(asked.asker, false), it));
    /// Follows packets through the graph; `plane/traced` shows them.
    Act "plane/trace" [
        Parameter::number("packets", "how many, 10 if it is left out"),
        Parameter::text("port", "only those of this one"),
        Parameter::text("containing", "only those with these octets, as 0a000001"),
    ] -> Vec<TracingRow>, |it, asked| trace(it, asked.asker, asked.params);
    /// The steps of the packets that were followed.
    Ask "plane/traced" [] -> Vec<StepRow>,
        |it, asked| Ok(traced(&it.reports(asked.asker, true), it));
}

/// What a forwarder may be asked through its function.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

/// Answers a question of a connection.
pub(crate) fn answer(
    it: &mut Forwarder,
    asker: u64,
    path: &str,
    params: &Params,
) -> Result<Value, String> {
    let serve = question::find(QUESTIONS, &format!("{PLANE}{path}"));
    serve.ok_or_else(|| format!("the forwarder knows no {path}"))?(it, &Asked { asker, params })
}

/// Nodes of all workers, one row each, in the order in which packets pass them.
fn graph(reports: &[Report]) -> Vec<GraphNodeRow> {
    let Some((first, rest)) = reports.split_first() else { return Vec::new() };
    let mut nodes = first.nodes.clone();
    for report in rest {
        for (node, more) in nodes.iter_mut().zip(&report.nodes) {
            node.vectors += more.vectors;
            node.packets += more.packets;
            node.clocks += more.clocks;
            for (reason, count) in &more.dropped {
                match node.dropped.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, total)) => *total += count,
                    None => node.dropped.push((reason, *count)),
                }
            }
        }
    }
    let per = |sum: u64, of: u64| sum.checked_div(of).unwrap_or(0);
    let rows = nodes.into_iter().map(|node| {
        let dropped = node.dropped.into_iter().collect();
        GraphNodeRow {
            node: node.name,
            packets: node.packets,
            vectors: node.vectors,
            packets_a_vector: per(node.packets, node.vectors),
            clocks_a_packet: per(node.clocks, node.packets),
            dropped,
            next: node.next,
        }
    });
    rows.collect()
}

/// Whether a packet that a node ends is lost: what is for the router itself is not, nor what is
/// held until a neighbour has answered.
fn is_lost(reason: &str) -> bool {
    let is_taken = reason.ends_with("packet held") || reason.ends_with("answered");
    !is_taken && !matches!(reason, "arp heard" | "nd heard")
}

/// What nodes and ports lose, and what was held for neighbours in vain.
fn drops(reports: &[Report], it: &Forwarder) -> Vec<DropRow> {
    let row = |reason: &str, packets| DropRow {
        node: None,
        port: None,
        interface: None,
        reason: reason.to_owned(),
        packets,
    };
    let mut rows = Vec::new();
    for node in graph(reports) {
        let lost = node.dropped.iter().filter(|(reason, _)| is_lost(reason));
        rows.extend(lost.map(|(reason, packets)| DropRow {
            node: Some(node.node.clone()),
            ..row(reason, *packets)
        }));
    }
    for port in ports(reports, it) {
        rows.extend(port.counted.iter().filter_map(|(key, packets)| {
            let (way, why) = key.strip_prefix("not_")?.split_once('_')?;
            let reason = format!("not {way}: {}", why.replace('-', " "));
            Some(DropRow { port: Some(port.port.clone()), ..row(&reason, *packets) })
        }));
    }
    for (interface, of) in it.plane.resolution() {
        let lost = of.counts.iter().filter_map(|(reason, count)| Some((reason.drops()?, *count)));
        rows.extend(lost.map(|(reason, packets)| DropRow {
            interface: Some(interface.into()),
            ..row(reason, packets)
        }));
    }
    rows.retain(|it| it.packets > 0);
    rows.sort_by_key(|it| core::cmp::Reverse(it.packets));
    rows
}

fn ports(reports: &[Report], it: &Forwarder) -> Vec<PlanePortRow> {
    let rows = it.ports.iter().map(|(number, port)| {
        let mut counted = BTreeMap::new();
        for counters in reports.iter().filter_map(|report| report.ports.get(number)) {
            count(&mut counted, counters);
        }
        PlanePortRow {
            port: port.spec.name.clone(),
            number: *number,
            driver: port.spec.driver.clone(),
            workers: port.open.len(),
            up: port.metrics.is_some_and(|metrics| metrics.up),
            mac: port.metrics.map(|metrics| mac(metrics.mac)),
            mtu: port.metrics.map(|metrics| metrics.mtu),
            note: note(&port.spec.driver, &counted),
            counted,
        }
    });
    rows.collect()
}

/// What the counters of a port tell of offloads of the host, and the line that switches them off:
/// packets that it joined or left to be cut, and checksums that it left to be finished.
fn note(driver: &Driver, counted: &BTreeMap<String, u64>) -> Option<String> {
    let count = |name: &str| counted.get(name).copied().unwrap_or(0);
    let joined = |packets: u64| {
        (packets > 0).then(|| {
            format!("{packets} packets were joined by the host (GRO, GSO, TSO) and dropped")
        })
    };
    match driver {
        Driver::AfPacket { device } => {
            let said = joined(count("not_received_joined"))?;
            let line = format!("`ethtool -K {device} gro off lro off`");
            // Its own TSO and GSO are for what the kernel sends there, not for what comes.
            Some(format!("{said}: {line}, and `ethtool -K DEVICE tx off` at the far end of a veth"))
        }
        Driver::AfXdp { device } => {
            let (long, unfinished) = (count("not_received_too-long"), count("unfinished"));
            // One in 65,536 has that sum by chance.
            let is_unfinished = unfinished > 16 && unfinished > count("received") / 4_096;
            let checksum = is_unfinished.then(|| {
                "checksums come unfinished: `ethtool -K DEVICE tx off` at the far end of the veth, \
                 or in the machine behind a virtual NIC"
                    .to_owned()
            });
            let long = (long > 0).then(|| {
                format!(
                    "{long} packets were longer than a cell, as those are that the host joined: \
                     `ethtool -K {device} gro off lro off`, and `tso off gso off` at the far end"
                )
            });
            let said: Vec<String> = long.into_iter().chain(checksum).collect();
            (!said.is_empty()).then(|| said.join("; "))
        }
        _ => None,
    }
}

fn count(counted: &mut BTreeMap<String, u64>, counters: &ports::Counters) {
    let mut add = |key: String, more: u64| *counted.entry(key).or_default() += more;
    add("received".into(), counters.received.packets);
    add("received_octets".into(), counters.received.octets);
    add("unfinished".into(), counters.unfinished);
    add("sent".into(), counters.sent.packets);
    add("sent_octets".into(), counters.sent.octets);
    for why in ReceiveDrop::ALL {
        add(format!("not_received_{}", why.name()), counters.not_received(why));
    }
    for why in SendDrop::ALL {
        add(format!("not_sent_{}", why.name()), counters.not_sent(why));
    }
}

fn interfaces(it: &Forwarder) -> Vec<PlaneInterfaceRow> {
    let rows = it.plane.interfaces().map(|number| {
        let mut sum = nodes::Counted::default();
        for counters in it.plane.counters() {
            let more = counters.of(number);
            sum.received += more.received;
            sum.received_bytes += more.received_bytes;
            sum.sent += more.sent;
            sum.sent_bytes += more.sent_bytes;
        }
        PlaneInterfaceRow {
            interface: number.into(),
            received: sum.received,
            received_octets: sum.received_bytes,
            sent: sum.sent,
            sent_octets: sum.sent_bytes,
        }
    });
    rows.collect()
}

fn neighbours(it: &Forwarder) -> Vec<NeighbourRow> {
    let rows = it.plane.neighbours().map(|(interface, address, octets, state)| NeighbourRow {
        interface: interface.into(),
        address,
        mac: octets.map(mac),
        state,
    });
    rows.collect()
}

/// Neighbours of each interface by number, and why others are not there.
fn resolution(it: &Forwarder) -> Vec<ResolutionRow> {
    let rows = it.plane.resolution().into_iter().map(|(interface, of)| {
        let not_done = of.counts.into_iter().map(|(reason, count)| (reason.name(), count));
        let not_done = not_done.collect();
        ResolutionRow {
            interface: interface.into(),
            neighbours: of.neighbours,
            asked: of.asked,
            heard: of.heard,
            not_done,
        }
    });
    rows.collect()
}

fn workers(reports: &[Report], it: &Forwarder) -> Vec<WorkerRow> {
    let rows = it.hands.iter().enumerate().map(|(number, hand)| {
        let report = reports.iter().find(|report| usize::from(report.worker) == number);
        WorkerRow {
            worker: number,
            state: hand.life.state.name(),
            panics: hand.life.deaths,
            last_panic: hand.life.why.clone(),
            cells: report.map(|report| report.slots),
            free_cells: report.map(|report| report.free_slots),
            unwanted_punts: report.map(|report| report.unwanted),
            busy_ms: report.map(|report| machine::narrow::millis(report.busy)),
        }
    });
    rows.collect()
}

/// Packet channels that stand, and last why others were closed.
fn channels(
    reports: &[Report],
    it: &Forwarder,
) -> Vec<Either<PacketChannelRow, ClosedPacketChannel>> {
    let rows = it.channels.iter().map(|(number, classes)| {
        let mut sum = Passed::default();
        let parts = reports.iter().filter_map(|report| report.channels.get(number));
        parts.for_each(|passed| channels::add(&mut sum, passed));
        Either::A(channels::row(*number, classes, &sum))
    });
    let broken = it.channels_broken.iter();
    let closed =
        broken.map(|(why, times)| ClosedPacketChannel { closed: why.clone(), times: *times });
    rows.chain(closed.map(Either::B)).collect()
}

fn trace(it: &mut Forwarder, asker: u64, params: &Params) -> Result<Vec<TracingRow>, String> {
    let packets = number(params, "packets")?.unwrap_or(10);
    let port = number(params, "port")?;
    let port = port.map(u16::try_from).transpose().map_err(|_| "port: too high".to_owned())?;
    let containing = match param(params, "containing") {
        None => Vec::new(),
        Some(text) => hex(text).ok_or("containing: write octets as in 0a000001")?,
    };
    let packets = usize::try_from(packets).unwrap_or(usize::MAX).min(graph::TRACES_MAX);
    it.trace(asker, Choice { packets, port, containing, looks: None })?;
    Ok(vec![TracingRow { tracing: packets }])
}

/// The steps of traced packets. Hops of the table are named where they have one neighbour; numbers
/// of interfaces become names where those are known.
fn traced(reports: &[Report], it: &Forwarder) -> Vec<StepRow> {
    let traces = reports.iter().flat_map(|report| &report.traced).enumerate();
    let rows = traces.flat_map(|(number, steps)| {
        steps.iter().map(move |step| {
            let note = noted(it, &step.note);
            StepRow { packet: number + 1, node: step.node.to_string(), note }
        })
    });
    rows.collect()
}

/// A note in which the number behind the word `hop` is said in words.
fn noted(it: &Forwarder, note: &str) -> String {
    let mut words: Vec<String> = note.split(' ').map(str::to_owned).collect();
    for at in 1..words.len() {
        let number = words[at].parse().ok().filter(|_| words[at - 1] == "hop");
        if let Some(said) = number.and_then(|number| it.plane.hop_words(number)) {
            words[at] = said;
        }
    }
    words.join(" ")
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let octets = text.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    octets.collect()
}

/// A program in a few words, for whoever it is refused to.
pub(crate) fn named(program: &Program) -> String {
    const WORDS_MAX: usize = 160;
    let mut text = format!("{program:?}");
    if let Some((at, _)) = text.char_indices().nth(WORDS_MAX) {
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_says_which_offloads_of_the_host_it_suffers_from() {
        let counted = |rows: &[(&str, u64)]| {
            rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let packet = Driver::AfPacket { device: "veth0".into() };
        assert_eq!(note(&packet, &counted(&[("received", 9), ("not_received_too-long", 3)])), None);
        let said = note(&packet, &counted(&[("not_received_joined", 3)])).unwrap();
        assert!(said.starts_with("3 packets were joined by the host (GRO, GSO, TSO)"), "{said}");
        assert!(said.contains("`ethtool -K veth0 gro off lro off`"), "{said}");
        assert!(said.contains("`ethtool -K DEVICE tx off` at the far end of a veth"), "{said}");
        let xdp = Driver::AfXdp { device: "veth0".into() };
        let by_chance = [("received", 4_000_000), ("unfinished", 60)];
        assert_eq!(note(&xdp, &counted(&by_chance)), None, "one in 65,536");
        let said = note(&xdp, &counted(&[("received", 4_000), ("unfinished", 60)])).unwrap();
        assert!(said.contains("`ethtool -K DEVICE tx off` at the far end"), "{said}");
        let said = note(&xdp, &counted(&[("not_received_too-long", 2)])).unwrap();
        assert!(said.contains("longer than a cell") && said.contains("gro off lro off"), "{said}");
    }
}
