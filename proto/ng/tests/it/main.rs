//! The NG protocol.

mod commands;
mod controller;
mod rtpengine;
mod strangers;
mod standing;
