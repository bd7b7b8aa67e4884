use super::super::Fault;
use super::super::tests::tree;
use super::{
    columns, file_length, headings, holds_marker, holds_path, machine_paths, markers,
    registry_hosts,
};

#[test]
fn a_line_may_have_a_hundred_characters_whatever_their_bytes() {
    let wide = |count| tree(&[("a.rs", &"ä".repeat(count))]);
    assert_eq!(columns(&wide(100)), []);
    assert_eq!(columns(&wide(101)).len(), 1);
}

#[test]
fn a_file_is_advised_above_the_aim_and_refused_above_the_limit() {
    let fails = |lines: usize| {
        let found = file_length(&tree(&[("a.rs", &"x\n".repeat(lines))]));
        found.first().map(|finding: &Fault| finding.fails)
    };
    assert_eq!([500, 501, 1_000, 1_001].map(fails), [None, Some(false), Some(false), Some(true)]);
}

#[test]
fn a_marker_is_a_word_in_capitals_or_with_a_colon() {
    let (task, lower) = (concat!("TO", "DO"), concat!("to", "do"));
    for line in [format!("// {task} later"), format!("# {lower}: later"), format!("({task})")] {
        assert!(holds_marker(&line, task), "{line}");
    }
    for line in [format!("{lower} = \"deny\""), format!("{task}S"), format!("_{task}")] {
        assert!(!holds_marker(&line, task), "{line}");
    }
    // Upper-casing must not move what is looked for: ß would become two letters.
    assert!(holds_marker(&format!("ß {task}"), task));
}

#[test]
fn macros_of_unfinished_code_are_found_in_code_only() {
    let line = concat!("d", "bg!(x);");
    assert_eq!(markers(&tree(&[("a.rs", line)])).len(), 1);
    assert_eq!(markers(&tree(&[("a.md", line)])), []);
    assert_eq!(markers(&tree(&[("a.rs", concat!("#[ig", "nore = \"slow\"]"))])).len(), 1);
}

#[test]
fn a_page_has_one_title_and_code_in_it_has_none() {
    let found = |page: &str| headings(&tree(&[("a.md", page)])).len();
    assert_eq!(found("# Title\n\n## Part\n\n```sh\n# a comment\n```\n"), 0);
    assert_eq!(found("# Title\n\n# Another\n"), 1);
    assert_eq!(found("## Part\n"), 1);
}

#[test]
fn a_path_of_this_machine_is_told_from_part_of_another() {
    let path = concat!("/wo", "rk/");
    for line in [format!("cd {path}x"), format!("{path}x"), format!("\"{path}x\"")] {
        assert!(holds_path(&line, path), "{line}");
    }
    for line in [format!("https://example.org{path}x"), format!("target{path}x")] {
        assert!(!holds_path(&line, path), "{line}");
    }
    assert_eq!(machine_paths(&tree(&[("a.toml", concat!("home = \"/ro", "ot/x\""))])).len(), 1);
}

#[test]
fn the_lock_file_may_name_its_usual_source_and_no_other() {
    let usual = concat!("source = \"registry+https://github.com/rust-lang/crates", ".io-index\"");
    let other = concat!("source = \"registry+https://mirror.example/crates", ".io\"");
    assert_eq!(registry_hosts(&tree(&[("Cargo.lock", usual)])), []);
    assert_eq!(registry_hosts(&tree(&[("Cargo.lock", other)])).len(), 1);
}
