//! The words of a document (RFC 3680 §5.1 to §5.3, §6).

/// One word of a list for each variant.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[$of:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$of])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As it is written.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Reads one.
            #[must_use]
            pub fn read(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.word() == word)
            }
        }
    };
}

words! {
    /// What a document holds.
    pub enum State {
        /// Everything.
        Full = "full",
        /// What has changed since the one before.
        Partial = "partial",
    }
}

words! {
    /// Where an address of record stands.
    pub enum RegistrationState {
        /// Nothing is registered.
        Init = "init",
        /// It has contacts.
        Active = "active",
        /// Its last contact is gone.
        Terminated = "terminated",
    }
}

words! {
    /// Where a contact stands.
    pub enum ContactState {
        /// It is registered.
        Active = "active",
        /// It is not any more.
        Terminated = "terminated",
    }
}

words! {
    /// What has brought a contact to its state.
    pub enum Event {
        /// It was registered.
        Registered = "registered",
        /// An administrator has made it.
        Created = "created",
        /// It was registered anew.
        Refreshed = "refreshed",
        /// The registrar lets it end earlier, so that the phone proves itself again.
        Shortened = "shortened",
        /// Nobody has refreshed it.
        Expired = "expired",
        /// The registrar has removed it; the phone may register anew at once.
        Deactivated = "deactivated",
        /// The registrar has removed it; the phone may register anew later.
        Probation = "probation",
        /// Its phone has removed it.
        Unregistered = "unregistered",
        /// The registrar does not allow it; the phone may not register anew.
        Rejected = "rejected",
    }
}

impl Event {
    /// Whether the network has ended the contact, and no phone has (TS 24.229 §5.2.5.2).
    #[must_use]
    pub const fn is_of_network(self) -> bool {
        matches!(self, Self::Deactivated | Self::Probation | Self::Rejected)
    }
}
