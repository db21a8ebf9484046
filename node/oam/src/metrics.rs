//! What the management side itself reports.

use std::collections::BTreeMap;
use std::sync::Mutex;

event::metrics! {
    /// What the API, the alarms and the configuration did.
    pub enum OamMetric {
        /// HTTP requests answered.
        Request = Counter, "oam_http_requests_total";
        /// HTTP requests refused for want of a valid token.
        Unauthorized = Counter, "oam_http_unauthorized_total";
        /// HTTP requests refused because the role of their token does not reach.
        Forbidden = Counter, "oam_http_forbidden_total";
        /// HTTP requests refused because their source sent too many wrong tokens.
        Guessed = Counter, "oam_http_guesses_total";
        /// HTTP requests refused because they name a host that is not this site.
        Misdirected = Counter, "oam_http_misdirected_total";
        /// HTTP connections ended to make room for newer ones.
        Shed = Counter, "oam_http_connections_shed_total";
        /// HTTP connections ended because a head, a body or an answer took too long.
        Slow = Counter, "oam_http_slow_total";
        /// HTTP requests answered with 5xx.
        Failed = Counter, "oam_http_failed_total";
        /// Time to answer an HTTP request in microseconds.
        RequestTime = Histogram, "oam_http_request_us";
        /// Live event streams open.
        Streams = Gauge, "oam_live_streams";
        /// Alarms raised.
        AlarmRaised = Counter, "oam_alarms_raised_total";
        /// Alarms cleared.
        AlarmCleared = Counter, "oam_alarms_cleared_total";
        /// Alarms not kept because the list was full.
        AlarmShed = Counter, "oam_alarms_shed_total";
        /// Alarms that stand.
        AlarmsActive = Gauge, "oam_alarms_active";
        /// Commits that took effect.
        Committed = Counter, "oam_config_commits_total";
        /// Commits refused.
        CommitRefused = Counter, "oam_config_commits_refused_total";
        /// Rollbacks that took effect, those of unconfirmed commits included.
        RolledBack = Counter, "oam_config_rollbacks_total";
        /// Revision of the configuration that runs.
        Revision = Gauge, "oam_config_revision";
    }
}

event::metrics! {
    /// What is known of each kind of alarm: labels `alarm` and `severity`.
    pub enum AlarmMetric {
        /// Alarms of a kind and a severity that stand.
        Standing = Gauge, "oam_alarms_standing";
    }
}

/// The metrics of the management side: many threads write, so that a lock stands before it.
#[derive(Debug)]
pub struct Metrics {
    metrics: Mutex<event::Metrics<OamMetric>>,
    alarms: event::Table<AlarmMetric, 2>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { metrics: Mutex::default(), alarms: event::Table::new(&["alarm", "severity"]) }
    }
}

impl Metrics {
    fn metrics(&self) -> std::sync::MutexGuard<'_, event::Metrics<OamMetric>> {
        // Poisoned metrics are still numbers.
        self.metrics.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds `n` to a counter.
    pub fn add(&self, metric: OamMetric, n: u64) {
        self.metrics().add(metric, n);
    }

    /// Changes a gauge by `by`.
    pub fn shift(&self, metric: OamMetric, by: i64) {
        let metrics = self.metrics();
        metrics.set(metric, metrics.read(metric).saturating_add_signed(by));
    }

    /// Sets a gauge.
    pub fn set(&self, metric: OamMetric, value: u64) {
        self.metrics().set(metric, value);
    }

    /// Records a value in a histogram.
    pub fn observe(&self, metric: OamMetric, value: u64) {
        self.metrics().observe(metric, value);
    }

    /// Shows the alarms that stand.
    pub fn show_alarms(&self, standing: &BTreeMap<(String, &'static str), u64>) {
        let rows = standing.iter().map(|((alarm, severity), number)| {
            ([&**alarm, *severity], [(AlarmMetric::Standing, *number)])
        });
        self.alarms.show(rows);
    }

    /// A reader's view.
    #[must_use]
    pub fn cells(&self) -> [event::MetricCells; 2] {
        [self.metrics().cells(), self.alarms.cells()]
    }
}
