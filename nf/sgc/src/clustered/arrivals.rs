//! Where what comes in a cluster goes: to the node that serves its dialogue, or has its connection.

use crate::config::sccp::SubsystemUser;
use crate::sccp_node::{SccpNode, source};
use crate::shards::Spread;
use cluster::{Post, aborted};
use m3ua::codec::PointCode;
use m3ua::{PeerId, Transfer};
use machine::Time;
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
        let post = || Post::Unitdata(from, unitdata.clone());
        match partition {
            Some(partition) if !of.is_here(partition, hops, post) => return,
            Some(_) => {}
            None => {
                let is_here = self.services.applications.takes(subsystem) && of.may_begin();
                if !is_here && of.give(subsystem, hops, &post()) {
                    return;
                }
                // What stands already needs what is left.
                if of.is_overrun() && Spread::is_begin(&unitdata.data) {
                    self.transactions.metrics().add(tcap::Metric::Shed, 1);
                    return self.extend_queue(aborted(&unitdata).map(In::Unitdata));
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
            let post = || Post::Notice(cause, data.clone());
            if partition.is_some_and(|it| !of.is_here(it, hops, post)) {
                return;
            }
        }
        self.services.notice(tcap::In::Notice(cause, data));
    }

    /// Another node has sent this; an MSU that is to leave here is given back.
    pub(super) fn abroad(&mut self, now: Time, from: NodeId, octets: &[u8]) -> Option<Transfer> {
        let (hops, post) = self.clustered.as_mut()?.came(from, octets)?;
        match post {
            Post::Msu(transfer) => return Some(transfer),
            Post::Management(transfer) => self.extend_queue([In::Transfer(transfer)]),
            Post::Segment(it) => {
                self.clustered.as_mut()?.segment_waits(now, &mut self.node, from, it);
            }
            Post::Reassembled(it) => {
                self.clustered.as_mut()?.reassembled(&mut self.node, from, &it);
            }
            other => self.goes_on(hops, other),
        }
        None
    }

    /// An MSU comes, which may be a segment: what waits for it at another node waits here now.
    pub(crate) fn segment_comes(
        &mut self,
        now: Time,
        from: PeerId,
        msu: &Transfer,
    ) -> Option<cluster::Segment> {
        let segment = self.clustered.as_mut()?.segment_comes(now, &self.node, from, msu)?;
        self.extend_queue(segment.before.iter().cloned().map(In::Transfer));
        Some(segment)
    }

    /// It has come: the others hear of it.
    pub(crate) fn segment_came(&mut self, segment: Option<cluster::Segment>) {
        if let (Some(segment), Some(of)) = (segment, &mut self.clustered) {
            of.segment_came(&self.node, segment);
        }
    }

    /// A post found no way: what may begin anywhere does.
    pub(super) fn returned_post(&mut self, to: NodeId, octets: &[u8], has_left: bool) {
        let of = self.clustered.as_mut();
        if let Some((hops, post)) = of.and_then(|it| it.returned(to, octets, has_left)) {
            self.goes_on(hops, post);
        }
    }

    /// A message of a dialogue or of a connection that has crossed so often.
    pub(super) fn goes_on(&mut self, hops: u8, post: Post) {
        match post {
            Post::Unitdata(from, unitdata) => self.unitdata_of(from, unitdata, hops),
            Post::Notice(cause, data) => self.notice_of(cause, data, hops),
            Post::Connected(transfer) => self.connection_goes_on(transfer, hops),
            // Nothing else is of either.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sgc;
    use bytes::Bytes;
    use runtime::Seed;
    use sccp::codec::{Address, Class, Message as Sccp, Unit};
    use tcap::codec::{MessageType, TransactionId, Writer};

    #[test]
    fn where_too_much_waits_for_standbys_no_dialogue_begins() {
        let text = "name = \"stp\"\npoint_code_format = \"decimal\"\npoint_codes = [\"9\"]\n\
                    subsystem = [{ name = \"hlr\", number = 6, user = \"tcap\" }]\n\
                    [cluster]\nnode = 1\nnodes = [{ number = 1, address = \"127.0.0.1:1\" }, \
                    { number = 2, address = \"127.0.0.2:1\" }]";
        let config: Sgc = toml::from_str(text).expect("a section");
        let seed = Seed { now: Time::ZERO, random: [7; 32], shard: 0, shards: 1 };
        let mut it = SccpNode::new(seed, &config);
        it.configure(Time::ZERO, None, &config);
        it.transactions.serve(3, 0, 9);
        let mut data = Vec::new();
        Writer::begin(TransactionId::of(5)).write(&mut data, |_| ());
        let begin = Unitdata {
            called: Address::subsystem(PointCode::new(9), 6),
            calling: Address::subsystem(PointCode::new(1), 8),
            class: Class { is_sequenced: false, returns: false },
            sls: 0,
            importance: None,
            data: Bytes::from(data),
        };
        let batches = &mut it.clustered.as_mut().expect("it is a node").batches;
        while !batches.is_full() {
            batches.now.partitions.set(3, true);
            assert!(batches.end(Vec::new()).is_none());
        }
        it.unitdata_of(PointCode::new(1), begin, 0);
        let mut wants = Vec::new();
        assert!(it.run(Time::ZERO, &mut wants));
        assert!(it.transactions.is_empty());
        let [abort] = &wants[..] else { panic!("{wants:?}") };
        let message = Sccp::read(&abort.payload).expect("it is SCCP");
        let unit = Unit::of(&message).expect("it is whole").expect("it has data");
        assert_eq!(Message::read(unit.data).map(|it| it.kind), Ok(MessageType::Abort));
    }
}
