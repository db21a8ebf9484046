//! Scenarios that come with Tandem.

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        /// All of them.
        const ALL: &[BuiltIn] = &[$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }),+];
    };
}

built_in! {
    "cap-call-monitoring",
    "map-sri-for-sm",
    "location-update",
    "authentication",
    "ussd",
    "ussd-push",
    "mo-sms",
    "mt-sms",
    "any-time-interrogation",
    "provide-subscriber-info",
    "cap-sms",
    "cap-gprs",
    "prepaid",
}

/// Those that come with Tandem.
#[must_use]
pub const fn built_in() -> &'static [BuiltIn] {
    ALL
}
