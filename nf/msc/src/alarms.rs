//! What somebody should look at: the forwarder, session controllers, ports, and how calls sound.

use crate::MediaController;
use crate::lease;
use crate::transcoding::AWAY_MAX;
use dataplane::alarm;
use machine::Time;
use question::Condition;

/// Ends with poor quality that are worth an alarm: so many, and this part of all.
const POOR_MIN: usize = 10;
const POOR_PERCENT: usize = 5;
/// Packets without their protection in a minute that are worth one.
const UNPROTECTED_MIN: u64 = 100;

impl MediaController {
    pub(crate) fn alarms(&self, now: Time) -> Vec<Condition> {
        let name = &self.settings.msc.name;
        let (mut rows, serves) = (self.dataplane.alarms(now, name), self.pair.serves());
        for (_, it) in self.controllers.iter().filter(|(_, it)| serves && it.away_since.is_some()) {
            let text = format!("{} is not connected: its streams go on for a while", it.name);
            rows.push(alarm("session-controller-away", &it.name, "major", &text));
        }
        let percent_max = u64::from(self.settings.msc.limits.leased_percent);
        for (group, family, it) in self.group_figures() {
            if it.is_scarce(percent_max) || it.lacks && it.is_leased(percent_max) {
                let subject = format!("{group} {family}");
                let lease::Figures { leased, pairs, in_use, .. } = it;
                let text =
                    format!("{leased} of {pairs} pairs of ports are leased, {in_use} are in use");
                rows.push(alarm("media-ports-scarce", &subject, "major", &text));
            }
        }
        let (silent, first) = self.measures.silent_ones();
        if let Some(local) = first {
            let place = self.streams.addresses.place(local.address, local.port);
            let place = place.map_or_else(String::new, |it| format!("{}:{}", it.address, it.port));
            let text = format!("{silent} ends are silent while the other one speaks: {place} …");
            rows.push(alarm("one-way-audio", name, "minor", &text));
        }
        let (poor, all) = self.measures.poor_ones();
        if poor >= POOR_MIN && poor * 100 >= all * POOR_PERCENT {
            let text = format!("{poor} of {all} ends have a mean opinion score below 3.5");
            rows.push(alarm("poor-quality", name, "minor", &text));
        }
        let unprotected = self.unprotected_of_late(now);
        if unprotected >= UNPROTECTED_MIN {
            let text =
                format!("{unprotected} packets of late did not hold what protects them (SRTP)");
            rows.push(alarm("srtp-failures", name, "minor", &text));
        }
        if self.transcoding.away_since().is_some_and(|since| since + AWAY_MAX <= now) {
            let (streams, why) = (self.transcoding.len(), self.transcoding.why());
            let text = format!("nothing is transcoded, {streams} streams are silent: {why}");
            rows.push(alarm("transcoder-away", name, "major", &text));
        }
        if self.pair.follows() && self.pair.is_incomplete {
            let text = "streams of the other node cannot be taken here, by limits or ports: after \
                        a takeover no stream that has keys goes on";
            rows.push(alarm("standby-incomplete", name, "major", text));
        }
        if let Some(what) = self.refused_of_late(now) {
            let text = format!("the forwarder refused {what}: tandem ctl media refusals");
            rows.push(alarm("stream-refused", name, "major", &text));
        }
        rows
    }
}
