use super::*;

/// Numbers that no filesystem has.
const FILESYSTEM: (u32, u32) = (4_000, 77);

#[test]
fn promises_of_others_in_the_same_filesystem_count_until_they_are_dropped() {
    let own = Promise::new(FILESYSTEM, Bytes(5)).unwrap();
    assert_eq!(own.of_others().unwrap(), Bytes(0), "its own is not another's");
    let first = Promise::new(FILESYSTEM, Bytes(100)).unwrap();
    let second = Promise::new(FILESYSTEM, Bytes(1_000)).unwrap();
    let _elsewhere = Promise::new((4_000, 7), Bytes(10_000)).unwrap();
    assert_eq!(own.of_others().unwrap(), Bytes(1_100));
    assert_eq!(first.of_others().unwrap(), Bytes(1_005));
    drop(second);
    assert_eq!(own.of_others().unwrap(), Bytes(100));
}

#[test]
fn other_sockets_are_no_promises_and_no_sum_overflows() {
    let own = Promise::new(FILESYSTEM, Bytes(0)).unwrap();
    let line = |name: &str| format!("0000000000000000: 00000002 00000000 0 0002 01 777 {name}\n");
    let table: String = [
        "@trimbench-room/4000:77/12/aa",
        "@trimbench-room/4000:77/-1/aa",
        "@trimbench-room/4000:77/12",
        "@trimbench-room/4000:770/12/aa",
        "@trimbench-roomy/4000:77/12/aa",
        "/tmp/trimbench-room/4000:77/12/aa",
        "",
    ]
    .map(line)
    .concat();
    assert_eq!(own.others_in(&table), Bytes(12));
    let all = line(&format!("@trimbench-room/4000:77/{}/aa", u64::MAX));
    assert_eq!(own.others_in(&[table, all].concat()), Bytes(u64::MAX));
}
