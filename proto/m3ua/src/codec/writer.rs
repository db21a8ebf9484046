//! Writing a message (RFC 4666 §3.1, §3.2). The header's length counts the padding.

use super::{
    Affected, Data, HEADER_BYTES, LABEL_BYTES, MessageType, PAYLOAD_BYTES_MAX, RoutingContext,
    TLV_BYTES, Tag, VERSION, padded,
};

/// A message under construction; [`Writer::end`] fills its length in.
///
/// ```
/// use m3ua::codec::{Message, MessageType, Tag, Writer};
/// let mut bytes = Vec::new();
/// Writer::begin(&mut bytes, MessageType::AspUp).word(Tag::AspIdentifier, 7).end();
/// assert_eq!(Message::read(&bytes).expect("it is well-formed").word(Tag::AspIdentifier), Some(7));
/// ```
#[derive(Debug)]
#[must_use = "a message without its length is none"]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Writer<'o> {
    /// Appends the header to `out`.
    #[inline]
    pub fn begin(out: &'o mut Vec<u8>, kind: MessageType) -> Self {
        let start = out.len();
        let [class, of_class] = kind.number().to_be_bytes();
        out.extend_from_slice(&[VERSION, 0, class, of_class, 0, 0, 0, 0]);
        Self { out, start }
    }

    /// Appends a parameter of one number.
    #[inline]
    pub fn word(self, tag: Tag, word: u32) -> Self {
        let [high, low] = tag.number().to_be_bytes();
        let [a, b, c, d] = word.to_be_bytes();
        self.out.extend_from_slice(&[high, low, 0, 8, a, b, c, d]);
        self
    }

    /// Appends it when there is a value.
    #[inline]
    pub fn optional(self, tag: Tag, word: Option<u32>) -> Self {
        match word {
            Some(word) => self.word(tag, word),
            None => self,
        }
    }

    /// Appends a parameter of several numbers; none when there are none.
    pub fn words(self, tag: Tag, words: impl Iterator<Item = u32>) -> Self {
        let at = open(self.out, tag);
        words.for_each(|word| self.out.extend_from_slice(&word.to_be_bytes()));
        if self.out.len() == at + TLV_BYTES {
            self.out.truncate(at);
        } else {
            close(self.out, at);
        }
        self
    }

    /// Appends the Routing Contexts; no parameter when there are none.
    pub fn routing_contexts(self, contexts: impl Iterator<Item = RoutingContext>) -> Self {
        self.words(Tag::RoutingContext, contexts.map(|context| context.0))
    }

    /// Appends the Affected Point Codes.
    pub fn affected(self, affected: &[Affected]) -> Self {
        self.words(Tag::AffectedPointCode, affected.iter().map(|affected| affected.word()))
    }

    /// Appends a parameter of octets, cut at what its length can tell.
    pub fn octets(self, tag: Tag, value: &[u8]) -> Self {
        let at = open(self.out, tag);
        let room = usize::from(u16::MAX) - TLV_BYTES;
        self.out.extend_from_slice(&value[..value.len().min(room)]);
        close(self.out, at);
        self
    }

    /// Appends a parameter that holds others.
    pub fn group(self, tag: Tag, fill: impl FnOnce(Writer<'_>) -> Writer<'_>) -> Self {
        let at = open(self.out, tag);
        let start = self.start;
        let inner = fill(Writer { out: self.out, start });
        close(inner.out, at);
        self
    }

    /// Fills the length in.
    #[inline]
    pub fn end(self) {
        // No message is longer than a few parameters of 65,535 octets.
        let length = u32::try_from(self.out.len() - self.start).unwrap_or(u32::MAX);
        self.out[self.start + 4..self.start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
    }
}

impl Data<'_> {
    /// Octets that [`Data::write`] appends.
    #[must_use]
    pub fn written_bytes(&self) -> usize {
        let words =
            [self.network.is_some(), self.routing_context.is_some(), self.correlation.is_some()];
        let words = words.into_iter().filter(|is_there| *is_there).count();
        let payload = self.protocol_data.payload.len().min(PAYLOAD_BYTES_MAX);
        HEADER_BYTES + words * 8 + padded(TLV_BYTES + LABEL_BYTES + payload)
    }

    /// Appends the message; a payload beyond [`PAYLOAD_BYTES_MAX`] is cut.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let data = &self.protocol_data;
        let payload = &data.payload[..data.payload.len().min(PAYLOAD_BYTES_MAX)];
        let writer = Writer::begin(out, MessageType::Data)
            .optional(Tag::NetworkAppearance, self.network.map(|network| network.0))
            .optional(Tag::RoutingContext, self.routing_context.map(|context| context.0));
        let length = TLV_BYTES + LABEL_BYTES + payload.len();
        let mut head = [0; TLV_BYTES + LABEL_BYTES];
        head[..2].copy_from_slice(&Tag::ProtocolData.number().to_be_bytes());
        // The payload was cut at what the length can tell.
        let told = u16::try_from(length).unwrap_or(u16::MAX);
        head[2..4].copy_from_slice(&told.to_be_bytes());
        head[TLV_BYTES..].copy_from_slice(&data.label());
        writer.out.extend_from_slice(&head);
        writer.out.extend_from_slice(payload);
        writer.out.extend_from_slice(&[0; 3][..padded(length) - length]);
        writer.optional(Tag::CorrelationId, self.correlation).end();
    }
}

/// Begins a parameter; give what it returns to [`close`].
fn open(out: &mut Vec<u8>, tag: Tag) -> usize {
    let at = out.len();
    out.extend_from_slice(&tag.number().to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    at
}

/// Fills the length of the parameter in that began `at` and pads it. One that grew past what a
/// length can tell is taken back: callers bound what they write.
fn close(out: &mut Vec<u8>, at: usize) {
    let Ok(length) = u16::try_from(out.len() - at) else {
        out.truncate(at);
        return;
    };
    out[at + 2..at + 4].copy_from_slice(&length.to_be_bytes());
    out.resize(at + padded(usize::from(length)), 0);
}
