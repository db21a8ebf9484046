//! SCCP connectionless control (Q.714 §4): N-UNITDATA, segmentation and reassembly.

use super::{Node, Origin};
use crate::codec::{
    Class, Form, LONG_DATA_BYTES_MAX, ReturnCause, Routing, Segmentation, Unit, Word,
};
use crate::effects::{Indication, Unitdata};
use crate::metrics::Metric;
use crate::reassembly::{Came, Limits, Partial, Segment};
use bytes::Bytes;
use machine::Time;

/// Segments of a message, at most (Q.713 §3.17).
const SEGMENTS_MAX: usize = 16;
/// Local references have 24 bits.
const REFERENCE_MASK: u32 = 0x00ff_ffff;
/// Octets that translation may add to the called address on the way.
const GROWTH: usize = 12;

impl Node {
    /// N-UNITDATA request.
    pub(super) fn request(&mut self, now: Time, unitdata: &Unitdata) {
        self.come_to(unitdata.calling.point_code);
        let unit = Unit {
            form: Form::Basic,
            word: Word::Data(unitdata.class),
            hops: 0,
            called: unitdata.called,
            calling: unitdata.calling,
            segmentation: None,
            importance: unitdata.importance,
            data: &unitdata.data,
        };
        let sls = if unitdata.class.is_sequenced { unitdata.sls } else { self.next_sls() };
        let (most, hops) =
            (self.settings.parameters.message_octets_max, self.settings.parameters.hops);
        let extended = Unit { form: Form::Extended, hops, ..unit };
        let long = Unit { form: Form::Long, ..extended };
        let count = unit.data.len();
        // What stays here is of any length: nothing is written.
        let is_here = unit.called.routing == Routing::Subsystem
            && unit.called.point_code.is_none_or(|it| self.is_own(it));
        let whole = match () {
            () if unit.importance.is_none() && (is_here || count <= room(&unit, most)) => unit,
            () if is_here || count <= room(&extended, most) => extended,
            () if self.settings.parameters.has_long
                && count <= room(&long, most).min(LONG_DATA_BYTES_MAX) =>
            {
                long
            }
            () => return self.segment(now, extended, unitdata, sls),
        };
        self.route(now, Origin::Here, whole, &unitdata.data, sls);
    }

    fn next_sls(&mut self) -> u8 {
        self.sls = (self.sls + 1) & 0x0f;
        self.sls
    }

    /// Sends segments, in class 1 whatever the user asked for, so that they keep their order
    /// (§4.1.1.2.2). The first alone comes back.
    fn segment(&mut self, now: Time, whole: Unit<'_>, unitdata: &Unitdata, sls: u8) {
        self.reference = self.reference.wrapping_add(1);
        // Nodes with one point code do not number two messages alike.
        let reference = match self.settings.parameters.segments_part {
            Some(part) => u32::from(part) << 20 & REFERENCE_MASK | self.reference & 0x000f_ffff,
            None => self.reference & REFERENCE_MASK,
        };
        let segmentation = Segmentation {
            is_first: true,
            is_sequenced: unitdata.class.is_sequenced,
            remaining: 0,
            reference,
        };
        let whole = Unit { segmentation: Some(segmentation), ..whole };
        let room = room(&whole, self.settings.parameters.message_octets_max);
        let segments = if room == 0 { usize::MAX } else { whole.data.len().div_ceil(room) };
        if segments > SEGMENTS_MAX {
            let (from, cause) = (Origin::Here, ReturnCause::SegmentationFailure);
            return self.undelivered(now, from, &whole, &unitdata.data, cause);
        }
        self.count(Metric::Segmented);
        for (index, data) in whole.data.chunks(room).enumerate() {
            let class = Class { is_sequenced: true, returns: unitdata.class.returns && index == 0 };
            let remaining = u8::try_from(segments - 1 - index).unwrap_or_default();
            let segmentation = Segmentation { is_first: index == 0, remaining, ..segmentation };
            let (word, segmentation) = (Word::Data(class), Some(segmentation));
            let unit = Unit { word, segmentation, data, ..whole };
            self.route(now, Origin::Here, unit, &unitdata.data, sls);
        }
    }

    /// Data for a subsystem here that is in service.
    pub(super) fn accept(
        &mut self,
        now: Time,
        from: Origin,
        unit: Unit<'_>,
        payload: &Bytes,
        sls: u8,
    ) {
        let Word::Data(class) = unit.word else { return };
        let opc = match from {
            Origin::Network(opc) => opc,
            Origin::Here => self.at,
        };
        let Some(segmentation) = unit.segmentation else {
            let data = payload.slice_ref(unit.data);
            return self.hand_over(from, &unit, class, sls, data);
        };
        let (called, calling, data) = (unit.called, unit.calling, unit.data);
        let by = self.by;
        let segment = Segment { by, opc, called, calling, class, segmentation, data };
        let parameters = &self.settings.parameters;
        let limits =
            Limits { octets: parameters.reassembly_octets_max, time: parameters.reassembly };
        match self.reassembly.take(now, segment, limits) {
            Came::More => {}
            Came::Whole(partial) => {
                self.count(Metric::Reassembled);
                let unit = Unit { called: partial.called, calling: partial.calling, ..unit };
                self.hand_over(from, &unit, partial.class, sls, Bytes::from(partial.data));
            }
            Came::Failed(cause, partial) => {
                let metric = match cause {
                    ReturnCause::NoReassembly => Metric::ReassemblyShed,
                    _ => Metric::ReassemblyFailed,
                };
                self.count(metric);
                match partial {
                    Some(partial) => self.reassembly_failed(now, cause, &partial),
                    None => self.undelivered(now, from, &unit, payload, cause),
                }
            }
        }
    }

    fn hand_over(&mut self, from: Origin, unit: &Unit<'_>, class: Class, sls: u8, data: Bytes) {
        self.count(Metric::Delivered);
        let (called, mut calling, importance) = (unit.called, unit.calling, unit.importance);
        let opc = match from {
            Origin::Network(opc) => Some(opc),
            Origin::Here => None,
        };
        // The answer goes to where the MSU came from, if the address does not say more (§2.7.2.1).
        if calling.routing == Routing::Subsystem {
            calling.point_code = calling.point_code.or(opc);
        }
        let unitdata = Unitdata { called, calling, class, sls, importance, data };
        self.indicate(Indication::Unitdata(opc, unitdata));
    }

    /// The first segment of what will never be whole comes back, when it asked for it.
    pub(super) fn reassembly_failed(&mut self, now: Time, cause: ReturnCause, partial: &Partial) {
        let payload = Bytes::copy_from_slice(&partial.data[..partial.first]);
        let unit = Unit {
            form: Form::Extended,
            word: Word::Data(partial.class),
            hops: 0,
            called: partial.called,
            calling: partial.calling,
            segmentation: None,
            importance: None,
            data: &payload,
        };
        self.undelivered(now, Origin::Network(partial.opc), &unit, &payload, cause);
    }
}

/// Data that fit, with octets left for the addresses to grow on the way.
fn room(unit: &Unit<'_>, most: usize) -> usize {
    let growth = if unit.called.routing == Routing::Title { GROWTH } else { 0 };
    unit.room(most.saturating_sub(growth)).min(unit.room(usize::MAX).saturating_sub(growth))
}
