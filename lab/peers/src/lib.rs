//! Programs that others wrote, started and stopped by the lab.
