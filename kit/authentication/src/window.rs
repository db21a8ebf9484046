//! Which sequence numbers have come: each is taken once, and none that is too old to know
//! (RFC 4303 §3.4.3, as a ring of words like RFC 6479).

/// Numbers behind the highest one that may still come. Threads of one sender overtake each other.
pub const WINDOW: u64 = 4_096;
const WORDS: usize = 65;

/// The numbers of one sender's life; they begin at one.
#[derive(Debug, Clone)]
pub struct Window {
    highest: u64,
    /// So far behind it one may still come.
    behind: u64,
    words: Box<[u64; WORDS]>,
}

impl Window {
    /// Only what is later than `number` may come, and at most `behind` numbers late.
    pub fn after(number: u64, behind: u64) -> Self {
        let mut words = Box::new([u64::MAX; WORDS]);
        let (word, bit) = Self::place(number);
        words[word] = bit | (bit - 1);
        Self { highest: number, behind: behind.min(WINDOW), words }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a remainder of 65")]
    const fn place(number: u64) -> (usize, u64) {
        ((number / 64 % WORDS as u64) as usize, 1 << (number % 64))
    }

    /// Whether `number` may be taken.
    pub fn is_new(&self, number: u64) -> bool {
        if number < self.highest && self.highest - number >= self.behind {
            return false;
        }
        let (word, bit) = Self::place(number);
        number > self.highest || self.words[word] & bit == 0
    }

    /// Takes it.
    pub fn take(&mut self, number: u64) {
        if number > self.highest {
            let (from, to) = (self.highest / 64, number / 64);
            // The words in between stood for numbers that are too old now.
            for word in from + 1..=to.min(from + WORDS as u64) {
                self.words[Self::place(word * 64).0] = 0;
            }
            self.highest = number;
        }
        let (word, bit) = Self::place(number);
        self.words[word] |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_number_is_taken_once_whatever_the_order_and_none_behind_the_window() {
        let mut window = Window::after(0, WINDOW);
        let (mut taken, mut highest, mut state) = (BTreeSet::new(), 0, 7u64);
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let near = highest + 40 - (state >> 40) % (WINDOW + 100).min(highest + 40);
            let number =
                if state >> 33 & 0xfff == 0 { highest + (state >> 45 & 0xffff) } else { near };
            let expected = number > 0 && number + WINDOW > highest && !taken.contains(&number);
            assert_eq!(window.is_new(number), expected, "{number} of {highest}");
            if expected {
                window.take(number);
                taken.insert(number);
                highest = highest.max(number);
            }
        }
        assert!(!window.is_new(0));
        let mut window = Window::after(70, WINDOW);
        assert!((0..=70).all(|number| !window.is_new(number)));
        window.take(127);
        assert!((71..127).all(|number| window.is_new(number)) && !window.is_new(70));
        let mut strict = Window::after(70, 0);
        strict.take(80);
        assert!(!strict.is_new(79) && !strict.is_new(80) && strict.is_new(81));
        window.take(u64::MAX);
        assert!(!window.is_new(u64::MAX) && !window.is_new(5));
    }
}
