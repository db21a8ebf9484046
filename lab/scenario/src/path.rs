//! Where something stands in JSON: `argument.bcsmEvents[0].monitorMode`.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    Element(usize),
}

/// A path from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    steps: Vec<Step>,
}

impl Path {
    /// Reads one: members behind dots, elements in brackets, counted from 0.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() && (rest.is_empty() || !steps.is_empty()) {
                return None;
            }
            if !name.is_empty() {
                steps.push(Step::Member(name.to_owned()));
            }
            while let Some(inner) = rest.strip_prefix('[') {
                let (number, behind) = inner.split_once(']')?;
                steps.push(Step::Element(number.parse().ok()?));
                rest = behind;
            }
            if !rest.is_empty() {
                return None;
            }
        }
        Some(Self { steps })
    }

    /// What stands there in a value of that type, which is the member of that name; none: nothing,
    /// or what only JSON has.
    pub(crate) fn within<'a>(&self, name: &str, of: ber::Placed<'a>) -> Option<ber::Placed<'a>> {
        let (first, rest) = self.steps.split_first()?;
        if !matches!(first, Step::Member(it) if it == name) {
            return None;
        }
        rest.iter().try_fold(of, |(kind, element), step| match step {
            Step::Member(name) => kind.member(&element, name),
            Step::Element(at) => kind.element(&element, *at),
        })
    }

    /// What stands there.
    pub(crate) fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            Step::Member(name) => value.get(name),
            Step::Element(at) => value.get(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_to_what_stands_there() {
        let value = json!({"a": {"b-c": [{"d": 1}, 2]}});
        for (text, is) in [
            ("a.b-c[0].d", Some(json!(1))),
            ("a.b-c[1]", Some(json!(2))),
            ("a.b-c[2]", None),
            ("x", None),
        ] {
            assert_eq!(Path::read(text).and_then(|it| it.of(&value).cloned()), is, "{text}");
        }
        for wrong in ["", "a..b", "a[x]", "a[0]b", "a["] {
            assert_eq!(Path::read(wrong), None, "{wrong}");
        }
    }
}
