//! What the management side asks of Diameter.

use crate::applications::Applications;
use diameter_stack::{
    DiameterActRow, DiameterConnectionRow, DiameterPeerRow, DiameterTraceRow, Peers,
};
use machine::Time;
use runtime::{Ask, AskError, Effects};
use sctp_stack::{SctpAssociationRow, SctpEndpoint, SctpPathRow};

impl Applications {
    /// The peers.
    #[must_use]
    pub fn peer_rows(&self) -> Vec<DiameterPeerRow> {
        self.peers.as_ref().map(Peers::peer_rows).unwrap_or_default()
    }

    /// The connections.
    #[must_use]
    pub fn connection_rows(&self) -> Vec<DiameterConnectionRow> {
        self.peers.as_ref().map(Peers::connection_rows).unwrap_or_default()
    }

    /// What passed of late.
    ///
    /// # Errors
    /// The question has no sense.
    pub fn trace(&self, ask: &Ask) -> Result<Vec<DiameterTraceRow>, AskError> {
        self.peers.as_ref().map_or_else(|| Ok(Vec::new()), |peers| peers.show_trace(ask))
    }

    fn endpoint(&self) -> Option<&SctpEndpoint> {
        self.peers.as_ref().and_then(Peers::sctp)
    }

    /// Associations of the SCTP endpoint.
    ///
    /// # Errors
    /// The question has no sense.
    pub fn associations(&self, ask: &Ask) -> Result<Vec<SctpAssociationRow>, AskError> {
        self.endpoint().map_or_else(|| Ok(Vec::new()), |it| it.show_associations(ask))
    }

    /// Paths of those associations.
    ///
    /// # Errors
    /// The question has no sense.
    pub fn paths(&self, ask: &Ask) -> Result<Vec<SctpPathRow>, AskError> {
        self.endpoint().map_or_else(|| Ok(Vec::new()), |it| it.show_paths(ask))
    }

    /// Connects to a peer, or disconnects it.
    ///
    /// # Errors
    /// There is no such peer.
    pub fn operate(
        &mut self,
        now: Time,
        ask: &Ask,
        is_wanted: bool,
        out: &mut Effects,
    ) -> Result<Vec<DiameterActRow>, AskError> {
        let name = ask.params.get("peer").cloned().unwrap_or_default();
        let peers = self.peers.as_mut();
        let row = peers.and_then(|it| it.operate(now, &name, is_wanted, out));
        row.map(|row| vec![row]).ok_or(AskError::NotFound(name))
    }
}
