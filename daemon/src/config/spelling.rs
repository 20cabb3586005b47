//! The nearest known spelling of a misspelt word.

/// Number of single-character edits (insert, delete, replace, swap of neighbours) from `a` to
/// `b`.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replace = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (table[(i - 1) * width + j] + 1)
                    .min(table[i * width + j - 1] + 1)
                    .min(table[(i - 1) * width + j - 1] + replace);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(table[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    table[a.len() * width + b.len()]
}

/// Words longer than this are not compared: no known word is.
const WORD_MAX: usize = 64;

/// The candidate that `word` most likely was meant to be; `None` when all are too far off.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > WORD_MAX {
        return None;
    }
    let word = word.to_ascii_lowercase();
    let allowed = (word.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (distance(word.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["token", "totem", "two_node", "quorum", "join"];
        assert_eq!(nearest("tokenn", known), Some("token"));
        assert_eq!(nearest("two_nodes", known), Some("two_node"));
        assert_eq!(nearest("quorm", known), Some("quorum"));
        assert_eq!(nearest("Token", known), Some("token"));
        assert_eq!(nearest("jion", known), Some("join"));
        assert_eq!(nearest("bindnetaddr", known), None);
        assert_eq!(nearest("", known), None);
    }
}
