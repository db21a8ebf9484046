//! Speech codecs of RTP.
#![deny(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod conceal;
pub mod dtmf;
pub mod g711;
pub mod g722;
pub mod noise;
pub mod resample;
mod sample;
