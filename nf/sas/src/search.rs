//! Searches as the interface writes them, turned into what the store and the shard understand.

use crate::keys;
use crate::media;
use crate::operation::Operation;
use crate::trail::{Kind, Outcome, Trail};
use std::collections::BTreeMap;
use store::{KeyRange, Query};

/// Trails of one answer when nothing is said.
pub const LIMIT: usize = 50;
/// Trails of one answer at most.
pub const LIMIT_MAX: usize = 500;

/// The parameter of the question `live` by which the worst calls come first.
pub const WORST_FIRST: &str = "worst";
/// Calls of the list of the worst ones when nothing is said, and at most.
pub const WORST: usize = 20;
const WORST_MAX: usize = 100;
/// How far back that list looks when nothing is said, microseconds: a day.
const WORST_SINCE_US: u64 = 24 * 3_600 * 1_000_000;

/// The MOS of a trail's worst stream, hundredths; the greatest number if it has none.
#[must_use]
pub fn mos(trail: &Trail) -> u16 {
    let figures = trail.media.iter().map(|stream| stream.figures().mos_hundredths);
    figures.flatten().min().unwrap_or(u16::MAX)
}

/// Reads the parameters of the list of the worst calls: those of a search without `cursor`.
///
/// # Errors
/// The first parameter that cannot be understood.
pub fn worst(params: &BTreeMap<String, String>, now_us: u64) -> Result<Query, BadParameter> {
    let mut query = query(params)?;
    if let Some(cursor) = params.get("cursor") {
        return Err(BadParameter::new("cursor", cursor, "known to this list"));
    }
    if !params.contains_key("limit") {
        query.limit = WORST;
    }
    if query.limit > WORST_MAX {
        let limit = query.limit.to_string();
        return Err(BadParameter::new("limit", &limit, "a number from 1 to 100"));
    }
    if !params.contains_key("from_us") {
        query.from_us = now_us.saturating_sub(WORST_SINCE_US);
    }
    Ok(query)
}

/// Why a search is not understood: parameter and violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadParameter {
    /// Name of the parameter.
    pub name: &'static str,
    /// What is wrong with it.
    pub what: String,
}

impl BadParameter {
    fn new(name: &'static str, value: &str, hint: &str) -> Self {
        Self { name, what: format!("`{value}` is not {hint}") }
    }
}

/// Reads the parameters of a search: `q`, `number`, `call_id`, `address`, `method`, `status`,
/// `kind`, `without`, `outcome`, `from_us`, `to_us`, `limit`, `cursor`.
///
/// # Errors
/// The first parameter that cannot be understood.
pub fn query(params: &BTreeMap<String, String>) -> Result<Query, BadParameter> {
    let text = |name: &str| params.get(name).map(|v| v.trim()).filter(|v| !v.is_empty());
    let mut query = Query { limit: LIMIT, ..Query::default() };
    query.all_of = groups(&text)?;
    let kind = |name: &'static str| {
        let known = |word| Kind::of_word(word).map(|kind| kind as u16);
        let wrong = |word| BadParameter::new(name, word, "a kind of trail");
        text(name).map(|word| known(word).ok_or_else(|| wrong(word))).transpose()
    };
    query.tags[0] = kind("kind")?.map(|kind| (kind, kind));
    query.without = kind("without")?;
    if let Some(name) = text("method") {
        let number = match sip::Method::parse(name.to_ascii_uppercase().as_bytes()) {
            sip::Method::Other => Operation::named(name).map(|it| it.0),
            method => Some(method as u16),
        };
        let wrong = || BadParameter::new("method", name, "a SIP method, or an operation");
        let number = number.ok_or_else(wrong)?;
        query.tags[1] = Some((number, number));
    }
    if let Some(status) = text("status") {
        query.tags[2] = Some(statuses(status)?);
    }
    if let Some(word) = text("outcome") {
        let row = Outcome::of_word(word);
        let row = row.ok_or_else(|| BadParameter::new("outcome", word, "an outcome"))?;
        query.tags[3] = Some((row as u16, row as u16));
    }
    let number = |name: &'static str| match text(name) {
        None => Ok(None),
        Some(value) => {
            let wrong = |_| BadParameter::new(name, value, "a number of microseconds");
            value.parse::<u64>().map(Some).map_err(wrong)
        }
    };
    query.from_us = number("from_us")?.unwrap_or(0);
    query.to_us = number("to_us")?;
    if let Some(value) = text("limit") {
        let limit = value.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        let wrong = || BadParameter::new("limit", value, "a number from 1 to 500");
        query.limit = limit.ok_or_else(wrong)?;
    }
    if let Some(value) = text("cursor") {
        let wrong = || BadParameter::new("cursor", value, "a cursor of an earlier answer");
        query.before = Some(parse_cursor(value).ok_or_else(wrong)?);
    }
    Ok(query)
}

fn groups<'p>(text: &impl Fn(&str) -> Option<&'p str>) -> Result<Vec<Vec<KeyRange>>, BadParameter> {
    let mut groups = Vec::new();
    if let Some(q) = text("q") {
        let (conditions, rest) = media::conditions(q).map_err(|wrong| BadParameter {
            name: "q",
            what: format!("the condition `{wrong}` is not understood; write as in `MOS < 3.5`"),
        })?;
        groups.extend(conditions.into_iter().map(|range| vec![range]));
        if !rest.is_empty() {
            groups.push(keys::text_ranges(&rest));
        }
    }
    if let Some(number) = text("number") {
        let ranges = keys::number_ranges(number).unwrap_or_else(|| keys::name_ranges(number));
        groups.push(ranges);
    }
    if let Some(call_id) = text("call_id") {
        groups.push(keys::call_id_ranges(call_id));
    }
    if let Some(address) = text("address") {
        let ranges = keys::address_ranges(address);
        let wrong = || BadParameter::new("address", address, "an IP address, with or without port");
        groups.push(ranges.ok_or_else(wrong)?);
    }
    Ok(groups)
}

/// `486`, or `4xx` for all of a class.
fn statuses(text: &str) -> Result<(u16, u16), BadParameter> {
    let wrong = || BadParameter::new("status", text, "a status such as 486 or 4xx");
    let (digits, is_class) = match text.to_ascii_lowercase().strip_suffix("xx") {
        Some(class) => (format!("{class}00"), true),
        None => (text.to_owned(), false),
    };
    let status: u16 = digits.parse().map_err(|_| wrong())?;
    if !(100..700).contains(&status) {
        return Err(wrong());
    }
    Ok((status, if is_class { status + 99 } else { status }))
}

/// The place in the order of answers after `trail`.
#[must_use]
pub fn cursor(trail: &Trail) -> String {
    format!("{:x}-{:x}", trail.started_us, trail.id)
}

fn parse_cursor(text: &str) -> Option<(u64, u64)> {
    let (start, id) = text.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(id, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(pairs: &[(&str, &str)]) -> Result<Query, BadParameter> {
        let owned = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        query(&owned.collect())
    }

    #[test]
    fn every_parameter_is_understood_or_named() {
        let query = ask(&[
            ("status", "4xx"),
            ("method", "invite"),
            ("kind", "call"),
            ("without", "options"),
            ("outcome", "no-answer"),
            ("number", "0301234"),
            ("address", "192.0.2.1"),
            ("call_id", "a@b"),
            ("from_us", "5"),
            ("to_us", "9"),
            ("limit", "7"),
            ("cursor", "ff-10"),
            ("q", " "),
        ])
        .unwrap();
        assert_eq!(query.tags[2], Some((400, 499)));
        assert_eq!(query.without, Some(Kind::Options as u16));
        assert_eq!((query.all_of.len(), query.from_us, query.to_us), (3, 5, Some(9)));
        assert_eq!((query.limit, query.before), (7, Some((255, 16))));
        for (name, value) in [
            ("status", "99"),
            ("status", "abc"),
            ("method", "FETCH"),
            ("kind", "calls"),
            ("without", "call,options"),
            ("outcome", "fine"),
            ("from_us", "-1"),
            ("limit", "0"),
            ("limit", "501"),
            ("cursor", "x"),
            ("address", "example.org"),
            ("q", "MOS < x"),
            ("q", "MOS << 3"),
            ("q", "alice loss >"),
        ] {
            assert_eq!(ask(&[(name, value)]).unwrap_err().name, name, "{value}");
        }
    }
}
