use std::os::unix::net::UnixDatagram;

use super::*;

/// Numbers that no filesystem has.
const FILESYSTEM: (u32, u32) = (4_000, 77);

#[test]
fn promises_of_others_in_the_same_filesystem_count_until_they_are_dropped() {
    let own = RoomPromise::new(FILESYSTEM, Bytes(5)).unwrap();
    let respected = |promise: &RoomPromise| promise.of_others().unwrap().respected;
    assert_eq!(respected(&own), Bytes(0), "its own is not another's");
    let first = RoomPromise::new(FILESYSTEM, Bytes(100)).unwrap();
    let second = RoomPromise::new(FILESYSTEM, Bytes(1_000)).unwrap();
    let _elsewhere = RoomPromise::new((4_000, 7), Bytes(10_000)).unwrap();
    assert_eq!(respected(&own), Bytes(1_100));
    assert_eq!(respected(&first), Bytes(1_005));
    drop(second);
    assert_eq!(respected(&own), Bytes(100));
}

#[test]
fn a_name_whose_owner_is_another_user_or_unknown_blocks_nobody() {
    let own = RoomPromise::new((4_000, 78), Bytes(0)).unwrap();
    // Nobody listens at a socket for datagrams, so nobody can be asked who it is.
    let name = format!("{PREFIX}/4000:78/{}/aa", u64::MAX);
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _socket = UnixDatagram::bind_addr(&address).unwrap();
    assert_eq!(own.of_others().unwrap(), PromisedRoom::default());
    let line = "0000000000000000: 2 00000000 00010000 0001 01 777 @trimbench-room/4000:78/12/aa\n";
    let user = rustix::process::geteuid().as_raw();
    for (owner, respected) in [(Some(0), 12), (Some(user), 12), (Some(user + 1), 0), (None, 0)] {
        let found = own.others_in(line, |_| owner);
        assert_eq!((found.respected.0, found.claimed.0), (respected, 12 - respected), "{owner:?}");
    }
}

#[test]
fn other_sockets_are_no_promises_and_no_sum_overflows() {
    let own = RoomPromise::new(FILESYSTEM, Bytes(0)).unwrap();
    let line = |name: &str| format!("0000000000000000: 2 00000000 00010000 0001 01 777 {name}\n");
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
    let respected = |table: &str| own.others_in(table, |_| Some(0)).respected;
    assert_eq!(respected(&table), Bytes(12));
    let all = line(&format!("@trimbench-room/4000:77/{}/aa", u64::MAX));
    assert_eq!(respected(&[table, all].concat()), Bytes(u64::MAX));
}

#[test]
fn a_reserve_stays_free() {
    for (size, reserve) in [
        (Bytes::gib(1), Bytes((1 << 30) / 20)),
        (Bytes::gib(12), Bytes::gib(1)),
        (Bytes::gib(100), Bytes::gib(5)),
    ] {
        assert_eq!(reserve_of(size), reserve);
    }
}
