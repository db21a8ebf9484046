//! From the command line to an endpoint and its peer.

use crate::command::SctpEndpoint;
use client::Exit;
use schemars::JsonSchema;
use sctp_stack::{Config, ENCAPSULATION_PORT, Extensions, Overrides, Peer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first of the ports that IANA assigns to nobody (RFC 6335 §6).
const DYNAMIC_FIRST: u16 = 49_152;

/// The endpoint that the command line describes, and the peer when it is to begin associations.
pub fn read(
    asked: &SctpEndpoint,
    peers: &[IpAddr],
    peer_udp_port: u16,
) -> Result<(Config, Option<Peer>), Exit> {
    let begins = !peers.is_empty();
    let own = u32::from(u16::MAX - DYNAMIC_FIRST) + 1;
    let dynamic = DYNAMIC_FIRST + (std::process::id() % own) as u16;
    let (parameters, extensions) = settings(&asked.set)?;
    let config = Config {
        addresses: local(asked, peers)?,
        port: if begins { asked.local_port.unwrap_or(dynamic) } else { asked.port },
        carrier: asked.carrier.into(),
        encapsulation_port: asked.udp_port.unwrap_or(match (begins, asked.local.len()) {
            (false, _) => ENCAPSULATION_PORT,
            (true, 0 | 1) => 0,
            (true, _) => dynamic, // the same on all addresses
        }),
        listens: !begins,
        preset: asked.preset.clone(),
        parameters,
        extensions,
        ..Config::default()
    };
    let mut issues = Vec::new();
    config.validate(&mut issues);
    let peer = begins.then(|| Peer {
        addresses: peers.to_vec(),
        port: asked.port,
        encapsulation_port: peer_udp_port,
    });
    if let Some(peer) = &peer {
        peer.validate(&mut issues);
    }
    match issues.first() {
        None => Ok((config, peer)),
        Some(issue) => {
            let what = format!("{}: {}; {}", issue.path, issue.what, issue.hint);
            Err(Exit::Usage(what))
        }
    }
}

fn local(asked: &SctpEndpoint, peers: &[IpAddr]) -> Result<Vec<IpAddr>, Exit> {
    if !asked.local.is_empty() {
        return Ok(asked.local.clone());
    }
    if peers.len() > 1 {
        let what = "several --peer want the addresses here too: --local, once for each network";
        return Err(Exit::Usage(what.into()));
    }
    let is_v6 = peers.iter().any(IpAddr::is_ipv6);
    let any = if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    Ok(vec![any])
}

/// What `--set` says.
fn settings(set: &[String]) -> Result<(Overrides, Extensions), Exit> {
    let (mut parameters, mut extensions) = (Map::new(), Map::new());
    let (of_parameters, of_extensions) = (keys::<Overrides>(), keys::<Extensions>());
    for text in set {
        let Some((key, value)) = text.split_once('=') else {
            return Err(Exit::Usage(format!("--set {text}: write KEY=VALUE")));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
        if of_parameters.iter().any(|it| it == key) {
            parameters.insert(key.into(), value);
        } else if of_extensions.iter().any(|it| it == key) {
            extensions.insert(key.into(), value);
        } else {
            let known = [of_parameters, of_extensions].concat().join(", ");
            return Err(Exit::Usage(format!("--set {text}: no such parameter. There are {known}")));
        }
    }
    Ok((typed(parameters)?, typed(extensions)?))
}

fn keys<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|it| it.keys().cloned()).collect()
}

fn typed<T: DeserializeOwned>(set: Map<String, Value>) -> Result<T, Exit> {
    let words = Value::Object(set.clone()).to_string();
    serde_json::from_value(Value::Object(set))
        .map_err(|error| Exit::Usage(format!("--set {words}: {error}")))
}
