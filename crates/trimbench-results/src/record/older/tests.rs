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

#[test]
fn ids_and_titles_say_where_a_figure_stands() {
    let table = [
        (
            "policy",
            "p99.9-under-ext4-4.13",
            "p99.9, under ext4-4.13",
            "measure=p99.9;policy=ext4-4.13",
        ),
        ("policy", "policy-over-none", "that, over the p99.9 under `none`", ""),
        (
            "postmark",
            "sync-diff-buffered",
            "sync, DIFF buffered",
            "measure=sync;side=diff;buffering=buffered",
        ),
        ("postmark", "sync", "sync after the end", ""),
        (
            "settle",
            "settling-trimmed-50-written-0",
            "settling time, 50 % trimmed, 0 % written before",
            "measure=settling;trimmed=50;written=0",
        ),
        ("delete-stall", "largest-delay", "delay A, 4GB deleted", "measure=largest-delay;size=4GB"),
        (
            "delete-stall",
            "weighted-p99.9-placebo",
            "",
            "measure=response;after=placebo;quantile=p99.9;view=time",
        ),
        ("delete-stall", "response-max", "worst response", ""),
        (
            "steady-state",
            "latency-p50-trimmed-25",
            "latency, 25 % trimmed, p50",
            "measure=latency;trimmed=25;quantile=p50",
        ),
        ("steady-state", "aged-iops", "IOPS, 5 rounds after", ""),
        (
            "latency-under-load",
            "at-30000-per-s-trim-p99-trim-10",
            "",
            "measure=trim;rate=30000-per-s;beside=10;quantile=p99",
        ),
        (
            "latency-under-load",
            "at-50-percent-trim-max",
            "",
            "measure=trim-max;rate=50-percent;beside=0",
        ),
        (
            "recovery",
            "fragmented-of-fresh-compared",
            "",
            "measure=throughput;state=fragmented;data=compared;over=fresh",
        ),
        ("recovery", "flattered-by", "fragmented, with other data over without", ""),
        ("replay", "gain-min-qd1-kept", "least, qd1", "measure=gain-min;pace=qd1;trims=kept"),
        ("from-the-future", "p99-under-load", "p99, under load", ""),
    ];
    for (method, id, title, expected) in table {
        let found = coordinates::coordinates(method, id, title).unwrap_or_default();
        assert_eq!(found.to_string(), expected, "{id}");
    }
}
