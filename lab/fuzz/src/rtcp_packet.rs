//! Any octets as RTCP: nothing panics, no list is longer than its packet, and what names sources is
//! changed in place without changing anything else.

use rtp::rtcp::xr::Block;
use rtp::rtcp::{Compound, Form, Packet, PacketType, rewrite_sources, write_report};

pub fn run(bytes: &[u8]) {
    let strict = Compound::read(bytes, Form::Compound);
    let Ok(all) = Compound::read(bytes, Form::ReducedSize) else {
        assert!(strict.is_err(), "what is compound is of reduced size as well");
        return;
    };
    for raw in all {
        if let Ok(packet) = Packet::read(&raw) {
            read(&packet);
        }
    }
    let mut changed = bytes.to_vec();
    rewrite_sources(&mut changed, |it| !it);
    let kinds = |octets| -> Option<Vec<u8>> {
        let all = Compound::read(octets, Form::ReducedSize).ok()?;
        Some(all.map(|raw| raw.number).collect())
    };
    // What counts padding may stand where a source would be: then it is cut off.
    assert!(kinds(&changed).is_none_or(|it| Some(it) == kinds(bytes)));
}

fn read(packet: &Packet<'_>) {
    match *packet {
        Packet::Report(it) => {
            let blocks: Vec<_> = it.blocks.collect();
            let mut again = Vec::new();
            write_report(it.ssrc, it.sender.as_ref(), &blocks, &mut again);
            let raw = Compound::read(&again, Form::Compound).expect("it is one").next();
            let Some(Ok(Packet::Report(back))) = raw.map(|raw| Packet::read(&raw)) else {
                panic!("what is written can be read");
            };
            assert_eq!((back.ssrc, back.sender), (it.ssrc, it.sender));
            assert!(back.blocks.eq(blocks));
        }
        Packet::SourceDescription(it) => it.flat_map(|it| it.items).for_each(drop),
        Packet::Goodbye(it) => it.write(&mut Vec::new()),
        Packet::Application(it) => it.write(&mut Vec::new()),
        Packet::TransportFeedback(it) => {
            assert!(it.missing().count() <= 17 * it.information.len() / 4);
            it.write(PacketType::TransportFeedback, &mut Vec::new());
        }
        Packet::PayloadFeedback(it) => {
            it.picture_requests().for_each(drop);
            if let Ok(Some(remb)) = it.bitrate() {
                remb.write_information(&mut Vec::new());
            }
        }
        Packet::ExtendedReport(it) => {
            for raw in it.blocks {
                if let Ok(block) = Block::read(&raw) {
                    read_block(block);
                }
            }
        }
        Packet::Unknown(_) => {}
    }
}

fn read_block(block: Block<'_>) {
    match block {
        Block::LossRle(it) | Block::DuplicateRle(it) => {
            assert!(it.packets().count() <= usize::from(it.end.wrapping_sub(it.begin)));
        }
        Block::ReceiptTimes(it) => it.times.for_each(drop),
        Block::Dlrr(it) => it.for_each(drop),
        Block::StatisticsSummary(it) => it.write(&mut Vec::new()),
        Block::VoipMetrics(it) => it.write(&mut Vec::new()),
        Block::ReferenceTime(_) | Block::Unknown(_) => {}
    }
}
