//! The conditions that stand: peers that are not there, realms that nobody serves.

use crate::config::Peer;
use crate::peers::Peers;
use diameter::{PeerStatus, State};
use question::Condition;

/// Probable cause of what cannot be reached, in the words of X.733.
const UNREACHED: &str = "communications-subsystem-failure";

fn peer_down(row: &Peer, status: &PeerStatus) -> Condition {
    let severity = if row.connect { "major" } else { "minor" };
    let why = match (status.why, row.connect) {
        ("", true) => "nothing was heard of it yet",
        ("", false) => "it has not connected yet",
        (why, _) => why,
    };
    let text = format!("the Diameter peer {} ({}) is not open: {why}", row.name, row.host);
    let row = Condition::new("diameter-peer-down", &*row.name, severity, text);
    row.starting(status.why.is_empty()).caused_by(UNREACHED)
}

impl Peers {
    /// The conditions that stand.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        let down = self.node.peers().filter(|(_, status)| status.state != State::Open);
        let down = down.filter_map(|(id, status)| Some(peer_down(self.rows.get(&id)?, &status)));
        let is_starting = self.node.peers().all(|(_, status)| status.why.is_empty());
        let unserved = self.node.unserved().map(|route| {
            let realm = route.realm.as_deref().unwrap_or("any other realm");
            let id = route.application;
            let name = id.and_then(|id| self.node.dictionary().application(id));
            let name = name.map(|it| it.name.to_owned()).or(id.map(|id| id.to_string()));
            let name = name.unwrap_or_else(|| String::from("any application"));
            let text =
                format!("no Diameter peer is open that could be asked for {name} of {realm}");
            let subject = format!("{realm} {name}");
            let row = Condition::new("diameter-realm-unserved", subject, "critical", text);
            row.starting(is_starting).caused_by(UNREACHED)
        });
        down.chain(unserved).collect()
    }
}
