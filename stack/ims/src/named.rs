//! What captures say of the associations by which a message came or leaves, beside its clear text:
//! algorithms, mode and the indices of both directions, client before server (TS 33.203 §7.1), as
//! `ctl ipsec` and the events of the registration have them.
//!
//! ```text
//! ESP hmac-sha-1-96/aes-cbc trans, SPIs in 4097/4098 out 1000/1001
//! ```

use crate::set::Set;
use machine::slots::Key;
use sip::write::decimal;

/// Sets that captures name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Named {
    /// That by which the last request was judged, where it had waited for its turn.
    pub judged: Option<Key>,
    /// That by which the last message has left.
    pub left: Option<Key>,
}

/// Appends the name of a set; nothing of one without associations.
pub(crate) fn write(set: &Set, out: &mut Vec<u8>) {
    let (Some(own), Some(choice)) = (set.own(), set.choice) else { return };
    let (ue, (alg, ealg)) = (choice.of, choice.pair);
    let words = [b"ESP ", alg.name().as_bytes(), b"/", ealg.name().as_bytes(), b" "];
    words.iter().for_each(|word| out.extend_from_slice(word));
    out.extend_from_slice(own.mode.name().as_bytes());
    for (word, spis) in [(&b", SPIs in "[..], own), (&b" out "[..], ue)] {
        out.extend_from_slice(word);
        decimal(out, spis.spi_c.0.into());
        out.push(b'/');
        decimal(out, spis.spi_s.0.into());
    }
}
