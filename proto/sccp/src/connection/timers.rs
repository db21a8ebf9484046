//! Timers of sections (Q.714 annex C).

use super::primitives::Disconnected;
use super::section::{Reset, Section, State};
use super::table::Connections;
use crate::codec::{ConnectionMessage, LocalReference, RefusalCause, ReleaseCause, ResetCause};
use crate::metrics::Metric;
use bytes::Bytes;
use machine::Time;

impl Connections {
    /// Every timer that is due.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some((reference, section)) = self.next_due(now) {
            self.expired(now, reference, section);
        }
    }

    fn expired(&mut self, now: Time, reference: LocalReference, mut section: Box<Section>) {
        match section.state {
            State::Active(_) => return self.active_expired(now, reference, section),
            State::Releasing { cause, until, .. } if now < until => {
                let again = now + self.parameters.release_repeat;
                section.state = State::Releasing { cause, again, until };
                self.send_released(now, reference, &mut section, cause, None);
                return self.keep(reference, section);
            }
            _ => self.metric(Metric::ConnectionsExpired),
        }
        let refused = Disconnected::Refused(RefusalCause::Expired.number());
        match section.state {
            // A CC may still be on its way: the other side has its half then.
            State::Requested(_) => {
                self.tell_end(reference, refused, Bytes::new());
                self.freeze(now, reference, section, false);
            }
            State::Offered(_) => {
                if let Some(destination) = section.other {
                    let message = ConnectionMessage::Refused {
                        destination,
                        cause: RefusalCause::Expired.number(),
                        called: None,
                        importance: None,
                        data: None,
                    };
                    self.send(now, reference, &mut section, &message);
                }
                self.tell_end(reference, refused, Bytes::new());
                self.freeze(now, reference, section, true);
            }
            _ => self.freeze(now, reference, section, false),
        }
    }

    fn active_expired(&mut self, now: Time, reference: LocalReference, mut section: Box<Section>) {
        let parameters = self.parameters;
        if section.received + parameters.inactivity_receive <= now {
            self.metric(Metric::ConnectionsExpired);
            return self.break_off(now, reference, section, ReleaseCause::InactivityExpired);
        }
        if matches!(section.state, State::Active(Reset::Asked(until)) if until <= now) {
            self.metric(Metric::ConnectionsExpired);
            return self.break_off(now, reference, section, ReleaseCause::ResetExpired);
        }
        if section.expedited_until.is_some_and(|until| until <= now) {
            self.reset_by_us(now, reference, &mut section, ResetCause::Unqualified);
        } else if let Some(destination) = section.other
            && section.sent + parameters.inactivity_send <= now
        {
            let message = ConnectionMessage::InactivityTest {
                destination,
                source: reference,
                class: section.class,
                sequencing: section.flow.as_it_is(section.is_busy || self.is_held(reference)),
                credit: section.flow.credit(),
            };
            self.send(now, reference, &mut section, &message);
        }
        self.keep(reference, section);
    }
}
