//! Answers to those who ask: what the workers counted, what the plane knows.

use crate::packets::doors::{self, Passed};
use crate::params::{Params, mac, number, param};
use crate::serve::Forwarder;
use crate::tables;
use crate::worker::Report;
use driver::ports::{ReceiveDrop, SendDrop};
use graph::Choice;
use nodes::Program;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Answers a question of a connection.
pub(crate) fn answer(
    it: &mut Forwarder,
    asker: u64,
    path: &str,
    params: &Params,
) -> Result<Value, String> {
    match path {
        "graph" => Ok(graph(&it.reports(asker, false))),
        "ports" => Ok(ports(&it.reports(asker, false), it)),
        "interfaces" => Ok(interfaces(it)),
        "neighbours" => Ok(neighbours(it)),
        "resolution" => Ok(resolution(it)),
        "macs" => tables::macs(&it.plane, params),
        "filters" => tables::filters(&it.plane, params),
        "workers" => Ok(workers(&it.reports(asker, false), it)),
        "doors" => Ok(doors(&it.reports(asker, false), it)),
        "trace" => trace(it, asker, params),
        "traced" => Ok(traced(&it.reports(asker, true), it)),
        other => Err(format!("the forwarder knows no {other}")),
    }
}

/// Nodes of all workers, one row each, in the order in which packets pass them.
fn graph(reports: &[Report]) -> Value {
    let Some((first, rest)) = reports.split_first() else { return json!([]) };
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
        let dropped: BTreeMap<&str, u64> = node.dropped.into_iter().collect();
        json!({
            "node": node.name,
            "packets": node.packets,
            "vectors": node.vectors,
            "packets_a_vector": per(node.packets, node.vectors),
            "clocks_a_packet": per(node.clocks, node.packets),
            "dropped": dropped,
            "next": node.next,
        })
    });
    rows.collect()
}

fn ports(reports: &[Report], it: &Forwarder) -> Value {
    let rows = it.ports.iter().map(|(number, port)| {
        let mut row = json!({
            "port": port.spec.name,
            "number": number,
            "driver": port.spec.driver,
            "workers": port.open.len(),
            "up": port.facts.is_some_and(|facts| facts.up),
            "mac": port.facts.map(|facts| mac(facts.mac)),
            "mtu": port.facts.map(|facts| facts.mtu),
        });
        for counters in reports.iter().filter_map(|report| report.ports.get(number)) {
            count(&mut row, counters);
        }
        row
    });
    rows.collect()
}

fn count(row: &mut Value, counters: &driver::ports::Counters) {
    let mut add = |key: String, more: u64| {
        let before = row[&key].as_u64().unwrap_or(0);
        row[key] = json!(before + more);
    };
    add("received".into(), counters.received.packets);
    add("received_octets".into(), counters.received.octets);
    add("sent".into(), counters.sent.packets);
    add("sent_octets".into(), counters.sent.octets);
    for why in ReceiveDrop::ALL {
        add(format!("not_received_{}", why.name()), counters.not_received(why));
    }
    for why in SendDrop::ALL {
        add(format!("not_sent_{}", why.name()), counters.not_sent(why));
    }
}

fn interfaces(it: &Forwarder) -> Value {
    let rows = it.plane.interfaces().map(|number| {
        let mut sum = nodes::Counted::default();
        for counters in it.plane.counters() {
            let more = counters.of(number);
            sum.received += more.received;
            sum.received_bytes += more.received_bytes;
            sum.sent += more.sent;
            sum.sent_bytes += more.sent_bytes;
        }
        json!({
            "interface": number,
            "received": sum.received,
            "received_octets": sum.received_bytes,
            "sent": sum.sent,
            "sent_octets": sum.sent_bytes,
        })
    });
    rows.collect()
}

fn neighbours(it: &Forwarder) -> Value {
    let rows = it.plane.neighbours().map(|(interface, address, octets, state)| {
        json!({
            "interface": interface,
            "address": address,
            "mac": octets.map(mac),
            "state": state,
        })
    });
    rows.collect()
}

/// Neighbours of each interface by number, and why others are not there.
fn resolution(it: &Forwarder) -> Value {
    let rows = it.plane.resolution().into_iter().map(|(interface, of)| {
        let not_done = of.counts.into_iter().map(|(reason, count)| (reason.name(), count));
        let not_done: BTreeMap<&str, u64> = not_done.collect();
        json!({
            "interface": interface,
            "neighbours": of.neighbours,
            "asked": of.asked,
            "heard": of.heard,
            "not_done": not_done,
        })
    });
    rows.collect()
}

fn workers(reports: &[Report], it: &Forwarder) -> Value {
    let rows = it.hands.iter().enumerate().map(|(number, hand)| {
        let report = reports.iter().find(|report| usize::from(report.worker) == number);
        json!({
            "worker": number,
            "state": hand.life.state.name(),
            "panics": hand.life.deaths,
            "last_panic": hand.life.why,
            "cells": report.map(|report| report.slots),
            "free_cells": report.map(|report| report.free_slots),
            "unwanted_punts": report.map(|report| report.unwanted),
        })
    });
    rows.collect()
}

/// Doors that stand, and last why others were closed.
fn doors(reports: &[Report], it: &Forwarder) -> Value {
    let rows = it.doors.iter().map(|(number, classes)| {
        let mut sum = Passed::default();
        let parts = reports.iter().filter_map(|report| report.doors.get(number));
        parts.for_each(|passed| doors::add(&mut sum, passed));
        doors::row(*number, classes, &sum)
    });
    let broken = it.doors_broken.iter();
    rows.chain(broken.map(|(why, count)| json!({ "closed": why, "times": count }))).collect()
}

fn trace(it: &mut Forwarder, asker: u64, params: &Params) -> Result<Value, String> {
    let packets = number(params, "packets")?.unwrap_or(10);
    let port = number(params, "port")?;
    let port = port.map(u16::try_from).transpose().map_err(|_| "port: too high".to_owned())?;
    let containing = match param(params, "containing") {
        None => Vec::new(),
        Some(text) => hex(text).ok_or("containing: write octets as in 0a000001")?,
    };
    let packets = usize::try_from(packets).unwrap_or(usize::MAX).min(graph::TRACES_MAX);
    it.trace(asker, Choice { packets, port, containing, looks: None })?;
    Ok(json!([{ "tracing": packets }]))
}

/// The steps of traced packets. Hops of the table are named where they have one neighbour; numbers
/// of interfaces become names where those are known.
fn traced(reports: &[Report], it: &Forwarder) -> Value {
    let traces = reports.iter().flat_map(|report| &report.traced).enumerate();
    let rows = traces.flat_map(|(number, steps)| {
        steps.iter().map(move |step| {
            let note = noted(it, &step.note);
            json!({ "packet": number + 1, "node": step.node, "note": note })
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
