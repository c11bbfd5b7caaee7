//! A readable difference of two texts, line by line.

/// The lines of `expected` and `actual`: `-` is missing, `+` is too much, two lines around each change.
pub fn diff(expected: &str, actual: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), actual.lines().collect());
    let lines = changes(&old, &new);
    let near = |at: usize| (at.saturating_sub(2)..=at + 2).any(|near| lines.get(near).is_some_and(|(mark, _)| *mark != ' '));
    let mut shown = String::new();
    let mut skipped = false;
    for (at, (mark, line)) in lines.iter().enumerate() {
        if near(at) {
            if skipped {
                shown.push_str("      …\n");
            }
            shown.push_str(&format!("    {mark} {line}\n"));
        }
        skipped = !near(at);
    }
    shown
}

/// All lines with what became of them, by the longest common subsequence.
fn changes<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (i, left) in old.iter().enumerate().rev() {
        for (j, right) in new.iter().enumerate().rev() {
            common[i][j] = if left == right { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown_with_two_lines_around() {
        let shown = diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n");
        assert_eq!(shown, "      …\n      3\n      4\n    - 5\n    + five\n      6\n");
    }
}
