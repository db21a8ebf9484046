//! `tandem transcoder`: transcodes streams until no control has come for a minute.

use crate::cli::Transcoder;
use crate::exit::Exit;
use ::transcoder::{Spec, serve};

/// Runs it.
pub fn run(asked: Transcoder) -> Result<(), Exit> {
    oam::log::Levels::install(&oam::Section::default().log).map(drop).map_err(Exit::Failed)?;
    let spec = Spec { socket: asked.socket, streams_max: asked.streams, core: asked.core };
    serve(&spec).map_err(|failed| Exit::Failed(failed.to_string()))
}
