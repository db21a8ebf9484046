//! What the management side may ask: rows for people and programs.

use crate::Controller;
use crate::call::{Call, State};
use crate::facts::Fact;
use crate::next_hop::Health;
use crate::replica::Left;
use crate::token::{hex, unhex};
use machine::Time;
use machine::slots::Key;
use overload::ALL;
use runtime::{Ask, AskError, Effects};
use serde_json::{Value, json};

/// Rows of one answer at most, unless `limit` asks for fewer.
const ROWS_MAX: usize = 1000;

impl Controller {
    /// Answers a question, or does what is asked.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<Value, AskError> {
        self.gauges();
        self.shield_gauges(now);
        self.overload.pool_gauges(now, &self.wire.facts);
        match ask.path.as_str() {
            "calls" => self.show_calls(ask),
            "calls/terminate" => self.terminate(now, ask, out),
            "hand-over" => self.hand_over(ask),
            "registrations" => self.show_registrations(now, ask),
            "limits" => Ok(self.overload.limits.show()),
            "pool" => {
                let refused = self.wire.facts.read(Fact::PoolRefused);
                let is_standby = self.pair.mirror.is_standby();
                Ok(self.overload.show_pool(now, self.shard, is_standby, refused))
            }
            "pool/exchange" => {
                let is_standby = self.pair.mirror.is_standby();
                self.overload.exchange(now, ask, self.shard, is_standby)
            }
            "rules" => Ok(self.show_rules()),
            "next-hops" => Ok(self.show_next_hops(now)),
            "realms" => Ok(self.show_realms()),
            "alarms" => {
                self.border.hops.show(&self.wire.next_hops, now);
                Ok(self.show_alarms(now))
            }
            "shield" => Ok(self.show_shield(now)),
            "blacklist" => Ok(self.show_blacklist(now)),
            "blacklist/clear" => self.clear_blacklist(ask),
            "capture" => Ok(self.show_capture(now)),
            other => Err(AskError::NotFound(other.to_owned())),
        }
    }

    /// Brings the gauges up to date.
    pub(crate) fn gauges(&self) {
        let facts = &self.wire.facts;
        facts.set(Fact::CallsLive, self.calls.table.len() as u64);
        facts.set(Fact::OctetsUnderway, self.calls.relays.octets() as u64);
        facts.set(Fact::RelaysLive, self.calls.relays.len() as u64);
        facts.set(Fact::Captured, self.wire.capture.captured);
        facts.set(Fact::CaptureShed, self.wire.capture.shed);
        facts.set(Fact::CaptureThinned, self.wire.capture.thinned);
        facts.set(Fact::TransactionsLive, self.transactions.len() as u64);
        facts.set(Fact::BindingsLive, self.registrar.len() as u64);
        facts.set(Fact::UnitsLive, self.overload.limits.units().into());
        facts.set(Fact::Overloaded, self.overload.admission.overloaded_since().is_some().into());
        facts.set(Fact::CallsWaiting, self.overload.waiting.len() as u64);
        facts.set(Fact::TargetsDown, self.border.hops.down() as u64);
    }

    fn show_registrations(&self, now: Time, ask: &Ask) -> Result<Value, AskError> {
        let limit = limit(ask)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let rows = self.registrar.iter().take(limit).map(|(_, binding)| {
            let aliases: Vec<String> = sip::Items::new(binding.associated()).map(text).collect();
            json!({
                "aor": text(binding.aor()),
                "contact": text(binding.contact()),
                "realm": self.border.realms.row(binding.realm).name,
                "source": binding.flow.remote.to_string(),
                "transport": binding.flow.transport.word(),
                "expires_at_us": binding.expires.as_micros(),
                "expires_s": binding.expires.since(now).as_secs(),
                "core_expires_at_us": binding.core_expires.as_micros(),
                "registered_at_us": binding.registered.as_micros(),
                "user_agent": text(binding.user_agent()),
                "aliases": aliases,
            })
        });
        Ok(Value::Array(rows.collect()))
    }

    fn show_rules(&self) -> Value {
        let rows = self.config.rule.iter().enumerate();
        Value::Array(rows.map(|(n, rule)| json!({ "number": n, "rule": rule })).collect())
    }

    fn show_calls(&self, ask: &Ask) -> Result<Value, AskError> {
        let limit = limit(ask)?;
        let rows = self.calls.table.iter().take(limit).map(|(key, call)| self.call_row(key, call));
        Ok(Value::Array(rows.collect()))
    }

    fn call_row(&self, key: Key, call: &Call) -> Value {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (to, from) = call.a.parties();
        let state = match call.state {
            State::Early => "early",
            State::Answered | State::Confirmed => "confirmed",
            State::Ending => "ending",
        };
        let answered = (call.answered != Time::ZERO).then(|| call.answered.as_micros());
        json!({
            "id": identity(self.shard, key),
            "state": state,
            "from": uri_of(&text(from)),
            "to": uri_of(&text(to)),
            "realm_in": self.border.realms.row(call.a.realm).name,
            "realm_out": self.border.realms.row(call.b.realm).name,
            "started_at_us": call.started.as_micros(),
            "answered_at_us": answered,
            "call_id_a": text(call.a.call_id()),
            "call_id_b": text(call.b.call_id()),
            "trail": text(&hex(call.trail())),
        })
    }

    fn terminate(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Result<Value, AskError> {
        let wrong = || AskError::BadParameter("id names a call as `calls` shows it".into());
        let id = ask.params.get("id").ok_or_else(wrong)?;
        let (shard, key) = read_identity(id).ok_or_else(wrong)?;
        if shard != self.shard {
            return Ok(json!([])); // another shard's
        }
        if self.calls.table.at(key).is_none() {
            return Err(AskError::NotFound(format!("call {id}")));
        }
        self.tear_down(now, key, 480, "ended by the operator", out);
        self.transacted(now, out);
        Ok(json!([{ "id": id, "ended": true }]))
    }

    /// Leaves new requests to the other node of the pair, or no more; tells how many of the kind
    /// that is left still run.
    fn hand_over(&mut self, ask: &Ask) -> Result<Value, AskError> {
        let left = match ask.params.get("left").map(String::as_str) {
            Some("nothing") => Left::Nothing,
            Some("beginnings") => Left::Beginnings,
            Some("requests") => Left::Requests,
            _ => return Err(AskError::BadParameter("left is what is left unanswered".into())),
        };
        self.pair.mirror.hand_over(left);
        let counts = |initial: bool| initial || left != Left::Beginnings;
        let requests = self.calls.relays.iter().filter(|(_, relay)| counts(relay.initial)).count();
        Ok(json!([{ "shard": self.shard, "requests": requests }]))
    }

    fn show_next_hops(&self, now: Time) -> Value {
        let rows = self.border.hops.rows().iter().flat_map(|hop| {
            hop.endpoints.iter().map(|endpoint| {
                json!({
                    "name": hop.name,
                    "realm": self.border.realms.row(hop.realm).name,
                    "target": endpoint.flow.remote.to_string(),
                    "transport": endpoint.flow.transport.word(),
                    "state": if endpoint.health == Health::Up { "up" } else { "down" },
                    "since_us": endpoint.since.as_micros(),
                    "failures": endpoint.failures,
                    "unwanted_percent": endpoint.loss(now),
                })
            })
        });
        Value::Array(rows.collect())
    }

    fn show_realms(&self) -> Value {
        let rows = self.border.realms.rows().iter().map(|realm| {
            let listen: Vec<String> = realm
                .doors
                .iter()
                .map(|door| {
                    let word = door.transport.word();
                    format!("{word}:{}", door.local)
                })
                .collect();
            json!({
                "name": realm.name,
                "side": realm.side,
                "trusted": realm.trusted,
                "register_required": realm.register_required,
                "listen": listen,
            })
        });
        Value::Array(rows.collect())
    }

    fn show_alarms(&mut self, now: Time) -> Value {
        let mut rows = Vec::new();
        rows.extend(self.flood_alarm(now));
        rows.extend(self.overload.pool_alarm(now, self.pair.mirror.is_standby()));
        for hop in self.border.hops.rows() {
            let all = hop.endpoints.iter().all(|e| e.health == Health::Down);
            for endpoint in hop.endpoints.iter().filter(|e| e.health == Health::Down) {
                let (name, target) = (&hop.name, endpoint.flow.remote);
                let text = format!("{target} of next hop {name} does not answer its probes");
                let severity = if all { "critical" } else { "major" };
                let subject = format!("{name}/{target}");
                rows.push(alarm("next-hop-down", &subject, severity, &text, LOST));
            }
        }
        for (hop, uri, why) in self.border.lookups.lost() {
            let hop = self.border.hops.rows().get(usize::from(hop)).map_or("", |hop| &*hop.name);
            let text = format!("{uri} of next hop {hop} leads nowhere: {why}");
            rows.push(alarm("next-hop-unresolved", &format!("{hop}/{uri}"), "major", &text, LOST));
        }
        if self.overload.admission.overloaded_since().is_some() {
            let text = "messages wait too long: new calls are refused with 503";
            rows.push(alarm("overload", "admission", "major", text, CONGESTED));
        }
        let capture = &self.wire.capture;
        if let Some(why) = capture.trouble(now) {
            let text = format!("captured messages are lost: {why}; {} so far", capture.shed);
            rows.push(alarm("capture-shed", "capture", "major", &text, LOST));
        }
        if capture.is_on() && capture.whole < ALL {
            let of_100 = capture.whole * 100 / ALL;
            let text = format!(
                "messages wait too long: {of_100} % of the calls are captured whole, of the \
                 others requests and final answers"
            );
            rows.push(alarm("capture-thinned", "capture", "minor", &text, CONGESTED));
        }
        Value::Array(rows)
    }

    fn show_capture(&self, now: Time) -> Value {
        let capture = &self.wire.capture;
        json!([{
            "shard": self.shard,
            "collector": self.config.capture,
            "captured": capture.captured,
            "shed": capture.shed,
            "thinned": capture.thinned,
            "whole_percent": capture.whole * 100 / ALL,
            "trouble": capture.trouble(now),
        }])
    }
}

/// Probable causes (X.733).
const LOST: &str = "communications-subsystem-failure";
const CONGESTED: &str = "congestion";

fn alarm(name: &str, subject: &str, severity: &str, text: &str, probable_cause: &str) -> Value {
    json!({
        "name": name,
        "subject": subject,
        "severity": severity,
        "text": text,
        "probable_cause": probable_cause,
    })
}

/// Rows asked for.
fn limit(ask: &Ask) -> Result<usize, AskError> {
    match ask.params.get("limit").map(|text| text.parse::<usize>()) {
        None => Ok(ROWS_MAX),
        Some(Ok(limit)) => Ok(limit.min(ROWS_MAX)),
        Some(Err(_)) => Err(AskError::BadParameter("limit is a number".into())),
    }
}

/// How a call is named towards people: shard, slot, generation.
fn identity(shard: u16, key: Key) -> String {
    format!("{shard:x}-{:x}-{:x}", key.index, key.generation)
}

fn read_identity(text: &str) -> Option<(u16, Key)> {
    let mut words = text.split('-').map(|word| unhex(word.as_bytes()));
    let shard = u16::try_from(words.next()??).ok()?;
    let mut half = || u32::try_from(words.next()??).ok();
    let (index, generation) = (half()?, half()?);
    words.next().is_none().then_some((shard, Key { index, generation }))
}

/// The URI in a From or To value.
fn uri_of(value: &str) -> String {
    sip::NameAddr::parse(value.as_bytes()).map_or_else(
        |_| value.to_owned(),
        |address| String::from_utf8_lossy(address.uri).into_owned(),
    )
}
