//! What is asked for: links, their ends, both ways of each and what happens to them, from the
//! command line or from a file.
//!
//! ```
//! let plan = link::Plan::read(r#"
//!     [[link]]
//!     name = "primary"
//!     between = ["tq-left/wire", "tq-right/wire"]
//!     delay = "10ms"
//!     rate = "100mbit"
//!     reverse = { delay = "12ms" }      # the rest as on the way there
//!     [[link.event]]
//!     at = "30s"
//!     what = "cut"
//! "#).expect("it is a plan");
//! assert_eq!(plan.links[0].ways[1].delay, std::time::Duration::from_millis(12));
//! assert_eq!(plan.links[0].ways[1].rate, plan.links[0].ways[0].rate);
//! ```

use crate::{
    Change, GilbertElliott, Jitter, Loss, PipeSpec, Probability, Queue, Rate, Shape, Span,
};
use machine::Duration;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Links of one plan.
pub const LINKS_MAX: usize = 64;
/// Events of one link.
pub const EVENTS_MAX: usize = 10_000;
/// Bits that are flipped in one packet.
pub const CORRUPT_BITS_MAX: u32 = 10_000;

/// An interface, in a named network namespace or in that of the process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The namespace, as ip(8) names it.
    pub namespace: Option<String>,
    /// The interface in it.
    pub interface: String,
}

impl FromStr for Place {
    type Err = String;

    /// Reads `veth0` and `namespace/veth0`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, interface) = match text.split_once('/') {
            Some((namespace, interface)) => (Some(namespace.to_owned()), interface),
            None => (None, text),
        };
        let sound = |name: &str| !name.is_empty() && !name.contains(['/', '\0']);
        if !sound(interface) || !namespace.as_deref().is_none_or(sound) {
            return Err(format!("`{text}` is no interface; write veth0 or namespace/veth0"));
        }
        Ok(Self { namespace, interface: interface.to_owned() })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.interface)
    }
}

/// What is said of one way; the rest is left as it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// [`PipeSpec::delay`].
    pub delay: Option<Span>,
    /// [`Jitter::spread`].
    pub jitter: Option<Span>,
    /// [`Jitter::shape`].
    #[serde(default, deserialize_with = "word")]
    pub distribution: Option<Shape>,
    /// [`Jitter::correlation`].
    pub correlation: Option<Probability>,
    /// [`Jitter::overtakes`].
    pub overtake: Option<bool>,
    /// [`PipeSpec::rate`].
    pub rate: Option<Rate>,
    /// [`PipeSpec::overhead`].
    pub overhead: Option<u32>,
    /// [`PipeSpec::queue`].
    pub queue: Option<Queue>,
    /// [`Loss::Random`].
    pub loss: Option<Probability>,
    /// [`Loss::GilbertElliott`].
    #[serde(default, deserialize_with = "word")]
    pub gilbert_elliott: Option<GilbertElliott>,
    /// [`PipeSpec::duplicate`].
    pub duplicate: Option<Probability>,
    /// [`PipeSpec::reorder`].
    pub reorder: Option<Probability>,
    /// [`PipeSpec::hold`].
    pub hold: Option<Span>,
    /// [`PipeSpec::corrupt`].
    pub corrupt: Option<Probability>,
    /// [`PipeSpec::corrupt_bits`].
    pub corrupt_bits: Option<u32>,
    /// [`PipeSpec::spill`].
    pub spill: Option<bool>,
}

fn word<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

impl Way {
    /// A pipe that behaves as said here, and as `base` where nothing is said.
    ///
    /// # Errors
    /// A sentence about what does not go together.
    pub fn over(&self, base: &PipeSpec) -> Result<PipeSpec, String> {
        let span = |said: Option<Span>, base: Duration| said.map_or(base, |span| span.0);
        let jitter = Jitter {
            spread: span(self.jitter, base.jitter.spread),
            shape: self.distribution.unwrap_or(base.jitter.shape),
            correlation: self.correlation.unwrap_or(base.jitter.correlation),
            overtakes: self.overtake.unwrap_or(base.jitter.overtakes),
        };
        let loss = match (self.loss, self.gilbert_elliott) {
            (Some(_), Some(_)) => return Err("`loss` or `gilbert_elliott`, not both".into()),
            (Some(probability), None) => Loss::Random(probability),
            (None, Some(model)) => Loss::GilbertElliott(model),
            (None, None) => base.loss,
        };
        let spec = PipeSpec {
            rate: self.rate.or(base.rate),
            overhead: self.overhead.unwrap_or(base.overhead),
            queue: self.queue.unwrap_or(base.queue),
            delay: span(self.delay, base.delay),
            jitter,
            loss,
            duplicate: self.duplicate.unwrap_or(base.duplicate),
            reorder: self.reorder.unwrap_or(base.reorder),
            hold: span(self.hold, base.hold),
            corrupt: self.corrupt.unwrap_or(base.corrupt),
            corrupt_bits: self.corrupt_bits.unwrap_or(base.corrupt_bits),
            spill: self.spill.unwrap_or(base.spill),
        };
        self.check(&spec).map(|()| spec)
    }

    /// What is said must have an effect.
    fn check(&self, spec: &PipeSpec) -> Result<(), String> {
        let jitter = self.distribution.is_some() || self.correlation.is_some();
        let jitter = jitter || self.overtake.is_some();
        let no = |said: bool, what: &str, without: &str| {
            if said { Err(format!("{what}: nothing happens without `{without}`")) } else { Ok(()) }
        };
        let queue = self.queue.is_some() || self.overhead.is_some();
        no(
            jitter && spec.jitter.spread.is_zero(),
            "distribution, correlation, overtake",
            "jitter",
        )?;
        no(queue && spec.rate.is_none(), "queue, overhead", "rate")?;
        let never = Probability::NEVER;
        no(self.hold.is_some() && spec.reorder == never, "hold", "reorder")?;
        no(self.corrupt_bits.is_some() && spec.corrupt == never, "corrupt_bits", "corrupt")?;
        if !(1..=CORRUPT_BITS_MAX).contains(&spec.corrupt_bits) {
            return Err(format!("corrupt_bits: 1 to {CORRUPT_BITS_MAX}"));
        }
        Ok(())
    }
}

/// The ways that an event concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Which {
    /// From the first end to the second and back.
    #[default]
    Both,
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Reverse,
}

impl Which {
    pub(crate) const fn concerns(self, way: usize) -> bool {
        matches!((self, way), (Self::Both, _) | (Self::Forward, 0) | (Self::Reverse, 1))
    }
}

/// What an event does, beside setting something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// [`Change::Cut`].
    Cut,
    /// [`Change::Heal`].
    Heal,
}

/// Something that happens at a time after the start.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When.
    pub at: Span,
    /// To which ways.
    #[serde(default)]
    pub way: Which,
    /// Cut or heal.
    pub what: Option<What>,
    /// What is said of the way from then on.
    pub set: Option<Way>,
}

/// A link between two interfaces.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkPlan {
    /// Its name.
    pub name: String,
    /// Its ends.
    pub between: [Place; 2],
    /// From the first end to the second, and back.
    pub ways: [PipeSpec; 2],
    /// What happens to each, in the order of time.
    pub changes: [Vec<(Duration, Change)>; 2],
}

impl LinkPlan {
    /// A link; on the way back, what `back` does not say is as on the way there.
    ///
    /// # Errors
    /// A sentence about what does not go together.
    pub fn new(
        name: String,
        between: [Place; 2],
        there: &Way,
        back: &Way,
        events: &[Event],
    ) -> Result<Self, String> {
        let named = |why: String| format!("link `{name}`: {why}");
        if events.len() > EVENTS_MAX {
            return Err(named(format!("at most {EVENTS_MAX} events")));
        }
        let forward = there.over(&PipeSpec::default()).map_err(named)?;
        let reverse = back.over(&forward).map_err(|why| named(format!("reverse: {why}")))?;
        let ways = [forward, reverse];
        let mut events = events.to_vec();
        events.sort_by_key(|event| event.at);
        let mut changes = [Vec::new(), Vec::new()];
        for (way, list) in changes.iter_mut().enumerate() {
            let events = events.iter().filter(|event| event.way.concerns(way));
            *list = changes_of(events, ways[way]).map_err(named)?;
        }
        Ok(Self { name, between, ways, changes })
    }
}

fn changes_of<'a>(
    events: impl Iterator<Item = &'a Event>,
    mut spec: PipeSpec,
) -> Result<Vec<(Duration, Change)>, String> {
    let mut changes = Vec::new();
    for Event { at, what, set, .. } in events {
        if let Some(set) = set {
            spec = set.over(&spec).map_err(|why| format!("event at {:?}: {why}", at.0))?;
            changes.push((at.0, Change::Become(spec)));
        }
        match what {
            Some(What::Cut) => changes.push((at.0, Change::Cut)),
            Some(What::Heal) => changes.push((at.0, Change::Heal)),
            None if set.is_none() => {
                let what = "needs `what = \"cut\"`, `what = \"heal\"` or `set = { … }`";
                return Err(format!("event at {:?}: {what}", at.0));
            }
            None => {}
        }
    }
    Ok(changes)
}

/// Links that run in one process.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Where all chance comes from.
    pub seed: u64,
    /// The links.
    pub links: Vec<LinkPlan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    link: Vec<LinkFile>,
}

const fn one() -> u64 {
    1
}

/// A table `[[link]]`. Its keys that are none of these are those of [`Way`].
#[derive(Deserialize)]
struct LinkFile {
    name: Option<String>,
    between: [String; 2],
    #[serde(default)]
    reverse: Way,
    #[serde(default)]
    event: Vec<Event>,
    #[serde(flatten)]
    there: toml::Table,
}

impl Plan {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it is wrong, and what is expected there.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: PlanFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let links = file.link.into_iter().enumerate();
        let links = links.map(|(number, link)| link.plan(number)).collect::<Result<_, _>>()?;
        let plan = Self { seed: file.seed, links };
        plan.check().map(|()| plan)
    }

    /// What must hold among links.
    ///
    /// # Errors
    /// A sentence that says what does not.
    pub fn check(&self) -> Result<(), String> {
        if self.links.is_empty() || self.links.len() > LINKS_MAX {
            return Err(format!("1 to {LINKS_MAX} links, each a table `[[link]]`"));
        }
        let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
        for link in &self.links {
            if !names.insert(&link.name) {
                return Err(format!("two links are called `{}`", link.name));
            }
            for place in &link.between {
                if !places.insert(place) {
                    return Err(format!("{place} cannot be an end twice"));
                }
            }
        }
        Ok(())
    }
}

impl LinkFile {
    fn plan(self, number: usize) -> Result<LinkPlan, String> {
        let name = self.name.unwrap_or_else(|| format!("link{}", number + 1));
        let there: Way = self
            .there
            .try_into()
            .map_err(|error: toml::de::Error| format!("link `{name}`: {}", error.message()))?;
        let [one, two] = self.between;
        let between = [one.parse()?, two.parse()?];
        LinkPlan::new(name, between, &there, &self.reverse, &self.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        seed = 7
        [[link]]
        name = "primary"
        between = ["a/one", "b/one"]
        delay = "10ms"
        jitter = "1ms"
        distribution = "pareto"
        rate = "100mbit"
        queue = "64kB"
        gilbert_elliott = "1%,20%"
        event = [
            { at = "60s", what = "heal" },
            { at = "30s", what = "cut" },
            { at = "90s", way = "reverse", set = { delay = "50ms", loss = "2%" } },
        ]
        [link.reverse]
        delay = "20ms"

        [[link]]
        between = ["two", "three"]
    "#;

    #[test]
    fn a_file_says_what_each_way_does_and_when_it_changes() {
        let plan = Plan::read(FILE).unwrap();
        let [primary, other] = &plan.links[..] else { panic!("two links") };
        assert_eq!((plan.seed, &other.name[..]), (7, "link2"));
        assert_eq!(other.ways, [PipeSpec::default(); 2]);
        let [forward, reverse] = primary.ways;
        assert_eq!(reverse, PipeSpec { delay: Duration::from_millis(20), ..forward });
        assert_eq!(forward.queue.octets, 64_000);
        assert!(matches!(forward.loss, Loss::GilbertElliott(_)));
        let s = Duration::from_secs;
        let both = [(s(30), Change::Cut), (s(60), Change::Heal)];
        assert_eq!(primary.changes[0], both);
        assert_eq!(primary.changes[1][..2], both);
        let (at, Change::Become(last)) = primary.changes[1][2] else { panic!("a change") };
        assert_eq!((at, last.delay), (s(90), Duration::from_millis(50)));
        assert_eq!((last.rate, last.loss), (reverse.rate, Loss::Random("2%".parse().unwrap())));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_hint() {
        let link = |rest: &str| format!("[[link]]\nbetween = [\"a\", \"b\"]\n{rest}");
        for (text, word) in [
            (String::new(), "[[link]]"),
            (link("delay = 10"), "10ms"),
            (link("delay = \"10\""), "10ms"),
            (link("dely = \"10ms\""), "dely"),
            (link("queue = \"10\""), "without `rate`"),
            (link("distribution = \"pareto\""), "without `jitter`"),
            (link("jitter = \"1ms\"\ndistribution = \"even\""), "uniform"),
            (link("loss = \"1%\"\ngilbert_elliott = \"1%,2%\""), "not both"),
            (link("corrupt = \"1%\"\ncorrupt_bits = 0"), "corrupt_bits"),
            (link("event = [{ at = \"1s\" }]"), "cut"),
            (link("event = [{ at = \"1s\", what = \"break\" }]"), "heal"),
            (link("reverse = { hold = \"1ms\" }"), "without `reorder`"),
            ("[[link]]\nbetween = [\"a\", \"a\"]".into(), "twice"),
            ("[[link]]\nbetween = [\"a\", \"/b\"]".into(), "namespace/veth0"),
            ("[[link]]\nname = \"x\"\nbetween = [\"a\", \"b\"]\n".repeat(2), "called `x`"),
        ] {
            let error = Plan::read(&text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
