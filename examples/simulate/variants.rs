//! Ours with one thing changed at a time: what each rule is worth.
use crate::{
    options::{Options, kind},
    reach, work,
};
use claude_pipeline::sim::trial::Scenarios;

/// The goals, as the rows, by variant.
pub(crate) fn table(scenarios: &Scenarios) -> Result<Vec<Vec<String>>, String> {
    let mut options = Options::none().or_all(scenarios)?;
    for (name, settings) in VARIANTS {
        let ours = format!("ours{}{settings}", if settings.is_empty() { "" } else { "+" });
        options.policies.push((name.to_owned(), kind(&ours, &[])?));
    }
    let results = work::run_all(&options);
    let names: Vec<String> = VARIANTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = reach::table(&results, &names);
    let told = |what: &str| what == "what" || SHOWN.iter().any(|shown| what.starts_with(shown));
    let kept = rows.into_iter().filter(|row| row.first().is_some_and(|what| told(what)));
    Ok(kept.map(|row| row.into_iter().enumerate().filter_map(shown).collect()).collect())
}

/// All but the columns that the first table has.
fn shown((column, cell): (usize, String)) -> Option<String> {
    Some(cell).filter(|_| !matches!(column, 2 | 3))
}

const VARIANTS: [(&str, &str); 8] = [
    ("ours", ""),
    ("by weight", "policy=weights"),
    ("by lot, 0.9", "policy=90"),
    ("quantum 20,000", "quantum=20000"),
    ("no headroom", "headroom=0+fresh=0"),
    ("no credit for idle tenants", "credit_critical=0+credit_standard=0+credit_batch=0"),
    ("full credit", "credit_critical=100+credit_standard=100+credit_batch=100"),
    ("no parking", "park_ms=86400000"),
];

const SHOWN: [&str; 14] = [
    "H1b",
    "H2b",
    "H2p",
    "H4",
    "H6a jobs",
    "H7",
    "S1-1.5x critical",
    "S1-1.5x completion",
    "S2-normal",
    "S3",
    "S4 Jain",
    "S5 backlog",
    "S6 ×4 util",
    "S6 ×4 refused",
];
