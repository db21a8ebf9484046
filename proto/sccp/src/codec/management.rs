//! Messages of SCCP management (Q.713 §5): the data of UDTs between the subsystems 1.

use m3ua::codec::PointCode;
use wire::{Cursor, Malformed};

const SPEC: &str = "Q.713 §5.3";

wire::rows! {
    /// Format identifiers.
    pub enum ManagementType: u8 {
        /// SSA.
        Allowed = 1, "SSA", "Q.713 §5.3.1";
        /// SSP.
        Prohibited = 2, "SSP", "Q.713 §5.3.2";
        /// SST.
        StatusTest = 3, "SST", "Q.713 §5.3.3";
        /// SOR.
        OutOfServiceRequest = 4, "SOR", "Q.713 §5.3.4";
        /// SOG.
        OutOfServiceGrant = 5, "SOG", "Q.713 §5.3.5";
        /// SSC.
        Congested = 6, "SSC", "Q.713 §5.3.6";
    }
}

/// A message of SCCP management.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Management {
    /// What it says.
    pub kind: ManagementType,
    /// Of which subsystem.
    pub subsystem: u8,
    /// At which point code.
    pub point_code: PointCode,
    /// Subsystem multiplicity indicator; zero is unknown.
    pub multiplicity: u8,
    /// The level of congestion of an SSC, 1 to 8; zero in others.
    pub congestion: u8,
}

impl Management {
    /// Reads the data of a UDT.
    ///
    /// # Errors
    /// What lacks, and a format identifier of nothing.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        const CUT: &str = "a message of SCCP management is cut off";
        let mut cursor = Cursor::new(bytes, 0, SPEC);
        let kind = ManagementType::of(cursor.octet(CUT)?).ok_or(Malformed::new(
            0,
            "no format identifier",
            "Q.713 §5.1.1",
        ))?;
        let subsystem = cursor.octet(CUT)?;
        let point_code = u16::from_le_bytes(cursor.array(CUT)?) & 0x3fff;
        let multiplicity = cursor.octet(CUT)? & 0x03;
        let congestion = match kind {
            ManagementType::Congested => cursor.octet(CUT)? & 0x0f,
            _ => 0,
        };
        let point_code = PointCode::truncated(u32::from(point_code));
        Ok(Self { kind, subsystem, point_code, multiplicity, congestion })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let [low, high, ..] = (self.point_code.number() & 0x3fff).to_le_bytes();
        out.extend_from_slice(&[self.kind.number(), self.subsystem, low, high, self.multiplicity]);
        if self.kind == ManagementType::Congested {
            out.push(self.congestion);
        }
    }
}
