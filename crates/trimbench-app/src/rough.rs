//! Amounts that are known roughly, in words.

use trimbench_core::{Bytes, Nanos};

/// To three digits, upwards, in decimal units as drives are sold.
pub fn rough_bytes(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    let (unit, size) = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)]
        .into_iter()
        .find(|(_, size)| value >= *size)
        .unwrap_or(("kB", 1e3));
    let scaled = value / size;
    let (digits, steps) = match scaled {
        small if small < 10.0 => (2, 100.0),
        middle if middle < 100.0 => (1, 10.0),
        _ => (0, 1.0),
    };
    format!("{:.digits$} {unit}", (scaled * steps).ceil() / steps)
}

/// A span to the second or the minute.
pub fn rough_span(span: Nanos) -> String {
    let seconds = span.0.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}
