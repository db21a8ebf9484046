//! A path: one address of the peer, with its RTO, its congestion control, its heartbeats and its
//! state (RFC 9260 §6.3, §7.2, §8.2, §8.3; RFC 7829 §3).
//!
//! ```text
//!  Unconfirmed ── nonce came back ──→ Active ←──────── acknowledged ────────┐
//!                                       │ errors > PFMR (RFC 7829)          │
//!                                       ├──────→ PotentiallyFailed ─────────┤
//!                                       │ errors > Path.Max.Retrans         │
//!                                       └──────→ Inactive ──────────────────┘
//! ```

use super::congestion::{Acknowledged, Congestion};
use crate::codec::HEADER_BYTES;
use crate::parameters::PathParameters;
use core::net::IpAddr;
use machine::{Duration, Time};

/// Clock granularity G (RFC 9260 §6.3.1).
const GRANULARITY: Duration = Duration::from_millis(1);
/// Octets of IP header that leave room for options or the UDP header of an encapsulation.
const IPV4_BYTES: usize = 28;
const IPV6_BYTES: usize = 48;
/// A PMTU below this is not believed (RFC 9260 §7.3 refers to RFC 4821: 512 for IPv4).
pub(super) const PMTU_MIN: usize = 512;

/// State of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathState {
    /// It works.
    Active,
    /// It has lately lost packets; data takes another path if there is one (RFC 7829).
    PotentiallyFailed,
    /// It does not answer.
    Inactive,
    /// Nobody has shown yet that the peer is there (RFC 9260 §5.4).
    Unconfirmed,
}

/// A heartbeat that is not answered yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) nonce: u64,
    pub(crate) sent_at: Time,
    /// When it counts as lost; `None`: it does already.
    pub(crate) until: Option<Time>,
}

/// A path.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) address: IpAddr,
    /// The address here that the peer last sent to from there.
    pub(crate) local: Option<IpAddr>,
    /// UDP port of the peer's encapsulation (RFC 6951); zero: none.
    pub(crate) encapsulation_port: u16,
    pub(crate) parameters: PathParameters,
    pub(crate) state: PathState,
    pub(crate) srtt: Option<Duration>,
    rttvar: Duration,
    pub(crate) rto: Duration,
    pub(crate) pmtu: usize,
    pub(crate) congestion: Congestion,
    /// Time-outs in a row.
    pub(crate) errors: u16,
    /// T3-rtx.
    pub(crate) t3_rtx: Option<Time>,
    /// When the next heartbeat is due.
    pub(crate) next_heartbeat: Option<Time>,
    pub(crate) probe: Option<Probe>,
    /// The TSN whose round trip is being measured.
    pub(crate) timed: Option<u64>,
    /// The search for the PMTU.
    pub(crate) search: super::pmtu::Search,
    /// What the SACK at hand did to the path.
    pub(crate) acknowledged: Acknowledged,
}

impl Path {
    pub(crate) fn new(
        address: IpAddr,
        encapsulation_port: u16,
        parameters: PathParameters,
        now: Time,
    ) -> Self {
        let mut path = Self {
            address,
            local: None,
            encapsulation_port,
            parameters,
            state: PathState::Unconfirmed,
            srtt: None,
            rttvar: Duration::ZERO,
            rto: parameters.rto_initial,
            pmtu: usize::from(parameters.pmtu),
            congestion: Congestion::new(now),
            errors: 0,
            t3_rtx: None,
            next_heartbeat: None,
            probe: None,
            timed: None,
            search: super::pmtu::Search::default(),
            acknowledged: Acknowledged::default(),
        };
        path.congestion.cwnd = path.initial_cwnd();
        path
    }

    /// Octets that an SCTP packet on this path can have.
    pub(crate) fn packet_bytes(&self) -> usize {
        self.packet_bytes_of(self.pmtu)
    }

    /// Octets that an SCTP packet can have in an IP packet of `size` octets.
    pub(crate) fn packet_bytes_of(&self, size: usize) -> usize {
        let ip = if self.address.is_ipv4() { IPV4_BYTES } else { IPV6_BYTES };
        size.max(PMTU_MIN).saturating_sub(ip) & !3
    }

    /// Path Maximum DATA Chunk Size, chunk header included (RFC 9260 §2.3, §7.2).
    pub(crate) fn pmdcs(&self) -> usize {
        self.packet_bytes() - HEADER_BYTES
    }

    /// RFC 9260 §7.2.1.
    fn initial_cwnd(&self) -> usize {
        let three = if self.address.is_ipv4() { 4404 } else { 4344 };
        (4 * self.pmdcs()).min((2 * self.pmdcs()).max(three))
    }

    pub(crate) fn set_parameters(&mut self, parameters: PathParameters) {
        self.parameters = parameters;
        let largest = parameters.pmtu.max(parameters.pmtu_max.unwrap_or(0));
        self.pmtu = self.pmtu.min(usize::from(largest));
        self.rto = match self.srtt {
            None => parameters.rto_initial,
            Some(_) => self.rto.clamp(parameters.rto_min, parameters.rto_max),
        };
    }

    /// A round trip was measured (RFC 9260 §6.3.1 C2 to C7).
    pub(crate) fn measured(&mut self, rtt: Duration) {
        let srtt = match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                rtt
            }
            Some(srtt) => {
                self.rttvar = self.rttvar * 3 / 4 + srtt.abs_diff(rtt) / 4;
                srtt * 7 / 8 + rtt / 8
            }
        };
        self.rttvar = self.rttvar.max(GRANULARITY);
        self.srtt = Some(srtt);
        let PathParameters { rto_min, rto_max, .. } = self.parameters;
        self.rto = (srtt + 4 * self.rttvar).max(rto_min).min(rto_max);
    }

    /// Whether the far end has answered from its address (RFC 9260 §5.4).
    pub(crate) const fn is_confirmed(&self) -> bool {
        !matches!(self.state, PathState::Unconfirmed)
    }

    /// RTO doubles after a time-out (RFC 9260 §6.3.3 E2).
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.parameters.rto_max);
    }

    /// Notes a time-out and says whether the state changed.
    pub(crate) fn failed(&mut self) -> bool {
        self.errors = self.errors.saturating_add(1);
        let is_failed = self.errors > self.parameters.path_max_retrans;
        let limit = self.parameters.potentially_failed_max_retrans;
        let is_doubtful = limit.is_some_and(|limit| self.errors > limit);
        let state = match self.state {
            PathState::Active | PathState::PotentiallyFailed if is_failed => PathState::Inactive,
            PathState::Active if is_doubtful => PathState::PotentiallyFailed,
            PathState::Unconfirmed if is_failed => PathState::Unconfirmed,
            state => state,
        };
        core::mem::replace(&mut self.state, state) != state
    }

    /// The peer has answered on this path; says whether the state changed.
    pub(crate) fn answered(&mut self) -> bool {
        self.errors = 0;
        match self.state {
            PathState::Inactive | PathState::PotentiallyFailed => {
                self.state = PathState::Active;
                true
            }
            PathState::Active | PathState::Unconfirmed => false,
        }
    }

    /// A SACK acknowledged something.
    pub(crate) fn grow(&mut self, is_recovering: bool) {
        self.congestion.grow(&self.acknowledged, self.pmdcs(), is_recovering);
    }

    /// Data is to be sent after silence.
    pub(crate) fn wake(&mut self, now: Time) {
        self.congestion.wake(now, self.rto, self.pmdcs());
    }

    /// The earliest of its timers.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let probe = self.probe.and_then(|probe| probe.until);
        [self.t3_rtx, probe, self.next_heartbeat, self.search.next].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;

    fn path(parameters: &Parameters) -> Path {
        Path::new([10, 0, 0, 1].into(), 0, parameters.path, Time::ZERO)
    }

    #[test]
    fn the_first_round_trip_sets_srtt_and_the_next_ones_smooth_it() {
        let mut path = path(&Parameters::rfc9260());
        path.measured(Duration::from_millis(800));
        assert_eq!(path.rto, Duration::from_millis(800 + 4 * 400));
        path.measured(Duration::from_millis(1600));
        assert_eq!(path.srtt, Some(Duration::from_millis(900)));
        assert_eq!(path.rto, Duration::from_millis(900 + 4 * 500));
    }

    #[test]
    fn rto_stays_between_its_limits_and_doubles_at_a_time_out() {
        let mut path = path(&Parameters::telecom(2));
        path.measured(Duration::from_millis(20));
        assert_eq!(path.rto, Duration::from_millis(80));
        path.back_off();
        assert_eq!(path.rto, Duration::from_millis(150));
        path.measured(Duration::from_millis(900));
        assert_eq!(path.rto, Duration::from_millis(150));
    }

    #[test]
    fn slow_start_grows_by_what_was_acknowledged_and_avoidance_by_one_chunk_a_window() {
        let mut path = path(&Parameters::rfc9260());
        assert_eq!(path.congestion.cwnd, 4404);
        path.acknowledged = Acknowledged { bytes: 900, flight_before: 4404, ..Default::default() };
        assert_eq!(path.pmdcs(), 1460);
        path.grow(false);
        assert_eq!(path.congestion.cwnd, 5304);
        path.grow(true);
        assert_eq!(path.congestion.cwnd, 5304, "not in fast recovery");
        path.acknowledged.flight_before = 100;
        path.grow(false);
        assert_eq!(path.congestion.cwnd, 5304, "not when the window was not used");
        path.congestion.ssthresh = 5000;
        path.congestion.flight = 5304;
        path.acknowledged = Acknowledged { bytes: 2700, flight_before: 5304, ..Default::default() };
        path.grow(false);
        assert_eq!(path.congestion.cwnd, 5304);
        path.grow(false);
        assert_eq!(path.congestion.cwnd, 5304 + path.pmdcs());
    }

    #[test]
    fn the_first_window_is_that_of_its_address_family() {
        let parameters = Parameters::rfc9260();
        let of = |address: IpAddr| Path::new(address, 0, parameters.path, Time::ZERO);
        assert_eq!(of([10, 0, 0, 1].into()).congestion.cwnd, 4404);
        assert_eq!(of([0xFD00, 0, 0, 0, 0, 0, 0, 1].into()).congestion.cwnd, 4344);
    }

    #[test]
    fn silence_halves_the_window_once_an_rto_and_is_remembered_in_ssthresh() {
        let mut path = path(&Parameters::rfc9260());
        path.congestion.cwnd = 100_000;
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        path.wake(at(1_500));
        assert_eq!((path.congestion.cwnd, path.congestion.ssthresh), (50_000, 100_000));
        path.wake(at(1_900));
        assert_eq!(path.congestion.cwnd, 50_000, "nothing was sent, and no RTO has passed since");
        path.wake(at(2_000));
        assert_eq!((path.congestion.cwnd, path.congestion.ssthresh), (25_000, 50_000));
        path.wake(at(9_000));
        assert_eq!(path.congestion.cwnd, 4 * path.pmdcs());
    }

    #[test]
    fn a_path_fails_when_the_errors_exceed_path_max_retrans() {
        let mut parameters = Parameters::telecom(2);
        parameters.path.potentially_failed_max_retrans = Some(0);
        let mut path = path(&parameters);
        path.state = PathState::Active;
        assert!(path.failed());
        assert_eq!(path.state, PathState::PotentiallyFailed);
        assert!(!path.failed() && path.failed());
        assert_eq!(path.state, PathState::Inactive);
        assert!(path.answered() && path.errors == 0);
        assert_eq!(path.state, PathState::Active);
    }
}
