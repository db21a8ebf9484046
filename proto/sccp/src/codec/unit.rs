//! Connectionless messages, UDT to LUDTS, as one (Q.713 §4.10, §4.11, §4.18 to §4.21).

use super::{
    Address, DATA_BYTES_MAX, LONG_DATA_BYTES_MAX, Message, MessageType, Parameter, ReturnCause,
    Writer,
};
use wire::Malformed;

const RETURN: u8 = 0x80;

/// Which of the three kinds of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// UDT, UDTS.
    Basic,
    /// XUDT, XUDTS.
    Extended,
    /// LUDT, LUDTS.
    Long,
}

/// Protocol class and message handling (Q.713 §3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Class 1: messages keep their order.
    pub is_sequenced: bool,
    /// The message comes back when it cannot be delivered.
    pub returns: bool,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Data to be delivered.
    Data(Class),
    /// Data that come back, and the number of the cause.
    Service(u8),
}

/// Which segment of which message (Q.713 §3.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// The first one.
    pub is_first: bool,
    /// The user asked for class 1.
    pub is_sequenced: bool,
    /// Segments that follow, 15 at most.
    pub remaining: u8,
    /// Names the message at its source, 24 bits.
    pub reference: u32,
}

impl Segmentation {
    fn read(value: &[u8]) -> Option<Self> {
        let &[octet, low, middle, high] = value else { return None };
        Some(Self {
            is_first: octet & 0x80 != 0,
            is_sequenced: octet & 0x40 != 0,
            remaining: octet & 0x0f,
            reference: u32::from_le_bytes([low, middle, high, 0]),
        })
    }

    fn octets(self) -> [u8; 4] {
        let [low, middle, high, _] = self.reference.to_le_bytes();
        let first = if self.is_first { 0x80 } else { 0 };
        let class = if self.is_sequenced { 0x40 } else { 0 };
        [first | class | self.remaining & 0x0f, low, middle, high]
    }
}

/// A connectionless message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<'a> {
    /// Of which kind.
    pub form: Form,
    /// What it is.
    pub word: Word,
    /// The hop counter; a UDT has none.
    pub hops: u8,
    /// Where to.
    pub called: Address,
    /// Where from.
    pub calling: Address,
    /// Which segment; none: the whole.
    pub segmentation: Option<Segmentation>,
    /// Importance, 0 to 7.
    pub importance: Option<u8>,
    /// The user's data.
    pub data: &'a [u8],
}

impl<'a> Unit<'a> {
    /// The connectionless message that `message` is; `None` for one of a connection.
    ///
    /// # Errors
    /// An address that is not well-formed, and a class that no connectionless message has.
    pub fn of(message: &Message<'a>) -> Result<Option<Self>, Malformed> {
        let (form, is_service) = match message.kind {
            MessageType::Unitdata => (Form::Basic, false),
            MessageType::UnitdataService => (Form::Basic, true),
            MessageType::ExtendedUnitdata => (Form::Extended, false),
            MessageType::ExtendedUnitdataService => (Form::Extended, true),
            MessageType::LongUnitdata => (Form::Long, false),
            MessageType::LongUnitdataService => (Form::Long, true),
            _ => return Ok(None),
        };
        let word = match is_service {
            true => Word::Service(message.octet(Parameter::ReturnCause).unwrap_or_default()),
            false => Word::Data(class(message)?),
        };
        let address = |of| Address::read(message.value(of).unwrap_or_default(), message.at(of));
        let data = if form == Form::Long { Parameter::LongData } else { Parameter::Data };
        Ok(Some(Self {
            form,
            word,
            hops: message.octet(Parameter::Hops).unwrap_or_default() & 0x0f,
            called: address(Parameter::Called)?,
            calling: address(Parameter::Calling)?,
            segmentation: message.value(Parameter::Segmentation).and_then(Segmentation::read),
            importance: message.octet(Parameter::Importance).map(|octet| octet & 0x07),
            data: message.value(data).unwrap_or_default(),
        }))
    }

    /// Octets of data that fit into a message like this one of `most` octets; zero when the rest
    /// alone is too long.
    #[must_use]
    pub fn room(&self, most: usize) -> usize {
        let mut rest = Vec::with_capacity(64);
        let empty = Self { data: &[], ..*self };
        if empty.write(&mut rest).is_none() {
            return 0;
        }
        let of_form = match self.form {
            Form::Long => LONG_DATA_BYTES_MAX,
            // The pointer to the optional part, the sixth octet behind the first, has to lead past
            // the data.
            Form::Extended if self.optional_octets() > 0 => {
                DATA_BYTES_MAX + 6 + self.optional_octets() - rest.len()
            }
            _ => DATA_BYTES_MAX,
        };
        most.saturating_sub(rest.len()).min(of_form)
    }

    fn optional_octets(&self) -> usize {
        let segmentation = if self.segmentation.is_some() { 6 } else { 0 };
        let importance = if self.importance.is_some() { 3 } else { 0 };
        segmentation + importance + usize::from(segmentation + importance > 0)
    }

    /// Appends the message. `None` when it is too long for its kind; `out` is as before then.
    #[must_use]
    pub fn write(&self, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let written = self.write_parts(out);
        if written.is_none() {
            out.truncate(start);
        }
        written
    }

    fn write_parts(&self, out: &mut Vec<u8>) -> Option<()> {
        let is_service = matches!(self.word, Word::Service(_));
        let kind = match (self.form, is_service) {
            (Form::Basic, false) => MessageType::Unitdata,
            (Form::Basic, true) => MessageType::UnitdataService,
            (Form::Extended, false) => MessageType::ExtendedUnitdata,
            (Form::Extended, true) => MessageType::ExtendedUnitdataService,
            (Form::Long, false) => MessageType::LongUnitdata,
            (Form::Long, true) => MessageType::LongUnitdataService,
        };
        let word = match self.word {
            Word::Data(class) => {
                u8::from(class.is_sequenced) | if class.returns { RETURN } else { 0 }
            }
            Word::Service(cause) => cause,
        };
        if kind == MessageType::Unitdata {
            return self.write_unitdata(word, out);
        }
        let fixed = [word, self.hops & 0x0f];
        let fixed = if self.form == Form::Basic { &fixed[..1] } else { &fixed[..] };
        let writer = Writer::begin(out, kind, fixed);
        let writer = writer.variable_by(|out| self.called.write(out))?;
        let writer = writer.variable_by(|out| self.calling.write(out))?;
        let mut writer = match self.form {
            Form::Long if self.data.len() > LONG_DATA_BYTES_MAX => return None,
            Form::Long => writer.long(self.data)?,
            _ => writer.variable(self.data)?,
        };
        if self.form != Form::Basic {
            if let Some(segmentation) = self.segmentation {
                writer = writer.optional(Parameter::Segmentation, &segmentation.octets())?;
            }
            if let Some(importance) = self.importance {
                writer = writer.optional(Parameter::Importance, &[importance & 0x07])?;
            }
        }
        writer.end();
        Some(())
    }

    /// A UDT: what a [`Writer`] would write, in fewer steps, as nearly all messages are one.
    fn write_unitdata(&self, class: u8, out: &mut Vec<u8>) -> Option<()> {
        /// Octets of type, class and pointers; each pointer counts from its own octet.
        const HEAD: usize = 5;
        let start = out.len();
        out.extend_from_slice(&[MessageType::Unitdata.number(), class, 3, 0, 0, 0]);
        self.called.write(out);
        let called = u8::try_from(out.len() - start - HEAD - 1).ok()?;
        out.push(0);
        self.calling.write(out);
        let calling = u8::try_from(out.len() - start - HEAD - 2 - usize::from(called)).ok()?;
        out.push(u8::try_from(self.data.len()).ok()?);
        out.extend_from_slice(self.data);
        let head = out.get_mut(start..)?;
        let second = called.checked_add(3)?;
        (head[3], head[4]) = (second, second.checked_add(calling)?);
        (head[HEAD], head[HEAD + 1 + usize::from(called)]) = (called, calling);
        Some(())
    }

    /// The message that brings these data back, from here (Q.714 §4.2).
    #[must_use]
    pub const fn returned(&self, cause: ReturnCause, hops: u8) -> Self {
        let word = Word::Service(cause.number());
        Self { word, hops, called: self.calling, calling: self.called, ..*self }
    }
}

fn class(message: &Message<'_>) -> Result<Class, Malformed> {
    let octet = message.octet(Parameter::Class).unwrap_or_default();
    if octet & 0x0f > 1 {
        let at = message.at(Parameter::Class);
        return Err(Malformed::new(at, "no class of connectionless messages", "Q.713 §3.6"));
    }
    // Of the other codes for handling, none is given: they ask for nothing (Q.713 §3.6).
    Ok(Class { is_sequenced: octet & 0x0f == 1, returns: octet & 0xf0 == RETURN })
}
