//! Who sends packets that are refused: the loudest sources, in a bounded table.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Sources that are remembered.
const SOURCES_MAX: usize = 64;
/// An alarm stands for so long after the last refused packet.
const SHOWN_US: u64 = 60_000_000;

/// Refused packets by source. When the table is full a new source takes the place and the count
/// of the one with the fewest (space-saving, Metwally et al. 2005): who sends many is in it.
#[derive(Debug, Default)]
pub struct Sources {
    counts: BTreeMap<IpAddr, u64>,
    last_us: u64,
}

impl Sources {
    /// One more from there.
    pub fn add(&mut self, now_us: u64, source: IpAddr) {
        self.last_us = now_us;
        let source = source.to_canonical();
        if let Some(count) = self.counts.get_mut(&source) {
            *count += 1;
            return;
        }
        let mut count = 0;
        if self.counts.len() >= SOURCES_MAX
            && let Some((&least, &its)) = self.counts.iter().min_by_key(|(_, count)| **count)
        {
            self.counts.remove(&least);
            count = its;
        }
        self.counts.insert(source, count + 1);
    }

    /// The sources, the loudest first.
    #[must_use]
    pub fn rows(&self) -> Vec<(IpAddr, u64)> {
        let mut rows: Vec<_> = self.counts.iter().map(|(&ip, &count)| (ip, count)).collect();
        rows.sort_by_key(|&(ip, count)| (core::cmp::Reverse(count), ip));
        rows
    }

    /// The loudest one, while packets were refused of late.
    #[must_use]
    pub fn loudest(&self, now_us: u64) -> Option<(IpAddr, u64)> {
        let is_late = self.last_us > 0 && now_us < self.last_us + SHOWN_US;
        if is_late { self.rows().into_iter().next() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loudest_source_is_known_however_many_there_are() {
        let mut sources = Sources::default();
        for n in 0..2_000u32 {
            sources.add(1, IpAddr::from([10, 0, (n >> 8) as u8, n as u8]));
            sources.add(1, IpAddr::from([192, 0, 2, 1]));
        }
        assert_eq!(sources.rows().len(), SOURCES_MAX);
        let (ip, count) = sources.loudest(2).unwrap();
        assert_eq!((ip, count), (IpAddr::from([192, 0, 2, 1]), 2_000));
        assert_eq!(sources.loudest(1 + SHOWN_US), None);
    }
}
