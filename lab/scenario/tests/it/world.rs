//! Programs to play.

use scenario::{Program, built_in};
use std::path::Path;

pub use scenario::World;

/// A program; what is wrong with it is a failure.
pub fn program(text: &str) -> Program {
    scenario::read(text, Path::new(".")).unwrap_or_else(|wrong| {
        panic!("{}", config::render("scenario.toml", text, &wrong.0));
    })
}

/// One that comes with Tandem.
pub fn named(name: &str) -> Program {
    program(built_in().iter().find(|it| it.name == name).unwrap().text)
}
