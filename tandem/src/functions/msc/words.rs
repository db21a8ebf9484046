//! `tandem ctl media` and `tandem ctl streams`.

use clap::{Args, Subcommand};
use client::complete::functions;
use client::{Client, Exit, Of, Output, Words, asked, asked_and, query};
use show::msc as listings;

/// The words of media controllers.
#[derive(Debug, Subcommand)]
pub enum MscWords {
    /// How the media controllers stand: load, leases of ports, session controllers, transcoder.
    #[command(args_conflicts_with_subcommands = true)]
    Media {
        /// What of it.
        #[command(subcommand)]
        command: Option<MediaCommand>,
        /// Which of them.
        #[command(flatten)]
        of: Of,
    },
    /// Streams of media: their ends, codecs, loss and quality.
    Streams(Streams),
}

/// What `tandem ctl media` shows.
#[derive(Debug, Subcommand)]
pub enum MediaCommand {
    /// What the forwarder refused, and why; and what commands of NG said that is not done.
    Refusals(Of),
    /// Checks of ICE and handshakes of DTLS, shard by shard.
    Handshakes(Of),
}

/// Which streams.
#[derive(Debug, Args)]
pub struct Streams {
    /// Name of the function.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Only those of this call: its number, or its Call-ID.
    #[arg(long)]
    pub call: Option<String>,
    /// Streams at most.
    #[arg(long, default_value_t = 100)]
    pub limit: u32,
}

impl Words for MscWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        match self {
            Self::Media { command: None, of: Of { function } } => {
                let shown = &listings::MEDIA;
                asked_and(client, form, function, "media", shown, |_, rows| {
                    rows.iter_mut().for_each(listings::say_media);
                    Ok(())
                })
            }
            Self::Media { command: Some(MediaCommand::Refusals(Of { function })), .. } => {
                asked(client, form, function, "media/refusals", &listings::REFUSALS)
            }
            Self::Media { command: Some(MediaCommand::Handshakes(Of { function })), .. } => {
                asked(client, form, function, "media/handshakes", &listings::HANDSHAKES)
            }
            Self::Streams(wanted) => streams(client, form, wanted),
        }
    }
}

fn streams(client: &Client, form: Output, wanted: Streams) -> Result<(), Exit> {
    let Streams { function, call, limit } = wanted;
    let about = format!("streams{}", query(&[("call", call), ("limit", Some(limit.to_string()))]));
    asked_and(client, form, function, &about, &listings::STREAMS, |_, rows| {
        rows.iter_mut().for_each(listings::say_ends);
        Ok(())
    })
}
