//! What the management side asks of Diameter.

use super::ByDiameter;
use crate::function::ShortMessageGateway;
use diameter_stack::{
    DiameterActRow, DiameterConnectionRow, DiameterPeerRow, DiameterTraceRow, Peers,
};
use machine::Time;
use runtime::{Ask, AskError, Effects};
use sctp_stack::{SctpAssociationRow, SctpEndpoint, SctpPathRow};

impl ByDiameter {
    pub(crate) fn peer_rows(&self) -> Vec<DiameterPeerRow> {
        self.peers.as_ref().map(Peers::peer_rows).unwrap_or_default()
    }

    pub(crate) fn connection_rows(&self) -> Vec<DiameterConnectionRow> {
        self.peers.as_ref().map(Peers::connection_rows).unwrap_or_default()
    }

    pub(crate) fn trace(&self, ask: &Ask) -> Result<Vec<DiameterTraceRow>, AskError> {
        self.peers.as_ref().map_or_else(|| Ok(Vec::new()), |peers| peers.show_trace(ask))
    }

    fn endpoint(&self) -> Option<&SctpEndpoint> {
        self.peers.as_ref().and_then(Peers::sctp)
    }

    pub(crate) fn associations(&self, ask: &Ask) -> Result<Vec<SctpAssociationRow>, AskError> {
        self.endpoint().map_or_else(|| Ok(Vec::new()), |it| it.show_associations(ask))
    }

    pub(crate) fn paths(&self, ask: &Ask) -> Result<Vec<SctpPathRow>, AskError> {
        self.endpoint().map_or_else(|| Ok(Vec::new()), |it| it.show_paths(ask))
    }
}

impl ShortMessageGateway {
    /// Connects to a peer of Diameter, or disconnects it.
    pub(crate) fn operate_peer(
        &mut self,
        now: Time,
        ask: &Ask,
        is_wanted: bool,
        out: &mut Effects,
    ) -> Result<Vec<DiameterActRow>, AskError> {
        let name = ask.params.get("peer").cloned().unwrap_or_default();
        let peers = self.by_diameter.peers.as_mut();
        let row = peers.and_then(|it| it.operate(now, &name, is_wanted, out));
        row.map(|row| vec![row]).ok_or(AskError::NotFound(name))
    }
}
