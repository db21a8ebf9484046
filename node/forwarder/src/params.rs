//! What a question has beside its path, and how addresses are written in answers.

/// Names and values of a question.
pub(crate) type Params = [(String, String)];

/// The value of that name, if it is there.
pub(crate) fn param<'a>(params: &'a Params, name: &str) -> Option<&'a str> {
    params.iter().find(|(key, _)| key == name).map(|(_, it)| it.as_str())
}

/// The number that a parameter says, if it is there.
pub(crate) fn number(params: &Params, name: &str) -> Result<Option<u64>, String> {
    let text = param(params, name);
    text.map(|text| text.parse().map_err(|_| format!("{name}: `{text}` is no number"))).transpose()
}

/// A MAC address as people write it.
pub(crate) fn mac(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}
