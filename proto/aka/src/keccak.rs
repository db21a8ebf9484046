//! The permutation Keccak-f\[1600\] (FIPS 202 §3.3).

/// Octets of the state.
pub(crate) const STATE: usize = 200;

/// What is added to the first lane, round by round (§3.2.5).
const ROUND: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// ρ and π: where the lanes go, one after the other from the second one on, and by how much they
/// turn.
const WAY: [(usize, u32); 24] = [
    (10, 1),
    (7, 3),
    (11, 6),
    (17, 10),
    (18, 15),
    (3, 21),
    (5, 28),
    (16, 36),
    (8, 45),
    (21, 55),
    (24, 2),
    (4, 14),
    (15, 27),
    (23, 41),
    (19, 56),
    (13, 8),
    (12, 25),
    (2, 43),
    (20, 62),
    (14, 18),
    (22, 39),
    (9, 61),
    (6, 20),
    (1, 44),
];

/// Permutes the state, whose lanes stand in it from the low octet on.
pub(crate) fn permute(state: &mut [u8; STATE]) {
    let mut lanes = [0; 25];
    for (lane, octets) in lanes.iter_mut().zip(state.as_chunks().0) {
        *lane = u64::from_le_bytes(*octets);
    }
    for constant in ROUND {
        round(&mut lanes, constant);
    }
    for (octets, lane) in state.as_chunks_mut().0.iter_mut().zip(&mut lanes) {
        *octets = lane.to_le_bytes();
        *lane = 0;
    }
}

fn round(lanes: &mut [u64; 25], constant: u64) {
    // θ
    let columns: [u64; 5] =
        core::array::from_fn(|x| (0..5).fold(0, |sum, y| sum ^ lanes[x + 5 * y]));
    for (at, lane) in lanes.iter_mut().enumerate() {
        let x = at % 5;
        *lane ^= columns[(x + 4) % 5] ^ columns[(x + 1) % 5].rotate_left(1);
    }
    // ρ and π
    let mut lane = lanes[1];
    for (to, by) in WAY {
        let turned = lane.rotate_left(by);
        lane = core::mem::replace(&mut lanes[to], turned);
    }
    // χ
    for row in lanes.as_chunks_mut::<5>().0 {
        let before = *row;
        for (x, lane) in row.iter_mut().enumerate() {
            *lane ^= !before[(x + 1) % 5] & before[(x + 2) % 5];
        }
    }
    // ι
    lanes[0] ^= constant;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_zeros_becomes_that_of_the_authors() {
        let mut state = [0; STATE];
        permute(&mut state);
        assert_eq!(state[..8], 0xf125_8f79_40e1_dde7_u64.to_le_bytes());
        assert_eq!(state[192..], 0xeaf1_ff7b_5cec_a249_u64.to_le_bytes());
        permute(&mut state);
        assert_eq!(state[..8], 0x2d5c_954d_f96e_cb3c_u64.to_le_bytes());
    }
}
