//! A sequence or a set that was read: its components by their rows.

use crate::element::Element;
use crate::oid::Oid;
use crate::string::{Bits, Octets};
use crate::types::{Described, Field, Shape};
use core::marker::PhantomData;
use wire::Malformed;

/// The rows of a type: what [`crate::sequence!`], [`crate::set!`] and [`crate::choice!`] declare.
pub trait Rows: Described + Copy + 'static {
    /// The row's place in its table.
    fn index(self) -> usize;
    /// The row at that place.
    fn at(index: usize) -> Option<Self>;
}

/// No component.
const NOWHERE: u32 = u32::MAX;

/// A checked sequence or set: every component is a value of its type, none missing.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a, R, const N: usize> {
    element: Element<'a>,
    /// Where the values begin in it: a record is moved, and few of them are asked for.
    values: [u32; N],
    rows: PhantomData<R>,
}

impl<'a, R: Rows, const N: usize> Record<'a, R, N> {
    /// Reads the contents of `element`, whatever its tag.
    ///
    /// # Errors
    /// The first violation, all the way down.
    pub fn read(element: Element<'a>) -> Result<Self, Malformed> {
        let mut values = [NOWHERE; N];
        let mut keep = |index: usize, value: Element<'a>| {
            if let Some(slot) = values.get_mut(index) {
                *slot = element.offset_of(&value);
            }
        };
        match R::TYPE.shape {
            Shape::Sequence { fields, is_extensible } => {
                R::TYPE.sequence(fields, is_extensible, &element, &mut keep)?;
            }
            Shape::Set { fields, is_extensible } => {
                R::TYPE.set(fields, is_extensible, &element, &mut keep)?;
            }
            _ => return Err(element.violation("no type with components", R::TYPE.spec)),
        }
        Ok(Self { element, values, rows: PhantomData })
    }

    /// The element that it is.
    #[must_use]
    pub const fn element(&self) -> &Element<'a> {
        &self.element
    }

    /// The value of a component; without an explicit tag.
    #[inline]
    #[must_use]
    pub fn get(&self, row: R) -> Option<Element<'a>> {
        let offset = *self.values.get(row.index())?;
        if offset == NOWHERE { None } else { self.element.within(offset) }
    }

    /// Whether a component is there: all that a NULL says.
    #[inline]
    #[must_use]
    pub fn has(&self, row: R) -> bool {
        self.values.get(row.index()).is_some_and(|offset| *offset != NOWHERE)
    }

    /// An OCTET STRING or a string of characters.
    #[must_use]
    pub fn octets(&self, row: R) -> Option<Octets<'a>> {
        self.get(row)?.octets().ok()
    }

    /// An INTEGER or an ENUMERATED.
    #[must_use]
    pub fn integer(&self, row: R) -> Option<i64> {
        self.get(row)?.integer().ok()
    }

    /// A BOOLEAN.
    #[must_use]
    pub fn boolean(&self, row: R) -> Option<bool> {
        self.get(row)?.boolean().ok()
    }

    /// A BIT STRING.
    #[must_use]
    pub fn bits(&self, row: R) -> Option<Bits<'a>> {
        self.get(row)?.bits().ok()
    }

    /// An OBJECT IDENTIFIER.
    #[must_use]
    pub fn oid(&self, row: R) -> Option<Oid<'a>> {
        self.get(row)?.oid().ok()
    }

    /// The elements of a SEQUENCE OF or SET OF; none when it lacks.
    pub fn list(&self, row: R) -> impl Iterator<Item = Element<'a>> + use<'a, R, N> {
        let reader = self.get(row).and_then(|list| list.children().ok());
        reader.into_iter().flatten().flatten()
    }

    /// Components that the type does not know, in their order: extensions to come.
    pub fn unknown(&self) -> impl Iterator<Item = Element<'a>> + use<'a, R, N> {
        let (Shape::Sequence { fields, .. } | Shape::Set { fields, .. }) = R::TYPE.shape else {
            unreachable!("a record was read of a type with components")
        };
        let is_unknown =
            |it: &Element<'_>| !fields.iter().any(|row: &Field| row.begins_with(it.tag()));
        self.element.children().into_iter().flatten().flatten().filter(is_unknown)
    }
}
