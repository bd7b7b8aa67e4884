use super::{TRIPS, read};
use crate::acceptance::planted::{Planted, failing};

/// Our account of a trace with these commands and bytes of each kind.
fn account(counts: [(u64, u64); 4], long: u64) -> String {
    let kinds = ["read", "write", "trim", "flush"].into_iter().zip(counts);
    let kinds = kinds.map(|(kind, (commands, bytes))| {
        serde_json::json!({
            "kind": kind,
            "commands": commands,
            "bytes": bytes,
            "sizes_bytes": [
                { "from": 4096, "count": 5 },
                { "from": 4_294_967_296_u64, "count": if kind == "trim" { long } else { 0 } },
            ],
        })
    });
    serde_json::json!({ "kinds": kinds.collect::<Vec<_>>() }).to_string()
}

const BLKPARSE: &str = "  7,0    1        0     0.000000000  6310  Q FWS [(null)]
  7,0    0        0     0.000000001  6310  Q  RA 0 + 8 [dd]
  7,0    0        0     0.000000002  6310  G  RA 0 + 8 [dd]
  7,0    0        0     0.000000003  6310  Q FWFSM 8 + 16 [dd]
  7,0    0        0     0.000000004  6310  Q  DS 8 + 2048 [blkdiscard]
  7,0    0        0     0.000000005  6310  D  DS 8 + 2048 [blkdiscard]
CPU0 (7,0):
 Reads Queued:           1,        4KiB	 Writes Queued:           3,     1032KiB
";

/// Raw output in which everything holds, but for what `change` replaces in one of its files.
fn planted((file, from, to): (&str, &str, &str)) -> Planted {
    let planted = Planted::new();
    let put = |name: &str, text: &str| {
        let text = if name == file { text.replacen(from, to, 1) } else { text.to_owned() };
        // An exit code is planted as a text of digits alone.
        let status = text.parse().unwrap_or(0);
        planted.capture(name, status, &text);
    };
    put("blkparse", BLKPARSE);
    put("recorded-stat", &account([(1, 4096), (1, 8192), (1, 1 << 20), (1, 0)], 0));
    put("made-stat", &account([(1, 1), (2, 2), (3, 3), (4, 0)], 50));
    let fio = |counts: [u64; 4]| {
        let [read, write, trim, sync] = counts.map(|it| serde_json::json!({ "total_ios": it }));
        let job = serde_json::json!({ "read": read, "write": write, "trim": trim, "sync": sync });
        format!("fio: a word before\n{}", serde_json::json!({ "jobs": [job] }))
    };
    put("fio-mixed", &fio([10, 20, 0, 3]));
    put("fio-trims", &fio([0, 15, 16, 0]));
    put("fio-replay", &fio([10, 20, 0, 3]));
    put("ours-mixed-stat", &account([(10, 1), (20, 1), (0, 0), (3, 0)], 0));
    put("ours-trims-stat", &account([(0, 0), (15, 1), (16, 1), (0, 0)], 0));
    for (from, through) in TRIPS {
        put(&format!("{from}-{through}-compare"), "0");
    }
    put(
        "fuzz",
        "{\"executions\": 200000, \"refused\": 150000, \"records\": 9, \"whole\": 50000, \
         \"slowest_seconds\": 0.1, \"violations\": 0, \"memory_kib\": 90000}",
    );
    planted
}

#[test]
fn what_holds_holds() {
    let findings = read(&planted(("", "", "")).raw()).unwrap();
    assert_eq!(failing(&findings), Vec::<&str>::new());
    assert_eq!(findings.len(), 8 + 8 + TRIPS.len() + 1 + 3);
}

#[test]
fn each_figure_can_miss_its_bar() {
    for (change, what) in [
        (("blkparse", "Q FWS", "Q WS"), "recorded: flushs, commands"),
        (("blkparse", "Q  RA 0 + 8", "Q  RA 0 + 16"), "recorded: reads, bytes"),
        (("blkparse", "Q  DS", "C  DS"), "recorded: trims, commands"),
        (("recorded-stat", "8192", "8704"), "recorded: writes, bytes"),
        (("fio-mixed", "20", "21"), "fio-mixed: writes"),
        (("fio-mixed", "3", "4"), "fio-mixed: flushs"),
        (("fio-trims", "16", "17"), "fio-trims: trims"),
        (("fio-replay", "10", "11"), "fio-replay: reads"),
        (("made-blkparse-compare", "0", "1"), "made trace through `blkparse`"),
        (("made-stat", "50", "0"), "TRIMs of more than 4 GiB"),
        (("fuzz", "200000", "199999"), "damaged files and garbage"),
        (("fuzz", "\"violations\": 0", "\"violations\": 1"), "panics, hangs"),
        (("fuzz", "90000", "9000000"), "memory"),
    ] {
        let findings = read(&planted(change).raw()).unwrap();
        let failing = failing(&findings);
        let named = failing.iter().any(|failed| failed.starts_with(what));
        assert!(named, "{change:?}: {failing:?}");
    }
}
