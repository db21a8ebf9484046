//! Operations of MAP and CAP by a number, as trails keep and search them.

use tcap::codec::Code;
use tcu::Speech;

/// An operation by its number in a trail: a hundred hexadecimal and what it has in MAP, two hundred
/// in CAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operation(pub(crate) u16);

const OF_MAP: u16 = 0x100;
const OF_CAP: u16 = 0x200;

impl Operation {
    /// That of a code, where it has a name.
    pub(crate) fn of(speech: Speech, code: &Code<'_>) -> Option<Self> {
        let Code::Local(code) = code else { return None };
        let base = match speech {
            Speech::Map(..) => OF_MAP,
            Speech::Cap(..) => OF_CAP,
            Speech::Unknown => return None,
        };
        speech.operation_name(*code)?;
        u8::try_from(*code).ok().map(|code| Self(base + u16::from(code)))
    }

    /// Those of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let find = |all: Option<i64>, base| {
            all.and_then(|code| u8::try_from(code).ok()).map(|code| Self(base + u16::from(code)))
        };
        let of_map = map::Operation::ALL.iter().find(|it| it.name().eq_ignore_ascii_case(name));
        let of_cap = cap::Operation::ALL.iter().find(|it| it.name().eq_ignore_ascii_case(name));
        find(of_map.map(|it| it.code()), OF_MAP)
            .or_else(|| find(of_cap.map(|it| it.code()), OF_CAP))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        let code = i64::from(self.0 & 0xff);
        match self.0 & 0xff00 {
            OF_MAP => map::Operation::of(code).map_or("", map::Operation::name),
            OF_CAP => cap::Operation::of(code).map_or("", cap::Operation::name),
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_number_that_leads_back_to_its_name() {
        let names = map::Operation::ALL.iter().map(|it| it.name());
        let names = names.chain(cap::Operation::ALL.iter().map(|it| it.name()));
        for name in names {
            assert_eq!(Operation::named(name).map(Operation::name), Some(name));
        }
        assert_eq!(Operation::named("fetch"), None);
        assert_eq!(Operation(7).name(), "");
    }
}
