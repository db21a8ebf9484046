//! The rows of answers, as they are written and described.

use question::rows;

rows! {
    /// A registration of a subscriber.
    pub(crate) struct RegistrationRow {
        aor: String,
        contact: String,
        realm: String,
        source: String,
        transport: &'static str,
        /// Whether a phone of IMS has its security agreement; without, its contact reaches nobody.
        agreement: Option<bool>,
        expires_at_us: u64,
        expires_s: u64,
        core_expires_at_us: u64,
        registered_at_us: u64,
        user_agent: String,
        aliases: Vec<String>,
    }

    /// A rule of header manipulation.
    pub(crate) struct RuleRow {
        /// Its place, from 0.
        number: usize,
        rule: manipulation::RuleConfig,
    }

    /// A call.
    pub(crate) struct CallRow {
        /// Names it to `calls/terminate`.
        id: String,
        /// `early`, `confirmed` or `ending`.
        state: &'static str,
        from: String,
        to: String,
        realm_in: String,
        realm_out: String,
        started_at_us: u64,
        answered_at_us: Option<u64>,
        call_id_a: String,
        call_id_b: String,
        /// Its trail in the service assurance.
        trail: String,
    }

    /// A call that was ended.
    pub(crate) struct TerminatedRow {
        id: String,
        ended: bool,
    }

    /// How many requests a shard still works on.
    pub(crate) struct HandOverRow {
        shard: u16,
        requests: usize,
    }

    /// A realm and its listeners.
    pub(crate) struct RealmRow {
        name: String,
        side: sip_stack::realm::Side,
        trusted: bool,
        register_required: bool,
        listen: Vec<String>,
    }

    /// What a shard captures.
    pub(crate) struct CaptureRow {
        shard: u16,
        collector: Option<String>,
        captured: u64,
        shed: u64,
        thinned: u64,
        whole_percent: u16,
        trouble: Option<&'static str>,
    }

    /// A flood that the shield refuses.
    pub(crate) struct FloodRow {
        kind: &'static str,
        recognised_at_us: u64,
        refused: u64,
        peak_per_s: u64,
    }

    /// What the shield of a shard does.
    pub(crate) struct PolicingRow {
        shard: u16,
        flood: Option<FloodRow>,
        floods: u64,
        sources: usize,
        table_bytes: usize,
        blacklisted: usize,
    }

    /// A source on the blacklist.
    pub(crate) struct BlacklistRow {
        shard: u16,
        address: String,
        reason: &'static str,
        count: u32,
        refused: u64,
        since_us: u64,
        last_us: u64,
        until_us: u64,
    }

    /// How many sources a shard took off the blacklist.
    pub(crate) struct ClearedRow {
        shard: u16,
        cleared: usize,
    }
}
