//! Plots in one style: a title, a legend above the data, panels below it.
use plotters::{
    coord::Shift,
    prelude::{
        BLACK, ChartBuilder, Color, DrawingArea, IntoDrawingArea, IntoFont, LineSeries,
        PathElement, RGBColor, SVGBackend, Text, WHITE,
    },
};
use std::error::Error;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Drawn = Result<(), Box<dyn Error>>;

/// One line of a plot.
pub(crate) struct Line {
    pub(crate) policy: usize,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Where lines are drawn.
pub(crate) struct Panel<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: &'a str,
    pub(crate) up: &'a str,
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
    /// Whether a step up is ten times as much.
    pub(crate) log: bool,
    /// A level not to be passed, dashed.
    pub(crate) limit: Option<f64>,
}

/// A page with a title and a legend; what is left of it.
pub(crate) fn page<'a>(
    path: &'a str,
    size: (u32, u32),
    title: &str,
    policies: &[String],
) -> Result<Area<'a>, Box<dyn Error>> {
    let root = SVGBackend::new(path, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, rest) = root.split_vertically(62);
    head.draw(&Text::new(title.to_owned(), (16, 10), ("sans-serif", 20).into_font()))?;
    for (number, policy) in policies.iter().enumerate() {
        let left = 18 + 110 * i32::try_from(number)?;
        let stroke = colour(number).stroke_width(width(number));
        head.draw(&PathElement::new(vec![(left, 48), (left + 24, 48)], stroke))?;
        head.draw(&Text::new(policy.clone(), (left + 30, 40), ("sans-serif", 14).into_font()))?;
    }
    Ok(rest)
}

/// Draws a panel. Later lines go below the first.
pub(crate) fn draw(area: &Area<'_>, panel: &Panel<'_>, lines: &[Line]) -> Drawn {
    let scale = |value: f64| if panel.log { value.max(1e-3).log10() } else { value };
    let (low, high) = (scale(panel.y.0), scale(panel.y.1));
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(if panel.across.is_empty() { 22 } else { 42 })
        .y_label_area_size(56)
        .build_cartesian_2d(panel.x.0..panel.x.1, low..high)?;
    let label = |y: &f64| if panel.log { power(*y) } else { short(*y) };
    let lines_up = if panel.log { 5 } else { 6 };
    chart
        .configure_mesh()
        .x_desc(panel.across)
        .y_desc(panel.up)
        .axis_desc_style(("sans-serif", 13))
        .label_style(("sans-serif", 12))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_labels(8)
        .y_labels(lines_up)
        .x_label_formatter(&|x| short(*x))
        .y_label_formatter(&label)
        .draw()?;
    if let Some(limit) = panel.limit {
        let y = scale(limit);
        let step = (panel.x.1 - panel.x.0) / 60.0;
        for dash in 0..30 {
            let from = panel.x.0 + f64::from(dash) * 2.0 * step;
            chart.draw_series([PathElement::new(vec![(from, y), (from + step, y)], BLACK)])?;
        }
    }
    for line in lines.iter().rev() {
        let stroke = colour(line.policy).stroke_width(width(line.policy));
        let points = line.points.iter().map(|(x, y)| (*x, scale(*y).clamp(low, high)));
        chart.draw_series(LineSeries::new(points, stroke))?;
    }
    Ok(())
}

fn power(exponent: f64) -> String {
    let value = 10_f64.powf(exponent);
    match value {
        0.0..1.0 => format!("{value:.1}"),
        1.0..999.5 => format!("{value:.0}"),
        _ => format!("{:.0},{:03.0}", (value / 1_000.0).floor(), value % 1_000.0),
    }
}

fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Colours that stay apart for the colour-blind (Okabe and Ito).
fn colour(policy: usize) -> RGBColor {
    let colours = [
        RGBColor(0, 114, 178),
        RGBColor(230, 159, 0),
        RGBColor(0, 158, 115),
        RGBColor(204, 121, 167),
        RGBColor(213, 94, 0),
        RGBColor(86, 180, 233),
    ];
    colours.get(policy % colours.len()).copied().unwrap_or(BLACK)
}

/// The first is ours.
const fn width(policy: usize) -> u32 {
    if policy == 0 { 3 } else { 2 }
}
