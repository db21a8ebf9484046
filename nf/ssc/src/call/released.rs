//! Which further 2xx of an INVITE are answered by ACK and BYE: those with the names that it was
//! sent with, and of one INVITE so many: whoever sends very many draws no more.

use crate::User;
use machine::identity::{FORKS_MAX, Side, Token, hash_combine, mix};
use machine::narrow::half;
use machine::slots::Key;
use sip::Method;
use sip_stack::leg::Leg;

/// Further 2xx of one INVITE are released so often, repetitions of one among them.
pub(super) const RELEASES_MAX: u8 = 2 * FORKS_MAX;

/// Whose the transaction of a request is that begins a dialog, or stands outside of any, under the
/// names of this token.
pub(super) fn user(method: Method, relay: Key, token: &Token) -> User {
    if method == Method::Invite {
        User::Invite(relay, half(own(token)))
    } else {
        User::Relay(relay)
    }
}

/// The same of a request on a leg of a call.
pub(super) fn user_in(method: Method, relay: Key, leg: &Leg) -> User {
    match Token::read(leg.our_tag()) {
        Some(tag) if method == Method::Invite => User::Invite(relay, sum(&tag, leg.call_id())),
        _ => User::Relay(relay),
    }
}

/// A sum of the names that an INVITE leaves with: our tag in From, and its Call-ID where that is
/// not the token in the tag. A 2xx whose names make another sum is no answer to it.
pub(super) fn sum(tag: &Token, call_id: &[u8]) -> u32 {
    let own = own(tag);
    half(if call_id == tag.write() { own } else { hash_combine(own, call_id) })
}

/// Everything in a token but its shard.
fn own(token: &Token) -> u64 {
    let is_b = u64::from(token.side == Side::B);
    let place = u64::from(token.index) << 16 | u64::from(token.generation) << 1 | is_b;
    mix(mix(token.check) ^ place)
}
