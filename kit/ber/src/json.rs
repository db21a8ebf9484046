//! Values as JSON by the names of their type (X.697): written, and read back.
//!
//! | type | JSON |
//! |---|---|
//! | NULL, BOOLEAN, INTEGER | `null`, `true`, `7` |
//! | ENUMERATED | its name; its number where it has no name yet |
//! | OCTET STRING | hexadecimal digits |
//! | BIT STRING | of one size: hexadecimal digits; else `{"value":"a0","length":3}` |
//! | strings, OBJECT IDENTIFIER | `"text"`, `"0.4.0.0.1"` |
//! | SEQUENCE, SET, CHOICE | an object by the names of the components |
//! | SEQUENCE OF, SET OF | an array |
//! | any element | hexadecimal digits, header and all |
//!
//! Components that an extensible type does not know are kept: whole elements under the name `...`.

mod read;
mod text;
mod write;

pub use text::Text;
pub use write::{hex, string};

/// The name under which components stand that the type does not know.
const UNKNOWN: &str = "...";
