use super::*;

#[test]
fn the_unit_decides_and_the_id_where_it_does_not() {
    let table = [
        ("stutter", "s/GB", Direction::Lower),
        ("trim-p50", "ms", Direction::Lower),
        ("steady-iops", "IOPS", Direction::Higher),
        ("chunk", "B", Direction::Higher),
        ("chunked", "s/GB", Direction::Lower),
        ("chunked-rate", "GB/s", Direction::Higher),
        ("highest-deletion-rate", "MB/s", Direction::Higher),
        ("highest-deletion-rate-chunk", "MiB", Direction::Neither),
        ("write-amplification-trimmed-25", "", Direction::Lower),
        ("gain-min-qd32-kept", "", Direction::Higher),
        ("trimmed-of-fresh", "", Direction::Higher),
        ("fragmented-of-fresh-compared", "", Direction::Higher),
        ("neighbour-blocks-lost", "blocks", Direction::Lower),
        ("edge-old-data-blocks", "blocks", Direction::Neither),
        ("trimmed-zeroes-share", "%", Direction::Neither),
        ("total-duration-diff-buffered", "%", Direction::Lower),
        ("deletion-alone-diff-unbuffered", "%", Direction::Higher),
        ("stutter-curvature", "s/GB^2", Direction::Neither),
        ("from-the-future", "parsec", Direction::Neither),
    ];
    for (id, unit, direction) in table {
        assert_eq!(super::direction(id, unit), direction, "{id}");
    }
}
