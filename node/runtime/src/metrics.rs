//! What the runtime itself reports, per shard.

event::metrics! {
    /// What a shard's loop, ports and rings did.
    pub enum RuntimeMetric {
        /// Messages received and given to the function.
        MessageIn = Counter, "runtime_messages_in_total";
        /// Messages sent.
        MessageOut = Counter, "runtime_messages_out_total";
        /// Bytes of messages received.
        BytesIn = Counter, "runtime_received_bytes_total";
        /// Bytes of messages sent.
        BytesOut = Counter, "runtime_sent_bytes_total";
        /// System calls that received datagrams.
        ReceiveBatch = Counter, "runtime_receive_batches_total";
        /// System calls that sent datagrams.
        SendBatch = Counter, "runtime_send_batches_total";
        /// Datagrams that the kernel dropped because a receive buffer was full.
        KernelDropped = Counter, "runtime_dropped_receive_buffer_total";
        /// Packets past the kernel's IP whose Ethernet or IP header a host does not take.
        HeaderRefused = Counter, "runtime_dropped_header_total";
        /// Messages shed because a send queue was full.
        SendShed = Counter, "runtime_dropped_send_queue_total";
        /// Datagrams that the kernel refused to send (no route, too long).
        SendRefused = Counter, "runtime_dropped_send_refused_total";
        /// Messages for a port that does not exist or carries another transport.
        Unroutable = Counter, "runtime_dropped_unroutable_total";
        /// Messages shed because the ring to another shard was full.
        RingShed = Counter, "runtime_dropped_ring_total";
        /// Messages handed to the shard that owns them.
        Steered = Counter, "runtime_steered_total";
        /// Work that the function handed from one shard to another.
        Handed = Counter, "runtime_work_handed_total";
        /// Work given back to the shard that handed it over: its queue was full.
        HandedBack = Counter, "runtime_work_handed_back_total";
        /// ICMP errors for datagrams that were sent.
        Unreachable = Counter, "runtime_unreachable_total";
        /// Bytes waiting to be sent.
        Queued = Gauge, "runtime_send_queue_bytes";
        /// Stream connections that stand.
        Connections = Gauge, "runtime_connections";
        /// Connections accepted.
        Accepted = Counter, "runtime_connections_accepted_total";
        /// Connections opened.
        Opened = Counter, "runtime_connections_opened_total";
        /// Connections that could not be opened.
        ConnectFailed = Counter, "runtime_connections_failed_total";
        /// Connections refused because the table or the process was full.
        Refused = Counter, "runtime_connections_refused_total";
        /// Connections closed because the table was full and their source had most of it.
        Displaced = Counter, "runtime_connections_displaced_total";
        /// Connections refused because they came over more hops than their guard allows.
        TooFar = Counter, "runtime_connections_too_far_total";
        /// TLS handshakes that failed or timed out.
        HandshakeFailed = Counter, "runtime_tls_handshakes_failed_total";
        /// TLS sessions that were resumed, accepted and opened ones.
        Resumed = Counter, "runtime_tls_resumed_total";
        /// Connections closed before their TLS handshake because too many were under way.
        HandshakeShed = Counter, "runtime_tls_handshakes_shed_total";
        /// Accepted connections closed because no whole message came in time.
        Mute = Counter, "runtime_connections_mute_total";
        /// Connections closed because they were idle or their reader stalled.
        TimedOut = Counter, "runtime_connections_timed_out_total";
        /// Connections closed because their bytes cannot be cut into messages.
        Broken = Counter, "runtime_streams_broken_total";
        /// Names looked up.
        Resolved = Counter, "runtime_dns_queries_total";
        /// Name queries answered with nothing because too many were in flight.
        ResolveShed = Counter, "runtime_dropped_dns_queries_total";
        /// Work of one turn of a shard's loop in microseconds.
        TurnTime = Histogram, "runtime_turn_us";
        /// Shards that crashed.
        Crashed = Counter, "runtime_shard_crashes_total";
        /// Crashes of the threads for TLS handshakes and names, which went on.
        HelperCrashed = Counter, "runtime_helper_crashes_total";
    }
}
