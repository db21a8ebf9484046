//! What the management side may ask: how the router stands, and whatever the forwarder knows.

mod section;

pub(crate) use section::{RouteCounts, route_counts};

use crate::ProviderEdge;
use crate::stations::Full;
use dataplane::{Kind, alarm};
use machine::Time;
use nodes::program::{BridgeMember, MacChange, MacLimit};
use runtime::{Answered, Ask, AskError, Effects, Ticket};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Questions to the forwarder begin so.
const PLANE: &str = "plane/";
/// The question that comes every second.
const ALARMS: &str = "alarms";

impl ProviderEdge {
    /// Answers a question, or has the forwarder asked: then the answer comes later.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        match ask.path.strip_prefix(PLANE) {
            Some(path) => self.dataplane.question(now, path, ask, ticket, out),
            None => {
                if ask.path == ALARMS {
                    self.dataplane.measure(now, out);
                }
                Some(self.own(now, ask))
            }
        }
    }

    /// What this control knows itself.
    pub(crate) fn own(&self, now: Time, ask: &Ask) -> Answered {
        match ask.path.as_str() {
            "pe/summary" => Ok(self.summary()),
            "pe/refusals" => Ok(self.refusals()),
            "pe/events" => Ok(self.events(now)),
            ALARMS => Ok(self.alarms(now)),
            path => section::answer(&self.settings, &self.route_counts, ask)
                .unwrap_or_else(|| Err(AskError::NotFound(path.to_owned()))),
        }
    }

    fn summary(&self) -> Value {
        let pe = &self.settings.pe;
        json!([{
            "forwarder": if self.dataplane.is_controlled() { "controlled" } else { "away" },
            "ports": pe.port.len(),
            "ports_up": self.dataplane.ports().0,
            "interfaces": pe.interface.len(),
            "vrfs": pe.vrf.len(),
            "cross_connects": pe.cross_connect.len(),
            "bridges": pe.bridge.len(),
            "routes": pe.route.len() + self.settings.routes.len(),
            "refusals": self.dataplane.refusals().len(),
        }])
    }

    fn refusals(&self) -> Value {
        let rows = self.dataplane.refusals().iter();
        rows.map(|(what, why)| json!({ "what": what, "why": why })).collect()
    }

    /// What happened to MAC addresses, the last first.
    fn events(&self, now: Time) -> Value {
        let rows = self.stations.recent.iter().rev().map(|(at, notice)| {
            let member = |member: BridgeMember| Some(self.member(member));
            let (event, from, to) = match notice.what {
                MacChange::Moved { from, to } => ("moved", member(from), member(to)),
                MacChange::Frozen { at } => ("frozen", None, member(at)),
                MacChange::Thawed => ("thawed", None, None),
                MacChange::Refused { at, limit } => {
                    let full = match limit {
                        MacLimit::Table => "the table is full",
                        MacLimit::Bridge => "the domain is full",
                        MacLimit::Member => "the member is full",
                    };
                    (full, None, member(at))
                }
            };
            json!({
                "seconds_ago": now.since(*at).as_secs(),
                "bridge": self.bridge(notice.bridge),
                "mac": mac(notice.mac),
                "event": event,
                "from": from,
                "at": to,
            })
        });
        rows.collect()
    }

    fn bridge(&self, number: u32) -> String {
        let name = self.dataplane.numbers().name(Kind::Bridge, number);
        name.map_or_else(|| format!("bridge {number}"), str::to_owned)
    }

    fn member(&self, member: BridgeMember) -> String {
        let (kind, word, number) = match member {
            BridgeMember::Interface(number) => (Kind::Interface, "interface", number),
            BridgeMember::Pseudowire(number) => (Kind::Pseudowire, "pseudowire", number),
        };
        let name = self.dataplane.numbers().name(kind, number);
        name.map_or_else(|| format!("{word} {number}"), str::to_owned)
    }

    fn mac_alarms(&self, now: Time, rows: &mut Vec<Value>) {
        let mut frozen: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (bridge, address, at) in self.stations.frozen(now) {
            let text = format!("{} at {}", mac(address), self.member(at));
            frozen.entry(bridge).or_default().push(text);
        }
        for (bridge, addresses) in frozen {
            let count = addresses.len();
            let text = format!("{count} moved too often and stay: {} …", addresses[0]);
            rows.push(alarm("mac-frozen", &self.bridge(bridge), "major", &text));
        }
        for (bridge, full, address) in self.stations.refused(now) {
            let what = match full {
                Full::Domain => "the domain".to_owned(),
                Full::Interface(at) => self.member(BridgeMember::Interface(at)),
                Full::Pseudowire(at) => self.member(BridgeMember::Pseudowire(at)),
            };
            let text = format!("{what} has as many MAC addresses as it may: not {}", mac(address));
            rows.push(alarm("mac-limit", &self.bridge(bridge), "minor", &text));
        }
    }

    pub(crate) fn alarms(&self, now: Time) -> Value {
        let mut rows = self.dataplane.alarms(now, &self.settings.pe.name);
        self.mac_alarms(now, &mut rows);
        Value::Array(rows)
    }
}

fn mac(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}
