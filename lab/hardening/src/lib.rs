//! `hardening`: what is left of good traffic while somebody attacks beside it.
//!
//! | what | how |
//! |---|---|
//! | under attack | `tandem run` of `--binary`, else of this program, on core 0 |
//! | good traffic | at the same rate for the same time, once alone and once beside the attack |
//! | attack | `tandem lab attack` on core 1 at low priority, of [`Raid`]'s rate and sources |
//! | value | what was served beside the attack by what was served without it, in percent |
//! | criterion | at least 98 %, nothing panicked, the process is still the one that was started |
//!
//! Each row starts a site of its own. A row that the program under attack cannot play, because it
//! does not know a key that the row needs, says so and is not judged.
#![forbid(unsafe_code)]

mod calls;
mod good;
mod ims;
mod media;
mod packets;
mod pair;
mod raid;
mod registrations;
mod routes;
mod signalling;

use good::Served;
use peers::Priority;
use raid::{Bench, Found};
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::{Experiment, Takes};
use serde_json::{Value, json};

const NAME: &str = "hardening";
const UNIT: &str = "% of good traffic held";
/// What must be held, percent.
const HELD_MIN: f64 = 98.0;
/// Of what was asked without an attack, so much must be served for a row to say anything.
const SERVED_MIN: f64 = 0.9;

/// The one experiment.
pub const EXPERIMENTS: &[Experiment] = &[Experiment::new(
    NAME,
    "what is left of good traffic beside each attack of `tandem lab attack`",
    run,
)
.taking(&[Takes::Binary])];

/// A row.
struct Scenario {
    name: &'static str,
    /// The good traffic, in words.
    good: &'static str,
    run: fn(&Bench) -> anyhow::Result<Found>,
}

const fn row(
    name: &'static str,
    good: &'static str,
    run: fn(&Bench) -> anyhow::Result<Found>,
) -> Scenario {
    Scenario { name, good, run }
}

const SCENARIOS: &[Scenario] = &[
    row("idle connections", "requests over new TCP connections", calls::idle_connections),
    row("half TLS handshakes", "TLS handshakes", calls::half_handshakes),
    row("idle connections to the API", "API requests", calls::idle_api),
    row("slow reading", "calls", calls::slow_reading),
    row("dialogs of strangers", "calls", calls::strangers),
    row("oversized dialogs", "calls", calls::oversized),
    row("forged HEP", "calls found in the SAS", calls::forged_hep),
    row("REGISTER flood", "registrations of unknown phones", registrations::flood),
    row("forged ESP", "calls of IMS phones", ims::esp),
    row("half-done registrations with AKA", "registrations and calls of IMS phones", ims::aka),
    row("forged replica datagrams", "calls", pair::replica),
    row("forged arbiter requests", "calls of a node that takes over", pair::arbiter),
    row("INIT with another's address", "MSUs", signalling::init),
    row("INIT flood", "MSUs", signalling::init_flood),
    row("MSUs in another's name", "MSUs", signalling::forged_msus),
    row("connections from a peer's address", "MSUs", signalling::claims),
    row("BGP paths that widen", "routes", routes::widening),
    row("neighbour scan", "packets to new neighbours", packets::neighbour_scan),
    row("neighbour scan, known neighbours", "packets", packets::neighbour_scan_known),
    row("RTP of strangers", "packets of calls", media::rtp),
    row("forged RTCP BYE", "packets of calls", media::rtcp),
    row("STUN flood", "packets of calls", media::stun),
    row("DTLS hellos", "packets of calls", media::dtls),
    row("fragments", "fragmented packets to the router", packets::fragments),
];

/// Runs it.
///
/// # Errors
/// When there is no room for files. What cannot be played is a row that says so.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let bench = Bench::new(options)?;
    let wanted: Vec<_> = SCENARIOS.iter().filter(|row| options.wants(row.name)).collect();
    let progress = Progress::new(NAME, wanted.len() as u64);
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for scenario in wanted {
        progress.say(scenario.name);
        let found = (scenario.run)(&bench);
        let row = row_of(scenario, found, &mut broken);
        progress.say(&format!("{}: {}", row.scenario, row.detail["note"]));
        rows.push(row);
        progress.step();
    }
    rows.iter_mut().for_each(|row| row.detail["priority"] = json!(priority.granted));
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

/// What was held of the good traffic, percent; `None` when there was none to hold.
fn held(without: Served, beside: Served) -> Option<f64> {
    let share = |served: Served| served.served as f64 / served.asked.max(1) as f64;
    (share(without) >= SERVED_MIN).then(|| share(beside) / share(without) * 100.0)
}

/// What a row shows, and what of it does not hold.
fn row_of(scenario: &Scenario, found: anyhow::Result<Found>, broken: &mut Vec<String>) -> Row {
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            let why = format!("{error:#}");
            if !raid::is_beyond(&error) {
                broken.push(format!("{}: {why}", scenario.name));
            }
            return Row::absent(scenario.name, UNIT, None, &why);
        }
    };
    let value = held(found.without, found.beside);
    let faults = faults(&found, value);
    broken.extend(faults.iter().map(|fault| format!("{}: {fault}", scenario.name)));
    let verdict = if faults.is_empty() { "met".to_owned() } else { faults.join("; ") };
    let Found { without, beside, attack, grown_octets, panics, lives, more } = found;
    let note = format!(
        "{}: {} of {} beside {:.0} /s, {} of {} without; {} octets more; {verdict}",
        scenario.good,
        beside.served,
        beside.asked,
        attack["frames_per_s"].as_f64().unwrap_or_default(),
        without.served,
        without.asked,
        grown_octets,
    );
    let detail = json!({
        "note": note,
        "good": scenario.good,
        "without": without.detail(),
        "beside": beside.detail(),
        "attack": attack,
        "grown_octets": grown_octets,
        "panics": panics,
        "lives": lives,
        "criterion": format!("at least {HELD_MIN} %, no panic, the process lives"),
        "met": faults.is_empty(),
        "more": more,
    });
    let scenario = scenario.name.to_owned();
    Row { scenario, unit: UNIT.into(), published: None, peer: None, tandem: value, detail }
}

/// What must not be.
fn faults(found: &Found, value: Option<f64>) -> Vec<String> {
    let mut all = Vec::new();
    match value {
        None => all.push("good traffic is not served without an attack either".to_owned()),
        Some(value) if value < HELD_MIN => all.push(format!("{value:.1} % held")),
        Some(_) => {}
    }
    if found.attack["frames"].as_u64().unwrap_or_default() == 0 {
        all.push("no attack left".to_owned());
    }
    if found.panics > 0 {
        all.push(format!("{} panics", found.panics));
    }
    if !found.lives {
        all.push("the process has ended".to_owned());
    }
    if let Value::String(fault) = &found.more["fault"] {
        all.push(fault.clone());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(served: u64, asked: u64) -> Served {
        Served { asked, served }
    }

    #[test]
    fn the_value_is_what_was_held_of_what_was_served_without_the_attack() {
        let percent = |without, beside| held(without, beside).map(|it| (it * 10.0).round());
        assert_eq!(percent(served(100, 100), served(98, 100)), Some(980.0));
        assert_eq!(percent(served(95, 100), served(95, 100)), Some(1_000.0));
        assert_eq!(percent(served(1_000, 1_000), served(0, 500)), Some(0.0));
        assert_eq!(percent(served(50, 100), served(50, 100)), None, "nothing can be said");
        assert_eq!(percent(served(0, 0), served(0, 0)), None);
    }

    #[test]
    fn a_row_is_judged_by_what_was_served_and_by_what_is_left_of_the_process() {
        let found = |beside, panics, lives, frames: u64| Found {
            without: served(100, 100),
            beside,
            attack: json!({ "frames": frames, "frames_per_s": 1.0 }),
            grown_octets: 4_096,
            panics,
            lives,
            more: Value::Null,
        };
        let judged = |found: Found| {
            let mut broken = Vec::new();
            let row = row_of(&SCENARIOS[0], Ok(found), &mut broken);
            assert_eq!(row.detail["met"], broken.is_empty());
            assert!(row.detail["note"].as_str().unwrap().contains("4096 octets"));
            broken.len()
        };
        assert_eq!(judged(found(served(98, 100), 0, true, 1)), 0);
        assert_eq!(judged(found(served(97, 100), 0, true, 1)), 1);
        assert_eq!(judged(found(served(100, 100), 1, true, 1)), 1);
        assert_eq!(judged(found(served(0, 100), 1, false, 1)), 3);
        assert_eq!(judged(found(served(100, 100), 0, true, 0)), 1, "an attack that never came");
    }

    #[test]
    fn what_the_program_under_attack_does_not_know_is_told_and_not_judged() {
        let mut broken = Vec::new();
        let row = row_of(&SCENARIOS[0], Err(raid::beyond("no key `auth_key`")), &mut broken);
        assert_eq!(row.tandem, None);
        assert!(row.detail["why"].as_str().unwrap().contains("auth_key") && broken.is_empty());
        row_of(&SCENARIOS[0], Err(anyhow::anyhow!("it does not come up")), &mut broken);
        assert_eq!(broken.len(), 1);
    }
}
