//! Sample mean and the interval in which it lies with 99 %.

use serde::Serialize;

/// Two-sided 99 % quantiles of Student's t distribution for 1, 2, … degrees of freedom; beyond,
/// the normal distribution's is near enough.
const T_99: [f64; 30] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012,
    2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797, 2.787, 2.779,
    2.771, 2.763, 2.756, 2.750,
];
const NORMAL_99: f64 = 2.576;

/// What a sample says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Its mean.
    pub mean: f64,
    /// The 99 % interval reaches so far to both sides; 0 when there is one value only.
    pub half_width: f64,
    /// The least value.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How many values.
    pub count: usize,
}

impl Sample {
    /// `None` without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().collect();
        let count = values.len();
        let number = count as f64;
        let mean = values.iter().sum::<f64>() / number;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = match count {
            0 => return None,
            1 => 0.0,
            _ => {
                let t = T_99.get(count - 2).copied().unwrap_or(NORMAL_99);
                t * (squares / (number - 1.0)).sqrt() / number.sqrt()
            }
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Self { mean, half_width, least, most, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_ten_values_is_that_of_student() {
        let sample = Sample::of((1..=10).map(f64::from)).unwrap();
        assert!((sample.mean - 5.5).abs() < 1e-9);
        // s = 3.02765, t(9) = 3.250: 3.250 x 3.02765 / sqrt(10)
        assert!((sample.half_width - 3.1116).abs() < 1e-3, "{sample:?}");
        assert_eq!((sample.least, sample.most, sample.count), (1.0, 10.0, 10));
        assert_eq!(Sample::of([7.0]).unwrap().half_width, 0.0);
        assert_eq!(Sample::of([]), None);
    }
}
