//! Rounding to two decimals, half up, of a number as it is written.

/// The number rounded to two decimals. Halves go up: 90.005 becomes 90.01, −0.005 becomes 0. It is taken by its shortest decimal form, so that no
/// half is lost to the double behind it.
pub(super) fn hundredths(number: f64) -> f64 {
    let text = number.abs().to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let Some((digits, rest)) = fraction.split_at_checked(2) else { return number };
    let is_half = rest.trim_end_matches('0') == "5";
    let is_up = rest.as_bytes().first().is_some_and(|digit| *digit >= b'5') && !(is_half && number < 0.0);
    let Ok(truncated) = format!("{whole}{digits}").parse::<u128>() else { return number };
    let hundredths = truncated + u128::from(is_up);
    // The text is parsed, so the result is the double nearest to it.
    let rounded = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap_or(number);
    if number < 0.0 && rounded != 0.0 { -rounded } else { rounded }
}

#[cfg(test)]
mod tests {
    use super::hundredths;

    // language 11.4
    #[test]
    fn halves_go_up_as_they_are_written() {
        for (number, rounded) in [
            (90.004, 90.0),
            (90.005, 90.01),
            (79.995, 80.0),
            (79.994_999, 79.99),
            (9.999_999_999_999_998, 10.0),
            (1.005, 1.01),
            (2.675, 2.68),
            (0.0, 0.0),
            (95.0, 95.0),
            (99.999, 100.0),
            (-0.005, 0.0),
            (-0.006, -0.01),
            (-1.005, -1.0),
            (1e-300, 0.0),
            (1e300, 1e300),
        ] {
            assert_eq!(hundredths(number).to_bits(), f64::to_bits(rounded), "{number}");
        }
    }

    #[test]
    fn what_is_rounded_stays() {
        for n in 0..20_000_u32 {
            let number = f64::from(n) / 1000.0;
            let once = hundredths(number);
            assert_eq!(once.to_bits(), hundredths(once).to_bits());
            assert!((once - number).abs() <= 0.005_000_1, "{number} {once}");
        }
    }
}
