use super::*;

#[test]
fn content_is_replaced_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    atomic_write(&path, b"first", Durability::Durable).unwrap();
    atomic_write(&path, b"2", Durability::Later).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"2");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_failure_names_the_file_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target");
    fs::create_dir(&path).unwrap();
    let error = atomic_write(&path, b"x", Durability::Durable).unwrap_err();
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    assert!(error.to_string().contains("rename"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(
        atomic_write(Path::new("/"), b"x", Durability::Durable)
            .unwrap_err()
            .to_string()
            .contains("no file")
    );
    let missing = folder.path().join("missing/run.json");
    let error = atomic_write(&missing, b"x", Durability::Durable).unwrap_err();
    assert!(error.to_string().contains("ENOENT"), "{error}");
}
