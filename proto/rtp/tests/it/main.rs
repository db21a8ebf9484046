//! RTP and RTCP: their words, what a receiver counts, what tshark reads of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod event;
mod every;
mod packet;
mod random;
mod reception;
mod rtcp;
mod tshark;
