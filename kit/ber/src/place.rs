//! Where something stands in a value: by the names of its type, as JSON has them.

use crate::element::Element;
use crate::types::{Field, Shape, Type};

/// A value and its type.
pub type Placed<'a> = (&'static Type, Element<'a>);

impl Type {
    /// The component of that name of a value of this type, which holds ([`Type::check`]); none:
    /// there is none.
    #[must_use]
    pub fn member<'a>(&self, element: &Element<'a>, name: &str) -> Option<Placed<'a>> {
        let mut found = None;
        let mut each = |fields: &'static [Field], index: usize, value: Element<'a>| {
            if fields[index].name == name {
                found = Some((fields[index].kind, value));
            }
        };
        match self.shape {
            Shape::Sequence { fields, is_extensible } => {
                let mut each = |index, value| each(fields, index, value);
                self.sequence(fields, is_extensible, element, &mut each).ok()?;
            }
            Shape::Set { fields, is_extensible } => {
                let mut each = |index, value| each(fields, index, value);
                self.set(fields, is_extensible, element, &mut each).ok()?;
            }
            Shape::Choice { fields, .. } => {
                let (index, value) = self.alternative(element).ok()??;
                each(fields, index, value);
            }
            _ => {}
        }
        found
    }

    /// The element of a list of this type at that place, counted from 0; none: there is none.
    #[must_use]
    pub fn element<'a>(&self, element: &Element<'a>, at: usize) -> Option<Placed<'a>> {
        let Shape::List(_, of, _) = self.shape else { return None };
        Some((of, element.children().ok()?.nth(at)?.ok()?))
    }
}
