//! What the command line asks for.
use super::knobs;
use claude_pipeline::{
    scheduler::Config,
    sim::trial::{Kind, Scenario, Scenarios, Tune},
};

/// What to run.
pub(crate) struct Options<'a> {
    pub(crate) scenarios: Vec<&'a Scenario>,
    /// By the name in the tables.
    pub(crate) policies: Vec<(String, Kind)>,
    pub(crate) seeds: Seeds,
    /// Whether each seed has a row of its own.
    pub(crate) each: bool,
}

/// Which seeds to run.
#[derive(Clone, Copy)]
pub(crate) enum Seeds {
    /// The first of the file's.
    File(usize),
    /// So many that are not in the file.
    Fresh(u64),
}

impl<'a> Options<'a> {
    pub(crate) fn read(
        mut args: impl Iterator<Item = String>,
        scenarios: &'a Scenarios,
    ) -> Result<Self, String> {
        let mut options = Self::none();
        let mut policies = "ours,fifo,strict,literal,intended".to_owned();
        let mut settings = Vec::new();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--policy" => policies = value()?,
                "--seeds" => options.seeds = Seeds::File(number(&value()?)?),
                "--fresh" => options.seeds = Seeds::Fresh(number(&value()?)?),
                "--each" => options.each = true,
                "--set" => settings.push(value()?),
                name => options.add(name, scenarios)?,
            }
        }
        for name in policies.split(',') {
            options.policies.push((name.to_owned(), kind(name, &settings)?));
        }
        Ok(options)
    }

    /// Nothing to run yet.
    pub(crate) const fn none() -> Self {
        let seeds = Seeds::File(usize::MAX);
        Self { scenarios: Vec::new(), policies: Vec::new(), seeds, each: false }
    }

    /// All scenarios, if none is named.
    pub(crate) fn or_all(mut self, scenarios: &'a Scenarios) -> Result<Self, String> {
        if self.scenarios.is_empty() {
            self.add("all", scenarios)?;
        }
        Ok(self)
    }

    fn add(&mut self, name: &str, scenarios: &'a Scenarios) -> Result<(), String> {
        let all = &scenarios.scenarios;
        let exact = scenarios.find(name).map(|one| vec![one]);
        let found = exact.unwrap_or_else(|| {
            all.iter().filter(|it| name == "all" || it.id.starts_with(name)).collect()
        });
        if found.is_empty() {
            return Err(format!("no scenario is called {name}"));
        }
        self.scenarios.extend(found);
        Ok(())
    }
}

impl Seeds {
    pub(crate) fn of(self, scenario: &Scenario) -> Vec<u64> {
        match self {
            Self::File(count) => scenario.seeds.iter().copied().take(count).collect(),
            Self::Fresh(count) => (FRESH..FRESH + count).collect(),
        }
    }
}

/// `ours+key=value+key=value`, or another policy's name.
pub(crate) fn kind(name: &str, settings: &[String]) -> Result<Kind, String> {
    let mut parts = name.split('+');
    let kind = match parts.next().unwrap_or_default() {
        "ours" => {
            let all = settings.iter().map(String::as_str).chain(parts);
            let all: Vec<(String, String)> = all.map(pair).collect::<Result<_, _>>()?;
            for (key, value) in &all {
                knobs::set(&mut Config::default(), key, value)?;
            }
            Kind::Ours(Tune::new(move |config| {
                for (key, value) in &all {
                    let _checked = knobs::set(config, key, value);
                }
            }))
        }
        "fifo" => Kind::Fifo,
        "strict" => Kind::Strict,
        "literal" => Kind::Literal,
        "intended" => Kind::Intended,
        other => return Err(format!("no policy is called {other}")),
    };
    Ok(kind)
}

fn pair(setting: &str) -> Result<(String, String), String> {
    let (key, value) = setting.split_once('=').ok_or(format!("{setting} is not key=value"))?;
    Ok((key.to_owned(), value.to_owned()))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

const FRESH: u64 = 1_001;
