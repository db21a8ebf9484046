//! Mistakes in a section: each with its place, and what to do.

use config::Issue;
use igp::config::{Isis, Known, Ospf};

fn shown(issues: &[Issue]) -> Vec<String> {
    issues.iter().map(|it| format!("{}: {} ({})", it.path, it.what, it.hint)).collect()
}

fn interfaces() -> [Known<'static>; 4] {
    let known = |name, address: Option<&str>, is_global| Known {
        name,
        address: address.map(|it| (it.parse().unwrap(), 24)),
        has_address: address.is_some(),
        has_port: name != "irb",
        is_global,
        mtu: 1_500,
    };
    [
        known("core", Some("10.0.0.1"), true),
        known("bare", None, true),
        known("red", Some("10.1.0.1"), false),
        known("irb", Some("10.2.0.1"), true),
    ]
}

fn issues(text: &str) -> Vec<String> {
    let section: Ospf = toml::from_str(text).unwrap();
    let mut issues = Vec::new();
    section.validate("ospf", &interfaces(), &mut issues);
    shown(&issues)
}

fn of_isis(text: &str) -> Vec<String> {
    let section: Isis = toml::from_str(text).unwrap();
    let mut issues = Vec::new();
    section.validate("isis", &interfaces(), &mut issues);
    shown(&issues)
}

#[test]
fn a_section_of_a_few_lines_is_whole() {
    let text = "router_id = \"192.0.2.1\"\n[[area]]\nid = \"0.0.0.0\"\n\
                interface = [{ name = \"core\" }]";
    assert_eq!(issues(text), Vec::<String>::new());
}

#[test]
fn repairs_by_segments_are_refused_with_what_there_is_instead() {
    let repair = |it: &str| {
        let text = "router_id = \"192.0.2.1\"\narea = [{ id = \"0.0.0.0\" }]\nrepair = ";
        issues(&format!("{text}\"{it}\""))
    };
    assert_eq!(
        repair("ti-lfa"),
        ["ospf.repair: `ti-lfa` repairs by segments, and no key gives this router any \
          (use `remote-lfa` with `[pe.ldp]`, or `lfa`)"]
    );
    assert_eq!(repair("lfa"), Vec::<String>::new());
}

#[test]
fn mistakes_are_named_with_their_place_and_their_hint() {
    let text = r#"
router_id = "0.0.0.0"
paths = 65
distance = 0
redistribute = [
  { from = "static", metric = 16777215, within = ["10.0.0.0/8", "2001:db8::/32"] },
  { from = "static", metric_type = 3 },
]
[[area]]
id = "0.0.0.0"
kind = "stub"
[[area.interface]]
name = "cora"
[[area.interface]]
name = "bare"
cost = 0
[[area]]
id = "0.0.0.1"
default_cost = 3
[[area.interface]]
name = "red"
hello_s = 10
dead_s = 10
[[area.interface]]
name = "core"
passive = true
bfd = { interval_ms = 4 }
"#;
    assert_eq!(
        issues(text),
        [
            "ospf.router_id: 0.0.0.0 is no number (use an address of this router)",
            "ospf.paths: 65 is out of range (use 1 to 64)",
            "ospf.distance: only connected subnets have 0 (use 1 to 255)",
            "ospf.redistribute[0].metric: 16777215 is out of range (use 16777214 or less)",
            "ospf.redistribute[0].within[1]: `2001:db8::/32` is no prefix of IPv4 \
             (write `10.0.0.0/8`)",
            "ospf.redistribute[1].metric_type: there is no type 3 (use 1 or 2)",
            "ospf.redistribute[1].from: `static` stands here already (name it once)",
            "ospf.area[0].kind: the backbone lets everything in (use `normal`)",
            "ospf.area[0].interface[0].name: there is no interface `cora` \
             (did you mean `core`?)",
            "ospf.area[0].interface[1].name: `bare` has no address of IPv4 \
             (add one to its `addresses`)",
            "ospf.area[0].interface[1].cost: nothing costs 0 (use 1 or more)",
            "ospf.area[1].default_cost: a normal area is told of no default route (remove it)",
            "ospf.area[1].interface[0].name: `red` is not one of the global table \
             (remove its `vrf`, bridge or cross-connect)",
            "ospf.area[1].interface[0].dead_s: 10 s are no time in which a hello must come \
             (use 40 or so)",
            "ospf.area[1].interface[1].passive: nothing is spoken there \
             (remove `passive`, or `key_file` and `bfd`)",
            "ospf.area[1].interface[1].bfd.interval_ms: 4 is out of range (use 5 to 10000)",
        ]
    );
}

#[test]
fn a_section_of_isis_without_keys_is_whole_and_warned_of() {
    let text = "net = \"49.0001.1921.6800.0001.00\"\n\
                interface = [{ name = \"core\" }, { name = \"irb\", passive = true }]";
    assert_eq!(of_isis(text), Vec::<String>::new());
    let section: Isis = toml::from_str(text).unwrap();
    let hint = "add `key_file`: everybody on the link is believed otherwise";
    assert_eq!(
        shown(&section.advice("isis")),
        [
            format!("isis.interface[0].key_file: hellos of `core` have no key ({hint})"),
            format!("isis.key_file: LSPs have no key ({hint})"),
        ]
    );
}

#[test]
fn mistakes_in_isis_are_named_with_their_place_and_their_hint() {
    let text = r#"
net = "49.0001.1921.6800.0001.01"
level = "1"
leak = true
paths = 0
redistribute = [
  { from = "static", metric = 16777215, within = ["2001:db8::/32", "x"] },
  { from = "default", within = ["10.0.0.0/8"] },
]
[[interface]]
name = "cora"
level = "2"
[[interface]]
name = "bare"
priority = 128
bfd = {}
[[interface]]
name = "irb"
metric = 0
hello_s = 0
[[interface]]
name = "red"
passive = true
key_file = ""
"#;
    assert_eq!(
        of_isis(text),
        [
            "isis.net: `49.0001.1921.6800.0001.01` is no network entity title \
             (write area, system ID and 00: `49.0001.1921.6800.0001.00`)",
            "isis.paths: 0 is out of range (use 1 to 64)",
            "isis.leak: there are no two levels (remove it, or use `level = \"1-2\"`)",
            "isis.redistribute[0].metric: 16777215 is out of range (use 16777214 or less)",
            "isis.redistribute[0].within[1]: `x` is no prefix (write `10.0.0.0/8`)",
            "isis.redistribute[1].within: the default route is within nothing (remove it)",
            "isis.interface[0].level: the router does not speak that level (remove it)",
            "isis.interface[0].name: there is no interface `cora` (did you mean `core`?)",
            "isis.interface[1].name: `bare` has no address (add one to its `addresses`)",
            "isis.interface[1].bfd: `bare` has no address of IPv4 (add one, or remove `bfd`)",
            "isis.interface[1].priority: it is out of range (use 0 to 127)",
            "isis.interface[2].name: `irb` has no port \
             (make it `passive`: frames leave by ports)",
            "isis.interface[2].metric: it is out of range (use 1 to 16777214)",
            "isis.interface[2].hello_s: neighbours cannot be told how long a hello holds \
             (use 10, and 3)",
            "isis.interface[3].name: `red` is not one of the global table \
             (remove its `vrf`, bridge or cross-connect)",
            "isis.interface[3].passive: nothing is spoken there \
             (remove `passive`, or `key_file` and `bfd`)",
            "isis.interface[3].key_file: the path is empty (write a file's name)",
        ]
    );
}
