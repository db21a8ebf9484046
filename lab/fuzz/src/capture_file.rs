//! Any bytes as a capture file: nothing panics, and no payload is larger than the file could hold.

pub fn run(bytes: &[u8]) {
    for read in [pcap::read, pcap::signalling] {
        for payload in read(bytes).unwrap_or_default() {
            assert!(payload.bytes.len() <= bytes.len(), "octets of nobody");
        }
    }
}
