//! What IMS access counts.

event::metrics! {
    /// The metrics of the security agreements of one shard.
    pub enum Metric {
        /// Registrations under way: offered or challenged.
        UnderWay = Gauge, "ims_registrations_under_way";
        /// Security agreements that stand: their registration was accepted.
        Standing = Gauge, "ims_agreements";
        /// Security agreements that stood when this node of a pair took over.
        TakenOver = Gauge, "ims_agreements_taken_over";
        /// Challenges that left with a security agreement.
        Challenged = Counter, "ims_challenges_total";
        /// Agreements whose registration was accepted.
        Established = Counter, "ims_agreements_established_total";
        /// Agreements whose registration was accepted again over the same associations.
        Refreshed = Counter, "ims_agreements_refreshed_total";
        /// Agreements that ended by a de-registration.
        Deregistered = Counter, "ims_agreements_deregistered_total";
        /// Agreements that ended because their registration or their challenge was over.
        Expired = Counter, "ims_agreements_expired_total";
        /// Agreements that became old because a newer one of the same phone was accepted.
        Replaced = Counter, "ims_agreements_replaced_total";
        /// Registrations that the core refused after its challenge.
        Failed = Counter, "ims_authentications_failed_total";
        /// Keys that were taken out of challenges.
        KeysTaken = Counter, "ims_keys_taken_total";
        /// Challenges whose keys nobody used in time, or that came without keys.
        KeysLost = Counter, "ims_keys_lost_total";
        /// Challenges of the core that repeat the keys of an earlier one: no agreement is made.
        Repeated = Counter, "ims_challenges_repeated_total";
        /// Requests refused because they ask for no security agreement (421).
        NotAsked = Counter, "ims_refused_no_agreement_total";
        /// Requests refused because of what their security headers say (494, 502).
        Disagreed = Counter, "ims_refused_disagreement_total";
        /// Requests refused because Security-Verify or Security-Client is not what was agreed.
        Downgraded = Counter, "ims_refused_changed_offer_total";
        /// Requests refused because they came in the clear, or before their registration was
        /// accepted (403).
        Unprotected = Counter, "ims_refused_unprotected_total";
        /// Requests whose P-Preferred-Identity the core has not registered with their phone: it is
        /// told the default identity.
        NotRegistered = Counter, "ims_identities_not_registered_total";
        /// Registrations, and emergency calls in the clear, refused because there are as many of
        /// their source or in all as may be.
        OfSource = Counter, "ims_refused_source_total";
        /// Registrations under way that made way for newer ones.
        MadeWay = Counter, "ims_registrations_made_way_total";
        /// Emergency calls in the clear that were taken.
        Emergency = Counter, "ims_emergency_calls_total";
        /// Answers that were dropped because they cannot be read: they might have keys.
        Unreadable = Counter, "ims_unreadable_answers_total";
        /// Messages to a phone that has no associations, or none any more.
        NoAssociations = Counter, "ims_unsent_no_associations_total";
    }
}

event::metrics! {
    /// The metrics of the subscriptions to registrations of one shard.
    pub enum RegEventMetric {
        /// Subscriptions of this P-CSCF to registrations of its phones.
        Watched = Gauge, "ims_reg_subscriptions";
        /// SUBSCRIBE requests that were sent, those that renew or take back with them.
        Subscribes = Counter, "ims_reg_subscribes_total";
        /// SUBSCRIBE requests that the core refused, or that nobody answered.
        Failed = Counter, "ims_reg_subscribes_failed_total";
        /// Registrations that are not watched because there are as many subscriptions as may be.
        NoRoom = Counter, "ims_reg_subscriptions_refused_total";
        /// NOTIFY requests that were taken.
        Notifies = Counter, "ims_reg_notifies_total";
        /// NOTIFY requests that name a subscription and are not its notifier's.
        Strangers = Counter, "ims_reg_notifies_refused_total";
        /// NOTIFY requests whose document cannot be read.
        Unreadable = Counter, "ims_reg_documents_unreadable_total";
        /// Documents that were older than what was known.
        Outdated = Counter, "ims_reg_documents_outdated_total";
        /// Bindings that the network has ended.
        Deregistered = Counter, "ims_reg_deregistrations_total";
        /// Bindings that the network lets end earlier: their next REGISTER goes to the core.
        Shortened = Counter, "ims_reg_shortened_total";
    }
}
