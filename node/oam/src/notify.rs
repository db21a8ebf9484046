//! The service manager: readiness, end, watchdog (sd_notify(3)). Without systemd nothing happens.

use sd_notify::NotifyState;

fn tell(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(false, states) {
        tracing::debug!(%error, "the service manager cannot be told");
    }
}

/// The site serves.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The site drains.
pub fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

/// The site is alive.
pub fn watchdog() {
    tell(&[NotifyState::Watchdog]);
}

/// Half of the time within which the service manager wants to hear that we are alive.
#[must_use]
pub fn watchdog_interval() -> Option<std::time::Duration> {
    let mut interval_us = 0;
    sd_notify::watchdog_enabled(false, &mut interval_us)
        .then(|| std::time::Duration::from_micros(interval_us / 2))
}
