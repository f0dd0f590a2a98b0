//! Numbers from a seed, by public recipes, so that the same workload can be
//! made anywhere: `SplitMix64`, FNV-1a and the distributions on top of them.
use crate::sim::chance::{GOLDEN, mix};
use std::f64::consts::TAU;

/// A `SplitMix64` stream.
#[derive(Clone, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The stream that a text names.
    #[must_use]
    pub fn named(text: &str) -> Self {
        Self(fnv1a64(text))
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        let drawn = mix64(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        drawn
    }

    /// Uniform in 0..1.
    pub fn uniform(&mut self) -> f64 {
        unit(self.draw())
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Log-normal with this mean, and this deviation of the logarithm.
    pub fn lognormal(&mut self, mean: f64, sigma: f64) -> f64 {
        let normal = (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (TAU * self.uniform()).cos();
        mean * (sigma * normal - sigma * sigma / 2.0).exp()
    }
}

/// One `SplitMix64` step on this state.
#[must_use]
pub const fn mix64(state: u64) -> u64 {
    mix(state.wrapping_add(GOLDEN))
}

/// The top 53 bits as a fraction of 1.
#[must_use]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (-53_f64).exp2()
}

/// FNV-1a, 64 bits.
#[must_use]
pub fn fnv1a64(text: &str) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}
