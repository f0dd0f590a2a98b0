//! What can be set of the order of release, and of demotion.
use super::PerPriority;
use crate::domain::{Span, Tokens};

/// Who goes before whom. docs/scheduling.md has the reasons and the figures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ordering {
    /// How priorities share. Default [`Policy::Bounded`].
    pub policy: Policy,
    /// What a priority gets of the cost while all wait. Default 70, 25, 5
    /// (mission B3).
    pub weights: PerPriority<u64>,
    /// How far a priority may get ahead of a lower one's share, as the time in
    /// which the class earns as much. Default 72 and 24 s.
    pub lead: PerPriority<Span>,
    /// The part of each bucket that is left to each higher priority, in
    /// hundredths. Default 8.
    pub headroom_percent: u32,
    /// The part of each bucket that is left to tenants that used less than
    /// their share, in hundredths. Default 3.
    pub fresh_percent: u32,
    /// What a tenant may use in a round, in tokens. Default: one mean job.
    pub quantum: Option<Tokens>,
    /// What an idle tenant earns for later, in hundredths of its share of what
    /// is served meanwhile. Default 25, 66, 66.
    pub credit_percent: PerPriority<u32>,
    /// The most it can have earned, in quanta. Default 12.
    pub burst_quanta: u32,
    /// The weight of a tenant on the pro plan. Default 3 (mission B5).
    pub pro_weight: u64,
    /// How long others flow around a job too large for what is there, before
    /// tokens are saved up for it. Default 60 s.
    pub park: Span,
}

/// How priorities share what there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// The most urgent first, until it is ahead of a lower one's share by
    /// its lead.
    Bounded,
    /// Always by weight.
    Weights,
    /// By lot: critical with this probability, in hundredths, and else the
    /// others by weight (mission B3). To compare with.
    Draw {
        /// Critical's part.
        critical_percent: u32,
    },
}

/// Mission B7.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DemotionRules {
    /// So many 429s for which a tenant is to blame demote it; 0: none do.
    /// Default 5.
    pub throttles: u32,
    /// Within that time. Default 60 s.
    pub window: Span,
    /// A tenant's input a day; 0: no budget. Default 100,000 tokens.
    pub daily_input: Tokens,
    /// So much of it demotes, in hundredths. Default 150.
    pub daily_percent: u32,
    /// For so long. Default 300 s.
    pub lasts: Span,
}

impl Default for Ordering {
    fn default() -> Self {
        Self {
            policy: Policy::Bounded,
            weights: PerPriority { critical: 70, standard: 25, batch: 5 },
            lead: PerPriority {
                critical: Span::from_secs(72),
                standard: Span::from_secs(24),
                batch: Span::ZERO,
            },
            headroom_percent: 8,
            fresh_percent: 3,
            quantum: None,
            credit_percent: PerPriority { critical: 25, standard: 66, batch: 66 },
            burst_quanta: 12,
            pro_weight: 3,
            park: Span::from_secs(60),
        }
    }
}

impl Default for DemotionRules {
    fn default() -> Self {
        Self {
            throttles: 5,
            window: Span::from_secs(60),
            daily_input: Tokens::new(100_000),
            daily_percent: 150,
            lasts: Span::from_secs(300),
        }
    }
}
