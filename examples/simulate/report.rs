//! The generated part of `docs/scheduling.md`.
use crate::{
    options::{Options, Seeds, kind},
    plots, reach, variants, work,
};
use claude_pipeline::{
    domain::Priority,
    sim::trial::{HEADER, Scenarios, Trial, figure, row, seconds},
};
use std::{error::Error, fs};

/// Runs all, and writes the tables and the plots.
pub(crate) fn write(options: &Options<'_>, scenarios: &Scenarios) -> Result<(), Box<dyn Error>> {
    let results = work::run_all(options);
    let policies: Vec<String> = options.policies.iter().map(|(name, _)| name.clone()).collect();
    let mut page = fs::read_to_string(PAGE)?;
    for (name, table) in [
        ("reach", markdown(&reached(options, &results, &policies)?)),
        ("headlines", headlines(&results)),
        ("loads", loads(&results)),
        ("scenarios", by_scenario(&results)),
        ("variants", markdown(&variants::table(scenarios)?)),
    ] {
        page = between(&page, name, &table)?;
    }
    fs::write(PAGE, page)?;
    fs::create_dir_all(FOLDER)?;
    plots::draw_all(&results, &policies, FOLDER)
}

/// The goals; ours also with seeds that nothing was tuned with.
fn reached(
    options: &Options<'_>,
    results: &work::Results<'_>,
    policies: &[String],
) -> Result<Vec<Vec<String>>, String> {
    let mut rows = reach::table(results, policies);
    let ours = vec![("ours".to_owned(), kind("ours", &[])?)];
    let fresh = Options {
        scenarios: options.scenarios.clone(),
        policies: ours,
        seeds: Seeds::Fresh(5),
        each: false,
    };
    let others = reach::table(&work::run_all(&fresh), &["ours".to_owned()]);
    for (row, other) in rows.iter_mut().zip(others) {
        let cell = other.into_iter().last().unwrap_or_default();
        row.push(if cell == "ours" { "ours, other seeds".to_owned() } else { cell });
    }
    Ok(rows)
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
    let told = results.iter().filter(|(scenario, _)| {
        scenario.figure.is_some()
            && !scenario.id.starts_with("H7")
            && !scenario.id.starts_with("S2")
    });
    let rows = told.map(|(scenario, policies)| {
        let figure = |runs| figure(Trial { scenario, runs }).unwrap_or_default();
        let cells = policies.iter().map(|(_, runs)| figure(runs));
        [scenario.id.clone()].into_iter().chain(cells).collect()
    });
    markdown(&headed("scenario", results, rows))
}

/// The 99th percentiles, critical / standard / batch, by load.
fn loads(results: &work::Results<'_>) -> String {
    let rows = results.iter().filter_map(|(scenario, policies)| {
        let load = scenario.id.strip_prefix("H7-")?.to_owned();
        let cells = policies.iter().map(|(_, runs)| load_cell(Trial { scenario, runs }));
        Some([load].into_iter().chain(cells).collect())
    });
    markdown(&headed("load", results, rows))
}

fn load_cell(trial: Trial<'_>) -> String {
    let cell = Priority::ALL.map(|tier| seconds(trial.p99(tier))).join(" / ");
    let lost: usize = Priority::ALL.iter().map(|tier| trial.lost(*tier)).sum();
    if lost > 0 { format!("{cell} ({lost} lost)") } else { cell }
}

/// The rows below a row of the policies' names.
fn headed(
    first: &str,
    results: &work::Results<'_>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Vec<Vec<String>> {
    let policies = results.first().into_iter().flat_map(|(_, policies)| policies);
    let names = policies.map(|(name, _)| name.clone());
    let head = [first.to_owned()].into_iter().chain(names).collect();
    [head].into_iter().chain(rows).collect()
}

fn by_scenario(results: &work::Results<'_>) -> String {
    let mut text = String::new();
    for (scenario, policies) in results {
        if !scenario.id.starts_with(['S', 'R']) {
            continue;
        }
        let mut rows = vec![HEADER.map(str::to_owned).to_vec()];
        rows.extend(policies.iter().map(|(name, runs)| row(name, Trial { scenario, runs })));
        if scenario.figure.is_none() {
            for row in &mut rows {
                row.pop();
            }
        }
        text.extend([
            format!("**{}**: {}\n\n", scenario.id, scenario.title),
            markdown(&rows),
            "\n".to_owned(),
        ]);
    }
    text
}

fn markdown(rows: &[Vec<String>]) -> String {
    let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(rows.first().map_or(0, Vec::len)));
    let (head, body) = rows.split_at(1.min(rows.len()));
    head.iter().map(line).chain([rule]).chain(body.iter().map(line)).collect()
}

const PAGE: &str = "docs/scheduling.md";
const FOLDER: &str = "docs/scheduling";
