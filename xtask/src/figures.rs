//! `cargo xtask figures [FILE…]`: takes objects that `tandem lab run NAME --json` printed into
//! `docs/figures/`, and writes the tables of docs/figures.md from all that are there.

use anyhow::Context;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const BEGIN: &str = "<!-- cargo xtask figures: from here on -->\n";
const END: &str = "<!-- cargo xtask figures: up to here -->\n";

/// Takes the files, then writes the page.
///
/// # Errors
/// When a file is no object of the lab, or the page has lost its marks.
pub fn run(files: &[&str]) -> anyhow::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let folder = docs.join("figures");
    fs::create_dir_all(&folder)?;
    for file in files {
        let text = fs::read_to_string(file).with_context(|| (*file).to_owned())?;
        let object: Value = serde_json::from_str(&text).with_context(|| (*file).to_owned())?;
        let name = object["experiment"].as_str().context("no object of `tandem lab run --json`")?;
        let is_name = name.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
        anyhow::ensure!(is_name, "{file}: `{name}` is no name of an experiment");
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let kept = format!("{:#}\n", brief(&object, now));
        fs::write(folder.join(format!("{name}.json")), kept)?;
    }
    let page = docs.join("figures.md");
    let text = fs::read_to_string(&page)?;
    fs::write(&page, with_tables(&text, &stored(&folder)?)?)?;
    println!("{}", page.display());
    Ok(())
}

/// What is kept of a run: its rows without their detail.
fn brief(object: &Value, now: u64) -> Value {
    let rows = object["rows"].as_array().into_iter().flatten().map(|row| {
        json!({
            "scenario": row["scenario"], "unit": row["unit"], "published": row["published"],
            "peer": row["peer"], "tandem": row["tandem"], "why": row["detail"]["why"],
        })
    });
    json!({
        "experiment": object["experiment"],
        "host": { "cpu": object["host"]["cpu"], "cores": object["host"]["cores"] },
        "measured_at_s": object["measured_at_s"].as_u64().unwrap_or(now),
        "quick": object["quick"], "broken": object["broken"], "rows": rows.collect::<Vec<_>>(),
    })
}

/// The objects that are kept, by name.
fn stored(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.sort();
    let read = |file: &PathBuf| Ok(serde_json::from_str(&fs::read_to_string(file)?)?);
    files.iter().map(read).collect()
}

fn with_tables(page: &str, objects: &[Value]) -> anyhow::Result<String> {
    let (before, rest) = page.split_once(BEGIN).context("the page has no mark of the beginning")?;
    let (_, after) = rest.split_once(END).context("the page has no mark of the end")?;
    let tables: String = objects.iter().map(table).collect();
    Ok(format!("{before}{BEGIN}\n{tables}{END}{after}"))
}

fn table(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('|', "\\|");
    let name = text(&object["experiment"]);
    let quick = if object["quick"] == true { " --quick" } else { "" };
    let mut out = format!("### {name}\n\n`tandem lab run {name}{quick}` on ");
    let cores = object["host"]["cores"].as_u64().unwrap_or_default();
    let _ = writeln!(out, "{cores} cores ({}).\n", text(&object["host"]["cpu"]));
    out += "| | unit | report | peer | Tandem |\n|---|---|---|---|---|\n";
    for row in object["rows"].as_array().into_iter().flatten() {
        let peer = match row["peer"].as_object() {
            Some(peer) => format!("{}: {}", text(&peer["name"]), number(&peer["value"])),
            None => String::new(),
        };
        let tandem = match row["tandem"].is_number() {
            true => format!("**{}**", number(&row["tandem"])),
            false => text(&row["why"]),
        };
        let (scenario, unit) = (text(&row["scenario"]), text(&row["unit"]));
        let report = number(&row["published"]);
        let _ = writeln!(out, "| {scenario} | {unit} | {report} | {peer} | {tandem} |");
    }
    for what in object["broken"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "\nDid not hold: {}", text(what));
    }
    out + "\n"
}

/// With three digits at least, and commas between thousands.
fn number(value: &Value) -> String {
    let Some(value) = value.as_f64() else { return String::new() };
    if value.abs() < 100.0 && value.fract() != 0.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_kept_runs_say() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let page = fs::read_to_string(docs.join("figures.md")).unwrap();
        let objects = stored(&docs.join("figures")).unwrap();
        assert!(!objects.is_empty());
        let hint = "docs/figures.md is not what docs/figures/ says: run `cargo xtask figures`";
        assert!(with_tables(&page, &objects).unwrap() == page, "{hint}");
    }

    #[test]
    fn a_row_tells_report_peer_and_tandem_or_why_not() {
        let host = json!({ "cpu": "a CPU", "cores": 2 });
        let object = json!({ "experiment": "x", "host": host, "quick": true,
            "rows": [
                { "scenario": "SIP", "unit": "calls/s", "published": 700.0,
                  "peer": { "name": "Kamailio", "value": 6_822.0 }, "tandem": 61_576.0 },
                { "scenario": "AKA", "unit": "calls/s", "published": 228.0, "peer": null,
                  "tandem": null, "detail": { "why": "needs IPsec" } },
            ] });
        let page = with_tables(&format!("a\n{BEGIN}old\n{END}b\n"), &[brief(&object, 5)]).unwrap();
        assert!(page.starts_with("a\n") && page.ends_with("b\n") && !page.contains("old"));
        assert!(page.contains("| SIP | calls/s | 700 | Kamailio: 6,822 | **61,576** |"), "{page}");
        assert!(page.contains("| AKA | calls/s | 228 |  | needs IPsec |"), "{page}");
        assert!(page.contains("`tandem lab run x --quick` on 2 cores (a CPU)"), "{page}");
        assert!(with_tables("no marks", &[]).is_err());
    }
}
