//! A message of TCAP as it comes in M3UA and SCCP: who sent it to whom, and of which transactions
//! it is.

use super::isup;
use ber::{Class, Reader};
use core::ops::Range;
use m3ua::codec::{Data, MessageType as M3uaType, PointCode, Tag};
use sccp::codec::{
    Address, MANAGEMENT_SSN, Parameter, SERVICE_INDICATOR, Segmentation, Unit as Connectionless,
    Word,
};
use std::fmt::Write as _;
use tcap::codec::{Message, MessageType};

/// Octets in front of what the user sends: a parameter's header, and the label of MTP3.
const LABEL_BYTES: usize = 16;
/// Octets of the header of M3UA, and where its class stands (RFC 4666 §3.1).
const HEADER_BYTES: usize = 8;
const CLASS_AT: usize = 2;
/// The class of transfer messages (RFC 4666 §3.1.2).
const TRANSFER: u8 = 1;
/// Octets of the longest message of SCCP management (Q.713 §5.3).
const MANAGEMENT_BYTES_MAX: usize = 8;
/// Service Indicators of the management of MTP3 and its tests, of ISUP and of BICC (Q.704 §14.2.1),
/// and octets of a circuit of the latter two (Q.763 §1.2, Q.1902.3 §5.2).
const MANAGEMENT: [u8; 3] = [0, 1, 2];
const ISUP: u8 = 5;
const ISUP_CIRCUIT: usize = 2;
const BICC: u8 = 13;
const BICC_CIRCUIT: usize = 4;
/// Bits of a point code of ITU-T.
const ITU_BITS: u32 = 14;

/// A connectionless message of SCCP with TCAP in it.
pub(crate) struct Unit<'a> {
    /// The message of SCCP.
    pub(crate) sccp: Connectionless<'a>,
    /// Where its data begin in the payload.
    pub(crate) data_at: usize,
    /// Who has sent the TCAP message: of one that comes back, who is called.
    pub(crate) sender: Party,
    /// Whom it is for.
    pub(crate) receiver: Party,
    /// Of what it begins: none of a later segment.
    pub(crate) head: Option<Head<'a>>,
    /// Its node.
    pub(crate) opc: PointCode,
}

/// One end of a dialogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Party {
    /// Digits of the title, or the point code with its subsystem.
    pub(crate) name: String,
    /// The digits alone.
    pub(crate) digits: Option<String>,
    pub(crate) point_code: Option<PointCode>,
    /// Where its message came from or was sent to.
    pub(crate) label: PointCode,
    pub(crate) subsystem: Option<u8>,
}

/// The transaction portion, also of a message whose other segments are elsewhere.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) kind: MessageType,
    pub(crate) otid: Option<&'a [u8]>,
    pub(crate) dtid: Option<&'a [u8]>,
    /// Octets that it takes.
    pub(crate) length: usize,
}

impl<'a> Unit<'a> {
    /// Reads a message of M3UA; `None` for one without TCAP.
    pub(crate) fn read(payload: &'a [u8]) -> Option<Self> {
        let message = m3ua::codec::Message::read(payload).ok()?;
        if message.kind != M3uaType::Data {
            return None;
        }
        let at = message.offset(Tag::ProtocolData) + LABEL_BYTES;
        let msu = Data::of(&message).ok()?.protocol_data;
        if msu.si != SERVICE_INDICATOR {
            return None;
        }
        let message = sccp::codec::Message::read(msu.payload).ok()?;
        let unit = Connectionless::of(&message).ok()??;
        if is_management(&unit) {
            return None;
        }
        let is_later = unit.segmentation.is_some_and(|it| !it.is_first);
        let head = if is_later { None } else { Some(Head::read(unit.data)?) };
        let (called, calling) =
            (Party::of(&unit.called, msu.dpc), Party::of(&unit.calling, msu.opc));
        let comes_back = matches!(unit.word, Word::Service(_));
        let (sender, receiver) = if comes_back { (called, calling) } else { (calling, called) };
        let data = match unit.form {
            sccp::codec::Form::Long => Parameter::LongData,
            _ => Parameter::Data,
        };
        let data_at = at + message.at(data);
        Some(Self { sccp: unit, data_at, sender, receiver, head, opc: msu.opc })
    }

    /// The whole message; `None` of a segment, and of one that is not well-formed.
    pub(crate) fn message(&self) -> Option<Message<'a>> {
        if self.segmentation().is_some() { None } else { Message::read(self.sccp.data).ok() }
    }

    /// Which part of a message it is, where it is not the whole.
    pub(crate) fn segmentation(&self) -> Option<Segmentation> {
        self.sccp.segmentation.filter(|it| !it.is_first || it.remaining > 0)
    }

    /// The number of the cause for which it comes back.
    pub(crate) const fn cause(&self) -> Option<u8> {
        match self.sccp.word {
            Word::Service(cause) => Some(cause),
            Word::Data(_) => None,
        }
    }

    /// The names of its transactions, that of who sent it first.
    pub(crate) fn transactions(&self) -> [Option<String>; 2] {
        let Some(head) = &self.head else { return [None, None] };
        let name = |id: &[u8], of: &Party| format!("{}@{}", hex(id), of.name);
        [head.otid.map(|id| name(id, &self.sender)), head.dtid.map(|id| name(id, &self.receiver))]
    }

    /// What the segments of one message have in common.
    pub(crate) fn segments(&self) -> Option<String> {
        let reference = self.segmentation()?.reference;
        Some(format!("segment {reference:06x}@{}", self.sender.name))
    }
}

impl Party {
    fn of(address: &Address, label: PointCode) -> Self {
        let digits = address.title.map(|title| title.digits.to_string());
        let point_code = match digits {
            Some(_) => address.point_code,
            None => Some(address.point_code.unwrap_or(label)),
        };
        let name = match (&digits, point_code, address.subsystem) {
            (Some(digits), ..) => digits.clone(),
            (None, Some(point_code), Some(subsystem)) => {
                format!("{}/{subsystem}", show(point_code))
            }
            (None, at, _) => show(at.unwrap_or(label)),
        };
        Self { name, digits, point_code, label, subsystem: address.subsystem }
    }
}

/// Whether a message is one of SCCP management. A subsystem is what its sender likes: what begins
/// as TCAP does (Q.773 §3.1) is taken for it by who gets it.
fn is_management(unit: &Connectionless<'_>) -> bool {
    let is_managed = |address: &Address| address.subsystem == Some(MANAGEMENT_SSN);
    let is_tcap = unit.data.first().is_some_and(|octet| (0x60..=0x67).contains(octet));
    (is_managed(&unit.called) || is_managed(&unit.calling))
        && !is_tcap
        && unit.data.len() <= MANAGEMENT_BYTES_MAX
}

/// Where data of users may be in a payload that [`Unit::read`] has not read.
pub(super) fn unread(payload: &[u8]) -> Vec<Range<usize>> {
    let whole = |range: Range<usize>| std::iter::once(range).collect::<Vec<_>>();
    let behind_the_header = || whole(HEADER_BYTES.min(payload.len())..payload.len());
    let Ok(message) = m3ua::codec::Message::read(payload) else {
        return match payload.get(CLASS_AT) {
            Some(class) if *class != TRANSFER => Vec::new(),
            _ => behind_the_header(),
        };
    };
    if message.kind != M3uaType::Data {
        return Vec::new();
    }
    let at = message.offset(Tag::ProtocolData) + LABEL_BYTES;
    let Ok(data) = Data::of(&message) else { return behind_the_header() };
    let msu = data.protocol_data.payload;
    let spots = match data.protocol_data.si {
        si if MANAGEMENT.contains(&si) => Vec::new(),
        SERVICE_INDICATOR => Vec::from_iter(of_sccp(msu)),
        ISUP => isup::secret(msu, ISUP_CIRCUIT),
        BICC => isup::secret(msu, BICC_CIRCUIT),
        // Of other users nobody here knows what they say.
        _ => whole(0..msu.len()),
    };
    spots.into_iter().map(|it| at + it.start..at + it.end).collect()
}

/// The same in a message of SCCP.
fn of_sccp(msu: &[u8]) -> Option<Range<usize>> {
    // The type of the message stays.
    let behind_the_type = Some(1..msu.len().max(1));
    let Ok(message) = sccp::codec::Message::read(msu) else { return behind_the_type };
    match Connectionless::of(&message) {
        Ok(Some(unit)) if is_management(&unit) => return None,
        Ok(_) => {}
        Err(_) => return behind_the_type,
    }
    // What radio networks say on connections has keys in it, too.
    [Parameter::Data, Parameter::LongData].into_iter().find_map(|which| {
        let at = message.at(which);
        message.value(which).map(|data| at..at + data.len())
    })
}

/// A point code as it is shown: 3-8-3 bits (ITU-T Q.708), 8-8-8 where it has more.
pub(crate) fn show(point_code: PointCode) -> String {
    let number = point_code.number();
    match number >> ITU_BITS {
        0 => format!("{}-{}-{}", number >> 11, number >> 3 & 0xff, number & 7),
        _ => format!("{}-{}-{}", number >> 16, number >> 8 & 0xff, number & 0xff),
    }
}

/// Octets in hexadecimal digits.
pub(crate) fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut out, octet| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{octet:02x}");
        out
    })
}

const OTID: ber::Tag = ber::Tag::application(8);
const DTID: ber::Tag = ber::Tag::application(9);

impl<'a> Head<'a> {
    /// Reads the beginning of a message: it may be cut off behind the transaction identifiers
    /// (Q.773 §3.1).
    fn read(data: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(data);
        let (tag, _) = reader.header().ok()?;
        let kind = match tag.class() {
            Class::Application => MessageType::of(u8::try_from(tag.number()).ok()?)?,
            _ => return None,
        };
        let mut head = Self { kind, otid: None, dtid: None, length: 0 };
        let mut rest = reader.rest();
        loop {
            let mut reader = Reader::new(rest);
            let Ok((tag @ (OTID | DTID), Some(count @ 1..=4))) = reader.header() else { break };
            let (id, after) = reader.rest().split_at_checked(count)?;
            match tag {
                OTID => head.otid = Some(id),
                _ => head.dtid = Some(id),
            }
            rest = after;
        }
        head.length = data.len() - rest.len();
        let has_what_it_needs = match kind {
            MessageType::Unidirectional => true,
            MessageType::Begin => head.otid.is_some(),
            MessageType::End | MessageType::Abort => head.dtid.is_some(),
            MessageType::Continue => head.otid.is_some() && head.dtid.is_some(),
        };
        has_what_it_needs.then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_cut_off_behind_its_transactions_is_known_by_them() {
        let octets = [0x65, 0x81, 0xf0, 0x48, 4, 1, 2, 3, 4, 0x49, 2, 5, 6, 0x6c, 0x81];
        let head = Head::read(&octets).unwrap();
        assert_eq!(head.kind, MessageType::Continue);
        assert_eq!((head.otid, head.dtid), (Some(&[1, 2, 3, 4][..]), Some(&[5, 6][..])));
        assert_eq!(head.length, 13);
        for broken in [&octets[..6], &octets[1..], &[0x62, 2, 0x49, 1], &[0x66, 0], &[]] {
            assert!(Head::read(broken).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn lengths_are_read_in_every_form_that_who_gets_the_message_reads() {
        let octets = [0x62, 0x84, 0, 0, 0, 8, 0x48, 0x81, 4, 1, 2, 3, 4, 0x6c, 0];
        let head = Head::read(&octets).unwrap();
        assert_eq!((head.kind, head.otid), (MessageType::Begin, Some(&[1, 2, 3, 4][..])));
        assert_eq!(head.length, 13);
    }

    #[test]
    fn point_codes_are_shown_by_their_fields() {
        for (number, text) in [(4_899, "2-100-3"), (7, "0-0-7"), (16_384, "0-64-0")] {
            assert_eq!(show(PointCode::new(number).unwrap()), text);
        }
    }
}
