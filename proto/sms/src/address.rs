//! Addresses: of TPDUs (TS 23.040 §9.1.2.5) and of RP messages and MAP (TS 24.011 §8.2.5.1,
//! TS 24.008 §10.5.4.7), which say their length otherwise and know no letters.

use crate::alphabet::{Alphabet, Septets, pack, packed_octets};
use core::fmt;
use wire::{Cursor, Malformed};

const SPEC: &str = "TS 23.040 §9.1.2.5";
const RP: &str = "TS 24.011 §8.2.5.1";
/// Octets of digits of an address of a TPDU.
const VALUE_MAX: usize = 10;
/// Octets of an address of an RP message: the type and ten of digits.
const RP_MAX: usize = 11;
/// The bit of a type octet that no octet of the type follows.
const NO_EXTENSION: u8 = 0x80;
/// Digits by their semi-octets.
const DIGITS: &[u8; 15] = b"0123456789*#abc";
/// Fills the last octet of an odd number of digits.
const FILLER: u8 = 0xf;

wire::rows! {
    /// The type of a number (TS 23.040 §9.1.2.5).
    pub enum TypeOfNumber: u8 {
        /// Not known.
        Unknown = 0, "unknown", "TS 23.040 §9.1.2.5";
        /// With its country code.
        International = 1, "international", "TS 23.040 §9.1.2.5";
        /// Without it.
        National = 2, "national", "TS 23.040 §9.1.2.5";
        /// Of the serving network.
        NetworkSpecific = 3, "network specific", "TS 23.040 §9.1.2.5";
        /// A short code that the centre stores.
        Subscriber = 4, "subscriber", "TS 23.040 §9.1.2.5";
        /// Letters, in septets.
        Alphanumeric = 5, "alphanumeric", "TS 23.040 §9.1.2.5";
        /// Abbreviated.
        Abbreviated = 6, "abbreviated", "TS 23.040 §9.1.2.5";
        /// To come.
        Reserved = 7, "reserved", "TS 23.040 §9.1.2.5";
    }
}

wire::rows! {
    /// The plan of a number (TS 23.040 §9.1.2.5).
    pub enum NumberingPlan: u8 {
        /// Not known.
        Unknown = 0, "unknown", "TS 23.040 §9.1.2.5";
        /// Telephony.
        Isdn = 1, "ISDN", "TS 23.040 §9.1.2.5";
        /// X.121.
        Data = 3, "data", "TS 23.040 §9.1.2.5";
        /// Telex.
        Telex = 4, "telex", "TS 23.040 §9.1.2.5";
        /// Of a service centre, and known to it alone.
        ServiceCentre = 5, "service centre specific", "TS 23.040 §9.1.2.5";
        /// Another one of those.
        ServiceCentre2 = 6, "service centre specific 2", "TS 23.040 §9.1.2.5";
        /// National.
        National = 8, "national", "TS 23.040 §9.1.2.5";
        /// Private.
        Private = 9, "private", "TS 23.040 §9.1.2.5";
        /// ERMES.
        Ermes = 10, "ERMES", "TS 23.040 §9.1.2.5";
        /// To come.
        Reserved = 15, "reserved", "TS 23.040 §9.1.2.5";
    }
}

/// An address of a TPDU, at most 20 digits or 11 letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    semi_octets: u8,
    kind: u8,
    value: [u8; VALUE_MAX],
}

impl Address {
    /// An address of digits, `*`, `#`, `a`, `b` and `c`; none if there are others or more than 20.
    #[must_use]
    pub fn digits(number: TypeOfNumber, plan: NumberingPlan, digits: &str) -> Option<Self> {
        let mut value = [0; VALUE_MAX];
        let used = fill(&mut value, digits)?;
        (number != TypeOfNumber::Alphanumeric || used == 0).then_some(())?;
        let semi_octets = u8::try_from(digits.len()).ok()?;
        Some(Self { semi_octets, kind: kind(number, plan), value })
    }

    /// An international number of telephony.
    #[must_use]
    pub fn international(digits: &str) -> Option<Self> {
        Self::digits(TypeOfNumber::International, NumberingPlan::Isdn, digits)
    }

    /// An address of letters of the default alphabet; none if there are others or they need more
    /// than eleven septets.
    #[must_use]
    pub fn letters(text: &str) -> Option<Self> {
        let septets = Alphabet::DEFAULT.septets(text)?;
        let mut octets = Vec::new();
        pack(&septets, 0, &mut octets);
        let mut value = [0; VALUE_MAX];
        value.get_mut(..octets.len())?.copy_from_slice(&octets);
        let semi_octets = u8::try_from((septets.len() * 7).div_ceil(4)).ok()?;
        let kind = kind(TypeOfNumber::Alphanumeric, NumberingPlan::Unknown);
        Some(Self { semi_octets, kind, value })
    }

    /// Reads an address with its length: semi-octets of the digits.
    ///
    /// # Errors
    /// More than 20 digits, or cut off.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let violation = Malformed::new(cursor.at(), "an address of more than 20 digits", SPEC);
        let semi_octets = cursor.octet("the length of an address lacks")?;
        let count = usize::from(semi_octets).div_ceil(2);
        if count > VALUE_MAX {
            return Err(violation);
        }
        let kind = cursor.octet("the type of an address lacks")?;
        let octets = cursor.take(count, "an address is cut off")?;
        let mut value = [0; VALUE_MAX];
        value[..count].copy_from_slice(octets);
        Ok(Self { semi_octets, kind, value })
    }

    /// Appends the address with its length.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.semi_octets, self.kind]);
        out.extend_from_slice(self.octets());
    }

    pub(crate) fn of_parts(semi_octets: u8, kind: u8, octets: &[u8]) -> Option<Self> {
        let mut value = [0; VALUE_MAX];
        (octets.len() == usize::from(semi_octets).div_ceil(2)).then_some(())?;
        value.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(Self { semi_octets, kind, value })
    }

    /// Its length as written, in semi-octets.
    #[must_use]
    pub const fn semi_octets(&self) -> u8 {
        self.semi_octets
    }

    /// Its type as written.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        self.kind
    }

    /// The octets of digits or letters.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.value[..usize::from(self.semi_octets).div_ceil(2)]
    }

    /// The type of number.
    #[must_use]
    pub fn number(&self) -> TypeOfNumber {
        TypeOfNumber::of(self.kind >> 4 & 7).unwrap_or(TypeOfNumber::Reserved)
    }

    /// The numbering plan, if it has a name.
    #[must_use]
    pub const fn plan(&self) -> Option<NumberingPlan> {
        NumberingPlan::of(self.kind & 0xf)
    }

    /// Digits or letters.
    #[must_use]
    pub fn text(&self) -> String {
        if self.number() == TypeOfNumber::Alphanumeric {
            let count = usize::from(self.semi_octets) * 4 / 7;
            return Alphabet::DEFAULT.decode(Septets::new(self.octets(), 0, count));
        }
        digits(self.octets()).take(usize::from(self.semi_octets)).collect()
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} …{:?}", self.number().name(), last(&self.text()))
    }
}

/// An address of an RP message, as MAP has it (`AddressString`): the type and digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RpAddress {
    count: u8,
    octets: [u8; RP_MAX],
}

impl RpAddress {
    /// No address.
    pub const NONE: Self = Self { count: 0, octets: [0; RP_MAX] };

    /// An address of digits; none if there are others or more than 20.
    #[must_use]
    pub fn digits(number: TypeOfNumber, plan: NumberingPlan, digits: &str) -> Option<Self> {
        let mut octets = [0; RP_MAX];
        octets[0] = kind(number, plan);
        let used = fill(&mut octets[1..], digits)?;
        Some(Self { count: u8::try_from(used + 1).ok()?, octets })
    }

    /// An international number of telephony.
    #[must_use]
    pub fn international(digits: &str) -> Option<Self> {
        Self::digits(TypeOfNumber::International, NumberingPlan::Isdn, digits)
    }

    /// The address that octets are: the type and digits, or none of both.
    ///
    /// # Errors
    /// More than 20 digits.
    pub fn of(octets: &[u8]) -> Result<Self, Malformed> {
        let mut own = [0; RP_MAX];
        let Some(place) = own.get_mut(..octets.len()) else {
            return Err(Malformed::new(0, "an address of more than 20 digits", RP));
        };
        place.copy_from_slice(octets);
        let count = u8::try_from(octets.len()).unwrap_or_default();
        Ok(Self { count, octets: own })
    }

    /// Type and digits.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.count)]
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.count == 0
    }

    /// The type of number.
    #[must_use]
    pub fn number(&self) -> TypeOfNumber {
        TypeOfNumber::of(self.octets[0] >> 4 & 7).unwrap_or(TypeOfNumber::Reserved)
    }

    /// The numbering plan, if it has a name.
    #[must_use]
    pub const fn plan(&self) -> Option<NumberingPlan> {
        NumberingPlan::of(self.octets[0] & 0xf)
    }

    /// The digits.
    #[must_use]
    pub fn text(&self) -> String {
        digits(self.octets().get(1..).unwrap_or_default()).collect()
    }
}

impl fmt::Debug for RpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} …{:?}", self.number().name(), last(&self.text()))
    }
}

const fn kind(number: TypeOfNumber, plan: NumberingPlan) -> u8 {
    NO_EXTENSION | number.number() << 4 | plan.number()
}

/// The last two characters: what a log may have of a subscriber's number.
fn last(text: &str) -> &str {
    let from = text.char_indices().rev().nth(1).map_or(0, |it| it.0);
    &text[from..]
}

/// The digits of semi-octets, up to a filler.
pub fn digits(octets: &[u8]) -> impl Iterator<Item = char> {
    let halves = octets.iter().flat_map(|it| [it & 0xf, it >> 4]);
    halves.map_while(|it| DIGITS.get(usize::from(it)).map(|it| char::from(*it)))
}

/// Fills octets with digits, and a filler behind an odd number; how many octets they take.
fn fill(octets: &mut [u8], digits: &str) -> Option<usize> {
    for (index, digit) in digits.bytes().enumerate() {
        let semi_octet = u8::try_from(DIGITS.iter().position(|it| *it == digit)?).ok()?;
        let octet = octets.get_mut(index / 2)?;
        *octet =
            if index % 2 == 0 { FILLER << 4 | semi_octet } else { *octet & 0xf | semi_octet << 4 };
    }
    Some(digits.len().div_ceil(2))
}

const _: () = assert!(packed_octets(11, 0) == VALUE_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_letters_are_read_as_they_are_written() {
        let number = Address::international("447700900123").unwrap();
        let mut octets = Vec::new();
        number.write(&mut octets);
        assert_eq!(octets, [12, 0x91, 0x44, 0x77, 0x00, 0x09, 0x10, 0x32]);
        let bank = Address::letters("My Bank").unwrap();
        assert_eq!((bank.semi_octets(), bank.kind(), bank.text()), (13, 0xd0, "My Bank".into()));
        for it in [number, bank, Address::letters("12345678901").unwrap()] {
            let mut octets = Vec::new();
            it.write(&mut octets);
            assert_eq!(Address::read(&mut Cursor::new(&octets, 0, "")), Ok(it));
        }
        assert_eq!(Address::letters("123456789012"), None);
        assert_eq!(Address::international("123456789012345678901"), None);
        assert_eq!(Address::international("12x"), None);
        let odd = RpAddress::international("44*#a").unwrap();
        assert_eq!((odd.octets(), odd.text()), (&[0x91, 0x44, 0xba, 0xfc][..], "44*#a".into()));
        assert_eq!(format!("{odd:?}"), "international …\"#a\"");
        let long = RpAddress::of(&[0x91; 12]);
        assert_eq!(long.unwrap_err().what, "an address of more than 20 digits");
    }
}
