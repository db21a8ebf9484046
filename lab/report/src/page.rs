//! One HTML page of a whole report: no script, nothing fetched, light and dark, printable.

mod chart;
mod course;
mod date;
mod plot;

use crate::contract::{Row, exact, notes, thousands};
use crate::published::Source;
use serde_json::Value;
use std::fmt::Write as _;

const STYLE: &str = include_str!("page/style.css");
/// Lines of one row's detail.
const DETAIL_MAX: usize = 80;
/// Numbers of a list that are shown.
const LIST_MAX: usize = 12;

/// A table of the report as the page shows it.
#[derive(Debug)]
pub(crate) struct Chapter {
    /// The experiment.
    pub(crate) name: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// A sentence below it.
    pub(crate) text: &'static str,
    /// Its rows.
    pub(crate) rows: Vec<Row>,
    /// What did not hold.
    pub(crate) broken: Vec<String>,
    /// When it was measured, UNIX seconds.
    pub(crate) measured_at_s: Option<u64>,
    /// Whether with coarser figures.
    pub(crate) quick: bool,
}

/// The whole page.
pub(crate) fn write(title: &str, source: &Source, host: &Value, chapters: &[Chapter]) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";
    out += "<meta name=\"color-scheme\" content=\"light dark\">";
    let title = escape(title);
    let _ = write!(out, "<title>Tandem: {title}</title><style>{STYLE}</style>");
    let _ =
        write!(out, "</head><body><main><header><p class=\"over\">Tandem lab</p><h1>{title}</h1>");
    heading(&mut out, source, host, chapters);
    contents(&mut out, chapters);
    for it in chapters {
        chapter(&mut out, it);
    }
    out += "<footer>Each value was measured on the machine named above; published values are \
        those of the report, on its own hardware; a peer ran here, in the same run.</footer>";
    out += "</main></body></html>\n";
    out
}

fn heading(out: &mut String, source: &Source, host: &Value, chapters: &[Chapter]) {
    let rows = || chapters.iter().flat_map(|chapter| &chapter.rows);
    let (ran, all) = (rows().filter(|row| row.tandem.is_some()).count(), rows().count());
    let broken: usize = chapters.iter().map(|chapter| chapter.broken.len()).sum();
    let _ = write!(
        out,
        "<p class=\"lead\">The tables of a published test report, rerun: what it \
        prints for {}, what a peer reaches here, what Tandem reaches here.</p>",
        escape(&source.system),
    );
    out.push_str("<dl class=\"metrics\">");
    let mut fact = |name: &str, value: &str, class: &str| {
        let _ =
            write!(out, "<div class=\"{class}\"><dt>{name}</dt><dd>{}</dd></div>", escape(value));
    };
    fact("rows measured", &format!("{ran} of {all}"), "");
    fact("checks that did not hold", &broken.to_string(), if broken > 0 { "bad" } else { "" });
    let cores = host["cores"].as_u64().unwrap_or_default();
    let memory_gb = host["memory_mb"].as_f64().unwrap_or_default() / 1_024.0;
    fact("machine", &format!("{cores} cores, {memory_gb:.0} GB"), "");
    fact("kernel", host["kernel"].as_str().unwrap_or("unknown"), "");
    fact("processor", host["cpu"].as_str().unwrap_or("unknown"), "wide");
    fact("report", &source.document, "wide");
    for (name, told) in [("its host", &source.host), ("its tools", &source.tools)] {
        if let Some(told) = told {
            fact(name, told, "wide");
        }
    }
    out.push_str("</dl></header>");
}

fn contents(out: &mut String, chapters: &[Chapter]) {
    out.push_str("<nav aria-label=\"Tables\"><ol>");
    for chapter in chapters {
        let (word, class) = state(chapter);
        let _ = write!(
            out,
            "<li><a href=\"#{}\">{}</a><span class=\"state {class}\">{word}</span></li>",
            chapter.name,
            escape(chapter.title),
        );
    }
    out.push_str("</ol></nav>");
}

fn state(chapter: &Chapter) -> (String, &'static str) {
    let ran = chapter.rows.iter().filter(|row| row.tandem.is_some()).count();
    if !chapter.broken.is_empty() {
        return ("a check did not hold".into(), "bad");
    }
    match ran {
        0 => ("not run".into(), "none"),
        _ => (format!("{ran} of {}", chapter.rows.len()), "good"),
    }
}

fn chapter(out: &mut String, chapter: &Chapter) {
    let _ = write!(
        out,
        "<section id=\"{}\"><h2>{}</h2><p>{}</p>",
        chapter.name,
        escape(chapter.title),
        escape(chapter.text),
    );
    for what in &chapter.broken {
        let _ = write!(out, "<p class=\"broken\"><b>Did not hold</b> {}</p>", escape(what));
    }
    let mut units: Vec<&str> = Vec::new();
    for row in &chapter.rows {
        if !units.contains(&row.unit.as_str()) {
            units.push(&row.unit);
        }
    }
    for unit in units {
        let rows: Vec<&Row> = chapter.rows.iter().filter(|row| row.unit == unit).collect();
        if !plot::failover(out, &rows) {
            chart::bars(out, unit, &rows);
        }
    }
    chapter.rows.iter().for_each(|row| course::draw(out, row));
    table(out, chapter);
    let how =
        format!("tandem lab run {}{}", chapter.name, if chapter.quick { " --quick" } else { "" });
    if let Some(at) = chapter.measured_at_s {
        let _ = write!(out, "<p class=\"how\"><code>{how}</code> on {}</p>", date::utc(at));
    }
    out.push_str("</section>");
}

fn table(out: &mut String, chapter: &Chapter) {
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>scenario<th>unit");
    out.push_str("<th class=\"n\">published<th class=\"n\">peer<th class=\"n\">Tandem");
    out.push_str("<th class=\"n\">&times; published<th class=\"n\">&times; peer<th>notes");
    out.push_str("</tr></thead><tbody>");
    for row in &chapter.rows {
        let peer = row.peer.as_ref().map(|peer| peer.value);
        let class = if row.tandem.is_some() { "" } else { " class=\"absent\"" };
        let _ = write!(
            out,
            "<tr{class}><th scope=\"row\">{}<td>{}<td class=\"n\">{}<td class=\"n\">{}\
            <td class=\"n own\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"notes\">",
            escape(&row.scenario),
            escape(&row.unit),
            number(row.published),
            number(peer),
            number(row.tandem),
            factor(row.tandem, row.published),
            factor(row.tandem, peer),
        );
        out.push_str(&escape(&notes(row)));
        if let Some(peer) = &row.peer {
            let _ = write!(out, " <span class=\"peer\">peer: {}</span>", escape(&peer.name));
        }
        detail(out, row);
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// Everything else that was measured, folded away.
fn detail(out: &mut String, row: &Row) {
    let mut lines = Vec::new();
    flatten("", &row.detail, &mut lines);
    lines.retain(|(name, _)| !["why", "experiment", "over_time"].contains(&&**name));
    if lines.is_empty() {
        return;
    }
    out.push_str("<details><summary>all figures</summary><dl>");
    for (name, value) in lines.iter().take(DETAIL_MAX) {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    out.push_str("</dl></details>");
}

fn flatten(name: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&key, value, lines);
            }
        }
        Value::Array(list) if list.is_empty() || list.len() > LIST_MAX => {}
        Value::Array(list) => {
            let words: Vec<String> = list.iter().map(plain).collect();
            lines.push((name.to_owned(), words.join(", ")));
        }
        Value::Null => {}
        other => lines.push((name.to_owned(), plain(other))),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(value) if number.is_f64() => exact(value),
            Some(value) => thousands(value),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "&ndash;".into(), exact)
}

fn factor(value: Option<f64>, base: Option<f64>) -> String {
    match (value, base) {
        (Some(value), Some(base)) if base > 0.0 => match value / base {
            many if many >= 10.0 => thousands(many),
            few => format!("{few:.1}"),
        },
        _ => "&ndash;".into(),
    }
}

/// Text as HTML shows it.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Peer;
    use serde_json::json;

    fn chapters() -> Vec<Chapter> {
        let peer = Some(Peer { name: "kamailio <5.8>".into(), value: 9_000.0 });
        let row = Row {
            scenario: "SIP".into(),
            unit: "calls/s".into(),
            published: Some(700.0),
            peer,
            tandem: Some(27_000.0),
            detail: json!({ "tandem": { "cpu_us_per_call": 30.5 }, "trials": [[1, 2]] }),
        };
        let absent = Row::absent("VoLTE & more", "calls/s", Some(240.0), "needs <IPsec>");
        vec![Chapter {
            name: "call-signalling",
            title: "Call signalling",
            text: "Calls a second.",
            rows: vec![row, absent],
            broken: vec!["one call failed".into()],
            measured_at_s: Some(0),
            quick: true,
        }]
    }

    fn page() -> String {
        let source = Source {
            document: "report.txt".into(),
            system: "an SBC".into(),
            host: None,
            tools: Some("SIPp".into()),
        };
        write("Calls", &source, &json!({ "cores": 2, "memory_mb": 4_096 }), &chapters())
    }

    #[test]
    fn the_page_shows_each_row_its_factors_and_what_did_not_hold() {
        let page = page();
        for text in ["27 000", "3.0", "one call failed", "1 of 2", "1970-01-01", "30.5"] {
            assert!(page.contains(text), "{text} is not on the page");
        }
        assert!(page.contains(">39<"), "27 000 is 39 times 700");
        assert!(page.contains("needs &lt;IPsec&gt;") && page.contains("VoLTE &amp; more"));
    }

    #[test]
    fn the_page_fetches_nothing_and_runs_nothing() {
        let page = page();
        for word in ["<script", "http:", "https:", "url(", "@import", "src="] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
