//! TP-DCS: how user data are coded (TS 23.038 §4).

/// How the characters of user data stand in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// Septets of the GSM 7 bit alphabet or of a national one.
    Gsm7,
    /// Octets, which only their receiver understands.
    Octets,
    /// UCS2: UTF-16, the high octet first.
    Ucs2,
}

wire::rows! {
    /// The message class (TS 23.038 §4).
    pub enum Class: u8 {
        /// Shown at once, not stored.
        Flash = 0, "class 0", "TS 23.038 §4";
        /// The terminal's own.
        Terminal = 1, "class 1", "TS 23.038 §4";
        /// The (U)SIM's own.
        Usim = 2, "class 2", "TS 23.038 §4";
        /// The terminal equipment's own.
        Equipment = 3, "class 3", "TS 23.038 §4";
    }
}

wire::rows! {
    /// What waits, by a message waiting indication (TS 23.038 §4).
    pub enum Waiting: u8 {
        /// Voicemail.
        Voicemail = 0, "voicemail message waiting", "TS 23.038 §4";
        /// A fax.
        Fax = 1, "fax message waiting", "TS 23.038 §4";
        /// Electronic mail.
        Mail = 2, "electronic mail message waiting", "TS 23.038 §4";
        /// Something else.
        Other = 3, "other message waiting", "TS 23.038 §4";
    }
}

/// A message waiting indication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indication {
    /// What waits.
    pub what: Waiting,
    /// Whether it does, or no longer.
    pub is_active: bool,
    /// Whether the message is stored, or may be discarded.
    pub is_stored: bool,
}

/// A TP-DCS octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coding(pub u8);

impl Coding {
    /// The default alphabet, without class.
    pub const GSM7: Self = Self(0x00);
    /// Octets.
    pub const OCTETS: Self = Self(0x04);
    /// UCS2.
    pub const UCS2: Self = Self(0x08);

    /// How characters stand in octets. Reserved codings are the default alphabet.
    #[must_use]
    pub const fn characters(self) -> Characters {
        match (self.0 >> 4, self.0 >> 2 & 3) {
            (0x0..=0x7, 1) => Characters::Octets,
            (0x0..=0x7, 2) | (0xe, _) => Characters::Ucs2,
            (0xf, bits) if bits & 1 != 0 => Characters::Octets,
            _ => Characters::Gsm7,
        }
    }

    /// Whether the text is compressed (TS 23.042); its octets are passed on as they are.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        self.0 >> 6 <= 1 && self.0 & 0x20 != 0
    }

    /// Whether TP-UDL counts septets; octets otherwise (TS 23.040 §9.2.3.16).
    #[must_use]
    pub const fn counts_septets(self) -> bool {
        matches!(self.characters(), Characters::Gsm7) && !self.is_compressed()
    }

    /// The class, if the message has one.
    #[must_use]
    pub const fn class(self) -> Option<Class> {
        match self.0 >> 4 {
            0x1 | 0x3 | 0x5 | 0x7 | 0xf => Class::of(self.0 & 3),
            _ => None,
        }
    }

    /// Whether the message is to be deleted when it was read (§4, groups 01xx).
    #[must_use]
    pub const fn is_deleted_when_read(self) -> bool {
        self.0 >> 6 == 1
    }

    /// The message waiting indication, if it is one (§4, groups 1100 to 1110).
    #[must_use]
    pub fn indication(self) -> Option<Indication> {
        let is_stored = match self.0 >> 4 {
            0xc => false,
            0xd | 0xe => true,
            _ => return None,
        };
        let what = Waiting::of(self.0 & 3)?;
        Some(Indication { what, is_active: self.0 & 8 != 0, is_stored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Characters::{Gsm7, Octets, Ucs2};

    #[test]
    fn each_group_says_what_its_section_does() {
        for (octet, characters, septets, class) in [
            (0x00, Gsm7, true, None),
            (0x04, Octets, false, None),
            (0x08, Ucs2, false, None),
            (0x0c, Gsm7, true, None),
            (0x12, Gsm7, true, Some(Class::Usim)),
            (0x20, Gsm7, false, None),
            (0x49, Ucs2, false, None),
            (0x90, Gsm7, true, None),
            (0xc8, Gsm7, true, None),
            (0xe0, Ucs2, false, None),
            (0xf1, Gsm7, true, Some(Class::Terminal)),
            (0xf7, Octets, false, Some(Class::Equipment)),
        ] {
            let coding = Coding(octet);
            assert_eq!(coding.characters(), characters, "{octet:02x}");
            assert_eq!(coding.counts_septets(), septets, "{octet:02x}");
            assert_eq!(coding.class(), class, "{octet:02x}");
        }
        let mail = Coding(0xda).indication().unwrap();
        assert_eq!((mail.what, mail.is_active, mail.is_stored), (Waiting::Mail, true, true));
        assert!(Coding(0x4f).is_deleted_when_read() && Coding(0x21).is_compressed());
    }
}
