//! Figures for people: the summary on the terminal and the table in `docs/PERFORMANCE.md`.

use crate::others::DISTURBED;
use crate::plan::{Section, EVS_ORIENTATION};
use crate::report::{Report, Row, Samples};
use clap::ValueEnum;

/// One line about one row.
pub fn summary(row: &Row) -> String {
    let mut text = format!("{}: {}", row.name, figure(&row.ours, &row.unit));
    if row.reference.median.is_some() {
        text += &format!(", {} {}", row.reference_name, figure(&row.reference, &row.unit));
    }
    if let Some(ratio) = row.ratio {
        text += &format!(", ratio {}", short(ratio));
    }
    if !row.goal.is_empty() {
        text += &format!("; goal {}", row.goal);
        text += match row.met {
            Some(true) => ": met",
            Some(false) => ": NOT met",
            None => "",
        };
    }
    text
}

/// The whole report as text in the table format of Markdown.
pub fn markdown(report: &Report) -> String {
    let mut text = head(report);
    for section in Section::value_variants() {
        let rows: Vec<&Row> = report.rows.iter().filter(|row| row.section == section.key()).collect();
        let Some(first) = rows.first() else { continue };
        text += &format!("\n### {}\n\n", section.title());
        text += &format!("| | evensong | {} | ratio | goal | met |\n|---|---|---|---|---|---|\n", first.reference_name);
        for row in rows {
            let met = match row.met {
                Some(true) => "yes",
                Some(false) => "**no**",
                None => "",
            };
            text += &format!(
                "| {}{} | {} | {} | {} | {} | {met} |\n",
                row.name,
                if row.disturbed > 0 { "\\*" } else { "" },
                figure(&row.ours, &row.unit),
                figure(&row.reference, &row.unit),
                row.ratio.map(short).unwrap_or_default(),
                row.goal,
            );
        }
        if *section == Section::Evs {
            let rates: Vec<String> =
                EVS_ORIENTATION.iter().map(|(size, rate)| format!("{} at {size} B", scaled(*rate))).collect();
            text += &format!(
                "\nFor orientation: corosync 1.4.10, the last release with evs, wrote {} messages a second on a machine of the same kind.\n",
                rates.join(", ")
            );
        }
        if *section == Section::Plain {
            text += &plain_deviation(report);
        }
    }
    text
}

/// How far the plain loop is from the bench's own program, on either side.
fn plain_deviation(report: &Report) -> String {
    let mut text = String::new();
    for row in report.rows.iter().filter(|row| row.section == Section::Plain.key()) {
        let same = |other: &&Row| other.section == Section::Cpg.key() && other.name == row.name;
        let Some(bench) = report.rows.iter().find(same) else { continue };
        for (side, plain, bench) in
            [("evensong", &row.ours, &bench.ours), ("corosync", &row.reference, &bench.reference)]
        {
            if let (Some(plain), Some(bench)) = (plain.median, bench.median) {
                text += &format!(
                    "\nAt {} the plain loop is {:+.1} % from cpgbench on {side}.\n",
                    row.name,
                    100.0 * (plain / bench - 1.0)
                );
            }
        }
    }
    text
}

fn head(report: &Report) -> String {
    let fact = |name: &str| report.machine.get(name).map_or("?", String::as_str);
    let mut text = format!(
        "Machine: {}, {} processors, Linux {}. Commit {}. Median of {} alternating runs of {} s{}.\n",
        fact("cpu"),
        fact("processors"),
        fact("kernel"),
        report.commit,
        report.runs,
        report.seconds_per_size,
        if report.quick { " (quick mode: orientation only)" } else { "" }
    );
    for (name, facts) in &report.daemons {
        text += &format!("{name}: {}, {}.\n", facts.version, facts.scheduling);
    }
    if !report.compared {
        text += "The original was not compared.\n";
    }
    let disturbed = report.rows.iter().filter(|row| row.disturbed > 0).count();
    if disturbed > 0 {
        text += &format!(
            "In {disturbed} of {} rows (marked *) other programs used more than {:.0} % of the processors in some run.\n",
            report.rows.len(),
            DISTURBED * 100.0
        );
    }
    for note in &report.notes {
        text += &format!("Note: {note}\n");
    }
    text
}

/// The median with its unit, and the spread where there is one.
fn figure(samples: &Samples, unit: &str) -> String {
    let Some(median) = samples.median else { return "–".to_owned() };
    let number = |value: f64| if unit == "msg/s" { scaled(value) } else { short(value) };
    let low = samples.values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = samples.values.iter().copied().fold(0.0, f64::max);
    let spread = if low < high { format!(" ({}–{})", number(low), number(high)) } else { String::new() };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    format!("{}{unit}{spread}", number(median))
}

/// 4321 as 4.32 k
fn scaled(value: f64) -> String {
    match value {
        v if v >= 999.5e3 => format!("{} M", short(v / 1e6)),
        v if v >= 999.5 => format!("{} k", short(v / 1e3)),
        v => short(v),
    }
}

/// Three digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Goal;

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(scaled(4321.0), "4.32 k");
        assert_eq!(scaled(999_900.0), "1.00 M");
        assert_eq!(scaled(62_100.0), "62.1 k");
        assert_eq!(scaled(230.4), "230");
        assert_eq!(short(0.554), "0.55");
    }

    #[test]
    fn a_row_without_comparison_is_still_a_row() {
        let mut row = Row::new("cpg", "64 B", "msg/s", "corosync");
        row.ours.push(8e6);
        row.judge(Goal::RatioAtLeast { must: 10.0, aim: 16.0 });
        let report = Report { rows: vec![row.clone()], ..Report::default() };
        assert!(markdown(&report).contains("| 64 B | 8.00 M msg/s | – |  | ratio >= 10 (aim 16) |  |"));
        row.reference.push(4e5);
        row.judge(Goal::RatioAtLeast { must: 10.0, aim: 16.0 });
        assert!(summary(&row).ends_with("ratio 20.0; goal ratio >= 10 (aim 16): met"));
    }
}
