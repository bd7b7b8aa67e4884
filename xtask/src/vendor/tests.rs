use super::*;

#[test]
fn every_vendored_file_is_what_its_checksum_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER);
    assert_eq!(wrong(&folder).unwrap(), Vec::<String>::new());
    let (manifest, _) = manifest(&folder).unwrap();
    assert!(manifest.files.contains_key(BUNDLE));
    // Of every package that is in the bundle there is a licence.
    for package in manifest.packages.keys().filter(|package| *package != "esbuild") {
        let licence = format!("{package}.LICENSE");
        assert!(manifest.files.contains_key(&licence), "no {licence}");
    }
}

#[test]
fn a_changed_and_a_missing_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let manifest =
        "[packages]\n[files.\"a.js\"]\nsha256 = \"00\"\n[files.\"b.js\"]\nsha256 = \"00\"\n";
    fs::write(folder.path().join("vendor.toml"), manifest).unwrap();
    fs::write(folder.path().join("a.js"), "changed").unwrap();
    let wrong = wrong(folder.path()).unwrap();
    assert_eq!(wrong.len(), 2);
    assert!(wrong[0].contains("a.js") && wrong[0].contains("checksum"), "{wrong:?}");
    assert!(wrong[1].contains("b.js") && wrong[1].contains("not there"), "{wrong:?}");
}

#[test]
fn a_new_checksum_replaces_its_own_only() {
    let text =
        "# kept\n[files.\"a\"]\nsha256 = \"1\"\n\n[files.\"b\"]\nfrom = \"x\"\nsha256 = \"2\"\n";
    let changed = with_sum(text, "b", "3").unwrap();
    assert_eq!(changed, text.replace("\"2\"", "\"3\""));
    assert!(with_sum(text, "c", "3").is_err());
    assert!(with_sum("[files.\"a\"]\n[files.\"b\"]\nsha256 = \"2\"\n", "a", "3").is_err());
}
