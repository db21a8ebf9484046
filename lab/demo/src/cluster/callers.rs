//! Who begins the dialogues: one point code with an ASP at each node, and what became of each
//! dialogue.
//!
//! ```text
//!   BEGIN → by an ASP … CONTINUE → it stands … CONTINUE → by another ASP … END → it has ended
//! ```

use anyhow::Context;
use bytes::Bytes;
use failover::Asp;
use m3ua::Transfer;
use m3ua::codec::PointCode;
use sccp::codec::{Address, Class, Form, Message, SERVICE_INDICATOR, Unit, Word};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tcap::codec::{Code, MessageType, TransactionId, Writer};

/// Point code of who begins: 2-100-1.
const CALLER: u32 = 4_897;
/// Point code of the cluster: 2-100-5.
const CLUSTER: u32 = 4_901;
/// Subsystems: an SMSC's, and an HLR's.
const SMSC: u8 = 8;
pub(super) const HLR: u8 = 6;
/// shortMsgGatewayContext version 3 (TS 29.002 §17.1.6), and sendRoutingInfoForSM with nothing in
/// it: the application looks into none.
const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];
const OPERATION: Code<'static> = Code::Local(45);
const ARGUMENT: &[u8] = &[0x30, 0];
const UP_MAX: Duration = Duration::from_secs(60);

/// The ASPs by their nodes, and the dialogues.
pub(super) struct Callers {
    asps: Vec<Option<Asp>>,
    /// Dialogues begun so far: the last one's number.
    begun: u32,
    /// Those that stand, by their numbers: the transaction at the cluster.
    standing: BTreeMap<u32, TransactionId>,
    /// Those that stood and ended.
    pub(super) ended: u64,
}

impl Callers {
    /// One ASP at each of these addresses.
    pub(super) fn connect(addresses: &[SocketAddr]) -> anyhow::Result<Self> {
        let asps = addresses.iter().map(|it| Asp::connect(*it, UP_MAX).map(Some));
        let asps: anyhow::Result<Vec<_>> = asps.collect();
        Ok(Self { asps: asps?, begun: 0, standing: BTreeMap::new(), ended: 0 })
    }

    /// The ASP at a node connects again.
    pub(super) fn come(&mut self, node: usize, address: SocketAddr) -> anyhow::Result<()> {
        *self.asps.get_mut(node).context("a node")? = Some(Asp::connect(address, UP_MAX)?);
        Ok(())
    }

    /// The node of an ASP has died: nothing is sent there any more.
    pub(super) fn leave(&mut self, node: usize) {
        if let Some(asp) = self.asps.get_mut(node) {
            *asp = None;
        }
    }

    /// Dialogues that stand.
    pub(super) fn standing(&self) -> u64 {
        self.standing.len() as u64
    }

    /// Begins so many dialogues, by the ASPs in turn.
    pub(super) fn begin(&mut self, count: u64) -> anyhow::Result<()> {
        for _ in 0..count {
            self.begun += 1;
            let mut message = Vec::new();
            Writer::begin(TransactionId::of(self.begun))
                .request(CONTEXT, &[])
                .write(&mut message, |out| out.invoke(1, None, OPERATION, Some(ARGUMENT)));
            self.send(self.begun, self.begun, &message)?;
        }
        Ok(())
    }

    /// Lets so many of those that stand go on, by another ASP than began them.
    pub(super) fn go_on(&mut self, count: u64) -> anyhow::Result<()> {
        let standing = self.standing.iter().map(|(number, to)| (*number, *to));
        let first: Vec<_> = standing.take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
        for (number, to) in first {
            let mut message = Vec::new();
            Writer::go_on(TransactionId::of(number), to)
                .write(&mut message, |out| out.invoke(2, None, OPERATION, Some(ARGUMENT)));
            self.send(number, number.wrapping_add(1), &message)?;
        }
        Ok(())
    }

    /// Sends a message of a dialogue by one of the ASPs that are connected.
    fn send(&mut self, number: u32, by: u32, message: &[u8]) -> anyhow::Result<()> {
        let code = |number| PointCode::new(number).context("a point code");
        let unit = Unit {
            form: Form::Basic,
            word: Word::Data(Class { is_sequenced: true, returns: true }),
            hops: 0,
            called: Address::subsystem(None, HLR),
            calling: Address::subsystem(Some(code(CALLER)?), SMSC),
            segmentation: None,
            importance: None,
            data: message,
        };
        let mut payload = Vec::new();
        unit.write(&mut payload).context("it is short")?;
        let [.., low] = number.to_be_bytes();
        let msu = Transfer {
            network: None,
            opc: code(CALLER)?,
            dpc: code(CLUSTER)?,
            si: SERVICE_INDICATOR,
            ni: 2,
            mp: 0,
            sls: low & 15,
            payload: Bytes::from(payload),
        };
        let mut asps: Vec<&mut Asp> = self.asps.iter_mut().flatten().collect();
        let at = by as usize % asps.len().max(1);
        asps.get_mut(at).context("no node is there")?.send(msu)
    }

    /// Takes what has come.
    pub(super) fn turn(&mut self) -> anyhow::Result<()> {
        let mut came = Vec::new();
        for asp in self.asps.iter_mut().flatten() {
            came.extend(asp.hear()?);
        }
        came.iter().for_each(|msu| self.heard(&msu.payload));
        Ok(())
    }

    fn heard(&mut self, payload: &[u8]) {
        let Ok(message) = Message::read(payload) else { return };
        let Ok(Some(unit)) = Unit::of(&message) else { return };
        let Ok(it) = tcap::codec::Message::read(unit.data) else { return };
        if matches!(unit.word, Word::Service(_)) {
            // It comes back as it was sent.
            return self.over(it.otid, false);
        }
        match (it.kind, it.dtid.and_then(TransactionId::number), it.otid) {
            (MessageType::Continue, Some(number), Some(there)) => {
                self.standing.insert(number, there);
            }
            (kind, ..) => self.over(it.dtid, kind == MessageType::End),
        }
    }

    /// A dialogue is over: whether it ended, or was aborted or its message came back.
    fn over(&mut self, own: Option<TransactionId>, has_ended: bool) {
        let number = own.and_then(TransactionId::number).unwrap_or_default();
        let stood = self.standing.remove(&number).is_some();
        self.ended += u64::from(stood && has_ended);
    }
}
