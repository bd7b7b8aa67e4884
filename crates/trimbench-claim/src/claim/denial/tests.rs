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

/// A file with an attribute, which is taken away in the end: it could not be removed with it.
struct Marked(std::fs::File);

impl Marked {
    /// `None` where that is not permitted, or the filesystem has no attributes.
    fn new(path: &Path, attribute: IFlags) -> Option<Self> {
        let file = std::fs::File::create(path).unwrap();
        let before = rustix::fs::ioctl_getflags(&file).ok()?;
        rustix::fs::ioctl_setflags(&file, before.union(attribute)).ok()?;
        Some(Self(file))
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let now = rustix::fs::ioctl_getflags(&self.0).unwrap();
        let kept = now.difference(IFlags::IMMUTABLE.union(IFlags::APPEND));
        rustix::fs::ioctl_setflags(&self.0, kept).unwrap();
    }
}

#[test]
fn attributes_of_the_file_and_the_user_are_looked_at() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let own = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&plain).unwrap());
    let denial = Denial::of(&plain);
    assert_eq!((denial.is_immutable, denial.is_root), (false, own == 0));
    for attribute in [IFlags::IMMUTABLE, IFlags::APPEND] {
        let path = folder.path().join("marked");
        let Some(_marked) = Marked::new(&path, attribute) else {
            let test = "attributes_of_the_file_and_the_user_are_looked_at";
            crate::testing::skip(test, "no attribute may be set below /var/tmp");
            return;
        };
        let denial = Denial::of(&path);
        assert_eq!((denial.is_immutable, denial.is_root), (true, own == 0), "{attribute:?}");
    }
}
