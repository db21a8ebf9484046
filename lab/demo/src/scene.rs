//! What a scene is: a row of the list, and a play that runs.

use crate::place::Place;
use crate::screen::Screen;

/// A scene of the demonstration.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about, for the list.
    pub line: &'static str,
    /// What it shows, in some lines.
    pub about: &'static [&'static str],
    /// Starts all that it needs.
    pub set: fn(&Place) -> anyhow::Result<Box<dyn Play>>,
}

/// A scene that runs. Dropping it ends all that it started.
pub trait Play {
    /// Who runs, what to look at and what to try.
    fn programme(&self) -> Programme;

    /// The console's address, its reader logged in, and open at the page of the scene.
    fn console(&self) -> String;

    /// Plays it through, and tells what happens as it happens.
    ///
    /// # Errors
    /// When it cannot go on.
    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()>;

    /// What goes on afterwards, in a few words.
    fn goes_on(&self) -> &'static str;

    /// Goes on, for about a second.
    ///
    /// # Errors
    /// When it cannot.
    fn go_on(&mut self, screen: &mut Screen) -> anyhow::Result<()>;

    /// What was measured so far.
    ///
    /// # Errors
    /// When the site does not answer.
    fn figures(&mut self) -> anyhow::Result<Vec<Figure>>;

    /// Names and ends of the logs of what runs, for when something goes wrong.
    fn logs(&self) -> Vec<(String, String)>;
}

/// What is printed before a scene begins.
#[derive(Debug, Clone, Default)]
pub struct Programme {
    /// Who runs: a name, what that is, where it is.
    pub cast: Vec<[String; 3]>,
    /// What the reader should know of how it runs here.
    pub note: Option<String>,
    /// What to look at in the console.
    pub look: String,
    /// Words behind `tandem ctl`, and what they show.
    pub tries: &'static [[&'static str; 2]],
}

impl Programme {
    /// One more who runs.
    #[must_use]
    pub fn with(mut self, name: &str, what: &str, place: impl ToString) -> Self {
        self.cast.push([name.to_owned(), what.to_owned(), place.to_string()]);
        self
    }
}

/// A number that was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The number; zero means that it went wrong.
    pub value: u64,
    /// What it must be, where that is known.
    pub of: Option<u64>,
    /// What it counts, with its unit.
    pub what: String,
    /// What else there is to say.
    pub note: String,
}

impl Figure {
    /// A number that must not be zero.
    #[must_use]
    pub fn some(value: u64, what: &str) -> Self {
        Self { value, of: None, what: what.to_owned(), note: String::new() }
    }

    /// A number that must be `of`.
    #[must_use]
    pub fn all(value: u64, of: u64, what: &str) -> Self {
        Self { of: Some(of), ..Self::some(value, what) }
    }

    /// The same with a note.
    #[must_use]
    pub fn noting(self, note: impl ToString) -> Self {
        Self { note: note.to_string(), ..self }
    }

    /// Whether it is as it should be.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.value > 0 && self.of.is_none_or(|of| of == self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_less_than_all_do_not_hold() {
        assert!(Figure::some(1, "calls").holds() && Figure::all(2, 2, "calls").holds());
        assert!(!Figure::some(0, "calls").holds() && !Figure::all(0, 0, "calls").holds());
        assert!(!Figure::all(1, 2, "calls").holds());
    }
}
