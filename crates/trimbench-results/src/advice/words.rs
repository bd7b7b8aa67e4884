//! Numbers within sentences.

/// Smaller units of time.
const TIMES: [(&str, f64); 3] = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];

/// Three significant digits, and every digit before the point, with the unit; a time in the unit
/// that suits it.
pub(super) fn shown(value: f64, unit: &str) -> String {
    let Some((_, own)) = TIMES.iter().find(|(name, _)| *name == unit) else {
        return with_unit(value, unit);
    };
    let seconds = value * own;
    let step = TIMES.iter().find(|(_, size)| seconds.abs() >= *size);
    step.map_or_else(|| with_unit(value, unit), |(name, size)| with_unit(seconds / size, name))
}

fn with_unit(value: f64, unit: &str) -> String {
    let scientific = format!("{value:.2e}");
    let exponent = scientific.split_once('e').and_then(|(_, digits)| digits.parse::<i32>().ok());
    let decimals = exponent.map_or(0, |exponent| (2 - exponent).clamp(0, 9));
    let decimals = usize::try_from(decimals).expect("clamped");
    let mut number = format!("{value:.decimals$}");
    if number.contains('.') {
        number.truncate(number.trim_end_matches('0').trim_end_matches('.').len());
    }
    let number = if number == "-0" { "0".to_owned() } else { number };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}
