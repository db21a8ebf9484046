//! HEP3, Homer's capture protocol.
