//! Nodes by the numbers that a home subscriber server has told with their names: messages for its
//! subscribers that go to such a number go there by Diameter. What one has told means nothing for
//! the subscribers of another one, and takes none of its room.

use crate::by_diameter::Named;
use crate::identity::Msisdn;
use std::collections::{BTreeMap, VecDeque};

/// Nodes of one source that are remembered.
const NAMES_MAX: usize = 10_000;
/// Sources that are remembered: those of the configuration, and some of those before it.
const SOURCES_MAX: usize = 64;

/// The names of nodes, by who told them.
#[derive(Debug, Default)]
pub struct Names {
    sources: BTreeMap<String, Learned>,
    /// In the order in which they began to tell.
    order: VecDeque<String>,
}

/// What one source has told.
#[derive(Debug, Default)]
struct Learned {
    all: BTreeMap<Msisdn, Named>,
    /// In the order in which they were learned.
    order: VecDeque<Msisdn>,
}

impl Names {
    /// The node of a number, as that source has told it.
    #[must_use]
    pub fn at(&self, source: &str, number: &Msisdn) -> Option<&Named> {
        self.sources.get(source)?.all.get(number)
    }

    /// A number has that name, as that source tells; the one that it told first goes when there are
    /// too many of its.
    pub fn learn(&mut self, source: &str, named: Named) {
        if !self.sources.contains_key(source) {
            if self.order.len() >= SOURCES_MAX
                && let Some(first) = self.order.pop_front()
            {
                self.sources.remove(&first);
            }
            self.order.push_back(source.to_owned());
        }
        self.sources.entry(source.to_owned()).or_default().learn(named);
    }
}

impl Learned {
    fn learn(&mut self, named: Named) {
        let number = named.number.clone();
        if self.all.insert(number.clone(), named).is_some() {
            return;
        }
        self.order.push_back(number);
        if self.order.len() > NAMES_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.all.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_diameter::NodeKind;

    fn number(n: usize) -> Msisdn {
        Msisdn::of(&n.to_string()).unwrap()
    }

    fn named(n: usize, realm: &str) -> Named {
        Named {
            kind: NodeKind::Mme,
            number: number(n),
            host: String::from("mme"),
            realm: String::from(realm),
        }
    }

    #[test]
    fn the_last_nodes_are_known_by_their_last_names() {
        let mut names = Names::default();
        (0..=NAMES_MAX).for_each(|n| names.learn("hss", named(n, "a")));
        let at = |names: &Names, n| names.at("hss", &number(n)).cloned();
        assert_eq!((at(&names, 0), at(&names, 1)), (None, Some(named(1, "a"))));
        names.learn("hss", named(1, "b"));
        assert_eq!(at(&names, 1), Some(named(1, "b")));
    }

    #[test]
    fn who_tells_on_and_on_neither_names_nor_pushes_out_the_nodes_of_others() {
        let mut names = Names::default();
        names.learn("home", named(7, "home"));
        (0..3 * NAMES_MAX).for_each(|n| names.learn("other", named(n, "other")));
        assert_eq!(names.at("home", &number(7)), Some(&named(7, "home")));
        assert_eq!(names.at("home", &number(3 * NAMES_MAX - 1)), None);
        (0..SOURCES_MAX).for_each(|n| names.learn(&n.to_string(), named(1, "x")));
        assert_eq!((names.sources.len(), names.at("home", &number(7))), (SOURCES_MAX, None));
    }
}
