//! Settings of our scheduler, by name.
use claude_pipeline::{
    domain::{Span, Tokens},
    scheduler::{Config, Policy},
};
use std::str::FromStr;

/// Sets one, or says why not.
pub(crate) fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let known = of_budgets(config, key, value)? || of_order(config, key, value)?;
    if known { Ok(()) } else { Err(format!("no setting is called {key}")) }
}

fn of_budgets(config: &mut Config, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "slots" => config.slots = read(value)?,
        "burst_ms" => config.burst = millis(value)?,
        "slack_ms" => config.slack = millis(value)?,
        "attempts_high" => config.attempts_high = read(value)?,
        "attempts_bulk" => config.attempts_bulk = read(value)?,
        "output_guess" => config.output_guess = tokens(value)?,
        "outage_after" => config.outage_after = read(value)?,
        "demote_throttles" => config.demotion.throttles = read(value)?,
        "demote_ms" => config.demotion.lasts = millis(value)?,
        "daily_input" => config.demotion.daily_input = tokens(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn of_order(config: &mut Config, key: &str, value: &str) -> Result<bool, String> {
    let order = &mut config.order;
    match key {
        "policy" => order.policy = policy(value)?,
        "weight_critical" => order.weights.critical = read(value)?,
        "weight_standard" => order.weights.standard = read(value)?,
        "weight_batch" => order.weights.batch = read(value)?,
        "lead_critical_ms" => order.lead.critical = millis(value)?,
        "lead_standard_ms" => order.lead.standard = millis(value)?,
        "headroom" => order.headroom_percent = read(value)?,
        "fresh" => order.fresh_percent = read(value)?,
        "quantum" => order.quantum = if value == "mean" { None } else { Some(tokens(value)?) },
        "credit_critical" => order.credit_percent.critical = read(value)?,
        "credit_standard" => order.credit_percent.standard = read(value)?,
        "credit_batch" => order.credit_percent.batch = read(value)?,
        "burst_quanta" => order.burst_quanta = read(value)?,
        "pro_weight" => order.pro_weight = read(value)?,
        "park_ms" => order.park = millis(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// `bounded`, `weights`, or the percentage of critical's draws.
fn policy(value: &str) -> Result<Policy, String> {
    Ok(match value {
        "bounded" => Policy::Bounded,
        "weights" => Policy::Weights,
        percent => Policy::Draw { critical_percent: read(percent)? },
    })
}

fn millis(value: &str) -> Result<Span, String> {
    read(value).map(Span::from_millis)
}

fn tokens(value: &str) -> Result<Tokens, String> {
    read(value).map(Tokens::new)
}

fn read<T: FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{value} is not a number that fits"))
}
