//! What the runtime itself reports, per shard.

event::facts! {
    /// What a shard's loop, ports and rings did.
    pub enum RuntimeFact {
        /// A message was given to the function.
        MessageIn = Counter, Debug, "runtime_messages_in_total",
            "Messages received and given to the function";
        /// A message was handed to the kernel or a connection's queue.
        MessageOut = Counter, Debug, "runtime_messages_out_total", "Messages sent";
        /// Bytes received.
        BytesIn = Counter, Debug, "runtime_received_bytes_total", "Bytes of messages received";
        /// Bytes sent.
        BytesOut = Counter, Debug, "runtime_sent_bytes_total", "Bytes of messages sent";
        /// A receive call returned something.
        ReceiveBatch = Counter, Debug, "runtime_receive_batches_total",
            "System calls that received datagrams";
        /// A send call was made.
        SendBatch = Counter, Debug, "runtime_send_batches_total",
            "System calls that sent datagrams";
        /// The kernel dropped datagrams because the socket's buffer was full.
        KernelDropped = Counter, Warn, "runtime_dropped_receive_buffer_total",
            "Datagrams that the kernel dropped because a receive buffer was full";
        /// A packet past the kernel's IP was not for this end, or its headers were wrong.
        HeaderRefused = Counter, Warn, "runtime_dropped_header_total",
            "Packets past the kernel's IP whose Ethernet or IP header a host does not take";
        /// The far end's or the network's queue was full for too long.
        SendShed = Counter, Warn, "runtime_dropped_send_queue_total",
            "Messages shed because a send queue was full";
        /// The kernel refused a datagram.
        SendRefused = Counter, Warn, "runtime_dropped_send_refused_total",
            "Datagrams that the kernel refused to send (no route, too long)";
        /// A flow named a port that does not exist (any more).
        Unroutable = Counter, Warn, "runtime_dropped_unroutable_total",
            "Messages for a port that does not exist or carries another transport";
        /// A ring to another shard was full.
        RingShed = Counter, Warn, "runtime_dropped_ring_total",
            "Messages shed because the ring to another shard was full";
        /// A message was handed to the shard that owns it.
        Steered = Counter, Debug, "runtime_steered_total",
            "Messages handed to the shard that owns them";
        /// Work was handed to a sibling shard.
        Handed = Counter, Debug, "runtime_work_handed_total",
            "Work that the function handed from one shard to another";
        /// Work found no room at its shard, or no shard.
        HandedBack = Counter, Warn, "runtime_work_handed_back_total",
            "Work given back to the shard that handed it over: its queue was full";
        /// The network said that a datagram's destination cannot be reached.
        Unreachable = Counter, Info, "runtime_unreachable_total",
            "ICMP errors for datagrams that were sent";
        /// Bytes waiting in send queues.
        Queued = Gauge, Debug, "runtime_send_queue_bytes", "Bytes waiting to be sent";
        /// Connections that stand.
        Connections = Gauge, Debug, "runtime_connections", "Stream connections that stand";
        /// A connection was accepted.
        Accepted = Counter, Debug, "runtime_connections_accepted_total", "Connections accepted";
        /// A connection was opened.
        Opened = Counter, Debug, "runtime_connections_opened_total", "Connections opened";
        /// A connection could not be opened.
        ConnectFailed = Counter, Info, "runtime_connections_failed_total",
            "Connections that could not be opened";
        /// A connection was refused for want of room.
        Refused = Counter, Warn, "runtime_connections_refused_total",
            "Connections refused because the table or the process was full";
        /// Connections that lost their place to others.
        Displaced = Counter, Warn, "runtime_connections_displaced_total",
            "Connections closed because the table was full and their source had most of it";
        /// A connection was refused for where it came from.
        TooFar = Counter, Warn, "runtime_connections_too_far_total",
            "Connections refused because they came over more hops than their guard allows";
        /// A TLS handshake failed.
        HandshakeFailed = Counter, Info, "runtime_tls_handshakes_failed_total",
            "TLS handshakes that failed or timed out";
        /// A TLS handshake was shortened by an earlier session.
        Resumed = Counter, Debug, "runtime_tls_resumed_total",
            "TLS sessions that were resumed, accepted and opened ones";
        /// Too many TLS handshakes were under way.
        HandshakeShed = Counter, Warn, "runtime_tls_handshakes_shed_total",
            "Connections closed before their TLS handshake because too many were under way";
        /// A connection never said anything whole.
        Mute = Counter, Info, "runtime_connections_mute_total",
            "Accepted connections closed because no whole message came in time";
        /// A connection was closed because nothing moved.
        TimedOut = Counter, Info, "runtime_connections_timed_out_total",
            "Connections closed because they were idle or their reader stalled";
        /// A stream was closed because its bytes make no messages.
        Broken = Counter, Info, "runtime_streams_broken_total",
            "Connections closed because their bytes cannot be cut into messages";
        /// A name was looked up.
        Resolved = Counter, Debug, "runtime_dns_queries_total", "Names looked up";
        /// Too many names were being looked up.
        ResolveShed = Counter, Warn, "runtime_dropped_dns_queries_total",
            "Name queries answered with nothing because too many were in flight";
        /// Work of one turn of the loop.
        TurnTime = Histogram, Debug, "runtime_turn_us",
            "Work of one turn of a shard's loop in microseconds";
        /// The shard's function crashed.
        Crashed = Counter, Error, "runtime_shard_crashes_total", "Shards that crashed";
        /// A thread that helps the shards crashed and went on.
        HelperCrashed = Counter, Error, "runtime_helper_crashes_total",
            "Crashes of the threads for TLS handshakes and names, which went on";
    }
}
