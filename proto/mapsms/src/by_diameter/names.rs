//! Nodes by the numbers that a home subscriber server has told with their names: messages for them
//! go there by Diameter.

use crate::by_diameter::Named;
use crate::identity::Msisdn;
use std::collections::{BTreeMap, VecDeque};

/// Nodes that are remembered.
const NAMES_MAX: usize = 10_000;

/// The names of nodes.
#[derive(Debug, Default)]
pub struct Names {
    all: BTreeMap<Msisdn, Named>,
    /// In the order in which they were learned.
    order: VecDeque<Msisdn>,
}

impl Names {
    /// The node of a number.
    #[must_use]
    pub fn at(&self, number: &Msisdn) -> Option<&Named> {
        self.all.get(number)
    }

    /// A number has that name; the one that was learned first goes when there are too many.
    pub fn learn(&mut self, named: Named) {
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

    #[test]
    fn the_last_nodes_are_known_by_their_last_names() {
        let number = |n: usize| Msisdn::of(&n.to_string()).unwrap();
        let named = |n: usize, realm: &str| Named {
            kind: NodeKind::Mme,
            number: number(n),
            host: String::from("mme"),
            realm: String::from(realm),
        };
        let mut names = Names::default();
        (0..=NAMES_MAX).for_each(|n| names.learn(named(n, "a")));
        assert_eq!((names.at(&number(0)), names.at(&number(1))), (None, Some(&named(1, "a"))));
        names.learn(named(1, "b"));
        assert_eq!(names.at(&number(1)), Some(&named(1, "b")));
    }
}
