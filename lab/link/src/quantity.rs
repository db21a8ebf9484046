//! Quantities as people write them: `10ms`, `100mbit`, `1%`, `64kB`.

use machine::Duration;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

/// The longest time that is taken (a day and a bit: a schedule may be long, a delay is not).
const SPAN_MAX_S: f64 = 100_000.0;
/// The highest rate, bits a second. Up to here a frame's time fits 64 bits in nanoseconds.
const RATE_MAX: f64 = 1e13;
/// The largest queue, octets or packets.
const QUEUE_MAX: f64 = 1e12;

/// A time with its unit: `250us`, `10ms`, `1.5s`, `2min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub Duration);

/// A probability, 0 to 1, written as `1%` or `0.01`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

/// Bits a second, written as `64kbit`, `100mbit`, `2.5gbit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(NonZeroU64);

/// How much may wait for its turn; what comes beyond is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Packets.
    pub packets: usize,
    /// Octets.
    pub octets: usize,
}

impl Probability {
    /// Never.
    pub const NEVER: Self = Self(0.0);
    /// Always.
    pub const ALWAYS: Self = Self(1.0);

    /// From a number; `None` outside of 0 to 1.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// As a number.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// What is left to 1.
    #[must_use]
    pub const fn complement(self) -> Self {
        Self(1.0 - self.0)
    }
}

impl Rate {
    /// From bits a second; `None` for 0 or more than 10 Tbit/s.
    #[must_use]
    pub fn new(bits_per_s: u64) -> Option<Self> {
        NonZeroU64::new(bits_per_s).filter(|bits| bits.get() as f64 <= RATE_MAX).map(Self)
    }

    /// Bits a second.
    #[must_use]
    pub const fn bits_per_s(self) -> u64 {
        self.0.get()
    }
}

impl Default for Queue {
    /// A thousand packets.
    fn default() -> Self {
        Self { packets: 1_000, octets: usize::MAX }
    }
}

/// A number and the word behind it.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = |c: char| !c.is_ascii_digit() && c != '.' && c != '_';
    let (number, unit) = text.split_at(text.find(digits).unwrap_or(text.len()));
    let number: f64 = number.replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, unit.trim()))
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no time; write 250us, 10ms, 1.5s or 2min");
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let seconds = match unit {
            "ns" => number / 1e9,
            "us" | "µs" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "min" | "m" => number * 60.0,
            "h" => number * 3_600.0,
            "" if number == 0.0 => 0.0,
            _ => return Err(wrong()),
        };
        if seconds > SPAN_MAX_S {
            return Err(format!("`{text}` is longer than {SPAN_MAX_S} s"));
        }
        Ok(Self(Duration::from_nanos((seconds * 1e9).round() as u64)))
    }
}

impl FromStr for Probability {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no probability; write 1% or 0.01");
        let text = text.trim();
        let value = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse(),
        };
        let value = value.map_err(|_| wrong())?;
        Self::new(value).ok_or_else(|| {
            format!("`{text}` is not between 0 and 1; per cent are written with their sign: 5%")
        })
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no rate; write 64kbit, 100mbit or 2.5gbit (a second)");
        let (number, unit) = split(text).ok_or_else(wrong)?;
        let unit = unit.to_ascii_lowercase();
        let factor = match unit.strip_suffix("/s").unwrap_or(&unit) {
            "bit" => 1.0,
            "kbit" => 1e3,
            "mbit" => 1e6,
            "gbit" => 1e9,
            _ => return Err(wrong()),
        };
        let bits = (number * factor).round();
        if !(1.0..=RATE_MAX).contains(&bits) {
            return Err(format!("`{text}` is not between 1 bit and 10000 gbit a second"));
        }
        Self::new(bits as u64).ok_or_else(wrong)
    }
}

impl FromStr for Queue {
    type Err = String;

    /// Packets (`100`), octets (`64kB`), or both (`100,64kB`): whichever is reached first.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no queue; write 100 (packets), 64kB or 100,64kB");
        let mut queue = Self { packets: usize::MAX, octets: usize::MAX };
        for part in text.split(',') {
            let (number, unit) = split(part).ok_or_else(wrong)?;
            let octets = |factor: f64| number * factor;
            let (place, value) = match unit {
                "" | "p" | "packets" => (&mut queue.packets, number),
                "B" => (&mut queue.octets, octets(1.0)),
                "kB" => (&mut queue.octets, octets(1e3)),
                "KiB" => (&mut queue.octets, octets(1_024.0)),
                "MB" => (&mut queue.octets, octets(1e6)),
                "MiB" => (&mut queue.octets, octets(1_048_576.0)),
                _ => return Err(wrong()),
            };
            if *place != usize::MAX || value > QUEUE_MAX {
                return Err(wrong());
            }
            *place = value as usize;
        }
        Ok(queue)
    }
}

/// Reads a quantity from a string and says what was expected of anything else.
struct Written<T>(&'static str, std::marker::PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! written {
    ($($type:ty: $expected:literal;)*) => { $(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Written($expected, std::marker::PhantomData))
            }
        }
    )* };
}

written! {
    Span: "a time with its unit, \"10ms\"";
    Probability: "a probability, \"1%\" or \"0.01\"";
    Rate: "a rate, \"100mbit\"";
    Queue: "packets or octets, \"100\" or \"64kB\"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_people_write_them() {
        let span = |text: &str| text.parse::<Span>().unwrap().0;
        assert_eq!(span("10ms"), Duration::from_millis(10));
        assert_eq!(span("1.5 s"), Duration::from_millis(1_500));
        assert_eq!(span("250us"), Duration::from_micros(250));
        assert_eq!((span("2min"), span("0")), (Duration::from_secs(120), Duration::ZERO));
        let rate = |text: &str| text.parse::<Rate>().unwrap().bits_per_s();
        assert_eq!((rate("100mbit"), rate("2.5Gbit/s")), (100_000_000, 2_500_000_000));
        let chance = |text: &str| text.parse::<Probability>().unwrap().value();
        assert_eq!((chance("1%"), chance("0.01"), chance("100 %")), (0.01, 0.01, 1.0));
        let queue = |text: &str| text.parse::<Queue>().unwrap();
        assert_eq!(queue("100"), Queue { packets: 100, octets: usize::MAX });
        assert_eq!(queue("100,64kB"), Queue { packets: 100, octets: 64_000 });
        assert_eq!(queue("1MiB").octets, 1 << 20);
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_hint() {
        let error = |text: &str| text.parse::<Span>().unwrap_err();
        for text in ["10", "ms", "-1ms", "10 mss", "1e9s", "2000000s"] {
            assert!(error(text).contains(text), "{}", error(text));
        }
        assert!(error("10").contains("10ms"));
        let error = |text: &str| text.parse::<Rate>().unwrap_err();
        for text in ["100", "100mb", "0mbit", "11000gbit", "mbit"] {
            assert!(error(text).contains("bit"), "{text}");
        }
        assert!("5".parse::<Probability>().unwrap_err().contains("5%"));
        assert!("NaN".parse::<Probability>().is_err() && "-1%".parse::<Probability>().is_err());
        for text in ["", "64kb", "1,2", "1,2kB,3"] {
            assert!(text.parse::<Queue>().is_err(), "{text}");
        }
    }
}
