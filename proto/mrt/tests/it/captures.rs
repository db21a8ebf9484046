//! What BIRD 2.0.12 and GoBGP 3.10 dumped while they spoke with each other (`tests/vectors`).

use bgp::codec::{AsPath, AttributeType, Attributes, MessageType, NextHop, Update};
use mrt::{Body, FsmState, Records, RibEntries, RibEntry};

fn show(entry: &RibEntry<'_>) -> String {
    let path = Attributes::new(&entry.attributes).value(AttributeType::AsPath).unwrap_or_default();
    let next_hop = entry.next_hop().and_then(NextHop::read);
    let next_hop = next_hop.map_or("nowhere".to_owned(), |it| it.to_string());
    let (key, asn) = (entry.key().unwrap(), entry.peer.asn);
    format!("{key} path {} of {asn}: [{}] to {next_hop}", entry.path_id, AsPath::new(path, true))
}

/// The paths in order, and what was malformed.
fn table(file: &[u8]) -> (Vec<String>, Vec<String>) {
    let (mut found, mut violations) = (Vec::new(), Vec::new());
    for entry in RibEntries::new(file) {
        match entry {
            Ok(entry) => found.push(show(&entry)),
            Err(malformed) => violations.push(malformed.to_string()),
        }
    }
    found.sort();
    (found, violations)
}

#[test]
fn a_table_of_bird_is_understood() {
    let (found, violations) = table(include_bytes!("../vectors/bird-table4.mrt"));
    assert_eq!(
        found,
        [
            "0.0.0.0/0 path 0 of 0: [] to nowhere",
            "10.0.0.0/8 path 0 of 0: [4200000001] to nowhere",
            "192.0.2.0/24 path 0 of 0: [] to nowhere",
            "198.51.100.128/25 path 0 of 0: [] to nowhere",
            "203.0.113.0/24 path 1 of 65003: [65003] to 192.0.2.9",
        ]
    );
    assert_eq!(violations, [""; 0]);
    let (found, violations) = table(include_bytes!("../vectors/bird-table6.mrt"));
    assert_eq!(
        found,
        [
            "2001:db8:1::/48 path 0 of 0: [] to nowhere",
            "2001:db8:9::/48 path 0 of 65003: [65003] to 2001:db8::9",
            "2001:db8::/32 path 0 of 0: [] to nowhere",
        ]
    );
    assert_eq!(violations, [""; 0]);
}

#[test]
fn a_table_of_gobgp_is_understood_but_for_the_peer_that_it_does_not_list() {
    let (found, violations) = table(include_bytes!("../vectors/gobgp-table.mrt"));
    // It writes MP_REACH_NLRI whole, and its own routes under an index past the table's end.
    assert_eq!(
        found,
        [
            "0.0.0.0/0 path 2 of 4200000000: [4200000000] to 192.0.2.2",
            "10.0.0.0/8 path 2 of 4200000000: [4200000000 4200000001] to 192.0.2.2",
            "192.0.2.0/24 path 2 of 4200000000: [4200000000] to 192.0.2.2",
            "198.51.100.128/25 path 2 of 4200000000: [4200000000] to 192.0.2.2",
            "2001:db8:1::/48 path 0 of 4200000000: [4200000000] to 2001:db8::2",
            "2001:db8::/32 path 0 of 4200000000: [4200000000] to 2001:db8::2",
        ]
    );
    assert_eq!(violations.len(), 3);
    for violation in violations {
        assert!(violation.starts_with("the peer does not stand in the index table"), "{violation}");
    }
}

/// States, and the routes of UPDATEs.
fn messages(file: &[u8]) -> (Vec<FsmState>, Vec<String>) {
    let (mut states, mut routes) = (Vec::new(), Vec::new());
    for record in Records::new(file) {
        match record.unwrap().read().unwrap() {
            Body::StateChange(change) => states.extend(change.to),
            Body::Message(message) if message.kind == MessageType::Update => {
                let update = Update::read(message.message, &message.context()).unwrap();
                assert_eq!(update.violation(), None);
                let mp = update.reach().map(|reach| reach.routes);
                for route in update.announced().chain(mp.into_iter().flatten()) {
                    routes.push(format!("{route} path {}", route.path_id));
                }
            }
            Body::Message(_) => {}
            other => panic!("{other:?}"),
        }
    }
    routes.sort();
    (states, routes)
}

#[test]
fn the_messages_of_bird_and_gobgp_are_understood() {
    let (states, routes) = messages(include_bytes!("../vectors/bird-updates.mrt"));
    use FsmState::{Active, Connect, Established, Idle, OpenConfirm, OpenSent};
    assert_eq!(states, [Active, Connect, OpenSent, OpenConfirm, Established, Idle]);
    assert_eq!(routes, ["2001:db8:9::/48 path 0", "203.0.113.0/24 path 1"]);
    let (states, routes) = messages(include_bytes!("../vectors/gobgp-updates.mrt"));
    assert_eq!(states, []);
    assert_eq!(routes[..2], ["0.0.0.0/0 path 2", "10.0.0.0/8 path 2"]);
    assert_eq!(routes.len(), 6);
}
