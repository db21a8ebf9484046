//! Which pair of algorithms is used (TS 33.203 §7.2).

use crate::ipsec::algorithm;
use crate::{Alg, Ealg, Ipsec, List, Mode, Q};
use core::cmp::Reverse;

/// What one end can, the best first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preference {
    /// Pairs of algorithms.
    pub pairs: Vec<(Alg, Ealg)>,
    /// Modes: of a phone behind a NAT, [`Mode::UdpTunnel`] alone, of any other
    /// [`Mode::Transport`] alone (TS 33.203 §M.6).
    pub modes: Vec<Mode>,
}

impl Preference {
    /// What is on by default: nothing with MD5 or 3DES, in transport mode.
    #[must_use]
    pub fn usual() -> Self {
        Self {
            pairs: vec![
                (Alg::Null, Ealg::AesGcm),
                (Alg::HmacSha1_96, Ealg::AesCbc),
                (Alg::AesGmac, Ealg::Null),
                (Alg::HmacSha1_96, Ealg::Null),
            ],
            modes: vec![Mode::Transport, Mode::UdpTunnel],
        }
    }

    /// Whether ESP has any of its pairs.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.pairs().next().is_some()
    }

    /// Those of its pairs that ESP has.
    fn pairs(&self) -> impl Iterator<Item = (Alg, Ealg)> {
        self.pairs.iter().copied().filter(|(alg, ealg)| algorithm(*alg, *ealg).is_ok())
    }

    fn has(&self, offer: &Ipsec) -> bool {
        self.modes.contains(&offer.mode)
            && offer.algorithm().is_some()
            && self.pairs().any(|pair| pair == (offer.alg, offer.ealg))
    }

    /// What a network says in Security-Server: all that it can, in its order, with its indices and
    /// ports, in one mode. Preferences fall from one end to the other.
    #[must_use]
    pub fn list(&self, own: &Ipsec, mode: Mode) -> List {
        let mechanism = |(at, (alg, ealg)): (usize, (Alg, Ealg))| crate::Mechanism {
            name: crate::Name::Ipsec3gpp(Ipsec { alg, ealg, mode, ..*own }),
            extensions: Vec::new(),
            q: u16::try_from(at)
                .ok()
                .and_then(|at| Q::thousandths(900_u16.saturating_sub(at * 10))),
        };
        List(self.pairs().take(crate::LIST_MAX).enumerate().map(mechanism).collect())
    }
}

/// A choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The mechanism of the other end that was chosen.
    pub of: Ipsec,
    /// The algorithms, which both have.
    pub pair: (Alg, Ealg),
}

/// What a network chooses of a phone's list: its own first pair that the phone offers, in a mode
/// that it has, with indices and ports that can be used. `None`: nothing.
#[must_use]
pub fn choose(client: &List, own: &Preference) -> Option<Choice> {
    let offers: Vec<&Ipsec> = client
        .0
        .iter()
        .filter_map(|it| it.ipsec())
        .filter(|it| it.is_sound() && own.has(it))
        .collect();
    own.pairs().find_map(|pair| {
        let is_of = |it: &&&Ipsec| (it.alg, it.ealg) == pair;
        offers.iter().find(is_of).map(|offer| Choice { of: **offer, pair })
    })
}

/// What a phone chooses of a network's list: the one that the network prefers of those that the
/// phone has. `None`: nothing.
#[must_use]
pub fn choose_server(server: &List, own: &Preference) -> Option<Choice> {
    let mut offers: Vec<_> = server
        .0
        .iter()
        .filter_map(|it| Some((it.q.unwrap_or(Q::NONE), *it.ipsec()?)))
        .filter(|(_, it)| it.is_sound() && own.has(it))
        .collect();
    // The sort keeps the order of those that are preferred alike.
    offers.sort_by_key(|(q, _)| Reverse(*q));
    let (_, of) = *offers.first()?;
    Some(Choice { of, pair: (of.alg, of.ealg) })
}
