//! What the management side may ask the shard: the trails in memory, the state, the alarms.

use crate::correlator::Correlator;
use crate::live_search::LiveSearch;
use crate::metrics::Metric;
use crate::search;
use crate::trail::Trail;
use machine::{Duration, Time};
use question::{Condition, Question, questions, rows};
use runtime::{Answered, Ask, AskError, Effects, Ticket};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use store::Place;
use utoipa::ToSchema;

/// The question for trails in memory.
const LIVE: &str = "live";
/// Pause between two turns of searches, for messages.
const SEARCH_PAUSE: Duration = Duration::from_micros(200);
/// The alarm about shed messages stays for so long after the last one.
const SHED_ALARM_US: u64 = 60_000_000;

rows! {
    /// Trails in memory that match, and the place after which the store knows everything else.
    pub(crate) struct LiveRows {
        rows: Vec<String>,
        end: [u32; 2],
    }
}

impl LiveRows {
    /// From the rows of trails, as [`hex`] writes them.
    pub(crate) fn new(rows: Vec<String>, end: Place) -> Self {
        Self { rows, end: [end.partition, end.block] }
    }
}

/// Packets that had not the right key.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename = "AskedStrangerRow")]
pub(crate) struct StrangerRow {
    source: String,
    packets: u64,
}

/// What is kept, how much of what may be, since when.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename = "AskedSasStatus")]
pub(crate) struct SasStatus {
    name: String,
    live: usize,
    live_max: u32,
    messages: u64,
    events: u64,
    shed: u64,
    partitions: usize,
    bytes: u64,
    bytes_max: u64,
    first_us: Option<u64>,
    last_us: Option<u64>,
    /// Why the store cannot write.
    failing: Option<String>,
    unauthenticated: Vec<StrangerRow>,
}

/// What a question comes with.
pub(crate) struct Asked<'a> {
    now_us: u64,
    ask: &'a Ask,
}

type Serve = fn(&mut Correlator, &Asked<'_>) -> Result<Value, AskError>;

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The trails in memory that match a search.
    Internal "live" [] -> LiveRows, |it, asked| {
        let mut search = live_search(asked.ask)?;
        while !search.turn(&mut it.table) {}
        Ok(search.answer(it.writer.flush(asked.now_us)))
    };
    /// What is kept, how much of what may be, since when.
    Ask "status" [] -> SasStatus, |it, _| Ok(it.status());
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| Ok(it.alarms(asked.now_us));
}

/// What a service assurance may be asked, beside its routes.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Correlator {
    /// Answers a question.
    pub(crate) fn answer(&mut self, now_us: u64, ask: &Ask) -> Result<Value, AskError> {
        let serve = question::find(QUESTIONS, &ask.path);
        let serve = serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?;
        serve(self, &Asked { now_us, ask })
    }

    /// Answers a question, or begins what is answered in later turns ([`Correlator::search`]).
    pub(crate) fn question(&mut self, now: Time, ask: &Ask, ticket: Ticket) -> Option<Answered> {
        let now_us = now.as_micros();
        if ask.path != LIVE {
            return Some(self.answer(now_us, ask));
        }
        let mut search = match live_search(ask) {
            Ok(search) => search,
            Err(wrong) => return Some(Err(wrong)),
        };
        if search.turn(&mut self.table) {
            return Some(Ok(question::value(search.answer(self.writer.flush(now_us)))));
        }
        self.searches.push_back((ticket, search));
        self.search_at = now + SEARCH_PAUSE;
        None
    }

    /// Goes on with one of the searches that wait.
    pub(crate) fn search(&mut self, now: Time, out: &mut Effects) {
        if now < self.search_at {
            return;
        }
        let Some((ticket, mut search)) = self.searches.pop_front() else { return };
        if search.turn(&mut self.table) {
            let end = self.writer.flush(now.as_micros());
            out.answer(ticket, Ok(question::value(search.answer(end))));
        } else {
            self.searches.push_back((ticket, search));
        }
        self.search_at = now + SEARCH_PAUSE;
    }

    fn status(&self) -> SasStatus {
        let store = self.store.status();
        let lost = self.losses.lock();
        SasStatus {
            name: self.config.name.clone(),
            live: self.table.len(),
            live_max: self.config.live_max,
            messages: self.metrics.read(Metric::Messages),
            events: self.metrics.read(Metric::Events),
            shed: lost.shed,
            partitions: store.partitions,
            bytes: store.bytes,
            bytes_max: store.size_max_bytes,
            first_us: store.span_us.map(|span| span.0),
            last_us: store.span_us.map(|span| span.1),
            failing: store.failing,
            unauthenticated: lost
                .strangers
                .rows()
                .iter()
                .map(|(source, packets)| StrangerRow {
                    source: source.to_string(),
                    packets: *packets,
                })
                .collect(),
        }
    }

    fn alarms(&self, now_us: u64) -> Vec<Condition> {
        let mut rows = Vec::new();
        let mut raise = |name: &str, severity: &str, text: String, cause: &str| {
            let row = Condition::new(name, &*self.config.name, severity, text);
            rows.push(row.caused_by(cause));
        };
        let lost = self.losses.lock();
        if lost.shed_us.is_some_and(|shed_us| now_us < shed_us + SHED_ALARM_US) {
            let text = format!("messages are not kept: {} since the start", lost.shed);
            raise("sas-shedding", "major", text, "the disk is slower than what comes in");
        }
        if let Some((source, count)) = lost.strangers.loudest(now_us) {
            let all = lost.unauthenticated;
            let text = format!(
                "{all} packets had not the right key since the start, {count} of them from {source}"
            );
            raise("sas-unauthenticated", "minor", text, "an agent without the key, or forgery");
        }
        drop(lost);
        let store = self.store.status();
        if let Some(why) = store.failing {
            let text = format!("the store cannot write: {why}");
            raise("sas-store-failing", "critical", text, "disk full or broken");
        }
        if let Some(why) = store.panicked {
            let text = format!("the store's thread panicked and goes on: {why}");
            raise("sas-store-panicked", "major", text, "a fault of this program: please report it");
        }
        if let Some(what) = store.unreadable {
            let text = format!("searches leave out what cannot be read: {what}");
            raise("sas-store-unreadable", "major", text, "disk broken or files changed");
        }
        if store.damaged_bytes > 0 {
            let text = format!("{} octets of recordings are damaged", store.damaged_bytes);
            raise("sas-store-damaged", "minor", text, "disk broken or files changed");
        }
        if self.table.len() >= self.config.live_max as usize {
            let text = format!("{} trails run, as many as may", self.table.len());
            raise("sas-live-full", "minor", text, "more calls at once than `live_max` allows");
        }
        rows
    }
}

/// The search that a question asks for.
fn live_search(ask: &Ask) -> Result<LiveSearch, AskError> {
    let wrong =
        |bad: search::BadParameter| AskError::BadParameter(format!("{}: {}", bad.name, bad.what));
    let mut query = search::query(&ask.params).map_err(wrong)?;
    if let Some(id) = ask.params.get("id").and_then(|id| Trail::parse_id(id)) {
        query.all_of.push(crate::keys::id_ranges(id));
    }
    Ok(LiveSearch::new(query, ask.params.contains_key(search::WORST_FIRST)))
}

/// A row of the answer to `live`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, octet| {
        let _ = write!(out, "{octet:02x}");
        out
    })
}

/// Reads what [`hex`] wrote.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}

/// Reads the answer to `live`: the trails and the place to wait for.
pub(crate) fn read_live(answer: &Value) -> (Vec<Trail>, Option<Place>) {
    let row = |row: &Value| Trail::decode(&unhex(row.as_str()?)?);
    let rows = answer["rows"].as_array().map(|rows| rows.iter().filter_map(row).collect());
    let number = |at: usize| answer["end"][at].as_u64().and_then(|n| u32::try_from(n).ok());
    let end = number(0).zip(number(1));
    let end = end.map(|(partition, block)| Place { partition, block, entry: 0 });
    (rows.unwrap_or_default(), end)
}
