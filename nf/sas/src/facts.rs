//! What the SAS reports.

event::facts! {
    /// Facts of one SAS.
    pub enum Fact {
        /// HEP packets that came in.
        Packets = Counter, Debug, "sas_packets_total", "HEP packets that came in";
        /// SIP messages kept.
        Messages = Counter, Debug, "sas_messages_total", "SIP messages kept";
        /// Events kept.
        Events = Counter, Debug, "sas_events_total", "Events kept";
        /// Packets that were not HEP3.
        MalformedPackets = Counter, Warn, "sas_malformed_packets_total",
            "Packets that were not HEP3";
        /// Messages that were not SIP; they are kept.
        MalformedMessages = Counter, Info, "sas_malformed_messages_total",
            "Messages that were not SIP; they are kept";
        /// Packets of a kind that is not kept.
        Refused = Counter, Warn, "sas_refused_packets_total",
            "Packets of a kind that is not kept";
        /// Packets without the key.
        Unauthenticated = Counter, Warn, "sas_unauthenticated_packets_total",
            "Packets without the right authentication key; dropped";
        /// Messages of which something secret was not kept.
        Redacted = Counter, Debug, "sas_redacted_messages_total",
            "Messages of which credentials, keys or bodies were not kept";
        /// Header marks that were not believed.
        Unjoined = Counter, Info, "sas_unjoined_messages_total",
            "Messages that a header would have joined to a call that their sender is no part of";
        /// The same message captured by a second agent.
        Duplicates = Counter, Debug, "sas_duplicates_total",
            "Messages that a second agent captured as well";
        /// Messages sent again.
        Retransmissions = Counter, Debug, "sas_retransmissions_total", "Messages sent again";
        /// Messages that the disk or the first shard had no time for.
        Shed = Counter, Error, "sas_shed_messages_total",
            "Messages that were not kept because the disk or the first shard lags behind";
        /// Trails begun.
        Opened = Counter, Debug, "sas_trails_opened_total", "Trails begun";
        /// Trails that ended.
        Closed = Counter, Debug, "sas_trails_closed_total", "Trails that ended";
        /// Trails in memory.
        Live = Gauge, Debug, "sas_trails_live", "Trails in memory";
        /// Trails put on disk early because too many ran.
        Evicted = Counter, Warn, "sas_trails_evicted_total",
            "Trails put on disk before their end because too many ran";
        /// Trails that no record could be made of.
        Unsound = Counter, Error, "sas_trails_unsound_total",
            "Trails that were dropped because they have more than a record may have";
        /// Trails taken over from the journal at the start.
        Recovered = Counter, Info, "sas_trails_recovered_total",
            "Trails that ran when the last process ended";
        /// Changes that a live tail did not show.
        TailDropped = Counter, Debug, "sas_tail_dropped_total",
            "Changes that live tails did not show because there were too many";
        /// Time from INVITE to ringing.
        PostDialDelay = Histogram, Debug, "sas_post_dial_delay_ms",
            "Time from INVITE to the first ringing, milliseconds";
        /// Time from answer to end.
        CallDuration = Histogram, Debug, "sas_call_duration_ms",
            "Time from answer to end of a call, milliseconds";
    }
}
