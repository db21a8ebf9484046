//! Codes that stand inside of parameters: errors, notifications, registration results, traffic
//! modes.

/// Gives the enumeration of a [`wire::rows!`] table its numbers.
macro_rules! numbers {
    ($table:ident: $number:ty { $($row:ident = $value:literal,)+ }) => {
        impl $table {
            /// The number on the wire.
            #[must_use]
            pub const fn number(self) -> $number {
                match self { $(Self::$row => $value),+ }
            }

            /// The row of a number; `None` when the RFC has none.
            #[must_use]
            pub const fn of(number: $number) -> Option<Self> {
                match number { $($value => Some(Self::$row),)+ _ => None }
            }
        }
    };
}
pub(crate) use numbers;

wire::rows! {
    /// Why an ERR is sent (RFC 4666 §3.8.1).
    pub enum ErrorCode {
        /// The version is not spoken here.
        InvalidVersion = "Invalid Version", "RFC 4666 §3.8.1 0x01";
        /// No such class.
        UnsupportedMessageClass = "Unsupported Message Class", "RFC 4666 §3.8.1 0x03";
        /// No such type in the class.
        UnsupportedMessageType = "Unsupported Message Type", "RFC 4666 §3.8.1 0x04";
        /// The mode does not exist or is not that of the Application Server.
        UnsupportedTrafficModeType = "Unsupported Traffic Mode Type", "RFC 4666 §3.8.1 0x05";
        /// Not in this state.
        UnexpectedMessage = "Unexpected Message", "RFC 4666 §3.8.1 0x06";
        /// Any other anomaly.
        ProtocolError = "Protocol Error", "RFC 4666 §3.8.1 0x07";
        /// Not on this stream.
        InvalidStreamIdentifier = "Invalid Stream Identifier", "RFC 4666 §3.8.1 0x09";
        /// Locked by the management.
        RefusedManagementBlocking = "Refused - Management Blocking", "RFC 4666 §3.8.1 0x0d";
        /// The ASP Up must name its ASP.
        AspIdentifierRequired = "ASP Identifier Required", "RFC 4666 §3.8.1 0x0e";
        /// Another ASP has that identifier.
        InvalidAspIdentifier = "Invalid ASP Identifier", "RFC 4666 §3.8.1 0x0f";
        /// A value outside of its range.
        InvalidParameterValue = "Invalid Parameter Value", "RFC 4666 §3.8.1 0x11";
        /// A wrong length.
        ParameterFieldError = "Parameter Field Error", "RFC 4666 §3.8.1 0x12";
        /// A parameter that does not belong there.
        UnexpectedParameter = "Unexpected Parameter", "RFC 4666 §3.8.1 0x13";
        /// The status is not told.
        DestinationStatusUnknown = "Destination Status Unknown", "RFC 4666 §3.8.1 0x14";
        /// A network that is not configured.
        InvalidNetworkAppearance = "Invalid Network Appearance", "RFC 4666 §3.8.1 0x15";
        /// A mandatory parameter lacks.
        MissingParameter = "Missing Parameter", "RFC 4666 §3.8.1 0x16";
        /// A context that is not configured.
        InvalidRoutingContext = "Invalid Routing Context", "RFC 4666 §3.8.1 0x19";
        /// No context, and the configuration does not say which.
        NoConfiguredAs = "No Configured AS for ASP", "RFC 4666 §3.8.1 0x1a";
    }
}

numbers!(ErrorCode: u32 {
    InvalidVersion = 0x01,
    UnsupportedMessageClass = 0x03,
    UnsupportedMessageType = 0x04,
    UnsupportedTrafficModeType = 0x05,
    UnexpectedMessage = 0x06,
    ProtocolError = 0x07,
    InvalidStreamIdentifier = 0x09,
    RefusedManagementBlocking = 0x0d,
    AspIdentifierRequired = 0x0e,
    InvalidAspIdentifier = 0x0f,
    InvalidParameterValue = 0x11,
    ParameterFieldError = 0x12,
    UnexpectedParameter = 0x13,
    DestinationStatusUnknown = 0x14,
    InvalidNetworkAppearance = 0x15,
    MissingParameter = 0x16,
    InvalidRoutingContext = 0x19,
    NoConfiguredAs = 0x1a,
});

wire::rows! {
    /// How the traffic of an Application Server is dealt to its ASPs (RFC 4666 §3.7.1).
    pub enum TrafficMode {
        /// All of it to the one that was active last.
        Override = "Override", "RFC 4666 §3.7.1 1";
        /// Each flow to one of them.
        Loadshare = "Loadshare", "RFC 4666 §3.7.1 2";
        /// All of it to every one of them.
        Broadcast = "Broadcast", "RFC 4666 §3.7.1 3";
    }
}

numbers!(TrafficMode: u32 { Override = 1, Loadshare = 2, Broadcast = 3, });

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
    pub enum Notification {
        /// AS-State_Change.
        Inactive = "AS-INACTIVE", "RFC 4666 §3.8.2 1/2";
        /// AS-State_Change.
        Active = "AS-ACTIVE", "RFC 4666 §3.8.2 1/3";
        /// AS-State_Change.
        Pending = "AS-PENDING", "RFC 4666 §3.8.2 1/4";
        /// Another ASP is wanted for the load.
        InsufficientResources = "Insufficient ASP Resources Active in AS", "RFC 4666 §3.8.2 2/1";
        /// Another ASP has overridden this one.
        AlternateAspActive = "Alternate ASP Active", "RFC 4666 §3.8.2 2/2";
        /// An ASP is down.
        AspFailure = "ASP Failure", "RFC 4666 §3.8.2 2/3";
    }
}

numbers!(Notification: u32 {
    Inactive = 0x0001_0002,
    Active = 0x0001_0003,
    Pending = 0x0001_0004,
    InsufficientResources = 0x0002_0001,
    AlternateAspActive = 0x0002_0002,
    AspFailure = 0x0002_0003,
});

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
    pub enum RegistrationStatus {
        /// It is registered.
        Registered = "Successfully Registered", "RFC 4666 §3.6.2 0";
        /// Another error.
        Unknown = "Error - Unknown", "RFC 4666 §3.6.2 1";
        /// A Destination Point Code that cannot be.
        InvalidDpc = "Error - Invalid DPC", "RFC 4666 §3.6.2 2";
        /// A network that is not configured.
        InvalidNetworkAppearance = "Error - Invalid Network Appearance", "RFC 4666 §3.6.2 3";
        /// A key that cannot be read.
        InvalidRoutingKey = "Error - Invalid Routing Key", "RFC 4666 §3.6.2 4";
        /// That peer may not.
        PermissionDenied = "Error - Permission Denied", "RFC 4666 §3.6.2 5";
        /// The key overlaps another one.
        CannotSupportUniqueRouting = "Error - Cannot Support Unique Routing", "RFC 4666 §3.6.2 6";
        /// Only keys of the configuration can be registered.
        NotProvisioned = "Error - Routing Key not Currently Provisioned", "RFC 4666 §3.6.2 7";
        /// No room.
        InsufficientResources = "Error - Insufficient Resources", "RFC 4666 §3.6.2 8";
        /// A parameter that keys do not have here.
        UnsupportedField = "Error - Unsupported RK parameter Field", "RFC 4666 §3.6.2 9";
        /// A mode that is unknown or not that of the Application Server.
        UnsupportedTrafficMode =
            "Error - Unsupported/Invalid Traffic Handling Mode", "RFC 4666 §3.6.2 10";
        /// The key of that context stays as it is.
        ChangeRefused = "Error - Routing Key Change Refused", "RFC 4666 §3.6.2 11";
        /// That peer has registered it already.
        AlreadyRegistered = "Error - Routing Key Already Registered", "RFC 4666 §3.6.2 12";
    }
}

numbers!(RegistrationStatus: u32 {
    Registered = 0,
    Unknown = 1,
    InvalidDpc = 2,
    InvalidNetworkAppearance = 3,
    InvalidRoutingKey = 4,
    PermissionDenied = 5,
    CannotSupportUniqueRouting = 6,
    NotProvisioned = 7,
    InsufficientResources = 8,
    UnsupportedField = 9,
    UnsupportedTrafficMode = 10,
    ChangeRefused = 11,
    AlreadyRegistered = 12,
});

wire::rows! {
    /// What became of a request to deregister (RFC 4666 §3.6.4).
    pub enum DeregistrationStatus {
        /// It is gone.
        Deregistered = "Successfully Deregistered", "RFC 4666 §3.6.4 0";
        /// Another error.
        Unknown = "Error - Unknown", "RFC 4666 §3.6.4 1";
        /// There is no such context.
        InvalidRoutingContext = "Error - Invalid Routing Context", "RFC 4666 §3.6.4 2";
        /// It was configured, not registered.
        PermissionDenied = "Error - Permission Denied", "RFC 4666 §3.6.4 3";
        /// That peer has not registered it.
        NotRegistered = "Error - Not Registered", "RFC 4666 §3.6.4 4";
        /// The ASP must be inactive before.
        CurrentlyActive = "Error - ASP Currently Active for Routing Context",
            "RFC 4666 §3.6.4 5";
    }
}

numbers!(DeregistrationStatus: u32 {
    Deregistered = 0,
    Unknown = 1,
    InvalidRoutingContext = 2,
    PermissionDenied = 3,
    NotRegistered = 4,
    CurrentlyActive = 5,
});
