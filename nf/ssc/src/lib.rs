//! Signalling session controller.
