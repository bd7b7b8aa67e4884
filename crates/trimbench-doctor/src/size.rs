//! How sizes are shown: three digits in binary units, so that any two can be compared.

/// `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), units[unit])
}

/// Without zeros at the end of a fraction.
pub(crate) fn three_digits(value: f64) -> String {
    let text = match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => return format!("{value:.0}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_three_digits_and_a_binary_unit() {
        let shown = [0, 512, 64 << 20, 67_100_000, (2 << 40) - 512, 1_000_000_000_000].map(size);
        assert_eq!(shown, ["0 B", "512 B", "64 MiB", "64 MiB", "2 TiB", "931 GiB"]);
    }
}
