//! Mistakes in a section: each with its place, and what to do.

use igp::config::{Known, Ospf};

fn issues(text: &str) -> Vec<String> {
    let section: Ospf = toml::from_str(text).unwrap();
    let known = |name, address: Option<&str>, is_global| Known {
        name,
        address: address.map(|it| (it.parse().unwrap(), 24)),
        is_global,
        mtu: 1_500,
    };
    let known = [
        known("core", Some("10.0.0.1"), true),
        known("bare", None, true),
        known("red", Some("10.1.0.1"), false),
    ];
    let mut issues = Vec::new();
    section.validate("ospf", &known, &mut issues);
    issues.iter().map(|it| format!("{}: {} ({})", it.path, it.what, it.hint)).collect()
}

#[test]
fn a_section_of_a_few_lines_is_whole() {
    let text = "router_id = \"192.0.2.1\"\n[[area]]\nid = \"0.0.0.0\"\n\
                interface = [{ name = \"core\" }]";
    assert_eq!(issues(text), Vec::<String>::new());
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
bfd = { interval_ms = 10 }
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
            "ospf.area[1].interface[1].bfd.interval_ms: 10 is out of range (use 50 to 10000)",
        ]
    );
}
