//! SIP: messages, transactions, dialogs (RFC 3261 and its extensions).
