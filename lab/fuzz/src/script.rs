//! An input read as a script: octets, numbers and pieces, zeros when it is over.

/// What is left of an input.
pub(crate) struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self(input)
    }

    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    pub fn octet(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below 65,536.
    pub fn number(&mut self) -> usize {
        usize::from(u16::from_be_bytes([self.octet(), self.octet()]))
    }

    /// As many octets as a number says, or what is left.
    pub fn piece(&mut self) -> &'a [u8] {
        let length = self.number().min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.octet()) % of.len()]
    }
}
