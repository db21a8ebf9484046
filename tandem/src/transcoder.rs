//! `tandem transcoder`: transcodes streams until no control has come for a minute.

use crate::cli::Transcoder;
use crate::exit::Exit;
use ::transcoder::{CLASS_RECORDS, Spec, serve};
use config::keys;
use forwarder::ToPackets;
use std::path::Path;

/// Runs it.
pub fn run(asked: Transcoder) -> Result<(), Exit> {
    oam::log::Levels::install(&oam::Section::default().log).map(drop).map_err(Exit::Failed)?;
    let keys = asked.key_file.map(|file| keys::read(Path::new(""), &file));
    let keys = keys.transpose().map_err(|error| Exit::Failed(format!("--key-file: {error}")))?;
    let packets = asked.forwarder.map(|socket| {
        let classes = vec![(msc::CLASS_FRAMES.to_owned(), CLASS_RECORDS)];
        ToPackets { socket, keys, classes }
    });
    let (socket, streams_max, core) = (asked.socket, asked.streams, asked.core);
    let spec = Spec { socket, streams_max, core, packets };
    serve(&spec).map_err(|failed| Exit::Failed(failed.to_string()))
}
