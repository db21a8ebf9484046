//! The demonstration: scenes in which Tandem's functions show on this machine what they do.
//!
//! ```text
//!   SCENES ─ set ─→ programme: who runs, the console, what to look at and to try
//!            act ─→ what happens, as it happens
//!        figures ─→ what was measured
//!          go_on ─→ on a terminal, until Ctrl-C; then the figures once more
//! ```
//! A scene is a file with a type that implements [`Play`], and a row of [`SCENES`].
#![forbid(unsafe_code)]

mod cluster;
mod hlr;
mod ims;
mod media;
mod pe;
mod place;
mod rr;
mod sbc;
mod scene;
mod screen;
mod sms;
mod ss7;
mod start;

pub use place::Place;
pub use scene::{Figure, Play, Programme, Scene};
pub use screen::Screen;

use anyhow::Context;
use std::io::IsTerminal;
use std::path::PathBuf;

/// The scenes, in the order in which they are listed; the first is that of `make demo`.
pub const SCENES: &[Scene] = &[
    sbc::SCENE,
    rr::SCENE,
    pe::SCENE,
    ss7::SCENE,
    cluster::SCENE,
    media::SCENE,
    ims::SCENE,
    sms::SCENE,
];

/// How to play.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `tandem` binary.
    pub tandem: PathBuf,
    /// End by itself once the scene is played, on a terminal too.
    pub once: bool,
}

/// The scene with this name.
#[must_use]
pub fn scene(name: &str) -> Option<&'static Scene> {
    SCENES.iter().find(|scene| scene.name == name)
}

/// Plays a scene. On a terminal it goes on until Ctrl-C; else it ends by itself, and prints no
/// address, since none would be there any more. True when all went as it should.
///
/// # Errors
/// When something could not be started, or standard output is closed.
pub fn run(scene: &Scene, options: &Options) -> anyhow::Result<bool> {
    let stays = std::io::stdout().is_terminal() && !options.once;
    let directory = tempfile::Builder::new().prefix("tandem-demo-").tempdir()?;
    let place = Place::new(&options.tandem, directory.path(), stays)?;
    let mut screen = Screen::new(stays);
    screen.title(scene)?;
    let mut play = (scene.set)(&place)?;
    screen.programme(&play.programme(), play.console(), &place)?;
    let played = perform(play.as_mut(), &mut screen, &place);
    let right = screen.figures(&play.figures()?)? && played.is_ok();
    if !right && !place.is_over() {
        for (name, text) in play.logs() {
            screen.log(&name, &text)?;
        }
    }
    if stays && !place.is_over() {
        screen.goes_on(play.goes_on())?;
        while !place.is_over() {
            play.go_on(&mut screen)?;
        }
        screen.figures(&play.figures()?)?;
    }
    drop(play);
    let left = directory.path().to_owned();
    directory.close().with_context(|| format!("{} stays behind", left.display()))?;
    let names = SCENES.iter().map(|other| other.name);
    let others: Vec<_> = names.filter(|name| *name != scene.name).collect();
    screen.end(right, &others)?;
    Ok(right)
}

/// Plays it through; what goes wrong is told at once.
fn perform(play: &mut dyn Play, screen: &mut Screen, place: &Place) -> anyhow::Result<()> {
    screen.begins()?;
    let played = play.act(screen);
    if let Err(why) = &played
        && !place.is_over()
    {
        screen.wrong(&format!("{why:#}"))?;
    }
    played
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_is_named_once_and_says_in_a_few_lines_what_it_shows() {
        let names: Vec<_> = SCENES.iter().map(|scene| scene.name).collect();
        assert_eq!(names, ["sbc", "rr", "pe", "ss7", "cluster", "media", "ims", "sms"]);
        for scene in SCENES {
            assert!((1..=4).contains(&scene.about.len()), "{}", scene.name);
            assert!(scene.about.iter().all(|line| line.len() <= 90), "{}", scene.name);
        }
        assert!(scene("rr").is_some() && scene("tv").is_none());
    }
}
