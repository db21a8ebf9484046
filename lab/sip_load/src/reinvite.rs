//! INVITEs that come inside of a call whose media somebody describes: answered as a phone does (RFC
//! 3261 §14.2), wherever in its flow the call is.
//!
//! ```text
//!   INVITE with an offer ──→ 200, our answer        ACK
//!   INVITE without       ──→ 200, our offer         ACK with the answer (RFC 3261 §13.2.1)
//! ```
//! An INVITE that comes again is answered again; the 2xx is not sent again by itself.

use crate::end::End;
use crate::ladder::What;
use crate::leg::repeat;
use crate::report::Tally;
use crate::scan::Scan;
use crate::script::{Voice, names};
use runtime::Effects;
use sip::Method;

impl End {
    /// Whether a request inside of a call is such an INVITE, or its ACK.
    pub(crate) fn is_reinvite(&self, slot: u32, scan: &Scan<'_>) -> bool {
        let leg = &self.legs[slot as usize];
        self.script.descriptions.is_some()
            && match scan.method {
                Method::Invite => !self.has_invite_to_come(slot),
                Method::Ack => leg.remote.reinvite != 0 && scan.cseq == leg.remote.reinvite,
                _ => false,
            }
    }

    /// Whether the flow has an INVITE of the other end that has not come.
    fn has_invite_to_come(&self, slot: u32) -> bool {
        let seen = self.legs[slot as usize].steps.seen;
        let mut steps = self.ladder.steps.iter().enumerate();
        steps.any(|(at, step)| {
            step.what == What::Request(Method::Invite)
                && !step.sent_by(self.side)
                && seen >> at & 1 == 0
        })
    }

    /// Takes it.
    pub(crate) fn on_reinvite(
        &mut self,
        slot: u32,
        scan: &Scan<'_>,
        out: &mut Effects,
        tally: &mut Tally,
    ) {
        if scan.method == Method::Ack {
            return self.hear(slot, scan);
        }
        let leg = &mut self.legs[slot as usize];
        if scan.cseq <= leg.remote.last && scan.cseq != leg.remote.reinvite {
            tally.report.late += 1;
            return;
        }
        (leg.remote.last, leg.remote.reinvite) = (scan.cseq, scan.cseq);
        leg.dialog.refresh(scan);
        repeat(&mut leg.repeated.head, scan, None, &[]);
        self.hear(slot, scan);
        let leg = &self.legs[slot as usize];
        let voice =
            Voice { at: 0, names: names(leg, slot, &self.endpoint_names[leg.endpoint as usize]) };
        out.send(leg.flow, |bytes| {
            self.script.write_described_ok(bytes, &voice, &leg.repeated.head);
        });
        tally.report.messages_out += 1;
    }
}
