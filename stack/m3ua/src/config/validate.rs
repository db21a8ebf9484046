//! What the types alone cannot refuse of the links.

use super::{Carriage, PEERS_MAX, PeerRole, Section, TCP_LISTENERS_MAX};
use config::Issue;
use std::collections::BTreeMap;

/// Addresses of one peer at most.
const ADDRESSES_MAX: usize = 16;
/// Octets that may wait for one peer over TCP: at least, at most.
const SEND_QUEUE_OCTETS: (u32, u32) = (1 << 17, 1 << 30);

impl Section<'_> {
    /// Pushes what the types alone cannot refuse; paths are relative to the section of the
    /// function.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate_endpoints(issues);
        self.validate_peers(issues);
    }

    fn validate_endpoints(&self, issues: &mut Vec<Issue>) {
        if let Some(sctp) = self.sctp {
            let mut inner = Vec::new();
            sctp.validate(&mut inner);
            if sctp.parameters.partial_delivery_point.unwrap_or(0) > 0 {
                let what = "M3UA takes whole messages";
                inner.push(Issue::new("parameters.partial_delivery_point", what, "leave it out"));
            }
            issues.extend(inner.into_iter().map(|issue| issue.under("sctp")));
        }
        if self.tcp.listen.len() > usize::from(TCP_LISTENERS_MAX) {
            let hint = format!("use {TCP_LISTENERS_MAX} or fewer");
            issues.push(Issue::new("tcp.listen", "too many addresses", hint));
        }
        for (n, listen) in self.tcp.listen.iter().enumerate() {
            if self.tcp.listen[..n].contains(listen) {
                let what = format!("{listen} is listened on twice");
                issues.push(Issue::new(format!("tcp.listen[{n}]"), what, "use another port"));
            }
        }
        let (least, most) = SEND_QUEUE_OCTETS;
        let octets = self.tcp.send_queue_octets_max;
        if !(least..=most).contains(&octets) {
            let what = format!("{octets} is out of range");
            let hint = format!("use {least} to {most}");
            issues.push(Issue::new("tcp.send_queue_octets_max", what, hint));
        }
    }

    fn validate_peers(&self, issues: &mut Vec<Issue>) {
        if self.peer.len() > PEERS_MAX {
            let what = format!("{} peers", self.peer.len());
            issues.push(Issue::new("peer", what, format!("use {PEERS_MAX} or fewer")));
        }
        let (key, mut seen) = (self.key, BTreeMap::new());
        for (n, peer) in self.peer.iter().enumerate() {
            let at = format!("peer[{n}]");
            validate_name(&peer.name, seen.insert(&peer.name, n).is_some(), &at, issues);
            if peer.connect && peer.addresses.is_empty() {
                let hint = "give it addresses, or let it connect to this node";
                issues.push(Issue::new(&*at, "there is no address to connect to", hint));
            }
            let most =
                if peer.transport == Carriage::Tcp && peer.connect { 1 } else { ADDRESSES_MAX };
            if peer.addresses.len() > most {
                let what = format!("{} addresses", peer.addresses.len());
                let hint = format!("use {most} at most");
                issues.push(Issue::new(format!("{at}.addresses"), what, hint));
            }
            if peer.transport == Carriage::Tcp && !peer.connect && self.tcp.listen.is_empty() {
                let hint = format!("add [{key}.tcp] with listen, or set connect = true");
                let what = "nothing listens for connections over TCP";
                issues.push(Issue::new(format!("{at}.transport"), what, hint));
            }
            if peer.transport == Carriage::Sctp && self.sctp.is_none() {
                let hint = format!("add [{key}.sctp] with addresses, or set transport = \"tcp\"");
                issues.push(Issue::new(&*at, "there is no SCTP endpoint for it", hint));
            }
            if peer.transport == Carriage::Sctp && peer.connect {
                let mut inner = Vec::new();
                peer.endpoint().validate(&mut inner);
                issues.extend(inner.into_iter().map(|issue| issue.under(&at)));
            }
            if peer.asks.is_some() && peer.role != PeerRole::Ipsp {
                let hint = "remove it: only a single exchange between IPSPs leaves it open";
                let what = "the role says who asks";
                issues.push(Issue::new(format!("{at}.asks"), what, hint));
            }
        }
    }
}

/// Pushes what is wrong with the name of a section.
pub fn validate_name(name: &str, twice: bool, at: &str, issues: &mut Vec<Issue>) {
    if name.is_empty() {
        issues.push(Issue::new(format!("{at}.name"), "the name is empty", "give it a name"));
    } else if twice {
        let what = format!("the name `{name}` is given twice");
        issues.push(Issue::new(format!("{at}.name"), what, "names are unique"));
    }
}
