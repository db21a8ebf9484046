//! What a section may say, and the ports that it needs.

use config::Issue;
use runtime::{PortId, Transport};
use tcu_stack::config::{LINKS_MAX, Link, Section, Tls};

pub fn link(name: &str, address: &str) -> Link {
    let [name, address, application] = [name, address, "ipsmgw"].map(str::to_owned);
    Link { name, address, application, group: String::new(), key_file: None, keys: None, tls: None }
}

pub fn section(link: &[Link]) -> Section<'_> {
    Section { name: "sms1", link, dialogues_max: 3, first_port: PortId(100) }
}

#[test]
fn each_link_has_a_port_of_its_own_that_only_connects() {
    let links = [
        link("a", "tcp:127.0.0.1:7700"),
        link("b", "tcp:127.0.0.1:7700"),
        link("c", "tls:[::1]:7701"),
    ];
    let section = section(&links);
    let ports = section.ports();
    assert_eq!(ports.len(), 3);
    for port in &ports {
        assert!(section.owns(port.id) && port.stream().unwrap().connect_only);
    }
    assert_ne!(ports[0].id, ports[1].id, "two connections to one address");
    assert_eq!(ports[2].transport(), Transport::Tls);
    assert!(ports[2].listen.is_ipv6() && !section.owns(PortId(100 + LINKS_MAX)));
    // Others that come and go leave it its port.
    assert_eq!(super::config::section(&links[2..]).ports()[0].id, ports[2].id);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let mut links = [
        link("a", "tcp:127.0.0.1:7700"),
        link("a", "udp:127.0.0.1:7700"),
        link("c", "tcp:127.0.0.1:7701"),
        link("d", "tls:127.0.0.1:7701"),
    ];
    links[2].tls = Some(Tls::default());
    links[3].tls = Some(Tls { key: Some("key.pem".into()), ..Tls::default() });
    links[3].application.clear();
    let mut issues: Vec<Issue> = Vec::new();
    section(&links).validate(&mut issues);
    let places: Vec<&str> = issues.iter().map(|it| &*it.path).collect();
    let expected =
        ["link[1].name", "link[1].address", "link[2].tls", "link[3].application", "link[3].tls"];
    assert_eq!(places, expected);
}
