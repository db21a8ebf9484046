//! Why datagrams, connections and messages were discarded.

wire::rows! {
    /// Why something was discarded.
    pub enum Discard {
        /// It cannot be read.
        Malformed = "malformed", "RFC 5036 §3.5.1.2";
        /// The interface is unknown or does not carry that family.
        Interface = "interface", "RFC 5036 §2.4.1";
        /// A targeted hello comes from nobody who is a target.
        Target = "target", "RFC 5036 §2.4.2";
        /// It has our own LDP identifier, another label space, or comes from where another peer is.
        Identifier = "identifier", "RFC 5036 §2.5.2";
        /// It came over a hop.
        HopLimit = "hop-limit", "RFC 6720 §2.1";
        /// A hello says an address for sessions that none can have, that is another peer's, or
        /// another one than the peer's other hellos say.
        Transport = "transport", "RFC 7552 §6.1";
        /// There are as many adjacencies as may be.
        Adjacencies = "adjacencies", "RFC 5036 §2.4";
        /// A connection comes from nobody who was heard.
        NoHello = "no-hello", "RFC 5036 §2.5.3";
        /// A message that the session's state does not expect.
        State = "state", "RFC 5036 §2.5.4";
        /// A session that cannot be.
        Parameters = "parameters", "RFC 5036 §3.5.3";
        /// A message of an unknown type.
        UnknownMessage = "unknown-message", "RFC 5036 §3.5.1.2.1";
        /// There are as many bindings or addresses as may be.
        Bindings = "bindings", "RFC 5036 §2.6";
        /// A session whose peer does not give labels back that are withdrawn.
        Owed = "owed", "RFC 5036 §3.5.10.1";
        /// A label that none may be bound to.
        Label = "label", "RFC 3032 §2.1";
    }
}
