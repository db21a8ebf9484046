//! Which MSUs may come from a peer (ITU-T Q.705 §8.1, screening of point codes).

use super::{Peer, PeerRole, PointCodeFormat, ServedBy, Sgc};
use config::Issue;
use m3ua::codec::PointCode;

/// Entries of one list.
const ENTRIES_MAX: usize = 1_024;
/// What stands for every originating point code but this node's own.
const ANY: &str = "any";

/// Point codes from the first to the last of each pair, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    fn of(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        // Those that touch become one, so that at most one range can have a point code.
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// Whether a point code is in one of them.
    pub(crate) fn has(&self, point_code: PointCode) -> bool {
        let number = point_code.number();
        let at = self.0.partition_point(|(first, _)| *first <= number);
        at.checked_sub(1).is_some_and(|at| self.0[at].1 >= number)
    }

    /// Whether all point codes from one to another are.
    pub(crate) fn has_all(&self, first: PointCode, last: PointCode) -> bool {
        let (first, last) = (first.number(), last.number());
        self.0.iter().any(|range| range.0 <= first && last <= range.1)
    }

    /// Whether any of them is.
    pub(crate) fn has_any(&self, first: PointCode, last: PointCode) -> bool {
        let (first, last) = (first.number(), last.number());
        self.0.iter().any(|range| range.0 <= last && first <= range.1)
    }
}

/// Whose an MSU of a peer may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origins {
    /// Anybody's but this node's.
    Any,
    /// These.
    Only(Ranges),
    /// These, and those of the keys that it has registered.
    Served(Ranges),
    /// Those that no Application Server here has.
    Others(Ranges),
}

/// Which MSUs of a peer go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) origins: Origins,
    pub(crate) destinations: Option<Ranges>,
    /// A bit for each Service Indicator, and for each Network Indicator.
    pub(crate) services: u16,
    pub(crate) networks: u8,
}

impl Screen {
    /// Whether a peer has no point codes of its own, and may send what is nobody's here.
    pub(crate) const fn has_others(&self) -> bool {
        matches!(self.origins, Origins::Others(_))
    }
}

fn bits(numbers: Option<&Vec<u8>>) -> u16 {
    numbers.map_or(u16::MAX, |all| all.iter().fold(0, |bits, number| bits | 1 << (number & 15)))
}

fn read_ranges(format: PointCodeFormat, texts: &[String]) -> Ranges {
    Ranges::of(texts.iter().filter_map(|text| format.read_range(text)).collect())
}

impl Sgc {
    /// Point codes of the Application Servers that this picks, as far as peers serve them.
    fn served(&self, picks: impl Fn(&[String]) -> bool) -> Ranges {
        let servers = self.application_server.iter();
        let servers = servers.filter(|it| it.served_by == ServedBy::Peers && picks(&it.peers));
        let codes = servers.flat_map(|it| &it.destination).map(|it| it.point_code.clone());
        read_ranges(self.point_code_format, &codes.collect::<Vec<_>>())
    }

    /// What the configuration means for the MSUs of a peer.
    pub(crate) fn screen(&self, peer: &Peer) -> Screen {
        let (format, rules) = (self.point_code_format, &peer.screening);
        let own = self.served(|peers| peers.contains(&peer.name));
        let origins = match &rules.originating {
            Some(texts) if texts.iter().any(|text| text == ANY) => Origins::Any,
            Some(texts) => Origins::Only(read_ranges(format, texts)),
            None if peer.role == PeerRole::Sgp => Origins::Any,
            None if own == Ranges::default() => Origins::Others(self.served(|_| true)),
            None => Origins::Served(own),
        };
        Screen {
            origins,
            destinations: rules.destinations.as_ref().map(|texts| read_ranges(format, texts)),
            services: bits(rules.service_indicators.as_ref()),
            networks: bits(rules.network_indicators.as_ref()).to_le_bytes()[0],
        }
    }

    pub(crate) fn validate_screening(&self, peer: &Peer, at: &str, issues: &mut Vec<Issue>) {
        let rules = &peer.screening;
        let at = |key: &str| format!("{at}.screening.{key}");
        for (key, texts) in
            [("originating", &rules.originating), ("destinations", &rules.destinations)]
        {
            let Some(texts) = texts else { continue };
            if texts.is_empty() || texts.len() > ENTRIES_MAX {
                let what = format!("{} entries", texts.len());
                issues.push(Issue::new(at(key), what, format!("use 1 to {ENTRIES_MAX}")));
            }
            for (n, text) in texts.iter().enumerate() {
                let is_any = key == "originating" && text == ANY && texts.len() == 1;
                if !is_any && self.point_code_format.read_range(text).is_none() {
                    let what = format!("`{text}` is no point code or range of them");
                    let hint = self.point_code_format.example();
                    issues.push(Issue::new(format!("{}[{n}]", at(key)), what, hint));
                }
            }
        }
        let numbers = [
            ("service_indicators", &rules.service_indicators, 15),
            ("network_indicators", &rules.network_indicators, 3),
        ];
        for (key, numbers, most) in numbers {
            let wrong = numbers.iter().flatten().find(|number| **number > most);
            if let Some(wrong) = wrong {
                let what = format!("{wrong} is none");
                issues.push(Issue::new(at(key), what, format!("use 0 to {most}")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_their_ends_and_nothing_between_them() {
        let format = PointCodeFormat::Decimal;
        let texts = ["9", "1..3", "4", "20..22", "21..21"].map(str::to_owned);
        let ranges = read_ranges(format, &texts);
        let inside: Vec<u32> = (0..30)
            .filter(|number| PointCode::new(*number).is_some_and(|it| ranges.has(it)))
            .collect();
        assert_eq!(inside, [1, 2, 3, 4, 9, 20, 21, 22]);
        for wrong in ["3..1", "a", "1..", "..", "1-2-3"] {
            assert_eq!(format.read_range(wrong), None, "{wrong}");
        }
        assert_eq!(PointCodeFormat::Itu.read_range("2-100-0..2-100-7"), Some((4_896, 4_903)));
    }
}
