//! Whether media controllers of this site serve the groups of addresses that its realms anchor
//! media at: without them every call of such a realm is refused.

use config::{Issue, ListenAddress, meant};
use media_stack::config::ControllerConfig;
use msc::config::Msc;
use ssc::config::{Realm, Ssc};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Which of these media controllers a session controller connects to; of one that is elsewhere
/// nothing is known here.
pub fn own<'s>(all: &'s [Msc], controller: &ControllerConfig) -> Option<&'s Msc> {
    let is_there = |listen: SocketAddr, address: SocketAddr| {
        let is_any = listen.ip().is_unspecified() && address.ip().is_loopback();
        listen == address || is_any && listen.port() == address.port()
    };
    let is_its = |msc: &&Msc| {
        msc.listen.is_some_and(|listen| controller.addresses().any(|it| is_there(listen, it)))
    };
    all.iter().find(is_its)
}

/// The media controllers of a session controller, if all of them are of this site.
pub fn all_own<'s>(all: &'s [Msc], ssc: &Ssc) -> Option<Vec<&'s Msc>> {
    let own = ssc.media.controller.iter().map(|controller| own(all, controller));
    own.collect::<Option<Vec<_>>>().filter(|own| !own.is_empty())
}

/// Media controllers that a session controller looks for on this machine, where no `[[msc]]` of
/// this site listens, nor any other program.
pub fn unheard(sscs: &[Ssc], mscs: &[Msc]) -> Vec<Issue> {
    let listens: Vec<SocketAddr> = mscs.iter().filter_map(|msc| msc.listen).collect();
    let is_near = |it: &SocketAddr| {
        it.ip().is_loopback() || listens.iter().any(|listen| listen.ip() == it.ip())
    };
    let mut found = Vec::new();
    for (at, ssc) in sscs.iter().enumerate().filter(|_| !listens.is_empty()) {
        for (n, controller) in ssc.media.controller.iter().enumerate() {
            let path = format!("ssc[{at}].media.controller[{n}].address");
            let is_free = |address: &SocketAddr| {
                let (path, address) = (path.clone(), *address);
                ListenAddress { path, datagram: false, address }.try_bind().is_ok()
            };
            let address = controller.addresses().next().filter(is_near).filter(is_free);
            let Some(address) = address.filter(|_| own(mscs, controller).is_none()) else {
                continue;
            };
            let what = format!("no [[msc]] of this file listens at {address}, nor does anybody");
            let texts: Vec<String> = listens.iter().map(SocketAddr::to_string).collect();
            let near = texts.iter().map(String::as_str);
            let hint = meant(&address.to_string(), near, "add an [[msc]] with that `listen`");
            found.push(Issue::new(path, what, hint));
        }
    }
    found
}

/// Pushes the realms whose calls need ports of a group that no media controller has.
pub fn validate(sscs: &[Ssc], mscs: &[Msc], issues: &mut Vec<Issue>) {
    for (at, ssc) in sscs.iter().enumerate() {
        let Some(own) = all_own(mscs, ssc) else { continue };
        let groups = own.iter().flat_map(|msc| &msc.group).map(|group| group.name.as_str());
        let groups: BTreeSet<&str> = groups.collect();
        for (n, realm) in ssc.realm.iter().enumerate() {
            let named = realm.media.as_ref().and_then(|media| media.group.as_deref());
            let group = named.unwrap_or(&realm.name);
            if groups.contains(group) || !is_anchored(ssc, realm) {
                continue;
            }
            let what = format!(
                "no media controller has the group `{group}`: calls of this realm are refused (503)"
            );
            let (key, of) = match (named, &realm.media) {
                (Some(_), _) => ("media.group", ""),
                (None, Some(_)) => ("media", "name it as `group`; "),
                (None, None) => ("name", "name it as `media = { group = … }`; "),
            };
            let near = meant(group, groups.iter().copied(), "add [[msc.group]] with that name");
            let hint = format!("{of}{near}");
            issues.push(Issue::new(format!("ssc[{at}].realm[{n}].{key}"), what, hint));
        }
    }
}

/// Whether media of a realm pass a media controller: for its own sake, or for that of a realm which
/// a route joins it to.
fn is_anchored(ssc: &Ssc, realm: &Realm) -> bool {
    let anchors = |it: &Realm| it.media.as_ref().is_some_and(|media| media.anchor);
    let anchors_by_name =
        |name: &str| ssc.realm.iter().any(|other| other.name == name && anchors(other));
    let joins = ssc.route.iter().any(|route| {
        let hops = ssc.next_hop.iter().filter(|hop| route.to.contains(&hop.name));
        let mut realms = hops.map(|hop| hop.realm.as_str());
        if route.from == realm.name {
            realms.any(anchors_by_name)
        } else {
            anchors_by_name(&route.from) && realms.any(|name| name == realm.name)
        }
    });
    anchors(realm) || joins
}
