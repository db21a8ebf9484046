//! What a cohort was told: for each entry whether, or to which class of route targets, or which
//! paths.

use hashbrown::HashMap;

/// Everybody, where route targets are not constrained.
pub(crate) const EVERYBODY: u32 = 1;

/// What was announced, by entry.
#[derive(Debug, Clone)]
pub(crate) enum Announced {
    /// One path to everybody: a bit for each entry, and how many are set.
    One(Vec<u64>, usize),
    /// One path to the peers of a class; zero for none, and how many are not.
    Class(Vec<u32>, usize),
    /// Path identifiers with their classes, and how many there are.
    Many(HashMap<u32, Vec<(u32, u32)>>, usize),
}

impl Announced {
    pub(crate) fn new(add_path: bool, constrained: bool) -> Self {
        match (add_path, constrained) {
            (true, _) => Self::Many(HashMap::new(), 0),
            (false, true) => Self::Class(Vec::new(), 0),
            (false, false) => Self::One(Vec::new(), 0),
        }
    }

    /// How many routes.
    pub(crate) const fn count(&self) -> usize {
        let (Self::One(_, count) | Self::Class(_, count) | Self::Many(_, count)) = self;
        *count
    }

    /// The class to which a path was announced; zero for none.
    #[inline(always)]
    pub(crate) fn class(&self, entry: u32, path_id: u32) -> u32 {
        let at = entry as usize;
        match self {
            Self::One(bits, _) => {
                bits.get(at / 64).map_or(0, |word| (word >> (at % 64) & 1) as u32)
            }
            Self::Class(classes, _) => classes.get(at).copied().unwrap_or(0),
            Self::Many(paths, _) => {
                let paths = paths.get(&entry).map_or(&[][..], |paths| paths);
                paths.iter().find(|(id, _)| *id == path_id).map_or(0, |(_, class)| *class)
            }
        }
    }

    /// A path is announced to a class, or with zero to none.
    #[inline]
    pub(crate) fn put(&mut self, entry: u32, path_id: u32, class: u32) {
        let at = entry as usize;
        if let Self::One(bits, count) = self {
            if bits.len() <= at / 64 {
                bits.resize(at / 64 + 1, 0);
            }
            let (word, bit) = (&mut bits[at / 64], 1 << (at % 64));
            let was = *word & bit != 0;
            *word = if class != 0 { *word | bit } else { *word & !bit };
            *count = *count + usize::from(class != 0) - usize::from(was);
        } else {
            self.put_by_class(entry, path_id, class);
        }
    }

    /// The same where peers are told different things: rarer, and too long to be inlined.
    fn put_by_class(&mut self, entry: u32, path_id: u32, class: u32) {
        let at = entry as usize;
        let was = self.class(entry, path_id) != 0;
        let is = class != 0;
        match self {
            Self::One(..) => {}
            Self::Class(classes, _) => {
                if classes.len() <= at {
                    classes.resize(at + 1, 0);
                }
                classes[at] = class;
            }
            Self::Many(paths, _) => {
                let of_entry = paths.entry(entry).or_default();
                of_entry.retain(|(id, _)| *id != path_id);
                if is {
                    of_entry.push((path_id, class));
                } else if of_entry.is_empty() {
                    paths.remove(&entry);
                }
            }
        }
        let (Self::One(_, count) | Self::Class(_, count) | Self::Many(_, count)) = self;
        *count = *count + usize::from(is) - usize::from(was);
    }

    /// Takes in what others were told: an entry of which they were told otherwise changed since,
    /// and will be looked at again. What went to two classes counts as told to everybody until
    /// then.
    pub(crate) fn unite(&mut self, other: &Self) {
        if let (Self::One(bits, count), Self::One(others, _)) = (&mut *self, other) {
            bits.resize(bits.len().max(others.len()), 0);
            bits.iter_mut().zip(others).for_each(|(bits, others)| *bits |= others);
            *count = bits.iter().map(|word| word.count_ones() as usize).sum();
            return;
        }
        other.each(|entry, path_id, class| {
            let known = self.class(entry, path_id);
            if known != class {
                self.put(entry, path_id, if known == 0 { class } else { EVERYBODY });
            }
        });
    }

    /// Appends every path of an entry that was announced, with its class.
    pub(crate) fn of(&self, entry: u32, out: &mut Vec<(u32, u32)>) {
        if let Self::Many(paths, _) = self {
            out.extend(paths.get(&entry).into_iter().flatten());
        } else {
            let class = self.class(entry, 0);
            if class != 0 {
                out.push((0, class));
            }
        }
    }

    /// Every entry, path and class that was announced.
    pub(crate) fn each(&self, mut take: impl FnMut(u32, u32, u32)) {
        match self {
            Self::One(bits, _) => {
                for (at, &word) in bits.iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        take(crate::number(at) * 64 + rest.trailing_zeros(), 0, EVERYBODY);
                        rest &= rest - 1;
                    }
                }
            }
            Self::Class(classes, _) => {
                let set = (0..).zip(classes).filter(|(_, class)| **class != 0);
                set.for_each(|(at, &class)| take(at, 0, class));
            }
            Self::Many(paths, _) => {
                for (&entry, of_entry) in paths {
                    of_entry.iter().for_each(|&(id, class)| take(entry, id, class));
                }
            }
        }
    }
}
