//! TLVs of type and length of two octets each (RFC 7854 §4.4, RFC 9736).

use wire::{Cursor, Malformed};

wire::rows! {
    /// Information of Initiation, of Peer Up, and of Peer Down of a Loc-RIB. Peer Up has numbers
    /// of its own since RFC 9736: 0, 3 and 4, which mean the same.
    pub enum InformationType: u16 {
        /// Free text.
        String = 0, "String", "RFC 7854 §4.4";
        /// The system's description.
        SysDescr = 1, "sysDescr", "RFC 7854 §4.4";
        /// The system's name.
        SysName = 2, "sysName", "RFC 7854 §4.4";
        /// The name of the table.
        TableName = 3, "VRF/Table Name", "RFC 9069 §4.4";
        /// What the operator calls the peer.
        AdminLabel = 4, "Admin Label", "RFC 8671 §6.3";
    }
}

wire::rows! {
    /// What Route Mirroring carries.
    pub enum MirroringType: u16 {
        /// A BGP message.
        Message = 0, "BGP Message", "RFC 7854 §4.7";
        /// Two octets: 0 that the message offended, 1 that messages were lost.
        Information = 1, "Information", "RFC 7854 §4.7";
    }
}

/// A TLV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Information<'a> {
    /// The number of its type.
    pub kind: u16,
    /// Its value.
    pub value: &'a [u8],
}

/// TLVs in a row, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tlvs<'a>(&'a [u8]);

impl<'a> Tlvs<'a> {
    /// All that is left.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let all = Self(cursor.rest());
        while !cursor.is_empty() {
            take(cursor)?;
        }
        Ok(all)
    }

    /// The first value of a type.
    #[must_use]
    pub fn value(mut self, kind: u16) -> Option<&'a [u8]> {
        self.find(|it| it.kind == kind).map(|it| it.value)
    }
}

fn take<'a>(cursor: &mut Cursor<'a>) -> Result<Information<'a>, Malformed> {
    let kind = cursor.be16("the type of a TLV is cut off")?;
    let length = cursor.be16("the length of a TLV is cut off")?;
    let value = cursor.take(usize::from(length), "a TLV is cut off")?;
    Ok(Information { kind, value })
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Information<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut cursor = Cursor::new(self.0, 0, "RFC 7854 §4.4");
        let tlv = take(&mut cursor).ok()?;
        self.0 = cursor.rest();
        Some(tlv)
    }
}

/// Appends a TLV; a value is cut at 65,535 octets.
pub(crate) fn put(kind: u16, value: &[u8], out: &mut Vec<u8>) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&value[..usize::from(length)]);
}
