use super::{commands, components, without_root};

#[test]
fn commands_are_those_that_a_page_refers_to_as_its_own() {
    let page =
        "trimbench\\-trace\\-stat(1)\nprint(1)\ntrimbench\\-what\\-if(1)\nsee trimbench\\-x(1)";
    assert_eq!(commands(page, "trimbench", 1), ["trace-stat", "what-if"]);
    assert_eq!(commands(page, "trimbench-trace", 1), ["stat"]);
    assert!(commands(page, "trimbench-trace-stat", 1).is_empty());
    assert!(commands(page, "trimbench", 8).is_empty());
    assert_eq!(commands("trimpace\\-once(8)\ntrimpace\\-x(1)", "trimpace", 8), ["once"]);
}

#[test]
fn a_bill_lists_crates_by_name_and_version() {
    let bill = r#"{"metadata": {"component": {"name": "trimpace"}},
        "components": [{"name": "clap", "version": "4.6.0"},
            {"name": "jiff", "version": "0.2.1"}]}"#;
    assert_eq!(components(bill).unwrap(), ["clap 4.6.0", "jiff 0.2.1"]);
    assert!(components("{}").is_err());
}

#[test]
fn no_path_of_the_machine_stays_in_the_bill_of_materials() {
    let text = r#""bom-ref": "path+file:///a/checkout/crates/trimbench#0.1.0""#;
    let expected = r#""bom-ref": "path+file://crates/trimbench#0.1.0""#;
    assert_eq!(without_root(text, std::path::Path::new("/a/checkout")), expected);
}
