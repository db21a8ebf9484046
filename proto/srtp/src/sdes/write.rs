//! Writing a line.

use super::line::{Crypto, FecOrder, InlineKey, SessionParameters};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroize;

impl Crypto {
    /// Writes what stands behind `a=crypto:`, keys included.
    pub fn write(&self, out: &mut Vec<u8>) {
        push(out, self.tag.into());
        out.push(b' ');
        out.extend_from_slice(self.suite.name().as_bytes());
        for (at, key) in self.keys.iter().enumerate() {
            out.push(if at == 0 { b' ' } else { b';' });
            key.write(out);
        }
        self.session.write(out);
    }
}

fn push(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(number.to_string().as_bytes());
}

impl InlineKey {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"inline:");
        let mut text = STANDARD.encode(self.key.expose());
        out.extend_from_slice(text.as_bytes());
        text.zeroize();
        if let Some(lifetime) = self.lifetime {
            out.push(b'|');
            if lifetime.is_power_of_two() {
                out.extend_from_slice(b"2^");
                push(out, lifetime.trailing_zeros().into());
            } else {
                push(out, lifetime);
            }
        }
        if let Some(mki) = self.mki {
            out.push(b'|');
            push(out, mki.value());
            out.push(b':');
            push(out, mki.octets() as u64);
        }
    }
}

impl SessionParameters {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(exponent) = self.kdr.exponent() {
            out.extend_from_slice(b" KDR=");
            push(out, exponent.into());
        }
        let flags: [(bool, &[u8]); 5] = [
            (self.unencrypted_srtp, b" UNENCRYPTED_SRTP"),
            (self.unencrypted_srtcp, b" UNENCRYPTED_SRTCP"),
            (self.unauthenticated_srtp, b" UNAUTHENTICATED_SRTP"),
            (self.fec_order == Some(FecOrder::FecSrtp), b" FEC_ORDER=FEC_SRTP"),
            (self.fec_order == Some(FecOrder::SrtpFec), b" FEC_ORDER=SRTP_FEC"),
        ];
        for (_, word) in flags.into_iter().filter(|(is, _)| *is) {
            out.extend_from_slice(word);
        }
        if let Some(size) = self.window_hint {
            out.extend_from_slice(b" WSH=");
            push(out, size);
        }
    }
}
