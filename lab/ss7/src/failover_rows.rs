//! Rows of a failover: means with their intervals, the terms of each, and what may not be.

use failover::arithmetic::{Excess, Terms, ms, theory};
use failover::configuration::{Test, scenario};
use failover::course::{Course, Load};
use failover::statistics::Sample;
use report::contract::Row;
use report::published::PublishedRow;
use serde_json::{Value, json};

pub(super) const UNIT: &str = "ms";
/// Q.706: a changeover, ms.
pub(super) const CHANGEOVER_MAX: f64 = 800.0;
/// The longest transfer with the preset `tandem` at 10 ms, ms.
pub(super) const TRANSFER_MAX: f64 = 100.0;

/// The report's text on Figure 4: the mean grows by 40 % from Telecom(2) to (3), by about 20 % to
/// (4) and again to (5).
const ABOUT: [(&str, f64); 2] =
    [("Telecom(3), 10 ms", 484.0 * 1.4), ("Telecom(4), 10 ms", 484.0 * 1.4 * 1.2)];

/// Packets take time to be sent, and RTO may be a little above RTO.Min, ms.
const SLACK: f64 = 2.0;

/// Runs of one test.
pub(super) struct Judged<'a> {
    pub(super) test: &'a Test,
    pub(super) load: Load,
    pub(super) courses: &'a [Course],
}

impl Judged<'_> {
    pub(super) fn failover(&self) -> Option<Sample> {
        Sample::of(self.courses.iter().filter_map(|course| course.failover).map(ms))
    }

    pub(super) fn max_transfer(&self) -> Option<Sample> {
        Sample::of(self.courses.iter().map(|course| ms(course.max_transfer)))
    }

    /// Means of the terms of all runs.
    fn terms(&self) -> Option<Terms> {
        let path = &self.test.0.parameters.path;
        let all: Vec<Terms> = self.courses.iter().filter_map(|it| Terms::of(path, it)).collect();
        let mean = |term: fn(&Terms) -> f64| Sample::of(all.iter().map(term)).map(|it| it.mean);
        Some(Terms {
            theory: mean(|it| it.theory)?,
            rto: mean(|it| it.rto)?,
            last_start: mean(|it| it.last_start)?,
            restarts: mean(|it| it.restarts)?,
        })
    }

    /// Between which times RFC 9260 tells the failure of a quiet path, ms. T3-rtx starts with the
    /// last SACK, one for every second MSU, that was on its way at the cut, and again with the next
    /// MSU after a time-out; with a higher load what was lost goes first, in so many round trips as
    /// the window of the other path makes of it.
    fn bounds(&self) -> [f64; 2] {
        let path = &self.test.0.parameters.path;
        let (delay, gap) = (self.test.1 as f64, ms(self.load.gap()));
        let restarts = f64::from(path.path_max_retrans) * gap;
        let theory = ms(theory(path));
        let waits = if self.load.per_s > Load::REPORT.per_s { f64::INFINITY } else { 0.0 };
        [theory - 2.0 * gap, theory + delay.max(gap) + restarts + SLACK + waits]
    }

    /// What may not be.
    fn broken(&self) -> Vec<String> {
        let name = scenario(self.test);
        let mut broken: Vec<String> = self
            .courses
            .iter()
            .flat_map(|course| &course.violations)
            .map(|what| format!("{name}: {what}"))
            .collect();
        let told = self.courses.iter().filter(|course| course.failover.is_some()).count();
        if told < self.courses.len() {
            broken.push(format!("{name}: the failure was told in {told} runs only"));
        }
        let [least, most] = self.bounds();
        if let Some(sample) = self.failover()
            && (sample.least < least || sample.most > most)
        {
            let Sample { least: from, most: to, .. } = sample;
            broken.push(format!("{name}: {from:.1} to {to:.1} ms, and not {least} to {most}"));
        }
        if self.courses.iter().any(|course| course.lost) {
            broken.push(format!("{name}: the association was lost"));
        }
        let spurious: u64 = self.courses.iter().map(|course| course.spurious).sum();
        if spurious > 0 {
            broken.push(format!("{name}: {spurious} spurious failovers without loss"));
        }
        let (most, failover) = (self.max_transfer(), self.failover());
        if name == "tandem, 10 ms" {
            let most = most.map_or(f64::INFINITY, |sample| sample.most);
            if most > TRANSFER_MAX {
                broken.push(format!("{name}: an MSU took {most:.1} ms"));
            }
            let slowest = failover.map_or(f64::INFINITY, |sample| sample.most);
            if slowest > CHANGEOVER_MAX {
                broken.push(format!("{name}: the failure was told after {slowest:.0} ms"));
            }
        }
        broken
    }
}

/// The row of a test, and what may not be.
pub(super) fn row(judged: &Judged<'_>, published: Option<&PublishedRow>) -> (Row, Vec<String>) {
    let (configuration, delay_ms) = judged.test;
    let path = &configuration.parameters.path;
    let scenario = scenario(judged.test);
    let (failover, transfer) = (judged.failover(), judged.max_transfer());
    let mut detail = json!({
        "delay_ms": delay_ms,
        "path_max_retrans": path.path_max_retrans,
        "runs": judged.courses.len(),
        "msu_per_s": judged.load.per_s,
        "msu_octets": judged.load.octets,
        "failover_ms": failover,
        "max_transfer_ms": transfer,
        "diverted_ms": Sample::of(judged.courses.iter().filter_map(|it| it.diverted).map(ms)),
        "mean_transfer_ms": Sample::of(judged.courses.iter().map(|it| ms(it.mean_transfer))),
        "theory_ms": ms(theory(path)),
        "terms_ms": judged.terms(),
    });
    if let Some((published, failover)) = published.and_then(|row| Some((row, row.value?))) {
        detail["published_ms"] = json!({
            "failover": failover,
            "half_width": published.number("half_width"),
            "max_transfer": published.number("max_transfer"),
            "max_transfer_half_width": published.number("max_transfer_half_width"),
            "excess": Excess::of(failover, path, *delay_ms as f64),
        });
    }
    let about = ABOUT.iter().find(|(name, _)| *name == scenario).map(|(_, value)| *value);
    if let Some(about) = about {
        detail["published_about_ms"] = json!(about);
    }
    detail["note"] = json!(note(&detail));
    let row = Row {
        scenario,
        unit: UNIT.into(),
        published: published.and_then(|row| row.value),
        peer: None,
        tandem: failover.map(|sample| sample.mean),
        detail,
    };
    (row, judged.broken())
}

/// The row in words.
fn note(detail: &Value) -> String {
    // Rounding errors below zero are no "-0.0".
    let number =
        |value: &Value| value.as_f64().map_or(f64::NAN, |it| (it * 1e3).round() / 1e3 + 0.0);
    let (failover, transfer) = (&detail["failover_ms"], &detail["max_transfer_ms"]);
    let mut note = format!(
        "±{:.1}; max MSU {:.0} ±{:.1}",
        number(&failover["half_width"]),
        number(&transfer["mean"]),
        number(&transfer["half_width"]),
    );
    let published = &detail["published_ms"];
    if published.is_object() {
        note += &format!(
            " (published {:.0} ±{:.0})",
            number(&published["max_transfer"]),
            number(&published["max_transfer_half_width"]),
        );
    }
    let terms = &detail["terms_ms"];
    note += &format!(
        "; {:.0} = {:.0} theory + {:.1} last start + {:.1} restarts",
        number(&failover["mean"]),
        number(&terms["theory"]),
        number(&terms["last_start"]),
        number(&terms["restarts"]),
    );
    let rto = number(&terms["rto"]);
    if rto > 0.05 {
        note += &format!(" + {rto:.1} RTO");
    }
    if published.is_object() {
        let excess = &published["excess"];
        note += &format!(
            "; published: theory + {:.0} last start + {:.0} round trips + {:.0} rest",
            number(&excess["last_start"]),
            number(&excess["round_trips"]),
            number(&excess["rest"]),
        );
    }
    if let Some(about) = detail["published_about_ms"].as_f64() {
        note += &format!("; published: about {about:.0} by the text on Figure 4");
    }
    note
}
