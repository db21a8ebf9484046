//! `cargo xtask figures [FILE…]`: takes objects that `tandem lab run NAME --json` printed, or that
//! a report kept in its `--output`, into `docs/figures/`, and writes the tables of docs/figures.md
//! from all that are there.
//!
//! ```text
//!   an experiment's object          → docs/figures/NAME.json, with options NAME-OPTIONS.json
//!   a report's object (sbc, router) → the same for each experiment that its rows name
//!   a run of single rows            → these rows of what is kept
//! ```

use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const BEGIN: &str = "<!-- cargo xtask figures: from here on -->\n";
const END: &str = "<!-- cargo xtask figures: up to here -->\n";

/// Tables of the page that one command fills.
struct Run {
    heading: &'static str,
    command: &'static str,
    /// Names of what is kept, in the order of the page.
    kept: &'static [&'static str],
}

/// Every table of the page. What is kept beside them comes behind them.
const RUNS: &[Run] = &[
    Run {
        heading: "Session border controller",
        command: "tandem lab run sbc --output target/figures",
        kept: &[
            "call-signalling",
            "header-manipulation",
            "overload",
            "registration",
            "session-capacity",
            "media-capacity",
            "softswitch-shielding",
            "ddos",
            "ssc-failover",
            "ims-failover",
            "high-availability",
            "service-assurance",
        ],
    },
    Run {
        heading: "Media sessions at the report's rate, for its time",
        command: "tandem lab run media-capacity --full --json >target/figures/media-full.json",
        kept: &["media-capacity-full"],
    },
    Run {
        heading: "Media failover under the report's calls",
        command: "tandem lab run high-availability --full --json \
            >target/figures/failover-full.json",
        kept: &["high-availability-full"],
    },
    Run {
        heading: "Transcoding",
        command: "tandem lab run transcoding --json >target/figures/transcoding.json",
        kept: &["transcoding"],
    },
    Run {
        heading: "Generator of calls",
        command: "tandem lab run generator --json >target/figures/generator.json",
        kept: &["generator"],
    },
    Run {
        heading: "A call beside itself: what the measure is worth",
        command: "tandem lab run compare --json >target/figures/compare.json",
        kept: &["compare"],
    },
    Run {
        heading: "SIPp's scenarios",
        command: "tandem lab run sipp --json >target/figures/sipp.json",
        kept: &["sipp"],
    },
    Run {
        heading: "Signalling over IP",
        command: "tandem lab run ss7 --output target/figures",
        kept: &[
            "map-sri-for-sm",
            "cap-call-monitoring",
            "sctp-failover",
            "sctp-path-max-retrans",
            "sgc-failover",
            "sgc-overload",
            "gtt-commit",
        ],
    },
    Run {
        heading: "Signalling over IP, real packets",
        command: "tandem lab run sctp-failover --live --json >target/figures/failover-live.json",
        kept: &["sctp-failover-live"],
    },
    Run {
        heading: "SCTP",
        command: "tandem lab run sctp-throughput --json >target/figures/sctp-throughput.json",
        kept: &["sctp-throughput"],
    },
    Run {
        heading: "Short messages",
        command: "tandem lab run ipsmgw --json >target/figures/ipsmgw.json",
        kept: &["ipsmgw"],
    },
    Run {
        heading: "Short messages, failover",
        command: "tandem lab run ipsmgw-failover --json >target/figures/ipsmgw-failover.json",
        kept: &["ipsmgw-failover"],
    },
    Run {
        heading: "Short messages kept by a ring of Cassandra",
        command: "tandem lab run ipsmgw-ring --json >target/figures/ipsmgw-ring.json",
        kept: &["ipsmgw-ring"],
    },
    Run {
        heading: "Virtual service router",
        command: "tandem lab run router --output target/figures",
        kept: &[
            "throughput",
            "services",
            "denial-of-service",
            "reflection-ipv4",
            "reflection-evpn",
        ],
    },
    Run {
        heading: "Route reflection beside FRR",
        command: "tandem lab run reflection-ipv4 --peer frr --json >target/figures/ipv4-frr.json",
        kept: &["reflection-ipv4-peer-frr"],
    },
    Run {
        heading: "Route reflection beside FRR, EVPN",
        command: "tandem lab run reflection-evpn --peer frr --json >target/figures/evpn-frr.json",
        kept: &["reflection-evpn-peer-frr"],
    },
    Run {
        heading: "All services of the report",
        command: "tandem lab run services --full --json >target/figures/services-full.json",
        kept: &["services-full"],
    },
    Run {
        heading: "Beside attacks",
        command: "tandem lab run hardening --json >target/figures/hardening.json",
        kept: &["hardening"],
    },
];

/// Objects by the name under which they are kept.
type Kept = BTreeMap<String, Value>;

/// Takes the files, then writes the page.
///
/// # Errors
/// When a file is no object of the lab, or the page has lost its marks.
pub fn run(files: &[&str]) -> anyhow::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let folder = docs.join("figures");
    fs::create_dir_all(&folder)?;
    let mut kept = stored(&folder)?;
    for file in files {
        let text = fs::read_to_string(file).with_context(|| (*file).to_owned())?;
        take(&mut kept, &text).with_context(|| (*file).to_owned())?;
    }
    for (name, object) in &kept {
        fs::write(folder.join(format!("{name}.json")), format!("{object:#}\n"))?;
    }
    let page = docs.join("figures.md");
    let text = fs::read_to_string(&page)?;
    fs::write(&page, with_tables(&text, &kept)?)?;
    println!("{}", page.display());
    Ok(())
}

/// The objects that are kept.
fn stored(folder: &Path) -> anyhow::Result<Kept> {
    let mut kept = Kept::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).context("a name")?;
        kept.insert(name.to_owned(), serde_json::from_str(&fs::read_to_string(&path)?)?);
    }
    Ok(kept)
}

/// Takes what a file has: an object, or several one after the other.
fn take(kept: &mut Kept, text: &str) -> anyhow::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut taken = 0;
    for object in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        for single in singles(&object?)? {
            let name = name_of(&single)?;
            let before = kept.remove(&name);
            kept.insert(name, merged(before, brief(&single, now)));
            taken += 1;
        }
    }
    anyhow::ensure!(taken > 0, "no object of `tandem lab run --json`");
    Ok(())
}

/// The object of an experiment as it is; that of a report as one for each experiment of its rows.
fn singles(object: &Value) -> anyhow::Result<Vec<Value>> {
    let rows = object["rows"].as_array().context("no object of `tandem lab run --json`")?;
    let mut by: Vec<(&str, Vec<&Value>)> = Vec::new();
    for row in rows {
        let of = row["detail"]["experiment"].as_str().unwrap_or_default();
        match by.iter_mut().find(|(name, _)| *name == of) {
            Some((_, own)) => own.push(row),
            None => by.push((of, vec![row])),
        }
    }
    if by.iter().all(|(name, _)| name.is_empty()) {
        return Ok(vec![object.clone()]);
    }
    let single = |(name, rows): (&str, Vec<&Value>)| {
        let start = format!("{name}: ");
        let broken = object["broken"].as_array().into_iter().flatten();
        let own = broken.filter_map(|what| what.as_str()?.strip_prefix(&start));
        let mut single = object.clone();
        single["experiment"] = json!(name);
        single["rows"] = json!(rows);
        single["broken"] = json!(own.collect::<Vec<_>>());
        single
    };
    // What has no experiment yet has no figure.
    let has_run =
        |(_, rows): &(&str, Vec<&Value>)| rows.iter().any(|row| row["tandem"].is_number());
    Ok(by.into_iter().filter(has_run).map(single).collect())
}

/// The options with which it was run, as they are written.
fn options(object: &Value) -> Vec<&str> {
    object["options"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Under which name it is kept: that of the experiment, and what made the run another one.
fn name_of(object: &Value) -> anyhow::Result<String> {
    let experiment = object["experiment"].as_str().context("it names no experiment")?;
    let mut words = vec![experiment];
    let mut given = options(object).into_iter();
    while let Some(option) = given.next() {
        match option {
            "--quick" => {}
            "--scenario" => {
                let _name = given.next();
            }
            other => words.push(other.trim_start_matches('-')),
        }
    }
    let name = words.join("-");
    let plain = |octet: u8| if octet.is_ascii_alphanumeric() { char::from(octet) } else { '-' };
    anyhow::ensure!(!name.contains(['/', '\\']), "`{name}` is no name of an experiment");
    Ok(name.bytes().map(plain).collect())
}

/// What is kept of a run: its rows without most of their detail.
fn brief(object: &Value, now: u64) -> Value {
    let rows = object["rows"].as_array().into_iter().flatten().map(|row| {
        json!({
            "scenario": row["scenario"], "unit": row["unit"], "published": row["published"],
            "peer": row["peer"], "tandem": row["tandem"],
            "why": row["detail"]["why"], "note": row["detail"]["note"],
        })
    });
    json!({
        "experiment": object["experiment"], "options": options(object),
        "host": { "cpu": object["host"]["cpu"], "cores": object["host"]["cores"] },
        "measured_at_s": object["measured_at_s"].as_u64().unwrap_or(now),
        "quick": object["quick"] == true,
        "broken": object["broken"].as_array().cloned().unwrap_or_default(),
        "rows": rows.collect::<Vec<_>>(),
    })
}

/// A run of single rows takes their places, with what did not hold of them, and each says how it
/// was run where that differs; any other run takes the place of all.
fn merged(before: Option<Value>, mut new: Value) -> Value {
    let Some(mut before) = before.filter(|_| options(&new).contains(&"--scenario")) else {
        return new;
    };
    let is_as_others = before["quick"] == new["quick"] && before["host"] == new["host"];
    let (quick, cpu) = (new["quick"] == true, new["host"]["cpu"].clone());
    let mut broken: Vec<Value> = before["broken"].as_array().cloned().unwrap_or_default();
    let Some(all) = before["rows"].as_array_mut() else { return new };
    for row in new["rows"].as_array_mut().into_iter().flatten() {
        if !is_as_others {
            row["run"] = json!({ "quick": quick, "cpu": cpu });
        }
        let start = format!("{}: ", row["scenario"].as_str().unwrap_or_default());
        broken.retain(|what| !what.as_str().unwrap_or_default().starts_with(&start));
        match all.iter_mut().find(|kept| kept["scenario"] == row["scenario"]) {
            Some(kept) => *kept = row.take(),
            None => all.push(row.take()),
        }
    }
    broken.extend(new["broken"].as_array().into_iter().flatten().cloned());
    before["broken"] = json!(broken);
    before
}

fn with_tables(page: &str, kept: &Kept) -> anyhow::Result<String> {
    let (before, rest) = page.split_once(BEGIN).context("the page has no mark of the beginning")?;
    let (_, after) = rest.split_once(END).context("the page has no mark of the end")?;
    let tables: String = RUNS.iter().map(|run| chapter(run, kept)).collect();
    let listed = |name: &&String| RUNS.iter().any(|run| run.kept.contains(&name.as_str()));
    let others = kept.iter().filter(|(name, _)| !listed(name)).map(|(_, object)| table(object));
    Ok(format!("{before}{BEGIN}\n{}{tables}{}{END}{after}", commands(), others.collect::<String>()))
}

/// What fills the tables, to be copied.
fn commands() -> String {
    let lines: String = RUNS.iter().map(|run| format!("{}\n", run.command)).collect();
    format!(
        "<!-- not run: measures for hours, on a machine that does nothing else -->\n\
         ```console\nmkdir -p target/figures\n{lines}\
         cargo xtask figures target/figures/*.json\n```\n\n"
    )
}

fn chapter(run: &Run, kept: &Kept) -> String {
    let mut out = format!("### {}\n\n", run.heading);
    out.extend(run.kept.iter().filter_map(|name| kept.get(*name)).map(table));
    let missing = run.kept.iter().filter(|name| !kept.contains_key(**name));
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let _ = writeln!(out, "Not kept yet: {}.\n", missing.join(", "));
    }
    out
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().replace('|', "\\|")
}

fn table(object: &Value) -> String {
    let words = [vec![object["experiment"].as_str().unwrap_or_default()], options(object)].concat();
    let cores = object["host"]["cores"].as_u64().unwrap_or_default();
    let (run, cpu) = (words.join(" "), text(&object["host"]["cpu"]));
    let mut out = format!("`tandem lab run {run}` on {cores} cores ({cpu}).\n\n");
    let rows = || object["rows"].as_array().into_iter().flatten();
    let has_notes = rows().any(|row| row["note"].is_string() || row["run"].is_object());
    let (head, line) = if has_notes { (" note |", "---|") } else { ("", "") };
    let _ = writeln!(out, "| | unit | report | peer | Tandem |{head}\n|---|---|---|---|---|{line}");
    for row in rows() {
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
        let note = if has_notes { format!(" {} |", note(row)) } else { String::new() };
        let _ = writeln!(out, "| {scenario} | {unit} | {report} | {peer} | {tandem} |{note}");
    }
    for what in object["broken"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "\nDid not hold: {}", text(what));
    }
    out + "\n"
}

/// What a row says of itself, and how it was run where the others of its table were run otherwise.
fn note(row: &Value) -> String {
    let own = text(&row["note"]);
    let Some(run) = row["run"].as_object() else { return own };
    let how = if run["quick"] == true { "`--quick`" } else { "in full" };
    let run = format!("{how}, {}", text(&run["cpu"]));
    if own.is_empty() { run } else { format!("{own} ({run})") }
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

    /// What each experiment prints, made of its own structures: a test of `tandem-experiments`
    /// holds it to them.
    const OBJECTS: &str = include_str!("../tests/figures.jsonl");

    fn page(kept: &Kept) -> String {
        with_tables(&format!("a\n{BEGIN}old\n{END}b\n"), kept).unwrap()
    }

    #[test]
    fn the_page_is_what_the_kept_runs_say() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let page = fs::read_to_string(docs.join("figures.md")).unwrap();
        let kept = stored(&docs.join("figures")).unwrap();
        assert!(!kept.is_empty());
        let hint = "docs/figures.md is not what docs/figures/ says: run `cargo xtask figures`";
        assert!(with_tables(&page, &kept).unwrap() == page, "{hint}");
    }

    #[test]
    fn every_experiment_has_its_table_and_every_table_an_experiment() {
        let mut kept = Kept::new();
        for line in OBJECTS.lines() {
            take(&mut kept, line).unwrap_or_else(|error| panic!("{error:#}: {line}"));
        }
        let tables = RUNS.iter().flat_map(|run| run.kept).map(|name| (*name).to_owned());
        let mut tables: Vec<String> = tables.collect();
        tables.sort();
        assert_eq!(kept.keys().cloned().collect::<Vec<_>>(), tables);
        let page = page(&kept);
        assert!(!page.contains("Not kept yet"), "{page}");
        for object in kept.values() {
            for row in object["rows"].as_array().unwrap() {
                let start = format!("| {} | ", text(&row["scenario"]));
                assert!(page.contains(&start), "{start}");
            }
        }
    }

    #[test]
    fn a_row_tells_report_peer_tandem_and_its_note_or_why_not() {
        let host = json!({ "cpu": "a CPU", "cores": 2 });
        let object = json!({ "experiment": "x", "host": host, "options": ["--quick"],
            "rows": [
                { "scenario": "SIP", "unit": "calls/s", "published": 700.0, "tandem": 61_576.0,
                  "peer": { "name": "Kamailio", "value": 6_822.0 }, "detail": { "note": "UDP" } },
                { "scenario": "AKA", "unit": "calls/s", "published": 228.0, "peer": null,
                  "tandem": null, "detail": { "why": "needs IPsec" } },
            ] });
        let page = page(&Kept::from([("x".to_owned(), brief(&object, 5))]));
        assert!(page.starts_with("a\n") && page.ends_with("b\n") && !page.contains("old"));
        let row = "| SIP | calls/s | 700 | Kamailio: 6,822 | **61,576** | UDP |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| AKA | calls/s | 228 |  | needs IPsec |  |"), "{page}");
        assert!(page.contains("`tandem lab run x --quick` on 2 cores (a CPU)"), "{page}");
        assert!(with_tables("no marks", &Kept::new()).is_err());
    }

    #[test]
    fn a_run_of_single_rows_leaves_the_others_and_options_make_another_table() {
        let row = |name: &str, value: f64| json!({ "scenario": name, "tandem": value });
        let object = |options: &[&str], rows: &[Value]| {
            json!({ "experiment": "x", "options": options, "rows": rows }).to_string()
        };
        let mut kept = Kept::new();
        take(&mut kept, &object(&[], &[row("a", 1.0), row("b", 2.0)])).unwrap();
        take(&mut kept, &object(&["--scenario", "b"], &[row("b", 3.0)])).unwrap();
        take(&mut kept, &object(&["--quick", "--peer", "frr"], &[row("a", 9.0)])).unwrap();
        assert_eq!(kept.keys().collect::<Vec<_>>(), ["x", "x-peer-frr"]);
        let rows = kept["x"]["rows"].as_array().unwrap();
        let values: Vec<_> = rows.iter().map(|row| row["tandem"].as_f64().unwrap()).collect();
        assert_eq!(values, [1.0, 3.0]);
        let quick = json!({ "experiment": "x", "options": ["--quick"], "quick": true,
            "broken": ["b: 2", "a: 1"], "rows": [row("a", 1.0), row("b", 2.0)] });
        let full = json!({ "experiment": "x", "options": ["--scenario", "b"],
            "broken": ["b: 5"], "rows": [row("b", 5.0)] });
        let both = merged(Some(brief(&quick, 0)), brief(&full, 0));
        assert_eq!(both["broken"], json!(["a: 1", "b: 5"]));
        let page = page(&Kept::from([("x".to_owned(), both)]));
        assert!(page.contains("**5** | in full,") && page.contains("**1** |  |"), "{page}");
        assert!(page.contains("Did not hold: b: 5"), "{page}");
        for wrong in ["", "{}", "[]", "{\"rows\": []", "{\"experiment\": \"../x\", \"rows\": []}"] {
            assert!(take(&mut kept, wrong).is_err(), "{wrong}");
        }
    }
}
