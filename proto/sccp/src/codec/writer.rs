//! Writing a message (Q.713 §1): fixed part, pointers, variable part, optional part.

use super::message_type::MessageType;
use super::parameter::Parameter;

/// A message under construction; its parts are written in the order of the row of its type.
#[derive(Debug)]
#[must_use = "a message without its end is none"]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    kind: MessageType,
    /// Where the next pointer stands.
    pointer: usize,
    is_first_optional: bool,
}

impl<'o> Writer<'o> {
    /// Appends type and fixed part to `out`; room for the pointers follows.
    pub fn begin(out: &'o mut Vec<u8>, kind: MessageType, fixed: &[u8]) -> Self {
        let parts = kind.parts();
        debug_assert_eq!(fixed.len(), parts.fixed.iter().map(|it| it.octets()).sum::<usize>());
        out.push(kind.number());
        out.extend_from_slice(fixed);
        let pointer = out.len();
        let pointers = parts.variable.len() + usize::from(!parts.optional.is_empty());
        out.resize(pointer + pointers * if kind.is_long() { 2 } else { 1 }, 0);
        Self { out, kind, pointer, is_first_optional: true }
    }

    /// Points to what is written next. `None` when that is further than a pointer leads.
    fn point(&mut self) -> Option<()> {
        if self.kind.is_long() {
            let distance = u16::try_from(self.out.len() - self.pointer - 1).ok()?;
            self.out[self.pointer..self.pointer + 2].copy_from_slice(&distance.to_le_bytes());
            self.pointer += 2;
        } else {
            self.out[self.pointer] = u8::try_from(self.out.len() - self.pointer).ok()?;
            self.pointer += 1;
        }
        Some(())
    }

    /// The next parameter of the variable part. `None` when it is too long.
    pub fn variable(mut self, value: &[u8]) -> Option<Self> {
        self.point()?;
        self.out.push(u8::try_from(value.len()).ok()?);
        self.out.extend_from_slice(value);
        Some(self)
    }

    /// The next parameter of the variable part, which `write` appends. `None` when it is too long.
    pub(crate) fn variable_by(mut self, write: impl FnOnce(&mut Vec<u8>)) -> Option<Self> {
        self.point()?;
        let at = self.out.len();
        self.out.push(0);
        write(self.out);
        self.out[at] = u8::try_from(self.out.len() - at - 1).ok()?;
        Some(self)
    }

    /// Long data. `None` when they are too long.
    pub fn long(mut self, value: &[u8]) -> Option<Self> {
        self.point()?;
        self.out.extend_from_slice(&u16::try_from(value.len()).ok()?.to_le_bytes());
        self.out.extend_from_slice(value);
        Some(self)
    }

    /// A parameter of the optional part. `None` when it is too long.
    pub fn optional(mut self, parameter: Parameter, value: &[u8]) -> Option<Self> {
        if core::mem::take(&mut self.is_first_optional) {
            self.point()?;
        }
        self.out.extend_from_slice(&[parameter.number(), u8::try_from(value.len()).ok()?]);
        self.out.extend_from_slice(value);
        Some(self)
    }

    /// Ends the optional part, where there is one.
    pub fn end(self) {
        if !self.is_first_optional {
            self.out.push(Parameter::End.number());
        }
    }
}
