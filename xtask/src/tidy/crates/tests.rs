use super::super::tests::tree;
use super::{arrows, descriptions};

fn arrow_messages(manifest: &str) -> Vec<String> {
    let tree = tree(&[("crates/x/Cargo.toml", manifest)]);
    arrows(&tree).into_iter().map(|finding| finding.message).collect()
}

#[test]
fn a_permitted_arrow_passes_and_so_do_other_peoples_crates() {
    let manifest = "[package]\nname = \"trimbench-methods\"\n[dependencies]\n\
        trimbench-core.workspace = true\nthiserror = \"2\"\n";
    assert_eq!(arrow_messages(manifest), [""; 0]);
}

#[test]
fn the_method_crate_may_not_know_the_emulated_drive_by_any_spelling() {
    for dependency in [
        "[dependencies]\ntrimbench-ssd.workspace = true\n",
        "[dependencies.trimbench-ssd]\npath = \"../trimbench-ssd\"\n",
        "[dependencies]\ndrive = { package = \"trimbench-ssd\", path = \"../x\" }\n",
        "[build-dependencies]\ntrimbench-ssd = { path = \"../x\" }\n",
        "[target.'cfg(unix)'.dependencies]\ntrimbench-ssd = { path = \"../x\" }\n",
    ] {
        let messages =
            arrow_messages(&format!("[package]\nname = \"trimbench-methods\"\n{dependency}"));
        assert_eq!(messages.len(), 1, "{dependency}");
        assert!(messages[0].contains("trimbench-ssd"), "{}", messages[0]);
    }
}

#[test]
fn a_test_may_look_sideways() {
    let manifest = "[package]\nname = \"trimbench-methods\"\n[dev-dependencies]\n\
        trimbench-ssd.workspace = true\n";
    assert_eq!(arrow_messages(manifest), [""; 0]);
}

#[test]
fn the_program_may_use_every_library_but_not_another_program() {
    let with = |used: &str| {
        arrow_messages(&format!(
            "[package]\nname = \"trimbench\"\n[dependencies]\n{used} = \"0\"\n"
        ))
    };
    assert_eq!(with("trimbench-linux"), [""; 0]);
    assert_eq!(with("trimpace").len(), 1);
}

#[test]
fn a_crate_without_designed_arrows_is_found() {
    assert_eq!(arrow_messages("[package]\nname = \"trimbench-new\"\n").len(), 1);
}

#[test]
fn a_missing_and_an_empty_description_are_found() {
    let found = |manifest: &str| descriptions(&tree(&[("xtask/Cargo.toml", manifest)])).len();
    assert_eq!(found("[package]\nname = \"xtask\"\ndescription = \"Steps\"\n"), 0);
    assert_eq!(found("[package]\nname = \"xtask\"\ndescription = \" \"\n"), 1);
    assert_eq!(found("[package]\nname = \"xtask\"\n"), 1);
    assert_eq!(found("[package\n"), 1);
}
