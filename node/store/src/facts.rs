//! What a store reports.

event::facts! {
    /// Facts of one store.
    pub enum Fact {
        /// Entries that are safe on disk.
        Entries = Counter, Debug, "store_entries_total", "Entries that are safe on disk";
        /// Records that are safe on disk.
        Records = Counter, Debug, "store_records_total", "Records that are safe on disk";
        /// Octets before compression.
        RawBytes = Counter, Debug, "store_raw_bytes_total", "Octets before compression";
        /// Octets written to journals.
        StoredBytes = Counter, Debug, "store_stored_bytes_total", "Octets written to journals";
        /// Writes that were made durable.
        SyncTime = Histogram, Debug, "store_sync_us",
            "Time until a batch was safe on disk, microseconds";
        /// Index files written.
        Runs = Counter, Debug, "store_runs_total", "Index files written";
        /// Partitions on disk.
        Partitions = Gauge, Debug, "store_partitions", "Partitions on disk";
        /// Octets on disk.
        DiskBytes = Gauge, Debug, "store_disk_bytes", "Octets on disk, journals and index";
        /// Partitions deleted because of age or size.
        Deleted = Counter, Info, "store_partitions_deleted_total",
            "Partitions deleted because of age or size";
        /// Failed writes.
        WriteErrors = Counter, Error, "store_write_errors_total",
            "Writes that failed and were tried again";
        /// Octets cut from torn journals when the store was opened.
        RepairedBytes = Counter, Warn, "store_repaired_bytes_total",
            "Octets cut from torn journals when the store was opened";
        /// Octets of damaged blocks.
        DamagedBytes = Counter, Error, "store_damaged_bytes_total",
            "Octets of damaged blocks that were passed over when the store was opened";
        /// Panics of the disk thread.
        Panics = Counter, Error, "store_panics_total",
            "Panics of the disk thread; it goes on without what it had at hand";
        /// Batches waiting for the disk.
        Queue = Gauge, Debug, "store_queue_batches", "Batches waiting for the disk";
    }
}
