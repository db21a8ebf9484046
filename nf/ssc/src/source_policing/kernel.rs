//! What the shield wants of the kernel: its listeners, who passes, and how much of the rest.

use crate::config::{Kernel, Ssc};
use machine::{Duration, Time};
use policing::kernel::{FilterListener, FilterSpec, Protocol, Rate, Rates, Wish};
use policing::{Policer, Prefix};
use registrar::Registrar;
use runtime::Transport;
use std::net::SocketAddr;

/// The kernel lets pass so many times what the shards do: these still see a flood, and name it;
/// and all that they may challenge.
const HEADROOM: u32 = 2;
/// A registered source passes for so long beyond its longest registration.
const MARGIN: Duration = Duration::from_secs(120);

impl Ssc {
    /// How long the kernel lets a registered source pass; zero: it is told nothing.
    pub(crate) fn known_for(&self) -> Duration {
        if self.wish() == Wish::Off {
            return Duration::ZERO;
        }
        let longest = self.registrar().client_expires_max_s().max(self.registrar.core_expires_s);
        Duration::from_secs(longest.into()) + MARGIN
    }

    /// Challenges a second that a shard may send; none without the registrar front.
    pub(crate) const fn challenge_rate(&self) -> u32 {
        if self.registrar.enabled { self.shield.challenge_rate } else { 0 }
    }

    const fn wish(&self) -> Wish {
        match self.shield.kernel {
            Kernel::Auto if self.shield.enabled => Wish::Auto,
            Kernel::Require if self.shield.enabled => Wish::Require,
            _ => Wish::Off,
        }
    }

    /// What the kernel's part of the shield goes by.
    #[must_use]
    pub fn kernel_filter(&self) -> FilterSpec {
        let shield = &self.shield;
        let times = HEADROOM * u32::from(self.shards);
        let rate = |per_s: u32, burst: u32| Rate {
            per_s: per_s.saturating_mul(times),
            burst: burst.saturating_mul(times),
        };
        let unknown = rate(shield.unknown_rate, shield.unknown_burst);
        let challenges = self.challenge_rate().saturating_mul(self.shards.into());
        let all = |per_s| Rate { per_s, burst: per_s };
        let listeners = self.listeners().into_iter().map(|(realm, _, address)| FilterListener {
            listen: address.socket,
            protocol: match address.transport {
                Transport::Udp => Protocol::Udp,
                Transport::Tcp | Transport::Tls => Protocol::Tcp,
            },
            trusts: self.realm[usize::from(realm.0)].trusted,
        });
        let mut trusted: Vec<Prefix> =
            shield.trusted.iter().filter_map(|text| text.parse().ok()).collect();
        trusted.extend(self.neighbours());
        FilterSpec {
            name: self.name.clone(),
            wish: self.wish(),
            interfaces: shield.kernel_interfaces.clone(),
            awaited: self.awaited(),
            listeners: listeners.collect(),
            trusted,
            rates: Rates {
                source: rate(shield.source_rate, shield.source_burst),
                datagrams: Rate {
                    per_s: unknown.per_s.saturating_add(challenges),
                    burst: unknown.burst.saturating_add(challenges / 10),
                },
                syns: all(shield.kernel_syn_rate),
                echoes: all(shield.kernel_echo_rate),
            },
        }
    }

    /// The interfaces that get an address of a listener when this node of a pair becomes active.
    fn awaited(&self) -> Vec<String> {
        let held = self.replica.iter().flat_map(replica::Replica::addresses);
        let listeners = self.listeners();
        let is_listener = |ip| listeners.iter().any(|(_, _, address)| address.socket.ip() == ip);
        let names = held.filter(|address| is_listener(address.ip)).map(|address| address.interface);
        names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// The other node of the pair.
    fn neighbours(&self) -> impl Iterator<Item = Prefix> {
        let peer = self.replica.iter().filter_map(|replica| replica.peer.parse().ok());
        peer.filter_map(|peer: SocketAddr| peer.ip().to_string().parse().ok())
    }
}

/// This node serves from now on: the kernel shall let everybody pass who is registered.
pub(crate) fn allow_registered(policer: &mut Policer, registrar: &Registrar, now: Time) {
    for (_, binding) in registrar.iter() {
        policer.allow_source(now, binding.flow.remote.ip());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = r#"
        name = "ssc"
        shards = 3
        realm = [
            { name = "access", listen = ["udp:192.0.2.1:5060", "tls:192.0.2.1:5061"] },
            { name = "core", side = "core", trusted = true, listen = ["udp:10.0.0.1:5060"] },
        ]
        [shield]
        trusted = ["198.51.100.0/24"]
    "#;

    #[test]
    fn the_kernel_gets_every_listener_and_twice_what_all_shards_take() {
        let site: Ssc = toml::from_str(SITE).unwrap();
        let filter = site.kernel_filter();
        let listeners: Vec<_> = filter
            .listeners
            .iter()
            .map(|listener| (listener.listen.port(), listener.trusts))
            .collect();
        assert_eq!(listeners, [(5060, false), (5061, false), (5060, true)]);
        assert_eq!((filter.wish, filter.trusted.len()), (Wish::Auto, 1));
        let passes = Rate { per_s: 60_000 + 150_000, burst: 12_000 + 15_000 };
        assert_eq!(filter.rates.datagrams, passes, "and what they may challenge");
        assert_eq!(site.known_for(), Duration::from_secs(1_920));
        assert!(filter.awaited.is_empty());
        let pair = r#"[replica]
            node = "b"
            listen = "127.0.0.1:5999"
            peer = "127.0.0.2:5999"
            addresses = ["192.0.2.1/24@eth7", "192.0.2.99/24@eth8"]"#;
        let pair: Ssc = toml::from_str(&format!("{SITE}{pair}")).unwrap();
        assert_eq!(
            pair.kernel_filter().awaited,
            ["eth7"],
            "before it has the address of a listener"
        );
        let off: Ssc = toml::from_str(&format!("{SITE}enabled = false")).unwrap();
        assert_eq!((off.kernel_filter().wish, off.known_for()), (Wish::Off, Duration::ZERO));
    }
}
