//! Realms with IPsec: what leaves to phones leaves by their associations or not at all, whatever
//! it is that makes a controller send.

use crate::world::{SITE, World};
use runtime::{Effects, Flow, Function, Mirrored, Transport};
use std::sync::Arc;

#[test]
fn nothing_leaves_a_protected_port_in_the_clear_when_the_configuration_or_the_role_changes() {
    let site = format!(
        "{SITE}[[realm]]\nname = \"phones\"\nlisten = [\"udp:127.0.0.1:5061\"]\n[realm.ipsec]\n"
    );
    let mut world = World::new(&site);
    let local = "127.0.0.1:5062";
    let port = world.port(local, Transport::Udp);
    let far = "10.0.0.9:6100".parse().expect("a place");
    let to = Flow::to(port, Transport::Udp, local.parse().expect("a place"), far);
    let config = Arc::new(world.config.clone());
    let roles = [Mirrored::Deactivate, Mirrored::Activate { is_current: true }];
    for role in core::iter::once(None).chain(roles.map(Some)) {
        let mut out = Effects::default();
        out.send(to, |buffer| buffer.extend_from_slice(b"INVITE sip:phone SIP/2.0\r\n\r\n"));
        match role {
            None => world.controller.configure(world.now, Arc::clone(&config), &mut out),
            Some(role) => world.controller.replicate(world.now, role, &mut out),
        }
        assert_eq!(out.sends().filter(|(flow, _)| flow.remote == far).count(), 0);
    }
}

/// A section whose phones register at that address, with keys of IPsec, and more behind.
fn section(ip: &str, ipsec: &str, more: &str) -> ssc::config::Ssc {
    let text = format!(
        "name = \"sbc\"\n[registrar]\nenabled = true\n[[realm]]\nname = \"phones\"\n\
         side = \"access\"\nlisten = [\"udp:{ip}:5060\"]\nregister_required = true\n\
         [realm.ipsec]\n{ipsec}\n[[realm]]\nname = \"core\"\nside = \"core\"\ntrusted = true\n\
         listen = [\"udp:10.1.0.1:5060\"]\n[[next_hop]]\nname = \"scscf\"\nrealm = \"core\"\n\
         targets = [\"udp:10.1.0.2:5060\"]\n[[route]]\nfrom = \"phones\"\nto = [\"scscf\"]\n{more}"
    );
    toml::from_str(&text).expect("it is a section")
}

#[test]
fn past_the_kernel_goes_only_what_has_an_interface_on_this_node_and_a_change_is_told() {
    let said = |config: &ssc::config::Ssc| -> Vec<String> {
        let mut issues = Vec::new();
        config.validate(&mut issues);
        issues.into_iter().map(|it| format!("{}: {}", it.path, it.what)).collect()
    };
    let pair = "[replica]\nnode = \"a\"\nlisten = \"10.2.0.1:5997\"\npeer = \"10.2.0.2:5997\"\n\
        key_file = \"pair.key\"\naddresses = [\"10.0.0.1/24@eth0\"]\n";
    let bypass = "bypass = true";
    assert_eq!(said(&section("10.0.0.1", bypass, "")), [] as [String; 0]);
    assert_eq!(said(&section("10.0.0.1", "", pair)), [] as [String; 0]);
    for (ip, more) in [("127.0.0.1", ""), ("10.0.0.1", pair)] {
        let said = said(&section(ip, bypass, more));
        assert!(said.len() == 1 && said[0].starts_with("realm[0].ipsec.bypass: "), "{said:?}");
    }
    let [before, after] = ["", bypass].map(|keys| section("10.0.0.1", keys, ""));
    let raw = |config: &ssc::config::Ssc| {
        let ports = config.ports().into_iter();
        let ports = ports.filter(|it| matches!(it.carrier, runtime::Carrier::Raw { .. }));
        ports.map(|it| (it.id, it.carrier)).collect::<Vec<_>>()
    };
    let carrier = |bypass| runtime::Carrier::Raw { protocol: 50, bypass };
    let id = raw(&before)[0].0;
    // The listener keeps its number: what stands goes on by it.
    assert_eq!(
        (raw(&before), raw(&after)),
        (vec![(id, carrier(false))], vec![(id, carrier(true))])
    );
    assert_eq!(before.ipsec_interruptions(&before), []);
    let told = before.ipsec_interruptions(&after);
    assert_eq!(told.len(), 1);
    assert!(told[0].path == "realm[0].ipsec.bypass" && told[0].what.contains("agreements stand"));
}
