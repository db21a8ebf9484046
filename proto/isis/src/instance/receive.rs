//! PDUs come: what may be looked at, and what not (ISO 10589 §7.3.15, §8.2.4.2, §8.4.2).

use super::{Instance, Out};
use crate::address::{Level, Snpa};
use crate::discard::Discard;
use crate::pdu::{Body, Pdu};
use machine::Time;

impl Instance {
    pub(super) fn receive(
        &mut self,
        now: Time,
        circuit: u32,
        source: Snpa,
        octets: &[u8],
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let it = self.circuits.get(&circuit).ok_or(Discard::Circuit)?;
        if !it.is_up || it.settings.is_passive {
            return Err(Discard::Circuit);
        }
        let pdu = Pdu::read(octets).map_err(|_| Discard::Malformed)?;
        let level = pdu.kind.level();
        if level.is_some_and(|level| !it.active.has(level)) {
            return Err(Discard::Level);
        }
        if let Body::Hello(hello) = pdu.body {
            if !it.settings.authentication.verify(pdu.octets, pdu.tlvs_at(), false) {
                return Err(Discard::Authentication);
            }
            return self.hello(now, (circuit, source), &hello, &pdu, out);
        }
        let level = level.ok_or(Discard::Malformed)?;
        self.receive_sequenced(now, (circuit, source), level, &pdu)
    }

    /// What only adjacent systems may say.
    fn receive_sequenced(
        &mut self,
        now: Time,
        from: (u32, Snpa),
        level: Level,
        pdu: &Pdu<'_>,
    ) -> Result<(), Discard> {
        let it = self.circuits.get(&from.0).ok_or(Discard::Circuit)?;
        it.sender(level, from.1).ok_or(Discard::Neighbour)?;
        let authentication = &self.settings.authentication[level.at()];
        if !authentication.verify(pdu.octets, pdu.tlvs_at(), pdu.kind.is_lsp()) {
            return Err(Discard::Authentication);
        }
        match pdu.body {
            Body::Hello(_) => Err(Discard::Malformed),
            Body::Lsp(..) => self.fragment(now, from.0, pdu),
            Body::Csnp { start, end, .. } => self.complete(now, from, level, [start, end], pdu),
            Body::Psnp { .. } => self.partial(now, from.0, level, pdu),
        }
    }
}
