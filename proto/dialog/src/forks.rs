//! The early dialogs of one INVITE (RFC 3261 §12.1.2, §13.2.2.4): a response with a To tag not
//! seen before makes one more.

/// Early dialogs of one INVITE; responses of further forks are dropped.
pub const FORKS_MAX: usize = 16;

/// What is kept for each early dialog, by its remote tag. One fork, the usual case, costs one
/// entry.
#[derive(Debug, Clone)]
pub struct Forks<T> {
    entries: Vec<(Box<[u8]>, T)>,
}

impl<T> Default for Forks<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Forks<T> {
    /// The fork with that remote tag.
    #[must_use]
    pub fn find(&self, tag: &[u8]) -> Option<&T> {
        self.entries.iter().find(|(known, _)| **known == *tag).map(|(_, fork)| fork)
    }

    /// The fork with that remote tag, to be changed.
    pub fn find_mut(&mut self, tag: &[u8]) -> Option<&mut T> {
        self.entries.iter_mut().find(|(known, _)| **known == *tag).map(|(_, fork)| fork)
    }

    /// The fork with that remote tag, made by `make` if it is new; `None` when there are too
    /// many, or `make` has none.
    pub fn find_or_make(&mut self, tag: &[u8], make: impl FnOnce() -> Option<T>) -> Option<&mut T> {
        let at = match self.entries.iter().position(|(known, _)| **known == *tag) {
            Some(at) => at,
            None if self.entries.len() == FORKS_MAX => return None,
            None => {
                self.entries.push((tag.into(), make()?));
                self.entries.len() - 1
            }
        };
        self.entries.get_mut(at).map(|(_, fork)| fork)
    }

    /// Takes the fork that was answered; the others stay until [`Forks::clear`], because their
    /// own 2xx may still come (and wants an ACK and a BYE).
    pub fn take(&mut self, tag: &[u8]) -> Option<T> {
        let at = self.entries.iter().position(|(known, _)| **known == *tag)?;
        Some(self.entries.swap_remove(at).1)
    }

    /// Every early dialog ends: a final response other than 2xx came, or 64 * T1 went by since
    /// the first 2xx.
    pub fn clear(&mut self) {
        self.entries = Vec::new();
    }

    /// Number of early dialogs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Remote tags and forks, oldest first until one was taken.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &T)> {
        self.entries.iter().map(|(tag, fork)| (&**tag, fork))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_new_tag_makes_a_fork_and_a_known_one_finds_it() {
        let mut forks = Forks::default();
        *forks.find_or_make(b"a", || Some(1)).unwrap() += 10;
        forks.find_or_make(b"b", || Some(2)).unwrap();
        assert_eq!(forks.find_or_make(b"a", || unreachable!("known")), Some(&mut 11));
        assert_eq!(forks.take(b"a"), Some(11));
        assert_eq!((forks.len(), forks.find(b"b")), (1, Some(&2)));
        forks.clear();
        assert!(forks.is_empty());
    }

    #[test]
    fn there_are_never_more_than_the_limit() {
        let mut forks = Forks::default();
        for n in 0..FORKS_MAX as u8 {
            assert!(forks.find_or_make(&[n], || Some(())).is_some());
        }
        assert!(forks.find_or_make(b"one more", || Some(())).is_none());
    }
}
