//! What the management side may ask: how the router stands, and whatever the forwarder knows.

use crate::ProviderEdge;
use crate::numbers::Kind;
use crate::stations::Full;
use forwarder::wire::WorkerState;
use machine::Time;
use nodes::program::{BridgeMember, MacChange, MacLimit};
use runtime::{Ask, AskError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The alarm of a worker's crash stands so long.
const CRASHED: machine::Duration = machine::Duration::from_secs(600);
/// Questions to the forwarder begin so.
const PLANE: &str = "plane/";
/// Time for the forwarder to answer.
const PATIENCE: Duration = Duration::from_secs(3);

impl ProviderEdge {
    /// Answers a question.
    pub(crate) fn answer(&self, now: Time, ask: &Ask) -> Result<Value, AskError> {
        match ask.path.as_str() {
            "pe/summary" => Ok(self.summary()),
            "pe/refusals" => Ok(self.refusals()),
            "pe/events" => Ok(self.events(now)),
            "alarms" => Ok(self.alarms(now)),
            path => match path.strip_prefix(PLANE) {
                Some(path) => self.ask_forwarder(path, ask),
                None => Err(AskError::NotFound(path.to_owned())),
            },
        }
    }

    /// Names of ports and interfaces in parameters become numbers, and numbers in the answer
    /// names.
    fn ask_forwarder(&self, path: &str, ask: &Ask) -> Result<Value, AskError> {
        let mut params = Vec::new();
        for (name, value) in &ask.params {
            let kind = match name.as_str() {
                "port" => Some(Kind::Port),
                "interface" => Some(Kind::Interface),
                "vrf" if value != crate::compile::GLOBAL => Some(Kind::Vrf),
                "bridge" => Some(Kind::Bridge),
                "filter" => Some(Kind::Filter),
                _ => None,
            };
            let value = match kind {
                None => value.clone(),
                Some(kind) => {
                    let number = self.numbers.known(kind, value);
                    number.ok_or_else(|| AskError::NotFound(format!("{name} {value}")))?.to_string()
                }
            };
            params.push((name.clone(), value));
        }
        let socket = &self.settings.launch.socket;
        let mut answer = forwarder::ask(socket, path, &params, PATIENCE).map_err(|why| {
            if self.control.is_some() { AskError::BadParameter(why) } else { AskError::Unreachable }
        })?;
        let rows = answer.as_array_mut().into_iter().flatten();
        rows.for_each(|row| self.name_numbers(row));
        Ok(answer)
    }

    fn name_numbers(&self, row: &mut Value) {
        let kinds = [
            ("interface", Kind::Interface),
            ("port", Kind::Port),
            ("vrf", Kind::Vrf),
            ("bridge", Kind::Bridge),
            ("filter", Kind::Filter),
            ("policer", Kind::Policer),
        ];
        for (key, kind) in kinds {
            let number = row.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
            if let Some(name) = number.and_then(|number| self.numbers.name(kind, number)) {
                row[key] = json!(name);
            }
        }
    }

    fn summary(&self) -> Value {
        let pe = &self.settings.pe;
        json!([{
            "forwarder": if self.said.is_some() { "controlled" } else { "away" },
            "ports": pe.port.len(),
            "ports_up": self.links.values().filter(|up| **up).count(),
            "interfaces": pe.interface.len(),
            "vrfs": pe.vrf.len(),
            "cross_connects": pe.cross_connect.len(),
            "bridges": pe.bridge.len(),
            "routes": pe.route.len() + self.settings.routes.len(),
            "refusals": self.refusals.len(),
        }])
    }

    fn refusals(&self) -> Value {
        let rows = self.refusals.iter().map(|(what, why)| json!({ "what": what, "why": why }));
        rows.collect()
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
        let name = self.numbers.name(Kind::Bridge, number);
        name.map_or_else(|| format!("bridge {number}"), str::to_owned)
    }

    fn member(&self, member: BridgeMember) -> String {
        let (kind, word, number) = match member {
            BridgeMember::Interface(number) => (Kind::Interface, "interface", number),
            BridgeMember::Pseudowire(number) => (Kind::Pseudowire, "pseudowire", number),
        };
        let name = self.numbers.name(kind, number);
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

    fn worker_alarms(&self, now: Time, rows: &mut Vec<Value>) {
        let there = self.workers.iter().filter(|(_, (at, ..))| now < *at + CRASHED);
        for (worker, (_, state, why)) in there {
            let subject = format!("{} worker {worker}", self.settings.pe.name);
            let (name, severity, text) = match state {
                WorkerState::Hung => {
                    let text = "it made no round for 5 s: the forwarder is started anew";
                    ("worker-hung", "critical", text.to_owned())
                }
                WorkerState::Dead => ("worker-crashed", "critical", format!("it rests: {why}")),
                WorkerState::Forwards => {
                    ("worker-crashed", "major", format!("it began anew after: {why}"))
                }
            };
            rows.push(alarm(name, &subject, severity, &text));
        }
    }

    pub(crate) fn alarms(&self, now: Time) -> Value {
        let mut rows = Vec::new();
        if self.said.is_none() {
            let text = "no forwarder is there: whatever it did before, it is told nothing new";
            rows.push(alarm("forwarder-away", &self.settings.pe.name, "critical", text));
        }
        for (port, _) in self.links.iter().filter(|(_, up)| !**up) {
            let name = self.numbers.name(Kind::Port, u32::from(*port)).unwrap_or("a port");
            let text = format!("the link of {name} is down");
            rows.push(alarm("link-down", name, "major", &text));
        }
        if let Some((what, why)) = self.refusals.back() {
            let text = format!("{} refused, the last: {what}: {why}", self.refusals.len());
            rows.push(alarm("program-refused", &self.settings.pe.name, "major", &text));
        }
        self.mac_alarms(now, &mut rows);
        self.worker_alarms(now, &mut rows);
        Value::Array(rows)
    }
}

fn mac(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}

fn alarm(name: &str, subject: &str, severity: &str, text: &str) -> Value {
    json!({
        "name": name,
        "subject": subject,
        "severity": severity,
        "text": text,
        "probable_cause": "equipment-malfunction",
    })
}
