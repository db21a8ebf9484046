//! What the client of media controllers counts.

event::metrics! {
    /// The metrics of the media of a function's calls.
    pub enum MediaMetric {
        /// Calls whose media are anchored at this moment.
        Calls = Gauge, "media_calls_live";
        /// Calls whose media were anchored.
        Anchored = Counter, "media_calls_anchored_total";
        /// Session descriptions that were not taken.
        Refused = Counter, "media_descriptions_refused_total";
        /// Calls and streams that found no media controller, or no port of one.
        NoRoom = Counter, "media_no_room_total";
        /// Streams that a media controller was told, those that changed included.
        Told = Counter, "media_streams_told_total";
        /// Media controllers that answer.
        ControllersUp = Gauge, "media_controllers_up";
        /// Connections to media controllers that ended.
        Lost = Counter, "media_controllers_lost_total";
        /// Calls that went to another media controller since theirs was gone.
        Moved = Counter, "media_calls_moved_total";
        /// Pairs of ports that calls have.
        PairsInUse = Gauge, "media_port_pairs_in_use";
        /// Pairs of ports that are leased.
        PairsLeased = Gauge, "media_port_pairs_leased";
        /// Ends that turned out to be elsewhere than they said.
        Latched = Counter, "media_latched_total";
        /// Ends of which nothing came while packets of the other end did.
        OneWay = Counter, "media_one_way_total";
        /// Ends of which no packet came for as long as their realm lets them.
        TimedOut = Counter, "media_timed_out_total";
        /// Packets that did not hold what protects them.
        Unprotected = Counter, "media_unprotected_packets_total";
        /// Digits that crossed between INFO requests and media.
        Digits = Counter, "media_digits_total";
        /// Quality of a stream, hundredths of the mean opinion score.
        Quality = Histogram, "media_mos_hundredths";
    }
}
