//! What the forwarder tells of streams: their session controllers hear of it, and trails.

use crate::MediaController;
use crate::lease::Lessee;
use crate::measures::{Due, POOR_HUNDREDTHS, Report};
use crate::metrics::Metric;
use crate::streams::Owner;
use anchor::row::{Event, Message, StreamId};
use anchor::{Local, Side, Stream};
use core::net::SocketAddr;
use machine::{Duration, Time};
use media::program::{FEATURE, Name, Notice, Place};
use nodes::program::{Item, Removed};
use runtime::Effects;

/// Codes of events that are digits (RFC 4733 §3.2): those above are none that is dialled.
const DIGIT_MAX: u8 = 16;
/// A stream that was refused is an alarm for so long.
const REFUSED: Duration = Duration::from_secs(300);
/// Failures of protection within this time are added up for an alarm.
const UNPROTECTED: Duration = Duration::from_secs(60);

/// An end that something is told of.
pub(crate) struct Noticed {
    pub local: Local,
    pub owner: Owner,
    pub stream: Stream,
}

impl MediaController {
    /// Something happened to a flow.
    pub(crate) fn noticed(&mut self, now: Time, item: &Item, out: &mut Effects) {
        let (Ok(Name::Flow(place)), Ok(notice)) =
            (Name::read(&item.key), Notice::read(&item.value))
        else {
            return;
        };
        if item.feature != FEATURE || !self.pair.serves() {
            return;
        }
        let Some(address) = self.streams.addresses.number_of(&place) else { return };
        let local = Local { address, port: place.port };
        let Some(owner) = self.streams.owner(local) else {
            return self.noticed_last(now, local, &notice);
        };
        let Some(stream) = self.streams.at(owner.lessee, owner.stream) else { return };
        if let Some(snapshot) = &notice.snapshot {
            self.tell_resume(local, snapshot, out);
            self.replicated_notice(notice.number, out);
            self.measures.keep(local, snapshot.clone());
        }
        let is_rtcp = stream.end(owner.side).local != local;
        let told = Noticed { local, owner, stream };
        if notice.unprotected > 0 {
            self.unprotected(now, &told, notice.unprotected, out);
        }
        if !is_rtcp {
            self.happened(now, &told, &notice, out);
            self.waited(now, None, out);
        }
    }

    /// What passed at a flow that is gone.
    fn noticed_last(&mut self, now: Time, local: Local, notice: &Notice) {
        let (Some(over), Some(counted)) = (self.ended.at(local), notice.statistics) else { return };
        let (side, stream) = (over.owner.side, over.stream.clone());
        self.measures.count(now, local, &stream, side, counted);
    }

    fn happened(&mut self, now: Time, told: &Noticed, notice: &Notice, out: &mut Effects) {
        let (stream, side) = (&told.stream, told.owner.side);
        if let Some(source) = notice.latched {
            self.measures.latched(now, told.local, stream, side, source);
            let is_as_said = told.stream.end(told.owner.side).remote == Some(source);
            if !is_as_said {
                self.shown.metrics.add(Metric::Latched, 1);
                self.event(&told.owner, told.owner.side, Event::Latched(source), out);
                self.trail_latched(now, told, source);
            }
        }
        if notice.timed_out {
            self.measures.timed_out(now, told.local, stream, side);
            self.shown.metrics.add(Metric::TimedOut, 1);
            self.event(&told.owner, told.owner.side, Event::TimedOut, out);
            self.trail_timed_out(now, told);
        }
        if notice.one_way {
            self.one_way(now, told, out);
        }
        for digit in notice.digits.iter().filter(|digit| digit.code <= DIGIT_MAX) {
            let ms = u16::try_from(digit.duration_ms).unwrap_or(u16::MAX);
            self.shown.metrics.add(Metric::Digits, 1);
            self.event(&told.owner, told.owner.side, Event::Digit(digit.code, ms), out);
            self.trail_digit(now, told, (digit.code, digit.duration_ms), "rtp");
        }
        if let Some(counted) = notice.statistics {
            let Due { traced, told: due } =
                self.measures.count(now, told.local, stream, side, counted);
            self.driven.counted(told.local);
            if notice.is_back || counted.idle_ms.is_some_and(|idle| idle < 1_000) {
                self.speaks(now, told);
            }
            if let Some(report) = traced {
                self.trail_quality(now, told.owner, stream, &report);
            }
            if let Some(report) = due {
                self.reported(&told.owner, side, &report, out);
            }
        } else if notice.is_back {
            self.speaks(now, told);
        }
    }

    /// Packets come from this end, and none from the other one.
    fn one_way(&mut self, now: Time, told: &Noticed, out: &mut Effects) {
        let silent = told.owner.side.other();
        let local = told.stream.end(silent).local;
        if self.measures.silent(now, local) {
            self.shown.metrics.add(Metric::OneWay, 1);
            self.event(&told.owner, silent, Event::OneWay, out);
            self.trail_one_way(now, told, silent, None);
        }
    }

    fn speaks(&mut self, now: Time, told: &Noticed) {
        if let Some(since) = self.measures.speaks(told.local) {
            self.trail_one_way(now, told, told.owner.side, Some(now.since(since)));
        }
    }

    fn unprotected(&mut self, now: Time, told: &Noticed, count: u64, out: &mut Effects) {
        self.shown.metrics.add(Metric::PacketsUnprotected, count);
        let count = self.measures.unprotected.count(now, told.local, count);
        if count == 0 {
            return;
        }
        let before = self.shown.unprotected.filter(|(since, _)| now < *since + UNPROTECTED);
        let (since, sum) = before.unwrap_or((now, 0));
        self.shown.unprotected = Some((since, sum.saturating_add(count)));
        let told_count = u32::try_from(count).unwrap_or(u32::MAX);
        self.event(&told.owner, told.owner.side, Event::Unprotected(told_count), out);
        self.trail_unprotected(now, told, count);
    }

    /// The quality of an end since its session controller heard of it last.
    pub(crate) fn reported(
        &mut self,
        owner: &Owner,
        end: Side,
        report: &Report,
        out: &mut Effects,
    ) {
        if report.is_rated && report.quality.mos_hundredths < POOR_HUNDREDTHS {
            self.shown.metrics.add(Metric::PoorQuality, 1);
        }
        self.event(owner, end, Event::Quality(report.quality), out);
    }

    /// Tells a session controller; NG hears nothing by itself.
    pub(crate) fn event(&mut self, owner: &Owner, end: Side, event: Event, out: &mut Effects) {
        // To who began anew the name of a former stream is another call's.
        if owner.lessee == Lessee::NG || self.streams.is_former(owner.lessee, owner.stream) {
            return;
        }
        if let Some(link) = self.links.of(owner.lessee) {
            link.send(out, Message::Event { stream: owner.stream, end, event });
        }
    }

    /// The forwarder refused something: that it was of media is an alarm. A flow that it refuses
    /// stands there no more, and here until its stream changes.
    pub(crate) fn refused(&mut self, now: Time, of: &Removed) {
        let Removed::Item(feature, key) = of else { return };
        if feature != FEATURE {
            return;
        }
        let what = match Name::read(key) {
            Ok(Name::Flow(place)) => format!("the flow of {}", self.whose(&place)),
            Ok(Name::Duty | Name::Tokens | Name::Followed) => "which of a pair it is".to_owned(),
            Ok(Name::Range(start)) => format!("ports of {} from {} on", start.address, start.port),
            Err(_) => "what it cannot read".to_owned(),
        };
        self.shown.metrics.add(Metric::StreamsRefused, 1);
        self.shown.refused = Some((now, what));
    }

    /// A place and the stream that has it, for people.
    fn whose(&self, place: &Place) -> String {
        let at = SocketAddr::new(place.address, place.port);
        let address = self.streams.addresses.number_of(place);
        let local = address.map(|address| Local { address, port: place.port });
        match local.and_then(|local| self.streams.owner(local)) {
            Some(owner) => {
                let StreamId { call, line } = owner.stream;
                format!("{at}, line {line} of call {call:x}")
            }
            None => at.to_string(),
        }
    }

    /// What the forwarder refused of late.
    pub(crate) fn refused_of_late(&self, now: Time) -> Option<&str> {
        let refused = self.shown.refused.as_ref().filter(|(at, _)| now < *at + REFUSED);
        refused.map(|(_, what)| what.as_str())
    }

    /// Packets of late that did not hold what protects them.
    pub(crate) fn unprotected_of_late(&self, now: Time) -> u64 {
        let of_late = self.shown.unprotected.filter(|(since, _)| now < *since + 2 * UNPROTECTED);
        of_late.map_or(0, |(_, count)| count)
    }
}
