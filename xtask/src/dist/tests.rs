use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use clap::ValueEnum as _;

use super::{Platform, archive};

#[test]
fn files_are_named_after_version_and_platform() {
    let version = super::VERSION;
    assert_eq!(Platform::X86_64.archive(), format!("trimbench-{version}-x86_64-linux"));
    assert_eq!(Platform::X86_64.package(), format!("trimbench_{version}-1_amd64.deb"));
    assert_eq!(Platform::Aarch64.archive(), format!("trimbench-{version}-aarch64-linux"));
    assert_eq!(Platform::Aarch64.package(), format!("trimbench_{version}-1_arm64.deb"));
    for platform in Platform::value_variants() {
        let name = platform.to_possible_value().unwrap();
        assert_eq!(name.get_name(), platform.triple());
    }
}

#[test]
fn archives_of_the_same_texts_have_the_same_bytes_whenever_they_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let packed = |name: &str, files: [&str; 2], mode: u32| {
        let contents = folder.path().join(name);
        fs::create_dir(&contents).unwrap();
        for file in files {
            fs::write(contents.join(file), file).unwrap();
            fs::set_permissions(contents.join(file), PermissionsExt::from_mode(mode)).unwrap();
        }
        let written = std::time::UNIX_EPOCH + Duration::from_secs(mode.into());
        fs::File::open(contents.join("a")).unwrap().set_modified(written).unwrap();
        let path = contents.with_extension("tar.gz");
        archive(&contents, "trimbench", "1000000000", &path).unwrap();
        fs::read(path).unwrap()
    };
    let first = packed("first", ["a", "b"], 0o600);
    assert!(first == packed("second", ["b", "a"], 0o644), "order, mode and time do not matter");
    assert!(first != packed("third", ["a", "c"], 0o644), "what is in them does");
}
