//! Where what comes in a cluster goes: to the node that serves its dialogue, or has its connection.

use crate::config::sccp::SubsystemUser;
use crate::sccp_node::{SccpNode, source};
use crate::shards::{Transit, Work};
use m3ua::Transfer;
use m3ua::codec::PointCode;
use runtime::NodeId;
use sccp::{In, Unitdata};
use tcap::Transactions;
use tcap::codec::Message;

impl SccpNode {
    /// Data for a subsystem of TCAP, in a cluster: to the node that serves its dialogue.
    pub(crate) fn unitdata_of(&mut self, from: Option<PointCode>, unitdata: Unitdata, hops: u8) {
        let Some((SubsystemUser::Tcap, dialogues)) = self.user(&unitdata.called) else { return };
        let subsystem = unitdata.called.subsystem.unwrap_or_default();
        let Some(of) = &mut self.clustered else { return };
        let partition = {
            let message = Message::read(&unitdata.data).ok();
            message.as_ref().and_then(Transactions::partition_of)
        };
        let work = |unitdata: &Unitdata| {
            Work::Unitdata(Transit { by: None, from, place: None, unitdata: unitdata.clone() })
        };
        match partition {
            Some(partition) if !of.is_here(partition, hops, || work(&unitdata)) => return,
            Some(_) => {}
            None => {
                let is_here = self.services.applications.takes(subsystem) && of.may_begin();
                if !is_here
                    && let Some(node) = of.taker(subsystem)
                    && of.cross(node, hops, &work(&unitdata))
                {
                    return;
                }
            }
        }
        let source = source(self.by, from, &unitdata.calling);
        self.services.unitdata(dialogues, tcap::In::UnitdataOf(source, unitdata));
    }

    /// Data of a dialogue came back, in a cluster: to the node that serves it.
    pub(crate) fn notice_of(&mut self, cause: u8, data: bytes::Bytes, hops: u8) {
        if let Some(of) = &mut self.clustered {
            let message = Message::read(&data).ok();
            let partition = message.as_ref().and_then(Transactions::partition_of_sender);
            let work = || Work::Notice(cause, data.clone());
            if partition.is_some_and(|it| !of.is_here(it, hops, work)) {
                return;
            }
        }
        self.services.notice(tcap::In::Notice(cause, data));
    }

    /// Another node has sent this; an MSU that is to leave here is given back.
    pub(super) fn abroad(&mut self, from: NodeId, octets: &[u8]) -> Option<Transfer> {
        let of = self.clustered.as_mut()?;
        let read = octets.split_first().and_then(|(hops, it)| Some((*hops, Work::read(it).ok()?)));
        let Some((hops, work)) = read else {
            of.counts.malformed += 1;
            return None;
        };
        match work {
            Work::Unitdata(it) => {
                of.counts.came += 1;
                self.unitdata_of(it.from, it.unitdata, hops);
            }
            Work::Notice(cause, data) => {
                of.counts.came += 1;
                self.notice_of(cause, data, hops);
            }
            Work::Msu(transfer) => {
                of.counts.came += 1;
                return Some(transfer);
            }
            Work::Rank(subsystem, rank) => of.peers.ranked(from, subsystem, rank),
            Work::Ways(ways) => {
                of.peers.leads(from, &ways);
                of.told.has_other_ways = true;
            }
            Work::Stands(it) => of.peers.stand(from, it),
            Work::Born => of.peers.forget(from),
            Work::Management(transfer) => self.extend_queue(vec![In::Transfer(transfer)]),
            Work::Connected(transfer) => {
                of.counts.came += 1;
                self.extend_queue(vec![In::Transfer(transfer)]);
            }
            // Nothing else crosses.
            _ => of.counts.malformed += 1,
        }
        None
    }

    /// What a node did not take: it goes to who serves now.
    pub(super) fn returned_work(&mut self, to: NodeId, octets: &[u8]) {
        let Some(of) = &mut self.clustered else { return };
        let Some((hops, work)) = octets.split_first() else { return };
        match Work::read(work) {
            Ok(Work::Unitdata(Transit { from, unitdata, .. })) => {
                self.unitdata_of(from, unitdata, *hops);
            }
            Ok(Work::Notice(cause, data)) => self.notice_of(cause, data, *hops),
            Ok(Work::Rank(subsystem, _)) => of.peers.rank_returned(to, subsystem),
            Ok(Work::Ways(_)) => of.peers.ways_returned(to),
            Ok(Work::Msu(_) | Work::Connected(_)) => of.counts.unserved += 1,
            // It is said again once a second.
            _ => {}
        }
    }
}
