//! Values of a type by seed, for tests and fuzzing: every shape, edges first.

use crate::tag::Tag;
use crate::types::{Field, Presence, Shape, Size, Type};
use crate::writer::Writer;

/// Octets, bits and elements in a value made here, where the type has more.
const COUNT_MAX: usize = 40;

impl Type {
    /// Writes a value of this type with its own tag, or `tag` in its place. `random` gives numbers;
    /// the same ones make the same value.
    pub fn sample(&self, tag: Option<Tag>, random: &mut dyn FnMut() -> u64, out: &mut Writer<'_>) {
        let Some(tag) = tag.or(self.tag()) else {
            return self.sample_untagged(random, out);
        };
        match self.shape {
            Shape::Null | Shape::Choice { .. } | Shape::Any => out.null(tag),
            Shape::Boolean => out.boolean(tag, random() & 1 != 0),
            Shape::Integer(min, max) => out.integer(tag, between(min, max, random)),
            Shape::Enumerated { names, .. } => out.integer(tag, pick(names, random).0),
            Shape::Octets(size) => out.octets(tag, &octets(size, random, |it| it)),
            Shape::Text(Tag::NUMERIC_STRING, size) => {
                out.octets(tag, &octets(size, random, |it| b'0' + it % 10));
            }
            Shape::Text(_, size) => out.octets(tag, &octets(size, random, |it| b'!' + it % 90)),
            Shape::Bits(size) => {
                let count = count(size, random);
                let all = Size { min: count.div_ceil(8), max: count.div_ceil(8) };
                out.bits(tag, &octets(all, random, |it| it), count);
            }
            Shape::Oid => out.oid(tag, &[0, 4, 0, 0, 1, 0, 20, low(random())]),
            Shape::List(_, of, size) => out.constructed(tag, |out| {
                (0..count(size, random).min(size.min.max(4)))
                    .for_each(|_| of.sample(None, random, out));
            }),
            Shape::Sequence { fields, .. } | Shape::Set { fields, .. } => {
                out.constructed(tag, |out| {
                    for field in fields {
                        if field.presence == Presence::Required || random() & 1 != 0 {
                            field.sample(random, out);
                        }
                    }
                });
            }
        }
    }

    fn sample_untagged(&self, random: &mut dyn FnMut() -> u64, out: &mut Writer<'_>) {
        match self.shape {
            Shape::Choice { fields, .. } => pick(fields, random).sample(random, out),
            _ => out.octets(Tag::OCTET_STRING, &random().to_be_bytes()),
        }
    }
}

impl Field {
    fn sample(&self, random: &mut dyn FnMut() -> u64, out: &mut Writer<'_>) {
        match self.tag {
            Some(tag) if self.is_wrapped() => {
                out.constructed(tag, |out| self.kind.sample(None, random, out));
            }
            tag => self.kind.sample(tag, random, out),
        }
    }
}

fn pick<'a, T>(of: &'a [T], random: &mut dyn FnMut() -> u64) -> &'a T {
    let count = of.len().max(1) as u64;
    &of[usize::try_from(random() % count).unwrap_or_default()]
}

/// A number in the range: its edges as often as all others.
fn between(min: i64, max: i64, random: &mut dyn FnMut() -> u64) -> i64 {
    let span = max.wrapping_sub(min).cast_unsigned();
    match random() % 4 {
        0 => min,
        1 => max,
        _ if span == u64::MAX => random().cast_signed(),
        _ => min.wrapping_add((random() % (span + 1)).cast_signed()),
    }
}

fn count(size: Size, random: &mut dyn FnMut() -> u64) -> usize {
    let max = size.max.min(size.min.saturating_add(COUNT_MAX));
    match random() % 4 {
        0 => size.min,
        1 => max,
        _ => size.min + usize::try_from(random() % (max - size.min + 1) as u64).unwrap_or_default(),
    }
}

fn octets(size: Size, random: &mut dyn FnMut() -> u64, of: impl Fn(u8) -> u8) -> Vec<u8> {
    (0..count(size, random)).map(|_| of(random().to_be_bytes()[0])).collect()
}

fn low(number: u64) -> u32 {
    u32::try_from(number & 0xfff).unwrap_or_default()
}
