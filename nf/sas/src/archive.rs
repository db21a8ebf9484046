//! What a site holds of a SAS: the store, and the way to the function that fills it.

use crate::config;
use crate::detail::{self, Detail, Read};
use crate::function::Sas;
use crate::losses::Losses;
use crate::media::{self, MOS_MAX, MOS_MIN};
use crate::search;
use crate::tail::{self, Subscribe};
use crate::trail::Trail;
use core::time::Duration;
use runtime::{Ask, AskError, Seed};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::{Opened, Options, Query, Store, StoreError};

/// Longest wait for what the shard just handed over to be safe on disk.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Octets of messages that one trail's page may hold.
const DETAIL_BYTES_MAX: usize = 16 << 20;

/// Hundredths of MOS that the list of the worst calls looks for at once.
const MOS_STEP: u16 = 10;

/// Puts a question to the function, whichever way it runs.
pub type AskFn = Arc<dyn Fn(Ask) -> Result<Value, AskError> + Send + Sync>;

/// An opened store, and what the function and the interface need of it.
#[derive(Debug)]
pub struct Archive {
    store: Arc<Store>,
    opened: Mutex<Option<Opened>>,
    tail: Subscribe,
    losses: Arc<Losses>,
    searches: Mutex<event::Metrics<SearchMetric>>,
}

event::metrics! {
    /// Metrics of the searches, which run beside the shard.
    pub enum SearchMetric {
        /// Searches answered.
        Searches = Counter, "sas_searches_total";
        /// Time of a search, microseconds.
        SearchTime = Histogram, "sas_search_us";
    }
}

impl Archive {
    /// Opens the store of `config`; a relative directory is below the site's. Repairs what a
    /// crash left.
    ///
    /// # Errors
    /// The directory cannot be used.
    pub fn open(config: &config::Sas, site_directory: &Path) -> Result<Arc<Self>, StoreError> {
        let directory: PathBuf = site_directory.join(&config.directory);
        let age = Duration::from_secs(u64::from(config.age_max_h) * 3_600);
        let opened = Store::open(Options::new(directory, age, config.size_max_mb << 20))?;
        let store = Arc::clone(&opened.store);
        let (opened, searches) = (Mutex::new(Some(opened)), Mutex::new(event::Metrics::new()));
        let (tail, losses) = (tail::channel(), Arc::default());
        Ok(Arc::new(Self { store, opened, tail, losses, searches }))
    }

    /// Makes the function, on its shard's thread.
    ///
    /// # Panics
    /// For the first shard the second time: two writers would overwrite each other.
    #[must_use]
    pub fn function(&self, seed: &Seed, config: Arc<config::Sas>) -> Sas {
        let losses = Arc::clone(&self.losses);
        if seed.shard > 0 {
            return Sas::further(config, losses);
        }
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        let opened = opened.expect("an archive is filled by one function");
        let searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner).cells();
        Sas::first(seed, config, opened, self.tail.clone(), losses).with_cells(searches)
    }

    /// Counts a search that took so many microseconds.
    pub(crate) fn searched(&self, took_us: u64) {
        let metrics = self.searches.lock().unwrap_or_else(PoisonError::into_inner);
        metrics.add(SearchMetric::Searches, 1);
        metrics.observe(SearchMetric::SearchTime, took_us);
    }

    /// Where the live tail is read.
    #[must_use]
    pub fn tail(&self) -> &Subscribe {
        &self.tail
    }

    /// What is on disk.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }
}

/// Why the interface has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SasError {
    /// A parameter is wrong.
    #[error("{0}")]
    BadParameter(String),
    /// There is no such trail, or it was deleted.
    #[error("no trail {0}")]
    NotFound(String),
    /// The function does not answer.
    #[error("the function does not answer")]
    Unreachable,
    /// The disk cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file that was given is not understood.
    #[error("{0}")]
    BadFile(String),
}

impl From<pcap::BadFile> for SasError {
    fn from(pcap::BadFile(why): pcap::BadFile) -> Self {
        Self::BadFile(why)
    }
}

impl From<AskError> for SasError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::BadParameter(what) => Self::BadParameter(what),
            AskError::NotFound(what) => Self::NotFound(what),
            AskError::Unreachable => Self::Unreachable,
        }
    }
}

/// A page of trails.
#[derive(Debug)]
pub struct Page {
    /// Newest first.
    pub trails: Vec<Trail>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// Searches memory and disk.
///
/// # Errors
/// A parameter is wrong, the function does not answer, or the disk cannot be read.
pub fn search(
    archive: &Archive,
    ask: &AskFn,
    params: BTreeMap<String, String>,
) -> Result<Page, SasError> {
    let wrong =
        |bad: search::BadParameter| SasError::BadParameter(format!("{}: {}", bad.name, bad.what));
    let query = search::query(&params).map_err(wrong)?;
    let limit = query.limit;
    let mut trails = gather(archive, ask, params, Query { limit: limit + 1, ..query })?;
    let more = trails.len() > limit;
    trails.truncate(limit);
    let next = trails.last().filter(|_| more).map(search::cursor);
    Ok(Page { trails, next })
}

/// The calls with the lowest MOS, the worst first.
///
/// # Errors
/// A parameter is wrong, the function does not answer, or the disk cannot be read.
pub fn worst(
    archive: &Archive,
    ask: &AskFn,
    mut params: BTreeMap<String, String>,
) -> Result<Vec<Trail>, SasError> {
    let wrong =
        |bad: search::BadParameter| SasError::BadParameter(format!("{}: {}", bad.name, bad.what));
    let query = search::worst(&params, archive.store.clock_us()).map_err(wrong)?;
    params.insert(search::WORST_FIRST.to_owned(), String::new());
    params.insert("limit".to_owned(), query.limit.to_string());
    params.insert("from_us".to_owned(), query.from_us.to_string());
    let mut trails = live(archive, ask, params)?;
    trails.retain(|trail| search::mos(trail) < u16::MAX);
    let mut reader = archive.store.reader();
    // A step of MOS at a time, the worst first: only what is shown is read.
    let mut found = 0;
    for low in (MOS_MIN..MOS_MAX).step_by(usize::from(MOS_STEP)) {
        let mut step = query.clone();
        step.all_of.push(media::mos_ranges(low, low + MOS_STEP - 1));
        for hit in archive.store.search(&step)? {
            let record = reader.record(hit.place)?;
            trails.extend(record.and_then(|record| Trail::decode(&record.body)));
            found += 1;
        }
        if found >= query.limit {
            break;
        }
    }
    trails.sort_by_key(|trail| (search::mos(trail), core::cmp::Reverse(trail.id)));
    let mut seen = BTreeSet::new();
    trails.retain(|trail| seen.insert(trail.id));
    trails.truncate(query.limit);
    Ok(trails)
}

/// The trails in memory that match. One that was closed just now is on its way to the disk; this
/// waits for it, so that it is not missed between memory and disk. A disk that lags longer shows it
/// a little later.
fn live(
    archive: &Archive,
    ask: &AskFn,
    params: BTreeMap<String, String>,
) -> Result<Vec<Trail>, SasError> {
    let answer = ask(Ask { path: "live".to_owned(), params })?;
    let (trails, end) = crate::answer::read_live(&answer);
    if let Some(end) = end
        && !archive.store.wait(end, PATIENCE)
    {
        tracing::warn!("the store lags behind a search");
    }
    Ok(trails)
}

fn gather(
    archive: &Archive,
    ask: &AskFn,
    params: BTreeMap<String, String>,
    query: Query,
) -> Result<Vec<Trail>, SasError> {
    let mut trails = live(archive, ask, params)?;
    let mut reader = archive.store.reader();
    for hit in archive.store.search(&query)? {
        let record = reader.record(hit.place)?;
        trails.extend(record.and_then(|record| Trail::decode(&record.body)));
    }
    trails.sort_by_key(|trail| core::cmp::Reverse((trail.started_us, trail.id)));
    trails.dedup_by_key(|trail| trail.id);
    trails.truncate(query.limit);
    Ok(trails)
}

/// Reads one trail with all its messages: by its number, or by what a function calls it (`trail`
/// of a call), or by a Call-ID of it.
///
/// # Errors
/// There is no such trail, the function does not answer, or the disk cannot be read.
pub fn read(archive: &Archive, ask: &AskFn, id: &str) -> Result<(Detail, Vec<Read>), SasError> {
    let missing = || SasError::NotFound(id.to_owned());
    let find = |key: &str, ranges| {
        let params = BTreeMap::from([(key.to_owned(), id.to_owned())]);
        let query = Query { all_of: vec![ranges], limit: 1, ..Query::default() };
        gather(archive, ask, params, query).map(|found| found.into_iter().next())
    };
    let own = match Trail::parse_id(id) {
        Some(number) => find("id", crate::keys::id_ranges(number))?,
        None => None,
    };
    let trail = match own {
        Some(trail) => trail,
        None => find("call_id", crate::keys::call_id_ranges(id))?.ok_or_else(missing)?,
    };
    let mut reader = archive.store.reader();
    let (mut entries, mut bytes) = (Vec::with_capacity(trail.places.len()), 0);
    for place in &trail.places {
        let Some((_, body)) = reader.entry(*place)? else { continue };
        bytes += body.len();
        if bytes > DETAIL_BYTES_MAX {
            break;
        }
        entries.extend(Read::decode(body));
    }
    let left_out = trail.places.len() - entries.len();
    let (detail, entries) = detail::build(&trail, entries, left_out);
    Ok((detail, entries))
}
