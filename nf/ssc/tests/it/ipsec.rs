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
