//! What may not leave before a standby has applied what it tells of.

use std::collections::VecDeque;

/// Things in the order of their marks ([`runtime::Effects::mark`]), bounded.
#[derive(Debug)]
pub struct Held<T> {
    waiting: VecDeque<(u64, T)>,
    most: usize,
}

impl<T> Held<T> {
    /// Nothing; at most so many.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { waiting: VecDeque::new(), most }
    }

    /// Holds something until its mark is reached; marks grow.
    ///
    /// # Errors
    /// There is no room: it is given back.
    pub fn hold(&mut self, mark: u64, it: T) -> Result<(), T> {
        if self.waiting.len() >= self.most {
            return Err(it);
        }
        self.waiting.push_back((mark, it));
        Ok(())
    }

    /// The first of what may leave now that the standby has applied all up to `mark`.
    pub fn release(&mut self, mark: u64) -> Option<T> {
        self.waiting.pop_front_if(|(at, _)| *at <= mark).map(|(_, it)| it)
    }

    /// Everything: nobody follows any more.
    pub fn release_all(&mut self) -> impl Iterator<Item = T> + '_ {
        self.waiting.drain(..).map(|(_, it)| it)
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_leaves_in_order_when_its_mark_is_reached() {
        let mut held = Held::new(3);
        for mark in 1..=3 {
            held.hold(mark, mark * 10).unwrap();
        }
        assert_eq!(held.hold(4, 40), Err(40), "there is no room");
        assert_eq!(held.release(0), None);
        assert_eq!((held.release(2), held.release(2), held.release(2)), (Some(10), Some(20), None));
        assert_eq!(held.len(), 1);
        assert_eq!(held.release_all().collect::<Vec<_>>(), [30]);
        assert!(held.is_empty());
    }
}
