//! Settings of our scheduler, by name.
use claude_pipeline::{
    domain::{Span, Tokens},
    scheduler::Config,
};

/// Sets one, or says why not.
pub(crate) fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let number = || value.parse::<u64>().map_err(|error| format!("{key}={value}: {error}"));
    let small = || value.parse::<u32>().map_err(|error| format!("{key}={value}: {error}"));
    match key {
        "slots" => config.slots = small()?,
        "burst_ms" => config.burst = Span::from_millis(number()?),
        "slack_ms" => config.slack = Span::from_millis(number()?),
        "attempts_high" => config.attempts_high = small()?,
        "attempts_bulk" => config.attempts_bulk = small()?,
        "output_guess" => config.output_guess = Tokens::new(number()?),
        _ => return Err(format!("no setting is called {key}")),
    }
    Ok(())
}
