//! Codes that stand inside of parameters: errors, notifications, registration results, traffic
//! modes.

wire::rows! {
    /// Why an ERR is sent (RFC 4666 §3.8.1).
    pub enum ErrorCode: u32 {
        /// The version is not spoken here.
        InvalidVersion = 0x01, "Invalid Version", "RFC 4666 §3.8.1";
        /// No such class.
        UnsupportedMessageClass = 0x03, "Unsupported Message Class", "RFC 4666 §3.8.1";
        /// No such type in the class.
        UnsupportedMessageType = 0x04, "Unsupported Message Type", "RFC 4666 §3.8.1";
        /// The mode does not exist or is not that of the Application Server.
        UnsupportedTrafficModeType = 0x05, "Unsupported Traffic Mode Type", "RFC 4666 §3.8.1";
        /// Not in this state.
        UnexpectedMessage = 0x06, "Unexpected Message", "RFC 4666 §3.8.1";
        /// Any other anomaly.
        ProtocolError = 0x07, "Protocol Error", "RFC 4666 §3.8.1";
        /// Not on this stream.
        InvalidStreamIdentifier = 0x09, "Invalid Stream Identifier", "RFC 4666 §3.8.1";
        /// Locked by the management.
        RefusedManagementBlocking = 0x0d, "Refused - Management Blocking", "RFC 4666 §3.8.1";
        /// The ASP Up must name its ASP.
        AspIdentifierRequired = 0x0e, "ASP Identifier Required", "RFC 4666 §3.8.1";
        /// Another ASP has that identifier.
        InvalidAspIdentifier = 0x0f, "Invalid ASP Identifier", "RFC 4666 §3.8.1";
        /// A value outside of its range.
        InvalidParameterValue = 0x11, "Invalid Parameter Value", "RFC 4666 §3.8.1";
        /// A wrong length.
        ParameterFieldError = 0x12, "Parameter Field Error", "RFC 4666 §3.8.1";
        /// A parameter that does not belong there.
        UnexpectedParameter = 0x13, "Unexpected Parameter", "RFC 4666 §3.8.1";
        /// The status is not told.
        DestinationStatusUnknown = 0x14, "Destination Status Unknown", "RFC 4666 §3.8.1";
        /// A network that is not configured.
        InvalidNetworkAppearance = 0x15, "Invalid Network Appearance", "RFC 4666 §3.8.1";
        /// A mandatory parameter lacks.
        MissingParameter = 0x16, "Missing Parameter", "RFC 4666 §3.8.1";
        /// A context that is not configured.
        InvalidRoutingContext = 0x19, "Invalid Routing Context", "RFC 4666 §3.8.1";
        /// No context, and the configuration does not say which.
        NoConfiguredAs = 0x1a, "No Configured AS for ASP", "RFC 4666 §3.8.1";
    }
}

wire::rows! {
    /// How the traffic of an Application Server is dealt to its ASPs (RFC 4666 §3.7.1).
    pub enum TrafficMode: u32 {
        /// All of it to the one that was active last.
        Override = 1, "Override", "RFC 4666 §3.7.1";
        /// Each flow to one of them.
        Loadshare = 2, "Loadshare", "RFC 4666 §3.7.1";
        /// All of it to every one of them.
        Broadcast = 3, "Broadcast", "RFC 4666 §3.7.1";
    }
}

wire::rows! {
    /// State of an Application Server (RFC 4666 §4.3.2).
    pub enum ServerState {
        /// Every ASP is down.
        Down = "AS-DOWN", "RFC 4666 §4.3.2";
        /// An ASP is up, too few are active.
        Inactive = "AS-INACTIVE", "RFC 4666 §4.3.2";
        /// There are ASPs for the traffic.
        Active = "AS-ACTIVE", "RFC 4666 §4.3.2";
        /// The last ASP has gone; the traffic waits for T(r).
        Pending = "AS-PENDING", "RFC 4666 §4.3.2";
    }
}

wire::rows! {
    /// What an NTFY tells: its Status Type and Status Information (RFC 4666 §3.8.2).
    pub enum Notification: u32 {
        /// AS-State_Change.
        Inactive = 0x0001_0002, "AS-INACTIVE", "RFC 4666 §3.8.2";
        /// AS-State_Change.
        Active = 0x0001_0003, "AS-ACTIVE", "RFC 4666 §3.8.2";
        /// AS-State_Change.
        Pending = 0x0001_0004, "AS-PENDING", "RFC 4666 §3.8.2";
        /// Another ASP is wanted for the load.
        InsufficientResources = 0x0002_0001, "Insufficient ASP Resources Active in AS",
            "RFC 4666 §3.8.2";
        /// Another ASP has overridden this one.
        AlternateAspActive = 0x0002_0002, "Alternate ASP Active", "RFC 4666 §3.8.2";
        /// An ASP is down.
        AspFailure = 0x0002_0003, "ASP Failure", "RFC 4666 §3.8.2";
    }
}

impl Notification {
    /// The one that tells of a state; `None` for AS-DOWN, which nobody is there to be told of.
    #[must_use]
    pub const fn of_state(state: ServerState) -> Option<Self> {
        match state {
            ServerState::Down => None,
            ServerState::Inactive => Some(Self::Inactive),
            ServerState::Active => Some(Self::Active),
            ServerState::Pending => Some(Self::Pending),
        }
    }
}

wire::rows! {
    /// What became of a request to register a Routing Key (RFC 4666 §3.6.2).
    pub enum RegistrationStatus: u32 {
        /// It is registered.
        Registered = 0, "Successfully Registered", "RFC 4666 §3.6.2";
        /// Another error.
        Unknown = 1, "Error - Unknown", "RFC 4666 §3.6.2";
        /// A Destination Point Code that cannot be.
        InvalidDpc = 2, "Error - Invalid DPC", "RFC 4666 §3.6.2";
        /// A network that is not configured.
        InvalidNetworkAppearance = 3, "Error - Invalid Network Appearance", "RFC 4666 §3.6.2";
        /// A key that cannot be read.
        InvalidRoutingKey = 4, "Error - Invalid Routing Key", "RFC 4666 §3.6.2";
        /// That peer may not.
        PermissionDenied = 5, "Error - Permission Denied", "RFC 4666 §3.6.2";
        /// The key overlaps another one.
        CannotSupportUniqueRouting = 6, "Error - Cannot Support Unique Routing", "RFC 4666 §3.6.2";
        /// Only keys of the configuration can be registered.
        NotProvisioned = 7, "Error - Routing Key not Currently Provisioned", "RFC 4666 §3.6.2";
        /// No room.
        InsufficientResources = 8, "Error - Insufficient Resources", "RFC 4666 §3.6.2";
        /// A parameter that keys do not have here.
        UnsupportedField = 9, "Error - Unsupported RK parameter Field", "RFC 4666 §3.6.2";
        /// A mode that is unknown or not that of the Application Server.
        UnsupportedTrafficMode = 10, "Error - Unsupported/Invalid Traffic Handling Mode",
            "RFC 4666 §3.6.2";
        /// The key of that context stays as it is.
        ChangeRefused = 11, "Error - Routing Key Change Refused", "RFC 4666 §3.6.2";
        /// That peer has registered it already.
        AlreadyRegistered = 12, "Error - Routing Key Already Registered", "RFC 4666 §3.6.2";
    }
}

wire::rows! {
    /// What became of a request to deregister (RFC 4666 §3.6.4).
    pub enum DeregistrationStatus: u32 {
        /// It is gone.
        Deregistered = 0, "Successfully Deregistered", "RFC 4666 §3.6.4";
        /// Another error.
        Unknown = 1, "Error - Unknown", "RFC 4666 §3.6.4";
        /// There is no such context.
        InvalidRoutingContext = 2, "Error - Invalid Routing Context", "RFC 4666 §3.6.4";
        /// It was configured, not registered.
        PermissionDenied = 3, "Error - Permission Denied", "RFC 4666 §3.6.4";
        /// That peer has not registered it.
        NotRegistered = 4, "Error - Not Registered", "RFC 4666 §3.6.4";
        /// The ASP must be inactive before.
        CurrentlyActive = 5, "Error - ASP Currently Active for Routing Context", "RFC 4666 §3.6.4";
    }
}
