//! Runs the scheduler's workloads, and other policies beside it.
//!
//! ```text
//! cargo run --release --example simulate -- list
//!                                           check
//!                                           run all --policy ours,fifo
//!                                           run H1 S1-1.5x --seeds 2 --set slack_ms=0
//!                                           reach --policy ours,ours+slack_ms=0
//!                                           run H7 --fresh 5 --policy ours,ours+slack_ms=0
//!                                           run H4 --each
//!                                           report    (writes docs/scheduling.md)
//! ```
//! A scenario is named by its id, by what ids begin with, or by `all`.
//! `--seeds n` takes the first n of the file, `--fresh n` others than those,
//! `--set key=value` sets something in every `ours`, and `--each` gives each
//! seed a row of its own.
#![allow(clippy::cast_precision_loss, reason = "counts, shown")]

mod canvas;
mod goals;
mod knobs;
mod options;
mod plots;
mod reach;
mod report;
mod variants;
mod work;

use claude_pipeline::sim::trial::{HEADER, Scenarios, Trial, Workload, row};
use options::Options;

const SCENARIOS: &str = include_str!("../../benches/scheduling/scenarios.json");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenarios = Scenarios::read(SCENARIOS)?;
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let options = Options::read(args, &scenarios)?;
    match command.as_str() {
        "list" => list(&scenarios),
        "check" => check(&scenarios)?,
        "run" if options.scenarios.is_empty() => return Err("run what? `all`, or see list".into()),
        "run" => trials(&options),
        "reach" => reached(&options.or_all(&scenarios)?),
        "report" => report::write(&options.or_all(&scenarios)?, &scenarios)?,
        _ => return Err("one of: list, check, run, reach, report".into()),
    }
    Ok(())
}

fn list(scenarios: &Scenarios) {
    for scenario in &scenarios.scenarios {
        let (seeds, jobs) = (scenario.seeds.len(), scenario.check.jobs);
        println!("{:18} {seeds:3} seeds {jobs:6} jobs  {}", scenario.id, scenario.title);
    }
}

fn check(scenarios: &Scenarios) -> Result<(), String> {
    let mut wrong = 0;
    for scenario in &scenarios.scenarios {
        let made = Workload::generate(scenario, scenario.check.seed).check();
        if made != scenario.check {
            wrong += 1;
            println!("{}: made {made:?}, not {:?}", scenario.id, scenario.check);
        }
    }
    let all = scenarios.scenarios.len();
    println!("{} of {all} workloads are as they should be", all - wrong);
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} workloads differ")) }
}

fn trials(options: &Options<'_>) {
    let results = work::run_all(options);
    for (scenario, policies) in results {
        println!("\n{}: {}", scenario.id, scenario.title);
        let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
        for (name, runs) in &policies {
            rows.push(row(name, Trial { scenario, runs }));
            for run in runs.iter().filter(|_| options.each) {
                let name = format!("  seed {}", run.workload.seed);
                rows.push(row(&name, Trial { scenario, runs: std::slice::from_ref(run) }));
            }
        }
        print_rows(&rows);
    }
}

/// `++` the aim is reached, `+` what is asked at least, `-` neither.
fn reached(options: &Options<'_>) {
    let policies: Vec<String> = options.policies.iter().map(|(name, _)| name.clone()).collect();
    print_rows(&reach::table(&work::run_all(options), &policies));
    println!("  ¹ strict priority over deficit round robin; the best otherwise has 13.8 and 2.98");
}

/// In columns.
fn print_rows(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(move |row| row.get(column)).map(|it: &String| it.chars().count())
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).max().unwrap_or(0)).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        println!("  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}
