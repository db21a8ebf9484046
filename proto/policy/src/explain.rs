//! Why a policy says what it says, for people.

use super::{Disposition, Policy, Scratch, Subject, Then, Verdict};
use core::fmt;

/// What came of asking a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It took the route.
    Taken(Then),
    /// The condition of that key did not hold.
    Passed(&'static str),
    /// The changes made an attribute longer than its length can say: the route is rejected.
    TooLong,
}

/// A rule that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its number as people count, from 1.
    pub rule: usize,
    /// What it is for.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// Which rules were asked, and which decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The name of the policy.
    pub policy: String,
    /// The rules that were asked, in their order.
    pub steps: Vec<Step>,
    /// What is done where no rule decided.
    pub default: Disposition,
}

impl Explanation {
    /// The rule that decided; `None` where the policy's default did.
    #[must_use]
    pub fn decided(&self) -> Option<&Step> {
        self.steps.last().filter(|step| match step.outcome {
            Outcome::Taken(then) => then != Then::Next,
            Outcome::TooLong => true,
            Outcome::Passed(_) => false,
        })
    }
}

impl Policy {
    /// Decides about a route, and says why: the slow way, for people.
    #[must_use]
    pub fn explain<'a>(
        &self,
        subject: &Subject<'a>,
        scratch: &'a mut Scratch,
    ) -> (Verdict<'a>, Explanation) {
        let mut outcomes = Vec::new();
        let verdict = self.run(subject, scratch, |outcome| outcomes.push(outcome));
        let step = |(index, outcome): (usize, Outcome)| {
            // What is too long is told behind the rule that decided.
            let index = index - usize::from(outcome == Outcome::TooLong);
            let name = self.rules.get(index).map(|rule| rule.name.clone());
            Step { rule: index + 1, name: name.unwrap_or_default(), outcome }
        };
        let steps = outcomes.into_iter().enumerate().map(step).collect();
        let default = if self.accepts { Disposition::Accept } else { Disposition::Reject };
        (verdict, Explanation { policy: self.name.clone(), steps, default })
    }
}

impl fmt::Display for Explanation {
    /// A line for each rule that was asked; the last one says what decided.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            write!(f, "policy {} rule {}", self.policy, step.rule)?;
            if !step.name.is_empty() {
                write!(f, " ({})", step.name)?;
            }
            match step.outcome {
                Outcome::Taken(Then::Accept) => f.write_str(": accepts")?,
                Outcome::Taken(Then::Reject) => f.write_str(": rejects")?,
                Outcome::Taken(Then::Next) => f.write_str(": changes and goes on")?,
                Outcome::Passed(key) => write!(f, ": match.{key} does not hold")?,
                Outcome::TooLong => f.write_str(": an attribute became too long, rejects")?,
            }
            f.write_str("\n")?;
        }
        match (self.decided(), self.default) {
            (Some(_), _) => Ok(()),
            (None, Disposition::Accept) => writeln!(f, "policy {} default: accepts", self.policy),
            (None, Disposition::Reject) => writeln!(f, "policy {} default: rejects", self.policy),
        }
    }
}
