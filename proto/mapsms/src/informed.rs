//! What a service centre is told beside an answer about routing: InformServiceCentre (TS 29.002
//! §12.6, TS 23.040 §3.2.7) and MWD-Status (TS 29.338 §5.3.3.8), which say the same.

use crate::identity::Msisdn;
use ber::{Element, Writer};
use map::Operation;
use map::types::InformServiceCentreArg;
use tcap::OperationClass;
use tcu::{Code, Component};

/// Bits of MW-Status; MWD-Status has the same ones from the lowest up.
const BITS: usize = 6;
/// The invoke in an answer: the only one of its side.
const INVOKE: i8 = 1;

/// The state of the messages that wait for a subscriber.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MwStatus {
    /// The number by which the service centre will be alerted, where it is another one.
    pub stored: Option<Msisdn>,
    /// The service centre is not among those that will be alerted.
    pub is_not_included: bool,
    /// The subscriber cannot be reached by an MSC, or by this gateway.
    pub is_not_reachable: bool,
    /// The terminal has no memory.
    pub is_full: bool,
    /// The subscriber cannot be reached by an SGSN.
    pub is_not_reachable_by_gprs: bool,
}

impl MwStatus {
    const fn flags(&self) -> [bool; 4] {
        [self.is_not_included, self.is_not_reachable, self.is_full, self.is_not_reachable_by_gprs]
    }

    fn of(flags: [bool; 4], stored: Option<Msisdn>) -> Self {
        let [is_not_included, is_not_reachable, is_full, is_not_reachable_by_gprs] = flags;
        Self { stored, is_not_included, is_not_reachable, is_full, is_not_reachable_by_gprs }
    }

    /// What components tell beside an answer.
    #[must_use]
    pub fn of_components(components: &[Component]) -> Option<Self> {
        let inform = Code::Local(Operation::InformServiceCentre.code());
        let argument = components.iter().find_map(|it| match it {
            Component::Invoke { code, parameter: Some(it), .. } if *code == inform => Some(it),
            _ => None,
        });
        let it = InformServiceCentreArg::read(Element::only(argument?).ok()?).ok()?;
        let stored = it.octets(InformServiceCentreArg::StoredMsisdn);
        let stored = stored.map(|it| it.iter().collect::<Vec<u8>>());
        let stored = stored.and_then(|it| Msisdn::of_address_string(&it));
        let bits = it.bits(InformServiceCentreArg::MwStatus);
        let octet = bits.and_then(|it| it.octets().next()).unwrap_or_default();
        Some(Self::of(core::array::from_fn(|n| octet & 0x80 >> n != 0), stored))
    }

    /// As the component that goes before an answer, from version 2 on.
    #[must_use]
    pub fn component(&self) -> Component {
        let mut octets = Vec::new();
        let bits = self.flags().into_iter().enumerate();
        let status = bits.fold(0, |all: u8, (n, is)| if is { all | 0x80 >> n } else { all });
        Writer::new(&mut octets).record::<InformServiceCentreArg>(|out| {
            if let Some(stored) = &self.stored {
                let number = stored.address_string();
                out.octets(InformServiceCentreArg::StoredMsisdn, number.octets());
            }
            out.bits(InformServiceCentreArg::MwStatus, &[status], BITS);
        });
        Component::Invoke {
            id: INVOKE,
            linked: None,
            code: Code::Local(Operation::InformServiceCentre.code()),
            parameter: Some(octets.into()),
            class: Some(OperationClass::Four),
            time_ms: None,
        }
    }

    /// The value of MWD-Status.
    #[must_use]
    pub fn number(&self) -> u32 {
        let bits = self.flags().into_iter().enumerate();
        bits.fold(0, |all, (n, is)| if is { all | 1 << n } else { all })
    }

    /// What a value of MWD-Status says.
    #[must_use]
    pub fn of_number(number: u32, stored: Option<Msisdn>) -> Self {
        Self::of(core::array::from_fn(|n| number & 1 << n != 0), stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_in_map_is_told_in_diameter_and_back() {
        for number in 0..16 {
            for stored in [None, Msisdn::of("447700900123")] {
                let status = MwStatus::of_number(number, stored.clone());
                assert_eq!(status.number(), number);
                let component = status.component();
                assert_eq!(
                    MwStatus::of_components(core::slice::from_ref(&component)),
                    Some(status)
                );
                let Component::Invoke { code, parameter: Some(octets), .. } = component else {
                    panic!("an invoke");
                };
                let operation = Operation::InformServiceCentre;
                assert_eq!(code, Code::Local(operation.code()));
                for version in [2, 3] {
                    let argument = operation.signature(version).unwrap().argument.unwrap();
                    let element = Element::only(&octets).unwrap();
                    argument.kind.check(&element).unwrap();
                }
            }
        }
        assert_eq!(MwStatus::of_components(&[]), None);
    }

    #[test]
    fn bits_stand_where_the_standards_have_them() {
        let status = MwStatus { is_full: true, ..MwStatus::default() };
        assert_eq!(status.number(), 0b100);
        let Component::Invoke { parameter: Some(octets), .. } = status.component() else {
            panic!()
        };
        // SEQUENCE, BIT STRING, two bits unused, mcef-Set (2).
        assert_eq!(octets[..], [0x30, 4, 0x03, 2, 2, 0x20]);
    }
}
