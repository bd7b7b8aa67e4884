use super::*;

fn of(rate: u64, chunk: Option<u64>, program: &str) -> String {
    let settings = of_rate(rate, chunk);
    settings.into_iter().find(|it| it.program.starts_with(program)).expect(program).text
}

#[test]
fn each_program_gets_the_rate_in_its_own_unit() {
    // 64 MB/s in pieces of 8 MiB.
    let (rate, chunk) = (64_000_000, Some(8 << 20));
    let table = [
        (
            "RocksDB",
            "NewSstFileManager: rate_bytes_per_sec = 64000000, bytes_max_delete_chunk = 8388608",
        ),
        ("MyRocks", "rocksdb_sst_mgr_rate_bytes_per_sec = 64000000"),
        ("Pebble", "DeletionPacing.BaselineRate = 64000000"),
        (
            // 8,388,608 B at 64,000,000 B/s take 131.07 ms.
            "AliSQL",
            "innodb_data_file_purge_max_size = 8, innodb_data_file_purge_interval = 132",
        ),
        // 64,000,000 B/s are 62,500 KiB/s.
        ("btrfs", "/sys/fs/btrfs/UUID/discard/: kbps_limit = 62500, max_discard_size = 8388608"),
        ("OpenZFS", "zpool trim -r 64000000 POOL"),
    ];
    assert_eq!(of_rate(rate, chunk).len(), table.len());
    for (program, expected) in table {
        assert_eq!(of(rate, chunk, program), expected);
    }
}

#[test]
fn the_default_of_alisql_is_the_rate_that_its_makers_give() {
    // 128 MiB each 100 ms are 1.34 GB/s.
    let text = of(1_342_177_280, Some(128 << 20), "AliSQL");
    assert!(
        text.ends_with("purge_max_size = 128, innodb_data_file_purge_interval = 100"),
        "{text}"
    );
}

/// No setting deletes faster than what was measured.
#[test]
fn rounding_never_makes_it_faster() {
    for rate in [1, 999, 1_025, 48_828_125, 3_333_333_333] {
        for chunk in [1_u64 << 20, 8 << 20, 64 << 20] {
            let text = of(rate, Some(chunk), "AliSQL");
            let interval: u64 = text.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(u128::from(chunk) * 1_000 <= u128::from(interval) * u128::from(rate), "{text}");
            let text = of(rate, None, "btrfs");
            let kib: u64 = text.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(kib * 1024 <= rate || kib == 1, "{text}");
        }
    }
}

#[test]
fn without_a_piece_nothing_names_one() {
    assert!(
        of_rate(1, None)
            .iter()
            .all(|it| !it.text.contains("chunk") && !it.text.contains("max_size"))
    );
}
