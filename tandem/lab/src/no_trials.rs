//! `tandem lab list` and `run` where the experiments were left out (feature `experiments`): in the
//! image, which is to be small and has none of the programs that they compare with.

use crate::command::Trial;
use client::Exit;

fn left_out() -> Result<(), Exit> {
    let what = "this program has no experiments, as that of the image: the package's has";
    Err(Exit::Failed(what.to_owned()))
}

/// Says that there are none.
///
/// # Errors
/// Always.
pub fn list() -> Result<(), Exit> {
    left_out()
}

/// There are none.
#[must_use]
pub fn named() -> Vec<(String, String)> {
    Vec::new()
}

/// Says that there are none.
///
/// # Errors
/// Always.
pub fn run(_: Trial) -> Result<(), Exit> {
    left_out()
}
