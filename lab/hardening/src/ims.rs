//! Attacks on a P-CSCF: forged ESP beside calls of phones that have security associations, and
//! half-done registrations beside phones that attach and call.

use super::calls::calls;
use super::good::Served;
use super::raid::{Bench, Found, Raid, Target};
use report::site::Site;
use sbc::{ImsGround, Load};
use serde_json::json;
use sip_load::{Act, Ladder, Trial};
use std::time::Duration;

/// Phones, and what they do a second.
const PHONES: u32 = 1_000;
const CALLS: f64 = 500.0;
const REGISTRATIONS: f64 = 50.0;
const DRAIN: Duration = Duration::from_secs(3);
/// Packets a second that are asked of the attacker, and registrations.
const ESP_RATE: u32 = 300_000;
const AKA_RATE: u32 = 2_000;
/// What the controller must have counted, and what that is.
const DROPPED: &[(&str, &str)] = &[
    ("ipsec_dropped_unknown_spi_total", "unknown_index"),
    ("ipsec_dropped_icv_total", "wrong_code"),
    ("ipsec_dropped_replayed_total", "replay"),
];
/// Hosts of the attacker of registrations, and what each may have under way.
const SOURCES: &str = "127.66.0.0/26";
const SOURCES_MAX: u64 = 64;
const UNDER_WAY_OF_SOURCE: u64 = 64;

/// A P-CSCF with the limits of a site file that says nothing of them, and its phones.
struct Stand {
    ims: ImsGround,
    site: Site,
    load: Load,
}

impl Stand {
    fn new(bench: &Bench) -> anyhow::Result<Self> {
        let mut ims = ImsGround::new(PHONES)?;
        ims.limits = String::new();
        let load = ims.load(Ladder::built_in("SIP")?, attack::SUBSCRIPTIONS, false)?;
        let site = bench.site(ims.topology.directory(), &ims.site(false)?, ims.topology.api)?;
        load.attach(PHONES)?;
        Ok(Self { ims, site, load })
    }

    fn hold(
        &self,
        bench: &Bench,
        raid: &Raid,
        good: impl FnMut(Duration) -> anyhow::Result<Served>,
    ) -> anyhow::Result<Found> {
        bench.hold(&Target::new(&self.site, self.ims.topology.directory()), raid, good)
    }
}

pub(super) fn esp(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let raid = Raid::new("esp", stand.ims.topology.access, ESP_RATE);
    let mut found = stand.hold(bench, &raid, |length| calls(&stand.load, CALLS, length))?;
    let mut fault = None;
    for (name, what) in DROPPED {
        let count = stand.site.counter(name)?;
        found.more[*what] = json!(count);
        if count == 0 {
            fault = Some(format!("no packet was dropped as {what}: not all of the attack came"));
        }
    }
    found.more["fault"] = json!(fault);
    Ok(found)
}

pub(super) fn aka(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let raid = Raid::new("aka", stand.ims.topology.access, AKA_RATE);
    let raid = Raid { sources: SOURCES.to_owned(), ..raid };
    let mut under_way = 0;
    let mut found = stand.hold(bench, &raid, |length| {
        let trial = Trial { rate: REGISTRATIONS, length, ..Trial::default() };
        stand.load.begin_phones(Act::Again, &trial)?;
        let called = calls(&stand.load, CALLS, length)?;
        let registered = stand.load.phones_ended(DRAIN)?;
        under_way = stand.site.counter("ims_registrations_under_way")?;
        Ok(Served {
            asked: called.asked + registered.started,
            served: called.served + registered.completed,
        })
    })?;
    // Those of the attacker's sources and of the phones' own.
    let most = (SOURCES_MAX + 1) * UNDER_WAY_OF_SOURCE;
    let is_right = (1..=most).contains(&under_way);
    let fault = (!is_right).then(|| format!("{under_way} registrations are under way"));
    let made_way = stand.site.counter("ims_registrations_made_way_total")?;
    found.more = json!({ "under_way": under_way, "made_way": made_way, "fault": fault });
    Ok(found)
}
