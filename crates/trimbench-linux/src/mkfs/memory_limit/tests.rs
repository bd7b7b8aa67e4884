use super::*;

fn found(mountinfo: &str, cgroup: &str) -> Option<(String, Version, String)> {
    let Hierarchy { root, version, own } = Hierarchy::find(mountinfo, cgroup)?;
    Some((root.display().to_string(), version, own.display().to_string()))
}

#[test]
fn the_memory_controller_is_found_in_either_version() {
    let mixed = "\
33 30 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
34 30 0:29 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
35 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
    let own = "4:memory:/user/a\n2:cpu:/other\n0::/unified";
    let expected = ("/sys/fs/cgroup/memory".to_owned(), Version::One, "/user/a".to_owned());
    assert_eq!(found(mixed, own), Some(expected));

    let unified = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
    let expected = ("/sys/fs/cgroup".to_owned(), Version::Two, "/user.slice".to_owned());
    assert_eq!(found(unified, "0::/user.slice"), Some(expected));

    assert_eq!(found("", "0::/"), None);
}
