//! A small graph: a counter of bytes that drops, a feature, a circle.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test says what it expects")]

use graph::{
    ArcId, ArcRow, Choice, Context, Edge, Graph, Node, Outbox, Plan, PlanError, Pool, Reason, Row,
    STRIDE, Slot,
};
use machine::Time;
use std::borrow::Cow;
use std::sync::Arc;
use table::epoch::Domain;

const ARC: ArcId = ArcId::received(0);

/// Odd first octets are dropped; 8 goes round for ever; the rest goes along the arc.
struct Input;
impl Node for Input {
    fn row(&self) -> Row {
        Row::of("input", &["round"], &["odd"])
    }
    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let mut kept = Vec::new();
        for slot in batch {
            match cx.packets.bytes(*slot)[0] {
                8 => cx.next.to(Edge(0), *slot),
                odd if odd % 2 == 1 => cx.next.drop(*slot, Reason(0)),
                _ => kept.push(*slot),
            }
        }
        cx.next.start(ARC, &kept, cx.packets);
    }
}

struct Round;
impl Node for Round {
    fn row(&self) -> Row {
        Row::of("round", &["input"], &[])
    }
    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        cx.next.to_all(Edge(0), batch);
    }
}

/// Marks a packet.
struct Mark(&'static str, u8);
impl Node for Mark {
    fn row(&self) -> Row {
        Row::of(self.0, &[], &[])
    }
    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            cx.packets.bytes_mut(*slot)[1] += self.1;
            cx.next.onward(*slot, cx.packets);
        }
    }
    fn trace(&self, _: &Pool, _: Slot, note: &mut String) {
        note.push_str(self.0);
    }
}

struct Output;
impl Node for Output {
    fn row(&self) -> Row {
        Row::of("output", &[], &[])
    }
    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        cx.out.send_all(3, batch).expect("port 3 can be");
    }
}

fn plan() -> Plan {
    let arc = ArcRow {
        id: ARC,
        name: "in",
        starts: Cow::Borrowed(&["input"]),
        features: Cow::Borrowed(&["one", "ten"]),
        end: "output",
    };
    let marks = Plan::new().node(Input).node(Round).node(Mark("ten", 10)).node(Mark("one", 1));
    marks.node(Output).arc(arc)
}

fn built() -> (graph::ChainsWriter, Graph) {
    let domain: Arc<Domain> = Domain::new();
    let chains = plan().chains(&domain).unwrap();
    let graph = plan().build(&chains, domain.reader().unwrap()).unwrap();
    (chains, graph)
}

fn run(graph: &mut Graph, pool: &mut Pool, packets: &[Slot]) -> Vec<[u8; 2]> {
    let mut out = Outbox::default();
    graph.push(graph.entry("input").unwrap(), packets, pool);
    graph.run(pool, &mut out, Time::ZERO);
    let left = out.port(3).map(std::mem::take).unwrap_or_default();
    let octets = left.iter().map(|slot| pool.bytes(*slot).try_into().unwrap()).collect();
    pool.free_all(&left);
    octets
}

fn put(pool: &mut Pool, interface: u32, first: u8) -> Slot {
    let slot = pool.put(&[first, 0]).unwrap();
    pool.meta_mut(slot).interface = interface;
    slot
}

#[test]
fn packets_pass_the_features_of_their_interface_in_the_order_of_the_arc() {
    let (mut chains, mut graph) = built();
    let mut pool = Pool::new(1_024, STRIDE);
    chains.set("in", 7, &["ten", "one"]).unwrap();
    chains.set("in", 9, &["ten"]).unwrap();
    let packets = [put(&mut pool, 7, 2), put(&mut pool, 9, 4), put(&mut pool, 1_000, 6)];
    assert_eq!(run(&mut graph, &mut pool, &packets), [[2, 0], [4, 0], [6, 0]], "not yet said");
    chains.publish();
    let packets = [put(&mut pool, 7, 2), put(&mut pool, 9, 4), put(&mut pool, 1_000, 6)];
    let mut left = run(&mut graph, &mut pool, &packets);
    left.sort_unstable();
    assert_eq!(left, [[2, 11], [4, 10], [6, 0]]);
    assert_eq!(chains.features("in", 7), ["one", "ten"]);
    let refused = chains.set("in", 7, &["two"]).unwrap_err();
    assert_eq!(refused.to_string(), "arc in has no feature two: it has one, ten");
}

#[test]
fn every_packet_leaves_or_is_counted_as_dropped_and_its_cell_comes_back() {
    let (_chains, mut graph) = built();
    let mut pool = Pool::new(1_024, STRIDE);
    let packets: Vec<Slot> = (0..1_000).map(|n| put(&mut pool, 0, (n % 10) as u8)).collect();
    assert_eq!(run(&mut graph, &mut pool, &packets).len(), 400, "0, 2, 4, 6 of each ten");
    assert_eq!(pool.free_slots(), 1_024);
    let counters = graph.counters();
    let dropped: Vec<_> = counters.iter().flat_map(|node| node.dropped.clone()).collect();
    assert_eq!(dropped, [("odd", 500), ("circles", 100)]);
    let output = counters.iter().find(|node| node.name == "output").unwrap();
    assert_eq!((output.packets, output.vectors), (400, 2), "they gathered to full vectors");
}

#[test]
fn a_traced_packet_tells_its_way_and_its_end() {
    let (mut chains, mut graph) = built();
    let mut pool = Pool::new(16, STRIDE);
    chains.set("in", 7, &["one"]).unwrap();
    chains.publish();
    graph.trace(Choice { packets: 2, ..Choice::default() });
    let packets = [put(&mut pool, 7, 2), put(&mut pool, 7, 3), put(&mut pool, 7, 4)];
    run(&mut graph, &mut pool, &packets);
    let ways: Vec<Vec<(&str, &str)>> = graph
        .traced()
        .iter()
        .map(|trace| trace.iter().map(|step| (step.node.as_str(), step.note.as_str())).collect())
        .collect();
    let first = vec![("input", ""), ("one", "one"), ("output", "")];
    assert_eq!(ways, [first, vec![("input", ""), ("input", "dropped: odd")]]);
}

#[test]
fn a_trace_looks_at_no_more_packets_than_it_may_and_ends_when_it_is_told_to() {
    let (_, mut graph) = built();
    let mut pool = Pool::new(16, STRIDE);
    let all = Choice { packets: 10, ..Choice::default() };
    let mut traced = |looks, is_over: bool| {
        graph.trace(Choice { looks, ..all.clone() });
        let packets = [put(&mut pool, 7, 2), put(&mut pool, 7, 4)];
        run(&mut graph, &mut pool, &packets);
        if is_over {
            graph.end_trace();
        }
        let packets = [put(&mut pool, 7, 2), put(&mut pool, 7, 4)];
        run(&mut graph, &mut pool, &packets);
        graph.traced().len()
    };
    assert_eq!((traced(None, false), traced(Some(3), false), traced(Some(0), false)), (4, 3, 0));
    assert_eq!(traced(None, true), 2, "what was traced stays");
}

#[test]
fn a_plan_that_names_a_missing_node_is_refused() {
    let domain = Domain::new();
    let flaw = Plan::new().node(Round).chains(&domain).err();
    let missing = PlanError::Missing { node: "round".to_owned(), next: "input".to_owned() };
    assert_eq!(flaw, Some(missing));
    let twice = Plan::new().node(Output).node(Output).chains(&domain).err();
    assert_eq!(twice, Some(PlanError::Twice("output".to_owned())));
}
