use std::collections::BTreeSet;

use super::{STACKS, STACKS_SCRIPT, StackFix, StackTrim, StorageStack, parse_trims, row};

fn function(verb: &str, name: &str) -> String {
    format!("\n{verb}_{}() {{", name.replace('-', "_"))
}

#[test]
fn each_stack_can_be_built_and_removed_and_mended_if_the_table_says_so() {
    let names: BTreeSet<&str> = STACKS.iter().map(|stack| stack.name).collect();
    assert_eq!(names.len(), STACKS.len(), "each name once");
    for stack in &STACKS {
        assert!(STACKS_SCRIPT.contains(&function("make", stack.name)), "make {}", stack.name);
        let removed = STACKS_SCRIPT.contains(&function("remove", stack.name));
        assert!(removed || stack.name.starts_with("scsi-"), "remove {}", stack.name);
        let mended = STACKS_SCRIPT.contains(&function("fix", stack.name));
        assert_eq!(mended, matches!(stack.fix, StackFix::Inside(_)), "fix {}", stack.name);
    }
}

#[test]
fn a_script_checks_before_and_after_the_fix() {
    let stacks = ["plain", "crypt"].map(|name| StorageStack::named(name).unwrap());
    let script = StorageStack::script(stacks, "echo $STACK $STAGE");
    let run: Vec<&str> = script.lines().rev().take(2).collect();
    assert_eq!(run[1].matches("check;").count(), 1);
    assert_eq!(run[0].matches("check;").count(), 2);
    assert!(run[0].contains("STACK=crypt") && run[0].contains("STAGE=after"), "{}", run[0]);
}

#[test]
fn what_arrived_is_compared_with_the_table() {
    let printed = "\
trimmed crypt refused 0
noise
trimmed crypt 97423360 97423360
trimmed crypt-discards 1 2
trimmed swap - -58552320
";
    let trims = parse_trims(printed, "crypt").unwrap();
    let whole = StackTrim { top_bytes: Some(97_423_360), bottom_bytes: 97_423_360 };
    assert_eq!(trims, [StackTrim { top_bytes: None, bottom_bytes: 0 }, whole]);
    let crypt = StorageStack::named("crypt").unwrap();
    assert!(crypt.is_met(&trims));
    assert!(!crypt.is_met(&trims[..1]) && !crypt.is_met(&[whole, whole]) && !crypt.is_met(&[]));
    assert!(row(crypt, &trims).ends_with("| - / 0 | 92 / 92 |\n"), "{}", row(crypt, &trims));
    assert_eq!(parse_trims(printed, "swap").unwrap()[0].bottom_bytes, -58_552_320);
    assert!(parse_trims("trimmed crypt 5", "crypt").is_err());
}
