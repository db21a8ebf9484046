//! Service assurance server.
