//! SIP traffic generator.
