//! The report: rows of samples, their medians and ratios, what is missing, and its JSON form.

use crate::plan::Goal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything one session found out.
#[derive(Serialize, Deserialize, Default)]
pub struct Report {
    /// changes when a field changes its meaning
    pub format: u32,
    /// seconds since 1970
    pub time: u64,
    pub commit: String,
    pub machine: BTreeMap<String, String>,
    pub runs: usize,
    pub seconds_per_size: f64,
    pub quick: bool,
    /// true when the original ran beside ours
    pub compared: bool,
    /// why not, or what went wrong
    pub notes: Vec<String>,
    pub daemons: BTreeMap<String, Facts>,
    pub rows: Vec<Row>,
}

/// What is known about a daemon.
#[derive(Serialize, Deserialize, Default, Clone)]
pub struct Facts {
    pub version: String,
    pub scheduling: String,
    pub library: String,
}

/// One line of the table.
#[derive(Serialize, Deserialize, Clone)]
pub struct Row {
    pub section: String,
    pub name: String,
    pub unit: String,
    pub ours: Samples,
    pub reference: Samples,
    /// what the reference is: `corosync`, or another program on our side
    pub reference_name: String,
    /// ours divided by the reference, medians
    pub ratio: Option<f64>,
    pub goal: String,
    /// none: no goal, or it cannot be judged
    pub met: Option<bool>,
    /// runs in which other programs used much of the machine
    #[serde(default)]
    pub disturbed: usize,
}

/// Results of the alternating runs, in their order.
#[derive(Serialize, Deserialize, Clone, Default)]
pub struct Samples {
    pub values: Vec<f64>,
    pub median: Option<f64>,
}

impl Samples {
    /// Adds one result.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        self.median =
            Some(if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 });
    }
}

impl Row {
    /// An empty row.
    pub fn new(section: &str, name: &str, unit: &str, reference_name: &str) -> Row {
        Row {
            section: section.to_owned(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            ours: Samples::default(),
            reference: Samples::default(),
            reference_name: reference_name.to_owned(),
            ratio: None,
            goal: String::new(),
            met: None,
            disturbed: 0,
        }
    }

    /// Works out ratio and verdict once all samples are in.
    pub fn judge(&mut self, goal: Goal) {
        self.ratio = match (self.ours.median, self.reference.median) {
            (Some(ours), Some(reference)) if reference > 0.0 => Some(ours / reference),
            _ => None,
        };
        (self.goal, self.met) = match goal {
            Goal::None => (String::new(), None),
            Goal::RatioAtLeast { must, aim } => (format!("ratio >= {must} (aim {aim})"), self.ratio.map(|r| r >= must)),
            Goal::RatioAtMost { must, aim } => (format!("ratio <= {must} (aim {aim})"), self.ratio.map(|r| r <= must)),
            Goal::ValueAtLeast(must) => (format!(">= {must}"), self.ours.median.map(|v| v >= must)),
            Goal::ValueAtMost(must) => (format!("<= {must}"), self.ours.median.map(|v| v <= must)),
        };
    }
}

impl Report {
    /// What a complete comparison would have and this report lacks. `planned`: section and name
    /// of each row that was asked for.
    pub fn missing(&self, planned: &[(&str, String)]) -> Vec<String> {
        let mut missing = Vec::new();
        for (section, name) in planned {
            if !self.rows.iter().any(|row| row.section == *section && row.name == *name) {
                missing.push(format!("{section} {name}: the row"));
            }
        }
        if !self.compared {
            missing.push("the comparison with the original".to_owned());
        }
        if self.rows.is_empty() {
            missing.push("every row".to_owned());
        }
        for row in &self.rows {
            if row.ours.median.is_none() {
                missing.push(format!("{} {}: our figure", row.section, row.name));
            }
            // a reference of nothing (no wake-up, no byte grown) has a figure but no ratio
            if row.ratio.is_none() && row.reference.median != Some(0.0) {
                missing.push(format!("{} {}: the ratio to {}", row.section, row.name, row.reference_name));
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], reference: &[f64], goal: Goal) -> Row {
        let mut row = Row::new("cpg", "64 B", "msg/s", "corosync");
        ours.iter().for_each(|v| row.ours.push(*v));
        reference.iter().for_each(|v| row.reference.push(*v));
        row.judge(goal);
        row
    }

    #[test]
    fn medians_and_ratios() {
        let row = row(&[30.0, 10.0, 20.0], &[2.0, 4.0], Goal::RatioAtLeast { must: 6.0, aim: 9.0 });
        assert_eq!(row.ours.median, Some(20.0));
        assert_eq!(row.reference.median, Some(3.0));
        assert_eq!(row.met, Some(true));
    }

    #[test]
    fn an_absent_comparison_or_ratio_is_missing_and_a_low_ratio_is_not() {
        let goal = Goal::RatioAtLeast { must: 6.0, aim: 9.0 };
        let mut report = Report { compared: true, rows: vec![row(&[1.0], &[5.0], goal)], ..Report::default() };
        let planned = [("cpg", "64 B".to_owned())];
        assert!(report.missing(&planned).is_empty());
        assert_eq!(report.missing(&[("plain", "64 B".to_owned())]).len(), 1);
        report.rows.push(row(&[1.0], &[], goal));
        assert_eq!(report.missing(&planned).len(), 1);
        report.compared = false;
        assert_eq!(report.missing(&planned).len(), 2);
        assert!(!Report { compared: true, ..Report::default() }.missing(&[]).is_empty());
    }
}
