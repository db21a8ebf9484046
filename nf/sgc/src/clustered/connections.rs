//! Connections of SCCP in a cluster: each is of a partition, which its local reference says, and
//! what stands is told to the standby before it is spoken.

use crate::sccp_node::SccpNode;
use cluster::{Change, Post, partition_of_reference, parts};
use m3ua::Transfer;
use machine::Time;
use sccp::codec::{ConnectionMessage, LocalReference, Message, ReleaseCause, Routing};
use sccp::{ConnectionInput, ConnectionReport, Disconnect, In, Standing};
use tcu::application_of;

impl SccpNode {
    /// Whether a message is for this node: of no connection, or of one that is served here. Else it
    /// has crossed, or waits. `hops` is how often it has crossed.
    pub(crate) fn serves_connection(&mut self, msu: &Transfer, hops: u8) -> bool {
        let Some(of) = &mut self.clustered else { return true };
        if msu.si != sccp::codec::SERVICE_INDICATOR {
            return true;
        }
        let Ok(message) = Message::read(&msu.payload) else { return true };
        let post = || Post::Connected(msu.clone());
        if let Some(reference) = message.destination_reference() {
            let partition = partition_of_reference(reference.number());
            return partition.is_none_or(|it| of.is_here(it, hops, post));
        }
        let Ok(Some(ConnectionMessage::Request(request))) = ConnectionMessage::of(&message) else {
            return true;
        };
        // Where a title leads is seen by whoever takes it.
        let subsystem = request.called.subsystem.unwrap_or_default();
        let is_known =
            request.called.routing == Routing::Title || self.services.applications.takes(subsystem);
        (is_known && of.may_begin()) || !of.give(subsystem, hops, &post())
    }

    /// A message of a connection that has crossed so often.
    pub(super) fn connection_goes_on(&mut self, msu: Transfer, hops: u8) {
        if self.serves_connection(&msu, hops) {
            self.extend_queue([In::Transfer(msu)]);
        }
    }

    /// Of messages of connections those between subsystems of this node come back; the others are
    /// to be sent.
    pub(crate) fn take_own(&mut self, mut messages: Vec<Transfer>) -> Vec<Transfer> {
        for msu in messages.extract_if(.., |it| self.is_own(it.dpc)).collect::<Vec<_>>() {
            self.connection_goes_on(msu, 0);
        }
        messages
    }

    /// Tells the standbys how connections stand in which something has just happened; what was said
    /// in them waits for that.
    pub(crate) fn tell_connections(&mut self, now: Time) {
        let Some(of) = &mut self.clustered else { return };
        let applications = &self.services.applications;
        let by = of.batches.now.by.or(self.by);
        let mut holds_any = false;
        self.node.connection_changes(now, &mut |reference, report| {
            let number = reference.number();
            let Some(partition) = partition_of_reference(number) else { return };
            let batch = &mut of.batches.now;
            batch.partitions.set(partition, true);
            match report {
                ConnectionReport::Stands { fields, holds } => {
                    if holds {
                        batch.holds.set(partition, true);
                        holds_any = true;
                    }
                    let mut record = fields.to_vec();
                    applications.write_connection(reference, &mut record);
                    of.tell(partition, Change::Connected(number, &record));
                }
                ConnectionReport::Piece(data) => of.tell(partition, Change::Piece(number, data)),
                ConnectionReport::Gone(true) => batch.disconnected.push((partition, number)),
                ConnectionReport::Gone(false) | ConnectionReport::Same => {}
            }
        });
        for (reference, msu) in self.node.take_said() {
            let partition = partition_of_reference(reference.number()).unwrap_or_default();
            of.batches.now.transfers.push((partition, msu));
            of.batches.now.by = by;
        }
        if holds_any {
            of.mark();
        }
    }

    /// Connections begin in the partitions that are served here, as its dialogues do.
    pub(super) fn connections_begin(&mut self) {
        let Some(of) = &self.clustered else { return };
        let part = |partition: u8| {
            let owner = self.transactions.owner(partition)?;
            parts(partition).nth(owner.into())
        };
        let all = of.open().iter().filter_map(part).collect();
        self.node.begin_connections_in(all);
    }

    /// A connection that another node has served, as it was told; whether somebody goes on with it.
    pub(super) fn restore_connection(
        &mut self,
        now: Time,
        number: u32,
        copy: &cluster::CopyOfConnection,
    ) -> bool {
        let of = LocalReference::truncated(number);
        let fields = &*copy.fields;
        let Ok(it) = self.node.restore_connection(now, copy.at, of, fields, &copy.came) else {
            return false;
        };
        if it.is_coupled || it.is_ending {
            return true;
        }
        let name = application_of(fields);
        match name.and_then(|name| self.services.applications.of(name)) {
            Some(end) => {
                end.restore_connection(of, it.class, it.is_there, fields);
                true
            }
            None => {
                let cause = ReleaseCause::SubsystemFailure.number();
                let what = Disconnect { cause, data: bytes::Bytes::new() };
                let input = ConnectionInput::Disconnect(of, what);
                self.extend_queue([In::Connection(input)]);
                false
            }
        }
    }

    /// Those that were restored go on.
    pub(super) fn adopt_connections(&mut self, now: Time) {
        self.services.applications.adopt_connections(now);
        self.node.resume_connections(now, &mut self.outs);
    }

    /// Connections of a partition that is served here no more: where it is handed over, the next
    /// node hears all that is known of them.
    pub(super) fn leave_connections(&mut self, now: Time, partition: u8, is_handed: bool) {
        let Some(of) = &mut self.clustered else { return };
        let applications = &self.services.applications;
        let (all, first) = (parts(partition), LocalReference::truncated(0));
        for is_whole in [true, false] {
            let mut tell = |it: Standing<'_>| {
                let mut record = it.fields.to_vec();
                applications.write_connection(it.reference, &mut record);
                let number = it.reference.number();
                let told = [Change::Connected(number, &record), Change::Piece(number, it.came)];
                for change in told {
                    match is_whole {
                        true if is_handed => of.tell(partition, change),
                        true => {}
                        // What it keeps itself does not say how far they are then.
                        false => of.keep_own(partition, change),
                    }
                }
                true
            };
            self.node.connections_standing(now, &all, first, is_whole, &mut tell);
        }
        self.node.leave_connections(&all);
        let is_of = |it: LocalReference| partition_of_reference(it.number()) == Some(partition);
        self.services.applications.leave_connections(is_of);
        self.connections_begin();
    }

    /// Tells a piece of the connections that stand in a partition, from that reference on: about so
    /// many octets, and where it goes on.
    pub(super) fn slice_of_connections(
        &mut self,
        now: Time,
        partition: u8,
        from: u32,
        room: usize,
    ) -> Option<u32> {
        let of = self.clustered.as_mut()?;
        let applications = &self.services.applications;
        let mut octets_told = 0;
        let from = LocalReference::truncated(from);
        let mut tell = |it: Standing<'_>| {
            if octets_told >= room {
                return false;
            }
            let mut record = it.fields.to_vec();
            applications.write_connection(it.reference, &mut record);
            octets_told += record.len() + it.came.len();
            let number = it.reference.number();
            of.tell(partition, Change::Connected(number, &record));
            of.tell(partition, Change::Piece(number, it.came));
            true
        };
        let next = self.node.connections_standing(now, &parts(partition), from, false, &mut tell);
        next.map(LocalReference::number)
    }
}
