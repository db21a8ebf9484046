//! Conditions on media in what a person types: `MOS < 3.5`, `loss > 1`, `jitter > 30 ms`,
//! `codec opus`, `one-way`.

use crate::media::key::{About, Word, codec};
use store::KeyRange;

/// Words that name trouble.
const WORDS: [(&str, Word); 3] = [
    ("one-way", Word::OneWay),
    ("media-timeout", Word::TimedOut),
    ("srtp-failure", Word::Unprotected),
];
/// Figures with their steps a unit, and how the unit may be written.
const FIGURES: [(&str, About, f64, &str); 3] = [
    ("mos", About::Mos, 100.0, ""),
    ("loss", About::Loss, 10.0, "%"),
    ("jitter", About::Jitter, 1_000.0, "ms"),
];
/// How figures are compared, the longer ones first.
const COMPARISONS: [(&str, Comparison); 7] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("≤", Comparison::AtMost),
    ("≥", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
    ("=", Comparison::Exactly),
];

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Below,
    AtMost,
    Exactly,
    AtLeast,
    Above,
}

/// The conditions of a text, and what else is in it.
///
/// # Errors
/// The condition that compares a figure with what is none.
pub(crate) fn conditions(text: &str) -> Result<(Vec<KeyRange>, String), String> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        rest = match figure(rest).or_else(|| named(rest)).or_else(|| word(rest)) {
            Some((range, after)) => {
                found.extend(range);
                after
            }
            None if is_comparison(rest) => return Err(rest.trim_end().to_owned()),
            None => {
                others.push(&rest[..end]);
                &rest[end..]
            }
        }
        .trim_start();
    }
    let others = if found.is_empty() { text.to_owned() } else { others.join(" ") };
    Ok((found, others))
}

/// Whether a figure and how it is compared stand here: what is meant is a condition.
fn is_comparison(text: &str) -> bool {
    FIGURES.iter().any(|row| {
        behind(text, row.0)
            .is_some_and(|rest| rest.trim_start().starts_with(['<', '>', '=', '≤', '≥']))
    })
}

type Taken<'a> = (Option<KeyRange>, &'a str);

/// What stands behind a word in any case.
fn behind<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// What follows if a word ends here.
fn ended(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix(',').unwrap_or(rest);
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

fn figure(text: &str) -> Option<Taken<'_>> {
    let found = FIGURES.iter().find_map(|row| Some((row, behind(text, row.0)?.trim_start())));
    let (&(_, about, steps, unit), rest) = found?;
    let found = COMPARISONS.iter().find_map(|row| Some((row.1, rest.strip_prefix(row.0)?)));
    let (comparison, rest) = found?;
    let rest = rest.trim_start();
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    let value: f64 = rest[..end].parse().ok()?;
    let rest = &rest[end..];
    let rest = behind(rest.trim_start(), unit).filter(|_| !unit.is_empty()).unwrap_or(rest);
    // 4.41 times 100 is a little more than 441.
    let range = comparison.range(about, (value * steps * 1_000.0).round() / 1_000.0);
    Some((range, ended(rest)?))
}

impl Comparison {
    /// The figures that it allows; `None`: none.
    fn range(self, about: About, value: f64) -> Option<KeyRange> {
        #[allow(clippy::cast_possible_truncation, reason = "what is too great becomes the most")]
        #[allow(clippy::cast_sign_loss, reason = "there is no sign in what was read")]
        let whole = |value: f64| (value as u64).min(About::MOST);
        let (low, high) = match self {
            Self::Below => (0, whole(value.ceil()).checked_sub(1)?),
            Self::AtMost => (0, whole(value.floor())),
            Self::Exactly => (whole(value.round()), whole(value.round())),
            Self::AtLeast => (whole(value.ceil()), About::MOST),
            Self::Above => (whole(value.floor()).checked_add(1)?, About::MOST),
        };
        (low <= high).then(|| about.range(low, high))
    }
}

/// `codec NAME`.
fn named(text: &str) -> Option<Taken<'_>> {
    let rest = behind(text, "codec")?;
    let name = rest.strip_prefix([' ', '=', ':'])?.trim_start();
    let end = name.find([' ', ',']).unwrap_or(name.len());
    let figure = codec(&name[..end]);
    (end > 0).then_some((Some(About::Codec.range(figure, figure)), ended(&name[end..])?))
}

fn word(text: &str) -> Option<Taken<'_>> {
    let row = |row: &(&str, Word)| Some((row.1, ended(behind(text, row.0)?)?));
    let (word, rest) = WORDS.iter().find_map(row)?;
    Some((Some(About::Word.range(word as u64, word as u64)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of a condition, without what they are of.
    fn read(text: &str) -> Vec<(u64, u64)> {
        let (ranges, rest) = conditions(text).unwrap();
        assert_eq!(rest, "", "{text}");
        ranges.iter().map(|range| (range.low & About::MOST, range.high & About::MOST)).collect()
    }

    #[test]
    fn figures_are_compared_as_they_are_typed() {
        const MOST: u64 = About::MOST;
        for (text, ranges) in [
            ("MOS < 3.5", vec![(0, 349)]),
            ("mos<=3.5", vec![(0, 350)]),
            ("MOS ≤ 3.5", vec![(0, 350)]),
            ("mos >= 4", vec![(400, MOST)]),
            ("mos = 4.41", vec![(441, 441)]),
            ("loss > 1", vec![(11, MOST)]),
            ("loss >0.5 %", vec![(6, MOST)]),
            ("jitter > 30", vec![(30_001, MOST)]),
            ("Jitter>30ms, loss > 2%", vec![(30_001, MOST), (21, MOST)]),
            ("one-way", vec![(1, 1)]),
            ("ONE-WAY srtp-failure media-timeout", vec![(1, 1), (3, 3), (2, 2)]),
        ] {
            assert_eq!(read(text), ranges, "{text}");
        }
        assert_eq!(read("codec OPUS"), read("codec:opus/48000/2"));
        assert_ne!(read("codec opus"), read("codec=PCMA"));
    }

    #[test]
    fn what_is_no_condition_stays_what_it_was() {
        for text in [
            "alice",
            "mos",
            "+49 30  1234",
            "<sip:loss@example.org>",
            "jitterbug",
            "codec",
            "one-ways",
            "a  b",
        ] {
            assert_eq!(conditions(text), Ok((vec![], text.to_owned())), "{text}");
        }
        let (ranges, rest) = conditions("alice MOS < 3 +49 30").unwrap();
        assert_eq!((ranges.len(), &*rest), (1, "alice +49 30"));
    }

    #[test]
    fn a_condition_whose_figure_is_none_is_not_taken_for_a_name() {
        for text in ["mos < x", "MOS << 3", "loss > 1x", "jitter >", "mos=", "a MOS ≤ b c"] {
            let wrong = conditions(text).unwrap_err();
            assert!(text.ends_with(&*wrong) && !wrong.starts_with("a "), "{wrong}");
        }
    }
}
