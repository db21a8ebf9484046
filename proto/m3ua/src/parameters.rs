//! Everything that can be set for a process: timers, limits, policies.

use machine::Duration;

/// Messages that wait for an ASP at most, whatever is set.
pub const PENDING_MESSAGES_MAX: usize = 1 << 20;
/// The shortest of all timers.
const TIMER_MIN: Duration = Duration::from_millis(10);
/// The longest.
const TIMER_MAX: Duration = Duration::from_secs(3600);

/// What an SGP does with requests to register Routing Keys (RFC 4666 §4.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// RKM is not spoken: ERR "Unsupported Message Class".
    Unsupported,
    /// Only keys of configured Application Servers can be registered.
    Provisioned,
    /// A key that is not configured makes a new Application Server.
    Open,
}

/// Parameters of a process. All of them can be set while it runs; what a timer has begun runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// T(ack): how long an answer may take before the request is sent again (RFC 4666 §4.3.4.1).
    pub t_ack: Duration,
    /// How often a request is sent again; `None`: for ever.
    pub ack_retries_max: Option<u16>,
    /// How long to wait after a refusal before asking again.
    pub t_refused: Duration,
    /// T(r): how long an Application Server waits for an ASP (RFC 4666 §4.3.2).
    pub t_r: Duration,
    /// T(beat): the heartbeat's interval; a peer that was silent for two of them is lost (RFC 4666
    /// §4.3.4.6). `None`: no heartbeat.
    pub t_beat: Option<Duration>,
    /// How often an ASP asks again for destinations that it was told are not available, or
    /// congested (RFC 4666 §4.5.3). `None`: only when a gateway is reached again.
    pub t_audit: Option<Duration>,
    /// Messages that wait at most, for each Application Server that is AS-PENDING. One that comes
    /// when it is full is discarded: those that wait keep their order.
    pub pending_messages_max: usize,
    /// Octets of user data that wait at most, for each Application Server.
    pub pending_bytes_max: usize,
    /// Octets that wait at most for all of them together, 96 for each message included. A
    /// configured Application Server, or all that one peer registered, have at most as much as is
    /// left.
    pub pending_total_bytes_max: usize,
    /// An ASP Up must have an ASP Identifier (RFC 4666 §3.5.1).
    pub requires_asp_identifier: bool,
    /// What is done with requests to register.
    pub registration: Registration,
    /// Audits are answered for destinations that nothing is known of as if they were available;
    /// else as unavailable (RFC 4666 §4.5.3).
    pub takes_unknown_as_available: bool,
    /// Audits are refused by ERR "Destination Status Unknown" (RFC 4666 §3.8.1).
    pub refuses_audits: bool,
    /// Bits of a point code, 1 to 24: a Routing Key with a longer one is refused.
    pub point_code_bits: u8,
    /// DRST is sent; else restricted destinations are told as available (RFC 4666 §3.4.6).
    pub sends_restricted: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self::rfc4666()
    }
}

impl Parameters {
    /// The values that RFC 4666 recommends.
    #[must_use]
    pub const fn rfc4666() -> Self {
        Self {
            t_ack: Duration::from_secs(2),
            ack_retries_max: None,
            t_refused: Duration::from_secs(30),
            t_r: Duration::from_secs(2),
            t_beat: None,
            t_audit: None,
            pending_messages_max: 10_000,
            pending_bytes_max: 4 << 20,
            pending_total_bytes_max: 64 << 20,
            requires_asp_identifier: false,
            registration: Registration::Provisioned,
            takes_unknown_as_available: false,
            refuses_audits: false,
            point_code_bits: 24,
            sends_restricted: true,
        }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The name of the first parameter outside of its range.
    pub fn validate(&self) -> Result<(), &'static str> {
        let timers = [
            ("t_ack", Some(self.t_ack)),
            ("t_refused", Some(self.t_refused)),
            ("t_r", Some(self.t_r)),
            ("t_beat", self.t_beat),
            ("t_audit", self.t_audit),
        ];
        for (name, timer) in timers {
            if timer.is_some_and(|timer| !(TIMER_MIN..=TIMER_MAX).contains(&timer)) {
                return Err(name);
            }
        }
        if !(1..=24).contains(&self.point_code_bits) {
            return Err("point_code_bits");
        }
        if self.pending_messages_max > PENDING_MESSAGES_MAX {
            return Err("pending_messages_max");
        }
        if u32::try_from(self.pending_bytes_max).is_err() {
            return Err("pending_bytes_max");
        }
        if u32::try_from(self.pending_total_bytes_max).is_err() {
            return Err("pending_total_bytes_max");
        }
        Ok(())
    }
}
