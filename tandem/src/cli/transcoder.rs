//! The words of `tandem transcoder`.

use clap::Args;
use std::path::PathBuf;

/// How a transcoder runs. A media controller starts one for each core that it has for codecs.
#[derive(Debug, Args)]
pub struct Transcoder {
    /// The socket where its control finds it.
    #[arg(long)]
    pub socket: PathBuf,
    /// The socket of the forwarder whose packets it transcodes.
    #[arg(long)]
    pub forwarder: Option<PathBuf>,
    /// A file with the key that the forwarder has.
    #[arg(long)]
    pub key_file: Option<String>,
    /// The core that it keeps to.
    #[arg(long)]
    pub core: Option<usize>,
    /// Streams that it takes at most.
    #[arg(long, default_value_t = 4_096)]
    pub streams: usize,
}
