//! Why PDUs and LSPs were discarded.

wire::rows! {
    /// Why a PDU or an LSP was discarded.
    pub enum Discard {
        /// It cannot be read.
        Malformed = "malformed", "ISO 10589 §9";
        /// The circuit is down, unknown or passive.
        Circuit = "circuit", "ISO 10589 §7.3.15.1";
        /// The circuit is of the other kind: a LAN, or a link of two.
        CircuitType = "circuit-type", "ISO 10589 §8.4.2";
        /// It is of a level that the circuit is not of.
        Level = "level", "ISO 10589 §8.2.4.2";
        /// It has our own system ID.
        OwnSystem = "own-system", "ISO 10589 §8.4.2";
        /// It is of no area of ours.
        Area = "area", "ISO 10589 §8.4.2.1";
        /// Its authentication is not ours, or is wrong.
        Authentication = "authentication", "RFC 5304 §2";
        /// There are as many adjacencies as may be; on a link of two with a key, one that lives.
        Adjacencies = "adjacencies", "ISO 10589 §8.4.2";
        /// A hello of a link of two is meant for another one.
        ThreeWay = "three-way", "RFC 5303 §3.2";
        /// It comes from nobody who is adjacent.
        Neighbour = "neighbour", "ISO 10589 §7.3.15.1";
        /// The checksum of an LSP is wrong.
        Checksum = "checksum", "ISO 10589 §7.3.14.2";
        /// An LSP is there in two forms.
        Confusion = "confusion", "ISO 10589 §7.3.16.2";
        /// CSNPs of a circuit were held against the database too often.
        Csnp = "csnp", "ISO 10589 §7.3.15.2";
        /// A purge has more in it than one may have.
        Purge = "purge", "RFC 6233 §3";
        /// A PSNP came, and we are not designated.
        NotDesignated = "not-designated", "ISO 10589 §7.3.15.2";
        /// The database is full, or has as much of that system as may be.
        DatabaseFull = "database-full", "ISO 10589 §7.3.19";
    }
}
