//! The back end for processors with AVX-512, VAES and VPCLMULQDQ (Ice Lake, Zen 4 and later).
//!
//! ```text
//! batch ─→ protect: encrypt each ─→ authenticate all, sixteen lanes ─→ protect: write tags
//!                                                                      unprotect: compare, decrypt
//! ```
//!
//! What is not worth lanes of its own (SHA-2, a handful of messages) is left to the portable one.

mod aes;
mod batch;
mod chain;
mod context;
mod ghash;
mod lanes;
mod octets;
mod sha1;

pub(crate) use batch::run;
pub(crate) use context::Context;

/// Whether this processor has all that it needs.
pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("bmi2")
}
