use super::{counter, fact, quantity};

const FORECAST: &str = "seed 1\n\nrecovery (quick) on /image\n  space        16MiB needed\n  \
                        writes       at most about 1.50 GB, 0.7 times the drive\n  time         \
                        about 20 s of wall time\n";

#[test]
fn forecasts_and_counters_are_read() {
    assert_eq!(fact(FORECAST, "writes").and_then(quantity), Some(1.5e9));
    assert_eq!(fact(FORECAST, "time").and_then(quantity), Some(20.0));
    assert_eq!(quantity("about 3 min of wall time"), Some(180.0));
    assert_eq!(counter("wchar: 1\nwrite_bytes: 4096", "write_bytes: "), Some(4096.0));
    assert_eq!(quantity("at most about many GB"), None);
}
