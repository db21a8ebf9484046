//! What a speaker is told.

use machine::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The label that the last but one takes away.
pub const IMPLICIT_NULL: u32 = 3;

/// When a label is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// As soon as there is a route.
    #[default]
    Independent,
    /// As soon as the next hop has told its own, or there is none.
    Ordered,
}

/// How much may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Adjacencies at once.
    pub adjacencies: usize,
    /// Those of an interface.
    pub adjacencies_of_link: usize,
    /// Connections that have no session yet.
    pub connections: usize,
    /// Bindings of a peer.
    pub bindings: usize,
    /// Of all peers; one has what is left for others at most.
    pub bindings_of_all: usize,
    /// Pseudowires that a peer may have told of before they are there.
    pub early: usize,
    /// Addresses of a peer.
    pub addresses: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::NEW
    }
}

impl Limits {
    const NEW: Self = Self {
        adjacencies: 1_024,
        adjacencies_of_link: 64,
        connections: 256,
        bindings: 500_000,
        bindings_of_all: 1_000_000,
        early: 4_096,
        addresses: 4_096,
    };
}

/// A speaker.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its router ID.
    pub router: Ipv4Addr,
    /// Where its sessions of IPv4 end.
    pub ipv4: Option<Ipv4Addr>,
    /// Where its sessions of IPv6 end.
    pub ipv6: Option<Ipv6Addr>,
    /// When labels are told.
    pub control: Control,
    /// Seconds for which link hellos hold.
    pub hold_s: u16,
    /// Seconds for which targeted hellos hold.
    pub targeted_hold_s: u16,
    /// Seconds of silence after which a session is over.
    pub keepalive_s: u16,
    /// Labels that are its own to give: the first and the last.
    pub labels: (u32, u32),
    /// Sessions that end may come back: reconnect, and recovery (RFC 3478).
    pub restart: Option<(Duration, Duration)>,
    /// Time after which a session that stands has told what there is: then the IGP may use the
    /// link (RFC 5443 §2).
    pub settle: Duration,
    /// Hellos and sessions of links come with a hop limit of 255 (RFC 6720).
    pub has_gtsm: bool,
    /// Time after which a session that was refused is tried again; it doubles up to eight times.
    pub retry: Duration,
    /// How much may grow.
    pub limits: Limits,
}

impl Settings {
    /// With the values of RFC 5036.
    #[must_use]
    pub const fn new(router: Ipv4Addr) -> Self {
        Self {
            router,
            ipv4: Some(router),
            ipv6: None,
            control: Control::Independent,
            hold_s: 15,
            targeted_hold_s: 45,
            keepalive_s: 180,
            labels: (16, 0x000F_FFFF),
            restart: None,
            settle: Duration::from_secs(1),
            has_gtsm: true,
            retry: Duration::from_secs(15),
            limits: Limits::NEW,
        }
    }

    pub(crate) fn check(&self) -> Result<(), BadSetting> {
        let (first, last) = self.labels;
        let checks = [
            (!self.router.is_unspecified(), BadSetting::Router),
            (self.ipv4.is_some() || self.ipv6.is_some(), BadSetting::Transport),
            (self.hold_s >= 3 && self.targeted_hold_s >= 3, BadSetting::Hold),
            (self.keepalive_s >= 3, BadSetting::KeepAlive),
            ((16..=last).contains(&first) && last <= 0x000F_FFFF, BadSetting::Labels),
            (self.retry >= Duration::from_millis(1), BadSetting::Retry),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
    }
}

wire::rows! {
    /// What is wrong with settings.
    pub enum BadSetting {
        /// The router ID is zero.
        Router = "router", "RFC 5036 §2.2.2";
        /// There is no address for sessions.
        Transport = "transport", "RFC 5036 §2.5.2";
        /// Hellos hold for less than three seconds.
        Hold = "hold", "RFC 5036 §3.5.2";
        /// Sessions live for less than three seconds.
        KeepAlive = "keepalive", "RFC 5036 §3.5.3";
        /// Labels are none, or not those of a range.
        Labels = "labels", "RFC 3032 §2.1";
        /// Nothing is waited for between two tries.
        Retry = "retry", "RFC 5036 §2.5.3";
    }
}

/// An interface on which neighbours are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceSettings {
    /// Its number.
    pub index: u32,
    /// It carries IPv4.
    pub is_ipv4: bool,
    /// It carries IPv6.
    pub is_ipv6: bool,
    /// Its own addresses, which peers are told of.
    pub addresses: Vec<IpAddr>,
}

/// A way out of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NextHop {
    /// By that interface.
    pub interface: u32,
    /// To that address.
    pub gateway: IpAddr,
}

/// A way out, with the label that the next hop has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelHop {
    /// By that interface.
    pub interface: u32,
    /// To that address.
    pub gateway: IpAddr,
    /// Its label; none: packets leave without one.
    pub label: Option<u32>,
}

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Its number.
    pub number: u32,
    /// The speaker asked for it ([`Out::Connect`]), and gave it its number.
    pub is_own: bool,
}
