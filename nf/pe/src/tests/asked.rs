//! What the section says, as it is asked for.

use super::{EDGE, read};
use crate::{FileRoute, ProviderEdge, Settings};
use forwarder::Launch;
use machine::Time;
use runtime::{Answered, Ask, Effects, Function as _, Seed};
use serde_json::{Value, json};
use std::sync::Arc;

fn edge(routes: Vec<FileRoute>) -> ProviderEdge {
    let (socket, command, log) = ("/".into(), Vec::new(), "/".into());
    let launch = Launch { socket, command, log, ..Launch::default() };
    let settings = Settings {
        pe: read(EDGE),
        routes,
        launch,
        ospf_keys: Default::default(),
        isis_keys: Default::default(),
        bfd_keys: Default::default(),
    };
    let now = Time::from_millis(1);
    let seed = Seed { shard: 0, shards: 1, random: [0; 32], now };
    ProviderEdge::new(seed, Arc::new(settings))
}

fn asked(edge: &mut ProviderEdge, path: &str, params: &[(&str, &str)]) -> Answered {
    let params = params.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let ask = Ask { path: path.to_owned(), params: params.collect() };
    edge.ask(Time::from_millis(2), &ask, &mut Effects::default())
}

fn rows(edge: &mut ProviderEdge, path: &str, params: &[(&str, &str)]) -> Vec<Value> {
    let answer = asked(edge, path, params).expect("an answer");
    answer["rows"].as_array().expect("rows").clone()
}

fn prefixes(edge: &mut ProviderEdge, params: &[(&str, &str)]) -> Vec<String> {
    let rows = rows(edge, "pe/routes", params);
    let text = |row: &Value| format!("{} {}", row["prefix"], row["origin"]).replace('"', "");
    rows.iter().map(text).collect()
}

fn file_route(vrf: &str, prefix: &str) -> FileRoute {
    let (address, length) = prefix.split_once('/').expect("a prefix");
    let prefix = (address.parse().expect("an address"), length.parse().expect("a length"));
    FileRoute { vrf: vrf.to_owned(), prefix, gateway: "10.0.0.2".parse().expect("an address") }
}

#[test]
fn interfaces_say_what_they_are_part_of() {
    let mut edge = edge(Vec::new());
    let found = rows(&mut edge, "pe/interfaces", &[]);
    let part = |row: &Value| {
        let [kind, vrf] = ["kind", "vrf"].map(|key| row[key].as_str().unwrap_or("-").to_owned());
        (kind, vrf, row["bridge"].clone(), row["cross_connect"].clone())
    };
    assert_eq!(
        found.iter().map(part).collect::<Vec<_>>(),
        [
            ("routed".into(), "global".into(), json!(null), json!(null)),
            ("routed".into(), "red".into(), json!(null), json!(null)),
            ("cross-connect".into(), "-".into(), json!(null), json!("wire")),
            ("bridge".into(), "-".into(), json!("lan"), json!(null)),
        ]
    );
    assert_eq!((&found[1]["port"], &found[1]["vlan"]), (&json!("ge1"), &json!(7)));
    let page = asked(&mut edge, "pe/interfaces", &[("skip", "1"), ("limit", "2")]).unwrap();
    assert_eq!((&page["next"], &page["total"]), (&json!(3), &json!(4)));
    assert_eq!(page["rows"].as_array().map(Vec::len), Some(2));
    assert!(asked(&mut edge, "pe/interfaces", &[("skip", "x")]).is_err());
    assert!(asked(&mut edge, "pe/nothing", &[]).is_err());
}

#[test]
fn routes_are_found_by_table_by_what_lies_within_a_prefix_and_by_what_covers_one() {
    let of_files = ["172.16.0.0/16", "172.16.9.0/24", "172.17.0.0/16"];
    let mut edge = edge(of_files.iter().map(|it| file_route("red", it)).collect());
    let tables = rows(&mut edge, "pe/vrfs", &[]);
    let counts = |row: &Value| (row["vrf"].clone(), row["label"].clone(), row["routes"].clone());
    assert_eq!(
        tables.iter().map(counts).collect::<Vec<_>>(),
        [(json!("global"), json!(null), json!(3)), (json!("red"), json!(100), json!(5))]
    );
    assert_eq!(
        prefixes(&mut edge, &[("vrf", "global")]),
        ["10.0.0.0/24 connected", "2001:db8::/64 connected", "10.9.0.0/16 static"]
    );
    let within = [("vrf", "red"), ("within", "172.16.0.0/12")];
    assert_eq!(prefixes(&mut edge, &within).len(), 3);
    let covering = [("vrf", "red"), ("covering", "172.16.9.7")];
    assert_eq!(
        prefixes(&mut edge, &covering),
        ["0.0.0.0/0 static", "172.16.0.0/16 file", "172.16.9.0/24 file"]
    );
    let page = asked(&mut edge, "pe/routes", &[("vrf", "red"), ("limit", "1")]).unwrap();
    let next = page["next"].to_string();
    let rest = prefixes(&mut edge, &[("vrf", "red"), ("skip", &next)]);
    assert_eq!(rest.len(), 4);
    for wrong in [("vrf", "blue"), ("within", "10"), ("covering", "x"), ("skip", "-1")] {
        assert!(asked(&mut edge, "pe/routes", &[wrong]).is_err(), "{wrong:?}");
    }
}

#[test]
fn services_and_filters_show_their_ends_and_rules() {
    let mut edge = edge(Vec::new());
    let wires = rows(&mut edge, "pe/cross-connects", &[]);
    assert_eq!(wires[0]["interface"], "ge1.8");
    assert_eq!(wires[0]["pseudowire"]["via"]["labels"], json!([301]));
    let bridges = rows(&mut edge, "pe/bridges", &[]);
    assert_eq!(
        (&bridges[0]["bridge"], &bridges[0]["interfaces"]),
        (&json!("lan"), &json!(["ge1.9"]))
    );
    assert_eq!(bridges[0]["pseudowires"][0]["label_in"], 400);
    let filters = rows(&mut edge, "pe/filters", &[]);
    assert_eq!(
        (&filters[0]["family"], &filters[0]["filters_in"]),
        (&json!("ipv4"), &json!(["ge0"]))
    );
    let rule = json!({ "action": "police gold", "protocol": "icmp" });
    assert_eq!(filters[0]["rules"][0], rule);
}
