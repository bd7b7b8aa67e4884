use super::{commands, without_root};

#[test]
fn commands_are_those_that_a_page_refers_to_as_its_own() {
    let page =
        "trimbench\\-trace\\-stat(1)\nprint(1)\ntrimbench\\-what\\-if(1)\nsee trimbench\\-x(1)";
    assert_eq!(commands(page, "trimbench"), ["trace-stat", "what-if"]);
    assert_eq!(commands(page, "trimbench-trace"), ["stat"]);
    assert!(commands(page, "trimbench-trace-stat").is_empty());
}

#[test]
fn no_path_of_the_machine_stays_in_the_bill_of_materials() {
    let text = r#""bom-ref": "path+file:///a/checkout/crates/trimbench#0.1.0""#;
    let expected = r#""bom-ref": "path+file://crates/trimbench#0.1.0""#;
    assert_eq!(without_root(text, std::path::Path::new("/a/checkout")), expected);
}
