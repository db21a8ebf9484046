//! Words that sections say in common: counts, names that there are not, what a change interrupts.

use std::collections::BTreeSet;

/// Names in one sentence at most.
const NAMES_MAX: usize = 20;

/// Least similarity (Jaro-Winkler) of a key to one that it may be a misspelling of.
const SIMILARITY_MIN: f64 = 0.75;

/// Least octets of a name in which one letter more, less, another or exchanged is a slip.
const SLIP_LENGTH_MIN: usize = 3;

/// The known name most like `name`, if any is like it at all: one slip away, or similar.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let is_long = name.len() >= SLIP_LENGTH_MIN;
    let slip = |candidate| is_long && strsim::osa_distance(name, candidate) == 1;
    known
        .into_iter()
        .map(|candidate| {
            let similarity = strsim::jaro_winkler(name, candidate);
            (similarity + f64::from(u8::from(slip(candidate))), candidate)
        })
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// What to do about a name that nothing has: the one that is most like it, else all that there are;
/// `absent` where there is none.
#[must_use]
pub fn meant<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    absent: impl Into<String>,
) -> String {
    // A name may be given twice, which is another mistake.
    let mut known: Vec<&str> = known.into_iter().collect();
    let mut seen = BTreeSet::new();
    known.retain(|name| seen.insert(*name));
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    match known.len() {
        0 => absent.into(),
        count if count <= NAMES_MAX => format!("there are: {}", known.join(", ")),
        count => format!("there are {count}: {}, …", known[..NAMES_MAX].join(", ")),
    }
}

/// `1 mistake`, `2 mistakes`.
#[must_use]
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// `this session restarts: a`, `these 2 sessions restart: a, b`; nothing of nobody. `verb` is that
/// of several.
#[must_use]
pub fn interrupted(one: &str, many: &str, verb: &str, names: &[String]) -> Option<String> {
    let shown = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let rest = names.len().saturating_sub(NAMES_MAX);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    match names.len() {
        0 => None,
        1 => {
            let (first, others) = verb.split_once(' ').unwrap_or((verb, ""));
            let verb = match first {
                "carry" => "carries".to_owned(),
                "go" => "goes".to_owned(),
                first => format!("{first}s"),
            };
            let verb = format!("{verb} {others}").trim_end().replace("their", "its");
            Some(format!("this {one} {verb}: {shown}"))
        }
        count => Some(format!("these {count} {many} {verb}: {shown}{rest}")),
    }
}

/// What a commit interrupts, a line each.
#[must_use]
pub fn interruptions_listed<'a>(found: impl Iterator<Item = &'a str>) -> String {
    let lines: String = found.map(|what| format!("  {what}\n")).collect();
    match lines.is_empty() {
        true => "A commit interrupts nothing.\n".to_owned(),
        false => format!("A commit interrupts:\n{lines}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_given_twice_is_offered_once() {
        assert_eq!(meant("x", ["access", "core", "access"], ""), "there are: access, core");
    }

    #[test]
    fn sentences_agree_with_their_numbers() {
        let names: Vec<String> = (0..25).map(|n| format!("p{n}")).collect();
        let said = |verb, count| interrupted("table", "tables", verb, &names[..count]);
        assert_eq!(said("end", 0), None);
        assert_eq!(said("end", 1).unwrap(), "this table ends: p0");
        let its = said("go with their routes", 1).unwrap();
        assert_eq!(its, "this table goes with its routes: p0");
        let carries = said("carry no traffic any more", 1).unwrap();
        assert_eq!(carries, "this table carries no traffic any more: p0");
        assert_eq!(said("end", 2).unwrap(), "these 2 tables end: p0, p1");
        assert!(said("end", 25).unwrap().ends_with("p18, p19 and 5 more"));
        assert_eq!((&*counted(1, "key", "keys"), &*counted(0, "key", "keys")), ("1 key", "0 keys"));
    }

    #[test]
    fn a_name_that_there_is_not_has_its_nearest_or_all_that_there_are() {
        assert_eq!(meant("eats", ["east", "west"], ""), "did you mean `east`?");
        assert_eq!(meant("xyz", ["east", "west"], ""), "there are: east, west");
        assert_eq!(meant("xyz", [], "add one"), "add one");
    }
}
