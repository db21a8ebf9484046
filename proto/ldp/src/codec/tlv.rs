//! TLVs of messages.

use wire::{Cursor, Malformed};

wire::rows! {
    /// TLVs.
    pub enum TlvKind: u16 {
        /// What a label is for.
        Fec = 0x0100, "FEC", "RFC 5036 §3.4.1";
        /// Addresses.
        AddressList = 0x0101, "Address List", "RFC 5036 §3.4.3";
        /// Hops; loops are not detected by it here.
        HopCount = 0x0103, "Hop Count", "RFC 5036 §3.4.4";
        /// Routers on the way; loops are not detected by it here.
        PathVector = 0x0104, "Path Vector", "RFC 5036 §3.4.5";
        /// A label.
        GenericLabel = 0x0200, "Generic Label", "RFC 5036 §3.4.2.1";
        /// What happened.
        Status = 0x0300, "Status", "RFC 5036 §3.4.6";
        /// What happened, in more words.
        ExtendedStatus = 0x0301, "Extended Status", "RFC 5036 §3.5.1";
        /// The PDU that was refused.
        ReturnedPdu = 0x0302, "Returned PDU", "RFC 5036 §3.5.1";
        /// The message that was refused.
        ReturnedMessage = 0x0303, "Returned Message", "RFC 5036 §3.5.1";
        /// What a hello says.
        CommonHello = 0x0400, "Common Hello Parameters", "RFC 5036 §3.5.2";
        /// The address of the session.
        Ipv4Transport = 0x0401, "IPv4 Transport Address", "RFC 5036 §3.5.2.1";
        /// The number of the configuration.
        Configuration = 0x0402, "Configuration Sequence Number", "RFC 5036 §3.5.2.1";
        /// The address of the session.
        Ipv6Transport = 0x0403, "IPv6 Transport Address", "RFC 5036 §3.5.2.1";
        /// MAC addresses to forget; none: all.
        MacList = 0x0404, "MAC List", "RFC 4762 §6.2.1";
        /// What a session shall be.
        CommonSession = 0x0500, "Common Session Parameters", "RFC 5036 §3.5.3";
        /// A session that ends may come back.
        FaultTolerance = 0x0503, "FT Session", "RFC 3478 §2";
        /// Capabilities may change.
        DynamicCapability = 0x0506, "Dynamic Capability Announcement", "RFC 5561 §9";
        /// The number of a request.
        RequestId = 0x0600, "Label Request Message ID", "RFC 5036 §3.5.7";
        /// Both families; which one a session prefers.
        DualStack = 0x0701, "Dual-Stack capability", "RFC 7552 §6.1.1";
        /// The state of a pseudowire.
        PwStatus = 0x096A, "PW Status", "RFC 8077 §5.4.1";
        /// Parameters of a pseudowire's interface.
        PwInterface = 0x096B, "PW Interface Parameters", "RFC 8077 §6.2.2";
        /// A group of pseudowires.
        PwGroup = 0x096C, "PW Grouping", "RFC 8077 §6.2.2";
    }
}

/// A TLV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Its type, without the U and F bits.
    pub number: u16,
    /// U: who does not know it is silent about that.
    pub is_optional: bool,
    /// Where its value begins.
    pub at: usize,
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Tlv<'a> {
    /// Its row, if it has one.
    #[must_use]
    pub const fn kind(&self) -> Option<TlvKind> {
        TlvKind::of(self.number)
    }

    pub(crate) const fn cursor(&self, spec: &'static str) -> Cursor<'a> {
        Cursor::new(self.value, self.at, spec)
    }
}

/// The TLVs of a text, in order; ends with the first that is cut off, which is told.
#[derive(Debug, Clone)]
pub struct Tlvs<'a> {
    cursor: Cursor<'a>,
    has_failed: bool,
}

impl<'a> Tlvs<'a> {
    /// Those of `text`, which begins `at` octets into its PDU.
    #[must_use]
    pub const fn new(text: &'a [u8], at: usize) -> Self {
        Self { cursor: Cursor::new(text, at, "RFC 5036 §3.3"), has_failed: false }
    }

    fn take(&mut self) -> Result<Tlv<'a>, Malformed> {
        let word = self.cursor.be16("a TLV is cut off")?;
        let length = usize::from(self.cursor.be16("a TLV is cut off")?);
        let at = self.cursor.at();
        let value = self.cursor.take(length, "a TLV is longer than its message")?;
        Ok(Tlv { number: word & 0x3FFF, is_optional: word & 0x8000 != 0, at, value })
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed || self.cursor.is_empty() {
            return None;
        }
        let taken = self.take();
        self.has_failed = taken.is_err();
        Some(taken)
    }
}

/// The U bit.
const OPTIONAL: u16 = 0x8000;

fn write(out: &mut Vec<u8>, number: u16, value: &[u8]) {
    // Nothing that is written is longer than an agreed PDU.
    if let Ok(length) = u16::try_from(value.len()) {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(value);
    }
}

/// Appends a TLV.
pub(crate) fn write_tlv(out: &mut Vec<u8>, kind: TlvKind, value: &[u8]) {
    write(out, kind.number(), value);
}

/// Appends a TLV that may be passed over.
pub(crate) fn write_optional(out: &mut Vec<u8>, kind: TlvKind, value: &[u8]) {
    write(out, kind.number() | OPTIONAL, value);
}

/// What a session that ends and comes back keeps (RFC 3478 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultTolerance {
    /// Milliseconds within which the speaker comes back.
    pub reconnect_ms: u32,
    /// Milliseconds that it keeps what it had; 0: it kept nothing.
    pub recovery_ms: u32,
}

impl FaultTolerance {
    /// L: labels are learnt anew.
    const LEARN: u16 = 0x0001;

    pub(crate) fn read(tlv: &Tlv<'_>) -> Result<Option<Self>, Malformed> {
        let mut cursor = tlv.cursor("RFC 3478 §2");
        let what = "fault tolerance is cut off";
        let flags = cursor.be16(what)?;
        cursor.be16(what)?;
        let (reconnect_ms, recovery_ms) = (cursor.be32(what)?, cursor.be32(what)?);
        Ok((flags & Self::LEARN != 0).then_some(Self { reconnect_ms, recovery_ms }))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut value = Self::LEARN.to_be_bytes().to_vec();
        value.extend_from_slice(&[0, 0]);
        value.extend_from_slice(&self.reconnect_ms.to_be_bytes());
        value.extend_from_slice(&self.recovery_ms.to_be_bytes());
        write_optional(out, TlvKind::FaultTolerance, &value);
    }
}
