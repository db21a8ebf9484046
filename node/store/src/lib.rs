//! The durable, time-partitioned store.
