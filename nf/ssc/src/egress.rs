//! The last step of every message, with the facts of this function.

use crate::facts::Fact;
use sip_stack::egress::Counted;
pub use sip_stack::egress::UNRULED;
pub use trail::{Event, Field};

/// What every message passes on its way in and out.
pub type Egress = sip_stack::egress::Egress<Fact>;

/// What counts those that leave.
pub const COUNTED: Counted<Fact> =
    Counted { sent: Fact::MessagesSent, resent: Fact::Resent, unsendable: Fact::Unsendable };
