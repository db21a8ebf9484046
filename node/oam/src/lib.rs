//! HTTP API, metrics, alarms, logs, health.
