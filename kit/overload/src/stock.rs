//! A stock of units that work takes while it is under way, by what it costs.

/// The units of one shard.
#[derive(Debug, Default)]
pub struct Stock {
    units_max: u32,
    units: u32,
    holders: u32,
}

impl Stock {
    /// How many units there are from now on; what is taken stays taken.
    pub const fn set_max(&mut self, units_max: u32) {
        self.units_max = units_max;
    }

    /// Whether so many are left.
    #[must_use]
    pub fn has(&self, units: u16) -> bool {
        u64::from(self.units) + u64::from(units) <= u64::from(self.units_max)
    }

    /// Takes units for one more holder.
    pub fn take(&mut self, units: u16) {
        self.units += u32::from(units);
        self.holders += 1;
    }

    /// A holder gives its units back; one without units was never counted.
    pub fn give_back(&mut self, units: u16) {
        self.units = self.units.saturating_sub(units.into());
        self.holders = self.holders.saturating_sub(u32::from(units > 0));
    }

    /// Nobody holds any.
    pub const fn forget(&mut self) {
        (self.units, self.holders) = (0, 0);
    }

    /// Units at most.
    #[must_use]
    pub const fn units_max(&self) -> u32 {
        self.units_max
    }

    /// Units taken.
    #[must_use]
    pub const fn units(&self) -> u32 {
        self.units
    }

    /// How many hold some.
    #[must_use]
    pub const fn holders(&self) -> u32 {
        self.holders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_taken_until_there_are_none_and_come_back() {
        let mut stock = Stock::default();
        stock.set_max(25);
        assert!(stock.has(25) && !stock.has(26));
        stock.take(10);
        stock.take(10);
        assert!(stock.has(5) && !stock.has(6));
        stock.give_back(10);
        stock.give_back(0);
        assert_eq!((stock.units(), stock.holders(), stock.units_max()), (10, 1, 25));
        stock.forget();
        assert_eq!((stock.units(), stock.holders()), (0, 0));
    }
}
