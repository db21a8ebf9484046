//! Floods at the live ports of calls with media, beside the calls' own packets.
//!
//! ```text
//!   tester ─ good streams ─┐
//!                          left ══ in ── Tandem's forwarder ── out ══ right ── tester
//!   attacker ─ strangers ──┘
//! ```
//! Good are packets of 20 ms in both directions; SRTP at the access. What is attacked is the packet
//! plane, told of the calls by the lab.

use super::good::Served;
use super::raid::{Bench, Found, Raid, panics};
use forwarder_bench::{Testbed, Tester, Who};
use media_lab::{Access, FIRST_PORT, Phones, TestBed};
use packet_load::{Codec, Trial};
use report::host;
use report::scratch::Scratch;
use serde_json::json;
use srtp::Suite;
use std::time::Duration;

/// Calls that stand, each with its 50 packets a second and way.
const CALLS: u32 = 200;
/// What the attacker sends a second.
const RATE: u32 = 50_000;
/// Nobody of these calls has such an address.
const STRANGERS: &str = "203.0.113.0/24";
const WARM: Duration = Duration::from_millis(300);

/// What becomes of good packets for a time.
fn good(tester: &mut Tester, phones: &Phones, duration: Duration) -> Served {
    let found = tester.trial(Trial::Rate { pps: phones.pps(), duration });
    // What the tester did not manage to send, nobody lost.
    let asked = found.measured.intended - found.unsent;
    Served { asked, served: found.measured.received.min(asked) }
}

fn hold(bench: &Bench, kind: &'static str) -> anyhow::Result<Found> {
    let scratch = Scratch::new("tandem-lab-")?;
    let cores = forwarder_bench::Bench::new(host::cores(), true);
    // The site under attack has core 0 in this experiment.
    let cores = forwarder_bench::Bench { cores: (cores.cores.1, cores.cores.0), ..cores };
    let ground = Testbed::new(Who::Tandem, cores.cores, scratch.path())?;
    let bed = TestBed::plane(&bench.tandem, ground, cores)?;
    let access = Access::Secure(Suite::AesCm128HmacSha1_80);
    let (codec, suppression, is_v6, becomes) = (Codec::G711, None, false, None);
    let phones = Phones { calls: CALLS, codec, suppression, access, is_v6, becomes };
    let raid = Raid {
        sources: STRANGERS.to_owned(),
        more: vec![
            ("--interface", forwarder_bench::LEFT.to_owned()),
            ("--mac", forwarder_bench::IN_MAC_TEXT.to_owned()),
            ("--ports", CALLS.to_string()),
        ],
        namespace: Some(bed.ground().side.name().to_owned()),
        ..Raid::new(kind, FIRST_PORT.into(), RATE)
    };
    bed.on_fresh(phones, |tester| {
        good(tester, &phones, WARM);
        let without = good(tester, &phones, bench.length);
        let before = bed.usage().resident_bytes;
        let attacker = bench.attack(&raid, scratch.path())?;
        std::thread::sleep(raid.lead);
        let beside = good(tester, &phones, bench.length);
        let after = bed.usage().resident_bytes;
        Ok(Found {
            without,
            beside,
            attack: attacker.end()?,
            grown_octets: i64::try_from(after)? - i64::try_from(before)?,
            panics: panics(scratch.path()),
            lives: after > 0,
            more: json!({ "calls": CALLS }),
        })
    })
}

pub(super) fn rtp(bench: &Bench) -> anyhow::Result<Found> {
    hold(bench, "rtp")
}

pub(super) fn rtcp(bench: &Bench) -> anyhow::Result<Found> {
    hold(bench, "rtcp")
}

pub(super) fn stun(bench: &Bench) -> anyhow::Result<Found> {
    hold(bench, "stun")
}

pub(super) fn dtls(bench: &Bench) -> anyhow::Result<Found> {
    hold(bench, "dtls")
}
