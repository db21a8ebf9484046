//! Fields: written one behind the other, and found by their tags.

use super::SPEC;
use super::kind::Tag;
use bytes::Bytes;
use wire::{Cursor, Malformed};

/// Tags that there are.
const TAGS: usize = 64;

/// Appends fields.
pub(super) struct Fields<'a> {
    pub(super) out: &'a mut Vec<u8>,
}

impl Fields<'_> {
    /// A field. What is longer than its length can say makes a message that is longer than one may
    /// be: that is not sent.
    pub(super) fn put(&mut self, tag: Tag, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.out.push(tag.number());
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(value);
    }

    pub(super) fn put_if(&mut self, tag: Tag, value: Option<&Bytes>) {
        if let Some(value) = value {
            self.put(tag, value);
        }
    }

    /// A field of those that `write` writes.
    pub(super) fn within(&mut self, tag: Tag, write: impl FnOnce(&mut Fields<'_>)) {
        let mut inner = Vec::with_capacity(64);
        write(&mut Fields { out: &mut inner });
        self.put(tag, &inner);
    }
}

/// The fields of a message, by tag.
pub(super) struct Found<'a> {
    first: [Option<(usize, &'a [u8])>; TAGS],
    components: Vec<(usize, &'a [u8])>,
    /// Where they begin.
    pub(super) at: usize,
}

impl<'a> Found<'a> {
    /// Reads fields that begin `at` octets into their message.
    pub(super) fn read(octets: &'a [u8], at: usize) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, at, SPEC);
        let mut found = Self { first: [None; TAGS], components: Vec::new(), at };
        while !cursor.is_empty() {
            let tag = cursor.octet("a tag lacks")?;
            let length = cursor.be16("a length is cut off")?;
            let place = cursor.at();
            let value = cursor.take(length.into(), "a field is cut off")?;
            if tag == Tag::Component.number() {
                found.components.push((place, value));
            } else if let Some(slot) = found.first.get_mut(usize::from(tag)) {
                slot.get_or_insert((place, value));
            }
        }
        Ok(found)
    }

    fn field(&self, tag: Tag) -> Option<(usize, &'a [u8])> {
        self.first.get(usize::from(tag.number())).copied().flatten()
    }

    pub(super) fn has(&self, tag: Tag) -> bool {
        self.field(tag).is_some()
    }

    pub(super) fn components(&self) -> &[(usize, &'a [u8])] {
        &self.components
    }

    pub(super) fn need(&self, tag: Tag) -> Result<(usize, &'a [u8]), Malformed> {
        self.field(tag).ok_or_else(|| Malformed::new(self.at, lacks(tag), SPEC))
    }

    /// A field of so many octets, if it is there.
    pub(super) fn array<const N: usize>(&self, tag: Tag) -> Result<Option<[u8; N]>, Malformed> {
        let Some((at, value)) = self.field(tag) else { return Ok(None) };
        match value.try_into() {
            Ok(array) => Ok(Some(array)),
            Err(_) => Err(Malformed::new(at, "a field has another length", SPEC)),
        }
    }

    pub(super) fn need_array<const N: usize>(&self, tag: Tag) -> Result<[u8; N], Malformed> {
        self.need(tag)?;
        self.array(tag)?.ok_or_else(|| Malformed::new(self.at, lacks(tag), SPEC))
    }

    pub(super) fn octet(&self, tag: Tag) -> Result<Option<u8>, Malformed> {
        Ok(self.array::<1>(tag)?.map(|[octet]| octet))
    }

    pub(super) fn need_octet(&self, tag: Tag) -> Result<u8, Malformed> {
        self.need_array::<1>(tag).map(|[octet]| octet)
    }

    pub(super) fn long(&self, tag: Tag) -> Result<Option<u64>, Malformed> {
        Ok(self.array(tag)?.map(u64::from_be_bytes))
    }

    pub(super) fn need_long(&self, tag: Tag) -> Result<u64, Malformed> {
        self.need_array(tag).map(u64::from_be_bytes)
    }

    pub(super) fn octets(&self, tag: Tag) -> Option<Bytes> {
        self.field(tag).map(|(_, value)| Bytes::copy_from_slice(value))
    }

    pub(super) fn text(&self, tag: Tag) -> Result<String, Malformed> {
        let Some((at, value)) = self.field(tag) else { return Ok(String::new()) };
        let text = core::str::from_utf8(value);
        text.map(str::to_owned).map_err(|_| Malformed::new(at, "a text that is no UTF-8", SPEC))
    }
}

const fn lacks(tag: Tag) -> &'static str {
    match tag {
        Tag::Dialogue => "the dialogue lacks",
        Tag::Reference => "the reference lacks",
        Tag::Called => "the called address lacks",
        Tag::Calling => "the calling address lacks",
        Tag::InvokeId => "the invoke identifier lacks",
        Tag::State => "the state lacks",
        Tag::Application => "the application's name lacks",
        Tag::Version => "the version lacks",
        Tag::Problem => "the problem lacks",
        _ => "a field lacks",
    }
}
