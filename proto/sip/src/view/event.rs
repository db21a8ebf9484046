//! Event and Subscription-State (RFC 6665 §8.2).

use super::token_with_params;
use crate::octet;
use crate::param;
use wire::Malformed;

/// An event package with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The package with its templates: `presence.winfo`.
    pub package: &'a [u8],
    /// Parameters, from the first `;` on.
    pub params: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads an Event value.
    ///
    /// # Errors
    /// No package, or a bad parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let violation = Malformed::new(0, "Event without a package", "RFC 6665 §8.2.1");
        token_with_params(value, violation).map(|(package, params)| Self { package, params })
    }

    /// `id`: tells subscriptions of one dialog apart.
    #[must_use]
    pub fn id(&self) -> Option<&'a [u8]> {
        param::param(self.params, b"id")
    }
}

/// Whether a subscription lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Substate {
    /// Accepted.
    Active,
    /// Not decided yet.
    Pending,
    /// Ended.
    Terminated,
    /// An extension; counts as active or pending.
    Other,
}

/// A Subscription-State value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionState<'a> {
    /// The state.
    pub state: Substate,
    /// Parameters, from the first `;` on.
    pub params: &'a [u8],
}

impl<'a> SubscriptionState<'a> {
    /// Reads a Subscription-State value.
    ///
    /// # Errors
    /// No state, or a bad parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let violation = Malformed::new(0, "Subscription-State without a state", "RFC 6665 §8.2.3");
        let (state, params) = token_with_params(value, violation)?;
        let state = match state.len() {
            6 if octet::same(state, b"active") => Substate::Active,
            7 if octet::same(state, b"pending") => Substate::Pending,
            10 if octet::same(state, b"terminated") => Substate::Terminated,
            _ => Substate::Other,
        };
        Ok(Self { state, params })
    }

    /// Seconds the subscription lives on.
    #[must_use]
    pub fn expires_s(&self) -> Option<u32> {
        number(self.params, b"expires")
    }

    /// Why it ended.
    #[must_use]
    pub fn reason(&self) -> Option<&'a [u8]> {
        param::param(self.params, b"reason")
    }

    /// Seconds to wait before subscribing again.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u32> {
        number(self.params, b"retry-after")
    }
}

fn number(params: &[u8], name: &[u8]) -> Option<u32> {
    octet::number(param::param(params, name)?, u32::MAX.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_gives_its_package_and_id() {
        let event = Event::parse(b"refer;id=93809824").unwrap();
        assert_eq!((event.package, event.id()), (&b"refer"[..], Some(&b"93809824"[..])));
        assert!(Event::parse(b";id=1").is_err());
    }

    #[test]
    fn a_subscription_state_gives_its_life_and_end() {
        let state = SubscriptionState::parse(b"Active ; expires=60").unwrap();
        assert_eq!((state.state, state.expires_s()), (Substate::Active, Some(60)));
        let state = SubscriptionState::parse(b"terminated;reason=giveup;retry-after=5").unwrap();
        assert_eq!(state.state, Substate::Terminated);
        assert_eq!(state.reason(), Some(&b"giveup"[..]));
        assert_eq!(state.retry_after_s(), Some(5));
    }
}
