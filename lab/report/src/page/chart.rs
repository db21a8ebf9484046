//! Bars on a logarithmic scale, as SVG: published, peer and Tandem of each scenario.

use super::escape;
use crate::contract::{Row, exact};
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
/// Room for the scenarios' names.
const LEFT: f64 = 230.0;
/// Room for the values behind the bars.
const RIGHT: f64 = 90.0;
const BAR: f64 = 15.0;
const GAP: f64 = 3.0;
/// Room between two scenarios.
const SPACE: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 26.0;
/// A bar starts at a power of ten at least this much below the smallest value, in powers of ten.
const ROOM: f64 = 0.2;
/// Letters of a name.
const NAME_MAX: usize = 34;
const KINDS: [&str; 3] = ["published", "peer", "Tandem"];

/// Appends the chart of the rows, which have one unit; nothing when there is nothing to compare.
pub(super) fn bars(out: &mut String, unit: &str, rows: &[&Row]) {
    let drawn: Vec<(&str, [Option<f64>; 3])> = rows
        .iter()
        .filter(|row| row.tandem.is_some_and(|value| value > 0.0))
        .map(|row| (row.scenario.as_str(), values(row)))
        .collect();
    let all = || drawn.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    if drawn.is_empty() {
        return;
    }
    let scale = Scale::new(least, most);
    let bars = |values: &[Option<f64>; 3]| values.iter().flatten().count() as f64;
    let group = |values: &[Option<f64>; 3]| bars(values) * (BAR + GAP) + SPACE;
    let height = TOP + BOTTOM + drawn.iter().map(|(_, values)| group(values)).sum::<f64>();
    let _ = write!(
        out,
        "<figure><svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
        aria-label=\"{} on a logarithmic scale\">",
        escape(unit),
    );
    legend(out, unit);
    scale.grid(out, height - BOTTOM);
    let mut y = TOP;
    for (name, values) in &drawn {
        let middle = y + bars(values) * (BAR + GAP) / 2.0;
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{:.0}\" y=\"{middle:.1}\">{}</text>",
            LEFT - 12.0,
            escape(&short(name)),
        );
        for (kind, value) in values.iter().enumerate() {
            let Some(value) = *value else { continue };
            bar(out, kind, y, scale.x(value), value);
            y += BAR + GAP;
        }
        y += SPACE;
    }
    out.push_str("</svg></figure>");
}

fn values(row: &Row) -> [Option<f64>; 3] {
    let peer = row.peer.as_ref().map(|peer| peer.value);
    [row.published, peer, row.tandem].map(|value| value.filter(|value| *value > 0.0))
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    let head: String = name.chars().take(NAME_MAX - 1).collect();
    format!("{}…", head.trim_end())
}

fn bar(out: &mut String, kind: usize, y: f64, end: f64, value: f64) {
    let _ = write!(
        out,
        "<rect class=\"k{kind}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\" \
        rx=\"2\"><title>{}: {}</title></rect><text class=\"value k{kind}\" x=\"{:.1}\" \
        y=\"{:.1}\">{}</text>",
        (end - LEFT).max(1.0),
        KINDS[kind],
        exact(value),
        end + 6.0,
        y + BAR / 2.0,
        exact(value),
    );
}

fn legend(out: &mut String, unit: &str) {
    let mut x = LEFT;
    for (kind, name) in KINDS.iter().enumerate() {
        let _ = write!(
            out,
            "<rect class=\"k{kind}\" x=\"{x}\" y=\"6\" width=\"11\" height=\"11\" rx=\"2\"/>\
            <text class=\"legend\" x=\"{:.0}\" y=\"12\">{name}</text>",
            x + 17.0,
        );
        x += 100.0;
    }
    let _ = write!(
        out,
        "<text class=\"legend end\" x=\"{WIDTH}\" y=\"12\">{}, logarithmic</text>",
        escape(unit),
    );
}

/// Powers of ten from the left to the right.
struct Scale {
    first: i32,
    last: i32,
}

impl Scale {
    fn new(least: f64, most: f64) -> Self {
        let first = (least.log10() - ROOM).floor() as i32;
        Self { first, last: (most.log10().ceil() as i32).max(first + 1) }
    }

    fn x(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn grid(&self, out: &mut String, bottom: f64) {
        for power in self.first..=self.last {
            let value = 10f64.powi(power);
            let x = self.x(value);
            let _ = write!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{bottom:.0}\"/>\
                <text class=\"tick\" x=\"{x:.1}\" y=\"{:.0}\">{}</text>",
                TOP - 8.0,
                bottom + 12.0,
                exact(value),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(published: Option<f64>, tandem: Option<f64>) -> Row {
        let detail = json!({});
        let unit = String::from("calls/s");
        Row { scenario: "SIP".into(), unit, published, peer: None, tandem, detail }
    }

    #[test]
    fn ten_times_as_much_is_always_the_same_step() {
        let scale = Scale::new(700.0, 27_000.0);
        let step = |from: f64| scale.x(from * 10.0) - scale.x(from);
        assert!((step(700.0) - step(2_000.0)).abs() < 1e-6);
        assert!(scale.x(700.0) > LEFT && scale.x(27_000.0) < WIDTH - RIGHT + 1e-6);
    }

    #[test]
    fn a_row_without_a_value_has_no_bar_and_a_zero_is_not_on_a_logarithmic_scale() {
        let mut out = String::new();
        bars(&mut out, "calls", &[&row(Some(1.0), None), &row(Some(0.0), Some(0.0))]);
        assert_eq!(out, "");
        bars(&mut out, "calls", &[&row(None, Some(5.0))]);
        assert_eq!(out.matches("<title>").count(), 1);
    }
}
