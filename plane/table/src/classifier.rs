//! A packet classifier: thousands of rules, the first that matches decides.

mod header;
mod rule;

pub use header::{Address, Fragment, Header};
pub use rule::{Flags, NotCompiled, Prefix, Rule};

/// What a lookup answers when no rule matches.
pub const NO_RULE: u32 = u32::MAX;
/// Rules of a classifier at most.
pub const RULES_MAX: usize = 65_536;
/// Bytes that a compiled classifier takes at most, unless told otherwise.
pub const MEMORY_MAX: usize = 256 << 20;

/// Compiled rules of one family: `u32` for IPv4, `u128` for IPv6. Immutable: publish it whole
/// ([`crate::epoch::Publisher`]).
pub struct Classifier<A> {
    rules: Box<[Rule<A>]>,
}

impl<A: Address> Classifier<A> {
    /// Compiles rules, the first of highest priority, into at most [`MEMORY_MAX`] bytes.
    ///
    /// # Errors
    /// [`NotCompiled`] when there are too many rules or one contradicts itself.
    pub fn compile(rules: &[Rule<A>]) -> Result<Self, NotCompiled> {
        if rules.len() > RULES_MAX {
            return Err(NotCompiled::TooMany);
        }
        for (at, rule) in rules.iter().enumerate() {
            rule.check(at)?;
        }
        Ok(Self { rules: rules.into() })
    }

    /// The place of the first rule that matches each header, [`NO_RULE`] if none does: count by
    /// it, and ask [`Classifier::verdict`].
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn lookup(&self, headers: &[Header<A>], rules: &mut [u32]) {
        assert_eq!(headers.len(), rules.len(), "an answer for each header");
        for (header, found) in headers.iter().zip(rules) {
            let at = self.rules.iter().position(|rule| rule.matches(header));
            *found = at.map_or(NO_RULE, |at| at as u32);
        }
    }

    /// The verdict of a rule by its place.
    #[must_use]
    pub fn verdict(&self, rule: u32) -> Option<u32> {
        self.rules.get(rule as usize).map(|rule| rule.verdict)
    }

    /// Rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is no rule: nothing matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
