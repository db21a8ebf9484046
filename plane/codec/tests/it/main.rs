//! Codecs against what others coded, and streams through the machine.
#![allow(missing_docs, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod digits;
mod hostile;
mod peer;
mod reference;
mod round_trip;
mod silence;
mod sound;
mod streams;
