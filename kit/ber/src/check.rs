//! Whether an element is a value of a type, all the way down.

use crate::element::Element;
use crate::string::Octets;
use crate::tag::Tag;
use crate::types::{Field, Presence, Shape, Size, Type};
use wire::Malformed;

const ENUMERATED: &str = "X.690 §8.4";

impl Type {
    /// Whether `element`, whatever its tag, holds a value of this type. Of a choice the element is
    /// the alternative itself, with its tag.
    ///
    /// # Errors
    /// The first violation, with its place in the message and this type's section.
    pub fn check(&self, element: &Element<'_>) -> Result<(), Malformed> {
        match self.shape {
            Shape::Octets(size) if !element.is_constructed() => {
                self.sized(element, element.contents().len(), size)
            }
            Shape::Null => element.null(),
            Shape::Boolean => element.boolean().map(drop),
            Shape::Integer(min, max) => match element.integer()? {
                number if number < min || number > max => self.refuse(element, "out of range"),
                _ => Ok(()),
            },
            Shape::Enumerated { names, is_extensible } => {
                self.enumerated(element, names, is_extensible)
            }
            Shape::Octets(size) => self.sized(element, element.octets()?.len(), size),
            Shape::Text(tag, size) => self.text(element, tag, size),
            Shape::Bits(size) => self.sized(element, element.bits()?.len(), size),
            Shape::Oid => element.oid().map(drop),
            Shape::Sequence { fields, is_extensible } => {
                self.sequence(fields, is_extensible, element, &mut |_, _| ())
            }
            Shape::Set { fields, is_extensible } => {
                self.set(fields, is_extensible, element, &mut |_, _| ())
            }
            Shape::List(_, of, size) => self.list(element, of, size),
            Shape::Choice { fields, is_extensible } => {
                self.choice(fields, is_extensible, element).map(drop)
            }
            Shape::Any => Ok(()),
        }
    }

    /// Whether `element` has the tag of this type and holds a value of it.
    ///
    /// # Errors
    /// As [`Type::check`]; another tag.
    pub fn check_tagged(&self, element: &Element<'_>) -> Result<(), Malformed> {
        if let Some(tag) = self.tag()
            && tag != element.tag()
        {
            return self.refuse(element, "an element of another type");
        }
        self.check(element)
    }

    fn refuse<T>(&self, element: &Element<'_>, what: &'static str) -> Result<T, Malformed> {
        Err(element.violation(what, self.spec))
    }

    #[inline]
    fn sized(&self, element: &Element<'_>, count: usize, size: Size) -> Result<(), Malformed> {
        match () {
            () if count < size.min => self.refuse(element, "too short"),
            () if count > size.max => self.refuse(element, "too long"),
            () => Ok(()),
        }
    }

    fn enumerated(
        &self,
        element: &Element<'_>,
        names: &[(i64, &str)],
        is_extensible: bool,
    ) -> Result<(), Malformed> {
        let number = element.integer().map_err(|it| Malformed { spec: ENUMERATED, ..it })?;
        match is_extensible || names.iter().any(|row| row.0 == number) {
            true => Ok(()),
            false => self.refuse(element, "a number without a name"),
        }
    }

    fn text(&self, element: &Element<'_>, tag: Tag, size: Size) -> Result<(), Malformed> {
        let octets = element.octets()?;
        let is_proper = match tag {
            Tag::UTF8_STRING => is_utf8(&octets),
            Tag::NUMERIC_STRING => octets.iter().all(|it| it == b' ' || it.is_ascii_digit()),
            Tag::VISIBLE_STRING => octets.iter().all(|it| it == b' ' || it.is_ascii_graphic()),
            _ => octets.iter().all(|it| it.is_ascii()),
        };
        if !is_proper {
            return self.refuse(element, "a character that the type has not");
        }
        self.sized(element, octets.len(), size)
    }

    fn list(&self, element: &Element<'_>, of: &Type, size: Size) -> Result<(), Malformed> {
        let mut count = 0;
        for child in element.children()? {
            of.check_tagged(&child?)?;
            count += 1;
        }
        self.sized(element, count, size)
    }

    /// The components of a sequence: `each` is called with the index of its row and the value.
    pub(crate) fn sequence<'a>(
        &self,
        fields: &[Field],
        is_extensible: bool,
        element: &Element<'a>,
        each: &mut dyn FnMut(usize, Element<'a>),
    ) -> Result<(), Malformed> {
        let mut next = 0;
        for child in element.children()? {
            let child = child?;
            let (mut found, mut is_missing) = (next, false);
            let field = loop {
                match fields.get(found) {
                    Some(field) if field.begins_with(child.tag()) => break Some(field),
                    Some(field) => is_missing |= field.presence == Presence::Required,
                    None => break None,
                }
                found += 1;
            };
            let Some(field) = field else {
                let tag_of = |it: &Field| it.tag.or(it.kind.tag());
                let is_behind = fields[..next].iter().any(|it| tag_of(it) == Some(child.tag()));
                match () {
                    () if is_behind => return self.refuse(&child, "twice or out of order"),
                    () if is_extensible => continue,
                    () => return self.refuse(&child, "a component that the type has not"),
                }
            };
            if is_missing {
                return self.refuse(&child, "a component lacks before this one");
            }
            each(found, value(field, child)?);
            next = found + 1;
        }
        match fields[next..].iter().any(|it| it.presence == Presence::Required) {
            true => self.refuse(element, "a component lacks"),
            false => Ok(()),
        }
    }

    /// The components of a set, likewise.
    pub(crate) fn set<'a>(
        &self,
        fields: &[Field],
        is_extensible: bool,
        element: &Element<'a>,
        each: &mut dyn FnMut(usize, Element<'a>),
    ) -> Result<(), Malformed> {
        let mut seen = 0u128;
        for child in element.children()? {
            let child = child?;
            match fields.iter().position(|it| it.begins_with(child.tag())) {
                Some(index) if seen >> index & 1 != 0 => return self.refuse(&child, "twice"),
                Some(index) => {
                    seen |= 1 << index;
                    each(index, value(&fields[index], child)?);
                }
                None if is_extensible => {}
                None => return self.refuse(&child, "a component that the type has not"),
            }
        }
        let is_missing = |(index, field): (usize, &Field)| {
            field.presence == Presence::Required && seen >> index & 1 == 0
        };
        match fields.iter().enumerate().any(is_missing) {
            true => self.refuse(element, "a component lacks"),
            false => Ok(()),
        }
    }

    /// The alternative of this choice that an element is, by its index, and its value; none for one
    /// that is not known yet.
    ///
    /// # Errors
    /// As [`Type::check`]; a type that is no choice.
    pub fn alternative<'a>(
        &self,
        element: &Element<'a>,
    ) -> Result<Option<(usize, Element<'a>)>, Malformed> {
        match self.shape {
            Shape::Choice { fields, is_extensible } => self.choice(fields, is_extensible, element),
            _ => self.refuse(element, "no choice"),
        }
    }

    fn choice<'a>(
        &self,
        fields: &[Field],
        is_extensible: bool,
        element: &Element<'a>,
    ) -> Result<Option<(usize, Element<'a>)>, Malformed> {
        match fields.iter().position(|it| it.begins_with(element.tag())) {
            Some(index) => Ok(Some((index, value(&fields[index], *element)?))),
            None if is_extensible => Ok(None),
            None => self.refuse(element, "an alternative that the type has not"),
        }
    }
}

/// The checked value of a component.
#[inline]
fn value<'a>(field: &Field, element: Element<'a>) -> Result<Element<'a>, Malformed> {
    let inner = if field.is_wrapped() { element.inner()? } else { element };
    match field.is_wrapped() {
        true => field.kind.check_tagged(&inner)?,
        false => field.kind.check(&inner)?,
    }
    Ok(inner)
}

/// Whether octets, in pieces or not, are UTF-8. A character may stand across two pieces.
fn is_utf8(octets: &Octets<'_>) -> bool {
    if let Some(whole) = octets.whole() {
        return core::str::from_utf8(whole).is_ok();
    }
    let (mut held, mut count) = ([0u8; 4], 0);
    for octet in octets.iter() {
        held[count] = octet;
        count += 1;
        match core::str::from_utf8(&held[..count]) {
            Ok(_) => count = 0,
            Err(error) if error.error_len().is_some() || count == held.len() => return false,
            Err(_) => {}
        }
    }
    count == 0
}
