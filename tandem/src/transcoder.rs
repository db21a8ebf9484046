//! `tandem transcoder`: transcodes streams until no control has come for a minute; and what hinders
//! a site from transcoding what its realms want.

use crate::anchored;
use crate::cli::Transcoder;
use crate::site::Site;
use ::transcoder::{CLASS_RECORDS, Spec, serve};
use anchor::CodecName;
use client::Exit;
use codec::{Absent, Codec, Library};
use config::{Issue, keys};
use forwarder::ToPackets;
use msc::config::TranscoderStart;
use std::path::Path;

pub fn run(asked: Transcoder) -> Result<(), Exit> {
    oam::log::Levels::install(&oam::Section::default().log).map(drop).map_err(Exit::Failed)?;
    let keys = asked.key_file.map(|file| keys::read(Path::new(""), &file));
    let keys = keys.transpose().map_err(|error| Exit::Failed(format!("--key-file: {error}")))?;
    let packets = asked.forwarder.map(|socket| {
        let classes = vec![(msc::CLASS_FRAMES.to_owned(), CLASS_RECORDS)];
        ToPackets { socket, keys, classes, epoch: None }
    });
    let (socket, streams_max, core) = (asked.socket, asked.streams, asked.core);
    let spec = Spec { socket, streams_max, core, packets };
    serve(&spec).map_err(|failed| Exit::Failed(failed.to_string()))
}

/// What hinders realms from having the codecs that are to be transcoded for them: nobody of this
/// site transcodes, or a library is not on this machine. Of media controllers elsewhere nothing is
/// known here.
pub fn hindrances(site: &Site) -> Vec<Issue> {
    let (library, absent) = codec::Library::load();
    let mut issues = Vec::new();
    for (at, ssc) in site.ssc.iter().enumerate() {
        // One that is elsewhere may do it.
        let Some(own) = anchored::all_own(&site.msc, ssc) else { continue };
        let transcodes = |msc: &msc::Msc| msc.transcoder.start == TranscoderStart::Own;
        let is_any = own.iter().copied().any(transcodes);
        for (n, realm) in ssc.realm.iter().enumerate() {
            let names = realm.media.iter().flat_map(|media| &media.codecs.transcode);
            for (place, name) in names.enumerate() {
                let path = format!("ssc[{at}].realm[{n}].media.codecs.transcode[{place}]");
                if !is_any {
                    let what = "no media controller of this site transcodes";
                    let hint = "set transcoder.start = \"own\" in one of the [[msc]]";
                    issues.push(Issue::new(path, what, hint));
                } else if let Some((what, hint)) = lacks(name, &library, &absent) {
                    issues.push(Issue::new(path, what, hint));
                }
            }
        }
    }
    issues
}

/// What is not on this machine of what codes a codec, and where it is to be had.
fn lacks(name: &str, library: &Library, absent: &[Absent]) -> Option<(String, String)> {
    let row = CodecName::read(name.as_bytes())?.codec()?;
    let codec = Codec::named(row.name())?;
    if library.codecs() >> codec.number() & 1 == 1 {
        return None;
    }
    let files: &[&str] = match codec {
        Codec::Opus => &["libopus"],
        Codec::Amr => &["libopencore-amrnb"],
        Codec::AmrWb => &["libopencore-amrwb", "libvo-amrwbenc"],
        Codec::Pcmu | Codec::Pcma | Codec::G722 => &[],
    };
    let of = absent.iter().filter(|it| files.iter().any(|file| it.file.starts_with(file)));
    let (mut whys, mut packages) = (Vec::new(), Vec::new());
    of.for_each(|it| {
        whys.push(format!("{}: {}", it.file, it.why));
        packages.push(it.package);
    });
    let what = format!("`{}` cannot be coded on this machine: {}", row.name(), whys.join("; "));
    Some((what, format!("install {}", packages.join(" and "))))
}
