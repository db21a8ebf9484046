//! Families by their names, as configuration writes them.

use bgp::family::{Family, FamilySet};
use config::{Issue, nearest};

/// The families of that list; names that nobody knows are left out.
pub(crate) fn set(names: Option<&[String]>) -> FamilySet {
    names.unwrap_or_default().iter().filter_map(|name| Family::named(name)).collect()
}

/// Pushes what is wrong with a list of families.
pub(crate) fn validate(names: &[String], at: &str, issues: &mut Vec<Issue>) {
    for (n, name) in names.iter().enumerate() {
        validate_name(name, &format!("{at}[{n}]"), issues);
        if names[..n].contains(name) {
            let what = format!("`{name}` stands here twice");
            issues.push(Issue::new(format!("{at}[{n}]"), what, "remove it once"));
        }
    }
}

/// Pushes what is wrong with a family.
pub(crate) fn validate_name(name: &str, at: &str, issues: &mut Vec<Issue>) {
    if Family::named(name).is_none() {
        issues.push(Issue::new(at, format!("there is no family `{name}`"), meant(name)));
    }
}

/// What to do about a name that no family has.
pub(crate) fn meant(name: &str) -> String {
    let known = || Family::ALL.iter().map(|family| family.name());
    let all = known().collect::<Vec<_>>().join(", ");
    match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`? Possible: {all}"),
        None => format!("write one of: {all}"),
    }
}
