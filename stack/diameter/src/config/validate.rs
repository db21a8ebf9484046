//! What the types alone cannot refuse.

use super::{Carriage, LISTENERS_MAX, Route, Section, application};
use config::{Issue, meant};
use diameter::row::Application;
use diameter::rows::APPLICATIONS;
use diameter::{HOPS_MAX, PEERS_MAX, ROUTES_MAX};
use std::collections::{BTreeMap, BTreeSet};

/// Addresses of one peer at most.
const ADDRESSES_MAX: usize = 16;
/// Octets that may wait for one peer: at least, at most.
const SEND_QUEUE_OCTETS: (u32, u32) = (1 << 18, 1 << 30);

fn is_name(name: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_');
    (1..=255).contains(&name.len()) && name.bytes().all(is_letter)
}

impl Section<'_> {
    /// Pushes what the types alone cannot refuse; paths are relative to the tables that the
    /// function lends: those of the node, `peer` and `route`.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate_node(issues);
        self.validate_peers(issues);
        self.validate_routes(issues);
    }

    fn validate_node(&self, issues: &mut Vec<Issue>) {
        let node = self.node;
        for (key, name) in [("host", &node.host), ("realm", &node.realm)] {
            if !is_name(name) {
                let what = format!("`{name}` is no name of a host or realm");
                issues.push(Issue::new(key, what, "write it as in the DNS: hss.example.org"));
            }
        }
        if let Err(name) = node.parameters().validate() {
            let what = format!("{name} is out of its range");
            let hint = "times are 10 ms to an hour, the watchdog 6 s at least, limits 1 at least";
            issues.push(Issue::new("timers", what, hint));
        }
        if node.limits.strangers_of_source_max == 0 {
            let what = "nobody could connect";
            issues.push(Issue::new("limits.strangers_of_source_max", what, "use 1 or more"));
        }
        let tls = node.tls.iter().flat_map(|tls| &tls.listen);
        let listens: Vec<_> = node.tcp.listen.iter().chain(tls).collect();
        if listens.len() > usize::from(LISTENERS_MAX) {
            let hint = format!("use {LISTENERS_MAX} or fewer");
            issues.push(Issue::new("tcp.listen", "too many addresses", hint));
        }
        let mut seen = BTreeSet::new();
        for listen in listens.into_iter().filter(|it| !seen.insert(**it)) {
            let what = format!("{listen} is listened on twice");
            issues.push(Issue::new("tcp.listen", what, "use another port"));
        }
        let (least, most) = SEND_QUEUE_OCTETS;
        let octets = node.tcp.send_queue_octets_max;
        if !(least..=most).contains(&octets) {
            let what = format!("{octets} is out of range");
            let hint = format!("use {least} to {most}");
            issues.push(Issue::new("tcp.send_queue_octets_max", what, hint));
        }
        if let Some(sctp) = &node.sctp {
            let mut inner = Vec::new();
            sctp.validate(&mut inner);
            if sctp.parameters.partial_delivery_point.unwrap_or(0) > 0 {
                let what = "Diameter takes whole messages";
                inner.push(Issue::new("parameters.partial_delivery_point", what, "leave it out"));
            }
            issues.extend(inner.into_iter().map(|issue| issue.under("sctp")));
        }
    }

    fn validate_peers(&self, issues: &mut Vec<Issue>) {
        if self.peer.len() > PEERS_MAX {
            let what = format!("{} peers", self.peer.len());
            issues.push(Issue::new("peer", what, format!("use {PEERS_MAX} or fewer")));
        }
        let (mut names, mut hosts) = (BTreeSet::new(), BTreeSet::new());
        for (n, peer) in self.peer.iter().enumerate() {
            let at = format!("peer[{n}]");
            let mut push = |key: &str, what: String, hint: &str| {
                issues.push(Issue::new(format!("{at}{key}"), what, hint));
            };
            if peer.name.is_empty() || !names.insert(&peer.name) {
                let what = format!("the name `{}` is empty or given twice", peer.name);
                push(".name", what, "names are unique");
            }
            if !is_name(&peer.host) || !peer.realm.as_deref().is_none_or(is_name) {
                let what = String::from("no name of a host or realm");
                push(".host", what, "write it as in the DNS: hss.example.org");
            } else if !hosts.insert(peer.host.to_ascii_lowercase()) {
                push(".host", format!("the host `{}` stands twice", peer.host), "name it once");
            } else if peer.host.eq_ignore_ascii_case(&self.node.host) {
                let what = format!("`{}` is this node's own host", peer.host);
                push(".host", what, "a peer has a host of its own");
            }
            if peer.connect && peer.addresses.is_empty() {
                let hint = "give it addresses, or let it connect to this node";
                push("", String::from("there is no address to connect to"), hint);
            }
            if peer.addresses.len() > ADDRESSES_MAX {
                push(
                    ".addresses",
                    format!("{} addresses", peer.addresses.len()),
                    "use 16 or fewer",
                );
            }
            let lacks = match peer.transport {
                Carriage::Tcp => !peer.connect && self.node.tcp.listen.is_empty(),
                Carriage::Tls => {
                    let tls = self.node.tls.as_ref();
                    tls.is_none_or(|tls| !peer.connect && tls.listen.is_empty())
                }
                Carriage::Sctp => self.node.sctp.is_none(),
            };
            if lacks {
                let hint = "add tcp.listen, tls or sctp, or set another transport";
                push(".transport", String::from("this node has no port for it"), hint);
            }
            for (m, name) in peer.applications.iter().enumerate() {
                self.validate_application(name, format!("{at}.applications[{m}]"), issues);
            }
            if peer.transport == Carriage::Sctp && peer.connect {
                let mut inner = Vec::new();
                peer.endpoint().validate(&mut inner);
                issues.extend(inner.into_iter().map(|issue| issue.under(&at)));
            }
        }
    }

    fn validate_application(&self, name: &str, at: String, issues: &mut Vec<Issue>) {
        let id = application(name);
        if id.is_some_and(|id| self.node.relays || self.applications.contains(&id)) {
            return;
        }
        let is_own = |it: &&&Application| self.applications.contains(&it.id);
        let names = || APPLICATIONS.iter().filter(is_own).map(|it| it.name);
        let what = format!("`{name}` is no application that this node speaks");
        let all: Vec<&str> = names().collect();
        let hint = meant(name, names(), format!("it speaks {}", all.join(", ")));
        issues.push(Issue::new(at, what, hint));
    }

    fn validate_routes(&self, issues: &mut Vec<Issue>) {
        let routes = self.routes();
        if routes.len() > ROUTES_MAX {
            let what = format!("{} routes", routes.len());
            issues.push(Issue::new("route", what, format!("use {ROUTES_MAX} or fewer")));
        }
        for route in routes.iter().skip(self.route.len()).filter(|it| it.to.len() > HOPS_MAX) {
            let of = route.application.unwrap_or_default();
            let what = format!("{} peers of one realm and application {of}", route.to.len());
            issues.push(Issue::new("peer", what, format!("use {HOPS_MAX} or fewer")));
        }
        let mut seen = BTreeMap::new();
        for (n, route) in self.route.iter().enumerate() {
            let at = format!("route[{n}]");
            let realm = route.realm.as_ref().map(|it| it.to_ascii_lowercase());
            if seen.insert((realm, route.application), n).is_some() {
                let what = "another route has this realm and application";
                issues.push(Issue::new(&at, what, "join them"));
            }
            self.validate_route(route, &at, issues);
        }
    }

    fn validate_route(&self, route: &Route, at: &str, issues: &mut Vec<Issue>) {
        if route.to.is_empty() == route.redirect.is_empty() {
            let what = "a route has either `to` or `redirect`";
            issues.push(Issue::new(at, what, "name peers, or hosts to redirect to"));
        }
        if route.to.len() > HOPS_MAX || route.redirect.len() > HOPS_MAX {
            let hint = format!("use {HOPS_MAX} or fewer");
            issues.push(Issue::new(at, "too many of them", hint));
        }
        if !route.realm.as_deref().is_none_or(is_name) {
            issues.push(Issue::new(format!("{at}.realm"), "no name of a realm", "write it"));
        }
        for (n, to) in route.to.iter().enumerate() {
            if !self.peer.iter().any(|peer| peer.name == to.peer) {
                let what = format!("there is no peer `{}`", to.peer);
                let hint = "add a peer with that name";
                issues.push(Issue::new(format!("{at}.to[{n}].peer"), what, hint));
            }
        }
        for (n, uri) in route.redirect.iter().enumerate() {
            if !uri.starts_with("aaa://") && !uri.starts_with("aaas://") {
                let what = format!("`{uri}` is no URI of Diameter");
                let hint = "write aaa://host.example.org";
                issues.push(Issue::new(format!("{at}.redirect[{n}]"), what, hint));
            }
        }
    }
}
