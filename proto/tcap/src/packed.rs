//! Addresses and context of a dialogue as octets: a third of what they take otherwise.
//!
//! ```text
//!   own address │ peer's address │ context
//!   address: what it has (1), point code (3)?, subsystem (1)?,
//!            title: type, plan, nature, encoding, number of digits, digits, two in an octet
//! ```
//! What an application has put into an address stays as it was, whatever the wire makes of it.

use m3ua::codec::PointCode;
use sccp::codec::{Address, DIGITS_MAX, Digits, Indicator, Routing, Title};

const HAS_POINT_CODE: u8 = 0x01;
const HAS_SUBSYSTEM: u8 = 0x02;
const ON_SUBSYSTEM: u8 = 0x40;
/// Titles, by their indicators.
const INDICATORS: [Option<Indicator>; 5] = [
    None,
    Some(Indicator::Nature),
    Some(Indicator::Type),
    Some(Indicator::TypePlan),
    Some(Indicator::TypePlanNature),
];
/// Octets of an address at most.
const ADDRESS_OCTETS: usize = 10 + DIGITS_MAX / 2;

/// Addresses of this side and of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) own: Address,
    pub(crate) peer: Address,
}

/// The octets.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    octets: Vec<u8>,
    /// Where the context begins.
    context: u8,
}

impl Packed {
    pub(crate) fn clear(&mut self) {
        self.octets.clear();
        self.context = 0;
    }

    pub(crate) fn set(&mut self, ends: &Ends, context: &[u8]) {
        let mut room = Room { octets: [0; 2 * ADDRESS_OCTETS], used: 0 };
        room.put_address(&ends.own);
        room.put_address(&ends.peer);
        let addresses = room.octets.get(..room.used).unwrap_or_default();
        self.octets.clear();
        // No more than that: the buffer serves the next dialogue, too.
        self.octets.reserve_exact(addresses.len() + context.len());
        self.octets.extend_from_slice(addresses);
        self.octets.extend_from_slice(context);
        self.context = u8::try_from(room.used).unwrap_or_default();
    }

    pub(crate) fn ends(&self) -> Option<Ends> {
        let mut octets = self.octets.get(..usize::from(self.context))?;
        let own = address(&mut octets)?;
        Some(Ends { own, peer: address(&mut octets)? })
    }

    pub(crate) fn context(&self) -> &[u8] {
        self.octets.get(usize::from(self.context)..).unwrap_or_default()
    }
}

/// Two addresses while they are written.
struct Room {
    octets: [u8; 2 * ADDRESS_OCTETS],
    used: usize,
}

impl Room {
    fn put(&mut self, octets: &[u8]) {
        if let Some(place) = self.octets.get_mut(self.used..self.used + octets.len()) {
            place.copy_from_slice(octets);
            self.used += octets.len();
        }
    }

    fn put_address(&mut self, it: &Address) {
        let mut has = it.title.map_or(0, |title| title.indicator.number() << 2);
        has |= if it.routing == Routing::Subsystem { ON_SUBSYSTEM } else { 0 };
        has |= if it.subsystem.is_some() { HAS_SUBSYSTEM } else { 0 };
        has |= if it.point_code.is_some() { HAS_POINT_CODE } else { 0 };
        self.put(&[has]);
        if let Some(point_code) = it.point_code {
            let [_, octets @ ..] = point_code.number().to_be_bytes();
            self.put(&octets);
        }
        self.put(it.subsystem.as_slice());
        if let Some(title) = &it.title {
            // There are 32 at most.
            let count = u8::try_from(title.digits.len()).unwrap_or_default();
            let Title { translation_type, plan, nature, encoding, .. } = *title;
            self.put(&[translation_type, plan, nature, encoding, count]);
            self.put(title.digits.octets());
        }
    }
}

fn taken<const N: usize>(octets: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = octets.split_first_chunk()?;
    *octets = rest;
    Some(*first)
}

fn address(octets: &mut &[u8]) -> Option<Address> {
    let [has] = taken(octets)?;
    let routing = if has & ON_SUBSYSTEM == 0 { Routing::Title } else { Routing::Subsystem };
    let mut it = Address { routing, point_code: None, subsystem: None, title: None };
    if has & HAS_POINT_CODE != 0 {
        let [a, b, c] = taken(octets)?;
        it.point_code = PointCode::new(u32::from_be_bytes([0, a, b, c]));
    }
    if has & HAS_SUBSYSTEM != 0 {
        let [subsystem] = taken(octets)?;
        it.subsystem = Some(subsystem);
    }
    if let Some(indicator) = INDICATORS.get(usize::from(has >> 2 & 0x0f)).copied().flatten() {
        let [translation_type, plan, nature, encoding, count] = taken(octets)?;
        let (digits, rest) = octets.split_at_checked(usize::from(count).div_ceil(2))?;
        *octets = rest;
        let digits = Digits::read(digits, count % 2 == 1)?;
        it.title = Some(Title { indicator, translation_type, plan, nature, encoding, digits });
    }
    Some(it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_and_context_is_read_as_it_was_set() {
        let indicators = INDICATORS.into_iter().flatten();
        let digits = ["", "4", "44770", "447700900123", &"9".repeat(DIGITS_MAX)];
        let titles = indicators.flat_map(|indicator| {
            digits.iter().map(move |digits| Title {
                indicator,
                translation_type: 255,
                plan: 255,
                nature: 255,
                encoding: 1,
                digits: Digits::parse(digits).unwrap(),
            })
        });
        let titles: Vec<_> = core::iter::once(None).chain(titles.map(Some)).collect();
        let point_codes = [None, PointCode::new(0), PointCode::new(0x00ff_ffff)];
        let mut packed = Packed::default();
        assert_eq!((packed.ends(), packed.context()), (None, &[][..]));
        for (at, title) in titles.iter().enumerate() {
            for point_code in point_codes {
                for subsystem in [None, Some(0), Some(255)] {
                    let own =
                        Address { routing: Routing::Title, point_code, subsystem, title: *title };
                    let routing = Routing::Subsystem;
                    let peer = Address { routing, title: titles[titles.len() - 1 - at], ..own };
                    for context in [&[][..], &[4, 0, 0, 1, 0, 20, 3], &[7; 64]] {
                        packed.set(&Ends { own, peer }, context);
                        assert_eq!(packed.ends(), Some(Ends { own, peer }));
                        assert_eq!(packed.context(), context);
                    }
                }
            }
        }
        packed.clear();
        assert_eq!((packed.ends(), packed.context()), (None, &[][..]));
    }
}
