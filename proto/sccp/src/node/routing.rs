//! SCCP routing control (Q.714 §2): to a user here, to another node, or back.

use super::{Node, Origin};
use crate::codec::{Address, Form, MANAGEMENT_SSN, Message, ReturnCause, Routing, Unit, Word};
use crate::effects::Indication;
use crate::metrics::Metric;
use crate::translation::{Target, Untranslated};
use bytes::Bytes;
use m3ua::codec::PointCode;
use machine::Time;

/// Where a message goes.
pub(super) enum Course {
    Here(Address),
    There(PointCode, Address),
}

/// Whether a target is the node that a message came from, which would translate it again. Where
/// the target is the destination it is none that leads in a circle: a subsystem there may well
/// call another one by its title.
fn goes_back(target: &Target, before: Option<PointCode>) -> bool {
    before.is_some() && target.point_code == before && target.routing == Routing::Title
}

impl Node {
    /// Routes a message; `payload` is what its data are a part of.
    pub(super) fn route(
        &mut self,
        now: Time,
        from: Origin,
        unit: Unit<'_>,
        payload: &Bytes,
        sls: u8,
    ) {
        match self.course(from, &unit, sls) {
            Ok(Course::Here(called)) => {
                self.deliver(now, from, Unit { called, ..unit }, payload, sls);
            }
            Ok(Course::There(dpc, called)) => {
                let sent = self.send(from, Unit { called, ..unit }, dpc, sls);
                if let Err(cause) = sent {
                    self.undelivered(now, from, &unit, payload, cause);
                }
            }
            Err(cause) => self.undelivered(now, from, &unit, payload, cause),
        }
    }

    /// Where a message goes.
    pub(super) fn course(
        &self,
        from: Origin,
        unit: &Unit<'_>,
        sls: u8,
    ) -> Result<Course, ReturnCause> {
        let called = match unit.called.routing {
            Routing::Subsystem => unit.called,
            Routing::Title => {
                self.check_hops(from, unit)?;
                self.translated(from, &unit.called, sls)?
            }
        };
        let is_here = match (called.point_code, from) {
            (None, _) => true,
            (Some(point_code), _) if self.is_own(point_code) => true,
            // MTP3 brought it to its destination: the point code in it says no more (§2.3.1).
            (Some(_), Origin::Network(_)) => unit.called.routing == Routing::Subsystem,
            (Some(_), Origin::Here) => false,
        };
        match called.point_code {
            // Management speaks for its own node, by `tell`: what others have a node send or return
            // to the management elsewhere would be taken for the word of that node.
            Some(_) if !is_here && called.subsystem == Some(MANAGEMENT_SSN) => {
                Err(ReturnCause::Unqualified)
            }
            Some(dpc) if !is_here => {
                let is_final = called.routing == Routing::Subsystem;
                self.remotes.can_reach(dpc, called.subsystem.filter(|_| is_final))?;
                Ok(Course::There(dpc, called))
            }
            // A rule that leads here and to another translation here would lead in a circle.
            _ if called.routing == Routing::Title => Err(ReturnCause::NoTranslationAddress),
            _ => Ok(Course::Here(called)),
        }
    }

    /// Where the title of a message leads to; counted.
    fn translated(&self, from: Origin, called: &Address, sls: u8) -> Result<Address, ReturnCause> {
        let before = match from {
            Origin::Network(opc) => Some(opc),
            Origin::Here => None,
        };
        let translated = self.rules.translate(called, sls, |target, subsystem| {
            !goes_back(target, before) && self.is_open(target, subsystem)
        });
        match translated {
            // No title leads to management: its messages go by point code (§5.1).
            Ok(to) if to.subsystem == Some(MANAGEMENT_SSN) => Err(ReturnCause::Unqualified),
            Ok(to) => {
                self.count(Metric::Translated);
                Ok(to)
            }
            Err(Untranslated::Unreachable) if self.is_circular(called, before) => {
                self.count(Metric::Circular);
                Err(ReturnCause::NoTranslationAddress)
            }
            Err(why) => {
                if why != Untranslated::Unreachable {
                    self.count(Metric::Untranslated);
                }
                Err(self.why_untranslated(called, why))
            }
        }
    }

    /// Whether a title would go on if its message had not come from that node.
    fn is_circular(&self, address: &Address, before: Option<PointCode>) -> bool {
        let rule = address.title.as_ref().and_then(|title| self.rules.find(title).ok());
        let mut targets = rule.into_iter().flat_map(|rule| &rule.targets);
        targets.any(|target| {
            let subsystem = target.subsystem.or(address.subsystem);
            goes_back(target, before) && self.is_open(target, subsystem)
        })
    }

    fn is_open(&self, target: &Target, subsystem: Option<u8>) -> bool {
        let subsystem = subsystem.filter(|_| target.routing == Routing::Subsystem);
        self.can_take(target.point_code, subsystem).is_ok()
    }

    /// The hop counter is lessened at each translation and must not come to zero (§2.3.1 (2)).
    fn check_hops(&self, from: Origin, unit: &Unit<'_>) -> Result<(), ReturnCause> {
        if from != Origin::Here && unit.form != Form::Basic && unit.hops <= 1 {
            self.count(Metric::HopsExceeded);
            return Err(ReturnCause::HopCounterViolation);
        }
        Ok(())
    }

    /// Where a message to a title with that SLS would go now: the address that its title leads to,
    /// whose point code is the next node; none: it stays here.
    ///
    /// # Errors
    /// With what cause it would come back.
    pub fn translation(&self, address: &Address, sls: u8) -> Result<Address, ReturnCause> {
        let translated =
            self.rules.translate(address, sls, |target, subsystem| self.is_open(target, subsystem));
        translated.map_err(|why| self.why_untranslated(address, why))
    }

    fn why_untranslated(&self, address: &Address, why: Untranslated) -> ReturnCause {
        match why {
            Untranslated::Nature => ReturnCause::NoTranslationNature,
            Untranslated::Digits => ReturnCause::NoTranslationAddress,
            Untranslated::Unreachable => self.why_unreachable(address),
        }
    }

    /// The cause of the first target of a rule none of whose targets can be reached.
    fn why_unreachable(&self, address: &Address) -> ReturnCause {
        let title = address.title.as_ref();
        let rule = title.and_then(|title| self.rules.find(title).ok());
        let Some(target) = rule.and_then(|rule| rule.targets.first()) else {
            return ReturnCause::Unqualified;
        };
        let subsystem = target.subsystem.or(address.subsystem);
        self.can_take(target.point_code, subsystem).err().unwrap_or(ReturnCause::Unqualified)
    }

    /// Whether a message can go to a node, and to a subsystem of it; without a point code, to this
    /// one.
    ///
    /// # Errors
    /// With what cause it would come back.
    pub fn can_take(
        &self,
        point_code: Option<PointCode>,
        subsystem: Option<u8>,
    ) -> Result<(), ReturnCause> {
        match point_code.filter(|it| !self.is_own(*it)) {
            Some(point_code) => self.remotes.can_reach(point_code, subsystem),
            None => subsystem.and_then(|it| self.unavailable(it)).map_or(Ok(()), Err),
        }
    }

    /// Why a subsystem here takes nothing.
    pub(super) fn unavailable(&self, subsystem: u8) -> Option<ReturnCause> {
        match self.subsystems.get(&subsystem) {
            Some(true) => None,
            Some(false) => Some(ReturnCause::SubsystemFailure),
            None => Some(ReturnCause::UnequippedUser),
        }
    }

    /// Sends a message to another node.
    fn send(
        &mut self,
        from: Origin,
        mut unit: Unit<'_>,
        dpc: PointCode,
        sls: u8,
    ) -> Result<(), ReturnCause> {
        if let Origin::Network(opc) = from {
            self.count(Metric::Relayed);
            unit.hops = unit.hops.saturating_sub(1);
            let parameters = &self.settings.parameters;
            let is_by_title = unit.called.routing == Routing::Title;
            if unit.form == Form::Basic && is_by_title && parameters.relays_extended {
                // Who translates next may lead it back here by others: a UDT would never end.
                (unit.form, unit.hops) = (Form::Extended, parameters.hops);
            }
            // The next node sees another OPC: the answer has to find its way (§2.7.2.1).
            if unit.calling.routing == Routing::Subsystem && unit.calling.point_code.is_none() {
                unit.calling.point_code = Some(opc);
            }
        }
        unit.calling = self.rules.calling(&unit.calling);
        let mut payload = Vec::with_capacity(unit.data.len() + 64);
        unit.write(&mut payload).ok_or(ReturnCause::ErrorInProcessing)?;
        self.transfer(dpc, sls, payload);
        Ok(())
    }

    fn deliver(&mut self, now: Time, from: Origin, unit: Unit<'_>, payload: &Bytes, sls: u8) {
        let subsystem = unit.called.subsystem.unwrap_or_default();
        if subsystem == MANAGEMENT_SSN {
            return self.manage(now, from, &unit);
        }
        if let Some(cause) = self.unavailable(subsystem) {
            if let (ReturnCause::SubsystemFailure, Origin::Network(opc)) = (cause, from) {
                self.respond_prohibited(now, opc, subsystem);
            }
            return self.undelivered(now, from, &unit, payload, cause);
        }
        match unit.word {
            Word::Data(_) => self.accept(now, from, unit, payload, sls),
            Word::Service(cause) => {
                self.count(Metric::Notices);
                // Who is called by a service is who has sent the data.
                let (called, calling) = (unit.calling, unit.called);
                let data = payload.slice_ref(unit.data);
                self.indicate(Indication::Notice { called, calling, cause, data });
            }
        }
    }

    /// MTP3 had no way for an MSU of this node.
    pub(super) fn undeliverable(&mut self, now: Time, msu: &m3ua::Transfer) {
        self.come_to(Some(msu.opc));
        let read = Message::read(&msu.payload);
        let Ok(message) = read else { return };
        let Ok(Some(unit)) = Unit::of(&message) else {
            return self.connection_undeliverable(now, &message, msu);
        };
        let of_calling = unit.calling.point_code.filter(|it| !self.is_own(*it));
        let is_here = unit.calling.routing == Routing::Subsystem && of_calling.is_none();
        let from = match is_here {
            true => Origin::Here,
            false => Origin::Network(of_calling.unwrap_or(self.at)),
        };
        self.undelivered(now, from, &unit, &msu.payload, ReturnCause::MtpFailure);
    }

    /// A message that cannot be delivered comes back when it asks for it (Q.714 §4.2).
    pub(super) fn undelivered(
        &mut self,
        now: Time,
        from: Origin,
        unit: &Unit<'_>,
        payload: &Bytes,
        cause: ReturnCause,
    ) {
        self.indicate(Indication::Undelivered {
            from: match from {
                Origin::Here => None,
                Origin::Network(opc) => Some(opc),
            },
            called: unit.called,
            calling: unit.calling,
            cause,
        });
        let Word::Data(class) = unit.word else {
            return self.count(Metric::Discarded);
        };
        if !class.returns {
            return self.count(Metric::Discarded);
        }
        self.count(Metric::Returned);
        match from {
            Origin::Here => {
                self.count(Metric::Notices);
                let (called, calling) = (unit.called, unit.calling);
                let (cause, data) = (cause.number(), payload.slice_ref(unit.data));
                self.indicate(Indication::Notice { called, calling, cause, data });
            }
            Origin::Network(opc) => {
                let mut service = unit.returned(cause, self.settings.parameters.hops);
                if service.form == Form::Basic {
                    service.hops = 0;
                }
                if service.called.routing == Routing::Subsystem
                    && service.called.point_code.is_none_or(|it| self.is_own(it))
                {
                    service.called.point_code = Some(opc);
                }
                self.route(now, Origin::Here, service, payload, 0);
            }
        }
    }
}
