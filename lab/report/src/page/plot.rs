//! The figures of the failover report, as SVG: published values and ours over path delay and over
//! Path.Max.Retrans, with their 99 % intervals.

use super::escape;
use crate::contract::{Row, exact};
use serde_json::Value;
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 388.0;
/// Room of one panel's axis, and between the panels.
const LEFT: f64 = 64.0;
const PANEL: f64 = 400.0;
const STEP: f64 = 480.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 300.0;
/// Places of the legend's entries.
const LEGEND: f64 = 160.0;
const LEGENDS_A_LINE: usize = 5;

/// A point: x, y and how far its interval reaches.
type Point = (f64, f64, f64);

struct Series {
    name: String,
    /// Of the style sheet: p0, p1, …
    class: usize,
    is_published: bool,
    points: Vec<Point>,
}

struct Panel<'a> {
    title: &'a str,
    x_label: &'a str,
    is_logarithmic: bool,
    series: Vec<Series>,
}

/// Draws both figures; false when the rows are not those of the failover experiment.
pub(super) fn failover(out: &mut String, rows: &[&Row]) -> bool {
    let rows: Vec<Found<'_>> = rows.iter().filter_map(|row| Found::of(row)).collect();
    if rows.is_empty() {
        return false;
    }
    let over_delay = |value: Which| {
        let names = ["RFC2960", "Telecom(2)", "Telecom(5)", "tandem"];
        let series = names.iter().enumerate().flat_map(|(class, name)| {
            let rows: Vec<_> = rows.iter().filter(|row| row.configuration == *name).collect();
            lines(name, class, &rows, |row| row.delay_ms, value)
        });
        series.collect::<Vec<_>>()
    };
    let over_p = |value: Which| {
        let of_telecom = |row: &&Found<'_>| {
            row.configuration.starts_with("Telecom(") && (row.delay_ms - 10.0).abs() < 0.1
        };
        let rows: Vec<_> = rows.iter().filter(of_telecom).collect();
        lines("Telecom(p)", 1, &rows, |row| row.p, value)
    };
    let (delay, p) = ("path propagation delay, ms", "Path.Max.Retrans");
    let panel =
        |title, x_label, is_logarithmic, series| Panel { title, x_label, is_logarithmic, series };
    figure(
        out,
        "Failover performance over path propagation delay",
        &[
            panel("failover time, ms", delay, true, over_delay(Which::Failover)),
            panel("longest transfer of an MSU, ms", delay, true, over_delay(Which::Transfer)),
        ],
    );
    figure(
        out,
        "Failover performance over Path.Max.Retrans, path propagation delay 10 ms",
        &[
            panel("failover time, ms", p, false, over_p(Which::Failover)),
            panel("longest transfer of an MSU, ms", p, false, over_p(Which::Transfer)),
        ],
    );
    true
}

#[derive(Clone, Copy)]
enum Which {
    Failover,
    Transfer,
}

/// A row of the experiment that belongs into a figure.
struct Found<'a> {
    configuration: &'a str,
    delay_ms: f64,
    p: f64,
    detail: &'a Value,
}

impl<'a> Found<'a> {
    fn of(row: &'a Row) -> Option<Self> {
        let (configuration, rest) = row.scenario.rsplit_once(", ")?;
        let is_one = rest.strip_suffix(" ms").is_some_and(|delay| delay.parse::<u32>().is_ok());
        let detail = &row.detail;
        let delay_ms = detail["delay_ms"].as_f64()?;
        let p = detail["path_max_retrans"].as_f64()?;
        is_one.then_some(Self { configuration, delay_ms, p, detail })
    }

    fn ours(&self, which: Which) -> Option<(f64, f64)> {
        let sample = match which {
            Which::Failover => &self.detail["failover_ms"],
            Which::Transfer => &self.detail["max_transfer_ms"],
        };
        Some((sample["mean"].as_f64()?, sample["half_width"].as_f64()?))
    }

    fn published(&self, which: Which) -> Option<(f64, f64)> {
        let published = &self.detail["published_ms"];
        let (value, half) = match which {
            Which::Failover => ("failover", "half_width"),
            Which::Transfer => ("max_transfer", "max_transfer_half_width"),
        };
        Some((published[value].as_f64()?, published[half].as_f64()?))
    }
}

/// The published line and ours of some rows.
fn lines(
    name: &str,
    class: usize,
    rows: &[&Found<'_>],
    x: impl Fn(&Found<'_>) -> f64,
    which: Which,
) -> Vec<Series> {
    let series = |is_published: bool| {
        let of = |row: &&Found<'_>| {
            let value = if is_published { row.published(which) } else { row.ours(which) };
            value.map(|(y, half)| (x(row), y, half))
        };
        let points: Vec<Point> = rows.iter().filter_map(of).collect();
        let name = if is_published { format!("{name}, report") } else { name.to_owned() };
        Series { name, class, is_published, points }
    };
    [true, false].map(series).into_iter().filter(|series| !series.points.is_empty()).collect()
}

fn figure(out: &mut String, title: &str, panels: &[Panel<'_>]) {
    let title = escape(title);
    let _ = write!(
        out,
        "<figure class=\"plot\"><figcaption>{title}</figcaption>\
        <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">",
    );
    for (number, panel) in panels.iter().enumerate() {
        draw(out, LEFT + number as f64 * STEP, panel);
    }
    if let Some(panel) = panels.first() {
        for (number, series) in panel.series.iter().enumerate() {
            let x = LEFT + (number % LEGENDS_A_LINE) as f64 * LEGEND;
            let y = HEIGHT - 28.0 + (number / LEGENDS_A_LINE) as f64 * 16.0;
            let _ = write!(
                out,
                "<path class=\"{}\" d=\"M{x:.0} {y:.0}h22\"/>\
                <text class=\"legend\" x=\"{:.0}\" y=\"{y:.0}\">{}</text>",
                class(series),
                x + 28.0,
                escape(&series.name),
            );
        }
    }
    out.push_str("</svg></figure>");
}

fn class(series: &Series) -> String {
    let kind = if series.is_published { " published" } else { "" };
    format!("line p{}{kind}", series.class)
}

fn draw(out: &mut String, left: f64, panel: &Panel<'_>) {
    let all = || panel.series.iter().flat_map(|series| &series.points);
    let axes = Axes::new(left, panel.is_logarithmic, all());
    let _ = write!(
        out,
        "<text x=\"{left:.0}\" y=\"14\">{}</text><text class=\"tick\" x=\"{:.0}\" y=\"{:.0}\">{}\
        </text>",
        escape(panel.title),
        left + PANEL / 2.0,
        BOTTOM + 32.0,
        escape(panel.x_label),
    );
    for value in axes.y_ticks() {
        let y = axes.y(value);
        let _ = write!(
            out,
            "<line x1=\"{left:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
            <text class=\"tick end\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            left + PANEL,
            left - 8.0,
            exact(value),
        );
    }
    let mut ticks: Vec<f64> = all().map(|point| point.0).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    for value in ticks {
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            axes.x(value),
            BOTTOM + 14.0,
            value,
        );
    }
    panel.series.iter().for_each(|series| line(out, &axes, series));
}

fn line(out: &mut String, axes: &Axes, series: &Series) {
    let class = class(series);
    let mut path = String::new();
    for (number, &(x, y, half)) in series.points.iter().enumerate() {
        let (at, letter) = (axes.x(x), if number == 0 { 'M' } else { 'L' });
        let _ = write!(path, "{letter}{at:.1} {:.1}", axes.y(y));
        let (high, low) = (axes.y(y + half), axes.y(y - half));
        let _ = write!(
            out,
            "<path class=\"{class} bar\" d=\"M{at:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h6M{:.1} \
            {high:.1}h6\"/><circle class=\"{class}\" cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3\">\
            <title>{}: {} ± {}</title></circle>",
            at - 3.0,
            at - 3.0,
            axes.y(y),
            escape(&series.name),
            exact(y),
            exact(half),
        );
    }
    let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
}

/// Where values stand in a panel.
struct Axes {
    left: f64,
    x: (f64, f64),
    /// As logarithms where the axis is logarithmic.
    y: (f64, f64),
    is_logarithmic: bool,
}

impl Axes {
    fn new<'a>(
        left: f64,
        is_logarithmic: bool,
        points: impl Iterator<Item = &'a Point> + Clone,
    ) -> Self {
        let (mut x, mut y) = ((f64::INFINITY, 0.0f64), (f64::INFINITY, 0.0f64));
        for &(at, value, half) in points {
            x = (x.0.min(at), x.1.max(at));
            y = (y.0.min(value - half), y.1.max(value + half));
        }
        let room = ((x.1 - x.0) * 0.08).max(0.5);
        let y = match is_logarithmic {
            true => (y.0.max(1.0).log10().floor(), y.1.max(10.0).log10().ceil()),
            false => (0.0, (y.1 / 200.0).ceil().max(1.0) * 200.0),
        };
        Self { left, x: (x.0 - room, x.1 + room), y, is_logarithmic }
    }

    fn x(&self, value: f64) -> f64 {
        self.left + (value - self.x.0) / (self.x.1 - self.x.0) * PANEL
    }

    fn y(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.max(1.0).log10() } else { value };
        let share = (value - self.y.0) / (self.y.1 - self.y.0);
        BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
    }

    fn y_ticks(&self) -> Vec<f64> {
        let (first, last) = self.y;
        match self.is_logarithmic {
            true => (first as i32..=last as i32).map(|power| 10f64.powi(power)).collect(),
            false => (0..=(last / 200.0) as i32).map(|step| f64::from(step) * 200.0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(scenario: &str, delay_ms: u32, p: u32, is_published: bool) -> Row {
        let mut detail = json!({
            "delay_ms": delay_ms,
            "path_max_retrans": p,
            "failover_ms": { "mean": 390.0, "half_width": 2.0 },
            "max_transfer_ms": { "mean": 290.0, "half_width": 3.0 },
        });
        if is_published {
            detail["published_ms"] = json!({ "failover": 484, "half_width": 20,
                "max_transfer": 457, "max_transfer_half_width": 29 });
        }
        let (scenario, unit) = (scenario.into(), "ms".into());
        Row { scenario, unit, published: None, peer: None, tandem: Some(390.0), detail }
    }

    #[test]
    fn each_row_is_a_point_in_the_figures_it_belongs_to() {
        let rows = [
            row("Telecom(2), 5 ms", 5, 2, true),
            row("Telecom(2), 10 ms", 10, 2, true),
            row("Telecom(3), 10 ms", 10, 3, false),
            row("Telecom(2), 10 ms, 5000 MSU/s", 10, 2, false),
        ];
        let mut out = String::new();
        assert!(failover(&mut out, &rows.iter().collect::<Vec<_>>()));
        assert_eq!(out.matches("<figure").count(), 2);
        // Figure 3: two delays, ours and published, two panels. Figure 4: p 2 and 3 of ours, 2.
        assert_eq!(out.matches("<circle").count(), 2 * (2 + 2) + 2 * (2 + 1));
        assert!(out.contains("484 ± 20.0"), "{out}");
        assert!(!failover(&mut String::new(), &[]));
    }
}
