//! What a store reports.

event::metrics! {
    /// Metrics of one store.
    pub enum Metric {
        /// Entries that are safe on disk.
        Entries = Counter, "store_entries_total";
        /// Records that are safe on disk.
        Records = Counter, "store_records_total";
        /// Octets before compression.
        RawBytes = Counter, "store_raw_bytes_total";
        /// Octets written to journals.
        StoredBytes = Counter, "store_stored_bytes_total";
        /// Time until a batch was safe on disk, microseconds.
        SyncTime = Histogram, "store_sync_us";
        /// Index files written.
        Runs = Counter, "store_runs_total";
        /// Partitions on disk.
        Partitions = Gauge, "store_partitions";
        /// Octets on disk, journals and index.
        DiskBytes = Gauge, "store_disk_bytes";
        /// Partitions deleted because of age or size.
        Deleted = Counter, "store_partitions_deleted_total";
        /// Writes that failed and were tried again.
        WriteErrors = Counter, "store_write_errors_total";
        /// Octets cut from torn journals when the store was opened.
        RepairedBytes = Counter, "store_repaired_bytes_total";
        /// Octets of damaged blocks that were passed over when the store was opened.
        DamagedBytes = Counter, "store_damaged_bytes_total";
        /// Panics of the disk thread; it goes on without what it had at hand.
        Panics = Counter, "store_panics_total";
        /// Batches waiting for the disk.
        Queue = Gauge, "store_queue_batches";
    }
}
