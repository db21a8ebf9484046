//! What a neighbour that is adjacent may send, PDU by PDU, with time passing: nothing panics, the
//! database stays within its bounds, and the deadline stays ahead.

use isis::pdu::{LspFlags, PduKind, Summary, write_lsp};
use isis::{
    AreaAddress, Authentication, CircuitSettings, In, Instance, Level, Limits, LinkType, LspId,
    Out, Settings, Snpa, SystemId,
};
use machine::{Duration, Machine, Time};

const LSPS_MAX: usize = 40;

const fn snpa(end: u8) -> Snpa {
    Snpa([2, 0, 0, 0, 0, end])
}

fn instance(end: u8, link: LinkType) -> Instance {
    let limits = Limits { lsps: LSPS_MAX, lsps_of_system: 20, octets: 1 << 16, adjacencies: 4 };
    let area = AreaAddress::new(&[0x49, 0, 1]).expect("three octets");
    let settings = Settings { limits, ..Settings::new(SystemId([9, 9, 9, 9, 9, end]), area) };
    let mut made = Instance::new(settings, Time::ZERO).expect("settings that can be");
    let circuit = CircuitSettings {
        link,
        pads_hellos: false,
        addresses: vec![([10, 0, 0, end].into(), 24)],
        ..CircuitSettings::new(1, snpa(end))
    };
    made.add_circuit(circuit).expect("a circuit that can be");
    made
}

/// Hands PDUs back and forth until both are silent.
fn talk(now: Time, pair: &mut [Instance; 2], mut waiting: [Vec<Out>; 2]) {
    for _ in 0..64 {
        for from in 0..2 {
            for out in core::mem::take(&mut waiting[from]) {
                if let Out::Send { octets, .. } = out {
                    let pdu = In::Pdu { circuit: 1, source: snpa(from as u8 + 1), octets };
                    pair[1 - from].step(now, pdu, &mut waiting[1 - from]);
                }
            }
        }
    }
}

/// A fragment with any TLVs, or a PDU of another type with its length.
fn pdu(first: u8, piece: &[u8]) -> Vec<u8> {
    if first.is_multiple_of(3) {
        let mut id = [0; 8];
        id[..piece.len().min(8)].copy_from_slice(&piece[..piece.len().min(8)]);
        let lifetime_s = u16::from(first / 3) * 5;
        let id = LspId::from_octets(id);
        let summary = Summary { lifetime_s, id, sequence: u32::from(first) + 1, checksum: 0 };
        let level = if first.is_multiple_of(2) { Level::One } else { Level::Two };
        let tlvs = piece.get(8..).unwrap_or_default();
        return write_lsp(level, &summary, LspFlags::default(), tlvs, &Authentication::Null);
    }
    let kind = PduKind::ALL[usize::from(first / 3) % PduKind::ALL.len()];
    let mut octets = vec![0x83, kind.octets(), 1, 0, kind.number(), 1, 0, 0];
    octets.extend_from_slice(piece);
    octets.resize(octets.len().max(40), 0);
    let at = if kind.number() <= 17 { 17 } else { 8 };
    let length = (octets.len() as u16).to_be_bytes();
    octets[at..at + 2].copy_from_slice(&length);
    octets
}

pub fn run(octets: &[u8]) {
    let is_lan = octets.first().is_some_and(|it| it & 1 != 0);
    let link = if is_lan { LinkType::Broadcast } else { LinkType::PointToPoint };
    let mut pair = [instance(1, link), instance(2, link)];
    let mut now = Time::from_millis(1_000);
    let up = |it: &mut Instance| it.step(now, In::CircuitUp(1), &mut Vec::new());
    pair.iter_mut().for_each(up);
    for _ in 0..4 {
        let mut waiting = [Vec::new(), Vec::new()];
        for (it, out) in pair.iter_mut().zip(&mut waiting) {
            it.tick(now, out);
        }
        talk(now, &mut pair, waiting);
        now += Duration::from_secs(10);
    }
    let [mut instance, _] = pair;
    let mut rest = octets.get(1..).unwrap_or_default();
    while let Some((&[first, length], more)) = rest.split_first_chunk::<2>() {
        let (piece, more) = more.split_at(more.len().min(usize::from(length)));
        rest = more;
        let mut out = Vec::new();
        let pdu = In::Pdu { circuit: 1, source: snpa(2), octets: pdu(first, piece) };
        instance.step(now, pdu, &mut out);
        now += Duration::from_millis(u64::from(first) * 10);
        instance.tick(now, &mut out);
        assert!(instance.deadline().is_none_or(|at| at > now));
        // What it says itself is not counted against the bound.
        let all = Level::ALL.map(|level| instance.database(level, now).len());
        assert!(all.iter().all(|count| *count <= LSPS_MAX + 8), "{all:?}");
    }
}
