//! Methods: one row each.

wire::rows! {
    /// The methods Tandem knows; any other token is [`Method::Other`] and keeps its octets in the
    /// start line.
    pub enum Method {
        /// Opens a session.
        Invite = "INVITE", "RFC 3261 §13";
        /// Ends the handshake of an INVITE.
        Ack = "ACK", "RFC 3261 §17.1.1.3";
        /// Ends a session.
        Bye = "BYE", "RFC 3261 §15";
        /// Gives up a request that has no final answer yet.
        Cancel = "CANCEL", "RFC 3261 §9";
        /// Binds a contact to an address of record.
        Register = "REGISTER", "RFC 3261 §10";
        /// Asks for capabilities.
        Options = "OPTIONS", "RFC 3261 §11";
        /// Acknowledges a reliable provisional response.
        Prack = "PRACK", "RFC 3262 §7.1";
        /// Changes a session, also before it is answered.
        Update = "UPDATE", "RFC 3311 §5";
        /// Carries application data inside a dialog.
        Info = "INFO", "RFC 6086 §4";
        /// Asks the far end to contact a third.
        Refer = "REFER", "RFC 3515 §2";
        /// Asks for notifications.
        Subscribe = "SUBSCRIBE", "RFC 6665 §3.1";
        /// Notifies.
        Notify = "NOTIFY", "RFC 6665 §3.2";
        /// Carries a message outside of any session.
        Message = "MESSAGE", "RFC 3428 §3";
        /// Publishes event state.
        Publish = "PUBLISH", "RFC 3903 §3";
        /// A method without a row.
        Other = "", "RFC 3261 §7.1";
    }
}

impl Method {
    /// The row of a method's name; case counts (RFC 3261 §7.1).
    #[must_use]
    #[inline]
    pub fn parse(name: &[u8]) -> Self {
        match name {
            b"INVITE" => Self::Invite,
            b"ACK" => Self::Ack,
            b"BYE" => Self::Bye,
            b"CANCEL" => Self::Cancel,
            b"REGISTER" => Self::Register,
            b"OPTIONS" => Self::Options,
            b"PRACK" => Self::Prack,
            b"UPDATE" => Self::Update,
            b"INFO" => Self::Info,
            b"REFER" => Self::Refer,
            b"SUBSCRIBE" => Self::Subscribe,
            b"NOTIFY" => Self::Notify,
            b"MESSAGE" => Self::Message,
            b"PUBLISH" => Self::Publish,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_name_and_case_counts() {
        for &method in Method::ALL {
            assert_eq!(Method::parse(method.name().as_bytes()), method);
        }
        assert_eq!(Method::parse(b"invite"), Method::Other);
    }
}
