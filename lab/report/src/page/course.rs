//! What a run did over time, as SVG: a panel for each value, a line for each series.
//!
//! A row's `detail.over_time` is a list of `{ title, series: [[name, [[seconds, value], …]], …] }`.

use super::escape;
use crate::contract::{Row, exact};
use serde::Deserialize;
use std::fmt::Write as _;

const WIDTH: f64 = 960.0;
/// Room of one panel's axis, and between the panels; two stand beside each other.
const LEFT: f64 = 64.0;
const PANEL: f64 = 400.0;
const STEP: f64 = 480.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 190.0;
/// Height of a row of panels, with its legend.
const HEIGHT: f64 = 252.0;
const LEGEND: f64 = 96.0;
/// Parts of an axis.
const TICKS: u32 = 4;
/// Points of a line, at most.
const POINTS_MAX: usize = 2_000;

#[derive(Debug, Deserialize)]
struct Panel {
    title: String,
    series: Vec<Series>,
}

/// Its name, and its points: seconds and value.
#[derive(Debug, Deserialize)]
struct Series(String, Vec<[f64; 2]>);

/// Draws what the row did over time, if it says so.
pub(super) fn draw(out: &mut String, row: &Row) {
    let Some(panels) = row.detail.get("over_time") else { return };
    let panels = Vec::<Panel>::deserialize(panels).unwrap_or_default();
    let has_line = |it: &Panel| it.series.iter().any(|series| series.1.len() > 1);
    let panels: Vec<Panel> = panels.into_iter().filter(has_line).collect();
    if panels.is_empty() {
        return;
    }
    let (title, height) = (escape(&row.scenario), HEIGHT * panels.len().div_ceil(2) as f64);
    let _ = write!(
        out,
        "<figure class=\"plot\"><figcaption>{title}: over time</figcaption>\
        <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title}, over time\">",
    );
    for (number, panel) in panels.iter().enumerate() {
        let (left, down) = ((number % 2) as f64 * STEP, (number / 2) as f64 * HEIGHT);
        let _ = write!(out, "<g transform=\"translate({left:.0} {down:.0})\">");
        draw_panel(out, panel);
        out.push_str("</g>");
    }
    out.push_str("</svg></figure>");
}

fn draw_panel(out: &mut String, panel: &Panel) {
    let most = |at: usize| {
        let points = panel.series.iter().flat_map(|it| &it.1);
        points.map(|it| it[at]).fold(0.0, f64::max)
    };
    let (x_max, y_max) = (most(0).max(1.0), round_up(most(1)));
    let x = |value: f64| LEFT + value / x_max * PANEL;
    let y = |value: f64| BOTTOM - value / y_max * (BOTTOM - TOP);
    let _ = write!(out, "<text x=\"{LEFT:.0}\" y=\"14\">{}</text>", escape(&panel.title));
    for tick in 0..=TICKS {
        let part = f64::from(tick) / f64::from(TICKS);
        let (down, across) = (y(part * y_max), x(part * x_max));
        let _ = write!(
            out,
            "<line x1=\"{LEFT:.1}\" x2=\"{:.1}\" y1=\"{down:.1}\" y2=\"{down:.1}\"/>\
            <text class=\"tick end\" x=\"{:.1}\" y=\"{down:.1}\">{}</text>\
            <text class=\"tick\" x=\"{across:.1}\" y=\"{:.1}\">{}</text>",
            LEFT + PANEL,
            LEFT - 8.0,
            exact(part * y_max),
            BOTTOM + 14.0,
            time(part * x_max),
        );
    }
    for (number, Series(name, points)) in panel.series.iter().enumerate() {
        let mut path = String::new();
        for (at, point) in points.iter().take(POINTS_MAX).enumerate() {
            let letter = if at == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x(point[0]), y(point[1]));
        }
        let at = LEFT + number as f64 * LEGEND;
        let _ = write!(
            out,
            "<path class=\"line p{number}\" d=\"{path}\"/>\
            <path class=\"line p{number}\" d=\"M{at:.0} {:.0}h18\"/>\
            <text class=\"legend\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            BOTTOM + 40.0,
            at + 24.0,
            BOTTOM + 40.0,
            escape(name),
        );
    }
}

/// The end of an axis: 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|it| it * power).into_iter().find(|it| *it >= value).unwrap_or(value)
}

/// Seconds, or minutes where they are many.
fn time(seconds: f64) -> String {
    match seconds {
        it if it < 300.0 => format!("{it:.0} s"),
        it => format!("{:.0} min", it / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn drawn(over_time: &Value) -> String {
        let mut row = Row::absent("response <p99>", "ms", None, "");
        row.detail = json!({ "over_time": over_time });
        let mut out = String::new();
        draw(&mut out, &row);
        out
    }

    #[test]
    fn each_series_is_a_line_and_each_value_a_panel() {
        let out = drawn(&json!([
            { "title": "rate", "series": [["all", [[0, 10], [30, 20], [600, 15]]]] },
            { "title": "ms", "series": [["p50", [[0, 1], [600, 2]]], ["p99", [[0, 3], [600, 4]]]] },
            { "title": "one look", "series": [["all", [[0, 10]]]] },
        ]));
        assert_eq!(out.matches("<g ").count(), 2, "a look alone is no line: {out}");
        assert_eq!(out.matches("d=\"M64.0 ").count(), 3, "{out}");
        assert!(out.contains("10 min") && out.contains("response &lt;p99&gt;"), "{out}");
        assert!(out.contains("L464.0 73.0"), "15 of 20 at the end of 600: {out}");
    }

    #[test]
    fn a_row_without_a_course_draws_nothing() {
        for other in [json!(null), json!("much"), json!([]), json!([{ "title": "rate" }])] {
            assert_eq!(drawn(&other), "", "{other}");
        }
    }

    #[test]
    fn an_axis_ends_where_a_round_number_is() {
        for (value, end) in [(0.0, 1.0), (0.3, 0.5), (1.0, 1.0), (21.0, 50.0), (7_200.0, 10_000.0)]
        {
            assert!((round_up(value) - end).abs() < 1e-9, "{value}");
        }
    }
}
