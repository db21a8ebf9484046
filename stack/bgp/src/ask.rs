//! What the management side may ask a speaker and its tables: peers, routes, groups; and what it
//! may tell: clear, shut down, enable. Every function with a speaker answers them so.

mod peers;
mod routes;

pub use routes::{hex, key_of, prefix, wrong};

use crate::{PeerMetrics, PeerTable, RouteCounts, Tables, alarms};
use bgp::codec::{CEASE_COMMUNICATION_BYTES_MAX, RefreshKind};
use machine::Time;
use peers::{BgpSummaryRow, PeerSheet};
use question::{Condition, Form, Page, Parameter, Question, questions, rows};
use rib::PeerId;
use routes::{BgpPathRow, BgpRouteRow, CohortRow, FamilyRow};
use runtime::{Ask, AskError, Effects};
use serde_json::Value;

type Answer<T> = Result<T, AskError>;

/// What a question comes with.
pub(crate) struct Asked<'a> {
    now: Time,
    ask: &'a Ask,
    out: &'a mut Effects,
}

type Serve = fn(&mut Tables<'_>, &mut Asked<'_>) -> Answer<Value>;

rows! {
    /// A peer whose session begins anew.
    pub(crate) struct BgpClearedRow {
        peer: String,
        cleared: String,
    }

    /// How many peers were forgotten.
    pub(crate) struct ForgottenRow {
        forgotten: usize,
    }

    /// A peer that was shut down or let back.
    pub(crate) struct EnabledRow {
        peer: String,
        enabled: bool,
    }
}

const PEER: Parameter = Parameter::text("peer", "its name").required();
const VRF: Parameter =
    Parameter::text("vrf", "a routing table of a provider edge; left out: the global one");
const TEXT: Parameter = Parameter::text("text", "what the peer is told (RFC 9003)");
const FAMILY: Parameter = Parameter::text("family", "left out: ipv4-unicast");

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The peers.
    Ask "bgp/summary" [
        Parameter::text("vrf", "only customers of this routing table of a provider edge"),
    ] -> Vec<BgpSummaryRow>, |it, asked| Ok(it.show_summary(asked.now));
    /// Everything about a peer; of one that is away what is remembered of it.
    Ask "bgp/peer" [PEER] -> Vec<PeerSheet>, |it, asked| it.show_peer(asked.now, asked.ask);
    /// The routes of a family, a page at a time, each with its best path.
    Ask "bgp/routes" [
        FAMILY,
        VRF,
        Parameter::text("received", "only those of this peer"),
        Parameter::text("advertised", "only those that this peer is told"),
        Parameter::text("within", "only those within this prefix"),
        Parameter::text("text", "only those that are shown with it"),
        Parameter::new("before", Form::Flag, "also what came before the import policy"),
        Parameter::number("skip", "where the page begins"),
        Parameter::number("limit", "rows of the page, 100 if it is left out, at most 1000"),
    ] -> Page<BgpRouteRow>, |it, asked| it.show_routes(asked.ask);
    /// All paths of the route that covers a prefix best.
    Ask "bgp/route" [
        Parameter::text("prefix", "a prefix; in families without prefixes, a text").required(),
        FAMILY,
        VRF,
    ] -> Vec<BgpPathRow>, |it, asked| it.show_route(asked.ask);
    /// The update groups: who is told the same, and how far they are.
    Ask "bgp/groups" [VRF] -> Vec<CohortRow>, |it, _| Ok(it.show_groups());
    /// The tables that have routes.
    Ask "bgp/families" [VRF] -> Vec<FamilyRow>, |it, _| Ok(it.show_families());
    /// Begins the session of a peer anew.
    Act "bgp/clear" [
        PEER,
        Parameter::new(
            "how",
            Form::OneOf(&["", "soft", "hard"]),
            "soft: the routes are exchanged again; hard: without graceful restart (RFC 8538)",
        ),
        TEXT,
    ] -> Vec<BgpClearedRow>, |it, asked| it.clear(asked.now, asked.ask, asked.out);
    /// Ends the session of a peer until it is enabled again.
    Act "bgp/shutdown" [PEER, TEXT] -> Vec<EnabledRow>,
        |it, asked| it.shut_down(asked.now, asked.ask, asked.out);
    /// Forgets peers from ranges that are away.
    Act "bgp/forget" [Parameter::text("peer", "only the one of this address")]
        -> Vec<ForgottenRow>, |it, asked| it.forget(asked.ask);
    /// Lets a peer back that the operator or a limit of routes held.
    Act "bgp/enable" [PEER] -> Vec<EnabledRow>,
        |it, asked| it.enable(asked.now, asked.ask, asked.out);
}

/// What a speaker with its tables may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Tables<'_> {
    /// Answers a question, if it is one of these. The owner then takes from the speaker what it has
    /// to say, and lets the tables work.
    pub fn answer(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Option<Result<Value, AskError>> {
        let serve = question::find(QUESTIONS, &ask.path)?;
        let vrf = ask.params.get("vrf").filter(|it| self.beside.vrf() != Some(it.as_str()));
        if let Some(vrf) = vrf {
            return Some(Err(AskError::NotFound(format!("routing table {vrf}"))));
        }
        Some(serve(self, &mut Asked { now, ask, out }))
    }

    /// What is the matter with peers that are there, or should be.
    pub fn alarms(&self, now: Time) -> impl Iterator<Item = Condition> + '_ {
        let peers = self.speaker.peers().iter();
        peers.flat_map(move |(id, peer)| {
            let why = self.speaker.why(now, peer);
            alarms::of_peer(self.rib, id, peer, why)
        })
    }

    /// Peers from ranges that are away; `name` is the function's.
    pub fn away_alarms(&mut self, now: Time, name: &str) -> Vec<Condition> {
        alarms::away(self.speaker, name, now)
    }

    /// Brings the metrics of each peer up to date.
    pub fn show_peers(&self, table: &PeerTable) {
        table.show(self.peer_rows());
    }

    /// The metrics of each peer, where several speakers share a table.
    #[must_use]
    pub fn peer_rows(&self) -> Vec<PeerMetrics> {
        let told = self.routes_announced();
        self.speaker.rows(|id| {
            let families = self.speaker.peers().get(id).map(peers::families);
            let families = || families.into_iter().flat_map(bgp::family::FamilySet::iter);
            RouteCounts {
                received: families().map(|it| u64::from(self.rib.received(id, it))).sum(),
                accepted: families().map(|it| u64::from(self.rib.accepted(id, it))).sum(),
                sent: told.get(&id).map_or(0, |routes| *routes as u64),
            }
        })
    }

    fn named_peer(&self, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get("peer");
        let name = name.ok_or_else(|| AskError::BadParameter("peer names a peer".into()))?;
        self.speaker.peers().find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Begins the session of a peer anew: `soft` exchanges the routes again without ending it,
    /// `hard` ends it without graceful restart (RFC 8538).
    fn clear(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Vec<BgpClearedRow>> {
        let id = self.named_peer(ask)?;
        let text = cease_text(ask)?;
        let how = ask.params.get("how").map_or("", String::as_str);
        match how {
            "" => self.speaker.reset(now, id, text, out),
            "soft" => self.clear_soft(now, id, out)?,
            "hard" if self.speaker.reset_hard(now, id, text.as_deref(), out) => {}
            "hard" => return Err(not_up()),
            _ => return Err(AskError::BadParameter("how: soft, hard, or nothing".into())),
        }
        let peer = self.speaker.name_of(id).to_owned();
        Ok(vec![BgpClearedRow { peer, cleared: how.to_owned() }])
    }

    /// Asks the peer for its routes, and sends it ours again.
    fn clear_soft(&mut self, now: Time, id: PeerId, out: &mut Effects) -> Result<(), AskError> {
        let families = self.speaker.request_routes(now, id, out).ok_or_else(not_up)?;
        for family in families.iter() {
            self.rib.refresh(id, family, RefreshKind::Request);
        }
        Ok(())
    }

    /// Ends the session of a peer until it is enabled again.
    fn shut_down(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Vec<EnabledRow>> {
        let id = self.named_peer(ask)?;
        let text = cease_text(ask)?;
        let peer = self.speaker.name_of(id).to_owned();
        self.speaker.shut_down(now, id, text, out);
        Ok(vec![EnabledRow { peer, enabled: false }])
    }

    /// Forgets a peer from a range that is away, or all of them.
    fn forget(&mut self, ask: &Ask) -> Answer<Vec<ForgottenRow>> {
        let wrong = || AskError::BadParameter("peer is an address, or absent for all".into());
        let peer = ask.params.get("peer").map(|text| text.parse().map_err(|_| wrong()));
        let peer = peer.transpose()?;
        let forgotten = self.speaker.forget(peer);
        match peer.filter(|_| forgotten == 0) {
            Some(peer) => Err(AskError::NotFound(format!("no peer {peer} is away"))),
            None => Ok(vec![ForgottenRow { forgotten }]),
        }
    }

    /// Lets a peer back that the operator or a limit of routes held.
    fn enable(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Vec<EnabledRow>> {
        let id = self.named_peer(ask)?;
        let peer = self.speaker.name_of(id).to_owned();
        if !self.speaker.enable(now, id, out) {
            let what = "the configuration says `enabled = false`";
            return Err(AskError::BadParameter(what.into()));
        }
        Ok(vec![EnabledRow { peer, enabled: true }])
    }
}

fn not_up() -> AskError {
    AskError::BadParameter("its session does not stand".into())
}

/// What the operator says to the peer (RFC 9003).
fn cease_text(ask: &Ask) -> Result<Option<String>, AskError> {
    let text = ask.params.get("text").filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.len() > CEASE_COMMUNICATION_BYTES_MAX) {
        let what = format!("text: at most {CEASE_COMMUNICATION_BYTES_MAX} octets");
        return Err(AskError::BadParameter(what));
    }
    Ok(text.cloned())
}
