//! Customers of VPNs that speak BGP to two edges: FRR and BIRD at both, with the same addresses in
//! two tables, with one AS at both sites and with two. What each is told, and packets that follow.
//!
//! ```text
//!   red:  FRR, 65100,  10.1.0.2 ── ra ┌─────┐ one ── two ┌─────┐ rb ── 10.2.0.2, BIRD, 65100 :red
//!   blue: BIRD, 65100, 10.1.0.2 ── ba │ pe1 │   labels   │ pe2 │ bb ── 10.2.0.2, FRR, 65200 :blue
//!                                     └─────┘            └─────┘
//! ```

use super::bgp::{established, frr, vtysh};
use super::igp::{Peer, awaited};
use super::{Scene, words};
use serde_json::Value;
use std::fs;

/// Two edges on a wire; the customers of each: port, table, AS, and what else is said of them.
fn edges() -> String {
    let edge = |n: u32, core: &str, customers: &[(&str, &str, u32, &str)]| {
        let other = 3 - n;
        let mut text = format!(
            "[[pe]]\nname = \"pe{n}\"\n[[pe.port]]\nname = \"{core}\"\n\
             driver = \"af_packet\"\nmtu = 1550\n[[pe.interface]]\nname = \"{core}\"\n\
             addresses = [\"192.0.2.{n}/30\"]\nmpls = true\n"
        );
        for (port, vrf, ..) in customers {
            text += &format!(
                "[[pe.port]]\nname = \"{port}\"\ndriver = \"af_packet\"\n[[pe.interface]]\n\
                 name = \"{port}\"\naddresses = [\"10.{n}.0.1/24\", \"2001:db8:{n}::1/64\"]\n\
                 vrf = \"{vrf}\"\n"
            );
        }
        for (vrf, number) in [("red", 1), ("blue", 2)] {
            text += &format!(
                "[[pe.vrf]]\nname = \"{vrf}\"\nrd = \"192.0.2.{n}:{number}\"\nroutes_max = 20\n\
                 import_targets = [\"65000:{number}\"]\nexport_targets = [\"65000:{number}\"]\n"
            );
        }
        text += &format!(
            "[pe.bgp]\nasn = 65000\nidentifier = \"192.0.2.{n}\"\n[[pe.bgp.peer]]\n\
             name = \"pe{other}\"\naddress = \"192.0.2.{other}\"\nconnect_retry_s = 2\n\
             families = [\"vpnv4\", \"vpnv6\"]\n[[pe.bgp.group]]\nname = \"customers\"\n\
             default_policy = \"accept\"\nconnect_retry_s = 2\nidle_hold_s = 1\n\
             ttl_security_hops = 1\n"
        );
        for (port, vrf, asn, more) in customers {
            let four = (port.to_string(), format!("10.{n}.0.2"), "ipv4-unicast");
            let six = (format!("{port}6"), format!("2001:db8:{n}::2"), "ipv6-unicast");
            // One has both families over IPv4.
            let all = match *port {
                "bb" => vec![(four.0, four.1, "ipv4-unicast\", \"ipv6-unicast")],
                _ => vec![four, six],
            };
            for (name, address, family) in all {
                text += &format!(
                    "[[pe.bgp.peer]]\nname = \"{name}\"\ngroup = \"customers\"\n\
                     vrf = \"{vrf}\"\naddress = \"{address}\"\nasn = {asn}\n\
                     families = [\"{family}\"]\n{more}"
                );
            }
        }
        text
    };
    let red = "as_override = true\npassword_file = \"red.key\"\n";
    edge(1, "one", &[("ra", "red", 65_100, red), ("ba", "blue", 65_100, "")])
        + &edge(2, "two", &[("rb", "red", 65_100, red), ("bb", "blue", 65_200, "")])
}

/// FRR as a customer of an edge: its AS, the edge, networks.
fn frr_customer(asn: u32, n: u32, net: &str, secret: bool) -> String {
    let password = match secret {
        true => format!(
            " neighbor 10.{n}.0.1 password of-red\n neighbor 2001:db8:{n}::1 password of-red\n"
        ),
        false => String::new(),
    };
    // Without a password it has both families over IPv4.
    let six = if secret { format!("2001:db8:{n}::1") } else { format!("10.{n}.0.1") };
    format!(
        "frr defaults datacenter
log stdout informational
router bgp {asn}
 bgp router-id 10.{n}.0.2
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.{n}.0.1 remote-as 65000
 neighbor 10.{n}.0.1 timers connect 2
 neighbor 10.{n}.0.1 ttl-security hops 1
 neighbor 2001:db8:{n}::1 remote-as 65000
 neighbor 2001:db8:{n}::1 timers connect 2
 neighbor 2001:db8:{n}::1 ttl-security hops 1
{password} address-family ipv4 unicast
  network {net}
  neighbor 10.{n}.0.1 activate
 exit-address-family
 address-family ipv6 unicast
  network 2001:db8:7{n}::/48
  neighbor {six} activate
 exit-address-family
"
    )
}

/// The same with BIRD.
fn bird_customer(asn: u32, n: u32, net: &str, secret: bool) -> String {
    let password = if secret { "password \"of-red\";" } else { "" };
    format!(
        "log \"bird.log\" all;
router id 10.{n}.0.2;
protocol device {{ scan time 1; }}
protocol kernel {{ ipv4 {{ export all; }}; }}
protocol kernel {{ ipv6 {{ export where net != 2001:db8:{n}::/64; }}; }}
protocol static {{ ipv4; route {net} blackhole; }}
protocol static {{ ipv6; route 2001:db8:7{n}::/48 blackhole; }}
protocol bgp edge {{
  local 10.{n}.0.2 as {asn};
  neighbor 10.{n}.0.1 as 65000;
  ttl security on;
  connect retry time 2;
  {password}
  ipv4 {{ import all; export where source = RTS_STATIC; }};
}}
protocol bgp edge6 {{
  local 2001:db8:{n}::2 as {asn};
  neighbor 2001:db8:{n}::1 as 65000;
  ttl security on;
  connect retry time 2;
  {password}
  ipv6 {{ import all; export where source = RTS_STATIC; }};
}}
"
    )
}

fn bird(peer: &mut Peer, text: &str) {
    fs::write(peer.folder.join("bird.conf"), text).unwrap();
    peer.start("/usr/sbin/bird", &["-f", "-c", "bird.conf", "-s", "bird.ctl"]);
}

/// What BIRD has of a prefix.
fn birdc(peer: &Peer, prefix: &str) -> String {
    let socket = peer.folder.join("bird.ctl").display().to_string();
    words(&peer.host.run(&["birdc", "-s", &socket, "show", "route", "all", prefix]).stdout)
}

#[test]
fn customers_of_the_same_addresses_speak_bgp_to_two_edges() {
    let mut scene = Scene::new();
    scene.wire("one", "two");
    for device in ["one", "two"] {
        scene.router.ip(&["link", "set", "dev", device, "mtu", "1600"]).unwrap();
    }
    let peer = |device: &str, n: u32, own: &[&str]| {
        let addresses = [format!("10.{n}.0.2/24"), format!("2001:db8:{n}::2/64")];
        Peer::new(&scene, device, &addresses.each_ref().map(String::as_str), own)
    };
    let own = |n: u32| [format!("10.6{n}.0.1/24"), format!("2001:db8:7{n}::1/48")];
    let (near, far) = (own(6), own(7));
    let (near, far) = (near.each_ref().map(|it| &**it), far.each_ref().map(|it| &**it));
    let red_near = peer("ra", 1, &[near[0], "2001:db8:71::1/48"]);
    let mut blue_near = peer("ba", 1, &[near[0], "2001:db8:71::1/48"]);
    let mut red_far = peer("rb", 2, &["10.67.0.8/32", "2001:db8:72::1/48"]);
    let blue_far = peer("bb", 2, &[far[0], "10.67.0.9/32", "2001:db8:72::1/48"]);
    super::igp::key_files(&scene, &[("red.key", "of-red\n")]);
    scene.start(&edges());
    let red_near = frr(red_near, &frr_customer(65_100, 1, "10.66.0.0/24", true));
    bird(&mut blue_near, &bird_customer(65_100, 1, "10.66.0.0/24", false));
    bird(&mut red_far, &bird_customer(65_100, 2, "10.67.0.0/24", true));
    let blue_far = frr(blue_far, &frr_customer(65_200, 2, "10.67.0.0/24", false));
    awaited("the sessions", || {
        let all = ["ra", "ba", "rb", "bb", "ra6", "ba6", "rb6", "pe1", "pe2"];
        established(&scene, &all)
    });
    // Each is told the routes of the far site of its own VPN, with our AS in place of its own
    // where both sites have one.
    awaited("red's far route at FRR", || {
        let said = vtysh(&red_near, "show bgp ipv4 unicast 10.67.0.0/24");
        said.contains("65000 65000")
    });
    awaited("red's far route at BIRD", || {
        birdc(&red_far, "10.66.0.0/24").contains("BGP.as_path: 65000 65000")
    });
    awaited("blue's far route at BIRD", || {
        birdc(&blue_near, "10.67.0.0/24").contains("BGP.as_path: 65000 65200")
    });
    awaited("blue's far route at FRR", || {
        vtysh(&blue_far, "show bgp ipv4 unicast 10.66.0.0/24").contains("65000 65100")
    });
    awaited("IPv6", || {
        vtysh(&red_near, "show bgp ipv6 unicast").contains("2001:db8:72::/48")
            && birdc(&blue_near, "2001:db8:72::/48").contains("65200")
    });
    // Packets follow, from kernel to kernel, and nobody reaches the other VPN.
    awaited("the kernels", || {
        let all = [&red_near, &blue_near].iter().all(|it| it.routes().contains("10.67.0.0/24"));
        all && red_far.routes().contains("10.66.0.0/24")
            && blue_far.routes().contains("10.66.0.0/24")
    });
    red_near.host.reaches("10.67.0.8");
    blue_near.host.reaches("10.67.0.9");
    awaited("the kernels' IPv6", || {
        let has = |peer: &Peer, to: &str| peer.routes().contains(to);
        let all = has(&red_near, "2001:db8:72::/48")
            && has(&blue_near, "2001:db8:72::/48")
            && has(&red_far, "2001:db8:1::/64")
            && has(&blue_far, "2001:db8:1::/64");
        if !all {
            for peer in [&red_near, &blue_near, &red_far, &blue_far] {
                eprintln!("{}", peer.routes());
            }
        }
        all
    });
    red_near.host.reaches("2001:db8:72::1");
    blue_near.host.reaches("2001:db8:72::1");
    assert!(!red_near.host.ping(&["-c", "2", "-W", "1"], "10.67.0.9").0, "it is blue's");
    // What is asked of a table is of that one.
    let rows = scene.rows(&["bgp", "peers", "pe1", "--vrf", "red"]);
    let peers: Vec<_> = rows.iter().map(|it| (it["peer"].clone(), it["vrf"].clone())).collect();
    assert_eq!(peers, ["ra", "ra6"].map(|it| (Value::from(it), Value::from("red"))));
    let routes = |vrf: &str| {
        let rows = scene.rows(&["bgp", "routes", "pe1", "ipv4-unicast", "--vrf", vrf]);
        let near = rows.into_iter().find(|it| it["route"] == "10.66.0.0/24").unwrap();
        near["peer"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!([routes("red"), routes("blue")], ["ra", "ba"]);
    let fib = scene.rows(&["bgp", "fib", "pe1", "--within", "10.64.0.0/14"]);
    let shown = |vrf: &str, prefix: &str| {
        let row = fib.iter().find(|it| it["vrf"] == vrf && it["prefix"] == prefix).unwrap();
        (row["next_hops"][0].as_str().unwrap().to_owned(), row["in_use"] == true)
    };
    assert_eq!(shown("red", "10.66.0.0/24"), ("10.1.0.2".to_owned(), true));
    assert_eq!(shown("blue", "10.67.0.0/24"), ("192.0.2.2".to_owned(), true));
    // A customer that is gone takes its routes along, at the far site as well, and no others.
    let told = || vtysh(&blue_far, "show bgp ipv4 unicast").contains("10.66.0.0/24");
    scene.ctl(&["bgp", "shutdown", "pe1", "ba"]);
    awaited("the loss", || !told());
    assert!(vtysh(&red_near, "show bgp ipv4 unicast").contains("10.67.0.0/24"));
    scene.ctl(&["bgp", "enable", "pe1", "ba"]);
    awaited("the route again", told);
    blue_near.host.reaches("10.67.0.9");
    // More than a table may have: an alarm, and whoever is reached is so still.
    let alarms = || scene.ctl(&["alarms"]);
    assert!(!alarms().contains("vrf-routes-exceeded"));
    scene.change(&edges().replace("routes_max = 20", "routes_max = 3"));
    awaited("the alarm", || alarms().contains("vrf-routes-exceeded"));
    red_near.host.reaches("10.67.0.8");
    scene.change(&edges());
    awaited("its end", || !alarms().contains("vrf-routes-exceeded"));
    for pe in ["pe1", "pe2"] {
        let refused = scene.rows(&["plane", "refusals", pe]);
        assert_eq!(refused, Vec::<Value>::new(), "{pe}");
    }
}
