//! Any octets as a word to a guardian: what is read is written the same.

use guardian::Word;

pub fn run(bytes: &[u8]) {
    if let Some(word) = Word::read(bytes) {
        assert_eq!(word.write().as_deref(), Some(bytes));
    }
}
