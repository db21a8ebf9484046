//! `tandem ctl plane`.

use super::client::{Client, query, segment};
use super::show::asked;
use crate::cli::{Of, Output, PlaneCommand, PlaneTrace};
use crate::exit::Exit;
use crate::output::{self, Column, plain};
use serde_json::{Value, json};

const SUMMARY: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("forwarder", "FORWARDER"),
    plain("ports", "PORTS"),
    plain("ports_up", "UP"),
    plain("interfaces", "INTERFACES"),
    plain("vrfs", "VRFS"),
    plain("cross_connects", "CROSS-CONNECTS"),
    plain("bridges", "BRIDGES"),
    plain("routes", "ROUTES"),
    plain("refusals", "REFUSALS"),
];

const GRAPH: &[Column] = &[
    plain("node", "NODE"),
    plain("packets", "PACKETS"),
    plain("packets_a_vector", "A VECTOR"),
    plain("clocks_a_packet", "CLOCKS"),
    plain("dropped", "DROPPED"),
    plain("next", "NEXT"),
];

const PORTS: &[Column] = &[
    plain("port", "PORT"),
    plain("up", "UP"),
    plain("mac", "MAC"),
    plain("mtu", "MTU"),
    plain("received", "RECEIVED"),
    plain("sent", "SENT"),
    plain("not_received_queue-full", "MISSED"),
    plain("not_sent_queue-full", "NOT SENT"),
];

const INTERFACES: &[Column] = &[
    plain("interface", "INTERFACE"),
    plain("received", "RECEIVED"),
    plain("received_octets", "OCTETS"),
    plain("sent", "SENT"),
    plain("sent_octets", "OCTETS"),
];

const NEIGHBOURS: &[Column] = &[
    plain("interface", "INTERFACE"),
    plain("address", "ADDRESS"),
    plain("mac", "MAC"),
    plain("state", "STATE"),
];

const RESOLUTION: &[Column] = &[
    plain("interface", "INTERFACE"),
    plain("neighbours", "NEIGHBOURS"),
    plain("asked", "ASKED"),
    plain("heard", "HEARD"),
    plain("not_done", "NOT DONE"),
];

const WORKERS: &[Column] = &[
    plain("worker", "WORKER"),
    plain("state", "STATE"),
    plain("panics", "PANICS"),
    plain("cells", "CELLS"),
    plain("free_cells", "FREE"),
    plain("unwanted_punts", "UNWANTED"),
];

const REFUSALS: &[Column] =
    &[plain("function", "FUNCTION"), plain("what", "WHAT"), plain("why", "WHY")];

const EVENTS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("seconds_ago", "SECONDS AGO"),
    plain("bridge", "BRIDGE"),
    plain("mac", "MAC"),
    plain("event", "EVENT"),
    plain("from", "FROM"),
    plain("at", "AT"),
];

const TRACED: &[Column] =
    &[plain("packet", "PACKET"), plain("node", "NODE"), plain("note", "NOTE")];

/// The packet plane.
pub fn plane(client: &Client, form: Output, command: Option<PlaneCommand>) -> Result<(), Exit> {
    let (of, about, columns) = match command {
        None => (Of { function: None }, "pe/summary", SUMMARY),
        Some(PlaneCommand::Summary(of)) => (of, "pe/summary", SUMMARY),
        Some(PlaneCommand::Graph(of)) => (of, "plane/graph", GRAPH),
        Some(PlaneCommand::Ports(of)) => (of, "plane/ports", PORTS),
        Some(PlaneCommand::Interfaces(of)) => (of, "plane/interfaces", INTERFACES),
        Some(PlaneCommand::Neighbours(of)) => (of, "plane/neighbours", NEIGHBOURS),
        Some(PlaneCommand::Resolution(of)) => (of, "plane/resolution", RESOLUTION),
        Some(PlaneCommand::Workers(of)) => (of, "plane/workers", WORKERS),
        Some(PlaneCommand::Refusals(of)) => (of, "pe/refusals", REFUSALS),
        Some(PlaneCommand::Events(of)) => (of, "pe/events", EVENTS),
        Some(PlaneCommand::Traced(of)) => (of, "plane/traced", TRACED),
        Some(PlaneCommand::Trace(wanted)) => return trace(client, &wanted),
        Some(PlaneCommand::Ask { function, path, params }) => {
            let params: Vec<(&str, Option<String>)> = params
                .iter()
                .filter_map(|text| text.split_once('='))
                .map(|(name, value)| (name, Some(value.to_owned())))
                .collect();
            let name = segment(&function);
            let path = format!("/api/v1/functions/{name}/plane/{path}{}", query(&params));
            return output::text(&output::json(&client.get(&path)?));
        }
    };
    asked(client, form, of.function, about, columns)
}

fn trace(client: &Client, wanted: &PlaneTrace) -> Result<(), Exit> {
    let path = format!("/api/v1/functions/{}/plane/trace", segment(&wanted.function));
    let mut how = json!({ "packets": wanted.packets.to_string() });
    for (name, value) in [("port", &wanted.port), ("containing", &wanted.containing)] {
        if let Some(value) = value {
            how[name] = Value::from(value.clone());
        }
    }
    output::text(&output::json(&client.post(&path, &how)?))
}
