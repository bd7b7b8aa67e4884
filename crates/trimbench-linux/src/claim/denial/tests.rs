use super::*;

#[test]
fn recorded_states_of_processes_are_told_apart() {
    let all = "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n";
    let full = "         0          0 4294967295\n";
    let free = Denial { is_root: true, ..Denial::from_texts(all, full) };
    assert_eq!(free.missing_capabilities, [""; 0]);
    assert!(free.to_string().contains("device cgroup"), "{free}");

    // Docker's default: neither CAP_SYS_ADMIN nor all system calls.
    let docker = "CapEff:\t00000000a80425fb\nSeccomp:\t2\n";
    let docker = Denial { is_root: true, ..Denial::from_texts(docker, full) };
    assert_eq!(docker.missing_capabilities, ["CAP_SYS_ADMIN"]);
    assert!(docker.is_filtered && !docker.is_mapped);
    assert!(docker.to_string().contains("CAP_SYS_ADMIN"), "{docker}");

    let mapped = Denial::from_texts(all, "         0       1000          1\n");
    assert!(mapped.is_mapped);
    assert!(mapped.to_string().contains("not root"), "{mapped}");
    assert!(mapped.to_string().contains("user namespace"), "{mapped}");
}
