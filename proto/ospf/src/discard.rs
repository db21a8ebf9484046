//! Why packets and LSAs were discarded.

wire::rows! {
    /// Why a packet or an LSA was discarded.
    pub enum Discard {
        /// It cannot be read.
        Malformed = "malformed", "RFC 2328 §8.2";
        /// The interface is down, unknown or passive.
        Interface = "interface", "RFC 2328 §8.2";
        /// It is of another area.
        Area = "area", "RFC 2328 §8.2";
        /// It has our own router ID.
        OwnRouterId = "own-router-id", "RFC 2328 §8.2";
        /// It does not come from the link.
        Source = "source", "RFC 2328 §8.2";
        /// It is for designated routers, and we are none; or a hello to our address alone, which
        /// anybody far away can write.
        Destination = "destination", "RFC 2328 §8.2";
        /// Its authentication is not that of the interface, or is wrong.
        Authentication = "authentication", "RFC 2328 §8.2";
        /// It was sent before another that came.
        Replay = "replay", "RFC 2328 §D.4.3";
        /// A digest of one router comes from where another one is, or of one that is elsewhere.
        Elsewhere = "elsewhere", "RFC 7474 §5";
        /// A hello has another mask.
        Mask = "mask", "RFC 2328 §10.5";
        /// A hello has other intervals.
        Intervals = "intervals", "RFC 2328 §10.5";
        /// A hello has other E- or N-bits.
        Options = "options", "RFC 2328 §10.5";
        /// There are as many neighbours as may be.
        Neighbours = "neighbours", "RFC 2328 §10.5";
        /// It is of nobody who is a neighbour, or not near enough yet.
        NeighbourState = "neighbour-state", "RFC 2328 §10.6";
        /// A description is of an interface with a larger MTU.
        Mtu = "mtu", "RFC 2328 §10.6";
        /// A description is out of turn.
        Sequence = "sequence", "RFC 2328 §10.6";
        /// What is asked for is not there.
        Request = "request", "RFC 2328 §10.7";
        /// What a neighbour described or was sent had no answer, however often it was asked.
        Unanswered = "unanswered", "RFC 2328 §10.9";
        /// An LSA cannot be read, or its checksum is wrong.
        BadLsa = "bad-lsa", "RFC 2328 §13";
        /// An LSA of that type does not go into the area.
        LsaScope = "lsa-scope", "RFC 2328 §13";
        /// An LSA came too soon after the one before.
        LsaTooSoon = "lsa-too-soon", "RFC 2328 §13";
        /// The database is full, or has as much of that router as may be.
        DatabaseFull = "database-full", "RFC 1765 §2.1";
        /// What was acknowledged is not what was sent.
        Acknowledgment = "acknowledgment", "RFC 2328 §13.7";
    }
}
