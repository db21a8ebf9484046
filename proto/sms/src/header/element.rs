//! The elements of user data headers: identifiers, names, and what their values are made of.

/// How wide a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// So many bits, at most 16, the high one first.
    Bits(u8),
    /// An address of a TPDU (TS 23.040 §9.1.2.5).
    Address,
    /// What is left, in octets; the last field alone.
    Rest,
}

/// A field of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name, in JSON too.
    pub name: &'static str,
    /// How wide it is.
    pub width: Width,
}

const fn bits(name: &'static str, count: u8) -> Field {
    Field { name, width: Width::Bits(count) }
}

const fn rest(name: &'static str) -> Field {
    Field { name, width: Width::Rest }
}

const POSITION: Field = bits("position", 8);
const DATA: Field = rest("data");

wire::rows! {
    /// An element of the user data header (TS 23.040 §9.2.3.24).
    pub enum Element: u8, pub fields: &'static [Field] {
        /// A part of several messages.
        Concatenated8 = 0x00, "concatenated short messages, 8-bit reference number",
            const { &[bits("reference", 8), bits("maximum", 8), bits("sequence", 8)] },
            "TS 23.040 §9.2.3.24.1";
        /// Something waits.
        SpecialMessage = 0x01, "special SMS message indication", const { &[
            bits("store", 1), bits("profile", 2), bits("extendedType", 3), bits("type", 2),
            bits("count", 8),
        ] }, "TS 23.040 §9.2.3.24.2";
        /// For an application of the receiver.
        Ports8 = 0x04, "application port addressing scheme, 8 bit address",
            const { &[bits("destination", 8), bits("originator", 8)] },
            "TS 23.040 §9.2.3.24.3";
        /// For an application of the receiver.
        Ports16 = 0x05, "application port addressing scheme, 16 bit address",
            const { &[bits("destination", 16), bits("originator", 16)] },
            "TS 23.040 §9.2.3.24.4";
        /// Which events a status report is asked for, part by part.
        ScControl = 0x06, "SMSC control parameters", const { &[
            bits("includeHeader", 1), bits("cancelReports", 1), bits("reserved", 2),
            bits("temporaryErrorRetrying", 1), bits("temporaryErrorEnded", 1),
            bits("permanentError", 1), bits("completed", 1),
        ] }, "TS 23.040 §9.2.3.24.5";
        /// Whose header follows in a status report.
        SourceIndicator = 0x07, "UDH source indicator", const { &[bits("source", 8)] },
            "TS 23.040 §9.2.3.24.6";
        /// A part of several messages.
        Concatenated16 = 0x08, "concatenated short message, 16-bit reference number",
            const { &[bits("reference", 16), bits("maximum", 8), bits("sequence", 8)] },
            "TS 23.040 §9.2.3.24.8";
        /// WAP.
        WirelessControl = 0x09, "wireless control message protocol", const { &[DATA] },
            "TS 23.040 §9.2.3.24.9";
        /// How characters look; a last octet is their colour.
        TextFormatting = 0x0a, "text formatting", const { &[
            bits("start", 8), bits("length", 8), bits("strikethrough", 1), bits("underlined", 1),
            bits("italic", 1), bits("bold", 1), bits("fontSize", 2), bits("alignment", 2),
            rest("colour"),
        ] }, "TS 23.040 §9.2.3.24.10.1.1";
        /// A sound by its number.
        PredefinedSound = 0x0b, "predefined sound", const { &[POSITION, bits("sound", 8)] },
            "TS 23.040 §9.2.3.24.10.1.2";
        /// iMelody, at most 128 octets.
        UserDefinedSound = 0x0c, "user defined sound", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.3";
        /// An animation by its number.
        PredefinedAnimation = 0x0d, "predefined animation",
            const { &[POSITION, bits("animation", 8)] }, "TS 23.040 §9.2.3.24.10.1.4";
        /// Four pictures of 16 by 16.
        LargeAnimation = 0x0e, "large animation", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.5";
        /// Four pictures of 8 by 8.
        SmallAnimation = 0x0f, "small animation", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.5";
        /// 32 by 32.
        LargePicture = 0x10, "large picture", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.6";
        /// 16 by 16.
        SmallPicture = 0x11, "small picture", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.7";
        /// Its width in octets, its height in points.
        VariablePicture = 0x12, "variable picture",
            const { &[POSITION, bits("width", 8), bits("height", 8), DATA] },
            "TS 23.040 §9.2.3.24.10.1.8";
        /// How many objects belong together.
        UserPrompt = 0x13, "user prompt indicator", const { &[bits("objects", 8)] },
            "TS 23.040 §9.2.3.24.10.1.10";
        /// An object, or its first part.
        ExtendedObject = 0x14, "extended object", const { &[
            bits("reference", 8), bits("length", 16), bits("reserved", 6),
            bits("userPrompt", 1), bits("noDistribution", 1), bits("type", 8),
            bits("position", 16), DATA,
        ] }, "TS 23.040 §9.2.3.24.10.1.11";
        /// The same object again.
        ReusedExtendedObject = 0x15, "reused extended object",
            const { &[bits("reference", 8), bits("position", 16)] },
            "TS 23.040 §9.2.3.24.10.1.12";
        /// Objects, compressed.
        CompressionControl = 0x16, "compression control",
            const { &[bits("parameters", 4), bits("algorithm", 4), bits("length", 16), DATA] },
            "TS 23.040 §9.2.3.24.10.1.13";
        /// Objects that must not be passed on.
        ObjectDistribution = 0x17, "object distribution indicator",
            const { &[bits("objects", 8), bits("reserved", 7), bits("noDistribution", 1)] },
            "TS 23.040 §9.2.3.24.10.1.14";
        /// A vector graphic.
        StandardWvg = 0x18, "standard WVG object", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.15";
        /// One as large as a character.
        CharacterSizeWvg = 0x19, "character size WVG object", const { &[POSITION, DATA] },
            "TS 23.040 §9.2.3.24.10.1.15";
        /// An object is asked for.
        ExtendedObjectRequest = 0x1a, "extended object data request command", const { &[DATA] },
            "TS 23.040 §9.2.3.24.10.1.16";
        /// How long the header of an electronic mail is.
        Rfc822Header = 0x20, "RFC 822 e-mail header", const { &[bits("length", 8)] },
            "TS 23.040 §9.2.3.24.11";
        /// A title and an address, in the text.
        Hyperlink = 0x21, "hyperlink format element",
            const { &[bits("position", 16), bits("titleLength", 8), bits("urlLength", 8)] },
            "TS 23.040 §9.2.3.24.12";
        /// Where an answer goes.
        ReplyAddress = 0x22, "reply address element",
            const { &[Field { name: "address", width: Width::Address }] },
            "TS 23.040 §9.2.3.24.16";
        /// What is in a mailbox, or was deleted there.
        VoiceMail = 0x23, "enhanced voice mail information", const { &[DATA] },
            "TS 23.040 §9.2.3.24.13";
        /// The extension of a national language.
        SingleShift = 0x24, "national language single shift", const { &[bits("language", 8)] },
            "TS 23.040 §9.2.3.24.15";
        /// The alphabet of a national language.
        LockingShift = 0x25, "national language locking shift", const { &[bits("language", 8)] },
            "TS 23.040 §9.2.3.24.16";
    }
}

/// What an identifier without a row is for.
#[must_use]
pub const fn range(number: u8) -> &'static str {
    match number {
        0x03 => "not used, to avoid misinterpretation as a line feed",
        0x70..=0x7f => "(U)SIM toolkit security header",
        0x80..=0x9f => "SME to SME specific use",
        0xc0..=0xdf => "SC specific use",
        _ => "reserved",
    }
}
