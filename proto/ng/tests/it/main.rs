//! The NG protocol.

mod commands;
mod controller;
mod rtpengine;
mod standing;
mod strangers;
