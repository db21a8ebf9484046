//! The part of a configuration that is Diameter's.

use crate::world::{FIRST, Site};
use diameter_stack::config::{LISTENERS_MAX, STREAM_PORTS};

#[test]
fn ports_are_numbered_from_where_the_function_says() {
    let site = Site::read(
        r#"
        [diameter]
        host = "a.example"
        realm = "example"
        tcp = { listen = ["10.0.0.1:3868"] }
        tls = { listen = ["10.0.0.1:5658"], certificate = "c", key = "k" }
        [[peer]]
        name = "six"
        host = "six.example"
        addresses = ["2001:db8::1"]
        connect = true
        [[peer]]
        name = "secure"
        host = "secure.example"
        addresses = ["10.0.0.9"]
        transport = "tls"
        connect = true
        "#,
    );
    let ports = site.section().ports();
    let numbers: Vec<u16> = ports.iter().map(|port| port.id.0 - FIRST.0).collect();
    assert!(numbers[..2].iter().all(|number| *number < LISTENERS_MAX), "{numbers:?}");
    assert_eq!(numbers[2..], [STREAM_PORTS - 3], "nothing listens on IPv6");
    let secure = site.section().stream_to(&site.peer[1]).unwrap();
    assert_eq!(secure.remote.to_string(), "10.0.0.9:5658");
    assert_eq!(secure.port, ports[1].id, "from the listener over TLS");
    let bound: Vec<String> = site.section().bound().into_iter().map(|it| it.0).collect();
    assert_eq!(bound, ["tcp.listen[0]", "tls.listen[0]"]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_path() {
    let site = Site::read(
        r#"
        [diameter]
        host = "not a host"
        realm = "example"
        timers = { watchdog_ms = 1000 }
        tcp = { listen = ["10.0.0.1:3868", "10.0.0.1:3868"], send_queue_octets_max = 1 }
        [[peer]]
        name = "a"
        host = "a.example"
        connect = true
        [[peer]]
        name = "a"
        host = "A.example"
        transport = "sctp"
        [[route]]
        realm = "x"
        to = [{ peer = "nobody" }]
        [[route]]
        realm = "X"
        redirect = ["http://a"]
        [[route]]
        "#,
    );
    let mut issues = Vec::new();
    site.section().validate(&mut issues);
    let paths: Vec<&str> = issues.iter().map(|issue| &*issue.path).collect();
    let expected = [
        "host",
        "timers",
        "tcp.listen",
        "tcp.send_queue_octets_max",
        "peer[0]",
        "peer[1].name",
        "peer[1].host",
        "peer[1].transport",
        "route[0].to[0].peer",
        "route[1]",
        "route[1].redirect[0]",
        "route[2]",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_peer_with_this_nodes_own_host_is_refused() {
    let site = Site::read(
        r#"
        [diameter]
        host = "a.example"
        realm = "example"
        tcp = { listen = ["10.0.0.1:3868"] }
        [[peer]]
        name = "a"
        host = "A.example"
        "#,
    );
    let mut issues = Vec::new();
    site.section().validate(&mut issues);
    assert_eq!(issues.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["peer[0].host"]);
}

#[test]
fn the_smallest_section_is_valid() {
    let site = Site::read("diameter = { host = \"a.example\", realm = \"example\" }");
    let mut issues = Vec::new();
    site.section().validate(&mut issues);
    assert_eq!(issues, []);
    assert!(site.section().ports().is_empty());
}

#[test]
fn an_application_is_named_as_this_node_speaks_it() {
    let site = Site::read(
        r#"
        diameter = { host = "a.example", realm = "example" }
        [[peer]]
        name = "hss1"
        host = "hss1.example"
        realm = "Home"
        addresses = ["10.0.0.2"]
        connect = true
        applications = ["Sh"]
        [[peer]]
        name = "hss2"
        host = "hss2.example"
        realm = "home"
        addresses = ["10.0.0.3"]
        connect = true
        applications = ["sh", "S6a", "Base"]
        priority = 1
        "#,
    );
    let mut issues = Vec::new();
    site.section().validate(&mut issues);
    let found: Vec<_> = issues.iter().map(|it| (&*it.path, &*it.hint)).collect();
    assert_eq!(found[0], ("peer[1].applications[1]", "did you mean `S6c`?"), "{found:?}");
    assert_eq!(found[1].0, "peer[1].applications[2]");
    let routes = site.section().routes();
    assert_eq!(routes.len(), 1);
    assert_eq!(
        (routes[0].realm.as_deref(), routes[0].application),
        (Some("home"), Some(16_777_217))
    );
    let to: Vec<_> = routes[0].to.iter().map(|it| (&*it.peer, it.priority)).collect();
    assert_eq!(to, [("hss1", 0), ("hss2", 1)]);
}
