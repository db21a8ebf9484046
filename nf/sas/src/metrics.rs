//! What the SAS reports.

event::metrics! {
    /// Metrics of one SAS.
    pub enum Metric {
        /// HEP packets that came in.
        Packets = Counter, "sas_packets_total";
        /// Messages kept.
        Messages = Counter, "sas_messages_total";
        /// Events kept.
        Events = Counter, "sas_events_total";
        /// Reports of media: of functions, and of others by RTCP.
        Reports = Counter, "sas_media_reports_total";
        /// Reports of media of which the figures were taken in and nothing else kept.
        Thinned = Counter, "sas_media_reports_thinned_total";
        /// Packets that were not HEP3.
        MalformedPackets = Counter, "sas_malformed_packets_total";
        /// Messages that were not SIP; they are kept.
        MalformedMessages = Counter, "sas_malformed_messages_total";
        /// Packets of a kind that is not kept.
        Refused = Counter, "sas_refused_packets_total";
        /// Packets without the right authentication key; dropped.
        Unauthenticated = Counter, "sas_unauthenticated_packets_total";
        /// Messages of which credentials, keys or bodies were not kept.
        Redacted = Counter, "sas_redacted_messages_total";
        /// Messages that a header would have joined to a call that their sender is no part of.
        Unjoined = Counter, "sas_unjoined_messages_total";
        /// Messages that a second agent captured as well.
        Duplicates = Counter, "sas_duplicates_total";
        /// Messages sent again.
        Retransmissions = Counter, "sas_retransmissions_total";
        /// Messages repeated after their trail was closed; not kept.
        Late = Counter, "sas_late_messages_total";
        /// Messages that were not kept because the disk or the first shard lags behind.
        Shed = Counter, "sas_shed_messages_total";
        /// Trails begun.
        Opened = Counter, "sas_trails_opened_total";
        /// Trails that ended.
        Closed = Counter, "sas_trails_closed_total";
        /// Trails in memory.
        Live = Gauge, "sas_trails_live";
        /// Trails put on disk before their end because too many ran.
        Evicted = Counter, "sas_trails_evicted_total";
        /// Trails that were dropped because they have more than a record may have.
        Unsound = Counter, "sas_trails_unsound_total";
        /// Trails that ran when the last process ended.
        Recovered = Counter, "sas_trails_recovered_total";
        /// Changes that live tails did not show because there were too many.
        TailDropped = Counter, "sas_tail_dropped_total";
        /// Time from INVITE to the first ringing, milliseconds.
        PostDialDelay = Histogram, "sas_post_dial_delay_ms";
        /// Time from answer to end of a call, milliseconds.
        CallDuration = Histogram, "sas_call_duration_ms";
    }
}
