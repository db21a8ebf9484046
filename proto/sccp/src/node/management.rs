//! SCCP management (Q.714 §5): status of subsystems here and elsewhere, of nodes and their SCCP.

use super::remotes::Test;
use super::{Node, Origin};
use crate::codec::{
    Address, Class, Form, MANAGEMENT_SSN, Management, ManagementType, SERVICE_INDICATOR, Unit, Word,
};
use crate::connection::Inform;
use crate::effects::Indication;
use crate::metrics::Metric;
use m3ua::codec::{Affected, PointCode, UserCause};
use machine::{Duration, Time};

/// MTP-STATUS: the user part is not equipped (Q.704 §15.17.5).
const UNEQUIPPED: u16 = 1;

/// Tests that somebody waits for, at most.
const TESTED_MAX: usize = 128;

impl Node {
    /// N-STATE request: those concerned are told when it is news (§5.3.2.1, §5.3.3.1).
    pub(super) fn set_state(&mut self, subsystem: u8, is_in_service: bool) {
        let before = self.subsystems.insert(subsystem, is_in_service);
        if before == Some(is_in_service) || (before.is_none() && !is_in_service) {
            return;
        }
        for of in self.point_codes().collect::<Vec<_>>() {
            self.at = of;
            for index in 0..self.settings.concerned.len() {
                let dpc = self.settings.concerned[index];
                self.tell(dpc, kind_of(is_in_service), subsystem, of);
            }
        }
    }

    /// One of those concerned was away, and hears what it has missed.
    fn tell_all(&mut self, dpc: PointCode) {
        let subsystems: Vec<(u8, bool)> = self.subsystems().collect();
        for of in self.point_codes().collect::<Vec<_>>() {
            self.at = of;
            for (subsystem, is_in_service) in &subsystems {
                self.tell(dpc, kind_of(*is_in_service), *subsystem, of);
            }
        }
    }

    /// Sends a message of management, when there is a way.
    pub(super) fn tell(
        &mut self,
        dpc: PointCode,
        kind: ManagementType,
        subsystem: u8,
        of: PointCode,
    ) {
        if self.remotes.can_reach(dpc, None) == Err(crate::codec::ReturnCause::MtpFailure) {
            return;
        }
        let management =
            Management { kind, subsystem, point_code: of, multiplicity: 0, congestion: 0 };
        let (mut data, mut payload) = (Vec::new(), Vec::new());
        management.write(&mut data);
        let unit = Unit {
            form: Form::Basic,
            word: Word::Data(Class { is_sequenced: false, returns: false }),
            hops: 0,
            called: Address::subsystem(Some(dpc), MANAGEMENT_SSN),
            calling: Address::subsystem(Some(self.at), MANAGEMENT_SSN),
            segmentation: None,
            importance: None,
            data: &data,
        };
        if unit.write(&mut payload).is_some() {
            self.count(Metric::ManagementOut);
            self.transfer(dpc, 0, payload);
        }
    }

    /// A message came for a subsystem that is out of service: its source is told (§5.3.2.1).
    pub(super) fn respond_prohibited(&mut self, now: Time, opc: PointCode, subsystem: u8) {
        if self.answered.is_due(now, (opc, self.at, subsystem)) {
            self.tell(opc, ManagementType::Prohibited, subsystem, self.at);
        }
    }

    /// A message of management came. What it says of a node, that node alone says, and its
    /// management: neither what comes back from there, nor what it relays for others.
    pub(super) fn manage(&mut self, now: Time, from: Origin, unit: &Unit<'_>) {
        let Origin::Network(opc) = from else { return self.count(Metric::Discarded) };
        let is_its = unit.calling.subsystem == Some(MANAGEMENT_SSN)
            && unit.calling.point_code.is_none_or(|it| it == opc);
        if !is_its || !matches!(unit.word, Word::Data(_)) || unit.segmentation.is_some() {
            return self.count(Metric::Discarded);
        }
        let Ok(management) = Management::read(unit.data) else {
            return self.count(Metric::Malformed);
        };
        self.count(Metric::ManagementIn);
        let Management { kind, subsystem, point_code, congestion, .. } = management;
        let is_here = self.is_own(point_code);
        let is_own = point_code == opc;
        let is_status = matches!(kind, ManagementType::Allowed | ManagementType::Prohibited);
        if is_own && is_status && self.tested.remove(&(point_code, subsystem)) {
            let is_allowed = kind == ManagementType::Allowed;
            self.indicate(Indication::Tested(point_code, subsystem, is_allowed));
        }
        match kind {
            ManagementType::StatusTest if is_here && !self.coordination.ignores(subsystem) => {
                if subsystem == MANAGEMENT_SSN || self.unavailable(subsystem).is_none() {
                    self.tell(opc, ManagementType::Allowed, subsystem, point_code);
                }
            }
            ManagementType::Allowed if is_own => self.allowed(point_code, subsystem),
            ManagementType::Prohibited if is_own && subsystem != MANAGEMENT_SSN => {
                let interval = self.settings.parameters.status_first;
                self.prohibited(now, point_code, subsystem, interval);
            }
            ManagementType::OutOfServiceRequest if is_own => {
                self.indicate(Indication::Coordinate(opc, subsystem));
            }
            ManagementType::OutOfServiceGrant if is_here => self.granted(now, opc, subsystem),
            ManagementType::Congested if is_own => {
                self.indicate(Indication::Congested(opc, congestion));
            }
            _ => self.count(Metric::Discarded),
        }
    }

    /// A test that is asked for (§5.3.4). Beyond so many another one is forgotten.
    pub(super) fn test(&mut self, point_code: PointCode, subsystem: u8) {
        if self.tested.len() >= TESTED_MAX {
            self.tested.pop_first();
        }
        self.tested.insert((point_code, subsystem));
        self.tell(point_code, ManagementType::StatusTest, subsystem, point_code);
    }

    /// The answer to an N-COORD indication: the subsystem there may go out of service (§5.3.5.3).
    pub fn grant(&mut self, to: PointCode, subsystem: u8, out: &mut Vec<crate::Out>) {
        self.tell(to, ManagementType::OutOfServiceGrant, subsystem, to);
        out.append(&mut self.out);
    }

    /// Whether what is said of a node is kept: rules lead there, or it is one of those concerned.
    /// Of others anybody may say what he likes, and each would take room from these.
    fn matters(&self, point_code: PointCode) -> bool {
        self.settings.concerned.contains(&point_code)
            || !self.rules.point_codes(Affected::one(point_code)).is_empty()
    }

    /// Rules or settings are others.
    pub(super) fn forget_others(&mut self) {
        let mut remotes = core::mem::take(&mut self.remotes);
        remotes.retain(|it| self.matters(it));
        self.remotes = remotes;
    }

    /// A message of SCCP came from there: it has one, whatever was said of it.
    pub(super) fn heard_from(&mut self, opc: PointCode) {
        if self.remotes.allow(opc, MANAGEMENT_SSN) {
            self.indicate(Indication::Sccp(opc, true));
        }
    }

    fn allowed(&mut self, point_code: PointCode, subsystem: u8) {
        if self.matters(point_code) && !self.remotes.allow(point_code, subsystem) {
            return;
        }
        self.indicate(match subsystem {
            MANAGEMENT_SSN => Indication::Sccp(point_code, true),
            _ => Indication::State(point_code, subsystem, true),
        });
    }

    /// A subsystem elsewhere is out of service; it is tested after that interval.
    fn prohibited(&mut self, now: Time, point_code: PointCode, subsystem: u8, interval: Duration) {
        let test = Test { due: now + interval, interval };
        let most = self.settings.parameters.remotes_max;
        let is_news = match self.matters(point_code) {
            true => self.remotes.prohibit(point_code, subsystem, test, most),
            false => Some(true),
        };
        match is_news {
            Some(true) => self.indicate(match subsystem {
                MANAGEMENT_SSN => Indication::Sccp(point_code, false),
                _ => Indication::State(point_code, subsystem, false),
            }),
            Some(false) => {}
            None => self.count(Metric::RemotesShed),
        }
    }

    /// Sends the tests that are due.
    pub(super) fn test_due(&mut self, now: Time) {
        let most = self.settings.parameters.status_most;
        for (point_code, subsystem) in self.remotes.take_due(now, most) {
            self.tell(point_code, ManagementType::StatusTest, subsystem, point_code);
        }
    }

    /// MTP-PAUSE (§5.2.2). Only those that matter are kept.
    pub(super) fn pause(&mut self, affected: Affected) {
        let most = self.settings.parameters.remotes_max;
        for point_code in self.cared_for(affected) {
            let is_news = match self.matters(point_code) {
                true => self.remotes.pause(point_code, most),
                false => Some(true),
            };
            match is_news {
                Some(true) => {
                    self.indicate(Indication::PointCode(point_code, false));
                    self.inform(point_code, Inform::Failure);
                }
                Some(false) => {}
                None => self.count(Metric::RemotesShed),
            }
        }
    }

    /// MTP-RESUME (§5.2.3).
    pub(super) fn resume(&mut self, affected: Affected) {
        if affected.mask == 0 && !self.matters(affected.point_code) {
            self.indicate(Indication::PointCode(affected.point_code, true));
            self.inform(affected.point_code, Inform::Return);
        }
        for (point_code, prohibited) in self.remotes.resume(affected) {
            self.indicate(Indication::PointCode(point_code, true));
            self.inform(point_code, Inform::Return);
            for subsystem in prohibited {
                self.indicate(match subsystem {
                    MANAGEMENT_SSN => Indication::Sccp(point_code, true),
                    _ => Indication::State(point_code, subsystem, true),
                });
            }
            if self.settings.concerned.contains(&point_code) {
                self.tell_all(point_code);
            }
        }
    }

    /// MTP-STATUS (§5.2.4): congestion, or SCCP there does not answer.
    pub(super) fn status(&mut self, now: Time, affected: Affected, cause: m3ua::Cause) {
        for point_code in self.cared_for(affected) {
            match cause {
                m3ua::Cause::Congestion(level) => {
                    self.indicate(Indication::Congested(point_code, level.unwrap_or(1)));
                }
                m3ua::Cause::UserPartUnavailable(UserCause { cause, user })
                    if user == u16::from(SERVICE_INDICATOR) =>
                {
                    // One that is not equipped may be one day: it is asked seldom.
                    let parameters = &self.settings.parameters;
                    let interval = match cause {
                        UNEQUIPPED => parameters.status_most,
                        _ => parameters.status_first,
                    };
                    self.prohibited(now, point_code, MANAGEMENT_SSN, interval);
                }
                m3ua::Cause::UserPartUnavailable(_) => {}
            }
        }
    }

    /// The point codes of a range that matter here: those of rules and of the concerned. A single
    /// one is told to the users, whichever it is.
    #[must_use]
    pub fn cared_for(&self, affected: Affected) -> Vec<PointCode> {
        if affected.mask == 0 {
            return vec![affected.point_code];
        }
        let concerned = self.settings.concerned.iter().copied();
        let concerned = concerned.filter(|it| affected.contains(*it));
        let mut named = self.rules.point_codes(affected).to_vec();
        named.extend(concerned);
        named.sort_unstable();
        named.dedup();
        named
    }
}

const fn kind_of(is_in_service: bool) -> ManagementType {
    match is_in_service {
        true => ManagementType::Allowed,
        false => ManagementType::Prohibited,
    }
}
