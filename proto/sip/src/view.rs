//! Typed views of the extension headers' values; each borrows the value it was read from.

mod contact;
mod event;
mod reason;
mod refer;
mod reliable;
mod session;

pub use contact::{Contact, OPTION_OUTBOUND, OPTION_PATH};
pub use event::{Event, SubscriptionState, Substate};
pub use reason::{Reason, RetryAfter};
pub use refer::{Privacy, Replaces, privacy};
pub use reliable::{OPTION_RELIABLE, RAck, rseq};
pub use session::{OPTION_TIMER, Refresher, SessionExpires, min_se};

use crate::octet;
use wire::Malformed;

/// A decimal number of 32 bits and the parameters behind it.
fn number_with_params(value: &[u8], violation: Malformed) -> Result<(u32, &[u8]), Malformed> {
    let end = octet::run(value, 0, octet::DIGIT);
    let number = octet::number(&value[..end], u32::MAX.into()).ok_or(violation)?;
    let params = octet::skip_space(value, end);
    crate::param::check(&value[params..]).map_err(|m| m.shifted(params))?;
    Ok((number, &value[params..]))
}

/// A token and the parameters behind it.
fn token_with_params(value: &[u8], violation: Malformed) -> Result<(&[u8], &[u8]), Malformed> {
    let end = octet::run(value, 0, octet::TOKEN);
    if end == 0 {
        return Err(violation);
    }
    let params = octet::skip_space(value, end);
    crate::param::check(&value[params..]).map_err(|m| m.shifted(params))?;
    Ok((&value[..end], &value[params..]))
}
