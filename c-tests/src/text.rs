//! Compares what programs printed, and says where it differs.

/// Lines that differ, as a short report; none when both are equal. Lines that both have in the
/// same order are left out, but for one before each difference.
pub fn difference(expected: &str, got: &str) -> Option<String> {
    if expected == got {
        return None;
    }
    let (left, right): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), got.lines().collect());
    let common = common(&left, &right);
    let mut report = String::new();
    let (mut i, mut j) = (0, 0);
    for (a, b) in common.into_iter().chain([(left.len(), right.len())]) {
        if i < a || j < b {
            let before = i.checked_sub(1).and_then(|before| left.get(before));
            report.extend(before.map(|line| format!("  {line}\n")));
            report.extend(left[i..a].iter().map(|line| format!("- {line}\n")));
            report.extend(right[j..b].iter().map(|line| format!("+ {line}\n")));
        }
        (i, j) = (a + 1, b + 1);
    }
    Some(report)
}

/// Positions of a longest common subsequence.
fn common(left: &[&str], right: &[&str]) -> Vec<(usize, usize)> {
    let mut best = vec![vec![0_u32; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            best[i][j] = match left[i] == right[j] {
                true => best[i + 1][j + 1] + 1,
                false => best[i + 1][j].max(best[i][j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < left.len() && j < right.len() {
        if left[i] == right[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[i + 1][j] >= best[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\nc\n", "a\nx\nc\n").as_deref(), Some("  a\n- b\n+ x\n"));
        assert_eq!(difference("a\n", "a\nb\n").as_deref(), Some("  a\n+ b\n"));
    }
}
