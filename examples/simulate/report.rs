//! The generated part of `docs/scheduling.md`.
use crate::{options::Options, plots, reach, work};
use claude_pipeline::{
    domain::Priority,
    sim::trial::{HEADER, Trial, row, seconds},
};
use std::{error::Error, fs};

/// Runs all, and writes the tables and the plots.
pub(crate) fn write(options: &Options<'_>) -> Result<(), Box<dyn Error>> {
    let results = work::run_all(options);
    let policies: Vec<String> = options.policies.iter().map(|(name, _)| name.clone()).collect();
    let mut page = fs::read_to_string(PAGE)?;
    for (name, table) in [
        ("reach", markdown(&reach::table(&results, &policies))),
        ("headlines", headlines(&results)),
        ("loads", markdown(&loads(&results))),
        ("scenarios", scenarios(&results)),
    ] {
        page = between(&page, name, &table)?;
    }
    fs::write(PAGE, page)?;
    fs::create_dir_all(FOLDER)?;
    plots::draw_all(&results, &policies, FOLDER)
}

/// Replaces what stands between the two markers of a name.
fn between(page: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- begin {name} -->"), format!("<!-- end {name} -->"));
    let missing = || format!("{PAGE} has no {begin} … {end}");
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim_end()))
}

fn headlines(results: &work::Results<'_>) -> String {
    let mut rows = vec![vec!["scenario".to_owned()]];
    for (scenario, policies) in results.iter().filter(|(scenario, _)| scenario.figure.is_some()) {
        if scenario.id.starts_with("H7") || scenario.id.starts_with("S2") {
            continue;
        }
        let mut cells = vec![scenario.id.clone()];
        for (name, runs) in policies {
            if rows.len() == 1 {
                rows[0].push(name.clone());
            }
            cells.push(row(name, Trial { scenario, runs }).pop().unwrap_or_default());
        }
        rows.push(cells);
    }
    markdown(&rows)
}

/// The 99th percentiles, critical / standard / batch, by load.
fn loads(results: &work::Results<'_>) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["load".to_owned()]];
    for (scenario, policies) in results {
        let Some(load) = scenario.id.strip_prefix("H7-") else {
            continue;
        };
        let mut cells = vec![load.to_owned()];
        for (name, runs) in policies {
            if rows.len() == 1 {
                rows[0].push(name.clone());
            }
            let trial = Trial { scenario, runs };
            let cell = Priority::ALL.map(|tier| seconds(trial.p99(tier))).join(" / ");
            let lost: usize = Priority::ALL.iter().map(|tier| trial.lost(*tier)).sum();
            cells.push(if lost > 0 { format!("{cell} ({lost} lost)") } else { cell });
        }
        rows.push(cells);
    }
    rows
}

fn scenarios(results: &work::Results<'_>) -> String {
    let mut text = String::new();
    for (scenario, policies) in results {
        if !scenario.id.starts_with(['S', 'R']) {
            continue;
        }
        let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
        rows.extend(policies.iter().map(|(name, runs)| row(name, Trial { scenario, runs })));
        if scenario.figure.is_none() {
            rows.iter_mut().for_each(|row| drop(row.pop()));
        }
        text += &format!("**{}**: {}\n\n{}\n", scenario.id, scenario.title, markdown(&rows));
    }
    text
}

fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = rows.first().map(line).unwrap_or_default();
    text += &format!("|{}\n", "---|".repeat(rows.first().map_or(0, Vec::len)));
    text + &rows.iter().skip(1).map(line).collect::<String>()
}

const PAGE: &str = "docs/scheduling.md";
const FOLDER: &str = "docs/scheduling";
