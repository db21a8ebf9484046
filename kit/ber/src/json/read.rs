//! JSON to BER.

use super::UNKNOWN;
use super::text::Text;
use crate::element::Element;
use crate::oid;
use crate::tag::Tag;
use crate::types::{Field, Presence, Shape, Size, Type};
use crate::writer::Writer;
use wire::Malformed;

impl Type {
    /// Writes the value of this type that the text holds, with the type's own tag, or `tag` in its
    /// place; an extension of a choice stands as it is given. Components come in any order.
    ///
    /// # Errors
    /// The first violation, with its place in the text; what was written until then is no element.
    pub fn from_json(
        &self,
        text: &str,
        tag: Option<Tag>,
        out: &mut Writer<'_>,
    ) -> Result<(), Malformed> {
        let mut text = Text::new(text);
        self.value(&mut text, tag, out)?;
        text.end()
    }

    fn value(
        &self,
        text: &mut Text<'_>,
        tag: Option<Tag>,
        out: &mut Writer<'_>,
    ) -> Result<(), Malformed> {
        let own = tag.or(self.tag()).unwrap_or(Tag::NULL);
        match self.shape {
            Shape::List(_, of, size) => self.elements(of, size, text, own, out),
            Shape::Sequence { fields, .. } | Shape::Set { fields, .. } => {
                self.object(fields, text, own, out)
            }
            Shape::Choice { fields, is_extensible } => {
                self.one_of(fields, is_extensible, text, out)
            }
            Shape::Any => whole(text, out),
            _ => self.leaf(text, own, out),
        }
    }

    /// A value without others in it, held against the type.
    fn leaf(&self, text: &mut Text<'_>, tag: Tag, out: &mut Writer<'_>) -> Result<(), Malformed> {
        text.peek();
        let (at, from) = (text.at(), out.len());
        match self.shape {
            Shape::Null => {
                text.expect("null", "null lacks")?;
                out.null(tag);
            }
            Shape::Boolean if text.has("true") => out.boolean(tag, true),
            Shape::Boolean => {
                text.expect("false", "true or false lacks")?;
                out.boolean(tag, false);
            }
            Shape::Enumerated { names, .. } if text.peek() == Some(b'"') => {
                let name = text.string()?;
                match names.iter().find(|it| it.1 == name) {
                    Some((number, _)) => out.integer(tag, *number),
                    None => return Err(Malformed::new(at, "no name of the type", self.spec)),
                }
            }
            Shape::Integer(..) | Shape::Enumerated { .. } => out.integer(tag, text.integer()?),
            Shape::Text(..) => out.octets(tag, text.string()?.as_bytes()),
            Shape::Bits(size) => bits(text, size, tag, out)?,
            Shape::Oid => object_identifier(text, tag, out)?,
            _ => out.octets(tag, &text.hex()?),
        }
        let check = Element::only(out.since(from)).and_then(|it| self.check(&it));
        check.map_err(|violation| Malformed { at, ..violation })
    }

    fn elements(
        &self,
        of: &Type,
        size: Size,
        text: &mut Text<'_>,
        tag: Tag,
        out: &mut Writer<'_>,
    ) -> Result<(), Malformed> {
        let (mut count, mut read) = (0, Ok(()));
        text.expect("[", "an array lacks")?;
        out.constructed(tag, |out| {
            read = text.items("]", |text| {
                count += 1;
                if count > size.max {
                    return Err(Malformed::new(text.at(), "too many elements", self.spec));
                }
                of.value(text, None, out)
            });
        });
        read?;
        match size.has(count) {
            true => Ok(()),
            false => Err(Malformed::new(text.at(), "too few elements", self.spec)),
        }
    }

    fn object(
        &self,
        fields: &[Field],
        text: &mut Text<'_>,
        tag: Tag,
        out: &mut Writer<'_>,
    ) -> Result<(), Malformed> {
        let mut places: Vec<Option<Text<'_>>> = vec![None; fields.len()];
        let mut unknown = None;
        text.expect("{", "an object lacks")?;
        text.items("}", |text| {
            let at = text.at();
            let name = text.string()?;
            text.expect(":", "a colon lacks")?;
            let place = match fields.iter().position(|it| it.name == name) {
                Some(index) => &mut places[index],
                None if name == UNKNOWN && self.is_extensible() => &mut unknown,
                None => return Err(Malformed::new(at, "no name of the type", self.spec)),
            };
            if place.replace(*text).is_some() {
                return Err(Malformed::new(at, "twice", self.spec));
            }
            text.skip()
        })?;
        let mut read = Ok(());
        out.constructed(tag, |out| {
            read = fields.iter().zip(&places).try_for_each(|(field, place)| match place {
                Some(place) => field.value(&mut place.clone(), out),
                None if field.presence == Presence::Optional => Ok(()),
                None => Err(Malformed::new(text.at(), "a component lacks", self.spec)),
            });
            if let (Ok(()), Some(mut place)) = (&read, unknown) {
                read = place.expect("[", "an array lacks");
                read = read.and_then(|()| place.items("]", |text| whole(text, out)));
            }
        });
        read
    }

    const fn is_extensible(&self) -> bool {
        matches!(
            self.shape,
            Shape::Sequence { is_extensible: true, .. } | Shape::Set { is_extensible: true, .. }
        )
    }

    fn one_of(
        &self,
        fields: &[Field],
        is_extensible: bool,
        text: &mut Text<'_>,
        out: &mut Writer<'_>,
    ) -> Result<(), Malformed> {
        text.expect("{", "an object lacks")?;
        text.peek();
        let at = text.at();
        let name = text.string()?;
        text.expect(":", "a colon lacks")?;
        match fields.iter().find(|it| it.name == name) {
            Some(field) => field.value(text, out)?,
            None if name == UNKNOWN && is_extensible => whole(text, out)?,
            None => return Err(Malformed::new(at, "no name of the type", self.spec)),
        }
        text.expect("}", "a choice has one alternative")
    }
}

impl Field {
    fn value(&self, text: &mut Text<'_>, out: &mut Writer<'_>) -> Result<(), Malformed> {
        let Some(tag) = self.tag.filter(|_| self.is_wrapped()) else {
            return self.kind.value(text, self.tag, out);
        };
        let mut read = Ok(());
        out.constructed(tag, |out| read = self.kind.value(text, None, out));
        read
    }
}

/// An element, header and all.
fn whole(text: &mut Text<'_>, out: &mut Writer<'_>) -> Result<(), Malformed> {
    text.peek();
    let at = text.at();
    let octets = text.hex()?;
    Element::only(&octets).map_err(|violation| Malformed { at, ..violation })?;
    out.element(&octets);
    Ok(())
}

fn bits(text: &mut Text<'_>, size: Size, tag: Tag, out: &mut Writer<'_>) -> Result<(), Malformed> {
    if size.min == size.max {
        let octets = text.hex()?;
        out.bits(tag, &octets, size.max);
        return Ok(());
    }
    let (mut octets, mut count) = (None, None);
    text.expect("{", "an object lacks")?;
    text.items("}", |text| {
        let name = text.string()?;
        text.expect(":", "a colon lacks")?;
        match &*name {
            "value" => octets = Some(text.hex()?),
            "length" => count = usize::try_from(text.integer()?).ok(),
            _ => return Err(text.violation("value or length lacks")),
        }
        Ok(())
    })?;
    match (octets, count) {
        (Some(octets), Some(count)) if octets.len() == count.div_ceil(8) => {
            out.bits(tag, &octets, count);
            Ok(())
        }
        _ => Err(text.violation("the length is not that of the value")),
    }
}

fn object_identifier(text: &mut Text<'_>, tag: Tag, out: &mut Writer<'_>) -> Result<(), Malformed> {
    let before = *text;
    let name = text.string()?;
    let contents = oid::parse(&name).ok_or_else(|| before.violation("no object identifier"))?;
    out.primitive(tag, &contents);
    Ok(())
}
