//! What a session controller leaves open to others.

use crate::exposure::{is_remote, private_key, remote};
use config::Issue;
use policing::kernel::Wish;
use sip_stack::config::Tls;
use sip_stack::realm::{InDialogSource, Side};
use ssc::config::{Realm, SourcePolicing, Ssc};
use std::net::IpAddr;
use std::path::Path;

/// A registration of a phone of IMS that is not longer than this is short, in seconds.
const SHORT_S: u32 = 60;
/// A trusted prefix shorter than this is everybody, IPv4 and IPv6.
const PREFIX_BITS_MIN: [u8; 2] = [8, 16];

/// By paths below the section.
pub fn exposures(section: &Ssc, directory: &Path) -> Vec<Issue> {
    let mut found = Vec::new();
    for (r, realm) in section.realm.iter().enumerate() {
        let mut own = Vec::new();
        realm_open(realm, &mut own);
        trust(realm, &mut own);
        weak(realm, &mut own);
        realm.tls.iter().for_each(|tls| certificates(tls, realm, directory, &mut own));
        found.extend(own.into_iter().map(|issue| issue.under(&format!("realm[{r}]"))));
    }
    let has_remote = section.realm.iter().flat_map(|realm| &realm.listen).any(|at| is_remote(at));
    if has_remote {
        policing(&section.shield, &mut found);
        if section.overload.delay_target_ms == 0 && section.timers.call_max_s == 0 {
            let what = "nothing is refused under overload, and calls whose network died stand for \
                ever: what comes takes all of its time and memory";
            let hint = "leave `delay_target_ms` or `call_max_s` out";
            found.push(Issue::new("overload.delay_target_ms", what, hint));
        }
    }
    kernel_filter(section, &mut found);
    media(section, directory, &mut found);
    found
}

/// Algorithms of IPsec that were chosen by name and are weaker than those that stand without.
fn weak(realm: &Realm, found: &mut Vec<Issue>) {
    let usual = ims::Ipsec::default().algorithms;
    let Some(ipsec) = realm.ipsec.as_ref().filter(|it| it.algorithms != usual) else { return };
    for (at, text) in ipsec.algorithms.iter().enumerate() {
        let (integrity, encryption) = text.split_once('/').unwrap_or((text, ""));
        let what = match (integrity, encryption) {
            ("hmac-md5-96", "null") => {
                "phones that choose it are protected by MD5 alone, and whoever is on their way \
                 reads all that they say"
            }
            ("hmac-md5-96", _) => "it weakens: MD5 is of releases before 12 of TS 33.203",
            (_, "des-ede3-cbc") => "it weakens: 3DES is of releases before 12 of TS 33.203",
            (_, "null") => "whoever is on the way of phones that choose it reads all that they say",
            _ => continue,
        };
        let hint = "leave `algorithms` out, or name pairs with AES alone";
        found.push(Issue::new(format!("ipsec.algorithms[{at}]"), what, hint));
    }
}

/// Media controllers on other machines that nothing proves: keys of SRTP are told to them.
fn media(section: &Ssc, directory: &Path, found: &mut Vec<Issue>) {
    for (at, controller) in section.media.controller.iter().enumerate() {
        let key = controller.tls.as_ref().and_then(|tls| tls.key.as_ref());
        let at_key = format!("media.controller[{at}].tls.key");
        found.extend(key.and_then(|name| private_key(directory, at_key, name)));
        let is_remote = controller.addresses().any(|address| !address.ip().is_loopback());
        if !is_remote || controller.tls.is_some() {
            continue;
        }
        let (what, hint) = if controller.key_file.is_some() {
            let what = "whoever reads this network has the keys of protected calls: they are told \
                in clear";
            (what, "add [ssc.media.controller.tls], or keep the network private")
        } else {
            let what = "whoever answers there gets the media of calls, and the keys of protected \
                ones: nothing proves that it is the media controller";
            (what, "add [ssc.media.controller.tls] or `key_file`")
        };
        found.push(Issue::new(format!("media.controller[{at}].address"), what, hint));
    }
}

/// What its author may want to know.
pub fn advice(section: &Ssc) -> Vec<Issue> {
    let pair = section.replica.as_ref().filter(|pair| pair.arbiter.is_none());
    let what = match section.realm.iter().any(|realm| realm.ipsec.is_some()) {
        false => {
            "the pair has no arbiter: while the link between its nodes is cut, both are active"
        }
        true => {
            "the pair has no arbiter: while the link between its nodes is cut, both are active, \
             and packets to phones leave under the same keys with the same numbers"
        }
    };
    let hint = "name an `arbiter` on a third machine, or give the link two paths";
    let mut found: Vec<Issue> =
        pair.map(|_| Issue::new("replica.node", what, hint)).into_iter().collect();
    methods(section, &mut found);
    short_registrations(section, &mut found);
    found
}

/// Phones of IMS whose registrations are as short as those of phones that keep a NAT open by them.
fn short_registrations(section: &Ssc, found: &mut Vec<Issue>) {
    let seconds = section.registrar.client_expires_s;
    let is_short = |realm: &Realm| {
        realm.ipsec.is_some() && realm.client_expires_s.is_none() && seconds <= SHORT_S
    };
    for (r, realm) in section.realm.iter().enumerate().filter(|(_, it)| is_short(it)) {
        let what =
            format!("phones of the realm {} register anew every {seconds} s or sooner", realm.name);
        let hint = "write `client_expires_s = 3600` in this realm and `core_expires_s = 7200` in \
            [ssc.registrar], or as long as the core grants";
        found.push(Issue::new(format!("realm[{r}].ipsec"), what, hint));
    }
}

/// Methods of routes that are like a known one: most of them are mistyped. Others are matched as
/// they stand.
fn methods(section: &Ssc, found: &mut Vec<Issue>) {
    let known = || sip::Method::ALL.iter().map(|row| row.name()).filter(|name| !name.is_empty());
    for (r, route) in section.route.iter().enumerate() {
        for (n, name) in route.method.iter().enumerate() {
            if known().any(|row| row == name) {
                continue;
            }
            let upper = name.to_ascii_uppercase();
            let Some(near) = config::nearest(&upper, known()) else { continue };
            let what = format!("`{name}` is a method that no standard has: nobody may send it");
            let at = format!("route[{r}].method[{n}]");
            found.push(Issue::new(at, what, format!("did you mean `{near}`?")));
        }
    }
}

fn realm_open(realm: &Realm, found: &mut Vec<Issue>) {
    let has_remote = realm.listen.iter().any(|at| is_remote(at));
    if realm.ipsec.as_ref().is_some_and(|it| it.required) && !realm.register_required {
        let what = "phones must have a security agreement, and need not be registered: it outlives \
            their registration";
        found.push(Issue::new("register_required", what, "add `register_required = true`"));
    } else if realm.side == Side::Access && !realm.register_required && has_remote {
        let what = "whoever reaches this realm makes calls: nobody has to be registered";
        let hint = "add `register_required = true`, or keep the network private";
        found.push(Issue::new("listen", what, hint));
    }
    if realm.in_dialog_source() == InDialogSource::Realm && !realm.trusted && has_remote {
        let what = "whoever is in this realm and has read the names of a call ends or \
            moves it: its requests may come from anywhere";
        let hint = "leave it out, or write `in_dialog_source = \"address\"`";
        found.push(Issue::new("in_dialog_source", what, hint));
    }
    if !realm.pass_headers.is_empty() && !realm.trusted {
        let names = realm.pass_headers.join(", ");
        let what = format!("what anybody writes into {names} passes as if it were true");
        let hint = "leave it out, or remove by [[ssc.rule]] what must not pass";
        found.push(Issue::new("pass_headers", what, hint));
    }
}

/// A trusted realm that strangers reach: subscribers anywhere, and all but a private network of the
/// operator's. Certificates of clients, asked for at each of its addresses, prove who is there.
fn trust(realm: &Realm, found: &mut Vec<Issue>) {
    if !realm.trusted {
        return;
    }
    let proves = realm.tls.as_ref().is_some_and(|tls| tls.verify_clients);
    let is_open = |at: &&String| {
        let is_proved = proves && at.starts_with("tls:");
        let reaches = match realm.side {
            Side::Access => true,
            Side::Core => remote(at).is_some_and(|ip| !is_private(ip)),
        };
        is_remote(at) && reaches && !is_proved
    };
    let Some(at) = realm.listen.iter().find(is_open) else { return };
    let what = format!(
        "whoever reaches {at} asserts any identity and passes the shield: this realm believes \
         everybody"
    );
    let hint = match realm.side {
        Side::Access => "leave `trusted` out; `trusted_peers` believes named certificates",
        Side::Core => {
            "listen on an address of the operator's private network, and let the firewall take \
             only the next hops there (docs/security.md), or use tls with `verify_clients`"
        }
    };
    found.push(Issue::new("trusted", what, hint));
}

/// Addresses that are not routed on the Internet (RFC 1918, 6598, 3927, 4193, 4291).
fn is_private(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            ip.is_private() || ip.is_link_local() || (a == 100 && b & 0xC0 == 64)
        }
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

fn policing(shield: &SourcePolicing, found: &mut Vec<Issue>) {
    if !shield.enabled {
        let what = "no source is policed: one sender takes the controller from all others";
        found.push(Issue::new("shield.enabled", what, "leave it out"));
    }
    for (n, text) in shield.trusted.iter().enumerate() {
        let parts = text.split_once('/').map(|(ip, bits)| (ip.parse(), bits.parse::<u8>()));
        let Some((Ok(ip), Ok(bits))) = parts else { continue };
        let least = PREFIX_BITS_MIN[usize::from(IpAddr::is_ipv6(&ip))];
        if bits < least {
            let what = format!("{text} is nearly everybody, and passes the shield unpoliced");
            let hint = "name the networks that need it";
            found.push(Issue::new(format!("shield.trusted[{n}]"), what, hint));
        }
    }
}

/// The kernel drops before interfaces that are there.
fn kernel_filter(section: &Ssc, found: &mut Vec<Issue>) {
    let spec = section.kernel_filter();
    if spec.wish == Wish::Off {
        return;
    }
    let named = spec.interfaces.iter().map(|name| ("shield.kernel_interfaces", name));
    let awaited = spec.awaited.iter().map(|name| ("replica.addresses", name));
    for (at, name) in named.chain(awaited) {
        if driver::link::interface(name).is_err() {
            let what = format!("this machine has no interface `{name}`: the kernel drops no flood");
            found.push(Issue::new(at, what, "name one that `ip link` shows"));
        }
    }
}

fn certificates(tls: &Tls, realm: &Realm, directory: &Path, found: &mut Vec<Issue>) {
    if !tls.verify_servers {
        let what = "certificates of servers are not checked: anybody may be the next hop";
        found.push(Issue::new("tls.verify_servers", what, "leave it out, and give `roots`"));
    }
    if tls.verify_clients && tls.roots.is_none() && !realm.trusted_peers.is_empty() {
        let what = format!(
            "any authority that this machine knows may name somebody {}, who is believed then",
            realm.trusted_peers.join(" or ")
        );
        found.push(Issue::new(
            "trusted_peers",
            what,
            "give `roots` of your own in [ssc.realm.tls]",
        ));
    }
    found.extend(private_key(directory, "tls.key", &tls.key));
}
