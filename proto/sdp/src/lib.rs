//! SDP (RFC 8866) and offer/answer (RFC 3264).
