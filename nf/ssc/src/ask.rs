//! What the management side may ask: rows for people and programs.

pub(crate) mod rows;

use crate::Controller;
use crate::call::{Call, State};
use crate::metrics::{Metric, show_next_hops};
use crate::replica::Left;
use admission::{LimitRow, PoolRow, ReportRow, UnitsRow};
use ims::{ExplainRow, IpsecRow, RegEventRow};
use machine::Time;
use machine::identity::{hex, unhex};
use machine::slots::Key;
use media_stack::ControllerRow;
use overload::ALL;
use policing::kernel::KernelRow;
use question::{Condition, Either, Parameter, Question, questions};
use rows::{
    BlacklistRow, CallRow, CaptureRow, ClearedRow, HandOverRow, PolicingRow, RealmRow,
    RegistrationRow, RuleRow, TerminatedRow,
};
use runtime::{Ask, AskError, Effects};
use serde_json::Value;
use sip_stack::NextHopRow;

/// Rows of one answer at most, unless `limit` asks for fewer.
const ROWS_MAX: usize = 1000;

/// What a question comes with.
pub(crate) struct Asked<'a> {
    now: Time,
    ask: &'a Ask,
    out: &'a mut Effects,
}

type Serve = fn(&mut Controller, &mut Asked<'_>) -> Result<Value, AskError>;

const LIMIT: Parameter = Parameter::number("limit", "rows at most, of each shard");
const IMPI: Parameter = Parameter::text("impi", "only of this private identity");

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The calls that run.
    Ask "calls" [LIMIT] -> Vec<CallRow>, |it, asked| show_calls(it, asked.ask);
    /// Ends a call.
    Act "calls/terminate" [Parameter::text("id", "as `calls` shows it").required()]
        -> Vec<TerminatedRow>, |it, asked| terminate(it, asked.now, asked.ask, asked.out);
    /// Leaves new requests to the other node of the pair.
    Internal "hand-over" [Parameter::text("left", "what is left unanswered").required()]
        -> Vec<HandOverRow>, |it, asked| hand_over(it, asked.ask);
    /// The registrations.
    Ask "registrations" [LIMIT] -> Vec<RegistrationRow>,
        |it, asked| show_registrations(it, asked.now, asked.ask);
    /// The limits and what counts against them.
    Ask "limits" [] -> Vec<Either<LimitRow, UnitsRow>>, |it, _| Ok(it.overload.limits.show());
    /// What each shard holds of the site's pool of sessions.
    Ask "pool" [] -> Vec<PoolRow>, |it, asked| {
        let refused = it.egress.metrics.read(Metric::PoolRefused);
        let is_standby = it.pair.state.is_standby();
        let live = it.overload.limits.sessions();
        Ok(it.overload.share.show(asked.now, it.shard, live, is_standby, refused))
    };
    /// Tells the keeper of the pool what is held, and takes what it grants.
    Internal "pool/exchange" [] -> Vec<ReportRow>, |it, asked| {
        let live = (!it.pair.state.is_standby()).then(|| it.overload.limits.sessions());
        it.overload.share.exchange(asked.now, asked.ask, it.shard, live)
    };
    /// The rules of header manipulation.
    Ask "rules" [] -> Vec<RuleRow>, |it, _| Ok(show_rules(it));
    /// The targets of the next hops.
    Ask "next-hops" [] -> Vec<NextHopRow>, |it, asked| Ok(it.border.show_next_hops(asked.now));
    /// The realms and their listeners.
    Ask "realms" [] -> Vec<RealmRow>, |it, _| Ok(show_realms(it));
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| {
        show_next_hops(&it.border.hops, &it.next_hop_table, asked.now);
        Ok(show_alarms(it, asked.now))
    };
    /// The media controllers as each shard knows them, and what it leases of each.
    Ask "media-controllers" [] -> Vec<ControllerRow>, |it, _| Ok(it.media.show());
    /// What the shield does: a row for each shard, and one for the kernel where it helps.
    Ask "shield" [] -> Vec<Either<PolicingRow, KernelRow>>,
        |it, asked| Ok(vec![Either::A(it.policing.show(asked.now, it.shard))]);
    /// The sources on the blacklist.
    Ask "blacklist" [] -> Vec<BlacklistRow>,
        |it, asked| Ok(it.policing.blacklist(asked.now, it.shard));
    /// Takes sources off the blacklist.
    Act "blacklist/clear" [Parameter::text("address", "only this one")] -> Vec<ClearedRow>,
        |it, asked| it.policing.clear(asked.ask, it.shard);
    /// The security agreements with phones of IMS and their associations, without keys.
    Ask "ipsec" [LIMIT, IMPI] -> Vec<IpsecRow>, |it, asked| {
        Ok(it.ims.show(named(asked.ask, "impi"), limit(asked.ask)?))
    };
    /// Why registrations of IMS failed of late, the newest first.
    Ask "ims/explain" [LIMIT, IMPI] -> Vec<ExplainRow>, |it, asked| {
        Ok(it.ims.explain(asked.now, named(asked.ask, "impi"), limit(asked.ask)?))
    };
    /// The subscriptions of a P-CSCF to what becomes of registrations at the core.
    Ask "ims/reg-events" [LIMIT, Parameter::text("identity", "only of this public user identity")]
        -> Vec<RegEventRow>, |it, asked| {
            Ok(it.ims.show_reg_events(named(asked.ask, "identity"), limit(asked.ask)?))
        };
    /// What each shard captures for the service assurance.
    Ask "capture" [] -> Vec<CaptureRow>, |it, asked| Ok(show_capture(it, asked.now));
}

/// What an SSC may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

/// Answers a question, or does what is asked.
pub(crate) fn answer(
    of: &mut Controller,
    now: Time,
    ask: &Ask,
    out: &mut Effects,
) -> Result<Value, AskError> {
    gauges(of);
    of.policing.gauges(now, &of.egress.metrics);
    pool_gauges(of, now);
    of.media.gauges();
    let serve = question::find(QUESTIONS, &ask.path);
    let serve = serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?;
    serve(of, &mut Asked { now, ask, out })
}

/// Brings the gauges up to date.
pub(crate) fn gauges(of: &Controller) {
    let metrics = &of.egress.metrics;
    metrics.set(Metric::CallsLive, of.calls.table.len() as u64);
    metrics.set(Metric::OctetsUnderway, of.calls.relays.octets() as u64);
    metrics.set(Metric::RelaysLive, of.calls.relays.len() as u64);
    metrics.set(Metric::Captured, of.egress.capture.captured);
    metrics.set(Metric::CaptureShed, of.egress.capture.shed);
    metrics.set(Metric::CaptureThinned, of.egress.capture.thinned);
    metrics.set(Metric::TransactionsLive, of.transactions.len() as u64);
    metrics.set(Metric::BindingsLive, of.registrar.len() as u64);
    metrics.set(Metric::UnitsLive, of.overload.limits.units().into());
    metrics.set(Metric::Overloaded, of.overload.admission.overloaded_since().is_some().into());
    metrics.set(Metric::CallsWaiting, of.overload.waiting.len() as u64);
    metrics.set(Metric::TargetsDown, of.border.hops.down() as u64);
}

fn pool_gauges(of: &Controller, now: Time) {
    let (metrics, share) = (&of.egress.metrics, &of.overload.share);
    metrics.set(Metric::PoolHeld, share.held().into());
    metrics.set(Metric::PoolKeeperAway, share.is_away(now).into());
}

fn show_registrations(
    of: &Controller,
    now: Time,
    ask: &Ask,
) -> Result<Vec<RegistrationRow>, AskError> {
    let limit = limit(ask)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let rows = of.registrar.iter().take(limit).map(|(_, binding)| {
        let aliases: Vec<String> = sip::Items::new(binding.associated()).map(text).collect();
        RegistrationRow {
            aor: text(binding.aor()),
            contact: text(binding.contact()),
            realm: of.border.realms.row(binding.realm).name.clone(),
            source: binding.flow.remote.to_string(),
            transport: binding.flow.transport.word(),
            agreement: of.ims.has_agreement(&binding.flow),
            expires_at_us: binding.expires.as_micros(),
            expires_s: binding.expires.since(now).as_secs(),
            core_expires_at_us: binding.core_expires.as_micros(),
            registered_at_us: binding.registered.as_micros(),
            user_agent: text(binding.user_agent()),
            aliases,
        }
    });
    Ok(rows.collect())
}

fn show_rules(of: &Controller) -> Vec<RuleRow> {
    let rows = of.config.rule.iter().enumerate();
    rows.map(|(number, rule)| RuleRow { number, rule: rule.clone() }).collect()
}

fn show_calls(of: &Controller, ask: &Ask) -> Result<Vec<CallRow>, AskError> {
    let limit = limit(ask)?;
    let rows = of.calls.table.iter().take(limit).map(|(key, call)| call_row(of, key, call));
    Ok(rows.collect())
}

fn call_row(of: &Controller, key: Key, call: &Call) -> CallRow {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (to, from) = call.a.parties();
    let state = match call.state {
        State::Early => "early",
        State::Answered | State::Confirmed => "confirmed",
        State::Ending => "ending",
    };
    let answered = (call.answered != Time::ZERO).then(|| call.answered.as_micros());
    CallRow {
        id: identity(of.shard, key),
        state,
        from: uri_of(&text(from)),
        to: uri_of(&text(to)),
        realm_in: of.border.realms.row(call.a.realm).name.clone(),
        realm_out: of.border.realms.row(call.b.realm).name.clone(),
        started_at_us: call.started.as_micros(),
        answered_at_us: answered,
        call_id_a: text(call.a.call_id()),
        call_id_b: text(call.b.call_id()),
        trail: text(&hex(call.trail())),
    }
}

fn terminate(
    of: &mut Controller,
    now: Time,
    ask: &Ask,
    out: &mut Effects,
) -> Result<Vec<TerminatedRow>, AskError> {
    let wrong = || AskError::BadParameter("id names a call as `calls` shows it".into());
    let id = ask.params.get("id").ok_or_else(wrong)?;
    let (shard, key) = read_identity(id).ok_or_else(wrong)?;
    if shard != of.shard {
        return Ok(Vec::new()); // another shard's
    }
    if of.calls.table.at(key).is_none() {
        return Err(AskError::NotFound(format!("call {id}")));
    }
    of.tear_down(now, key, 480, "ended by the operator", out);
    of.transacted(now, out);
    Ok(vec![TerminatedRow { id: id.clone(), ended: true }])
}

/// Leaves new requests to the other node of the pair, or no more; tells how many of the kind
/// that is left still run.
fn hand_over(of: &mut Controller, ask: &Ask) -> Result<Vec<HandOverRow>, AskError> {
    let left = match ask.params.get("left").map(String::as_str) {
        Some("nothing") => Left::Nothing,
        Some("beginnings") => Left::Beginnings,
        Some("requests") => Left::Requests,
        _ => return Err(AskError::BadParameter("left is what is left unanswered".into())),
    };
    of.pair.state.hand_over(left);
    let counts = |initial: bool| initial || left != Left::Beginnings;
    let requests = of.calls.relays.iter().filter(|(_, relay)| counts(relay.initial)).count();
    Ok(vec![HandOverRow { shard: of.shard, requests }])
}

fn show_realms(of: &Controller) -> Vec<RealmRow> {
    let rows = of.border.realms.rows().iter().map(|realm| {
        let listen: Vec<String> = realm
            .listeners
            .iter()
            .map(|listener| {
                let word = listener.transport.word();
                format!("{word}:{}", listener.local)
            })
            .collect();
        RealmRow {
            name: realm.name.clone(),
            side: realm.side,
            trusted: realm.trusted,
            register_required: realm.register_required,
            listen,
        }
    });
    rows.collect()
}

fn show_alarms(of: &mut Controller, now: Time) -> Vec<Condition> {
    const UNREACHED: &str = "communications-subsystem-failure";
    let mut rows = Vec::new();
    rows.extend(of.policing.alarm(now));
    rows.extend(of.overload.share.alarm(now, of.pair.state.is_standby()));
    rows.extend(of.media.alarms(now));
    rows.extend(of.ims.alarms(now));
    rows.extend(of.border.alarms());
    if of.overload.admission.overloaded_since().is_some() {
        let text = "messages wait too long: new calls are refused with 503".to_owned();
        let row = Condition::new("overload", "admission", "major", text);
        rows.push(row.caused_by("congestion"));
    }
    if let Some(why) = of.egress.capture.trouble(now) {
        let shed = of.egress.capture.shed;
        let (severity, text) = match shed {
            0 => ("minor", format!("the collector of captured messages takes none: {why}")),
            shed => ("major", format!("captured messages are lost: {why}; {shed} so far")),
        };
        let row = Condition::new("capture-shed", "capture", severity, text);
        rows.push(row.caused_by(UNREACHED));
    }
    if of.egress.capture.is_on() && of.egress.capture.whole < ALL {
        let of_100 = of.egress.capture.whole * 100 / ALL;
        let text = format!(
            "messages wait too long: {of_100} % of the calls are captured whole, of the \
             others requests and final answers"
        );
        let row = Condition::new("capture-thinned", "capture", "minor", text);
        rows.push(row.caused_by("congestion"));
    }
    rows
}

fn show_capture(of: &Controller, now: Time) -> Vec<CaptureRow> {
    let capture = &of.egress.capture;
    vec![CaptureRow {
        shard: of.shard,
        collector: of.config.capture.collector.clone(),
        captured: capture.captured,
        shed: capture.shed,
        thinned: capture.thinned,
        whole_percent: capture.whole * 100 / ALL,
        trouble: capture.trouble(now),
    }]
}

/// Rows asked for.
fn named<'a>(ask: &'a Ask, parameter: &str) -> Option<&'a str> {
    ask.params.get(parameter).map(String::as_str)
}

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
