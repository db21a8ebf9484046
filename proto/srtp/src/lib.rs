//! SRTP and SRTCP (RFC 3711, RFC 6188, RFC 7714) and the ways to their keys: SDP's `a=crypto`
//! (RFC 4568), best effort of it (RFC 8643), and what DTLS-SRTP says in SDP and leaves behind
//! (RFC 5763, RFC 5764).
//!
//! ```text
//! a=crypto ── sdes ──────┐                     ┌─ Sender ── protect ─→ SRTP, SRTCP
//!                        ├─ KeyEntry, Parameters ┤
//! exporter of DTLS ──────┘                     └─ Receiver ── unprotect ─→ RTP, RTCP
//! ```
//!
//! What holds, whoever calls:
//!
//! - **No index is used twice under one key.** A [`Sender`] cannot be cloned; it encrypts with an
//!   index that its ledger gives out once (`stream::Unused`). A second packet with a sequence
//!   number is refused. No stream is forgotten under a key. Counters begin again only with keys
//!   that were never used before ([`Rollover::Reset`], [`Past`]). A standby goes ahead by more than
//!   it cannot know ([`Skip`]): sequence numbers move, none comes again; of a stream of which it
//!   was not told it leaves out what lies around the first wrap, where that one may have begun.
//! - **Counters outlive calls' changes.** Keys that stay the same change nothing
//!   ([`Sender::rekey`]): a hold, another port, another SSRC, a re-INVITE.
//! - **Nothing is believed before its tag.** A forged packet changes nothing at all.
//! - **State is small and plain.** A direction is its keys and a [`StreamState`] for each SSRC;
//!   both can be told to another machine, and are bounded.
//! - **Keys show nowhere** and are wiped.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod batch;
pub mod dtls;
mod index;
mod key;
mod keying;
mod keyring;
mod packet;
mod parameters;
mod past;
mod plan;
mod receiver;
pub mod sdes;
mod sender;
mod session;
mod stream;
mod suite;

pub use batch::{Directions, Packet, protect, unprotect};
pub use index::{Index, Seen, WINDOW};
pub use key::{
    Allowance, DIGEST_OCTETS, KeyEntry, MASTER_KEYS_MAX, MKI_OCTETS_MAX, MasterKey, Mki,
    RTCP_PACKETS_MAX, RTP_PACKETS_MAX,
};
pub use keying::{Decision, Demand, Profile, Security, Site, Way, Why};
pub use keyring::Unusable;
pub use packet::{RTCP_HEAD, RTP_HEAD, Refused, SRTCP_WORD, is_rtcp};
pub use parameters::{KDR_EXPONENT_MAX, KeyDerivationRate, Parameters};
pub use past::{PAST_KEYS_MAX, Past};
pub use receiver::Receiver;
pub use sender::{BEGUN_MAX, Rollover, SKIP_MAX, Sender, Skip, UNAPPLIED_MAX};
pub use stream::{RTCP_ALONE_MAX, RTCP_INDEX_MAX, STREAMS_MAX, StreamState};
pub use suite::{KEY_AND_SALT_MAX, Suite, TAG_MAX, Transform};
