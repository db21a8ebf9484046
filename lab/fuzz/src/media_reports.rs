//! Events of media and RTCP as JSON, a line each: nothing panics, a trail keeps so many streams,
//! and its record and its keys stay within their bounds and survive a round trip.

use sas::detail::Read;
use sas::media;
use sas::trail::Trail;
use std::net::{Ipv4Addr, SocketAddr};

/// Lines of one input that are read.
const LINES_MAX: usize = 300;
const POINTS_MAX: usize = 240;

pub fn run(octets: &[u8]) {
    let lines = octets.split(|octet| *octet == b'\n').take(LINES_MAX);
    let timed = lines.zip(1_800_000_000u64..);
    let entries: Vec<Read> = timed.map(|it| entry(it.0, it.1)).collect();
    let mut trail = Trail::new(1, 1);
    trail.media = media::of_entries(&entries);
    assert!(trail.media.len() <= media::STREAMS_MAX);
    assert_eq!(Trail::decode(&trail.encode()).as_ref(), Some(&trail));
    assert!(sas::record_of(&trail).keys.len() <= store::KEYS_MAX);
    let lanes = media::lanes(&trail.media, &entries);
    assert_eq!(lanes.len(), trail.media.len());
    assert!(lanes.iter().all(|lane| lane.points.len() <= POINTS_MAX));
    let scale = 100..=500u16;
    for figures in trail.media.iter().map(media::Stream::figures) {
        assert!(figures.mos_hundredths.is_none_or(|mos| scale.contains(&mos)), "{figures:?}");
        assert!(figures.loss_permille.is_none_or(|loss| loss <= 1_000), "{figures:?}");
    }
}

fn entry(line: &[u8], seconds: u64) -> Read {
    let is_event = line.starts_with(b"{\"event\":");
    let port = 4_000 + u16::try_from(line.len() % 4).unwrap_or(0);
    let source = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Read {
        at_us: seconds * 1_000_000,
        protocol: hep::UDP,
        kind: if is_event { hep::KIND_LOG } else { hep::KIND_RTCP },
        flags: 0,
        source,
        destination: source,
        tags: Vec::new(),
        payload: line.to_vec(),
    }
}
