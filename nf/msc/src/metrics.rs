//! What a media controller counts.

event::metrics! {
    /// The metrics of a media controller.
    pub enum Metric {
        /// 1 while the forwarder is there.
        ForwarderConnected = Gauge, "msc_forwarder_connected";
        /// Times that the connection to the forwarder ended.
        ForwarderLost = Counter, "msc_forwarder_lost_total";
        /// Changes that the forwarder was told.
        Programs = Counter, "msc_programs_total";
        /// Changes that the forwarder refused.
        ProgramsRefused = Counter, "msc_programs_refused_total";
        /// Session controllers that are connected.
        SessionControllers = Gauge, "msc_session_controllers";
        /// Session controllers that have leases or streams and are not connected.
        SessionControllersAway = Gauge, "msc_session_controllers_away";
        /// Streams that stand.
        Streams = Gauge, "msc_streams";
        /// Calls of NG.
        NgCalls = Gauge, "msc_ng_calls";
        /// Times that a call of NG was too long to be told to the other node of a pair.
        CallsNotTold = Counter, "msc_ng_calls_not_told_total";
        /// Messages of session controllers.
        Messages = Counter, "msc_messages_total";
        /// Connections that did not prove what they had to, or said what none may say.
        ConnectionsRefused = Counter, "msc_connections_refused_total";
        /// Connections that named a session controller which another key or connection has.
        NamesRefused = Counter, "msc_names_refused_total";
        /// Leases of groups that are not there.
        GroupsUnknown = Counter, "msc_groups_unknown_total";
        /// Messages to session controllers that were too long to be written.
        MessagesUnwritten = Counter, "msc_messages_unwritten_total";
        /// Commands of NG.
        NgCommands = Counter, "msc_ng_commands_total";
        /// Replies of NG that were too long for a datagram.
        NgRepliesLong = Counter, "msc_ng_replies_long_total";
        /// Commands of NG that said something which is not done here: their replies name it.
        NgCommandsUndone = Counter, "msc_ng_commands_undone_total";
        /// Flows of streams that the forwarder refused.
        StreamsRefused = Counter, "msc_streams_refused_total";
        /// Streams that were refused since a port was not leased to who named it.
        StreamsNotLeased = Counter, "msc_streams_not_leased_total";
        /// Streams that were refused since a port of theirs had another stream.
        StreamsTaken = Counter, "msc_streams_port_taken_total";
        /// Streams that were refused since there were too many.
        StreamsTooMany = Counter, "msc_streams_too_many_total";
        /// Packets of RTP that came and went on.
        Packets = Counter, "msc_packets_total";
        /// Packets that came to a stream and were dropped.
        PacketsDropped = Counter, "msc_packets_dropped_total";
        /// Packets that did not hold what protects them, or came twice.
        PacketsUnprotected = Counter, "msc_packets_unprotected_total";
        /// Checks and records of DTLS that were not taken since too many came.
        PacketsPostponed = Counter, "msc_packets_postponed_total";
        /// Handshakes of DTLS that left no keys.
        DtlsFailed = Counter, "msc_dtls_failed_total";
        /// Times that an end of DTLS said to have no certificate or suite that this one takes: most
        /// often it has a certificate of RSA alone.
        DtlsUnsuited = Counter, "msc_dtls_unsuited_total";
        /// Times that an end turned out to be elsewhere than it said.
        Latched = Counter, "msc_latched_total";
        /// Times that no packet came from an end for as long as its stream says.
        TimedOut = Counter, "msc_timed_out_total";
        /// Times that packets came from one end only.
        OneWay = Counter, "msc_one_way_total";
        /// 1 while the transcoder is there and gets packets.
        TranscoderConnected = Gauge, "msc_transcoder_connected";
        /// Times that the transcoder was gone.
        TranscoderLost = Counter, "msc_transcoder_lost_total";
        /// Streams of which something passes the transcoder.
        StreamsTranscoded = Gauge, "msc_streams_transcoded";
        /// Streams that were to be transcoded and cannot be.
        StreamsNotTranscoded = Counter, "msc_streams_not_transcoded_total";
        /// Packets that left the transcoder, since it began.
        PacketsTranscoded = Counter, "msc_packets_transcoded_total";
        /// Packets that the transcoder dropped before it decoded them, since it began: they hold
        /// more sound than time passed.
        PacketsOver = Counter, "msc_packets_over_budget_total";
        /// Thousandths of the transcoder's time in which it works.
        TranscoderBusy = Gauge, "msc_transcoder_busy_permille";
        /// Digits that were heard: events (RFC 4733), and tones where an end sends those.
        Digits = Counter, "msc_digits_total";
        /// Digits that were sent to ends.
        DigitsPlayed = Counter, "msc_digits_played_total";
        /// Digits that could not be sent: no codec of the stream is coded here, or nothing codes.
        DigitsNotPlayed = Counter, "msc_digits_not_played_total";
        /// Reports of quality with a mean opinion score below 3.5.
        PoorQuality = Counter, "msc_poor_quality_total";
    }
}

event::metrics! {
    /// The metrics of one group of addresses in one family; the labels are `group` and `family`.
    pub enum GroupMetric {
        /// Pairs of ports.
        Pairs = Gauge, "msc_group_pairs";
        /// Pairs of ports that are leased, or rest.
        Leased = Gauge, "msc_group_leased_pairs";
        /// Pairs of ports with a stream.
        InUse = Gauge, "msc_group_pairs_in_use";
    }
}

event::metrics! {
    /// The metrics of one session controller; its label is `session_controller`.
    pub enum ControllerMetric {
        /// 1 while it is connected.
        Connected = Gauge, "msc_session_controller_connected";
        /// Its streams.
        Streams = Gauge, "msc_session_controller_streams";
        /// Octets of their descriptions.
        Octets = Gauge, "msc_session_controller_stream_octets";
    }
}
