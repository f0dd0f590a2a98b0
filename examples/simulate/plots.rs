//! The plots of the report.
use crate::{
    canvas::{Drawn, Line, Panel, draw, page},
    reach::Seen,
    work::Results,
};
use claude_pipeline::{domain::Priority, sim::trial::Trial};

/// Draws them all into a folder.
pub(crate) fn draw_all(results: &Results<'_>, policies: &[String], folder: &str) -> Drawn {
    let plots = Plots { results, policies, folder };
    plots.latency_by_load()?;
    plots.wait_of_b()?;
    plots.fairness()?;
    plots.request_rate()
}

struct Plots<'a> {
    results: &'a Results<'a>,
    policies: &'a [String],
    folder: &'a str,
}

impl Plots<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}/{name}.svg", self.folder)
    }

    /// A line for each policy.
    fn lines(&self, points: impl Fn(Seen<'_>) -> Vec<(f64, f64)>) -> Vec<Line> {
        let seen = |policy| Seen { results: self.results, policy };
        let names = self.policies.iter().enumerate();
        names.map(|(policy, name)| Line { policy, points: points(seen(name)) }).collect()
    }

    fn latency_by_load(&self) -> Drawn {
        let path = self.path("latency-by-load");
        let title = "99th percentile of the latency, by load (H7)";
        let rest = page(&path, (1_100, 460), title, self.policies)?;
        let tiers = Priority::ALL.into_iter().zip([2.0, 6.0, 120.0]);
        for ((tier, limit), area) in tiers.zip(rest.split_evenly((1, 3))) {
            let title = format!("{tier}; dashed: its promise, {limit} s");
            let panel = Panel {
                title: &title,
                across: "load, as a share of the limit",
                up: "seconds",
                x: (0.1, 1.5),
                y: (1.0, 10_000.0),
                log: true,
                limit: Some(limit),
            };
            let lines = self.lines(|seen| {
                let load = |trial: &Trial<'_>| trial.scenario.id.trim_start_matches("H7-").parse();
                let all = seen.all("H7-");
                all.filter_map(|trial| Some((load(&trial).ok()?, trial.p99(tier)))).collect()
            });
            draw(&area, &panel, &lines)?;
        }
        Ok(rest.present()?)
    }

    fn wait_of_b(&self) -> Drawn {
        let path = self.path("wait-of-b");
        let title =
            "One job of tenant B behind 100 jobs of tenant A, at 50 requests a minute (H1b)";
        let rest = page(&path, (900, 460), title, self.policies)?;
        let panel = Panel {
            title: "200 seeds: the share of B's jobs that were done within this time",
            across: "seconds from arrival to completion",
            up: "share of jobs",
            x: (0.0, 65.0),
            y: (0.0, 1.0),
            log: false,
            limit: None,
        };
        draw(&rest, &panel, &self.lines(|seen| seen.trial("H1b").map_or_else(Vec::new, shares)))?;
        Ok(rest.present()?)
    }

    fn fairness(&self) -> Drawn {
        let path = self.path("fairness");
        let title = "Fairness over time: eight tenants, one offers half of the work (H2b)";
        let rest = page(&path, (900, 460), title, self.policies)?;
        let panel = Panel {
            title: "Jain's index of the service per weight, in windows of 120 s; 1 is even",
            across: "seconds since the start",
            up: "Jain's index",
            x: (0.0, 1_800.0),
            y: (0.0, 1.05),
            log: false,
            limit: None,
        };
        let lines = self.lines(|seen| {
            let first = |trial: Trial<'_>| {
                let runs = trial.runs.get(..1).unwrap_or_default();
                Trial { runs, ..trial }.jain_every(120.0)
            };
            seen.trial("H2b").map_or_else(Vec::new, first)
        });
        draw(&rest, &panel, &lines)?;
        Ok(rest.present()?)
    }

    fn request_rate(&self) -> Drawn {
        let path = self.path("request-rate");
        let count = u32::try_from(self.policies.len())?;
        let title = "Requests that reach the upstream in each second (H5a); dashed: 7.5, the limit";
        let rest = page(&path, (900, 80 + 130 * count), title, self.policies)?;
        let areas = rest.split_evenly((self.policies.len(), 1));
        let lines = self.lines(|seen| {
            let seconds = seen.trial("H5a").map(|trial| trial.requests_each_second());
            let seconds = seconds.unwrap_or_default().into_iter().take(120).enumerate();
            seconds.flat_map(|(n, count)| [(n as f64, count), (n as f64 + 1.0, count)]).collect()
        });
        for (line, area) in lines.into_iter().zip(areas) {
            let is_last = line.policy + 1 == self.policies.len();
            let panel = Panel {
                title: self.policies.get(line.policy).map_or("", String::as_str),
                across: if is_last { "seconds, from the 120th on" } else { "" },
                up: "requests",
                x: (0.0, 120.0),
                y: (0.0, 40.0),
                log: false,
                limit: Some(7.5),
            };
            draw(&area, &panel, &[line])?;
        }
        Ok(rest.present()?)
    }
}

/// Of B's jobs in all seeds, the lost ones included.
fn shares(trial: Trial<'_>) -> Vec<(f64, f64)> {
    let all = trial.runs.len() as f64;
    let ordered = trial.tenant("B");
    let steps = ordered.iter().enumerate();
    let steps = steps.flat_map(|(n, at)| [(*at, n as f64 / all), (*at, (n + 1) as f64 / all)]);
    [(0.0, 0.0)].into_iter().chain(steps).collect()
}
