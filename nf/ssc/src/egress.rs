//! The last step of every message, with the metrics of this function.

use crate::metrics::Metric;
use sip_stack::egress::Counted;
pub use sip_stack::egress::UNRULED;
pub use trail::{Event, Field};

/// What every message passes on its way in and out.
pub type Egress = sip_stack::egress::Egress<Metric>;

/// What counts those that leave.
pub const COUNTED: Counted<Metric> =
    Counted { sent: Metric::MessagesSent, resent: Metric::Resent, unsendable: Metric::Unsendable };
