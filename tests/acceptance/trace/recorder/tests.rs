use super::*;

#[test]
fn settings_are_put_back_also_when_one_cannot_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |what: &str| folder.path().join(what);
    fs::write(path("current_tracer"), "nop\n").unwrap();
    fs::write(path("buffer_size_kb"), "7 (expanded: 1408)\n").unwrap();
    let mut settings = Settings { folder: folder.path().to_owned(), former: Vec::new() };
    settings.set("current_tracer", "blk").unwrap();
    settings.set("buffer_size_kb", "16384").unwrap();
    assert_eq!(fs::read_to_string(path("buffer_size_kb")).unwrap(), "16384");
    let missing = settings.set("bin", "1").unwrap_err().to_string();
    assert!(missing.contains("bin"), "{missing}");
    drop(settings);
    assert_eq!(fs::read_to_string(path("current_tracer")).unwrap(), "nop");
    assert_eq!(fs::read_to_string(path("buffer_size_kb")).unwrap(), "1408");
}
