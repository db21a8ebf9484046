//! The part of a configuration that is the speaker's.

use crate::world::Site;
use bgp::family::Family;
use bgp_stack::Speaker;
use bgp_stack::config::{LISTENERS_MAX, PORTS, Section};
use machine::{Duration, Time};
use runtime::Seed;
use std::collections::BTreeMap;

#[test]
fn ports_are_numbered_from_where_the_function_says_and_are_guarded() {
    let site = Site::read(
        r#"
        asn = 65000
        identifier = "10.0.0.1"
        listen = ["10.0.0.1", "10.0.0.1:1179"]
        [[peer]]
        name = "far"
        address = "2001:db8::1"
        ttl_security_hops = 2
        "#,
    );
    let ports = site.section().ports();
    let numbers: Vec<u16> = ports.iter().map(|port| port.id.0 - 2_000).collect();
    assert!(numbers[..2].iter().all(|number| *number < LISTENERS_MAX), "{numbers:?}");
    assert_eq!(numbers[2], PORTS - 1, "nothing listens on IPv6");
    let streams: Vec<_> = ports.iter().filter_map(|port| port.stream()).collect();
    assert!(streams[2].connect_only && streams[2].paced);
    assert_eq!(streams[0].guards[0].ttl_min, Some(254));
    let bound: Vec<String> = site.section().listen_addresses().into_iter().map(|it| it.0).collect();
    assert_eq!(bound, ["listen[0]", "listen[1]"]);
}

#[test]
fn what_cannot_be_meant_is_refused_in_the_words_of_the_function() {
    let site = Site::read(
        r#"
        asn = 0
        identifier = "10.0.0.1"
        [[peer]]
        name = "a"
        address = "10.0.0.2"
        import = "nothing"
        location = "nowhere"
        group = "none"
        "#,
    );
    let mut issues = Vec::new();
    site.section().validate(&mut issues);
    let paths: Vec<&str> = issues.iter().map(|issue| &*issue.path).collect();
    assert_eq!(paths, ["asn", "peer[0].group", "peer[0].import", "peer[0].location"]);
    assert_eq!(issues[2].hint, "add [[toy.policy]] with that name");
}

#[test]
fn customers_of_two_tables_may_have_the_same_address_and_are_of_another_as() {
    let site = Site::read(
        r#"
        asn = 65000
        identifier = "10.0.0.1"
        listen = ["10.0.0.1"]
        [[group]]
        name = "override"
        as_override = true
        core_attributes = true
        [[peer]]
        name = "global"
        address = "10.0.0.2"
        [[peer]]
        name = "a"
        address = "10.0.0.2"
        vrf = "red"
        group = "override"
        asn = 65100
        site = "65000:7"
        [[peer]]
        name = "b"
        address = "10.0.0.2"
        vrf = "red"
        asn = 65100
        [[peer]]
        name = "c"
        address = "10.0.0.3"
        vrf = "blue"
        families = ["vpnv4"]
        site = "7"
        [[peer]]
        name = "d"
        address = "10.0.0.4"
        group = "override"
        "#,
    );
    let mut issues = Vec::new();
    let section = Section { vrfs: BTreeMap::from([("red", 1_000)]), ..site.section() };
    section.validate(&mut issues);
    let paths: Vec<&str> = issues.iter().map(|issue| &*issue.path).collect();
    let wanted = [
        "peer[2].address",
        "peer[3].vrf",
        "peer[3].site",
        "peer[3].vrf",
        "peer[3].families",
        "peer[4].as_override",
        "peer[4].core_attributes",
    ];
    assert_eq!(paths, wanted);
}

#[test]
fn a_customer_has_half_of_its_table_and_nothing_of_the_core_unless_its_section_says_so() {
    let site = Site::read(
        r#"
        asn = 65000
        identifier = "10.0.0.1"
        listen = ["10.0.0.1"]
        [[peer]]
        name = "four"
        address = "10.0.0.2"
        asn = 65100
        vrf = "red"
        [[peer]]
        name = "both"
        address = "10.0.0.3"
        asn = 65100
        vrf = "red"
        families = ["ipv4-unicast", "ipv6-unicast"]
        [[peer]]
        name = "given"
        address = "10.0.0.4"
        asn = 65100
        vrf = "red"
        families = ["ipv4-unicast", "ipv6-unicast"]
        prefix_limit = [{ family = "ipv6-unicast", max = 700 }]
        core_attributes = true
        [[peer]]
        name = "transit"
        address = "10.0.0.5"
        asn = 65200
        "#,
    );
    let section = Section { vrfs: BTreeMap::from([("red", 1_000)]), ..site.section() };
    let seed = Seed { shard: 0, shards: 1, random: [1; 32], now: Time::ZERO };
    let speaker = Speaker::new(&seed, &section, Duration::ZERO, None);
    let settings = |name: &str| {
        let peer = speaker.peers().find(name).and_then(|id| speaker.peers().get(id));
        &peer.expect("it is configured").settings
    };
    let limits = |name: &str| {
        let limits = &settings(name).limits;
        let mut all: Vec<_> = limits.iter().map(|it| (it.family, it.max)).collect();
        all.sort_unstable();
        all
    };
    let (four, six) = (Family::Ipv4Unicast, Family::Ipv6Unicast);
    assert_eq!(limits("four"), [(four, 500)]);
    assert_eq!(limits("both"), [(four, 250), (six, 250)]);
    assert_eq!(limits("given"), [(four, 250), (six, 700)]);
    assert_eq!(limits("transit"), [(four, 2_000_000)]);
    let drops = |name: &str| settings(name).customer.drops_core_attributes;
    assert_eq!(["both", "given", "transit"].map(drops), [true, false, false]);
}
