//! Streams that share a port (BUNDLE, RFC 9143).

use crate::port::Local;
use crate::section::Section;
use crate::side::Side;
use crate::stream::{Bundle, Rtcp, Stream};
use crate::write::{Entry, State};

/// Lets the streams of a side's group share the port of the first of them. RTP and RTCP of each
/// must share theirs already (§7.1.3). The names of those that do; they may be one.
pub(crate) fn share<'a>(
    group: &[&'a [u8]],
    sections: &[Section<'a>],
    side: Side,
    streams: &mut [Option<Stream>],
) -> Vec<&'a [u8]> {
    let mut lead: Option<(u8, Local)> = None;
    let mut names = Vec::new();
    for name in group {
        let at = sections.iter().position(|section| section.mid == Some(*name));
        let Some((at, stream)) = at.and_then(|at| Some((at, streams.get_mut(at)?.as_mut()?)))
        else {
            continue;
        };
        let end = &mut stream.ends[side.index()];
        let Ok(at) = u8::try_from(at) else { continue };
        if matches!(end.rtcp, Rtcp::Apart(_)) {
            continue;
        }
        let (lead, local) = *lead.get_or_insert((at, end.local));
        end.local = local;
        end.bundle = Some(Box::new(Bundle { lead, mid: (*name).into() }));
        names.push(*name);
    }
    names
}

/// Writes the ports that the streams of that side have now.
pub(crate) fn follow(entries: &mut [Entry<'_, '_>], streams: &[Option<Stream>], side: Side) {
    for (entry, stream) in entries.iter_mut().zip(streams) {
        if let (State::Relayed(relayed), Some(stream)) = (&mut entry.state, stream) {
            relayed.local.set_port(stream.end(side).local.port);
        }
    }
}

/// The names of a group that is offered: of all streams that are relayed, if each has one.
pub(crate) fn offered<'a>(entries: &[Entry<'_, 'a>]) -> Vec<&'a [u8]> {
    let relayed = || entries.iter().filter(|entry| matches!(entry.state, State::Relayed(_)));
    let names: Vec<_> = relayed().filter_map(|entry| entry.section.mid).collect();
    if names.len() == relayed().count() { names } else { Vec::new() }
}
