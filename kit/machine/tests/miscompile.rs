//! Catches the loss of the compiler switch in `.cargo/config.toml` (rust-lang/rust#158206):
//! without it, an addition of a comparison's result that is also branched on is dropped from
//! opt-level 2 on, which this crate has in tests too (`Cargo.toml` of the workspace).

const COMMA: u8 = b',';

struct Scan {
    commas: usize,
    spans: Vec<usize>,
}

impl Scan {
    #[inline(never)]
    fn byte(&mut self, at: usize, byte: u8) {
        let comma = byte == COMMA;
        self.commas += comma as usize;
        if comma {
            self.spans.push(at);
        }
    }

    #[inline(never)]
    fn byte_from(&mut self, at: usize, byte: u8) {
        let comma = byte == COMMA;
        self.commas += usize::from(comma);
        if comma {
            self.spans.push(at);
        }
    }
}

#[test]
fn a_counted_comparison_is_counted_even_when_it_is_branched_on() {
    let text = std::hint::black_box(b"a,b,,c,");
    for scan_byte in [Scan::byte as fn(&mut Scan, usize, u8), Scan::byte_from] {
        let mut scan = Scan { commas: 0, spans: Vec::new() };
        for (at, &byte) in text.iter().enumerate() {
            scan_byte(&mut scan, at, byte);
        }
        assert_eq!(scan.commas, 4, "the compiler lost the addition: see .cargo/config.toml");
        assert_eq!(scan.spans, [1, 3, 4, 6]);
    }
}
