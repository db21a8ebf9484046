//! A walk through a value: every component of it, at any depth, by its declaration.

use crate::element::Element;
use crate::types::{Field, Shape, Type};
use wire::Malformed;

/// Called with the declaration and the value of a component.
pub type Each<'f, 'a> = dyn FnMut(&'static Field, &Element<'a>) + 'f;

impl Type {
    /// Calls `each` with the declaration and the value of each component of the value that
    /// `element`, whatever its tag, holds: one in front of those within it.
    ///
    /// # Errors
    /// As [`Type::check`]; components in front of the violation have been told.
    pub fn visit<'a>(
        &self,
        element: &Element<'a>,
        each: &mut Each<'_, 'a>,
    ) -> Result<(), Malformed> {
        match self.shape {
            Shape::Sequence { fields, is_extensible } => {
                let mut found = Vec::new();
                self.sequence(fields, is_extensible, element, &mut |index, value| {
                    found.push((&fields[index], value));
                })?;
                within(found, each)
            }
            Shape::Set { fields, is_extensible } => {
                let mut found = Vec::new();
                self.set(fields, is_extensible, element, &mut |index, value| {
                    found.push((&fields[index], value));
                })?;
                within(found, each)
            }
            Shape::Choice { fields, .. } => match self.alternative(element)? {
                Some((index, value)) => within(vec![(&fields[index], value)], each),
                None => Ok(()),
            },
            Shape::List(_, of, _) => {
                for child in element.children()? {
                    let child = child?;
                    of.check_tagged(&child)?;
                    of.visit(&child, each)?;
                }
                Ok(())
            }
            _ => self.check(element),
        }
    }
}

fn within<'a>(
    found: Vec<(&'static Field, Element<'a>)>,
    each: &mut Each<'_, 'a>,
) -> Result<(), Malformed> {
    for (field, value) in found {
        each(field, &value);
        field.kind.visit(&value, each)?;
    }
    Ok(())
}
