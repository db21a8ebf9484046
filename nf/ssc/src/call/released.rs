//! Which further 2xx of an INVITE are answered by ACK and BYE: those with the names that it was
//! sent with, and of one INVITE so many: whoever sends very many draws no more.

use super::leg::Leg;
use super::merged::hash_combine;
use crate::token::{FORKS_MAX, Side, Token, mix};
use crate::{Controller, User};
use machine::narrow::half;
use machine::slots::Key;
use sip::transaction::ClientId;
use sip::{Message, Method};

/// Further 2xx of one INVITE are released so often, repetitions of one among them.
const RELEASES_MAX: u8 = 2 * FORKS_MAX;

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
fn sum(tag: &Token, call_id: &[u8]) -> u32 {
    let own = own(tag);
    half(if call_id == tag.write() { own } else { hash_combine(own, call_id) })
}

/// Everything in a token but its shard.
fn own(token: &Token) -> u64 {
    let is_b = u64::from(token.side == Side::B);
    let place = u64::from(token.index) << 16 | u64::from(token.generation) << 1 | is_b;
    mix(mix(token.check) ^ place)
}

impl Controller {
    /// Whether one more 2xx to the INVITE of this transaction is released.
    pub(super) fn may_release(&mut self, message: &Message<'_>, client: ClientId) -> bool {
        let Some(User::Invite(_, sent)) = self.transactions.client_user(client) else {
            return false;
        };
        let tag = message.from_tag().and_then(Token::read);
        tag.is_some_and(|tag| sum(&tag, message.call_id()) == sent)
            && self.transactions.count_released(client).is_some_and(|count| count <= RELEASES_MAX)
    }
}
