//! Mistakes in a section: each with its place, and what to do.

use igp::config::Known;
use ldp_stack::config::Ldp;
use std::net::Ipv4Addr;

fn issues(text: &str) -> Vec<String> {
    let section: Ldp = toml::from_str(text).unwrap();
    let known = |name, address: Option<Ipv4Addr>, is_global| Known {
        name,
        address: address.map(|it| (it, 24)),
        has_address: address.is_some(),
        has_port: true,
        is_global,
        mtu: 1_500,
    };
    let own = Ipv4Addr::new(10, 0, 0, 1);
    let known =
        [known("core", Some(own), true), known("bare", None, true), known("red", Some(own), false)];
    let mut issues = Vec::new();
    section.validate("ldp", &known, &[own.into()], &mut issues);
    issues.iter().map(|it| format!("{}: {} ({})", it.path, it.what, it.hint)).collect()
}

#[test]
fn a_section_of_a_few_lines_is_whole_and_mistakes_are_named() {
    let text = "router_id = \"10.0.0.1\"\ninterface = [{ name = \"core\" }]";
    assert_eq!(issues(text), Vec::<String>::new());
    let text = "router_id = \"192.0.2.1\"\nhold_s = 2\nkeepalive_s = 1\nlabels = [3, 9]\n\
         within = [\"2001:db8::/32\"]\n\
         interface = [{ name = \"cora\" }, { name = \"bare\" }, { name = \"red\" }]";
    assert_eq!(
        issues(text),
        [
            "ldp.router_id: 192.0.2.1 is no address of an interface of the global table \
             (name one in `transport`: sessions end there)",
            "ldp.hold_s: it is out of range (use 15)",
            "ldp.keepalive_s: it is out of range (use 180)",
            "ldp.labels: 3 to 9 are no labels to give (use 16 to 1048575)",
            "ldp.within[0]: `2001:db8::/32` is no prefix of IPv4 (write `10.0.0.0/8`)",
            "ldp.interface[0].name: there is no interface `cora` (did you mean `core`?)",
            "ldp.interface[1].name: `bare` has no address of IPv4 (add one to its `addresses`)",
            "ldp.interface[2].name: `red` is not one of the global table \
             (remove its `vrf`, bridge or cross-connect)",
        ]
    );
}
