//! The throughput plot: messages a second over write size, both axes logarithmic, as one SVG file.

use crate::plan::Section;
use crate::report::{Report, Row, Samples};
use std::fmt::Write;

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;

/// A line of the plot: name, colour, points of write size and messages a second.
struct Line {
    name: &'static str,
    colour: &'static str,
    points: Vec<(f64, f64)>,
}

/// Logarithmic axes over whole decades.
struct Axes {
    x: (i32, i32),
    y: (i32, i32),
}

/// The plot; none when there is nothing to draw.
pub fn svg(report: &Report) -> Option<String> {
    let lines = [
        Line { name: "evensong", colour: "#0b6e4f", points: points(report, |row| &row.ours) },
        Line { name: "corosync", colour: "#b5462f", points: points(report, |row| &row.reference) },
    ];
    let axes = Axes {
        x: decades(lines.iter().flat_map(|line| &line.points).map(|point| point.0))?,
        y: decades(lines.iter().flat_map(|line| &line.points).map(|point| point.1))?,
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"17\">cpgbench, one node: messages a second over write size</text>\n"
    );
    draw_axes(&mut svg, &axes);
    for (number, line) in lines.iter().filter(|line| !line.points.is_empty()).enumerate() {
        draw_line(&mut svg, &axes, line, number);
    }
    svg += "</svg>\n";
    Some(svg)
}

fn points(report: &Report, side: fn(&Row) -> &Samples) -> Vec<(f64, f64)> {
    let wanted = [Section::Cpg.key(), Section::Series.key()];
    let rows = report.rows.iter().filter(|row| wanted.contains(&row.section.as_str()));
    let mut points: Vec<(f64, f64)> = rows
        .filter_map(|row| {
            let size = row.name.strip_suffix(" B")?.parse().ok()?;
            Some((size, side(row).median.filter(|rate| *rate > 0.0)?))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    // a size in both sections is drawn once
    points.dedup_by_key(|point| point.0);
    points
}

/// The whole decades around all values.
fn decades(values: impl Iterator<Item = f64>) -> Option<(i32, i32)> {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for value in values {
        low = low.min(value);
        high = high.max(value);
    }
    if high == 0.0 {
        return None;
    }
    let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    Some((low, high.max(low + 1)))
}

impl Axes {
    fn x(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.x.0)) / f64::from(self.x.1 - self.x.0);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.y.0)) / f64::from(self.y.1 - self.y.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }
}

fn draw_axes(svg: &mut String, axes: &Axes) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for decade in axes.x.0..=axes.x.1 {
        let x = axes.x(10_f64.powi(decade));
        push(svg, format_args!("<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/>"));
        push(
            svg,
            format_args!("<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>", bottom + 20.0, power(decade)),
        );
    }
    for decade in axes.y.0..=axes.y.1 {
        let y = axes.y(10_f64.powi(decade));
        push(svg, format_args!("<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#ddd\"/>"));
        push(
            svg,
            format_args!(
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                y + 4.0,
                power(decade)
            ),
        );
    }
    push(svg, format_args!("<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>"));
    let middle = (LEFT + right) / 2.0;
    push(
        svg,
        format_args!("<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">bytes per write</text>", HEIGHT - 16.0),
    );
    let middle = (TOP + bottom) / 2.0;
    push(
        svg,
        format_args!("<text transform=\"translate(20 {middle}) rotate(-90)\" text-anchor=\"middle\">messages/s</text>"),
    );
}

fn draw_line(svg: &mut String, axes: &Axes, line: &Line, number: usize) {
    let colour = line.colour;
    let path: Vec<String> = line.points.iter().map(|(x, y)| format!("{:.1},{:.1}", axes.x(*x), axes.y(*y))).collect();
    push(
        svg,
        format_args!("<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>", path.join(" ")),
    );
    for (size, rate) in &line.points {
        let (x, y) = (axes.x(*size), axes.y(*rate));
        push(
            svg,
            format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"><title>{}: {size} B, {rate:.0} msg/s</title></circle>",
                line.name
            ),
        );
    }
    let y = TOP + 18.0 + 20.0 * number as f64;
    let x = WIDTH - RIGHT - 120.0;
    push(svg, format_args!("<path d=\"M{x} {}h24\" stroke=\"{colour}\" stroke-width=\"3\"/>", y - 4.0));
    push(svg, format_args!("<text x=\"{}\" y=\"{y}\">{}</text>", x + 32.0, line.name));
}

/// 10^3 as people write it.
fn power(decade: i32) -> String {
    match decade {
        0..=2 => format!("{}", 10_i32.pow(decade as u32)),
        3..=5 => format!("{} k", 10_i32.pow(decade as u32 - 3)),
        6..=8 => format!("{} M", 10_i32.pow(decade as u32 - 6)),
        other => format!("1e{other}"),
    }
}

fn push(svg: &mut String, line: std::fmt::Arguments) {
    // writing to a String cannot fail
    writeln!(svg, "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_are_drawn_within_the_frame() {
        let mut report = Report::default();
        assert!(svg(&report).is_none());
        for (size, ours, theirs) in [(64, 8e6, 3e5), (1_000_000, 1.6e4, 230.0)] {
            let mut row = Row::new("cpg", &format!("{size} B"), "msg/s", "corosync");
            row.ours.push(ours);
            row.reference.push(theirs);
            report.rows.push(row);
        }
        let text = svg(&report).expect("a plot");
        assert_eq!(text.matches("<polyline").count(), 2);
        assert_eq!(text.matches("<circle").count(), 4);
        let axes = Axes { x: (1, 6), y: (2, 7) };
        assert!(axes.x(1e6) <= WIDTH - RIGHT && axes.y(8e6) >= TOP && axes.y(230.0) <= HEIGHT - BOTTOM);
    }
}
