//! Writing a type by its rows: tags come from the declaration.

use crate::record::Rows;
use crate::tag::Tag;
use crate::types::{Field, Shape};
use crate::writer::Writer;
use core::marker::PhantomData;

/// Writes the components of a sequence or a set in the order of their rows, or the alternative of a
/// choice. What is written is not held against the type: see [`crate::Type::check`].
#[derive(Debug)]
pub struct Fill<'w, 'o, R> {
    out: &'w mut Writer<'o>,
    /// The row that may come next.
    next: usize,
    rows: PhantomData<R>,
}

impl Writer<'_> {
    /// A value of the type `R` with its own tag.
    #[inline]
    pub fn record<R: Rows>(&mut self, write: impl FnOnce(&mut Fill<'_, '_, R>)) {
        match R::TYPE.tag() {
            Some(tag) => self.record_as(tag, write),
            None => write(&mut Fill::new(self)),
        }
    }

    /// A value of the sequence or set `R` with that tag.
    #[inline]
    pub fn record_as<R: Rows>(&mut self, tag: Tag, write: impl FnOnce(&mut Fill<'_, '_, R>)) {
        self.constructed(tag, |out| write(&mut Fill::new(out)));
    }
}

impl<'w, 'o, R: Rows> Fill<'w, 'o, R> {
    const fn new(out: &'w mut Writer<'o>) -> Self {
        Self { out, next: 0, rows: PhantomData }
    }

    /// The declaration of a row; components are written in their order, each once.
    #[inline]
    fn field(&mut self, row: R) -> &'static Field {
        let (Shape::Sequence { fields, .. }
        | Shape::Set { fields, .. }
        | Shape::Choice { fields, .. }) = R::TYPE.shape
        else {
            unreachable!("rows are declared for types with components alone")
        };
        debug_assert!(row.index() >= self.next, "components stand in the order of their rows");
        self.next = row.index() + 1;
        &fields[row.index()]
    }

    /// Calls `write` with the tag that the value itself has.
    #[inline]
    fn value(&mut self, row: R, write: impl FnOnce(&mut Writer<'_>, Tag)) {
        let field = self.field(row);
        let own = field.kind.tag().unwrap_or(Tag::NULL);
        match field.tag {
            Some(tag) if field.is_wrapped() => self.out.constructed(tag, |out| write(out, own)),
            tag => write(self.out, tag.unwrap_or(own)),
        }
    }

    /// An OCTET STRING or a string of characters.
    #[inline]
    pub fn octets(&mut self, row: R, octets: &[u8]) {
        self.value(row, |out, tag| out.octets(tag, octets));
    }

    /// An INTEGER or an ENUMERATED.
    #[inline]
    pub fn integer(&mut self, row: R, number: i64) {
        self.value(row, |out, tag| out.integer(tag, number));
    }

    /// A BOOLEAN.
    #[inline]
    pub fn boolean(&mut self, row: R, is: bool) {
        self.value(row, |out, tag| out.boolean(tag, is));
    }

    /// A NULL.
    #[inline]
    pub fn null(&mut self, row: R) {
        self.value(row, |out, tag| out.null(tag));
    }

    /// The first `count` bits of these octets.
    pub fn bits(&mut self, row: R, octets: &[u8], count: usize) {
        self.value(row, |out, tag| out.bits(tag, octets, count));
    }

    /// An OBJECT IDENTIFIER by its arcs.
    pub fn oid(&mut self, row: R, arcs: &[u32]) {
        self.value(row, |out, tag| out.oid(tag, arcs));
    }

    /// A sequence, a set or a choice within.
    #[inline]
    pub fn within<S: Rows>(&mut self, row: R, write: impl FnOnce(&mut Fill<'_, '_, S>)) {
        if S::TYPE.tag().is_some() {
            return self.value(row, |out, tag| out.record_as(tag, write));
        }
        match self.field(row).tag {
            Some(tag) => self.out.record_as(tag, write),
            None => write(&mut Fill::new(self.out)),
        }
    }

    /// A list: `write` writes its elements, each with its own tag.
    #[inline]
    pub fn list(&mut self, row: R, write: impl FnOnce(&mut Writer<'_>)) {
        self.value(row, |out, tag| out.constructed(tag, write));
    }

    /// An element of any type as it came, or an extension that the type does not know.
    pub fn element(&mut self, whole: &[u8]) {
        self.out.element(whole);
    }
}
