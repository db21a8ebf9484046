//! Simulated worlds: links with loss, delay, reorder, duplicates, by seed.
